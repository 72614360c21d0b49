"""The smallest variance a row can have.

In: a row. Out: that variance with its distribution, or the reason why there is
none. These are the corner cases in which entropy has nothing left to choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from discreet.perturbation.design.entropy import ONE, ZERO, Row, Side
from discreet.perturbation.design.numbers import TINY

__all__ = ["Corner", "StayTooSmallError", "smallest_variance"]


class StayTooSmallError(Exception):
    """The stay probability leaves more to the other values than they may take."""

    def __init__(self, least: Decimal) -> None:
        super().__init__()
        self.least = least


@dataclass(frozen=True, repr=False, eq=False)
class Corner:
    """The distribution with the smallest variance, and whether it is the only one.

    Args:
        variance: Its variance.
        probability: Of each noise value it uses.
        only: Whether the row has no other distribution.
    """

    variance: Decimal
    probability: dict[int, Decimal]
    only: bool = False


def smallest_variance(row: Row) -> Corner:
    """The distribution of a row with mean zero and the smallest variance."""
    if row.stay is not None:
        return _beside_staying(row, row.stay)
    if row.zero:
        return Corner(ZERO, {0: ONE})
    low, high = Decimal(row.below.distances[0]), Decimal(row.above.distances[0])
    shares = {-int(low): high / (low + high), int(high): low / (low + high)}
    return Corner(low * high, shares)


def _beside_staying(row: Row, stay: Decimal) -> Corner:
    """Fill both sides from zero outward, in balance, until all probability is placed.

    No ordered side may hold more than the stay probability anywhere; what is
    nearest to zero adds least to the variance.
    """
    below, above = _Filling(row.below, stay), _Filling(row.above, stay)
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
    return Corner(variance, dict(sorted(shares.items())), only=not (below.room and above.room))


class _Filling:
    """Probability placed on one side, from zero outward."""

    def __init__(self, side: Side, cap: Decimal) -> None:
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
