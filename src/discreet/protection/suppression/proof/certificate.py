"""`Certificate` and `Pattern`: proofs that hidden cells protect sensitive ones. CONFIDENTIAL.

Bounds from outside refute; answers of linear programs with random wishes prove many cells at once,
in patches where many hang together; what is left is attacked cell by cell. Stored proofs are
checked, none is believed. What is worked out from published values alone may itself be published
(`published_intervals`); of a `Pattern`, only which cells are hidden.

Some readers know more than sums. Verdicts of deviations that may be fractions are held against
integer programs where fractions might be all there is: not where whole moves were seen, nor in
networks, whose corners are whole. Of blocks with more cells than `MOST_CELLS`, only the
surroundings of a cell move: what these do not prove is a gap, unless relations have large
coefficients and levels are far larger than their steps. Verdicts of relations among cells are held
against linear programs over the combinations of cyclic cores, published or not: A x B, A x C and
B x C bound A x B x C, and none is negative. Blocks with more than `MOST_ATOMS` combinations are not
examined; the gaps name them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import (
    LARGE,
    TOLERANCE,
    Attacker,
    DeviationCheck,
    Gap,
    Insiders,
    JointAttacker,
    LinkedTable,
    Patches,
    Reach,
    TableCells,
    Unknowns,
    WholeAttacker,
    blocks_of,
    cores_of,
    joint_blocks,
    mobile_cells,
    outer_bounds,
)
from discreet.errors import SuppressionError
from discreet.files import texts_of
from discreet.protection.suppression.problem.system import (
    CellState,
    Earlier,
    SuppressionProblem,
    levels_against,
    unknowns_of,
)
from discreet.protection.suppression.proof.draft_pattern import (
    DraftPattern,
    prove_by_exchange,
    reach_by_patches,
)
from discreet.tables import Table

if TYPE_CHECKING:
    from discreet.disclosure import Combinations, Core


def attack_intervals(
    problem: SuppressionProblem, hidden: BoolArray, cells: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Between which values an attacker with the bounds of the problem finds cells possible.

    Lowest and highest value of every cell of the problem, in units: the true value for those
    not hidden, the bounds known beforehand for those not to be looked at.
    """
    low = np.where(hidden, problem.low, problem.value).astype(np.float64)
    high = np.where(hidden, problem.high, problem.value).astype(np.float64)
    wanted = cells & hidden
    known = unknowns_of(problem, hidden, wanted)
    mobile = mobile_cells(known)
    still = known.cells[known.sensitive & ~mobile]
    low[still] = high[still] = problem.value[still]
    for block in blocks_of(known.part(mobile)):
        if not len(block.relations):
            continue
        attacker = Attacker(block)
        for place in np.flatnonzero(wanted[block.cells]):
            cell = block.cells[place]
            for bound, side in ((low, -1.0), (high, 1.0)):
                bound[cell] = problem.value[cell] + attacker.farthest(int(place), side)[place]
                if not attacker.proven:
                    message = "an answer of the solver does not fit the relations"
                    hint = "report this: the numbers of the table are too far apart"
                    raise SuppressionError(message, code="solver", hint=hint)
    return low, high


#: Random attacks in a row that prove nothing more before cells are attacked one by one.
_PATIENCE = 4
_SEED = 20
#: Cells are moved by at most so many levels at first: what the solver sees is of one size.
_FAR = 2.0**10
#: With more hidden cells than these, exchanges of units come first.
_MANY = 5_000
#: With more cells than these that hang together, patches come before all are moved at once.
_PATCHED = 2_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Certificate:
    """Proof for each sensitive cell (confidential but for `protected`)."""

    cells: IntArray  # numbers of the sensitive cells that are hidden, ascending
    protected: BoolArray  # which of them are protected
    low: FloatArray  # how far below its true value each was seen; exact where not protected
    high: FloatArray  # how far above
    shown: IntArray  # sensitive cells that are not hidden at all
    whole: BoolArray  # which were seen to be protected by moves in whole numbers
    untested: int = 0  # how many were not tested against attackers who know that values are whole

    def columns(self) -> dict[str, Any]:
        """Copies of what is known of each cell, to be put right and put back with `replace`."""
        names = ("protected", "whole", "low", "high")
        return {name: getattr(self, name).copy() for name in names}

    @property
    def unprotected(self) -> IntArray:
        """Numbers of the sensitive cells that are not protected."""
        return np.union1d(self.shown, self.cells[~self.protected]).astype(np.int64)

    @property
    def exact(self) -> IntArray:
        """The cells among these that anyone can compute exactly."""
        return np.union1d(self.shown, self.cells[self.known]).astype(np.int64)

    @property
    def known(self) -> BoolArray:
        """Which of the hidden ones anyone can compute exactly."""
        return ~self.protected & (self.high - self.low <= TOLERANCE)

    def __repr__(self) -> str:
        open_cells = len(self.unprotected)
        return f"<Certificate (confidential): {len(self.cells):,} cells, {open_cells:,} open>"


def certify(
    problem: SuppressionProblem, hidden: BoolArray, sensitive: BoolArray | None = None
) -> Certificate:
    """Prove or refute that a pattern protects every sensitive cell, the primary ones if None."""
    unknowns = unknowns_of(problem, hidden, sensitive)
    marked = problem.primary if sensitive is None else np.flatnonzero(sensitive)
    reach = Reach.none(len(unknowns))
    if len(unknowns) > _MANY:
        draft = DraftPattern(problem, unknowns)
        prove_by_exchange(draft)
        DeviationCheck(unknowns, reach).see_all(draft.proofs)
    wanted = unknowns.sensitive & ~unknowns.protected(reach.low, reach.high)
    mobile = mobile_cells(unknowns)
    for block in blocks_of(unknowns.part(mobile), wanted=wanted[mobile]):
        at = np.searchsorted(unknowns.cells, block.cells)
        start = reach.at(at)
        _certify_block(problem, block, start)
        reach.put(at, start)
    reach.cap(*outer_bounds(unknowns))
    at = np.searchsorted(unknowns.cells, marked[hidden[marked]])
    return _certificate(unknowns, at, reach, marked[~hidden[marked]])


def _certificate(unknowns: Unknowns, at: IntArray, reach: Reach, shown: IntArray) -> Certificate:
    return Certificate(
        cells=unknowns.cells[at],
        protected=unknowns.protected(reach.low, reach.high)[at],
        low=reach.low[at],
        high=reach.high[at],
        shown=shown,
        whole=unknowns.protected(reach.whole_low, reach.whole_high)[at],
    )


def _certify_block(problem: SuppressionProblem, block: Unknowns, reach: Reach) -> None:
    """Attack the cells of one block that are open, and note their reach."""
    low, high = outer_bounds(block)
    possible = block.sensitive & block.protected(low, high)
    lost = block.sensitive & ~possible
    if not len(block.relations):
        reach.see(low, whole=True)
        reach.see(high, whole=True)
        return
    attacked = lost & (high - low > TOLERANCE)
    # Where all cells must be moved at once anyway, patches would be work on top.
    if len(block) > _PATCHED and not attacked.any():
        reach_by_patches(problem, block, reach)
    if not (attacked | (possible & ~block.protected(reach.low, reach.high))).any():
        return
    need = np.maximum.reduce([block.lower, block.upper, block.sliding, np.ones(len(block))])
    widest = _FAR * float(need[block.sensitive].max())
    first = Attacker(block, low, high, widest)
    _attack_at_random(first, possible, reach)
    attackers = {widest: first}
    plain = not first.narrowed and first.scale == 1
    for at in np.flatnonzero(attacked | (possible & ~block.protected(reach.low, reach.high))):
        # Beside cells that move far, a small level would be below what the solver can tell.
        near = _FAR * 2.0 ** (10 * np.ceil(np.log2(need[at]) / 10))
        for most in (widest,) if plain else (near, np.inf):
            if possible[at] and block.protected(reach.low, reach.high)[at]:
                break
            if most not in attackers:
                attackers[most] = Attacker(block, low, high, most)
            attacker = attackers[most]
            # To either side, where the cell was not seen to go yet.
            if reach.low[at] > attacker.low[at] + TOLERANCE:
                reach.see(attacker.farthest(int(at), -1.0), whole=attacker.whole)
            if reach.high[at] < attacker.high[at] - TOLERANCE:
                reach.see(attacker.farthest(int(at), 1.0), whole=attacker.whole)
            if not attacker.narrowed:
                break


def _attack_at_random(attacker: Attacker, possible: BoolArray, reach: Reach) -> None:
    """Move all cells that are not proven yet, each to one side, until nothing is gained."""
    block = attacker.unknowns
    draw = np.random.default_rng(_SEED)
    idle, missing = 0, -1
    while idle < _PATIENCE:
        missed = (
            reach.high < block.upper - TOLERANCE,
            reach.low > TOLERANCE - block.lower,
            reach.high - reach.low < block.sliding - TOLERANCE,
        )
        above, below, narrow = (possible & part for part in missed)
        left = int(above.sum() + below.sum() + narrow.sum())
        if not left:
            return
        idle = idle + 1 if left == missing else 0
        missing = left
        up = (above | narrow) & (~below | (draw.random(len(block)) < 0.5))
        down = (below | narrow) & ~up
        size = 1.0 / np.maximum(1.0, np.maximum(block.upper, block.lower))
        wish = np.where(up, 1.0, np.where(down, -1.0, 0.0)) * size * draw.random(len(block))
        reach.see(attacker.ask(wish / np.abs(wish).max()), whole=attacker.whole)


def certificate_from_proofs(draft: DraftPattern) -> Certificate:
    """Certificate of the cells hidden now, from stored proofs.

    Cells that they do not show to be protected count as unprotected, though they may
    well be: the certificate is on the safe side.
    """
    needed = np.unique(draft.proven[draft.proven >= 0])
    known, check, _ = draft.checked([draft.proofs[int(at)] for at in needed])
    check.reach.cap(*outer_bounds(known))
    at = np.flatnonzero(known.sensitive)
    shown = np.setdiff1d(draft.problem.primary, known.cells[at])
    return _certificate(known, at, check.reach, shown)


#: A larger gap between cost and bound is a warning.
WIDE_GAP = 0.25
#: What to do about it, by method.
_TRY = {
    "auto": "try the method optimal with a time limit of some hours, or accept it",
    "optimal": "allow more time, or accept it",
}


def gap_between(cost: float, bound: float) -> float:
    """By what share a cost may be higher than the lowest: of the bound, not of the cost.

    >>> gap_between(226, 100), gap_between(7, 7), gap_between(7, 0)
    (1.26, 0.0, inf)
    """
    if cost <= bound:
        return 0.0
    return (cost - bound) / bound if bound > 0 else math.inf


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Pattern:
    """Which cells are suppressed, and what is known about it (confidential).

    Args:
        problem: Digest of the problem that it belongs to.
        hidden: Which cells are hidden: sensitive ones and secondary suppressions.
        method: Name of the method that found it.
        cost: What the secondary suppressions cost.
        secondaries: How many they are.
        certificate: A verdict for each sensitive cell.
        bound: No pattern that protects all sensitive cells costs less; None if unknown.
        complete: Whether the method came to its end; False if a time limit stopped it.
        seconds: How long it took; not part of the digest.
        notes: What else users should know, in words.
        gaps: What was not examined of readers who know more than sums.
    """

    problem: str
    hidden: BoolArray
    method: str
    cost: int
    secondaries: int
    certificate: Certificate
    bound: int | None = None
    complete: bool = True
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def safe(self) -> bool:
        """Whether every sensitive cell is proven to be protected."""
        return not len(self.certificate.unprotected)

    @property
    def gap(self) -> float | None:
        """By what share the cost may be higher than the lowest; None if unknown."""
        gap = math.inf if self.bound is None else gap_between(self.cost, self.bound)
        return gap if math.isfinite(gap) else None

    def nearness(self, language: str = "en") -> str:
        """Gap between the cost and the lowest possible cost, in words."""
        words = texts_of("discreet.protection.suppression", "nearness", language)
        if not self.gap:
            return words["unknown" if self.gap is None else "lowest"]
        # Never less than the true share; what floats add to it is no share.
        share = max(1, math.ceil(round(1000 * self.gap, 6))) / 10
        text = f"{share:.1f}%" if language == "en" else f"{share:.1f} %".replace(".", ",")
        return words["higher"].format(text)

    @property
    def optimal(self) -> bool:
        """Whether no cheaper pattern protects all sensitive cells."""
        return self.safe and self.bound is not None and self.bound >= self.cost

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings that need a decision of the user, in words."""
        if self.bound is None or gap_between(self.cost, self.bound) <= WIDE_GAP:
            return ()
        return (f"{self.nearness()}: {_TRY.get(self.method, 'try the method auto')}",)

    def digest(self) -> str:
        """SHA-256 over the problem, the hidden cells and the verdicts."""
        digest = hashlib.sha256(b"discreet suppression pattern 1")
        digest.update(f"{self.problem} {self.method} {self.cost} {self.bound}".encode())
        digest.update(np.packbits(self.hidden).tobytes())
        digest.update(np.ascontiguousarray(self.certificate.cells, dtype="<i8").tobytes())
        digest.update(np.packbits(self.certificate.protected).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        verdict = "safe" if self.safe else "NOT safe"
        return (
            f"<Pattern (confidential) by {self.method}: {int(self.hidden.sum()):,} of "
            f"{len(self.hidden):,} cells hidden, {verdict}>"
        )


def certified(
    problem: SuppressionProblem,
    hidden: BoolArray,
    method: str,
    *,
    certificate: Certificate | None = None,
    **known: Any,
) -> Pattern:
    """A pattern with its certificate; the last step of every method.

    Sensitive cells and earlier secondaries must be hidden, fixed ones must not. A certificate
    that is there already is about exactly these cells; `known` are other fields of `Pattern`.
    """
    if (problem.hidden & ~hidden).any() or hidden[problem.state == CellState.fixed].any():
        raise SuppressionError(
            "a pattern suppresses published cells, or shows cells that must be suppressed",
            code="pattern",
        )
    return Pattern(
        problem=problem.digest(),
        hidden=hidden,
        method=method,
        cost=problem.cost_of(hidden),
        secondaries=int((hidden & (problem.state != CellState.primary)).sum()),
        certificate=certificate or certify(problem, hidden),
        **known,
    )


def pattern_of_part(
    pattern: Pattern, problem: SuppressionProblem, cells: slice, scale: int = 1
) -> Pattern:
    """The part of a pattern over several problems that belongs to one of them."""
    hidden = pattern.hidden[cells]
    own = pattern.certificate
    mine = (own.cells >= cells.start) & (own.cells < cells.stop)
    shown = own.shown[(own.shown >= cells.start) & (own.shown < cells.stop)]
    return replace(
        pattern,
        problem=problem.digest(),
        hidden=hidden,
        cost=problem.cost_of(hidden),
        secondaries=int((hidden & (problem.state != CellState.primary)).sum()),
        certificate=replace(
            own,
            cells=own.cells[mine] - cells.start,
            protected=own.protected[mine],
            low=own.low[mine] / scale,
            high=own.high[mine] / scale,
            shown=shown - cells.start,
            whole=own.whole[mine],
        ),
        bound=None,
    )


#: Blocks of more combinations are not examined; of a core, at most so many are listed at all.
MOST_ATOMS = 5_000
MOST_LISTED = 500_000
#: So many contributors who stand alone in cells of a core are examined, one by one.
_MOST_INSIDERS = 200


def linked_with_earlier(
    members: TableCells,
    tables: Sequence[Table],
    values: Sequence[str | None],
    earlier: Sequence[Earlier],
) -> list[LinkedTable]:
    """The tables that readers lay side by side, those published before of the same data included.

    Combinations of other data are others.
    """
    number = len(members.cells)
    rows = zip(tables, members.cells, values, members.partitions[:number], strict=True)
    listed = [LinkedTable(*row) for row in rows]
    if not len(members.changed):
        before = zip(earlier, members.before, members.partitions[number:], strict=True)
        listed += [LinkedTable(item.table, own, values[0], known) for item, own, known in before]
    return listed


def held_in_joint_cubes(
    problem: SuppressionProblem,
    hidden: BoolArray,
    certificate: Certificate,
    tables: Sequence[LinkedTable],
) -> tuple[Certificate, tuple[Gap, ...]]:
    """The certificate in which cells are open that a joint cube opens; what was not examined."""
    gaps: dict[Gap, None] = {}
    for core, joint, whole in _cubes(problem, hidden, tables):
        certificate, left = _held(problem, hidden, certificate, joint, whole=whole)
        if left:
            gaps[Gap("joint-cube", core.about, left)] = None
    return certificate, tuple(gaps)


def _cubes(
    problem: SuppressionProblem, hidden: BoolArray, tables: Sequence[LinkedTable]
) -> list[tuple[Core, Combinations | int, bool]]:
    """The cores of each value, with their combinations; whether these are whole numbers."""
    return [
        (core, core.combinations(MOST_LISTED), value is None)
        for value in dict.fromkeys(table.value for table in tables)
        for core in cores_of(
            problem.value, problem.low, hidden, [t for t in tables if t.value == value]
        )
    ]


def opened_to_insiders(
    problem: SuppressionProblem,
    hidden: BoolArray,
    insiders: Insiders,
    tables: Sequence[LinkedTable],
    most: int = 1,
) -> tuple[IntArray, tuple[Gap, ...]]:
    """Sensitive cells that contributors compute exactly who take away what is theirs alone.

    They know that no combination is negative; relations among cells alone keep these cells from
    them. How near they come to others does not count. Coalitions of `most` contributors are
    not examined, nor are more contributors than `_MOST_INSIDERS`: the gaps name the cores.
    """
    problem, gaps = levels_against(problem, 0.0), []
    opened = np.zeros(len(problem), dtype=np.bool_)
    for core, joint, whole in _cubes(problem, hidden, tables):
        if isinstance(joint, int):
            continue  # this is a gap for all readers
        inside = np.zeros(len(problem), dtype=np.bool_)
        inside[joint.cell] = True
        alone = list(insiders.behind(hidden & inside))
        left = len(alone) if len(alone) > 1 and most > 1 else len(alone[_MOST_INSIDERS:])
        for _, own in alone[:_MOST_INSIDERS]:
            rest = hidden.copy()
            rest[own] = False
            before = certify(problem, rest, rest & (problem.state == CellState.primary) & ~opened)
            after, large = _held(problem, rest, before, joint, whole=whole)
            lost = after.cells[before.protected & ~after.protected]
            # Where tables name nobody, a lone contributor with the same value may be he himself.
            who = insiders.owner if insiders.group is None else insiders.group
            his = (who[lost] >= 0) & np.isin(who[lost], who[own])
            opened[lost[~his]] = True
            left = max(left, int(large > 0))
        if left:
            gaps.append(Gap("joint-contributors", core.about, left))
    return np.flatnonzero(opened).astype(np.int64), tuple(gaps)


def _held(
    problem: SuppressionProblem,
    hidden: BoolArray,
    certificate: Certificate,
    joint: Combinations | int,
    *,
    whole: bool,
) -> tuple[Certificate, int]:
    """The certificate held against one core, and how many combinations were not examined.

    Of cells that are open already, it says which are exactly known.
    """
    if certificate.known.all():
        return certificate, 0
    if isinstance(joint, int):
        return certificate, joint
    columns = certificate.columns()
    left = 0
    wanted = certificate.cells[~certificate.known]
    for block in joint_blocks(unknowns_of(problem, hidden), problem.value, wanted, joint):
        if block.atoms > MOST_ATOMS:
            left += block.atoms
            continue
        attack = JointAttacker(block, whole=whole, slack=np.zeros_like(block.slack))
        if not attack.feasible:  # sums of rounded figures may miss rounded sums
            attack = JointAttacker(block, whole=whole, slack=block.slack)
        places = np.searchsorted(certificate.cells, block.cells)
        for cell, place in zip(block.watched.tolist(), places, strict=True):
            if not certificate.protected[place] and attack.moves(cell):
                continue
            reach = attack.reached(cell)
            if reach is None:
                left += block.atoms
                break
            low, high, enough = reach
            if not enough:
                columns["protected"][place] = columns["whole"][place] = False
                columns["low"][place], columns["high"][place] = low, high
    return replace(certificate, **columns), left


#: So many cells move at most.
MOST_CELLS = 100
#: In large blocks so many cells around one move, one after the other where fewer leave it open.
_AROUND = (100, 300, 600)
#: Of so many cells in large blocks the surroundings are searched for whole moves.
_SEARCHED = 300
#: Where levels are so many steps of whole numbers, these say next to nothing.
_STEPS = 2.0


def held_in_whole_numbers(
    problem: SuppressionProblem, hidden: BoolArray, certificate: Certificate
) -> Certificate:
    """The certificate in which cells count as open that no whole numbers protect."""
    left = np.flatnonzero(certificate.protected & ~certificate.whole)
    if not left.size:
        return certificate
    watched = np.zeros(len(problem), dtype=np.bool_)
    watched[certificate.cells[left]] = True
    known = unknowns_of(problem, hidden, watched)
    least, most = outer_bounds(known)
    columns = certificate.columns()
    untested, searched = certificate.untested, 0
    for block in blocks_of(known.part(most - least > TOLERANCE)):
        number = np.searchsorted(known.cells, block.cells)
        attacker = WholeAttacker(block, least[number], most[number])
        at = np.flatnonzero(block.sensitive)
        place = np.searchsorted(certificate.cells, block.cells[at])
        if attacker.network:
            columns["whole"][place] = True
        elif len(block) > MOST_CELLS:
            fine, equally_far = _finely(block), np.ones(len(block))
            patches = Patches(block.relations, np.ones(len(block), dtype=np.bool_))
            columns["whole"][place[fine[at]]] = True
            for cell, own in zip(at[~fine[at]].tolist(), place[~fine[at]].tolist(), strict=True):
                moved = False
                searched += 1
                for many in _AROUND if searched <= _SEARCHED else ():
                    near = np.zeros(len(block), dtype=np.bool_)
                    near[patches.nearest(np.array([cell]), many, equally_far)] = True
                    close = WholeAttacker(block.part(near), least[number][near], most[number][near])
                    reach = close.reached(int(near[:cell].sum()))
                    moved = reach is not None and reach[2]
                    if moved:
                        break
                columns["whole"][own] = moved
                untested += not moved
        else:
            for cell, own in zip(at.tolist(), place.tolist(), strict=True):
                reach = attacker.reached(cell)
                untested += reach is None
                if reach is not None:
                    columns["whole"][own] = columns["protected"][own] = reach[2]
                    if not reach[2]:
                        columns["low"][own], columns["high"][own] = reach[:2]
    return replace(certificate, **columns, untested=int(untested))


def untested_gaps(certificate: Certificate) -> tuple[Gap, ...]:
    """Gaps that were not examined; empty if there are none."""
    return (Gap("whole-numbers", "", certificate.untested),) if certificate.untested else ()


def _finely(block: Unknowns) -> BoolArray:
    """For which cells whole numbers are steps that are small beside their levels.

    Of relations with large coefficients alone: 1,000 thousands are about a million euros.
    """
    links = block.relations
    size = np.bincount(links.row, np.abs(links.coef), minlength=len(links))
    step = np.ones(len(block))
    np.maximum.at(step, links.cell, size[links.row] / np.abs(links.coef))
    levels = np.maximum.reduce([block.lower, block.upper, block.sliding])
    fine: BoolArray = levels >= _STEPS * step
    return fine if size.max(initial=0) > LARGE else np.zeros_like(fine)
