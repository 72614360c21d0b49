"""`near_relations`: pairs of value columns that are nearly multiples of each other. CONFIDENTIAL.

In: columns of values, of records or of cells. Out: relations within so much a record, as between
euros and thousands of euros, or within a share, as between hours and staff. A relation is believed
where many values bear it out that are far larger than the room it leaves, and where one column
says nearly all of how the other varies: columns that vary little are no multiples of each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.tables.value_relations import COUNT, ValueRelation, whole_numbers

#: A relation within so much is believed where values are so many times as large,
_CLEAR = 10.0
#: and where so many different ones are.
_DIFFERENT = 12
#: What it leaves open of how values vary, as a share, in logarithms.
_LEFT_OPEN = 0.2
#: Ratios have no more digits than this, or no larger denominators.
_DIGITS, _LARGEST = 7, 10**6
#: What is rounded, and how: one column or the other or both, to the nearest unit or downwards.
_ROUNDINGS = tuple(
    (Fraction(n * own, 2), Fraction(n * other, 2))
    for n in (1, 2)
    for own, other in ((1, 0), (0, 1), (1, 1))
)


def near_relations(
    columns: Mapping[str, FloatArray], share: float, *, rounded: bool = True
) -> list[ValueRelation]:
    """The relations of pairs within a share of their values, or where `rounded` within rounding.

    >>> euro = np.array([1234.0, 98765, 45678, 7654, 33333, 8000, 64321, 27182, 31415, 16180,
    ...                  14142, 17320, 22360, 26457])
    >>> columns = {"euro": euro, "thousands": np.rint(euro / 1000)}
    >>> [found.text for found in near_relations(columns, 0.01)]
    ['euro = 1000 * thousands within 500']
    """
    names = [name for name, column in columns.items() if name != COUNT and np.any(column)]
    relations: list[ValueRelation] = []
    for name, other in combinations(names, 2):
        one, two = columns[name], columns[other]
        pair = _rounded(one, two) if rounded else None
        if pair is None:
            pair = _within_share(one, two, share)
        if pair is not None:
            coefs, each, near = pair
            terms = [(n, c) for n, c in zip((name, other, COUNT), coefs, strict=True) if c]
            relations.append(ValueRelation.of(terms, each=each, share=near))
    return relations


_Pair = tuple[tuple[int, int, int], float, float]


def _rounded(one: FloatArray, two: FloatArray) -> _Pair | None:
    """The relation of two columns of which one or both are rounded multiples of the other."""
    parts = [whole_numbers(column) for column in (one, two)]
    if parts[0] is None or parts[1] is None:
        return None
    units = [_step(*part) for part in parts if part is not None]
    slope, start = _line(one, two)
    if not slope:
        return None
    for constant in dict.fromkeys([Fraction(0), round(start / units[0]) * units[0]]):
        moved = one - float(constant)
        for own, other in sorted(_ROUNDINGS, key=lambda r: r[0] + r[1] * abs(slope) * units[1]):
            factor = _factor(
                moved, two, 1.05 * float(own * units[0] + other * abs(slope) * units[1])
            )
            if factor is None:
                continue
            room = own * units[0] + other * abs(factor) * units[1]
            if not _clear(moved, two * float(factor), float(room)):
                return None
            if np.abs(moved - two * float(factor)).max() > float(room) * (1 + 1e-9):
                continue
            scale = math.lcm(factor.denominator, constant.denominator)
            coefs = (-scale, int(factor * scale), int(constant * scale))
            return coefs, float(room * scale), 0.0
    return None


def _step(numbers: IntArray, decimals: int) -> Fraction:
    """The unit that all values are multiples of."""
    return Fraction(int(np.gcd.reduce(np.abs(numbers))) or 1, 10**decimals)


def _line(one: FloatArray, two: FloatArray) -> tuple[float, float]:
    """Slope and start of the line through the values at the ends of the second column."""
    high, low = int(two.argmax()), int(two.argmin())
    width = float(two[high] - two[low])
    if not width:
        return 0.0, 0.0
    slope = float(one[high] - one[low]) / width
    return slope, float(one[low] - slope * two[low])


def _factor(one: FloatArray, two: FloatArray, room: float) -> Fraction | None:
    """The roundest factor that makes one column of the other, within room, if there is any."""
    there = two != 0
    if (np.abs(one[~there]) > room).any():
        return None
    ends = np.stack([one[there] - room, one[there] + room]) / two[there]
    low, high = float(ends.min(axis=0).max()), float(ends.max(axis=0).min())
    slack = 1e-12 * max(abs(low), abs(high))
    if low - slack > high + slack:
        return None
    return _roundest(Fraction(low - slack), Fraction(high + slack))


def _roundest(low: Fraction, high: Fraction) -> Fraction | None:
    """The number between two with the fewest digits, it or its inverse; or a simple fraction."""
    if low <= 0 <= high:
        return None
    if high < 0:
        turned = _roundest(-high, -low)
        return None if turned is None else -turned
    digits, number = _shortest(low, high)
    inverse_digits, inverse = _shortest(1 / high, 1 / low)
    if min(digits, inverse_digits) > _DIGITS:
        return _simplest(low, high)
    return number if digits <= inverse_digits else 1 / inverse


def _shortest(low: Fraction, high: Fraction) -> tuple[int, Fraction]:
    """The number between two positive ones with the fewest digits, and how many these are."""
    power = math.floor(math.log10(float(high)))
    digits = 1
    while True:
        step = Fraction(10) ** (power + 1 - digits)
        number = math.ceil(low / step) * step
        if number <= high or digits > _DIGITS:
            return digits, number
        digits += 1


def _simplest(low: Fraction, high: Fraction) -> Fraction | None:
    """The fraction with the smallest denominator between two positive numbers, if it is small."""
    whole: list[int] = []
    while len(whole) < 40:
        floor = low.numerator // low.denominator
        if floor == low or floor + 1 <= high:
            whole.append(floor if floor == low else floor + 1)
            break
        whole.append(floor)
        low, high = 1 / (high - floor), 1 / (low - floor)
    result = Fraction(whole.pop())
    while whole:
        result = whole.pop() + 1 / result
    return result if result.denominator <= _LARGEST else None


def _clear(one: FloatArray, near: FloatArray, room: float) -> bool:
    """Whether enough different values are far larger than the room, and said by the other."""
    clear = (np.abs(one) > _CLEAR * room) & (np.abs(near) > _CLEAR * room)
    if len(np.unique(one[clear])) < _DIFFERENT or len(np.unique(near[clear])) < _DIFFERENT:
        return False
    ratio, size = np.log(np.abs(one[clear] / near[clear])), np.log(np.abs(one[clear]))
    return bool(ratio.std() <= _LEFT_OPEN * size.std())


def _within_share(one: FloatArray, two: FloatArray, share: float) -> _Pair | None:
    """The relation of two columns of which one is the other times a number, within a share."""
    there = two != 0
    if (one < 0).any() or (two < 0).any() or ((one != 0) != there).any() or not there.any():
        return None
    ratio = one[there] / two[there]
    low, high = float(ratio.min()), float(ratio.max())
    width = (high - low) / (high + low)
    if width > share or not _clear(one, two * (low + high) / 2, 0.0):
        return None
    factor = _roundest(
        Fraction((low + high) / 2) * (1 - Fraction(share) / 100),
        Fraction((low + high) / 2) * (1 + Fraction(share) / 100),
    )
    if factor is None:
        return None
    middle = float(factor)
    near = max(high / middle - 1, 1 - low / middle)
    # Of both sides the share counts by half; and it is told with two digits.
    return (-factor.denominator, factor.numerator, 0), 0.0, _rounded_up(near * 1.02 + 1e-12)


def _rounded_up(number: float) -> float:
    """The number with two digits, no smaller."""
    digits = 1 - math.floor(math.log10(number))
    return math.ceil(number * 10.0**digits) / 10.0**digits


def pairs_apart(
    relations: Sequence[ValueRelation], known: Sequence[ValueRelation]
) -> Iterator[ValueRelation]:
    """Relations of pairs that no exact one ties together already."""
    tied = [{*relation.values} - {COUNT} for relation in known if relation.exact]
    for relation in relations:
        if {*relation.values} - {COUNT} not in tied:
            yield relation
