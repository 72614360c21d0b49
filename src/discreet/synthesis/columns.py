"""Columns as whole numbers: places among codes, or steps of a number or date.

In: columns of records. CONFIDENTIAL. Out: the same as whole numbers, on which trees are grown and
attacks run exactly; made-up whole numbers as columns of the same type again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, IntArray
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.pretabular import coded

MISSING = -(2**62)
#: Numbers with so many different values at most are codes.
_FEW = 20
#: Groups of a column, the missing ones besides; and digits after a decimal point.
GROUPS, _DIGITS = 62, 6


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class NumberedColumn:
    """A column of the original. CONFIDENTIAL."""

    name: str
    dtype: pl.DataType
    codes: pl.Series | None  # what places stand for; None for numbers
    scale: int  # steps of a number in one of its units
    places: IntArray  # of each record; `MISSING` if it has no value
    rare: IntArray  # places of few records, in order
    single: IntArray  # places of one record, in order
    ends: tuple[int, int]  # what as many records reach or pass, of numbers

    def decoded(self, places: IntArray) -> pl.Series:
        """A column of these places."""
        there, filled = places != MISSING, np.where(places == MISSING, 0, places)
        if self.codes is not None:
            values = self.codes.gather(filled)
        else:
            float_ = self.dtype.is_float()
            values = pl.Series(filled / self.scale if float_ else filled * self.scale)
        values = values.zip_with(pl.Series(there), values.clear(len(values)))
        return values.alias(self.name).cast(self.dtype)


def group_begins(places: IntArray, size: int = GROUPS) -> IntArray:
    """Starts of groups of about equal numbers of records; few values are a group each.

    >>> group_begins(np.array([MISSING, 3, 1, 3, 7])).tolist()
    [3, 7]
    """
    present = np.sort(places[places != MISSING])
    different = np.unique(present)
    if len(different) <= size:
        return different[1:]
    cuts: IntArray = np.unique(present[np.arange(1, size) * len(present) // size])
    return cuts


def grouped(places: IntArray, begins: IntArray) -> IntArray:
    """The group of each place; 0 for what is missing.

    >>> grouped(np.array([MISSING, 0, 5, 9]), np.array([5])).tolist()
    [0, 1, 2, 2]
    """
    at = 1 + np.searchsorted(begins, places, side="right")
    return np.where(places == MISSING, 0, at)


def classed(column: NumberedColumn, places: IntArray, size: int) -> IntArray:
    """Codes as they are, numbers in so many groups of the original."""
    if column.codes is not None:
        return places
    return grouped(places, group_begins(column.places, size))


def columns_of(
    frame: pl.DataFrame, names: Sequence[str], codes: Sequence[str], least: int
) -> list[NumberedColumn]:
    """Columns as whole numbers; one error for all that cannot be."""
    problems: list[Problem] = []
    columns = []
    for name in names:
        values, dtype = frame[name], frame[name].dtype
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration, pl.Time, pl.Null):
            problems.append(Problem(f"cannot synthesise values of type {dtype}", name, "drop it"))
            continue
        if dtype.is_float():
            values = values.fill_nan(None)
        texts, scale = None, 1
        number = dtype.is_numeric() and name not in codes and values.n_unique() > _FEW
        if number or dtype.is_temporal():
            places, scale = _steps(values)
        else:
            at, held = coded(values.to_frame())
            places, texts = np.where(at < 0, MISSING, at), held.to_series()
        different, sizes = np.unique(places[places != MISSING], return_counts=True)
        ordered = np.sort(places[places != MISSING])
        enough = (sizes >= least).any() if texts is not None else len(ordered) >= 2 * least
        if not enough:
            what = "no code has" if texts is not None else "too few values for"
            problems.append(Problem(f"{what} {least} records", name, "omit or recode the column"))
            continue
        columns.append(
            NumberedColumn(
                name=name, dtype=dtype, codes=texts, scale=scale, places=places,
                rare=different[sizes < least], single=different[sizes == 1],
                ends=(int(ordered[least - 1]), int(ordered[-least])),
            )
        )  # fmt: skip
    raise_all(MicrodataError, problems, code="synthesise")
    return columns


def _steps(values: pl.Series) -> tuple[IntArray, int]:
    """Numbers and dates in steps, and the steps in a unit, or the units in a step."""
    scale = 1
    if values.dtype.is_temporal():
        unit = getattr(values.dtype, "time_unit", "")
        scale = {"ms": 10**3, "us": 10**6, "ns": 10**9}.get(unit, 1)
        whole = values.to_physical().cast(pl.Int64) // scale
    elif values.dtype.is_integer():
        whole = values.cast(pl.Int64)
    else:
        plain = values.cast(pl.Float64).fill_null(0).to_numpy()
        size = float(np.abs(plain).max(initial=1.0))
        while scale < 10**_DIGITS and size * scale * 10 < 2**52:
            if (np.rint(plain * scale) / scale == plain).all():
                break
            scale *= 10
        steps = pl.Series(np.rint(plain * scale).astype(np.int64))
        whole = pl.select(pl.when(values.is_not_null()).then(steps)).to_series()
    return whole.fill_null(MISSING).to_numpy(), scale


def apart(places: IntArray, column: NumberedColumn, up: BoolArray) -> IntArray:
    """Places of a number that are those of no single record: the next ones, up or down."""
    single, (low, high) = column.single, column.ends
    at = np.searchsorted(single, places)
    hit = (at < len(single)) & (single[np.minimum(at, len(single) - 1)] == places)
    hit &= places != MISSING
    if not hit.any():
        return places
    # The ends of runs of values next to each other.
    run = np.cumsum(np.diff(single, prepend=single[0]) > 1)
    last = single[np.searchsorted(run, run, side="right") - 1] + 1
    first = single[np.searchsorted(run, run, side="left")] - 1
    above, below = last[at[hit]], first[at[hit]]
    chosen = np.where((up[hit] & (above <= high)) | (below < low), above, below)
    if (chosen > high).any():
        message, hint = "nearly every value is that of one record", "round them, or omit the column"
        raise MicrodataError(message, code="synthesise", where=column.name, hint=hint)
    moved = places.copy()
    moved[hit] = chosen
    return moved


def frame_of(columns: Sequence[NumberedColumn], drawn: Sequence[Any]) -> pl.DataFrame:
    """Made-up records."""
    return pl.DataFrame([one.decoded(own) for one, own in zip(columns, drawn, strict=True)])
