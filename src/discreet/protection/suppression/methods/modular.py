"""The method `modular`: one subtable after the other, from the top down. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a `Pattern`. A hierarchical table is cut into subtables
without subtotals, found from the relations alone. Each is protected on its own; what is
hidden in one is hidden in all others that have the cell, and those are gone through again
until nothing changes. Subtables that are safe each by itself need not be safe together:
an audit of the whole table finds what is open, and flows through the whole table repair it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, IntArray, starts
from discreet.disclosure import Relations
from discreet.errors import SuppressionError
from discreet.kernels import compiled
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
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
        """Where on the grid each cell stands."""
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
    tree = _Tree(relations)
    depth = _depths(relations.start, relations.cell, tree.total)
    totals = np.unique(tree.total[tree.total >= 0])
    covered: set[int] = set()
    subtables = []
    for total in totals[np.argsort(depth[totals], kind="stable")].tolist():
        if total in covered:
            continue
        grid, rows = tree.expanded(total)
        subtable = Subtable(grid=grid, rows=rows)
        families = set(tree.family[rows].tolist())
        covered |= {
            cell
            for cell in subtable.cells.tolist()
            if families.issuperset(tree.family[tree.rows_below(cell)].tolist())
        }
        subtables.append(subtable)
    return subtables


class _Tree:
    """Which relations lie above and below each cell, and to which family they belong."""

    def __init__(self, relations: Relations) -> None:
        self.relations = relations
        negative = relations.coef < 0
        lone = np.bincount(relations.row[negative], minlength=len(relations)) == 1
        self.total = np.where(lone, relations.totals, -1)
        part = ~negative & (self.total[relations.row] >= 0)
        self.above = _lists(relations.cells, relations.cell[part], relations.row[part])
        rows = np.flatnonzero(self.total >= 0)
        self.below = _lists(relations.cells, self.total[rows], rows)
        self.family: IntArray = _families(self.total, *self.above)

    def rows_below(self, cell: int) -> IntArray:
        """The relations of which a cell is the total."""
        start, rows = self.below
        return rows[start[cell] : start[cell + 1]]

    def expanded(self, total: int) -> tuple[IntArray, IntArray]:
        """The grid below a total, one axis per family of its relations, and its relations."""
        axes: dict[int, int] = {}
        for row in self.rows_below(total):
            axes.setdefault(int(self.family[row]), len(axes))
        origin = (0,) * len(axes)
        place = {total: origin}
        wide = [1] * len(axes)
        rows, todo = [], [total]
        for cell in todo:
            for row in self.rows_below(cell):
                axis = axes.get(int(self.family[row]))
                if axis is None or place[cell][axis]:
                    continue
                rows.append(int(row))
                low, high = self.relations.start[row : row + 2]
                for part in self.relations.cell[low:high].tolist():
                    if part in place:  # the total is
                        continue
                    number = self._number(part, axis, axes, place)
                    if number is None:
                        number, wide[axis] = wide[axis], wide[axis] + 1
                    place[part] = (*place[cell][:axis], number, *place[cell][axis + 1 :])
                    todo.append(part)
        grid = np.full(wide, -1, dtype=np.int64)
        for cell, at in place.items():
            grid[at] = cell
        return grid, np.array(sorted(rows), dtype=np.int64)

    def _number(
        self, part: int, axis: int, axes: dict[int, int], place: dict[int, tuple[int, ...]]
    ) -> int | None:
        """The number on one axis of a cell, as that of a total of it along another axis."""
        start, rows = self.above
        for row in rows[start[part] : start[part + 1]]:
            other = axes.get(int(self.family[row]))
            above = place.get(int(self.total[row]))
            if other is not None and other != axis and above is not None and above[axis]:
                return above[axis]
        return None


def _lists(size: int, key: Any, value: Any) -> tuple[IntArray, IntArray]:
    """Values by key: where the list of each key begins, and the lists."""
    order = np.lexsort((value, key))
    return starts(np.bincount(key, minlength=size)), np.asarray(value)[order].astype(np.int64)


@compiled
def _depths(start: Any, cell: Any, total: Any) -> Any:
    """How many relations lie above each cell at most, on the longest way to the top."""
    depth = np.zeros(cell.max() + 1 if cell.size else 1, dtype=np.int64)
    changed = True
    rounds = 0
    while changed and rounds <= total.size:
        changed = False
        rounds += 1
        for row in range(total.size):
            if total[row] < 0:
                continue
            for k in range(start[row], start[row + 1]):
                if cell[k] != total[row] and depth[cell[k]] <= depth[total[row]]:
                    depth[cell[k]] = depth[total[row]] + 1
                    changed = True
    return depth


@compiled
def _root(leader: Any, row: int) -> int:
    while leader[row] != row:
        leader[row] = leader[leader[row]]
        row = leader[row]
    return row


@compiled
def _families(total: Any, start: Any, above: Any) -> Any:
    """For each relation the first of its family: those that break down the same parent.

    Relations a and a' belong together if a cell lies in a and in a relation b across it, the
    total of a lies in b', the total of b lies in a', and b' and a' have the same total.
    """
    leader = np.arange(total.size)
    for cell in range(start.size - 1):
        for i in range(start[cell], start[cell + 1]):
            for j in range(i + 1, start[cell + 1]):
                a, b = above[i], above[j]
                u, v = total[a], total[b]
                for k in range(start[u], start[u + 1]):
                    for m in range(start[v], start[v + 1]):
                        across, along = above[k], above[m]
                        if total[across] == total[along] and across != along:
                            first, second = _root(leader, a), _root(leader, along)
                            leader[max(first, second)] = min(first, second)
                            first, second = _root(leader, b), _root(leader, across)
                            leader[max(first, second)] = min(first, second)
    return np.array([_root(leader, row) for row in range(total.size)], np.int64)


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
    """What is hidden subtable by subtable, audited; what is open then is repaired by flows."""
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
    for name in ("lower", "upper", "sliding"):
        columns[name] = np.where(second, 0, columns[name])
    state[hidden[cells] & (state != CellState.fixed)] = CellState.primary
    kept = np.zeros(len(problem.relations), dtype=np.bool_)
    kept[subtable.rows] = True
    links = problem.relations.rows(kept)
    numbered = np.searchsorted(cells, links.cell).astype(np.int32)
    relations = replace(links, cells=len(cells), cell=numbered)
    return SuppressionProblem(relations=relations, **columns)
