"""Insiders kept out: what a pattern must hide besides, so that no contributor opens a cell.

In: a pattern that protects every sensitive cell from everybody else, and who stands alone
behind which cells. Out: the same with more hidden cells, and a proof for each insider; what
became superfluous is published again. CONFIDENTIAL. Only moves that need cells of an insider
have to be replaced for him, so that the work is as large as what insiders know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.disclosure import Insiders, refuse_cells
from discreet.errors import Problem, SuppressionError, shortened
from discreet.protection.suppression.methods.cut_program import (
    Aim,
    MovableCells,
    aims_of,
    single_relation_bounds,
)
from discreet.protection.suppression.methods.fast import ProofUsers, replace_in_turn
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import LEVELS, SuppressionProblem
from discreet.protection.suppression.proof.certificate import Pattern, certified
from discreet.protection.suppression.proof.contributors import (
    InsiderProofs,
    OpenAim,
    ProofAim,
)
from discreet.protection.suppression.proof.draft_pattern import DraftPattern, relation_distances

#: The methods that search among patterns that hold against insiders.
SEARCHED = ("auto", "optimal")
#: With more aims than these, only what was added is taken back, not what was there before.
_FEW_AIMS = 600
#: With more hidden cells than these, the proof for the public stays the one there is.
_ATTACK_LIMIT = 4_000
#: Linear programs for taking back: so many per cell that may be, at least and at most.
_BUDGET, _LEAST_BUDGET, _MOST_BUDGET = 5, 300, 20_000
#: Cells of the largest patch in which a cell's moves are replaced.
_LARGEST = 2_400
#: With more cells that may move the bound is that for the public; rounds of bridge cuts for it.
MOST_BOUNDED, _ROUNDS = 20_000, 12
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
            near.near(_ROUNDS, watch.over)
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
        if cell in place and not any(aim.waived for aim in proofs.aims_of(cell, who)):
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
        not proofs.prove([aim], step, price, largest=_LARGEST)
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
