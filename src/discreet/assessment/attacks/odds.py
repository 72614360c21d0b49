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
from discreet.protection.noise import PerturbationTable

_NORMAL = NormalDist()


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
        """Probability that a large count is published unchanged."""
        at = -self.noise
        return float(self.share[at]) if 0 <= at < len(self.share) else 0.0

    def averaged(self, exposure: float) -> float:
        """About how likely the best estimate from so much exposure, rounded, is the true count.

        The estimate is taken as normal, which holds from an exposure of four or so.
        """
        return averaging_success(self.variance, exposure)

    def tolerated(self, success: float = 0.6) -> float:
        """The exposure up to which averaging succeeds at most so often."""
        return self.variance / (0.5 / _NORMAL.inv_cdf((1 + success) / 2)) ** 2


def averaging_success(variance: float, exposure: float) -> float:
    """Probability that the rounded mean of independent figures is the true count."""
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
