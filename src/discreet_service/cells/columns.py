"""Columns: what is wrong with the columns of cells (CONFIDENTIAL), all at once. Problems tell how
many cells are concerned, and quote no value and no name that a caller made up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import Problem, raise_all
from discreet.keygrid import KeyGrid
from discreet_service.cells.bodies import as_numbers
from discreet_service.problems import ServiceError

#: How likely it may be that sound cells are taken for contradictions.
_BY_CHANCE = 1e-6


class HandedColumns:
    """The columns of cells, and what is wrong with them. CONFIDENTIAL."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame, self.problems = frame, list[Problem]()

    def check_names(self, known: Sequence[str], needed: Sequence[str] = ()) -> None:
        """Note columns that are missing, and that there are others; no name is repeated."""
        for name in needed:
            if name not in self.frame.columns:
                self.note("column not found", name)
        others = len(set(self.frame.columns) - set(known))
        if others:
            message = f"{others} columns are unknown"
            self.note(message, "cells", f"use only the columns {', '.join(known)}")

    def note(self, what: str, where: str, hint: str = "") -> None:
        """Note a problem."""
        self.problems.append(Problem(what, where, hint))

    def refuse(self) -> None:
        """Raise an error if there are problems."""
        refuse_cells(self.problems)

    def whole(self, name: str, below: int | None = None) -> IntArray:
        """A column of whole numbers of at least 0; zeros if it cannot be used."""
        series = self._column(name, pl.Int64)
        if not series.dtype.is_integer():
            hints = ("use whole numbers of at most 64 bits",
                     "send whole numbers of the key grid, not decimals")  # fmt: skip
            self.note("expected whole numbers", name, hints[series.dtype.is_float()])
            return np.zeros(len(series), dtype=np.int64)
        wide = series.cast(pl.Int64, strict=False)
        values = wide.fill_null(-1).to_numpy() if wide.null_count() else wide.to_numpy()
        wrong = int(np.count_nonzero(values < 0))
        flaw, hint = "a number below 0", ""
        if below is not None:
            wrong += int(np.count_nonzero(values >= below))
            flaw = "a key off the grid"
            hint = "use whole numbers of the key grid of the parameter set"
        if wrong:
            self.note(f"{wrong:,} of {len(values):,} cells have {flaw}", name, hint)
            return np.zeros(len(series), dtype=np.int64)
        return values

    def decimal(self, name: str) -> FloatArray:
        """A column of finite numbers of at least 0; zeros if it cannot be used."""
        series = self._column(name, pl.Float64)
        if not series.dtype.is_numeric():
            self.note("expected numbers", name)
            return np.zeros(len(series), dtype=np.float64)
        values = series.cast(pl.Float64).to_numpy()
        wrong = int(np.count_nonzero(~np.isfinite(values) | (values < 0)))
        if wrong:
            self.note(f"{wrong:,} of {len(values):,} cells lack a number of at least 0", name)
            return np.zeros(len(series), dtype=np.float64)
        return values

    def number(self, name: str, *, gaps: bool = False) -> pl.Series:
        """A column of numbers, of any sign, perhaps with gaps."""
        series = as_numbers(self.frame[name]) if gaps else self._column(name, pl.Float64)
        if not series.dtype.is_numeric():
            self.note("expected numbers", name)
        return series

    def yes_or_no(self, name: str) -> BoolArray:
        """A column of true and false, or 1 and 0; false if it cannot be used."""
        series = self._column(name, pl.Boolean)
        if series.dtype.is_integer() and series.is_in([0, 1]).all():
            series = series.cast(pl.Boolean)
        if series.dtype == pl.String:
            words = series.str.strip_chars().str.to_lowercase()
            series = words.replace_strict(
                {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
            )
        if series.dtype != pl.Boolean or series.null_count():
            self.note("expected true or false", name)
            return np.zeros(len(series), dtype=np.bool_)
        return series.to_numpy()

    def contradictions(self, count: IntArray, key: IntArray, grid: KeyGrid, where: str) -> None:
        """Note keys that come with different numbers of records, as the same records never do."""
        keys = conflicting_keys(count, key, grid)
        if keys:
            message = f"{keys:,} keys occur with different numbers of records"
            hint = "a key identifies the records of a cell: check the join of cells and keys"
            self.note(message, where, hint)

    def check_keys(self, count: IntArray, key: IntArray, grid: KeyGrid) -> None:
        """Raise an error if there are problems, or keys with different numbers of records."""
        if not self.problems:
            self.contradictions(count, key, grid, "key")
        self.refuse()

    def _column(self, name: str, kind: type[pl.DataType]) -> pl.Series:
        """A column, as numbers if it is one of texts that are; zeros in place of one with gaps."""
        if name in self.frame.columns:
            series = as_numbers(self.frame[name])
            missing = series.null_count()
            if series.dtype.is_float():
                missing += int(series.is_nan().sum())
            if not missing:
                return series
            self.note(f"{missing:,} of {len(series):,} cells lack a value", name)
        return pl.Series(name, np.zeros(self.frame.height, dtype=np.int8)).cast(kind)


def refuse_cells(problems: Iterable[Problem]) -> None:
    """Raise one error for all problems with cells; do nothing when there is none."""
    many = "{} problems with the cells"
    raise_all(ServiceError, problems, code="invalid-cells", many=many, where="cells")


def conflicting_keys(count: IntArray, key: IntArray, grid: KeyGrid) -> int:
    """Number of keys with different numbers of records; 0 if chance explains it.

    Sums of different records hit the same place of a grid now and then, of a small one often.

    >>> keys = np.array([5, 5, 7, 0, 0])
    >>> conflicting_keys(np.array([1, 2, 1, 0, 0]), keys, KeyGrid())
    1
    """
    pairs = pl.DataFrame({"key": key, "count": count}).filter(pl.col("count") > 0)
    expected = pairs.height**2 / (2 * grid.size)
    if expected > 1:  # different sums hit the same place all the time
        return 0
    # So many pairs of different sums may hit the same place.
    allowed, term = 0, math.exp(-expected)
    beyond = -math.expm1(-expected)
    while beyond > _BY_CHANCE:
        allowed += 1
        term *= expected / allowed
        beyond -= term
    counts = pairs.group_by("key").agg(differ=pl.col("count").min() < pl.col("count").max())
    found = int(counts["differ"].sum())
    return found if found > allowed else 0
