"""Columns as small integers: the form in which the kernels read records.

In: a polars column. Out: a code per record and the value each code stands for;
the last code stands for a missing value where there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.compiled import loading_pays
from discreet.record_batches import text_words
from discreet.tables import code_texts
from discreet.tabulation.engine import wrong_type
from discreet.tabulation.query import CubeAxis

_WIDEST_RANGE = 2**22
#: From so many records on, threads are worth their start.
_SIDE_BY_SIDE = 200_000
#: From so many records on, texts are numbered by a compiled loop where its compiler is loaded.
_COMPILED_FROM = 100_000
#: Records that are read at a time, for the cache, unless there are more codes.
_STEP = 2**15
#: Seconds that making a text a category takes longer.
_SLOWER = 1e-8
#: Up to so many different texts.
_MOST_TEXTS = 2**20


@dataclass(frozen=True, repr=False)
class CodedColumn:
    """A coded column."""

    codes: pl.Series  # one unsigned integer per record
    values: pl.Series  # the value of each code as text; null for missing
    compact: bool = False  # whether every code is known to occur

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.values)

    def compacted(self) -> CodedColumn:
        """A copy with codes for occurring values only."""
        if self.compact:
            return self
        codes = self.codes.to_numpy()
        step = max(_STEP, self.size)
        steps = [slice(at, at + step) for at in range(0, len(codes), step)]
        counts = np.zeros(self.size, dtype=np.int64)
        for here in steps:
            counts += np.bincount(codes[here], minlength=self.size)
        used = counts > 0
        if bool(used.all()):
            return CodedColumn(self.codes, self.values, compact=True)
        size = int(used.sum())
        width = np.uint8 if size <= 2**8 else np.uint16 if size <= 2**16 else np.uint32
        table, own = (np.cumsum(used) - 1).astype(width), np.empty(len(codes), dtype=width)
        for here in steps:
            table.take(codes[here], out=own[here], mode="clip")  # without a copy of the output
        return CodedColumn(pl.Series(own), self.values.filter(pl.Series(used)), compact=True)


def code_columns(frame: pl.DataFrame, axes: Iterable[CubeAxis]) -> dict[CubeAxis, CodedColumn]:
    """Code the columns of all axes; texts are made categories, many side by side."""
    wanted = dict.fromkeys(axes)
    plain = [axis.column for axis in wanted if axis.bounds is None and not axis.levels]
    strings = [frame[name] for name in dict.fromkeys(plain) if frame.schema[name] == pl.String]
    numbered = _numbered(strings)
    texts = {own.name: pl.Categories.random() for own in strings if own.name not in numbered}
    coded = {name: pl.Categorical(private) for name, private in texts.items()}
    if frame.height < _SIDE_BY_SIDE:
        categories = {name: frame[name].cast(own) for name, own in coded.items()}
    else:
        categories = frame.select(pl.col(name).cast(own) for name, own in coded.items()).to_dict()
    codings = {}
    for axis in wanted:
        if axis.levels:
            parts = [code_texts(frame[name], name) for name in reversed(axis.levels)]
            codings[axis] = _texts(pl.select(pl.coalesce(parts)).to_series())
        elif axis.bounds is None and axis.column in numbered:
            codings[axis] = numbered[axis.column]
        elif axis.bounds is None and axis.column in texts:
            known = texts[axis.column].to_series().cast(pl.String)
            codings[axis] = _filled(categories[axis.column].to_physical(), known)
        else:
            codings[axis] = code_column(frame[axis.column], axis)
    return codings


def _numbered(texts: Sequence[pl.Series]) -> dict[str, CodedColumn]:
    """Many short texts numbered by a compiled loop, where that pays."""
    count = sum(map(len, texts))
    if count < _COMPILED_FROM * len(texts) or not count or not loading_pays(count * _SLOWER):
        return {}
    with ThreadPoolExecutor() as pool:
        columns = zip(texts, pool.map(_short_texts, texts), strict=True)
        return {own.name: column for own, column in columns if column is not None}


def _short_texts(series: pl.Series) -> CodedColumn | None:
    """Codes in the order in which texts occur first; None where one has more than 12 bytes."""
    from discreet.tabulation.compiled_texts import number_texts

    present = series.drop_nulls() if series.null_count() else series
    codes = np.empty(len(present), dtype=np.uint32)
    at = size = 0
    known, firsts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    with text_words(present) as words:
        while words is not None and at < len(codes):
            if size < len(firsts) or size >= _MOST_TEXTS:
                return None
            room = max(8 * size, 2**10)
            slots, before, places = np.full(4 * room, -1, dtype=np.int32), known, firsts
            known, firsts = np.empty(2 * room, dtype=np.uint64), np.empty(room, dtype=np.int64)
            number_texts(before, 0, slots, known, firsts, 0, np.empty(size, dtype=np.uint32))
            firsts[:size] = places
            at, size = number_texts(words, at, slots, known, firsts, size, codes)
        if words is None:
            return None
    values = present.gather(firsts[:size])
    if present is series:
        return _filled(pl.Series(codes), values)
    every = np.full(len(series), size, dtype=np.uint32)
    every[series.is_not_null().to_numpy()] = codes
    return _filled(pl.Series(every), pl.concat([values, pl.Series([None], dtype=pl.String)]))


def code_column(series: pl.Series, axis: CubeAxis) -> CodedColumn:
    """Code one column for one axis of the base cube."""
    if axis.bounds is not None:
        return _intervals(series, axis)
    dtype = series.dtype
    if dtype == pl.Boolean or dtype.is_integer():
        return _integers(series, dtype == pl.Boolean)
    if isinstance(dtype, pl.Enum):
        return _closed(series.to_physical(), dtype.categories)
    if isinstance(dtype, pl.Categorical):
        physical = series.to_physical()
        known = dtype.categories.to_series()
        if len(known) <= max(2 * len(series), 1000):
            return _closed(physical, known)
        return _texts(series.cast(pl.String))
    if dtype.is_float():
        return _integers(code_texts(series, axis.column).cast(pl.Int64), False)
    return _texts(code_texts(series, axis.column))


def _narrow(size: int) -> type[pl.UInt8] | type[pl.UInt16] | type[pl.UInt32]:
    if size <= 2**8:
        return pl.UInt8
    return pl.UInt16 if size <= 2**16 else pl.UInt32


def _filled(codes: pl.Series, values: pl.Series) -> CodedColumn:
    """Give missing values a code of their own, after all others."""
    size = len(values)
    if codes.null_count():
        wide = _narrow(size + 1)
        codes = (codes if _holds(codes.dtype, size + 1) else codes.cast(wide)).fill_null(size)
        values = pl.concat([values, pl.Series([None], dtype=pl.String)])
    if not _holds(codes.dtype, len(values)):
        codes = codes.cast(_narrow(max(len(values), 1)))
    return CodedColumn(codes, values)


def _holds(dtype: pl.DataType, size: int) -> bool:
    """Whether a column is already in a form the kernels read, with room for `size` codes."""
    rooms: dict[object, int] = {pl.UInt8: 2**8, pl.UInt16: 2**16, pl.UInt32: 2**32}
    return size <= rooms.get(type(dtype), 0)


def _closed(physical: pl.Series, values: pl.Series) -> CodedColumn:
    return _filled(physical, values.cast(pl.String))


def _integers(series: pl.Series, truth: bool) -> CodedColumn:
    if truth:
        return _filled(series.cast(pl.UInt8), pl.Series(["false", "true"]))
    low: Any = series.min()
    high: Any = series.max()
    if low is None:
        return _filled(series.cast(pl.UInt8), pl.Series([], dtype=pl.String))
    width = int(high) - int(low) + 1
    if width > min(_WIDEST_RANGE, max(4 * len(series), 1000)):
        return _texts(series.cast(pl.String))
    if high >= 2**63 or low < -(2**63):
        return _texts(series.cast(pl.String))
    if 0 <= low <= width:  # a few codes more than needed cost less than a subtraction
        low, width = 0, int(high) + 1
    last = min(int(high), 2**63 - 2)  # beyond it, the end of the range is no number of 64 bits
    values = pl.int_range(int(low), last + 1, eager=True).cast(pl.String)
    if last < high:
        values = pl.concat([values, pl.Series([str(int(high))])])
    if series.null_count():
        return _filled((series.cast(pl.Int64) - int(low)).cast(_narrow(width)), values)
    numbers = series.to_numpy()
    if low == 0 and numbers.dtype.itemsize < 8:  # not copied
        return _filled(pl.Series(numbers.view(f"u{numbers.dtype.itemsize}")), values)
    narrow = np.uint8 if width <= 2**8 else np.uint16 if width <= 2**16 else np.uint32
    shifted = numbers if low == 0 else numbers.astype(np.int64) - int(low)
    return _filled(pl.Series(shifted.astype(narrow)), values)


def _texts(series: pl.Series) -> CodedColumn:
    private = pl.Categories.random()
    coded = series.cast(pl.Categorical(private))
    return _filled(coded.to_physical(), private.to_series().cast(pl.String))


def _intervals(series: pl.Series, axis: CubeAxis) -> CodedColumn:
    """Cut numbers into intervals; what lies outside all of them keeps a code of its own."""
    if not series.dtype.is_numeric():
        raise wrong_type("intervals need numbers", series.dtype, axis.column)
    assert axis.bounds is not None
    bounds = np.asarray(axis.bounds, dtype=np.float64)
    count = len(bounds) - 1
    values = pl.Series([*(str(k) for k in range(count)), "outside"])
    places: Any = slice(None)
    numbers = series
    if series.dtype.is_integer():
        raw = _integers(series, False)
        if raw.size <= _WIDEST_RANGE and series.len() and raw.values.len():
            # Each number that occurs is cut once.
            numbers, places = raw.values, raw.codes.to_numpy()
    floats = numbers.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    codes, missing = bin_codes(floats, bounds), np.isnan(floats)
    codes[missing] = count + 1
    if bool(missing.any()):
        values = pl.concat([values, pl.Series([None], dtype=pl.String)])
    coded = pl.Series(codes.astype(np.uint32)[places])
    return CodedColumn(coded.cast(_narrow(len(values))), values)


def bin_codes(numbers: npt.NDArray[np.float64], bounds: npt.NDArray[np.float64]) -> Any:
    """Number of the interval each number lies in; the count of intervals if in none."""
    count = len(bounds) - 1
    codes = np.searchsorted(bounds, numbers, side="right") - 1
    codes[numbers == np.inf] = count - 1 if bounds[-1] == np.inf else count
    return np.where((codes < 0) | (codes >= count), count, codes)
