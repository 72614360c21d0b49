"""Which sums and means of a table with margins are withheld. CONFIDENTIAL until applied.

In: values in the cells of a table, cells whose counts are withheld. Out: a mask for sums,
means and deviations. Two attackers are held off: whoever adds and subtracts published
numbers of the whole table, and a contributor who also knows what is his own – for him the
withheld cells of each line, taken together, must keep the rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.output_checking.safe.facts import Facts
from discreet.output_checking.safe.grid import (
    Asked,
    BoolArray,
    lines_of,
    margins_of,
    solved,
    with_margins,
)
from discreet.output_checking.safe.hiding import hide_groups
from discreet.output_checking.safe.holding import Holding
from discreet.output_checking.safe.judging import broken
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.records import IntArray

__all__ = ["SumTable"]

#: Sums become whole numbers of about this size.
_UNITS = 2**40


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SumTable:
    """Values of one variable in a table with margins (confidential).

    Args:
        holding: The values; groups are the cells without margins.
        sizes: How many groups there are along each axis.
        limits: The rules.
    """

    holding: Holding
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
        found = []
        for place in np.ndindex(*self.shape):
            part = number
            for axis, at in enumerate(place):
                chosen = slice(None) if at == self.sizes[axis] else slice(at, at + 1)
                part = part[(*(slice(None),) * axis, chosen)]
            found.append(part.ravel().tolist())
        return found

    @cached_property
    def facts(self) -> list[Facts]:
        """The facts of each cell, with margins."""
        inner = self.holding.facts(self.limits)
        return [
            inner[cells[0]] if len(cells) == 1 else self._union(cells) for cells in self.members
        ]

    def _union(self, cells: list[int]) -> Facts:
        if len(cells) == self.holding.groups:
            return self.holding.total(self.limits)
        return self.holding.union(cells, self.limits)

    @cached_property
    def rules(self) -> list[frozenset[str]]:
        """The rules that each cell breaks."""
        return [broken(facts, self.limits) for facts in self.facts]

    def hidden(self, counts: BoolArray) -> BoolArray:
        """The cells whose sums, means and deviations are withheld.

        Args:
            counts: Cells whose counts are withheld.
        """
        primary = np.array([bool(rules) for rules in self.rules]).reshape(self.shape)
        hidden = (primary | counts | self.one_way) & (self._n > 0)
        if not hidden.any():
            return hidden
        while True:
            grown = self._lines_closed(hidden)
            grown, _ = solved(
                self._asked(primary), self._n, primary, grown & ~primary, np.zeros_like(primary)
            )
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
            found = hide_groups(alone, alone.facts(self.limits), self.limits)
            place: tuple[Any, ...] = (slice(None), *(-1,) * (mask.ndim - 1))
            margin = np.moveaxis(mask, axis, 0)[place]
            margin[sorted(found.value)] = True
            margin[-1] |= found.total_value
        return mask

    @cached_property
    def _n(self) -> IntArray:
        return np.array([facts.n for facts in self.facts], dtype=np.int64).reshape(self.shape)

    def _asked(self, primary: BoolArray) -> Asked:
        """Sums in whole units, and how far sensitive ones must be protected."""
        inner = [facts.total if facts.n else 0.0 for facts in self._inner]
        largest = max((facts.size for facts in self.facts), default=0.0)
        unit = _UNITS / largest if largest > 0 else 1.0
        whole = np.rint(np.array(inner) * unit).astype(np.int64).reshape(self.sizes)
        value = with_margins(whole)
        signed = bool(self.holding.values.size) and float(self.holding.values.min()) < 0
        level = np.array([self._level(facts) * unit for facts in self.facts])
        wanted = np.maximum(np.ceil(level), 1).astype(np.int64).reshape(self.shape) * primary
        low = np.full(value.shape, -(2**53) if signed else 0, dtype=np.int64)
        lower = wanted if signed else np.minimum(wanted, value)
        return Asked(value=value, low=low, lower=lower, upper=wanted)

    @property
    def _inner(self) -> list[Facts]:
        at = np.flatnonzero(~margins_of(self.shape).ravel())
        return [self.facts[int(place)] for place in at]

    def _level(self, facts: Facts) -> float:
        """By how much an estimate must be off: what p% and (2,k) ask for."""
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
            for total, parts in self._lines():
                more = self._missing(flat, total, parts)
                if more is not None:
                    flat[more] = changed = True
        return flat.reshape(self.shape)

    def _lines(self) -> Iterator[tuple[int, list[int]]]:
        for line in lines_of(self.shape):
            yield line[0][0], [cell for cell, _ in line[1:] if self.facts[cell].n]

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
