"""The methods `modular` and `hypercube`: one subtable after the other, top down. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a `Pattern`. A hierarchical table is cut into subtables
without subtotals, found from the relations alone. Each is protected on its own; what is
hidden in one is hidden in all others that have the cell, and those are gone through again
until nothing changes. Subtables that are safe each by itself need not be safe together:
an audit of the whole table finds what is open, and flows through the whole table repair it.

`hypercube` hides the corners of cubes: in each subtable, two codes of each variable span one;
moving its corners by the same amount, up and down in turn, changes no total. So a cube of hidden
cells proves how far each corner can move. The cheapest cube wide enough is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import Relations, component_labels, outer_bounds
from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import (
    LEVELS,
    CellState,
    SuppressionProblem,
    unknowns_of,
)
from discreet.protection.suppression.proof.certificate import Pattern, certified


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Subtable:
    """One parent of each variable with its parts, in all combinations."""

    #: Numbers of the cells; one axis per variable, the total in front; -1 where there is no cell
    grid: IntArray
    rows: IntArray  # numbers of the relations among them

    @cached_property
    def cells(self) -> IntArray:
        """Numbers of its cells, ascending."""
        return np.unique(self.grid[self.grid >= 0])

    @cached_property
    def place(self) -> dict[int, tuple[int, ...]]:
        """Position of each cell on the grid."""
        filled = np.argwhere(self.grid >= 0)
        numbers = self.grid[self.grid >= 0]
        return {int(cell): tuple(at) for cell, at in zip(numbers, filled.tolist(), strict=True)}


def subtables_of(relations: Relations) -> list[Subtable]:
    """The subtables of a table, from the top down.

    Every relation with one total (coefficient -1) is part of at least one of them.

    >>> rows = [[(0, -1), (1, 1), (2, 1)], [(3, -1), (4, 1), (5, 1)], [(6, -1), (7, 1), (8, 1)],
    ...         [(0, -1), (3, 1), (6, 1)], [(1, -1), (4, 1), (7, 1)], [(2, -1), (5, 1), (8, 1)]]
    >>> [found.grid.tolist() for found in subtables_of(Relations.of(9, rows))]
    [[[0, 3, 6], [1, 4, 7], [2, 5, 8]]]
    """
    negative = relations.coef < 0
    lone = np.bincount(relations.row[negative], minlength=len(relations)) == 1
    part = ~negative & lone[relations.row]
    below_total, cells = relations.totals[relations.row[part]], relations.cell[part]
    parts: dict[int, list[int]] = {row: [] for row in np.flatnonzero(lone).tolist()}
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    total: list[int] = relations.totals.tolist()
    for row in parts:
        below.setdefault(total[row], []).append(row)
    for row, cell in zip(relations.row[part].tolist(), cells.tolist(), strict=True):
        parts[row].append(cell)
        above.setdefault(cell, []).append(row)
    family = _families(total, above)
    # How many relations lie above each cell at most, on the longest way to the top.
    depth, deeper = np.full(relations.cells, -1), np.zeros(relations.cells, dtype=np.int64)
    for _ in range(len(relations) + 1):
        if np.array_equal(deeper, depth):
            break
        depth = deeper.copy()
        np.maximum.at(deeper, cells, depth[below_total] + 1)
    totals = np.array(sorted(below), dtype=np.int64)
    covered: set[int] = set()
    subtables = []
    for top in totals[np.argsort(depth[totals], kind="stable")].tolist():
        if top in covered:
            continue
        axes: dict[int, int] = {}
        for row in below[top]:
            axes.setdefault(family[row], len(axes))
        subtable = _expanded(top, axes, total, parts, above, below, family)
        known = {family[row] for row in subtable.rows.tolist()}
        covered |= {
            cell
            for cell in subtable.cells.tolist()
            if known.issuperset(family[row] for row in below.get(cell, ()))
        }
        subtables.append(subtable)
    return subtables


def _families(total: Sequence[int], above: Mapping[int, Sequence[int]]) -> list[int]:
    """For each relation the first of its family: those that break down the same parent.

    Relations a and a' belong together if a cell lies in a and in a relation b across it, the
    total of a lies in b', the total of b lies in a', and b' and a' have the same total.
    """
    ties = [
        pair
        for rows in above.values()
        for a, b in combinations(rows, 2)
        for across, along in product(above.get(total[a], ()), above.get(total[b], ()))
        if total[across] == total[along] and across != along
        for pair in ((a, along), (b, across))
    ]
    pairs = np.array(ties, dtype=np.int64).reshape(-1, 2)
    return list(component_labels(Relations.of_pairs(len(total), pairs)).tolist())


def _expanded(
    top: int,
    axes: Mapping[int, int],
    total: Sequence[int],
    parts: Mapping[int, Sequence[int]],
    above: Mapping[int, Sequence[int]],
    below: Mapping[int, Sequence[int]],
    family: Sequence[int],
) -> Subtable:
    """The grid below a total, with an axis for each family, and its relations.

    A cell has the number of its totals along other axes, if they have one.
    """
    place = {top: (0,) * len(axes)}
    wide, rows, todo = [1] * len(axes), [], [top]
    for cell in todo:
        own = place[cell]
        for row in below.get(cell, ()):
            axis = axes.get(family[row])
            if axis is None or own[axis]:
                continue
            rows.append(row)
            for part in parts[row]:
                if part in place:
                    continue
                numbers = (
                    place[total[other]][axis]
                    for other in above[part]
                    if total[other] in place and axes.get(family[other], axis) != axis
                )
                number = next(filter(None, numbers), wide[axis])
                wide[axis] = max(wide[axis], number + 1)
                place[part] = (*own[:axis], number, *own[axis + 1 :])
                todo.append(part)
    grid = np.full(wide, -1, dtype=np.int64)
    for cell, at in place.items():
        grid[at] = cell
    return Subtable(grid=grid, rows=np.array(sorted(rows), dtype=np.int64))


#: Finds which cells of one subtable to hide, given those hidden so far.
SubtableSolver = Callable[[Subtable, BoolArray], IntArray]


def protect_modular(
    problem: SuppressionProblem, watch: WorkTime | None = None, seed: int = 0
) -> Pattern:
    """Protect subtable by subtable, then audit and repair the whole.

    When time is up no further subtable is looked at; the rest is left to the repair.
    """

    def solve(subtable: Subtable, hidden: BoolArray) -> IntArray:
        own = subtable_problem(problem, subtable, hidden)
        try:
            draft = protect_fast(own, seed=seed)
        except SuppressionError:
            # What this subtable cannot protect by itself, the whole table may.
            return np.zeros(0, dtype=np.int64)
        return subtable.cells[draft.hidden]

    subtables = subtables_of(problem.relations)
    return pattern_by_subtables(problem, "modular", subtables, solve, watch or WorkTime(), seed)


def pattern_by_subtables(
    problem: SuppressionProblem,
    method: str,
    subtables: list[Subtable],
    solve: SubtableSolver,
    watch: WorkTime,
    seed: int,
) -> Pattern:
    """Pattern found subtable by subtable and audited; flows repair open cells."""
    # Subtables are gone through again when a cell was hidden elsewhere, until nothing changes.
    hidden = problem.hidden.copy()
    having: dict[int, list[int]] = {}
    for number, subtable in enumerate(subtables):
        for cell in subtable.cells.tolist():
            having.setdefault(cell, []).append(number)
    waiting = set(range(len(subtables)))
    done = 0
    while waiting and not watch.over():
        number = min(waiting)
        waiting.remove(number)
        subtable = subtables[number]
        if not hidden[subtable.cells].any():
            continue
        cells = solve(subtable, hidden)
        fresh = cells[~hidden[cells]]
        hidden[fresh] = True
        for cell in fresh.tolist():
            waiting.update(having[cell])
        waiting.discard(number)
        done += 1
        watch.tell(f"subtable {done:,}, {len(waiting):,} waiting")
    watch.tell("audit and repair")
    whole = protect_fast(problem.with_hidden(hidden), seed=seed)
    more = int((whole.hidden & ~hidden).sum())
    note = f"the audit of the whole table made {more:,} more secondaries necessary"
    known = {**watch.result(), "certificate": whole.certificate, "notes": (note,) if more else ()}
    return certified(problem, whole.hidden, method, **known)


def subtable_problem(
    problem: SuppressionProblem, subtable: Subtable, hidden: BoolArray
) -> SuppressionProblem:
    """One subtable as a problem: what is hidden must not be known exactly."""
    cells = subtable.cells
    columns = problem.columns_at(cells)
    state = columns["state"]
    second = hidden[cells] & (state != CellState.primary)
    for name in LEVELS:
        columns[name] = np.where(second, 0, columns[name])
    state[hidden[cells] & (state != CellState.fixed)] = CellState.primary
    number = np.zeros(len(problem), dtype=np.int64)
    number[cells] = np.arange(len(cells))
    links = problem.relations.rows(np.isin(np.arange(len(problem.relations)), subtable.rows))
    return SuppressionProblem(relations=links.renumbered(number, len(cells)), **columns)


# -- cubes -------------------------------------------------------------------------------


def protect_hypercube(
    problem: SuppressionProblem, watch: WorkTime | None = None, seed: int = 0
) -> Pattern:
    """Protect every hidden cell by a cube in each subtable, then audit and repair the whole.

    When time is up no further subtable is looked at; the rest is left to the repair.
    """
    known = unknowns_of(problem, problem.state != CellState.fixed)
    low, high = outer_bounds(known)
    levels = np.where(known.sensitive, [getattr(known, name) for name in LEVELS], 0.0)
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
        cube = cheapest_cube(subtable, int(cell), now, ranges)
        fresh = cube[~now[cube]]
        now[fresh] = True
        todo += fresh.tolist()
    return subtable.cells[now[subtable.cells]]


def cheapest_cube(subtable: Subtable, cell: int, hidden: BoolArray, ranges: FloatArray) -> IntArray:
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
