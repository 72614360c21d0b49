"""The method `hypercube`: each hidden cell as the corner of a cube of hidden cells. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a `Pattern`. In each subtable, two codes of each variable
span a cube; moving its corners by the same amount, up and down in turn, changes no total.
So a cube of hidden cells proves how far each corner can move. The cheapest cube wide enough
is hidden. An audit of the whole table repairs what cubes in single subtables leave open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.protection.suppression.methods.modular import (
    Subtable,
    axis_subsets,
    pattern_by_subtables,
    subtables_of,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.problem.unknowns import outer_bounds, unknowns_of
from discreet.protection.suppression.proof.certificate import Pattern


def protect_hypercube(
    problem: SuppressionProblem, watch: WorkTime | None = None, seed: int = 0
) -> Pattern:
    """Protect every hidden cell by a cube in each subtable, then audit and repair the whole.

    When time is up no further subtable is looked at; the rest is left to the repair.
    """
    rooms = _MoveRanges.of(problem)
    subtables = subtables_of(problem.relations)
    looked_at: dict[int, set[int]] = {id(item): set() for item in subtables}

    def solve(subtable: Subtable, hidden: BoolArray) -> IntArray:
        # Cubes stay hidden, so that no cell needs to be looked at twice.
        return _cubes(subtable, hidden, rooms, looked_at[id(subtable)])

    return pattern_by_subtables(problem, "hypercube", subtables, solve, watch or WorkTime(), seed)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _MoveRanges:
    """How far cells can move, and how far they must, with a last entry for no cell at all."""

    down: FloatArray
    up: FloatArray
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray
    cost: FloatArray

    @classmethod
    def of(cls, problem: SuppressionProblem) -> _MoveRanges:
        known = unknowns_of(problem, problem.state != CellState.fixed)
        low, high = outer_bounds(known)
        size = len(problem) + 1
        columns = {name: np.zeros(size) for name in ("down", "up", "lower", "upper", "sliding")}
        values = (-low, high, known.lower, known.upper, known.sliding)
        for column, value in zip(columns.values(), values, strict=True):
            column[known.cells] = value
        for name in ("lower", "upper", "sliding"):
            columns[name][known.cells[~known.sensitive]] = 0.0
        cost = np.full(size, np.inf)
        cost[known.cells] = problem.cost[known.cells]
        return cls(cost=cost, **columns)


def _cubes(
    subtable: Subtable, hidden: BoolArray, rooms: _MoveRanges, looked_at: set[int]
) -> IntArray:
    """The cells of the subtable that cubes for all its hidden cells need, and those hidden."""
    now = hidden.copy()
    todo = sorted(
        set(subtable.cells[hidden[subtable.cells]].tolist()) - looked_at,
        key=lambda cell: (-max(rooms.lower[cell], rooms.upper[cell]), cell),
    )
    for cell in todo:
        looked_at.add(cell)
        cube = _cheapest(subtable, int(cell), now, rooms)
        fresh = cube[~now[cube]]
        now[fresh] = True
        todo += fresh.tolist()
    return subtable.cells[now[subtable.cells]]


def _cheapest(subtable: Subtable, cell: int, hidden: BoolArray, rooms: _MoveRanges) -> IntArray:
    """The corners of the cheapest cube that lets a cell move far enough; none if there is none."""
    grid, place = subtable.grid, subtable.place[cell]
    others = [np.delete(np.arange(size), at) for size, at in zip(grid.shape, place, strict=True)]
    shape = tuple(len(other) for other in others)
    if 0 in shape:
        return np.zeros(0, dtype=np.int64)
    cost, up, down = np.zeros(shape), np.full(shape, np.inf), np.full(shape, np.inf)
    price = np.where(np.append(hidden, False), 0.0, rooms.cost)
    for chosen in axis_subsets(shape):
        at, sign = _corner(grid, place, others, chosen)
        cost = cost + price[at]
        rises, falls = rooms.up[at], rooms.down[at]
        up = np.minimum(up, np.where(sign > 0, rises, falls))
        down = np.minimum(down, np.where(sign > 0, falls, rises))
    wide = (up >= rooms.upper[cell]) & (down >= rooms.lower[cell])
    # A secondary only has to stay unknown: some move, wherever it goes.
    wide &= up + down >= max(rooms.sliding[cell], 1.0)
    cost = np.where(wide, cost, np.inf)
    best = np.unravel_index(int(np.argmin(cost)), shape)
    if not np.isfinite(cost[best]):
        return np.zeros(0, dtype=np.int64)
    away = [other[at] for other, at in zip(others, best, strict=True)]
    corners = (np.where(chosen, away, place) for chosen in axis_subsets(shape))
    return np.array([grid[tuple(corner)] for corner in corners], dtype=np.int64)


def _corner(
    grid: IntArray, place: tuple[int, ...], others: list[IntArray], chosen: tuple[bool, ...]
) -> tuple[IntArray, FloatArray]:
    """One corner of all cubes at once: its cell, and whether it moves with the cell or against.

    Along a variable, two parts move against each other; a part and its total move together.
    """
    axes: list[IntArray] = []
    sign = np.ones((1,) * len(place))
    for axis, (own, other, use) in enumerate(zip(place, others, chosen, strict=True)):
        form = [1] * len(place)
        codes = other if use else np.array([own])
        form[axis] = len(codes)
        axes.append(codes.reshape(form))
        if use:
            against = np.where((codes != 0) & (own != 0), -1.0, 1.0)
            sign = sign * against.reshape(form)
    return grid[tuple(axes)], sign
