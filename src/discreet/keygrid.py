"""Key grids: the integers 0 … M−1 that record keys and cell keys live on.

In: a grid's size or name. Out: exact arithmetic on keys. Keys are secret;
nothing in this module prints one.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from discreet.arrays import IntArray
from discreet.errors import RecordKeyError

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

#: Keys are added in two parts, ``key // LIMB`` and ``key % LIMB``, so that no
#: 64-bit sum of parts can overflow below nine thousand million records.
LIMB = 10**7

#: Keys written as decimals in [0, 1) have at most this many digits.
DECIMALS = 15

#: Floats this share of themselves away from a key are that key: one unit in the last place,
#: which division by a constant, as some engines do it, may cost.
ONE_PLACE = 2.0**-52

_MAX_SIZE = 10**DECIMALS
_HIGHEST_POWER = 50
#: What to do with decimals of more digits than the grid has.
DIGITS: Final = ("exact", "round")

_DECIMAL = r"^\s*\+?0*(\d*)\.(\d+)\s*$"
_PLAIN_DECIMAL = r"^\s*\+?(\d*)\.?(\d*)\s*$"


@dataclass(frozen=True, slots=True)
class KeyGrid:
    """The integers 0 … size−1, added modulo size.

    Args:
        size: Number of grid points, at most 10^15. 10^15 stands for keys in
            [0, 1) with 15 decimals; 256, 4096 and 2^32 are used by other offices.

    >>> KeyGrid(256).size
    256
    >>> KeyGrid.of("2^32").size
    4294967296
    """

    size: int = _MAX_SIZE

    def __post_init__(self) -> None:
        if not isinstance(self.size, int) or not 2 <= self.size <= _MAX_SIZE:
            raise RecordKeyError(
                "the size of a key grid must be a whole number from 2 to 10^15",
                code="key-grid",
                hint="usual grids: 256, 4096, 2^32, 10^15",
            )

    @classmethod
    def of(cls, value: KeyGrid | int | str) -> KeyGrid:
        """Accept a grid, its size, or a size written as a power ("10^15")."""
        if isinstance(value, KeyGrid):
            return value
        if isinstance(value, str):
            text = value.replace("**", "^").replace("_", "").strip()
            base, caret, exponent = text.partition("^")
            try:
                if caret and not 0 <= int(exponent) <= _HIGHEST_POWER:
                    raise ValueError
                size = int(base) ** int(exponent) if caret else int(text)
            except ValueError:
                raise RecordKeyError(
                    f"key grid {value!r} is not a number",
                    code="key-grid",
                    hint="usual grids: 256, 4096, 2^32, 10^15",
                ) from None
            return cls(size)
        return cls(value)

    def combine(self, high: IntArray, low: IntArray) -> IntArray:
        """Turn sums of ``key // LIMB`` and ``key % LIMB`` into keys on the grid.

        >>> KeyGrid(256).combine(np.array([0]), np.array([300])).tolist()
        [44]
        """
        size = self.size
        part = np.asarray(high, dtype=np.int64)
        if size % LIMB == 0:
            part = _rest(part, size // LIMB) * LIMB
        else:
            part = _rest(part, size)
            for step in (1000, 1000, 10):  # times LIMB without leaving 64 bits
                part = _rest(part * step, size)
        return _rest(part + _rest(np.asarray(low, dtype=np.int64), size), size)

    def __str__(self) -> str:
        for base in (2, 10):
            exponent = 0
            while base**exponent < self.size:
                exponent += 1
            if base**exponent == self.size and exponent > 9:
                return f"{base}^{exponent}"
        return str(self.size)


def limbs_of(keys: IntArray) -> tuple[IntArray, IntArray]:
    """The two parts in which keys are added: ``key // LIMB`` and ``key % LIMB``."""
    high = keys // LIMB
    return high, keys - high * LIMB


def _rest(numbers: IntArray, size: int) -> IntArray:
    """What is left of numbers after division, several times as fast as by ``%``."""
    return numbers - numbers // size * size


CENSUS_GRID = KeyGrid(_MAX_SIZE)


def grid_keys(series: pl.Series, grid: KeyGrid, *, column: str = "record_key") -> IntArray:
    """Take existing keys to the grid, exactly.

    Accepts integers of the grid; on the 10^15 grid also floats and texts that are
    decimals in [0, 1) with at most 15 digits, or one unit in a float's last place off.

    >>> import polars as pl
    >>> grid_keys(pl.Series([0.25, 0.000000000000001]), CENSUS_GRID).tolist()
    [250000000000000, 1]
    """
    import polars as pl

    nulls = series.null_count()
    if series.dtype.is_float():
        nulls += int(series.is_nan().sum())
    if nulls:
        raise unusable_keys("no key", nulls, len(series), column)
    if series.dtype.is_integer():
        wide = series.cast(pl.Int64, strict=False)
        if lost := wide.null_count():
            raise off_grid(lost, len(series), column, grid)
        keys = wide.to_numpy()
    elif series.dtype.is_float():
        keys = _from_floats(series.cast(pl.Float64).to_numpy(), grid, column)
    elif series.dtype in (pl.String, pl.Categorical) or series.dtype.is_decimal():
        keys = _from_texts(series.cast(pl.String), grid, column)
    else:
        raise RecordKeyError(
            f"keys cannot be of type {series.dtype}",
            code="key-type",
            where=column,
            hint="use integers of the grid, or decimals in [0, 1)",
        )
    keys = keys.astype(np.int64, copy=False)
    unsigned = keys.view(np.uint64)  # negative ones are large
    if unsigned.max(initial=0) >= grid.size:
        outside = int((unsigned >= grid.size).sum())
        raise off_grid(outside, len(series), column, grid)
    return keys


def _from_floats(values: npt.NDArray[np.float64], grid: KeyGrid, column: str) -> IntArray:
    scale, inside = 1.0, np.abs(np.rint(values)) < float(_MAX_SIZE)
    if grid.size == _MAX_SIZE:
        scale, inside = float(_MAX_SIZE), (values >= 0) & (values < 1)
    outside = int((~inside).sum())
    if outside:
        raise off_grid(outside, len(values), column, grid)
    keys = np.rint(values * scale)
    place = ONE_PLACE if grid.size == _MAX_SIZE else 0.0
    finer = int((np.abs(keys / scale - values) > values * place).sum())
    if finer:
        raise too_fine(finer, len(values), column)
    return keys.astype(np.int64)


def check_digits(digits: str, grid: KeyGrid) -> None:
    """Raise an error unless `digits` is a choice that suits the grid."""
    if digits not in DIGITS:
        raise RecordKeyError(
            f"unknown digits={digits!r}", code="digits", hint=f"use {' or '.join(DIGITS)}"
        )
    if digits == "round" and grid != CENSUS_GRID:
        raise RecordKeyError(
            "only decimals in [0, 1) can be rounded",
            code="digits",
            where=f"grid {grid}",
            hint="keys of this grid are whole numbers; leave digits as they are",
        )


def on_grid(keys: pl.Series, grid: KeyGrid, digits: str, *, column: str) -> IntArray:
    """Keys as whole numbers of the grid.

    >>> import polars as pl
    >>> on_grid(pl.Series([0.1 + 0.2]), CENSUS_GRID, "round", column="key").tolist()
    [300000000000000]
    """
    if digits == "round":
        keys = _rounded(keys)
    return grid_keys(keys, grid, column=column)


def _rounded(keys: pl.Series) -> pl.Series:
    """Decimals rounded half up to 15 digits; 1 is 0 again. Odd values stay for the check."""
    import polars as pl

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
    import polars as pl

    whole = texts.str.extract(_DECIMAL, 1)
    part = texts.str.extract(_DECIMAL, 2)
    upward = (part.str.slice(DECIMALS, 1) >= "5").cast(pl.Int64)
    number = part.str.slice(0, DECIMALS).str.pad_end(DECIMALS, "0").cast(pl.Int64) + upward
    rounded = "0." + (number % CENSUS_GRID.size).cast(pl.String).str.zfill(DECIMALS)
    finer = (part.str.len_bytes() > DECIMALS).fill_null(value=False)
    # What is 1 or more is off the grid however it is rounded.
    return rounded.zip_with(whole == "", pl.Series(["1"])).zip_with(finer, texts)


def decimal_keys(decimal: nw.Expr, grid: KeyGrid) -> tuple[nw.Expr, nw.Expr]:
    """Keys of floats as an engine computes them, and 1 where they have more digits than the grid.

    The same as `grid_keys` gives; what is off the grid is missing.
    """
    import narwhals as nw

    scale = float(_MAX_SIZE) if grid.size == _MAX_SIZE else 1.0
    near = (decimal * scale).round(0)
    inside = (decimal >= 0.0) & (near < float(grid.size))
    # Some engines turn division by a constant into multiplication, which rounds twice.
    divided = near / (near * 0.0 + scale)
    far = (divided - decimal).abs() > decimal * (ONE_PLACE if scale > 1.0 else 0.0)
    finer = nw.when(inside & far).then(nw.lit(1)).otherwise(nw.lit(0))
    return nw.when(inside).then(near).cast(nw.Int64), finer


def _from_texts(texts: pl.Series, grid: KeyGrid, column: str) -> IntArray:
    import polars as pl

    frame = texts.to_frame("t").select(
        whole=pl.col("t").str.extract(_PLAIN_DECIMAL, 1).str.strip_chars_start("0"),
        part=pl.col("t").str.extract(_PLAIN_DECIMAL, 2).str.strip_chars_end("0"),
        text=pl.col("t").str.strip_chars(),
    )
    unread = int(
        frame.select(
            (pl.col("part").is_null() | pl.col("text").is_in(["", ".", "+", "+."])).sum()
        ).item()
    )
    if unread:
        return _from_odd_texts(texts, grid, column)
    digits = DECIMALS if grid.size == _MAX_SIZE else 0
    finer = int((frame["part"].str.len_bytes() > digits).sum())
    if finer:
        raise too_fine(finer, len(texts), column)
    number = pl.col("part").str.pad_end(DECIMALS, "0") if digits else pl.col("whole")
    joined = frame.select(
        pl.when(number == "").then(pl.lit("0")).otherwise(number).cast(pl.Int64, strict=False)
    ).to_series()
    outside = joined.is_null() | ((frame["whole"] != "") if digits else pl.Series([False]))
    if int(outside.sum()):
        raise off_grid(int(outside.sum()), len(texts), column, grid)
    return joined.to_numpy()


def _from_odd_texts(texts: pl.Series, grid: KeyGrid, column: str) -> IntArray:
    """Decimals in other spellings (1e-05), one by one and still exact."""
    keys = np.zeros(len(texts), dtype=np.int64)
    unread = finer = outside = 0
    scale = _MAX_SIZE if grid.size == _MAX_SIZE else 1
    for at, text in enumerate(texts):
        try:
            number = Decimal(text.strip())
        except InvalidOperation:
            unread += 1
            continue
        if not number.is_finite() or not 0 <= number * scale < grid.size:
            outside += 1
        elif number * scale != int(number * scale):
            finer += 1
        else:
            keys[at] = int(number * scale)
    if unread:
        raise unusable_keys("a key that is not a number", unread, len(texts), column)
    if outside:
        raise off_grid(outside, len(texts), column, grid)
    if finer:
        raise too_fine(finer, len(texts), column)
    return keys


def unusable_keys(what: str, number: int, total: int, column: str) -> RecordKeyError:
    """The error for records whose key is missing or unreadable."""
    return RecordKeyError(
        f"{number:,} of {total:,} records have {what}",
        code="key-missing" if what == "no key" else "key-type",
        where=column,
        hint="every record needs a key; create keys with discreet.with_record_keys",
    )


def off_grid(number: int, total: int, column: str, grid: KeyGrid) -> RecordKeyError:
    """The error for records whose key does not lie on the grid."""
    form = "decimals in [0, 1)" if grid.size == _MAX_SIZE else f"whole numbers below {grid.size}"
    return RecordKeyError(
        f"{number:,} of {total:,} records have a key off the grid {grid}",
        code="key-off-grid",
        where=column,
        hint=f"keys of this grid are {form}; state the right grid with key_grid=…",
    )


def too_fine(number: int, total: int, column: str) -> RecordKeyError:
    """The error for records whose key has more digits than the grid."""
    return RecordKeyError(
        f"{number:,} of {total:,} records have a key with more digits than the grid",
        code="key-digits",
        where=column,
        hint='round the keys with key_digits="round", or state the right grid',
    )
