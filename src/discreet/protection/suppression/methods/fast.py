"""The method `fast`: a proven pattern for tables of any size. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a `Pattern`, or a `SuppressionError` that names all cells
that stay unprotected even if every cell that may be hidden is hidden. Hidden cells prove
what they can; each sensitive cell left gets the cheapest flow through a patch around it;
superfluous secondaries are published again. The program over single relations leads the
way and bounds the cost from below. In sparse counts everything is hidden, and what exchanges of
units allow is published again. An audit ends the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.disclosure import TOLERANCE
from discreet.errors import Problem, SuppressionError, shortened
from discreet.protection.suppression.methods.cut_program import (
    CutProgram,
    quick_lower_bound,
    single_relation_bounds,
)
from discreet.protection.suppression.methods.local_search import drop_unused, prune
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.proof.certificate import (
    WIDE_GAP,
    Pattern,
    certificate_from_proofs,
    certified,
    certify,
    gap_between,
)
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import (
    cover_tasks,
    never,
    prove_by_hidden_cells,
)
from discreet.protection.suppression.proof.unit_exchange import released_by_exchange

_SHOWN = 20

_BOUNDS = "its a-priori bounds are narrower than its safety interval"
_NEIGHBOURS = "cells that must be published leave no safe pattern"


def checked_draft(problem: SuppressionProblem, watch: WorkTime) -> DraftPattern:
    """A pattern in the making, or an error that names the cells that bounds show to be impossible.

    What bounds miss shows during the work.
    """
    watch.tell("check")
    draft = DraftPattern(problem)
    known = draft.unknowns
    lost = known.cells[known.sensitive & ~known.protected(-draft.down, draft.up)]
    if lost.size:
        raise _impossible(draft, lost)
    return draft


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
            message = "the solver found no way to move some sensitive cells"
            hint = "report this: an attack on the whole table could move them"
            raise SuppressionError(message, code="solver", where=draft.problem.title, hint=hint)


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
        where=problems[0].where if len(problems) == 1 else draft.problem.title,
        hint="allow more suppressions, widen the a-priori bounds, or merge categories",
        problems=shortened(problems, _SHOWN),
    )


#: With more hidden cells than these, stored proofs are checked instead of new attacks.
_ATTACK_LIMIT = 4_000
#: With more proofs patterns are neither covered cell by cell beside, nor pruned or improved.
_MANY_PROOFS = 20_000
_REPAIRS = 5
#: The price of a cell that the program hides in full, as a share of its cost.
_SURE = 0.02
#: Work on pruning, as a share of that before it, and at least.
_SHARE, _LEAST = 1.0, 2e8
#: The same where each cell was tried for release before, without linear programs.
_TRIED = 2e7
#: Covering has an end where so many cells, and this share of those that may move, are sensitive.
_MANY, _MANY_SHARE = 500, 0.4
#: Covering of many cells is given up after so much work; beside a pattern from above also when
#: it costs so many times as much, which is looked at every so many tasks.
_COVER, _DEARER, _LOOK = 1.5e10, 1.5, 32


def protect_fast(
    problem: SuppressionProblem, watch: WorkTime | None = None, seed: int = 0
) -> Pattern:
    """Find a pattern that is proven to protect every sensitive cell, quickly.

    If not all cells are covered when time is up, more is hidden than needed: the result is
    always proven.
    """
    watch = watch or WorkTime()
    draft, near = quick_draft(problem, watch, seed)
    return finished_pattern(draft, "fast", watch, None if near is None else near.bound)


def quick_draft(
    problem: SuppressionProblem, watch: WorkTime, seed: int
) -> tuple[DraftPattern, CutProgram | None]:
    """A pruned pattern, all proven, and the program over single relations unless too large.

    It is covered cell by cell, where a program leads the way. In sparse counts exchanges of units
    find one first: where it may be far too dear the cheaper pattern of both ways is kept.
    """
    known = exchanged_draft(problem, watch)
    near = single_relation_bounds(problem, watch.over, watch.share(NEAR_SHARE).until)
    if known is not None:
        bound = quick_lower_bound(problem) if near is None else near.bound
        wide = gap_between(known.spent, bound) > WIDE_GAP
        if not wide or len(known.proofs) >= _MANY_PROOFS or watch.over():
            return pruned(known, watch), near
    elif watch.limited and len(problem) > _NET:
        known = draft_at_time_limit(problem, watch, seed, watch.share(_NET_SHARE))
    draft = checked_draft(problem, watch)
    watch.tell("prove")
    prove_by_hidden_cells(draft, watch.over, seed)
    return pruned(covered(draft, near, watch, seed, known), watch), near


#: With more cells that may move, something proven is found first where time is limited.
_NET = 1_000
#: How much of the time that takes at most, and the program over single relations.
_NET_SHARE = NEAR_SHARE = 0.3


def covered(
    base: DraftPattern,
    near: CutProgram | None,
    watch: WorkTime,
    seed: int,
    known: DraftPattern | None,
) -> DraftPattern:
    """A started pattern with all tasks covered, farthest first; more is hidden if time is up.

    A pattern `known` before is kept where this one is given up or costs more.
    """
    draft, calls = base.without(base.hidden), 0
    many = draft.unknowns.sensitive.sum() >= max(_MANY, _MANY_SHARE * len(draft))
    work = math.inf if known is None and not many else _COVER
    most = math.inf if known is None else _DEARER * known.spent

    def enough() -> bool:
        nonlocal calls
        calls += 1
        dear = calls % _LOOK == 0 and draft.spent > most
        return watch.over() or draft.effort > work or dear

    if len(draft.open):
        watch.tell("cover")
        order = draft.open[np.argsort(-draft.target[draft.open], kind="stable")]
        tell = lambda share: watch.tell(f"cover: {share:.0%}")  # noqa: E731
        factor = None
        if near is not None:  # each cell gets cheaper: the more, the more of it the program hides
            part = draft.problem.hidden.astype(np.float64)
            part[near.movable.unknowns.cells] = near.x
            factor = np.maximum(1.0 - part[draft.unknowns.cells], _SURE)
        cover_or_refuse(draft, order, enough, tell, factor)
    if len(draft.open):
        return known or _finished_by_hiding(draft, watch, seed)
    drop_unused(draft)
    return known if known is not None and known.spent <= draft.spent else draft


def pruned(draft: DraftPattern, watch: WorkTime) -> DraftPattern:
    """The pattern after trying to release each secondary, dearest first."""
    if len(draft.proofs) > _MANY_PROOFS:
        return draft
    watch.tell("prune")
    least = _LEAST if draft.effort else _TRIED
    end = draft.effort + max(least, _SHARE * draft.effort)
    prune(draft, lambda: watch.over() or draft.effort > end)
    watch.tell(f"prune: {int(draft.hidden.sum()):,} cells hidden")
    return draft


def exchanged_draft(
    problem: SuppressionProblem, watch: WorkTime, *, always: bool = False
) -> DraftPattern | None:
    """A pattern by exchanges of units, all proven; None if the problem is not of that kind."""
    draft = checked_draft(problem, watch)
    if not released_by_exchange(draft, watch.over, always=always):
        return None
    if len(draft.open):
        watch.tell("cover")
        cover_or_refuse(draft, draft.open, watch.refused)
    drop_unused(draft)
    return draft


def draft_at_time_limit(
    problem: SuppressionProblem, watch: WorkTime, seed: int, own: WorkTime | None = None
) -> DraftPattern:
    """A pattern when time is up: by exchanges if that can be, or else with all cells hidden.

    Where it is found beforehand, to be on the safe side, it has a time limit of its `own`.
    """
    draft = exchanged_draft(problem, own or watch, always=True)
    return _finished_by_hiding(DraftPattern(problem), watch, seed) if draft is None else draft


def _finished_by_hiding(draft: DraftPattern, watch: WorkTime, seed: int) -> DraftPattern:
    """The draft with all that is open proven by moves of any cells, which are hidden then."""
    watch.tell("hide more than needed, in case time is up")
    draft.hidden[:] = True
    prove_by_hidden_cells(draft, watch.refused, seed)
    cover_or_refuse(draft, draft.open, watch.refused)
    drop_unused(draft)
    return draft


def finished_pattern(
    draft: DraftPattern, method: str, watch: WorkTime, bound: int | None = None
) -> Pattern:
    """The audited pattern; cells that the audit finds open are repaired first."""
    watch.tell("audit")
    for left in range(_REPAIRS, -1, -1):
        few = int(draft.hidden.sum()) <= _ATTACK_LIMIT and not watch.limited
        proof = certify(draft.problem, draft.mask()) if few else certificate_from_proofs(draft)
        if not len(proof.unprotected) or not left:
            break
        at = draft.at(proof.unprotected)
        draft.raise_targets(at)
        cover_tasks(draft, np.intersect1d(draft.open, np.r_[at, at + len(draft)]), never)
    known = {"certificate": proof, "bound": bound, **watch.result()}
    return certified(draft.problem, draft.mask(), method, **known)
