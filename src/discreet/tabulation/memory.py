"""Engine for frames in memory: columns coded once, one pass of a kernel per cube.

In: a frame (records). Out: `Cube` (confidential): counts, exact key sums, limbs and
largest values, in dense arrays with one place per possible cell where that pays, else
by the cells that occur. Threads have arrays of their own; whole numbers are added up
and lists merged at the end, so their number cannot matter. Small data use numpy alone,
which spares the compiler's start.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray
from discreet.compiled import loading_pays
from discreet.errors import DiscreetError
from discreet.key_check import lowest, sampled_places
from discreet.keygrid import LIMB, KeyGrid, grid_keys, limbs_of
from discreet.memory_limit import keep_heap, read_ahead
from discreet.microdata import eager_columns, filter_failed
from discreet.tabulation.columns import CodedColumn, code_columns
from discreet.tabulation.cube import Cube
from discreet.tabulation.engine import Engine, Pass, TabulationTask, unusable_numbers, wrong_type
from discreet.tabulation.flaws import check_types, raise_flaws
from discreet.tabulation.measures import LIMIT, Largest, MeasureLayout, RecordShare, to_limbs
from discreet.tabulation.query import CubeAxis, plan

#: From this many records on, compiled kernels are used where their compiler is loaded.
_COMPILED_FROM = 500_000
#: Seconds that numpy takes longer for a number to add up.
_SLOWER = 2.5e-9
#: Records per step: small enough for sums of limbs to be exact as floats, and for the cache.
_STEP = 2**16

Codes = npt.NDArray[np.unsignedinteger[Any]]


def _is(of: str, values: FloatArray) -> BoolArray:
    """Which values are "missing", "zero" or "negative"."""
    if of == "missing":
        return np.isnan(values)
    return values == 0 if of == "zero" else values < 0


def _filled(values: FloatArray) -> FloatArray:
    """Values with 0 for what is missing."""
    missing = np.isnan(values)
    return np.where(missing, 0.0, values) if bool(missing.any()) else values


@dataclass(frozen=True, repr=False)
class Amounts:
    """Amounts that a pass adds up and compares (confidential)."""

    weights: FloatArray | None  # the weights, if any
    #: Per value column, values times weights; 0 where a value is missing
    sums: Mapping[str, FloatArray]
    raw: Mapping[str, FloatArray]  # per column of contributions, the values as they are

    @classmethod
    def of(cls, layout: MeasureLayout, numbers: Mapping[str, FloatArray]) -> Amounts:
        """The amounts a layout needs, from columns read by `read_numbers`."""
        weights = None if layout.weight is None else numbers[layout.weight]
        if weights is not None:
            name = str(layout.weight)
            for kind, wrong in (("missing", np.isnan(weights)), ("negative", weights < 0)):
                if number := int(wrong.sum()):
                    raise unusable_numbers(kind, number, name)
        sums = {}
        for name in layout.values:
            values = _filled(numbers[name])
            sums[name] = values if weights is None else _within(values * weights, name)
        return cls(weights, sums, {name: numbers[name] for name in layout.largest})

    def chosen(self, records: IntArray) -> Amounts:
        """The amounts of some records."""
        return Amounts(
            None if self.weights is None else self.weights[records],
            {name: part[records] for name, part in self.sums.items()},
            {name: part[records] for name, part in self.raw.items()},
        )

    def occurring(self, layout: MeasureLayout) -> list[RecordShare]:
        """The shares of the records that occur and so need measures of their own."""
        return [
            share
            for share in layout.possible
            if share.of == "plain" or bool(_is(share.of, self.raw[share.column]).any())
        ]

    @property
    def in_order(self) -> list[FloatArray]:
        """The arrays to sum, as a layout has them."""
        return [*([] if self.weights is None else [self.weights]), *self.sums.values()]

    def among(self, share: RecordShare, rows: slice) -> Any:
        """Which of some records belong to a share."""
        if share.of == "plain":
            return slice(None)
        return np.flatnonzero(_is(share.of, self.raw[share.column][rows]))

    def summed(self, layout: MeasureLayout) -> list[tuple[RecordShare, FloatArray | None]]:
        """The shares of the records, and what is summed over each, if anything."""
        sums: list[tuple[RecordShare, FloatArray | None]] = []
        for share in layout.shares:
            of: FloatArray | None = None
            if layout.sums_of(share):
                plain = {"missing": self.weights, "negative": self.sums[share.column]}
                of = plain[share.of] if share.of in plain else _filled(self.raw[share.column])
            sums.append((share, of))
        return sums


@dataclass(frozen=True, repr=False)
class RecordArrays:
    """Coded records."""

    codes: Sequence[Codes]  # one array of unsigned integers per axis
    sizes: Sequence[int]  # number of codes per axis
    keys: IntArray | None  # record keys on the grid, checked
    modulus: int  # size of the key grid
    count: int  # number of records
    amounts: Amounts  # what is summed and compared
    layout: MeasureLayout  # which measures there are

    @property
    def grid(self) -> CellIndex:
        """The numbers of all possible cells."""
        return CellIndex(tuple(self.sizes))

    @property
    def cells(self) -> int:
        """Number of possible cells."""
        return self.grid.size

    @property
    def room(self) -> int:
        """Size of a cell's lists, in cells without any."""
        weighted = self.amounts.weights is not None
        return 1 + sum(k * (1 + weighted) for k in self.layout.largest.values())

    def lists(self, cells: int) -> dict[str, Largest]:
        """Empty lists for so many cells."""
        weighted = self.amounts.weights is not None
        largest = self.layout.largest.items()
        return {name: Largest.empty(cells, k, weighted=weighted) for name, k in largest}


@dataclass(frozen=True, repr=False)
class Counted:
    """Result of a pass: measures (rows) of cells (columns), and lists of the cells."""

    measures: IntArray
    largest: Mapping[str, Largest]

    def of_cells(self, chosen: IntArray) -> Counted:
        """Some of the cells."""
        lists = {name: part.of_cells(chosen) for name, part in self.largest.items()}
        return Counted(self.measures.take(chosen, axis=1), lists)

    def add(self, other: Counted) -> None:
        """Take in what another pass found for the same cells."""
        np.add(self.measures, other.measures, out=self.measures)
        places = np.arange(self.measures.shape[1], dtype=np.int64)
        for name, lists in self.largest.items():
            lists.add_lists(places, other.largest[name])


def accumulate(records: RecordArrays) -> Counted:
    """Measures of all possible cells: count, key parts, limbs, those of parts; and lists."""
    threads = min(max(1, os.cpu_count() or 1), 1 + records.count // (4 * _STEP), 16)
    if records.cells * records.room * threads > 2**25:
        threads = 1
    edges = [records.count * k // threads for k in range(threads + 1)]
    spans = list(pairwise(edges))
    way = CompiledPass if _compiled_pays(records) else _Interpreted
    if threads == 1:
        return _pass(records, spans[0], way)
    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(lambda span: _pass(records, span, way), spans))
    total = results[0]
    for one in results[1:]:
        total.add(one)
    return total


def _compiled_pays(records: RecordArrays) -> bool:
    """Whether compiled loops save more than loading them takes; lists are slow without."""
    if records.count < _COMPILED_FROM:
        return False
    numbers = records.count * len(records.layout.rows)
    return bool(records.layout.largest) or loading_pays(_SLOWER * numbers)


def cell_numbers(records: RecordArrays, start: int, stop: int) -> IntArray:
    """The number of the cell each record belongs to."""
    return records.grid.numbers([codes[start:stop] for codes in records.codes], stop - start)


def _pass(records: RecordArrays, span: tuple[int, int], way: type[_Interpreted]) -> Counted:
    """Count the records of a span, step by step."""
    loops = way(records)
    measure(loops, span)
    loops.finish(span)
    return Counted(loops.measures, loops.largest)


def measure(loops: _Interpreted, span: tuple[int, int]) -> None:
    """Take in the records of a span, step by step."""
    records, amounts = loops.records, loops.records.amounts
    shares = amounts.summed(records.layout)
    for start in range(*span, _STEP):
        here = slice(start, min(start + _STEP, span[1]))
        numbers = loops.numbers(here.start, here.stop)
        keys = None if records.keys is None else records.keys[here]
        row = loops.count(numbers, keys, 0)
        for values in amounts.in_order:
            row = loops.add(numbers, values[here], row)
        for share, summed in shares:
            among = amounts.among(share, here)
            if share.counted:
                row = loops.count(numbers[among], None if keys is None else keys[among], row)
            if summed is not None:
                row = loops.add(numbers[among], summed[here][among], row)


class _Interpreted:
    """The pass in numpy. Sums of a step stay below 2^53, hence exact as floats."""

    def __init__(self, records: RecordArrays) -> None:
        self.records = records
        self.measures = np.zeros((len(records.layout.rows), records.cells), dtype=np.int64)
        self.largest = records.lists(records.cells)

    def numbers(self, start: int, stop: int) -> IntArray:
        """The cells of the records of a step."""
        return cell_numbers(self.records, start, stop)

    def count(self, numbers: IntArray, keys: IntArray | None, row: int) -> int:
        """Count records and add their keys from this row on; the next row."""
        counts = np.bincount(numbers, minlength=self.records.cells)
        self.measures[row] += counts
        if keys is None:
            return row + 1
        if int(counts.max()) * self.records.modulus < 2**63:  # their sums fit into 64 bits
            sums = np.zeros(self.records.cells, dtype=np.int64)
            np.add.at(sums, numbers, keys)
            self.measures[row + 1 : row + 3] += limbs_of(sums)
            return row + 3
        for at, part in enumerate(limbs_of(keys), row + 1):
            np.add.at(self.measures[at], numbers, part)
        return row + 3

    def add(self, numbers: IntArray, values: FloatArray, row: int) -> int:
        """Add values from this row on; the next row."""
        for at, part in enumerate(to_limbs(values), row):
            sums = np.bincount(numbers, weights=part, minlength=self.records.cells)
            self.measures[at] += sums.astype(np.int64)
        return row + 3

    def finish(self, span: tuple[int, int]) -> None:
        """Find the largest contributions of the span."""
        if self.largest:
            self._find(cell_numbers(self.records, *span), *span, compiled=False)

    def _find(self, numbers: IntArray, start: int, stop: int, *, compiled: bool) -> None:
        weights = self.records.amounts.weights
        own = None if weights is None else weights[start:stop]
        for name, values in self.records.amounts.raw.items():
            self.largest[name].add_records(numbers, values[start:stop], own, compiled=compiled)


class CompiledPass(_Interpreted):
    """The pass in compiled loops."""

    def __init__(self, records: RecordArrays) -> None:
        super().__init__(records)
        from discreet.tabulation import compiled

        self.loops = compiled
        self.room = np.empty(_STEP, dtype=np.int64)
        self.pairs: dict[int, IntArray] = {}  # by row, each cell's count and sum of keys

    def numbers(self, start: int, stop: int) -> IntArray:
        """The cells of the records of a step; their largest contributions come first."""
        here = self.room[: stop - start]
        here[:] = 0
        for codes, stride in zip(self.records.codes, self.records.grid.strides, strict=True):
            self.loops.add_codes(codes[start:stop], stride, here)
        self._find(here, start, stop, compiled=True)
        return here

    def count(self, numbers: IntArray, keys: IntArray | None, row: int) -> int:
        """Count records and add their keys from this row on; the next row."""
        if keys is None:
            self.loops.count(numbers, self.measures[row])
            return row + 1
        if row not in self.pairs:
            self.pairs[row] = np.zeros(2 * self.records.cells, dtype=np.int64)
        self.loops.count_keys(numbers, keys, self.records.modulus, self.pairs[row])
        return row + 3

    def add(self, numbers: IntArray, values: FloatArray, row: int) -> int:
        """Add values from this row on; the next row."""
        self.loops.add_limbs(numbers, values, *self.measures[row : row + 3])
        return row + 3

    def finish(self, span: tuple[int, int]) -> None:
        """Put the key sums, reduced so far, in two parts."""
        for row, pairs in self.pairs.items():
            self.measures[row : row + 3] = pairs[::2], *divmod(pairs[1::2], LIMB)


def read_numbers(series: pl.Series, name: str) -> FloatArray:
    """A column of weights or values as floats, NaN for missing."""
    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        raise wrong_type("expected numbers", series.dtype, name)
    floats = series.cast(pl.Float64)
    infinite = int(floats.is_infinite().sum())
    if infinite:
        raise unusable_numbers("infinite", infinite, name)
    return _within(floats.fill_null(float("nan")).to_numpy(), name)


def _within(values: FloatArray, name: str) -> FloatArray:
    with np.errstate(invalid="ignore"):
        large = int((np.abs(values) >= LIMIT).sum())
    if large:
        raise unusable_numbers("too large", large, name)
    return values


_DENSE_LIMIT = 2**25
_FLAT_LIMIT = 2**62
_CODE, _KEY, _NUMBER = "axis", "key", "number"


class CodedRecords:
    """Records in memory with their columns coded, ready for many passes."""

    def __init__(
        self,
        frame: pl.DataFrame,
        axes: Iterable[CubeAxis],
        *,
        record_key: str | None,
        grid: KeyGrid,
        numbers: Iterable[str],
    ) -> None:
        self.grid = grid
        self.height = frame.height
        self.frame = frame
        self.keys = grid_keys(frame[record_key], grid, column=record_key) if record_key else None
        self.codings: dict[CubeAxis, CodedColumn] = code_columns(frame, axes)
        self.numbers = {name: read_numbers(frame[name], name) for name in dict.fromkeys(numbers)}

    def cube(self, axes: Sequence[CubeAxis], where: nw.Expr | None, layout: MeasureLayout) -> Cube:
        """Count the records that pass `where` into the finest cells over `axes`."""
        chosen = chosen_records(self.frame, where)
        if math.prod(max(self.codings[axis].size, 1) for axis in axes) > _dense_limit(self.height):
            # Without gaps, the possible cells may be few enough.
            self.codings |= {axis: self.codings[axis].compacted() for axis in axes}
        codings = [self.codings[axis] for axis in axes]
        amounts = Amounts.of(layout, self.numbers)
        keys = self.keys if layout.keyed else None
        codes = [coding.codes.to_numpy() for coding in codings]
        if chosen is not None:
            codes = [part[chosen] for part in codes]
            amounts = amounts.chosen(chosen)
            keys = None if keys is None else keys[chosen]
        layout = layout.with_shares(amounts.occurring(layout))
        records = RecordArrays(
            codes=codes,
            sizes=[max(coding.size, 1) for coding in codings],
            keys=keys,
            modulus=self.grid.size,
            count=self.height if chosen is None else len(chosen),
            amounts=amounts,
            layout=layout,
        )
        positions, counted = _occupied(records)
        return Cube(
            axes=tuple(axes),
            codes=tuple(positions),
            values=tuple(coding.values for coding in codings),
            measures=counted.measures,
            layout=layout,
            largest=counted.largest,
        )


def chosen_records(frame: pl.DataFrame, where: nw.Expr | None) -> IntArray | None:
    """Places of the records that pass the filter; None for all."""
    if where is None:
        return None
    try:
        passed = nw.from_native(frame).select(passed=where).to_native()["passed"]
        mask = passed.cast(pl.Boolean)
        mask = mask.fill_null(False) if mask.null_count() else mask
    except MemoryError:
        raise
    except Exception as error:
        raise filter_failed(error) from None
    if len(mask) != frame.height:
        mask = pl.Series([bool(mask[0])]).new_from_index(0, frame.height)
    return np.flatnonzero(mask.to_numpy())


def _dense_limit(count: int) -> int:
    """Up to so many possible cells, a place for each is worth while."""
    return min(_DENSE_LIMIT, max(2 * count, 2**16))


def _occupied(records: RecordArrays) -> tuple[list[Any], Counted]:
    """Positions and measures of the cells that occur."""
    roomy = records.cells * records.room <= 2 * _DENSE_LIMIT
    if roomy and records.cells <= _dense_limit(records.count):
        dense = accumulate(records)
        flat = np.flatnonzero(dense.measures[0] != 0)  # several times as fast as of numbers
        return list(records.grid.positions(flat)), dense.of_cells(flat)
    return _sparse(records)


def _sparse(records: RecordArrays) -> tuple[list[Any], Counted]:
    """Group by the cells that occur, where a dense array would not pay."""
    columns: dict[str, Any] = {}
    groups = [f"{_CODE}{k}" for k in range(len(records.codes))]
    flat = records.cells < _FLAT_LIMIT
    if flat:
        columns[_NUMBER] = cell_numbers(records, 0, records.count)
    else:
        columns.update(zip(groups, records.codes, strict=True))
    by = [_NUMBER] if flat else groups
    parts = _columns_to_add(records)
    names = [f"{_KEY}{k}" for k in range(len(parts))]
    frame = pl.DataFrame(columns | dict(zip(names, parts, strict=True)))
    grouped = (
        frame.group_by(by)
        .agg(pl.len().cast(pl.Int64).alias("n"), *(pl.col(name).sum() for name in names))
        .sort(by)
    )
    measures = np.vstack([grouped[name].to_numpy() for name in ["n", *names]])
    counted = Counted(measures, _sparse_largest(records, frame.select(by), grouped.select(by)))
    if flat:
        return list(records.grid.positions(grouped[_NUMBER].to_numpy())), counted
    return [grouped[name].to_numpy().astype(np.int32) for name in groups], counted


def _columns_to_add(records: RecordArrays) -> list[Any]:
    """Per record, everything that cells add up, but for the number of records."""
    columns: list[Any] = [] if records.keys is None else [*limbs_of(records.keys)]
    for values in records.amounts.in_order:
        columns += [part.astype(np.int64) for part in to_limbs(values)]
    for share, summed in records.amounts.summed(records.layout):
        inside = np.zeros(records.count, dtype=np.int64)
        inside[records.amounts.among(share, slice(None))] = 1
        if share.counted:
            columns.append(inside)
            columns += [] if records.keys is None else limbs_of(records.keys * inside)
        if summed is not None:
            columns += [limb.astype(np.int64) * inside for limb in to_limbs(summed)]
    return columns


def _sparse_largest(
    records: RecordArrays, cells: pl.DataFrame, occurring: pl.DataFrame
) -> dict[str, Largest]:
    """The largest contributions of the cells that occur, in their order."""
    lists = records.lists(occurring.height)
    if lists:
        places = occurring.with_row_index("place")
        joined = cells.join(places, on=cells.columns, how="left", maintain_order="left")
        numbers = joined["place"].to_numpy().astype(np.int64)
        compiled, weights = _compiled_pays(records), records.amounts.weights
        for name, own in lists.items():
            own.add_records(numbers, records.amounts.raw[name], weights, compiled=compiled)
    return lists


#: A lazy polars frame of at most this many bytes is read once when several cubes need it.
_MEMORY_BUDGET = 2 * 2**30
_BYTES_PER_VALUE = 16


class MemoryEngine(Engine):
    """Frames in memory, and lazy polars frames that several cubes need and that fit in."""

    name = "memory"
    rank = 1

    def __init__(self, task: TabulationTask) -> None:
        super().__init__(task)
        keep_heap()
        records, queries, columns = task.records, task.queries, task.reads
        if isinstance(records, nw.LazyFrame):
            records = records.select(columns).collect()
        weights = [query.weight for query in queries if query.weight]
        self.frame = (
            eager_columns(records, columns) if columns else pl.DataFrame(height=len(records))
        )
        if columns and not records.implementation.is_polars():  # types may be others now
            check_types(nw.from_native(self.frame).schema, queries, task.record_key)
        self.coded: CodedRecords | None = None
        # What a filter leaves out may be wrong: then each pass codes what is left.
        with suppress(DiscreetError):
            self.coded = CodedRecords(
                self.frame,
                (axis for query in queries for axis in query.axes),
                record_key=task.record_key,
                grid=task.grid,
                numbers=[*weights, *(name for query in queries for name in query.values)],
            )

    @classmethod
    def takes(cls, task: TabulationTask) -> bool:
        """Whether the records are in memory, or fit in and are needed several times."""
        records = task.records
        if isinstance(records, nw.DataFrame):
            return True
        if not isinstance(records.to_native(), pl.LazyFrame) or not task.reads:
            return False
        if len(plan(task.queries, records=None, sizes=task.sizes)) < 2:
            return False
        height = int(records.select(nw.len()).collect().item())
        return height * len(task.reads) * _BYTES_PER_VALUE <= read_ahead(_MEMORY_BUDGET)

    @property
    def height(self) -> int:
        """Number of records."""
        return self.frame.height

    def some_records(self, columns: Sequence[str]) -> pl.DataFrame:
        """Records from everywhere."""
        places = pl.Series(sampled_places(self.height), dtype=pl.UInt32)
        return pl.DataFrame([self.frame[name][places] for name in columns])

    def lowest_keys(self, record_key: str) -> pl.Series:
        """All record keys in the lowest part of the grid."""
        if self.coded is not None and self.coded.keys is not None:
            keys = self.coded.keys
            edge = lowest(self.task.grid)
            parts = (keys[at : at + _STEP] for at in range(0, len(keys), _STEP))
            few = [part[np.flatnonzero(part < edge)] for part in parts]
            return pl.Series(np.concatenate([keys[:0], *few]))
        held = self.frame[record_key]
        whole = held.dtype.is_integer()
        numbers = held.cast(pl.Int64 if whole else pl.Float64, strict=False)
        return held.filter((numbers >= 0) & (numbers < lowest(self.task.grid, whole=whole)))

    @property
    def sizes(self) -> Mapping[CubeAxis, int]:
        """Number of values per axis."""
        if self.coded is None:
            return self.task.sizes
        return {axis: coding.size for axis, coding in self.coded.codings.items()}

    def cubes(self, passes: Sequence[Pass]) -> Iterator[Cube]:
        """One cube after the other."""
        for one in passes:
            cube = None
            if self.coded is not None:
                with suppress(DiscreetError):
                    cube = self.coded.cube(one.axes, one.where, one.layout)
            yield self._filtered_first(one) if cube is None else cube

    def _filtered_first(self, one: Pass) -> Cube:
        """The cube of what passes the filter, or the error that says what is wrong there."""
        task = self.task
        left = self.frame
        if (chosen := chosen_records(left, one.where)) is not None:
            left = left[chosen]
        key = task.record_key if one.layout.keyed else None
        bare = replace(one, where=None)
        raise_flaws(nw.from_native(left.lazy()), bare, key, task.grid)
        coded = CodedRecords(left, one.axes, record_key=key, grid=task.grid, numbers=one.numbers)
        return coded.cube(one.axes, None, one.layout)
