"""One pass over coded records: counts, exact key sums and limbs per cell.

In: coded columns, keys, values. Out: dense arrays, one place per possible cell
(confidential). Threads have arrays of their own; whole numbers are added up at
the end, so their number cannot matter. Small data use numpy alone, which
spares the compiler's start.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.keygrid import LIMB
from discreet.tables.table import IntArray
from discreet.tabulation.limbs import to_limbs

__all__ = ["COMPILED_FROM", "Records", "accumulate", "cell_numbers"]

#: From this many records on, compiled kernels are used.
COMPILED_FROM = 500_000
#: Records per step: small enough for sums of limbs to be exact as floats, and for the cache.
_STEP = 2**16

Codes = npt.NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, repr=False)
class Records:
    """Coded records.

    Args:
        codes: One array of unsigned integers per axis.
        sizes: Number of codes per axis.
        keys: Record keys on the grid, checked.
        modulus: Size of the key grid.
        sums: Arrays to sum exactly.
    """

    codes: Sequence[Codes]
    sizes: Sequence[int]
    keys: IntArray | None
    modulus: int
    sums: Sequence[npt.NDArray[np.float64]]
    count: int

    @property
    def cells(self) -> int:
        """Number of possible cells."""
        size = 1
        for part in self.sizes:
            size *= part
        return size

    @property
    def strides(self) -> list[int]:
        """What each axis adds to a cell's number per code."""
        strides, step = [], 1
        for size in reversed(self.sizes):
            strides.append(step)
            step *= size
        return strides[::-1]


def accumulate(records: Records) -> IntArray:
    """Measures of all possible cells: count, key parts, limbs (rows) × cells."""
    threads = min(max(1, os.cpu_count() or 1), 1 + records.count // (4 * _STEP), 16)
    if records.cells * threads > 2**25:
        threads = 1
    edges = [records.count * k // threads for k in range(threads + 1)]
    spans = list(pairwise(edges))
    work = _compiled if records.count >= COMPILED_FROM else _interpreted
    if threads == 1:
        return work(records, spans[0])
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(lambda span: work(records, span), spans))
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def cell_numbers(records: Records, start: int, stop: int) -> IntArray:
    """The number of the cell each record belongs to."""
    numbers = np.zeros(stop - start, dtype=np.int64)
    for codes, stride in zip(records.codes, records.strides, strict=True):
        numbers += codes[start:stop].astype(np.int64) * stride
    return numbers


def _rows(records: Records) -> int:
    return 1 + 2 * (records.keys is not None) + 3 * len(records.sums)


def _interpreted(records: Records, span: tuple[int, int]) -> IntArray:
    """The pass in numpy. Sums of a step stay below 2^53, hence exact as floats."""
    size = records.cells
    total = np.zeros((_rows(records), size), dtype=np.int64)
    for start in range(*span, _STEP):
        stop = min(start + _STEP, span[1])
        numbers = cell_numbers(records, start, stop)
        total[0] += np.bincount(numbers, minlength=size)
        row = 1
        parts: list[Any] = []
        if records.keys is not None:
            parts += divmod(records.keys[start:stop], LIMB)
        for values in records.sums:
            parts += to_limbs(values[start:stop])
        for part in parts:
            sums = np.bincount(numbers, weights=part, minlength=size)
            total[row] += sums.astype(np.int64)
            row += 1
    return total


def _compiled(records: Records, span: tuple[int, int]) -> IntArray:
    """The pass in compiled loops."""
    from discreet.tabulation import compiled

    size = records.cells
    total = np.zeros((_rows(records), size), dtype=np.int64)
    numbers = np.empty(_STEP, dtype=np.int64)
    first_limb = 3 if records.keys is not None else 1
    for start in range(*span, _STEP):
        stop = min(start + _STEP, span[1])
        here = numbers[: stop - start]
        here[:] = 0
        for codes, stride in zip(records.codes, records.strides, strict=True):
            compiled.add_codes(codes[start:stop], stride, here)
        if records.keys is None:
            compiled.count(here, total[0])
        else:
            compiled.count_keys(here, records.keys[start:stop], records.modulus, total[0], total[1])
        for which, values in enumerate(records.sums):
            at = first_limb + 3 * which
            compiled.add_limbs(here, values[start:stop], total[at], total[at + 1], total[at + 2])
    if records.keys is not None:  # the key sums, reduced so far, in two parts
        total[2] = total[1] % LIMB
        total[1] //= LIMB
    return total
