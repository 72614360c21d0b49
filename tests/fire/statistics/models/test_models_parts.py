"""Parts of models: exact sums, distributions, terms, and what is refused with which words."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.statistics.models import distributions as ours
from discreet_fire.statistics.models import least_squares, logit, regress
from discreet_fire.statistics.models.design import Column, Partition, parse_terms
from discreet_fire.statistics.models.least_squares import (
    exact_gram,
    powers_of,
    scaled,
    symmetric_inverse,
)
from discreet_fire.statistics.results import CheckVerdict
from tests.helpers.rows import for_all_rows

numbers = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=40)


@given(numbers, st.randoms())
def test_cross_products_are_exact_and_know_no_order(values: list[float], random: Any) -> None:
    table = np.column_stack([values, np.arange(len(values)), np.cos(values)])
    largest = np.maximum(np.abs(table).max(axis=0), 1e-30)
    scale = powers_of(largest, np.array([False, True, False]))
    gram = exact_gram(lambda a, b: table[a:b], len(table), scale).floats()
    order = list(range(len(values)))
    random.shuffle(order)
    mixed = table[order]
    assert (gram == exact_gram(lambda a, b: mixed[a:b], len(table), scale).floats()).all()
    for i in range(3):
        for j in range(3):
            true = sum(
                Fraction(a) * Fraction(b) for a, b in zip(table[:, i], table[:, j], strict=True)
            )
            slack = len(values) * largest[i] * largest[j] * 2.0**-58
            assert abs(Fraction(gram[i, j]) - true) <= Fraction(slack) + abs(true) / 2**52


def test_blocks_of_rows_do_not_matter() -> None:
    table = np.random.default_rng(3).normal(size=(20_001, 3))
    scale = powers_of(np.abs(table).max(axis=0), np.zeros(3, dtype=bool))
    one = exact_gram(lambda a, b: table[a:b], len(table), scale)
    two = exact_gram(lambda a, b: table[::-1][a:b], len(table), scale)
    assert (one.whole == two.whole).all()
    assert one.floats() == pytest.approx(table.T @ table, rel=1e-12)


def test_large_whole_numbers_round_once() -> None:
    assert scaled(2**2000 + 1, -2000) == 1.0
    assert scaled(-(3 * 2**1500), -1501) == -1.5


@for_all_rows("df", [1, 2, 5, 9, 30, 400, 100_000])
def test_distributions_are_those_of_scipy(df: int) -> None:
    for x in (0.001, 0.4, 1.0, 2.5, 6.0, 40.0):
        stats = scipy.stats
        assert ours.t_two_sided(x, df) == pytest.approx(2 * stats.t.sf(x, df), rel=1e-8, abs=1e-14)
        assert ours.t_tail(-x, df) == pytest.approx(stats.t.cdf(x, df), rel=1e-8)
        assert ours.f_tail(x, 3, df) == pytest.approx(stats.f.sf(x, 3, df), rel=1e-7, abs=1e-14)
        assert ours.chi2_tail(x, df) == pytest.approx(stats.chi2.sf(x, df), rel=1e-9, abs=1e-14)
        assert ours.normal_two_sided(x) == pytest.approx(2 * stats.norm.sf(x), rel=1e-12)
    for level in (0.5, 0.9, 0.95, 0.999):
        expected = scipy.stats.t.ppf(0.5 + level / 2, df)
        assert ours.t_quantile(level, df) == pytest.approx(expected, rel=1e-8)
    assert ours.t_two_sided(float("inf"), df) == ours.f_tail(float("inf"), 1, df) == 0.0


def test_a_matrix_without_inverse_has_none() -> None:
    assert symmetric_inverse(np.array([[1.0, 1.0], [1.0, 1.0]])) is None
    assert symmetric_inverse(np.array([[0.0]])) is None
    found = symmetric_inverse(np.array([[4.0, 1.0], [1.0, 3.0]]))
    assert found is not None
    assert found == pytest.approx(np.array([[3.0, -1.0], [-1.0, 4.0]]) / 11)


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
        ("huge", {}, "too large"),
        ("infinite", {}, "infinite"),
        ("none", {}, "no observations"),
        ("y", {}, "also on the right-hand side"),
        ("ib9.g", {}, "not in the estimation sample"),
        ("i9.g", {}, "not in the estimation sample"),
        ("i.x##i.g i.x#i.g#i.text##i.text", {}, "not understood"),
        ("x", {"weights": "w"}, "negative weights"),
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
    with pytest.raises(OutputCheckError, match="no such option"):
        logit(FRAME, "y", "x", hat=True)
    with pytest.raises(OutputCheckError, match="analytic weights"):
        logit(FRAME, "y", "x", weights="part", weight_kind="aweight")
    with pytest.raises(DiscreetError, match="frame"):
        regress([1, 2, 3], "y", "x")
    with pytest.raises(OutputCheckError, match="limits"):
        regress(FRAME, "y", "x", limits=3)  # type: ignore[arg-type]
    with pytest.raises(OutputCheckError, match="numbers are needed"):
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
    for factor in (1e200, 1e-200):
        with pytest.raises(OutputCheckError, match="too large"):
            regress(FRAME.with_columns(pl.col("x") * factor), "y", "x")
    small = regress(FRAME.with_columns(pl.col("x") * 2.0**-200), "y", "x")
    assert small.stored["r2"] == regress(FRAME, "y", "x").stored["r2"]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (128, 40), (300, 41), (8192, 97)])
def test_cross_products_in_pieces_are_exact(rows: int, columns: int) -> None:
    cut = np.random.default_rng(rows).integers(-(2**20), 2**20, (rows, columns))
    found = least_squares._crossed(cut.astype(float))
    assert (found == cut.T @ cut).all()


def test_levels_are_never_dropped_silently() -> None:
    with pytest.raises(OutputCheckError, match="stands twice"):
        parse_terms("i(1 2).region i3.region")
    assert len(parse_terms("i(1 2).region i(2 1).region c.age age")) == 2


def test_columns_and_cross_products_are_in_no_repr() -> None:
    values = np.array([4711.0, 4712.0])
    column = Column(label="wage", row="wage", term=0, numbers=(values,))
    partition = Partition(text="i.region", codes=values.astype(np.int64), cells=2)
    gram = exact_gram(
        lambda a, b: values[a:b, None], 2, powers_of(np.array([4712.0]), np.array([True]))
    )
    assert "471" not in f"{column!r} {partition!r}"
    assert str(gram.whole[0, 0]) not in repr(gram)


@pytest.mark.parametrize("model", [regress, logit])
def test_a_record_of_nobody_is_an_error_as_everywhere(model: Any) -> None:
    people = [None, *range(39)]
    frame = pl.DataFrame({"x": range(40), "y": [at % 3 == 0 for at in range(40)], "id": people})
    for kind in (pl.Int64, pl.Float64, pl.String):
        with pytest.raises(OutputCheckError, match="entity of some records is missing"):
            model(frame.cast({"id": kind}), "y", "x", entity="id")


@pytest.mark.parametrize("kind", [pl.UInt64, pl.Int128])
def test_whole_numbers_of_any_width_are_levels(kind: Any) -> None:
    frame = pl.DataFrame({"x": [1, 2] * 20, "y": [at % 7 for at in range(40)]})
    wide = frame.cast({"x": kind})
    assert regress(wide, "y", "i.x").shown == regress(frame, "y", "i.x").shown
    with pytest.raises(OutputCheckError, match="too large"):
        regress(wide.with_columns(x=pl.col("x") + pl.lit(2**60, kind)), "y", "i.x")
