"""`Cells`: the cells of tables as sets of records, whatever variables are called. CONFIDENTIAL.

In: the partitions of the records, and the tables counted from them. Out: layers – all cells of
one combination of partitions, closed under what determines what, of whatever table – and in each
layer a number for every cell: equal numbers are the same set of records. `Coverage`: which codes of
one partition are the records of codes of another, or of a filter.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, IntArray, PositionArray, find_sorted, starts
from discreet.classifications import Classification
from discreet.disclosure.code_pairs import CHANCE, codes_on, common_parts
from discreet.disclosure.partitions import Choice, Partitions
from discreet.disclosure.relations import Relations
from discreet.disclosure.verdicts import Gap
from discreet.errors import DiscreetError
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
            whole = np.all([np.ones(len(table), np.bool_), *(p == 0 for p in table.index)], axis=0)
            records = partitions.records_of(table.where)
            same = records is None or table.count[whole].tolist() in ([], [records])
            if filtered is None or not known or at in others or not same:
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
        trees = [tree for own in table.dimensions for tree in own.classifications]
        return all(self.partitions.of_level(t, t.depth) is not None for t in trees if t.depth)

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


#: With more combinations than these, only those that occur are cells between tables.
_MOST_BETWEEN = 100_000
UNPUBLISHED = "not published"


class CellSystem:
    """Rows among the cells of tables that other tables of the same records have (confidential).

    Args:
        partitions: Those of the records.
        tables: The tables; cells are numbered through all of them, and then through those that
            nobody publishes.
        others: Numbers of tables that were counted from other records, whatever their names say.

    >>> import polars as pl
    >>> from discreet import tabulate
    >>> people = pl.DataFrame({"town": [*"aabbcc"] * 30, "land": [*"NNNNSS"] * 30,
    ...                        "sex": ["m", "w"] * 90})
    >>> tables = [tabulate(people, by=[place]) for place in ("town", "land")]
    >>> rows = CellSystem(Partitions(people, tables), tables).relations
    >>> [row.tolist() for row in np.split(rows.cell, rows.start[1:-1])]
    [[0, 4], [5, 1, 2], [6, 3]]
    """

    def __init__(
        self, partitions: Partitions, tables: Sequence[Table], others: Collection[int] = ()
    ) -> None:
        self.partitions = partitions
        #: What was not examined, in words
        self._unexamined = list(partitions.unexamined)
        #: Rows, many at once: totals, numbers of parts, and the parts one after the other
        self._rows: list[tuple[IntArray, IntArray, IntArray]] = []
        #: Cells that nobody publishes, as a table of one variable; none if there are none
        self.nobody: list[Table] = []
        self._known: dict[int, tuple[IntArray, dict[str, Any]]] = {}
        self._fresh: list[tuple[CellLayer, IntArray, dict[str, Any]]] = []
        self.cells = Cells(partitions, tables, others)
        several, strange = partitions.several, self.cells.strange
        #: Per table, what its records say; None if that is what names say
        self.records = [
            partitions if several and at not in strange else None for at in range(len(tables))
        ]
        #: Relations that may be due to chance, in words
        self.doubts = partitions.doubt_lines()
        # Tables of other data are tied to others by names alone; that says all where names do.
        if strange and (several or self.cells.unknown):
            names = ", ".join(tables[at].name for at in strange)
            self._unexamined.append(Gap("records", names, len(strange)))
        if not several:
            return
        weighted = any(table.weight is not None for table in tables)
        try:
            if weighted and partitions.weight is None:
                self._unexamined.append(Gap("weights", number=len(tables)))
            else:
                self._add_between()
        except DiscreetError:  # the records cannot be counted by these columns together
            self._unexamined.append(Gap("between", number=len(tables)))
        self._equal()
        for layer in list(self.cells.layers.values()):
            self._up(layer)
        self.nobody = self._tables()

    @property
    def unexamined(self) -> tuple[Gap, ...]:
        """Gaps that were not examined."""
        return tuple(dict.fromkeys(self._unexamined))

    @property
    def possible(self) -> list[BoolArray]:
        """Per table, which of its cells can have records as far as readers know."""
        size = self.cells.offsets
        return np.split(self.cells.possible[: size[-1]], size[1:-1])

    @cached_property
    def relations(self) -> Relations:
        """The rows: each total, then its parts."""
        nothing = np.zeros(0, dtype=np.int64)
        total, number, parts = (
            np.concatenate([nothing, *(rows[at] for rows in self._rows)]) for at in range(3)
        )
        row, cell = np.arange(len(total)), np.concatenate([total, parts])
        return Relations.of_entries(
            max(len(self.cells.count), int(cell.max(initial=-1)) + 1),
            len(total),
            np.concatenate([row, np.repeat(row, number)]),
            cell,
            np.repeat([-1, 1], [len(total), len(parts)]),
        )

    # -- rows --------------------------------------------------------------------------

    def _equal(self) -> None:
        for layer in self.cells.layers.values():
            known, first = layer.distinct()
            for block in layer.blocks:
                one = first[np.searchsorted(known, block.keys)]
                other = one != block.cells
                alike = self.cells.count[one] == self.cells.count[block.cells]
                if not alike.all():
                    name = self.cells.tables[block.table].name
                    self._unexamined.append(Gap("records", name, 1))
                equal = block.cells[other & alike]
                self._rows.append((one[other & alike], np.ones_like(equal), equal))

    def _up(self, coarse: CellLayer) -> None:
        """Rows from the next finer layers, and where these do not suffice from those beyond."""
        known, _ = coarse.distinct()
        seen: set[int] = set()
        waiting = [(layer, np.ones(len(known), dtype=np.bool_)) for layer in self._finer(coarse)]
        while waiting:
            fine, wanted = waiting.pop()
            if fine.closed in seen:
                continue
            seen.add(fine.closed)
            left = wanted & ~self._within(fine, coarse, known)
            if left.any():
                left &= ~self._proven(fine, coarse, left)
            if left.any():
                waiting += [(layer, left) for layer in self._finer(fine)]

    def _finer(self, layer: CellLayer) -> list[CellLayer]:
        own = layer.closed
        finer = [c for c in self.cells.layers if c & own == own and c != own]
        return [
            self.cells.layers[c] for c in finer if not any(d & c == d and d != c for d in finer)
        ]

    def _within(self, fine: CellLayer, coarse: CellLayer, known: IntArray) -> BoolArray:
        """Which cells are sums of finer ones within a table."""
        done = np.zeros(len(known), dtype=np.bool_)
        for block in coarse.blocks:
            if any(block.within(other) for other in fine.blocks):
                done[np.searchsorted(known, block.keys)] = True
        return done

    def _proven(self, fine: CellLayer, coarse: CellLayer, wanted: BoolArray) -> BoolArray:
        """Add the rows of cells that are the sum of finer ones, and say which they are."""
        known, total = coarse.distinct()
        keys, parts = fine.distinct()
        place = find_sorted(known, self.cells.mapped(fine, keys, coarse))
        inside = place >= 0
        place, parts = place[inside], parts[inside]
        records = np.bincount(place, self.cells.count[parts], len(known)).astype(np.int64)
        occurs = np.bincount(place, minlength=len(known)) > 0
        proven: BoolArray = wanted & occurs & (records == self.cells.count[total])
        proven &= self._covered(fine, coarse, known)
        number = np.bincount(place, minlength=len(known))
        itself = np.zeros(len(known), dtype=np.bool_)
        itself[place[parts == total[place]]] = True
        wanted = proven & ~(itself & (number == 1))
        order = np.argsort(place, kind="stable")
        inside = wanted[place[order]]
        self._rows.append((total[wanted], number[wanted], parts[order][inside]))
        return proven

    def _covered(self, fine: CellLayer, coarse: CellLayer, known: IntArray) -> BoolArray:
        """Which cells the filters of finer ones leave nothing of, whatever the records are."""
        covered = self._patterns(fine)
        if covered.all():
            return np.ones(len(known), dtype=np.bool_)
        possible = self._possible(coarse, known)
        result: BoolArray = np.equal((possible & ~covered).any(axis=1), False)
        return result

    def _patterns(self, layer: CellLayer) -> BoolArray:
        """The combinations of filters whose records a layer has."""
        nothing = np.zeros_like(self.partitions.patterns(""))
        passed: BoolArray = np.any([nothing, *map(self._of_block, layer.blocks)], axis=0)
        return passed

    def _of_block(self, block: LayerCells) -> BoolArray:
        where = self.cells.tables[block.table].where if block.table >= 0 else ""
        return self.partitions.patterns(where)

    def _possible(self, layer: CellLayer, keys: IntArray) -> BoolArray:
        """For each cell of a layer, the combinations of filters that its codes leave."""
        parts = self.partitions
        size = parts.partitions[parts.join].size
        possible: BoolArray = np.ones((len(keys), size), dtype=np.bool_)
        for b in range(len(parts.partitions)):
            if layer.closed >> b & 1 and not parts.constant >> b & 1:
                possible &= parts.left_by(b)[self.cells.codes(layer, keys, b)]
        for a, b in parts.tied:
            if layer.closed >> a & layer.closed >> b & 1:
                codes = [self.cells.codes(layer, keys, at) for at in (a, b)]
                possible &= parts.left_by_both(a, b)[tuple(codes)]
        return possible

    # -- cells that nobody publishes ---------------------------------------------------

    def _add_between(self) -> None:
        """Layers that stand between those of tables, with their cells."""
        parts, finest = self.partitions, self._finest()
        closed = list(dict.fromkeys(own for own, _, _ in finest))
        self._add_common(combinations(closed, 2))
        joint: dict[int, None] = {}
        for a, b in parts.tied:
            both = parts.above[a] | parts.above[b]
            for one in (c for c in closed if c >> a & 1):
                for other in (c for c in closed if c >> b & 1):
                    joint[one & other | both] = None
        if len({parts.of_filter(table.where) for table in self.cells.tables}) > 1:
            every = parts.above[parts.join]
            joint |= {span | every: None for _, span, filtered in finest if filtered}
        for own in joint:
            self._add_joint(self.cells.layer(own))
        # What joint layers say in common ties them to each other, not to tables alone.
        self._add_common([*product(joint, closed), *combinations(joint, 2)])

    def _finest(self) -> list[tuple[int, int, bool]]:
        """The layers of the finest cells of tables, these without filters, and if they have any."""
        layers: dict[tuple[int, int, bool], None] = {}
        for closed, layer in self.cells.layers.items():
            for block in layer.blocks:
                table = self.cells.tables[block.table]
                pairs = list(zip(block.choices, table.dimensions, strict=True))
                if all(
                    choice is not None
                    and choice.level == dimension.classifications[choice.tree].depth
                    for choice, dimension in pairs
                ):
                    spans = [
                        self.partitions.of_level(own.classifications[one.tree], one.level)
                        for one, own in pairs
                        if one is not None
                    ]
                    span = self.partitions.closure(at for at in spans if at is not None)
                    layers[closed, span, bool(table.where.strip())] = None
        return list(layers)

    def _add_common(self, pairs: Iterable[tuple[int, int]]) -> None:
        """The cells of what two layers say in common, as far as no table has them all.

        With those that may occur and do not: no reader knows that nobody is in them.
        """
        reached: dict[tuple[int, int], IntArray] = {}
        for pair in pairs:
            layer = self.cells.layer(pair[0] & pair[1])
            if any(self._of_block(block).all() for block in layer.blocks):
                continue
            for own in pair:
                if (own, layer.closed) not in reached:
                    fine = self.cells.layers[own]
                    keys = np.unique(self.cells.mapped(fine, fine.distinct()[0], layer))
                    keys = keys[keys >= 0]
                    reached[own, layer.closed] = keys[self._covered(fine, layer, keys)]
            one, other = (reached[own, layer.closed] for own in pair)
            if np.setdiff1d(np.intersect1d(one, other), layer.distinct()[0]).size:
                self._add_joint(layer)

    def _add_joint(self, layer: CellLayer) -> None:
        """All cells of a layer that no published zero rules out, as far as they are new."""
        known, _ = self._counted(layer)
        keys = known
        occurring = [np.unique(self.cells.codes(layer, known, b)) for b in layer.basis]
        size = int(np.prod([float(len(own)) for own in occurring]))
        if size <= _MOST_BETWEEN:
            grid = np.meshgrid(*occurring, indexing="ij") if occurring else []
            every = layer.grid.numbers([part.ravel() for part in grid], size)
            keys = every[self._may_occur(layer, every)]
        shown = layer.distinct()[0] if layer.blocks else keys[:0]
        self._append(layer, np.setdiff1d(np.union1d(keys, known), shown))

    def _may_occur(self, layer: CellLayer, keys: IntArray) -> BoolArray:
        """Which cells can have records, for readers who see zeros and know all codes."""
        parts = self.partitions
        index = zip(layer.basis, layer.grid.positions(keys), strict=True)
        possible = parts.possible({b: own.astype(np.int64) for b, own in index}, len(keys))
        for coarse in list(self.cells.layers.values()):
            if coarse.closed & layer.closed == coarse.closed and coarse.blocks:
                place = self.cells.mapped(layer, keys, coarse)
                zero = find_sorted(coarse.distinct()[0], place) < 0
                if parts.join >= 0:
                    covered = self._patterns(coarse)
                    zero &= ~(self._possible(layer, keys) & ~covered).any(axis=1)
                possible &= ~zero
        return possible

    def _counted(self, layer: CellLayer) -> tuple[IntArray, dict[str, Any]]:
        if layer.closed in self._known:
            return self._known[layer.closed]
        parts = self.partitions
        variables = list(dict.fromkeys(parts.partitions[b].variable for b in layer.basis))
        values = dict.fromkeys(name for table in self.cells.tables for name in table.sums)
        table = parts.counted(variables, weight=parts.weight, values=list(values))
        leaf, places = parts.places(table, variables)
        at = dict(zip(variables, places, strict=True))
        own = [parts.partitions[b] for b in layer.basis]
        numbers = layer.grid.numbers([one.codes[at[one.variable]] for one in own], int(leaf.sum()))
        keys, place = np.unique(numbers, return_inverse=True)
        columns: dict[str, Any] = {"count": table.count[leaf]}
        columns |= {name: part[leaf] for name, part in table.sums.items()}
        if table.weight is not None:
            columns["weight"] = table.weight[leaf]
        summed: dict[str, Any] = {}
        for name, part in columns.items():
            summed[name] = np.zeros(len(keys), dtype=part.dtype)
            np.add.at(summed[name], place, part)
        self._known[layer.closed] = keys, summed
        return keys, summed

    def _append(self, layer: CellLayer, keys: IntArray) -> None:
        """Take in cells that nobody publishes."""
        if not keys.size:
            return
        known, columns = self._counted(layer)
        place = find_sorted(known, keys)
        own = {
            name: np.where(place >= 0, values[np.maximum(place, 0)], 0)
            for name, values in columns.items()
        }
        cells = len(self.cells.count) + np.arange(len(keys))
        self.cells.count = np.concatenate([self.cells.count, own["count"]])
        layer.blocks.append(LayerCells(table=-1, choices=(), cells=cells, keys=keys))
        self._fresh.append((layer, keys, own))

    def _tables(self) -> list[Table]:
        if not self._fresh:
            return []
        names: list[str] = []
        for layer, keys, _ in self._fresh:
            index = layer.grid.positions(keys)
            parts = [self.partitions.partitions[b] for b in layer.basis]
            # All records together have no codes.
            rows = (
                zip(*(part.tolist() for part in index), strict=True) if parts else [()] * len(keys)
            )
            for row in rows:
                named = zip(parts, row, strict=True)
                texts = [f"{part.name}={part.label[code]}" for part, code in named]
                names.append(", ".join(texts) or "all records")
        columns = {
            name: np.concatenate([own[name] for _, _, own in self._fresh])
            for name in self._fresh[0][2]
        }
        return [cells_of_nobody(names, columns)]


def tied_tables(links: Relations, listed: Sequence[Table]) -> list[tuple[int, int]]:
    """Pairs of tables with cells in one row; cells are numbered through all of them."""
    offsets = starts([len(table) for table in listed])
    tables = np.searchsorted(offsets, links.cell, side="right") - 1
    first = tables[links.start[links.row]]
    pairs = np.unique(np.stack([first, tables]), axis=1).T.tolist()
    return [(a, b) for a, b in pairs if a != b]


def cells_of_nobody(names: Sequence[str], columns: dict[str, Any], unit: str = "") -> Table:
    """Cells that nobody publishes, as a table of one variable."""
    codes = [f"{at + 1}: {name}" for at, name in enumerate(names)]
    tree = Classification(
        name=UNPUBLISHED, codes=("Total", *codes), parents=(-1, *(0 for _ in codes))
    )
    return Table(
        dimensions=(Dimension(classifications=(tree,)),),
        index=(np.arange(1, len(codes) + 1, dtype=np.int32),),
        count=columns.pop("count"),
        weight=columns.pop("weight", None),
        sums=columns,
        parts=frozenset({(0,)}),
        name=UNPUBLISHED,
        unit=unit,
    )


#: The variables of a table, and per variable the code of each cell that occurs.
OccurringCells: TypeAlias = tuple[Sequence[Dimension], Sequence[PositionArray]]


def pairs_unknown(
    tables: Iterable[OccurringCells], spans: Sequence[Sequence[set[str]]]
) -> set[tuple[str, str]]:
    """Pairs of names of which names alone do not say whether, and how, codes go together.

    No table crosses them; or a table shows that their codes form groups, none of which occurs with
    codes of another, and two tables cross one of them each with what no table crosses with both.

    Args:
        tables: The cells of each table.
        spans: Per table and variable, its names.
    """
    names = [set[str]().union(*own) for own in spans]
    every = combinations(sorted(set[str]().union(*names)), 2)
    crossed = {
        (min(pair), max(pair))
        for own in spans
        for one, other in combinations(own, 2)
        for pair in product(one, other)
    }
    unknown = {*every} - crossed
    for (dimensions, index), own in zip(tables, spans, strict=True):
        finest = [
            [code[part].astype(np.int64) for choice, code in level_codes(dimension)
             if choice and choice.level == dimension.classifications[choice.tree].depth]
            for dimension, part in zip(dimensions, index, strict=True)
        ]  # fmt: skip
        for one, other in combinations(range(len(dimensions)), 2):
            totals = [part == 0 for at, part in enumerate(index) if at not in (one, other)]
            inside = np.all([np.ones(len(index[one]), dtype=np.bool_), *totals], axis=0)
            for rows, columns in product(finest[one], finest[other]):
                both = inside & (rows >= 0) & (columns >= 0)
                if common_parts(rows[both], columns[both]) is not None:
                    unknown |= {
                        (min(pair), max(pair))
                        for pair in product(own[one], own[other])
                        if _are_apart(*pair, names)
                    }
    return unknown


def _are_apart(first: str, second: str, names: Sequence[set[str]]) -> bool:
    """Whether two tables cross one of them each with what no table crosses with both."""
    alone = [own for own in names if first in own and second not in own]
    others = [own for own in names if second in own and first not in own]
    return any(
        not any({first, second} | (own & other) <= every for every in names)
        for own, other in product(alone, others)
    )


def unexamined_by_name(tables: Sequence[Table]) -> tuple[Gap, ...]:
    """Gaps if cells are known by name only, without records."""
    spans = [[{own.name} for own in table.dimensions] for table in tables]
    occurring = (
        (table.dimensions, [part[table.count > 0] for part in table.index]) for table in tables
    )
    apart = pairs_unknown(occurring, spans)
    breakdowns = sorted(
        {own.name for table in tables for own in table.dimensions if len(own.classifications) > 1}
    )
    filters = {" ".join(table.where.split()) for table in tables}
    gaps = []
    if apart:
        names = dict.fromkeys(name for pair in sorted(apart) for name in pair)
        gaps.append(Gap("dependencies", ", ".join(names), len(apart)))
    if breakdowns:
        gaps.append(Gap("breakdowns", ", ".join(breakdowns), len(breakdowns)))
    if len(filters) > 1:
        gaps.append(Gap("filters", number=len(filters)))
    units = dict.fromkeys(table.unit or "the main records" for table in tables)
    if len(units) > 1:
        gaps.append(Gap("units", ", ".join(units), len(units)))
    return tuple(gaps)


class Coverage:
    """Overlap of partitions of records, code by code (confidential)."""

    def __init__(self, partitions: Partitions) -> None:
        self.partitions = partitions
        self._covered: dict[tuple[int, int], BoolArray] = {}
        self._taken: dict[tuple[int, str], BoolArray] = {}

    def same(self, a: int, b: int) -> bool:
        """Whether two partitions are one, under two names maybe; -1 is none."""
        return a == b >= 0 or {(a, b), (b, a)} <= self.partitions.up.keys()

    def pairs(self, a: int, b: int) -> tuple[IntArray, IntArray, IntArray | None] | None:
        """Which codes of two partitions have records in common, and how many if that is known."""
        for x, y in ((a, b), (b, a)):
            if (x, y) in self.partitions.up:
                table = self.partitions.up[x, y]
                first = np.flatnonzero(table >= 0)
                return (first, table[first], None) if x == a else (table[first], first, None)
        return self.partitions.together(a, b)

    def covered(self, a: int, b: int) -> BoolArray:
        """The codes of a partition whose records are those of some codes of another.

        Where neither determines the other, sets that chance could have made equal do not count.
        """
        if (a, b) not in self._covered:
            covered = np.full(self.partitions.partitions[a].size, a == b, dtype=np.bool_)
            pairs = None if a == b else self.pairs(a, b)
            up, constant = self.partitions.up, self.partitions.constant
            if pairs is not None and not (constant >> a | constant >> b) & 1:
                first, second = np.unique(np.stack(pairs[:2]), axis=1)
                within = np.bincount(second)[second] == 1
                covered[first] = True
                covered[first[~within]] = False
                if pairs[2] is not None and (a, b) not in up and (b, a) not in up:
                    number = np.bincount(pairs[0], pairs[2], minlength=len(covered))
                    for code in np.flatnonzero(covered).tolist():
                        whole, n = number.sum() + 1, number[code] + 1
                        ways = math.lgamma(whole) - math.lgamma(n) - math.lgamma(whole - n + 1)
                        covered[code] = -ways < math.log(CHANCE)
            self._covered[a, b] = covered
        return self._covered[a, b]

    def taken(self, a: int, where: str) -> BoolArray:
        """The codes of a partition whose records a filter takes all, or none."""
        if (a, where) not in self._taken:
            left, passed = self.partitions.left_by(a), self.partitions.patterns(where)
            taken = np.zeros(len(left), dtype=np.bool_)
            taken[self.partitions.partitions[a].codes] = True
            taken &= left[:, passed].any(axis=1) != left[:, ~passed].any(axis=1)
            self._taken[a, where] = taken
        return self._taken[a, where]

    def universes(self, filters: Iterable[str]) -> dict[str, int]:
        """Filter → number of those of which one is worked out from others, or is the same."""
        passed = {where: self.partitions.patterns(where).astype(float) for where in filters}
        number = {where: at for at, where in enumerate(passed)}
        basis: list[str] = []
        for where, own in passed.items():
            known = np.array([passed[one] for one in basis]).reshape(len(basis), len(own))
            weights = np.linalg.lstsq(known.T, own, rcond=None)[0] if basis else np.zeros(0)
            if np.abs(weights @ known - own).max() > 1e-7:
                basis.append(where)
                continue
            near = [number[o] for o, far in zip(basis, weights, strict=True) if abs(far) > 1e-7]
            near.append(number[where])
            number = {one: min(near) if at in near else at for one, at in number.items()}
        return number
