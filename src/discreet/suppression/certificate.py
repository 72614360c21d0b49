"""Whether a pattern protects every sensitive cell: a proof for each, or a refutation.

In: a `SuppressionProblem` and the cells hidden in it. Out: a verdict per sensitive cell
(who may be told) and how far each can move (CONFIDENTIAL). Bounds from outside refute;
solutions of a few attacks with random wishes prove many cells at once, because every
solution fits everything published; what is left is attacked cell by cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.suppression.attacker import Attacker
from discreet.suppression.patching import patched
from discreet.suppression.problem import SuppressionProblem
from discreet.suppression.propagation import outer_bounds
from discreet.suppression.sweeping import swept
from discreet.suppression.unknowns import TOLERANCE, Unknowns, blocks_of, unknowns_of

__all__ = ["Certificate", "certify"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Random attacks in a row that prove nothing more before cells are attacked one by one.
_PATIENCE = 4
_SEED = 20
#: With more hidden cells than these, waves come before linear programs.
_SWEPT = 5_000
#: With more than these, patches do, before all cells that hang together are moved at once.
_PATCHED = 3_000


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Certificate:
    """What became of each sensitive cell (confidential but for `protected`).

    Args:
        cells: Numbers of the sensitive cells that are hidden, ascending.
        protected: Which of them are protected.
        low: How far below its true value each was seen; exact where not protected.
        high: How far above.
        shown: Sensitive cells that are not hidden at all.
        solved: Number of linear programs that were needed.
    """

    cells: IntArray
    protected: BoolArray
    low: FloatArray
    high: FloatArray
    shown: IntArray
    solved: int

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
    """How far cells were seen to move."""

    low: FloatArray
    high: FloatArray

    def see(self, solution: FloatArray) -> None:
        np.minimum(self.low, solution, out=self.low)
        np.maximum(self.high, solution, out=self.high)


def certify(
    problem: SuppressionProblem, hidden: BoolArray, sensitive: BoolArray | None = None
) -> Certificate:
    """Prove or refute that a pattern protects every sensitive cell.

    Args:
        problem: The cells, their levels and relations.
        hidden: Which cells are hidden.
        sensitive: Which cells to look at; the primary cells unless given.
    """
    unknowns = unknowns_of(problem, hidden, sensitive)
    marked = problem.primary if sensitive is None else np.flatnonzero(sensitive)
    seen = _Reach(np.zeros(len(problem)), np.zeros(len(problem)))
    safe = np.zeros(len(problem), dtype=np.bool_)
    sweep = swept(problem, hidden, unknowns) if len(unknowns) > _SWEPT else None
    solved = 0 if sweep is None else sweep.waves
    if sweep is not None:
        seen.low[unknowns.cells], seen.high[unknowns.cells] = sweep.low, sweep.high
        safe[unknowns.cells] = unknowns.protected(sweep.low, sweep.high)
    if len(unknowns) > _PATCHED:
        at = unknowns.cells
        seen.low[at], seen.high[at], more = patched(problem, unknowns, seen.low[at], seen.high[at])
        safe[at] = unknowns.protected(seen.low[at], seen.high[at])
        solved += more
    for block in blocks_of(unknowns):
        if safe[block.cells[block.sensitive]].all():
            continue
        start = _Reach(seen.low[block.cells], seen.high[block.cells])
        reach, protected, attacks = _certify_block(block, start)
        seen.low[block.cells], seen.high[block.cells] = reach.low, reach.high
        safe[block.cells] = protected
        solved += attacks
    looked_at = marked[hidden[marked]]
    return Certificate(
        cells=looked_at,
        protected=safe[looked_at],
        low=seen.low[looked_at],
        high=seen.high[looked_at],
        shown=marked[~hidden[marked]],
        solved=solved,
    )


def _certify_block(block: Unknowns, reach: _Reach) -> tuple[_Reach, BoolArray, int]:
    """Verdicts for one block: reach, protected, number of attacks.

    Args:
        block: The block.
        reach: How far its cells were seen to move already.
    """
    low, high = outer_bounds(block)
    possible = block.sensitive & block.protected(low, high)
    lost = block.sensitive & ~possible
    if not len(block.relations):
        return _Reach(low, high), possible, 0
    attacker = Attacker(block, low, high)
    _attack_at_random(attacker, possible, reach)
    left = (possible & ~block.protected(reach.low, reach.high)) | (lost & (high - low > TOLERANCE))
    for at in np.flatnonzero(left):
        if possible[at] and block.protected(reach.low, reach.high)[at]:
            continue
        for solution in attacker.reach(int(at)):
            reach.see(solution)
    return reach, possible & block.protected(reach.low, reach.high), attacker.solved


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
        reach.see(attacker.ask(wish / np.abs(wish).max()))
