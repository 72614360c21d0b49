"""Columns of a frame as codes.

In: any frame narwhals reads. Out: the distinct rows of some columns as texts.
Only combinations that occur are looked at, never how often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.classifications.checks import raise_problems
from discreet.errors import ClassificationError, Problem

if TYPE_CHECKING:
    import polars as pl

__all__ = ["column_names", "text_rows"]


def column_names(frame: Any, name: str) -> list[str]:
    """The names of a frame's columns."""
    return list(_wrapped(frame, name).collect_schema().names())


def text_rows(
    frame: Any, columns: Sequence[str], name: str, *, distinct: bool = False
) -> list[tuple[str | None, ...]]:
    """The rows of some columns as texts, whole numbers as digits, missing values as None.

    Args:
        frame: Any frame narwhals reads, in memory or lazy.
        columns: The columns wanted, in this order.
        name: Name of the classification, for messages.
        distinct: Give each combination once, in no particular order.
    """
    wrapped = _wrapped(frame, name)
    found = list(wrapped.collect_schema().names())
    raise_problems(
        name,
        [
            Problem(f"column {column!r} is missing", name, f"columns found: {', '.join(found)}")
            for column in columns
            if column not in found
        ],
        code="missing-column",
        what="{} columns are missing",
    )
    chosen = _read(wrapped, columns, name, distinct=distinct)
    return list(zip(*(_texts(series, name) for series in chosen), strict=True))


def _read(wrapped: Any, columns: Sequence[str], name: str, *, distinct: bool) -> pl.DataFrame:
    try:
        chosen = wrapped.select(list(columns))
        if distinct:
            chosen = chosen.unique()
        if hasattr(chosen, "collect"):
            chosen = chosen.collect(backend="polars")
        frame: pl.DataFrame = chosen.to_polars()
    except MemoryError:
        raise
    except Exception as error:  # each engine has its own; their texts may hold data
        raise ClassificationError(
            f"the columns cannot be read ({type(error).__name__})",
            code="codes",
            where=name,
            hint="the values of a column are of one type: make it a column of texts",
        ) from None
    return frame


def _wrapped(frame: Any, name: str) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(frame)
    except (TypeError, ValueError):
        raise ClassificationError(
            f"an object of type {type(frame).__name__} is not a table of codes",
            code="classification",
            where=name,
            hint="give a data frame, such as one of polars, pandas, pyarrow or DuckDB",
        ) from None


def _texts(series: pl.Series, name: str) -> list[str | None]:
    import polars as pl

    dtype = series.dtype
    if dtype.is_float():
        series = _whole(series, name)
    elif not (
        dtype.is_integer()
        or (dtype.is_temporal() and dtype != pl.Duration)
        or isinstance(dtype, pl.Categorical | pl.Enum)
        or dtype in (pl.String, pl.Boolean, pl.Null)
    ):
        raise ClassificationError(
            f"column {series.name!r} of type {dtype} cannot hold codes",
            code="codes",
            where=name,
            hint="make it a column of texts",
        )
    return series.cast(pl.String).to_list()


def _whole(series: pl.Series, name: str) -> pl.Series:
    """Numbers that are whole although their column can hold decimals."""
    import polars as pl

    filled = series.fill_nan(None)
    whole = filled.cast(pl.Int64, strict=False)
    if not bool(((whole.cast(pl.Float64) == filled).fill_null(False) | filled.is_null()).all()):
        raise ClassificationError(
            f"column {series.name!r} holds numbers with decimals; they cannot serve as codes",
            code="codes",
            where=name,
            hint="group them with Classification.from_intervals",
        )
    return whole
