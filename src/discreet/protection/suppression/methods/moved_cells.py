"""The cheapest cells to move so that one cell moves as far as it must. CONFIDENTIAL.

In: a draft, one of its cells, and what hiding each costs. Out: the cells of the cheapest pattern
in a patch around the cell that moves it up and down together, in whole numbers if asked for, by
one small integer program that ends after so many branchings.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.disclosure import Patch, make_whole
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.solver import column_values, loaded_solver

#: Cells of the patches that are tried around a cell, and branchings in each.
_SIZES, _NODES = (60, 150, 400), 2_000
#: No cell moves by more than so many times the distance wanted.
_MOST = 16.0
#: Moves of so small a share of the distance are none, and relations hold as exactly.
_STILL = 1e-6


def moved_cells(
    draft: DraftPattern, cell: int, step: FloatArray, price: FloatArray, *, whole: bool
) -> IntArray | None:
    """Cells that move one cell as far as it must go; None if no patch around it can do it.

    The step is how far it is to a cell from others in a common relation, the price what hiding it
    costs, above 0; hidden ones are free.
    """
    wanted = (draft.target[cell], -draft.target[cell + len(draft)])
    if whole:
        wanted = (np.ceil(wanted[0] - 0.25), np.floor(wanted[1] + 0.25))
    distances = [float(item) for item in wanted if item]
    for size in _SIZES:
        seed = np.array([cell], dtype=np.int64)
        patch = draft.patches.around(seed, size, step)
        at = int(np.searchsorted(patch.cells, cell))
        if at < len(patch.cells) and patch.cells[at] == cell:
            moved = _cheapest(draft, patch, at, distances, price[patch.cells], whole=whole)
            if moved is not None:
                return patch.cells[moved]
        if patch.whole:
            break
    return None


def _cheapest(
    draft: DraftPattern,
    patch: Patch,
    at: int,
    distances: list[float],
    price: FloatArray,
    *,
    whole: bool,
) -> BoolArray | None:
    """Which cells of a patch move, in the cheapest way to go all distances one by one.

    The program has moves for each way, and of each published cell whether it is hidden.
    """
    number, ways, rows = len(patch.cells), len(distances), len(patch.start) - 1
    free = np.flatnonzero(~draft.hidden[patch.cells])
    size = np.abs(distances)[:, np.newaxis]
    unit = 1.0 if whole else float(size.max())
    low = -np.minimum(draft.down[patch.cells], _MOST * size) / unit
    high = np.minimum(draft.up[patch.cells], _MOST * size) / unit
    if whole:
        low, high = np.ceil(low), np.floor(high)
    goal = np.array(distances) / unit
    if not ((low[:, at] <= goal) & (goal <= high[:, at])).all():
        return None
    low[:, at] = high[:, at] = goal
    twin, ones = ways * number + np.arange(free.size), np.ones(free.size)
    column = [patch.at + way * number for way in range(ways)]
    coef = [patch.coef.astype(np.float64)] * ways
    width = [*[np.diff(patch.start)] * ways, np.full(2 * ways * free.size, 2)]
    for way in range(ways):  # low·x ≤ move ≤ high·x
        own = free + way * number
        column.append(np.stack([own, twin, own, twin], axis=1).ravel())
        coef.append(np.stack([ones, -high[way, free], ones, -low[way, free]], axis=1).ravel())
    still = np.zeros(ways * rows)
    solver = loaded_solver(
        (starts(np.concatenate(width)), np.concatenate(column), np.concatenate(coef)),
        np.concatenate([low.ravel(), np.zeros(free.size)]),
        np.concatenate([high.ravel(), ones]),
        cost=np.concatenate([np.zeros(ways * number), price[free]]),
        rows=(
            np.concatenate([still, np.tile([-np.inf, 0.0], ways * free.size)]),
            np.concatenate([still, np.tile([0.0, np.inf], ways * free.size)]),
        ),
        mip_max_nodes=_NODES,
    )
    solver.setOptionValue("presolve", "choose")
    make_whole(solver, np.arange(0 if whole else ways * number, ways * number + free.size))
    solver.run()
    values = column_values(solver)
    if len(values) < ways * number:
        return None
    moved = values[: ways * number].reshape(ways, number)
    moved = np.rint(moved) if whole else np.where(np.abs(moved) < _STILL, 0.0, moved)
    row = np.repeat(np.arange(rows), np.diff(patch.start))
    for way in range(ways):
        miss = np.bincount(row, patch.coef * moved[way, patch.at], minlength=rows)
        if np.abs(miss).max(initial=0.0) > (0 if whole else 1e-4):
            return None
    if (moved < low - _STILL).any() or (moved > high + _STILL).any():
        return None
    return np.logical_or.reduce(moved != 0, axis=0)  # type: ignore[no-any-return]
