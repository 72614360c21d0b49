"""The method `fast`: a proven pattern for tables of any size. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a `Pattern`, or a `SuppressionError` that names all cells
that stay unprotected even if every cell that may be hidden is hidden. Where many cells are
sensitive, everything is hidden and what can be is published again. Else hidden cells prove
what they can; each sensitive cell left gets the cheapest flow through a patch around it;
superfluous secondaries are published again. A relaxation over single relations leads the
way and bounds the cost from below. An audit ends the work.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.errors import Problem, SuppressionError, shortened
from discreet.protection.suppression.methods.local_search import drop_unused, prune, refitted
from discreet.protection.suppression.methods.relaxation import Relaxation, single_relation_bounds
from discreet.protection.suppression.methods.stepwise_release import released_stepwise
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.problem.unknowns import TOLERANCE
from discreet.protection.suppression.proof.certificate import (
    Certificate,
    Pattern,
    certificate_from_proofs,
    certified,
    certify,
)
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import cover_tasks, prove_by_hidden_cells

__all__ = [
    "audited_certificate",
    "check_feasible",
    "check_outer_bounds",
    "cover_or_refuse",
    "draft_at_time_limit",
    "finished_pattern",
    "price_factor",
    "protect_fast",
    "refuted_cells",
    "started_draft",
    "stepwise_draft",
]


#: With more cells than these that may move, bounds alone decide before work begins.
_EXACT_LIMIT = 3_000
_SHOWN = 20

_BOUNDS = "what an attacker is said to know about it is narrower than its protection levels"
_NEIGHBOURS = "cells that must be published leave it no room"


def refuted_cells(hiding: DraftPattern) -> IntArray:
    """Sensitive cells that bounds show to be impossible to protect."""
    known = hiding.unknowns
    return known.cells[known.sensitive & ~known.protected(-hiding.down, hiding.up)]


def check_outer_bounds(hiding: DraftPattern) -> None:
    """Raise an error that names the cells that bounds show to be impossible to protect."""
    lost = refuted_cells(hiding)
    if lost.size:
        raise _impossible(hiding, lost)


def check_feasible(hiding: DraftPattern) -> None:
    """Raise an error that names the cells that cannot be protected, if there are any.

    Where protection upwards is short, sliding levels are turned downwards. Very large
    problems are checked by bounds only; what these miss shows during the work.
    """
    check_outer_bounds(hiding)
    if len(hiding) > _EXACT_LIMIT:
        return
    _settle(hiding, hiding.unknowns.cells[hiding.unknowns.sensitive])


def cover_or_refuse(
    hiding: DraftPattern,
    tasks: IntArray,
    over: Callable[[], bool],
    tell: Callable[[float], None] | None = None,
    factor: FloatArray | None = None,
) -> None:
    """Cover tasks, or raise an error that names cells that cannot be protected."""
    failed = cover_tasks(hiding, tasks, over, tell, factor=factor)
    if failed:
        cells = np.unique(np.array(failed, dtype=np.int64) % len(hiding))
        _settle(hiding, hiding.unknowns.cells[cells])
        again = np.concatenate([cells, cells + len(hiding)])
        if cover_tasks(hiding, np.intersect1d(hiding.open, again), over, factor=factor):
            raise SuppressionError(
                "the solver found no way to move some sensitive cells",
                code="solver",
                where=hiding.problem.title,
                hint="report this: an attack on the whole table could move them",
            )


def _settle(hiding: DraftPattern, cells: IntArray) -> None:
    """Find out by attacks how far cells can go if everything is hidden; adjust the tasks."""
    watched = np.zeros(len(hiding.problem), dtype=np.bool_)
    watched[cells] = True
    full = hiding.mask(np.ones(len(hiding), dtype=np.bool_))
    everything = certify(hiding.problem, full, watched)
    if len(everything.unprotected):
        raise _impossible(hiding, everything.unprotected)
    at = hiding.at(everything.cells)
    known = hiding.unknowns
    sliding = known.sliding[at] > known.upper[at] + known.lower[at]
    turned = sliding & (everything.high < hiding.target[at] - TOLERANCE)
    if turned.any():
        hiding.turn_down(at[turned], everything.high[turned])


def _impossible(hiding: DraftPattern, cells: IntArray) -> SuppressionError:
    """The error for cells of the problem that cannot be protected."""
    known = hiding.unknowns
    at = hiding.at(cells)
    narrow = ~known.protected(known.low, known.high)[at]
    problems = [
        Problem(_BOUNDS if tight else _NEIGHBOURS, hiding.problem.name(int(cell)))
        for cell, tight in zip(cells, narrow, strict=True)
    ]
    return SuppressionError(
        f"{len(cells):,} sensitive cells cannot be protected by any pattern",
        code="infeasible",
        where=hiding.problem.title,
        hint="let more cells be hidden, widen the bounds said to be known, or merge categories",
        problems=shortened(problems, _SHOWN),
    )


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
    many = stepwise_draft(problem, watch, seed)
    if many is not None:
        return finished_pattern(many, "fast", watch)
    hiding = started_draft(problem, watch, seed)
    near = single_relation_bounds(problem, watch.over)
    if len(hiding.open):
        watch.tell("cover")
        order = hiding.open[np.argsort(-hiding.target[hiding.open], kind="stable")]
        factor = None if near is None else price_factor(hiding, near)
        tell = lambda share: watch.tell(f"cover: {share:.0%}")  # noqa: E731
        cover_or_refuse(hiding, order, watch.over, tell, factor)
    if len(hiding.open):
        return finished_pattern(draft_at_time_limit(problem, watch, seed), "fast", watch)
    drop_unused(hiding)
    tasks = int((hiding.target > 0).sum())
    if tasks <= _REFIT_TASKS:
        watch.tell("refit")
        hiding = refitted(hiding, watch.over)
    if tasks <= _PRUNE_TASKS:
        watch.tell("prune")
        prune(hiding, watch.over, max(_PRUNE_LEAST, _PRUNE_SHARE * hiding.solved))
    return finished_pattern(hiding, "fast", watch, None if near is None else near.bound)


def price_factor(hiding: DraftPattern, relaxation: Relaxation) -> FloatArray:
    """By how much each cell gets cheaper: the more, the more of it the relaxation hides."""
    return np.maximum(1.0 - relaxation.guide[hiding.unknowns.cells], _SURE)


def stepwise_draft(
    problem: SuppressionProblem, watch: WorkTime, seed: int, *, always: bool = False
) -> DraftPattern | None:
    """A pattern found from above, all proven; None if the problem is not of that kind."""
    watch.tell("check")
    hiding = DraftPattern(problem)
    check_outer_bounds(hiding)
    if not released_stepwise(hiding, watch, seed, always=always):
        return None
    if len(hiding.open):
        watch.tell("cover")
        cover_or_refuse(hiding, hiding.open, _never)
    drop_unused(hiding)
    return hiding


def draft_at_time_limit(problem: SuppressionProblem, watch: WorkTime, seed: int) -> DraftPattern:
    """A pattern when time is up: from above if that can be, or else with all cells hidden."""
    watch.tell("time is up: hide more")
    hiding = stepwise_draft(problem, watch, seed, always=True)
    if hiding is not None:
        return hiding
    hiding = DraftPattern(problem)
    hiding.hidden[:] = True
    prove_by_hidden_cells(hiding, _never, seed)
    cover_or_refuse(hiding, hiding.open, _never)
    drop_unused(hiding)
    return hiding


def started_draft(problem: SuppressionProblem, watch: WorkTime, seed: int) -> DraftPattern:
    """A pattern in the making, checked, with what the hidden cells alone prove."""
    watch.tell("check")
    hiding = DraftPattern(problem)
    check_feasible(hiding)
    watch.tell("prove")
    prove_by_hidden_cells(hiding, watch.over, seed)
    return hiding


def finished_pattern(
    hiding: DraftPattern, method: str, watch: WorkTime, bound: int | None = None
) -> Pattern:
    """The audited pattern; cells that the audit finds open are repaired first."""
    watch.tell("audit")
    certificate = audited_certificate(hiding)
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


def audited_certificate(hiding: DraftPattern) -> Certificate:
    """A certificate for the hidden cells, after repair if need be."""
    for _ in range(_REPAIRS):
        certificate = _certificate(hiding)
        if not len(certificate.unprotected):
            return certificate
        at = hiding.at(certificate.unprotected)
        hiding.raise_targets(at)
        failed = cover_tasks(
            hiding, np.intersect1d(hiding.open, np.r_[at, at + len(hiding)]), _never
        )
        if failed:
            break
    return _certificate(hiding)


def _certificate(hiding: DraftPattern) -> Certificate:
    few = int(hiding.hidden.sum()) <= _ATTACK_LIMIT
    return certify(hiding.problem, hiding.mask()) if few else certificate_from_proofs(hiding)


def _never() -> bool:
    return False
