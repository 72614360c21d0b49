"""Subtables, and the method that goes through them one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import discreet as dc
from discreet.disclosure import relations_of
from discreet.protection.suppression.methods.subtables import (
    protect_modular,
    subtables_of,
)
from discreet.protection.suppression.methods.worktime import WorkTime
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


def test_coarse_subtables_come_first_and_every_relation_is_in_one() -> None:
    table = full_table(tree("x"), tree("y"))
    relations = relations_of(table.dimensions, table.index)
    found = subtables_of(relations)
    top = found[0].grid[0, 0]
    assert all(part[top] == 0 for part in table.index)
    assert set(np.concatenate([each.rows for each in found]).tolist()) == set(range(len(relations)))


def test_the_same_pattern_every_time_and_lines_of_progress(reference: Path) -> None:
    problem = read_jj(reference / "suppression" / "tau_SizeReg_P10.jj.gz")
    told: list[str] = []
    one, other = protect_modular(problem, WorkTime(progress=told.append)), protect_modular(problem)
    np.testing.assert_array_equal(one.hidden, other.hidden)
    assert one.digest() == other.digest()
    assert told[-1] == "audit and repair"
