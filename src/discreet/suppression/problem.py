"""`SuppressionProblem`: the cells to protect, as one system. CONFIDENTIAL.

In: cells with values, costs, protection levels and what an attacker knows beforehand,
and the relations among them. Out: the object that every method and audit works on.
Numbers are whole: values are in units of the last published decimal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, SuppressionError, shortened
from discreet.suppression.relations import Relations

__all__ = ["CellState", "SuppressionProblem"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: The attacker knows nothing about a cell beyond this, in units.
UNBOUNDED = 2**53

_SHOWN = 20


class CellState(IntEnum):
    """What may become of a cell."""

    free = 0
    primary = 1
    fixed = 2
    secondary = 3


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SuppressionProblem:
    """Which cells must be hidden, which may be, and how well (confidential).

    A pattern protects a sensitive cell if an attacker who knows all published cells, the
    relations and the bounds finds values from `value - lower` to `value + upper`
    possible for it, in an interval at least `sliding` wide.

    Args:
        value: True value of each cell, in units.
        cost: What hiding it costs; at least 0.
        state: `CellState` of each cell: primary cells must be hidden, fixed ones must be
            published, secondary ones are hidden already.
        low: What the attacker knows beforehand: no smaller, in units.
        high: No larger.
        lower: Lower protection level, in units; 0 where none is asked for.
        upper: Upper protection level.
        sliding: Sliding protection level.
        relations: Which cells add up to which.
        decimals: Digits after the decimal point of a value.
        name: Gives the name of a cell, for messages.
        title: Name of the problem.
    """

    value: IntArray
    cost: IntArray
    state: npt.NDArray[np.int8]
    low: IntArray
    high: IntArray
    lower: IntArray
    upper: IntArray
    sliding: IntArray
    relations: Relations
    decimals: int = 0
    name: Callable[[int], str] = field(default=lambda at: f"cell {at}")
    title: str = "table"

    def __post_init__(self) -> None:
        lengths = {len(column) for column in self._columns()} | {len(self.state)}
        if lengths != {self.relations.cells}:
            raise SuppressionError("the columns of a problem differ in length", code="problem")

    def __len__(self) -> int:
        return len(self.value)

    def _columns(self) -> tuple[IntArray, ...]:
        levels = (self.lower, self.upper, self.sliding)
        return (self.value, self.cost, self.low, self.high, *levels)

    @property
    def primary(self) -> IntArray:
        """Numbers of the sensitive cells."""
        return np.flatnonzero(self.state == CellState.primary).astype(np.int64)

    @property
    def hidden(self) -> BoolArray:
        """Cells that are hidden from the start: sensitive ones and earlier secondaries."""
        return np.isin(self.state, (CellState.primary, CellState.secondary))

    def with_hidden(self, hidden: BoolArray) -> SuppressionProblem:
        """The same with a pattern: free cells that are hidden become secondary."""
        state = self.state.copy()
        state[hidden & (state == CellState.free)] = CellState.secondary
        state[~hidden & (state == CellState.secondary)] = CellState.free
        return replace(self, state=state)

    def cost_of(self, hidden: BoolArray) -> int:
        """What the secondary suppressions of a pattern cost."""
        return int(self.cost[hidden & (self.state != CellState.primary)].sum())

    def check(self) -> None:
        """Raise one error with everything that is wrong with the problem."""
        problems = [*self._outside(), *self._not_additive(), *self._negative()]
        if problems:
            raise SuppressionError(
                problems[0].what if len(problems) == 1 else f"{len(problems)} problems with cells",
                code="problem",
                where=self.title if len(problems) > 1 else problems[0].where,
                hint=problems[0].hint,
                problems=shortened(problems, _SHOWN),
            )

    def _outside(self) -> list[Problem]:
        hint = "widen the bounds that the attacker is said to know"
        wrong = np.flatnonzero((self.value < self.low) | (self.value > self.high))
        return [
            Problem("the value lies outside the bounds known beforehand", self.name(int(at)), hint)
            for at in wrong
        ]

    def _not_additive(self) -> list[Problem]:
        hint = (
            "correct the cells, or have totals added up anew (--repair); --differences lists them"
        )
        rows = np.flatnonzero(self.relations.residuals(self.value))
        problems = []
        for row in rows:
            low, high = self.relations.start[row : row + 2]
            entries = self.relations.cell[low:high]
            totals = entries[self.relations.coef[low:high] < 0]
            at = int(totals[0]) if totals.size else int(entries[0])
            problems.append(Problem("the parts do not add up to the total", self.name(at), hint))
        return problems

    def _negative(self) -> list[Problem]:
        columns: dict[str, Any] = {
            "cost": self.cost,
            "lower protection level": self.lower,
            "upper protection level": self.upper,
            "sliding protection level": self.sliding,
        }
        return [
            Problem(f"the {label} is negative", self.name(int(at)))
            for label, column in columns.items()
            for at in np.flatnonzero(column < 0)
        ]

    def digest(self) -> str:
        """SHA-256 over everything but names. CONFIDENTIAL: few cells could be guessed."""
        digest = hashlib.sha256(b"discreet suppression problem 1")
        links = self.relations
        state = self.state.astype(np.int64)
        for column in (*self._columns(), state, links.start, links.cell, links.coef, links.rhs):
            digest.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return (
            f"<SuppressionProblem {self.title} (confidential): {len(self):,} cells, "
            f"{len(self.relations):,} relations, {len(self.primary):,} sensitive>"
        )
