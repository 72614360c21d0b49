"""The method `auto`: a good pattern, proven, with a bound on how much better one could be.

In: a `SuppressionProblem` (CONFIDENTIAL). Out: a `Pattern`. Several covers in different
orders, one of them led by a cutting-plane relaxation; pruning; a search around the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.suppression.fast import cut_short, finish, published_from_above, start
from discreet.suppression.feasibility import cover_all
from discreet.suppression.hiding import Hiding
from discreet.suppression.pattern import Pattern
from discreet.suppression.problem import SuppressionProblem
from discreet.suppression.pruning import drop_unused, prune
from discreet.suppression.relaxation import Relaxation
from discreet.suppression.search import refitted, searched
from discreet.suppression.worktime import WorkTime

__all__ = ["protect_auto"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

#: With more tasks than these there is one cover only, and no relaxation.
_MANY = 3_000
#: Rounds of the relaxation.
_ROUNDS = 40
#: Orders drawn at random.
_DRAWN = 2
#: Patterns that are pruned.
_PRUNED = 3
#: Linear programs per task for pruning, and for the search.
_PRUNE_SHARE, _SEARCH_SHARE, _LEAST = 10, 10, 1_000
#: The price of a cell that the relaxation hides in full, as a share of its cost.
_SURE = 0.02


def protect_auto(
    problem: SuppressionProblem,
    *,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
    seed: int = 0,
) -> Pattern:
    """Find a cheap pattern that is proven to protect every sensitive cell, and a bound.

    Args:
        problem: The cells, their levels and relations.
        time_limit: Seconds after which the best pattern so far is audited and returned.
            Before there is one, more is hidden than needed: the result is always proven.
        progress: Is called with a line of text now and then.
        seed: Draws in the search; the same seed gives the same pattern.
    """
    watch = WorkTime(time_limit, progress)
    large = 2 * len(problem.primary) > _MANY
    many = published_from_above(problem, watch, seed) if large else None
    if many is not None:
        return finish(many, "auto", watch)
    base = start(problem, watch, seed)
    draw = np.random.default_rng([seed, 2])
    tasks = base.open
    found = [_covered(base, tasks[np.argsort(-base.target[tasks], kind="stable")], watch)]
    if len(found[0].open):
        return finish(cut_short(problem, watch, seed), "auto", watch)
    bound = None
    if len(tasks) <= _MANY:
        orders = [tasks[np.argsort(base.target[tasks], kind="stable")]]
        orders += [draw.permutation(tasks) for _ in range(_DRAWN)]
        found += [_covered(base, order, watch) for order in orders]
        bound, guided = _relaxed(problem, base, watch)
        found += guided
    best = _improved([one for one in found if not len(one.open)], watch, draw)
    return finish(best, "auto", watch, bound=bound)


def _covered(
    base: Hiding, order: IntArray, watch: WorkTime, factor: FloatArray | None = None
) -> Hiding:
    """A pattern by covering tasks in an order; tasks are open if time is up."""
    hiding = base.without(base.hidden)
    cover_all(hiding, order, watch.over, factor=factor)
    drop_unused(hiding)
    if not len(hiding.open):
        hiding = refitted(hiding, watch.over)
        watch.tell(f"cover: {int(hiding.hidden.sum()):,} cells hidden")
    return hiding


def _relaxed(
    problem: SuppressionProblem, base: Hiding, watch: WorkTime
) -> tuple[int, list[Hiding]]:
    """A bound, and the pattern that the relaxation leads to."""
    relaxation = Relaxation(problem)
    for at in range(_ROUNDS):
        if relaxation.complete or watch.over():
            break
        relaxation.round(math.inf)
        watch.tell(f"bound: round {at + 1}")
    hint = np.zeros(len(problem))
    hint[relaxation.movable.unknowns.cells] = relaxation.x
    share = hint[base.unknowns.cells]
    factor = np.maximum(1.0 - share, _SURE)
    order = base.open[np.argsort(-base.target[base.open], kind="stable")]
    return relaxation.bound, [_covered(base, order, watch, factor)]


def _improved(found: list[Hiding], watch: WorkTime, draw: np.random.Generator) -> Hiding:
    """The best of the patterns after pruning and a search around it."""
    found = sorted(found, key=lambda one: one.spent)[:_PRUNED]
    tasks = int((found[0].target > 0).sum())
    for hiding in found:
        prune(hiding, watch.over, max(_LEAST, _PRUNE_SHARE * tasks))
        watch.tell(f"prune: {int(hiding.hidden.sum()):,} cells hidden")
    best = min(found, key=lambda one: one.spent)
    if tasks <= _MANY:
        best = searched(best, watch.over, max(_LEAST, _SEARCH_SHARE * tasks), draw)
        prune(best, watch.over, max(_LEAST, _PRUNE_SHARE * tasks))
    return best
