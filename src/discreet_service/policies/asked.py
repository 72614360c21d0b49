"""What is asked for: a table in the canonical form in which policies judge it. Sizes are those of
classifications; what records tell is asked of `Evidence`, by the rules that need it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple


class LayerAxis(NamedTuple):
    """A variable of a box."""

    variable: str
    level: str
    size: int  # How many codes the level has
    codes: tuple[str, ...] | None  # The codes; None for all
    geography: bool  # Whether it tells where

    @property
    def shown(self) -> int:
        """Number of shown codes."""
        return self.size if self.codes is None else len(self.codes)


Box = tuple[LayerAxis, ...]
#: For each variable what the table shows of it; None stands for the total.
Shape = tuple[tuple[LayerAxis | None, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedLevel:
    """A level of a variable that the table shows."""

    name: str  # Its name, the same in all queries
    size: int  # How many codes the whole level has, by the classification
    # Variables and levels that group the same column in another way, neither finer than the other
    apart: frozenset[tuple[str, str]]
    codes: tuple[str, ...] | None = None  # Those that are shown, sorted; None for all

    @property
    def shown(self) -> int:
        """Number of shown codes."""
        return self.size if self.codes is None else len(self.codes)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedVariable:
    """A variable that spans the table."""

    name: str  # The variable
    levels: tuple[AskedLevel, ...]  # The levels shown, coarse before fine, without the total
    # Whether the total is shown. It is that of all codes; a total of some codes only is a filter
    # and stands there.
    total: bool
    geography: bool  # Whether it tells where

    @property
    def shown(self) -> int:
        """Number of shown codes, with the total."""
        return sum(level.shown for level in self.levels) + self.total


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedFilter:
    """A condition on the records of the table."""

    variable: str
    level: str  # The level of its codes
    # The codes that are let through, sorted; several are a group of somebody's own
    codes: tuple[str, ...]
    size: int  # How many codes the whole level has
    geography: bool  # Whether the variable tells where
    apart: frozenset[tuple[str, str]]  # As of `AskedLevel`


@dataclass(frozen=True, kw_only=True)
class AskedTable:
    """A table that somebody asks for, in its canonical form.

    Two ways of asking for the same table give the same, but for `spelling`.

    >>> level = AskedLevel(name="sex", size=2, apart=frozenset())
    >>> sex = AskedVariable(name="sex", levels=(level,), total=True, geography=False)
    >>> table = AskedTable(dataset="census", version="1", unit="person", by=(sex,), where=(),
    ...                    cells=3, digest="d", spelling="s")
    >>> table.spanned, table.variables
    (3, ('sex',))
    """

    dataset: str  # The data set
    version: str
    unit: str  # What is counted
    # The variables that span it, sorted by name. A single code without a total is a filter.
    by: tuple[AskedVariable, ...]
    # The filters, sorted by variable; one that lets all codes through is left out
    where: tuple[AskedFilter, ...]
    cells: int  # How many cells are shown, totals included
    digest: str  # Keyed digest of all this
    spelling: str = field(default="", compare=False)  # Digest of the query as it was written
    # Whether it is a table of a programme: sparse parts of it are not hidden afterwards, and it
    # does not wait for those before it
    programme: bool = field(default=False, compare=False)

    @property
    def spanned(self) -> int:
        """Number of cells that the variables span."""
        return math.prod(item.shown for item in self.by)

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables of table and filters, each once, sorted."""
        return tuple(sorted({one.name for one in self.by} | {one.variable for one in self.where}))

    @property
    def geographies(self) -> frozenset[str]:
        """The geographic variables."""
        by = {one.name for one in self.by if one.geography}
        return frozenset(by | {one.variable for one in self.where if one.geography})

    @property
    def place(self) -> dict[str, str]:
        """Data set and version."""
        return {"dataset": self.dataset, "version": self.version}

    @property
    def universe(self) -> str:
        """The name of whom the table is about: unit and filters, the same for all spellings."""
        conditions = [f"{one.variable}/{one.level}={'|'.join(one.codes)}" for one in self.where]
        return " & ".join([self.unit, *sorted(conditions)])

    @cached_property
    def shape(self) -> Shape:
        """What it shows of each variable."""
        found: dict[str, tuple[LayerAxis | None, ...]] = {
            one.variable: (LayerAxis(one.variable, one.level, one.size, one.codes, one.geography),)
            for one in self.where
        }
        for one in self.by:
            levels = tuple(
                LayerAxis(one.name, level.name, level.size, level.codes, one.geography)
                for level in one.levels
            )
            around = (None,) if one.total else ()
            found[one.name] = found.get(one.name, around) + levels
        return tuple(found[name] for name in sorted(found))

    @cached_property
    def boxes(self) -> list[Box]:
        """Its boxes."""
        return boxes_of(self.shape)


def boxes_of(shape: Shape) -> list[Box]:
    """The boxes of a table: of each variable one of the things that it shows."""
    return [
        tuple(axis for axis in chosen if axis is not None) for chosen in itertools.product(*shape)
    ]
