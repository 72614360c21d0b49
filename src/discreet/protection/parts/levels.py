"""Levels of the spanning variables, the parts of a table, and what both are called.

In: the spanning variables. Out: per variable its levels with names in English and German,
and the `PartLattice`: which part is directly coarser than which. Public: nothing here
knows what was counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray
from discreet.errors import SuppressionError
from discreet.tables import Dimension, Parts, level_numbers

#: Per spanning variable, the number of a level; see `discreet.tables.dimension`.
PartKey = tuple[int, ...]


def check_kinds(*wanted: tuple[str, object, type]) -> None:
    """Raise unless each argument, given with its name, is of the kind wanted."""
    for name, value, kind in wanted:
        if not isinstance(value, kind):
            message = f"expected a {kind.__name__}, got a {type(value).__name__}"
            raise SuppressionError(message, code="argument", where=name)


@dataclass(frozen=True, kw_only=True, eq=False)
class Level:
    """One level of a spanning variable."""

    number: int  # its number in `Parts`
    tree: int  # which of the variable's classifications it belongs to
    depth: int  # how far below the total it lies; 0 is the total
    coarser: int | None  # number of the level directly above; None for the total
    steps: int  # how many levels lie below it in its classification
    #: Which codes stand on it. Codes that have none below them stand on their own level and on all
    #: finer ones, so that every level covers every record
    members: BoolArray

    @property
    def size(self) -> int:
        """Number of codes on the level."""
        return int(self.members.sum())

    def name(self, dimension: Dimension) -> str:
        """Name of the level in the classification; empty without one."""
        names = dimension.classifications[self.tree].level_names
        return names[self.depth - 1] if 0 < self.depth <= len(names) else ""


@lru_cache(maxsize=64)
def levels_of(dimension: Dimension) -> Mapping[int, Level]:
    """The levels of a variable by number, finest first; the total is the last.

    >>> from discreet.classifications import Classification
    >>> place = Classification.from_parents("place", {"N": None, "N1": "N", "N2": "N", "S": None})
    >>> levels = levels_of(Dimension(classifications=(place,)))
    >>> {number: (level.coarser, level.size) for number, level in levels.items()}
    {0: (2, 3), 2: (1, 2), 1: (None, 1)}
    """
    numbers = level_numbers(dimension)
    levels: dict[int, Level] = {}
    for tree in range(len(dimension.classifications)):
        own = dimension.breakdown == tree
        own[0] = True
        depths = np.where(own, dimension.levels, 0)
        chain = [_number(numbers, own, depths, depth) for depth in range(int(depths.max()), -1, -1)]
        for steps, number in enumerate(chain):
            depth = len(chain) - 1 - steps
            on_it = own & (depths == depth)
            ended = own & dimension.is_leaf & (depths <= depth)
            coarser = chain[steps + 1] if depth else None
            levels[number] = Level(
                number=number,
                tree=tree if depth else 0,
                depth=depth,
                coarser=coarser,
                steps=max(steps, levels[number].steps) if number in levels else steps,
                members=on_it | ended,
            )
    return dict(sorted(levels.items(), key=lambda entry: entry[1].depth == 0))


def _number(
    numbers: npt.NDArray[np.int64], own: BoolArray, depths: npt.NDArray[np.int32], depth: int
) -> int:
    """The number of the level at this depth: that of the codes with codes below them."""
    here = numbers[own & (depths == depth)]
    return int(here.max() if depth < int(depths.max()) else here[0])


@dataclass(frozen=True, eq=False)
class PartLattice:
    """The parts of a table, from the innermost outward."""

    dimensions: Sequence[Dimension]  # the spanning variables
    existing: Parts | None = None  # the parts that the table has; None for all

    @cached_property
    def levels(self) -> tuple[Mapping[int, Level], ...]:
        """Per spanning variable, its levels by number."""
        return tuple(levels_of(dimension) for dimension in self.dimensions)

    def named(self, part: PartKey) -> tuple[PartLevel, ...]:
        """The levels of a part with their names."""
        places = zip(self.dimensions, self.levels, part, strict=True)
        return tuple(named_level(own, levels[number]) for own, levels, number in places)

    @cached_property
    def outward(self) -> tuple[PartKey, ...]:
        """Every combination of levels; none comes before one that is finer."""
        every = product(*self.levels)
        return tuple(sorted(every, key=self.steps))

    def steps(self, part: PartKey) -> int:
        """Number of levels between a part and the innermost ones."""
        return sum(level[number].steps for level, number in zip(self.levels, part, strict=True))

    def exists(self, part: PartKey) -> bool:
        """Whether the table has this part."""
        return self.existing is None or part in self.existing

    def coarser(self, part: PartKey) -> Iterator[PartKey]:
        """The parts directly above: one variable one level up."""
        for at, number in enumerate(part):
            above = self.levels[at][number].coarser
            if above is not None:
                yield (*part[:at], above, *part[at + 1 :])


LANGUAGES = ("en", "de")

_LEVEL = {"en": "level {}", "de": "Ebene {}"}
_GRAND_TOTAL = {"en": "grand total", "de": "Gesamtsumme"}


@dataclass(frozen=True, kw_only=True)
class PartLevel:
    """A level of a spanning variable, by its names."""

    variable: str  # name of the variable
    number: int  # number of the level in `ProtectedTable.suppressed_parts`
    tree: int  # which of the variable's classifications it belongs to
    depth: int  # how far below the total it lies; 0 is the total
    #: language → name of the variable and, if it has several levels, of the level
    names: Mapping[str, str]

    @property
    def total(self) -> bool:
        """Whether it is the total of the variable."""
        return self.depth == 0

    def above(self, other: PartLevel) -> bool:
        """Whether it is the same level, or a coarser one."""
        return self.total or (self.tree == other.tree and self.depth <= other.depth)

    def to_dict(self) -> dict[str, Any]:
        """The level as plain data."""
        return {
            "variable": self.variable,
            "number": self.number,
            "classification": self.tree,
            "depth": self.depth,
            "names": dict(self.names),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PartLevel:
        """The level from plain data."""
        return cls(
            variable=data["variable"],
            number=data["number"],
            tree=data["classification"],
            depth=data["depth"],
            names=dict(data["names"]),
        )


def named_level(dimension: Dimension, level: Level) -> PartLevel:
    """A level with its names; one without a name is called by its depth.

    >>> from discreet.classifications import Classification
    >>> from discreet.protection.parts.levels import levels_of
    >>> region = Classification.from_prefixes("region", ["0101", "0201"], [2, 4])
    >>> place = Dimension(classifications=(region.replace(level_names=("state", "district")),))
    >>> [named_level(place, level).names["en"] for level in levels_of(place).values()]
    ['region (district)', 'region (state)', 'region']
    """
    tree = dimension.classifications[level.tree]
    names = {}
    for language in LANGUAGES:
        several = len(dimension.classifications) > 1 and level.depth > 0
        title = tree.title(language) if several else dimension.title(language)
        if level.depth and tree.depth > 1:
            name = level.name(dimension) or _LEVEL[language].format(level.depth)
            title = f"{title} ({name})"
        names[language] = title
    return PartLevel(
        variable=dimension.name,
        number=level.number,
        tree=level.tree,
        depth=level.depth,
        names=names,
    )


def name_of_part(levels: Sequence[PartLevel], language: str) -> str:
    """Name of a part: its variables without those at their total."""
    shown = [level.names[language] for level in levels if not level.total]
    return " × ".join(shown) or _GRAND_TOTAL[language]


def is_within(finer: Sequence[PartLevel], coarser: Sequence[PartLevel]) -> bool:
    """Whether all cells of the coarser part are sums of cells of the finer one."""
    return all(above.above(level) for level, above in zip(finer, coarser, strict=True))
