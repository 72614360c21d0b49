"""What somebody can work out about withheld cells from all that several tables show.

In: a `LinkedSystem`. Out: for each withheld cell the smallest and largest number of records that
fits everything shown, and the shown cells from which the largest follows. Shown cells, the
possible combinations and that no withheld inner cell is empty are all that is used; still the
intervals are CONFIDENTIAL, as they may meet the true value.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, starts
from discreet.errors import OutputCheckError
from discreet.solver import column_values, is_optimal, loaded_solver
from discreet_fire.linked_tables.system import LinkedSystem

_NEAR = 1e-6


@dataclass(frozen=True, kw_only=True, repr=False)
class CellRange:
    """What is known of a withheld cell (confidential).

    Args:
        cell: Its number.
        low: It has no fewer records.
        high: And no more.
    """

    cell: int
    low: float
    high: float

    @property
    def determined(self) -> bool:
        """Whether only one number is left."""
        return bool(np.floor(self.high + _NEAR) - np.ceil(self.low - _NEAR) < 1)

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
        low = self._ask(wish)
        high = self._ask(-wish)
        return CellRange(cell=cell, low=low, high=-high)

    def reason(self, found: CellRange) -> list[tuple[int, float]]:
        """The shown cells from which the upper end of a range follows, and by what each counts.

        Among all ways to put shown cells together so that they bound the cell as closely, the one
        that takes least.
        """
        system = self.system
        shown = [at for at in self._rows if not system.hidden[at]]
        if not shown or not np.isfinite(found.high):
            return []
        held: list[list[int]] = [[] for _ in system.atoms]
        for number, at in enumerate(shown):
            for atom in system.members[at].tolist():
                held[atom].append(number)
        wanted = np.zeros(len(held))
        wanted[system.members[found.cell]] = 1.0
        counts = system.counts[shown].astype(np.float64)
        width = len(shown)
        rows = [*held, list(range(width))]
        column = np.array([*itertools.chain.from_iterable(rows)], dtype=np.int64)
        coef = np.concatenate([np.ones(len(column) - width), -counts])
        each = starts([2 * len(row) for row in rows])
        ends = np.cumsum([len(row) for row in rows])[:-1]
        both = [np.concatenate([one, one + width]) for one in np.split(column, ends)]
        signs = [np.concatenate([one, -one]) for one in np.split(coef, ends)]
        solver = loaded_solver(
            (each, np.concatenate(both), np.concatenate(signs)),
            np.zeros(2 * width),
            np.full(2 * width, np.inf),
            cost=np.ones(2 * width),
            rows=(np.append(wanted, -found.high - _NEAR), np.full(len(rows), np.inf)),
        )
        solver.run()
        if not is_optimal(solver):
            return []
        taken = column_values(solver)
        by = taken[:width] - taken[width:]
        return [(shown[at], float(by[at])) for at in np.flatnonzero(np.abs(by) > _NEAR)]

    def _ask(self, cost: FloatArray) -> float:
        """The smallest sum of the costs of all records; endless where nothing bounds it."""
        changed = np.flatnonzero(cost != self._cost).astype(np.int32)
        if changed.size:
            self._solver.changeColsCost(changed.size, changed, cost[changed])
            self._cost = cost.copy()
        self._solver.run()
        if not is_optimal(self._solver):
            self._solver.clearSolver()
            self._solver.run()
        if is_optimal(self._solver):
            return float(self._solver.getInfo().objective_function_value)
        if self._endless():
            return -np.inf
        hint = "report this: what tables show always fits together"
        raise OutputCheckError("linked tables have no solution", code="linked", hint=hint)

    def _endless(self) -> bool:
        import highspy

        status = highspy.HighsModelStatus
        return self._solver.getModelStatus() in (status.kUnbounded, status.kUnboundedOrInfeasible)
