"""The base cube from a frame in memory: code the columns once, one pass per cube.

In: a frame (records). Out: `Cube` (confidential).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.errors import MicrodataError
from discreet.keygrid import LIMB, KeyGrid, grid_keys
from discreet.tables.table import IntArray
from discreet.tabulation.coding import Coding, code_columns
from discreet.tabulation.cube import Cube, Layout
from discreet.tabulation.filters import filter_failed
from discreet.tabulation.kernels import Records, accumulate
from discreet.tabulation.limbs import LIMIT, to_limbs
from discreet.tabulation.query import Axis

__all__ = ["CodedRecords"]

_DENSE_LIMIT = 2**25
_FLAT_LIMIT = 2**62
_CODE, _KEY, _NUMBER = "axis", "key", "number"


class CodedRecords:
    """Records in memory with their columns coded, ready for many passes.

    Args:
        frame: The records.
        axes: All axes that any cube will need.
        record_key: Column of record keys.
        grid: Their key grid.
        numbers: Columns of weights and values.
    """

    def __init__(
        self,
        frame: pl.DataFrame,
        axes: Iterable[Axis],
        *,
        record_key: str | None,
        grid: KeyGrid,
        numbers: Iterable[str],
    ) -> None:
        self.grid = grid
        self.height = frame.height
        self.frame = frame
        self.keys = grid_keys(frame[record_key], grid, column=record_key) if record_key else None
        self.codings: dict[Axis, Coding] = code_columns(frame, axes)
        self.numbers = {name: _numbers(frame[name], name) for name in dict.fromkeys(numbers)}

    def cube(self, axes: Sequence[Axis], where: nw.Expr | None, layout: Layout) -> Cube:
        """Count the records that pass `where` into the finest cells over `axes`."""
        chosen = self._chosen(where)
        codings = self._codings(axes)
        sums = self._sums(layout)
        keys = self.keys if layout.keyed else None
        codes = [coding.codes.to_numpy() for coding in codings]
        if chosen is not None:
            codes = [part[chosen] for part in codes]
            sums = [part[chosen] for part in sums]
            keys = None if keys is None else keys[chosen]
        records = Records(
            codes=codes,
            sizes=[max(coding.size, 1) for coding in codings],
            keys=keys,
            modulus=self.grid.size,
            sums=sums,
            count=self.height if chosen is None else len(chosen),
        )
        positions, measures = _occupied(records)
        return Cube(
            axes=tuple(axes),
            codes=tuple(positions),
            values=tuple(coding.values for coding in codings),
            measures=measures,
            layout=layout,
        )

    def _codings(self, axes: Sequence[Axis]) -> list[Coding]:
        """The coded columns; without gaps where that makes the possible cells few enough."""
        sizes = (max(self.codings[axis].size, 1) for axis in axes)
        if math.prod(sizes) > _dense_limit(self.height):
            for axis in axes:
                self.codings[axis] = self.codings[axis].compacted()
        return [self.codings[axis] for axis in axes]

    def _chosen(self, where: nw.Expr | None) -> IntArray | None:
        if where is None:
            return None
        try:
            passed = nw.from_native(self.frame).select(passed=where).to_native()["passed"]
            mask = passed.cast(pl.Boolean).fill_null(False)
        except MemoryError:
            raise
        except Exception as error:
            raise filter_failed(error) from None
        if len(mask) != self.height:
            mask = pl.Series([bool(mask[0])]).new_from_index(0, self.height)
        return mask.arg_true().to_numpy().astype(np.int64)

    def _sums(self, layout: Layout) -> list[Any]:
        """The arrays to sum: weights, then (weighted) values."""
        sums = []
        weight = None
        if layout.weight is not None:
            weight = self.numbers[layout.weight]
            _refuse_missing(weight, layout.weight)
            sums.append(weight)
        for name in layout.values:
            values = np.nan_to_num(self.numbers[name], nan=0.0)
            sums.append(values if weight is None else _within(values * weight, name))
        return sums


def _numbers(series: pl.Series, name: str) -> Any:
    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        raise MicrodataError(
            f"numbers are needed, the column is of type {series.dtype}",
            code="column-type",
            where=name,
        )
    floats = series.cast(pl.Float64)
    infinite = int(floats.is_infinite().sum())
    if infinite:
        raise unusable_numbers("infinite", infinite, name)
    return _within(floats.fill_null(float("nan")).to_numpy(), name)


def _within(values: Any, name: str) -> Any:
    with np.errstate(invalid="ignore"):
        large = int((np.abs(values) >= LIMIT).sum())
    if large:
        raise unusable_numbers("too large", large, name)
    return values


def _refuse_missing(weights: Any, name: str) -> None:
    missing = int(np.isnan(weights).sum())
    if missing:
        raise unusable_numbers("missing", missing, name)
    negative = int((weights < 0).sum())
    if negative:
        raise unusable_numbers("negative", negative, name)


def unusable_numbers(kind: str, number: int, name: str) -> MicrodataError:
    """The error for weights or values that cannot be summed."""
    hints = {
        "missing": "give every record a weight",
        "negative": "weights are at least 0",
        "too large": "values up to 10^14 can be summed exactly; change the unit",
        "infinite": "remove or correct these records first",
    }
    return MicrodataError(
        f"{number:,} records have a value that is {kind}",
        code="values",
        where=name,
        hint=hints[kind],
    )


def _dense_limit(count: int) -> int:
    """Up to so many possible cells, a place for each is worth while."""
    return min(_DENSE_LIMIT, max(2 * count, 2**16))


def _occupied(records: Records) -> tuple[list[Any], IntArray]:
    """Positions and measures of the cells that occur."""
    if records.cells <= _dense_limit(records.count):
        dense = accumulate(records)
        flat = np.flatnonzero(dense[0])
        measures = dense[:, flat]
        return _split(flat, records.sizes), measures
    return _sparse(records)


def _split(flat: IntArray, sizes: Sequence[int]) -> list[Any]:
    parts: list[Any] = []
    rest = flat
    for size in reversed(sizes):
        rest, part = np.divmod(rest, size)
        parts.append(part.astype(np.int32))
    return parts[::-1]


def _sparse(records: Records) -> tuple[list[Any], IntArray]:
    """Group by the cells that occur, where a dense array would not pay."""
    columns: dict[str, Any] = {}
    groups = [f"{_CODE}{k}" for k in range(len(records.codes))]
    flat = records.cells < _FLAT_LIMIT
    if flat:
        numbers = np.zeros(records.count, dtype=np.int64)
        for codes, stride in zip(records.codes, records.strides, strict=True):
            numbers += codes.astype(np.int64) * stride
        columns[_NUMBER] = numbers
    else:
        columns.update(zip(groups, records.codes, strict=True))
    parts: list[Any] = []
    if records.keys is not None:
        parts += divmod(records.keys, LIMB)
    for values in records.sums:
        parts += [part.astype(np.int64) for part in to_limbs(values)]
    names = [f"{_KEY}{k}" for k in range(len(parts))]
    columns.update(zip(names, parts, strict=True))
    by = [_NUMBER] if flat else groups
    grouped = (
        pl.DataFrame(columns)
        .group_by(by)
        .agg(pl.len().cast(pl.Int64).alias("n"), *(pl.col(name).sum() for name in names))
        .sort(by)
    )
    measures = np.vstack([grouped[name].to_numpy() for name in ["n", *names]])
    if flat:
        return _split(grouped[_NUMBER].to_numpy(), records.sizes), measures
    return [grouped[name].to_numpy().astype(np.int32) for name in groups], measures
