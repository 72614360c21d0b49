"""Contributors who know their own cells: what keeps them from others, and what they find out.

CONFIDENTIAL. For each sensitive cell and direction of a `DraftPattern`, moves of hidden cells show
it to be protected from everyone: for each insider there is one that does not need a cell he knows.
One move that needs few such cells, and a second one without these, are enough for all insiders;
most cells need nothing more. The audit says which sensitive cells lose their protection once a
respondent, or several who put together what they know, take the cells that are theirs alone as
known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.disclosure import (
    TOLERANCE,
    Gap,
    Insiders,
    Proof,
    component_labels,
    known_parts,
    opened_by_pairs,
)
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import (
    LEVELS,
    CellState,
    SuppressionProblem,
    levels_against,
    levels_of_rest,
    unknowns_of,
)
from discreet.protection.suppression.proof.certificate import certify
from discreet.protection.suppression.proof.draft_pattern import DraftPattern, flow_for_task, never
from discreet.protection.suppression.settings import InsiderAim

#: Cells of the first patch, and of the largest, where hidden cells alone are moved; others start
#: with the latter.
_FIRST, _LARGEST = 150, 600
#: The price of moving a hidden cell, and of one that somebody knows.
_CHEAP, _KNOWN = 1e-5, 1e-3
#: How far it is to a hidden cell.
_HIDDEN_STEP = 0.5


@dataclass(eq=False)
class ProofAim:
    """What must be shown of a cell: it moves so far; for one insider alone, or for all."""

    number: int  # its place among all aims
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


class OpenAim(NamedTuple):
    """What is not shown to an insider (None: to anyone), as far as is seen."""

    aim: ProofAim
    insider: int | None

    @property
    def cell(self) -> int:
        """The cell of the draft that he bounds too closely."""
        return self.aim.cell


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
        self.aims: list[ProofAim] = []
        self._aims_at: dict[int, list[ProofAim]] = {}
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
                self._new(*draft.distance(task), exempt=everyone)
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
            self._new(at, side * float(target[task]), exempt=without)
        for (insider, cell), levels in self.own_levels.items():
            self._new_both_ways(cell, insider, *_distances(levels))

    def _new(self, cell: int, distance: float, **whom: Any) -> ProofAim:
        aim = ProofAim(len(self.aims), cell, distance, **whom)
        self.aims.append(aim)
        self._aims_at.setdefault(cell, []).append(aim)
        return aim

    def _new_both_ways(self, cell: int, insider: int, lower: float, upper: float) -> list[ProofAim]:
        return [self._new(cell, far, insider=insider) for far in (upper, -lower) if far]

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
                for aim in self._aims_at.get(cell, ()):
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

    def settle(self, aim: ProofAim) -> None:
        """Record which cells the proofs of an aim need."""
        harmed = [aim.harmed(self.owners_of[proof]) for proof in aim.proofs]
        aim.needing = frozenset.intersection(*harmed) if harmed else None

    def check(self) -> list[ProofAim]:
        """Hold all proofs against all relations and bounds; gives the aims that are not met."""
        _, _, fits = self.draft.checked(self.proofs)
        for aim in self.aims:
            aim.proofs = [proof for proof in aim.proofs if fits[proof]]
            self.settle(aim)
        return [aim for aim in self.aims if not aim.met]

    # -- looking for proofs -----------------------------------------------------

    def prove_by_hidden(self) -> list[OpenAim]:
        """Prove what moves of hidden cells near by prove; gives what is open then."""
        step = np.where(self.draft.hidden, 1.0, np.inf)
        return self.prove(self.aims, step, self.hidden_price, _LARGEST, size=_FIRST)

    def prove(
        self, chosen: Iterable[ProofAim], step: FloatArray, price: FloatArray,
        largest: int | None = None, *, size: int = _LARGEST,
    ) -> list[OpenAim]:  # fmt: skip
        """Prove aims by moves of any cells, which are hidden then; gives what nothing can prove.

        Distances and prices are those of `flow_for_task`; both are brought up to date where moves
        hide cells.
        """

        def look(aim: ProofAim, blocked: Iterable[int]) -> bool:
            flow = self._flow(aim, blocked, step, price, size, largest)
            if flow is None:
                return False
            number = len(self.proofs)
            self.take(*flow)
            for proof in self.proofs[number:]:
                step[proof.cells] = np.minimum(step[proof.cells], _HIDDEN_STEP)
                price[proof.cells] = self.hidden_price[proof.cells]
            return True

        failed = []
        for aim in chosen:
            if aim.waived or self._over():
                continue
            if aim.needing is None and not look(aim, () if aim.insider is None else (aim.insider,)):
                failed.append(OpenAim(aim, aim.insider))
                continue
            if aim.met or look(aim, aim.needing or ()):
                continue
            failed += [
                OpenAim(aim, insider)
                for insider in sorted(aim.needing or ())
                if insider in (aim.needing or ()) and not look(aim, (insider,))
            ]
        return failed

    def _flow(
        self, aim: ProofAim, blocked: Iterable[int], step: FloatArray, price: FloatArray, size: int,
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
        return self._flow(failed.aim, insiders, step, price, _LARGEST, None) is not None

    def aims_of(self, cell: int, insider: int | None) -> list[ProofAim]:
        """What is asked of a cell for one insider alone, or (None) for all."""
        return [aim for aim in self._aims_at.get(cell, ()) if aim.insider == insider]

    def enough(self, failed: OpenAim, low: float, high: float) -> bool:
        """Whether all is met that is asked for one insider alone, if the cell moves so far."""
        own = [aim for aim in self.aims_of(failed.cell, failed.insider) if not aim.waived]
        return bool(own) and all(aim.met_by(low) or aim.met_by(high) for aim in own)

    def watched_at(self, cell: int) -> list[int]:
        """The insiders against whom the full aims of a cell hold."""
        exempt = [aim.exempt for aim in self.aims_of(cell, None)]
        free = set.intersection(*exempt) if exempt else self.cells_of.keys()
        return [insider for insider in self.cells_of if insider not in free]

    def other_ways(self, failed: OpenAim) -> list[tuple[float, float]]:
        """Distances down and up to ask for instead, where nothing shows an aim to an insider.

        An interval of the same width around another place; the levels that protect what others
        contribute, should he contribute most of the cell, by the values of his own cells; at least
        one unit, if he is known to. No distance, if the cell may be his own.
        """
        if failed.insider is None:
            return []
        if self.may_be_his(failed):
            return [(0.0, 0.0)]
        known, cell = self.levels, failed.cell
        lower, upper, sliding = (float(getattr(known, name)[cell]) for name in LEVELS)
        ways = []
        if failed.aim.insider is None:
            rest = max(sliding - lower - upper, 0.0)
            if rest:
                ways = [(lower + rest, upper), (lower + rest / 2, upper + rest / 2)]
            problem, place = self._levelled, int(known.cells[cell])
            value = int(problem.value[place])
            own = problem.value[known.cells[self.cells_of[failed.insider]]]
            for part in sorted({int(item) for item in own if item < value < 2 * item}):
                ways.append(_distances(levels_of_rest(problem, place, part)))
        if ways or failed.aim.insider is not None:
            ways += [(0.0, 1.0), (1.0, 0.0)]
        return ways

    def may_be_his(self, failed: OpenAim) -> bool:
        """Whether the cell may be the insider's own: it equals his, and tables name nobody."""
        mine = {
            insider for c in self.cells_of[failed.insider or 0] for insider in self._insiders_at[c]
        }
        return bool(mine & {*self._insiders_at.get(failed.cell, ())})

    def instead(self, failed: OpenAim, lower: float, upper: float) -> list[ProofAim]:
        """Ask other distances of a cell for one insider, in place of all that was asked."""
        insider, cell = failed.insider, failed.cell
        assert insider is not None
        for aim in self.aims_of(cell, None):
            aim.exempt.add(insider)
            self.settle(aim)
        for aim in self.aims_of(cell, insider):
            aim.waived = True
        return self._new_both_ways(cell, insider, lower, upper)


def _distances(levels: tuple[int, int, int] | None) -> tuple[float, float]:
    """How far down and up a cell must move by its levels."""
    lower, upper, sliding = levels or (0, 0, 0)
    return float(lower), float(max(upper, sliding - lower))


_SHOWN = 20


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RespondentAudit(Confidential):
    """Audit of coalitions of respondents (confidential)."""

    most: int  # how many respondents a coalition has at most
    coalitions: int  # how many coalitions were looked at
    left: int  # how many more there are that were not, because of the limit
    opened: IntArray  # sensitive cells that a coalition can compute exactly, though nobody else can
    #: Sensitive cells that a coalition can bound more closely than their protection levels allow;
    #: `opened` are among them
    weakened: IntArray
    names: tuple[str, ...]  # names of the opened cells
    share: float = 1.0  # the share of the protection levels that is judged; 0: the exact figure
    #: The largest share of the levels of which nobody is seen to come nearer
    nearest: float = 1.0

    @property
    def holds(self) -> InsiderAim:
        """The strongest aim that holds: "levels", a share of them, "exact", or "off" for none."""
        whole = math.floor(100 * self.nearest + 1e-6) / 100
        return "off" if self.opened.size else "levels" if whole >= 1 else whole or "exact"

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "most": self.most,
            "insiders": {0.0: "exact", 1.0: "levels"}.get(self.share, self.share),
            "holds": self.holds,
            "coalitions": self.coalitions,
            "left": self.left,
            "opened": len(self.opened),
            "weakened": len(self.weakened),
            "opened_cells": list(self.names),
        }

    @property
    def safe(self) -> bool:
        """Whether no coalition bounds a cell of others more closely than asked."""
        return not self.weakened.size and not self.left

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Coalitions that were not examined."""
        return (Gap("coalitions", str(self.most), self.left),) if self.left else ()

    def lines(self) -> list[str]:
        """As lines of text."""
        who = f"coalitions of up to {self.most} contributors" if self.most > 1 else "contributors"
        lines = [
            f"{self.coalitions:,} {who} who alone make up suppressed cells compute "
            f"{len(self.opened):,} cells of others exactly and bound {len(self.weakened):,} "
            "more closely than asked."
        ]
        words = {"exact": "no figure of others is computed exactly", "off": "nothing"}
        if (holds := self.holds) != "levels":
            told = words[holds] if isinstance(holds, str) else f"{holds} of the levels"
            lines.append(f"Against them holds: {told}.")
        return lines + [f"  {name}" for name in self.names[:_SHOWN]]


def audit_respondents(
    problem: SuppressionProblem,
    hidden: BoolArray,
    respondents: IntArray,
    *,
    most: int = 1,
    limit: int = 100_000,
    insiders: Insiders | None = None,
) -> RespondentAudit:
    """Find out which cells coalitions of respondents open.

    A single respondent knows all cells that he stands alone behind: those of `insiders`; without,
    each cell of one respondent has another one. A coalition knows the hidden cells whose
    respondents all belong to it. Looked at are all single ones, and all sets of hidden cells of
    a block with at most `most` respondents together, up to a limit. Which cells two lone ones
    compute exactly is seen beyond the limit, too, whether or not they share a relation.

    Two firms alone in their cells, and nothing else is hidden in the sum: each of them
    knows the other.

    >>> from discreet.disclosure import Relations
    >>> sums = Relations.of(4, [[(0, -1), (1, 1), (2, 1), (3, 1)]])
    >>> zero = np.zeros(4, dtype=np.int64)
    >>> value, state = np.array([60, 10, 20, 30]), np.array([0, 1, 1, 0], dtype=np.int8)
    >>> problem = SuppressionProblem(value=value, cost=value, state=state, low=zero,
    ...     high=2 * value, lower=zero, upper=zero, sliding=zero, relations=sums)
    >>> audit_respondents(problem, problem.hidden, np.array([9, 1, 1, 7])).names
    ('cell 1', 'cell 2')
    """
    if most < 1 or len(respondents) != len(problem):
        raise SuppressionError(
            "coalitions have at least one respondent, and each cell a number of respondents",
            code="respondents",
        )
    if insiders is None:
        insiders = Insiders.each_apart(respondents)
    attacks = _CoalitionFindings(problem, hidden, insiders)
    attacks.look_at_single_ones()
    done, left = sum(1 for _ in insiders.behind(hidden)), 0
    if most > 1:
        # What two lone ones compute exactly.
        opened, left = opened_by_pairs(
            problem.relations, hidden, [own for _, own in insiders.behind(hidden)]
        )
        attacks.opened |= opened & attacks.aims & ~attacks.exact
        number = 0
        for cells in _coalitions(attacks.block, hidden, respondents, most):
            if done >= limit or attacks.attacked >= _MOST_ATTACKED:
                break
            attacks.look(cells)
            done, number = done + 1, number + 1
        left = max(left, _number_of_coalitions(attacks.block, hidden, respondents, most) - number)
    found = np.flatnonzero(attacks.opened).astype(np.int64)
    return RespondentAudit(
        most=most,
        coalitions=done,
        left=left,
        opened=found,
        weakened=np.flatnonzero(attacks.weakened | attacks.opened).astype(np.int64),
        names=tuple(problem.name(int(at)) for at in found),
        nearest=attacks.nearest,
    )


#: Blocks of more hidden cells are not attacked as a whole: what is not proven counts as open.
_ATTACKED = 20_000
#: So many coalitions are attacked, where the moves that protect cells need some of theirs.
_MOST_ATTACKED = 20_000


class _CoalitionFindings:
    """What coalitions found so far; each is an audit of one block of hidden cells."""

    def __init__(self, problem: SuppressionProblem, hidden: BoolArray, insiders: Insiders) -> None:
        self._problem, self._hidden, self._insiders = problem, hidden, insiders
        among, cells = problem.relations.among(hidden)
        #: For each hidden cell its block, -1 for others
        self.block = np.full(len(problem), -1, dtype=np.int64)
        self.block[cells] = component_labels(among)
        self.attacked = 0
        #: The largest share of the levels of which nobody is seen to come nearer.
        self.nearest = 1.0
        self.aims: BoolArray = problem.state == CellState.primary
        before = certify(problem, hidden)
        #: Cells that others can neither open nor narrow, and those that they know exactly
        self._firm, self.exact, self.opened, self.weakened = (
            np.zeros(len(problem), dtype=np.bool_) for _ in range(4)
        )
        self._firm[before.cells[before.protected]] = True
        self.exact[before.exact] = True
        self._parts: dict[int, tuple[SuppressionProblem, IntArray]] = {}

    def look_at_single_ones(self) -> None:
        """Note what each contributor learns who stands alone behind hidden cells."""
        if not (self._insiders.known & self._hidden).any() or not self._firm.any():
            return
        proofs = self._proofs()
        draft = proofs.draft
        ways = np.ones(len(draft)), np.ones(len(draft))
        for failed in proofs.prove_by_hidden():
            cell = int(draft.unknowns.cells[failed.cell])
            if failed.insider is not None:
                self._attack(proofs, failed, ways)
                continue
            block = self._hidden & (self.block == self.block[cell])
            for insider, cells in self._insiders.behind(block):
                if not (cells == cell).any():
                    self._attack(proofs, OpenAim(failed.aim, insider), ways)

    def _proofs(self) -> InsiderProofs:
        """What hidden cells may show to single contributors, for cells that others cannot open."""
        state = self._problem.state.copy()
        state[self._hidden & ~self.aims] = CellState.secondary
        draft = DraftPattern(replace(self._problem, state=state))
        draft.hidden = self._hidden[draft.unknowns.cells]
        firm = self._firm[draft.unknowns.cells]
        draft.target[~np.concatenate([firm, firm])] = 0.0
        return InsiderProofs(draft, self._insiders)

    def _attack(
        self, proofs: InsiderProofs, failed: OpenAim, ways: tuple[FloatArray, FloatArray]
    ) -> None:
        """Find out whether an insider really opens a cell, and could have been kept from it."""
        cell = int(proofs.draft.unknowns.cells[failed.cell])
        if self.opened[cell]:
            return
        if int((self.block == self.block[cell]).sum()) > _ATTACKED:
            self.weakened[cell] = True
            self.nearest = 0.0
            return
        part, old = self._part_of(cell)
        near: BoolArray = old == cell
        assert failed.insider is not None
        verdict = certify(part, ~self._insiders.of(failed.insider)[old], near)
        if verdict.protected.all():
            return
        low, high = float(verdict.low[0]), float(verdict.high[0])
        if proofs.may_be_his(failed) and not proofs.possible(failed, *ways):
            return
        if high - low <= TOLERANCE:
            self.opened[cell] = True
        elif not proofs.enough(failed, low, high) and (
            proofs.possible(failed, *ways)
            or not any(
                low <= TOLERANCE - lower and high >= upper - TOLERANCE
                for lower, upper in proofs.other_ways(failed)
            )
        ):
            self.weakened[cell] = True
            asked = proofs.aims_of(failed.cell, failed.insider) or proofs.aims_of(failed.cell, None)
            own = [aim.distance for aim in asked if aim.distance]
            reached = (max(high if far > 0 else -low, 0.0) / abs(far) for far in own)
            self.nearest = min([self.nearest, *reached])

    def _part_of(self, cell: int) -> tuple[SuppressionProblem, IntArray]:
        """The block of a hidden cell as a problem, in which all others are known; its cells."""
        label = int(self.block[cell])
        if label not in self._parts:
            relations, old = self._problem.relations.among(self.block == label)
            part = SuppressionProblem(relations=relations, **self._problem.columns_at(old))
            self._parts[label] = part, old
        return self._parts[label]

    def look(self, cells: IntArray) -> None:
        """Note what becomes of the others when some cells are known, and others of their owners."""
        known = np.zeros(len(self._problem), dtype=np.bool_)
        known[cells] = True
        for column in (self._insiders.owner, self._insiders.group):
            if column is not None:
                owners = np.unique(column[cells])
                known |= np.isin(column, owners[owners >= 0])
        if self._harmless(int(self.block[cells[0]]), known):
            return
        part, old = self._part_of(int(cells[0]))
        rest = ~known[old]
        near: BoolArray = (part.state == CellState.primary) & rest
        if not near.any():
            return
        self.attacked += 1
        verdict = certify(part, rest, near)
        lost, exact = old[verdict.cells[~verdict.protected]], old[verdict.exact]
        self.weakened[lost[self._firm[lost]]] = True
        if self._firm[lost].any():
            self.nearest = 0.0  # how near coalitions come is not worked out
        self.opened[exact[~self.exact[exact]]] = True

    def _harmless(self, block: int, known: BoolArray) -> bool:
        """Whether moves without the known cells protect all others of a block that are firm."""
        aims, using, bare = self._moves
        mine = set(np.flatnonzero(known).tolist())
        needed = {aim for cell in mine for aim in using.get(cell, ())}
        return all(
            cell in mine or any(mine.isdisjoint(move) for move in moves)
            for cell, moves in (aims[at] for at in needed | bare.get(block, set()))
        )

    @cached_property
    def _moves(
        self,
    ) -> tuple[list[tuple[int, list[frozenset[int]]]], dict[int, list[int]], dict[int, set[int]]]:
        """Checked moves of hidden cells that protect sensitive ones.

        Aims – a cell, and the cells of moves that prove it; by cell, the aims whose first move
        needs it; by block, its aims without a move.
        """
        aims: list[tuple[int, list[frozenset[int]]]] = []
        using: dict[int, list[int]] = {}
        bare: dict[int, set[int]] = {}

        def note(cell: int, moves: list[frozenset[int]]) -> None:
            for at in moves[0] if moves else ():
                using.setdefault(at, []).append(len(aims))
            if not moves:
                bare.setdefault(int(self.block[cell]), set()).add(len(aims))
            aims.append((cell, moves))

        firm = self._firm & ~self.exact
        for cell in np.flatnonzero(self._hidden & self.aims & ~firm & ~self.exact).tolist():
            note(cell, [])
        if firm.any():
            proofs = self._proofs()
            proofs.prove_by_hidden()
            proofs.check()
            cells = proofs.draft.unknowns.cells
            for aim in proofs.aims:
                if aim.insider is None and firm[cells[aim.cell]]:
                    moves = [proofs.proofs[at].cells for at in aim.proofs]
                    note(int(cells[aim.cell]), [frozenset(cells[move].tolist()) for move in moves])
        return aims, using, bare


def _small(
    block: IntArray, hidden: BoolArray, respondents: IntArray, most: int
) -> Iterator[IntArray]:
    """The small hidden cells of each block that has some, smallest blocks first."""
    small = np.flatnonzero(hidden & (respondents > 0) & (respondents <= most))
    small = small[np.argsort(block[small], kind="stable")]
    groups = np.split(small, np.flatnonzero(np.diff(block[small])) + 1)
    yield from sorted((group for group in groups if group.size), key=len)


def _coalitions(
    block: IntArray, hidden: BoolArray, respondents: IntArray, most: int
) -> Iterator[IntArray]:
    """Sets of small hidden cells of a block with few respondents; single lone cells left out."""
    for cells in _small(block, hidden, respondents, most):
        for size in range(1, most + 1):
            for some in combinations(cells.tolist(), size):
                together = int(respondents[list(some)].sum())
                if together <= most and not (size == together == 1):
                    yield np.array(some, dtype=np.int64)


def _number_of_coalitions(
    block: IntArray, hidden: BoolArray, respondents: IntArray, most: int
) -> int:
    """How many of these there are."""
    number = 0
    for cells in _small(block, hidden, respondents, most):
        ways = [1, *([0] * most)]  # sets by how many respondents they have
        for size in respondents[cells].tolist():
            ways = [n + (ways[at - size] if at >= size else 0) for at, n in enumerate(ways)]
        number += sum(ways) - 1 - int((respondents[cells] == 1).sum())
    return number
