"""Small linear programs around sensitive cells: proofs, and further cells to hide. CONFIDENTIAL.

In: a `DraftPattern` with open tasks, or the hidden cells of a pattern of any origin. Out:
the same with more hidden cells and a proof for each task – hidden cells alone prove what
they can, then each open task gets the cheapest flow through a patch around it – or how
far hidden cells were seen to move. Each deviation is held against all relations and bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.problem.unknowns import TOLERANCE, Unknowns
from discreet.protection.suppression.proof.draft_pattern import DraftPattern, fitting_proofs
from discreet.protection.suppression.proof.patches import (
    MoveLimits,
    Patch,
    farthest_flow,
    least_flow,
)

#: How far it is to a hidden cell, and to another one per share of the median cost.
_STEP_HIDDEN, _STEP_COST = 0.5, 0.1
#: Cells of the first patch that is tried around a cell.
PATCH_SIZE = 600
#: Cells of a patch when many tasks are to be proven at once.
_PROOF_PATCH = 800
#: A patch is left after so many goes that proved less than this share of what is open.
_PATIENCE, _WORTH = 2, 0.05
_TELL = 256


def relation_distances(draft: DraftPattern) -> FloatArray:
    """How far it is to each cell from others in a common relation."""
    median = max(float(np.median(draft.cost)), 1.0) if len(draft) else 1.0
    return np.where(draft.hidden, _STEP_HIDDEN, 1.0 + _STEP_COST * draft.cost / median)


def flow_for_task(
    draft: DraftPattern,
    task: int,
    step: FloatArray,
    price: FloatArray,
    size: int = PATCH_SIZE,
    largest: int | None = None,
) -> tuple[IntArray, FloatArray] | None:
    """The cheapest way to do one task: cells and how far each moves.

    Patches grow until one of them can do it.

    Args:
        draft: The cells and what is hidden.
        task: The task.
        step: How far it is to each cell; infinite for cells that must stay.
        price: Price per cell and unit; 0 where hidden.
        size: Cells of the first patch.
        largest: Cells of the largest; None for as many as there are.

    Returns:
        None if the task cannot be done.
    """
    cell, distance = draft.distance(task)
    room = draft.up[cell] if distance > 0 else draft.down[cell]
    if room < abs(distance):
        return None
    seed = np.array([cell], dtype=np.int64)
    while True:
        patch = draft.patches.around(seed, size, step, draft.many_ways)
        found = _flow_in(draft, patch, cell, distance, price)
        if found is not None:
            return found
        if patch.whole or (largest is not None and size >= largest):
            return None
        size *= 2


def _flow_in(
    draft: DraftPattern, patch: Patch, cell: int, distance: float, price: FloatArray
) -> tuple[IntArray, FloatArray] | None:
    """The cheapest way in one patch."""
    cells = patch.cells
    at = int(np.searchsorted(cells, cell))
    if at == len(cells) or cells[at] != cell:
        return None
    room = MoveLimits(down=draft.down[cells], up=draft.up[cells], price=price[cells])
    draft.solved += 1
    moved = least_flow(patch, room, at, distance)
    return None if moved is None else (cells, moved)


def cover_tasks(
    draft: DraftPattern,
    tasks: IntArray,
    over: Callable[[], bool],
    tell: Callable[[float], None] | None = None,
    allowed: BoolArray | None = None,
    factor: FloatArray | None = None,
) -> list[int]:
    """Protect cells, task by task in the order given.

    Args:
        draft: What is hidden and proven; changed.
        tasks: The tasks.
        over: Whether to stop, asked before each task.
        tell: Is told now and then which share is done.
        allowed: Which cells may be hidden or moved; all unless given.
        factor: What prices are multiplied with, cell by cell.

    Returns:
        Tasks that cannot be done.
    """
    step = relation_distances(draft)
    if allowed is not None:
        step[~allowed] = np.inf
    price = np.where(draft.hidden, 0.0, np.maximum(draft.cost, 1e-6))
    price /= max(float(np.median(draft.cost)), 1.0) if len(draft) else 1.0
    if factor is not None:
        price *= factor
    failed = []
    for at, task in enumerate(tasks):
        if tell is not None and at % _TELL == 0:
            tell(at / len(tasks))
        if draft.proven[task] >= 0:
            continue
        if over():
            break
        found = flow_for_task(draft, int(task), step, price)
        if found is None:
            failed.append(int(task))
            continue
        new, _ = draft.take_all(*found)
        step[new], price[new] = _STEP_HIDDEN, 0.0
    return failed


def prove_by_hidden_cells(draft: DraftPattern, over: Callable[[], bool], seed: int = 0) -> None:
    """Prove open tasks with moves of cells that are hidden already.

    Around each cell in turn, hidden cells near by are moved, each to a side drawn at
    random among those it has tasks for, until nothing new is proven. What is not proven
    then may still be possible.
    """
    step = np.where(draft.hidden, 1.0, np.inf)
    price = np.zeros(len(draft))
    _patch_by_patch(draft, _PatchWork(step, price, draft.within_hidden(), 1.0), over, seed)


@dataclass
class _PatchWork:
    """How patches are to be worked on: distances, prices, tasks, their worth."""

    step: FloatArray
    price: FloatArray
    tasks: BoolArray
    reward: float


def _patch_by_patch(
    draft: DraftPattern, batch: _PatchWork, over: Callable[[], bool], seed: int
) -> None:
    draw = np.random.default_rng([seed, 1])
    number = len(draft)
    tried = np.zeros(number, dtype=np.bool_)
    for task in draft.open[batch.tasks[draft.open]]:
        cell = int(task) % number
        if draft.proven[task] >= 0 or tried[cell]:
            continue
        if over():
            return
        seeds = np.array([cell], dtype=np.int64)
        patch = draft.patches.around(seeds, _PROOF_PATCH, batch.step)
        tried[patch.cells] = True
        tried[cell] = True
        if patch.cells.size:
            _work_on(draft, patch, batch, draw)


def _work_on(
    draft: DraftPattern, patch: Patch, batch: _PatchWork, draw: np.random.Generator
) -> None:
    cells, number = patch.cells, len(draft)
    down, up = draft.down[cells], draft.up[cells]
    above, below = draft.target[cells], draft.target[cells + number]
    idle = 0
    while idle < _PATIENCE:
        rise = (draft.proven[cells] < 0) & batch.tasks[cells]
        fall = (draft.proven[cells + number] < 0) & batch.tasks[cells + number]
        rise &= ~fall | (draw.random(cells.size) < 0.5)
        wish = np.where(rise, above, np.where(fall, -below, 0.0))
        if not wish.any():
            return
        draft.solved += 1
        room = MoveLimits(down=down, up=up, price=batch.price[cells])
        moved = farthest_flow(patch, room, wish, batch.reward)
        done = 0
        if moved is not None:
            new, fresh = draft.take_all(cells, moved)
            batch.step[new], batch.price[new] = _STEP_HIDDEN, 0.0
            done = fresh.size
        idle = 0 if done > _WORTH * np.count_nonzero(wish) else idle + 1


#: The largest patch.
_LARGEST = 8 * PATCH_SIZE


def bounds_by_patches(
    problem: SuppressionProblem, unknowns: Unknowns, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, int]:
    """How far hidden cells were seen to move after work on patches, and how much it took.

    Args:
        problem: The problem.
        unknowns: Its hidden cells.
        low: How far each was seen to move down, at most 0.
        high: How far up.
    """
    draft = DraftPattern(problem, unknowns)
    draft.halve()
    safe = unknowns.protected(low, high)
    draft.target[np.concatenate([safe, safe])] = 0.0
    reach = np.concatenate([high, -low])
    draft.target[reach >= draft.target - 0.5 * TOLERANCE] = 0.0
    prove_by_hidden_cells(draft, _never)
    step, price = np.ones(len(draft)), np.zeros(len(draft))
    for task in draft.open:
        if draft.proven[task] < 0:
            found = flow_for_task(draft, int(task), step, price, largest=_LARGEST)
            if found is not None:
                draft.take_all(*found)
    low, high = low.copy(), high.copy()
    for proof, fits in zip(draft.proofs, fitting_proofs(unknowns, draft.proofs), strict=True):
        if fits:
            low[proof.cells] = np.minimum(low[proof.cells], proof.moved)
            high[proof.cells] = np.maximum(high[proof.cells], proof.moved)
    return low, high, draft.solved


def _never() -> bool:
    return False
