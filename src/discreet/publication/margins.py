"""What noise means for counts, and for what readers derive from them.

In: published counts, and the margin that an office states for them. Out: ranges that hold in about
95 of 100 cases. Public: a margin is rounded outward, and many perturbation tables share it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.errors import PublicationError

_Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class CountMargin:
    """Margin of published counts: about 95 of 100 are within it.

    Noise changes each count on its own. The range of what is derived from several counts therefore
    grows with the root of their number, not with their number.

    Args:
        within: The margin that a release states, `margin` in its JSON files.

    >>> margin = CountMargin(5)
    >>> margin.count(12), margin.count(3)
    ((7, 17), (0, 8))
    >>> [round(end, 1) for end in margin.difference(120, 100)]
    [12.9, 27.1]
    """

    within: int

    def __post_init__(self) -> None:
        if isinstance(self.within, bool) or not isinstance(self.within, int) or self.within < 0:
            message = "a margin is a whole number of at least 0"
            raise PublicationError(message, code="margin", hint="CountMargin(5)")

    def count(self, value: float) -> _Range:
        """The range of one count."""
        return max(0, value - self.within), value + self.within

    def total(self, values: Iterable[float]) -> _Range:
        """The range of a sum of counts that are published one by one.

        >>> CountMargin(5).total([100] * 4)
        (390.0, 410.0)
        """
        listed = list(values)
        within = self.within * math.sqrt(len(listed))
        return max(0.0, sum(listed) - within), sum(listed) + within

    def difference(self, first: float, second: float) -> _Range:
        """The range of a difference of two counts."""
        within = self.within * math.sqrt(2)
        return first - second - within, first - second + within

    def share(self, part: float, whole: float) -> _Range:
        """The range of a share; 0 to 1 where the whole itself is not known well enough.

        >>> [round(end, 3) for end in CountMargin(5).share(30, 120)]
        [0.205, 0.295]
        """
        low, high = self.rate(part, whole, 1)
        return low, min(1.0, high)

    def rate(self, part: float, whole: float, per: float = 1000) -> _Range:
        """The range of a rate, such as births by 1,000 persons; it may exceed `per`."""
        if whole <= self.within:
            return 0.0, math.inf
        rate = part / whole
        within = self.within * math.sqrt(1 + rate * rate) / (whole - self.within)
        return per * max(0.0, rate - within), per * (rate + within)

    def larger(self, first: float, second: float) -> bool | None:
        """Whether the first count is the larger one; None if the margin leaves it open.

        >>> CountMargin(5).larger(120, 100), CountMargin(5).larger(104, 100)
        (True, None)
        """
        low, high = self.difference(first, second)
        return None if low <= 0 <= high else low > 0

    def ranks(self, values: Sequence[float]) -> list[tuple[int, int]]:
        """Per count, the best and the worst rank that it may have; rank 1 is the largest.

        >>> CountMargin(5).ranks([120, 104, 100])
        [(1, 1), (2, 3), (2, 3)]
        """
        return [
            (
                1 + sum(self.larger(other, value) is True for other in values),
                len(values) - sum(self.larger(value, other) is True for other in values),
            )
            for value in values
        ]

    def relative(
        self, sizes: Iterable[int] = (10, 20, 50, 100, 200, 500, 1000, 10_000)
    ) -> dict[int, float]:
        """Count → its margin as a share of it.

        >>> CountMargin(5).relative([50, 1000])
        {50: 0.1, 1000: 0.005}
        """
        return {size: self.within / size for size in sizes}
