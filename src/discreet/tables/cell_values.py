"""`ValueColumns`: which columns of cells made elsewhere hold what of a value. CONFIDENTIAL.

In: a frame with one row per cell, its sums and largest contributions. Out: `Contributions` as
tabulation makes them of records. What noise and rules look at and cells do not tell is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.errors import TableError
from discreet.keygrid import KeyGrid, on_grid

if TYPE_CHECKING:
    import polars as pl

#: Sums of floats may be this share below the sum of their largest contributions.
_ROUNDING = 1e-9


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

    def read(self, frame: pl.DataFrame, grid: KeyGrid, digits: str) -> CellValues:
        """The values of all cells."""
        total = _numbers(frame[self.total], empty=0.0)
        top = np.stack([_numbers(frame[name], empty=np.nan) for name in self.largest], axis=1)
        count = _whole(frame[self.count])
        key = on_grid(frame[self.cell_key], grid, digits, column=self.cell_key)
        low = np.full(len(total), np.nan)
        if self.smallest is not None:
            low = _numbers(frame[self.smallest], empty=np.nan)
        same = self.nonzero is None or self.nonzero_key is None
        values = CellValues(
            total=total,
            top=top,
            count=count,
            key=key,
            nonzero=count if same else _whole(frame[str(self.nonzero)]),
            nonzero_key=key
            if same
            else on_grid(frame[str(self.nonzero_key)], grid, digits, column=str(self.nonzero_key)),
            low=low,
        )
        values.check(self.total)
        return values


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CellValues(Confidential):
    """What is known of a value in each cell. CONFIDENTIAL."""

    total: FloatArray
    top: FloatArray
    count: IntArray
    key: IntArray
    nonzero: IntArray
    nonzero_key: IntArray
    low: FloatArray

    def check(self, where: str) -> None:
        """Raise unless sums, contributions and numbers of records fit each other."""
        present = ~np.isnan(self.top)
        sums = np.where(present, self.top, 0.0)
        ordered = np.where(present, self.top, -np.inf)
        fewer = np.minimum(self.count, self.top.shape[1])
        flaws = {
            "have negative values": (self.total < 0) | (sums < 0).any(axis=1),
            "have contributions in wrong order": (ordered[:, 1:] > ordered[:, :-1]).any(axis=1),
            "have contributions above their sum": (
                sums.sum(axis=1) > self.total * (1 + _ROUNDING) + _ROUNDING
            ),
            "have fewer contributions than records": present.sum(axis=1) < fewer,
            "have more contributions than records": present.sum(axis=1) > self.count,
            "have more nonzero records than records": self.nonzero > self.count,
        }
        for flaw, cells in flaws.items():
            if number := int(np.count_nonzero(cells)):
                raise TableError(f"{number:,} cells {flaw}", code="values", where=where)


def _numbers(series: pl.Series, empty: float) -> FloatArray:
    import polars as pl

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
