"""Reading cells that a database or another tool has counted.

In: a frame with one row per cell. Out: the fields of a confidential `Table`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.classifications import Classification, natural_order
from discreet.classifications.model import flat
from discreet.errors import Problem, TableError
from discreet.keygrid import KeyGrid, grid_keys
from discreet.tables.dimension import Dimension

if TYPE_CHECKING:
    import polars as pl

    from discreet.tables.table import FloatArray, IntArray

__all__ = ["Spanning", "code_texts", "read_cells", "to_polars"]

Spanning = str | Classification | Sequence[Classification]

_SHOWN = 10


def to_polars(frame: Any) -> pl.DataFrame:
    """Any frame in memory, or lazy result, as a polars frame."""
    import narwhals as nw
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    wrapped = nw.from_native(frame)
    if isinstance(wrapped, nw.LazyFrame):
        wrapped = wrapped.collect(backend="polars")
    converted: pl.DataFrame = wrapped.to_polars()
    return converted


def code_texts(series: pl.Series, where: str) -> pl.Series:
    """The values of a column as codes: texts as they are, whole numbers as digits."""
    import polars as pl

    dtype = series.dtype
    if dtype == pl.String:
        return series
    if dtype.is_float():
        series = series.fill_nan(None)
        whole = series.cast(pl.Int64, strict=False)
        if not bool((whole.cast(pl.Float64) == series).fill_null(series.is_null()).all()):
            raise TableError(
                "numbers with decimals cannot serve as codes",
                code="codes",
                where=where,
                hint="group them with Classification.from_intervals",
            )
        return whole.cast(pl.String)
    if dtype.is_integer() or dtype.is_temporal() or isinstance(dtype, pl.Categorical | pl.Enum):
        return series.cast(pl.String)
    if dtype == pl.Boolean:
        return series.cast(pl.String)
    if dtype == pl.Null:
        return series.cast(pl.String)
    raise TableError(f"a column of type {dtype} cannot hold codes", code="codes", where=where)


def read_cells(
    cells: Any,
    by: Sequence[Spanning],
    *,
    count: str,
    cell_key: str | None,
    weight: str | None,
    grid: KeyGrid,
) -> dict[str, Any]:
    """The fields of a `Table` from a frame with one row per cell."""
    frame = to_polars(cells)
    wanted = [_name(item) for item in by] + [count]
    wanted += [column for column in (cell_key, weight) if column is not None]
    _check_columns(frame, wanted)
    dimensions, index = [], []
    for item in by:
        name = _name(item)
        dimension, position = _positions(code_texts(frame[name], name), item)
        dimensions.append(dimension)
        index.append(position)
    _check_unique(frame, [_name(item) for item in by])
    return {
        "dimensions": tuple(dimensions),
        "index": tuple(index),
        "count": _counts(frame[count], count),
        "cell_key": grid_keys(frame[cell_key], grid, column=cell_key) if cell_key else None,
        "grid": grid if cell_key else None,
        "weight": _weights(frame[weight], weight) if weight else None,
    }


def _name(item: Spanning) -> str:
    if isinstance(item, str):
        return item
    return item.name if isinstance(item, Classification) else item[0].name


def _check_columns(frame: pl.DataFrame, wanted: Sequence[str]) -> None:
    missing = [column for column in wanted if column not in frame.columns]
    if missing:
        found = ", ".join(frame.columns[:20])
        raise TableError(
            f"column {missing[0]!r} is missing",
            code="missing-column",
            where="cells",
            hint=f"columns found: {found}",
            problems=[
                Problem(f"column {column!r} is missing", "cells", f"columns found: {found}")
                for column in missing
            ],
        )


def _check_unique(frame: pl.DataFrame, names: Sequence[str]) -> None:
    doubled = frame.height - (frame.select(names).n_unique() if names else min(frame.height, 1))
    if doubled:
        raise TableError(
            f"{doubled:,} cells are listed more than once",
            code="cells",
            where=", ".join(names),
            hint="one row per cell; add the missing spanning variable, or sum the rows first",
        )


def _positions(codes: pl.Series, item: Spanning) -> tuple[Dimension, Any]:
    import polars as pl

    found = codes.drop_nulls().unique().to_list()
    dimension = _dimension(item, found, has_nulls=codes.null_count() > 0)
    unknown = sorted(code for code in found if code not in dimension.index)
    if unknown:
        shown = ", ".join(repr(code) for code in unknown[:_SHOWN])
        raise TableError(
            f"{len(unknown)} codes are not in the classification: {shown}",
            code="unknown-code",
            where=dimension.name,
        )
    missing = dimension.classifications[0].missing
    filled = codes.fill_null(missing)
    table = pl.DataFrame(
        {"code": dimension.codes, "at": np.arange(len(dimension), dtype=np.int32)},
        schema={"code": pl.String, "at": pl.Int32},
    )
    joined = filled.to_frame("code").join(table, on="code", how="left", maintain_order="left")
    return dimension, joined["at"].to_numpy().astype(np.int32)


def _dimension(item: Spanning, found: Sequence[str], *, has_nulls: bool) -> Dimension:
    if isinstance(item, str):
        probe = Classification(name=item, codes=("Total",), parents=(-1,))
        trees = [flat(item, natural_order([code for code in found if code != probe.total]))]
    else:
        trees = [item] if isinstance(item, Classification) else list(item)
    if has_nulls:
        trees[0] = trees[0].with_missing()
    return Dimension(classifications=tuple(trees))


def _counts(series: pl.Series, where: str) -> IntArray:
    import polars as pl

    numbers = series.cast(pl.Float64, strict=False)
    bad = (numbers.is_null()) | (numbers < 0) | (numbers != numbers.floor()) | (numbers > 2.0**53)
    if not series.dtype.is_numeric() or bool(bad.any()):
        raise TableError(
            f"{int(bad.sum()):,} cells have a count that is not a whole number of at least 0",
            code="counts",
            where=where,
        )
    return series.cast(pl.Int64).to_numpy()


def _weights(series: pl.Series, where: str) -> FloatArray:
    import polars as pl

    numbers = series.cast(pl.Float64, strict=False)
    bad = numbers.is_null() | ~numbers.is_finite()
    if bool(bad.any()):
        raise TableError(
            f"{int(bad.sum()):,} cells have no finite sum of weights", code="weights", where=where
        )
    return numbers.to_numpy()
