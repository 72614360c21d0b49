"""Proofs against insiders: moves of hidden cells that leave each insider's own cells alone.

For each sensitive cell and direction of a `DraftPattern`, moves show it to be protected from
everyone: for each insider there is one that does not need a cell he knows. CONFIDENTIAL. One move
that needs few such cells, and a second one without these, are enough for all insiders; most cells
need nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.disclosure import TOLERANCE, Insiders, Proof, known_parts
from discreet.protection.suppression.problem.demands import LEVELS, levels_against, levels_of_rest
from discreet.protection.suppression.problem.system import CellState, unknowns_of
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import flow_for_task, never

#: Cells of the first patch, and of the largest, where hidden cells alone are moved.
_FIRST, _LARGEST = 150, 600
#: The price of moving a hidden cell, and of one that somebody knows.
_CHEAP, _KNOWN = 1e-5, 1e-3
#: How far it is to a hidden cell.
_HIDDEN_STEP = 0.5


@dataclass
class _Aim:
    """What must be shown of a cell: it moves so far; for one insider alone, or for all."""

    cell: int  # its number in the draft
    distance: float  # how far it must move; negative for down
    #: Whom this is about; None for the public and all insiders but the exempt
    insider: int | None = None
    #: Insiders who know the cell, or for whom there are aims of their own
    exempt: set[int] = field(default_factory=set)
    proofs: list[int] = field(default_factory=list)  # what shows it
    #: The insiders who know a cell of every one of these proofs; None without proof
    needing: frozenset[int] | None = None
    waived: bool = False  # whether others stand in for it

    @property
    def met(self) -> bool:
        """Whether it is shown to everyone."""
        return self.waived or (self.needing is not None and not self.needing)

    def harmed(self, owners: frozenset[int]) -> frozenset[int]:
        """To which insiders a move that needs cells of some owners shows nothing."""
        return owners - self.exempt if self.insider is None else owners & {self.insider}

    def met_by(self, moved: float) -> bool:
        """Whether a move of the cell goes far enough."""
        far = moved if self.distance > 0 else -moved
        return far >= abs(self.distance) - TOLERANCE


@dataclass(frozen=True)
class OpenAim:
    """A cell of the draft that an insider (None: anyone) bounds too closely, as far as is seen."""

    aim: int
    cell: int
    insider: int | None


class InsiderProofs(Confidential):
    """The aims of a draft, with the moves that show them (confidential).

    `over` is asked before each; what is left out then is not shown.
    """

    def __init__(
        self, draft: DraftPattern, insiders: Insiders, over: Callable[[], bool] = never
    ) -> None:
        self.draft, self.share, self._over = draft, insiders.share, over
        number = np.full(len(draft.problem), -1, dtype=np.int64)
        number[draft.unknowns.cells] = np.arange(len(draft))
        self._number = number
        self.known = insiders.known[draft.unknowns.cells]
        self.cells_of: dict[int, IntArray] = {}
        self._insiders_at: dict[int, tuple[int, ...]] = {}
        for insider, cells in insiders.numbered():
            here = number[cells][number[cells] >= 0]
            self.cells_of[insider] = here
            for cell in here.tolist():
                self._insiders_at[cell] = (*self._insiders_at.get(cell, ()), insider)
        #: What moving hidden cells is said to cost: those that somebody knows come last.
        self.hidden_price = np.where(self.known, _KNOWN, _CHEAP)
        self.proofs: list[Proof] = []
        self.owners_of: list[frozenset[int]] = []
        self.aims: list[_Aim] = []
        self.aims_at: dict[int, list[int]] = {}
        self._levelled = levels_against(draft.problem, insiders.share)
        #: The levels that hold against insiders.
        self.levels = draft.unknowns
        if insiders.share < 1:
            self.levels = unknowns_of(self._levelled, draft.problem.state != CellState.fixed)
        #: The levels of cells of which an insider has most himself
        self.own_levels: dict[tuple[int, int], tuple[int, int, int]] = {}
        self._settle_aims(insiders)

    def _settle_aims(self, insiders: Insiders) -> None:
        """One aim per cell and direction; others for insiders who know most of the cell."""
        draft, size, target = self.draft, len(self.draft), self.draft.target
        if insiders.share < 1:  # the full levels hold against the public alone
            target, everyone = draft.targets(self.levels), set(self.cells_of)
            for task in np.flatnonzero(draft.target > TOLERANCE).tolist():
                self._new(_Aim(*draft.distance(task), exempt=everyone))
        watched = (target[:size] > TOLERANCE) | (target[size:] > TOLERANCE)
        exempt: dict[int, set[int]] = {}
        movable = draft.problem.state != CellState.fixed
        for (insider, cell), known in known_parts(
            self._levelled.relations, self._levelled.value, insiders, movable
        ).items():
            at = int(self._number[cell])
            if at >= 0 and watched[at]:
                exempt.setdefault(at, set()).add(insider)
                levels = levels_of_rest(self._levelled, cell, known)
                if levels is not None:  # else nobody but him contributes to it
                    self.own_levels[insider, at] = levels
        for task in np.flatnonzero(target > TOLERANCE).tolist():
            at, side = task % size, 1.0 if task < size else -1.0
            without = exempt.get(at, set()) | {*self._insiders_at.get(at, ())}
            self._new(_Aim(at, side * float(target[task]), exempt=without))
        for (insider, cell), levels in self.own_levels.items():
            lower, upper = _distances(levels)
            for distance in (upper, -lower):
                if distance:
                    self._new(_Aim(cell, distance, insider))

    def _new(self, aim: _Aim) -> int:
        self.aims.append(aim)
        self.aims_at.setdefault(aim.cell, []).append(len(self.aims) - 1)
        return len(self.aims) - 1

    # -- proofs ---------------------------------------------------------------

    def take(self, cells: IntArray, moved: FloatArray) -> None:
        """Note what a move shows, forth and back, and stretched as far as it goes."""
        at = np.flatnonzero(moved)
        cells, moved = cells[at], moved[at]
        self.draft.hidden[cells] = True
        owners = frozenset(
            insider
            for cell in cells[self.known[cells]].tolist()
            for insider in self._insiders_at[cell]
        )
        for one in (moved, *self.draft.variants(cells, moved)):
            number, used = len(self.proofs), False
            for cell, far in zip(cells.tolist(), one.tolist(), strict=True):
                for which in self.aims_at.get(cell, ()):
                    aim = self.aims[which]
                    if aim.met or not aim.met_by(far):
                        continue
                    harmed = aim.harmed(owners)
                    needing = harmed if aim.needing is None else aim.needing & harmed
                    if aim.needing is None or len(needing) < len(aim.needing):
                        aim.proofs = [*(aim.proofs if harmed else ()), number]
                        aim.needing = needing
                        used = True
            if used:
                self.proofs.append(Proof(cells=cells, moved=one))
                self.owners_of.append(owners)

    def settle(self, aim: _Aim) -> None:
        """Record which cells the proofs of an aim need."""
        harmed = [aim.harmed(self.owners_of[proof]) for proof in aim.proofs]
        aim.needing = frozenset.intersection(*harmed) if harmed else None

    def check(self) -> list[int]:
        """Hold all proofs against all relations and bounds; gives the aims that are not met."""
        _, _, fits = self.draft.checked(self.proofs)
        for aim in self.aims:
            aim.proofs = [proof for proof in aim.proofs if fits[proof]]
            self.settle(aim)
        return [which for which, aim in enumerate(self.aims) if not aim.met]

    # -- looking for proofs -----------------------------------------------------

    def prove_by_hidden(self) -> list[OpenAim]:
        """Prove what moves of hidden cells near by prove; gives what is open then."""
        step, every = np.where(self.draft.hidden, 1.0, np.inf), range(len(self.aims))
        return self.prove(every, step, self.hidden_price, _LARGEST, size=_FIRST, hides=False)

    def prove(
        self, chosen: Iterable[int], step: FloatArray, price: FloatArray,
        largest: int | None = None, *, size: int = 4 * _FIRST, hides: bool = True,
    ) -> list[OpenAim]:  # fmt: skip
        """Prove aims by moves of any cells, which are hidden then; gives what nothing can prove.

        Distances and prices are those of `flow_for_task`; both are brought up to date where moves
        hide cells.
        """

        def look(aim: _Aim, blocked: Iterable[int]) -> bool:
            flow = self._flow(aim, blocked, step, price, size, largest)
            if flow is None:
                return False
            number = len(self.proofs)
            self.take(*flow)
            for proof in self.proofs[number:] if hides else ():
                step[proof.cells] = np.minimum(step[proof.cells], _HIDDEN_STEP)
                price[proof.cells] = self.hidden_price[proof.cells]
            return True

        failed = []
        for which in chosen:
            aim = self.aims[which]
            if aim.waived or self._over():
                continue
            if aim.needing is None and not look(aim, () if aim.insider is None else (aim.insider,)):
                failed.append(OpenAim(which, aim.cell, aim.insider))
                continue
            if aim.met or look(aim, aim.needing or ()):
                continue
            failed += [
                OpenAim(which, aim.cell, insider)
                for insider in sorted(aim.needing or ())
                if insider in (aim.needing or ()) and not look(aim, (insider,))
            ]
        return failed

    def _flow(
        self, aim: _Aim, blocked: Iterable[int], step: FloatArray, price: FloatArray, size: int,
        largest: int | None,
    ) -> tuple[IntArray, FloatArray] | None:  # fmt: skip
        """The cheapest moves that meet an aim without cells of some insiders."""
        cells = self.cells(blocked)
        before = step[cells]
        step[cells] = np.inf
        flow = flow_for_task(self.draft, aim.cell, step, price, size, largest, aim.distance)
        step[cells] = before
        return flow

    def cells(self, insiders: Iterable[int]) -> IntArray:
        """The cells that some insiders know."""
        listed = [self.cells_of[insider] for insider in sorted(insiders)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *listed])

    # -- what is asked of a cell, and what may do instead ----------------------------

    def possible(self, failed: OpenAim, step: FloatArray, price: FloatArray) -> bool:
        """Whether the cell could be moved without the insider's if everything was hidden."""
        insiders = () if failed.insider is None else (failed.insider,)
        aim = self.aims[failed.aim]
        return self._flow(aim, insiders, step, price, 4 * _FIRST, None) is not None

    def enough(self, failed: OpenAim, low: float, high: float) -> bool:
        """Whether all is met that is asked for one insider alone, if the cell moves so far."""
        own = [self.aims[w] for w in self.aims_at[failed.cell]]
        own = [aim for aim in own if aim.insider == failed.insider and not aim.waived]
        return bool(own) and all(aim.met_by(low) or aim.met_by(high) for aim in own)

    def watched_at(self, cell: int) -> list[int]:
        """The insiders against whom the full aims of a cell hold."""
        aims = [self.aims[which] for which in self.aims_at.get(cell, ())]
        exempt = [aim.exempt for aim in aims if aim.insider is None]
        free = set.intersection(*exempt) if exempt else self.cells_of.keys()
        return [insider for insider in self.cells_of if insider not in free]

    def waived(self, insider: int, cell: int) -> bool:
        """Whether others stand in for what was asked of a cell for one insider alone."""
        aims = (self.aims[which] for which in self.aims_at.get(cell, ()))
        return any(aim.waived for aim in aims if aim.insider == insider)

    def distances(self, failed: OpenAim) -> list[float]:
        """Required movement up and down of the cell for the insider of an open aim."""
        aims = [self.aims[which] for which in self.aims_at[failed.cell]]
        own = [aim.distance for aim in aims if aim.insider == failed.insider]
        return own or [aim.distance for aim in aims if aim.insider is None]

    def other_ways(self, failed: OpenAim) -> list[tuple[float, float]]:
        """Smaller movements down and up where an aim cannot be shown to an insider.

        An interval as wide that lies otherwise; or what protects the rest of a cell of which
        he may have the larger part himself, by the values of the cells that are his alone; or,
        where it is known that he has, at least one unit. Nothing, if it may be his own.
        """
        if failed.insider is None:
            return []
        if self.may_be_his(failed):
            return [(0.0, 0.0)]
        known, cell = self.levels, failed.cell
        lower, upper, sliding = (float(getattr(known, name)[cell]) for name in LEVELS)
        ways = []
        if self.aims[failed.aim].insider is None:
            rest = max(sliding - lower - upper, 0.0)
            if rest:
                ways = [(lower + rest, upper), (lower + rest / 2, upper + rest / 2)]
            problem, place = self._levelled, int(known.cells[cell])
            value = int(problem.value[place])
            own = problem.value[known.cells[self.cells_of[failed.insider]]]
            for part in sorted({int(item) for item in own if item < value < 2 * item}):
                ways.append(_distances(levels_of_rest(problem, place, part)))
        if ways or self.aims[failed.aim].insider is not None:
            ways += [(0.0, 1.0), (1.0, 0.0)]
        return ways

    def may_be_his(self, failed: OpenAim) -> bool:
        """Whether the cell may be the insider's own: it equals his, and tables name nobody."""
        mine = {
            insider for c in self.cells_of[failed.insider or 0] for insider in self._insiders_at[c]
        }
        return bool(mine & {*self._insiders_at.get(failed.cell, ())})

    def instead(self, failed: OpenAim, lower: float, upper: float) -> list[int]:
        """Ask other distances of a cell for one insider, in place of all that was asked."""
        insider, cell = failed.insider, failed.cell
        assert insider is not None
        for which in self.aims_at[cell]:
            aim = self.aims[which]
            if aim.insider is None:
                aim.exempt.add(insider)
                self.settle(aim)
            aim.waived |= aim.insider == insider
        return [self._new(_Aim(cell, far, insider)) for far in (upper, -lower) if far]


def _distances(levels: tuple[int, int, int] | None) -> tuple[float, float]:
    """How far down and up a cell must move by its levels."""
    lower, upper, sliding = levels or (0, 0, 0)
    return float(lower), float(max(upper, sliding - lower))
