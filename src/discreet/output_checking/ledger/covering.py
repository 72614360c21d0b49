"""Unions of three and more tables that are together about nearly the same units as another.

In: a set and the parts that others may be of it, as marks and counts. Out: ways to cover the
set by parts that hardly overlap, to be tested with power sums.

Each mark of the set lies in one part, but for fewer units than the minimum: the first mark
that is not covered yet is taken, and one part after the other that has it. Sets are many
and ways more, so the effort is bounded: what is found is true, what is not found may be.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.output_checking.ledger.marks import MOST_MARKS, MarkIndex, Marks, Relation

__all__ = ["Effort", "covers"]

Places = NDArray[np.int64]

#: Steps of one search and of all for one submission, wholes that are looked at, ways given.
_STEPS, _ALL_STEPS, _WHOLES, _WAYS = 100, 1_000, 20, 50
#: Parts too small to have a mark that are tried for what is left.
_SMALL = 50


@dataclass(kw_only=True, repr=False)
class Effort:
    """How much may still be tried for one submission."""

    steps: int = _ALL_STEPS
    wholes: int = _WHOLES

    def begin(self) -> bool:
        """Whether another released whole may be looked at."""
        self.wholes -= 1
        return self.wholes >= 0 and self.steps > 0


@dataclass(kw_only=True, repr=False)
class _Search:
    """A search on its way.

    Args:
        parts: The marks of the parts.
        bits: Which marks of the set each part has.
        with_mark: The parts that have each mark.
        counts: How many units each part has.
        extras: Marks of each part that the set has not.
        small: Parts without a mark of the set.
        size: The minimum.
        least: How many parts a way must have.
        steps: How many are left.
    """

    parts: MarkIndex
    bits: list[int]
    with_mark: list[Places]
    counts: Places
    extras: Places
    small: Places
    size: int
    least: int
    steps: int = 0
    ways: list[tuple[int, ...]] = field(default_factory=list)
    known: dict[int, Places] = field(default_factory=dict)

    def go(self, open_marks: int, left: int, slack: int, burden: Places, *chosen: int) -> None:
        """Cover the first open mark by each part that has it, or leave it out.

        Args:
            open_marks: Those that are not covered.
            left: How many units are not.
            slack: How many more units may be too many or missing.
            burden: How many marks each part shares with those chosen.
            chosen: The parts so far.
        """
        self.steps -= 1
        if self.steps < 0 or len(self.ways) >= _WAYS:
            return
        if not open_marks:
            self._end(left, chosen)
            return
        lowest = open_marks & -open_marks
        fitting = self.with_mark[lowest.bit_length() - 1]
        cost = burden[fitting] + self.extras[fitting]
        possible = (cost <= slack) & (self.counts[fitting] < left + self.size)
        for at in np.flatnonzero(possible)[np.argsort(cost[possible], kind="stable")].tolist():
            part = int(fitting[at])
            rest, still = left - int(self.counts[part]), open_marks & ~self.bits[part]
            more = burden + self._shared(part)
            self.go(still, rest, slack - int(cost[at]), more, *chosen, part)
        if slack:
            self.go(open_marks ^ lowest, left, slack - 1, burden, *chosen)

    def _shared(self, part: int) -> Places:
        """How many marks each part shares with one; with itself, so many that it is done."""
        if part not in self.known:
            found = self.parts.shared(self.parts.at(part))
            found[part] += self.size
            self.known[part] = found
        return self.known[part]

    def _end(self, left: int, chosen: tuple[int, ...]) -> None:
        if abs(left) < self.size:
            if len(chosen) >= self.least:
                self.ways.append(chosen)
        elif left > 0 and len(chosen) + 1 >= self.least:
            fitting = self.small[np.abs(left - self.counts[self.small]) < self.size]
            self.ways += [(*chosen, int(one)) for one in fitting[:_SMALL]]


def covers(
    marks: Marks,
    count: int,
    counts: Places,
    index: MarkIndex,
    relation: Relation,
    size: int,
    effort: Effort,
    given: tuple[Marks, int] | None = None,
) -> list[tuple[int, ...]]:
    """Ways to cover a set by three or more others, up to fewer units than the minimum.

    Args:
        marks: Of the set.
        count: How many units it has.
        counts: Those of the others.
        index: The marks of the others.
        relation: How the set lies beside them.
        size: The minimum.
        effort: How much may be tried.
        given: Marks and count of a part that is one of them for sure.
    """
    # so few marks that no part of the set ends before the last of them
    reach = marks if len(marks) < MOST_MARKS else marks[: MOST_MARKS - size + 1]
    extras = relation.other - relation.shared
    fits = (extras < size) & (counts >= size) & (counts <= count - size)
    if given is not None:
        fits &= index.shared(given[0]) < size
    places = np.flatnonzero(fits)
    if len(places) < 2:
        return []
    places = places[np.argsort(-counts[places], kind="stable")]
    parts = index.taken(places)
    every = np.arange(len(places))
    table = parts.bits(reach, every)
    search = _Search(
        parts=parts,
        bits=[_packed(row) for row in table],
        with_mark=[np.flatnonzero(column) for column in table.T],
        counts=counts[places],
        extras=extras[places],
        small=np.flatnonzero(~table.any(axis=1)),
        size=size,
        least=3 if given is None else 2,
    )
    left, burden = count, np.zeros(len(places), dtype=np.int64)
    open_marks = (1 << len(reach)) - 1
    if given is not None:
        left, burden = left - given[1], parts.shared(given[0])
        open_marks &= ~_packed(np.isin(reach, given[0]))
    for slack in sorted({0, min(2, size - 1), size - 1}):  # first what fits well
        search.steps = before = min(_STEPS, effort.steps)
        search.go(open_marks, left, slack, burden)
        effort.steps -= before - max(search.steps, 0)
        if search.ways:
            break
    ways = dict.fromkeys(tuple(sorted(way)) for way in search.ways)
    return [tuple(places[list(way)].tolist()) for way in ways]


def _packed(row: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")
