"""The method `auto`: a good pattern, proven, with a bound on how much better one could be.

In: a `SuppressionProblem` (CONFIDENTIAL). Out: a `Pattern`. A quick pattern first; then cuts
that raise the bound and lead to better patterns; branching, within limits that do not
depend on the clock; and where that proves nothing, a search around the best.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray
from discreet.protection.suppression.methods.fast import (
    NEAR_SHARE,
    covered,
    finished_pattern,
    gap_of,
    kept_for_the_limit,
    pruned,
    quick_draft,
    started_draft,
)
from discreet.protection.suppression.methods.local_search import (
    drop_unused,
    prune,
    searched,
    searched_near_by,
)
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
)
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import cover_tasks

#: With more tasks than these the relaxation looks at single relations only.
_MANY = 3_000
#: Rounds of cuts, how often they lead to a pattern, rounds of branching and their nodes.
_ROUNDS, _PAUSE, _BRANCHINGS, _NODES = 60, 5, 20, 500
#: Steps of the solver after which branching ends.
_WORK = 300_000
#: Branching goes on while so many rounds leave at most this share of the gap.
_LAST, _CLOSED = 4, 0.9
#: Cells that the relaxation hides by more are hidden.
_SURE = 0.9
#: Linear programs per task for pruning, and for the search.
_PRUNE_SHARE, _SEARCH_SHARE, _LEAST = 10, 10, 1_000
#: Work on neighbourhoods, as a share of that before it, at least and at most.
_NEAR_SHARE, _NEAR_LEAST, _NEAR_MOST = 2.0, 1e9, 5e9
#: Fewer secondaries than these are left to branching.
_NEAR_CELLS = 40


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
        draft = _near_by(draft, least, watch, seed)
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
    _pruned(first, watch, _PRUNE_SHARE)
    first = _near_by(first, near.bound, watch, seed)
    search = Branching(near, _NODES)
    search.keep(_chosen(search, first), certificate_from_proofs(first))
    _cut(search, watch)
    _branched(search, watch)
    if not search.proven and not watch.over():
        best = _within(base, search, first, watch)
        draw = np.random.default_rng([seed, 2])
        best = searched(best, watch.over, _budget(best, _SEARCH_SHARE), draw)
        _pruned(best, watch, _PRUNE_SHARE)
        if search.keep(_chosen(search, best), certificate_from_proofs(best)):
            _branched(search, watch)
    watch.tell("audit")
    return search.pattern("auto", **watch.result())


def _near_by(draft: DraftPattern, bound: int, watch: WorkTime, seed: int) -> DraftPattern:
    """A cheaper pattern by solving neighbourhoods anew, where the gap is wide."""
    few = np.count_nonzero(draft.hidden & ~draft.must) < _NEAR_CELLS
    if few or gap_of(draft, bound) <= WIDE_GAP or watch.over():
        return draft
    watch.tell("search near by")
    end = draft.effort + min(max(_NEAR_LEAST, _NEAR_SHARE * draft.effort), _NEAR_MOST)
    draw = np.random.default_rng([seed, 3])
    draft = searched_near_by(draft, lambda: watch.over() or draft.effort > end, draw)
    return pruned(draft, watch)


def _cut(search: Branching, watch: WorkTime) -> None:
    """Raise the bound by cuts, and follow where they lead."""
    relaxation = search.relaxation
    for at in range(1, _ROUNDS + 1):
        if relaxation.complete or search.proven or watch.over():
            break
        relaxation.round(watch.until)
        if at % _PAUSE == 0 or relaxation.complete:
            search.complete(relaxation.x > _SURE, watch.until)
            watch.tell(_line(search))


def _branched(search: Branching, watch: WorkTime) -> None:
    """Branch as long as that closes the gap noticeably."""
    gaps: list[float] = []
    end = search.work + _WORK
    for _ in range(_BRANCHINGS):
        gaps.append(search.gap)
        slow = len(gaps) > _LAST and gaps[-1] > _CLOSED * gaps[-1 - _LAST]
        if search.proven or slow or search.work > end or watch.over():
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


def _pruned(draft: DraftPattern, watch: WorkTime, share: int) -> None:
    prune(draft, watch.over, _budget(draft, share))
    watch.tell(f"prune: {int(draft.hidden.sum()):,} cells hidden")


def _budget(draft: DraftPattern, share: int) -> int:
    return max(_LEAST, share * int((draft.target > 0).sum()))


def _line(search: Branching) -> str:
    return f"{search.standing}, {search.rounds:,} branchings"
