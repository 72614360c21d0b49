"""`Separator`: attacks on fractional patterns, and the cuts that follow. CONFIDENTIAL.

In: the movable cells and how much of each is hidden (0 to 1). Out: for each aim either a
way to move that reaches its level – kept, as it stays a proof while the cells it needs
stay hidden – or a cut that the fractional pattern violates.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.attacker import loaded_solver
from discreet.suppression.cuts import Aims, Cut, Movable, aims_of, capacity_cut

__all__ = ["Separator", "Way"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Smallest share of its level by which an aim must be missed.
_MISSED = 1e-6
#: Needs are checked with this tolerance.
_ENOUGH = 1e-7
#: Moves of at most so much of a level are rounding.
_STILL = 1e-9
#: So far does a cell move in wide attacks, in levels; more only worsens the numbers.
_WIDE = 2.0**16


@dataclass(frozen=True)
class Way:
    """A way to reach a level: how much of each cell must be hidden for it."""

    cells: IntArray
    need: FloatArray

    @classmethod
    def of(cls, need: FloatArray) -> Way:
        """From the need of every cell, 0 for most."""
        cells = np.flatnonzero(need).astype(np.int64)
        return cls(cells, np.minimum(need[cells], 1.0))

    def fits(self, x: FloatArray) -> bool:
        """Whether enough is hidden for it."""
        return bool((self.need <= x[self.cells] + _ENOUGH).all())


class Separator:
    """One warm linear program, asked for one aim after the other.

    Deviations are in levels of the aim, and none is let move by more than one level:
    this never makes an attack easier, and what multipliers it leads to gives cuts that
    stay strong after their coefficients are cut down.

    Args:
        movable: The cells.
    """

    def __init__(self, movable: Movable) -> None:
        import highspy

        self._status = highspy.HighsModelStatus
        self.movable = movable
        self.aims: Aims = aims_of(movable.unknowns)
        self.solved = 0
        self._ways: list[dict[str, Way]] = [{} for _ in range(len(self.aims))]
        self._low = np.zeros(len(movable))
        self._high = np.zeros(len(movable))
        self._wished = -1
        still = np.zeros(len(movable))
        self._solver = loaded_solver(movable.unknowns.relations, still, still)
        self._solver.setOptionValue("simplex_strategy", 4)

    def open_at(self, x: FloatArray) -> IntArray:
        """The aims without a known way to reach them."""
        known = (any(way.fits(x) for way in ways.values()) for ways in self._ways)
        return np.flatnonzero(~np.fromiter(known, np.bool_, len(self.aims))).astype(np.int64)

    def learn(self, at: int, way: Way) -> None:
        """Take in a way to reach an aim that was found elsewhere."""
        self._ways[at]["learned"] = way

    def cuts(self, x: FloatArray, blur: float, until: float) -> list[Cut]:
        """Cuts that a fractional pattern violates.

        Args:
            x: How much of each cell is hidden.
            blur: So much more of each cell is taken as hidden: cuts then cover fewer cells.
            until: When to stop, by the monotonic clock.
        """
        blurred = np.where(self.movable.forced, 1.0, np.minimum(x + blur, 1.0))
        found: dict[tuple[bytes, bytes], Cut] = {}
        for at in self.open_at(blurred):
            if time.monotonic() > until:
                break
            multipliers = self._attack(int(at), blurred)
            cut = self._cut(int(at), multipliers, x)
            if cut is not None:
                found.setdefault(cut.key, cut)
        return list(found.values())

    def cut_for(self, at: int, x: FloatArray) -> Cut | None:
        """A cut for an aim that a pattern misses even if cells move by many levels."""
        return self._cut(at, self._attack(at, x, _WIDE), x)

    def _cut(self, at: int, multipliers: tuple[FloatArray, ...], x: FloatArray) -> Cut | None:
        if not multipliers:
            return None
        cut = capacity_cut(self.movable, self.aims, at, multipliers)
        return cut if cut is not None and cut.missing(x) > _MISSED else None

    def _attack(self, at: int, x: FloatArray, most: float = 1.0) -> tuple[FloatArray, ...]:
        """Multipliers that show that an aim is missed; none if it is reached."""
        cell, level = int(self.aims.cell[at]), float(self.aims.level[at])
        reached, need, multipliers = 0.0, np.zeros(len(x)), []
        low = np.maximum(self.movable.low / level, -most)
        high = np.minimum(self.movable.high / level, most)
        for side in self.aims.sides(at):
            moved, duals = self._move(cell, side, low * x, high * x)
            multipliers.append(duals)
            reached += side * float(moved[cell])
            room = np.where(moved > 0, high, low)
            # Where there is no room at all, what moves is the solver's tolerance.
            real = (np.abs(moved) > _STILL) & (room != 0)
            share = np.divide(moved, room, out=np.zeros(len(x)), where=real)
            np.maximum(need, share, out=need)
        if reached < 1.0 - _MISSED:
            return tuple(multipliers)
        need[self.movable.forced] = 0.0
        self._ways[at]["found"] = Way.of(need)
        return ()

    def _move(
        self, cell: int, side: int, low: FloatArray, high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The farthest that a cell moves to a side, and what shows that it is the farthest."""
        low[cell], high[cell] = (0.0, high[cell]) if side > 0 else (low[cell], 0.0)
        changed = np.flatnonzero((low != self._low) | (high != self._high)).astype(np.int32)
        if changed.size:
            self._solver.changeColsBounds(changed.size, changed, low[changed], high[changed])
        self._low, self._high = low, high
        if self._wished >= 0:
            self._solver.changeColCost(self._wished, 0.0)
        self._solver.changeColCost(cell, -float(side))
        self._wished = cell
        self._run()
        if self._solver.getModelStatus() != self._status.kOptimal:
            raise SuppressionError(
                "the solver found no answer to an attack",
                code="solver",
                hint="report this: standing still is always possible",
            )
        answer = self._solver.getSolution()
        moved = np.array(answer.col_value, dtype=np.float64)
        return moved, -np.array(answer.row_dual, dtype=np.float64)

    def _run(self) -> None:
        """Solve from where the last attack ended; anew, and dual, if that leads nowhere."""
        self._solver.run()
        self.solved += 1
        if self._solver.getModelStatus() == self._status.kOptimal:
            return
        self._solver.clearSolver()
        self._solver.setOptionValue("simplex_strategy", 1)
        self._solver.run()
        self._solver.setOptionValue("simplex_strategy", 4)
