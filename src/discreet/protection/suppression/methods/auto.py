"""The method `auto`: a good pattern, proven, with a bound on how much better one could be.

In: a `SuppressionProblem` (CONFIDENTIAL). Out: a `Pattern`. A quick pattern first; then cuts
that raise the bound and lead to better patterns; branching; and where that proves nothing,
a search around the best. All of it is limited in steps of the solver, in proportion to what
the first pattern took, so results do not depend on the clock.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray
from discreet.protection.suppression.methods.fast import (
    NEAR_SHARE,
    covered,
    finished_pattern,
    improved,
    kept_for_the_limit,
    pruned,
    quick_draft,
    started_draft,
)
from discreet.protection.suppression.methods.local_search import drop_unused
from discreet.protection.suppression.methods.optimal import Branching
from discreet.protection.suppression.methods.relaxation import (
    Relaxation,
    quick_lower_bound,
    single_relation_bounds,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.proof.certificate import (
    WIDE_GAP,
    Pattern,
    certificate_from_proofs,
    gap_between,
)
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import cover_tasks

#: With more tasks than these the relaxation looks at single relations only.
_MANY = 3_000
#: Rounds of cuts, how often they lead to a pattern, rounds of branching and their nodes.
_ROUNDS, _PAUSE, _BRANCHINGS, _NODES = 60, 5, 20, 500
#: Steps of the solver, as a share of those for the first pattern, at least and at most.
_SHARE, _LEAST, _MOST = 8.0, 1.5e9, 3e9
#: How much of what is left blocks may take at first, then cuts, then branching.
_BLOCK_SHARE, _CUT_SHARE, _BRANCH_SHARE = 0.3, 0.5, 0.5
#: Branching goes on while so many rounds leave at most this share of the gap.
_LAST, _CLOSED = 4, 0.9
#: Iterations of the solver in an attack on the whole table, for each of its relations.
_ITERATIONS = 0.2
#: Cells that the relaxation hides by more are hidden.
_SURE = 0.9
#: So few aims are branched for however wide the gap is.
_FEW = 100
#: Fewer secondaries than these are left to branching.
_BLOCK_CELLS = 40


def protect_auto(
    problem: SuppressionProblem, watch: WorkTime | None = None, seed: int = 0
) -> Pattern:
    """Find a cheap pattern that is proven to protect every sensitive cell, and a bound.

    When time is up before there is one, more is hidden than needed: the result is always proven.
    """
    watch = watch or WorkTime()
    if 2 * len(problem.primary) > _MANY:
        draft, near = quick_draft(problem, watch, seed)
        least = quick_lower_bound(problem) if near is None else near.bound
        draft = improved(draft, least, watch, seed, _work(draft))
        return finished_pattern(draft, "auto", watch, None if near is None else least)
    fallback = kept_for_the_limit(problem, watch, seed)
    base = started_draft(problem, watch, seed)
    near = single_relation_bounds(problem, watch.over, watch.share(NEAR_SHARE).until)
    first = covered(base, near, watch, seed, fallback)
    if near is None or watch.over():
        bound = None if near is None else near.bound
        return finished_pattern(pruned(first, watch), "auto", watch, bound)
    return _closed(base, near, first, watch, seed)


def _closed(
    base: DraftPattern, near: Relaxation, first: DraftPattern, watch: WorkTime, seed: int
) -> Pattern:
    """The best pattern after closing the gap from both sides."""
    first = pruned(first, watch)
    effort = near.separator.effort = first.patches.effort
    end = effort.steps + _work(first)
    if _round(near) > _CUT_SHARE * _work(first):
        first = improved(first, near.bound, watch, seed, _work(first))
        return finished_pattern(first, "auto", watch, near.bound)
    many = np.count_nonzero(first.hidden & ~first.must) >= _BLOCK_CELLS
    if many and gap_between(first.spent, near.bound) > WIDE_GAP:
        first = improved(first, near.bound, watch, seed, _BLOCK_SHARE * (end - effort.steps))
    search = Branching(near, _NODES)
    search.keep(_chosen(search, first), certificate_from_proofs(first))
    effort.end = effort.steps + _CUT_SHARE * (end - effort.steps)
    _cut(search, watch)
    effort.end = effort.steps + _BRANCH_SHARE * (end - effort.steps)
    few = len(near.separator.aims) <= _FEW
    if few or near.complete or gap_between(search.cost, search.cost - search.gap) <= WIDE_GAP:
        _branched(search, watch)
    if not search.proven and not watch.over():
        best = _within(base, search, first, watch)
        best = improved(best, near.bound, watch, seed + 1, end - effort.steps)
        search.keep(_chosen(search, best), certificate_from_proofs(best))
        effort.end = end
        _branched(search, watch)
    watch.tell("audit")
    return search.pattern("auto", **watch.result())


def _work(first: DraftPattern) -> float:
    """How many steps are taken after a first pattern."""
    return min(max(_LEAST, _SHARE * first.effort), _MOST)


def _round(near: Relaxation) -> float:
    """How many steps attacks on all sensitive cells take, about: iterations grow with relations."""
    relations = float(len(near.movable.unknowns.relations))
    return _ITERATIONS * len(near.separator.aims) * relations * relations


def _cut(search: Branching, watch: WorkTime) -> None:
    """Raise the bound by cuts, and follow where they lead unless they are far away."""
    relaxation = search.relaxation
    for at in range(1, _ROUNDS + 1):
        if relaxation.complete or search.proven or search.effort.spent or watch.over():
            break
        relaxation.round(watch.until)
        if at % _PAUSE == 0 or relaxation.complete:
            if gap_between(search.cost, search.cost - search.gap) <= WIDE_GAP:
                search.complete(relaxation.x > _SURE, watch.until)
            watch.tell(_line(search))


def _branched(search: Branching, watch: WorkTime) -> None:
    """Branch as long as that closes the gap noticeably."""
    gaps: list[float] = []
    for _ in range(_BRANCHINGS):
        gaps.append(search.gap)
        slow = len(gaps) > _LAST and gaps[-1] > _CLOSED * gaps[-1 - _LAST]
        if search.proven or slow or search.effort.spent or watch.over():
            break
        if not search.round(watch.until):
            break
        watch.tell(_line(search))


def _within(
    base: DraftPattern, search: Branching, first: DraftPattern, watch: WorkTime
) -> DraftPattern:
    """The best pattern with flows as proofs: covered anew by its own cells."""
    allowed = search.movable.hidden(base.problem, search.best)[base.unknowns.cells]
    draft = base.without(base.hidden)
    order = draft.open[np.argsort(draft.target[draft.open], kind="stable")]
    failed = cover_tasks(draft, order, watch.over, allowed=allowed)
    if failed or len(draft.open):
        return first
    drop_unused(draft)
    return draft if draft.spent < first.spent else first


def _chosen(search: Branching, draft: DraftPattern) -> BoolArray:
    return draft.mask()[search.movable.unknowns.cells]


def _line(search: Branching) -> str:
    return f"{search.standing}, {search.rounds:,} branchings"
