"""`Contributions` to the cells of a table; `ValueColumns` of cells made elsewhere. CONFIDENTIAL.

In: a frame with one row per cell, its sums and largest contributions. Out: `Contributions` as
tabulation makes them of records. What noise and rules look at and cells do not tell is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.errors import TableError
from discreet.keygrid import KeyGrid, on_grid

#: Sums of floats may be this share below the sum of their largest contributions.
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Contributions:
    """Per cell of a table, the contributions to one value column (confidential).

    A record without a value contributes nothing and is not counted here; a record
    of value 0 is. Contributions are ordered by absolute unweighted value, then weight,
    then positive before negative, so that their order depends on nothing else.
    """

    column: str  # the value column
    #: Unweighted values of the largest contributions, cells × k; NaN where a cell has fewer
    top: FloatArray
    top_weight: FloatArray | None = None  # their weights, of the same shape; None if unweighted
    count: IntArray  # number of records with a value
    nonzero: IntArray  # number of those whose value is not 0
    key: IntArray | None = None  # cell key of the records with a value; None without record keys
    nonzero_key: IntArray | None = None  # cell key of the records whose value is not 0
    #: Sum of the weights of the records with a value; None if unweighted
    weight: FloatArray | None = None
    total: FloatArray  # sum of value × weight, as in `Table.sums`
    plain: FloatArray  # sum of the unweighted values; `total` if unweighted
    absolute: FloatArray  # sum of |value| × weight
    low: FloatArray  # smallest unweighted value; NaN where there is none
    high: FloatArray  # largest unweighted value; NaN where there is none

    def __post_init__(self) -> None:
        one_each = [self.count, self.nonzero, self.total, self.plain, self.absolute]
        one_each += [self.low, self.high]
        one_each += [part for part in (self.key, self.nonzero_key, self.weight) if part is not None]
        lengths = {len(part) for part in one_each} | {len(self.top)}
        if len(lengths) > 1 or self.top.ndim != 2:
            raise TableError("the contributions differ in length", code="table", where=self.column)
        if self.top_weight is not None and self.top_weight.shape != self.top.shape:
            raise TableError("weights and contributions differ", code="table", where=self.column)

    @property
    def k(self) -> int:
        """Number of largest contributions kept."""
        return int(self.top.shape[1])

    def __len__(self) -> int:
        return len(self.count)

    def __repr__(self) -> str:
        return f"<Contributions {self.column} (confidential): {len(self):,} cells>"


@dataclass(frozen=True, kw_only=True)
class ValueColumns:
    """Columns of a frame of cells that tell of a value, such as the rent. CONFIDENTIAL.

    Values are 0 or more, and unweighted.

    Args:
        total: Column with the sum of the values.
        largest: Columns with the largest contributions, the largest first; null where a cell
            has fewer.
        count: Column with the number of records with a value.
        cell_key: Column with the sum of their record keys.
        nonzero: Column with the number of those whose value is not 0; all of them if None.
        nonzero_key: Column with the sum of their record keys; that of all if None.
        smallest: Column with the smallest value, for noise taken from the range.

    >>> ValueColumns(total="rent", largest=["rent_1"], count="n", cell_key="key").columns
    ('rent', 'rent_1', 'n', 'key')
    """

    total: str
    largest: Sequence[str]
    count: str
    cell_key: str
    nonzero: str | None = None
    nonzero_key: str | None = None
    smallest: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.largest, str) or not self.largest:
            message = "give the columns of the largest contributions as a list"
            raise TableError(message, code="values", where=self.total)
        if (self.nonzero is None) != (self.nonzero_key is None):
            message = "nonzero and nonzero_key need each other"
            raise TableError(message, code="values", where=self.total)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        own = (self.total, *self.largest, self.count, self.cell_key)
        more = (self.nonzero, self.nonzero_key, self.smallest)
        return (*own, *(name for name in more if name is not None))

    def read(self, name: str, frame: pl.DataFrame, grid: KeyGrid, digits: str) -> Contributions:
        """The values of all cells, under a name."""
        total = _numbers(frame[self.total], empty=0.0)
        top = np.stack([_numbers(frame[column], empty=np.nan) for column in self.largest], axis=1)
        count = _whole(frame[self.count])
        nonzero, key = count, on_grid(frame[self.cell_key], grid, digits, column=self.cell_key)
        nonzero_key = key
        if self.nonzero is not None and self.nonzero_key is not None:
            nonzero, column = _whole(frame[self.nonzero]), self.nonzero_key
            nonzero_key = on_grid(frame[column], grid, digits, column=column)
        low = np.full(len(total), np.nan)
        if self.smallest is not None:
            low = _numbers(frame[self.smallest], empty=np.nan)
        # Sums, contributions and numbers of records fit each other.
        present = ~np.isnan(top)
        sums, ordered = np.where(present, top, 0.0), np.where(present, top, -np.inf)
        flaws = {
            "have negative values": (total < 0) | (sums < 0).any(axis=1),
            "have contributions in wrong order": (ordered[:, 1:] > ordered[:, :-1]).any(axis=1),
            "have contributions above their sum": (
                sums.sum(axis=1) > total * (1 + _ROUNDING) + _ROUNDING
            ),
            "have fewer contributions than records": (
                present.sum(axis=1) < np.minimum(count, top.shape[1])
            ),
            "have more contributions than records": present.sum(axis=1) > count,
            "have more nonzero records than records": nonzero > count,
        }
        for flaw, cells in flaws.items():
            if number := int(np.count_nonzero(cells)):
                raise TableError(f"{number:,} cells {flaw}", code="values", where=self.total)
        return Contributions(
            column=name,
            top=top,
            count=count,
            nonzero=nonzero,
            key=key,
            nonzero_key=nonzero_key,
            total=total,
            plain=total,
            absolute=total,
            low=low,
            high=top[:, 0],
        )


def _numbers(series: pl.Series, empty: float) -> FloatArray:
    if not series.dtype.is_numeric() and series.dtype != pl.Null:
        message = f"values must be numbers; the column has type {series.dtype}"
        raise TableError(message, code="values", where=series.name)
    numbers = series.cast(pl.Float64).fill_null(empty).to_numpy()
    if np.isinf(numbers).any():
        raise TableError("a value is infinite", code="values", where=series.name)
    return numbers


def _whole(series: pl.Series) -> IntArray:
    numbers = _numbers(series, empty=0.0)
    bad = int(np.count_nonzero((numbers < 0) | (numbers != np.floor(numbers))))
    if bad:
        message = f"{bad:,} cells have a number of records that is not a whole number of at least 0"
        raise TableError(message, code="values", where=series.name)
    return numbers.astype(np.int64)
