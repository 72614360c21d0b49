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

__all__ = [
    "bounds_by_patches",
    "cover_tasks",
    "flow_for_task",
    "prove_by_hidden_cells",
    "relation_distances",
]


#: How far it is to a hidden cell, and to another one per share of the median cost.
_STEP_HIDDEN, _STEP_COST = 0.5, 0.1
#: Cells of the first patch that is tried around a cell.
PATCH_SIZE = 600
#: Cells of a patch when many tasks are to be proven at once.
_PROOF_PATCH = 800
#: A patch is left after so many goes that proved less than this share of what is open.
_PATIENCE, _WORTH = 2, 0.05
_TELL = 256


def relation_distances(hiding: DraftPattern) -> FloatArray:
    """How far it is to each cell from others in a common relation."""
    median = max(float(np.median(hiding.cost)), 1.0) if len(hiding) else 1.0
    return np.where(hiding.hidden, _STEP_HIDDEN, 1.0 + _STEP_COST * hiding.cost / median)


def flow_for_task(
    hiding: DraftPattern,
    task: int,
    step: FloatArray,
    price: FloatArray,
    size: int = PATCH_SIZE,
    largest: int | None = None,
) -> tuple[IntArray, FloatArray] | None:
    """The cheapest way to do one task: cells and how far each moves.

    Patches grow until one of them can do it.

    Args:
        hiding: The cells and what is hidden.
        task: The task.
        step: How far it is to each cell; infinite for cells that must stay.
        price: Price per cell and unit; 0 where hidden.
        size: Cells of the first patch.
        largest: Cells of the largest; None for as many as there are.

    Returns:
        None if the task cannot be done.
    """
    cell, distance = hiding.distance(task)
    room = hiding.up[cell] if distance > 0 else hiding.down[cell]
    if room < abs(distance):
        return None
    seed = np.array([cell], dtype=np.int64)
    while True:
        patch = hiding.patches.around(seed, size, step, hiding.many_ways)
        found = _flow_in(hiding, patch, cell, distance, price)
        if found is not None:
            return found
        if patch.whole or (largest is not None and size >= largest):
            return None
        size *= 2


def _flow_in(
    hiding: DraftPattern, patch: Patch, cell: int, distance: float, price: FloatArray
) -> tuple[IntArray, FloatArray] | None:
    """The cheapest way in one patch."""
    cells = patch.cells
    at = int(np.searchsorted(cells, cell))
    if at == len(cells) or cells[at] != cell:
        return None
    room = MoveLimits(down=hiding.down[cells], up=hiding.up[cells], price=price[cells])
    hiding.solved += 1
    moved = least_flow(patch, room, at, distance)
    return None if moved is None else (cells, moved)


def cover_tasks(
    hiding: DraftPattern,
    tasks: IntArray,
    over: Callable[[], bool],
    tell: Callable[[float], None] | None = None,
    allowed: BoolArray | None = None,
    factor: FloatArray | None = None,
) -> list[int]:
    """Protect cells, task by task in the order given.

    Args:
        hiding: What is hidden and proven; changed.
        tasks: The tasks.
        over: Whether to stop, asked before each task.
        tell: Is told now and then which share is done.
        allowed: Which cells may be hidden or moved; all unless given.
        factor: What prices are multiplied with, cell by cell.

    Returns:
        Tasks that cannot be done.
    """
    step = relation_distances(hiding)
    if allowed is not None:
        step[~allowed] = np.inf
    price = np.where(hiding.hidden, 0.0, np.maximum(hiding.cost, 1e-6))
    price /= max(float(np.median(hiding.cost)), 1.0) if len(hiding) else 1.0
    if factor is not None:
        price *= factor
    failed = []
    for at, task in enumerate(tasks):
        if tell is not None and at % _TELL == 0:
            tell(at / len(tasks))
        if hiding.proven[task] >= 0:
            continue
        if over():
            break
        found = flow_for_task(hiding, int(task), step, price)
        if found is None:
            failed.append(int(task))
            continue
        new, _ = hiding.take_all(*found)
        step[new], price[new] = _STEP_HIDDEN, 0.0
    return failed


def prove_by_hidden_cells(hiding: DraftPattern, over: Callable[[], bool], seed: int = 0) -> None:
    """Prove open tasks with moves of cells that are hidden already.

    Around each cell in turn, hidden cells near by are moved, each to a side drawn at
    random among those it has tasks for, until nothing new is proven. What is not proven
    then may still be possible.
    """
    step = np.where(hiding.hidden, 1.0, np.inf)
    price = np.zeros(len(hiding))
    _patch_by_patch(hiding, _PatchWork(step, price, hiding.within_hidden(), 1.0), over, seed)


@dataclass
class _PatchWork:
    """How patches are to be worked on: distances, prices, tasks, their worth."""

    step: FloatArray
    price: FloatArray
    tasks: BoolArray
    reward: float


def _patch_by_patch(
    hiding: DraftPattern, batch: _PatchWork, over: Callable[[], bool], seed: int
) -> None:
    draw = np.random.default_rng([seed, 1])
    number = len(hiding)
    tried = np.zeros(number, dtype=np.bool_)
    for task in hiding.open[batch.tasks[hiding.open]]:
        cell = int(task) % number
        if hiding.proven[task] >= 0 or tried[cell]:
            continue
        if over():
            return
        seeds = np.array([cell], dtype=np.int64)
        patch = hiding.patches.around(seeds, _PROOF_PATCH, batch.step)
        tried[patch.cells] = True
        tried[cell] = True
        if patch.cells.size:
            _work_on(hiding, patch, batch, draw)


def _work_on(
    hiding: DraftPattern, patch: Patch, batch: _PatchWork, draw: np.random.Generator
) -> None:
    cells, number = patch.cells, len(hiding)
    down, up = hiding.down[cells], hiding.up[cells]
    above, below = hiding.target[cells], hiding.target[cells + number]
    idle = 0
    while idle < _PATIENCE:
        rise = (hiding.proven[cells] < 0) & batch.tasks[cells]
        fall = (hiding.proven[cells + number] < 0) & batch.tasks[cells + number]
        rise &= ~fall | (draw.random(cells.size) < 0.5)
        wish = np.where(rise, above, np.where(fall, -below, 0.0))
        if not wish.any():
            return
        hiding.solved += 1
        room = MoveLimits(down=down, up=up, price=batch.price[cells])
        moved = farthest_flow(patch, room, wish, batch.reward)
        done = 0
        if moved is not None:
            new, fresh = hiding.take_all(cells, moved)
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
    hiding = DraftPattern(problem, unknowns)
    hiding.halve()
    safe = unknowns.protected(low, high)
    hiding.target[np.concatenate([safe, safe])] = 0.0
    reach = np.concatenate([high, -low])
    hiding.target[reach >= hiding.target - 0.5 * TOLERANCE] = 0.0
    prove_by_hidden_cells(hiding, _never)
    step, price = np.ones(len(hiding)), np.zeros(len(hiding))
    for task in hiding.open:
        if hiding.proven[task] < 0:
            found = flow_for_task(hiding, int(task), step, price, largest=_LARGEST)
            if found is not None:
                hiding.take_all(*found)
    low, high = low.copy(), high.copy()
    for proof, fits in zip(hiding.proofs, fitting_proofs(unknowns, hiding.proofs), strict=True):
        if fits:
            low[proof.cells] = np.minimum(low[proof.cells], proof.moved)
            high[proof.cells] = np.maximum(high[proof.cells], proof.moved)
    return low, high, hiding.solved


def _never() -> bool:
    return False
