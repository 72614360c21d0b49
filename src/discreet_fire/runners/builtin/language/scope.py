"""What an expression can refer to: variables, scalars, stored results, position in a group.

In: a data set and a session. Out: `Scope`, which the evaluator asks for names, and `ByGroups`,
which says where `_n` starts again under `by`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from discreet.arrays import FloatArray, IntArray, TextArray

#: A number or text for all, or one per observation.
Value = float | str | FloatArray | TextArray


@dataclass
class ExpressionUse:
    """What expressions have used and told (confidential): the variables that rest on data, whether
    a comparison holds for a few only, and whether one holds for all but a few; from which rows
    values were taken, and where.
    """

    columns: set[str] = field(default_factory=set)
    few: bool = False
    rest: bool = False
    taken: list[tuple[Any, Any]] = field(default_factory=list)


class NameLookup(Protocol):
    """Where the values of names come from."""

    #: What the expressions have used so far.
    use: ExpressionUse

    def altered(self, name: str, values: Any) -> NameLookup:
        """The same with other values of a variable, to see what depends on it."""

    def column(self, name: str) -> Any:
        """The values of a variable (abbreviations allowed), or None."""

    def scalar(self, name: str) -> float | str | None:
        """The value of a scalar, or None."""

    def result(self, kind: str, name: str) -> float | str | None:
        """A stored result `r()`, `e()`, `s()` or system value `c()`, or None."""

    def element(self, name: str, text: str, at: tuple[float, ...]) -> float:
        """An element of a matrix, or `_b[…]`, `_se[…]`."""

    def counted(self) -> None:
        """Note that the number of observations is used."""

    def ordered(self) -> None:
        """Note that the order of the observations is used."""

    def may_fail(self) -> None:
        """Note that it hangs on values whether an expression can be worked out."""

    def told_apart(self, held: Any, gaps: Any) -> None:
        """Note for whom a comparison holds, and how far its sides are apart."""

    def shifted(self, operators: str, name: str) -> Any:
        """A variable under time-series operators."""

    def referred(self, rows: Any, inside: Any) -> None:
        """Note from which observations values are taken."""

    def added(self, values: Any, groups: ByGroups | None) -> None:
        """Note what a running sum adds up."""


@dataclass(frozen=True)
class ByGroups:
    """Consecutive groups of observations: where each starts, and the number of observations as the
    last.
    """

    starts: IntArray

    @property
    def sizes(self) -> IntArray:
        """Observations of each group."""
        return np.diff(self.starts)

    @property
    def first(self) -> IntArray:
        """Per observation, where its group starts."""
        return np.repeat(self.starts[:-1], self.sizes)

    @property
    def size(self) -> IntArray:
        """Per observation, how many its group has."""
        return np.repeat(self.sizes, self.sizes)


@dataclass(repr=False)
class Scope:
    """What an expression is evaluated in; all observations are one group unless given.

    A `sequential` variable is being replaced: earlier observations have their new (`renewed`)
    values already when they are referred to as `x[_n-1]`.
    """

    names: NameLookup
    rows: int
    groups: ByGroups | None = None
    draw: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    sequential: str = ""
    renewed: Any = None
    drawn: dict[int, Any] = field(default_factory=dict)
    matched: Any = None

    def position(self) -> FloatArray:
        """`_n`."""
        rows = np.arange(self.rows, dtype=np.float64)
        if self.groups is not None:
            rows -= self.groups.first
        return rows + 1

    def number(self) -> Value:
        """`_N`."""
        if self.groups is None:
            return float(self.rows)
        return self.groups.size.astype(np.float64)

    def bounds(self) -> tuple[Any, Any]:
        """Per observation, the first row of its group and the row after its last."""
        if self.groups is None:
            return 0, self.rows
        first = self.groups.first
        return first, first + self.groups.size
