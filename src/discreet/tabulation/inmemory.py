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

from discreet.keygrid import LIMB, KeyGrid, grid_keys
from discreet.tables.table import IntArray
from discreet.tabulation.amounts import Amounts, read_numbers
from discreet.tabulation.coding import Coding, code_columns
from discreet.tabulation.cube import Cube
from discreet.tabulation.filters import filter_failed
from discreet.tabulation.kernels import COMPILED_FROM, Counted, Records, accumulate, cell_numbers
from discreet.tabulation.largest import Largest
from discreet.tabulation.layout import Layout
from discreet.tabulation.limbs import to_limbs
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
        self.numbers = {name: read_numbers(frame[name], name) for name in dict.fromkeys(numbers)}

    def cube(self, axes: Sequence[Axis], where: nw.Expr | None, layout: Layout) -> Cube:
        """Count the records that pass `where` into the finest cells over `axes`."""
        chosen = self._chosen(where)
        codings = self._codings(axes)
        amounts = Amounts.of(layout, self.numbers)
        keys = self.keys if layout.keyed else None
        codes = [coding.codes.to_numpy() for coding in codings]
        if chosen is not None:
            codes = [part[chosen] for part in codes]
            amounts = amounts.chosen(chosen)
            keys = None if keys is None else keys[chosen]
        layout = layout.with_shares(amounts.occurring(layout))
        records = Records(
            codes=codes,
            sizes=[max(coding.size, 1) for coding in codings],
            keys=keys,
            modulus=self.grid.size,
            sums=amounts.in_order,
            count=self.height if chosen is None else len(chosen),
            parts=amounts.parts(layout),
            largest=amounts.largest(layout),
        )
        positions, found = _occupied(records)
        return Cube(
            axes=tuple(axes),
            codes=tuple(positions),
            values=tuple(coding.values for coding in codings),
            measures=found.measures,
            layout=layout,
            largest=found.largest,
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


def _dense_limit(count: int) -> int:
    """Up to so many possible cells, a place for each is worth while."""
    return min(_DENSE_LIMIT, max(2 * count, 2**16))


def _occupied(records: Records) -> tuple[list[Any], Counted]:
    """Positions and measures of the cells that occur."""
    roomy = records.cells * records.room <= 2 * _DENSE_LIMIT
    if roomy and records.cells <= _dense_limit(records.count):
        dense = accumulate(records)
        flat = np.flatnonzero(dense.measures[0])
        return _split(flat, records.sizes), dense.of_cells(flat)
    return _sparse(records)


def _split(flat: IntArray, sizes: Sequence[int]) -> list[Any]:
    parts: list[Any] = []
    rest = flat
    for size in reversed(sizes):
        rest, part = np.divmod(rest, size)
        parts.append(part.astype(np.int32))
    return parts[::-1]


def _sparse(records: Records) -> tuple[list[Any], Counted]:
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
    found = Counted(measures, _sparse_largest(records, frame.select(by), grouped.select(by)))
    if flat:
        return _split(grouped[_NUMBER].to_numpy(), records.sizes), found
    return [grouped[name].to_numpy().astype(np.int32) for name in groups], found


def _columns_to_add(records: Records) -> list[Any]:
    """Per record, everything that cells add up, but for the number of records."""
    columns: list[Any] = [] if records.keys is None else [*divmod(records.keys, LIMB)]
    for values in records.sums:
        columns += [part.astype(np.int64) for part in to_limbs(values)]
    for part in records.parts:
        among = part.among(0, records.count)
        inside = np.zeros(records.count, dtype=np.int64)
        inside[slice(None) if among is None else among] = 1
        if part.counted:
            columns.append(inside)
            columns += [] if records.keys is None else divmod(records.keys * inside, LIMB)
        if part.summed is not None:
            columns += [limb.astype(np.int64) * inside for limb in to_limbs(part.summed)]
    return columns


def _sparse_largest(
    records: Records, cells: pl.DataFrame, occurring: pl.DataFrame
) -> dict[str, Largest]:
    """The largest contributions of the cells that occur, in their order."""
    if not records.largest:
        return {}
    places = occurring.with_row_index("place")
    joined = cells.join(places, on=cells.columns, how="left", maintain_order="left")
    numbers = joined["place"].to_numpy().astype(np.int64)
    found = {}
    for name, of in records.largest.items():
        found[name] = Largest.empty(occurring.height, of.k, weighted=of.weights is not None)
        compiled = records.count >= COMPILED_FROM
        found[name].add_records(numbers, of.values, of.weights, compiled=compiled)
    return found
