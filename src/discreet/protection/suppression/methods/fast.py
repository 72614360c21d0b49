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
from discreet.protection.suppression.proof.local_lp import (
    cover_tasks,
    never,
    prove_by_hidden_cells,
)

#: With more cells than these that may move, bounds alone decide before work begins.
_EXACT_LIMIT = 3_000
_SHOWN = 20

_BOUNDS = "what an attacker is said to know about it is narrower than its protection levels"
_NEIGHBOURS = "cells that must be published leave it no room"


def check_outer_bounds(draft: DraftPattern) -> None:
    """Raise an error that names the cells that bounds show to be impossible to protect."""
    known = draft.unknowns
    lost = known.cells[known.sensitive & ~known.protected(-draft.down, draft.up)]
    if lost.size:
        raise _impossible(draft, lost)


def cover_or_refuse(
    draft: DraftPattern,
    tasks: IntArray,
    over: Callable[[], bool],
    tell: Callable[[float], None] | None = None,
    factor: FloatArray | None = None,
) -> None:
    """Cover tasks, or raise an error that names cells that cannot be protected."""
    failed = cover_tasks(draft, tasks, over, tell, factor=factor)
    if failed:
        cells = np.unique(np.array(failed, dtype=np.int64) % len(draft))
        _settle(draft, draft.unknowns.cells[cells])
        again = np.concatenate([cells, cells + len(draft)])
        if cover_tasks(draft, np.intersect1d(draft.open, again), over, factor=factor):
            what = "the solver found no way to move some sensitive cells"
            hint = "report this: an attack on the whole table could move them"
            raise SuppressionError(what, code="solver", where=draft.problem.title, hint=hint)


def _settle(draft: DraftPattern, cells: IntArray) -> None:
    """Find out by attacks how far cells can go if everything is hidden; adjust the tasks.

    Where protection upwards is short, sliding levels are turned downwards.
    """
    watched = np.zeros(len(draft.problem), dtype=np.bool_)
    watched[cells] = True
    full = draft.mask(np.ones(len(draft), dtype=np.bool_))
    everything = certify(draft.problem, full, watched)
    if len(everything.unprotected):
        raise _impossible(draft, everything.unprotected)
    at = draft.at(everything.cells)
    known = draft.unknowns
    sliding = known.sliding[at] > known.upper[at] + known.lower[at]
    turned = sliding & (everything.high < draft.target[at] - TOLERANCE)
    if turned.any():
        draft.shift_downwards(at[turned], everything.high[turned])


def _impossible(draft: DraftPattern, cells: IntArray) -> SuppressionError:
    """The error for cells of the problem that cannot be protected."""
    known = draft.unknowns
    at = draft.at(cells)
    narrow = ~known.protected(known.low, known.high)[at]
    problems = [
        Problem(_BOUNDS if tight else _NEIGHBOURS, draft.problem.name(int(cell)))
        for cell, tight in zip(cells, narrow, strict=True)
    ]
    return SuppressionError(
        f"{len(cells):,} sensitive cells cannot be protected by any pattern",
        code="infeasible",
        where=draft.problem.title,
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
    problem: SuppressionProblem, watch: WorkTime | None = None, seed: int = 0
) -> Pattern:
    """Find a pattern that is proven to protect every sensitive cell, quickly.

    If not all cells are covered when time is up, more is hidden than needed: the result is
    always proven.
    """
    watch = watch or WorkTime()
    many = stepwise_draft(problem, watch, seed)
    if many is not None:
        return finished_pattern(many, "fast", watch)
    draft = started_draft(problem, watch, seed)
    near = single_relation_bounds(problem, watch.over)
    if len(draft.open):
        watch.tell("cover")
        order = draft.open[np.argsort(-draft.target[draft.open], kind="stable")]
        factor = None if near is None else price_factor(draft, near)
        tell = lambda share: watch.tell(f"cover: {share:.0%}")  # noqa: E731
        cover_or_refuse(draft, order, watch.over, tell, factor)
    if len(draft.open):
        return finished_pattern(draft_at_time_limit(problem, watch, seed), "fast", watch)
    drop_unused(draft)
    tasks = int((draft.target > 0).sum())
    if tasks <= _REFIT_TASKS:
        watch.tell("refit")
        draft = refitted(draft, watch.over)
    if tasks <= _PRUNE_TASKS:
        watch.tell("prune")
        prune(draft, watch.over, max(_PRUNE_LEAST, _PRUNE_SHARE * draft.solved))
    return finished_pattern(draft, "fast", watch, None if near is None else near.bound)


def price_factor(draft: DraftPattern, relaxation: Relaxation) -> FloatArray:
    """By how much each cell gets cheaper: the more, the more of it the relaxation hides."""
    return np.maximum(1.0 - relaxation.guide[draft.unknowns.cells], _SURE)


def stepwise_draft(
    problem: SuppressionProblem, watch: WorkTime, seed: int, *, always: bool = False
) -> DraftPattern | None:
    """A pattern found from above, all proven; None if the problem is not of that kind."""
    watch.tell("check")
    draft = DraftPattern(problem)
    check_outer_bounds(draft)
    if not released_stepwise(draft, watch, seed, always=always):
        return None
    if len(draft.open):
        watch.tell("cover")
        cover_or_refuse(draft, draft.open, never)
    drop_unused(draft)
    return draft


def draft_at_time_limit(problem: SuppressionProblem, watch: WorkTime, seed: int) -> DraftPattern:
    """A pattern when time is up: from above if that can be, or else with all cells hidden."""
    watch.tell("time is up: hide more")
    draft = stepwise_draft(problem, watch, seed, always=True)
    if draft is not None:
        return draft
    draft = DraftPattern(problem)
    draft.hidden[:] = True
    prove_by_hidden_cells(draft, never, seed)
    cover_or_refuse(draft, draft.open, never)
    drop_unused(draft)
    return draft


def started_draft(problem: SuppressionProblem, watch: WorkTime, seed: int) -> DraftPattern:
    """A pattern in the making, checked, with what the hidden cells alone prove."""
    watch.tell("check")
    draft = DraftPattern(problem)
    check_outer_bounds(draft)
    # What bounds miss in very large problems shows during the work.
    if len(draft) <= _EXACT_LIMIT:
        _settle(draft, draft.unknowns.cells[draft.unknowns.sensitive])
    watch.tell("prove")
    prove_by_hidden_cells(draft, watch.over, seed)
    return draft


def finished_pattern(
    draft: DraftPattern, method: str, watch: WorkTime, bound: int | None = None
) -> Pattern:
    """The audited pattern; cells that the audit finds open are repaired first."""
    watch.tell("audit")
    proof = _audited(draft)
    known = {"certificate": proof, "bound": bound, **watch.result()}
    return certified(draft.problem, draft.mask(), method, **known)


def _audited(draft: DraftPattern) -> Certificate:
    """A certificate for the hidden cells, after repair if need be."""
    for _ in range(_REPAIRS):
        certificate = _certificate(draft)
        if not len(certificate.unprotected):
            return certificate
        at = draft.at(certificate.unprotected)
        draft.raise_targets(at)
        failed = cover_tasks(draft, np.intersect1d(draft.open, np.r_[at, at + len(draft)]), never)
        if failed:
            break
    return _certificate(draft)


def _certificate(draft: DraftPattern) -> Certificate:
    few = int(draft.hidden.sum()) <= _ATTACK_LIMIT
    return certify(draft.problem, draft.mask()) if few else certificate_from_proofs(draft)
