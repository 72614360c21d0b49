"""`PublishedFigures`: every count and sum that releases show, each once, and what equal ones tell.

In: protected tables by universe, and for assessment their true tables. Out: per universe one
system of published cells of its counts, and one of each of its sums, known by names and codes
alone. Public, unless true tables were given. `NearTwins`: pairs of universes, or of codes of two
classifications of one variable, whose figures are mostly equal. The same records carry the same
noise, so one unequal pair of figures proves that somebody in the difference belongs to that cell;
no equal one proves the contrary of large differences. There are no false alarms.
`GroupDisclosures` of rows whose figures are all zero but one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.arrays import AnyArray, BoolArray, CellIndex, IntArray, PositionArray, quotient
from discreet.disclosure import (
    SHOWN,
    Gap,
    LayerKey,
    PublishedCells,
    PublishedLayer,
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


#: Pairs with fewer compared figures, or a larger share of unequal ones, are no twins.
_LEAST, _UNEQUAL = 6, 0.5
#: Sets whose figures lie further apart differ by many records, not by few.
_FEW = 100
#: Figures this large seldom are equal by chance; pairs of codes are found by them.
_TELLING = 20
#: So many pairs of codes are followed up at most, those with most equal figures.
_PAIRS = 200_000
#: In larger layers codes are not held against the true counts.
_LARGE = 200_000


@dataclass(frozen=True, kw_only=True)
class NearTwins:
    """Two published sets that are nearly the same."""

    first: str  # the one, in words
    second: str  # the other
    compared: int  # number of pairs of figures, in all crossings, of which one is not zero
    unequal: int  # how many of them are unequal
    cells: tuple[str, ...] = ()  # some of the cells that are unequal: who differs is in them
    #: How many records at least are in one and not in the other, by the true counts; None if these
    #: are not known. CONFIDENTIAL
    difference: int | None = None


def near_twins(published: PublishedFigures) -> list[NearTwins]:
    """The twins of a publication, those with fewest unequal figures first."""
    twins: list[NearTwins] = []
    for first, second in combinations(published.systems.values(), 2):
        twins += _of_universes(first, second)
    for system in published.systems.values():
        # Codes of two classifications of one variable that hold nearly the same records.
        cuts = sorted({item for key in system.layers for item in key})
        for pair in combinations(cuts, 2):
            one, other = (system.axes[axis] for axis, _ in pair)
            if pair[0][0] != pair[1][0] and one.variable == other.variable:
                twins += _twin_codes(system, *pair)
    return sorted(twins, key=lambda twin: (twin.unequal / twin.compared, twin.first, twin.second))


def _is_near(compared: int, unequal: int) -> bool:
    return compared >= _LEAST and 0 < unequal <= _UNEQUAL * compared


# -- universes -------------------------------------------------------------------------------


def _of_universes(one: PublishedCells, other: PublishedCells) -> Iterator[NearTwins]:
    """Two universes as a whole, and within each code of a variable."""
    rows = [
        _by_subject(frame)
        for number, (key, layer) in enumerate(one.layers.items())
        if (twin := other.layers.get(key)) is not None
        for frame in _unequal(one, number, layer, twin)
    ]
    if not rows:
        return
    compared = pl.col("compared") > 0
    summed = (
        pl.concat(rows)
        .group_by("subject", maintain_order=True)
        .agg(
            pl.col("compared", "unequal").sum(),
            pl.col("cell", "layer").filter(pl.col("unequal") > 0).first(),
            pl.col("gap").filter(compared).sort_by(pl.col("compared").filter(compared)).first(),
            # A layer without true counts has no sum, but nulls sum up to zero.
            pl.when(pl.col("apart") > 0).then(pl.col("apart")).max().alias("apart"),
        )
    )
    layers = list(one.layers.values())
    for row in summed.iter_rows(named=True):
        if _is_near(row["compared"], row["unequal"]) and row["gap"] <= _FEW:
            place = f", {row['subject']}" if row["subject"] else ""
            yield NearTwins(
                first=one.name + place,
                second=other.name + place,
                compared=row["compared"],
                unequal=row["unequal"],
                cells=(one.cell_name(layers[row["layer"]], row["cell"]),),
                difference=row["apart"],
            )


def _by_subject(cells: pl.DataFrame) -> pl.DataFrame:
    """What the cells of a layer tell of each set, so that no layer's cells are kept."""
    seen = pl.col("there") & pl.col("unequal")
    return cells.group_by("subject", "layer", maintain_order=True).agg(
        pl.col("there").sum().alias("compared"),
        seen.sum().alias("unequal"),
        pl.col("cell").filter(seen).first(),
        pl.col("gap").sum().abs(),
        pl.col("apart").sum(),
    )


def _unequal(
    one: PublishedCells, number: int, layer: PublishedLayer, twin: PublishedLayer
) -> Iterator[pl.DataFrame]:
    """Cells of a layer that two universes have, by each code that they lie in."""
    ids = np.union1d(layer.ids, twin.ids)
    apart = None
    if layer.true is not None and twin.true is not None:
        ids = np.union1d(ids, np.union1d(layer.true[0], twin.true[0]))
        apart = np.abs(layer.truth(ids) - twin.truth(ids))
    (value, shown, _), (other, both, _) = layer.figures(ids), twin.figures(ids)
    shown &= both
    gap = np.where(shown, value - other, 0)
    there = shown & ((value != 0) | (other != 0))
    kept = there if apart is None else there | (apart > 0)
    columns = {"cell": layer.at(ids).clip(0), "unequal": gap != 0, "there": there, "gap": gap}
    base = pl.DataFrame({name: column[kept] for name, column in columns.items()}).with_columns(
        layer=pl.lit(number),
        apart=pl.lit(None, pl.Int64) if apart is None else pl.Series(apart[kept]),
    )
    yield base.with_columns(subject=pl.lit(""))
    for (axis, cut), part in zip(layer.key, layer.grid.positions(ids[kept]), strict=True):
        codes = one.axes[axis].codes(cut)
        names = pl.Series([f"{one.axes[axis].variable}={code}" for code in codes])
        yield base.with_columns(subject=names.gather(part))


# -- codes of two classifications ---------------------------------------------------------------


def _twin_codes(
    system: PublishedCells, first: tuple[int, int], second: tuple[int, int]
) -> Iterator[NearTwins]:
    """Pairs of codes whose figures agree in most crossings."""
    rests = [
        tuple(item for item in key if item != first)
        for key in system.layers
        if first in key and not any(axis == second[0] for axis, _ in key)
    ]
    sides = [_crossed(system, rests, item) for item in (first, second)]
    if any(side.is_empty() for side in sides):
        return
    one, other = sides
    telling = pl.col("value") >= _TELLING
    on = ["rest", "cell"]
    pairs = (
        one.filter(telling)
        .join(other.filter(telling), on=[*on, "value"], suffix="_2")
        .group_by("code", "code_2")
        .len("equal")
        .filter(pl.col("equal") > 1)
        .sort(["equal", "code", "code_2"], descending=[True, False, False])
        .head(_PAIRS)
    )
    counts = pairs.select("code", "code_2")
    left = counts.join(one, on="code")
    right = counts.join(other, left_on="code_2", right_on="code")
    both = left.join(right, on=["code", "code_2", *on], how="full", coalesce=True, suffix=" other")
    unequal = pl.col("value").fill_null(0) != pl.col("value other").fill_null(0)
    summed = both.group_by("code", "code_2").agg(
        pl.len().alias("compared"), unequal.sum().alias("unequal")
    )
    for row in summed.sort("code", "code_2").iter_rows(named=True):
        if _is_near(row["compared"], row["unequal"]):
            names = [
                f"{system.axes[axis].tree.name}={system.axes[axis].codes(cut)[code]}"
                for (axis, cut), code in ((first, row["code"]), (second, row["code_2"]))
            ]
            yield NearTwins(
                first=names[0],
                second=names[1],
                compared=row["compared"],
                unequal=row["unequal"],
                difference=_apart(system, rests, (first, row["code"]), (second, row["code_2"])),
            )


def _apart(
    system: PublishedCells, rests: list[LayerKey], *codes: tuple[tuple[int, int], int]
) -> int | None:
    """By how many records two codes differ at least, by the smaller one of their layers."""
    known = {
        key
        for key, layer in system.layers.items()
        if layer.true is not None and len(layer.true[0]) <= _LARGE
    }
    counted = [rest for rest in rests if {_key(rest, chosen) for chosen, _ in codes} <= known]
    if not counted:
        return None
    one, other = (
        _crossed(system, counted, chosen, true=True).filter(pl.col("code") == code)
        for chosen, code in codes
    )
    both = one.join(other, on=["rest", "cell"], how="full", coalesce=True, suffix=" other")
    apart = (pl.col("value").fill_null(0) - pl.col("value other").fill_null(0)).abs()
    return max(both.group_by("rest").agg(apart.sum().alias("apart"))["apart"], default=0)


def _key(rest: LayerKey, chosen: tuple[int, int]) -> LayerKey:
    return tuple(sorted((*rest, chosen)))


def _crossed(
    system: PublishedCells, rests: list[LayerKey], chosen: tuple[int, int], *, true: bool = False
) -> pl.DataFrame:
    """Figures of the codes of a cut in all crossings: code, crossing, cell of it, figure."""
    frames = [pl.DataFrame(schema=dict.fromkeys(("code", "rest", "cell", "value"), pl.Int64))]
    for number, rest in enumerate(rests):
        key = _key(rest, chosen)
        if (layer := system.layers.get(key)) is None:
            continue
        kept = layer.shown & (layer.value != 0)
        ids, value = layer.ids[kept], layer.value[kept]
        if true and layer.true is not None:
            ids, value = layer.true
        positions = layer.grid.positions(ids)
        code = positions.pop(key.index(chosen)).astype(np.int64)
        cell = CellIndex(system.sizes(rest)).numbers(positions, len(ids))
        columns = {"code": code, "rest": np.full(len(ids), number), "cell": cell, "value": value}
        frames.append(pl.DataFrame(columns))
    return pl.concat(frames)


# -- rows of one category --------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class GroupDisclosures:
    """Rows whose figures are all zero but one."""

    layer: str  # the layer, and the variable whose category is told
    rows: int  # number of rows that are not empty
    single: int  # number of those with one figure that is not zero
    #: Number of these in which the records really are of one category; None if the true counts are
    #: not known. CONFIDENTIAL
    true: int | None = None
    persons: int | None = None  # number of records in those. CONFIDENTIAL


def group_disclosures(system: PublishedCells) -> list[GroupDisclosures]:
    """The rows of all layers that tell a category, layers with most of them first."""
    disclosures = []
    for step in system.steps():
        filled = step.sums((step.fine.value > 0) | ~step.fine.shown)
        rows = (filled > 0) & (step.number + step.unlisted > 1)
        single = rows & (filled == 1)
        if not single.any():
            continue
        true = persons = None
        if step.fine.true is not None and step.coarse.true is not None:
            ids, count = step.fine.true
            largest = np.zeros(len(step.coarse), dtype=np.int64)
            at = step.fine.at(ids)
            whole = np.where(at >= 0, step.whole[at], -1)
            np.maximum.at(largest, whole[whole >= 0], count[whole >= 0])
            all_of_it = step.coarse.truth(step.coarse.ids)
            one = single & (largest == all_of_it) & (all_of_it > 0)
            true, persons = int(one.sum()), int(all_of_it[one].sum())
        added = sorted(set(step.fine.key) - set(step.coarse.key))
        variables = " x ".join(system.axes[axis].variable for axis, _ in added)
        title = f"{system.title(step.coarse.key)}: {variables}"
        disclosures.append(
            GroupDisclosures(
                layer=title, rows=int(rows.sum()), single=int(single.sum()),
                true=true, persons=persons,
            )
        )  # fmt: skip
    return sorted(disclosures, key=lambda group: (-group.single, group.layer))
