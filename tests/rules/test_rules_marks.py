"""Marks by hand: what they change, and which are refused."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import rules
from discreet.errors import SuppressionError
from discreet.rules import CellVerdict, Mark, Marks
from tests.helpers.rows import for_all_rows

PEOPLE = pl.DataFrame({"region": ["N"] * 2 + ["S"] * 8 + ["W"] * 20, "sex": ["m", "w"] * 15})
RULES = [rules.MinimumFrequency(3)]


def table() -> dc.Table:
    return dc.tabulate(PEOPLE, by=["region"])


def verdict_of(primary: rules.Primary) -> list[str]:
    return [CellVerdict(each).name for each in primary.verdict]


def test_marks_make_cells_sensitive_safe_fixed_or_hidden() -> None:
    marks = [
        Mark(cells={"region": "N"}, status="safe"),
        Mark(cells={"region": "S"}, status="unsafe"),
        Mark(cells={"region": "W"}, status="secondary"),
        Mark(cells={"region": "Total"}, status="protected"),
    ]
    primary = dc.primary(table(), RULES, marks=marks, manual_range=25)
    assert verdict_of(primary) == ["fixed", "free", "sensitive", "secondary"]
    assert primary.rules.tolist() == [[False, True, False, False]]
    assert primary.numbers() == {"manual": 1}
    assert primary.upper.tolist() == primary.lower.tolist() == [0, 0, 2, 0]


def test_marks_give_levels_costs_and_bounds() -> None:
    marks = [
        Mark(cells={"region": "N"}, lower=0, upper=7, sliding=9),
        Mark(cells={"region": "S"}, cost=5),
        Mark(cells={"region": "W"}, low=10, high=40),
    ]
    primary = dc.primary(table(), RULES, marks=Marks(marks))
    assert verdict_of(primary) == ["free", "sensitive", "free", "free"]
    assert (primary.lower[1], primary.upper[1], primary.sliding[1]) == (0, 7, 9)
    assert primary.cost[2] == 5
    assert np.isnan(primary.cost[[0, 1, 3]]).all()
    assert (primary.low[3], primary.high[3]) == (10, 40)


def test_a_variable_left_out_stands_for_all_its_codes() -> None:
    both = dc.tabulate(PEOPLE, by=["region", "sex"])
    marks = [Mark(cells={"sex": "Total"}, cost=9), Mark(cells={"region": "S"}, low=0)]
    primary = dc.primary(both, [], marks=marks)
    codes = both.to_polars()
    assert codes.filter(pl.Series(primary.cost == 9))["sex"].unique().to_list() == ["Total"]
    assert (primary.cost == 9).sum() == 4
    assert codes.filter(pl.Series(primary.low == 0))["sex"].to_list() == ["Total", "m", "w"]


def test_a_secondary_suppression_that_is_sensitive_now_is_primary() -> None:
    primary = dc.primary(table(), RULES, marks=[Mark(cells={"region": "N"}, status="secondary")])
    assert verdict_of(primary) == ["free", "sensitive", "free", "free"]


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        (
            [Mark(cells={"region": "S"}, status="safe"), Mark(cells={}, status="unsafe")],
            "region=S: marks give this cell different statuses",
        ),
        (
            [Mark(cells={"region": "S"}, cost=1), Mark(cells={"region": "S"}, cost=2)],
            "different costs",
        ),
        (
            [Mark(cells={"region": "S"}, low=8), Mark(cells={"region": "S"}, high=7)],
            "lower bound is above",
        ),
        ([Mark(cells={"region": "N"}, status="protected")], "sensitive by a rule and marked"),
        ([Mark(cells={"region": "S"}, upper=4)], "a cell that is not sensitive"),
        ([Mark(cells={"region": "X"}, cost=4)], "no code 'X'"),
        ([Mark(cells={"place": "N"}, cost=4)], "variable 'place' not found in the table"),
    ],
)
def test_contradictions_are_named(marks: list[Mark], message: str) -> None:
    with pytest.raises(SuppressionError, match=message) as caught:
        dc.primary(table(), RULES, marks=marks)
    assert caught.value.code == "marks"


def test_all_contradictions_are_listed_at_once_with_their_lines() -> None:
    marks = Marks(
        [
            Mark(cells={"region": "X"}, cost=1, where="line 2"),
            Mark(cells={"region": "N", "sex": "m"}, cost=1, where="line 3"),
        ],
        source="before.hst",
    )
    with pytest.raises(SuppressionError) as caught:
        dc.primary(table(), RULES, marks=marks)
    assert [problem.where for problem in caught.value.problems] == ["line 2", "line 3"]
    assert caught.value.where == "before.hst"


def test_marks_of_cells_that_do_not_occur_pass_if_asked_for() -> None:
    both = dc.tabulate(PEOPLE.filter(pl.int_range(pl.len()) != 1), by=["region", "sex"])
    marks = [
        Mark(cells={"region": "N", "sex": "w"}, status="protected"),
        Mark(cells={"region": "N", "sex": "m"}, cost=3),
        Mark(cells={"region": "X", "sex": "m"}, cost=3),
    ]
    with pytest.raises(SuppressionError, match="cell region=N, sex=w not found in the table"):
        dc.primary(both, [], marks=marks[:1])
    primary = dc.primary(both, [], marks=marks, unmatched="ignore")
    assert np.flatnonzero(primary.cost == 3).size == 1
    assert not primary.fixed.any()


@for_all_rows(
    ("mark", "message"),
    [
        (Mark(cells={"region": "N"}), "the mark has no status, level, bound or cost"),
        (Mark(cells={"region": "N"}, status="open"), "status must be one of"),
        (Mark(cells={"region": "N"}, cost=-1), "cost must be finite and at least 0"),
        (Mark(cells={"region": "N"}, cost=float("nan")), "cost must be a number"),
        (Mark(cells={"region": "N"}, upper=float("inf")), "upper must be finite and at least 0"),
        (Mark(cells={"region": "N"}, low=2, high=1), "low is above high"),
        (Mark(cells="N", cost=1), "cells must map variables to codes"),
        ("N", "not a Mark"),
    ],
)
def test_a_mark_that_makes_no_sense_is_refused(mark: Mark, message: str) -> None:
    with pytest.raises(SuppressionError, match=message):
        Marks([mark])


def test_many_marks_are_found() -> None:
    numbers = np.arange(4_000)
    frame = pl.DataFrame({"a": (numbers // 50).astype(str), "b": (numbers % 50).astype(str)})
    large = dc.tabulate(frame, by=["a", "b"])
    marks = [Mark(cells={"a": a, "b": b}, cost=float(a)) for a, b in frame.rows()]
    primary = dc.primary(large, [], marks=marks)
    codes = large.to_polars().with_columns(cost=primary.cost)
    inner = codes.filter((pl.col("a") != "Total") & (pl.col("b") != "Total"))
    assert (inner["cost"] == inner["a"].cast(pl.Float64)).all()
    assert np.isnan(primary.cost).sum() == len(large) - len(frame)
