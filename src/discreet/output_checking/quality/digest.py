"""A digest of microdata that does not depend on the order of rows or columns.

In: a frame (confidential). Out: a text by which the same data are known again.
"""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl

from discreet.errors import OutputCheckError

__all__ = ["data_digest"]


def data_digest(data: pl.DataFrame) -> str:
    """SHA-256 of names, types and values of a frame, rows in sorted order.

    Args:
        data: Columns of numbers, texts, truth values, categories or times.

    >>> one = pl.DataFrame({"a": [1, 2], "b": ["x", None]})
    >>> data_digest(one) == data_digest(one.reverse().select("b", "a"))
    True
    """
    names = sorted(data.columns)
    plain = data.select(_plain(data.get_column(name)) for name in names)
    plain = plain.sort(names, nulls_last=True) if names else plain
    digest = hashlib.sha256(f"discreet data, version 1\0{plain.height}".encode())
    for name in names:
        column = plain.get_column(name)
        digest.update(_framed(f"{name}\0{data.schema[name]}".encode()))
        digest.update(_framed(np.packbits(column.is_null().to_numpy()).tobytes()))
        if column.dtype == pl.String:
            texts = column.fill_null("")
            digest.update(_framed(texts.str.len_bytes().to_numpy().astype("<u8").tobytes()))
            digest.update(_framed("".join(texts.to_list()).encode()))
        else:
            values = column.fill_null(0).to_numpy()
            digest.update(_framed(values.astype(values.dtype.newbyteorder("<")).tobytes()))
    return digest.hexdigest()


def _plain(column: pl.Series) -> pl.Series:
    """Whole numbers and truth as they are; zeros of both signs, and all NaN, are the same."""
    kind = column.dtype
    if kind.is_float():
        column = column.cast(pl.Float64) + 0.0
        return column.set(column.is_nan(), float("nan"))
    if kind.is_integer():
        return column
    if kind == pl.Boolean:
        return column.cast(pl.UInt8)
    if kind.is_temporal():
        return column.to_physical().cast(pl.Int64)
    if kind.is_nested() or kind in (pl.Binary, pl.Object):
        what = "a column holds neither numbers, texts, categories nor times"
        raise OutputCheckError(what, code="column-type", where=column.name)
    return column.cast(pl.String)


def _framed(content: bytes) -> bytes:
    """Lengths in front: no two different frames give the same bytes."""
    return len(content).to_bytes(8, "little") + content
