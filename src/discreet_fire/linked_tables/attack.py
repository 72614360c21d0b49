"""What somebody can work out about withheld cells from all that several tables show.

In: a `LinkedSystem`. Out: for each withheld cell the smallest and largest number that fits
everything shown, and the shown cells from which the largest follows. Shown cells, the possible
combinations, that no withheld inner cell is empty, and that values which are never negative are
not, are all that is used; still the intervals are CONFIDENTIAL, as they may meet the true value.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, starts
from discreet.errors import OutputCheckError
from discreet.solver import column_values, is_optimal, loaded_solver
from discreet_fire.linked_tables.system import LinkedSystem

_NEAR = 1e-6


class TimeOverError(Exception):
    """The time for the tables is over; what was not looked at yet is not known."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CellRange:
    """What is known of a withheld cell (confidential)."""

    cell: int  # its number
    low: float  # it is no less
    high: float  # and no more
    determined: bool  # whether only one number is left, up to how it would be shown
    open: bool  # whether it is less uncertain than it must be

    def __repr__(self) -> str:
        return f"<CellRange of {self.cell} (confidential)>"


class LinkedAttack:
    """One linear program over the atoms of a system, asked about one cell after the other."""

    def __init__(
        self,
        system: LinkedSystem,
        *,
        hidden: BoolArray | None = None,
        until: float | None = None,
    ) -> None:
        self.system, self._until = system, until
        self._hidden = system.hidden if hidden is None else hidden
        size, numbers = len(system.atoms), system.numbers
        self._rows = [at for at in range(system.cells) if system.members[at].size]
        members = [system.members[at] for at in self._rows]
        low = np.where(self._hidden, numbers.floor, numbers.cells - numbers.slack)
        high = np.where(self._hidden, np.inf, numbers.cells + numbers.slack)
        self._solver: Any = loaded_solver(
            (
                starts([len(one) for one in members]),
                np.concatenate(members) if members else np.zeros(0, dtype=np.int64),
                np.ones(sum(map(len, members))),
            ),
            np.full(size, -np.inf if numbers.signed else 0.0),
            np.full(size, np.inf),
            rows=(low[self._rows], high[self._rows]),
        )
        self._cost = np.zeros(size)

    def range_of(self, cell: int) -> CellRange:
        """What can be worked out about a cell."""
        wish = np.zeros(len(self.system.atoms))
        wish[self.system.members[cell]] = 1.0
        low, high = self._ask(wish), -self._ask(-wish)
        numbers = self.system.numbers
        if numbers.whole:
            single = bool(np.floor(high + _NEAR) - np.ceil(low - _NEAR) < 1)
        else:  # no closer than it would be shown
            single = bool(high - low <= numbers.rounding + _NEAR)
        n = float(numbers.cells[cell])
        near = high < n + numbers.upper[cell] - _NEAR or low > n - numbers.lower[cell] + _NEAR
        is_open = single or (bool(numbers.small[cell]) and bool(near))
        return CellRange(cell=cell, low=low, high=high, determined=single, open=is_open)

    def opened(self, cells: Sequence[int]) -> list[CellRange]:
        """Those of some cells that are less uncertain than they must be."""
        return [one for one in map(self.range_of, cells) if one.open]

    def reason(self, found: CellRange) -> list[tuple[int, float]]:
        """The shown cells from which the upper end of a range follows, and by what each counts.

        Among all ways to put shown cells together so that they bound the cell as closely, the one
        that takes least.
        """
        system, numbers = self.system, self.system.numbers
        shown = [at for at in self._rows if not self._hidden[at]]
        if not shown or not np.isfinite(found.high):
            return []
        held: list[list[int]] = [[] for _ in system.atoms]
        for number, at in enumerate(shown):
            for atom in system.members[at].tolist():
                held[atom].append(number)
        wanted = np.zeros(len(held))
        wanted[system.members[found.cell]] = 1.0
        counts = numbers.cells[shown]
        near = _NEAR + float(numbers.slack[shown].sum())
        above = wanted if numbers.signed else np.full(len(wanted), np.inf)
        width = len(shown)
        rows = [*held, list(range(width))]
        column = np.array([*itertools.chain.from_iterable(rows)], dtype=np.int64)
        coef = np.concatenate([np.ones(len(column) - width), -counts])
        row_starts = starts([2 * len(row) for row in rows])
        ends = np.cumsum([len(row) for row in rows])[:-1]
        both = [np.concatenate([one, one + width]) for one in np.split(column, ends)]
        signs = [np.concatenate([one, -one]) for one in np.split(coef, ends)]
        solver = loaded_solver(
            (row_starts, np.concatenate(both), np.concatenate(signs)),
            np.zeros(2 * width),
            np.full(2 * width, np.inf),
            cost=np.ones(2 * width),
            rows=(np.append(wanted, -found.high - near), np.append(above, np.inf)),
        )
        self._run(solver)
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
        self._run(self._solver)
        if not is_optimal(self._solver):
            self._solver.clearSolver()
            self._run(self._solver)
        if is_optimal(self._solver):
            return float(self._solver.getInfo().objective_function_value)
        if self._endless():
            return -np.inf
        hint = "report this: what tables show always fits together"
        raise OutputCheckError("linked tables have no solution", code="linked", hint=hint)

    def _run(self, solver: Any) -> None:
        """Solve, if there is time."""
        if self._until is not None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeOverError
            solver.setOptionValue("time_limit", solver.getRunTime() + left)
        solver.run()
        if self._until is not None and time.monotonic() >= self._until:
            raise TimeOverError

    def _endless(self) -> bool:
        import highspy

        status = highspy.HighsModelStatus
        return self._solver.getModelStatus() in (status.kUnbounded, status.kUnboundedOrInfeasible)
