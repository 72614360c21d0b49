"""Finding the multipliers: zero mean, and the variance where it binds.

In: a row. Out: its multipliers, to some 24 digits. Newton's method in both finds
them in a few steps from those of a neighbouring row. Should it not, the bracketed
search does: the mean falls in b, and the variance at zero mean falls in c, so both
are roots of falling functions of one variable.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from itertools import count

from discreet.perturbation.design.entropy import ONE, ZERO, Moments, Row

__all__ = ["Multipliers", "UnreachableError", "bracketed", "largest_entropy", "with_variance"]

Multipliers = tuple[Decimal, Decimal]
_Place = tuple[Decimal, Decimal | None]  # a place on one side of the root; where Newton goes on

_PRECISE = Decimal("1e-24")
_NARROW = Decimal("1e-36")
_COARSE_DIGITS = 18
_COARSE = Decimal("1e-7")
_FINE = Decimal("1e-13")
_PATIENCE = 25  # Newton steps before the bracketed search takes over
_FARTHEST = Decimal(10_000)  # multiplier of the variance beyond which nothing changes


class UnreachableError(Exception):
    """No distribution of the row has the variance asked for; holds the largest there is."""

    def __init__(self, largest: Decimal) -> None:
        super().__init__()
        self.largest = largest


def largest_entropy(row: Row, variance: Decimal, start: Multipliers) -> Multipliers:
    """Multipliers of the distribution with the largest entropy and at most `variance`.

    Args:
        row: The row.
        variance: The largest variance allowed.
        start: Multipliers of a row like this one; any will do.
    """
    return _newton(row, variance, start) or bracketed(row, variance, start[0])


def bracketed(row: Row, variance: Decimal, start: Decimal = ZERO) -> Multipliers:
    """As `largest_entropy`, from any start and without fail."""
    free, moments = _balanced(row, ZERO, start)
    if moments.second <= variance:
        return free, ZERO
    return _binding(row, variance, (free, ZERO))


def _newton(row: Row, variance: Decimal, start: Multipliers) -> Multipliers | None:
    """Newton's method in both multipliers; None unless it soon ends where variance binds.

    The first steps are made with half the digits, for half the price.
    """
    with localcontext() as context:
        context.prec = _COARSE_DIGITS
        near = _steps(row, variance, start, _COARSE)
    return _steps(row, variance, near, _FINE) if near else None


def _steps(row: Row, variance: Decimal, start: Multipliers, near: Decimal) -> Multipliers | None:
    """Newton steps until all is `near`, and one more, which doubles the digits."""
    b, c = start
    for _ in range(_PATIENCE):
        if not 0 < c < _FARTHEST or abs(b) > _FARTHEST:
            return None
        now = row.moments(b, c)
        excess, factor = _excess(now.second, variance)
        across, along = now.cov * factor, now.var_second * factor
        determinant = now.var_first * along - now.cov * across
        if determinant <= 0:
            return None
        b += (now.mean * along - excess * now.cov) / determinant
        c += (excess * now.var_first - now.mean * across) / determinant
        if max(abs(now.mean), abs(now.second - variance) / variance) <= near:
            return b, c
    return None


def _excess(second: Decimal, variance: Decimal) -> tuple[Decimal, Decimal]:
    """How far a variance is off, on a scale nearly linear in c, and that scale's slope."""
    if variance < 1:
        return (second / variance).ln(), 1 / second
    return (second - variance) / (variance * second), 1 / (second * second)


def with_variance(row: Row, variance: Decimal, start: Multipliers) -> Multipliers:
    """Multipliers of the distribution with the largest entropy and exactly `variance`."""
    if found := _newton(row, variance, start):
        return found
    b, moments = _balanced(row, ZERO, ZERO)
    if moments.second > variance:
        return _binding(row, variance, (b, ZERO))
    c = Decimal(-1) / max(abs(at) for at in (row.below.distances[-1], row.above.distances[-1]))
    while True:
        b, moments = _balanced(row, c, b)
        if moments.second > variance:
            return _binding(row, variance, (b, c))
        if -c > _FARTHEST:
            raise UnreachableError(moments.second)
        c *= 2


def _balanced(row: Row, c: Decimal, start: Decimal) -> tuple[Decimal, Moments]:
    """The multiplier b that makes the mean zero, and the moments there."""
    scale = _PRECISE * min(row.below.distances[0], row.above.distances[0])
    last: list[Moments] = []

    def mean(b: Decimal) -> tuple[Decimal, Decimal]:
        last[:] = [row.moments(b, c)]
        return last[0].mean, -last[0].var_first

    b = _falling_root(mean, start, scale)
    return b, last[0]


def _binding(row: Row, variance: Decimal, start: Multipliers) -> Multipliers:
    """Both multipliers; the variance at those of `start` is above the one asked for."""
    b, lowest = start
    at, slope = lowest, ZERO

    def excess(c: Decimal) -> tuple[Decimal, Decimal]:
        nonlocal b, at, slope
        b, moments = _balanced(row, c, b + slope * (c - at))
        at = c
        if moments.var_first <= 0:  # one block holds all that is not fixed
            slope = ZERO
            return moments.second - variance, ZERO
        slope = -moments.cov / moments.var_first
        change = moments.cov * moments.cov / moments.var_first - moments.var_second
        value, factor = _excess(moments.second, variance)
        return value, change * factor

    c = _falling_root(excess, lowest, _PRECISE / max(variance, ONE), lowest)
    return b, c


def _falling_root(
    function: Callable[[Decimal], tuple[Decimal, Decimal]],
    start: Decimal,
    tolerance: Decimal,
    lowest: Decimal | None = None,
) -> Decimal:
    """Where a falling function is zero.

    Args:
        function: Gives value and slope.
        start: First guess.
        tolerance: How near to zero the value must come.
        lowest: A place known to be below the root.
    """
    ends: dict[bool, _Place] = {} if lowest is None else {False: (lowest, None)}
    x = start
    for number in count(1):
        value, slope = function(x)
        if abs(value) <= tolerance:
            return x
        ends[value < 0] = (x, x - value / slope if slope < 0 else None)
        if len(ends) == 2 and ends[True][0] - ends[False][0] <= _NARROW * max(abs(x), _NARROW):
            return x
        x = _next(x, value < 0, ends, number)
    raise AssertionError("unreachable")


def _next(x: Decimal, after: bool, ends: dict[bool, _Place], number: int) -> Decimal:
    """Newton's step where it stays between the ends, else their middle, else farther out."""
    if len(ends) < 2:
        reach = max(2 * abs(x), ONE)  # where the function is flat, Newton's step is endless
        new = ends[after][1]
        far = x - reach if after else x + reach
        return far if new is None or abs(new - x) > reach else new
    if number % 8:  # halve the interval now and then, should Newton's steps creep
        for end in (after, not after):
            new = ends[end][1]
            if new is not None and ends[False][0] < new < ends[True][0]:
                return new
    return _middle(ends)


def _middle(ends: dict[bool, _Place]) -> Decimal:
    return (ends[False][0] + ends[True][0]) / 2
