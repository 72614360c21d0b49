"""Patches: few cells around one as a small system, and the cheapest flows in it. CONFIDENTIAL.

The cells nearest to a given one, with the relations among them, and deviations of these that move a
cell as far as it must, by one small linear program. If only cells of a patch move and its relations
hold, all relations hold.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, ranges, starts
from discreet.disclosure.relations import Relations
from discreet.kernels import compiled
from discreet.solver import column_values, is_optimal, loaded_solver


@dataclass
class SolverEffort:
    """Work of the solver, the same on every machine: 10 to 50 million steps take about a second."""

    steps: float = 0.0
    #: After how many to stop.
    end: float = math.inf

    @property
    def spent(self) -> bool:
        """Whether it is time to stop."""
        return self.steps > self.end

    def count(self, solver: Any, rows: int, least: float = 25_000.0) -> None:
        """Note what a run took: something in any case, and each iteration by its relations."""
        iterations = max(0, int(solver.getInfo().simplex_iteration_count))
        self.steps += least + iterations * rows


@dataclass(frozen=True, kw_only=True)
class Patch:
    """Some cells and the relations among them."""

    cells: IntArray  # numbers of the cells, ascending
    start: IntArray  # where each relation begins in `at` and `coef`
    at: IntArray  # positions in `cells`
    coef: IntArray  # coefficients
    whole: bool  # whether no other cell hangs together with these
    widest: int = 1  # the largest coefficient, where it is larger than most moves
    #: Counts what linear programs over it take
    effort: SolverEffort = field(default_factory=SolverEffort)


class Patches:
    """Finds patches in a system of relations; only mobile cells can move at all."""

    def __init__(self, relations: Relations, mobile: BoolArray) -> None:
        first, order = relations.by_cell
        self.relations = relations
        self._room = mobile.astype(np.float64)
        self._cell_start = first
        self._cell_row = relations.row[order]
        self._cell_coef = relations.coef[order]
        self._cell_seen = np.zeros(relations.cells, dtype=np.int64)
        self._row_seen = np.zeros(len(relations), dtype=np.int64)
        self._near = (np.zeros(relations.cells), np.zeros(relations.cells, dtype=np.int64))
        self._first = np.zeros(max(len(relations), 1), dtype=np.int64)
        self._stamp = 0
        self.effort = SolverEffort()

    def nearest(self, seeds: IntArray, limit: int, price: FloatArray) -> IntArray:
        """The cells nearest to some cells, nearest first."""
        return self._reached(seeds, limit, price)[0]

    def _reached(self, seeds: IntArray, limit: int, price: FloatArray) -> tuple[IntArray, bool]:
        self._stamp += 1
        links = self.relations
        reached: tuple[IntArray, bool] = cells_near(
            seeds, limit, price, self._room, 0.5, links.start, links.cell, self._cell_start,
            self._cell_row, self._cell_seen, self._row_seen, self._near, self._stamp,
        )  # fmt: skip
        return reached

    def around(self, seeds: IntArray, limit: int, price: FloatArray) -> Patch:
        """The cells nearest to some cells that can move together, of so many looked at.

        The price is how far it is to each cell from another in a common relation, infinite for
        cells to leave out.
        """
        cells, whole = self._reached(seeds, limit, price)
        cells = np.sort(cells)
        width = self._cell_start[cells + 1] - self._cell_start[cells]
        entry = ranges(self._cell_start[cells], width)
        at, coef = np.repeat(np.arange(cells.size), width), self._cell_coef[entry]
        # A relation is known by its first entry; cells of each are in ascending order.
        row = self._cell_row[entry]
        self._first[row[::-1]] = np.arange(row.size)[::-1]
        row = self._first[row]
        kept, size = np.ones(cells.size, dtype=np.bool_), -1
        while size != int(kept.sum()):  # cells alone in a relation cannot move
            size = int(kept.sum())
            alone = np.bincount(row[kept[at]], minlength=row.size) == 1
            kept[at[alone[row] & kept[at]]] = False
        inside = np.flatnonzero(kept[at])
        inside = inside[np.argsort(row[inside], kind="stable")]
        number = np.bincount(row[inside], minlength=row.size)
        widest = int(np.abs(coef[inside]).max(initial=1))
        return Patch(
            cells=cells[kept],
            start=starts(number[number > 0]),
            at=(np.cumsum(kept) - 1)[at[inside]],
            coef=coef[inside],
            whole=bool(whole),
            widest=widest if widest > _MOST else 1,
            effort=self.effort,
        )


@compiled
def cells_near(
    seeds: Any, limit: int, price: Any, room: Any, least: float, start: Any, cell: Any,
    cell_start: Any, cell_row: Any, cell_seen: Any, row_seen: Any, near: Any, stamp: int,
) -> Any:  # fmt: skip
    """Cells in order of their distance; each relation is crossed once, by its nearest cell.

    Only cells with the least room count.
    """
    nearest, seen = near
    heap = [(0.0, seeds[0])]
    for k in range(1, seeds.size):
        heapq.heappush(heap, (0.0, seeds[k]))
    patch = [seeds[0] for _ in range(0)]
    while len(heap) > 0 and len(patch) < limit:
        far, at = heapq.heappop(heap)
        if cell_seen[at] == -stamp:
            continue
        patch.append(at)
        cell_seen[at] = -stamp
        for entry in range(cell_start[at], cell_start[at + 1]):
            row = cell_row[entry]
            if row_seen[row] == stamp:
                continue
            row_seen[row] = stamp
            for k in range(start[row], start[row + 1]):
                other = np.int64(cell[k])
                if room[other] < least or cell_seen[other] == -stamp or price[other] == np.inf:
                    continue
                away = far + price[other]
                # What was noted from nearer by need not be noted again.
                if seen[other] != stamp or away < nearest[other]:
                    seen[other] = stamp
                    nearest[other] = away
                    heapq.heappush(heap, (away, other))
    return np.array(patch, np.int64), len(heap) == 0


#: No cell moves more than so many times the wanted distance, and the largest coefficient.
_MOST = 100.0
#: The solver's tolerance, relative to the wanted distance.
_FINE = 1e-9
#: Smaller moves are no moves: in units, and relative to the wanted distance.
_UNIT_MOVED, _MOVED = 1e-2, 1e-8
#: Hidden cells are moved for so little, as a share of the median price: all cells then
#: begin where they are, and the solver has only one of them to move.
_NEARLY_FREE = 1e-4
#: With fewer cells, hidden ones are free: there is no time to save.
_FEW = 300


def least_flow(
    patch: Patch, down: FloatArray, up: FloatArray, price: FloatArray, at: int, distance: float
) -> FloatArray | None:
    """The cheapest deviations of a patch that move one cell, at a position, by a distance.

    Cells move so far `down` and `up` at most, at a price per unit, which is 0 for hidden ones. A
    negative distance is downwards; None if the cells of the patch cannot do it.
    """
    size = abs(distance)
    low, high = _limits(patch, down, up, size)
    low[at] = high[at] = 1.0 if distance > 0 else -1.0
    if price.size >= _FEW:
        paid = price[price > 0]
        price = np.maximum(price, _NEARLY_FREE * (float(np.median(paid)) if paid.size else 1.0))
    return _moved(patch, _solved(patch, low, high, price), size)


def farthest_flow(
    patch: Patch, down: FloatArray, up: FloatArray, price: FloatArray, wish: FloatArray
) -> FloatArray | None:
    """Deviations that bring many cells as near to where they should go as possible.

    A wish is negative for down, and 0 where it does not matter; each is worth 1.
    """
    size = float(np.median(np.abs(wish[wish != 0])))
    low, high = _limits(patch, down, up, size)
    beyond = wish / size * (1 + _MOVED)
    low = np.where(wish < 0, np.maximum(low, beyond), low)
    high = np.where(wish > 0, np.minimum(high, beyond), high)
    gain = np.divide(size, wish, out=np.zeros(len(wish)), where=wish != 0)
    return _moved(patch, _solved(patch, low, high, price, -gain), size)


def _limits(
    patch: Patch, down: FloatArray, up: FloatArray, size: float
) -> tuple[FloatArray, FloatArray]:
    most = _MOST * patch.widest
    return -np.minimum(down / size, most), np.minimum(up / size, most)


def _moved(patch: Patch, moved: FloatArray | None, size: float) -> FloatArray | None:
    """Moves in units; the smallest are none."""
    if moved is None:
        return None
    moved[np.abs(moved) < max(_MOVED, _UNIT_MOVED / size) / patch.widest] = 0.0
    return moved * size


def _solved(
    patch: Patch, low: FloatArray, high: FloatArray, price: FloatArray, slope: Any = 0.0
) -> FloatArray | None:
    """Minimise price × |deviation| + slope × deviation; priced cells are two variables."""
    cells, rows = len(low), len(patch.start) - 1
    priced = np.flatnonzero(price > 0)
    twin = np.full(cells, -1, dtype=np.int64)
    twin[priced] = cells + np.arange(priced.size)
    row = np.repeat(np.arange(rows), np.diff(patch.start))
    twice = twin[patch.at] >= 0
    rows_of = np.concatenate([row, row[twice]])
    order = np.argsort(rows_of, kind="stable")
    columns = np.concatenate([patch.at, twin[patch.at[twice]]])
    coefs = np.concatenate([patch.coef, -patch.coef[twice]])
    slopes = np.broadcast_to(slope, cells)
    least = np.where(price > 0, np.maximum(low, 0.0), low)
    solver = loaded_solver(
        (starts(np.bincount(rows_of, minlength=rows)), columns[order], coefs[order]),
        np.concatenate([least, np.maximum(-high[priced], 0.0)]),
        np.concatenate([np.maximum(high, least), np.maximum(-low[priced], 0.0)]),
        cost=np.concatenate([price + slopes, (price - slopes)[priced]]),
        primal_feasibility_tolerance=_FINE,
    )
    solver.run()
    patch.effort.count(solver, rows)
    if not is_optimal(solver):
        return None
    values = column_values(solver)
    moved: FloatArray = values[:cells].copy()
    moved[price > 0] -= values[cells:]
    return moved
