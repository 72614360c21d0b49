"""Leaves: the innermost cells, which are no total, and the totals as sums of them. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: `Leaves`, if every total is the same sum of leaves
whichever relation one follows, as in a table that adds up. Then a deviation of the leaves
is a deviation of the whole table that fits all relations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, PositionArray, starts
from discreet.protection.suppression.problem.kernels import compiled
from discreet.protection.suppression.problem.system import (
    CellState,
    Confidential,
    SuppressionProblem,
)

_SEED = 5


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Leaves(Confidential):
    """Which cells are leaves, and how the others add up (confidential)."""

    problem: SuppressionProblem
    cells: IntArray  # the leaves that may move
    number: IntArray  # for each cell of the problem, its place in `cells`; -1 for others
    totals: IntArray  # all totals, each after the cells that it is the sum of
    total: IntArray  # the total of each relation
    first: IntArray  # where the relations of each cell begin in `row`
    row: IntArray  # the relations of each cell
    down: FloatArray  # how far each leaf can move down, seen by its own bounds
    up: FloatArray  # how far up

    def __len__(self) -> int:
        return len(self.cells)

    def moves(self, moved: FloatArray) -> FloatArray:
        """The deviation of every cell, given those of the leaves."""
        links = self.problem.relations
        full = np.zeros(len(self.problem))
        full[self.cells] = moved
        _add_up(self.totals, self.total, self.first, self.row, links.start, links.cell, full)
        return full

    def under(self, cells: IntArray) -> tuple[IntArray, PositionArray]:
        """The leaves that each of some cells is the sum of, one list after the other."""
        nothing = np.zeros(len(self.problem), dtype=np.bool_)
        return self.remaining(cells, nothing, self.ways(nothing))

    def ways(self, known: BoolArray) -> tuple[IntArray, IntArray]:
        """How to reach the fewest leaves from each cell once known cells are taken away.

        For each cell the relation to follow, -1 for leaves, and the number of leaves.
        """
        links = self.problem.relations
        size = (self.number >= 0).astype(np.int64)
        way = np.full(len(self.problem), -1, dtype=np.int64)
        _shortest(
            self.totals, self.total, self.first, self.row, links.start, links.cell, known,
            way, size,
        )  # fmt: skip
        return way, size

    def remaining(
        self, cells: IntArray, known: BoolArray, ways: tuple[IntArray, IntArray]
    ) -> tuple[IntArray, PositionArray]:
        """The leaves that cells are sums of once known cells below them are taken away.

        Each cell may be known itself; the `ways` are those for these known cells. Gives where the
        list of each cell begins, and the leaves.
        """
        links = self.problem.relations
        way, size = ways
        start = starts(size[cells])
        at = np.empty(int(start[-1]), dtype=np.int32)
        _listed(cells, way, size, links.start, links.cell, known, self.number, at)
        return start, at


def leaves_of(problem: SuppressionProblem) -> Leaves | None:
    """The leaves of a problem; None if its totals are no plain sums of leaves."""
    links = problem.relations
    negative = links.coef < 0
    lone = np.bincount(links.row[negative], minlength=len(links)) == 1
    if not lone.all() or (np.abs(links.coef) != 1).any():
        return None
    total = links.totals
    first, order = links.by_cell
    row = links.row[order]
    is_total = np.zeros(len(problem), dtype=np.bool_)
    is_total[total] = True
    totals = _ordered(total, is_total, first, row, links.start, links.cell)
    if totals.size < int(is_total.sum()):
        return None
    cells = np.flatnonzero(~is_total & (problem.state != CellState.fixed)).astype(np.int64)
    number = np.full(len(problem), -1, dtype=np.int64)
    number[cells] = np.arange(cells.size)
    value = problem.value[cells]
    leaves = Leaves(
        problem=problem, cells=cells, number=number, totals=totals, total=total,
        first=first, row=row,
        down=np.maximum(value - problem.low[cells], 0).astype(np.float64),
        up=np.maximum(problem.high[cells] - value, 0).astype(np.float64),
    )  # fmt: skip
    return leaves if _agree(leaves) else None


def _agree(leaves: Leaves) -> bool:
    """Whether all relations of a total lead to the same leaves: whole numbers tell."""
    links = leaves.problem.relations
    draw = np.random.default_rng(_SEED)
    for _ in range(2):
        marks = draw.integers(0, 2**20, len(leaves)).astype(np.float64)
        full = leaves.moves(marks)
        miss = np.bincount(links.row, links.coef * full[links.cell], len(links))
        if np.abs(miss).max(initial=0.0) > 0:
            return False
    return True


@compiled
def _ordered(total: Any, is_total: Any, first: Any, row: Any, start: Any, cell: Any) -> Any:
    """Totals in an order in which each comes after its parts; those in circles are left out."""
    waits = np.zeros(total.size, dtype=np.int64)
    left = np.zeros(is_total.size, dtype=np.int64)
    for r in range(total.size):
        waits[r] = start[r + 1] - start[r] - 1
        left[total[r]] += 1
    ready = [np.int64(at) for at in range(is_total.size) if not is_total[at]]
    order = np.empty(is_total.size, dtype=np.int64)
    size = 0
    done = 0
    while done < len(ready):
        at = ready[done]
        done += 1
        for entry in range(first[at], first[at + 1]):
            r = row[entry]
            if total[r] == at:
                continue
            waits[r] -= 1
            if waits[r] == 0:
                left[total[r]] -= 1
                if left[total[r]] == 0:
                    ready.append(total[r])
                    order[size] = total[r]
                    size += 1
    return order[:size].copy()


@compiled
def _add_up(
    totals: Any, total: Any, first: Any, row: Any, start: Any, cell: Any, full: Any
) -> None:
    for i in range(totals.size):
        at = totals[i]
        for entry in range(first[at], first[at + 1]):
            r = row[entry]
            if total[r] == at:
                added = 0.0
                for k in range(start[r], start[r + 1]):
                    if cell[k] != at:
                        added += full[cell[k]]
                full[at] = added
                break


@compiled
def _shortest(
    totals: Any, total: Any, first: Any, row: Any, start: Any, cell: Any, known: Any,
    way: Any, size: Any,
) -> None:  # fmt: skip
    """For each total the relation that leaves the fewest unknown leaves, and their number."""
    for i in range(totals.size):
        at = totals[i]
        best = np.int64(-1)
        for entry in range(first[at], first[at + 1]):
            r = row[entry]
            if total[r] != at:
                continue
            count = np.int64(0)
            for k in range(start[r], start[r + 1]):
                part = cell[k]
                if part != at and not known[part]:
                    count += size[part]
            if best < 0 or count < best:
                best = count
                way[at] = r
        size[at] = best


@compiled
def _listed(
    cells: Any, way: Any, size: Any, start: Any, cell: Any, known: Any, number: Any, at: Any
) -> None:
    filled = 0
    stack = [np.int64(0)]
    for i in range(cells.size):
        stack.append(cells[i])
        while len(stack) > 1:
            top = stack.pop()
            r = way[top]
            if r < 0:
                if number[top] >= 0:
                    at[filled] = number[top]
                    filled += 1
                continue
            for k in range(start[r], start[r + 1]):
                part = np.int64(cell[k])
                if part != top and not known[part] and size[part] > 0:
                    stack.append(part)
