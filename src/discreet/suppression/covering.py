"""Covering: one sensitive cell after the other is protected, as cheaply as possible.

In: a `Hiding` with open tasks. Out: the same with more hidden cells and a proof for each
task. First, hidden cells alone prove what they can, many tasks at once; then each open
task gets the cheapest flow through a patch of cells around it. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.suppression.flows import Room, farthest_flow, least_flow
from discreet.suppression.hiding import Hiding
from discreet.suppression.patches import Patch

__all__ = ["cover", "flow_for", "prove_hidden", "steps"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: How far it is to a hidden cell, and to another one per share of the median cost.
_STEP_HIDDEN, _STEP_COST = 0.5, 0.1
#: Cells of the first patch that is tried around a cell.
PATCH = 600
#: Cells of a patch when many tasks are to be proven at once.
_PROOF_PATCH = 800
#: A patch is left after so many goes that proved less than this share of what is open.
_PATIENCE, _WORTH = 2, 0.05


def steps(hiding: Hiding) -> FloatArray:
    """How far it is to each cell from others in a common relation."""
    median = max(float(np.median(hiding.cost)), 1.0) if len(hiding) else 1.0
    return np.where(hiding.hidden, _STEP_HIDDEN, 1.0 + _STEP_COST * hiding.cost / median)


def flow_for(
    hiding: Hiding,
    task: int,
    step: FloatArray,
    price: FloatArray,
    size: int = PATCH,
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
        patch = hiding.patches.around(seed, size, step)
        at = int(np.searchsorted(patch.cells, cell))
        if at < len(patch.cells) and patch.cells[at] == cell:
            cells = patch.cells
            limits = Room(down=hiding.down[cells], up=hiding.up[cells], price=price[cells])
            hiding.solved += 1
            moved = least_flow(patch, limits, at, distance)
            if moved is not None:
                return cells, moved
        if patch.whole or (largest is not None and size >= largest):
            return None
        size *= 2


def cover(hiding: Hiding, tasks: IntArray, over: Callable[[], bool]) -> list[int]:
    """Protect cells, task by task in the order given.

    Args:
        hiding: What is hidden and proven; changed.
        tasks: The tasks.
        over: Whether to stop, asked before each task.

    Returns:
        Tasks that cannot be done.
    """
    step = steps(hiding)
    price = np.where(hiding.hidden, 0.0, np.maximum(hiding.cost, 1e-6))
    price /= max(float(np.median(hiding.cost)), 1.0) if len(hiding) else 1.0
    failed = []
    for task in tasks:
        if hiding.proven[task] >= 0:
            continue
        if over():
            break
        found = flow_for(hiding, int(task), step, price)
        if found is None:
            failed.append(int(task))
            continue
        new, _ = hiding.take(*found)
        step[new], price[new] = _STEP_HIDDEN, 0.0
    return failed


def prove_hidden(
    hiding: Hiding, over: Callable[[], bool], seed: int = 0, size: int = _PROOF_PATCH
) -> None:
    """Prove open tasks with moves of cells that are hidden already.

    Around each cell in turn, hidden cells near by are moved, each to a side drawn at
    random among those it has tasks for, until nothing new is proven. What is not proven
    then may still be possible.
    """
    draw = np.random.default_rng([seed, 1])
    step = np.where(hiding.hidden, 1.0, np.inf)
    number = len(hiding)
    hopeful = hiding.within_hidden()
    tried = np.zeros(number, dtype=np.bool_)
    for task in hiding.open:
        cell = int(task) % number
        if hiding.proven[task] >= 0 or not hopeful[task] or tried[cell]:
            continue
        if over():
            return
        patch = hiding.patches.around(np.array([cell], dtype=np.int64), size, step)
        tried[patch.cells] = True
        tried[cell] = True
        if patch.cells.size:
            _prove_patch(hiding, patch, hopeful, draw)


def _prove_patch(
    hiding: Hiding, patch: Patch, hopeful: BoolArray, draw: np.random.Generator
) -> None:
    cells, number = patch.cells, len(hiding)
    down, up = hiding.down[cells], hiding.up[cells]
    room = Room(down=down, up=up, price=np.zeros(cells.size))
    above, below = hiding.target[cells], hiding.target[cells + number]
    idle = 0
    while idle < _PATIENCE:
        rise = (hiding.proven[cells] < 0) & hopeful[cells]
        fall = (hiding.proven[cells + number] < 0) & hopeful[cells + number]
        rise &= ~fall | (draw.random(cells.size) < 0.5)
        wish = np.where(rise, above, np.where(fall, -below, 0.0))
        if not wish.any():
            return
        hiding.solved += 1
        moved = farthest_flow(patch, room, wish)
        done = 0 if moved is None else hiding.take(cells, moved)[1].size
        idle = 0 if done > _WORTH * np.count_nonzero(wish) else idle + 1
