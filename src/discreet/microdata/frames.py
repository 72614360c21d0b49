"""Frames of records, whatever engine holds them.

In: any frame narwhals reads. Out: the same kind of frame with one more column,
computed from others row by row. Records are confidential.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import polars as pl

from discreet.arrays import IntArray
from discreet.errors import DiscreetError, MicrodataError, Problem
from discreet.microdata.relations import hand_over, quoted
from discreet.record_batches import ArrowStream, arrow_package, collected

if TYPE_CHECKING:
    import duckdb

NarwhalsFrame: TypeAlias = "nw.DataFrame[Any] | nw.LazyFrame[Any]"

#: Values of one new column from the columns it depends on, row by row.
RowFunction = Callable[[pl.DataFrame], IntArray]


def open_frame(frame: Any) -> NarwhalsFrame:
    """See `frame` through narwhals.

    >>> open_frame(pl.DataFrame({"id": [1]})).columns
    ['id']
    """
    try:
        opened: NarwhalsFrame = nw.from_native(frame)
    except (TypeError, ValueError) as error:
        message = (
            "not a data frame of records"
            if isinstance(error, TypeError)
            else "cannot use the frame; its column names may not be unique"
        )
        hint = "use polars, pandas, pyarrow, DuckDB or PySpark frames, or read_microdata(path)"
        raise MicrodataError(message, code="frame", where=type(frame).__name__, hint=hint) from None
    names = opened.collect_schema().names()
    if len(set(names)) != len(names):
        raise MicrodataError("column names occur more than once", code="duplicate-columns")
    return opened


def like(result: NarwhalsFrame, original: Any) -> Any:
    """`result` as the kind of frame `original` is: narwhals for narwhals, else native."""
    wrapped = isinstance(original, nw.DataFrame | nw.LazyFrame)
    return result if wrapped else result.to_native()


def name_list(names: str | Sequence[str], what: str) -> list[str]:
    """One or several column names as a list."""
    listed = [names] if isinstance(names, str) else list(names)
    if not listed or len(set(listed)) != len(listed):
        message = f"{what} needs one or more different column names"
        raise MicrodataError(message, code="columns", where=what)
    return listed


def only_row(frame: NarwhalsFrame) -> dict[str, int]:
    """The numbers of a frame of one row; what is missing is 0."""
    row = collected(frame).row(0, named=True)
    return {name: int(value or 0) for name, value in row.items()}


def require_columns(frame: NarwhalsFrame, names: Sequence[str]) -> None:
    """Raise an error that lists all of `names` the frame does not have."""
    columns = frame.collect_schema().names()
    missing = [name for name in names if name not in columns]
    if missing:
        hint = f"columns: {', '.join(columns)}"
        raise MicrodataError(
            "columns not found" if len(missing) > 1 else "column not found",
            code="missing-column",
            where=", ".join(missing),
            hint=hint,
            problems=[Problem("column not found", name, hint) for name in missing],
        )


def require_new(frame: NarwhalsFrame, column: str) -> None:
    """Raise an error if the frame already has a column of this name."""
    if column in frame.collect_schema().names():
        message = "the column exists already"
        hint = "choose another name, or drop the column first"
        raise MicrodataError(message, code="existing-column", where=column, hint=hint)


def eager_columns(frame: nw.DataFrame[Any], names: Sequence[str]) -> pl.DataFrame:
    """Columns of a frame in memory, as polars."""
    return pl.DataFrame([_as_polars(frame, name) for name in names])


def _as_polars(frame: nw.DataFrame[Any], name: str) -> pl.Series:
    try:
        with arrow_package():
            return frame.get_column(name).to_polars().rename(name)
    except DiscreetError:
        raise
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        raise _mixed(name) from None
    except Exception as error:  # pyarrow's own errors, without importing pyarrow
        if type(error).__module__.startswith("pyarrow"):
            raise _mixed(name) from None
        raise


def _mixed(name: str) -> MicrodataError:
    message = "the column holds values of different types"
    hint = "convert it to whole numbers or text first"
    return MicrodataError(message, code="column-type", where=name, hint=hint)


def with_values(
    frame: nw.DataFrame[Any], column: str, values: IntArray | list[str]
) -> nw.DataFrame[Any]:
    """A frame in memory with `values` as a column, by position; a pandas index stays."""
    native = frame.to_native()
    if frame.implementation.is_pandas():
        return nw.from_native(native.assign(**{column: values}), eager_only=True)
    kind = nw.String() if isinstance(values, list) else nw.Int64()
    return frame.with_columns(nw.new_series(column, values, kind, backend=frame.implementation))


def with_computed(
    frame: NarwhalsFrame,
    names: Sequence[str],
    column: str,
    function: RowFunction,
    *,
    as_text: bool,
    distinct: bool = False,
) -> NarwhalsFrame:
    """The frame with a column of whole numbers computed from `names`, row by row.

    Frames in memory are computed at once; polars plans stay plans. DuckDB computes
    the values of `names` once, in memory, and joins them to the relation.
    """
    if isinstance(frame, nw.DataFrame):
        taken = eager_columns(frame, names)
        return with_values(frame, column, function(taken.cast(pl.String) if as_text else taken))
    if frame.implementation.is_polars():
        return nw.from_native(_polars_plan(frame.to_native(), names, column, function, as_text))
    if frame.implementation.is_duckdb():
        relation = frame.to_native()
        return nw.from_native(_joined(relation, names, column, function, as_text, distinct))
    raise unsupported(frame)


def unsupported(frame: NarwhalsFrame) -> MicrodataError:
    """The error for engines that cannot compute keys."""
    return MicrodataError(
        "cannot add record keys to frames of this engine",
        code="engine",
        where=frame.implementation.name.lower(),
        hint="use polars, pandas, pyarrow, DuckDB or PySpark, or collect the frame first",
    )


def _polars_plan(
    plan: pl.LazyFrame, names: Sequence[str], column: str, function: RowFunction, as_text: bool
) -> pl.LazyFrame:
    def values(rows: pl.Series) -> pl.Series:
        try:
            return pl.Series(function(rows.struct.unnest()), dtype=pl.Int64)
        except DiscreetError as error:  # polars cannot carry other errors through a plan
            raise pl.exceptions.ComputeError(str(error)) from None

    taken = [pl.col(name).cast(pl.String) if as_text else pl.col(name) for name in names]
    computed = pl.struct(taken).map_batches(values, return_dtype=pl.Int64, is_elementwise=True)
    return plan.with_columns(computed.alias(column))


def _joined(
    relation: duckdb.DuckDBPyRelation,
    names: Sequence[str],
    column: str,
    function: RowFunction,
    as_text: bool,
    distinct: bool,
) -> duckdb.DuckDBPyRelation:
    types = dict(zip(relation.columns, relation.types, strict=True))
    forms = [_sql_form(name, str(types[name]), as_text) for name in names]
    inner = [f'"c{at}"' for at in range(len(names))]
    listed = ", ".join(f"{form} as {to}" for form, to in zip(forms, inner, strict=True))
    chosen = relation.project(listed)
    taken, values = _computed(chosen, names, function, distinct)
    computed = ArrowStream(taken.with_columns(pl.Series("value", values)))
    named = hand_over(relation, computed) or "computed"
    matches = " and ".join(
        f"{_sql_form(name, str(types[name]), as_text, 'discreet_records.')} = discreet_values.{to}"
        for name, to in zip(names, inner, strict=True)
    )
    joined = relation.query(
        "discreet_records",
        f"select discreet_records.*, discreet_values.value as {quoted(column)} "  # noqa: S608
        f"from discreet_records left join {named} as discreet_values on {matches}",
    )
    assert joined is not None  # only statements without a result give None
    return joined


def _computed(
    chosen: duckdb.DuckDBPyRelation, names: Sequence[str], function: RowFunction, distinct: bool
) -> tuple[pl.DataFrame, IntArray]:
    """The values the function needs, and what it makes of them."""
    taken = pl.DataFrame(ArrowStream(chosen.distinct() if distinct else chosen))
    named = dict(zip(taken.columns, names, strict=True))
    try:
        return taken, function(taken.rename(named))
    except DiscreetError:
        if distinct:  # say how many records are at fault, not how many values
            function(pl.DataFrame(ArrowStream(chosen)).rename(named))
        raise


def _sql_form(name: str, kind: str, as_text: bool, table: str = "") -> str:
    """The column in a type that reaches polars unchanged (wide integers would turn to floats)."""
    plain = table + quoted(name)
    if as_text or kind.startswith(("ENUM", "VARCHAR")):
        return f"cast({plain} as varchar)"
    if kind in {"HUGEINT", "UHUGEINT", "UBIGINT"}:
        return f"coalesce(try_cast({plain} as bigint), -1)"
    return plain
