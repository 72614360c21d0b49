"""Subtables, and the method that goes through them one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.disclosure import Relations, relations_of
from discreet.protection.suppression.methods.subtables import (
    protect_modular,
    subtable_problem,
    subtables_of,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.proof.certificate import certify
from discreet_argus import read_jj

TREE = {"A": None, "B": None, "A1": "A", "A2": "A", "A3": "A", "B1": "B", "B2": "B"}


def full_table(*trees: dc.Classification) -> dc.Table:
    """A table in which every combination of finest codes has records."""
    leaves = pl.DataFrame({trees[0].name: list(trees[0].leaves)})
    for tree in trees[1:]:
        leaves = leaves.join(pl.DataFrame({tree.name: list(tree.leaves)}), how="cross")
    return dc.tabulate(pl.concat([leaves, leaves]), by=list(trees))


def tree(name: str) -> dc.Classification:
    return dc.Classification.from_parents(name, {f"{name}{code}": above and f"{name}{above}"
                                                 for code, above in TREE.items()})  # fmt: skip


def test_a_table_with_two_trees_has_a_subtable_for_each_pair_of_parents() -> None:
    table = full_table(tree("x"), tree("y"))
    found = subtables_of(relations_of(table.dimensions, table.index))
    shapes = sorted(each.grid.shape for each in found)
    # Each tree has three parents: the total with 2 parts, A with 3, B with 2.
    sizes = [3, 4, 3]
    assert shapes == sorted((a, b) for a in sizes for b in sizes)
    assert all((each.grid >= 0).all() for each in found)


def test_axes_hold_totals_in_front_and_one_code_in_each_place() -> None:
    table = full_table(tree("x"), tree("y"), tree("z"))
    found = subtables_of(relations_of(table.dimensions, table.index))
    assert found
    for each in found:
        for axis in range(3):
            slices = np.moveaxis(each.grid, axis, 0).reshape(each.grid.shape[axis], -1)
            codes = [[len(np.unique(part[row])) for part in table.index] for row in slices]
            assert all(1 in counts for counts in codes)
        values = table.count[each.grid]
        for axis in range(3):
            first, *rest = np.moveaxis(values, axis, 0)
            np.testing.assert_array_equal(first, sum(rest))


def test_coarse_subtables_come_first_and_every_relation_is_in_one() -> None:
    table = full_table(tree("x"), tree("y"))
    relations = relations_of(table.dimensions, table.index)
    found = subtables_of(relations)
    top = found[0].grid[0, 0]
    assert all(part[top] == 0 for part in table.index)
    assert set(np.concatenate([each.rows for each in found]).tolist()) == set(range(len(relations)))


def test_a_table_with_holes_has_holes_on_its_grid() -> None:
    cells = pl.DataFrame({"sex": ["m", "m", "w"], "age": ["y", "o", "y"], "n": [1, 1, 1]})
    table = dc.tabulate(cells, by=["sex", "age"])
    (found,) = subtables_of(relations_of(table.dimensions, table.index))
    assert (found.grid < 0).sum() == 1


def test_relations_without_a_total_belong_to_no_subtable() -> None:
    assert subtables_of(Relations.of(3, [[(0, 1), (1, 1), (2, 1)]], [5])) == []


def test_each_subtable_is_safe_by_itself(reference: Path) -> None:
    problem = read_jj(reference / "suppression" / "tau_SizeReg_P10.jj.gz")
    hidden = protect_modular(problem).hidden
    subtables = subtables_of(problem.relations)
    assert len(subtables) > 1
    for each in subtables:
        part = subtable_problem(problem, each, hidden)
        primary = problem.state[each.cells] == 1
        found = certify(part, hidden[each.cells], primary)
        assert not len(found.unprotected)


def test_the_same_pattern_every_time_and_lines_of_progress(reference: Path) -> None:
    problem = read_jj(reference / "suppression" / "tau_SizeReg_P10.jj.gz")
    told: list[str] = []
    one, other = protect_modular(problem, WorkTime(progress=told.append)), protect_modular(problem)
    np.testing.assert_array_equal(one.hidden, other.hidden)
    assert one.digest() == other.digest()
    assert told[-1] == "audit and repair"


def test_a_time_limit_leaves_a_safe_pattern_that_says_so(reference: Path) -> None:
    problem = read_jj(reference / "suppression" / "tau_SizeReg_P10.jj.gz")
    pattern: Any = protect_modular(problem, WorkTime(1e-9))
    assert pattern.safe
    assert not pattern.complete
