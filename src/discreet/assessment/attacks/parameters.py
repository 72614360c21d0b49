"""Noise: what sums beside their parts tell of it, and what averaging and insiders find.

In: published cells or figures; a perturbation table. Out: `FoundParameters`, from sums beside their
parts alone, SECRET where true; `SharedNoise` where figures of two universes carry the same noise,
so that their difference is the true one; `NoiseOdds`, SECRET; for each cell its exposure – by how
many independent figures it is known – and the least-squares estimate from all of them;
`AttackedValues` per universe and figure, `AlikeNoise` for columns that are blurred alike. The noise
of a sum of values follows its largest contributions, so that finding it within some per cent of the
largest one finds a person's or firm's value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import Literal

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, starts
from discreet.assessment.attacks.figures import PublishedFigures
from discreet.assessment.probabilities import NoiseChances
from discreet.confidential import SecretValues
from discreet.disclosure import LayerKey, LayerStep, LeastSquares, PublishedCells, PublishedLayer
from discreet.protection.noise import PerturbationTable

#: Figures smaller than this may carry other noise.
_LARGE = 30
#: So few sums tell nothing; only sums of so many parts at most are used.
_LEAST, _PARTS = 30, 20
#: Noise that comes from keys differs from sum to sum; such a share of equal ones does not.
_SAME = 0.9
#: So few errors of estimate are chance.
_CHANCE = 6.0
#: So few parts of an official sum tell their noise.
_FEW_PARTS = 3
#: The share that stays shows in so many sums.
_MANY = 5_000


@dataclass(frozen=True, kw_only=True, repr=False)
class FoundParameters(SecretValues):
    """Noise parameters derived from sums. SECRET."""

    sums: int  # number of sums of large figures that were used
    variance: float  # the variance of the noise, as estimated; NaN if there are too few sums
    error: float  # the standard error of that
    largest: int  # the largest noise is at least this
    staying: float  # the share of figures that are not changed, as estimated from sums of two
    never: tuple[int, ...]  # small figures that never occur, though figures around them do
    official: int  # number of official sums of at most three parts with noise: they tell of it
    constant: bool  # whether the noise hardly differs from sum to sum: the record keys are no keys

    def unlike(self, variance: float) -> bool:
        """Whether the noise is not that of a perturbation table of this variance."""
        known = np.isfinite(self.variance) and np.isfinite(variance)
        return bool(known and abs(self.variance - variance) > _CHANCE * self.error + 0.1 * variance)


@dataclass(frozen=True, kw_only=True)
class SharedNoise:
    """Two universes whose figures carry the same noise: their difference is exact."""

    first: str  # the one
    second: str  # the other
    sums: int  # number of sums that both have, with different figures
    equal: int  # in how many of them the noise leaves the same difference


def shared_noise(published: PublishedFigures) -> list[SharedNoise]:
    """Pairs of universes with one noise, as found in what sums and their parts differ by."""
    known = {name: _differences(own, _sums) for name, own in published.systems.items()}
    pairs = []
    for (first, one), (second, other) in combinations(known.items(), 2):
        left, left_there, value, value_there = _in_both(one, other)
        apart = value != value_there
        sums, equal = int(apart.sum()), int((left == left_there)[apart].sum())
        if sums >= _LEAST and equal >= _SAME * sums:
            pairs.append(SharedNoise(first=first, second=second, sums=sums, equal=equal))
    return pairs


#: Per finer and coarser layer: sums by number, what they differ from their parts by, and what they
#: show.
_Differences = dict[tuple[LayerKey, LayerKey], tuple[IntArray, IntArray, IntArray]]
#: Per sum what it differs from its parts by, how many these are, and whether it is looked at.
_StepSums = tuple[IntArray, IntArray, BoolArray]


def _differences(system: PublishedCells, sums: Callable[[LayerStep], _StepSums]) -> _Differences:
    differences: _Differences = {}
    for step in system.steps():
        left, _, good = sums(step)
        key = (step.fine.key, step.coarse.key)
        differences[key] = step.coarse.ids[good], left[good], step.coarse.value[good]
    return differences


def _in_both(one: _Differences, other: _Differences) -> tuple[IntArray, ...]:
    """Of sums that both have, the differences from their parts in either, and what either shows."""
    rows = [np.zeros((4, 0), dtype=np.int64)]
    for key in one.keys() & other.keys():
        (ids, *own), (ids_there, *there) = one[key], other[key]
        _, at, to = np.intersect1d(ids, ids_there, assume_unique=True, return_indices=True)
        rows.append(np.stack([own[0][at], there[0][to], own[1][at], there[1][to]]))
    return tuple(np.concatenate(rows, axis=1))


def found_parameters(system: PublishedCells) -> FoundParameters:
    """Derive noise parameters from the sums of a universe."""
    # Per sum of large figures: sum minus parts, and the number of parts.
    kept, numbers, official = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
    for step in system.steps():
        missed, number, good = _sums(step)
        kept.append(missed[good])
        numbers.append(number[good])
        if step.coarse.official.any():
            _, number, good = _sums(step, official=True)
            official += int((good & (number <= _FEW_PARTS)).sum())
    differences, parts = np.concatenate(kept), np.concatenate(numbers)
    # Nearly all sums of as many parts differ from them by the same noise, not by none.
    alike = differences[parts == np.bincount(parts).argmax()] if len(parts) else differences
    constant = False
    if len(alike) >= _LEAST:
        values, often = np.unique(alike, return_counts=True)
        most = int(often.argmax())
        constant = bool(often[most] >= _SAME * len(alike) and values[most] != 0)
    variance = error = staying = float("nan")
    largest = 0
    if len(differences) >= _LEAST:
        squares = differences**2 / (parts + 1)
        variance = float(squares.mean())
        error = float(squares.std() / len(squares) ** 0.5)
        largest = int(np.ceil(np.abs(differences) / (parts + 1)).max())
        pairs = differences[parts == 2]
        staying = _staying(pairs) if len(pairs) >= _MANY else staying
    return FoundParameters(
        sums=len(differences),
        variance=variance,
        error=error,
        largest=largest,
        staying=staying,
        never=_never(system),
        official=official,
        constant=constant,
    )


def _sums(step: LayerStep, *, official: bool = False) -> _StepSums:
    """The sums whose parts are all large and with noise."""
    fine, coarse = step.fine, step.coarse
    bad = ~fine.shown | fine.official | (fine.value < _LARGE)
    good = (step.sums(bad) == 0) & (step.unlisted == 0) & coarse.shown
    good &= (step.number > 1) & (step.number <= _PARTS) & (coarse.official == official)
    return coarse.value - step.sums(fine.value).astype(np.int64), step.number, good


def _staying(differences: IntArray) -> float:
    """The share of unchanged figures, if noise is symmetric.

    The transform of a difference of three is then the third power of that of one.
    """
    reach = int(np.abs(differences).max(initial=1))
    size = 2 * reach + 1
    share: FloatArray = np.bincount(differences + reach, minlength=size) / len(differences)
    turned = np.fft.fft(np.fft.ifftshift(share)).real
    noise = np.fft.ifft(np.cbrt(turned)).real
    return float(np.clip(noise[0], 0.0, 1.0))


def _never(system: PublishedCells) -> tuple[int, ...]:
    """Figures below 10 that do not occur, though larger and smaller ones do often enough."""
    often = np.zeros(10, dtype=np.int64)
    for layer in system.layers.values():
        small = layer.value[layer.shown & (layer.value < 10) & (layer.value > 0)]
        often += np.bincount(small, minlength=10)[:10]
    if often.sum() < _LEAST:
        return ()
    return tuple(int(k) for k in range(1, 9) if not often[k] and often[k + 1 :].max() >= _LEAST)


#: Within which share of it a largest contribution is taken as found: the p % rule.
_NEAR = 0.10
#: From how many sums on, how far beyond chance and how often noise has to have one sign.
_SUMS, _BEYOND, _OFTEN, _NEARLY_ALL = 50, 6.0, 0.6, 0.9


@dataclass(frozen=True, kw_only=True)
class AttackedValues:
    """Result of attacks on the sums of a column."""

    figure: str  # universe and figure
    cells: int  # number of cells that show a sum
    #: Of the layer that other figures help most, by how many independent ones half of its sums are
    #: known, if the noise of each grows with it
    exposure: float
    layer: str  # that layer
    #: Number of shown cells of one contributor, or whose two largest contributions leave less than
    #: 10 % of the largest to others. None without true sums. CONFIDENTIAL
    dominated: int | None = None
    #: How often the largest contribution there is found within 10 % from the published sum, by the
    #: second largest contributor; by anyone if there is one only
    published: float | None = None
    averaged: float | None = None  # the same from all figures together. CONFIDENTIAL both
    #: With noise of units, which more tables do not narrow down: within how many per cent, in place
    #: of 10, the best guess of a reader or of the second largest contributor counts as found
    p_percent: float | None = None
    chance: float | None = None  # and how often it is, by the way factors are drawn. SECRET


@dataclass(frozen=True, kw_only=True)
class AlikeNoise:
    """Two columns, or two periods of one, whose noise has the same sign: it is drawn by one key."""

    first: str  # the one: universe and figure
    second: str  # the other
    sums: int  # number of sums compared
    alike: int  # number of those that differ from their parts in the same direction


def attacked_values(published: PublishedFigures) -> list[AttackedValues]:
    """Results of attacks on each column of sums."""
    return [_attacked(system) for system in published.values.values() if system.layers]


def _attacked(system: PublishedCells) -> AttackedValues:
    cells_of = {} if system.means else estimated(system, relative=True)
    best, where, cells = 1.0, "", 0
    tallies: list[tuple[BoolArray, BoolArray]] = []
    for key, layer in system.layers.items():
        seen = layer.shown & (layer.value != 0)
        cells += int(seen.sum())
        estimate, own = layer.value.astype(np.float64), cells_of.get(key)
        if own is not None and own.noisy.any():
            estimate, exposure = own.estimate, float(np.median(own.exposure[own.noisy]))
            if exposure > best:
                best, where = exposure, system.title(key)
        if layer.true is not None and layer.largest is not None:
            tallies.append(_found(layer, estimate))
    number = published = averaged = None
    if tallies:
        hits = [np.concatenate(item) for item in zip(*tallies, strict=True)]
        number = len(hits[0])
        published, averaged = (float(hit.mean()) if number else 0.0 for hit in hits)
    return AttackedValues(
        figure=system.name, cells=cells, exposure=best, layer=where, dominated=number,
        published=published, averaged=averaged,
    )  # fmt: skip


def _found(layer: PublishedLayer, estimate: FloatArray) -> tuple[BoolArray, BoolArray]:
    """For dominated cells, whether who knows the second largest contribution finds the largest."""
    assert layer.true is not None
    assert layer.largest is not None
    ids, total = layer.true
    at = layer.at(ids)
    padded: AnyArray = np.zeros((len(ids), 2))
    padded[:, : layer.largest.shape[1]] = layer.largest
    first, second = padded.T
    rest = np.abs(total) - first - second
    chosen = (at >= 0) & (first > 0) & (rest < _NEAR * first)
    chosen &= layer.shown[at] & (layer.value[at] != 0) & ~layer.official[at]
    first, second, sign = first[chosen], second[chosen], np.sign(total[chosen])
    hits = [
        np.abs(sign * figures[at[chosen]] - second - first) <= _NEAR * first
        for figures in (layer.value, estimate)
    ]
    return hits[0], hits[1]


# -- columns that are blurred alike -------------------------------------------------------------


def alike_noise(published: PublishedFigures) -> list[AlikeNoise]:
    """Columns of one universe, and periods of one column, whose noise has the same sign.

    A sum less its parts is noise alone. Where noise is drawn by keys of its own for each column and
    period, its sign agrees by chance in half of the sums.
    """
    systems = {key: system for key, system in published.values.items() if not system.means}
    systems |= {(name, ""): published.systems[name] for name in {name for name, _ in systems}}
    differences = {key: _differences(system, _value_sums) for key, system in systems.items()}
    pairs = []
    for one, other in combinations(sorted(systems), 2):
        if one[0] == other[0] or (one[1] and one[1] == other[1]):
            least = _OFTEN if one[0] == other[0] else _NEARLY_ALL
            left, left_there, value, value_there = _in_both(differences[one], differences[other])
            sums, alike = len(left), int((np.sign(left) == np.sign(left_there)).sum())
            # Sets that are the same have the same sums: that tells nothing of noise.
            if sums < _SUMS or (value == value_there).sum() > 0.1 * sums or alike < least * sums:
                continue
            if alike - sums / 2 > _BEYOND * math.sqrt(sums) / 2:
                names = (
                    ": ".join(filter(None, (name, of or "counts"))) for name, of in (one, other)
                )
                first, second = sorted(names)
                pairs.append(AlikeNoise(first=first, second=second, sums=sums, alike=alike))
    return sorted(pairs, key=lambda pair: (-pair.alike, pair.first, pair.second))


def _value_sums(step: LayerStep) -> _StepSums:
    """The sums of which all parts are shown, and which differ from these."""
    good = (step.sums(~step.fine.shown) == 0) & (step.sums(step.fine.value != 0) > 1)
    left = np.rint(step.coarse.value - step.sums(step.fine.value)).astype(np.int64)
    return left, step.number, good & step.coarse.shown & ~step.coarse.official & (left != 0)


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


def averaging_successes(variance: float, exposures: FloatArray) -> FloatArray:
    """The same probability for many exposures."""
    from scipy.special import erf

    if not variance:
        return np.ones(len(exposures))
    return np.asarray(erf(0.5 / np.sqrt(2 * variance / exposures)))


def exposure_of(levels: Sequence[Sequence[int]]) -> float:
    """The exposure of the total of a table with all margins, from its variables alone.

    >>> exposure_of([[2]] * 8)
    25.62890625
    >>> round(exposure_of([[101, 21, 11, 3]]), 2)
    1.48
    """
    return math.prod(1 + sum(1 / size for size in sizes) for sizes in levels)
