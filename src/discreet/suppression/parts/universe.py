"""The universe of a filtered table, and what the filter leaves out.

In: a filtered table and the table of the same variables without the filter, both
CONFIDENTIAL. Out: the records in between, cell by cell, to be measured like a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, SuppressionError, shortened
from discreet.suppression.parts.levels import Part
from discreet.suppression.parts.measures import PartCells, cells_of, joint_numbers
from discreet.tables import Dimension, Table
from discreet.tables.parts import level_numbers
from discreet.tables.table import IntArray

__all__ = ["Universe"]

BoolArray = npt.NDArray[np.bool_]

_SHOWN = 10


@dataclass(frozen=True, repr=False)
class Universe:
    """All records of the tabulated variables, and those that the filter leaves out.

    Args:
        every: The cells without the filter.
        passing: How many records of each of these cells pass the filter.
        left_out: The cells of the records that do not pass.
        named: Places of the spanning variables that the filter names.
    """

    every: PartCells
    passing: IntArray
    left_out: PartCells
    named: tuple[int, ...] = ()

    @classmethod
    def of(cls, table: Table, universe: Table, small_up_to: int) -> Universe:
        """The universe of a filtered table; an error if it is not that.

        Args:
            table: The filtered table.
            universe: The table of the same variables without the filter.
            small_up_to: Largest count of a small cell.
        """
        _check(table, universe)
        every = cells_of(universe, small_up_to)
        query = cells_of(table, small_up_to)
        passing = _passing(query, every, table.name)
        rest = every.count - passing
        some = rest > 0
        left_out = PartCells(
            every.dimensions,
            tuple(part[some] for part in every.index),
            rest[some],
            small_up_to=small_up_to,
            named=query.named,
        )
        return cls(every, passing, left_out, query.named)

    def told_by_filter(self, part: Part) -> tuple[int, int]:
        """Groups of two and more records, and those all or none of whose records pass.

        Where the filter names a spanning variable, such as age in a table of adults by
        age, its codes that all or none pass tell nothing but what the filter says.
        """
        if not self.named:
            place = self.every.place(part)
            several, alike = self._told
            return int(several[place]), int(alike[place])
        here = self.every.on(part)
        groups = here & (self.every.count >= 2)
        for at in self.named:
            groups &= ~self._settled(here, at)[self.every.index[at]]
        passing, count = self.passing[groups], self.every.count[groups]
        return len(count), int(((passing == 0) | (passing == count)).sum())

    @cached_property
    def _told(self) -> tuple[IntArray, IntArray]:
        """Groups, and those all or none of whose records pass, of every part at once."""
        groups = self.every.count >= 2
        alike = groups & ((self.passing == 0) | (self.passing == self.every.count))
        return self.every.cells_per_part(groups), self.every.cells_per_part(alike)

    def _settled(self, here: BoolArray, at: int) -> BoolArray:
        """The codes of a variable that all or none of whose records pass."""
        size, codes = len(self.every.dimensions[at]), self.every.index[at][here]
        passing = np.bincount(codes, weights=self.passing[here], minlength=size)
        every = np.bincount(codes, weights=self.every.count[here], minlength=size)
        return np.asarray((passing == 0) | (passing == every))

    def __repr__(self) -> str:
        return "<Universe (confidential)>"


def _passing(query: PartCells, every: PartCells, name: str) -> IntArray:
    """How many records of each cell of the universe the query counts."""
    sizes = [len(dimension) for dimension in every.dimensions]
    columns: list[npt.NDArray[Any]] = []
    pairs = zip(query.dimensions, every.dimensions, every.index, query.index, strict=True)
    for here, there, whole, part in pairs:
        columns.append(np.concatenate([whole, _positions(here, there)[part]]))
    length = len(every.count) + len(query.count)
    numbers = joint_numbers(columns, sizes)[0] if columns else np.zeros(length, dtype=np.int64)
    known, asked = numbers[: len(every.count)], numbers[len(every.count) :]
    passing = np.zeros(len(known), dtype=np.int64)
    if len(asked):
        order = np.argsort(known, kind="stable")
        at = np.searchsorted(known[order], asked)
        found = order[np.minimum(at, len(order) - 1)] if len(order) else at
        if not len(order) or not np.array_equal(known[found], asked):
            raise _no_universe(name)
        passing[found] = query.count
    if bool((passing > every.count).any()):
        raise _no_universe(name)
    return passing


def _no_universe(name: str) -> SuppressionError:
    return SuppressionError(
        "the table counts records that are not in its universe",
        code="universe",
        where=name,
        hint="count both from the same records, the universe without the filter",
    )


def _positions(here: Dimension, there: Dimension) -> npt.NDArray[np.int32]:
    """The position of each code in the universe's list; -1 if it is not there."""
    if here.codes == there.codes:
        return np.arange(len(here), dtype=np.int32)
    return np.array([there.index.get(code, -1) for code in here.codes], dtype=np.int32)


_SAME_CODES = "use the same by=; state the classification if the filter leaves codes out"


def _check(table: Table, universe: Table) -> None:
    """Raise unless the universe spans the same variables, has no filter and all parts."""
    problems = []
    names = [[d.name for d in each.dimensions] for each in (table, universe)]
    if names[0] != names[1]:
        problems.append(
            Problem("the universe has other variables", universe.name, "use the same by=")
        )
    else:
        pairs = zip(table.dimensions, universe.dimensions, strict=True)
        problems += [
            Problem("the universe has other codes, or other levels", here.name, _SAME_CODES)
            for here, there in pairs
            if not _same_tree(here, there)
        ]
    if universe.where:
        problems.append(
            Problem(
                "the universe is filtered itself",
                universe.name,
                "count it without a filter; a filter that is the statistic's population "
                "belongs into the records",
            )
        )
    lacking = universe.parts is not None and (
        table.parts is None or not table.parts <= universe.parts
    )
    if lacking:
        problems.append(Problem("the universe lacks parts that the table has", universe.name))
    if problems:
        raise SuppressionError(
            problems[0].what if len(problems) == 1 else "this is not the universe of the table",
            code="universe",
            where=table.name if len(problems) > 1 else problems[0].where,
            hint=problems[0].hint,
            problems=shortened(problems, _SHOWN),
        )


def _same_tree(here: Dimension, there: Dimension) -> bool:
    """Whether the codes of one stand in the other, on the same levels, below the same codes."""
    at = _positions(here, there)
    if bool((at < 0).any()) or len(here.classifications) != len(there.classifications):
        return False
    above = np.where(here.parents < 0, -1, at[here.parents])
    return bool(
        np.array_equal(above, there.parents[at])
        and np.array_equal(level_numbers(here), level_numbers(there)[at])
    )
