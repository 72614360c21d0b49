"""What somebody can work out about withheld cells from all that several tables show.

In: a `LinkedSystem`. Out: for each withheld cell the smallest and largest number of records that
fits everything shown, and from which shown cells the nearer of both follows. Shown cells, the
possible combinations and that no withheld inner cell is empty are all that is used; still the
intervals are CONFIDENTIAL, as they may meet the true value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray, starts
from discreet.errors import OutputCheckError
from discreet.solver import is_optimal, loaded_solver
from discreet_fire.linked_tables.system import LinkedSystem

_NEAR = 1e-6


@dataclass(frozen=True, kw_only=True, repr=False)
class CellRange:
    """What is known of a withheld cell (confidential).

    Args:
        cell: Its number.
        low: It has no fewer records.
        high: And no more.
        because: The cells from which the upper end follows, with what they are taken by.
    """

    cell: int
    low: float
    high: float
    because: tuple[tuple[int, float], ...]

    @property
    def determined(self) -> bool:
        """Whether only one number is left."""
        return np.floor(self.high + _NEAR) - np.ceil(self.low - _NEAR) < 1

    def __repr__(self) -> str:
        return f"<CellRange of {self.cell} (confidential)>"


class LinkedAttack:
    """One linear program over the atoms of a system, asked about one cell after the other."""

    def __init__(self, system: LinkedSystem) -> None:
        self.system = system
        size = len(system.atoms)
        self._rows = [at for at in range(system.cells) if system.members[at].size]
        members = [system.members[at] for at in self._rows]
        low = np.where(system.hidden, system.least, system.counts).astype(np.float64)
        high = np.where(system.hidden, np.inf, system.counts.astype(np.float64))
        self._solver: Any = loaded_solver(
            (
                starts([len(one) for one in members]),
                np.concatenate(members) if members else np.zeros(0, dtype=np.int64),
                np.ones(sum(map(len, members))),
            ),
            np.zeros(size),
            np.full(size, np.inf),
            rows=(low[self._rows], high[self._rows]),
        )
        self._cost = np.zeros(size)

    def range_of(self, cell: int) -> CellRange:
        """What can be worked out about a cell."""
        wish = np.zeros(len(self.system.atoms))
        wish[self.system.members[cell]] = 1.0
        low, _ = self._ask(wish)
        high, duals = self._ask(-wish)
        because = tuple(
            (at, round(-float(dual), 3))
            for at, dual in zip(self._rows, duals, strict=True)
            if abs(dual) > _NEAR and not self.system.hidden[at]
        )
        return CellRange(cell=cell, low=low, high=-high, because=because)

    def _ask(self, cost: FloatArray) -> tuple[float, FloatArray]:
        """The smallest sum, and what each row adds to it; endless where nothing bounds it."""
        changed = np.flatnonzero(cost != self._cost).astype(np.int32)
        if changed.size:
            self._solver.changeColsCost(changed.size, changed, cost[changed])
            self._cost = cost.copy()
        self._solver.run()
        if not is_optimal(self._solver):
            self._solver.clearSolver()
            self._solver.run()
        if not is_optimal(self._solver):
            if self._endless():
                return -np.inf, np.zeros(len(self._rows))
            hint = "report this: what tables show always fits together"
            raise OutputCheckError("linked tables have no solution", code="linked", hint=hint)
        solution = self._solver.getSolution()
        value = float(self._solver.getInfo().objective_function_value)
        return value, np.array(solution.row_dual, dtype=np.float64)

    def _endless(self) -> bool:
        import highspy

        status = highspy.HighsModelStatus
        return self._solver.getModelStatus() in (status.kUnbounded, status.kUnboundedOrInfeasible)


def ranges_of(system: LinkedSystem, cells: IntArray) -> list[CellRange]:
    """What can be worked out about some cells."""
    attack = LinkedAttack(system)
    return [attack.range_of(int(at)) for at in cells]
