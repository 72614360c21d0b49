"""`ShownCounts`, `ShownSums`: tables as a program shows them, and the records behind their cells.

In: the numbers of a safe command, how its row of the catalogue says they are laid out, the labels
of its records, their numbers, values (CONFIDENTIAL). Out: for each axis the category of each
record, for each cell and margin whether it is withheld; None stands for a table that cannot be
followed, as its cells do not agree with its records: that is said, never passed over. Tables become
bytes, to be held against those of later programs; reading them executes nothing.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray
from discreet_fire.statistics import OTHER, margins_of, number_text, percentile, with_margins

#: How safe commands call the total of an axis.
TOTAL = "Total"
#: Statistics that tell the sum of the squares of a variable, together with its mean.
SPREADS = ("sd", "variance", "semean", "cv")
#: What weights are called where they are added up; no variable can be called so.
WEIGHTS = "the weights"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TableAxis:
    """One variable of a table (confidential): its categories, and that of each record, from 0."""

    name: str
    labels: tuple[str, ...]
    codes: IntArray


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class QuantileCuts:
    """Where quantiles cut the values of a cell: counts are of records up to each (confidential).

    Where values are tied, or rounded when shown, a quantile only bounds two counts: of the values
    up to it, and of those below it.
    """

    output: str  # a mark of the records of the output
    cell: int  # the cell of the output that the quantiles are of
    within: tuple[tuple[str, str], ...]  # and its variables with their categories
    values: FloatArray  # that of each record
    at: FloatArray  # ascending
    low: FloatArray  # everyone knows that a count that is not shown is no less
    high: FloatArray  # and no more


def cells_and_margins(
    codes: Sequence[IntArray], shape: tuple[int, ...], size: int
) -> Iterator[tuple[int, IntArray]]:
    """The cells and margins of a table of so many records that have any, and which they have."""
    number = np.arange(math.prod(shape)).reshape(shape)
    for total in itertools.product((False, True), repeat=len(codes)):
        place = [np.full(size, -1) if one else own for own, one in zip(codes, total, strict=True)]
        cells = number[tuple(place)] if place else np.zeros(size, dtype=np.int64)
        order = np.argsort(cells, kind="stable").astype(np.int64)
        known, first = np.unique(cells[order], return_index=True)
        if known.size:
            yield from zip(known.tolist(), np.split(order, first[1:]), strict=True)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ShownCounts:
    """Counts of a program (confidential); the last place along each axis is the total."""

    name: str  # line and command
    axes: tuple[TableAxis, ...]  # what spans it; a single count has none
    records: IntArray  # the numbers of its records, each once
    owners: IntArray | None  # whom each record is about; None if each is another case
    hidden: BoolArray  # which cells and margins are withheld
    silent: bool  # whether margins that are not shown were never asked for
    cuts: QuantileCuts | None = None  # of quantiles: what its axis stands for

    @property
    def table(self) -> ShownCounts:
        """Its cells and the records in them."""
        return self

    def moved(self, **changes: Any) -> ShownTable:
        """A copy with another name or other records."""
        return replace(self, **changes)

    @cached_property
    def withheld(self) -> BoolArray:
        """Which cells and margins were asked for, have records, and are not shown."""
        positive = self.hidden & (self.counts > 0) & (self.cuts is None)
        return positive & ~margins_of(self.hidden.shape) if self.silent else positive

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Categories along each axis."""
        return tuple(len(axis.labels) for axis in self.axes)

    @cached_property
    def cells(self) -> IntArray:
        """The inner cell of each record."""
        if not self.axes:
            return np.zeros(len(self.records), dtype=np.int64)
        return CellIndex(self.sizes).numbers([axis.codes for axis in self.axes])

    @cached_property
    def counts(self) -> IntArray:
        """Records in each cell and margin."""
        inner = np.bincount(self.cells, minlength=int(np.prod(self.sizes, dtype=np.int64)))
        counts = with_margins(inner.astype(np.int64).reshape(self.sizes))
        return counts if self.cuts is None else np.append(np.cumsum(counts[:-1]), counts[-1])

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """What everyone knows of each cell and margin, shown or not: no less and no more."""
        if self.cuts is not None:
            return self.cuts.low, self.cuts.high
        inner = self.counts[(slice(None, -1),) * len(self.axes)]
        # Everyone sees which inner cells are empty.
        low = with_margins((inner > 0).astype(np.int64)).ravel().astype(np.float64)
        return low, np.full(low.shape, np.inf)

    @cached_property
    def cases(self) -> IntArray:
        """Persons or firms in each cell and margin."""
        if self.owners is None:
            return self.counts
        owners = np.unique(self.owners, return_inverse=True)[1].ravel().astype(np.int64)
        if len(owners) == int(owners.max(initial=-1)) + 1:  # each has one record
            return self.counts
        cases = np.zeros(self.hidden.size, dtype=np.int64)
        for cell, inside in self.groups():
            cases[cell] = np.unique(owners[inside]).size
        return cases.reshape(self.hidden.shape)

    def groups(self) -> Iterator[tuple[int, IntArray]]:
        """Cells and margins with the places of their records."""
        if self.cuts is not None:
            for at in range(len(self.cuts.at)):
                yield at, np.flatnonzero(self.cells <= at)
            return
        codes = [axis.codes for axis in self.axes]
        yield from cells_and_margins(codes, self.hidden.shape, len(self.records))

    def members(self) -> Iterator[IntArray]:
        """The records of each cell and margin that is shown."""
        shown = ~self.hidden.ravel()
        return (self.records[inside] for cell, inside in self.groups() if shown[cell])

    def place(self, at: int) -> str:
        """The name of a cell or margin, from its number."""
        sign = "=" if self.cuts is None else "≤"
        parts = [f"{name} = {label}" for name, label in self.cuts.within] if self.cuts else []
        parts += [f"{name} {sign} {label}" for name, label in self.categories(at)]
        return ", ".join(parts) or "all"

    def categories(self, at: int) -> Iterator[tuple[str, str]]:
        """The variables of a cell or margin that are no totals there, and their categories."""
        where = np.unravel_index(at, self.hidden.shape) if self.axes else ()
        for axis, one in zip(self.axes, where, strict=True):
            if one < len(axis.labels):
                yield axis.name, axis.labels[one]

    def __repr__(self) -> str:
        return f"<ShownCounts {self.name}>"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ShownSums:
    """Sums over the cells of a table, or what tells them (confidential): of a variable its mean,
    of its squares its deviation.
    """

    place: ShownCounts  # the table; its hidden cells are those of which the sum is withheld
    variable: str
    values: FloatArray  # that of each record
    digits: int  # how many significant digits are shown
    squared: bool = False  # whether it is squares that are added up

    @property
    def table(self) -> ShownCounts:
        """Its cells and the records in them."""
        return self.place

    def moved(self, **changes: Any) -> ShownTable:
        """A copy with another name or other records."""
        return replace(self, place=replace(self.place, **changes))

    @cached_property
    def sums(self) -> FloatArray:
        """The sum of each cell and margin."""
        place = self.place
        size = int(np.prod(place.sizes, dtype=np.int64))
        sums = np.bincount(place.cells, weights=self.values, minlength=size)
        inner: FloatArray = sums.astype(np.float64)
        return with_margins(inner.reshape(place.sizes))

    @property
    def weighted(self) -> bool:
        """Whether it is weights that are added up."""
        return self.variable == WEIGHTS

    def meets(self, other: ShownSums) -> bool:
        """Whether both have a record in common."""
        return bool(np.isin(self.place.records, other.place.records).any())

    def agrees(self, other: ShownSums) -> bool:
        """Whether records that both have, have the same values."""
        _, own, others = np.intersect1d(
            self.place.records, other.place.records, assume_unique=True, return_indices=True
        )
        return bool((self.values[own] == other.values[others]).all())

    def __repr__(self) -> str:
        return f"<ShownSums of {self.variable}, {self.place.name}>"


#: What a program shows over groups of records.
ShownTable = ShownCounts | ShownSums


def shown_counts(
    name: str,
    shown: pl.DataFrame,
    labels: pl.DataFrame,
    records: IntArray,
    owners: IntArray | None = None,
) -> ShownCounts | None:
    """The table that a command showed; None if it cannot be followed.

    >>> shown = pl.DataFrame({"sex": ["f", "m", "Total"], "n": [3.0, None, None]})
    >>> labels = pl.DataFrame({"sex": ["f", "m", "f", "f"]})
    >>> table = shown_counts("line 1, tabulate sex", shown, labels, np.arange(4))
    >>> table, [table.place(at) for at in np.flatnonzero(table.hidden)]
    (<ShownCounts line 1, tabulate sex>, ['sex = m', 'all'])
    """
    placed = _placed(name, shown, labels, records, owners)
    if placed is None:
        return None
    table, numbers, _ = placed
    pairs = zip(numbers.ravel().tolist(), table.counts.ravel().tolist(), strict=True)
    return table if all(math.isnan(one) or one == n for one, n in pairs) else None


def _variance(word: str, numbers: FloatArray, n: IntArray, mean: FloatArray) -> FloatArray:
    """The variance that a spread of this name tells."""
    if word == "variance":
        return numbers
    units = {"sd": np.ones(n.shape), "semean": np.sqrt(n), "cv": mean}
    deviation: FloatArray = numbers * units[word]
    return deviation**2


#: Names of quantiles: of `summarize`, and of `centile` with the ends of its interval.
_QUANTILE = re.compile(r"iqr|p([1-9][0-9]?)|centile ([0-9.]+)( low| high)?")


def _cuts(
    word: str, number: float, values: FloatArray, digits: int
) -> list[tuple[float, str, float, float]]:
    """Where a quantile cuts values, its name, and how many are up to there if not exactly known.

    Nothing if it is no such quantile of these values.
    """
    half = 10.0 ** (math.floor(math.log10(abs(number))) + 1 - digits) / 2 if number else 0.0
    first, last = math.nextafter(number - half, -np.inf), math.nextafter(number + half, np.inf)
    below, up_to = int((values <= first).sum()), int((values <= last).sum())
    least, most = _ranks(word, len(values), below, up_to)
    if up_to < least or below > most:
        return []
    if up_to == least:
        return [(last, word, 0.0, np.inf)]
    if below == most:
        return [(first, word, 0.0, np.inf)]
    return [(first, word, 0.0, most)] * (below > 0) + [(last, word, least, np.inf)]


def _ranks(word: str, n: int, below: int, up_to: int) -> tuple[int, int]:
    """How many values are up to a quantile at least, and below it at most.

    Ends of intervals are values of known ranks: the lower one counts to those below, the upper one
    to those above.
    """
    match = _QUANTILE.fullmatch(word)
    assert match is not None
    if match[3]:
        return (up_to, n) if match[3] == " low" else (0, below)
    if match[1]:
        place = round(n * int(match[1]) / 100, 9)
        return math.ceil(place), math.floor(place)
    place = round((n + 1) * float(match[2]) / 100, 9)
    return math.floor(place), math.ceil(place) - 1


def _placed(
    name: str,
    shown: pl.DataFrame,
    labels: pl.DataFrame,
    records: IntArray,
    owners: IntArray | None,
) -> tuple[ShownCounts, FloatArray, BoolArray] | None:
    """The records in the cells of a table, what is shown there, and which records these are."""
    silent = shown.width > 1 and not any(
        TOTAL in shown[one].to_list() for one in shown.columns[:-1]
    )
    full = _filled(shown) if silent else shown
    texts = _texts(full, labels.width)
    if texts is None or (records < 0).any() or len(np.unique(records)) < len(records):
        return None
    axes, kept = [], np.ones(len(records), dtype=np.bool_)
    for column, known in zip(labels.iter_columns(), texts, strict=True):
        codes = _codes(column, known)
        if codes is None:
            return None
        kept &= codes >= 0
        axes.append((column.name, known, codes))
    numbers = full[full.columns[-1]].cast(pl.Float64).to_numpy()
    numbers = numbers.reshape([len(one) + 1 for one in texts])
    table = ShownCounts(
        name=name,
        axes=tuple(
            TableAxis(name=title, labels=known, codes=codes[kept]) for title, known, codes in axes
        ),
        records=records[kept],
        owners=None if owners is None else owners[kept],
        hidden=np.isnan(numbers),
        silent=silent,
    )
    return table, numbers, kept


def _filled(shown: pl.DataFrame) -> pl.DataFrame:
    """A table without totals, with totals that are not shown; cells that it has not are empty."""
    *names, last = shown.columns
    texts = [list(dict.fromkeys(shown[one].to_list())) for one in names]
    rows = shown.select(names).rows()
    known = dict(zip(rows, shown[last].cast(pl.Float64).to_list(), strict=True))
    if len(known) < len(rows):
        return shown  # a cell stands there twice: it is no such table
    every = [*itertools.product(*([*one, TOTAL] for one in texts))]
    numbers = [None if TOTAL in one else known.get(one, 0.0) for one in every]
    columns = {name: [one[at] for one in every] for at, name in enumerate(names)}
    schema = {**dict.fromkeys(names, pl.String), last: pl.Float64}
    return pl.DataFrame({**columns, last: numbers}, schema=schema)


def _texts(shown: pl.DataFrame, width: int) -> list[tuple[str, ...]] | None:
    """The categories of each axis, without the total; None if this is not such a table."""
    if shown.width != width + 1 or not shown.height:
        return None
    texts = []
    for column in shown.columns[:-1]:
        if shown.schema[column] != pl.String:
            return None
        texts.append(tuple(dict.fromkeys(shown[column].to_list()))[:-1])
    return texts if math.prod(len(one) + 1 for one in texts) == shown.height else None


def _codes(column: pl.Series, labels: Sequence[str]) -> IntArray | None:
    """The category of each record, -1 where it is in none; None if one has an unknown value."""
    index = {label: at for at, label in enumerate(labels)}
    if len(index) < len(labels):
        return None
    other = index.get(OTHER)
    values = column.fill_nan(None) if column.dtype.is_float() else column
    values = values.cast(pl.UInt8) if values.dtype == pl.Boolean else values
    known = {}
    for value in values.unique().to_list():
        at = index.get("." if value is None else number_text(value), other)
        if at is None and value is not None:
            return None
        known[value] = -1 if at is None or (value is None and "." not in index) else at
    return np.array([known[value] for value in values.to_list()], dtype=np.int64)


def with_records(
    tables: Sequence[ShownTable],
    identified: Callable[[IntArray], IntArray | None],
    owned: Callable[[IntArray], IntArray | None],
) -> tuple[list[ShownTable], list[str]]:
    """Tables with records by other numbers, and the names of those whose records have none.

    Whom the records are about is known by other numbers, too; nobody is if each is another case.
    """
    restored: list[ShownTable] = []
    left: list[str] = []
    for one in tables:
        records = identified(one.table.records)
        if records is None:
            left.append(one.table.name)
        else:
            restored.append(one.moved(records=records, owners=owned(one.table.records)))
    return restored, left


#: What is stored of quantiles: plain values, and arrays.
_PLAIN, _CUTS = ("output", "cell", "within"), ("values", "at", "low", "high")


def table_bytes(tables: Sequence[ShownTable], left: Sequence[str]) -> bytes:
    """Tables as bytes, with the names of outputs that cannot be followed.

    >>> read_tables(table_bytes([], ["line 1, histogram"]))
    ([], ['line 1, histogram'])
    """
    arrays: dict[str, Any] = {}
    described = []
    for at, one in enumerate(tables):
        table = one.table
        arrays |= {f"{at} records": table.records, f"{at} hidden": table.hidden}
        if table.owners is not None:
            arrays[f"{at} owners"] = table.owners
        arrays |= {f"{at} axis {axis}": item.codes for axis, item in enumerate(table.axes)}
        fields: dict[str, Any] = {"name": table.name, "silent": table.silent}
        fields["axes"] = [[item.name, list(item.labels)] for item in table.axes]
        if table.cuts is not None:
            arrays |= {f"{at} cut {key}": getattr(table.cuts, key) for key in _CUTS}
            fields |= {key: getattr(table.cuts, key) for key in _PLAIN}
        if isinstance(one, ShownSums):
            arrays[f"{at} values"] = one.values
            fields |= {"variable": one.variable, "digits": one.digits, "squared": one.squared}
        described.append(fields)
    text = json.dumps({"tables": described, "left": list(left)}).encode()
    target = io.BytesIO()
    np.savez_compressed(target, described=np.frombuffer(text, dtype=np.uint8), **arrays)
    return target.getvalue()


def read_tables(data: bytes) -> tuple[list[ShownTable], list[str]]:
    """Tables from bytes, with the names of outputs that cannot be followed."""
    tables: list[ShownTable] = []
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        described = json.loads(arrays["described"].tobytes())
        for at, fields in enumerate(described["tables"]):
            axes = tuple(
                TableAxis(name=name, labels=tuple(labels), codes=arrays[f"{at} axis {axis}"])
                for axis, (name, labels) in enumerate(fields["axes"])
            )
            cuts = None
            if "within" in fields:
                own = {key: arrays[f"{at} cut {key}"] for key in _CUTS}
                own |= {key: fields[key] for key in _PLAIN}
                cuts = QuantileCuts(**own | {"within": tuple(map(tuple, own["within"]))})
            table: ShownTable = ShownCounts(
                name=fields["name"],
                axes=axes,
                records=arrays[f"{at} records"],
                owners=arrays.get(f"{at} owners"),
                hidden=arrays[f"{at} hidden"],
                silent=fields["silent"],
                cuts=cuts,
            )
            if "variable" in fields:
                table = ShownSums(
                    place=table.table,
                    variable=fields["variable"],
                    values=arrays[f"{at} values"],
                    digits=fields["digits"],
                    squared=fields.get("squared", False),
                )
            tables.append(table)
    return tables, list(described["left"])


#: How numbers over groups are laid out, as in the catalogue.
GroupsShown = Literal["nothing", "cells", "variables", "sample", "unfollowed"]
#: Columns of commands on single variables that hold the number of records; others are the axes.
_COUNTS = ("N", "n")
_FIRST = ("mean", "sum")
#: Figures of variables that are not held against others, by the names of their columns.
_LEFT = {"skewness", "kurtosis"}
_NO_AXES = frozenset(("variable", "type", "missing"))


#: The labels of records, their numbers, and whom they are about.
_Records = tuple[pl.DataFrame, IntArray, IntArray]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OutputRecords:
    """The records behind an output (confidential)."""

    title: str  # its line and command
    labels: pl.DataFrame  # their variables, those that span the output as they are shown
    numbers: IntArray  # their numbers in the data; -1 for those that the program made
    owners: IntArray  # whom each is about
    weights: FloatArray | None  # what each counts for; None if one
    digits: int  # how many significant digits are shown of sums and means

    def counts(self, table: pl.DataFrame, kept: BoolArray) -> ShownTable | None:
        """The counts in a table, of some of the records; sums of weights, if it is these."""
        own = self._some(kept, table.width - 1)
        counts = shown_counts(self.title, table, *own)
        if counts is not None or self.weights is None:
            return counts
        weights = pl.Series(WEIGHTS, self.weights[kept])
        if weights.n_unique() == 1:  # everyone sees through that
            number = pl.col(table.columns[-1])
            return shown_counts(self.title, table.with_columns(number / weights[0]), *own)
        return self._told_by(table, own, weights, "sum")

    def sums(self, table: pl.DataFrame, variable: str, word: str) -> ShownTable | None:
        """Sums that a statistic of a variable determines; none for weighted statistics."""
        values = self.labels[variable]
        if self.weights is not None or not values.dtype.is_numeric():
            return None
        kept = _known(values)
        return self._told_by(table, self._some(kept, table.width - 1), values.filter(kept), word)

    def _told_by(
        self, table: pl.DataFrame, own: _Records, values: pl.Series, word: str
    ) -> ShownSums | None:
        """The sums that a statistic of this name shows or tells; None if they cannot be followed.

        A deviation tells the sum of squares to readers who know mean and number of cases.
        """
        placed = _placed(self.title, table, *own)
        if placed is None:
            return None
        place, numbers, kept = placed
        known = values.cast(pl.Float64).to_numpy()[kept]
        # Of nobody nothing is withheld; everyone sees which cells are empty.
        place, n = replace(place, hidden=place.hidden & (place.counts > 0)), place.counts
        sums = ShownSums(place=place, variable=values.name, values=known, digits=self.digits)
        totals = numbers * (n if word == "mean" else 1)
        if word in SPREADS:
            mean = sums.sums / np.maximum(n, 1)
            totals = _variance(word, numbers, n, mean) * (n - 1) + n * mean**2
            name = f"squares of {values.name}"
            sums = replace(sums, variable=name, values=known**2, squared=True)
        least = np.maximum(np.abs(sums.sums), np.abs(sums.values).sum() * 1e-9)
        wrong = np.abs(totals - sums.sums) > 10.0 ** (2 - self.digits) * least
        return None if (wrong & ~np.isnan(totals) & (n > 0)).any() else sums

    def quantiles(
        self, shown: pl.DataFrame, axes: int, variable: str
    ) -> Sequence[ShownTable | None]:
        """The counts that quantiles of a variable show, in columns by words behind some axes, as a
        table for each cell; none if weighted.

        Who reads a quantile knows how many records have values up to it. A record of this very
        value counts to those below. An interquartile range shows both quartiles.
        """
        values = self.labels[variable]
        if self.weights is not None or not values.dtype.is_numeric():
            return (None,)
        kept = _known(values)
        figures: dict[int, dict[str, float]] = {}
        for word in shown.columns[axes:]:
            one = shown.select(*shown.columns[:axes], word)
            placed = _placed(self.title, one, *self._some(kept, axes))
            if placed is None:
                return (None,)
            table, numbers, of_table = placed
            for cell in np.flatnonzero(~np.isnan(numbers)).tolist():
                figures.setdefault(cell, {})[word] = float(numbers.flat[cell])
        known = values.filter(kept).cast(pl.Float64).to_numpy()[of_table]
        output = hashlib.blake2b(np.sort(table.records).tobytes(), digest_size=8).hexdigest()
        tables = []
        for cell, inside in table.groups():
            own, shown_of = known[inside], figures.pop(cell, {})
            if shown_of.pop("iqr", None) is not None:
                ordered = np.sort(own)
                for share in (25, 75):
                    shown_of.setdefault(f"p{share}", percentile(ordered, share / 100))
            cuts = [_cuts(word, number, own, self.digits) for word, number in shown_of.items()]
            if not all(cuts):
                return (None,)
            if not cuts and cell < table.hidden.size - 1:  # all records say who is in the output
                continue
            rows = sorted(itertools.chain(*cuts))
            at, names, low, high = zip(*rows, strict=True) if rows else ((),) * 4
            cut = QuantileCuts(
                output=output,
                cell=cell,
                within=tuple(table.categories(cell)),
                values=own,
                at=np.array(at, dtype=np.float64),
                low=np.array([*low, 0.0, 0.0]),
                high=np.array([*high, np.inf, np.inf]),
            )
            hidden = (cut.low > 0) | np.isfinite(cut.high)
            hidden[-2:] = True
            codes = np.searchsorted(cut.at, own)
            tables.append(
                ShownCounts(
                    name=self.title,
                    axes=(TableAxis(name=variable, labels=(*names, "∞"), codes=codes),),
                    records=table.records[inside],
                    owners=None if table.owners is None else table.owners[inside],
                    hidden=hidden,
                    silent=True,
                    cuts=cut,
                )
            )
        return (None,) if figures else tables

    def _some(self, kept: BoolArray, axes: int) -> _Records:
        """Some of the records: the labels of the axes, numbers, and whom they are about."""
        labels = self.labels.select(self.labels.columns[:axes])
        return labels.filter(kept) if axes else labels, self.numbers[kept], self.owners[kept]


def _known(values: pl.Series) -> BoolArray:
    known = values.is_not_null()
    if values.dtype.is_float():
        known &= values.is_not_nan().fill_null(value=False)
    return known.to_numpy()


def tables_of(
    how: GroupsShown,
    records: OutputRecords,
    shown: pl.DataFrame | None,
    stored: Mapping[str, float],
) -> tuple[ShownTable | None, ...]:
    """The tables of an output."""
    if how == "nothing":
        return ()
    if how == "sample":
        return tuple(_sample(records, stored))
    if how == "cells":
        return tuple(_cells(records, shown, stored))
    if how == "variables" and shown is not None:
        return tuple(_variables(records, shown))
    return (None,)


def kinds_left(columns: Iterable[str]) -> frozenset[str]:
    """The kinds of figures in some columns of an output that are not compared with others.

    >>> kinds_left(["n inc", "mean inc", "p50 inc"])
    frozenset()
    """
    left = any(column.partition(" ")[0] in _LEFT for column in columns)
    return frozenset(["skewness and kurtosis"] if left else [])


def _single(n: float | None) -> pl.DataFrame:
    return pl.DataFrame({"n": [n]}, schema={"n": pl.Float64})


def _sample(records: OutputRecords, stored: Mapping[str, float]) -> Iterator[ShownTable | None]:
    """The number of records that have all variables."""
    kept = np.ones(len(records.numbers), dtype=np.bool_)
    for column in records.labels.iter_columns():
        kept &= _known(column)
    if "N" in stored:
        yield records.counts(_single(stored["N"]), kept)


def _cells(
    records: OutputRecords, shown: pl.DataFrame | None, stored: Mapping[str, float]
) -> Iterator[ShownTable | None]:
    """Numbers in the cells that variables span, in columns such as ``n`` and ``mean wage``."""
    shown = _single(stored.get("N")) if shown is None else shown
    axes = [one for one in shown.columns if shown.schema[one] == pl.String]
    if len(axes) > records.labels.width or (not axes and shown.height != 1):
        yield None
        return
    if "cumulated" in shown.columns:  # frequencies of one variable stand without their total
        last = {axes[0]: [TOTAL], "n": [stored.get("N")]}
        end = pl.DataFrame(last, schema={axes[0]: pl.String, "n": pl.Float64})
        shown = pl.concat([shown.select(axes[0], pl.col("n").cast(pl.Float64)), end])
    spread: set[str] = set()  # variables of which a spread was taken down; others tell the same
    quantiles: dict[str, dict[str, str]] = {}  # the columns of each variable, by words
    for column in shown.columns[len(axes) :]:
        word, _, variable = column.partition(" ")
        known, one = variable in records.labels.columns, shown.select(*axes, column)
        if word == "n":
            kept = np.ones(len(records.numbers), dtype=np.bool_)
            kept = _known(records.labels[variable]) if known else kept
            yield None if variable and not known else records.counts(one, kept)
        elif word in _FIRST or (word in SPREADS and variable not in spread):
            spread |= {variable} if word in SPREADS else set()
            yield records.sums(one, variable, word) if known else None
        elif _QUANTILE.fullmatch(word) and known:
            quantiles.setdefault(variable, {})[word] = column
        elif _QUANTILE.fullmatch(word):
            yield None
    for variable, columns in quantiles.items():
        table = shown.select(*axes, *(pl.col(one).alias(word) for word, one in columns.items()))
        yield from records.quantiles(table, len(axes), variable)


def _together(labels: pl.DataFrame, name: str) -> pl.Series:
    """The categories of several variables together, as groups of them are called."""
    names = name.split(" ")
    known: dict[object, str | None] = {None: None}
    parts = []
    for one in names:
        values = labels[one].to_list()
        known |= {value: number_text(value) for value in set(values) - {None}}
        parts.append([known[value] for value in values])
    texts = [None if None in row else ", ".join(map(str, row)) for row in zip(*parts, strict=True)]
    return pl.Series(name, texts, dtype=pl.String)


def _variables(records: OutputRecords, shown: pl.DataFrame) -> Iterator[ShownTable | None]:
    """Numbers of single variables, one row for each and for each of its groups."""
    axes = [one for one in shown.columns if shown.schema[one] == pl.String and one not in _NO_AXES]
    labels = records.labels.with_columns(
        _together(records.labels, one)
        for one in axes
        if " " in one and set(one.split(" ")) <= set(records.labels.columns)
    )
    if "variable" not in shown.columns or not set(axes) <= set(labels.columns):
        yield None
        return
    ordered = labels.select(*axes, pl.exclude(axes))
    own = OutputRecords(**{**vars(records), "labels": ordered})
    for variable in dict.fromkeys(shown["variable"].to_list()):
        rows = shown.filter(pl.col("variable") == variable)
        if variable not in ordered.columns:
            yield None
            continue
        counted = [one for one in _COUNTS if one in rows.columns][:1]
        about = [one for one in _FIRST if one in rows.columns]
        about += [one for one in SPREADS if one in rows.columns][:1]
        if "centile" in rows.columns:  # a row for each percentage
            rows = rows[:1].select(*axes, *counted).hstack(_centiles(rows))
        for column in [*counted, *about]:
            table = rows.select(*axes, column).unique(maintain_order=True)
            if column in _COUNTS:
                yield own.counts(table, _known(ordered[variable]))
            else:
                yield own.sums(table, variable, column)
        if quantiles := [one for one in rows.columns if _QUANTILE.fullmatch(one)]:
            yield from own.quantiles(rows.select(*axes, *quantiles), len(axes), variable)


def _centiles(rows: pl.DataFrame) -> list[pl.Series]:
    """The percentiles of a variable and their intervals, all in one row."""
    return [
        pl.Series(f"centile {row['percentile']:g}{end}", [row[column]], dtype=pl.Float64)
        for row in rows.unique("percentile", maintain_order=True).iter_rows(named=True)
        for column, end in {"centile": "", "low": " low", "high": " high"}.items()
    ]
