"""The method `fast`: a proven pattern for tables of any size. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a `Pattern`, or a `SuppressionError` that names all cells
that stay unprotected even if every cell that may be hidden is hidden. Hidden cells prove
what they can; each sensitive cell left gets the cheapest flow through a patch around it;
each secondary suppression is taken back, dearest first, if the tasks whose proofs need it can be
proven without it for less. The program over single relations leads the way and bounds the cost from
below. In sparse counts everything is hidden, and what exchanges of units allow is published again.
An audit ends the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import TOLERANCE, Proof
from discreet.errors import Problem, SuppressionError, shortened
from discreet.protection.suppression.methods.cut_program import (
    CutProgram,
    quick_lower_bound,
    single_relation_bounds,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import (
    WIDE_GAP,
    Pattern,
    certificate_from_proofs,
    certified,
    certify,
    gap_between,
)
from discreet.protection.suppression.proof.draft_pattern import (
    PATCH_SIZE,
    DraftPattern,
    cover_tasks,
    flow_for_task,
    never,
    prove_by_hidden_cells,
    relation_distances,
    released_by_exchange,
)

#: Cells that prove more tasks than these, and more than this share of all, stay hidden: each
#: task would have to be proven anew.
_CROWD, _CROWD_SHARE = 300, 0.25
#: A patch in pruning grows to so many cells at most before a task counts as not doable.
_LARGEST = 4 * PATCH_SIZE


class ProofUsers:
    """Which tasks or aims use which proofs, and which proofs need which cells."""

    def __init__(self, proofs: list[Proof]) -> None:
        self._proofs = proofs
        self._users: dict[int, set[int]] = {}
        self.proofs_at: dict[int, set[int]] = {}
        #: Cells of which proofs have been given up.
        self.left: set[int] = set()

    def enter(self, user: int, *proofs: int) -> None:
        """Count in a use of proofs."""
        for proof in proofs:
            if not self._users.setdefault(proof, set()):
                for cell in self._proofs[proof].cells.tolist():
                    self.proofs_at.setdefault(cell, set()).add(proof)
            self._users[proof].add(user)

    def leave(self, user: int, *proofs: int) -> None:
        """Count it out."""
        for proof in proofs:
            self._users[proof].discard(user)
            if not self._users[proof]:
                cells = self._proofs[proof].cells.tolist()
                self.left.update(cells)
                for cell in cells:
                    self.proofs_at[cell].discard(proof)

    def of(self, cell: int) -> list[int]:
        """The tasks or aims whose proofs need a cell."""
        return sorted({user for p in self.proofs_at.get(cell, ()) for user in self._users[p]})

    def publish_unused(self, draft: DraftPattern, secondary: BoolArray) -> None:
        """Publish again which of the cells that were left no proof needs."""
        for cell in self.left:
            if secondary[cell] and not self.proofs_at.get(cell):
                draft.hidden[cell] = False
        self.left.clear()


def drop_unused(draft: DraftPattern) -> None:
    """Publish again what is part of no proof that is needed."""
    used = draft.must.copy()
    for proof in np.unique(draft.proven[draft.proven >= 0]):
        used[draft.proofs[int(proof)].cells] = True
    draft.hidden &= used


def prune(draft: DraftPattern, over: Callable[[], bool]) -> None:
    """Replace secondaries by nothing or by cheaper ones.

    The draft, a pattern with all proofs, is changed; `over` is asked before each cell.
    """
    drop_unused(draft)
    users = ProofUsers(draft.proofs)
    for task in np.flatnonzero(draft.proven >= 0).tolist():
        users.enter(task, int(draft.proven[task]))
    replace_in_turn(draft, users, ~draft.must, over, lambda cell: _replaced(draft, users, cell))


def replace_in_turn(
    draft: DraftPattern,
    users: ProofUsers,
    secondary: BoolArray,
    over: Callable[[], bool],
    replaced: Callable[[int], bool],
) -> None:
    """Try to do without each secondary, dearest per use first, until none is replaced any more."""
    for _ in range(2):
        cells = np.flatnonzero(draft.hidden & secondary)
        worth = draft.cost[cells] / [1 + len(users.of(int(cell))) for cell in cells]
        changed = False
        for cell in cells[np.argsort(-worth, kind="stable")].tolist():
            if over():
                return
            if draft.hidden[cell] and replaced(cell):
                users.publish_unused(draft, secondary)
                changed = True
        if not changed:
            return


def _replaced(draft: DraftPattern, users: ProofUsers, cell: int) -> bool:
    """Try to do without one secondary; whether that worked."""
    tasks = users.of(cell)
    if len(tasks) > max(_CROWD, _CROWD_SHARE * np.count_nonzero(draft.target)):
        return False
    step = relation_distances(draft)
    price = np.where(draft.hidden, 0.0, np.maximum(draft.cost, 1e-6))
    step[cell] = np.inf
    saved, first = float(draft.cost[cell]), len(draft.proofs)
    proofs: list[Proof] = []
    proven: dict[int, int] = {}
    extra = np.zeros(0, dtype=np.int64)
    for task in sorted(tasks, key=lambda task: (-draft.target[task], task)):
        if task in proven:
            continue
        flow = flow_for_task(draft, task, step, price, largest=_LARGEST)
        if flow is None:
            return False
        cells, moved = flow
        moving = moved != 0
        cells, moved = cells[moving], moved[moving]
        new = cells[price[cells] > 0]
        saved -= float(draft.cost[new].sum())
        extra = np.concatenate([extra, new])
        if extra.size and saved <= 0:
            return False
        price[new] = 0.0
        done = {*tasks}.intersection(draft.tasks_done(cells, moved).tolist())
        proven |= dict.fromkeys(done - proven.keys(), first + len(proofs))
        proofs.append(Proof(cells=cells, moved=moved))
    # The new proofs stand in for the old ones; what nobody needs now is published.
    draft.proofs += proofs
    draft.hidden[extra] = True
    for task, proof in proven.items():
        users.leave(task, int(draft.proven[task]))
        users.enter(task, proof)
        draft.proven[task] = proof
    users.left.add(cell)
    return True


_SHOWN = 20

#: Why no pattern protects a cell.
NARROW = "what an attacker is said to know about it is narrower than its protection levels"
FROZEN = "cells that must be published leave no safe pattern"


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
    """Cover tasks, or raise an error that names cells that cannot be protected.

    Attacks find out how far cells can go if everything is hidden: where protection upwards is
    short, sliding levels are turned downwards.
    """
    failed = cover_tasks(draft, tasks, over, tell, factor=factor)
    if not failed:
        return
    cells, known = np.unique(np.array(failed, dtype=np.int64) % len(draft)), draft.unknowns
    watched = np.zeros(len(draft.problem), dtype=np.bool_)
    watched[known.cells[cells]] = True
    everything = certify(draft.problem, draft.problem.state != CellState.fixed, watched)
    if len(everything.unprotected):
        raise _impossible(draft, everything.unprotected)
    sliding = known.sliding[cells] > known.upper[cells] + known.lower[cells]
    turned = sliding & (everything.high < draft.target[cells] - TOLERANCE)
    draft.shift_downwards(cells[turned], everything.high[turned])
    again = np.intersect1d(draft.open, np.r_[cells, cells + len(draft)])
    if cover_tasks(draft, again, over, factor=factor):
        message = "the solver found no way to move some sensitive cells"
        hint = "report this: an attack on the whole table could move them"
        raise SuppressionError(message, code="solver", where=draft.problem.title, hint=hint)


def _impossible(draft: DraftPattern, cells: IntArray) -> SuppressionError:
    """The error for cells of the problem that cannot be protected."""
    problem, narrow = draft.problem, {*draft.problem.without_room.tolist()}
    problems = [
        Problem(NARROW if cell in narrow else FROZEN, problem.name(cell)) for cell in cells.tolist()
    ]
    return SuppressionError(
        f"{len(cells):,} sensitive cells cannot be protected by any pattern",
        code="infeasible",
        where=problems[0].where if len(problems) == 1 else problem.title,
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
    draft: DraftPattern,
    near: CutProgram | None,
    watch: WorkTime,
    seed: int,
    known: DraftPattern | None,
) -> DraftPattern:
    """A started pattern with all tasks covered, farthest first; more is hidden if time is up.

    A pattern `known` before is kept where this one is given up or costs more.
    """
    calls = 0
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
