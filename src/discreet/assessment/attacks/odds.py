"""Odds: how likely attacks succeed on a perturbation table, before anything is counted.

In: a perturbation table, and how much is published. Out: chances. SECRET: who knows them knows
the table better. The noise of large counts is meant unless a count is named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from discreet.arrays import FloatArray
from discreet.assessment.probabilities import NoiseChances
from discreet.confidential import SecretValues
from discreet.errors import PerturbationError
from discreet.protection.noise import PerturbationTable

_NORMAL = NormalDist()
#: More partitions are not looked for.
_MOST = 100_000
_PARITY = 20


@dataclass(frozen=True, repr=False)
class NoiseOdds(SecretValues):
    """The noise of large counts, and what follows from it. SECRET.

    Args:
        noise: Smallest noise.
        share: Its probability, and those of the next larger ones.
        chances: The whole table.
    """

    noise: int
    share: FloatArray
    chances: NoiseChances

    @classmethod
    def of(cls, ptable: PerturbationTable) -> NoiseOdds:
        """The odds of a table."""
        chances = NoiseChances.of(ptable)
        start, length = chances.beyond
        share = chances.share[start : start + length].mean(axis=0)
        return cls(int(chances.noise[0]), share, chances)

    @property
    def variance(self) -> float:
        """The variance of the noise of large counts."""
        values = self.noise + np.arange(len(self.share))
        mean = float(values @ self.share)
        return float(((values - mean) ** 2) @ self.share)

    @property
    def staying(self) -> float:
        """How likely a large count is published as it is."""
        at = -self.noise
        return float(self.share[at]) if 0 <= at < len(self.share) else 0.0

    def equal(self, count: int | None = None) -> float:
        """How likely a cell shows the same with and without one person: q(n).

        Args:
            count: The count without; large if None.
        """
        if count is None:
            with_one = without = self.share
        else:
            row = self.chances.rows_of(np.array([count + 1, count]))
            with_one, without = self.chances.share[row]
        # n + 1 + e' = n + e: the noise with the person is one less.
        return float(with_one[:-1] @ without[1:])

    def membership(self, crossings: int, count: int | None = None) -> float:
        """How likely at least one of so many crossings proves that a person is in."""
        return float(1 - self.equal(count) ** crossings)

    def partitions(self, number: int) -> float:
        """How likely the mean over so many partitions into two, rounded, is the true count."""
        sums = _power(self.share, 2 * number)
        values = 2 * number * self.noise + np.arange(len(sums))
        return float(sums[2 * np.abs(values) < number].sum())

    def partitions_for(self, success: float = 0.95) -> int:
        """The fewest partitions that succeed so often."""
        if not 0 < success < 1:
            message, hint = "the success rate must lie between 0 and 1", "success=0.95"
            raise PerturbationError(message, code="attack", where="success", hint=hint)
        low, high = 1, 1
        while self.partitions(high) < success:
            low, high = high, 2 * high
            if high > _MOST:
                raise PerturbationError(
                    "no number of partitions reaches this success rate",
                    code="attack",
                    where="success",
                )
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.partitions(middle) >= success else (middle + 1, high)
        # An odd number may succeed more often than the even one after it.
        near = range(max(1, low - _PARITY), low + 1)
        return next(number for number in near if self.partitions(number) >= success)

    def averaged(self, exposure: float) -> float:
        """About how likely the best estimate from so much exposure, rounded, is the true count.

        The estimate is taken as normal, which holds from an exposure of four or so.
        """
        return averaging_success(self.variance, exposure)

    def tolerated(self, success: float = 0.6) -> float:
        """The exposure up to which averaging succeeds at most so often."""
        return self.variance / (0.5 / _NORMAL.inv_cdf((1 + success) / 2)) ** 2

    def sums_for_maximum(self, success: float = 0.95, *, exactly: bool = False) -> int:
        """How many sums of two parts show the largest noise so often.

        Args:
            success: How often.
            exactly: By a sum that is off by three times the largest noise; else by one that is
                off by more than three times a smaller one could be.
        """
        far = len(self.share) // 2
        three = _power(self.share, 3)  # symmetric: signs do not matter
        most = (3 * far if exactly else 3 * (far - 1) + 1) + len(three) // 2
        chance = 2 * float(three[most:].sum())
        return math.ceil(math.log1p(-success) / math.log1p(-chance))

    def pairs_to_tell(self, error: float = 0.05) -> float:
        """How many pairs tell a difference of one from none by their mean, with such errors."""
        return 2 * self.variance * (2 * _NORMAL.inv_cdf(1 - error)) ** 2

    def determined(self, parts: int, *, official: bool = False) -> float:
        """How likely a sum of so many parts determines all of them, the largest noise known."""
        low, high = float(self.share[0]), float(self.share[-1])
        if official:
            return low**parts + high**parts
        return high * low**parts + low * high**parts

    def privacy(self) -> tuple[float, float]:
        """(ε, δ) of one large count as differential privacy has them; no guarantee."""
        ratio = np.log(self.share[1:] / self.share[:-1])
        delta = max(float(self.share[0]), float(self.share[-1]))
        return float(np.abs(ratio).max(initial=0.0)), delta


def averaging_success(variance: float, exposure: float) -> float:
    """How likely the estimate from so many independent figures, rounded, is the true count."""
    spread = math.sqrt(variance / exposure)
    return 1.0 if not spread else math.erf(0.5 / (math.sqrt(2) * spread))


def exposure_of(levels: Sequence[Sequence[int]]) -> float:
    """The exposure of the total of a table with all margins, from its variables alone.

    >>> exposure_of([[2]] * 8)
    25.62890625
    >>> round(exposure_of([[101, 21, 11, 3]]), 2)
    1.48
    """
    return math.prod(1 + sum(1 / size for size in sizes) for sizes in levels)


def _power(share: FloatArray, times: int) -> FloatArray:
    """The distribution of a sum of so many draws."""
    size = times * (len(share) - 1) + 1
    shares = np.fft.irfft(np.fft.rfft(share, size) ** times, size)
    return np.maximum(shares, 0.0)
