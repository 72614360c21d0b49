"""Sums that are the same to the last bit whatever the order of the records.

Values are scaled by a power of two to at most 1 in size, and cut into two whole numbers of
32 bits, which are added as floating-point numbers: as all partial sums stay below 2^53,
no addition rounds, and no order or number of threads can change the result. What is cut
off is below 2^-64 of the largest value per record.

In: values and group codes of records. Out: exact whole sums, and moments made of them.
CONFIDENTIAL.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet_fire.statistics.parallel import BASE, CHUNK, LEAST, SMALL


@dataclass(frozen=True, slots=True, repr=False)
class Scaled:
    """First and second moments per group, as whole numbers (confidential).

    They are sums of (value − pivot) and of its square, in units of 2^-64 of the scale 2^shift. The
    pivot is subtracted: a group of small values next to one of huge ones must not lose its digits.
    """

    first: list[int]
    second: list[int]
    pivot: list[float]
    shift: list[int]

    def mean(self, group: int, count: int) -> float:
        """The mean of a group of `count` values."""
        scaled = math.ldexp(self.first[group] / count, self.shift[group] - 64)
        return self.pivot[group] + scaled

    def squares(self, group: int, count: int) -> float:
        """The sum of squared deviations from the mean of a group."""
        # first² has 128 bits behind the point, second only 64.
        whole = (self.second[group] << 64) * count - self.first[group] ** 2
        return math.ldexp(max(whole, 0) / count, 2 * self.shift[group] - 128)


def shift_of(low: float, high: float) -> int:
    """The smallest e such that no value between `low` and `high` exceeds 2^e in size.

    >>> shift_of(-3.0, 8.0), shift_of(0.0, 0.0)
    (4, 0)
    """
    largest = max(abs(low), abs(high))
    return max(math.frexp(largest)[1], LEAST) if largest > 0 else 0


def ends_of(values: FloatArray) -> tuple[float, float]:
    """The smallest and the largest value; both are NaN if one value is.

    >>> ends_of(np.array([3.0, -1.0, 2.0]))
    (-1.0, 3.0)
    """
    if values.size > SMALL:
        from discreet_fire.statistics import sum_kernels

        return sum_kernels.ends(values)
    return float(values.min()), float(values.max())


def exact_sum(values: FloatArray) -> float:
    """The sum of values without NaN, the same in every order.

    >>> exact_sum(np.array([0.1, 0.2, 0.3])) == exact_sum(np.array([0.3, 0.1, 0.2]))
    True
    """
    return float(group_sums(values, None, 1)[0])


def group_sums(values: FloatArray, codes: IntArray | None, groups: int) -> FloatArray:
    """Sums per group of values without NaN, the same in every order.

    >>> group_sums(np.array([1.0, 2.5, 4.0]), np.array([0, 1, 0]), 2)
    array([5. , 2.5])
    """
    if not values.size:
        return np.zeros(groups)
    shift = shift_of(*ends_of(values))
    factor = math.ldexp(1.0, -shift)
    if codes is None and values.size > SMALL:
        from discreet_fire.statistics import sum_kernels

        whole = sum_kernels.moments(values, None, np.zeros(1), np.array([factor]))[0]
        return np.array([math.ldexp(whole[0], shift - 64)])
    unit = values * factor
    large, small = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    for high, low in _split(unit, codes, groups):
        large += high.astype(np.int64)
        small += low.astype(np.int64)
    # The same rounding as that of whole numbers: carry first, then round once.
    large, small = large + (small >> 32), small & (2**32 - 1)
    sums: FloatArray = np.ldexp(large * BASE + small, shift - 64)
    return sums


def scaled_sums(
    values: FloatArray, codes: IntArray | None, low: FloatArray, high: FloatArray
) -> Scaled:
    """First and second moments per group of values without NaN; `low` is infinite without one."""
    there = low <= high
    low, high = np.where(there, low, 0.0), np.where(there, high, 0.0)
    pivot = low / 2 + high / 2
    ends = zip((low - pivot).tolist(), (high - pivot).tolist(), strict=True)
    shift = [shift_of(*pair) for pair in ends]
    factor = np.ldexp(1.0, -np.array(shift, dtype=np.int64))
    if values.size > SMALL:
        from discreet_fire.statistics import sum_kernels

        first, second = sum_kernels.moments(values, codes, pivot, factor)
    else:
        inside: IntArray | int = 0 if codes is None else codes
        unit = (values - pivot[inside]) * factor[inside]
        groups = low.size
        first, second = _split_sums(unit, codes, groups), _split_sums(unit * unit, codes, groups)
    return Scaled(first, second, pivot.tolist(), shift)


def power_sums(
    values: FloatArray,
    mean: float,
    scale: float,
    powers: Iterable[int],
    weights: FloatArray | None = None,
) -> list[float]:
    """Sums of powers of the distance from a mean, in units of a scale; each 3 or 4.

    >>> power_sums(np.array([0.0, 2.0, 4.0]), 2.0, 2.0, [3, 4])
    [0.0, 2.0]
    """
    if weights is None and values.size > SMALL:
        from discreet_fire.statistics import sum_kernels

        # The largest distance has the largest powers.
        most = max(abs((end - mean) / scale) for end in ends_of(values))
        shift = [shift_of(0.0, float(_power(np.float64(most), power))) for power in (3, 4)]
        sums = sum_kernels.powers(values, mean, scale, shift)
        return [math.ldexp(sums[power - 3], shift[power - 3] - 64) for power in powers]
    unit = (values - mean) / scale
    terms = (_power(unit, power) for power in powers)
    return [exact_sum(term if weights is None else term * weights) for term in terms]


def _power(unit: Any, power: int) -> Any:
    square = unit * unit
    return square * unit if power == 3 else square * square


def _split_sums(unit: FloatArray, codes: IntArray | None, groups: int) -> list[int]:
    """Sums of values of at most 1 in size, in units of 2^-64."""
    total = [0] * groups
    for large, small in _split(unit, codes, groups):
        for group, (high, low) in enumerate(zip(large.tolist(), small.tolist(), strict=True)):
            total[group] += (int(high) << 32) + int(low)
    return total


def _split(
    unit: FloatArray, codes: IntArray | None, groups: int
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Sums of the upper and lower halves of values, chunk by chunk, all of them exact."""
    for start in range(0, unit.size, CHUNK):
        part = unit[start : start + CHUNK] * BASE
        coarse = np.floor(part)
        fine = np.floor((part - coarse) * BASE)
        if codes is None:
            yield coarse.sum(keepdims=True), fine.sum(keepdims=True)
        else:
            inside = codes[start : start + CHUNK]
            large: FloatArray = np.bincount(inside, coarse, groups).astype(np.float64)
            small: FloatArray = np.bincount(inside, fine, groups).astype(np.float64)
            yield large, small
