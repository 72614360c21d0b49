"""`CellSystem`: what ties cells of tables of one source together beyond names. CONFIDENTIAL.

In: partitions of the records, and tables counted from them. Out: rows of cells that add up, each
with a reason that readers can know and proven by the records; cells that nobody publishes and that
stand between; and by name what was not examined. A row has its reason in the partitions: every
part lies in the total by its codes, and the parts cover all codes that occur. It is proven by
numbers of records: parts that share none and lie in the total are the total if they are as many.
Sets that are equal by coincidence are no rows: no reader knows of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import BoolArray, IntArray, PositionArray, find_sorted, starts
from discreet.classifications import Classification
from discreet.disclosure.cells import CellLayer, Cells, LayerCells, level_codes
from discreet.disclosure.partitions import Partitions
from discreet.disclosure.relations import Relations
from discreet.disclosure.verdicts import Gap
from discreet.errors import DiscreetError
from discreet.tables import Dimension, Table

#: With more combinations than these, only those that occur are cells between tables.
_MOST = 100_000
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
    >>> system = CellSystem(Partitions(people, tables), tables)
    >>> [(total, parts.tolist()) for total, parts in system.rows]
    [(0, [4]), (5, [1, 2]), (6, [3])]
    """

    def __init__(
        self, partitions: Partitions, tables: Sequence[Table], others: Collection[int] = ()
    ) -> None:
        self.partitions = partitions
        #: What was not examined, in words
        self._unexamined = list(partitions.unexamined)
        #: Rows, many at once: totals, numbers of parts, and the parts one after the other
        self._rows: list[tuple[IntArray, IntArray, IntArray]] = []
        #: Cells that nobody publishes, as a table of one variable; None if there are none
        self.unpublished: Table | None = None
        self._known: dict[int, tuple[IntArray, dict[str, Any]]] = {}
        self._fresh: list[tuple[CellLayer, IntArray, dict[str, Any]]] = []
        self.cells = Cells(partitions, tables, others)
        # Tables of other data are tied to others by names alone; that says all where names do.
        if self.cells.strange and (partitions.several or self.cells.unknown):
            names = ", ".join(tables[at].name for at in self.cells.strange)
            self._unexamined.append(Gap("records", names, len(self.cells.strange)))
        if not partitions.several:
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
        self.unpublished = self._table()

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
        start = starts(number + 1)
        first = np.zeros(int(start[-1]), dtype=np.bool_)
        first[start[:-1]] = True
        cells = np.empty(len(first), dtype=np.int32)
        cells[first], cells[~first] = total, parts
        return Relations(
            cells=max(len(self.cells.count), int(cells.max(initial=-1)) + 1),
            start=start,
            cell=cells,
            coef=np.where(first, -1, 1).astype(np.int64),
            rhs=np.zeros(len(total), dtype=np.int64),
        )

    @property
    def rows(self) -> list[tuple[int, IntArray]]:
        """Each row as its total and its parts."""
        links = self.relations
        rows = np.split(links.cell.astype(np.int64), links.start[1:-1])
        return [(int(row[0]), row[1:]) for row in rows if len(row)]

    @property
    def nobody(self) -> list[Table]:
        """The tables that nobody publishes."""
        return [] if self.unpublished is None else [self.unpublished]

    @property
    def ties(self) -> list[tuple[int, int]]:
        """Pairs of tables that rows tie together; that of nobody comes after the others."""
        return tied_tables(self.relations, self.cells.offsets)

    def records_of(self, table: int) -> Partitions | None:
        """Partition of the records by a table; None if it agrees with the names."""
        strange = table in self.cells.strange or not self.partitions.several
        return None if strange else self.partitions

    def doubt_lines(self) -> list[str]:
        """Relations that may be due to chance, in words."""
        return self.partitions.doubt_lines()

    def __repr__(self) -> str:
        return f"<CellSystem (confidential): {len(self.relations):,} rows across tables>"

    # -- rows --------------------------------------------------------------------------

    def _equal(self) -> None:
        """Cells of a layer that are the same records."""
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
        """The layers next below a layer."""
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
        if size <= _MOST:
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
        """The cells of a layer that occur, with their records, weights and values."""
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

    def _table(self) -> Table | None:
        """The cells that nobody publishes, by name."""
        if not self._fresh:
            return None
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
        return cells_of_nobody(names, columns)


def tied_tables(links: Relations, offsets: IntArray) -> list[tuple[int, int]]:
    """Pairs of tables with cells in one row, by where the cells of each table begin."""
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


def pairs_apart(tables: Sequence[Sequence[set[str]]]) -> list[tuple[str, str]]:
    """Pairs of names that no table crosses.

    >>> pairs_apart([[{"area"}, {"age", "age5"}], [{"area"}, {"sex"}]])
    [('age', 'age5'), ('age', 'sex'), ('age5', 'sex')]
    """
    crossed = {
        frozenset(pair)
        for variables in tables
        for one, other in combinations(variables, 2)
        for pair in product(one, other)
    }
    every = sorted({name for variables in tables for own in variables for name in own})
    return [pair for pair in combinations(every, 2) if frozenset(pair) not in crossed]


#: The variables of a table, and per variable the code of each cell that occurs.
OccurringCells: TypeAlias = tuple[Sequence[Dimension], Sequence[PositionArray]]


def pairs_tied(
    tables: Iterable[OccurringCells], spans: Sequence[Sequence[set[str]]]
) -> Iterator[tuple[str, str]]:
    """Pairs of names of which a table shows that codes go together, and that names do not follow.

    They are followed where one table has all that two others cross each of them with.

    Args:
        tables: The cells of each table.
        spans: Per table and variable, its names.
    """
    names = [set[str]().union(*own) for own in spans]
    for (dimensions, index), own in zip(tables, spans, strict=True):
        for one, other in combinations(range(len(dimensions)), 2):
            ways = product(*(_finest_codes(dimensions[at], index[at]) for at in (one, other)))
            totals = [part == 0 for at, part in enumerate(index) if at not in (one, other)]
            inside = np.all([np.ones(len(index[one]), dtype=np.bool_), *totals], axis=0)
            if any(_fall_apart(*(part[inside] for part in way)) for way in ways):
                for first, second in product(sorted(own[one]), sorted(own[other])):
                    if _are_apart(first, second, names):
                        yield min(first, second), max(first, second)


def _finest_codes(dimension: Dimension, part: PositionArray) -> Iterator[PositionArray]:
    """Per classification, the number of each cell's code among the finest; -1 for others."""
    for choice, code in level_codes(dimension):
        if choice is not None and choice.level == dimension.classifications[choice.tree].depth:
            yield code[part]


def _fall_apart(rows: PositionArray, columns: PositionArray) -> bool:
    """Whether codes of two variables form groups, none of which occurs with codes of another.

    >>> land, district = np.array([0, 0, 1]), np.array([0, 1, 2])
    >>> _fall_apart(land, district), _fall_apart(np.append(land, 1), np.append(district, 0))
    (True, False)
    """
    both = (rows >= 0) & (columns >= 0)
    rows, columns = rows[both], columns[both]
    reached = rows == rows[:1]
    while True:
        more = np.isin(rows, rows[reached]) | np.isin(columns, columns[reached])
        if (more == reached).all():
            return not bool(reached.all())
        reached = more


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
    apart = {*pairs_apart(spans), *pairs_tied(occurring, spans)}
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
