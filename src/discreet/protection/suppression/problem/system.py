"""`SuppressionProblem` and its `Relations`: the cells to protect, as one system. CONFIDENTIAL.

Every method and audit works on it. Numbers are whole: values are in units of the last published
decimal. A relation alone is public; values are not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import UNBOUNDED, Relations, Unknowns
from discreet.errors import Problem, SuppressionError, raise_all

#: So far the cells of a relation may move in all, in units: doubles hold no larger sums exactly.
WIDEST = 2**53

_SHOWN = 20
_TOO_WIDE = "values or bounds are so far apart that no verdict is guaranteed"
_NARROWER = "publish fewer decimals, in thousands, or state tighter bounds"
#: Protection levels; and all columns of a problem.
LEVELS = ("lower", "upper", "sliding")
COLUMNS = ("value", "cost", "state", "low", "high", *LEVELS)


class CellState(IntEnum):
    """State of a cell."""

    free = 0
    primary = 1
    fixed = 2
    secondary = 3


def columns_between(value: IntArray, low: IntArray, high: IntArray) -> dict[str, Any]:
    """The columns of cells that no table shows: hidden at no cost, with bounds and no levels."""
    columns: dict[str, Any] = dict.fromkeys(COLUMNS, np.zeros_like(value))
    state = np.full(len(value), CellState.secondary, dtype=np.int8)
    return {**columns, "value": value, "low": low, "high": high, "state": state}


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
        lengths = {len(getattr(self, name)) for name in COLUMNS}
        if lengths != {self.relations.cells}:
            raise SuppressionError("the columns of a problem differ in length", code="problem")

    def __len__(self) -> int:
        return len(self.value)

    def columns_at(self, cells: IntArray) -> dict[str, Any]:
        """Values, costs, states, bounds and levels of some cells, by name."""
        return {name: getattr(self, name)[cells] for name in COLUMNS}

    @property
    def primary(self) -> IntArray:
        """Numbers of the sensitive cells."""
        return np.flatnonzero(self.state == CellState.primary).astype(np.int64)

    @property
    def hidden(self) -> BoolArray:
        """Cells that are hidden from the start: sensitive ones and earlier secondaries."""
        return np.isin(self.state, (CellState.primary, CellState.secondary))

    @property
    def without_room(self) -> IntArray:
        """Sensitive cells whose bounds alone rule out that any pattern protects them."""
        width, bare = self.high - self.low, (self.lower == 0) & (self.upper == 0)
        wanted = np.where(bare, np.maximum(self.sliding, 1), self.sliding)
        lost = (self.value - self.lower < self.low) | (self.value + self.upper > self.high)
        lost |= width < wanted
        return np.flatnonzero(lost & (self.state == CellState.primary)).astype(np.int64)

    def with_hidden(self, hidden: BoolArray) -> SuppressionProblem:
        """A copy with a pattern: hidden free cells become secondary."""
        state = self.state.copy()
        state[hidden & (state == CellState.free)] = CellState.secondary
        state[~hidden & (state == CellState.secondary)] = CellState.free
        return replace(self, state=state)

    def cost_of(self, hidden: BoolArray) -> int:
        """Cost of the secondary suppressions of a pattern."""
        return int(self.cost[hidden & (self.state != CellState.primary)].sum())

    def check(self) -> None:
        """Raise one error with everything that is wrong with the problem."""
        problems: list[Problem] = []

        def note(cells: Iterable[int], message: str, hint: str = "") -> None:
            problems.extend(Problem(message, self.name(int(at)), hint) for at in cells)

        outside = np.flatnonzero((self.value < self.low) | (self.value > self.high))
        hint = "widen the a-priori bounds"
        note(outside, "the value lies outside the bounds known beforehand", hint)
        hint = "correct the cells, or recalculate the totals (--repair)"
        hint += "; --differences lists them"
        for row in np.flatnonzero(self.relations.residuals(self.value)):
            low, high = self.relations.start[row : row + 2]
            entries = self.relations.cell[low:high]
            totals = entries[self.relations.coef[low:high] < 0]
            at = totals[0] if totals.size else entries[0]
            note([at], "the parts do not add up to the total", hint)
        for name in ("cost", *LEVELS):
            label = "cost" if name == "cost" else f"{name} protection level"
            note(np.flatnonzero(getattr(self, name) < 0), f"the {label} is negative")
        if not problems:
            note(self.too_wide(self.state != CellState.fixed), _TOO_WIDE, _NARROWER)
        many, where = "{} problems with cells", self.title
        raise_all(SuppressionError, problems, code="problem", many=many, where=where, most=_SHOWN)

    def room(self, cells: IntArray) -> tuple[FloatArray, FloatArray]:
        """Room below and above the true values that attackers must allow, in units.

        A bound of `UNBOUNDED` is none; in its place stands one, far beyond all else, that sums
        stay exact with: attackers are taken to know that much, on the safe side.
        """
        value, endless = self.value[cells], WIDEST // (2 * self.relations.heaviest)
        levels = (self.lower[cells], self.upper[cells], self.sliding[cells])
        most = np.maximum.reduce([np.full(len(cells), endless), *levels])
        down, up = value - self.low[cells], self.high[cells] - value
        down = np.where(self.low[cells] <= -UNBOUNDED, np.minimum(down, most), down)
        up = np.where(self.high[cells] >= UNBOUNDED, np.minimum(up, most), up)
        return np.maximum(down, 0).astype(np.float64), np.maximum(up, 0).astype(np.float64)

    def too_wide(self, hidden: BoolArray) -> IntArray:
        """A cell of each relation in which hidden cells can move farther than sums are exact."""
        links = self.relations
        down, up = self.room(np.arange(len(self)))
        far = np.where(hidden, np.maximum(down, up), 0.0)
        width = np.bincount(links.row, np.abs(links.coef) * far[links.cell], len(links))
        rows = np.flatnonzero(width > WIDEST)
        return np.unique(links.cell[links.start[rows]]).astype(np.int64)

    def digest(self) -> str:
        """SHA-256 over everything but names. CONFIDENTIAL: few cells could be guessed."""
        digest = hashlib.sha256(b"discreet suppression problem 1")
        names, links = ("value", "cost", "low", "high", *LEVELS, "state"), self.relations
        columns = (getattr(self, name) for name in names)
        for column in (*columns, links.start, links.cell, links.coef, links.rhs):
            digest.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return (
            f"<SuppressionProblem {self.title} (confidential): {len(self):,} cells, "
            f"{len(self.relations):,} relations, {len(self.primary):,} sensitive>"
        )


def unknowns_of(
    problem: SuppressionProblem, hidden: BoolArray, sensitive: BoolArray | None = None
) -> Unknowns:
    """The hidden cells of a pattern; the primary cells are the sensitive ones unless given.

    A sensitive cell without any protection level must not be known exactly: it gets a
    sliding level of one unit.
    """
    if problem.too_wide(hidden).size:
        raise SuppressionError(_TOO_WIDE, code="range", where=problem.title, hint=_NARROWER)
    relations, cells = problem.relations.among(hidden)
    down, up = problem.room(cells)
    watched = (problem.state == CellState.primary if sensitive is None else sensitive)[cells]
    levels = {name: getattr(problem, name)[cells].astype(np.float64) for name in LEVELS}
    bare = np.all([level == 0 for level in levels.values()], axis=0)
    levels["sliding"][watched & bare] = 1.0
    return Unknowns(
        cells=cells, relations=relations, low=0.0 - down, high=up, sensitive=watched, **levels
    )
