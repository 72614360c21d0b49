"""One pass over coded records: counts, exact key sums, limbs and largest values per cell.

In: coded columns, keys, values. Out: dense arrays, one place per possible cell
(confidential). Threads have arrays of their own; whole numbers are added up and lists
merged at the end, so their number cannot matter. Small data use numpy alone, which
spares the compiler's start.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.keygrid import LIMB
from discreet.tables.table import IntArray
from discreet.tabulation.largest import Largest
from discreet.tabulation.limbs import to_limbs

__all__ = ["COMPILED_FROM", "Counted", "Part", "Records", "Values", "accumulate", "cell_numbers"]

#: From this many records on, compiled kernels are used.
COMPILED_FROM = 500_000
#: Records per step: small enough for sums of limbs to be exact as floats, and for the cache.
_STEP = 2**16

Codes = npt.NDArray[np.unsignedinteger[Any]]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Part:
    """A share of the records to measure on its own.

    Args:
        of: "missing", "zero" or "negative" values; "plain" for all records.
        values: The values that decide.
        counted: Whether to count records and add keys.
        summed: What to sum, if anything.
    """

    of: str
    values: FloatArray
    counted: bool
    summed: FloatArray | None

    def among(self, start: int, stop: int) -> IntArray | None:
        """Which of these records belong to it; None for all."""
        values = self.values[start:stop]
        if self.of == "plain":
            return None
        if self.of == "missing":
            return np.flatnonzero(np.isnan(values))
        return np.flatnonzero(values == 0 if self.of == "zero" else values < 0)


@dataclass(frozen=True, repr=False)
class Values:
    """A column whose largest contributions are wanted: k values (NaN for none), weights."""

    k: int
    values: FloatArray
    weights: FloatArray | None


@dataclass(frozen=True, repr=False)
class Records:
    """Coded records.

    Args:
        codes: One array of unsigned integers per axis.
        sizes: Number of codes per axis.
        keys: Record keys on the grid, checked.
        modulus: Size of the key grid.
        sums: Arrays to sum exactly.
        count: Number of records.
        parts: Shares of the records to measure on their own.
        largest: Columns whose largest contributions are wanted.
    """

    codes: Sequence[Codes]
    sizes: Sequence[int]
    keys: IntArray | None
    modulus: int
    sums: Sequence[FloatArray]
    count: int
    parts: Sequence[Part] = ()
    largest: Mapping[str, Values] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        """Number of possible cells."""
        size = 1
        for part in self.sizes:
            size *= part
        return size

    @property
    def room(self) -> int:
        """Size of a cell's lists, in cells without any."""
        return 1 + sum(of.k * (1 + (of.weights is not None)) for of in self.largest.values())

    @property
    def strides(self) -> list[int]:
        """What each axis adds to a cell's number per code."""
        strides, step = [], 1
        for size in reversed(self.sizes):
            strides.append(step)
            step *= size
        return strides[::-1]


@dataclass(frozen=True, repr=False)
class Counted:
    """What a pass found: measures (rows) of cells (columns), and lists of the cells."""

    measures: IntArray
    largest: Mapping[str, Largest]

    def of_cells(self, chosen: IntArray) -> Counted:
        """Some of the cells."""
        lists = {name: part.of_cells(chosen) for name, part in self.largest.items()}
        return Counted(self.measures[:, chosen], lists)

    def add(self, other: Counted) -> None:
        """Take in what another pass found for the same cells."""
        np.add(self.measures, other.measures, out=self.measures)
        places = np.arange(self.measures.shape[1], dtype=np.int64)
        for name, lists in self.largest.items():
            lists.add_lists(places, other.largest[name])


def accumulate(records: Records) -> Counted:
    """Measures of all possible cells: count, key parts, limbs, those of parts; and lists."""
    threads = min(max(1, os.cpu_count() or 1), 1 + records.count // (4 * _STEP), 16)
    if records.cells * records.room * threads > 2**25:
        threads = 1
    edges = [records.count * k // threads for k in range(threads + 1)]
    spans = list(pairwise(edges))
    way = _Compiled if records.count >= COMPILED_FROM else _Interpreted
    if threads == 1:
        return _pass(records, spans[0], way)
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda span: _pass(records, span, way), spans))
    total = found[0]
    for one in found[1:]:
        total.add(one)
    return total


def cell_numbers(records: Records, start: int, stop: int) -> IntArray:
    """The number of the cell each record belongs to."""
    numbers = np.zeros(stop - start, dtype=np.int64)
    for codes, stride in zip(records.codes, records.strides, strict=True):
        numbers += codes[start:stop].astype(np.int64) * stride
    return numbers


def _nothing(records: Records) -> Counted:
    """Arrays to count into."""
    rows = 1 + 2 * (records.keys is not None) + 3 * len(records.sums)
    for part in records.parts:
        rows += part.counted * (1 + 2 * (records.keys is not None))
        rows += 3 * (part.summed is not None)
    lists = {
        name: Largest.empty(records.cells, of.k, weighted=of.weights is not None)
        for name, of in records.largest.items()
    }
    return Counted(np.zeros((rows, records.cells), dtype=np.int64), lists)


def _pass(records: Records, span: tuple[int, int], way: type[_Interpreted]) -> Counted:
    """Count the records of a span, step by step."""
    found = _nothing(records)
    loops = way(records, found)
    for start in range(*span, _STEP):
        stop = min(start + _STEP, span[1])
        numbers = loops.numbers(start, stop)
        row = loops.count(numbers, None if records.keys is None else records.keys[start:stop], 0)
        for values in records.sums:
            row = loops.add(numbers, values[start:stop], row)
        for part in records.parts:
            row = _measure_part(loops, records, part, numbers, (start, stop), row)
    loops.finish(span)
    return found


def _measure_part(
    loops: _Interpreted,
    records: Records,
    part: Part,
    numbers: IntArray,
    step: tuple[int, int],
    row: int,
) -> int:
    """Measure a share of the records of one step; the row after its last."""
    among = part.among(*step)
    chosen = slice(None) if among is None else among
    numbers = numbers[chosen]
    if part.counted:
        keys = None if records.keys is None else records.keys[slice(*step)][chosen]
        row = loops.count(numbers, keys, row)
    if part.summed is not None:
        row = loops.add(numbers, part.summed[slice(*step)][chosen], row)
    return row


class _Interpreted:
    """The pass in numpy. Sums of a step stay below 2^53, hence exact as floats."""

    def __init__(self, records: Records, found: Counted) -> None:
        self.records = records
        self.measures = found.measures
        self.largest = found.largest

    def numbers(self, start: int, stop: int) -> IntArray:
        """The cells of the records of a step."""
        return cell_numbers(self.records, start, stop)

    def count(self, numbers: IntArray, keys: IntArray | None, row: int) -> int:
        """Count records and add their keys from this row on; the next row."""
        self.measures[row] += np.bincount(numbers, minlength=self.records.cells)
        if keys is None:
            return row + 1
        return self._add(numbers, divmod(keys, LIMB), row + 1)

    def add(self, numbers: IntArray, values: FloatArray, row: int) -> int:
        """Add values from this row on; the next row."""
        return self._add(numbers, to_limbs(values), row)

    def _add(self, numbers: IntArray, parts: Sequence[Any], row: int) -> int:
        for at, part in enumerate(parts, row):
            sums = np.bincount(numbers, weights=part, minlength=self.records.cells)
            self.measures[at] += sums.astype(np.int64)
        return row + len(parts)

    def finish(self, span: tuple[int, int]) -> None:
        """Find the largest contributions of the span."""
        if self.largest:
            numbers = cell_numbers(self.records, *span)
            self._find(numbers, *span, compiled=False)

    def _find(self, numbers: IntArray, start: int, stop: int, *, compiled: bool) -> None:
        for name, of in self.records.largest.items():
            weights = None if of.weights is None else of.weights[start:stop]
            values = of.values[start:stop]
            self.largest[name].add_records(numbers, values, weights, compiled=compiled)


class _Compiled(_Interpreted):
    """The pass in compiled loops."""

    def __init__(self, records: Records, found: Counted) -> None:
        super().__init__(records, found)
        from discreet.tabulation import compiled

        self.loops = compiled
        self.room = np.empty(_STEP, dtype=np.int64)
        self.key_rows: set[int] = set()

    def numbers(self, start: int, stop: int) -> IntArray:
        """The cells of the records of a step; their largest contributions come first."""
        here = self.room[: stop - start]
        here[:] = 0
        for codes, stride in zip(self.records.codes, self.records.strides, strict=True):
            self.loops.add_codes(codes[start:stop], stride, here)
        self._find(here, start, stop, compiled=True)
        return here

    def count(self, numbers: IntArray, keys: IntArray | None, row: int) -> int:
        """Count records and add their keys from this row on; the next row."""
        counts = self.measures[row]
        if keys is None:
            self.loops.count(numbers, counts)
            return row + 1
        sums = self.measures[row + 1]
        self.loops.count_keys(numbers, keys, self.records.modulus, counts, sums)
        self.key_rows.add(row + 1)
        return row + 3

    def add(self, numbers: IntArray, values: FloatArray, row: int) -> int:
        """Add values from this row on; the next row."""
        self.loops.add_limbs(numbers, values, *self.measures[row : row + 3])
        return row + 3

    def finish(self, span: tuple[int, int]) -> None:
        """Put the key sums, reduced so far, in two parts."""
        for row in self.key_rows:
            self.measures[row + 1] = self.measures[row] % LIMB
            self.measures[row] //= LIMB
