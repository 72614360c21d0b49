"""Designing one row: the distribution of largest entropy that meets its demand. SECRET.

In: a `Demand` and a variance. Out: a `RowSolution`, or a `ClashError` that says which
constraints clash and what the nearest feasible value is.

Multipliers of mean and variance are found to some 24 digits: by Newton's method in both,
in a few steps from those of a neighbouring row; should it not end, by a bracketed search:
the mean falls in b, and the variance at zero mean falls in c, so both are roots of
falling functions of one variable. The smallest variance a row can have is computed on
its own: there entropy has nothing left to choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from itertools import count

from discreet.protection.noise.design.entropy import ONE, ZERO, Moments, NoiseRow, NoiseSide
from discreet.protection.noise.design.parameters import TINY, Demand, Relax, at_least, at_most


class StayTooSmallError(Exception):
    """The stay probability leaves more to the other values than they may take."""

    def __init__(self, least: Decimal) -> None:
        super().__init__()
        self.least = least


@dataclass(frozen=True, repr=False, eq=False)
class SmallestVariance:
    """The distribution with the smallest variance, and whether it is the only one."""

    variance: Decimal
    probability: dict[int, Decimal]  # of each noise value it uses
    only: bool = False  # whether the row has no other distribution


def smallest_variance(row: NoiseRow) -> SmallestVariance:
    """The distribution of a row with mean zero and the smallest variance."""
    if row.stay is not None:
        return _beside_staying(row, row.stay)
    if row.zero:
        return SmallestVariance(ZERO, {0: ONE})
    low, high = Decimal(row.below.distances[0]), Decimal(row.above.distances[0])
    shares = {-int(low): high / (low + high), int(high): low / (low + high)}
    return SmallestVariance(low * high, shares)


def _beside_staying(row: NoiseRow, stay: Decimal) -> SmallestVariance:
    """Fill both sides from zero outward, in balance, until all probability is placed.

    No ordered side may hold more than the stay probability anywhere; what is
    nearest to zero adds least to the variance.
    """
    below, above = _SideFilling(row.below, stay), _SideFilling(row.above, stay)
    left = ONE - stay
    while left > TINY * (ONE - stay):
        room = min(below.room, above.room)
        if not room:
            raise StayTooSmallError(stay / (ONE - left))
        mass = 1 / below.distance + 1 / above.distance  # per unit of moment on either side
        moment = min(room, left / mass)
        below.add(moment)
        above.add(moment)
        left -= moment * mass
    shares = {0: stay} | below.shares | above.shares
    variance = sum((value * value * share for value, share in shares.items()), ZERO)
    return SmallestVariance(
        variance, dict(sorted(shares.items())), only=not (below.room and above.room)
    )


class _SideFilling:
    """Probability placed on one side, from zero outward."""

    def __init__(self, side: NoiseSide, cap: Decimal) -> None:
        self.side = side
        self.cap = cap if side.ordered else Decimal("Infinity")
        self.shares: dict[int, Decimal] = {}
        self.at = 0
        self.room = self.cap * side.distances[0]

    @property
    def distance(self) -> Decimal:
        return Decimal(self.side.distances[self.at])

    def add(self, moment: Decimal) -> None:
        """Place as much at the present distance as has this moment."""
        distance = self.side.distances[self.at]
        value = self.side.sign * distance
        self.shares[value] = self.shares.get(value, ZERO) + moment / distance
        self.room -= moment
        if self.room <= TINY * self.cap * distance and self.at + 1 < len(self.side.distances):
            self.at += 1
            self.room = self.cap * self.side.distances[self.at]
        elif self.room < 0:
            self.room = ZERO


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


def largest_entropy(row: NoiseRow, variance: Decimal, start: Multipliers) -> Multipliers:
    """Multipliers of the distribution with the largest entropy and at most `variance`."""
    return _newton(row, variance, start) or bracketed(row, variance, start[0])


def bracketed(row: NoiseRow, variance: Decimal, start: Decimal = ZERO) -> Multipliers:
    """As `largest_entropy`, from any start and without fail."""
    free, moments = _balanced(row, ZERO, start)
    if moments.second <= variance:
        return free, ZERO
    return _binding(row, variance, (free, ZERO))


def _newton(row: NoiseRow, variance: Decimal, start: Multipliers) -> Multipliers | None:
    """Newton's method in both multipliers; None unless it soon ends where variance binds.

    The first steps are made with half the digits, for half the price.
    """
    with localcontext() as context:
        context.prec = _COARSE_DIGITS
        near = _steps(row, variance, start, _COARSE)
    return _steps(row, variance, near, _FINE) if near else None


def _steps(
    row: NoiseRow, variance: Decimal, start: Multipliers, near: Decimal
) -> Multipliers | None:
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


def with_variance(row: NoiseRow, variance: Decimal, start: Multipliers) -> Multipliers:
    """Multipliers of the distribution with the largest entropy and exactly `variance`."""
    if solution := _newton(row, variance, start):
        return solution
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


def _balanced(row: NoiseRow, c: Decimal, start: Decimal) -> tuple[Decimal, Moments]:
    """The multiplier b that makes the mean zero, and the moments there."""
    scale = _PRECISE * min(row.below.distances[0], row.above.distances[0])
    last: list[Moments] = []

    def mean(b: Decimal) -> tuple[Decimal, Decimal]:
        last[:] = [row.moments(b, c)]
        return last[0].mean, -last[0].var_first

    b = _falling_root(mean, start, scale)
    return b, last[0]


def _binding(row: NoiseRow, variance: Decimal, start: Multipliers) -> Multipliers:
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
    """Where a falling function is zero."""
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
    return (ends[False][0] + ends[True][0]) / 2


#: Steps in which a stay probability is lowered.
STAY_STEP = Decimal("0.05")


class ClashError(Exception):
    """A row whose constraints clash."""

    def __init__(self, what: str, where: str, hint: str, least: Decimal = ZERO) -> None:
        super().__init__(what)
        self.what, self.where, self.hint, self.least = what, where, hint, least


@dataclass(frozen=True, repr=False, eq=False)
class RowSolution:
    """The distribution of a row."""

    probability: dict[int, Decimal]  # of each noise value that occurs
    variance: Decimal
    start: Multipliers | None  # multipliers, a good start for a neighbouring row
    stay: Decimal | None  # the fixed stay probability it has
    #: What gave way: the variance lies below the one asked for, the stay probability is lowered, or
    #: the order is given up above zero
    relaxed: Relax | None


def solve_row(demand: Demand, variance: Decimal, start: Multipliers) -> RowSolution:
    """Design one row."""
    if not (demand.below and demand.above) or demand.stay == ONE:
        return _without_noise(demand)
    row = _at_most(demand, demand.stay, variance, start)
    if row.relaxed is None or demand.relax == "variance":
        return row
    if demand.relax == "stay":
        return _with_lower_stay(demand, variance, row) if demand.stay else row
    return _exactly(demand, variance, start)


def _without_noise(demand: Demand) -> RowSolution:
    """Rows that cannot have noise on both sides, or are told to stay."""
    i = demand.i
    missing = "below" if not demand.below else "above"
    hint = "forbid fewer values, or allow larger noise"
    if not demand.zero:
        message = f"row {i} has no allowed noise {missing} zero, so its mean cannot be zero"
        raise ClashError(message, "forbidden", hint)
    if demand.stay is not None and demand.stay != ONE:
        message = f"row {i} can only stay: no noise {missing} zero is allowed"
        raise ClashError(message, "stay", f"{hint}; or remove its stay probability")
    return RowSolution({0: ONE}, ZERO, None, demand.stay, None if demand.stay else "variance")


def _row(demand: Demand, stay: Decimal | None, *, above: bool, below: bool) -> NoiseRow:
    """The row with its order demanded above or below zero."""
    return NoiseRow(
        NoiseSide(-1, demand.below, below), NoiseSide(1, demand.above, above), demand.zero, stay
    )


def _at_most(
    demand: Demand, stay: Decimal | None, variance: Decimal, start: Multipliers
) -> RowSolution:
    """The row with a variance up to the one given."""
    row = _row(demand, stay, above=demand.monotone, below=demand.monotone)
    try:
        corner = smallest_variance(row)
    except StayTooSmallError as error:
        message = f"row {demand.i} needs a stay probability of at least {at_least(error.least)}"
        hint = "no probability may exceed the stay probability; or use monotone=False"
        raise ClashError(message, "stay", hint) from None
    if variance < corner.variance * (1 - TINY):
        raise _variance_too_small(demand, stay, corner.variance)
    if corner.only or variance <= corner.variance * (1 + TINY):
        below = corner.variance < variance * (1 - TINY)
        return RowSolution(
            corner.probability, corner.variance, None, stay, "variance" if below else None
        )
    b, c = largest_entropy(row, variance, start)
    shares = row.distribution(b, c)
    reached = _second(shares)
    below = reached < variance * (1 - TINY)
    return RowSolution(shares, reached, (b, c), stay, "variance" if below else None)


def _with_lower_stay(demand: Demand, variance: Decimal, solution: RowSolution) -> RowSolution:
    """Lower the stay probability step by step until the variance is reached."""
    assert demand.stay is not None
    stay, best = demand.stay - STAY_STEP, solution.variance
    while stay > 0:
        try:
            lower = _at_most(demand, stay, variance, solution.start or (ZERO, ONE / variance))
        except ClashError:
            break
        if lower.relaxed is None:
            return RowSolution(lower.probability, lower.variance, lower.start, stay, "stay")
        best = max(best, lower.variance)
        stay -= STAY_STEP
    message = f"row {demand.i} does not reach the variance at any stay probability"
    hint = (
        f"it reaches {at_most(best / demand.step**2)}; allow less with relax={{{demand.i}: "
        '"variance"}'
    )
    raise ClashError(message, "stay", hint)


def _exactly(demand: Demand, variance: Decimal, start: Multipliers) -> RowSolution:
    """Reach the variance; above zero, and if need be below, the order is given up."""
    relaxed: Relax | None = "unimodality" if demand.monotone else None
    largest = ZERO
    for below in (True, False) if demand.monotone else (False,):
        row = _row(demand, demand.stay, above=False, below=below)
        corner = smallest_variance(row)
        if corner.only:
            largest = corner.variance
            continue
        try:
            b, c = with_variance(row, variance, start)
        except UnreachableError as error:
            largest = error.largest
            continue
        shares = row.distribution(b, c)
        return RowSolution(shares, _second(shares), (b, c), demand.stay, relaxed)
    message = (
        f"row {demand.i} cannot have a variance of more than {at_most(largest / demand.step**2)}"
    )
    hint = f'lower the variance, or relax it with relax={{{demand.i}: "variance"}}'
    raise ClashError(message, "variance", hint)


def _variance_too_small(demand: Demand, stay: Decimal | None, least: Decimal) -> ClashError:
    message = f"row {demand.i} needs a variance of at least {at_least(least / demand.step**2)}"
    if stay is not None:
        hint = "zero mean and the stay probability require it; or raise stay"
    else:
        low, high = demand.below[0], demand.above[0]
        hint = f"zero mean needs its nearest allowed values {demand.i - low} and {demand.i + high}"
    return ClashError(message, "variance", hint, least)


def _second(shares: dict[int, Decimal]) -> Decimal:
    return sum((value * value * share for value, share in shares.items()), ZERO)
