"""Intervals of the key grid with their noise: the content of a perturbation table. SECRET.

In: bounds as exact integers, counts and cell keys. Out: immutable `Intervals`, the one
form in which all formats meet; the noise of each cell (CONFIDENTIAL), looked up with
integers only, so that it does not depend on the engine, the number of threads or the
order of the cells; and the standard deviation of the noise that could have been drawn.
Probabilities are taken to the grid with the mean of the noise kept. A probability of no
change is mixed in through the cell key like all noise, so that the same cell stays in
every table. Nothing here is ever printed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import sqrt
from typing import Any, Literal

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.confidential import SecretValues, Unpicklable
from discreet.errors import PerturbationError
from discreet.keygrid import KeyGrid

Bound = Fraction | int
Closed = Literal["left", "right"]
#: What counts beyond the last row use: that row, or (first row, length) of a repeating block.
Beyond = Literal["last"] | tuple[int, int]

#: What arithmetic of many digits may be off by, in grid steps.
_CLOSE = Decimal("1e-9")

#: Bounds written as decimals are stored in units of 10^-15, the precision of the keys.
DECIMAL_SCALE = 10**15


@dataclass(frozen=True, slots=True, repr=False)
class StatedInterval:
    """One interval as a file or a caller states it, before it is checked."""

    line: str  # where it stands, for error messages ("line 12", "row 3")
    count: int  # the original count it belongs to
    noise: Bound  # what is added to the count; of sums, in fractions of its unit
    upper: Bound  # its upper bound: a number up to 1, or units of a scale
    lower: Fraction | None = None  # its lower bound, if stated
    share: Fraction | None = None  # its probability, if stated
    target: Fraction | None = None  # count plus noise, if stated


@dataclass(frozen=True, repr=False, eq=False)
class Intervals(SecretValues, Unpicklable):
    """Rows 0 … n_max, each a sequence of intervals; neighbours differ in noise."""

    scale: int  # the bounds are integers 1 … scale
    #: "left" if a bound belongs to the interval above it, "right" if to the one below
    closed: Closed
    starts: IntArray  # where each row begins in `upper` and `noise`, and the end of the last
    upper: IntArray  # upper bounds
    noise: IntArray  # what is added
    beyond: Beyond = "last"  # what counts beyond the last row use
    zeros: bool = False  # whether row 0 is meant to change zeros

    def __post_init__(self) -> None:
        for name in ("starts", "upper", "noise"):
            fixed = np.array(getattr(self, name), dtype=np.int64)
            fixed.setflags(write=False)
            object.__setattr__(self, name, fixed)

    @property
    def n_max(self) -> int:
        """The last original count with a row of its own."""
        return len(self.starts) - 2

    @property
    def row_of(self) -> IntArray:
        """The row each interval belongs to."""
        return np.repeat(np.arange(self.n_max + 1, dtype=np.int64), np.diff(self.starts))

    @property
    def widths(self) -> IntArray:
        """Width of each interval in units of 1/scale; the row's widths sum to the scale."""
        lower = np.concatenate([[0], self.upper[:-1]])
        lower[self.starts[:-1]] = 0
        return np.asarray(self.upper - lower, dtype=np.int64)

    def rows(self) -> Iterator[tuple[int, list[int], list[int]]]:
        """Each row with its upper bounds and its noise."""
        upper, noise = self.upper.tolist(), self.noise.tolist()
        starts = self.starts.tolist()
        for row, (first, last) in enumerate(pairwise(starts)):
            yield row, upper[first:last], noise[first:last]

    def shares(self) -> Iterator[tuple[int, dict[int, Fraction]]]:
        """Each row with the exact probability of each of its noise values."""
        widths, starts = self.widths.tolist(), self.starts.tolist()
        for row, _, noise in self.rows():
            shares: dict[int, int] = {}
            for value, width in zip(noise, widths[starts[row] : starts[row + 1]], strict=True):
                shares[value] = shares.get(value, 0) + width
            yield row, {value: Fraction(width, self.scale) for value, width in shares.items()}

    def canonical(self) -> bytes:
        """Bytes that are equal for equal tables, whatever their file format."""
        head = (
            f"discreet perturbation table 1|{self.scale}|{self.closed}|{self.beyond}|{self.zeros}"
        )
        arrays = (self.starts, self.upper, self.noise)
        parts = [np.ascontiguousarray(part, dtype="<i8").tobytes() for part in arrays]
        return b"".join([head.encode(), *parts])


def moments(shares: Mapping[int, Fraction]) -> tuple[Fraction, Fraction]:
    """Mean and variance of noise of these probabilities, exactly.

    >>> moments({-1: Fraction(1, 4), 0: Fraction(1, 2), 1: Fraction(1, 4)})
    (Fraction(0, 1), Fraction(1, 2))
    """
    mean = sum((value * share for value, share in shares.items()), Fraction(0))
    square = sum((value * value * share for value, share in shares.items()), Fraction(0))
    return mean, square - mean * mean


class SecretTable(Unpicklable, ABC):
    """Base of perturbation tables: a keyed digest identifies them, nothing prints them."""

    name: str

    @abstractmethod
    def _canonical(self) -> bytes:
        """Everything that noise depends on. SECRET."""

    def digest(self, key: bytes) -> str:
        """A keyed digest (HMAC-SHA256) that names the table without giving it away.

        >>> from discreet import PerturbationTable
        >>> a, b = (PerturbationTable.from_rows({0: {0: 1}}, name=name) for name in "ab")
        >>> a.digest(b"key") == b.digest(b"key")
        True
        """
        return hmac.new(key, self._canonical(), hashlib.sha256).hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._canonical() == other._canonical()

    def __hash__(self) -> int:
        return hash(self._canonical())

    def __repr__(self) -> str:
        named = (
            "" if self.name == "perturbation table" else self.name,
            getattr(self, "version", ""),
        )
        return f"<{' '.join([type(self).__name__, *filter(None, named)])}: secret>"

    def _repr_html_(self) -> None:
        """Notebooks show the plain text form."""


def closed_on(content: Intervals, closed: Closed) -> Intervals:
    """These intervals, closed on one side.

    Bounds move by 10^-15, so that every key of the 10^15 grid keeps its noise.
    """
    if closed == content.closed:
        return content
    step = -1 if closed == "right" else 1
    rows = []
    for _, upper, noise in content.rows():
        moved = [bound + step for bound in upper[:-1]] + [content.scale]
        rows.append(list(zip(moved, noise, strict=True)))
    return pack(rows, closed=closed, beyond=content.beyond, zeros=content.zeros)


def on_scale(bound: Fraction, closed: Closed, scale: int = DECIMAL_SCALE) -> int:
    """A bound in units of 1/scale, such that no key on that grid changes sides.

    >>> on_scale(Fraction("0.25"), "left")
    250000000000000
    """
    exact = bound * scale
    whole = exact.numerator // exact.denominator
    return whole + 1 if closed == "left" and whole != exact else whole


def decimal_text(units: int) -> str:
    """Units of 10^-15 as a decimal, without trailing zeros.

    >>> decimal_text(250000000000000)
    '0.25'
    """
    whole, part = divmod(units, DECIMAL_SCALE)
    return f"{whole}.{part:015d}".rstrip("0").rstrip(".")


def pack(
    rows: Sequence[Sequence[tuple[int, int]]],
    *,
    closed: Closed = "left",
    scale: int = DECIMAL_SCALE,
    beyond: Beyond = "last",
    zeros: bool = False,
) -> Intervals:
    """Put checked rows of (upper bound, noise) together.

    Intervals without a key in them are left out and neighbours of equal noise
    joined, so that equal tables are equal however they were written.
    """
    starts: list[int] = [0]
    upper: list[int] = []
    noise: list[int] = []
    for row in rows:
        last = 0 if closed == "left" else -1
        first = len(upper)
        for bound, value in row:
            if bound == last:
                continue
            if len(upper) > first and noise[-1] == value:
                upper[-1] = bound
            else:
                upper.append(bound)
                noise.append(value)
            last = bound
        starts.append(len(upper))
    return Intervals(
        scale,
        closed,
        np.array(starts, dtype=np.int64),
        np.array(upper, dtype=np.int64),
        np.array(noise, dtype=np.int64),
        beyond=beyond,
        zeros=zeros,
    )


_CHUNK = 1 << 15  # cells per piece: keys, rows and places stay in the cache
_MANY = 1 << 19  # from here on threads pay
_MAX_THREADS = 8
_DENSE = 1 << 23  # rows × keys up to which the noise of every key is written out
_WORTH = 16  # and this many times the number of cells
_STRETCHES = 16  # for each interval, where the noise of a key is searched


def thresholds(content: Intervals, grid: KeyGrid) -> IntArray:
    """For each interval, the first key of `grid` above it.

    A left-closed interval holds the keys with key/M < u, so ceil(u·M) is the
    first above it; a right-closed one those with key/M ≤ u: floor(u·M) + 1.
    """
    if content.scale != grid.size:
        if content.scale != DECIMAL_SCALE:
            raise PerturbationError(
                f"the perturbation table has {content.scale} keys, the cell keys have a grid of "
                f"{grid}",
                code="key-grid",
                hint=f"tabulate with key_grid={content.scale} and record keys of that grid",
            )
        exact = content.upper.tolist()
        size, scale = grid.size, content.scale
        if content.closed == "left":
            first = [-(-bound * size // scale) for bound in exact]
        else:
            first = [min(bound * size // scale + 1, size) for bound in exact]
        return np.array(first, dtype=np.int64)
    if content.closed == "left":
        return content.upper
    return np.minimum(content.upper + 1, content.scale)


def look_up(content: Intervals, count: IntArray, cell_key: IntArray, grid: KeyGrid) -> IntArray:
    """The noise of each cell."""
    _check(count, cell_key, grid)
    first_above = thresholds(content, grid)
    rows = content.n_max + 1
    per_block = (2**63 - 1) // grid.size - 1  # rows whose places fit 64 bits
    if rows <= per_block:
        places = content.row_of * grid.size + first_above
        if rows * grid.size <= min(_DENSE, _WORTH * len(count)):
            every = np.repeat(content.noise, np.diff(places, prepend=0))
            return _in_pieces(content, every, count, cell_key, grid.size)
        return _in_pieces(content, content.noise, count, cell_key, grid.size, places=places)
    noise = np.zeros(len(count), dtype=np.int64)
    row = rows_of(content, count)
    for low in range(0, rows, per_block):
        high = min(low + per_block, rows)
        begin, end = int(content.starts[low]), int(content.starts[high])
        places = (content.row_of[begin:end] - low) * grid.size + first_above[begin:end]
        cells = np.flatnonzero((row >= low) & (row < high))
        at = (row[cells] - low) * grid.size + cell_key[cells]
        noise[cells] = content.noise[begin + np.searchsorted(places, at, side="right")]
    return noise


def _in_pieces(
    content: Intervals,
    values: IntArray,
    count: IntArray,
    cell_key: IntArray,
    size: int,
    *,
    places: IntArray | None = None,
) -> IntArray:
    """Take each cell's noise from `values`: at row × size + key, or the place above it."""
    noise = np.empty(len(count), dtype=np.int64)
    if places is not None:
        # Most stretches of equal width have no place inside: there is nothing to search.
        rows = content.n_max + 1
        width = -(-rows * size // max(rows, min(_STRETCHES * len(places), len(count))))
        starts = np.arange(0, rows * size, width, dtype=np.int64)
        first = np.searchsorted(places, starts, side="right")
        last = np.searchsorted(places, starts + (width - 1), side="right")
        above = np.where(first == last, first, -1)

    def fill(begin: int) -> None:
        piece = slice(begin, begin + _CHUNK)
        at = rows_of(content, count[piece]) * size + cell_key[piece]
        if places is not None:
            here = above.take(at // width)
            searched = np.flatnonzero(here < 0)
            here[searched] = np.searchsorted(places, at.take(searched), side="right")
            at = here
        noise[piece] = values.take(at)

    begins = range(0, len(count), _CHUNK)
    if len(count) < _MANY:
        for begin in begins:
            fill(begin)
        return noise
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _MAX_THREADS)) as pool:
        list(pool.map(fill, begins))
    return noise


def rows_of(content: Intervals, count: IntArray) -> IntArray:
    """The row each count uses."""
    if content.beyond == "last":
        return np.minimum(count, content.n_max)
    start, length = content.beyond
    return np.where(count <= content.n_max, count, start + (count - start) % length)


def _check(count: IntArray, cell_key: IntArray, grid: KeyGrid) -> None:
    if len(count) != len(cell_key):
        raise PerturbationError("the numbers of counts and cell keys differ", code="lookup")
    if not len(count):
        return
    if int(count.min()) < 0:
        raise PerturbationError("counts must not be negative", code="lookup", where="count")
    if int(cell_key.min()) < 0 or int(cell_key.max()) >= grid.size:
        outside = int(((cell_key < 0) | (cell_key >= grid.size)).sum())
        raise PerturbationError(
            f"{outside:,} of {len(count):,} cell keys are not on the grid of {grid}",
            code="lookup",
            where="cell_key",
            hint="cell keys are sums of record keys modulo the size of the grid",
        )


_HALF = Decimal("0.5")
_DIGITS = 50


def grid_bounds(bounds: Sequence[Decimal], noise: Sequence[int], scale: int) -> list[int]:
    """Round cumulative probabilities to multiples of 1/scale.

    Each is rounded to the nearest; then as few as needed go to the other side, so
    that the mean changes by no more than half a grid step (times the unit of the
    noise), and so is exactly zero on the grid where it was zero before. No probability
    changes by more than one grid step. Where that ends short of the mean, all ways to round
    bounds up or down are searched, and probabilities change by less than two steps. Some
    rows have no such way: −1 and +2 alone would need 2/3 and 1/3 of the keys; they stay as
    near as they can.

    >>> from decimal import Decimal
    >>> third = Decimal(1) / 3
    >>> grid_bounds([third, 2 * third, Decimal(1)], [-1, 0, 1], 1000)
    [333, 667, 1000]
    """
    with localcontext() as context:
        context.prec = _DIGITS
        exact = [bound * scale for bound in bounds[:-1]]
        rounded = [int(bound.to_integral_value(ROUND_HALF_EVEN)) for bound in exact]
        errors = [whole - bound for whole, bound in zip(rounded, exact, strict=True)]
        gaps = [upper - lower for lower, upper in pairwise(noise)]
        # The mean moves by minus the sum of the errors, each times its gap.
        moved = sum((e * gap for e, gap in zip(errors, gaps, strict=True)), Decimal(0))
        while abs(moved) > _HALF:
            best = _cheapest(rounded, errors, gaps, moved, scale)
            if best is None:
                break
            at, step = best
            rounded[at] += step
            errors[at] += step
            moved += step * gaps[at]
        if abs(moved) > _HALF:
            rounded = _nearest_mean(exact, gaps, abs(moved), scale) or rounded
    return [*rounded, scale]


#: How good a way of rounding is: probabilities moved by more than a step, squares of all moves.
_Cost = tuple[int, Decimal]
#: Its cost, and its bounds from the last to the first: (…, bound), or () for none.
_Way = tuple[_Cost, tuple[Any, ...]]


def _nearest_mean(
    exact: list[Decimal], gaps: list[int], moved: Decimal, scale: int
) -> list[int] | None:
    """The bounds, each at most a step away, with the mean nearest; None if none is nearer.

    Ways to round whose bounds add up to the same move the mean by the same: of these only
    the one of least cost is followed.
    """
    best: dict[tuple[int, int], _Way] = {(0, 0): ((0, Decimal(0)), ())}
    start = before = Decimal(0)
    for bound, gap in zip(exact, gaps, strict=True):
        low = int((bound - _CLOSE).to_integral_value(ROUND_FLOOR))
        start += (low - bound) * gap
        ways: dict[tuple[int, int], _Way] = {}
        for (total, last), (cost, way) in best.items():
            for place in range(max(low, last), low + 3):
                never = bound - before < _CLOSE and place > last  # impossible noise stays so
                if never or place - bound > 1 + _CLOSE:
                    continue
                state = (total + (place - low) * gap, place)
                spent = _spent(cost, (place - last) - (bound - before))
                if state not in ways or spent < ways[state][0]:
                    ways[state] = (spent, (way, place))
        best, before = ways, bound
    ends = [
        (abs(start + total), _spent(cost, before - last), way)
        for (total, last), (cost, way) in best.items()
        if scale - before >= _CLOSE or last == scale
    ]
    ends = ends or [(moved, (0, Decimal(0)), ())]
    nearest, _, way = min(ends, key=lambda end: (max(round(end[0], 9), _HALF), end[1]))
    bounds: list[int] = []
    while way:
        way, place = way
        bounds.append(place)
    return bounds[::-1] if nearest < moved - _CLOSE else None


def _spent(cost: _Cost, change: Decimal) -> _Cost:
    return cost[0] + (abs(change) > 1 + _CLOSE), cost[1] + change * change


def _cheapest(
    rounded: list[int], errors: list[Decimal], gaps: list[int], moved: Decimal, scale: int
) -> tuple[int, int] | None:
    """The bound to move by one step so that `moved` shrinks, with the smallest error after."""
    best: tuple[Decimal, int, int] | None = None
    for at, gap in enumerate(gaps):
        if not gap:
            continue
        step = -1 if (moved > 0) == (gap > 0) else 1
        new, place = errors[at] + step, rounded[at] + step
        before = (rounded[at - 1], errors[at - 1]) if at else (0, Decimal(0))
        after = (rounded[at + 1], errors[at + 1]) if at + 1 < len(gaps) else (scale, Decimal(0))
        fits = before[0] <= place <= after[0] and abs(moved + step * gap) < abs(moved)
        within = abs(new) < 1 and abs(new - before[1]) <= 1 and abs(after[1] - new) <= 1
        if fits and within and (best is None or abs(new) < best[0]):
            best = (abs(new), at, step)
    return best[1:] if best else None


def mixed_with_unchanged(
    content: Intervals, probability: float | Fraction | Decimal, rows: Collection[int] | None
) -> Intervals:
    """In each row named, stay at `probability`, else do as the table says."""
    share = _share(probability)
    unknown = sorted(row for row in rows or () if not 0 <= row <= content.n_max)
    if unknown:
        raise PerturbationError(
            f"the table has no row {unknown[0]}",
            code="stay",
            where="rows",
            hint=f"its rows are 0 to {content.n_max}",
        )
    if content.closed != "left":
        raise PerturbationError(
            "intervals closed on the right cannot be mixed",
            code="stay",
            hint='convert first: table.with_closed("left")',
        )
    mixed = []
    for row, upper, noise in content.rows():
        if rows is None or row in rows:
            upper, noise = _row(upper, noise, share, content.scale)
        mixed.append(list(zip(upper, noise, strict=True)))
    return pack(
        mixed,
        closed=content.closed,
        scale=content.scale,
        beyond=content.beyond,
        zeros=content.zeros,
    )


def _share(probability: float | Fraction | Decimal) -> Fraction:
    try:
        share = Fraction(str(probability)) if not isinstance(probability, bool) else None
    except ValueError:
        share = None
    if share is None or not 0 <= share <= 1:
        raise PerturbationError("a stay probability must be between 0 and 1", code="stay")
    return share


def _row(
    upper: list[int], noise: list[int], share: Fraction, scale: int
) -> tuple[list[int], list[int]]:
    """One row: its intervals shrink, the one of no change (or a new one) grows."""
    at = noise.index(0) if 0 in noise else sum(value < 0 for value in noise)
    widths = [bound - lower for lower, bound in pairwise([0, *upper])]
    shares = [width * (1 - share) for width in widths]
    if 0 in noise:
        shares[at] += share * scale
    else:
        shares.insert(at, share * scale)
        noise = [*noise[:at], 0, *noise[at:]]
    bounds, total = [], Fraction(0)
    with localcontext() as context:
        context.prec = _DIGITS
        for part in shares:
            total += part
            bounds.append(Decimal(total.numerator) / (total.denominator * scale))
    return grid_bounds(bounds, noise, scale), noise


def row_deviations(content: Intervals) -> FloatArray:
    """The standard deviation of each row's noise; computed with whole numbers."""
    scale, deviations = content.scale, []
    widths = content.widths.tolist()
    starts = content.starts.tolist()
    for row, _, noise in content.rows():
        share = widths[starts[row] : starts[row + 1]]
        mean = sum(part * value for part, value in zip(share, noise, strict=True))
        square = sum(part * value * value for part, value in zip(share, noise, strict=True))
        deviations.append(sqrt((square * scale - mean * mean) / (scale * scale)))
    return np.array(deviations, dtype=np.float64)


def count_deviations(content: Intervals, count: IntArray) -> FloatArray:
    """The standard deviation of the noise that each count could have got."""
    return row_deviations(content)[rows_of(content, count)]


def largest_of_two(content: Intervals) -> int:
    """The largest count that one or two units can be published as."""
    most = 0
    for count in (1, 2):
        row = int(rows_of(content, np.array([count]))[0])
        own = slice(int(content.starts[row]), int(content.starts[row + 1]))
        most = max(most, count + int(content.noise[own].max(initial=0)))
    return most
