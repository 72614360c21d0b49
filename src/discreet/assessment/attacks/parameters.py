"""Parameters: how much of a secret perturbation table a publication tells, and what undoes it.

In: published cells or figures. Out: `FoundParameters`, from sums beside their parts alone,
SECRET where true; `SharedNoise` where figures of two universes carry the same noise, so that
their difference is the true one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.assessment.attacks.figures import PublishedFigures
from discreet.confidential import SecretValues
from discreet.disclosure import LayerStep, PublishedCells

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
    known = {name: _by_sum(system) for name, system in published.systems.items()}
    pairs = []
    for (first, one), (second, other) in combinations(known.items(), 2):
        both = [key for key in one.keys() & other.keys() if one[key][0] != other[key][0]]
        equal = sum(one[item][1] == other[item][1] for item in both)
        if len(both) >= _LEAST and equal >= _SAME * len(both):
            pairs.append(SharedNoise(first=first, second=second, sums=len(both), equal=equal))
    return pairs


def _by_sum(system: PublishedCells) -> dict[tuple[object, ...], tuple[int, int]]:
    """Per sum of large figures: the figure, and by how much it differs from its parts."""
    by_sum: dict[tuple[object, ...], tuple[int, int]] = {}
    for step in system.steps():
        differences, _, good = _sums(step)
        if not good.any():
            continue
        ids = step.coarse.ids[good].tolist()
        values = step.coarse.value[good].tolist()
        apart = differences[good].tolist()
        key = (step.coarse.key, step.fine.key)
        by_sum |= {(key, i): (v, d) for i, v, d in zip(ids, values, apart, strict=True)}
    return by_sum


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


def _sums(step: LayerStep, *, official: bool = False) -> tuple[IntArray, IntArray, BoolArray]:
    """Per whole: minus its parts, how many there are, and whether all are large and with noise."""
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
