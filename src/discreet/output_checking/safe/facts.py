"""`Facts`: what is behind the numbers of a group. CONFIDENTIAL.

How many cases there are, the largest contributions, and how many cases differ from the
commonest value. An entity with many records counts once and contributes the sum of its
records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.output_checking.safe.limits import SafeLimits

__all__ = ["MANY", "Facts", "is_clear"]

#: So many differ from the commonest value, at least: more than any rule asks for.
MANY = 2**62


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Facts:
    """One group of values (confidential).

    Args:
        n: Records with a value.
        cases: Entities with a value.
        weight: Sum of weights; without weights the number of records.
        low: Smallest value.
        high: Largest value.
        mean: Mean.
        squares: Sum of squared deviations from it; with weights, weighted.
        size: Sum of the absolute contributions.
        first: Largest contribution.
        second: Second largest.
        differing: Cases that differ from the commonest value; `MANY` if not looked at.
        held: Cases that share the commonest value.
        heavy: Largest weights: the sum of all, the first, the second.
    """

    n: int = 0
    cases: int = 0
    weight: float = 0.0
    low: float = math.nan
    high: float = math.nan
    mean: float = math.nan
    squares: float = math.nan
    size: float = 0.0
    first: float = 0.0
    second: float = 0.0
    differing: int = MANY
    held: int = 0
    heavy: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def total(self) -> float:
        """Sum of values, weighted with weights."""
        return self.mean * self.weight

    def __repr__(self) -> str:
        return "<Facts: confidential>"


def is_clear(facts: Facts, limits: SafeLimits) -> bool:
    """Whether no rule on contributions or on equal values can be broken, whatever the rest.

    The second largest is at most as large as the first. And if all but m values were the
    same, the squared deviations could not exceed m times the squared range.
    """
    even = 2 * facts.first <= limits.dominance / 100 * facts.size
    rest = facts.size - 2 * facts.first >= limits.closeness / 100 * facts.first
    span = facts.high - facts.low
    return even and rest and facts.squares > limits.minimum * span * span
