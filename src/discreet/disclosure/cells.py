"""`Cells`: the cells of tables as sets of records, whatever variables are called. CONFIDENTIAL.

In: the partitions of the records, and the tables counted from them. Out: layers – all cells of
one combination of partitions, closed under what determines what, of whatever table – and in each
layer a number for every cell: equal numbers are the same set of records.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.arrays import CellIndex, IntArray, PositionArray, starts
from discreet.disclosure.code_limits import codes_on
from discreet.disclosure.partitions import Choice, Partitions
from discreet.tables import Dimension, Table

AnyCodes: TypeAlias = npt.NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LayerCells:
    """The cells of one table on one combination of levels (confidential)."""

    table: int  # number of the table; -1 for cells that nobody publishes
    choices: tuple[Choice | None, ...]  # per variable, how it is cut; None for its total
    cells: IntArray  # numbers of the cells, those of all tables counted through
    keys: IntArray  # their numbers in the layer

    def within(self, other: LayerCells) -> bool:
        """Whether relations of the table itself lead from the cells of another block to these."""
        return self.table == other.table >= 0 and all(
            own is None
            or (theirs is not None and own.tree == theirs.tree and own.level <= theirs.level)
            for own, theirs in zip(self.choices, other.choices, strict=True)
        )


@dataclass(kw_only=True, repr=False, eq=False)
class CellLayer:
    """All cells of one closed set of partitions (confidential)."""

    closed: int  # the partitions, as bits
    basis: tuple[int, ...]  # the fewest of them that determine the others
    grid: CellIndex  # numbers of cells by codes of the basis
    blocks: list[LayerCells] = field(default_factory=list)

    def distinct(self) -> tuple[IntArray, IntArray]:
        """The numbers of its cells in order, and for each the first cell that has it."""
        nothing = np.zeros(0, dtype=np.int64)
        keys = np.concatenate([nothing, *(block.keys for block in self.blocks)])
        cells = np.concatenate([nothing, *(block.cells for block in self.blocks)])
        known, first = np.unique(keys, return_index=True)
        return known, cells[first]


class Cells:
    """The layers of all tables of one source (confidential)."""

    def __init__(
        self, partitions: Partitions, tables: Sequence[Table], others: Collection[int] = ()
    ) -> None:
        self.partitions, self.tables = partitions, tuple(tables)
        self.offsets = starts([len(table) for table in tables])
        self.count = np.concatenate([np.zeros(0, dtype=np.int64), *(t.count for t in tables)])
        self.layers: dict[int, CellLayer] = {}
        #: Which cells can have records; of others readers know that they are empty
        self.possible = np.ones(len(self.count), dtype=np.bool_)
        #: Numbers of tables whose cells are not sets of these records, as far as anybody knows
        self.strange: list[int] = []
        self.unknown = False  # whether some have variables or filters that the records do not say
        for at, table in enumerate(tables):
            filtered = partitions.of_filter(table.where)
            known = filtered is not None and self._known(table)
            self.unknown |= not known
            same = at not in others and self._same_records(table)
            if filtered is None or not known or not same:
                self.strange.append(at)
                continue
            options = [list(level_codes(dimension)) for dimension in table.dimensions]
            codes = [[code for _, code in own] for own in options]
            for chosen, cells, index in cells_by_level(codes, table.index, len(table)):
                choices = [own[one][0] for own, one in zip(options, chosen, strict=True)]
                self._take(at, tuple(choices), cells, index, filtered)

    def layer(self, closed: int) -> CellLayer:
        """The layer of a closed set of partitions; a new one is empty."""
        if closed not in self.layers:
            basis = self.partitions.basis(closed)
            grid = CellIndex(tuple(self.partitions.partitions[b].size for b in basis))
            self.layers[closed] = CellLayer(closed=closed, basis=basis, grid=grid.require())
        return self.layers[closed]

    def numbers(self) -> tuple[IntArray, ...]:
        """Per table a number for each of its cells, equal where cells are the same records.

        -1 where that is not known: in tables with filters that cannot be read, for example.
        """
        label = np.full(int(self.offsets[-1]), -1, dtype=np.int64)
        size = 0
        for closed in sorted(self.layers, key=int.bit_count):
            layer = self.layers[closed]
            known, _ = layer.distinct()
            for block in layer.blocks:
                fresh = size + np.searchsorted(known, block.keys)
                own = label[block.cells]
                label[block.cells] = np.where(own < 0, fresh, own)
            size += len(known)
        return tuple(np.split(label, self.offsets[1:-1]))

    def mapped(self, layer: CellLayer, keys: IntArray, coarser: CellLayer) -> IntArray:
        """The numbers in a coarser layer of the cells that hold those of a finer one; -1 for none.

        None is where codes of the finer cell occur in no record.
        """
        codes: dict[int, AnyCodes] = dict(zip(layer.basis, layer.grid.positions(keys), strict=True))
        index = [self._code(codes, b) for b in coarser.basis]
        numbers = coarser.grid.numbers(index, len(keys))
        for part in index:
            numbers[part < 0] = -1
        return numbers

    def codes(self, layer: CellLayer, keys: IntArray, partition: int) -> IntArray:
        """The codes of a partition of a layer for some of its cells."""
        codes: dict[int, AnyCodes] = dict(zip(layer.basis, layer.grid.positions(keys), strict=True))
        return self._code(codes, partition)

    def _code(self, codes: Mapping[int, AnyCodes], b: int) -> IntArray:
        a = b if b in codes else next(a for a in codes if (a, b) in self.partitions.up)
        return self.partitions.code(a, codes[a].astype(np.int64), b)

    def _known(self, table: Table) -> bool:
        """Whether the variables of a table are partitions of the records."""
        trees = [tree for own in table.dimensions for tree in own.classifications]
        return all(self.partitions.of_level(t, t.depth) is not None for t in trees if t.depth)

    def _same_records(self, table: Table) -> bool:
        """Whether the total of a table is that of the records."""
        whole = np.ones(len(table), dtype=np.bool_)
        for part in table.index:
            whole &= part == 0
        expected = self.partitions.records_of(table.where)
        return expected is None or table.count[whole].tolist() in ([], [expected])

    def _take(
        self,
        at: int,
        choices: tuple[Choice | None, ...],
        cells: IntArray,
        index: Sequence[PositionArray],
        filtered: int,
    ) -> None:
        """Put the cells of one combination of levels of a table into their layer."""
        table = self.tables[at]
        codes: dict[int, AnyCodes] = {}
        sound = np.ones(cells.size, dtype=np.bool_)
        for dimension, choice, code in zip(table.dimensions, choices, index, strict=True):
            if choice is not None:
                tree = dimension.classifications[choice.tree]
                own = self.partitions.of_level(tree, choice.level)
                assert own is not None
                sound &= codes.setdefault(own, code) == code
        if filtered >= 0:
            codes[filtered] = np.ones(cells.size, dtype=np.int64)
        number = self.offsets[at] + cells
        empty = self.count[number] == 0
        if empty.any():
            of_empty = {b: own[empty].astype(np.int64) for b, own in codes.items()}
            sound[empty] &= self.partitions.possible(of_empty, int(empty.sum()))
            self.possible[number] = sound
        layer = self.layer(self.partitions.closure(codes))
        basis = [self._code(codes, b) for b in layer.basis]
        for part in basis:
            sound &= part >= 0  # codes that no record has: known zeros
        if sound.any():
            keys = layer.grid.numbers([part[sound] for part in basis], int(sound.sum()))
            cells = number[sound]
            layer.blocks.append(LayerCells(table=at, choices=choices, cells=cells, keys=keys))


def level_codes(dimension: Dimension) -> Iterator[tuple[Choice | None, PositionArray]]:
    """The total of a variable and each level: per code its number in its tree; -1 if not on it."""
    total = np.full(len(dimension), -1, dtype=np.int32)
    total[0] = 0
    yield None, total
    for number, (tree, shift) in enumerate(
        zip(dimension.classifications, dimension.offsets, strict=True)
    ):
        for level in range(1, tree.depth + 1):
            own = codes_on(tree, level)
            codes = np.full(len(dimension), -1, dtype=np.int32)
            codes[own + shift] = own
            yield Choice(number, level), codes


def cells_by_level(
    options: Sequence[Sequence[PositionArray]], index: Sequence[PositionArray], size: int
) -> Iterator[tuple[tuple[int, ...], IntArray, list[PositionArray]]]:
    """Cells of a table by the levels that they are on; those of codes that end early on several.

    Args:
        options: Per variable and level, the number there of each code; -1 for codes not on it.
        index: Per variable, the code of each cell.
        size: Number of cells.

    Gives for each combination of levels that occurs the cells, and their numbers per variable.
    """
    rows = np.arange(size, dtype=np.int64)
    levels: list[PositionArray] = []
    for own, part in zip(options, index, strict=True):
        lists = [np.flatnonzero(places[part[rows]] >= 0) for places in own]
        kept = np.concatenate(lists)
        chosen = np.repeat(np.arange(len(own), dtype=np.int32), [len(item) for item in lists])
        rows, levels = rows[kept], [*(old[kept] for old in levels), chosen]
    number = CellIndex.of(options).numbers(levels, len(rows))
    order = np.argsort(number, kind="stable")
    edges = np.flatnonzero(np.diff(number[order])) + 1
    for same in np.split(order, edges) if len(order) else []:
        chosen_levels, cells = tuple(int(part[same[0]]) for part in levels), rows[same]
        places = [
            own[at][part[cells]]
            for own, at, part in zip(options, chosen_levels, index, strict=True)
        ]
        yield chosen_levels, cells, places
