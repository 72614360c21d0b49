"""One verdict on all attacks, and a row for each: the same in text, JSON and pages."""

import html
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.assessment import AttackOutcome, AttackReport, PublishedFigures, verdict_sentence
from discreet.classifications import Classification
from discreet.errors import PerturbationError
from discreet.publication.examples import census_example
from discreet.release import attack_page
from discreet.tables import CellStatus, Dimension, ProtectedTable, Provenance


@pytest.fixture(scope="module")
def report() -> AttackReport:
    return dc.attack(census_example(), knows="maximum", max_noise=2)


def test_each_rate_has_a_reader_and_a_verdict(report: AttackReport) -> None:
    rates = report.rates()
    outcomes = report.outcomes()
    assert {one.attack for one in outcomes} == set(rates) - {"exposure"}
    assert all(one.rate == rates[one.attack] for one in outcomes)
    words = {one.verdict for one in outcomes}
    first = next(word for word in ("open", "not examined", "safe") if word in words)
    assert report.verdict == first


def test_what_is_found_is_open_and_what_is_unknown_is_not_safe(report: AttackReport) -> None:
    """Anything found, but of averaging 60 %; an attack without a rate is a gap by its name."""
    assert report.rates()["average"] is None
    assert report.verdict == "not examined"
    assert [gap.name for gap in report.judgement.gaps] == ["attack: Averaging succeeds"]
    bare = replace(report, bare=[replace(each, whole=3) for each in _bare()])
    assert bare.verdict == "open"
    assert bare.judgement.opened == ("Shares of 100 %",)
    for attack, rate, verdict in (
        ("average", 0.6, "safe"), ("average", 0.61, "open"), ("values", 0.01, "open"),
        ("values", None, "not examined"),
    ):  # fmt: skip
        own = AttackOutcome(attack=attack, reader="contributor", rate=rate)
        assert own.verdict == verdict
    universes = [replace(one, left_out=["means"]) for one in report.universes]
    assert replace(report, universes=universes).judgement.gaps[-1].name.endswith(": means")


@pytest.mark.parametrize(
    ("limits", "sentence", "german", "failures"),
    [
        ({"exposure": 2, "twins": 5},
         "Against these attacks, the release keeps within its limits. It is NOT fully examined.",
         "Gegenüber diesen Angriffen hält die Veröffentlichung ihre Grenzen ein.", []),
        ({"exposure": 1.5, "twins": 5},
         "Against these attacks, the release exceeds its limits. It is NOT fully examined.",
         "Gegenüber diesen Angriffen überschreitet die Veröffentlichung ihre Grenzen.",
         ["exposure is 1.8, above 1.5"]),
        ({"average": 0.9},
         "The attacks do not show whether the release keeps within its limits.",
         "Die Angriffe zeigen nicht, ob die Veröffentlichung ihre Grenzen einhält.",
         ["average is not examined"]),
    ],
)  # fmt: skip
def test_limits_enter_the_verdict(
    report: AttackReport, limits: dict[str, float], sentence: str, german: str, failures: list[str]
) -> None:
    """What an attack found, its limit, and whether that is kept; all without one stay strict."""
    limited = replace(report, limits=limits)
    outcomes = {one.attack: one for one in limited.outcomes()}
    assert limited.text().splitlines()[0] == sentence
    assert limited.exceeded() == failures
    assert german in attack_page(limited, language="de", internal=True)
    for name, limit in limits.items():
        own = outcomes[name]
        assert own.described()["limit"] == limit
        kept = own.rate is not None and own.rate <= limit
        assert (own.verdict == "safe") is kept
        assert ("within its limit" in own.line()) is kept
    strict = replace(limited, bare=[replace(each, whole=3) for each in _bare()])
    assert "It is NOT safe against attacks without a limit: Shares of 100 %." in strict.text()
    assert strict.verdict == "open"
    assert replace(strict, limits={**limits, "whole": 3}).verdict == limited.verdict


def test_limits_of_what_no_attack_finds_are_mistakes() -> None:
    for limits in ({"luck": 1.0}, {"average": 0.5}):
        with pytest.raises(PerturbationError, match=r"rate|noise parameters"):
            dc.attack(census_example(), knows="maximum", max_noise=2, limits=limits)


def test_what_names_do_not_tell_is_not_examined(report: AttackReport) -> None:
    """Variables that no table crosses may be one under two names; universes may overlap."""
    draw = np.random.default_rng(3)
    frame = pl.DataFrame({name: draw.integers(0, 3, 900) for name in ("a", "b", "c")})
    frame = frame.with_columns(record_key=pl.Series(draw.integers(0, 10**15, 900)))
    noise = dc.design_perturbation(max_noise=3, variance=1)
    tables = [
        dc.perturb(dc.tabulate(frame, by=by, record_key="record_key"), noise)
        for by in (["a", "b"], ["b", "c"], ["a", "c"])
    ]
    assert dc.attack(tables, ptable=noise).gaps == ()
    apart = dc.attack(tables[:2], ptable=noise)
    assert [gap.name for gap in apart.gaps] == ["what variables of other names share: a, c"]
    assert apart.verdict != "safe"
    assert apart.gap_lines()[0] in apart.text()
    assert html.escape(apart.gap_lines("de")[0]) in attack_page(apart, language="de")
    two = dc.attack({"all": tables, "some": tables[:1]}, ptable=noise)
    assert [gap.name for gap in two.gaps] == ["sums across populations: all, some"]
    assert report.gaps == ()


def test_the_public_page_tells_nothing_of_attacks_that_it_does_not_list(
    report: AttackReport,
) -> None:
    known = replace(report, bare=[])
    regular = replace(known, universes=[replace(one, regular=True) for one in known.universes])
    assert regular.verdict == "open"
    assert attack_page(known) == attack_page(regular)


def _bare() -> list[object]:
    from discreet.assessment.attacks.figures import BareFigures

    return [BareFigures(table="t", figure="share", whole=0, uncounted=0)]


def test_text_json_and_pages_say_the_same(report: AttackReport) -> None:
    lines, told = report.text().splitlines(), report.described()
    assert lines[0] == verdict_sentence(report.judgement)
    assert told["verdict"] == report.verdict
    secret, public = (attack_page(report, internal=own) for own in (True, False))
    for at, one in enumerate(report.outcomes()):
        assert lines[1 + at].strip() == one.line()
        assert told["attacks"][at] == one.described()
        cells = [f">{html.escape(word)}<" for word in one.words()]
        assert all(cell in secret for cell in cells)
        of_noise = one.attack in ("shared", "official", "regular", "alike")
        assert (cells[0] in public) is not of_noise
    german = attack_page(report, language="de")
    assert "Die Veröffentlichung gegenüber diesen Angriffen: NICHT vollständig geprüft." in german


@pytest.mark.parametrize("chosen", [False, True])
def test_codes_side_by_side_are_no_sum(chosen: bool) -> None:
    """Attacks carry nothing over codes that a table shows without the others."""
    tree = Classification.flat("age", ["20", "30"])
    table = ProtectedTable(
        dimensions=(Dimension(classifications=(tree,), chosen=chosen),),
        index=(np.arange(3, dtype=np.int32),),
        value=np.array([30, 6, 7]),
        status=np.full(3, CellStatus.published, dtype=np.int8),
        provenance=Provenance(version="1", method="cell-key"),
    )
    (system,) = PublishedFigures.of({"": [table]}).systems.values()
    assert len(list(system.steps())) == (not chosen)
