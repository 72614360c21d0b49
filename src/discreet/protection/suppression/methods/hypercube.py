"""The method `hypercube`: each hidden cell as the corner of a cube of hidden cells. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a `Pattern`. In each subtable, two codes of each variable
span a cube; moving its corners by the same amount, up and down in turn, changes no total.
So a cube of hidden cells proves how far each corner can move. The cheapest cube wide enough
is hidden. An audit of the whole table repairs what cubes in single subtables leave open.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import outer_bounds
from discreet.protection.suppression.methods.modular import (
    Subtable,
    pattern_by_subtables,
    subtables_of,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)
from discreet.protection.suppression.proof.certificate import Pattern


def protect_hypercube(
    problem: SuppressionProblem, watch: WorkTime | None = None, seed: int = 0
) -> Pattern:
    """Protect every hidden cell by a cube in each subtable, then audit and repair the whole.

    When time is up no further subtable is looked at; the rest is left to the repair.
    """
    known = unknowns_of(problem, problem.state != CellState.fixed)
    low, high = outer_bounds(known)
    levels = np.where(known.sensitive, (known.lower, known.upper, known.sliding), 0.0)
    # How far cells can move down and up, how far they must, and what they cost; at the end for
    # no cell at all.
    ranges = np.zeros((6, len(problem) + 1))
    ranges[5] = np.inf
    ranges[:, known.cells] = (-low, high, *levels, problem.cost[known.cells])
    subtables = subtables_of(problem.relations)
    looked_at: dict[int, set[int]] = {id(item): set() for item in subtables}

    def solve(subtable: Subtable, hidden: BoolArray) -> IntArray:
        # Cubes stay hidden, so that no cell needs to be looked at twice.
        return _cubes(subtable, hidden, ranges, looked_at[id(subtable)])

    return pattern_by_subtables(problem, "hypercube", subtables, solve, watch or WorkTime(), seed)


def _cubes(
    subtable: Subtable, hidden: BoolArray, ranges: FloatArray, looked_at: set[int]
) -> IntArray:
    """The cells of the subtable that cubes for all its hidden cells need, and those hidden."""
    now = hidden.copy()
    _, _, lower, upper, _, _ = ranges
    todo = sorted(
        set(subtable.cells[hidden[subtable.cells]].tolist()) - looked_at,
        key=lambda cell: (-max(lower[cell], upper[cell]), cell),
    )
    for cell in todo:
        looked_at.add(cell)
        cube = _cheapest(subtable, int(cell), now, ranges)
        fresh = cube[~now[cube]]
        now[fresh] = True
        todo += fresh.tolist()
    return subtable.cells[now[subtable.cells]]


def _cheapest(subtable: Subtable, cell: int, hidden: BoolArray, ranges: FloatArray) -> IntArray:
    """The corners of the cheapest cube that lets a cell move far enough; none if there is none."""
    grid, place = subtable.grid, subtable.place[cell]
    falls, rises, lower, upper, sliding, costs = ranges
    others = [np.delete(np.arange(size), at) for size, at in zip(grid.shape, place, strict=True)]
    shape = tuple(len(other) for other in others)
    if 0 in shape:
        return np.zeros(0, dtype=np.int64)
    cost, up, down = np.zeros(shape), np.full(shape, np.inf), np.full(shape, np.inf)
    price = np.where(np.append(hidden, False), 0.0, costs)
    corners = list(product((False, True), repeat=len(shape)))
    for chosen in corners:
        # Along a variable, two parts move against each other; a part and its total together.
        axes = [
            other if use else np.array([own])
            for own, other, use in zip(place, others, chosen, strict=True)
        ]
        sign = np.ones((1,) * len(place))
        for axis, (own, codes, use) in enumerate(zip(place, axes, chosen, strict=True)):
            against = np.where((codes != 0) & (own != 0) & use, -1.0, 1.0)
            sign = sign * np.expand_dims(against, [at for at in range(len(place)) if at != axis])
        at = grid[np.ix_(*axes)]
        cost = cost + price[at]
        up = np.minimum(up, np.where(sign > 0, rises[at], falls[at]))
        down = np.minimum(down, np.where(sign > 0, falls[at], rises[at]))
    wide = (up >= upper[cell]) & (down >= lower[cell])
    # A secondary only has to stay unknown: some move, wherever it goes.
    wide &= up + down >= max(sliding[cell], 1.0)
    cost = np.where(wide, cost, np.inf)
    best = np.unravel_index(int(np.argmin(cost)), shape)
    if not np.isfinite(cost[best]):
        return np.zeros(0, dtype=np.int64)
    away = [other[at] for other, at in zip(others, best, strict=True)]
    cells = [grid[tuple(np.where(chosen, away, place))] for chosen in corners]
    return np.array(cells, dtype=np.int64)
