"""Which counts, sums and means of a table with margins are withheld. CONFIDENTIAL until applied.

In: counts of records and of cases, and values, in every cell and margin. Out: masks of withheld
cells by which nobody can find out from sums whether a withheld cell is a small one. Empty cells
are shown, so an attacker knows that every withheld one holds at least one record. For sums two
attackers are held off: whoever adds and subtracts published numbers of the whole table, and a
contributor who also knows what is his own – for him the withheld cells of each line, taken
together, must keep the rules.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray
from discreet.errors import SuppressionError
from discreet_fire.statistics.disclosure_rules import Facts, broken
from discreet_fire.statistics.group_suppression import hide_groups
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.records import MicrodataRecords, RecordGroups, count_of

_UNBOUNDED = 2**53
_Number = TypeVar("_Number", np.int64, np.float64)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Counts:
    """Records and entities in each cell of a table (confidential); the last of each axis is the
    total.

    A record's code is its cell without margins, -1 for none.
    """

    n: IntArray
    cases: IntArray
    codes: IntArray
    sizes: tuple[int, ...]


def count_cells(axes: Sequence[RecordGroups], records: MicrodataRecords) -> Counts:
    """Count records and entities in every cell and margin."""
    sizes = tuple(len(axis) for axis in axes)
    codes = CellIndex(sizes).numbers([axis.codes for axis in axes])
    for axis in axes:
        codes[axis.codes < 0] = -1
    n = with_margins(count_of(codes, math.prod(sizes), records.times).reshape(sizes))
    if records.entity is None:
        return Counts(n=n, cases=n, codes=codes, sizes=sizes)
    cases = np.zeros_like(n)
    ordered = records.numbering.gathered(codes)
    for summed in itertools.product((False, True), repeat=len(axes)):
        place = tuple(-1 if total else slice(None, -1) for total in summed)
        # For each cell the place in the margin that it adds to.
        shape = [1 if total else size for size, total in zip(sizes, summed, strict=True)]
        number = np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), sizes)
        union = np.append(number.ravel(), -1)[ordered]
        inside = records.numbering.cases(union, math.prod(shape))
        cases[place] = inside.reshape(cases[place].shape)
    return Counts(n=n, cases=cases, codes=codes, sizes=sizes)


def lines_of(shape: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Additive lines: the total with -1 and its parts with 1.

    >>> lines_of([3])
    [[(2, -1), (0, 1), (1, 1)]]
    """
    number = np.arange(math.prod(shape)).reshape(shape)
    return [
        [(line[-1], -1), *((cell, 1) for cell in line[:-1])]
        for axis in range(len(shape))
        for line in np.moveaxis(number, axis, -1).reshape(-1, shape[axis]).tolist()
    ]


def hide_cells(
    counts: Counts,
    limits: SafeLimits,
    *,
    sensitive: BoolArray | None = None,
    before: BoolArray | None = None,
) -> tuple[BoolArray, bool]:
    """The cells that are withheld: small and other sensitive ones, and others to protect them.

    Margins that tables of fewer variables show are known, so hiding them would not help; only where
    nothing else helps are they withheld too, which the second value says. `before` are cells that
    are withheld already, in tables of fewer variables.
    """
    n, cases = counts.n, counts.cases
    primary = (cases > 0) & (cases < limits.minimum)
    if sensitive is not None:
        primary |= sensitive & (n > 0)
    fixed = np.zeros_like(primary) if before is None else before & (n > 0) & ~primary
    if not primary.any():
        return fixed, False
    known = margins_of(n.shape) & ~primary & ~fixed & (before is not None)
    # A withheld count may be anything from the smallest possible to a safe one. Everyone sees
    # which cells are empty, and so how small a cell or margin can be.
    low = with_margins((n > 0)[(slice(None, -1),) * n.ndim].astype(np.int64))
    lower, upper = count_levels(n, low, limits.minimum)
    levels = lower * primary, upper * primary
    return solved(n, low, *levels, n=n, primary=primary, before=fixed, known=known)


def solved(
    value: IntArray,
    low: IntArray,
    lower: IntArray,
    upper: IntArray,
    *,
    n: IntArray,
    primary: BoolArray,
    before: BoolArray,
    known: BoolArray,
) -> tuple[BoolArray, bool]:
    """A pattern that leaves known margins shown if there is one, else any; and whether it does not.

    Values are in whole units and additive; everyone knows `low`. Sensitive cells must possibly be
    so much smaller and larger as `lower` and `upper` say.
    """
    from discreet.protection.suppression import (
        CellState,
        Relations,
        SuppressionProblem,
        find_pattern,
    )

    state = np.full(n.shape, int(CellState.free), dtype=np.int8)
    state[(n == 0) | known] = CellState.fixed
    state[before] = CellState.secondary
    state[primary] = CellState.primary
    problem = SuppressionProblem(
        value=value.ravel(),
        cost=(n + 1 + margins_of(n.shape) * int(n.max())).ravel(),
        state=state.ravel(),
        low=low.ravel(),
        high=np.full(n.size, _UNBOUNDED, dtype=np.int64),
        lower=lower.ravel(),
        upper=upper.ravel(),
        sliding=np.zeros(n.size, dtype=np.int64),
        relations=Relations.of(n.size, lines_of(n.shape)),
    )
    try:
        hidden = find_pattern(problem, "fast").hidden.reshape(n.shape)
    except SuppressionError:
        if not known.any():
            raise
        state[known & (n > 0)] = CellState.free
        again = replace(problem, state=state.ravel())
        hidden = find_pattern(again, "fast").hidden.reshape(n.shape)
    return hidden, bool((hidden & known).any())


def with_margins(inner: NDArray[_Number]) -> NDArray[_Number]:
    """A table with its sums at the end of each axis.

    >>> with_margins(np.array([[1, 2]])).tolist()
    [[1, 2, 3], [1, 2, 3]]
    """
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis=axis, keepdims=True)], axis=axis)
    return inner


def margins_of(shape: Sequence[int]) -> BoolArray:
    """Which cells are margins."""
    margin = np.zeros(shape, dtype=np.bool_)
    for axis in range(len(shape)):
        np.moveaxis(margin, axis, 0)[-1] = True
    return margin


def count_levels(n: IntArray, low: IntArray, minimum: int) -> tuple[IntArray, IntArray]:
    """Required room below and above counts: from the smallest to a safe one.

    >>> [one.tolist() for one in count_levels(np.array([2, 20]), np.array([1, 1]), 3)]
    [[1, 6], [1, 6]]
    """
    # A cell of many records may be sensitive too: all of one entity, for example.
    share = np.where(n < minimum, 0, np.ceil(0.3 * n)).astype(np.int64)
    lower = np.minimum(n - low, np.maximum(minimum, share))
    return lower, np.maximum(minimum - n, np.maximum(share, 1))


#: Sums become whole numbers of about this size.
_UNITS = 2**40


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SumTable:
    """Values of one variable in a table with margins (confidential); groups are the inner cells."""

    holding: GroupedValues
    sizes: tuple[int, ...]
    limits: SafeLimits

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis, with the total."""
        return tuple(size + 1 for size in self.sizes)

    @cached_property
    def members(self) -> list[list[int]]:
        """For each cell, with margins, the cells without margins that it is made of."""
        number = np.arange(math.prod(self.sizes)).reshape(self.sizes)
        members = []
        for place in np.ndindex(*self.shape):
            part = number
            for axis, at in enumerate(place):
                chosen = slice(None) if at == self.sizes[axis] else slice(at, at + 1)
                part = part[(*(slice(None),) * axis, chosen)]
            members.append(part.ravel().tolist())
        return members

    @cached_property
    def facts(self) -> list[Facts]:
        """The facts of each cell, with margins."""
        inner, holding = self.holding.facts(self.limits), self.holding
        return [
            inner[cells[0]]
            if len(cells) == 1
            else holding.total(self.limits)
            if len(cells) == holding.groups
            else holding.union(cells, self.limits)
            for cells in self.members
        ]

    @cached_property
    def rules(self) -> list[frozenset[str]]:
        """The rules that each cell breaks."""
        return [broken(facts, self.limits) for facts in self.facts]

    def hidden(self, counts: BoolArray) -> BoolArray:
        """The cells whose sums, means and deviations are withheld, besides those of withheld
        counts.
        """
        primary = np.array([bool(rules) for rules in self.rules]).reshape(self.shape)
        hidden = (primary | counts | self.one_way) & (self._n > 0)
        if not hidden.any():
            return hidden
        while True:
            grown = self._lines_closed(hidden)
            states = {"primary": primary, "before": grown & ~primary}
            known = np.zeros_like(primary)
            grown, _ = solved(*self._asked(primary), n=self._n, known=known, **states)
            if (grown == hidden).all():
                return hidden
            hidden = grown

    @cached_property
    def one_way(self) -> BoolArray:
        """The margins that tables of one variable withhold."""
        mask = np.zeros(self.shape, dtype=np.bool_)
        if self.holding.codes is None:
            return mask
        places = np.unravel_index(self.holding.codes, self.sizes)
        for axis, codes in enumerate(places):
            alone = replace(self.holding, codes=codes.astype(np.int64), groups=self.sizes[axis])
            groups = hide_groups(alone, alone.facts(self.limits), self.limits)
            place: tuple[Any, ...] = (slice(None), *(-1,) * (mask.ndim - 1))
            margin = np.moveaxis(mask, axis, 0)[place]
            margin[sorted(groups.value)] = True
            margin[-1] |= groups.total_value
        return mask

    @cached_property
    def _n(self) -> IntArray:
        return np.array([facts.n for facts in self.facts], dtype=np.int64).reshape(self.shape)

    def _asked(self, primary: BoolArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Sums in whole units, the least they can be, how far sensitive ones must be protected."""
        places = np.flatnonzero(~margins_of(self.shape).ravel()).tolist()
        inner = [self.facts[at].total if self.facts[at].n else 0.0 for at in places]
        largest = max((facts.size for facts in self.facts), default=0.0)
        unit = _UNITS / largest if largest > 0 else 1.0
        whole = np.rint(np.array(inner) * unit).astype(np.int64).reshape(self.sizes)
        value = with_margins(whole)
        signed = bool(self.holding.values.size) and float(self.holding.values.min()) < 0
        level = self.levels.ravel() * unit
        wanted = np.maximum(np.ceil(level), 1).astype(np.int64).reshape(self.shape) * primary
        low = np.full(value.shape, -(2**53) if signed else 0, dtype=np.int64)
        lower = wanted if signed else np.minimum(wanted, value)
        return value, low, lower, wanted

    @cached_property
    def levels(self) -> FloatArray:
        """By how much an estimate of each cell must be off: what p% and (2,k) ask for."""
        return np.array([self._level(facts) for facts in self.facts]).reshape(self.shape)

    def _level(self, facts: Facts) -> float:
        """Of one cell."""
        top = facts.first + facts.second
        close = self.limits.closeness / 100 * facts.first - (facts.size - top)
        share = 100 / self.limits.dominance * top - facts.size
        return max(close, share, 0.0)

    def _lines_closed(self, hidden: BoolArray) -> BoolArray:
        """Withhold more until the withheld cells of each line, together, are safe."""
        flat = hidden.ravel().copy()
        changed = True
        while changed:
            changed = False
            for (total, _), *line in lines_of(self.shape):
                parts = [cell for cell, _ in line if self.facts[cell].n]
                more = self._missing(flat, total, parts)
                if more is not None:
                    flat[more] = changed = True
        return flat.reshape(self.shape)

    def _missing(self, hidden: BoolArray, total: int, parts: list[int]) -> int | None:
        """A cell that has to be withheld besides, or None if the line is safe."""
        inside = [cell for cell in parts if hidden[cell]]
        if hidden[total]:
            return self._smallest(hidden, parts) if not inside else None
        if not inside:
            return None
        if len(inside) > 1:
            cells = [cell for part in inside for cell in self.members[part]]
            union = self.holding.union(cells, self.limits)
            if union.cases > self.limits.minimum and not broken(union, self.limits):
                return None
        more = self._smallest(hidden, parts)
        return total if more is None else more

    def _smallest(self, hidden: BoolArray, parts: list[int]) -> int | None:
        free = [cell for cell in parts if not hidden[cell]]
        return min(free, key=lambda cell: (self.facts[cell].cases, cell), default=None)
