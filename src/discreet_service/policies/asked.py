"""What is asked for: a table in the canonical form in which policies judge it. Sizes are those of
classifications; what records tell is asked of `Evidence`, by the rules that need it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
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


@dataclass(frozen=True, kw_only=True)
class AskedTable:
    """A table that somebody asks for, in its canonical form.

    Two ways of asking for the same table give the same, but for `spelling`.

    >>> sex = LayerAxis("sex", "sex", 2, None, geography=False)
    >>> table = AskedTable(dataset="census", version="1", unit="person", by=((None, sex),),
    ...                    where=(), cells=3, digest="d", apart={}, spelling="s")
    >>> table.spanning, table.variables
    ({'sex': 3}, ('sex',))
    """

    dataset: str  # The data set
    version: str
    unit: str  # What is counted
    # What it shows of each variable that spans it, sorted by name: levels, coarse before fine,
    # after the total. The total is that of all codes; a total of some codes only is a filter and
    # stands there. A single code without a total is a filter, too.
    by: Shape
    # The filters, sorted by variable, with the codes that are let through, sorted; several are a
    # group of somebody's own. One that lets all codes through is left out.
    where: tuple[LayerAxis, ...]
    cells: int  # How many cells are shown, totals included
    digest: str  # Keyed digest of all this
    # Variable and level → variables and levels that group the same column in another way, neither
    # finer than the other
    apart: Mapping[tuple[str, str], frozenset[tuple[str, str]]] = field(compare=False)
    spelling: str = field(default="", compare=False)  # Digest of the query as it was written
    # Whether it is a table of a programme: sparse parts of it are not hidden afterwards, and it
    # does not wait for those before it
    programme: bool = field(default=False, compare=False)

    @cached_property
    def axes(self) -> tuple[LayerAxis, ...]:
        """All that stands in table and filters, but for totals."""
        spanning = (axis for one in self.by for axis in one if axis is not None)
        return (*spanning, *self.where)

    @property
    def spanning(self) -> dict[str, int]:
        """Each variable that spans it, with the number of shown codes and its total."""
        shown: dict[str, int] = {}
        for one in self.by:
            names = [axis.variable for axis in one if axis is not None]
            shown[names[0]] = sum(1 if axis is None else axis.shown for axis in one)
        return shown

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables of table and filters, each once, sorted."""
        return tuple(sorted({axis.variable for axis in self.axes}))

    @property
    def geographies(self) -> frozenset[str]:
        """The geographic variables."""
        return frozenset(axis.variable for axis in self.axes if axis.geography)

    @property
    def place(self) -> dict[str, str]:
        """Data set and version."""
        return {"dataset": self.dataset, "version": self.version}

    @cached_property
    def shape(self) -> Shape:
        """What it shows of each variable."""
        shown: dict[str, tuple[LayerAxis | None, ...]] = {
            one.variable: (one,) for one in self.where
        }
        for name, one in zip(self.spanning, self.by, strict=True):
            fixed = shown.get(name)
            shown[name] = one if fixed is None else (*fixed, *filter(None, one))
        return tuple(shown[name] for name in sorted(shown))

    @cached_property
    def boxes(self) -> list[Box]:
        """Its boxes."""
        return boxes_of(self.shape)


def boxes_of(shape: Shape) -> list[Box]:
    """The boxes of a table: of each variable one of the things that it shows."""
    return [
        tuple(axis for axis in chosen if axis is not None) for chosen in itertools.product(*shape)
    ]
