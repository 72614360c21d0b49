"""`Pairs`: each true figure beside what was made of it, by table part. CONFIDENTIAL.

In: a `Table` and its `ProtectedTable`, an `Ingredient`, or key figures as they would be
without noise. Out: original, value, status and table part, cell by cell; `PartGrid`, the
numbered table parts of a protected table with their sizes and levels, which is public.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, IntArray, PositionArray
from discreet.derived import KeyFigure, derive
from discreet.errors import TableError
from discreet.tables import (
    CellStatus,
    Dimension,
    Ingredient,
    Parts,
    ProtectedTable,
    Table,
    level_numbers,
)

#: The name of the level of totals.
TOTAL = "total"


def level_names(dimension: Dimension) -> dict[int, str]:
    """The name of each level number: the total, then each classification down to its finest.

    A level without a name is called after its variable, with its depth if there are several.

    >>> from discreet.classifications import Classification
    >>> region = Classification.from_prefixes("region", ["01", "02"], lengths=[1, 2])
    >>> level_names(Dimension(classifications=(region,)))
    {1: 'total', 2: 'region 1', 0: 'region 2'}
    """
    numbers, first = np.unique(level_numbers(dimension), return_index=True)
    tree, level = dimension.breakdown[first], dimension.levels[first]
    finest = dimension.is_leaf[first]
    order = np.lexsort((level, finest, tree, level > 0))
    return {int(numbers[at]): _level_name(dimension, int(first[at])) for at in order}


def _level_name(dimension: Dimension, code: int) -> str:
    """The name of the level that a code is on."""
    if dimension.levels[code] == 0:
        return TOTAL
    tree = dimension.classifications[dimension.breakdown[code]]
    level = tree.depth if dimension.is_leaf[code] else int(dimension.levels[code])
    if level <= len(tree.level_names):
        named: str = tree.level_names[level - 1]
        return named
    name = tree.name if len(dimension.classifications) > 1 else dimension.name
    return name if tree.depth == 1 else f"{name} {level}"


def finest_level(dimension: Dimension) -> str:
    """The name of the finest level; of each, where classifications do not nest."""
    leaves = np.flatnonzero(dimension.is_leaf & (dimension.levels > 0))
    _, first = np.unique(dimension.breakdown[leaves], return_index=True)
    names = [_level_name(dimension, int(code)) for code in leaves[first]]
    return " / ".join(names) or TOTAL


@dataclass(frozen=True, repr=False, eq=False)
class PartGrid:
    """The parts over some spanning variables, numbered with the last variable fastest."""

    dimensions: tuple[Dimension, ...]  # the spanning variables
    #: Per variable, the level numbers it has: the total first, the finest last
    numbers: tuple[tuple[int, ...], ...]
    rank: tuple[IntArray, ...]  # per variable and code, which of these levels the code is on

    @classmethod
    def of(cls, dimensions: Sequence[Dimension]) -> PartGrid:
        """The parts of a table that these variables span."""
        numbers, rank = [], []
        for dimension in dimensions:
            own = tuple(level_names(dimension))
            at = np.zeros(max(own) + 1, dtype=np.int64)
            at[list(own)] = np.arange(len(own))
            numbers.append(own)
            rank.append(at[level_numbers(dimension)])
        return cls(tuple(dimensions), tuple(numbers), tuple(rank))

    def __len__(self) -> int:
        return CellIndex.of(self.numbers).size

    @property
    def cells(self) -> CellIndex:
        """The numbering of the cells of the table."""
        return CellIndex.of(self.dimensions)

    @property
    def strides(self) -> tuple[int, ...]:
        """Per variable, what one level more adds to the number of a part."""
        return CellIndex.of(self.numbers).strides

    def part(self, index: Sequence[PositionArray], length: int) -> IntArray:
        """The part that each cell lies on."""
        part = np.zeros(length, dtype=np.int64)
        for rank, stride, places in zip(self.rank, self.strides, index, strict=True):
            part += (rank * stride).take(places)
        return part

    def names(self) -> list[tuple[str, ...]]:
        """The levels of each part in words."""
        return list(itertools.product(*(level_names(d).values() for d in self.dimensions)))

    def broken_down(self) -> list[int]:
        """Per part, the number of variables that are not at their total."""
        below = [  # per variable and level, whether it is not the total
            [bool(dimension.levels[rank == at].max() > 0) for at in range(len(own))]
            for dimension, own, rank in zip(self.dimensions, self.numbers, self.rank, strict=True)
        ]
        return [sum(part) for part in itertools.product(*below)]

    def sizes(self) -> list[int]:
        """Per part, the number of its cells."""
        codes = [
            np.bincount(rank, minlength=len(own)).tolist()
            for rank, own in zip(self.rank, self.numbers, strict=True)
        ]
        return [math.prod(sizes) for sizes in itertools.product(*codes)]

    def suppressed(self, table: ProtectedTable) -> BoolArray:
        """Which parts are suppressed as a whole, in one of the figures at least."""
        return self._among(table.suppressed_parts)

    def unknown(self, table: ProtectedTable) -> BoolArray:
        """Which parts the table does not have."""
        if table.parts is None:
            return np.zeros(len(self), dtype=np.bool_)
        return ~self._among(table.parts)

    def shut(self, table: ProtectedTable, figure: int) -> BoolArray:
        """Which parts are suppressed as a whole, or missing, in one of the figures."""
        suppressed, parts = table.suppressed_parts, table.parts
        if table.several_figures:
            level = table.dimensions[-1].level_numbers[figure]
            suppressed = frozenset(part for part in suppressed if part[-1] == level)
            parts = None if parts is None else frozenset(p for p in parts if p[-1] == level)
        shut = self._among(suppressed)
        return shut if parts is None else shut | ~self._among(parts)

    def _among(self, parts: Parts) -> BoolArray:
        """Which parts are among some, whatever the figure."""
        own = {part[: len(self.dimensions)] for part in parts}
        return np.array([levels in own for levels in itertools.product(*self.numbers)], np.bool_)

    def __repr__(self) -> str:
        return f"<PartGrid: {len(self)} parts>"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Pairs:
    """Original and published figure of the cells that have records (confidential)."""

    original: npt.NDArray[Any]  # True values
    value: npt.NDArray[Any]  # values as published; 0 where there is none
    status: npt.NDArray[np.int8]  # what is published
    part: IntArray  # the number of the table part
    beside: int = 0  # number of other cells that are published, although they have no records

    @classmethod
    def of_table(cls, table: Table, protected: ProtectedTable, grid: PartGrid) -> Pairs:
        """The cells of a table and what became of them."""
        listed, places = places_in(table.dimensions, table.index, grid.dimensions, table.name)
        value, status = published_or_zero(protected, places, len(table), listed)
        return cls(
            original=table.count if table.weight is None else table.weight,
            value=value,
            status=status,
            part=_part(table.dimensions, table.index, grid, listed, places),
            beside=_shown(protected.value, protected.status) - _shown(value, status),
        )

    @classmethod
    def of_ingredient(
        cls, ingredient: Ingredient, protected: ProtectedTable, grid: PartGrid
    ) -> Pairs:
        """The cells of an ingredient, as published in `protected`."""
        own, name = ingredient.protected, protected.name
        listed, places = places_in(ingredient.dimensions, ingredient.index, grid.dimensions, name)
        status = np.full(len(ingredient), CellStatus.published, dtype=np.int8)
        if bool((own.status == CellStatus.official).any()):
            _, status = published_at(own, ingredient.index, len(ingredient))
        status[ingredient.suppressed] = CellStatus.suppressed
        part = _part(ingredient.dimensions, ingredient.index, grid, listed, places)
        status[grid.suppressed(protected)[part]] = CellStatus.suppressed
        value, original = ingredient.value, ingredient.original
        if own.value.dtype.kind == "i":
            value, original = value.astype(np.int64), original.astype(np.int64)
        return cls(original=original, value=value, status=status, part=part)

    @property
    def whole(self) -> bool:
        """Whether these are counts."""
        return self.original.dtype.kind == "i" and self.value.dtype.kind == "i"

    def __len__(self) -> int:
        return len(self.original)

    def __repr__(self) -> str:
        return f"<Pairs (confidential): {len(self):,} cells>"


def _shown(value: npt.NDArray[Any], status: npt.NDArray[np.int8]) -> int:
    """Number of cells that show a perturbed number."""
    return int(np.count_nonzero((value != 0) & (status != CellStatus.official)))


def places_in(
    ours: Sequence[Dimension],
    index: Sequence[PositionArray],
    theirs: Sequence[Dimension],
    where: str,
) -> tuple[npt.NDArray[np.bool_] | None, tuple[PositionArray, ...]]:
    """Positions of cells in the variables of the other table, and a mask; None if all match."""
    same = len(ours) == len(theirs) and all(
        a.name == b.name and not set(b.index) - set(a.index)
        for a, b in zip(ours, theirs, strict=True)
        if a is not b
    )
    if not same:
        raise TableError(
            "the two tables differ in their spanning variables or codes",
            code="quality",
            where=where,
            hint="give a table and its protected table",
        )
    listed: npt.NDArray[np.bool_] | None = None
    places = []
    for a, b, part in zip(ours, theirs, index, strict=True):
        if a is b or a.codes == b.codes:
            places.append(part)
            continue
        to = np.array([b.index.get(code, -1) for code in a.codes], dtype=np.int32)[part]
        here = to >= 0
        listed = here if listed is None else listed & here
        places.append(np.maximum(to, 0))
    return listed, tuple(places)


def _part(
    ours: Sequence[Dimension],
    index: Sequence[PositionArray],
    grid: PartGrid,
    listed: npt.NDArray[np.bool_] | None,
    places: tuple[PositionArray, ...],
) -> IntArray:
    """The part of each cell; codes that left the table count to their former level."""
    length = len(index[0]) if index else 1
    part = grid.part(places, length)
    if listed is None or bool(listed.all()):
        return part
    former = np.zeros(length, dtype=np.int64)
    pairs = zip(ours, index, PartGrid.of(ours).rank, grid.numbers, grid.strides, strict=True)
    for dimension, at, rank, numbers, stride in pairs:
        own = PartGrid.of([dimension]).numbers[0]
        known = [numbers.index(n) if n in numbers else len(numbers) - 1 for n in own]
        former += np.array(known, dtype=np.int64)[rank[at]] * stride
    return np.where(listed, part, former)


def published_at(
    table: ProtectedTable, places: tuple[PositionArray, ...], length: int
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int8]]:
    """Value and status of cells as published."""
    if table.suppressed_parts or table.figures:
        status = table.absent(places, length)
    else:
        status = np.full(length, CellStatus.zero_or_changed_to_zero, dtype=np.int8)
    if not table.stored:
        return np.zeros(length, dtype=table.value.dtype), status
    lengths = (table.stored, length)
    at = CellIndex.of(table.dimensions).find(table.index, places, lengths)
    present = at >= 0
    value = np.where(present, table.value[at], 0)
    return value, np.where(present, table.status[at], status).astype(np.int8)


def published_or_zero(
    table: ProtectedTable,
    places: tuple[PositionArray, ...],
    length: int,
    listed: npt.NDArray[np.bool_] | None,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int8]]:
    """Published figures; codes that the table leaves out are zero."""
    value, status = published_at(table, places, length)
    if listed is not None:
        value = np.where(listed, value, 0)
        status[~listed] = CellStatus.zero_or_changed_to_zero
    return value, status


def key_figure_pairs(
    ingredients: Mapping[str, Ingredient],
    figures: Sequence[KeyFigure],
    protected: ProtectedTable,
    grid: PartGrid,
) -> dict[str, Pairs]:
    """Per figure that is shown, originals beside what is published.

    Counts are compared as they are. Other figures are made of true ingredients as they
    were of protected ones, and rounded alike.
    """
    shown = [figure for figure in figures if not figure.hidden]
    if {figure.name for figure in shown} != {figure.name for figure in protected.figures}:
        raise TableError(
            "the key figures do not belong to the table",
            code="quality",
            where=protected.name,
            hint="give the key figures with which it was derived",
        )
    counts = [figure for figure in shown if figure.kind == "count"]
    pairs = {
        figure.name: Pairs.of_ingredient(ingredients[figure.shown], protected, grid)
        for figure in counts
    }
    others = [figure for figure in shown if figure.kind != "count"]
    if others:
        true = derive(
            {name: _without_noise(ingredient) for name, ingredient in ingredients.items()},
            figures,
            bracket_above=None,
        )
        pairs |= {
            figure.name: _figure_pairs(figure.name, true, protected, grid) for figure in others
        }
    return pairs


def _without_noise(ingredient: Ingredient) -> Ingredient:
    """An ingredient that is published as it is: exists here only, to be compared."""
    status = np.full(len(ingredient), CellStatus.published, dtype=np.int8)
    status[ingredient.suppressed] = CellStatus.suppressed
    exact = replace(
        ingredient.protected,
        index=ingredient.index,
        value=np.where(ingredient.suppressed, 0, ingredient.original),
        status=status,
    )
    return replace(
        ingredient,
        protected=exact,
        value=np.where(ingredient.suppressed, 0, ingredient.original),
        deviation=np.zeros(len(ingredient)),
    )


def _figure_pairs(
    name: str, true: ProtectedTable, protected: ProtectedTable, grid: PartGrid
) -> Pairs:
    """One figure of both tables, wherever the true one is not 0."""
    here = np.ones(true.stored, dtype=np.bool_)
    if true.several_figures:
        here = true.index[-1] == true.dimensions[-1].index[name]
    index = tuple(part[here] for part in true.index)
    length = int(np.count_nonzero(here))
    listed, places = places_in(true.dimensions, index, protected.dimensions, protected.name)
    value, status = published_at(protected, places, length)
    if listed is not None:
        status[~listed] = CellStatus.not_applicable
    spanning = places[: len(grid.dimensions)]
    return Pairs(
        original=true.value[here].astype(np.float64),
        value=value.astype(np.float64),
        status=status,
        part=grid.part(spanning, length),
    )
