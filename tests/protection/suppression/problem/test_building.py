"""From tables to suppression problems: cells, relations, values, bounds, costs."""

from __future__ import annotations

import csv
import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.disclosure import (
    UNBOUNDED,
    Knowledge,
    Relations,
    stacked_relations,
    table_relations,
    tidied_relations,
)
from discreet.disclosure.relations import with_equal_cells_merged
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.linked_tables import Cost, build_problem
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    hides_empty_cells,
)
from discreet.rules import MinimumFrequency, NothingSensitive, PPercent, primary
from discreet_argus import read_rda, read_records
from discreet_argus.jj import read_jj
from tests.helpers.protected_tables import marked
from tests.helpers.rows import for_all_rows
from tests.helpers.small_systems import exactly_known

REGION = dc.Classification.from_parents(
    "region", {"N": None, "N1": "N", "N2": "N", "S": None, "S1": "S", "S2": "S"}
)


def firms(**columns: Any) -> pl.DataFrame:
    base = {
        "region": ["N1", "N1", "N2", "S1", "S2", "S2", "S2"],
        "size": ["a", "b", "a", "a", "a", "b", "b"],
        "turnover": [10.0, 20.0, 5.0, 40.0, 7.5, 1.25, 1.25],
    }
    return pl.DataFrame({**base, **columns})


def table(frame: pl.DataFrame | None = None, **options: Any) -> dc.Table:
    records = firms() if frame is None else frame
    return dc.tabulate(records, by=[REGION, "size"], values=["turnover"], **options)


def test_totals_of_a_single_part_are_that_part() -> None:
    cells = table()
    problem, members = build_problem((cells, marked(cells, region="N2", size="a")))
    only = members.cells[0][marked(cells, region="N2", size="a")]
    assert members.cells[0][marked(cells, region="N2")] == only
    hidden = members.hidden(problem.hidden)
    assert hidden.sum() == 2
    assert "totals of a single part" in members.notes[0]


def test_every_relation_holds_and_no_cell_stands_alone() -> None:
    problem, members = build_problem((table(), None), value="turnover", decimals=2)
    assert not problem.relations.residuals(problem.value).any()
    assert set(problem.relations.cell.tolist()) == set(range(len(problem)))
    assert (np.diff(problem.relations.start) > 2).all()
    assert problem.value.max() == 8500
    assert (members.values[0] == np.rint(table().sums["turnover"] * 100)).all()


def test_published_decimals_are_added_up_from_the_finest_cells() -> None:
    cells = table()
    problem, members = build_problem((cells, None), value="turnover")
    total = marked(cells)
    # 10 + 20 + 5 + 40 + rint(7.5) + rint(2.5)
    assert members.values[0][total] == 85
    assert (np.abs(members.values[0] - np.rint(cells.sums["turnover"])) <= 2).all()
    assert not problem.relations.residuals(problem.value).any()
    assert problem.decimals == 0


def test_values_that_do_not_add_up_are_refused_by_name_and_put_right_on_request() -> None:
    frame = pl.DataFrame({"size": ["Total", "a", "b"], "n": [9, 3, 4]})
    wrong = dc.Table.from_cells(frame, by=["size"], count="n")
    with pytest.raises(SuppressionError, match="total: the parts do not add up") as caught:
        build_problem((wrong, None))
    assert "9" not in str(caught.value)
    problem, members = build_problem((wrong, None), repair=True)
    assert sorted(problem.value) == [3, 4, 7]
    assert (members.values[0] - wrong.count).tolist() == [-2, 0, 0]
    assert "1 totals did not add up and were corrected" in members.notes


def test_a_total_whose_parts_are_all_missing_is_refused() -> None:
    frame = pl.DataFrame({"region": ["Total", "N", "N1", "S"], "n": [9, 4, 4, 5]})
    cells = dc.Table.from_cells(frame, by=[REGION], count="n")
    with pytest.raises(SuppressionError, match="region=S: the total has a value, but none"):
        build_problem((cells, None))


def test_levels_that_were_not_handed_in_are_unknown_not_zero() -> None:
    frame = pl.DataFrame({"region": ["Total", "N", "S"], "n": [9, 4, 5]})
    cells = dc.Table.from_cells(frame, by=[REGION], count="n")
    problem, _ = build_problem((cells, None))
    assert len(problem) == 3
    assert len(problem.relations) == 1


def test_what_primary_rules_found_is_taken_over_in_units() -> None:
    cells = table(contributions=2)
    found = primary(cells, [PPercent(30), MinimumFrequency(2)], value="turnover")
    problem, members = build_problem((cells, found), value="turnover", decimals=1)
    hidden = members.hidden(problem.state == CellState.primary)
    assert (hidden >= found.sensitive).all()
    at = members.cells[0][marked(cells, region="S", size="b")]
    assert problem.upper[at] == np.ceil(found.upper[marked(cells, region="S", size="b")] * 10)
    with pytest.raises(SuppressionError, match="found for another value"):
        build_problem((cells, found))


def test_attackers_bounds_hold_the_levels_and_follow_what_is_known() -> None:
    cells = table()
    alone = marked(cells, region="N1", size="a")
    problem, _ = build_problem((cells, alone), value="turnover")
    assert (problem.low == 1).all()  # zeros are shown
    assert (problem.high == 2 * problem.value).all()
    problem, _ = build_problem(
        (cells, alone), value="turnover", knowledge=Knowledge(below=0.25, above=None)
    )
    assert (problem.low == problem.value - np.ceil(problem.value / 4)).all()
    assert (problem.high == UNBOUNDED).all()
    few = primary(cells, [MinimumFrequency(3)])
    whole, fine = (build_problem((cells, few), decimals=digits)[0] for digits in (0, 2))
    assert (fine.low == 100 * whole.low).all()
    assert (fine.high == 100 * whole.high).all()


def test_tables_with_negative_values_have_symmetric_bounds() -> None:
    cells = table(firms(turnover=[-10.0, 20, 5, 40, 7, 1, 1]))
    problem, _ = build_problem((cells, None), value="turnover", cost="value")
    assert (problem.low == problem.value - np.abs(problem.value)).all()
    assert (problem.high == problem.value + np.abs(problem.value)).all()
    assert (problem.cost >= 1).all()


def test_zeros_stay_published_unless_they_may_be_partners() -> None:
    cells = table(firms(turnover=[0.0, 20, 5, 40, 7, 1, 1]))
    zero = marked(cells, region="N1", size="a")
    problem, members = build_problem((cells, None), value="turnover")
    assert problem.state[members.cells[0][zero]] == CellState.fixed
    problem, members = build_problem((cells, None), value="turnover", zero_cells="partners")
    assert problem.state[members.cells[0][zero]] == CellState.free


def test_empty_cells_take_no_part_and_cannot_be_sensitive() -> None:
    frame = pl.DataFrame({"size": ["Total", "a", "b", "c"], "n": [5, 1, 4, 0]})
    cells = dc.Table.from_cells(frame, by=["size"], count="n")
    problem, members = build_problem((cells, None))
    assert len(problem) == 3
    assert members.cells[0].tolist().count(-1) == 1
    with pytest.raises(SuppressionError, match="1 sensitive cells are empty"):
        build_problem((cells, marked(cells, size="c")))
    for own in np.eye(len(cells), dtype=np.bool_):
        assert hides_empty_cells(cells, own) == (cells.count[own] == 0).all()


@for_all_rows(
    ("cost", "of_total", "of_inner"),
    [
        ("value", 85, 10),
        ("count", 7, 1),
        ("unity", 1, 1),
        (Cost(of="unity", totals=2), 10**9, 10**9 / 4),
        (Cost(of="value", power=0.5), 10**9, 10**9 * (10 / 85) ** 0.5),
        (Cost(of="value", power=0), 10**9, 10**9 * np.log(11) / np.log(86)),
    ],
)
def test_costs(cost: Any, of_total: float, of_inner: float) -> None:
    cells = table()
    problem, members = build_problem((cells, None), value="turnover", cost=cost)
    places = members.cells[0]
    assert problem.cost[places[marked(cells)]] == pytest.approx(of_total)
    inner = places[marked(cells, region="N1", size="a")]
    assert problem.cost[inner] == pytest.approx(of_inner, abs=1)


def test_neighbours_of_sensitive_cells_are_cheap() -> None:
    frame = pl.DataFrame({"size": ["Total", *"abcd"], "n": [14, 2, 3, 4, 5]})
    cells = dc.Table.from_cells(frame, by=["size"], count="n")
    problem, _ = build_problem((cells, marked(cells, size="b")), cost="distance")
    cost = {problem.name(at): int(problem.cost[at]) for at in range(len(problem))}
    assert cost == {"total": 5, "size=a": 1, "size=b": 1, "size=c": 1, "size=d": 2}


def test_marks_give_costs_and_bounds_and_must_not_contradict_each_other() -> None:
    cells = table(contributions=2)
    found = primary(cells, [NothingSensitive()], value="turnover")
    for number, place in enumerate(np.eye(len(cells), dtype=np.bool_)):
        low = np.floor(cells.sums["turnover"][place][0]) - 1.0
        given, least = (np.where(place, own, np.nan) for own in (number, low))
        stated = replace(found, cost=given, low=least)
        problem, members = build_problem((cells, stated), value="turnover")
        at = members.cells[0][place]
        assert (problem.cost[at], problem.low[at]) == (number, low)
    place = marked(cells, region="S1", size="a")
    verdict = found.verdict.copy()
    verdict[place] = CellState.fixed
    verdict[marked(cells, region="S1")] = CellState.primary
    clash = replace(found, verdict=verdict)
    with pytest.raises(SuppressionError, match="must be published and must be suppressed"):
        build_problem((cells, clash), value="turnover")


@for_all_rows(
    ("options", "message"),
    [
        ({"value": "rent"}, "has no sums of 'rent'"),
        ({"decimals": 12}, "between 0 and 9"),
        ({"zero_cells": "hidden"}, "fixed or partners"),
        ({"cost": Cost(of="rent")}, "has no sums of 'rent'"),
        ({"value": "turnover", "decimals": 9, "cost": "unity"}, None),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str | None) -> None:
    if message is None:
        problem, _ = build_problem((table(), None), **options)
        assert problem.decimals == 9
        return
    with pytest.raises(SuppressionError, match=message):
        build_problem((table(), None), **options)


def test_masks_of_another_table_are_refused() -> None:
    with pytest.raises(SuppressionError, match="one boolean for each cell"):
        build_problem((table(), np.zeros(3, dtype=np.bool_)))
    with pytest.raises(SuppressionError, match="as a mask or as what primary rules found"):
        build_problem((table(), "all"))  # type: ignore[arg-type]
    with pytest.raises(SuppressionError, match="in pairs"):
        build_problem([table()])  # type: ignore[list-item]


# -- the same system as other tools build -------------------------------------


def rows_of(relations: Relations) -> set[frozenset[tuple[int, int]]]:
    entries: dict[int, set[tuple[int, int]]] = {}
    for row, cell, coef in zip(relations.row, relations.cell, relations.coef, strict=True):
        entries.setdefault(int(row), set()).add((int(cell), int(coef)))
    return {frozenset(entry) for entry in entries.values()}


def lines_of(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def tree_of(path: Path, name: str) -> dc.Classification:
    parents: dict[str, str | None] = {}
    above: list[str] = []
    for line in lines_of(path):
        depth = len(line["level"])
        above = [*above[: depth - 1], line["name"]]
        if depth > 1:
            parents[line["name"]] = above[-2] if depth > 2 else None
    return dc.Classification.from_parents(name, parents, total=above[0])


@pytest.mark.parametrize("case", ["T1", "T2", "T3", "T6"])
def test_relations_are_those_of_another_tool(reference: Path, case: str) -> None:
    folder = reference / "sdctable"
    cells = lines_of(folder / f"{case}_cells_and_primary.csv.gz")
    files = sorted(folder.glob(f"{case}_hier_*.csv.gz"))
    trees = [tree_of(path, path.name.split("_")[2].split(".")[0]) for path in files]
    names = [tree.name for tree in trees]
    frame = pl.DataFrame([{name: cell[name] for name in [*names, "freq"]} for cell in cells])
    cells_there = dc.Table.from_cells(frame.cast({"freq": pl.Int64}), by=trees, count="freq")
    occupied = cells_there.count > 0
    relations, lone = table_relations(cells_there, occupied)
    assert not lone.any()
    number = np.cumsum(occupied) - 1
    entries: dict[str, set[tuple[int, int]]] = {}
    for line in lines_of(folder / f"{case}_constraints.csv.gz"):
        at = int(line["col"]) - 1
        if occupied[at]:
            entries.setdefault(line["row"], set()).add((int(number[at]), int(line["val"])))
    assert rows_of(tidied_relations(relations)) == {frozenset(entry) for entry in entries.values()}


@pytest.mark.parametrize(
    ("name", "spanning"),
    [("SizeReg", ["Size", "Region"]), ("YearSizeReg", ["Year", "Size", "Region"])],
)
def test_problems_from_records_are_those_of_another_tool(
    reference: Path, name: str, spanning: list[str]
) -> None:
    folder = reference / "argus"
    metadata = read_rda(folder / "Tau_TestW.rda", of="records")
    records = read_records(folder / "tau_testW.asc.gz", metadata)
    trees = [metadata.classification(each, records[each].unique().to_list()) for each in spanning]
    cells = dc.tabulate(records, by=trees, values=["Var2"], contributions=2)
    found = primary(cells, [PPercent(10)], value="Var2")
    problem, _ = build_problem((cells, found), value="Var2", decimals=2)
    theirs = read_jj(reference / "suppression" / f"tau_{name}_P10.jj.gz")
    assert int(found.sensitive.sum()) == len(theirs.primary)
    # They keep totals of a single part as cells of their own; zeros are left out here.
    units = 10 ** (problem.decimals - theirs.decimals)
    assert folded_values(problem, 1) == folded_values(theirs, units)


def folded_values(problem: SuppressionProblem, units: int) -> tuple[list[int], list[int], int]:
    """Values of all cells and of the sensitive ones, and the number of relations."""
    among, old = problem.relations.among(problem.value != 0)
    numbers, relations = with_equal_cells_merged(tidied_relations(among))
    value = np.zeros(relations.cells, dtype=np.int64)
    value[numbers] = problem.value[old] * units
    sensitive = np.unique(numbers[np.isin(old, problem.primary)])
    return sorted(value.tolist()), sorted(value[sensitive].tolist()), len(relations)


# -- folding says the same ----------------------------------------------------


@given(st.data())
def test_folding_changes_nothing_that_an_attacker_can_work_out(data: st.DataObject) -> None:
    size = data.draw(st.integers(3, 12))
    draw = st.lists(st.sampled_from(REGION.leaves), min_size=size, max_size=size)
    frame = pl.DataFrame(
        {
            "region": data.draw(draw),
            "size": data.draw(st.lists(st.sampled_from("abc"), min_size=size, max_size=size)),
        }
    )
    cells = dc.tabulate(frame, by=[REGION, "size"])
    every = np.ones(len(cells), dtype=np.bool_)
    relations, _ = table_relations(cells, every)
    problem, members = build_problem((cells, None))
    chosen = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(problem), max_size=len(problem)))
    )
    hidden = members.hidden(chosen)
    stacked = stacked_relations(len(cells), [(relations, np.arange(len(cells)))])
    before = exactly_known(stacked.dense(), hidden)
    after = members.hidden(exactly_known(problem.relations.dense(), chosen))
    assert (before == after).all()
    assert (members.gathered((hidden,), len(problem)) == chosen).all()
