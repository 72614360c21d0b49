"""Levels of the spanning variables, the parts of a table, and parts of single areas.

In: the spanning variables; decisions on single areas. Out: per variable its levels with names in
English and German, and the `PartLattice`: which part is directly coarser than which, public; which
parts of which areas are not published, and tables without them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from discreet.arrays import BoolArray, CellIndex, PositionArray
from discreet.errors import SuppressionError
from discreet.tables import CellStatus, Dimension, Parts, ProtectedTable, level_numbers

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

    @cached_property
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
        return tuple(levels[number] for levels, number in zip(self._named, part, strict=True))

    @cached_property
    def _named(self) -> tuple[Mapping[int, PartLevel], ...]:
        """Per spanning variable, its levels with their names by number."""
        return tuple(
            {number: named_level(own, level) for number, level in levels.items()}
            for own, levels in zip(self.dimensions, self.levels, strict=True)
        )

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
    #: Which of the variable's classifications it belongs to
    tree: Annotated[int, Field(validation_alias="classification")]
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


_NOTHING: Parts = frozenset()


@dataclass(frozen=True, kw_only=True)
class AreaParts:
    """Which parts of which areas are not published, besides those of whole levels. Public."""

    variable: str  # the spanning variable whose codes are areas
    #: Code of an area → its hidden parts, over the other spanning variables
    hidden: Mapping[str, Parts]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        parts = {code: [list(part) for part in sorted(keys)] for code, keys in self.hidden.items()}
        return {"variable": self.variable, "hidden": parts}

    def with_hidden(self, more: Mapping[str, Parts]) -> AreaParts:
        """A copy with further parts hidden."""
        codes = dict.fromkeys([*self.hidden, *more])
        joint = {code: self.hidden.get(code, _NOTHING) | more.get(code, _NOTHING) for code in codes}
        return replace(self, hidden={code: parts for code, parts in joint.items() if parts})


def place_of(variable: str, dimensions: Sequence[Dimension], table: str) -> int:
    """Position of the area variable among those of a table."""
    names = [dimension.name for dimension in dimensions]
    if variable not in names:
        raise SuppressionError(
            f"spanning variable {variable!r} of areas not found",
            code="area",
            where=table,
            hint=f"variables: {', '.join(names)}",
        )
    return names.index(variable)


def level_of(dimension: Dimension, level: str | int) -> Level:
    """A level of areas, by its name or its number from the coarsest, 1, on.

    >>> from discreet.classifications import Classification
    >>> region = Classification.from_prefixes("region", ["0101", "0201"], [2, 4])
    >>> place = Dimension(classifications=(region.replace(level_names=("state", "district")),))
    >>> level_of(place, "state").size, level_of(place, 2).size
    (2, 2)
    >>> level_of(place, "village")
    Traceback (most recent call last):
        ...
    discreet.errors.SuppressionError: [area] region: unknown level 'village' of areas
      Hint: levels: state (1), district (2)
    """
    known: dict[str, Level] = {}
    listed = []
    for item in sorted(levels_of(dimension).values(), key=lambda one: (one.tree, one.depth)):
        if item.depth == 0:
            continue
        name = item.name(dimension)
        listed.append(f"{name} ({item.depth})" if name else str(item.depth))
        for called in filter(None, (name, str(item.depth))):
            known.setdefault(called, item)
    if isinstance(level, bool) or str(level) not in known:
        raise SuppressionError(
            f"unknown level {level!r} of areas",
            code="area",
            where=dimension.name,
            hint=f"levels: {', '.join(listed)}",
        )
    return known[str(level)]


def without_areas(protected: ProtectedTable, areas: AreaParts) -> ProtectedTable:
    """A protected table without the figures of hidden parts of areas; cells show as hidden."""
    at = place_of(areas.variable, protected.spanning, protected.name)
    index = _hidden_cells(protected, at, areas.hidden)
    length = len(index[at])
    taken = CellIndex.of(protected.dimensions).find(
        index, protected.index, (length, protected.stored)
    )
    kept = taken < 0
    return replace(
        protected,
        index=tuple(
            np.concatenate([part[kept], more]).astype(np.int32)
            for part, more in zip(protected.index, index, strict=True)
        ),
        value=np.concatenate([protected.value[kept], np.zeros(length, protected.value.dtype)]),
        status=np.concatenate(
            [protected.status[kept], np.full(length, CellStatus.suppressed, dtype=np.int8)]
        ),
    )


def _hidden_cells(
    protected: ProtectedTable, at: int, hidden: Mapping[str, Parts]
) -> list[PositionArray]:
    """Every cell of the hidden parts, whether there are records in it or not."""
    codes = protected.dimensions[at].index
    by_part: dict[PartKey, list[int]] = {}
    for code, parts in hidden.items():
        for part in parts if code in codes else ():
            by_part.setdefault(part, []).append(codes[code])
    others = [dimension for place, dimension in enumerate(protected.spanning) if place != at]
    numbers = [level_numbers(other) for other in others]
    grids = []
    for part, areas in sorted(by_part.items()):
        axes = [np.flatnonzero(own == level) for own, level in zip(numbers, part, strict=True)]
        axes.insert(at, np.array(areas))
        if protected.several_figures:
            axes.append(np.arange(len(protected.dimensions[-1])))
        grids.append([item.ravel() for item in np.meshgrid(*axes, indexing="ij")])
    empty = np.zeros(0, dtype=np.int32)
    return [
        np.concatenate([empty, *columns]).astype(np.int32)
        for columns in (zip(*grids, strict=True) if grids else [()] * len(protected.dimensions))
    ]


# -- how many areas are shown completely ------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AreaShare:
    """Share of the areas of a level that are shown completely. Public: releases show it."""

    level: str  # its name, or its number from the coarsest on
    within: str  # the code of the area on the coarsest level that they lie in; empty for all
    areas: int  # how many areas there are; records without a code are none
    complete: int  # those with every part
    thinned: int  # those with some parts
    blocked: int  # those with none

    @property
    def share_complete(self) -> float:
        """Share of the areas that are shown completely."""
        return self.complete / self.areas

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "share_complete": round(self.share_complete, 6)}


def area_shares(
    dimensions: Sequence[Dimension], suppressed: Parts, areas: AreaParts
) -> tuple[AreaShare, ...]:
    """Shares of areas shown completely, per level and per area of the coarsest level."""
    at = place_of(areas.variable, dimensions, areas.variable)
    dimension = dimensions[at]
    numbers = level_numbers(dimension)
    withheld: dict[int, set[PartKey]] = {}
    for part in suppressed:
        withheld.setdefault(part[at], set()).add((*part[:at], *part[at + 1 :]))
    others = (own for place, own in enumerate(dimensions) if place != at)
    every = math.prod(len(levels_of(other)) for other in others)
    state = []  # 0: all parts of an area are shown, 1: some are, 2: none is
    for code, number in zip(dimension.codes, numbers.tolist(), strict=True):
        hidden = withheld.get(number, set()) | areas.hidden.get(code, _NOTHING)
        state.append(0 if not hidden else 2 if len(hidden) >= every else 1)
    shares = []
    for level in sorted(levels_of(dimension).values(), key=lambda one: (one.tree, one.depth)):
        if level.depth:
            shares += list(_level_shares(dimension, level, state))
    return tuple(shares)


def _level_shares(dimension: Dimension, level: Level, state: Sequence[int]) -> Iterator[AreaShare]:
    tree = dimension.classifications[level.tree]
    own = [
        area
        for area in np.flatnonzero(level.members).tolist()
        if area and dimension.codes[area] != tree.missing
    ]
    tops = top_areas(dimension)
    groups: dict[str, list[int]] = {"": own} if own else {}
    for area in own if level.depth > 1 else ():
        groups.setdefault(dimension.codes[tops[area]], []).append(area)
    for within, members in groups.items():
        states = [state[area] for area in members]
        yield AreaShare(
            level=level.name(dimension) or str(level.depth),
            within=within,
            areas=len(states),
            complete=states.count(0),
            thinned=states.count(1),
            blocked=states.count(2),
        )


def top_areas(dimension: Dimension, depth: int = 1) -> list[int]:
    """Per area, the position of the one that it lies in on a level; itself from there on."""
    tops: list[int] = []
    pairs = zip(dimension.parents.tolist(), dimension.levels.tolist(), strict=True)
    for area, (parent, level) in enumerate(pairs):
        tops.append(area if level <= depth else tops[parent])
    return tops
