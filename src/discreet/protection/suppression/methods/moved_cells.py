"""The cheapest cells to move so that one cell moves as far as it must. CONFIDENTIAL.

In: a patch, how far its cells can move, and what hiding each costs. Out: the cells of the
cheapest pattern in the patch that moves one cell up and down together, in whole numbers if
asked for, by one small integer program that ends after so many branchings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.patches import Patch
from discreet.protection.suppression.proof.whole_numbers import make_whole
from discreet.solver import column_values, loaded_solver

#: Cells of the patches that are tried around a cell, and branchings in each.
_SIZES, _NODES = (60, 150, 400), 2_000
#: No cell moves by more than so many times the distance wanted.
_MOST = 16.0
#: Moves of so small a share of the distance are none, and relations hold as exactly.
_STILL = 1e-6


@dataclass(frozen=True, kw_only=True)
class MoveSearch:
    """How cells are looked for."""

    step: FloatArray  # how far it is to each cell from others in a common relation
    price: FloatArray  # what hiding each costs, above 0; hidden ones are free
    whole: bool  # whether moves are whole numbers


def moved_cells(draft: DraftPattern, cell: int, search: MoveSearch) -> IntArray | None:
    """Cells that move one cell as far as it must go; None if no patch around it can do it."""
    wanted = (draft.target[cell], -draft.target[cell + len(draft)])
    if search.whole:
        wanted = (np.ceil(wanted[0] - 0.25), np.floor(wanted[1] + 0.25))
    distances = [float(item) for item in wanted if item]
    for size in _SIZES:
        seed = np.array([cell], dtype=np.int64)
        patch = draft.patches.around(seed, size, search.step, draft.many_ways)
        at = int(np.searchsorted(patch.cells, cell))
        if at < len(patch.cells) and patch.cells[at] == cell:
            moved = _cheapest(draft, patch, at, distances, search)
            if moved is not None:
                return patch.cells[moved]
        if patch.whole:
            break
    return None


def _cheapest(
    draft: DraftPattern, patch: Patch, at: int, distances: list[float], search: MoveSearch
) -> BoolArray | None:
    """Which cells of a patch move, in the cheapest way to go all distances one by one."""
    number, ways = len(patch.cells), len(distances)
    free = np.flatnonzero(~draft.hidden[patch.cells])
    sizes = [abs(distance) for distance in distances]
    unit = 1.0 if search.whole else max(sizes)
    low, high = [], []
    for distance, size in zip(distances, sizes, strict=True):
        own_low = -np.minimum(draft.down[patch.cells], _MOST * size) / unit
        own_high = np.minimum(draft.up[patch.cells], _MOST * size) / unit
        if search.whole:
            own_low, own_high = np.ceil(own_low), np.floor(own_high)
        if not own_low[at] <= distance / unit <= own_high[at]:
            return None
        own_low[at] = own_high[at] = distance / unit
        low.append(own_low)
        high.append(own_high)
    solver = _loaded(patch, (np.stack(low), np.stack(high)), free, search.price[patch.cells[free]])
    make_whole(solver, np.arange(0 if search.whole else ways * number, ways * number + free.size))
    solver.run()
    values = column_values(solver)
    if len(values) < ways * number:
        return None
    moved = values[: ways * number].reshape(ways, number)
    moved = np.rint(moved) if search.whole else np.where(np.abs(moved) < _STILL, 0.0, moved)
    row = np.repeat(np.arange(len(patch.start) - 1), np.diff(patch.start))
    for way in range(ways):
        miss = np.bincount(row, patch.coef * moved[way, patch.at], minlength=len(patch.start) - 1)
        inside = (moved[way] >= low[way] - _STILL) & (moved[way] <= high[way] + _STILL)
        if np.abs(miss).max(initial=0.0) > (0 if search.whole else 1e-4) or not inside.all():
            return None
    return np.logical_or.reduce(moved != 0, axis=0)  # type: ignore[no-any-return]


def _loaded(
    patch: Patch, bounds: tuple[FloatArray, FloatArray], free: IntArray, price: FloatArray
) -> Any:
    """The program: moves for each way, and of each published cell whether it is hidden."""
    low, high = bounds
    ways, number = low.shape
    rows = len(patch.start) - 1
    twin = ways * number + np.arange(free.size)
    column = [patch.at + way * number for way in range(ways)]
    coef = [patch.coef.astype(np.float64)] * ways
    width = [np.diff(patch.start)] * ways
    limits = [(np.zeros(rows), np.zeros(rows))] * ways
    for way in range(ways):
        # low·x ≤ move ≤ high·x
        own = free + way * number
        column.append(np.stack([own, twin, own, twin], axis=1).ravel())
        ones = np.ones(free.size)
        coef.append(np.stack([ones, -high[way, free], ones, -low[way, free]], axis=1).ravel())
        width.append(np.full(2 * free.size, 2))
        limits.append((np.tile([-np.inf, 0.0], free.size), np.tile([0.0, np.inf], free.size)))
    solver = loaded_solver(
        (starts(np.concatenate(width)), np.concatenate(column), np.concatenate(coef)),
        np.concatenate([low.ravel(), np.zeros(free.size)]),
        np.concatenate([high.ravel(), np.ones(free.size)]),
        cost=np.concatenate([np.zeros(ways * number), price]),
        rows=(
            np.concatenate([below for below, _ in limits]),
            np.concatenate([above for _, above in limits]),
        ),
        mip_max_nodes=_NODES,
    )
    solver.setOptionValue("presolve", "choose")
    return solver
