"""Measures of table parts: disclosure risk and information loss. CONFIDENTIAL.

In: the cells with records of a table and, if it is filtered, the table of the same variables
without the filter. Out: `PartMeasures` of any part, and of the records that the filter
leaves out. Empty cells are counted by arithmetic; no grid is ever made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from discreet.arrays import (
    BoolArray,
    CellIndex,
    FloatArray,
    IntArray,
    PositionArray,
    find_numbers,
)
from discreet.disclosure import code_positions
from discreet.errors import FilterError, Problem, SuppressionError, raise_all
from discreet.microdata import parse_filter
from discreet.protection.parts.levels import Level, PartKey, levels_of
from discreet.tables import Dimension, Table, level_numbers


def named_variables(table: Table) -> tuple[int, ...]:
    """The spanning variables whose columns the filter names, as far as it can be read."""
    if not table.where:
        return ()
    try:
        columns = parse_filter(table.where).columns
    except FilterError:  # a description in words; it then counts as naming none
        return ()
    named = []
    for at, dimension in enumerate(table.dimensions):
        trees = dimension.classifications
        known = {name for tree in trees for name in (tree.column or tree.name, *tree.level_columns)}
        if not columns.isdisjoint(known | {dimension.name}):
            named.append(at)
    return tuple(named)


#: Standard deviation of the noise: of each cell of the table, or a function of counts.
Deviation = Callable[[IntArray], Any] | Any

_DENSE = 2**16
_DENSE_SHARE = 16
#: All sizes of cells, those of small ones, and those of cells of one record; see `_of_size`.
_SIZES = ([0, 1, 2, 3], [1, 3], [2, 3])


@dataclass(frozen=True, kw_only=True, repr=False)
class PartMeasures:
    """Measures of one part (confidential)."""

    cells: int  # number of cells, empty ones included
    occupied: int  # number of cells with records
    records: int  # number of records
    small: int  # number of small cells
    unique: int  # number of cells with one record
    #: Per variable that a level lies above of: number of groups of two and more records, and of
    #: those among them whose records are all in one category
    groups: tuple[tuple[int, int], ...] = ()
    #: Mean relative error of the cells with records; None if not asked
    relative_error: float | None = None

    @property
    def share_small(self) -> float:
        """Share of small cells among the cells with records."""
        return _share(self.small, self.occupied)

    @property
    def share_unique(self) -> float:
        """Share of the records that are alone in their cell."""
        return _share(self.unique, self.records)

    @property
    def share_grouped(self) -> float:
        """Share of groups that give a category away, for the worst variable."""
        return max((_share(revealing, groups) for groups, revealing in self.groups), default=0.0)

    @property
    def share_empty(self) -> float:
        """Share of the cells without records."""
        return _share(self.cells - self.occupied, self.cells)

    @property
    def average_size(self) -> float:
        """Records per cell with records; 0 where there are none."""
        return _share(self.records, self.occupied)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


@dataclass(frozen=True, repr=False, eq=False)
class PartCells:
    """Cells with records, to be measured part by part (confidential)."""

    dimensions: tuple[Dimension, ...]
    index: tuple[PositionArray, ...]
    count: IntArray
    small_up_to: int  # largest count of a small cell
    relative: FloatArray | None = None  # relative error of each cell
    named: tuple[int, ...] = ()  # places of the variables that a filter names
    area: int | None = None  # place of the variable whose codes are measured one by one
    added_up: bool = False  # whether all sums of the cells are among them

    @cached_property
    def levels(self) -> tuple[Mapping[int, Level], ...]:
        """Per variable, its levels by number."""
        return tuple(map(levels_of, self.dimensions))

    @cached_property
    def _kinds(self) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Per variable, the kind of each code and a code of each kind; areas are of their own."""
        return [
            _kinds(dimension) if at != self.area else (np.arange(len(dimension)),) * 2
            for at, dimension in enumerate(self.dimensions)
        ]

    @cached_property
    def _on_levels(self) -> list[BoolArray | None]:
        """Per variable, levels × kinds of codes: which stand on which; None for areas."""
        return [
            None
            if at == self.area
            else np.array([level.members[first] for level in levels.values()])
            for at, (levels, (_, first)) in enumerate(zip(self.levels, self._kinds, strict=True))
        ]

    @cached_property
    def _kind(self) -> npt.NDArray[np.int64]:
        """The combination of kinds of codes that each cell has."""
        kind = np.zeros(len(self.count), dtype=np.int64)
        strides = CellIndex.of([first for _, first in self._kinds]).strides
        for (kinds, _), stride, part in zip(self._kinds, strides, self.index, strict=True):
            kind += (kinds * stride).take(part)
        return kind

    @cached_property
    def _of_size(self) -> npt.NDArray[Any]:
        """Cells per size and combination of kinds: larger, small, of one record, or both."""
        size = (self.count <= self.small_up_to) + 2 * (self.count == 1).view(np.int8)
        shape = tuple(len(first) for _, first in self._kinds)
        kind = size * np.int64(math.prod(shape)) + self._kind
        cells: npt.NDArray[Any] = np.bincount(kind, minlength=4 * math.prod(shape))
        return cells.reshape(4, *shape)

    @cached_property
    def _totals(self) -> tuple[IntArray, ...]:
        """Cells, records, small cells and cells of one record, of every part at once."""
        cells, small, unique = (self._of_size[sizes].sum(axis=0) for sizes in _SIZES)
        # Floats hold whole numbers up to 2^53, more than there are records anywhere.
        records = self._by_kind(self._kind, self.count).astype(np.int64)
        return tuple(_on_parts(np.stack((cells, records, small, unique)), self._on_levels))

    def _by_kind(
        self, kind: npt.NDArray[np.int64], weights: IntArray | None = None
    ) -> npt.NDArray[Any]:
        """Number of cells, or sum of weights, per combination of kinds."""
        shape = tuple(len(first) for _, first in self._kinds)
        sums: npt.NDArray[Any] = np.bincount(kind, weights, minlength=math.prod(shape))
        return sums.reshape(shape)

    def place(self, part: PartKey) -> tuple[int, ...]:
        """Position of a part among the measures of all parts."""
        return tuple(
            number if at == self.area else list(levels).index(number)
            for at, (levels, number) in enumerate(zip(self.levels, part, strict=True))
        )

    @cached_property
    def _of_areas(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The cells in the order of their areas, and where those of each area begin."""
        assert self.area is not None
        codes = self.index[self.area]
        order = np.argsort(codes, kind="stable")
        return order, np.searchsorted(codes[order], np.arange(len(self._kinds[self.area][0]) + 1))

    def records_of_areas(self) -> IntArray:
        """Per area, how many records it has."""
        total = [list(levels)[-1] for levels in self.levels]
        place = self.place(tuple(total))
        whole = (slice(None) if at == self.area else position for at, position in enumerate(place))
        return np.asarray(self._totals[1][tuple(whole)])

    def cells_in(self, area: int) -> npt.NDArray[np.int64]:
        """The cells of an area."""
        order, start = self._of_areas
        return order[start[area] : start[area + 1]]

    def cells_on(self, part: PartKey) -> npt.NDArray[np.int64]:
        """The cells that stand on a part."""
        if self.area is not None:
            cells = self.cells_in(part[self.area])
        else:
            cells = np.arange(len(self.count))
        for at, (levels, number) in enumerate(zip(self.levels, part, strict=True)):
            if at != self.area:
                cells = cells[levels[number].members[self.index[at][cells]]]
        return cells

    def joined(
        self, areas: Sequence[int], beside: IntArray | None = None
    ) -> tuple[PartCells, IntArray | None]:
        """The cells of some areas as those of one table, which has no areas; a sum beside them."""
        assert self.area is not None
        chosen = np.concatenate([self.cells_in(area) for area in areas])
        others = [at for at in range(len(self.index)) if at != self.area]
        dimensions = tuple(self.dimensions[at] for at in others)
        index = [self.index[at][chosen] for at in others]
        numbers, _ = CellIndex.of(dimensions).joined(index, len(chosen))
        _, first, cell = np.unique(numbers, return_index=True, return_inverse=True)

        def added(column: IntArray) -> IntArray:
            # Floats hold whole numbers up to 2^53, more than there are records anywhere.
            return np.bincount(cell, column[chosen], minlength=len(first)).astype(np.int64)

        cells = PartCells(
            dimensions,
            tuple(part[first] for part in index),
            added(self.count),
            small_up_to=self.small_up_to,
            named=tuple(others.index(at) for at in self.named if at != self.area),
            added_up=self.added_up,
        )
        return cells, None if beside is None else added(beside)

    def measure(self, part: PartKey, *, grouped: bool = True) -> PartMeasures:
        """The measures of one part."""
        place = self.place(part)
        occupied, records, small, unique = (int(cube[place]) for cube in self._totals)
        error = None
        if self.relative is not None:
            # Summed exactly, so that the order of the cells does not matter.
            relative = self.relative[self.cells_on(part)].tolist()
            error = math.fsum(relative) / occupied if occupied else 0.0
        return PartMeasures(
            cells=math.prod(
                self.level(part, at).size for at in range(len(part)) if at != self.area
            ),
            occupied=occupied,
            records=records,
            small=small,
            unique=unique,
            groups=self._groups(part, place) if grouped else (),
            relative_error=error,
        )

    def level(self, part: PartKey, at: int) -> Level:
        """The level of one variable in a part."""
        return self.levels[at][part[at]]

    def _groups(self, part: PartKey, place: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        """Groups of two and more records, and those all of whose records are alike.

        A group is a cell of the part with one variable one level up, if that has
        several codes below it: there its records could differ.
        """
        return tuple(
            (int(several[place]), int(alone[place]))
            for at, (several, alone) in self._every_group.items()
            if self.level(part, at).coarser is not None
        )

    @cached_property
    def _every_group(self) -> dict[int, tuple[IntArray, IntArray]]:
        """Per variable that groups are one level up in, the groups of every part at once."""
        known = self.added_up and CellIndex.of(self.dimensions).fits
        groups = self._known_groups() if known else self._groups_below()
        every: dict[int, tuple[IntArray, IntArray]] = {}
        for at, tree, several, alone in groups:
            # A group counts on the level of the codes below, where its records are alike or not.
            matrices = list(self._on_levels)
            matrices[at] = self._exactly_on_levels(at, tree)
            above = list(self._on_levels)
            above[at] = self._exactly_on_levels(at, tree, above=known)
            both = _on_parts(several[None], above)[0], _on_parts(alone[None], matrices)[0]
            before = every.get(at, (0, 0))
            every[at] = before[0] + both[0], before[1] + both[1]
        return every

    def _splits(self) -> Iterator[tuple[int, int, BoolArray, BoolArray]]:
        """Per variable and classification: the codes below others, and those that divide.

        A code divides its records if several codes below it are possible.
        """
        for at, dimension in enumerate(self.dimensions):
            possible = np.ones(len(dimension), dtype=np.bool_)
            if at in self.named:
                possible = np.bincount(self.index[at], minlength=len(dimension)) > 0
            for tree in range(len(dimension.classifications) if at != self.area else 0):
                below = (dimension.breakdown == tree) & (dimension.levels > 0)
                parents = dimension.parents[below & possible]
                yield at, tree, below, np.bincount(parents, minlength=len(dimension)) >= 2

    def _known_groups(self) -> Iterator[tuple[int, int, IntArray, IntArray]]:
        """The groups of a table that has all of them among its cells.

        The records of a group are alike if one of the cells below it has all of them.
        """
        grid = CellIndex.of(self.dimensions)
        several = np.flatnonzero(self.count >= 2)
        index = [column.take(several) for column in self.index]
        numbers = grid.numbers(index, len(several))
        kind, count = self._kind.take(several), self.count.take(several)
        dense = grid.size <= _DENSE_SHARE * len(self.count) + _DENSE
        counts = np.zeros((grid.size if dense else len(numbers)) + 1, dtype=np.int64)
        counts[numbers + 1 if dense else slice(1, None)] = count
        for at, tree, below, divides in self._splits():
            dimension, codes = self.dimensions[at], index[at]
            moved = (dimension.parents - np.arange(len(dimension))) * grid.strides[at]
            # Other codes lead before the first cell, where no count is.
            moved = np.where(below & divides[dimension.parents], moved + 1, -grid.size)
            group = moved.take(codes)
            group += numbers
            if not dense:
                group = find_numbers(numbers, group - 1) + 1
            alone = counts.take(group, mode="clip") == count
            kinds, first = self._kinds[at]
            if np.array_equal(divides[first].take(kinds), divides):
                shape = [-1 if of == at else 1 for of in range(len(self.dimensions))]
                one = self._of_size[:2].sum(axis=0) * divides[first].reshape(shape)
            else:
                one = self._by_kind(kind[divides.take(codes)])
            yield at, tree, one, self._by_kind(kind[alone])

    def _groups_below(self) -> Iterator[tuple[int, int, IntArray, IntArray]]:
        """The groups one level up in each classification, whatever cells the table has."""
        for at, tree, below, divides in self._splits():
            parents = self.dimensions[at].parents
            cells = np.flatnonzero((below & divides[parents])[self.index[at]])
            columns = [column[cells] for column in self.index]
            columns[at] = parents[columns[at]]
            groups, _ = CellIndex.of(self.dimensions).joined(columns)
            _, first, group, categories = np.unique(
                groups, return_index=True, return_inverse=True, return_counts=True
            )
            alone = (categories[group] == 1) & (self.count[cells] >= 2)
            chosen = np.concatenate([first[categories >= 2], np.flatnonzero(alone)])
            one, alike = (self._by_kind(self._kind[cells[some]]) for some in (chosen, alone))
            yield at, tree, one, alike

    def _exactly_on_levels(self, at: int, tree: int, *, above: bool = False) -> BoolArray:
        """As `_on_levels` of a variable, but a code stands on its own level only, or below it."""
        dimension, first = self.dimensions[at], self._kinds[at][1]
        depth = dimension.levels[first]
        own = (dimension.breakdown[first] == tree) | (depth == 0)
        rows = [
            own & (depth == level.depth - above) & (level.tree == tree)
            for level in self.levels[at].values()
        ]
        return np.array(rows, dtype=np.bool_)


@lru_cache(maxsize=64)
def _kinds(dimension: Dimension) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Codes that stand on the same levels, as one kind; and a code of each kind."""
    depth = int(dimension.levels.max()) + 1
    number = (dimension.breakdown * depth + dimension.levels) * 2 + dimension.is_leaf
    _, first, kinds = np.unique(number, return_index=True, return_inverse=True)
    return kinds.astype(np.int64), first.astype(np.int64)


def _on_parts(cubes: npt.NDArray[Any], matrices: Sequence[BoolArray | None]) -> npt.NDArray[Any]:
    """Cubes of numbers per combination of kinds, summed up to every part."""
    shape = list(cubes.shape)
    for at, matrix in enumerate(matrices, 1):
        if matrix is not None:
            cubes = matrix @ cubes.reshape(
                math.prod(shape[:at]), shape[at], math.prod(shape[at + 1 :])
            )
            shape[at] = len(matrix)
    return cubes.reshape(shape)


def part_cells(
    table: Table,
    small_up_to: int,
    deviation: Deviation | None = None,
    area: int | None = None,
) -> PartCells:
    """The cells of a table that have records, to be measured, as a whole or area by area.

    A table is measured once, also where others are held against it.
    """
    measured = _MEASURED.setdefault(table, {})
    if (small_up_to, area) not in measured:
        occupied = table.count > 0
        some = slice(None) if occupied.all() else occupied
        measured[small_up_to, area] = PartCells(
            table.dimensions,
            tuple(part[some] for part in table.index),
            table.count[some],
            small_up_to=small_up_to,
            named=named_variables(table),
            area=area,
            added_up=table.added_up,
        )
    cells = measured[small_up_to, area]
    while len(_MEASURED) > _LATEST:
        del _MEASURED[next(iter(_MEASURED))]
    return cells if deviation is None else replace(cells, relative=_relative(deviation, table))


#: What was measured without noise of the latest tables that are still in use.
_LATEST = 4
_MEASURED = WeakKeyDictionary[Table, dict[tuple[int, int | None], PartCells]]()


def _relative(deviation: Deviation, table: Table) -> FloatArray:
    """Standard deviation in relation to the count, of each cell with records."""
    occupied = table.count > 0
    counts, back = np.unique(table.count[occupied], return_inverse=True)
    function = callable(deviation)
    values, length = (deviation(counts), len(counts)) if function else (deviation, len(table))
    try:
        deviations = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        deviations = np.zeros((0, 0))
    fits = deviations.shape == (length,)
    if not fits or not bool(np.all(np.isfinite(deviations) & (deviations >= 0))):
        raise SuppressionError(
            "every cell needs a standard deviation of at least 0",
            code="deviation",
            where=table.name,
            hint="give one number per cell of the table, or a function of counts",
        )
    own = deviations[back] if function else deviations[occupied]
    return np.asarray(own / counts[back], dtype=np.float64)


_SHOWN = 10


@dataclass(frozen=True, repr=False)
class FilterUniverse:
    """All records of the tabulated variables, and those that the filter leaves out."""

    every: PartCells  # the cells without the filter
    passing: IntArray  # how many records of each of these cells pass the filter
    left_out: PartCells  # the cells of the records that do not pass; it knows what filters name

    @classmethod
    def of(
        cls, table: Table, universe: Table, small_up_to: int, area: int | None = None
    ) -> FilterUniverse:
        """The universe of a filtered table; an error if it is not that."""
        _check(table, universe)
        every = part_cells(universe, small_up_to, area=area)
        query = part_cells(table, small_up_to)
        passing = _passing(query, every, table.name)
        rest = every.count - passing
        some = np.flatnonzero(rest > 0)
        left_out = replace(
            every,
            index=tuple(part.take(some) for part in every.index),
            count=rest.take(some),
            named=query.named,
            added_up=every.added_up and query.added_up,
        )
        return cls(every, passing, left_out)

    def joined(self, areas: Sequence[int]) -> FilterUniverse:
        """Some areas as one table."""
        every, passing = self.every.joined(areas, self.passing)
        left_out, _ = self.left_out.joined(areas)
        assert passing is not None
        return FilterUniverse(every, passing, left_out)

    def told_by_filter(self, part: PartKey) -> tuple[int, int]:
        """Groups of two and more records, and those all or none of whose records pass.

        Where the filter names a spanning variable, such as age in a table of adults by
        age, its codes that all or none pass tell nothing but what the filter says.
        """
        every = self.every
        if every.area is None and self.left_out.added_up:
            place = every.place(part)
            groups, told = self._told
            return int(groups[place]), int(told[place])
        here = every.cells_on(part)
        here = here[self._groups(here)[here]]
        return len(here), int(self._alike[here].sum())

    @cached_property
    def _told(self) -> npt.NDArray[Any]:
        """Both numbers of every part at once: the records of a code are the same on all."""
        every, groups = self.every, self._groups(slice(None))
        cubes = [every._by_kind(every._kind[mask]) for mask in (groups, groups & self._alike)]
        return _on_parts(np.stack(cubes), every._on_levels)

    @cached_property
    def _alike(self) -> BoolArray:
        """The cells all or none of whose records pass."""
        return np.asarray((self.passing == 0) | (self.passing == self.every.count))

    def _groups(self, here: npt.NDArray[np.int64] | slice) -> BoolArray:
        """The cells of two and more records whose codes, among some cells, do not settle it."""
        groups = self.every.count >= 2
        for at in self.left_out.named:
            size, codes = len(self.every.dimensions[at]), self.every.index[at]
            passing, every = (
                np.bincount(codes[here], weights=of[here], minlength=size)
                for of in (self.passing, self.every.count)
            )
            groups &= ((passing != 0) & (passing != every))[codes]
        return groups


def _passing(query: PartCells, every: PartCells, name: str) -> IntArray:
    """How many records of each cell of the universe the query counts."""
    positions = code_positions(every.dimensions, query.dimensions, query.index)
    lengths = (len(every.count), len(query.count))
    rows = CellIndex.of(every.dimensions).find(every.index, positions, lengths)
    if bool((rows < 0).any()):
        raise _no_universe(name)
    passing = np.zeros(len(every.count), dtype=np.int64)
    passing[rows] = query.count
    if bool((passing > every.count).any()):
        raise _no_universe(name)
    return passing


def _no_universe(name: str) -> SuppressionError:
    return SuppressionError(
        "the table counts records outside its population",
        code="universe",
        where=name,
        hint="tabulate both from the same records, the population without the filter",
    )


_SAME_CODES = "use the same by=; state the classification if the filter removes codes"


def _check(table: Table, universe: Table) -> None:
    """Raise unless the universe spans the same variables, has no filter and all parts."""
    problems = []
    names = [[d.name for d in item.dimensions] for item in (table, universe)]
    if names[0] != names[1]:
        problems.append(
            Problem("the population has other variables", universe.name, "use the same by=")
        )
    else:
        pairs = zip(table.dimensions, universe.dimensions, strict=True)
        problems += [
            Problem("the population has other codes or levels", here.name, _SAME_CODES)
            for here, there in pairs
            if not _same_tree(here, there)
        ]
    if universe.where:
        problems.append(
            Problem(
                "the population has a filter",
                universe.name,
                "tabulate it without a filter; apply a filter that defines the population to "
                "the records",
            )
        )
    lacking = universe.parts is not None and (
        table.parts is None or not table.parts <= universe.parts
    )
    if lacking:
        problems.append(Problem("the population lacks subtables of the table", universe.name))
    raise_all(
        SuppressionError,
        problems,
        code="universe",
        many="not the population of the table",
        where=table.name,
        most=_SHOWN,
    )


def _same_tree(here: Dimension, there: Dimension) -> bool:
    """Whether the codes of one stand in the other, on the same levels, below the same codes."""
    (at,) = code_positions([there], [here], [slice(None)])
    if bool((at < 0).any()) or len(here.classifications) != len(there.classifications):
        return False
    above = np.where(here.parents < 0, -1, at[here.parents])
    return bool(
        np.array_equal(above, there.parents[at])
        and np.array_equal(level_numbers(here), level_numbers(there)[at])
    )
