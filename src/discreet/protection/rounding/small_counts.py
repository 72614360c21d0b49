"""Inner cells rounded so that what they add up to changes little: `small_counts`, `fitted_up`.

In: counts of inner cells, and which published cells each belongs to. Out: rounded inner cells
and their sums. Only a choice of up or down for each cell is open; it is improved by one cell and
by pairs of cells until neither helps. Totals are sums by construction. CONFIDENTIAL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.errors import CountRoundingError, SuppressionError, raise_all
from discreet.protection.rounding.bases import Rounding
from discreet.protection.suppression import (
    Confidential,
    Relations,
    additive_values,
    compiled,
    compiled_at_once,
    linked_cells,
    shared_values,
    stacked_relations,
    table_relations,
)
from discreet.tables import Table

#: Improvements of all cells in turn: they end by themselves, or after so many looks at a figure.
_PASSES, _FEWEST, _LOOKS = 60, 4, 30_000_000
#: So often are cells of a small table turned at random, to leave a choice that no pair improves.
_KICKS, _WORK = 400, 150_000
#: Groups of more cells than this are not searched for pairs.
_PAIRED = 20_000


@dataclass(frozen=True, repr=False, eq=False)
class JointCounts(Confidential):
    """The cells of tables of counts, each of them once (confidential)."""

    cells: tuple[IntArray, ...]  # per table, the number of each of its cells
    count: IntArray  # the count of each number
    relations: Relations  # which add up to which; empty cells stand in none

    @classmethod
    def of(cls, tables: Sequence[Table]) -> JointCounts:
        """Number the cells of tables.

        Raises:
            CountRoundingError: If totals are not the sums of their parts, or tables disagree.
        """
        linked, counts = linked_cells(tables), [table.count for table in tables]
        how: dict[str, Any] = {"rounding": 0, "repair": False, "names": linked.names}
        blocks = [
            (table_relations(table, table.count > 0)[0], cells[table.count > 0])
            for table, cells in zip(tables, linked.cells, strict=True)
        ]
        relations = stacked_relations(linked.number, blocks)
        with counts_refused():
            count = shared_values(linked.number, linked.cells, counts, **how)
            additive_values(relations, count, **how)
        return cls(linked.cells, count, relations)


@contextmanager
def counts_refused() -> Iterator[None]:
    """Counts that contradict each other are an error of rounding."""
    try:
        yield
    except SuppressionError as error:
        hint = "tabulate all tables from the same records, with all parts"
        problems = [replace(problem, hint=hint) for problem in error.problems]
        many = "{} cells contradict each other"
        raise_all(CountRoundingError, problems, code="additivity", many=many)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class InnerCells(Confidential):
    """Inner cells, and what they add up to (confidential)."""

    count: IntArray  # the count of each inner cell
    start: IntArray  # where the published cells of each begin in `member`, and the end
    member: IntArray  # numbers of the published cells that it is part of, ascending
    published: int  # how many published cells there are

    @classmethod
    def of(cls, linked: JointCounts) -> tuple[InnerCells, IntArray]:
        """The inner cells of a table, and their numbers in it.

        Raises:
            CountRoundingError: If there is no one set of inner cells that all totals are sums of.
        """
        relations, number = linked.relations, len(linked.count)
        inner = np.ones(number, dtype=np.bool_)
        inner[relations.totals] = False
        inner &= linked.count > 0
        own = np.flatnonzero(inner).astype(np.int64)
        first, above = _totals_of(linked)
        pairs = own * number + own  # an inner cell × number + a cell it is part of
        levels = []
        while pairs.size:
            levels.append(pairs)
            width = np.diff(first)[pairs % number]
            cell = np.repeat(pairs // number, width)
            within = np.arange(cell.size) - np.repeat(np.cumsum(width) - width, width)
            upper = above[np.repeat(first[pairs % number], width) + within]
            pairs = np.unique(cell * number + upper)
        known = np.unique(np.concatenate([pairs, *levels]))
        width = np.bincount(known // number, minlength=number)[own]
        control = cls(
            count=linked.count[own], start=starts(width), member=known % number, published=number
        )
        trial = np.arange(own.size, dtype=np.int64) * 7919 % 104_729  # adds up by chance hardly
        for values, wanted in ((control.count, linked.count), (trial, None)):
            sums = control.sums(values)
            if relations.residuals(sums).any() or (wanted is not None and (sums != wanted).any()):
                message = (
                    "totals are sums of different interior cells and cannot be rounded together"
                )
                hint = 'round the tables one by one, or use method="controlled"'
                raise CountRoundingError(message, code="inner-cells", hint=hint)
        return control, own

    def sums(self, values: IntArray) -> IntArray:
        """Values of the published cells if the inner cells have these values."""
        total = np.zeros(self.published, dtype=np.int64)
        np.add.at(total, self.member, np.repeat(values, np.diff(self.start)))
        return total

    def groups(self) -> tuple[IntArray, IntArray]:
        """Starts of the inner cells of each published cell, and the inner cells."""
        order = np.argsort(self.member, kind="stable")
        cell = np.repeat(np.arange(len(self.count)), np.diff(self.start))[order]
        return starts(np.bincount(self.member, minlength=self.published)), cell.astype(np.int64)


def _totals_of(linked: JointCounts) -> tuple[IntArray, IntArray]:
    """Where the totals that each cell is a part of begin, and these."""
    relations = linked.relations
    total = relations.totals[relations.row]
    part = relations.cell != total
    order = np.argsort(relations.cell[part], kind="stable")
    width = np.bincount(relations.cell[part], minlength=len(linked.count))
    return starts(width), total[part][order]


def small_counts(linked: JointCounts, rounding: Rounding, tables: Sequence[Table]) -> IntArray:
    """Round inner cells below the base to 0 or the base; all totals are their sums."""
    del tables
    inner, _ = InnerCells.of(linked)
    return inner.sums(rounded_small(inner, rounding.base))


def rounded_small(
    inner: InnerCells, base: int, most: int | None = None, shown: BoolArray | None = None
) -> IntArray:
    """Inner cells, rounded where they are part of small published counts."""
    most = base - 1 if most is None else most
    truth, value = inner.sums(inner.count), inner.count.copy()
    shown = np.ones(inner.published, dtype=np.bool_) if shown is None else shown
    open_cells = np.zeros(len(value), dtype=np.bool_)
    cell = np.repeat(np.arange(len(value)), np.diff(inner.start))
    while True:
        sums = inner.sums(value)
        small = shown & (sums > 0) & (sums <= most) & (sums % base != 0)
        fresh = np.zeros(len(value), dtype=np.bool_)
        fresh[cell[small[inner.member]]] = True
        fresh &= (inner.count % base != 0) & ~open_cells
        if not fresh.any():
            return value
        open_cells |= fresh
        most = min(most, base - 1)  # of what is new, only counts below the base
        value = fitted(inner, truth, open_cells, base)


def fitted(inner: InnerCells, truth: IntArray, chosen: BoolArray, base: int) -> IntArray:
    """Inner cells with the chosen ones rounded so that sums miss the truth by least squares."""
    floor = np.where(chosen, inner.count // base * base, inner.count)
    group_start, group = inner.groups()
    keep = chosen[group]
    width = np.bincount(np.repeat(np.arange(inner.published), np.diff(group_start))[keep],
                        minlength=inner.published)  # fmt: skip
    cells = np.flatnonzero(chosen).astype(np.int64)
    structure = (inner.start, inner.member, starts(width), group[keep], cells)
    passes = min(_PASSES, max(_FEWEST, _LOOKS // max(int(inner.start[-1]), 1)))
    kicks = min(_KICKS, _WORK // max(int(width.sum()), 1))
    up = chosen & (inner.count - floor >= _halfway(inner.count, base, drawn=not kicks))
    missed = inner.sums(floor + base * up) - truth
    _improve(*structure, up, missed, base, passes, _PAIRED)
    if cells.size > 1 and kicks:
        _kick(*structure, up, missed, base, kicks, truth)
    rounded: IntArray = floor + base * up.astype(np.int64)
    return rounded


def _halfway(count: IntArray, base: int, *, drawn: bool) -> FloatArray:
    """From which rest on a cell starts above: from the half, or drawn anew for each cell.

    Nearest multiples of many cells that are alike miss all in one direction, farther than
    single cells make good. What is drawn is right on average. The counts themselves are the
    seed: equal tables are rounded equally, and readers, who do not know all counts, cannot
    draw it again.
    """
    if not drawn:
        return np.full(len(count), base / 2)
    seed = hashlib.sha256(b"discreet start 1\0" + count.astype("<i8").tobytes()).digest()
    raw = np.random.Philox(key=int.from_bytes(seed[:16])).random_raw(len(count))
    return base * (1.0 - (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53)


@compiled
def _change(start: Any, member: Any, up: Any, missed: Any, base: int, cell: int) -> int:
    """By how much the sum of squares changes if one cell goes the other way."""
    step = -base if up[cell] else base
    change = 0
    for k in range(start[cell], start[cell + 1]):
        change += step * (2 * missed[member[k]] + step)
    return change


@compiled
def _turn(start: Any, member: Any, up: Any, missed: Any, base: int, cell: int) -> None:
    step = -base if up[cell] else base
    up[cell] = not up[cell]
    for k in range(start[cell], start[cell + 1]):
        missed[member[k]] += step


@compiled
def _shared(start: Any, member: Any, one: int, other: int) -> int:
    """How many published cells two inner cells are both part of."""
    i, j, shared = start[one], start[other], 0
    while i < start[one + 1] and j < start[other + 1]:
        if member[i] == member[j]:
            shared += 1
            i += 1
            j += 1
        elif member[i] < member[j]:
            i += 1
        else:
            j += 1
    return shared


@compiled_at_once
def _improve(
    start: Any, member: Any, group_start: Any, group: Any, cells: Any,
    up: Any, missed: Any, base: int, passes: int, paired: int,
) -> None:  # fmt: skip
    """Turn cells, and exchange pairs of a group, as long as the sum of squares falls."""
    for _ in range(passes):
        better = False
        for cell in cells:
            if _change(start, member, up, missed, base, cell) < 0:
                _turn(start, member, up, missed, base, cell)
                better = True
        for total in range(group_start.size - 1):
            first, last = group_start[total], group_start[total + 1]
            if last - first < 2 or last - first > paired:
                continue
            if _exchange(start, member, group[first:last], up, missed, base):
                better = True
        if not better:
            return


@compiled
def _exchange(start: Any, member: Any, cells: Any, up: Any, missed: Any, base: int) -> bool:
    """Exchange the best pair of a group, one down and one up, if that helps."""
    change = np.empty(cells.size, np.int64)
    best_up = best_down = -1
    for k in range(cells.size):
        change[k] = _change(start, member, up, missed, base, cells[k])
        if up[cells[k]] and (best_down < 0 or change[k] < change[best_down]):
            best_down = k
        if not up[cells[k]] and (best_up < 0 or change[k] < change[best_up]):
            best_up = k
    if best_up < 0 or best_down < 0:
        return False
    least, one, other = 0, -1, -1
    whole = cells.size <= 128
    for i in range(cells.size):
        if up[cells[i]] or not (whole or i == best_up):
            continue
        room = 2 * base * base * (start[cells[i] + 1] - start[cells[i]])
        for j in range(cells.size):
            both = change[i] + change[j]
            if up[cells[j]] and (whole or j == best_down) and both - room < least:
                both -= 2 * base * base * _shared(start, member, cells[i], cells[j])
                if both < least:
                    least, one, other = both, i, j
    if one < 0:
        return False
    _turn(start, member, up, missed, base, cells[one])
    _turn(start, member, up, missed, base, cells[other])
    return True


@compiled_at_once
def _kick(
    start: Any, member: Any, group_start: Any, group: Any, cells: Any,
    up: Any, missed: Any, base: int, kicks: int, truth: Any,
) -> None:  # fmt: skip
    """Turn three cells at random and improve anew; keep the smaller squares, maximum, distance."""
    state = 2463534242
    root = np.sqrt(truth)
    least, most = np.sum(missed * missed), np.max(np.abs(missed))
    far = np.sum((np.sqrt(truth + missed) - root) ** 2)
    for _ in range(kicks):
        kept_up, kept_missed = up.copy(), missed.copy()
        for _ in range(3):
            state = (state * 1103515245 + 12345) % 2147483648
            _turn(start, member, up, missed, base, cells[(state >> 8) % cells.size])
        _improve(start, member, group_start, group, cells, up, missed, base, 10, cells.size)
        now, widest = np.sum(missed * missed), np.max(np.abs(missed))
        distance = np.sum((np.sqrt(truth + missed) - root) ** 2)
        if (now, widest, distance) < (least, most, far):
            least, most, far = now, widest, distance
        else:
            up[:] = kept_up
            missed[:] = kept_missed
