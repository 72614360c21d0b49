"""`Certificate` and `Pattern`: proofs that hidden cells protect sensitive ones. CONFIDENTIAL.

Bounds from outside refute; answers of linear programs with random wishes prove many cells at once,
in patches where many hang together; what is left is attacked cell by cell. Stored proofs are
checked, none is believed. What is worked out from published values alone may itself be published
(`published_intervals`); of a `Pattern`, only which cells are hidden.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import (
    TOLERANCE,
    Attacker,
    DeviationCheck,
    Gap,
    Reach,
    Unknowns,
    blocks_of,
    mobile_cells,
    outer_bounds,
)
from discreet.errors import SuppressionError
from discreet.files import texts_of
from discreet.protection.suppression.problem.system import (
    CellState,
    SuppressionProblem,
    unknowns_of,
)
from discreet.protection.suppression.proof.draft_pattern import (
    DraftPattern,
    prove_by_exchange,
    reach_by_patches,
)


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
    solved: int  # number of linear programs that were needed
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
    reach, solved = Reach.none(len(unknowns)), 0
    if len(unknowns) > _MANY:
        draft = DraftPattern(problem, unknowns)
        prove_by_exchange(draft)
        DeviationCheck(unknowns, reach).see_all(draft.proofs)
    wanted = unknowns.sensitive & ~unknowns.protected(reach.low, reach.high)
    mobile = mobile_cells(unknowns)
    for block in blocks_of(unknowns.part(mobile), wanted=wanted[mobile]):
        at = np.searchsorted(unknowns.cells, block.cells)
        start = reach.at(at)
        solved += _certify_block(problem, block, start)
        reach.put(at, start)
    reach.cap(*outer_bounds(unknowns))
    at = np.searchsorted(unknowns.cells, marked[hidden[marked]])
    return _certificate(unknowns, at, reach, shown=marked[~hidden[marked]], solved=solved)


def _certificate(
    unknowns: Unknowns, at: IntArray, reach: Reach, shown: IntArray, solved: int
) -> Certificate:
    return Certificate(
        cells=unknowns.cells[at],
        protected=unknowns.protected(reach.low, reach.high)[at],
        low=reach.low[at],
        high=reach.high[at],
        shown=shown,
        solved=solved,
        whole=unknowns.protected(reach.whole_low, reach.whole_high)[at],
    )


def _certify_block(problem: SuppressionProblem, block: Unknowns, reach: Reach) -> int:
    """Attack the cells of one block that are open, and note their reach; gives the attacks."""
    low, high = outer_bounds(block)
    possible = block.sensitive & block.protected(low, high)
    lost = block.sensitive & ~possible
    if not len(block.relations):
        reach.see(low, whole=True)
        reach.see(high, whole=True)
        return 0
    attacked = lost & (high - low > TOLERANCE)
    solved = 0
    # Where all cells must be moved at once anyway, patches would be work on top.
    if len(block) > _PATCHED and not attacked.any():
        solved = reach_by_patches(problem, block, reach)
    if not (attacked | (possible & ~block.protected(reach.low, reach.high))).any():
        return solved
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
    return solved + sum(attacker.solved for attacker in attackers.values())


def _attack_at_random(attacker: Attacker, possible: BoolArray, reach: Reach) -> None:
    """Move all cells that are not proven yet, each to one side, until nothing is gained."""
    block = attacker.unknowns
    draw = np.random.default_rng(_SEED)
    idle, missing = 0, -1
    while idle < _PATIENCE:
        above = possible & (reach.high < block.upper - TOLERANCE)
        below = possible & (reach.low > TOLERANCE - block.lower)
        narrow = possible & (reach.high - reach.low < block.sliding - TOLERANCE)
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
    return _certificate(known, at, check.reach, shown=shown, solved=draft.solved)


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
