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
from discreet.tables.parts import parts_of

if TYPE_CHECKING:
    import polars as pl

    from discreet.tables.table import FloatArray, IntArray

__all__ = [
    "COLUMNS",
    "LARGEST_CODE",
    "Spanning",
    "code_texts",
    "fractions",
    "raise_name_problems",
    "read_cells",
    "to_polars",
]

#: Whole numbers in floats are codes below this size, where they fit 64 bits.
LARGEST_CODE = 2.0**63

Spanning = str | Classification | Sequence[Classification]

#: Columns that a `Table` has beside its spanning variables and sums.
COLUMNS = ("count", "cell_key", "weight")

_SHOWN = 10


def to_polars(frame: Any) -> pl.DataFrame:
    """Any frame in memory, or lazy result, as a polars frame."""
    import narwhals as nw
    import polars as pl

    if isinstance(frame, pl.DataFrame):
        return frame
    try:
        wrapped = nw.from_native(frame)
        if isinstance(wrapped, nw.LazyFrame):
            wrapped = wrapped.collect(backend="polars")
        converted: pl.DataFrame = wrapped.to_polars()
    except MemoryError:
        raise
    except Exception as error:  # each engine has its own; their texts may hold data
        raise TableError(
            f"this is not a frame that can be read ({type(error).__name__})",
            code="frame",
            where=type(frame).__name__,
            hint="column names are unique, and the values of a column of one type",
        ) from None
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
            raise fractions(where)
        return whole.cast(pl.String)
    whole_number = dtype.is_integer() or (isinstance(dtype, pl.Decimal) and not dtype.scale)
    dated = dtype.is_temporal() and dtype != pl.Duration
    if whole_number or dated or dtype in (pl.Boolean, pl.Null, pl.Categorical, pl.Enum):
        return series.cast(pl.String)
    raise TableError(f"a column of type {dtype} cannot hold codes", code="codes", where=where)


def fractions(where: str) -> TableError:
    """The error for codes that are numbers with decimals."""
    return TableError(
        "numbers with decimals cannot serve as codes",
        code="codes",
        where=where,
        hint="group them with Classification.from_intervals",
    )


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
    _check_by(by)
    frame = to_polars(cells)
    confidential = [column for column in (count, cell_key, weight) if column is not None]
    _check_names([_name(item) for item in by], confidential)
    _check_columns(frame, [*(_name(item) for item in by), *confidential])
    dimensions, index = [], []
    for item in by:
        name = _name(item)
        dimension, position = _positions(code_texts(frame[name], name), item)
        dimensions.append(dimension)
        index.append(position)
    _check_unique(dimensions, index, frame.height)
    return {
        "dimensions": tuple(dimensions),
        "index": tuple(index),
        "parts": parts_of(dimensions, index, frame.height) if frame.height else None,
        "count": _counts(frame[count], count),
        "cell_key": grid_keys(frame[cell_key], grid, column=cell_key) if cell_key else None,
        "grid": grid if cell_key else None,
        "weight": _weights(frame[weight], weight) if weight else None,
    }


def _check_by(by: Sequence[Spanning]) -> None:
    """Raise unless `by` is a list of variables with names that a table can have."""
    if isinstance(by, str | Classification) or not isinstance(by, Sequence):
        raise TableError("by is a list", code="by", where="by", hint='write by=["sex"]')
    sound = all(
        isinstance(item, str | Classification)
        or (
            isinstance(item, Sequence)
            and len(item) > 0
            and all(isinstance(tree, Classification) for tree in item)
        )
        for item in by
    )
    if not sound:
        raise TableError(
            "a spanning variable is a column name, a classification, or a list of those",
            code="by",
            where="by",
        )
    raise_name_problems([_name(item) for item in by])


def raise_name_problems(names: Sequence[str], where: str = "cells") -> None:
    """Raise if variables share a name, or have that of a column of every table."""
    hint = "rename the column, or give a classification of another name with column="
    doubled = sorted({name for name in names if names.count(name) > 1})
    taken = sorted({*COLUMNS, "value", "status"} & set(names))
    problems = [Problem(f"variable {name!r} spans the table twice", "by") for name in doubled]
    problems += [
        Problem(f"a spanning variable cannot be called {name!r}", "by", hint) for name in taken
    ]
    if problems:
        raise TableError(
            problems[0].what, code="by", where=where, hint=problems[0].hint, problems=problems
        )


def _name(item: Spanning) -> str:
    if isinstance(item, str):
        return item
    return item.name if isinstance(item, Classification) else item[0].name


def _check_names(names: Sequence[str], confidential: Sequence[str]) -> None:
    """Codes are published: true counts, keys and weights cannot be codes."""
    problems = [
        Problem(f"column {name!r} is confidential and cannot span a table", "by")
        for name in names
        if name in confidential
    ]
    if problems:
        raise TableError(problems[0].what, code="by", where="by", problems=problems)


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


def _check_unique(dimensions: Sequence[Dimension], index: Sequence[Any], height: int) -> None:
    import polars as pl

    names = [dimension.name for dimension in dimensions]
    places = pl.DataFrame(dict(zip(names, index, strict=True)))
    doubled = height - (places.n_unique() if names else min(height, 1))
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
            hint="add them to the classification, or correct the cells",
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
        codes = natural_order([code for code in found if code != probe.total])
        trees = [flat(item, codes, found="all")]
    else:
        trees = [item] if isinstance(item, Classification) else list(item)
    if has_nulls:
        trees[0] = trees[0].with_missing()
    return Dimension(classifications=tuple(trees))


def _counts(series: pl.Series, where: str) -> IntArray:
    import polars as pl

    numbers = series.cast(pl.Float64, strict=False)
    bad = (numbers.is_null()) | (numbers < 0) | (numbers != numbers.floor()) | (numbers > 2.0**53)
    if not series.dtype.is_numeric():
        raise TableError(
            f"counts are whole numbers, the column is of type {series.dtype}",
            code="counts",
            where=where,
        )
    if bool(bad.any()):
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
