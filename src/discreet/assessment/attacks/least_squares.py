"""Averaging: how likely it succeeds, and at its best: least squares over all tables.

In: a perturbation table, and how much is published; published cells. Out: chances, SECRET, for who
knows them knows the table better; and for each cell its exposure – by how many independent figures
it is known – and the estimate from all of them, from published figures alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, starts
from discreet.assessment.probabilities import NoiseChances
from discreet.confidential import SecretValues
from discreet.disclosure import LayerKey, LeastSquares, PublishedCells, PublishedLayer
from discreet.protection.noise import PerturbationTable

#: With more cells, those that are not listed are not filled in.
_MOST = 200_000
#: The mean square of counts that were changed to zero, in terms of their mean.
_LARGER = 2.0
#: What attackers take zeros for.
Zeros = Literal["changed", "true", "noisy"]
#: The variance of noise that is not known.
_USUAL = 2.0


@dataclass(frozen=True, repr=False, eq=False)
class EstimatedCells:
    """Least-squares estimates of the cells of a layer."""

    layer: PublishedLayer
    noisy: BoolArray  # which cells show a figure with noise
    exposure: FloatArray  # per cell, by how many independent figures it is known
    estimate: FloatArray  # the estimate from all of them


def estimated(
    system: PublishedCells,
    variance: float = math.nan,
    *,
    relative: bool = False,
    zeros: Zeros = "changed",
    leverages: bool = True,
) -> dict[LayerKey, EstimatedCells]:
    """The estimates of all cells of a universe.

    Small counts may have been changed to zero: what sums miss says how often, by layer. An attacker
    may also take zeros for true ones, or for figures with noise like all others.

    Args:
        system: The publication.
        variance: The variance of the noise, if that is known.
        relative: Whether the noise of a figure grows with it, as that of sums does.
        zeros: What zeros are taken for.
        leverages: Whether to work out exposures, too; else they are 1.
    """
    layers = list(system.layers.values())
    sizes = [len(layer) for layer in layers]
    first = starts(sizes)
    place = dict(zip(system.layers, first.tolist(), strict=False))
    figure, shown, official = (
        np.concatenate([np.zeros(0), *(getattr(layer, name) for layer in layers)])
        for name in ("value", "shown", "official")
    )
    shown, official = shown.astype(np.bool_), official.astype(np.bool_)
    above = shown & ((figure != 0) | (zeros == "noisy"))
    none, number = np.zeros(0, dtype=np.int64), 0
    rows, cells, coefficients = [none], [none], [np.zeros(0, dtype=np.int8)]
    unseen: list[IntArray] = []
    finer: dict[LayerKey, list[slice]] = {}
    for step in system.steps():
        parts, whole = place[step.fine.key] + step.inside, step.place
        totals, size = place[step.coarse.key], len(step.coarse)
        above[totals + np.unique(whole[above[parts]])] = True
        counted = above[parts] | ~shown[parts]
        # A total whose parts all show zero is not their sum: they were changed to zero.
        there = np.unique(whole[counted])
        rows += [number + there, number + whole[counted]]
        cells += [totals + there, parts[counted]]
        coefficients += [np.full(len(there), -1, np.int8), np.ones(len(cells[-1]), np.int8)]
        unseen.append(step.unlisted + np.bincount(whole[~counted], minlength=size))
        finer.setdefault(step.fine.key, []).append(slice(number, number + size))
        number += size
    noisy = above & shown & ~official
    spread = np.where(noisy, 1.0, np.where(shown, 0.0, np.inf))
    if relative:
        spread = np.where(noisy, figure**2, spread)
        spread[noisy & (figure == 0)] = np.inf
    row, cell, coefficient = (
        np.concatenate(rows), np.concatenate(cells), np.concatenate(coefficients)
    )  # fmt: skip
    missing = np.zeros(number)
    if not relative and zeros != "true":
        sums = np.bincount(row, coefficient * figure[cell], number)
        whole_rows = np.bincount(row, minlength=number) > 1
        whole_rows &= np.bincount(row, ~shown[cell], number) == 0
        empty = np.concatenate([none, *unseen]) * whole_rows
        for steps in finer.values():
            every = sum(int(empty[own].sum()) for own in steps)
            missed = -sum(float(sums[own][empty[own] > 0].sum()) for own in steps)
            for own in steps if every else ():
                missing[own] = -max(missed, 0.0) / every * empty[own]
    give = -_LARGER * missing / (variance if variance > 0 else _USUAL)
    estimates = LeastSquares(row, cell, coefficient, figure, spread, missing, give)
    kinds: IntArray = np.repeat(np.arange(len(sizes)), sizes)
    exposure, best = np.ones(len(figure)), estimates.figures
    if leverages:
        exposure = 1 / estimates.leverages(kinds)
    return {
        layer.key: EstimatedCells(layer, estimates.noisy[at:to], exposure[at:to], best[at:to])
        for layer, at, to in zip(layers, first[:-1], first[1:], strict=True)
    }


def filled(system: PublishedCells) -> PublishedCells | None:
    """A copy with all unlisted cells; None if there are too many."""
    if sum(layer.grid.size for layer in system.layers.values()) > _MOST:
        return None
    layers = {}
    for key, layer in system.layers.items():
        layers[key] = replace(layer)
        layers[key].extend(np.arange(layer.grid.size, dtype=np.int64))
    return replace(system, layers=layers)


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
