"""Parameters: how much of a secret perturbation table a publication tells.

In: a `System`. Out: `FoundParameters`, from sums beside their parts alone. SECRET where true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.assessment.attacks.catalogue import System

#: Figures smaller than this may carry other noise.
_LARGE = 30
#: So few sums tell nothing; only sums of so many parts at most are used.
_LEAST, _PARTS = 30, 20
#: The share that stays shows in so many sums.
_MANY = 5_000


@dataclass(frozen=True, kw_only=True, repr=False)
class FoundParameters:
    """What sums tell of the noise. SECRET.

    Args:
        sums: Number of sums of large figures that were used.
        variance: The variance of the noise, as estimated; NaN if there are too few sums.
        error: The standard error of that.
        largest: The largest noise is at least this.
        staying: The share of figures that are not changed, as estimated from sums of two.
        never: Small figures that never occur, though figures around them do.
    """

    sums: int
    variance: float
    error: float
    largest: int
    staying: float
    never: tuple[int, ...]

    def __repr__(self) -> str:
        return "<FoundParameters: secret>"


def found_parameters(system: System) -> FoundParameters:
    """What the sums of a universe tell of its noise."""
    differences, parts = _differences(system)
    variance = error = staying = float("nan")
    largest = 0
    if len(differences) >= _LEAST:
        each = differences**2 / (parts + 1)
        variance = float(each.mean())
        error = float(each.std() / len(each) ** 0.5)
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
    )


def _differences(system: System) -> tuple[IntArray, IntArray]:
    """Per sum of large figures, sum minus parts, and the number of parts."""
    found: list[IntArray] = []
    numbers: list[IntArray] = []
    for step in system.steps():
        inside = step.whole >= 0
        place = step.whole[inside]
        value = step.fine.value[inside]
        bad = ~step.fine.shown[inside] | step.fine.official[inside] | (value < _LARGE)
        number = np.bincount(place, minlength=len(step.coarse))
        wrong = np.bincount(place, weights=bad, minlength=len(step.coarse))
        total = np.bincount(place, weights=value, minlength=len(step.coarse)).astype(np.int64)
        good = (wrong == 0) & (step.unlisted == 0) & (number > 1) & (number <= _PARTS)
        good &= step.coarse.shown & ~step.coarse.official
        found.append((step.coarse.value - total)[good])
        numbers.append(number[good].astype(np.int64))
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate([none, *found]), np.concatenate([none, *numbers])


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


def _never(system: System) -> tuple[int, ...]:
    """Figures below 10 that do not occur, though larger and smaller ones do often enough."""
    often = np.zeros(10, dtype=np.int64)
    for layer in system.layers.values():
        small = layer.value[layer.shown & (layer.value < 10) & (layer.value > 0)]
        often += np.bincount(small, minlength=10)[:10]
    if often.sum() < _LEAST:
        return ()
    return tuple(int(k) for k in range(1, 9) if not often[k] and often[k + 1 :].max() >= _LEAST)
