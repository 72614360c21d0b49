"""Values of existing keys, taken to the key grid.

In: keys as another tool wrote them. Out: whole numbers on the grid, exactly, or
rounded where the caller says so. Confidential on both sides.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from discreet.errors import RecordKeyError
from discreet.keygrid import CENSUS_GRID, DECIMALS, IntArray, KeyGrid, grid_keys

__all__ = ["DIGITS", "check_digits", "on_grid"]

#: What to do with decimals of more digits than the grid has.
DIGITS: Final = ("exact", "round")

_DECIMAL = r"^\s*\+?0*(\d*)\.(\d+)\s*$"


def check_digits(digits: str, grid: KeyGrid) -> None:
    """Raise an error unless `digits` is a choice that suits the grid."""
    if digits not in DIGITS:
        raise RecordKeyError(
            f"digits={digits!r} is not a choice", code="digits", hint=f"use {' or '.join(DIGITS)}"
        )
    if digits == "round" and grid != CENSUS_GRID:
        raise RecordKeyError(
            "only decimals in [0, 1) can be rounded",
            code="digits",
            where=f"grid {grid}",
            hint="keys of this grid are whole numbers; leave out digits",
        )


def on_grid(keys: pl.Series, grid: KeyGrid, digits: str, *, column: str) -> IntArray:
    """Keys as whole numbers of the grid.

    Args:
        keys: Floats, decimal texts, decimals or whole numbers.
        grid: The grid they were made for.
        digits: "exact" refuses decimals finer than the grid, "round" rounds them.
        column: Name to use in errors.

    >>> on_grid(pl.Series([0.1 + 0.2]), CENSUS_GRID, "round", column="key").tolist()
    [300000000000000]
    """
    if digits == "round":
        keys = _rounded(keys)
    return grid_keys(keys, grid, column=column)


def _rounded(keys: pl.Series) -> pl.Series:
    """Decimals rounded half up to 15 digits; 1 is 0 again. Odd values stay for the check."""
    if keys.dtype.is_float():
        values = keys.cast(pl.Float64).to_numpy()
        if keys.null_count() or not bool(((values >= 0) & (values < 1)).all()):
            return keys
        numbers = np.floor(values * float(CENSUS_GRID.size) + 0.5).astype(np.int64)
        return pl.Series(keys.name, numbers % CENSUS_GRID.size)
    if keys.dtype in (pl.String, pl.Categorical) or keys.dtype.is_decimal():
        return _rounded_texts(keys.cast(pl.String))
    return keys


def _rounded_texts(texts: pl.Series) -> pl.Series:
    whole = texts.str.extract(_DECIMAL, 1)
    part = texts.str.extract(_DECIMAL, 2)
    upward = (part.str.slice(DECIMALS, 1) >= "5").cast(pl.Int64)
    number = part.str.slice(0, DECIMALS).str.pad_end(DECIMALS, "0").cast(pl.Int64) + upward
    rounded = "0." + (number % CENSUS_GRID.size).cast(pl.String).str.zfill(DECIMALS)
    finer = (part.str.len_bytes() > DECIMALS).fill_null(value=False)
    # What is 1 or more is off the grid however it is rounded.
    return rounded.zip_with(whole == "", pl.Series(["1"])).zip_with(finer, texts)
