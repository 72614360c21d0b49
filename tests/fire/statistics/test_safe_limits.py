"""Limits are checked and secret; results never let go of their evidence."""

import json
import pickle

import polars as pl
import pytest

from discreet.errors import OutputCheckError
from discreet_fire.statistics import Check, CheckVerdict, OutputEvidence, SafeLimits, SafeResult
from tests.helpers.rows import for_all_rows


def test_p_follows_from_k_and_k_from_p():
    # p = 100 (100 − k)/k: the p% rule that every cell unsafe by (1,k) breaks.
    assert SafeLimits(k=80).closeness == pytest.approx(25)
    assert SafeLimits(p=25).dominance == pytest.approx(80)
    assert (SafeLimits(k=80, p=10).dominance, SafeLimits(k=80, p=10).closeness) == (80, 10)


def test_the_repr_shows_no_secret():
    text = repr(SafeLimits(k=77.123, p=31.456)) + str(SafeLimits(k=77.123, p=31.456))
    assert "77" not in text
    assert "31" not in text


@for_all_rows(
    "wrong",
    [
        {"minimum": 0},
        {"minimum": 2.5},
        {"minimum": True},
        {"k": 0},
        {"k": 100},
        {"k": float("nan")},
        {"k": "85"},
        {"p": -1},
        {"leverage": None},
        {"leverage": 1.0},
        {"digits": 99},
        {"language": "fr"},
    ],
)
def test_wrong_limits_are_refused_without_their_value(wrong):
    with pytest.raises(OutputCheckError) as caught:
        SafeLimits(**wrong)
    assert caught.value.where == next(iter(wrong))


def test_limits_from_a_file(tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text('[limits]\nminimum = 5\nk = 75\nlanguage = "de"\n')
    assert SafeLimits.read(path) == SafeLimits(minimum=5, k=75, language="de")
    path.write_text("minimum = 5\n")
    assert SafeLimits.read(path).minimum == 5


@pytest.mark.parametrize(
    "text", ["k = 93.51\nkk = 2", "k = 93.51 93.51", "limits = 93.51", "[limits]\nk = 1093.51"]
)
def test_a_wrong_file_is_refused_and_not_quoted(tmp_path, text):
    path = tmp_path / "limits.toml"
    path.write_text(text)
    with pytest.raises(OutputCheckError) as caught:
        SafeLimits.read(path)
    assert "93.51" not in str(caught.value)
    path.write_bytes(b"\xff\xfe\x00")
    for other in (path, tmp_path / "none.toml"):
        with pytest.raises(OutputCheckError):
            SafeLimits.read(other)


def test_evidence_stays_inside():
    result = SafeResult(
        command="summarize rent",
        shown=".",
        frame=pl.DataFrame({"mean": [float("nan")]}),
        checks=[Check(rule="minimum", verdict=CheckVerdict.fail, reason="too few cases")],
        evidence=OutputEvidence(largest=4711.0),
    )
    everything = f"{result} {result!r} {result.evidence} {json.dumps(result.to_dict())}"
    assert "4711" not in everything
    with pytest.raises(TypeError, match="confidential"):
        pickle.dumps(result.evidence)
    assert result.evidence["largest"] == 4711.0
    assert result.to_dict()["frame"] == [{"mean": None}]


def test_notebooks_show_what_may_be_shown_and_no_evidence():
    checks = [
        Check(rule="a", verdict=CheckVerdict.passed, reason="fine"),
        Check(rule="b", verdict=CheckVerdict.fail, reason="few <cases>", where="rent"),
    ]
    result = SafeResult(
        command="tabulate rent",
        shown="rent |  <12>",
        checks=checks,
        evidence=OutputEvidence(largest=87_654),
    )
    page = result._repr_html_()
    assert "rent |  &lt;12&gt;" in page
    assert page.index("few &lt;cases&gt;") < page.index("fine")
    assert "87" not in page
    assert SafeResult(command="count", shown="  12")._repr_html_().count("<ul>") == 0


@for_all_rows(
    ("own", "asked", "p", "k"),
    [
        (SafeLimits(p=20), 50, 50, 10000 / 150),  # stricter
        (SafeLimits(p=20), 5, 20, 10000 / 120),  # never laxer than the centre
        (SafeLimits(k=85), 1, 100 * 15 / 85, 85),
        (SafeLimits(k=60, p=20), 30, 30, 60),  # the centre's k is stricter already
        (SafeLimits(p=20, critical_least=10), 12, 12, 10000 / 112),  # laxer, as the centre lets it
        (SafeLimits(p=20, critical_least=10), 5, 10, 10000 / 110),
        (SafeLimits(p=20, critical_least=30), 25, 30, 10000 / 130),
    ],
)
def test_a_program_may_ask_for_p_within_the_bounds_of_the_centre(own, asked, p, k) -> None:
    limits = own.critical(asked)
    assert (limits.closeness, limits.dominance) == pytest.approx((p, k))
    assert str(asked) not in repr(limits)


@for_all_rows("asked", [0, -1, 101, float("nan"), "20", True, None])
def test_what_is_no_p_is_told(asked) -> None:
    with pytest.raises(OutputCheckError, match="above 0, up to 100"):
        SafeLimits().critical(asked)
