"""Parts of models: joint tests, terms, and what is refused with which words."""

import datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.statistics.models import logit, regress
from discreet_fire.statistics.models.design import parse_terms
from discreet_fire.statistics.models.fits import joint_wald
from discreet_fire.statistics.results import CheckVerdict
from tests.helpers.rows import for_all_rows


def test_slopes_whose_errors_hang_together_have_no_joint_test() -> None:
    one, two = np.array([1.0]), np.array([1.0, 2.0])
    assert joint_wald(two, np.array([[1.0, 1.0], [1.0, 1.0]])) is None
    assert joint_wald(one, np.array([[0.0]])) is None
    assert joint_wald(two, np.array([[4.0, 1.0], [1.0, 3.0]])) == pytest.approx(15 / 11)


@for_all_rows(
    ("text", "terms"),
    [
        ("age", ["age"]),
        ("c.age i.sex", ["age", "i.sex"]),
        ("sex#c.age", ["i.sex#c.age"]),
        ("i.sex##c.age", ["i.sex", "age", "i.sex#c.age"]),
        ("a##b##c.d", ["i.a", "i.b", "d", "i.a#i.b", "i.a#c.d", "i.b#c.d", "i.a#i.b#c.d"]),
        ("ib(first).x i(1 2 3).y", ["i.x", "i.y"]),
        ("age c.age age", ["age"]),
        ("a#b b#a", ["i.a#i.b"]),
        ("c.x#c.x", ["c.x#c.x"]),
        ("größe_2 _x", ["größe_2", "_x"]),
        ("  ", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert [term.text for term in parse_terms(text)] == terms


@for_all_rows(
    "text",
    [
        "L.x",
        "i.",
        "2x",
        "a###b",
        "a#",
        "#",
        "a##b#c",
        "i(1.x",
        "x)",
        "i.x*z",
        "x^2",
        "ibfoo.x",
        "-x",
    ],
)
def test_terms_that_are_not_understood(text: str) -> None:
    with pytest.raises(OutputCheckError, match=r"\[terms\]"):
        parse_terms(text)


@given(st.text(alphabet="aci.b#()12 x_", max_size=12))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        terms = parse_terms(text)
    except OutputCheckError:
        return
    written = " ".join(term.text for term in terms)
    assert [term.names for term in parse_terms(written)] == [term.names for term in terms]


FRAME = pl.DataFrame(
    {
        "y": [float(i * i % 17) for i in range(40)],
        "x": list(range(40)),
        "g": [i % 3 for i in range(40)],
        "half": [i % 4 / 2 for i in range(40)],
        "minus": [i % 3 - 1 for i in range(40)],
        "text": ["a", "b"] * 20,
        "day": [datetime.date(2026, 1, 1)] * 40,
        "huge": [2**60 + i for i in range(40)],
        "far": [1e200] * 40,
        "infinite": [float("inf")] * 40,
        "none": [None] * 40,
        "w": [-1.0] * 40,
        "part": [0.5] * 40,
    }
)  # fmt: skip


@for_all_rows(
    ("terms", "options", "words"),
    [
        ("nothing", {}, "nothing"),
        ("text", {}, "i.text"),
        ("day", {}, "day"),
        ("i.day", {}, "cannot be a factor variable"),
        ("i.half", {}, "not whole numbers"),
        ("i.minus", {}, "negative"),
        ("i.huge", {}, "more than"),
        ("far", {}, "huge"),
        ("infinite", {}, "infinite"),
        ("none", {}, "no observations"),
        ("y", {}, "also on the right-hand side"),
        ("ib9.g", {}, "not in the estimation sample"),
        ("i9.g", {}, "not in the estimation sample"),
        ("i.x##i.g i.x#i.g#i.text##i.text", {}, "not understood"),
        ("x", {"weights": "w"}, "a weight is negative"),
        ("x", {"weights": "part", "weight_kind": "fweight"}, "whole numbers"),
        ("x", {"weights": "part", "weight_kind": "iweight"}, "kind of weights"),
        ("x", {"level": 5}, "from 10 to 99.99"),
        ("x", {"level": float("nan")}, "from 10 to 99.99"),
        ("", {"constant": False}, "without constant needs variables"),
        ("x", {"entity": "nobody"}, "nobody"),
        ("x", {"where": "x >"}, "filter|expected|end"),
        ("x", {"where": "x > 100"}, "no observations"),
        ([3], {}, "terms are texts"),
    ],
)
def test_wrong_input_has_clear_words(terms: Any, options: dict[str, Any], words: str) -> None:
    frame = FRAME
    if terms == "i.huge":
        frame = pl.DataFrame({"y": range(900), "huge": range(900)})
    with pytest.raises(DiscreetError, match=words):
        regress(frame, "y", terms, **options)


def test_options_and_frames_that_do_not_exist() -> None:
    with pytest.raises(OutputCheckError, match="unknown option"):
        logit(FRAME, "y", "x", hat=True)
    with pytest.raises(OutputCheckError, match="analytic weights"):
        logit(FRAME, "y", "x", weights="part", weight_kind="aweight")
    with pytest.raises(DiscreetError, match="frame"):
        regress([1, 2, 3], "y", "x")
    with pytest.raises(OutputCheckError, match="limits"):
        regress(FRAME, "y", "x", limits=3)  # type: ignore[arg-type]
    with pytest.raises(OutputCheckError, match="does not hold numbers"):
        regress(FRAME, "text", "x")


def test_one_row_and_missing_values_of_every_kind() -> None:
    one = regress(FRAME[:1], "y", "x")
    assert one.verdict is CheckVerdict.fail
    frame = FRAME.with_columns(
        y=pl.when(pl.col("x") < 4).then(float("nan")).otherwise(pl.col("y")),
        g=pl.when(pl.col("x") > 36).then(None).otherwise(pl.col("g")),
    )
    result = regress(frame, "y", "x i.g")
    assert result.stored["N"] == 33
    assert result.evidence["left_out"] == 7
    pandas = regress(frame.to_pandas(), "y", "x i.g")
    assert pandas.shown == result.shown


@for_all_rows(
    ("options", "where"),
    [
        ({"terms": None}, "terms"),
        ({"earlier": [3]}, "earlier"),
        ({"robust": "yes"}, "robust"),
        ({"constant": None}, "constant"),
        ({"cluster": 3}, "cluster"),
    ],
)
def test_arguments_of_the_wrong_kind(options: dict[str, Any], where: str) -> None:
    with pytest.raises(OutputCheckError, match=rf"\[model\] {where}"):
        regress(FRAME, "y", **{"terms": "x", **options})


def test_numbers_that_cannot_be_squared() -> None:
    for factor in (1e120, 1e-200):
        with pytest.raises(OutputCheckError, match="too large"):
            regress(FRAME.with_columns(pl.col("x") * factor), "y", "x")
    small = regress(FRAME.with_columns(pl.col("x") * 2.0**-200), "y", "x")
    assert small.stored["r2"] == regress(FRAME, "y", "x").stored["r2"]


def test_levels_are_never_dropped_silently() -> None:
    with pytest.raises(OutputCheckError, match="stands twice"):
        parse_terms("i(1 2).region i3.region")
    assert len(parse_terms("i(1 2).region i(2 1).region c.age age")) == 2


@pytest.mark.parametrize("kind", [pl.UInt64, pl.Int128])
def test_whole_numbers_of_any_width_are_levels(kind: Any) -> None:
    frame = pl.DataFrame({"x": [1, 2] * 20, "y": [at % 7 for at in range(40)]})
    wide = frame.cast({"x": kind})
    assert regress(wide, "y", "i.x").shown == regress(frame, "y", "i.x").shown
    with pytest.raises(OutputCheckError, match="too large"):
        regress(wide.with_columns(x=pl.col("x") + pl.lit(2**60, kind)), "y", "i.x")
