"""The method `fast`: a proven pattern for tables of any size. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a `Pattern`. Where many cells are sensitive, everything is
hidden and what can be is published again. Else hidden cells prove what they can; each
sensitive cell left gets the cheapest flow through a patch around it; superfluous
secondaries are published again. A relaxation over single relations leads the way, and
bounds the cost from below. An audit ends the work.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from discreet.suppression.certificate import Certificate, certify
from discreet.suppression.checking import certificate_of
from discreet.suppression.covering import cover, prove_hidden
from discreet.suppression.feasibility import check_bounds, check_possible, cover_all
from discreet.suppression.from_above import protected_from_above
from discreet.suppression.hiding import Hiding
from discreet.suppression.lower_bounds import near_relaxation
from discreet.suppression.pattern import Pattern, certified
from discreet.suppression.problem import SuppressionProblem
from discreet.suppression.pruning import drop_unused, prune
from discreet.suppression.relaxation import Relaxation
from discreet.suppression.search import refitted
from discreet.suppression.worktime import WorkTime

__all__ = [
    "audited",
    "cut_short",
    "finish",
    "price_factor",
    "protect_fast",
    "published_from_above",
    "start",
]

FloatArray = npt.NDArray[np.float64]

#: With more hidden cells than these, stored proofs are checked instead of new attacks.
_ATTACK_LIMIT = 4_000
#: Linear programs for pruning: so many per one that covering took, and at least.
_PRUNE_SHARE, _PRUNE_LEAST = 2, 2_000
#: With more tasks than these, secondaries are not pruned one by one; with more than
#: those, the pattern is not covered anew from its own cells either.
_PRUNE_TASKS, _REFIT_TASKS = 3_000, 100_000
_REPAIRS = 5
#: The price of a cell that the relaxation hides in full, as a share of its cost.
_SURE = 0.02


def protect_fast(
    problem: SuppressionProblem,
    *,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
    seed: int = 0,
) -> Pattern:
    """Find a pattern that is proven to protect every sensitive cell, quickly.

    Args:
        problem: The cells, their levels and relations.
        time_limit: Seconds after which the work is cut short. If not all cells are covered
            by then, more is hidden than needed: the result is always proven.
        progress: Is called with a line of text now and then.
        seed: Draws in the search; the same seed gives the same pattern.
    """
    watch = WorkTime(time_limit, progress)
    many = published_from_above(problem, watch, seed)
    if many is not None:
        return finish(many, "fast", watch)
    hiding = start(problem, watch, seed)
    near = near_relaxation(problem, watch.over)
    if len(hiding.open):
        watch.tell("cover")
        order = hiding.open[np.argsort(-hiding.target[hiding.open], kind="stable")]
        factor = None if near is None else price_factor(hiding, near)
        tell = lambda share: watch.tell(f"cover: {share:.0%}")  # noqa: E731
        cover_all(hiding, order, watch.over, tell, factor)
    if len(hiding.open):
        return finish(cut_short(problem, watch, seed), "fast", watch)
    drop_unused(hiding)
    tasks = int((hiding.target > 0).sum())
    if tasks <= _REFIT_TASKS:
        watch.tell("refit")
        hiding = refitted(hiding, watch.over)
    if tasks <= _PRUNE_TASKS:
        watch.tell("prune")
        prune(hiding, watch.over, max(_PRUNE_LEAST, _PRUNE_SHARE * hiding.solved))
    return finish(hiding, "fast", watch, None if near is None else near.bound)


def price_factor(hiding: Hiding, relaxation: Relaxation) -> FloatArray:
    """By how much each cell gets cheaper: the more, the more of it the relaxation hides."""
    return np.maximum(1.0 - relaxation.guide[hiding.unknowns.cells], _SURE)


def published_from_above(
    problem: SuppressionProblem, watch: WorkTime, seed: int, *, always: bool = False
) -> Hiding | None:
    """A pattern found from above, all proven; None if the problem is not of that kind."""
    watch.tell("check")
    hiding = Hiding(problem)
    check_bounds(hiding)
    if not protected_from_above(hiding, watch, seed, always=always):
        return None
    if len(hiding.open):
        watch.tell("cover")
        cover_all(hiding, hiding.open, _never)
    drop_unused(hiding)
    return hiding


def cut_short(problem: SuppressionProblem, watch: WorkTime, seed: int) -> Hiding:
    """A pattern when time is up: from above if that can be, or else with all cells hidden."""
    watch.tell("time is up: hide more")
    hiding = published_from_above(problem, watch, seed, always=True)
    if hiding is not None:
        return hiding
    hiding = Hiding(problem)
    hiding.hidden[:] = True
    prove_hidden(hiding, _never, seed)
    cover_all(hiding, hiding.open, _never)
    drop_unused(hiding)
    return hiding


def start(problem: SuppressionProblem, watch: WorkTime, seed: int) -> Hiding:
    """A pattern in the making, checked, with what the hidden cells alone prove."""
    watch.tell("check")
    hiding = Hiding(problem)
    check_possible(hiding)
    watch.tell("prove")
    prove_hidden(hiding, watch.over, seed)
    return hiding


def finish(hiding: Hiding, method: str, watch: WorkTime, bound: int | None = None) -> Pattern:
    """The audited pattern; cells that the audit finds open are repaired first."""
    watch.tell("audit")
    certificate = audited(hiding)
    return certified(
        hiding.problem,
        hiding.mask(),
        method,
        certificate=certificate,
        bound=bound,
        complete=not watch.struck,
        seconds=watch.seconds,
        notes=("stopped by the time limit",) if watch.struck else (),
    )


def audited(hiding: Hiding) -> Certificate:
    """A certificate for the hidden cells, after repair if need be."""
    for _ in range(_REPAIRS):
        certificate = _certificate(hiding)
        if not len(certificate.unprotected):
            return certificate
        at = hiding.at(certificate.unprotected)
        hiding.raise_targets(at)
        failed = cover(hiding, np.intersect1d(hiding.open, np.r_[at, at + len(hiding)]), _never)
        if failed:
            break
    return _certificate(hiding)


def _certificate(hiding: Hiding) -> Certificate:
    few = int(hiding.hidden.sum()) <= _ATTACK_LIMIT
    return certify(hiding.problem, hiding.mask()) if few else certificate_of(hiding)


def _never() -> bool:
    return False
