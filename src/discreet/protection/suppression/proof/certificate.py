"""`Certificate` and `Pattern`: proofs that hidden cells protect sensitive ones. CONFIDENTIAL.

In: a `SuppressionProblem` and the cells hidden in it, perhaps with proofs. Out: a verdict
per sensitive cell and how far each can move. Circuits prove most; bounds from outside
refute; solutions of attacks with random wishes prove many cells at once; what is left is
attacked cell by cell. Stored proofs are checked, none is believed. A `Pattern` is the
hidden cells with their certificate, cost and bound; only which cells are hidden is
published.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.problem.unknowns import (
    TOLERANCE,
    Unknowns,
    blocks_of,
    outer_bounds,
    unknowns_of,
)
from discreet.protection.suppression.proof.attacker import Attacker
from discreet.protection.suppression.proof.circuits import bounds_by_circuits
from discreet.protection.suppression.proof.deviations import DeviationCheck
from discreet.protection.suppression.proof.draft_pattern import DraftPattern, Proof, fitting_proofs
from discreet.protection.suppression.proof.local_lp import bounds_by_patches
from discreet.protection.suppression.proof.projection_bounds import bounds_by_projection

#: Random attacks in a row that prove nothing more before cells are attacked one by one.
_PATIENCE = 4
_SEED = 20
#: Cells are moved by at most so many levels at first: what the solver sees is of one size.
_FAR = 2.0**10
#: With more hidden cells than these, joint moves do what circuits were too long for.
_SWEPT = 5_000
#: With more cells than these that hang together, patches come before all are moved at once.
_PATCHED = 3_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Certificate:
    """What became of each sensitive cell (confidential but for `protected`)."""

    cells: IntArray  # numbers of the sensitive cells that are hidden, ascending
    protected: BoolArray  # which of them are protected
    low: FloatArray  # how far below its true value each was seen; exact where not protected
    high: FloatArray  # how far above
    shown: IntArray  # sensitive cells that are not hidden at all
    solved: int  # number of linear programs that were needed
    whole: BoolArray  # which were seen to be protected by moves in whole numbers
    untested: int = 0  # how many were not tested against attackers who know that values are whole

    @property
    def unprotected(self) -> IntArray:
        """Numbers of the sensitive cells that are not protected."""
        return np.union1d(self.shown, self.cells[~self.protected]).astype(np.int64)

    @property
    def exact(self) -> IntArray:
        """Those among them that anyone can compute exactly."""
        width = self.high - self.low
        known = ~self.protected & (width <= TOLERANCE)
        return np.union1d(self.shown, self.cells[known]).astype(np.int64)

    def __repr__(self) -> str:
        open_cells = len(self.unprotected)
        return f"<Certificate (confidential): {len(self.cells):,} cells, {open_cells:,} open>"


@dataclass
class _Reach:
    """How far cells were seen to move, and how far in whole numbers."""

    low: FloatArray
    high: FloatArray
    whole_low: FloatArray
    whole_high: FloatArray

    @classmethod
    def of(cls, low: FloatArray, high: FloatArray) -> _Reach:
        return cls(low, high, np.zeros(len(low)), np.zeros(len(high)))

    def see(self, solution: FloatArray, *, whole: bool = False) -> None:
        np.minimum(self.low, solution, out=self.low)
        np.maximum(self.high, solution, out=self.high)
        if whole:
            np.minimum(self.whole_low, solution, out=self.whole_low)
            np.maximum(self.whole_high, solution, out=self.whole_high)

    def at(self, cells: IntArray) -> _Reach:
        columns = (self.low, self.high, self.whole_low, self.whole_high)
        return _Reach(*(column[cells] for column in columns))

    def put(self, cells: IntArray, other: _Reach) -> None:
        for name, column in vars(other).items():
            getattr(self, name)[cells] = column

    def cap(self, low: FloatArray, high: FloatArray) -> None:
        """Nothing moves beyond bounds that hold for sure, whatever a solver answered."""
        for name in ("low", "whole_low"):
            setattr(self, name, np.maximum(getattr(self, name), low))
        for name in ("high", "whole_high"):
            setattr(self, name, np.minimum(getattr(self, name), high))


def certify(
    problem: SuppressionProblem, hidden: BoolArray, sensitive: BoolArray | None = None
) -> Certificate:
    """Prove or refute that a pattern protects every sensitive cell, the primary ones if None."""
    unknowns = unknowns_of(problem, hidden, sensitive)
    marked = problem.primary if sensitive is None else np.flatnonzero(sensitive)
    circuit = bounds_by_circuits(unknowns)
    reach = _Reach(circuit.low, circuit.high, circuit.whole_low, circuit.whole_high)
    solved = 0
    if circuit.label is None and len(unknowns) > _SWEPT:
        solved = _sweep(problem, hidden, unknowns, reach)
    wanted = unknowns.sensitive & ~circuit.exact & ~unknowns.protected(reach.low, reach.high)
    for block in blocks_of(unknowns, circuit.label, wanted):
        at = np.searchsorted(unknowns.cells, block.cells)
        start = reach.at(at)
        solved += _certify_block(problem, block, start)
        reach.put(at, start)
    reach.cap(circuit.least, circuit.most)
    looked_at = marked[hidden[marked]]
    at = np.searchsorted(unknowns.cells, looked_at)
    return _certificate(unknowns, at, reach, shown=marked[~hidden[marked]], solved=solved)


def _certificate(
    unknowns: Unknowns, at: IntArray, reach: _Reach, shown: IntArray, solved: int
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


def _sweep(
    problem: SuppressionProblem, hidden: BoolArray, unknowns: Unknowns, reach: _Reach
) -> int:
    """See how far joint moves move cells, where there are many; gives the number of joint moves."""
    sweep = bounds_by_projection(problem, hidden, unknowns) if len(unknowns) > _SWEPT else None
    if sweep is None:
        return 0
    low, high, number = sweep
    reach.see(low)
    reach.see(high)
    return number


def _certify_block(problem: SuppressionProblem, block: Unknowns, reach: _Reach) -> int:
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
        fit = DeviationCheck(block, reach.low.copy(), reach.high.copy())
        bounds = bounds_by_patches(problem, block, reach.low, reach.high, fit)
        reach.low, reach.high, solved = bounds
        np.minimum(reach.whole_low, fit.whole_low, out=reach.whole_low)
        np.maximum(reach.whole_high, fit.whole_high, out=reach.whole_high)
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
            _attack_cell(attackers[most], int(at), reach)
            if not attackers[most].narrowed:
                break
    return solved + sum(attacker.solved for attacker in attackers.values())


def _attack_cell(attacker: Attacker, at: int, reach: _Reach) -> None:
    """Move one cell as far as it goes to either side, where it was not seen to go yet."""
    if reach.low[at] > attacker.low[at] + TOLERANCE:
        reach.see(attacker.lowest(at), whole=attacker.whole)
    if reach.high[at] < attacker.high[at] - TOLERANCE:
        reach.see(attacker.highest(at), whole=attacker.whole)


def _attack_at_random(attacker: Attacker, possible: BoolArray, reach: _Reach) -> None:
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
    """What the stored proofs show about the cells hidden now.

    Cells that they do not show to be protected count as unprotected, though they may
    well be: the certificate is on the safe side.
    """
    problem, hidden = draft.problem, draft.mask()
    known = unknowns_of(problem, hidden)
    number = np.full(len(problem), -1, dtype=np.int64)
    number[known.cells] = np.arange(len(known))
    needed = np.unique(draft.proven[draft.proven >= 0])
    proofs = [draft.proofs[int(at)] for at in needed]
    moved = [Proof(cells=number[draft.unknowns.cells[p.cells]], moved=p.moved) for p in proofs]
    fit = DeviationCheck(known, np.zeros(len(known)), np.zeros(len(known)))
    fitting_proofs(known, moved, fit.low, fit.high, fit)
    reach = _Reach(fit.low, fit.high, fit.whole_low, fit.whole_high)
    reach.cap(*outer_bounds(known))
    at = np.flatnonzero(known.sensitive)
    shown = np.setdiff1d(problem.primary, known.cells[at])
    return _certificate(known, at, reach, shown=shown, solved=draft.solved)


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


#: How near a cost is to the lowest possible: the one sentence that every report has.
_NEARNESS = {
    "lowest": {
        "en": "no cheaper pattern is safe",
        "de": "kein günstigeres Sperrmuster ist sicher",
    },
    "higher": {
        "en": "the cost may be up to {} higher than that of the cheapest safe pattern",
        "de": "die Kosten können bis zu {} höher sein als die des günstigsten sicheren "
        "Sperrmusters",
    },
    "unknown": {
        "en": "the lowest cost of a safe pattern is not known",
        "de": "die geringsten Kosten eines sicheren Sperrmusters sind nicht bekannt",
    },
}


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Pattern:
    """Which cells are hidden, and what is known about it (confidential).

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
        """How near the cost is to the lowest possible, in words."""
        if self.gap is None:
            return _NEARNESS["unknown"][language]
        if not self.gap:
            return _NEARNESS["lowest"][language]
        # Never less than the true share; what floats add to it is no share.
        share = max(1, math.ceil(round(1000 * self.gap, 6))) / 10
        text = f"{share:.1f}%" if language == "en" else f"{share:.1f} %".replace(".", ",")
        return _NEARNESS["higher"][language].format(text)

    @property
    def optimal(self) -> bool:
        """Whether no cheaper pattern protects all sensitive cells."""
        return self.safe and self.bound is not None and self.bound >= self.cost

    @property
    def warnings(self) -> tuple[str, ...]:
        """What users should decide about, in words."""
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
            "a pattern hides published cells or shows cells that must be hidden", code="pattern"
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
    """What a pattern over several problems, one after the other, says of one of them."""
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
        certificate=Certificate(
            cells=own.cells[mine] - cells.start,
            protected=own.protected[mine],
            low=own.low[mine] / scale,
            high=own.high[mine] / scale,
            shown=shown - cells.start,
            solved=own.solved,
            whole=own.whole[mine],
            untested=own.untested,
        ),
        bound=None,
    )
