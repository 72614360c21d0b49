"""Are these numbers record keys? A test of their distribution.

In: keys on their grid (secret), in the order of the records. Out: a `KeyCheck`: what was
looked at and what is wrong, without a key. Noise hides counts only if the cell keys of any
two groups have nothing to do with each other; identifiers, values, and keys of another grid
are whole numbers too, and give every large count the same noise.

Each part of the test is an exact bound (Chernoff) on what independent, uniform keys would do,
at `LEVEL` each, so that proper keys fail all parts together less than once in 10^9 data sets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import RecordKeyError
from discreet.keygrid import CENSUS_GRID, KeyGrid, grid_keys

if TYPE_CHECKING:
    import polars as pl

#: Probability that proper keys fail one part of the test.
LEVEL = 1e-12
#: Below so many records nothing can be said.
LEAST = 30
#: Below so many records the test is weak.
ENOUGH = 1000
#: Keys that are looked at, at most.
MOST = 2**13
#: Keys with so few points give the same noise to too many cells.
FEWEST_POINTS = 256

#: Of all keys, those in the lowest part of the grid are looked at for repeats: one in so many.
LOWEST = 256

_RUN = 16
_BINS = 256
_STRETCHES = 16
#: Steps that are looked at for repeats: numbers that follow one another repeat them all the time.
_STEPS = 2**12
_USUAL_GRIDS = (256, 4096, 2**16, 10**6, 10**8, 2**32, 10**12, CENSUS_GRID.size)

Strength = Literal["full", "weak", "none"]


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """Result of a test of record keys, without keys."""

    grid: KeyGrid  # the grid they lie on
    records: int  # how many keys were looked at
    points: int  # points of the grid that they use; fewer than it has if they are coarse
    #: What is wrong, one code each: "uneven", "repeats", "sequence", "row-order", "few-points",
    #: "variable"
    faults: tuple[str, ...] = ()
    #: A usual grid that the keys seem to be made for, if they are not for this one
    fits: KeyGrid | None = None
    unsuitable_allowed: bool = False  # whether somebody decided to use them all the same
    follows: tuple[str, ...] = ()  # the variables that the keys depend on

    @property
    def strength(self) -> Strength:
        """Power of the test: "none" below 30 records, "weak" below 1,000."""
        if self.records < LEAST:
            return "none"
        return "weak" if self.records < ENOUGH else "full"

    @property
    def coarse(self) -> bool:
        """Whether the keys use fewer points than their grid has."""
        return self.points < self.grid.size

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on keys that are not wrong."""
        found = []
        if self.strength == "none":
            found.append(f"too few records ({self.records}) to test whether the keys are random")
        elif self.strength == "weak":
            found.append(f"the test of the keys is weak: {self.records} records")
        if self.coarse and not self.faults:
            found.append(f"the keys are coarse: they use {self.points:,} points of {self.grid}")
        return tuple(found)

    @property
    def said(self) -> str:
        """The problem in words."""
        names = ", ".join(map(repr, self.follows)) or "a spanning variable"
        return "; ".join(_SAID[fault].format(names) for fault in self.faults)

    def raise_faults(self, column: str) -> None:
        """Raise an error if these are no record keys, unless somebody allowed them."""
        if not self.faults or self.unsuitable_allowed:
            return
        raise RecordKeyError(
            f"column {column!r} does not contain record keys: {self.said}",
            code="key-distribution",
            where=column,
            hint=self._hint(),
        )

    def _hint(self) -> str:
        if self.fits is not None:
            return (
                f"the values look like keys of the grid {self.fits}: state it with key_grid=…; "
                "identifiers and values are never keys"
            )
        hint = "create keys with discreet.with_record_keys from an identifier and a secret"
        if "row-order" in self.faults:
            hint += "; if the records are sorted by their keys, sort them by another column first"
        return hint


#: What each fault is called in errors.
_SAID = {
    "uneven": "they do not fill the grid evenly",
    "repeats": "keys are repeated",
    "sequence": "they increase in equal steps",
    "row-order": "they depend on the order of the records",
    "variable": "they depend on {}",
    "few-points": f"they use fewer than {FEWEST_POINTS} different values of the grid",
}


def sampled_places(count: int) -> IntArray:
    """Which of so many records to look at: all of few, else runs of neighbours from everywhere.

    >>> len(sampled_places(1000)), len(sampled_places(10**6))
    (1000, 8192)
    """
    runs = min(MOST, max(1024, count // 64)) // _RUN
    if count <= runs * _RUN:
        return np.arange(count, dtype=np.int64)
    starts = np.arange(runs, dtype=np.int64) * (count - _RUN) // (runs - 1)
    return (starts[:, None] + np.arange(_RUN, dtype=np.int64)).ravel()


def check_keys(
    keys: IntArray,
    grid: KeyGrid,
    *,
    allowed: bool = False,
    low: IntArray | None = None,
    by: Mapping[str, IntArray] | None = None,
) -> KeyCheck:
    """Test whether keys can be independent draws from the whole grid.

    >>> rng = np.random.default_rng(1)
    >>> check_keys(rng.integers(0, 10**15, 5000), KeyGrid()).faults
    ()
    >>> check_keys(np.arange(5000), KeyGrid()).faults
    ('uneven', 'sequence', 'row-order')
    """
    if len(keys) < LEAST:
        return KeyCheck(grid, len(keys), grid.size, unsuitable_allowed=allowed)
    step = math.gcd(int(np.gcd.reduce(keys)), grid.size) if len(keys) >= 2 * LEAST else 1
    points = grid.size // step
    if step > 1 and points < FEWEST_POINTS:
        return KeyCheck(grid, len(keys), points, ("few-points",), None, allowed)
    faults = _faults(keys // step, points)
    if not faults and low is not None and _repeats(low // step, int(lowest(grid)) // step):
        faults = ("repeats",)
    follows: tuple[str, ...] = ()
    if by and not faults:
        ordered = _ordered(np.stack([keys.take(at) for at in by.values()]) // step, points)
        follows = tuple(name for name, is_so in zip(by, ordered, strict=True) if is_so)
        faults = ("variable",) if follows else ()
    fits = _fitting_grid(keys, grid) if "uneven" in faults else None
    return KeyCheck(grid, len(keys), points, faults, fits, allowed, follows)


def lowest(grid: KeyGrid, *, whole: bool = True) -> float:
    """Keys below this number are the lowest part of a grid.

    >>> lowest(KeyGrid(4096)), lowest(KeyGrid(), whole=False)
    (16, 0.00390625)
    """
    return max(grid.size // LOWEST, 1) if whole or grid != CENSUS_GRID else 1 / LOWEST


def check_records(
    some: pl.DataFrame, low: pl.Series, grid: KeyGrid, *, column: str, allowed: bool
) -> KeyCheck | None:
    """Test keys as records hold them; None if they cannot be read, which counting refuses.

    Raises:
        RecordKeyError: They are no record keys, and nobody allowed them.
    """
    held = some[column].fill_nan(None) if some[column].dtype.is_float() else some[column]
    frame = some.filter(held.is_not_null()) if held.null_count() else some
    try:
        keys = grid_keys(frame[column], grid, column=column)
        low_keys = grid_keys(low, grid, column=column)
    except RecordKeyError:
        return None
    by = {name: _in_order(frame[name]) for name in frame.columns if name != column}
    check = check_keys(keys, grid, allowed=allowed, low=low_keys, by=by)
    check.raise_faults(column)
    return check


@lru_cache(maxsize=64)
def _text_ranks(low: int, high: int) -> npt.NDArray[np.uint16]:
    """The rank of each whole number of a range among their texts."""
    ranks = np.empty(high - low + 1, dtype=np.uint16)  # sorted by digits, so fast
    ranks[[number - low for number in sorted(range(low, high + 1), key=str)]] = np.arange(
        len(ranks)
    )
    return ranks


def _in_order(column: pl.Series) -> IntArray:
    """The places of records in the order of a column as texts; of the same text, as they stand."""
    import polars as pl

    if column.dtype.is_integer() and len(column) and not column.null_count():
        low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
        if high - low < MOST and low > -(2**62) and high < 2**62:
            places = column.to_numpy().astype(np.int64) - low
            return np.argsort(_text_ranks(low, high).take(places), kind="stable")
    texts = column.cast(pl.String).to_list()
    ranks = {text: rank for rank, text in enumerate(sorted({*texts} - {None}), 1)} | {None: 0}
    return np.argsort([ranks[text] for text in texts], kind="stable")


def _faults(keys: IntArray, size: int) -> tuple[str, ...]:
    """What independent, uniform keys would not do."""
    steps = _steps(keys, size)
    uneven, ordered = bool(_uneven(keys[None], size)[0]), bool(_ordered(keys[None], size)[0])
    if uneven and ordered and len(keys) >= LEAST * _RUN:
        # Runs of sorted keys are uneven, their starts not.
        uneven = bool(_uneven(keys[None, ::_RUN], size)[0])
    again = _repeats(keys, size)
    found = {
        "uneven": uneven,
        "repeats": again,
        "sequence": not again and (_repeats(steps[:_STEPS], size) or _all_different(keys, size)),
        "row-order": ordered,
    }
    return tuple(fault for fault, is_so in found.items() if is_so)


def _steps(keys: IntArray, size: int) -> IntArray:
    """From each key to the next, on the circle of the grid: independent, if the keys are."""
    steps = np.diff(keys, axis=-1)
    return steps + (steps < 0) * np.int64(size)


def _ordered(orders: IntArray, size: int) -> BoolArray:
    """Whether neighbours are too near each other, or some stretch of the keys is uneven.

    One row of keys for each order; one answer for each.
    """
    return _uneven(_steps(orders, size), size) | _uneven(orders, size, stretches=_STRETCHES)


def _all_different(keys: IntArray, points: int) -> bool:
    """Whether no point occurs twice where some would: numbers that were dealt out."""
    unlikely = -len(keys) * (len(keys) - 1) / (2 * points) < math.log(LEVEL)
    return unlikely and len(np.unique(keys)) == len(keys)


@lru_cache(maxsize=64)
def _shares(size: int, bins: int) -> FloatArray:
    """The share of the grid in each of its 2, 4, 8 … `bins` equal parts."""
    edges = -(-np.arange(bins + 1, dtype=np.int64) * size // bins)
    shares = [np.diff(edges) / size]
    while len(shares[-1]) > 2:
        shares.append(shares[-1][::2] + shares[-1][1::2])
    return np.concatenate(shares)


def _uneven(rows: IntArray, size: int, stretches: int = 1) -> BoolArray:
    """Per row, whether halves, quarters … of the grid hold too many or too few keys."""
    length = rows.shape[1] // stretches
    if length < LEAST:
        return np.zeros(len(rows), dtype=np.bool_)
    bins = 1 << (min(_BINS if stretches == 1 else _STRETCHES, size).bit_length() - 1)
    keys = rows[:, : length * stretches].reshape(-1, length)
    places = keys * bins // size + np.arange(len(keys), dtype=np.int64)[:, None] * bins
    held = [np.bincount(places.ravel(), minlength=bins * len(keys)).reshape(-1, bins)]
    while held[-1].shape[1] > 2:
        held.append(held[-1][:, ::2] + held[-1][:, 1::2])
    counts, shares = np.concatenate(held, axis=1), _shares(size, bins)
    least = math.log(LEVEL / (2 * stretches * len(shares)))
    # The bound is never below that by the squared deviation, which takes no logarithms.
    far: BoolArray = (counts - length * shares) ** 2 > -least * length * shares * (1 - shares)
    if far.any():
        far = _tail(counts, length, shares) < least
    uneven: BoolArray = np.logical_or.reduce(far.reshape(len(rows), -1), axis=1)
    return uneven


def _tail(held: IntArray, count: int, share: FloatArray) -> FloatArray:
    """Log of a bound on the probability to be so far from the share (Chernoff)."""
    found = held / count
    rest = 1 - found
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(held > 0, found * np.log(found / share), 0.0)
        outside = np.where(held < count, rest * np.log(rest / (1 - share)), 0.0)
    return -count * (inside + outside)


def _repeats(keys: IntArray, size: int) -> bool:
    """Whether more keys occur again than of that many draws.

    Each draw meets an earlier one with a probability of at most draws / size, whatever
    came before, so their number is below a binomial one.
    """
    count = len(keys)
    share = count / max(size, 1)
    if share > 0.5:
        return False
    ordered = np.sort(keys)
    again = int(np.count_nonzero(ordered[1:] == ordered[:-1]))
    if again <= share * count:
        return False
    bound = _tail(np.array([again]), count, np.array([share]))
    return bool(bound[0] < math.log(LEVEL))


def _fitting_grid(keys: IntArray, grid: KeyGrid) -> KeyGrid | None:
    """A smaller usual grid that the keys fill as they should."""
    highest = int(keys.max())
    for size in _USUAL_GRIDS:
        if highest < size < grid.size:
            return None if _faults(keys, size) else KeyGrid(size)
    return None
