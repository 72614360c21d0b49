"""Subtables one by one, and cubes of hidden cells in them, moved up and down in turn."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.linalg import null_space

import discreet as dc
from discreet.disclosure import Relations, relations_of
from discreet.protection.suppression import Cost, Suppression
from discreet.protection.suppression.methods.subtables import (
    cheapest_cube,
    protect_hypercube,
    protect_modular,
    subtables_of,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet_argus import read_jj
from tests.helpers.protected_tables import blanks
from tests.helpers.small_systems import sums_of_table


def square(*rows: tuple[int, ...]) -> dc.Table:
    """A table of two variables with the given inner cells."""
    numbers = [
        (f"r{i}", f"c{j}")
        for i, row in enumerate(rows)
        for j, value in enumerate(row)
        for _ in range(value)
    ]
    return dc.tabulate(pl.DataFrame(numbers, schema=["row", "column"], orient="row"),
                       by=["row", "column"])  # fmt: skip


def hidden(table: dc.Table, primary: object, **options: object) -> set[tuple[str, str]]:
    return blanks(dc.suppress(table, primary, method="hypercube", **options))  # type: ignore[call-overload]


def test_corners_too_small_for_the_level_are_passed_over() -> None:
    """The cell must be able to move by 9, so 8 and 7 are no partners; none is zero."""
    table = square((2, 50, 10), (60, 70, 80), (8, 40, 7))
    mark = dc.rules.Mark(cells={"row": "r0", "column": "c0"}, status="unsafe", lower=2, upper=9)
    found = hidden(table, dc.primary(table, [], marks=[mark]), cost=Cost(totals=1000))
    assert found == {("r0", "c0"), ("r0", "c2"), ("r1", "c0"), ("r1", "c2")}


def test_totals_are_corners_where_parts_must_be_published() -> None:
    table = square((2, 50), (60, 70))
    marks = [
        dc.rules.Mark(cells={"row": "r0", "column": "c0"}, status="unsafe"),
        dc.rules.Mark(cells={"row": "r1", "column": "c1"}, status="protected"),
    ]
    found = hidden(table, dc.primary(table, [], marks=marks))
    assert ("r1", "c1") not in found
    assert {row for row, _ in found} & {"Total"} or {column for _, column in found} & {"Total"}


def test_a_cube_in_three_variables_has_eight_corners() -> None:
    draw = np.random.default_rng(5)
    names = [f"{a}{b}{c}" for a in "xyz" for b in "xyz" for c in "xyz"]
    frame = pl.DataFrame({"all": np.repeat(names, draw.integers(20, 90, 27))})
    frame = frame.select(
        a=pl.col("all").str.slice(0, 1), b=pl.col("all").str.slice(1, 1),
        c=pl.col("all").str.slice(2, 1),
    )  # fmt: skip
    table = dc.tabulate(frame, by=["a", "b", "c"])
    inner = np.all([part > 0 for part in table.index], axis=0)
    one = np.zeros(len(table), dtype=bool)
    one[np.flatnonzero(inner)[0]] = True
    done = Suppression.of((table, one), method="hypercube", cost=Cost(totals=1000))
    assert int(done.pattern.hidden.sum()) == 8
    assert done.pattern.notes == ()


@pytest.mark.parametrize("protect", [protect_hypercube, protect_modular])
def test_a_time_limit_leaves_a_safe_pattern(reference: Path, protect: Any) -> None:
    problem = read_jj(reference / "suppression" / "tau_SizeReg_P10.jj.gz")
    pattern = protect(problem, WorkTime(1e-9))
    assert pattern.safe
    assert not pattern.complete


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 3)])
def test_the_cheapest_cube_is_as_wide_as_relations_let_its_corners_move(
    shape: tuple[int, ...],
) -> None:
    """Beside trying all cubes: moves of the corners that no relation forbids."""
    draw = np.random.default_rng(8)
    relations = Relations.of(int(np.prod(shape)), sums_of_table(shape))
    (subtable,) = subtables_of(relations)
    matrix, number = relations.dense(), relations.cells
    for _ in range(6):
        ranges = draw.integers(0, 30, (6, number)).astype(np.float64)
        ranges = np.append(ranges // [[1], [1], [3], [3], [2], [1]], np.full((6, 1), np.inf), 1)
        hidden = draw.random(number) < 0.2
        price = np.where(np.append(hidden, False), 0, ranges[5])
        for cell, place in subtable.place.items():
            wide: dict[frozenset[int], float] = {}
            for other in product(*(range(size) for size in subtable.grid.shape)):
                if all(a != b for a, b in zip(place, other, strict=True)):
                    cube = subtable.grid[np.ix_(*zip(place, other, strict=True))].ravel()
                    moves = null_space(matrix[:, cube])
                    assert moves.shape[1] == 1
                    rising = moves[:, 0] * moves[cube == cell, 0] > 0
                    up = np.where(rising, ranges[1, cube], ranges[0, cube]).min()
                    down = np.where(rising, ranges[0, cube], ranges[1, cube]).min()
                    lower, upper, sliding = ranges[2:5, cell]
                    if up >= upper and down >= lower and up + down >= max(sliding, 1):
                        wide[frozenset(cube.tolist())] = price[cube].sum()
            found = frozenset(cheapest_cube(subtable, cell, hidden, ranges).tolist())
            assert wide.get(found) == min(wide.values(), default=None)


# -- subtables -----------------------------------------------------------------------

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
