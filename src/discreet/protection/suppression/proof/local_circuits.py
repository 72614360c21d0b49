"""Circuits through single cells, in patches of hidden cells around them. CONFIDENTIAL.

Cells are taken in an order of preference until the one asked for follows from them, so that its
circuit needs no cell that can be done without. Each circuit is whole and keeps all relations
exactly. It takes a hundredth of a linear program; what it does not find may still be possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.protection.suppression.problem.kernels import compiled_at_once
from discreet.protection.suppression.problem.system import Confidential, Relations
from discreet.protection.suppression.proof.circuits import circuit_of_last
from discreet.protection.suppression.proof.patches import cells_near, system_among

#: Cells of a patch, and how often a circuit is looked for again without what cannot go so far.
PATCH, _TRIES = 120, 6
#: Circuits that are looked for together, and the threads that share them.
_TOGETHER, _THREADS = 512, 2
#: Cells with less room than this share of the distance are not looked at.
_NEARLY = 1.0 - 1e-9

#: A cell's circuit: the cells, and how far each moves.
Circuit = tuple[IntArray, FloatArray]


class LocalCircuits(Confidential):
    """Finds circuits through single cells (confidential)."""

    def __init__(self, relations: Relations, down: FloatArray, up: FloatArray) -> None:
        first, order = relations.by_cell
        row, coef = relations.row[order], relations.coef[order]
        total = np.full(max(len(relations), 1), -1, dtype=np.int64)
        total[: len(relations)] = relations.totals
        self._room = (down, up, np.maximum(down, up))
        self._system = (relations.start, relations.cell, first, row, coef, total)
        cells, rows, whole = relations.cells, len(relations), np.int64
        self._scratch = [
            (
                np.zeros(cells, dtype=whole), np.zeros(rows, dtype=whole), np.zeros(cells),
                np.zeros(cells, dtype=whole), np.zeros(max(rows, 1), dtype=whole),
                np.zeros(1, dtype=whole), np.full(cells, np.inf),
            )
            for _ in range(_THREADS)
        ]  # fmt: skip
        self._usable = np.zeros(relations.cells, dtype=np.bool_)

    def through(
        self,
        cells: IntArray,
        distance: FloatArray,
        usable: BoolArray,
        rank: IntArray,
        without: Sequence[IntArray] | None = None,
        size: int = PATCH,
    ) -> Iterator[Circuit | None]:
        """For each cell a circuit that moves it so far, negative for down; None if none is found.

        Only usable cells move, besides the cell itself, none of those that it is to do `without`,
        and those of a low rank rather than others. Results do not depend on the number of threads.
        """
        # Price what became usable, or no longer is, since the last time.
        changed = np.flatnonzero(usable != self._usable)
        self._usable[changed] = usable[changed]
        for scratch in self._scratch:
            scratch[-1][changed] = np.where(usable[changed], 1.0, np.inf)
        left_out = [np.zeros(0, dtype=np.int64)] * len(cells) if without is None else without
        half = -(-len(cells) // _THREADS)
        parts = [slice(at, at + half) for at in range(0, len(cells), max(half, 1))]

        def work(which: int) -> Any:
            part = parts[which]
            out = left_out[part]
            begin = starts([len(item) for item in out])
            listed = np.concatenate([np.zeros(0, dtype=np.int64), *out])
            return _circuits_through(
                cells[part], distance[part], begin, listed, size, usable, rank,
                self._room, self._system, self._scratch[which],
            )  # fmt: skip

        if len(cells) < _THREADS * 8:
            done = [work(which) for which in range(len(parts))]
        else:
            with ThreadPoolExecutor(_THREADS) as pool:
                done = list(pool.map(work, range(len(parts))))
        for ends, columns, moved in done:
            for at in range(len(ends) - 1):
                own = slice(ends[at], ends[at + 1])
                yield (columns[own], moved[own]) if ends[at + 1] > ends[at] else None


def batches(number: int) -> Iterator[slice]:
    """So many tasks in batches of which all circuits are looked for together."""
    for first in range(0, number, _TOGETHER):
        yield slice(first, first + _TOGETHER)


@compiled_at_once
def _circuits_through(
    targets: Any, distance: Any, begin: Any, left_out: Any, size: int, usable: Any, rank: Any,
    room: Any, system: Any, scratch: Any,
) -> Any:  # fmt: skip
    """Circuits one after the other; those not found are empty."""
    down, up, most = room
    start, cell, cell_start, cell_row, cell_coef, total = system
    cell_seen, row_seen, nearest, seen, number, stamp, price = scratch
    ends = np.zeros(targets.size + 1, dtype=np.int64)
    cells = [np.int64(0) for _ in range(0)]
    moved = [0.0 for _ in range(0)]
    for at in range(targets.size):
        own, far = np.int64(targets[at]), distance[at]
        for k in range(begin[at], begin[at + 1]):
            price[left_out[k]] = np.inf
        stamp[0] += 1
        patch = cells_near(
            np.array([own]), size, price, most, abs(far) * _NEARLY, start, cell, cell_start,
            cell_row, total, cell_seen, row_seen, (nearest, seen), stamp[0],
        )[0]  # fmt: skip
        for k in range(begin[at], begin[at + 1]):
            if usable[left_out[k]]:
                price[left_out[k]] = 1.0
        patch.sort()
        stamp[0] += 1
        kept, row_start, row_at, row_coef = system_among(
            patch, cell_start, cell_row, cell_coef, row_seen, number, stamp[0]
        )
        _circuit_in(
            patch[kept], own, far, rank, down, up, (row_start, row_at, row_coef), cells, moved
        )
        ends[at + 1] = len(cells)
    return ends, np.array(cells, np.int64), np.array(moved, np.float64)


@compiled_at_once
def _circuit_in(
    patch: Any, own: Any, far: float, rank: Any, down: Any, up: Any, rows: Any, cells: Any,
    moved: Any,
) -> None:  # fmt: skip
    """Add the circuit of a cell in a patch, unless none is found that goes so far."""
    row_start, row_at, row_coef = rows
    place = np.searchsorted(patch, own)
    if place >= patch.size or patch[place] != own:
        return
    width = np.diff(row_start)
    first, row, coef = _by_column(patch.size, row_start, row_at, row_coef)
    order = np.argsort(rank[patch], kind="mergesort")
    order = order[order != place]
    miss = np.zeros(width.size, dtype=np.int64)
    for _ in range(_TRIES):
        order = np.append(order, place)
        circuit, share = circuit_of_last(order, first, row, coef, width, miss)
        if circuit.size == 0:
            return
        step = far / share[0]
        barred = np.zeros(patch.size, dtype=np.bool_)
        good = True
        for k in range(circuit.size):
            move = step * share[k]
            c = patch[circuit[k]]
            if move > up[c] or -move > down[c]:
                barred[circuit[k]], good = True, False
        if good:
            for k in range(circuit.size):
                cells.append(patch[circuit[k]])
                moved.append(step * share[k])
            return
        if barred[place]:
            return
        order = order[:-1]
        order = order[~barred[order]]


@compiled_at_once
def _by_column(size: int, row_start: Any, row_at: Any, row_coef: Any) -> Any:
    """Where the entries of each column begin, and their rows and coefficients."""
    first = np.zeros(size + 1, dtype=np.int64)
    for k in range(row_at.size):
        first[row_at[k] + 1] += 1
    for i in range(size):
        first[i + 1] += first[i]
    filled = first[:-1].copy()
    row = np.empty(row_at.size, dtype=np.int64)
    coef = np.empty(row_at.size, dtype=np.int64)
    for r in range(row_start.size - 1):
        for k in range(row_start[r], row_start[r + 1]):
            i = row_at[k]
            row[filled[i]], coef[filled[i]] = r, row_coef[k]
            filled[i] += 1
    return first, row, coef
