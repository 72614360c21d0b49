"""`LinkedSystem`: several tables as one system of equations over groups of records. CONFIDENTIAL.

In: `ShownCounts`s or `ShownSums`s. Out: atoms – sets of records that are in the same cells of every
table – and which atoms each cell is made of. Atoms are all combinations of categories that an
attacker must take for possible: where variables are related (nested, overlapping, or rarely
together), only the combinations that occur; where there are too many, those that occur too, which
takes the attacker to know more than he does. Sums are a system for each variable, in units of the
largest of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.disclosure import EXPECTED, RecordAtoms, go_together
from discreet_fire.linked_tables.small_counts import ShownCounts, ShownSums, cells_and_margins
from discreet_fire.statistics import (
    GroupedValues,
    SafeLimits,
    SumTable,
    count_levels,
    margins_of,
)

#: Systems with more entries are taken apart: their tables are held against each other by twos.
_MOST_ENTRIES = 400_000
#: Sums are counted in such parts of the largest of a system.
_PARTS = 1e4


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Division:
    """A way to divide all records: by a variable, or by who is in a table.

    One that is given more than one category for the same record is another column.
    """

    name: str
    codes: IntArray  # -1 where no table says so
    labels: dict[str | float, int]

    @property
    def cut(self) -> bool:
        """Whether quantiles cut a variable into classes: their labels are upper ends, ascending."""
        return any(isinstance(label, float) for label in self.labels)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LinkedSystem:
    """Tables over the same variables, cell by cell: counts, or sums of one variable (confidential).

    What must possibly be smaller or larger are withheld cells that break a rule, not those that are
    only withheld for the sake of others.
    """

    tables: tuple[ShownCounts, ...]
    first: IntArray  # the number of the first cell of each table, and of all cells
    members: list[IntArray]  # for each cell, which atoms it is made of
    counts: IntArray  # how many records each cell has
    hidden: BoolArray  # which cells are not shown
    asked: BoolArray  # which of these are withheld
    records: IntArray  # the numbers of all records
    atom_of: IntArray  # the atom of each
    atoms: IntArray  # how many records each atom has
    variable: str = ""  # what is added up; empty for counts
    figures: FloatArray  # the figure of each cell
    of_atoms: FloatArray  # and of each atom
    floor: FloatArray  # everyone knows that a cell has no less
    ceiling: FloatArray  # and no more
    slack: FloatArray  # by how much a shown figure may be off
    small: BoolArray  # which withheld cells break a rule
    lower: FloatArray  # how much smaller these must possibly be
    upper: FloatArray  # and how much larger
    apart: bool = False  # whether it is a part of a system that was too large

    @property
    def whole(self) -> bool:
        """Whether figures are whole numbers that are never negative."""
        return not self.variable

    @property
    def rounding(self) -> float:
        """Largest difference of two equal figures after rounding."""
        return 4 * float(self.slack.max(initial=0.0))

    @property
    def signed(self) -> bool:
        """Whether figures may be negative."""
        return bool(np.isneginf(self.floor).any())

    @property
    def entries(self) -> int:
        """Size of the system: atoms of all cells together."""
        return sum(map(len, self.members))

    @property
    def cells(self) -> int:
        """Number of cells."""
        return int(self.first[-1])

    def name(self, cell: int) -> str:
        """The table and the place of a cell."""
        table, of = self.table(cell), self.variable
        place = self.tables[table].place(self.place(cell))
        return f"{self.tables[table].name}: {f'{of} of ' if of else ''}{place}"

    def table(self, cell: int) -> int:
        """Which table a cell is in."""
        return int(np.searchsorted(self.first, cell, side="right")) - 1

    def cells_of(self, table: int) -> IntArray:
        """The cells of a table."""
        return np.arange(int(self.first[table]), int(self.first[table + 1]))

    def place(self, cell: int) -> int:
        """The number of a cell within its table."""
        return cell - int(self.first[self.table(cell)])

    def margins(self) -> BoolArray:
        """Which cells are totals."""
        return np.concatenate([margins_of(table.hidden.shape).ravel() for table in self.tables])

    def __repr__(self) -> str:
        return f"<LinkedSystem of {len(self.tables)} tables>"


def sum_systems_of(
    tables: Sequence[ShownSums], limits: SafeLimits, *, every: bool = False
) -> Iterator[LinkedSystem]:
    """The systems of sums of the same variable, whatever it is called."""
    for group in same_values(tables):
        places = {id(one.place): one for one in group}
        for system in systems_of([one.place for one in group], limits, every=every):
            yield _of_sums(system, [places[id(one)] for one in system.tables], limits)


def same_values(tables: Sequence[ShownSums]) -> list[list[ShownSums]]:
    """Sums of variables that have the same values wherever both are known."""
    groups: list[list[int]] = []
    for at, one in enumerate(tables):
        own = [at]
        for group in list(groups):
            others = [tables[other] for other in group]
            if any(map(one.meets, others)) and all(
                tables[known].agrees(other) for known in own for other in others
            ):
                own += group
                groups.remove(group)
        groups.append(sorted(own))
    return [[tables[at] for at in group] for group in sorted(groups)]


def _of_sums(system: LinkedSystem, sums: Sequence[ShownSums], limits: SafeLimits) -> LinkedSystem:
    """The same system, about sums."""
    values = np.zeros(len(system.records))
    for one in sums:
        values[np.searchsorted(system.records, one.place.records)] = one.values
    cells = np.concatenate([one.sums.ravel() for one in sums])
    unit = max(float(np.abs(cells).max(initial=0.0)), 1e-300) / _PARTS
    signed = bool((values < 0).any())
    rules, levels = [], []
    for one in sums:
        size = int(np.prod(one.place.sizes, dtype=np.int64))
        holding = GroupedValues.of(one.values, one.place.cells, size, one.place.owners)
        table = SumTable(holding=holding, sizes=one.place.sizes, limits=limits)
        rules.append(np.array([bool(broken) for broken in table.rules], dtype=np.bool_))
        levels.append(table.levels.ravel())
    # A deviation is withheld for what it tells exactly: of squares nothing else is asked.
    small = system.asked & np.concatenate(rules) & (not sums[0].squared)
    slack = [np.abs(one.sums).ravel() * 10.0 ** (1 - one.digits) for one in sums]
    wanted = np.maximum(np.concatenate(levels), 1e-6 * np.abs(cells)) / unit * small
    atoms = np.bincount(system.atom_of, weights=values, minlength=len(system.atoms))
    return replace(
        system,
        variable=sums[0].variable,
        figures=cells / unit,
        of_atoms=atoms / unit,
        floor=np.full(len(cells), -np.inf if signed else 0.0),
        ceiling=np.full(len(cells), np.inf),
        slack=np.concatenate(slack) / unit,
        small=small,
        lower=wanted if signed else np.minimum(wanted, cells / unit),
        upper=wanted,
    )


def systems_of(
    tables: Sequence[ShownCounts], limits: SafeLimits, *, every: bool = False
) -> Iterator[LinkedSystem]:
    """The systems of tables that have to do with each other, if something is withheld there.

    Each has two and more tables; large ones are taken apart into all their twos. If `every` one
    counts, also those of which nothing is withheld.
    """
    kept = _distinct(tables)
    if not kept:
        return
    records = np.unique(np.concatenate([table.records for table in kept]))
    columns, spans = _columns(kept, records)
    linked = _linked(kept, columns, spans, records)

    def withheld(group: Sequence[int]) -> bool:
        return every or any(kept[at].withheld.any() for at in group)

    def made(group: Sequence[int]) -> LinkedSystem:
        some, spanned = [kept[at] for at in group], [spans[at] for at in group]
        return _system(some, spanned, columns, records, limits)

    number, group_of = connected_components(linked, directed=False)
    for at in range(number):
        group = np.flatnonzero(group_of == at).tolist()
        alone = len(group) < 2 and kept[group[0]].cuts is None
        if alone or not withheld(group):
            continue
        system = made(group)
        if system.entries <= _MOST_ENTRIES or len(group) <= 2:
            yield system
            continue
        for two in itertools.combinations(group, 2):
            if withheld(two) and linked[two]:
                yield replace(made(two), apart=True)


def _distinct(tables: Sequence[ShownCounts]) -> list[ShownCounts]:
    """The tables, but each only once."""
    tables_by_key: dict[tuple[object, ...], ShownCounts] = {}
    for table in tables:
        axes: tuple[object, ...] = tuple((axis.name, axis.labels) for axis in table.axes)
        axes += () if table.cuts is None else (_output(table), table.cuts.within)
        order = np.argsort(table.records, kind="stable")
        inside = (table.records[order].tobytes(), table.cells[order].tobytes())
        tables_by_key.setdefault((axes, *inside, table.hidden.tobytes(), table.silent), table)
    return list(tables_by_key.values())


def _columns(
    tables: Sequence[ShownCounts], records: IntArray
) -> tuple[list[_Division], list[list[int]]]:
    """The variables of all tables, and which of them each table has."""
    columns: list[_Division] = []
    spans = []
    # All quantiles of a variable together, whatever they are of, cut it into classes.
    ends: dict[str, list[float]] = {}
    for table in tables:
        if table.cuts is not None:
            ends.setdefault(table.axes[0].name, [np.inf]).extend(table.cuts.at)
    for table in tables:
        at, span = np.searchsorted(records, table.records), []
        for name, known, codes in _axes(table, ends):
            texts = known[codes]
            fitting = [
                number
                for number, column in enumerate(columns)
                if column.name == name and _fits(column, at, texts)
            ]
            number = fitting[0] if fitting else len(columns)
            if not fitting:
                empty = np.full(len(records), -1, dtype=np.int64)
                columns.append(_Division(name=name, codes=empty, labels={}))
            labels = columns[number].labels
            for label in known.tolist():
                labels.setdefault(label, len(labels))
            columns[number].codes[at] = [labels[text] for text in texts.tolist()]
            span.append(number)
        spans.append(span)
    return columns, spans


def _axes(table: ShownCounts, ends: dict[str, list[float]]) -> Iterator[tuple[str, Any, IntArray]]:
    """Names, categories, and those of each record; of quantiles also what their cell is of."""
    if table.cuts is None:
        for axis in table.axes:
            yield axis.name, np.array(axis.labels, dtype=object), axis.codes
        return
    for name, label in table.cuts.within:
        yield name, np.array([label], dtype=object), np.zeros(len(table.records), dtype=np.int64)
    known = np.unique(ends[table.axes[0].name])
    yield f"{table.axes[0].name} ≤", known, np.searchsorted(known, table.cuts.values)


def _fits(column: _Division, at: IntArray, texts: object) -> bool:
    """Whether records that are known already have the same categories."""
    codes = column.codes[at]
    wanted = np.array([column.labels.get(text, -2) for text in texts])  # type: ignore[attr-defined]
    return bool(((codes < 0) | (codes == wanted)).all())


def _linked(
    tables: Sequence[ShownCounts],
    columns: Sequence[_Division],
    spans: Sequence[Sequence[int]],
    records: IntArray,
) -> BoolArray:
    """Which tables share variables, have related ones, or records that a variable of the other one
    has chosen; single counts are with all others.
    """
    has, chosen = np.zeros((2, len(tables), len(columns)), dtype=np.bool_)
    related = np.eye(len(columns), dtype=np.bool_)
    for (one, a), (two, b) in itertools.combinations(enumerate(columns), 2):
        both = (a.codes >= 0) & (b.codes >= 0)
        related[one, two] = both.any() and go_together(a.codes[both], b.codes[both])
    every = [_numbers(column.codes) for column in columns]
    for at, (table, span) in enumerate(zip(tables, spans, strict=True)):
        has[at, span] = True
        inside = np.searchsorted(records, table.records)
        for one, (column, number) in enumerate(zip(columns, every, strict=True)):
            own = _numbers(column.codes[inside], len(number))
            chosen[at, one] = _leaves_out(own, number) or _leaves_out(number - own, number)
    linked: BoolArray = (has @ (related | related.T) | chosen) @ has.T
    linked |= ~has.any(axis=1, keepdims=True)
    return linked | linked.T


def _leaves_out(some: IntArray, every: IntArray) -> bool:
    """Whether some records leave codes out that they would have by chance, or have only one."""
    expected = every * (some.sum() / max(every.sum(), 1))
    single = (some > 0).sum() == 1 < (every > 0).sum()
    return bool(single or ((some == 0) & (expected >= EXPECTED)).any())


def _numbers(codes: IntArray, size: int = 0) -> IntArray:
    return np.bincount(codes[codes >= 0], minlength=size).astype(np.int64)


def _system(
    tables: Sequence[ShownCounts],
    spans: Sequence[Sequence[int]],
    columns: Sequence[_Division],
    records: IntArray,
    limits: SafeLimits,
) -> LinkedSystem:
    used = sorted({number for span in spans for number in span})
    # Quantiles of a cell are of the records of their output that have its categories.
    ordered = sorted(tables, key=lambda one: len(one.records))
    every = {_output(table): table.records for table in ordered}
    inside = np.stack([np.isin(records, every[_output(table)]) for table in tables])
    kept = inside.any(axis=0)
    # A category of their own for records of which no table says what they are.
    unknown = np.array([len(columns[at].labels) for at in used], dtype=np.int64)
    codes = [columns[at].codes[kept] for at in used]
    codes = [np.where(one < 0, size, one) for one, size in zip(codes, unknown, strict=True)]
    known = np.array(codes, dtype=np.int64).reshape(len(used), int(kept.sum()))
    classes = [at for at, number in enumerate(used) if columns[number].cut]
    atoms = RecordAtoms.of(known, unknown, inside[:, kept], classes)
    members: list[IntArray] = []
    for number, (table, span) in enumerate(zip(tables, spans, strict=True)):
        within = np.flatnonzero(atoms.inside[number])
        of_atoms = [atoms.codes[used.index(column)][within] for column in span]
        if table.cuts is not None:  # up to each quantile, and all
            ends = [*columns[span[-1]].labels, np.inf]
            up_to = np.searchsorted(table.cuts.at, ends)[of_atoms[-1]]
            for column, own, (_, label) in zip(span, of_atoms, table.cuts.within, strict=False):
                up_to[own != columns[column].labels[label]] = table.sizes[0]
            members += [
                within[up_to <= min(at, table.sizes[0] - 1)] for at in range(table.hidden.size)
            ]
            continue
        axes = []
        for column, axis, own in zip(span, table.axes, of_atoms, strict=True):
            places: dict[str | float, int] = {label: at for at, label in enumerate(axis.labels)}
            numbered = [places.get(label, -1) for label in columns[column].labels]
            axes.append(np.array([*numbered, -1])[own])
        having = dict(cells_and_margins(axes, table.hidden.shape, len(within)))
        members += [within[having.get(at, [])] for at in range(table.hidden.size)]
    sizes = [table.hidden.size for table in tables]
    counts = np.concatenate([table.counts.ravel() for table in tables])
    asked = np.concatenate([table.withheld.ravel() for table in tables])
    cases = np.concatenate([table.cases.ravel() for table in tables])
    least, most = np.concatenate([np.stack(table.bounds) for table in tables], axis=1)
    # Small counts must seem possible from the smallest to a safe one.
    small = asked & (cases > 0) & (cases < limits.minimum)
    lower, upper = count_levels(counts, least.astype(np.int64), limits.minimum)
    return LinkedSystem(
        tables=tuple(tables),
        first=starts(sizes),
        members=members,
        counts=counts,
        hidden=np.concatenate([table.hidden.ravel() for table in tables]),
        asked=asked,
        records=records[kept],
        atom_of=atoms.of_record,
        atoms=atoms.count,
        figures=counts.astype(np.float64),
        of_atoms=atoms.count.astype(np.float64),
        floor=least,
        ceiling=most,
        slack=np.zeros(len(counts)),
        small=small,
        lower=(lower * small).astype(np.float64),
        upper=(upper * small).astype(np.float64),
    )


def _output(table: ShownCounts) -> tuple[object, ...]:
    """Which tables are quantiles of one output; other tables stand for themselves."""
    cuts = table.cuts
    return (id(table),) if cuts is None else (table.name, table.axes[0].name, cuts.output)
