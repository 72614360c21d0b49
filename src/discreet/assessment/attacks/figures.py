"""`PublishedFigures`: every count and sum that releases show, each once, as attacks read them.

In: protected tables by universe, and for assessment their true tables. Out: per universe one
system of published cells of its counts, and one of each of its sums, known by names and codes
alone. Public, unless true tables were given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from discreet.arrays import AnyArray, BoolArray, CellIndex, IntArray, PositionArray, quotient
from discreet.disclosure import (
    SHOWN,
    Gap,
    PublishedCells,
    TableLayers,
    code_positions,
    figure_scale,
    published_axes,
    unexamined_names,
)
from discreet.errors import TableError
from discreet.tables import CellStatus, Dimension, ProtectedTable, Table


class TrueTable(NamedTuple):
    """A true table and the protected one it belongs to. CONFIDENTIAL."""

    universe: str  # the universe of the protected table
    place: int  # its place among the tables of that universe
    table: Table  # the true table
    figure: str = ""  # the sum that it is the truth of; "" for counts
    column: str = ""  # the value column of that sum


@dataclass(frozen=True, kw_only=True)
class BareFigures:
    """Figures that tell something by themselves, or beside a count that is not shown."""

    table: str
    figure: str
    whole: int  # number of shares of exactly everything: all records have it
    uncounted: int  # number of figures shown where a count beside them is hidden


@dataclass(frozen=True, repr=False)
class PublishedFigures:
    """Everything that releases tell of counts and sums."""

    systems: Mapping[str, PublishedCells]  # the counts, per universe
    #: The sums, per universe and figure, as whole numbers of their last decimal
    values: Mapping[tuple[str, str], PublishedCells] = field(default_factory=dict)
    bare: Sequence[BareFigures] = ()  # figures that tell by themselves
    gaps: Sequence[Gap] = ()  # what names and codes leave open

    @classmethod
    def of(
        cls,
        universes: Mapping[str, Sequence[ProtectedTable]],
        truth: Mapping[str, Sequence[Table | None]] | Iterable[TrueTable] | None = None,
    ) -> PublishedFigures:
        """The figures of tables, by universe."""
        every = [table for tables in universes.values() for table in tables]
        axes = published_axes(every)
        systems: dict[tuple[str, str], PublishedCells] = {}
        taken: dict[tuple[str, int, str], tuple[TableLayers | None, int]] = {}
        for name, tables in universes.items():
            systems[name, ""] = PublishedCells(name, axes)
            for place, table in enumerate(tables):
                means = {item.name: item.kind == "mean" for item in table.figures}
                for figure in ("", *_valued(table)):
                    title = f"{name}: {figure}".removeprefix(": ")
                    new = PublishedCells(title, axes, means=means.get(figure, False))
                    own = systems.setdefault((name, figure), new)
                    if own.means == new.means:  # what has one name is no system of sums and means
                        layers = own.take(table, figure)
                        taken[name, place, figure] = layers, figure_scale(table, figure)
            with_sums = {table.name for table in tables for f in table.figures if f.kind == "sum"}
            counts = systems[name, ""]
            counts.left_out = [item for item in counts.left_out if item not in with_sums]
        for true in _in_turn(universes, truth) if isinstance(truth, Mapping) else truth or ():
            layers, scale = taken.get((true.universe, true.place, true.figure), (None, 1))
            if layers is not None:
                _hold(systems[true.universe, true.figure], layers, true, scale)
        for system in systems.values():
            system.complete()
        return cls(
            {name: system for (name, figure), system in systems.items() if not figure},
            {key: system for key, system in systems.items() if key[1]},
            [item for table in every for item in _bare(table)],
            unexamined_names(universes),
        )


def _valued(table: ProtectedTable) -> list[str]:
    """The figures of a table that are sums or means of a column."""
    return [item.name for item in table.figures if item.kind in ("sum", "mean")]


def _in_turn(
    universes: Mapping[str, Sequence[ProtectedTable]],
    truth: Mapping[str, Sequence[Table | None]],
) -> Iterator[TrueTable]:
    for name, tables in universes.items():
        own = truth.get(name, [None] * len(tables))
        for place, (table, true) in enumerate(zip(tables, own, strict=True)):
            if true is not None:
                yield TrueTable(name, place, true)
                for figure in _valued(table):
                    if figure in true.contributions:
                        yield TrueTable(name, place, true, figure, figure)


def _hold(system: PublishedCells, taken: TableLayers, true: TrueTable, scale: int) -> None:
    """Give the layers of a table their true counts, or sums of a column. CONFIDENTIAL."""
    kept, places = _same_codes(true.table, taken.dimensions)
    largest = None
    amounts: AnyArray = true.table.count[kept].astype(np.int64)
    if true.column:
        of = true.table.contributions[true.column]
        scales = np.full(len(kept), float(scale))
        if system.means:  # who knows how many there are computes the sum
            number = of.count if of.weight is None else of.weight
            scales = quotient(scales, number[kept].astype(np.float64))
        amounts = np.rint(of.total[kept] * scales).astype(np.int64)
        first = of.top if of.top_weight is None else of.top * of.top_weight
        largest = np.nan_to_num(np.abs(first[kept][:, :2])) * scales[:, np.newaxis]
    nothing = np.zeros(0, dtype=np.int64)
    fresh = {key: (nothing, nothing) for key in taken.sizes if system.layers[key].true is None}
    for key, rows, ids in taken.of_cells(places, len(kept)):
        if key in fresh:
            fresh[key] = rows, ids
    for key, (rows, ids) in fresh.items():
        system.layers[key].true = ids, amounts[rows]
        system.layers[key].largest = None if largest is None else largest[rows]


def _same_codes(
    true: Table, dimensions: Sequence[Dimension]
) -> tuple[IntArray, list[PositionArray]]:
    """The cells of a true table whose codes are published, by these codes."""
    names = {dimension.name for dimension in dimensions}
    for name in sorted(names - {dimension.name for dimension in true.dimensions}):
        message = f"variable {name!r} does not span the true table"
        raise TableError(message, code="truth", where="attack")
    positions = code_positions(dimensions, true.dimensions, true.index)
    others = zip(true.dimensions, true.index, strict=True)
    totals = [part == 0 for own, part in others if own.name not in names]
    listed = [np.ones(len(true), dtype=np.bool_), *(part >= 0 for part in positions), *totals]
    kept = np.flatnonzero(np.all(listed, axis=0))
    return kept, [part[kept] for part in positions]


def _bare(table: ProtectedTable) -> Iterator[BareFigures]:
    """The figures of a table that tell by themselves."""
    if not table.several_figures:
        return
    row = CellIndex(tuple(len(item) for item in table.spanning)).numbers(
        table.index[:-1], len(table.value)
    )
    of, shown = table.index[-1], np.isin(table.status, SHOWN)
    counts = [at for at, figure in enumerate(table.figures) if figure.kind == "count"]
    hidden = row[(table.status == CellStatus.suppressed) & np.isin(of, counts)]
    for at, figure in enumerate(table.figures):
        if at in counts:
            continue
        own = shown & (of == at)
        whole = _whole(table, own) if figure.kind == "share" else 0
        uncounted = int(np.isin(row[own], hidden).sum())
        if whole or uncounted:
            yield BareFigures(
                table=table.name, figure=figure.name, whole=whole, uncounted=uncounted
            )


def _whole(table: ProtectedTable, own: BoolArray) -> int:
    """The shares of everything; that of a total in itself tells nothing."""
    all_of_it = table.value == 100
    counted = own & all_of_it
    for part in table.index[:-1]:
        total = own & (part == 0)
        if all_of_it[total].all():
            counted &= ~total
    return int(counted.sum())
