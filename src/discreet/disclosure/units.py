"""`LinkedRecords`: what tables of units and of their parts say of each other. CONFIDENTIAL.

In: records of several kinds of units, such as persons and households, which of them consist of
which, and tables of all of them. Out: rows among cells of different units. Persons are size times
households where a code says how large a household is; open classes ("5 and more") leave a range,
and every household has a person. The records prove each row, unit by unit. A code says how large
units are only where chance would not have made them alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray, starts
from discreet.classifications import Classification
from discreet.disclosure.cells import (
    UNPUBLISHED,
    CellSystem,
    cells_of_nobody,
)
from discreet.disclosure.code_pairs import CHANCE
from discreet.disclosure.partitions import Partitions
from discreet.disclosure.relations import Relations
from discreet.disclosure.verdicts import Gap
from discreet.errors import DiscreetError, TableError
from discreet.microdata import parse_filter, read_microdata
from discreet.record_batches import collected
from discreet.tables import Dimension, Table
from discreet.tabulation import CubeAxis, Query, tabulate_many


@dataclass(frozen=True, slots=True)
class UnitLink:
    """Which units consist of which parts."""

    unit: str  # what the tables of units have as `Table.unit`
    parts: str  # the same of their parts; empty for the main records
    by: tuple[str, ...]  # the columns that name the unit, in the records of both


@dataclass(frozen=True, repr=False, eq=False)
class _SizeRows:
    """Cells of units, each with that of their parts and how many a unit has (confidential)."""

    tables: tuple[int, int]  # numbers of the two tables among those of nobody
    units: IntArray
    parts: IntArray
    low: IntArray
    high: FloatArray  # infinite where no code says so


class LinkedRecords:
    """The records of several kinds of units, and what ties their tables together (confidential).

    Args:
        records: Per kind of unit its records; empty text for the main ones.
        links: Which of them consist of which.
        tables: Tables that were counted from them, without weights; `Table.unit` says from which.
        coincidences: As for `Partitions`.

    >>> import polars as pl
    >>> from discreet import tabulate
    >>> homes = pl.DataFrame({"home": range(40), "size": [1, 2] * 20})
    >>> people = homes.select(pl.all().repeat_by("size").explode())
    >>> tables = [tabulate(people, by=["size"]),
    ...           replace(tabulate(homes, by=["size"]), unit="homes")]
    >>> linked = LinkedRecords({"": people, "homes": homes}, [UnitLink("homes", "", ("home",))],
    ...                        tables)
    >>> sorted({coef for coef in linked.system(tables).relations.coef.tolist()})
    [-1, 1, 2]
    """

    def __init__(
        self,
        records: Mapping[str, Any],
        links: Sequence[UnitLink],
        tables: Sequence[Table],
        coincidences: Sequence[str] = (),
    ) -> None:
        self._tables = tuple(tables)
        self.unexamined: list[Gap] = []
        self._frames = {
            unit: _columns_of(source, [table for table in tables if table.unit == unit], links)
            for unit, source in records.items()
        }
        #: Tables that nobody publishes: those of units by their parts, and of parts by their units
        self.nobody: list[Table] = []
        self.sizes: list[_SizeRows] = []
        for link, frames in [(link, dict(self._frames)) for link in links]:
            self._link(link, frames[link.unit], frames[link.parts])
        linked = {unit for link in links for unit in (link.unit, link.parts)}
        if left := [unit or "the main records" for unit in records if unit not in linked]:
            self.unexamined.append(Gap("units", ", ".join(left), len(left)))
        every = (*tables, *self.nobody)
        self.partitions = {
            unit: Partitions(frame, [t for t in every if t.unit == unit], None, coincidences)
            for unit, frame in self._frames.items()
        }

    def doubt_lines(self) -> list[str]:
        """Relations that may be due to chance, in words."""
        return [line for own in self.partitions.values() for line in own.doubt_lines()]

    def system(
        self, tables: Sequence[Table], others: Collection[int] = (), *, counts: bool = True
    ) -> UnitSystem:
        """The system of tables of these records; links of units relate counts only."""
        return UnitSystem(self, tables, others, counts=counts)

    def _link(self, link: UnitLink, units: pl.DataFrame, parts: pl.DataFrame) -> None:
        """Give both records the columns that the others have, and count both by all of them."""
        by, size, inside = list(link.by), f"number of {link.parts or 'parts'}", f"in {link.unit}"
        for name, known in ((link.unit, units), (link.parts or "the main records", parts)):
            if lost := [column for column in by if column not in known.columns]:
                message = f"linked records lack the column {name}"
                hint = "name the identifier columns in both sets of records"
                raise TableError(message, code="link", where=", ".join(lost), hint=hint)
        if units.drop_nulls(by).select(by).is_duplicated().any():
            message = f"several records of {link.unit} have the same identifier"
            hint = "count each unit once, or name the identifier columns"
            raise TableError(message, code="link", where=", ".join(by), hint=hint)
        named = parts.drop_nulls(by).group_by(by)
        theirs = [name for name in parts.columns if name not in by]
        alike = named.agg(pl.col(name).n_unique() for name in theirs)
        constant = [name for name in theirs if (alike[name] <= 1).all()]
        one = named.agg(pl.len().cast(pl.Int64).alias(size), pl.col(constant).first())
        of_unit = units.select(by).join(one, on=by, how="left", maintain_order="left")
        there = of_unit[size].is_not_null()
        own = [name for name in units.columns if name not in by]
        shared = [
            name
            for name in own
            if name in constant
            if units[name]
            .cast(pl.String)
            .eq_missing(of_unit[name].cast(pl.String))
            .filter(there)
            .all()
        ]
        given = self._frames[link.unit], self._frames[link.parts]
        among_parts = _names(own, shared, given[1].columns, link.unit)
        among_units = _names(constant, shared, given[0].columns, link.parts or "parts")
        self._frames[link.unit] = given[0].with_columns(
            of_unit[size].fill_null(0),
            *(of_unit[name].alias(to) for name, to in among_units.items() if name not in shared),
        )
        brought = units.drop_nulls(by).select(
            *by,
            pl.lit(1, dtype=pl.Int64).alias(inside),
            *(pl.col(name).alias(to) for name, to in among_parts.items() if name not in shared),
        )
        joined = given[1].join(brought, on=by, how="left", maintain_order="left")
        self._frames[link.parts] = joined.with_columns(pl.col(inside).fill_null(0))
        having = "" if there.all() else f"`{size}` > 0"
        within = "" if joined[inside].is_not_null().all() else f"`{inside}` == 1"
        shares = of_unit[size].drop_nulls().value_counts(normalize=True)["proportion"].to_numpy()
        for by_units, by_parts, where in self._pairs(link, among_units, among_parts):
            wheres = [_both(where, more) for more in (having, within)]
            self._count(link, (by_units, by_parts), wheres, (size, shares))

    def _pairs(
        self, link: UnitLink, among_units: Mapping[str, str], among_parts: Mapping[str, str]
    ) -> Iterator[tuple[list[list[Classification]], list[list[Classification]], str]]:
        """What spans tables among units, the same among parts, and their filters."""
        seen = set()
        for table in self._tables:
            if table.unit not in (link.unit, link.parts) or any(d.chosen for d in table.dimensions):
                continue
            names = among_parts if table.unit == link.unit else among_units
            filtered = _filter_columns(table)
            if filtered is None or any(names.get(name) != name for name in filtered):
                if table.unit == link.unit:
                    self.unexamined.append(Gap("records", table.name, 1))
                continue  # a filter on parts: rows among tables of parts say what it leaves
            own = [
                list(dimension.classifications)
                for dimension in table.dimensions
                if all(
                    set(CubeAxis.of(tree).columns) <= names.keys()
                    for tree in dimension.classifications
                )
            ]
            label = table.unit or "parts"
            other = [[_renamed(tree, names, label) for tree in trees] for trees in own]
            key = (
                table.unit,
                where := table.where.strip(),
                str([[t.fields() for t in o] for o in own]),
            )
            if key not in seen:
                seen.add(key)
                yield (own, other, where) if table.unit == link.unit else (other, own, where)

    def _count(
        self,
        link: UnitLink,
        by: tuple[list[list[Classification]], list[list[Classification]]],
        wheres: Sequence[str],
        sizes: tuple[str, FloatArray],
    ) -> None:
        """Count units and parts by the same codes, and note how many parts the units have."""
        size, shares = sizes
        frames = self._frames[link.unit], self._frames[link.parts]
        single = [
            Query(by=[trees], where=wheres[0], values=[size], contributions=1) for trees in by[0]
        ]
        try:
            both = [
                tabulate_many(frame, [Query(by=trees, where=where, name=UNPUBLISHED)])[0]
                for frame, trees, where in zip(frames, by, wheres, strict=True)
            ]
            told = tabulate_many(frames[0], single)
        except DiscreetError:  # codes that a classification of the others does not have
            self.unexamined.append(Gap("units", f"{link.unit}, {link.parts or 'parts'}", 2))
            return
        units, parts = both
        leaf = np.ones(len(units), dtype=np.bool_)
        index = []
        low = np.ones(len(units), dtype=np.int64)
        high = np.full(len(units), np.inf)
        for own, other, part, table in zip(
            units.dimensions, parts.dimensions, units.index, told, strict=True
        ):
            leaf &= own.is_leaf[part] & (part > 0)
            index.append(np.array([other.index.get(c, -1) for c in own.codes], np.int32)[part])
            least, most = _sizes_of(own, table, size, shares)
            low, high = np.maximum(low, least[part]), np.minimum(high, most[part])
        place = CellIndex.of(parts.dimensions).find(parts.index, index, (len(parts), len(units)))
        kept = np.flatnonzero(leaf & (place >= 0))
        first = len(self.nobody)
        names = (link.unit, link.parts)
        self.nobody += [replace(own, unit=unit) for own, unit in zip(both, names, strict=True)]
        self.sizes.append(
            _SizeRows((first, first + 1), kept, place[kept].astype(np.int64), low[kept], high[kept])
        )


class UnitSystem:
    """Rows among cells of tables of several kinds of units, as `CellSystem` has them.

    CONFIDENTIAL. Cells are numbered through all tables, and then through those of nobody.
    """

    def __init__(
        self,
        linked: LinkedRecords,
        tables: Sequence[Table],
        others: Collection[int],
        *,
        counts: bool,
    ) -> None:
        self._linked = linked
        self.doubts = linked.doubt_lines()
        self.nobody = list(linked.nobody) if counts else []
        listed = [*tables, *self.nobody]
        offsets = starts([len(table) for table in listed])
        size = int(offsets[-1])
        gaps = list(linked.unexamined)
        #: Per table, those of nobody too, which of its cells can have records
        self.possible = [np.ones(len(table), dtype=np.bool_) for table in listed]
        #: Per table, what its records say; None if that is what names say
        self.records: list[Partitions | None] = [None] * len(listed)
        rows: list[tuple[IntArray, IntArray, IntArray]] = []
        for unit, partitions in linked.partitions.items():
            at = [n for n, table in enumerate(listed) if table.unit == unit]
            if not at:
                continue
            strange = [place for place, n in enumerate(at) if n in others]
            own = CellSystem(partitions, [listed[n] for n in at], strange)
            gaps += own.unexamined
            numbers = [np.arange(offsets[n], offsets[n + 1]) for n in at]
            for n, possible, known in zip(at, own.possible, own.records, strict=True):
                self.possible[n], self.records[n] = possible, known
            for fresh in own.nobody:
                numbers.append(np.arange(size, size + len(fresh)))
                size += len(fresh)
                self.nobody.append(replace(fresh, unit=unit))
            links = own.relations
            rows.append((np.diff(links.start), np.concatenate(numbers)[links.cell], links.coef))
        if counts:
            rows += self._size_rows(offsets[len(tables) :], size)
        self.unexamined = tuple(dict.fromkeys(gaps))
        length, cells, coefs = (np.concatenate([own[at] for own in rows]) for at in range(3))
        number = sum(len(table) for table in (*tables, *self.nobody))
        row = np.repeat(np.arange(len(length)), length)
        #: The rows, cells numbered through all tables
        self.relations = Relations.of_entries(number, len(length), row, cells, coefs)

    def _size_rows(
        self, first: IntArray, size: int
    ) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Parts are at least and at most so many times their units; what is left is of nobody."""
        names, left = [], []
        for own in self._linked.sizes:
            (of_units, of_parts), (units, parts) = (
                (first[at] for at in own.tables),
                (self._linked.nobody[at] for at in own.tables),
            )
            one, other = of_units + own.units, of_parts + own.parts
            count, held = units.count[own.units], parts.count[own.parts]
            exact = own.low == own.high
            yield _stacked([(other, -1), (one, own.low)], exact)
            for times, turn in ((own.low, 1), (own.high, -1)):
                kept = ~exact & np.isfinite(times)
                factor = np.where(kept, times, 0).astype(np.int64)
                rest = turn * (held - factor * count)
                fresh = np.zeros(len(kept), dtype=np.int64)
                fresh[kept] = size + np.arange(int(kept.sum()))
                size += int(kept.sum())
                names += [f"{turn * n} {units.name}" for n in factor[kept].tolist()]
                left.append(rest[kept])
                yield _stacked([(other, -turn), (one, turn * factor), (fresh, 1)], kept)
        if names:
            columns = {"count": np.concatenate(left)}
            self.nobody.append(cells_of_nobody(names, columns, "rest"))


def sources_of(records: Any) -> list[Any]:
    """The frames of records behind what tables were counted from."""
    if isinstance(records, LinkedRecords):
        return [own.records for own in records.partitions.values()]
    return [records.records if isinstance(records, Partitions) else read_microdata(records)]


def _columns_of(records: Any, tables: Sequence[Table], links: Sequence[UnitLink]) -> pl.DataFrame:
    """The columns that tables and links look at, in memory."""
    trees = [tree for table in tables for own in table.dimensions for tree in own.classifications]
    names = {name: None for tree in trees for name in CubeAxis.of(tree).columns}
    names |= {name: None for table in tables for name in _filter_columns(table) or ()}
    source = read_microdata(records)
    known = source.collect_schema().names()
    by = [name for link in links for name in link.by if name in known]
    frame: pl.DataFrame = collected(source.select(*names, *(n for n in by if n not in names)))
    return frame.with_columns(pl.col(by).cast(pl.String))


def _filter_columns(table: Table) -> list[str] | None:
    """The columns of the filter of a table; None for a filter that is no text."""
    if not table.where.strip():
        return []
    try:
        return sorted(parse_filter(table.where).columns)
    except DiscreetError:
        return None


def _names(
    own: Sequence[str], shared: Sequence[str], taken: Collection[str], label: str
) -> dict[str, str]:
    """What columns of some records are called among the others."""
    return {n: n if n in shared or n not in taken else f"{n} ({label})" for n in own}


def _renamed(tree: Classification, names: Mapping[str, str], label: str) -> Classification:
    levels = tuple(names.get(name, name) for name in tree.level_columns)
    column = None if tree.column is None and levels else names[tree.source]
    return tree.replace(name=f"{tree.name} ({label})", column=column, level_columns=levels)


def _both(one: str, other: str) -> str:
    return f"({one}) and ({other})" if one and other else one or other


def _stacked(
    entries: Sequence[tuple[IntArray, Any]], kept: BoolArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Rows with an entry in each of some columns of cells: lengths, cells, coefficients."""
    cells = np.stack([cell[kept] for cell, _ in entries], axis=1)
    coefs = np.stack([np.broadcast_to(coef, kept.shape)[kept] for _, coef in entries], axis=1)
    return np.full(len(cells), len(entries)), cells.ravel(), coefs.ravel()


def _sizes_of(
    dimension: Dimension, table: Table, size: str, shares: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Per code, the fewest and the most parts of a unit, if the codes say how large units are.

    They do where units of some code are all alike, and chance would not make them so; or where
    those of all codes but one are.
    """
    least = np.ones(len(dimension), dtype=np.int64)
    most = np.full(len(dimension), np.inf)
    counted, own = table.dimensions[0], table.contributions[size]
    leaf = counted.is_leaf[table.index[0]] & (table.index[0] > 0)
    exact = leaf & (own.low == own.high)
    chance = [float((shares**number).sum()) for number in table.count[exact].tolist()]
    several = int(exact.sum()) > 1 and int(leaf.sum() - exact.sum()) < 2
    if several or min(chance, default=1.0) * int(leaf.sum()) < CHANCE:
        place = [dimension.index[counted.codes[at]] for at in table.index[0][leaf].tolist()]
        least[place], most[place] = own.low[leaf].astype(np.int64), own.high[leaf]
    return least, most
