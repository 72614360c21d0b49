"""Small linear programs around sensitive cells: proofs, and further cells to hide. CONFIDENTIAL.

In a `DraftPattern` with open tasks, hidden cells alone prove what they can; then each open task
gets the cheapest flow through a patch around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import (
    TOLERANCE,
    DeviationCheck,
    Patch,
    Proof,
    Reach,
    Unknowns,
    farthest_flow,
    least_flow,
)
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.proof.draft_pattern import DraftPattern

#: How far it is to a hidden cell, and to another one per share of the median cost.
_STEP_HIDDEN, _STEP_COST = 0.5, 0.1
#: Cells of the first patch that is tried around a cell.
PATCH_SIZE = 600
#: Cells of a patch when many tasks are to be proven at once.
_PROOF_PATCH = 800
#: A patch is left after so many goes that proved less than this share of what is open.
_PATIENCE, _WORTH = 2, 0.05
_TELL = 256


def never() -> bool:
    """For work that nothing stops."""
    return False


def relation_distances(draft: DraftPattern) -> FloatArray:
    """Distances of cells to others in a common relation."""
    return np.where(draft.hidden, _STEP_HIDDEN, 1.0 + _STEP_COST * draft.cost / draft.median_cost)


def flow_for_task(
    draft: DraftPattern,
    task: int,
    step: FloatArray,
    price: FloatArray,
    size: int = PATCH_SIZE,
    largest: int | None = None,
    distance: float | None = None,
) -> tuple[IntArray, FloatArray] | None:
    """The cheapest way to do one task: cells and how far each moves; None if there is none.

    A `distance` stands for that of the task, which is then the number of a cell.

    Patches grow from `size` cells, to `largest` if given, until one of them can do it. The step to
    a cell is infinite if it must stay; its price per unit is 0 where hidden.
    """
    cell, distance = draft.distance(task) if distance is None else (task, distance)
    room = draft.up[cell] if distance > 0 else draft.down[cell]
    if room < abs(distance) - TOLERANCE:
        return None
    seed = np.array([cell], dtype=np.int64)
    while True:
        patch = draft.patches.around(seed, size, step)
        cells = patch.cells
        at = int(np.searchsorted(cells, cell))
        if at < len(cells) and cells[at] == cell:
            draft.solved += 1
            moved = least_flow(
                patch, draft.down[cells], draft.up[cells], price[cells], at, distance
            )
            if moved is not None:
                return cells, moved
        if patch.whole or size >= (math.inf if largest is None else largest):
            return None
        size *= 2


def cover_tasks(
    draft: DraftPattern,
    tasks: IntArray,
    over: Callable[[], bool],
    tell: Callable[[float], None] | None = None,
    allowed: BoolArray | None = None,
    factor: FloatArray | None = None,
) -> list[int]:
    """Protect cells, task by task in the order given; gives the tasks that cannot be done.

    `over` is asked before each task; `tell` is told now and then which share is done. Only
    cells `allowed` are hidden or moved, at prices multiplied with `factor`.
    """
    step = relation_distances(draft)
    if allowed is not None:
        step[~allowed] = np.inf
    price = np.where(draft.hidden, 0.0, np.maximum(draft.cost, 1e-6))
    price /= draft.median_cost
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
        flow = flow_for_task(draft, int(task), step, price)
        if flow is None:
            failed.append(int(task))
            continue
        new, _ = draft.take_all(*flow)
        step[new], price[new] = _STEP_HIDDEN, 0.0
    return failed


def prove_by_hidden_cells(draft: DraftPattern, over: Callable[[], bool], seed: int = 0) -> None:
    """Prove open tasks with moves of cells that are hidden already.

    Around each cell in turn, hidden cells near by are moved, each to a side drawn at
    random among those it has tasks for, until nothing new is proven. What is not proven
    then may still be possible.
    """
    step, price = np.where(draft.hidden, 1.0, np.inf), np.zeros(len(draft))
    tasks = draft.within_hidden()
    draw = np.random.default_rng([seed, 1])
    number = len(draft)
    tried = np.zeros(number, dtype=np.bool_)
    for task in draft.open[tasks[draft.open]]:
        cell = int(task) % number
        if draft.proven[task] >= 0 or tried[cell]:
            continue
        if over():
            return
        seeds = np.array([cell], dtype=np.int64)
        patch = draft.patches.around(seeds, _PROOF_PATCH, step)
        tried[patch.cells] = True
        tried[cell] = True
        if patch.cells.size:
            _work_on(draft, patch, tasks, step, price, draw)


def _work_on(
    draft: DraftPattern, patch: Patch, tasks: BoolArray, step: FloatArray, price: FloatArray,
    draw: np.random.Generator,
) -> None:  # fmt: skip
    cells, number = patch.cells, len(draft)
    down, up = draft.down[cells], draft.up[cells]
    above, below = draft.target[cells], draft.target[cells + number]
    idle = 0
    while idle < _PATIENCE:
        rise = (draft.proven[cells] < 0) & tasks[cells]
        fall = (draft.proven[cells + number] < 0) & tasks[cells + number]
        rise &= ~fall | (draw.random(cells.size) < 0.5)
        wish = np.where(rise, above, np.where(fall, -below, 0.0))
        if not wish.any():
            return
        draft.solved += 1
        moved = farthest_flow(patch, down, up, price[cells], wish)
        done = 0
        if moved is not None:
            new, fresh = draft.take_all(cells, moved)
            step[new], price[new] = _STEP_HIDDEN, 0.0
            done = fresh.size
        idle = 0 if done > _WORTH * np.count_nonzero(wish) else idle + 1


#: The largest patch.
_LARGEST = 8 * PATCH_SIZE


def reach_by_patches(problem: SuppressionProblem, unknowns: Unknowns, reach: Reach) -> int:
    """See how far hidden cells move by work on patches; gives how many linear programs it took."""
    draft = DraftPattern(problem, unknowns)
    draft.halve()
    # Moves by whole numbers hold against readers who know that values are whole, too.
    draft.target = np.ceil(draft.target - TOLERANCE)
    safe = unknowns.protected(reach.low, reach.high)
    draft.target[np.concatenate([safe, safe])] = 0.0
    seen = np.concatenate([reach.high, -reach.low])
    draft.target[seen >= draft.target - 0.5 * TOLERANCE] = 0.0
    prove_by_hidden_cells(draft, never)
    check = DeviationCheck(unknowns, reach)

    def see(proofs: list[Proof]) -> None:
        check.see_all(proofs)
        check.see_all([Proof(cells=one.cells, moved=np.rint(one.moved)) for one in proofs])

    see(draft.proofs)
    step, price, number = np.ones(len(draft)), np.zeros(len(draft)), len(draft.proofs)
    for task in np.flatnonzero(draft.target > TOLERANCE).tolist():
        cell, far = draft.distance(task)
        seen = reach.whole_high[cell] if far > 0 else -reach.whole_low[cell]
        if draft.proven[task] < 0 or seen < abs(far) - TOLERANCE:
            largest = _LARGEST if draft.proven[task] < 0 else PATCH_SIZE
            flow = flow_for_task(draft, task, step, price, largest=largest)
            if flow is not None:
                at = np.flatnonzero(flow[1])
                see([Proof(cells=flow[0][at], moved=flow[1][at])])
                draft.take_all(*flow)
    see(draft.proofs[number:])
    return draft.solved
