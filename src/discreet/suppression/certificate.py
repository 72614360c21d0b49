"""Whether a pattern protects every sensitive cell: a proof for each, or a refutation.

In: a `SuppressionProblem` and the cells hidden in it. Out: a verdict per sensitive cell
(who may be told) and how far each can move (CONFIDENTIAL). Circuits of hidden cells prove
most; they also show which cells cannot move. Bounds from outside refute; solutions of a few
attacks with random wishes prove many cells at once, because every solution fits everything
published; what is left is attacked cell by cell.
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
from discreet.suppression.turning import turned
from discreet.suppression.unknowns import TOLERANCE, Unknowns, blocks_of, unknowns_of

__all__ = ["Certificate", "certify"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Random attacks in a row that prove nothing more before cells are attacked one by one.
_PATIENCE = 4
_SEED = 20
#: With more hidden cells than these, waves do what circuits were too long for.
_SWEPT = 5_000
#: With more cells than these that hang together, patches come before all are moved at once.
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
    turn = turned(unknowns)
    reach, solved = _Reach(turn.low, turn.high), 0
    if turn.label is None:
        solved = _sweep(problem, hidden, unknowns, reach)
    wanted = unknowns.sensitive & ~turn.exact & ~unknowns.protected(reach.low, reach.high)
    for block in blocks_of(unknowns, turn.label, wanted):
        at = np.searchsorted(unknowns.cells, block.cells)
        start = _Reach(reach.low[at], reach.high[at])
        solved += _certify_block(problem, block, start)
        reach.low[at], reach.high[at] = start.low, start.high
    looked_at = marked[hidden[marked]]
    at = np.searchsorted(unknowns.cells, looked_at)
    return Certificate(
        cells=looked_at,
        protected=unknowns.protected(reach.low, reach.high)[at],
        low=reach.low[at],
        high=reach.high[at],
        shown=marked[~hidden[marked]],
        solved=solved,
    )


def _sweep(
    problem: SuppressionProblem, hidden: BoolArray, unknowns: Unknowns, reach: _Reach
) -> int:
    """See how far waves move cells, where there are many; gives the number of waves."""
    sweep = swept(problem, hidden, unknowns) if len(unknowns) > _SWEPT else None
    if sweep is None:
        return 0
    reach.see(sweep.low)
    reach.see(sweep.high)
    return sweep.waves


def _certify_block(problem: SuppressionProblem, block: Unknowns, reach: _Reach) -> int:
    """Attack the cells of one block that are open; gives the number of attacks.

    Args:
        problem: The problem.
        block: The block.
        reach: How far its cells were seen to move already; changed.
    """
    low, high = outer_bounds(block)
    possible = block.sensitive & block.protected(low, high)
    lost = block.sensitive & ~possible
    if not len(block.relations):
        reach.see(low)
        reach.see(high)
        return 0
    attacked = lost & (high - low > TOLERANCE)
    solved = 0
    # Where all cells must be moved at once anyway, patches would be work on top.
    if len(block) > _PATCHED and not attacked.any():
        reach.low, reach.high, solved = patched(problem, block, reach.low, reach.high)
    if not (attacked | (possible & ~block.protected(reach.low, reach.high))).any():
        return solved
    attacker = Attacker(block, low, high)
    _attack_at_random(attacker, possible, reach)
    for at in np.flatnonzero(attacked | (possible & ~block.protected(reach.low, reach.high))):
        if possible[at] and block.protected(reach.low, reach.high)[at]:
            continue
        if reach.low[at] > low[at] + TOLERANCE:
            reach.see(attacker.lowest(int(at)))
        if reach.high[at] < high[at] - TOLERANCE:
            reach.see(attacker.highest(int(at)))
    return solved + attacker.solved


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
