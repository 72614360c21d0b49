"""Sums of record keys made by a data engine, exact whatever its integers can hold.

In: the key column. Out: expressions to aggregate, and a check of what came back
(confidential). Where the engine adds in 128 bits, keys are added whole; else in
two parts, so that no 64-bit sum can overflow or wrap.
"""

from __future__ import annotations

import narwhals as nw
import polars as pl

from discreet.errors import RecordKeyError
from discreet.keygrid import DECIMALS, LIMB, KeyGrid, off_grid, too_fine, unusable_keys

__all__ = ["check_key_sums", "engine_keys", "key_sums", "split_keys"]


def engine_keys(record_key: str, schema: nw.Schema, grid: KeyGrid) -> nw.Expr:
    """The keys as they are handed over; whole numbers in 64 bits, off the grid missing."""
    column = nw.col(record_key)
    if not schema[record_key].is_integer():
        return column
    return nw.when((column >= 0) & (column < grid.size)).then(column).cast(nw.Int64)


def key_sums(
    record_key: str, schema: nw.Schema, grid: KeyGrid, *, wide: bool
) -> tuple[dict[str, nw.Expr], list[nw.Expr]]:
    """Columns to make from the records, and aggregates over them.

    Args:
        record_key: The key column.
        schema: Types of the columns.
        grid: The key grid.
        wide: Whether the engine adds in 128 bits.
    """
    dtype = schema[record_key]
    column = nw.col(record_key)
    usable: nw.Expr
    finer: nw.Expr
    if dtype.is_integer():
        inside = (column >= 0) & (column < grid.size)
        usable, finer = nw.when(inside).then(column).cast(nw.Int64), nw.lit(0)
    elif dtype.is_float() or _fits_float(dtype):
        usable, finer = _from_decimals(column.cast(nw.Float64), grid)
    else:
        raise RecordKeyError(
            f"keys of type {dtype} cannot be added by a data engine",
            code="key-type",
            where=record_key,
            hint="convert them first with discreet.import_record_keys",
        )
    given = nw.when(~column.is_nan()).then(column) if dtype.is_float() else column
    columns = {"key": usable, "key_given": given, "key_finer": finer.cast(nw.Int8)}
    aggregates = [
        nw.col("key").count().cast(nw.Int64).alias("usable_keys"),
        nw.col("key_given").count().cast(nw.Int64).alias("given_keys"),
        nw.col("key_finer").sum().cast(nw.Int64).alias("finer_keys"),
    ]
    if wide:
        total = nw.col("key").cast(nw.Int128).sum() % nw.lit(grid.size)
        return columns, [*aggregates, total.cast(nw.Int64).alias("key_total")]
    columns |= {"key_high": usable // LIMB, "key_low": usable % LIMB}
    parts = [nw.col(name).sum().cast(nw.Int64).alias(name) for name in ("key_high", "key_low")]
    return columns, [*aggregates, *parts]


def _fits_float(dtype: nw.dtypes.DType) -> bool:
    """Whether a type holds decimals of which a float loses no digit that counts."""
    return isinstance(dtype, nw.Decimal) and dtype.scale <= DECIMALS


def _from_decimals(decimal: nw.Expr, grid: KeyGrid) -> tuple[nw.Expr, nw.Expr]:
    """Keys of decimals, and whether they have more digits than the grid."""
    scale = float(10**DECIMALS) if grid.size == 10**DECIMALS else 1.0
    near = (decimal * scale).round(0)
    inside = (decimal >= 0.0) & (near < float(grid.size))
    # Some engines turn division by a constant into multiplication, which rounds twice.
    divided = near / (near * 0.0 + scale)
    finer = nw.when(inside & (divided != decimal)).then(nw.lit(1)).otherwise(nw.lit(0))
    return nw.when(inside).then(near).cast(nw.Int64), finer


def split_keys(frame: pl.DataFrame) -> pl.DataFrame:
    """Key sums in two parts, however the engine added them."""
    if "key_total" not in frame.columns:
        return frame.with_columns(pl.col("key_high", "key_low").fill_null(0))
    total = pl.col("key_total").cast(pl.Int64).fill_null(0)
    return frame.with_columns(key_high=total // LIMB, key_low=total % LIMB)


def check_key_sums(frame: pl.DataFrame, record_key: str, grid: KeyGrid) -> None:
    """Raise unless every record had a key on the grid."""
    records, given, usable, finer = (
        int(frame[name].sum() or 0) for name in ("n", "given_keys", "usable_keys", "finer_keys")
    )
    if given < records:
        raise unusable_keys("no key", records - given, records, record_key)
    if usable < given:
        raise off_grid(given - usable, records, record_key, grid)
    if finer:
        raise too_fine(finer, records, record_key)
