"""Search for cheaper patterns around one that is proven already. CONFIDENTIAL.

In: a `Hiding` in which every task is proven. Out: one no dearer, proven too. Each trial
publishes some secondaries again and covers the tasks that lose their proofs anew, at
prices that differ a little.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.suppression.covering import cover
from discreet.suppression.hiding import Hiding
from discreet.suppression.pruning import drop_unused

__all__ = ["refitted", "searched"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

#: Shares of the secondaries that a trial publishes again at least and at most.
_LEAST, _MOST = 0.05, 0.3
#: Prices are multiplied with draws from one over this to this.
_SPREAD = 2.0


def refitted(hiding: Hiding, over: Callable[[], bool], tasks: IntArray | None = None) -> Hiding:
    """A pattern within this one: all tasks covered anew by cells that are hidden in it.

    Args:
        hiding: A pattern with all proofs.
        over: Whether to stop; then nothing is gained.
        tasks: In which order to cover them; those that move least first unless given.
    """
    other = hiding.without(hiding.hidden)
    if tasks is None:
        tasks = other.open[np.argsort(other.target[other.open], kind="stable")]
    failed = cover(other, tasks, over, allowed=hiding.hidden)
    if failed or len(other.open):
        return hiding
    drop_unused(other)
    return other if other.spent < hiding.spent else hiding


def searched(
    hiding: Hiding,
    over: Callable[[], bool],
    budget: int,
    draw: np.random.Generator,
    patience: int = 60,
) -> Hiding:
    """The cheapest pattern that trials led to.

    Args:
        hiding: A pattern with all proofs.
        over: Whether to stop, asked before each trial.
        budget: How many linear programs may be solved.
        draw: Where chance comes from.
        patience: Trials in a row without success before it ends.
    """
    idle, end = 0, hiding.solved + budget
    while idle < patience and hiding.solved < end and not over():
        trial = _trial(hiding, over, draw)
        if trial.solved == hiding.solved:
            break
        better = not len(trial.open) and trial.spent < hiding.spent
        idle = 0 if better else idle + 1
        if better:
            hiding = trial
        else:
            hiding.solved = trial.solved
    return hiding


def _trial(hiding: Hiding, over: Callable[[], bool], draw: np.random.Generator) -> Hiding:
    secondary = np.flatnonzero(hiding.hidden & ~hiding.must)
    chosen = np.zeros(len(hiding), dtype=np.bool_)
    chosen[secondary] = draw.random(secondary.size) < draw.uniform(_LEAST, _MOST)
    other = hiding.without(chosen)
    factor: FloatArray = _SPREAD ** draw.uniform(-1.0, 1.0, len(hiding))
    cover(other, draw.permutation(other.open), over, factor=factor)
    drop_unused(other)
    return other
