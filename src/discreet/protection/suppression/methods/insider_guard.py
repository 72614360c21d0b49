"""Insiders kept out: what a pattern must hide besides, so that no contributor opens a cell.

In: a pattern that protects every sensitive cell from everybody else, and who stands alone
behind which cells. Out: the same with more hidden cells, and a proof for each insider; what
became superfluous is published again. CONFIDENTIAL. Only moves that need cells of an insider
have to be replaced for him, so that the work is as large as what insiders know.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import Problem, SuppressionError, shortened
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import SuppressionProblem
from discreet.protection.suppression.proof.certificate import Pattern, certified
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.insider_proofs import (
    InsiderProofs,
    OpenAim,
)
from discreet.protection.suppression.proof.insiders import Insiders
from discreet.protection.suppression.proof.local_lp import relation_distances

#: With more aims than these, only what was added is taken back, not what was there before.
_FEW_AIMS = 600
#: With more hidden cells than these, the proof for the public stays the one there is.
_ATTACK_LIMIT = 4_000
#: Linear programs for taking back: so many per cell that may be, and at least.
_BUDGET, _LEAST_BUDGET = 5, 300
#: Where there are many aims, one per cell and so many in all.
_MOST = 1_000
#: Cells of the largest patch in which a cell's moves are replaced.
_LARGEST = 2_400
#: Where there are many aims, circuits come first, in patches of so many cells.
_CIRCUITS = (120, 360)
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
    proofs, before = _kept_out(problem, pattern.hidden, insiders, watch)
    if len(proofs.aims) <= _FEW_AIMS and not watch.over():
        anew, _ = _kept_out(problem, problem.hidden, insiders, watch)
        proofs = anew if anew.draft.spent < proofs.draft.spent else proofs
    unmet = proofs.check()
    if unmet:
        raise _unproven(proofs, unmet)
    return _finished(pattern, proofs, before, watch)


def _kept_out(
    problem: SuppressionProblem, hidden: BoolArray, insiders: Insiders, watch: WorkTime
) -> tuple[InsiderProofs, BoolArray]:
    """Proofs against all insiders, with what is hidden for them; what was hidden before."""
    draft = DraftPattern(problem)
    draft.hidden = hidden[draft.unknowns.cells]
    before = draft.hidden.copy()
    proofs = InsiderProofs(draft, insiders, watch.refused)
    left = proofs.prove_by_hidden()
    if left:
        watch.tell(f"insiders: {len(left):,} ways to protect cells are missing")
        _hide_more(proofs, left)
    few = len(proofs.aims) <= _FEW_AIMS
    if few or (draft.hidden & ~before).any():
        _take_back(proofs, before, watch, everything=few)
    return proofs, before


def _finished(
    pattern: Pattern,
    proofs: InsiderProofs,
    before: BoolArray,
    watch: WorkTime,
) -> Pattern:
    draft = proofs.draft
    hidden = draft.mask()
    # To hide more never makes a cell less safe.
    kept = int(hidden.sum()) > _ATTACK_LIMIT and not (before & ~draft.hidden).any()
    more = int(draft.hidden.sum() - before.sum())
    note = (
        "contributors who stand alone behind hidden cells compute no cell of others: "
        f"{more:,} more cells are hidden for that"
    )
    done = certified(
        draft.problem,
        hidden,
        pattern.method,
        certificate=pattern.certificate if kept else None,
        bound=pattern.bound,
        complete=pattern.complete,
        seconds=watch.seconds,
        notes=(*pattern.notes, note),
    )
    return done if done.safe else replace(done, notes=pattern.notes)


def _cost_of_moves(proofs: InsiderProofs) -> FloatArray:
    """What moving each cell costs: little where it is hidden, as much as hiding it elsewhere."""
    draft = proofs.draft
    price: FloatArray = np.where(
        draft.hidden, proofs.hidden_price, np.maximum(draft.cost, 1e-6) / draft.median_cost
    )
    return price


# -- hiding more ---------------------------------------------------------------


def _hide_more(proofs: InsiderProofs, left: list[OpenAim]) -> None:
    """Prove what is missing with further cells, farthest first."""
    step, price = relation_distances(proofs.draft), _cost_of_moves(proofs)
    aims = dict.fromkeys(item.aim for item in left)
    order = sorted(aims, key=lambda which: (-abs(proofs.aims[which].distance), which))
    failed = proofs.prove(order, step, price)
    lost = [item for item in failed if not _otherwise(proofs, item, step, price)]
    if lost:
        raise _impossible(proofs, lost)


def _otherwise(proofs: InsiderProofs, failed: OpenAim, step: FloatArray, price: FloatArray) -> bool:
    """Protect a cell from one insider in another way, where the one asked for is impossible."""
    return any(
        not proofs.prove(proofs.instead(failed, *way), step, price)
        for way in proofs.other_ways(failed)
    )


def _impossible(proofs: InsiderProofs, lost: list[OpenAim]) -> SuppressionError:
    """The error for cells that insiders open whatever is hidden."""
    problem, cells = proofs.draft.problem, proofs.draft.unknowns.cells
    by_cell: dict[int, int | None] = {item.cell: item.insider for item in lost}
    problems: list[Problem] = []
    hint = (
        "merge categories, or let more be hidden; singletons=False leaves insiders out of account"
    )
    for cell, insider in sorted(by_cell.items()):
        message = "it cannot be protected, even if all that may be hidden is hidden"
        if insider is not None:
            own = problem.name(int(cells[proofs.cells_of[insider][0]]))
            message = f"the only contributor of {own} can work it out, whatever else is hidden"
        problems.append(Problem(message, problem.name(int(cells[cell])), "" if problems else hint))
    return SuppressionError(
        f"{len(problems):,} sensitive cells cannot be protected from contributors of other cells",
        code="insiders",
        where=problem.title,
        hint=hint,
        problems=shortened(problems, _SHOWN),
    )


def _unproven(proofs: InsiderProofs, unmet: list[int]) -> SuppressionError:
    problem, cells = proofs.draft.problem, proofs.draft.unknowns.cells
    named = sorted({int(cells[proofs.aims[which].cell]) for which in unmet})
    message = f"{len(named):,} sensitive cells are not proven to be protected from insiders"
    where = "; ".join(problem.name(cell) for cell in named[:_SHOWN])
    hint = "report this: a proof found on the way did not hold"
    return SuppressionError(message, code="insiders", where=where, hint=hint)


# -- publishing again ----------------------------------------------------------


@dataclass
class _Usage:
    """Which proofs are in use, and where."""

    proofs: InsiderProofs
    aims_of: dict[int, set[int]]
    proofs_at: dict[int, set[int]]
    #: Cells that proofs have left since it was looked whether any needs them.
    left: set[int]

    @classmethod
    def of(cls, proofs: InsiderProofs) -> _Usage:
        usage = cls(proofs, {}, {}, set(range(len(proofs.draft))))
        for which in range(len(proofs.aims)):
            usage.enter(which)
        return usage

    def enter(self, which: int) -> None:
        """Count in the proofs of an aim."""
        for proof in self.proofs.aims[which].proofs:
            if proof not in self.aims_of:
                self.aims_of[proof] = set()
                for cell in self.proofs.proofs[proof].cells.tolist():
                    self.proofs_at.setdefault(cell, set()).add(proof)
            self.aims_of[proof].add(which)

    def leave(self, which: int) -> None:
        """Count them out."""
        for proof in self.proofs.aims[which].proofs:
            self.aims_of[proof].discard(which)
            if not self.aims_of[proof]:
                del self.aims_of[proof]
                cells = self.proofs.proofs[proof].cells.tolist()
                self.left.update(cells)
                for cell in cells:
                    self.proofs_at[cell].discard(proof)

    def aims_at(self, cell: int) -> list[int]:
        """The aims whose proofs need a cell."""
        return sorted({a for p in self.proofs_at.get(cell, ()) for a in self.aims_of[p]})

    def publish_unused(self, secondary: BoolArray) -> None:
        """Publish again what no proof needs."""
        for cell in self.left:
            if secondary[cell] and not self.proofs_at.get(cell):
                self.proofs.draft.hidden[cell] = False
        self.left.clear()


def _take_back(
    proofs: InsiderProofs, before: BoolArray, watch: WorkTime, *, everything: bool
) -> None:
    """Publish again what can be done without, or for less; dearest per use first."""
    draft = proofs.draft
    usage = _Usage.of(proofs)
    secondary = ~draft.must if everything else ~draft.must & ~before
    usage.publish_unused(secondary)
    cells = np.flatnonzero(draft.hidden & secondary)
    most = min(cells.size, _MOST) if proofs.many else _BUDGET * cells.size
    budget = draft.solved + max(_LEAST_BUDGET, most)
    for _ in range(2):
        cells = np.flatnonzero(draft.hidden & secondary)
        uses = np.array([1 + len(usage.aims_at(int(cell))) for cell in cells])
        changed = False
        for cell in cells[np.argsort(-draft.cost[cells] / uses, kind="stable")].tolist():
            if watch.over() or (draft.solved > budget and not proofs.many):
                return
            if draft.hidden[cell] and _done_without(proofs, usage, cell, budget):
                usage.publish_unused(secondary)
                changed = True
        if not changed:
            return


def _done_without(proofs: InsiderProofs, usage: _Usage, cell: int, budget: int) -> bool:
    """Try to do without one cell, or with cheaper ones; whether that worked."""
    draft = proofs.draft
    aims = usage.aims_at(cell)
    saved = [(proofs.aims[a].proofs, proofs.aims[a].needing) for a in aims]
    number, hidden = len(proofs.proofs), draft.hidden.copy()
    gone = usage.proofs_at.get(cell, set()).copy()
    for which in aims:
        usage.leave(which)
        aim = proofs.aims[which]
        aim.proofs = [proof for proof in aim.proofs if proof not in gone]
        proofs.settle(aim)
    draft.hidden[cell] = False
    aims_in_turn = sorted(aims, key=lambda a: (-abs(proofs.aims[a].distance), a))
    worked = _proven_anew(proofs, aims_in_turn, cell, hidden, budget)
    if not worked:
        draft.hidden = hidden
        del proofs.proofs[number:], proofs.owners_of[number:]
        for which, (own, needing) in zip(aims, saved, strict=True):
            proofs.aims[which].proofs, proofs.aims[which].needing = own, needing
    for which in aims:
        usage.enter(which)
    return worked


def _proven_anew(
    proofs: InsiderProofs, aims: list[int], cell: int, hidden: BoolArray, budget: int
) -> bool:
    """Prove aims without a cell, with none or cheaper ones besides; whether that worked."""
    draft = proofs.draft
    if proofs.many:
        aims = list(dict.fromkeys(e.aim for e in proofs.prove_by_circuits(aims, _CIRCUITS)))
        if draft.solved > budget:
            return not aims
    step, price = relation_distances(draft), _cost_of_moves(proofs)
    step[cell] = np.inf
    largest = _CIRCUITS[-1] if proofs.many else _LARGEST
    for which in aims:
        if proofs.prove([which], step, price, largest=largest):
            return False
        if float(draft.cost[draft.hidden & ~hidden].sum()) >= draft.cost[cell]:
            return False
    return True
