"""The methods `optimal` and `auto`: one branch and cut over one program. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: a proven `Pattern` with a bound. A quick pattern comes first, then
the program over single relations to its end, then attacks as cuts, in parts and whole. `optimal`
goes on until cost and bound meet; `auto` takes steps of the solver in proportion to what the first
pattern took, and solves blocks where attacks leave cuts to be found: the same program over few
cells, all others as they are. Nothing depends on the clock until a time limit strikes.

Insiders are kept out of patterns of any method: in comes a pattern that protects every sensitive
cell from everybody else, and who stands alone behind which cells; out the same with more hidden
cells, and a proof for each insider; what became superfluous is published again. Only moves that
need cells of an insider have to be replaced for him, so that the work is as large as what insiders
know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import Insiders, refuse_cells
from discreet.errors import Problem, SuppressionError, shortened
from discreet.protection.suppression.methods.cut_program import (
    Aim,
    CutProgram,
    CuttingPlane,
    MovableCells,
    aims_of,
    quick_lower_bound,
    single_relation_bounds,
)
from discreet.protection.suppression.methods.fast import (
    ProofUsers,
    drop_unused,
    finished_pattern,
    prune,
    quick_draft,
    replace_in_turn,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import LEVELS, SuppressionProblem
from discreet.protection.suppression.proof.certificate import Pattern, certified, certify
from discreet.protection.suppression.proof.contributors import InsiderProofs, OpenAim, ProofAim
from discreet.protection.suppression.proof.draft_pattern import (
    DraftPattern,
    cover_tasks,
    relation_distances,
)

#: The methods that search among patterns that hold against insiders.
SEARCHED = ("auto", "optimal")
#: With more aims than these, only what was added is taken back, not what was there before.
_FEW_AIMS = 600
#: With more hidden cells than these, the proof for the public stays the one there is.
_ATTACK_LIMIT = 4_000
#: Linear programs for taking back: so many per cell that may be, at least and at most.
_BUDGET, _LEAST_BUDGET, _MOST_BUDGET = 5, 300, 20_000
#: Cells of the largest patch in which a cell's moves are replaced.
_LARGEST_PATCH = 2_400
#: With more cells that may move the bound is that for the public; rounds of bridge cuts for it.
MOST_BOUNDED, _BRIDGE_ROUNDS = 20_000, 12
_SHOWN = 20


def guarded_pattern(
    problem: SuppressionProblem, pattern: Pattern, insiders: Insiders, watch: WorkTime
) -> Pattern:
    """The pattern with what must be hidden besides, so that no insider opens a cell of others.

    Raises an error that names the cells which no pattern can protect from an insider.
    """
    if not (pattern.hidden & insiders.known).any() or not len(problem.primary):
        return pattern
    watch.tell("insiders")
    proofs, before = kept_out(problem, pattern.hidden, insiders, watch)
    bound = pattern.bound
    if bound is not None and len(proofs.draft) <= MOST_BOUNDED:
        # Single relations tell, for each insider without what his own cells let others move.
        near = single_relation_bounds(problem, watch.over)
        if near is not None:
            near.watch(insider_aims(near.movable, proofs))
            near.solve()
            near.near(_BRIDGE_ROUNDS, watch.over)
            bound = max(bound, near.bound)
    met = bound is not None and proofs.draft.spent <= bound
    if len(proofs.aims) <= _FEW_AIMS and not met and not watch.over():
        anew, _ = kept_out(problem, problem.hidden, insiders, watch)
        proofs = anew if anew.draft.spent < proofs.draft.spent else proofs
    cells = proofs.draft.unknowns.cells
    unmet = sorted({int(cells[aim.cell]) for aim in proofs.check()})
    message = "it is not proven to be protected from insiders"
    hint = "report this: a proof found on the way did not hold"
    refuse_cells(unmet, problem.name, message, "insiders", hint)
    draft, share = proofs.draft, proofs.share
    hidden = draft.mask()
    # To hide more never makes a cell less safe.
    kept = int(hidden.sum()) > _ATTACK_LIMIT and not (before & ~draft.hidden).any()
    more = int(draft.hidden.sum() - before.sum())
    note = "contributors who alone make up suppressed cells compute no cell of others"
    if 0 < share < 1:
        note += f" nearer than {share:.3g} of its protection levels"
    if more or pattern.method not in SEARCHED:  # else they were part of the search
        note += f": {more:,} more cells are suppressed for this"
    done = certified(
        problem,
        hidden,
        pattern.method,
        certificate=pattern.certificate if kept else None,
        bound=bound,
        complete=pattern.complete,
        seconds=watch.seconds,
        notes=(*pattern.notes, note),
    )
    return done if done.safe else replace(done, notes=pattern.notes)


def kept_out(
    problem: SuppressionProblem,
    hidden: BoolArray,
    insiders: Insiders,
    watch: WorkTime,
    over: Callable[[], bool] | None = None,
) -> tuple[InsiderProofs, BoolArray]:
    """Proofs against all insiders, with what is hidden for them; what was hidden before.

    Some are missing if it was `over` before; without it the work must be done.
    """
    draft = DraftPattern(problem)
    draft.hidden = hidden[draft.unknowns.cells]
    before = draft.hidden.copy()
    proofs = InsiderProofs(draft, insiders, over or watch.refused)
    left = proofs.prove_by_hidden()
    if left:
        watch.tell(f"insiders: {len(left):,} ways to protect cells are missing")
        _hide_more(proofs, left)
    few = len(proofs.aims) <= _FEW_AIMS
    if few or (draft.hidden & ~before).any():
        _take_back(proofs, before, watch, everything=few)
    return proofs, before


def insider_aims(movable: MovableCells, proofs: InsiderProofs) -> list[Aim]:
    """Aims for insiders who do not move their own cells, where they can be reached."""
    cells = proofs.draft.at(movable.unknowns.cells)
    still = {insider: np.isin(cells, own) for insider, own in proofs.cells_of.items()}
    levels = {name: getattr(proofs.levels, name)[cells] for name in LEVELS}
    aims = [
        replace(aim, who=who, still=still[who])
        for aim in aims_of(replace(movable.unknowns, **levels))
        for who in proofs.watched_at(int(cells[aim.cell]))
    ]
    place = {int(cell): at for at, cell in enumerate(cells)}
    for (who, cell), own in proofs.own_levels.items():
        if not any(aim.waived for aim in proofs.aims_of(cell, who)):
            aims += Aim.of_levels(place[cell], *own, who, still[who])
    return aims


def _cost_of_moves(proofs: InsiderProofs) -> tuple[FloatArray, FloatArray]:
    """How far it is to each cell, and what moving it costs: little where it is hidden."""
    draft = proofs.draft
    price = np.where(
        draft.hidden, proofs.hidden_price, np.maximum(draft.cost, 1e-6) / draft.median_cost
    )
    return relation_distances(draft), price


# -- hiding more ---------------------------------------------------------------


def _hide_more(proofs: InsiderProofs, left: list[OpenAim]) -> None:
    """Prove what is missing with further cells, farthest first."""
    step, price = _cost_of_moves(proofs)
    failed = proofs.prove(_farthest_first({item.aim for item in left}), step, price)
    # Cells may be protected in another way from one for whom the way asked for is impossible.
    lost = [
        item
        for item in failed
        if all(
            proofs.prove(proofs.instead(item, *way), step, price) for way in proofs.other_ways(item)
        )
    ]
    if lost:
        raise _impossible(proofs, lost)


def _impossible(proofs: InsiderProofs, lost: list[OpenAim]) -> SuppressionError:
    """The error for cells that insiders open whatever is hidden."""
    problem, cells = proofs.draft.problem, proofs.draft.unknowns.cells
    by_cell: dict[int, int | None] = {item.cell: item.insider for item in lost}
    problems: list[Problem] = []
    hint = (
        'merge categories, or allow more suppressions; insiders="exact" asks for less, '
        'insiders="off" leaves contributors out of account'
    )
    for cell, insider in sorted(by_cell.items()):
        message = "the cell cannot be protected, even if all possible cells are suppressed"
        if insider is not None:
            own = problem.name(int(cells[proofs.cells_of[insider][0]]))
            message = f"the only contributor of {own} can compute it, whatever else is suppressed"
        problems.append(Problem(message, problem.name(int(cells[cell])), "" if problems else hint))
    return SuppressionError(
        f"{len(problems):,} sensitive cells cannot be protected from contributors of other cells",
        code="insiders",
        where=problem.title,
        hint=hint,
        problems=shortened(problems, _SHOWN),
    )


# -- publishing again ----------------------------------------------------------


def _take_back(
    proofs: InsiderProofs, before: BoolArray, watch: WorkTime, *, everything: bool
) -> None:
    """Publish again what can be done without, or for less; dearest per use first."""
    draft = proofs.draft
    usage = ProofUsers(proofs.proofs)
    for aim in proofs.aims:
        usage.enter(aim.number, *aim.proofs)
    secondary = ~draft.must if everything else ~draft.must & ~before
    usage.left.update(range(len(draft)))
    usage.publish_unused(draft, secondary)
    cells = np.flatnonzero(draft.hidden & secondary)
    budget = draft.solved + min(max(_LEAST_BUDGET, _BUDGET * cells.size), _MOST_BUDGET)
    over = lambda: watch.over() or draft.solved > budget  # noqa: E731
    replace_in_turn(draft, usage, secondary, over, lambda cell: _done_without(proofs, usage, cell))


def _done_without(proofs: InsiderProofs, usage: ProofUsers, cell: int) -> bool:
    """Try to do without one cell, or with cheaper ones; whether that worked."""
    draft = proofs.draft
    aims = [proofs.aims[number] for number in usage.of(cell)]
    saved = [(aim.proofs, aim.needing) for aim in aims]
    number, hidden = len(proofs.proofs), draft.hidden.copy()
    gone = usage.proofs_at.get(cell, set()).copy()
    for aim in aims:
        usage.leave(aim.number, *aim.proofs)
        aim.proofs = [proof for proof in aim.proofs if proof not in gone]
        proofs.settle(aim)
    draft.hidden[cell] = False
    step, price = _cost_of_moves(proofs)
    step[cell] = np.inf
    worked = all(
        not proofs.prove([aim], step, price, largest=_LARGEST_PATCH)
        and float(draft.cost[draft.hidden & ~hidden].sum()) < draft.cost[cell]
        for aim in _farthest_first(aims)
    )
    if not worked:
        draft.hidden = hidden
        del proofs.proofs[number:], proofs.owners_of[number:]
        for aim, (own, needing) in zip(aims, saved, strict=True):
            aim.proofs, aim.needing = own, needing
    for aim in aims:
        usage.enter(aim.number, *aim.proofs)
    return worked


def _farthest_first(aims: Iterable[ProofAim]) -> list[ProofAim]:
    return sorted(aims, key=lambda aim: (-abs(aim.distance), aim.number))


#: `auto`: steps of the solver, as a share of those for the first pattern, at least and at most;
#: how much of what is left the program over single relations may take, then attacks, and blocks.
#: Branching has the rest.
_SHARE, _LEAST, _MOST = 8.0, 1.5e9, 3e9
_CHEAP_SHARE, _CUT_SHARE, _BLOCK_SHARE = 0.4, 0.5, 0.5
#: With more sensitive cells, or where a round of attacks takes too much, `auto` solves blocks
#: alone; iterations of the solver in an attack on the whole table, for each of its relations.
_MANY, _ITERATIONS = 1_500, 0.2
#: Rounds of cuts, and how often they lead to a pattern.
_ROUNDS, _PAUSE = 60, 5
#: Cells that the program hides by more are hidden; the price of one that it hides in full.
_SURE, _CHEAPEST = 0.9, 0.02
#: With more aims of insiders the whole table is searched for the public alone.
_INSIDER_AIMS = 20_000
#: A completed pattern so near to the best is pruned, with so much work.
_NEAR, _PRUNE = 1.1, 2e8


def protect_auto(
    problem: SuppressionProblem,
    watch: WorkTime | None = None,
    seed: int = 0,
    insiders: Insiders | None = None,
    method: Literal["auto", "optimal"] = "auto",
) -> Pattern:
    """Find a cheap pattern that is proven to protect every sensitive cell, and a bound.

    When time is up before there is one, more is hidden than needed: the result is always proven,
    and of "optimal" it has `complete=False` as long as no bound proves the lowest cost.
    """
    watch = watch or WorkTime()
    draft, near = quick_draft(problem, watch, seed)
    limited = method == "auto"
    work = min(max(_LEAST, _SHARE * draft.effort), _MOST) if limited else math.inf
    if near is not None and not (limited and _too_large(near, work)):
        pattern = _TableSearch(draft, near, watch, seed, insiders).pattern(method, work)
    else:
        bound = quick_lower_bound(problem) if near is None else near.bound
        draft = improved(draft, bound, watch, seed, work)
        pattern = finished_pattern(draft, method, watch, bound)
    return pattern if limited else replace(pattern, complete=pattern.optimal)


protect_optimal = partial(protect_auto, method="optimal")


def _too_large(near: CutProgram, work: float) -> bool:
    """Whether attacks on all sensitive cells take too much: iterations grow with relations."""
    relations = float(len(near.movable.unknowns.relations))
    aims = near.separator.aims
    steps = _ITERATIONS * len(aims) * relations * relations
    return len({aim.cell for aim in aims}) > _MANY or steps > _CUT_SHARE * work


class _Closing:
    """Cuts and branchings of one program until its best pattern is proven, or work ends."""

    def __init__(self, program: CutProgram, cost: int) -> None:
        self.program, self.cost = program, cost
        self.best: BoolArray | None = None

    @property
    def done(self) -> bool:
        """Whether no pattern is cheaper than the best one, or work has come to its end."""
        proven = self.program.movable.whole(self.program.least) >= self.cost
        return proven or self.program.late

    def tell(self) -> None:
        """Tell about progress."""

    def completed(self, chosen: BoolArray, cuts: list[CuttingPlane]) -> BoolArray | None:
        """A whole pattern from one that misses some cuts; None if that leads nowhere."""
        return self.program.completed(chosen, cuts, self.cost)

    def keep(self, chosen: BoolArray | None) -> bool:
        """Keep a pattern that is cheaper than the best one."""
        if chosen is None or self.program.movable.paid(chosen) >= self.cost:
            return False
        self.best, self.cost = chosen, self.program.movable.paid(chosen)
        return True

    def cut(self, rounds: float, pause: int) -> None:
        """Raise the bound by cuts, and follow where they lead now and then."""
        program = self.program
        while not (program.complete or self.done) and rounds > 0:
            program.round()
            rounds -= 1
            if program.rounds % pause == 0 or program.complete:
                self.keep(self.completed(program.x > _SURE, []))
                self.tell()

    def branch(self, number: float, nodes: int | None = None) -> BoolArray | None:
        """Branch so often at most; gives a pattern that no more cuts rule out."""
        program = self.program
        while number > 0 and not self.done:
            chosen = program.branch(self.cost, nodes)
            self.tell()
            if chosen is None:
                return None
            cuts = program.cuts_at(chosen)
            if not program.add(cuts):
                return chosen
            for passed in program.passed:
                program.add(program.cuts_at(passed))
            self.keep(self.completed(chosen, cuts))
            number -= 1
        return None


class _TableSearch(_Closing):
    """The search over a whole table, from a first pattern on."""

    def __init__(
        self,
        draft: DraftPattern,
        near: CutProgram,
        watch: WorkTime,
        seed: int,
        insiders: Insiders | None,
    ) -> None:
        self._watch, self._seed = watch, seed
        #: The best pattern with flows as proofs, and the cells that the best one of all hides.
        self.draft, self._hidden = draft, draft.hidden
        self._cells = draft.at(near.movable.unknowns.cells)
        near.until = watch.until
        self._effort = near.separator.effort = draft.patches.effort
        self._insiders: Insiders | None = None
        self._stuck = False
        if insiders is not None and len(draft) <= MOST_BOUNDED:
            proofs, _ = kept_out(draft.problem, draft.mask(), insiders, watch, watch.over)
            aims = insider_aims(near.movable, proofs)
            if 0 < len(aims) <= _INSIDER_AIMS and not watch.over():
                self._insiders, self._hidden = insiders, proofs.draft.hidden
                near.watch(aims)
        super().__init__(near, near.movable.paid(self._hidden[self._cells]))

    def pattern(self, method: str, work: float) -> Pattern:
        """The best pattern, after so much work."""
        near, effort, watch = self.program, self._effort, self._watch
        end, limited = effort.steps + work, math.isfinite(work)
        effort.end = effort.steps + _CHEAP_SHARE * work
        self._branch_out(1)
        effort.end = effort.steps + _CUT_SHARE * (end - effort.steps)
        self.cut(_ROUNDS if limited else math.inf, _PAUSE)
        if limited and not near.complete and not watch.over():
            own = _BLOCK_SHARE * (end - effort.steps)
            other = improved(self.draft, near.bound, watch, self._seed, own)
            self._adopt(other, other.must)
        effort.end = end
        while not (self.done or self._stuck):
            self._branch_out(math.inf)
        if np.array_equal(self._hidden, self.draft.hidden):
            pattern = finished_pattern(self.draft, method, watch)
        else:
            watch.tell("audit")
            hidden = self.draft.mask(self._hidden)
            pattern = certified(self.draft.problem, hidden, method, **watch.result())
        return replace(pattern, bound=min(near.bound, pattern.cost))

    def tell(self) -> None:
        near = self.program
        self._watch.tell(
            f"best {near.already + self.cost:,}, bound {near.bound:,}, "
            f"{near.number:,} cuts, {near.branchings:,} branchings"
        )

    def _branch_out(self, number: float) -> None:
        """Branch, and take what no more cuts rule out, or cut it off."""
        chosen = self.branch(number)
        if chosen is None:
            return
        inside = self.draft.must.copy()
        inside[self._cells[chosen]] = True
        other = covered_anew(self.draft, inside, self._watch.over, allowed=inside)
        if not len(other.open):
            self._stuck = self._adopt(other, inside) is None
        elif not len(certify(self.draft.problem, self.draft.mask(inside)).unprotected):
            self._stuck = not self._keep_hidden(inside)
        else:  # hiding less is no safer: at least one more cell must be hidden
            cells = np.flatnonzero(~chosen).astype(np.int64)
            self.program.add([CuttingPlane(cells=cells, coef=np.ones(cells.size))])

    def completed(self, chosen: BoolArray, cuts: list[CuttingPlane]) -> BoolArray | None:
        """A pattern by flows from some cells on, where the program points to; pruned if good.

        Cells of cuts come first, which leads to more cuts.
        """
        safe = super().completed(chosen, cuts) if cuts else None
        chosen = chosen if safe is None else safe
        inside = self.draft.must.copy()
        inside[self._cells[chosen]] = True
        factor = np.ones(len(self.draft))
        factor[self._cells] = np.maximum(1.0 - self.program.x, _CHEAPEST)
        other = covered_anew(self.draft, inside, lambda: self.program.late, factor=factor)
        if len(other.open):
            return None
        if other.spent < _NEAR * self.draft.spent:
            end = other.effort + _PRUNE
            prune(other, lambda: self.program.late or other.effort > end)
        return self._adopt(other, inside)

    def _adopt(self, other: DraftPattern, inside: BoolArray) -> BoolArray | None:
        """Keep a pattern with flows as proofs if it is the best, with what insiders ask for."""
        if self.program.movable.paid(other.hidden[self._cells]) >= self.cost:
            return None
        if self._insiders is None:
            hidden = other.hidden
        else:
            mask = other.mask(other.hidden | inside)
            watch = self._watch
            proofs, _ = kept_out(other.problem, mask, self._insiders, watch, watch.over)
            self._effort.steps += proofs.draft.effort
            if watch.over():
                return None
            hidden = proofs.draft.hidden
        if not self._keep_hidden(hidden):
            return None
        self.draft = other
        return hidden[self._cells]

    def _keep_hidden(self, hidden: BoolArray) -> bool:
        cheaper = self.keep(hidden[self._cells])
        self._hidden = hidden if cheaper else self._hidden
        return cheaper


def covered_anew(
    draft: DraftPattern,
    start: BoolArray,
    over: Callable[[], bool],
    allowed: BoolArray | None = None,
    factor: FloatArray | None = None,
) -> DraftPattern:
    """Another pattern, from some cells on: tasks that lose their proof are covered anew.

    Without what no proof needs; tasks are open where that cannot be done.
    """
    other = draft.without(draft.hidden & ~start)
    other.hidden |= start
    order = other.open[np.argsort(-other.target[other.open], kind="stable")]
    cover_tasks(other, order, over, allowed=allowed, factor=factor)
    drop_unused(other)
    return other


# -- blocks --------------------------------------------------------------------------

#: Cells of a block that may be hidden or not, smallest blocks first.
_SIZES = (120, 240, 480)
#: Cells among which hidden ones help to move, per cell of a block, at least and at most.
_AROUND, _AROUND_LEAST, _AROUND_MOST = 6, 600, 1_500
#: Blocks with more cells than these that move, or more tasks, are left alone.
_CELLS, _TASKS = 2_500, 1_500
#: Rounds of cuts from patterns in parts and from whole ones, and nodes of a branching.
_BLOCK_ROUNDS, _BLOCK_BRANCHINGS, _NODES = 25, 30, 500
#: A block is given up after so many steps of the solver; what each takes at least.
_BLOCK_WORK, _BLOCK_LEAST = 4e8, 5e6
#: A size is left for the next one when so many blocks in a row came to nothing; there are no
#: blocks of a size and above when so many in a row were given up.
_IDLE, _PATIENCE = 20, 5


def improved(
    draft: DraftPattern, bound: float, watch: WorkTime, seed: int, effort: float
) -> DraftPattern:
    """The cheapest pattern after one block after the other is solved, with so much effort.

    Blocks are around secondaries drawn at random, dear ones first, until none is left whose
    blocks of all sizes were tried.
    """
    if draft.spent <= bound or watch.over():
        return draft
    watch.tell("solve blocks")
    draw = np.random.default_rng([seed, 3])
    end = draft.effort + effort
    tried = np.zeros((len(_SIZES), len(draft)), dtype=np.bool_)
    used, at, given_up, idle = len(_SIZES), 0, 0, 0
    while not watch.over() and draft.effort < end:
        waiting = draft.hidden & ~draft.must & (draft.cost > 0)
        left = np.flatnonzero(waiting & ~tried[at])
        if not left.size or idle >= _IDLE or given_up >= _PATIENCE:
            used = at if given_up >= _PATIENCE else used
            if not (waiting & ~tried[:used]).any():
                break
            at = at + 1 if at + 1 < used else 0
            given_up = idle = 0
            continue
        worth = draft.cost[left]
        centre = int(draw.choice(left, p=worth / worth.sum()))
        before = draft.spent
        draft, done = _with_block(draft, centre, at, watch, tried, end)
        given_up = 0 if done else given_up + 1
        idle = 0 if draft.spent < before else idle + 1
    watch.tell(f"solve blocks: {int(draft.hidden.sum()):,} cells hidden")
    return draft


def _with_block(
    draft: DraftPattern, centre: int, at: int, watch: WorkTime, tried: BoolArray, end: float
) -> tuple[DraftPattern, bool]:
    """The pattern after one block, and whether that was solved; `tried` is told what was."""
    size, effort, every = _SIZES[at], draft.patches.effort, np.count_nonzero(~draft.must)
    tried[at, centre] = True
    effort.steps += _BLOCK_LEAST
    number = min(max(_AROUND_LEAST, _AROUND * size), _AROUND_MOST)
    near = draft.patches.nearest(np.array([centre]), number, relation_distances(draft))
    inside = near[~draft.must[near]]
    block = block_of(draft, near, inside[:size])
    if block is None:
        return draft, True
    program, cells = block
    program.until = watch.until
    program.separator.effort.end = min(_BLOCK_WORK, end - draft.effort)
    free = ~program.movable.forced
    now = program.movable.paid(draft.hidden[cells] & free)
    closing = _Closing(program, now)
    closing.cut(_BLOCK_ROUNDS, _BLOCK_ROUNDS + 1)
    closing.keep(closing.branch(_BLOCK_BRANCHINGS, _NODES))
    effort.steps += program.separator.effort.steps
    done = program.movable.whole(program.least) >= closing.cost
    if size >= every:
        tried[at:] = True
    tried[at, inside[: size // 2]] = True
    if closing.best is None:
        return draft, done
    start = draft.hidden.copy()
    start[cells[free]] = closing.best[free]
    other = covered_anew(draft, start, watch.over, allowed=start)
    if len(other.open) or other.spent >= draft.spent:
        return draft, done
    if size < every:
        tried[:, near[:size]] = False
    return other, done


def block_of(
    draft: DraftPattern, near: IntArray, inside: IntArray
) -> tuple[CutProgram, IntArray] | None:
    """The program in which some cells may be hidden or not, and the cells that can move in it.

    None if the tasks whose proofs need one of them cannot be looked at alone.
    """
    free = np.zeros(len(draft), dtype=np.bool_)
    free[inside] = True
    gone = free & draft.hidden
    needing = np.array([bool(gone[proof.cells].any()) for proof in draft.proofs] + [False])
    tasks = np.flatnonzero(needing[draft.proven])
    if not 0 < tasks.size <= _TASKS:
        return None
    moving = free.copy()
    moving[near[draft.hidden[near]]] = True
    for proof in np.unique(draft.proven[tasks]):
        moving[draft.proofs[int(proof)].cells] = True
    cells = np.flatnonzero(moving)
    movable, cells = MovableCells.of(
        draft.unknowns.part(moving), cells, ~free[cells], draft.cost[cells]
    )
    if not 0 < cells.size <= _CELLS or not np.isin(tasks % len(draft), cells).all():
        return None
    moves = map(draft.distance, tasks.tolist())
    aims = [
        Aim(int(np.searchsorted(cells, cell)), 1 if far > 0 else -1, abs(far))
        for cell, far in moves
    ]
    return CutProgram(movable, aims), cells
