"""Cyclic cores: tables that say more together than the cells which they share. CONFIDENTIAL.

In: tables and the numbers of their cells; where there are records, their partitions. Out: layers –
the finest cells of each table, with the partitions that they cross or determine; those layers that
cannot be joined one after the other as a tree (GYO reduction; for all others, relations among cells
say everything: Vorob'ev); the combinations of codes of such a core that its cells leave possible;
and `JointAttacker`: how far cells move while no combination is negative, published or not:
A x B, A x C and B x C bound A x B x C.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure.code_pairs import code_lines
from discreet.disclosure.relations import Relations, component_labels
from discreet.disclosure.unknowns import TOLERANCE, Unknowns, make_whole
from discreet.solver import column_values, is_optimal, loaded_solver
from discreet.tables import Dimension, Table, level_numbers

if TYPE_CHECKING:
    from discreet.disclosure.partitions import Partitions

#: More filters of one core are not told apart.
_FILTERS = 4
_WHERE = "where "


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class FinestCells:
    """Cells that hold each record of a filter once (confidential)."""

    #: Partition → its code of each cell: those that span the layer and all that these determine
    codes: Mapping[str, IntArray]
    cells: IntArray  # number of each cell
    where: str  # the filter; empty for all records
    #: Partition → the one that spans the layer and determines it, as far as records say so
    by: Mapping[str, str] = field(default_factory=dict)

    @property
    def partitions(self) -> frozenset[str]:
        """All that its cells tell of a record, the filter included."""
        return frozenset(self.codes) | ({_WHERE + self.where} if self.where else frozenset())


class _PartitionsByName:
    """The partitions of variables that tables use, and which of them determine others."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.lines = code_lines(own for table in tables for own in table.dimensions)
        self.known: dict[str, dict[frozenset[str], str]] = {}

    def add(self, dimension: Dimension, level: IntArray) -> None:
        """Name the partition of some codes; the first of a variable has its name."""
        own = self.known.setdefault(dimension.name, {})
        name = dimension.name if not own else f"{dimension.name} #{len(own) + 1}"
        own.setdefault(frozenset(dimension.codes[at] for at in level), name)

    def coarser(self, dimension: Dimension, level: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Each partition that some codes determine, with its code of each code; themselves too."""
        codes, lines = [dimension.codes[at] for at in level], self.lines[dimension.name]
        for other, name in self.known[dimension.name].items():
            place = {code: at for at, code in enumerate(sorted(other))}
            above = [{code} & other or lines[code] & other for code in codes]
            if all(above):
                numbers = np.zeros(len(dimension), dtype=np.int64)
                numbers[level] = [place[next(iter(own))] for own in above]
                yield name, numbers


class _PartitionsOfRecords:
    """The partitions that the records have, whatever variables are called."""

    def __init__(self, partitions: Partitions) -> None:
        self.of = partitions
        self.names: dict[int, str] = {}

    def _number(self, dimension: Dimension, level: IntArray) -> tuple[int, int]:
        """The partition of the finest codes of a classification, and how far they are shifted."""
        at = int(dimension.breakdown[level[0]])
        tree = dimension.classifications[at]
        number = self.of.of_level(tree, tree.depth)
        assert number is not None  # tables that the records do not know are known by name
        return number, int(dimension.offsets[at])

    def add(self, dimension: Dimension, level: IntArray) -> None:
        """Name the partition of the finest codes of a classification."""
        self.names.setdefault(self._number(dimension, level)[0], dimension.name)

    def coarser(self, dimension: Dimension, level: IntArray) -> Iterator[tuple[str, IntArray]]:
        """Each partition that some codes determine, with its code of each code; themselves first.

        Of partitions that are the same, the first.
        """
        number, shift = self._number(dimension, level)
        members = {b for b in range(len(self.of.partitions)) if self.of.above[number] >> b & 1}
        for b in sorted(members, key=lambda b: (b != number, b)):
            filtered = self._is_filter(b)
            same = any((a, b) in self.of.up and (b, a) in self.of.up for a in members if a < b)
            if self.of.constant >> b & 1 or b == self.of.join or (same and not filtered):
                continue
            numbers = np.zeros(len(dimension), dtype=np.int64)
            numbers[level] = self.of.code(number, level - shift, b)
            yield self._name(b), numbers

    def filtered(self, where: str) -> Iterator[tuple[str, int]]:
        """What the records of a filter have in common: partitions, and their code."""
        number = self.of.of_filter(where)
        assert number is not None
        for b in range(len(self.of.partitions) if number >= 0 else 0):
            if self.of.above[number] >> b & 1 and not self.of.constant >> b & 1:
                code = int(self.of.code(number, np.ones(1, dtype=np.int64), b)[0])
                if b != self.of.join and code >= 0:
                    yield self._name(b), code

    def _is_filter(self, b: int) -> bool:
        own = self.of.partitions
        return self.of.join not in (-1, b) and own[b].variable == own[self.of.join].variable

    def _name(self, b: int) -> str:
        name = self.of.partitions[b].name
        return _WHERE + name if self._is_filter(b) else f"{self.names.get(b, name)} #{b}"


def layers_of(
    tables: Sequence[Table], cells: Sequence[IntArray], records: Partitions | None = None
) -> list[FinestCells]:
    """The finest cells of tables, with all that `records` say these determine.

    Without, identity of variables is by their names. Cells without a number are empty, and readers
    know it.
    """
    known = None if records is None else _PartitionsOfRecords(records)
    partitions = known or _PartitionsByName(tables)
    found: list[tuple[Table, IntArray, list[tuple[int, IntArray]], BoolArray]] = []
    for table, numbers in zip(tables, cells, strict=True):
        levels = [level_numbers(dimension) for dimension in table.dimensions]
        for part in _finest(table, levels):
            rows = numbers >= 0
            spanning = []
            for at, (dimension, own, level) in enumerate(
                zip(table.dimensions, levels, part, strict=True)
            ):
                rows = rows & (own[table.index[at]] == level)
                codes = np.flatnonzero(own == level)
                if codes.tolist() != [0]:
                    spanning.append((at, codes))
                    partitions.add(dimension, codes)
            found.append((table, numbers, spanning, rows))
    layers = []
    for table, numbers, spanning, rows in found:
        by: dict[str, str] = {}
        where, size = " ".join(table.where.split()), int(rows.sum())
        told = () if known is None else known.filtered(where)
        columns = {name: np.full(size, code, dtype=np.int64) for name, code in told}
        for at, codes in spanning:
            coarser = dict(partitions.coarser(table.dimensions[at], codes))
            by |= {} if known is None else dict.fromkeys(coarser, next(iter(coarser), ""))
            columns |= {name: place[table.index[at][rows]] for name, place in coarser.items()}
        layers.append(FinestCells(codes=columns, cells=numbers[rows], where=where, by=by))
    return layers


def _finest(table: Table, levels: Sequence[IntArray]) -> list[tuple[int, ...]]:
    """The parts of a table that no other part of it is finer than, as level numbers.

    Parts on inner levels that do not hold all finest codes hold not every record: none of them.
    """
    if any(dimension.chosen for dimension in table.dimensions):
        return []
    choices = []
    for dimension, own in zip(table.dimensions, levels, strict=True):
        trees = len(dimension.classifications)
        finest = [0, *range(2, trees + 1)]
        choices.append([number for number in finest if (own == number).any()] or [int(own[0])])
    if table.parts is None:
        return list(product(*choices))
    whole = [{*own, 1} for own in choices]
    parts = [
        part
        for part in table.parts
        if all(number in own for number, own in zip(part, whole, strict=True))
    ]
    return [
        part
        for part in parts
        if not any(
            other != part
            and all(mine in (theirs, 1) for mine, theirs in zip(part, other, strict=True))
            for other in parts
        )
    ]


def reduced(edges: Sequence[frozenset[str]]) -> dict[int, frozenset[str]]:
    """Edges that remain after removing tips and contained edges (GYO reduction).

    >>> reduced([frozenset("ab"), frozenset("bc"), frozenset("cd")])
    {}
    >>> sorted(reduced([frozenset("ab"), frozenset("bc"), frozenset("ac"), frozenset("cd")]))
    [0, 1, 2]
    """
    left = dict(enumerate(edges))
    while True:
        uses = Counter(name for edge in left.values() for name in edge)
        kept = {
            number: frozenset(name for name in edge if uses[name] > 1)
            for number, edge in left.items()
        }
        for number, edge in list(kept.items()):
            if any(edge <= other for at, other in kept.items() if at != number):
                del kept[number]
        if kept == left:
            return left if len(left) > 1 else {}
        left = kept


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Combinations:
    """The combinations of codes that are possible, and what they add up to (confidential)."""

    number: int
    #: Sums of combinations: the sum of each entry, and its combination
    row: IntArray
    atom: IntArray
    #: Cells that add up to the same sums: the sum of each entry, and its cell
    cell_row: IntArray
    cell: IntArray
    sums: int  # number of sums


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Core:
    """Layers that no order of joining makes a tree of (confidential)."""

    layers: tuple[FinestCells, ...]
    partitions: frozenset[str]  # those in which layers hang together, filters included
    records: Partitions | None = None  # what records say of codes that go together

    @property
    def about(self) -> str:
        """Its variables, in words: those that no other of them determines."""
        names = {name for name in self.partitions if not name.startswith(_WHERE)}
        derived = {
            name
            for layer in self.layers
            for name, other in layer.by.items()
            if other != name and other in names
        }
        return ", ".join(sorted({name.partition(" #")[0] for name in names - derived or names}))

    def combinations(self, most: int) -> Combinations | int:
        """The combinations that the cells leave possible; only their number if they are many."""
        frames: list[pl.DataFrame] = []
        cell_rows: list[IntArray] = []
        cells: list[IntArray] = []
        sums = 0
        filters = sorted({layer.where for layer in self.layers} - {""})
        if len(filters) > _FILTERS:
            return most + 1
        names = self.partitions.union(_WHERE + where for where in filters)
        for layer in self.layers:
            spanning = sorted(names & layer.codes.keys())
            frame = pl.DataFrame({name: layer.codes[name] for name in spanning})
            distinct = frame.unique(maintain_order=True).with_row_index("#", offset=sums)
            row = frame.join(distinct, on=spanning, how="left", maintain_order="left")["#"]
            frames.append(distinct.rename({"#": f"#{len(frames)}"}))
            cell_rows.append(row.to_numpy().astype(np.int64))
            cells.append(layer.cells)
            sums += len(distinct)
        rows: list[IntArray] = []
        atoms: list[IntArray] = []
        number = 0
        for size in range(len(filters) + 1):
            for passed in combinations(filters, size):
                places = [
                    at for at, layer in enumerate(self.layers) if layer.where in ("", *passed)
                ]
                settled = {_WHERE + where: int(where in passed) for where in filters}
                joint = _joined([_among(frames[at], settled) for at in places], most - number)
                if isinstance(joint, int):
                    return number + joint
                joint = joint.filter(pl.Series(self._possible(joint, settled), dtype=pl.Boolean))
                for at in places:
                    rows.append(joint[f"#{at}"].to_numpy().astype(np.int64))
                    atoms.append(number + np.arange(len(joint), dtype=np.int64))
                number += len(joint)
        return Combinations(
            number=number,
            row=np.concatenate(rows),
            atom=np.concatenate(atoms),
            cell_row=np.concatenate(cell_rows),
            cell=np.concatenate(cells),
            sums=sums,
        )

    def _possible(self, joint: pl.DataFrame, settled: Mapping[str, int]) -> BoolArray:
        """Which combinations can have records as far as readers know: all, without records."""
        if self.records is None:
            return np.ones(len(joint), dtype=np.bool_)
        codes: dict[int, IntArray] = {}
        for name in joint.columns:
            if not name.startswith("#"):
                codes[self._number(name)] = joint[name].to_numpy().astype(np.int64)
        for name, code in settled.items():
            codes[self._number(name)] = np.full(len(joint), code, dtype=np.int64)
        finest = self.records.basis(self.records.closure(codes))
        return self.records.possible({b: codes[b] for b in finest if b in codes}, len(joint))

    def _number(self, name: str) -> int:
        """The number of a partition that records have."""
        assert self.records is not None
        if not name.startswith(_WHERE):
            return int(name.rpartition("#")[2])
        number = self.records.of_filter(name.removeprefix(_WHERE))
        assert number is not None
        return number


def _among(frame: pl.DataFrame, settled: Mapping[str, int]) -> pl.DataFrame:
    """The rows with some codes, without these columns."""
    own = {name: code for name, code in settled.items() if name in frame.columns}
    return frame.filter(**own).drop(*own) if own else frame


def _joined(frames: Sequence[pl.DataFrame], most: int) -> pl.DataFrame | int:
    """All rows that agree in what they share; only their number if they are too many."""

    def spanning(frame: pl.DataFrame) -> set[str]:
        return {name for name in frame.columns if not name.startswith("#")}

    left = sorted(frames, key=len)
    if not left:
        return pl.DataFrame()
    joint = left.pop(0)
    while left:
        other = max(left, key=lambda frame: (len(spanning(frame) & spanning(joint)), -len(frame)))
        left = [frame for frame in left if frame is not other]
        shared = sorted(spanning(joint) & spanning(other))
        if not shared:
            if len(joint) * len(other) > most:
                return len(joint) * len(other)
            joint = joint.join(other, how="cross")
            continue
        pairs = joint.group_by(shared).len("n").join(other.group_by(shared).len("m"), on=shared)
        size = int(pairs.select((pl.col("n").cast(pl.Int64) * pl.col("m")).sum()).item())
        if size > most:
            return size
        joint = joint.join(other, on=shared, how="inner")
    return joint


def cyclic_cores(layers: Sequence[FinestCells], records: Partitions | None = None) -> list[Core]:
    """The cores of layers, each of those that hang together; none if relations say everything."""
    left = reduced([layer.partitions for layer in layers])
    cores = []
    while left:
        number, joint = next(iter(left.items()))
        group = {number}
        while more := {at for at, edge in left.items() if at not in group and edge & joint}:
            group |= more
            joint = joint.union(*(left[at] for at in more))
        left = {at: edge for at, edge in left.items() if at not in group}
        own = [layers[at] for at in sorted(group)]
        filters = {"", *(layer.where for layer in own)}
        own += [
            layer
            for at, layer in enumerate(layers)
            if at not in group and layer.where in filters
            if layer.codes and layer.codes.keys() <= joint | {_WHERE + layer.where}
        ]
        cores.append(Core(layers=tuple(own), partitions=joint, records=records))
    return cores


#: An integer program ends after so many branchings: then nothing is known.
_NODES = 2_000
#: Random wishes in a row that prove nothing more before cells are attacked one by one.
_PATIENCE, _SEED = 4, 20

#: An integer program over combinations ends after fewer branchings in large blocks.
_WORK = 1_000_000

#: Bounds beyond this are none.
_ENDLESS = 1e12


class JointBlock(NamedTuple):
    """Hidden cells and combinations that hang together, as columns of one program."""

    unknowns: Unknowns  # its hidden cells come first
    atoms: int  # how many combinations follow
    relations: Relations  # over both
    sums: FloatArray  # right-hand sides
    slack: FloatArray  # by how much rounded sums may miss them
    watched: IntArray  # columns of the sensitive cells that nobody knows exactly so far
    cells: IntArray  # their numbers among all cells


class JointAttacker:
    """The program of one block: how far cells move while no combination is negative."""

    def __init__(self, block: JointBlock, *, whole: bool, slack: FloatArray) -> None:
        self.block, self.whole = block, whole
        known = block.unknowns
        self.low = np.concatenate([known.low, np.zeros(block.atoms)])
        far = np.where(known.high < _ENDLESS, known.high, np.inf)
        self.high = np.concatenate([far, np.full(block.atoms, np.inf)])
        self._rows = block.sums - slack, block.sums + slack
        self.seen_low, self.seen_high = np.zeros(len(known)), np.zeros(len(known))
        self.feasible = True
        self._lp = self._program()
        draw, idle, missing = np.random.default_rng(_SEED), 0, -1
        while idle < _PATIENCE and self.feasible:
            enough = known.protected(self.seen_low, self.seen_high)
            wanted = block.watched[~enough[block.watched]]
            if not wanted.size:
                break
            idle = idle + 1 if wanted.size == missing else 0
            missing = wanted.size
            wish = np.zeros(len(self.low))
            wish[wanted] = draw.uniform(-1.0, 1.0, wanted.size)
            self._ask(self._lp, wish)

    def _program(self, **options: Any) -> Any:
        matrix = self.block.relations.matrix
        return loaded_solver(matrix, self.low, self.high, rows=self._rows, **options)

    @cached_property
    def _mip(self) -> Any:
        nodes = min(_NODES, _WORK // self.block.atoms)
        program = self._program(mip_max_nodes=nodes, mip_rel_gap=0.0)
        program.setOptionValue("presolve", "choose")
        make_whole(program, np.arange(len(self.low)))
        return program

    def _ask(self, solver: Any, wish: FloatArray) -> FloatArray | None:
        """Move cells as wished, and note what is seen; None if there is no answer."""
        solver.changeColsCost(len(wish), np.arange(len(wish), dtype=np.int32), -wish)
        solver.run()
        if not is_optimal(solver):
            self.feasible = False
            return None
        answer = column_values(solver)
        size = len(self.seen_low)
        if not self.whole or np.abs(answer - np.rint(answer)).max() < TOLERANCE:
            np.minimum(self.seen_low, answer[:size], out=self.seen_low)
            np.maximum(self.seen_high, answer[:size], out=self.seen_high)
        return answer

    def moves(self, cell: int) -> bool:
        """Whether a cell was seen to have several values."""
        return bool(self.seen_high[cell] - self.seen_low[cell] > TOLERANCE)

    def reached(self, cell: int) -> tuple[float, float, bool] | None:
        """Movement of one cell, and whether it is enough; None if unknown.

        Counts move by whole numbers, and so do all combinations.
        """
        seen = float(self.seen_low[cell]), float(self.seen_high[cell])
        if self._enough(cell, *seen):
            return *seen, True
        ends = self._ends(self._lp, cell)
        if ends is None:
            return None
        low, high = ends
        if self.whole:
            low, high = float(np.ceil(low - TOLERANCE)), float(np.floor(high + TOLERANCE))
            seen = float(self.seen_low[cell]), float(self.seen_high[cell])
            if self._enough(cell, low, high) and not self._enough(cell, *seen):
                ends = self._ends(self._mip, cell)
                if ends is None:
                    return None
                low, high = ends
        return low, high, self._enough(cell, low, high)

    def _enough(self, cell: int, low: float, high: float) -> bool:
        """Whether it is enough that one cell lies between these ends."""
        return bool(self.block.unknowns.protected(low, high, cell))

    def _ends(self, solver: Any, cell: int) -> tuple[float, float] | None:
        wish = np.zeros(len(self.low))
        wish[cell] = -1.0
        lowest, highest = self._ask(solver, wish), self._ask(solver, -wish)
        if lowest is None or highest is None:
            return None
        return float(lowest[cell]), float(highest[cell])


class LinkedTable(NamedTuple):
    """A table with the numbers of its cells in the problem; -1 for empty cells."""

    table: Table
    cells: IntArray
    value: str | None  # what it shows: None for counts
    records: Partitions | None = None  # what its records say; None: variables are known by name


def cores_of(
    value: IntArray, low: IntArray, hidden: BoolArray, tables: Sequence[LinkedTable]
) -> list[Core]:
    """The cyclic cores of tables; none where values may be negative, for nothing follows then.

    Given are true values, and the lowest that readers reckon with.
    """
    if (low[hidden] < 0).any() or (value < 0).any():
        return []
    there = hidden | (value > 0)
    cores = []
    for records, unit in dict.fromkeys((own.records, own.table.unit) for own in tables):
        # Tables of other records hang together with all others of their units by name.
        own = [t for t in tables if t.records is records or records is None]
        own = [linked for linked in own if linked.table.unit == unit]
        numbers = [np.where(there[table.cells], table.cells, -1) for table in own]
        layers = layers_of([table.table for table in own], numbers, records)
        cores += cyclic_cores(layers, records)
    return [core for core in cores if any(hidden[layer.cells].any() for layer in core.layers)]


def joint_blocks(
    known: Unknowns, value: IntArray, wanted: IntArray, joint: Combinations
) -> list[JointBlock]:
    """The programs of a core, by what hangs together; those with a wanted cell."""
    number, links = len(known) + joint.number, known.relations
    column = np.full(len(value), -1, dtype=np.int64)
    column[known.cells] = np.arange(len(known))
    mine, below = column[joint.cell] >= 0, len(links)
    rows = below + joint.sums
    sums, parts = np.zeros(rows), np.zeros(rows)
    np.add.at(sums, below + joint.cell_row, value[joint.cell])
    np.add.at(parts, below + joint.cell_row, 1)
    every = Relations.of_entries(
        number,
        rows,
        np.concatenate([links.row, below + joint.row, below + joint.cell_row[mine]]),
        np.concatenate([links.cell, len(known) + joint.atom, column[joint.cell[mine]]]),
        np.concatenate([links.coef, np.ones(len(joint.row)), np.full(int(mine.sum()), -1)]),
        sums.astype(np.int64),
    )
    label = component_labels(every)
    labels = label[column[wanted]]
    filled = np.diff(every.start) > 0
    row_label = np.full(rows, -1, dtype=np.int64)
    row_label[filled] = label[every.cell[every.start[:-1][filled]]]
    blocks = []
    for one in np.unique(labels).tolist():
        chosen = np.flatnonzero(label == one)
        atoms = int((chosen >= len(known)).sum())
        if not atoms:
            continue
        inside = np.zeros(number, dtype=np.bool_)
        inside[chosen] = True
        place = np.cumsum(inside) - 1
        kept = row_label == one
        watched = wanted[labels == one]
        blocks.append(
            JointBlock(
                unknowns=known.part(inside[: len(known)]),
                atoms=atoms,
                relations=every.rows(kept).renumbered(place, len(chosen)),
                sums=sums[kept],
                slack=parts[kept] / 2,
                watched=place[column[watched]],
                cells=watched,
            )
        )
    return blocks
