"""`Table`: true values. CONFIDENTIAL: it can be protected, never published.

In: cells that `tabulate` counted, or a frame with one row per cell that a database or
another tool counted. Out: a `Table`, and the `Contributions` of records to the cells of
each value column: what the noise of sums and the rules for sensitive cells look at.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from discreet.arrays import CellIndex, FloatArray, IntArray, PositionArray
from discreet.classifications import Classification, flat, natural_order, texts_of_codes
from discreet.confidential import without_values
from discreet.errors import DiscreetError, Problem, TableError, raise_all
from discreet.key_check import KeyCheck
from discreet.keygrid import KeyGrid, check_digits, on_grid
from discreet.record_batches import arrow_package, collected
from discreet.tables.cell_values import Contributions, ValueColumns
from discreet.tables.dimension import Dimension, Parts, parts_of

#: Whole numbers in floats are codes below this size, where they fit 64 bits.
LARGEST_CODE = 2.0**63

Spanning = str | Classification | Sequence[Classification]

#: Columns that a `Table` has beside its spanning variables and sums.
COLUMNS = ("count", "cell_key", "weight")

_SHOWN = 10


def to_polars(frame: Any) -> pl.DataFrame:
    """Any frame in memory, or lazy result, as a polars frame."""
    if isinstance(frame, pl.DataFrame):
        return frame
    try:
        wrapped = nw.from_native(frame)
        if isinstance(wrapped, nw.LazyFrame):
            return collected(wrapped)
        with arrow_package():
            converted: pl.DataFrame = wrapped.to_polars()
    except (DiscreetError, MemoryError):
        raise
    except Exception as error:  # each engine has its own; their texts may hold data
        raise TableError(
            f"cannot read the frame ({type(error).__name__})",
            code="frame",
            where=type(frame).__name__,
            hint="use unique column names, and one type per column",
        ) from None
    return converted


def code_texts(series: pl.Series, where: str) -> pl.Series:
    """The values of a column as codes: texts as they are, whole numbers as digits."""
    return texts_of_codes(series, where, TableError)


def read_cells(
    cells: Any,
    by: Sequence[Spanning],
    *,
    count: str,
    cell_key: str | None,
    weight: str | None,
    grid: KeyGrid,
    digits: str = "exact",
) -> dict[str, Any]:
    """The fields of a `Table` from a frame with one row per cell."""
    check_by(by)
    frame = to_polars(cells)
    confidential = [column for column in (count, cell_key, weight) if column is not None]
    # Codes are published: true counts, keys and weights cannot be codes.
    problems = [
        Problem(f"column {_name(item)!r} is confidential and cannot be a spanning variable", "by")
        for item in by
        if _name(item) in confidential
    ]
    raise_all(TableError, problems, code="by", where="by")
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
        "cell_key": on_grid(frame[cell_key], grid, digits, column=cell_key) if cell_key else None,
        "grid": grid if cell_key else None,
        "weight": _weights(frame[weight], weight) if weight else None,
    }


def read_values(
    cells: Any,
    values: Mapping[str, ValueColumns] | None,
    parts: Mapping[str, Any],
    grid: KeyGrid,
    digits: str,
) -> dict[str, Any]:
    """The fields of a `Table` about values; none without values."""
    if not values:
        return {}
    if parts["cell_key"] is None or parts["weight"] is not None:
        message = "values need cell keys, and cells without weights"
        raise TableError(
            message, code="values", where="values", hint="tabulate the records instead"
        )
    frame = to_polars(cells)
    _check_columns(frame, [column for value in values.values() for column in value.columns])
    read = {name: column.read(name, frame, grid, digits) for name, column in values.items()}
    return {"sums": {name: of.total for name, of in read.items()}, "contributions": read}


def check_by(by: Sequence[Spanning], where: str = "by", names: str = "cells") -> None:
    """Raise unless `by` is a list of variables with names that a table can have."""
    if isinstance(by, str | Classification) or not isinstance(by, Sequence):
        raise TableError("by must be a list", code="by", where=where, hint='write by=["sex"]')
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
            "give a spanning variable as a column name, a classification, or a list of them",
            code="by",
            where="by",
        )
    _raise_name_problems([_name(item) for item in by], names)


def _raise_name_problems(names: Sequence[str], where: str) -> None:
    """Raise if variables share a name, or have that of a column of every table."""
    hint = "rename the column, or give a classification with another name and column="
    doubled = sorted({name for name in names if names.count(name) > 1})
    taken = sorted({*COLUMNS, "value", "status"} & set(names))
    problems = [Problem(f"variable {name!r} occurs twice in the table", "by") for name in doubled]
    problems += [
        Problem(f"a spanning variable cannot be called {name!r}", "by", hint) for name in taken
    ]
    raise_all(TableError, problems, code="by", where=where)


def _name(item: Spanning) -> str:
    if isinstance(item, str):
        return item
    return item.name if isinstance(item, Classification) else item[0].name


def _check_columns(frame: pl.DataFrame, wanted: Sequence[str]) -> None:
    missing = [column for column in wanted if column not in frame.columns]
    if missing:
        columns = ", ".join(frame.columns[:20])
        raise TableError(
            f"column {missing[0]!r} not found",
            code="missing-column",
            where="cells",
            hint=f"columns: {columns}",
            problems=[
                Problem(f"column {column!r} not found", "cells", f"columns: {columns}")
                for column in missing
            ],
        )


def _check_unique(dimensions: Sequence[Dimension], index: Sequence[Any], height: int) -> None:
    names = [dimension.name for dimension in dimensions]
    places = pl.DataFrame(dict(zip(names, index, strict=True)))
    doubled = height - (places.n_unique() if names else min(height, 1))
    if doubled:
        raise TableError(
            f"{doubled:,} cells are listed more than once",
            code="cells",
            where=", ".join(names),
            hint="add the missing spanning variable, or sum the rows first",
        )


def _positions(codes: pl.Series, item: Spanning) -> tuple[Dimension, Any]:
    occurring = codes.drop_nulls().unique().to_list()
    dimension = _dimension(item, occurring, has_nulls=codes.null_count() > 0)
    unknown = sorted(code for code in occurring if code not in dimension.index)
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


def _dimension(item: Spanning, occurring: Sequence[str], *, has_nulls: bool) -> Dimension:
    if isinstance(item, str):
        probe = Classification(name=item, codes=("Total",), parents=(-1,))
        codes = natural_order([code for code in occurring if code != probe.total])
        trees = [flat(item, codes, found="all")]
    else:
        trees = [item] if isinstance(item, Classification) else list(item)
    if has_nulls:
        trees[0] = trees[0].with_missing()
    return Dimension(classifications=tuple(trees))


def _counts(series: pl.Series, where: str) -> IntArray:
    numbers = series.cast(pl.Float64, strict=False)
    bad = (numbers.is_null()) | (numbers < 0) | (numbers != numbers.floor()) | (numbers > 2.0**53)
    if not series.dtype.is_numeric():
        raise TableError(
            f"counts must be whole numbers; the column has type {series.dtype}",
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
    numbers = series.cast(pl.Float64, strict=False)
    bad = numbers.is_null() | ~numbers.is_finite()
    if bool(bad.any()):
        raise TableError(
            f"{int(bad.sum()):,} cells lack a finite sum of weights", code="weights", where=where
        )
    return numbers.to_numpy()


_ENOUGH_BITS = 256


def sort_cells(dimensions: Sequence[Dimension], index: Sequence[PositionArray]) -> IntArray:
    """The order in which cells stand: by position of their codes, first variable first.

    A table without spanning variables has one cell, its grand total.
    """
    if not index:
        return np.zeros(1, dtype=np.int64)
    flat, _ = CellIndex.of(dimensions).joined(index)
    if flat.size and bool(np.all(flat[1:] > flat[:-1])):
        return np.arange(flat.size, dtype=np.int64)
    return np.argsort(flat, kind="stable").astype(np.int64)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Table:
    """Cells with their true values and cell keys (confidential).

    Made by `discreet.tabulate` from records, or by `Table.from_cells` from cells
    that a database or another tool has counted.

    Args:
        dimensions: The spanning variables.
        index: Per spanning variable, the position of each cell's code in it.
        count: Number of records of each cell.
        cell_key: Sum of the record keys on the grid, if keys were given.
        grid: The key grid of the cell keys.
        weight: Sum of weights of each cell, if the table is weighted.
        sums: Per value column, its (weighted) sum in each cell.
        contributions: Per value column, its largest contributions, if asked for.
        where: The filter the records passed, as text; empty for all records.
        name: Name of the table.
        parts: The table parts it has, if cells made elsewhere lack some; None for all.
        keys: What a test of the record keys found, where there were records with keys.
        only: Per value column, "" for counts, a number that stands for the only contributor of
            each cell, negative where there are several; nothing where that is not known.
        unit: What its records are, such as "households", where tables of several kinds of units
            are protected together; empty for the main ones.
        added_up: Whether every cell above one with records is there, and was added up from those
            below it, as `discreet.tabulate` does.
    """

    dimensions: tuple[Dimension, ...]
    index: tuple[PositionArray, ...]
    count: IntArray
    cell_key: IntArray | None = None
    grid: KeyGrid | None = None
    weight: FloatArray | None = None
    sums: Mapping[str, FloatArray] = field(default_factory=dict)
    contributions: Mapping[str, Contributions] = field(default_factory=dict)
    where: str = ""
    name: str = "table"
    parts: Parts | None = None
    keys: KeyCheck | None = None
    only: Mapping[str, IntArray] = field(default_factory=dict)
    unit: str = ""
    added_up: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sums", MappingProxyType(dict(self.sums)))
        object.__setattr__(self, "contributions", MappingProxyType(dict(self.contributions)))
        if (self.cell_key is None) != (self.grid is None):
            raise TableError("cell keys and their grid need each other", code="table")
        optional: list[IntArray | FloatArray | None] = [self.cell_key, self.weight]
        lengths = {len(part) for part in self.index} | {len(part) for part in self.sums.values()}
        lengths |= {len(part) for part in optional if part is not None}
        lengths |= {len(part) for part in self.contributions.values()}
        lengths |= {len(part) for part in self.only.values()}
        if lengths - {len(self.count)}:
            raise TableError("the columns of a table differ in length", code="table")

    @classmethod
    @without_values
    def from_cells(
        cls,
        cells: Any,
        by: Sequence[str | Classification | Sequence[Classification]],
        *,
        count: str,
        cell_key: str | None = None,
        weight: str | None = None,
        values: Mapping[str, ValueColumns] | None = None,
        key_grid: KeyGrid | int | str = 10**15,
        key_digits: str = "exact",
        where: str = "",
        name: str = "table",
    ) -> Table:
        """Take cells that were counted elsewhere.

        Args:
            cells: A frame (polars, pandas, pyarrow, …) with one row per cell.
            by: The spanning variables: names or classifications.
            count: Column with the number of records.
            cell_key: Column with the cell keys: integers of the grid, or decimals in
                [0, 1) with at most 15 digits.
            weight: Column with the sum of weights.
            values: Per value column, which columns hold its sums and largest contributions.
            key_grid: The grid of the cell keys.
            key_digits: "exact", or "round" for cell keys that are sums of floats.
            where: Description of a filter the cells were made with.
            name: Name of the table.

        Cells that are not listed are zero, but only on the parts (levels) that are
        there: a margin that was not handed in is unknown.

        >>> import polars as pl
        >>> cells = pl.DataFrame({"sex": ["Total", "m"], "n": [7, 3], "key": [0.25, 0.75]})
        >>> Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
        <Table table (confidential): sex, 2 cells>
        """
        grid = KeyGrid.of(key_grid)
        check_digits(key_digits, grid)
        parts = read_cells(
            cells, by, count=count, cell_key=cell_key, weight=weight, grid=grid, digits=key_digits
        )
        return cls(
            **parts, **read_values(cells, values, parts, grid, key_digits), where=where, name=name
        )

    def __len__(self) -> int:
        return len(self.count)

    def contributors(self, value: str | None) -> IntArray:
        """Records that contribute to a value: those that have one, as far as that is known.

        Args:
            value: The value column; None for counts, to which all records contribute.
        """
        contribution = self.contributions.get(value or "")
        return self.count if contribution is None else contribution.count

    def to_polars(self) -> pl.DataFrame:
        """All cells as a frame. CONFIDENTIAL: true counts and cell keys."""
        columns: dict[str, Any] = {}
        for dimension, part in zip(self.dimensions, self.index, strict=True):
            columns[dimension.name] = pl.Series(dimension.codes, dtype=pl.String).gather(part)
        columns["count"] = self.count
        if self.cell_key is not None:
            columns["cell_key"] = self.cell_key
        if self.weight is not None:
            columns["weight"] = self.weight
        columns.update(self.sums)
        return pl.DataFrame(columns)

    def without_fingerprint(self) -> Table:
        """The same table where no digest is printed."""
        table = copy(self)
        vars(table)["_fingerprint"] = None
        return table

    def of_cells(self, chosen: IntArray) -> Table:
        """Some cells of a table of counts, in order; its fingerprint stays that of all."""
        some = replace(
            self,
            index=tuple(part.take(chosen) for part in self.index),
            count=self.count.take(chosen),
            cell_key=None if self.cell_key is None else self.cell_key.take(chosen),
            added_up=False,
        )
        vars(some)["_fingerprint"] = self._fingerprint
        return some

    def fingerprint(self) -> bytes | None:
        """A digest of the cells to key other digests with; None when it could be guessed.

        A digest of few cells could be found by trial; 256 bits of keys cannot.
        """
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> bytes | None:
        if self.cell_key is None or self.grid is None:
            return None
        enough = _ENOUGH_BITS / math.log2(self.grid.size)
        for last in (len(self) // 16, len(self)):  # the first cells will mostly do
            inner = np.ones(last, dtype=np.bool_)
            for dimension, part in zip(self.dimensions, self.index, strict=True):
                inner &= dimension.is_leaf.take(part[:last])
            if np.count_nonzero(inner) >= enough:
                break
        else:
            return None
        digest = hashlib.sha256(b"discreet table 1")
        for dimension, part in zip(self.dimensions, self.index, strict=True):
            digest.update("\0".join((dimension.name, *dimension.codes)).encode())
            digest.update(np.ascontiguousarray(part, dtype="<i4").data)
        digest.update(str(self.grid.size).encode())
        for column in (self.count, self.cell_key):
            digest.update(np.ascontiguousarray(column, dtype="<i8").data)
        return digest.digest()

    def __repr__(self) -> str:
        names = " × ".join(dimension.name for dimension in self.dimensions) or "grand total"
        return f"<Table {self.name} (confidential): {names}, {len(self):,} cells>"
