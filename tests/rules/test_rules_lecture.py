"""The rules on the examples of a lecture on statistical disclosure control."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import rules
from tests.helpers.rows import for_all_rows

TURNOVER = {"A": 25_000, "B": 400_000, "C": 35_000}


def religion_by_school(reference: Path) -> dc.Table:
    cells = pl.read_csv(reference / "lecture" / "religion_by_school.csv")
    occupied = cells.filter(pl.col("count") > 0)
    return dc.Table.from_cells(occupied, by=["school", "religion"], count="count")


def sensitive(table: dc.Table, primary: rules.Primary) -> set[tuple[str, ...]]:
    codes = table.to_polars().select(dimension.name for dimension in table.dimensions)
    return {row for row, hidden in zip(codes.rows(), primary.sensitive, strict=True) if hidden}


def one_cell(turnover: dict[str, float]) -> dc.Table:
    frame = pl.DataFrame({"firm": list(turnover), "turnover": list(turnover.values())})
    return dc.tabulate(frame, by=[], values=["turnover"], contributions=3)


def test_minimum_frequency_of_three_marks_the_cells_of_one_and_two(reference: Path) -> None:
    table = religion_by_school(reference)
    primary = dc.primary(table, [rules.MinimumFrequency(3)])
    assert sensitive(table, primary) == {("none", "orthodox"), ("fachhochschulreife", "orthodox")}


def test_the_marginal_rule_marks_the_only_jewish_cell(reference: Path) -> None:
    table = religion_by_school(reference)
    primary = dc.primary(table, [rules.MarginalRule(difference=1)])
    assert sensitive(table, primary) == {("abitur", "jewish")}
    at = int(np.flatnonzero(primary.sensitive)[0])
    assert (primary.lower[at], primary.upper[at]) == (2, 0)


@for_all_rows(
    ("rule", "hidden"),
    [
        (rules.Dominance(n=1, k=80), True),
        (rules.Dominance(n=1, k=87), False),
        (rules.Dominance(n=2, k=85), True),
        (rules.PPercent(5), False),
        (rules.PPercent(6.25), False),
        (rules.PPercent(6.26), True),
        (rules.PPercent(6.25, ties="sensitive"), True),
    ],
)
def test_three_firms(rule: rules.Rule, hidden: bool) -> None:
    primary = dc.primary(one_cell(TURNOVER), [rule], value="turnover")
    assert primary.sensitive.tolist() == [hidden]


def test_levels_are_what_the_total_would_need_to_be_safe() -> None:
    table = one_cell(TURNOVER)
    dominance = dc.primary(table, [rules.Dominance(n=1, k=80)], value="turnover")
    assert 400_000 / (460_000 + dominance.upper[0]) == pytest.approx(0.80)
    p_percent = dc.primary(table, [rules.PPercent(20)], value="turnover")
    assert 460_000 + p_percent.upper[0] - 35_000 - 400_000 == pytest.approx(0.2 * 400_000)
    pq = dc.primary(table, [rules.PQ(p=10, q=50)], value="turnover")
    assert pq.upper[0] == pytest.approx(p_percent.upper[0])
    assert p_percent.lower[0] == p_percent.upper[0]


def test_more_attackers_together_know_more() -> None:
    firms = {"A": 60.0, "B": 20, "C": 15, "D": 5}
    alone = dc.primary(one_cell(firms), [rules.PPercent(10, n=1)], value="turnover")
    together = dc.primary(one_cell(firms), [rules.PPercent(10, n=2)], value="turnover")
    assert not alone.sensitive[0]
    assert together.sensitive[0]
    assert together.upper[0] == pytest.approx(0.1 * 60 - 5)


def test_the_example_of_the_tau_argus_manual_for_weights() -> None:
    """Contributions 100 and 10 with weights 4 and 7: the two largest are 100 and 100."""
    frame = pl.DataFrame({"x": [100, 10], "w": [4, 7]})
    table = dc.tabulate(frame, by=[], values=["x"], weight="w", contributions=2)
    dominance = rules.Dominance(n=2, k=40)
    weighted = dc.primary(table, [dominance], value="x", levels="upper")
    assert weighted.sensitive.tolist() == [True]
    assert weighted.upper[0] == pytest.approx(100 * 200 / 40 - 470)
    assert dc.primary(table, [rules.Dominance(n=2, k=43)], value="x").sensitive.tolist() == [False]
    unweighted = dc.primary(table, [rules.Dominance(n=2, k=43)], value="x", weighted=False)
    assert unweighted.sensitive.tolist() == [True]
