"""Noise of counts in the terms of differential privacy: for information, never as a guarantee.

In: a perturbation table (SECRET), the number of cells that count one record. Out: the budget that
one cell uses, and the mechanisms of differential privacy with the same budget. SECRET. The budget
holds over the draw of record keys, which are drawn once; what cells tell together is another
question, which attacks answer. After Rinott, O'Keefe, Shlomo and Skinner (2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.assessment.probabilities import NoiseChances
from discreet.assessment.words import words_of
from discreet.confidential import SecretValues
from discreet.errors import PerturbationError
from discreet.protection.noise import PerturbationTable

#: Chances of an output that the budget does not bound.
DELTAS = (0.1, 0.05, 0.02, 0.01, 0.001, 1e-6)
_LARGEST = 40.0


@dataclass(frozen=True)
class NoiseUtility:
    """Effect of noise on a large count."""

    name: str
    deviation: float  # standard deviation
    mean_error: float
    unchanged: float  # share of counts that stay
    within: int  # 95 of 100 counts change by no more

    @classmethod
    def of(cls, name: str, noise: FloatArray, chance: FloatArray) -> NoiseUtility:
        """That of a distribution."""
        size = np.abs(noise)
        order = np.argsort(size, kind="stable")
        enough = int(np.searchsorted(np.cumsum(chance[order]), 0.95))
        return cls(
            name,
            math.sqrt(float((chance * noise**2).sum() - (chance * noise).sum() ** 2)),
            float((chance * size).sum()),
            float(chance[size == 0].sum()),
            int(size[order][min(enough, len(order) - 1)]),
        )


@dataclass(frozen=True, repr=False)
class PrivacyView(SecretValues):
    """The budget of a perturbation table, and of mechanisms with the same one. SECRET.

    >>> row = {-1: 0.25, 0: 0.5, 1: 0.25}
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: row})
    >>> privacy_view(ptable, cells=4).small[0.1] is None
    True
    """

    cells: int  # cells that count one record, each with noise of its own
    #: delta → epsilon of one cell, the worst of all counts from 1; None where none is enough
    small: dict[float, float | None]
    large: dict[float, float | None]  # the same of counts beyond the last row
    empty_shown: float  # how often one person in an empty cell is seen at once
    utilities: tuple[NoiseUtility, ...]  # the table, then mechanisms with its budget
    #: the budget of the whole release with the discrete Gaussian of the same budget
    release: float | None

    def described(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def text(self, language: str = "en") -> str:
        """In words."""
        text = words_of("privacy", language)
        lines = [text["lead"], "", text["budgets"]]
        for delta in DELTAS:
            small, large = (
                text["none"] if epsilon is None else f"{epsilon:.2f}"
                for epsilon in (self.small[delta], self.large[delta])
            )
            lines.append(f"{delta:>8g} {small:>12} {large:>12}")
        lines += [text["empty"].format(share=f"{self.empty_shown:.0%}"), "", text["head"]]
        for one in self.utilities:
            shares = f"{one.deviation:>9.2f} {one.mean_error:>9.2f} {one.unchanged:>9.0%}"
            lines.append(f"{text[one.name]:<28} {shares} {one.within:>9}")
        if self.release is not None:
            release = f"{self.release:.1f}"
            lines += ["", text["release"].format(cells=f"{self.cells:,}", epsilon=release)]
        return "\n".join([*lines, "", text["no guarantee"]])


def privacy_view(ptable: PerturbationTable, *, cells: int = 1) -> PrivacyView:
    """Describe a perturbation table as differential privacy would; see `PrivacyView`.

    Args:
        ptable: The table.
        cells: How many cells of a release count the same record.
    """
    if isinstance(cells, bool) or not isinstance(cells, int) or cells < 1:
        message = "the number of cells is a whole number of at least 1"
        raise PerturbationError(message, code="argument", where="cells")
    chances = NoiseChances.of(ptable)
    share, noise = chances.share, chances.noise.astype(float)
    rows = chances.rows_of(np.arange(chances.n_max + chances.beyond[1] + 2))
    # One person more: the same published value is a noise that is one less.
    here = np.pad(share[rows[1:-1]], ((0, 0), (0, 1)))
    there = np.pad(share[rows[2:]], ((0, 0), (1, 0)))

    def budgets(part: slice) -> dict[float, float | None]:
        return {d: _epsilon(lambda e: _excess(here[part], there[part], e), d) for d in DELTAS}

    small, large = budgets(slice(None)), budgets(slice(-1, None))
    utilities = [NoiseUtility.of("table", noise, share[rows[-1]])]
    release = None
    bounded = [(delta, epsilon) for delta, epsilon in large.items() if epsilon]
    if bounded:
        delta, epsilon = bounded[-1]
        sigma = _gaussian_width(epsilon, delta)
        utilities.append(NoiseUtility.of("gaussian", *_gaussian(sigma)))
        utilities.append(NoiseUtility.of("geometric", *_geometric(epsilon)))
        spent = cells / (2 * sigma**2)  # zero-concentrated budgets add up
        release = spent + 2 * math.sqrt(spent * math.log(1e6))
    stays = float(share[rows[1], np.flatnonzero(chances.noise == -1)].sum())
    return PrivacyView(cells, small, large, 1 - stays, tuple(utilities), release)


def _excess(here: FloatArray, there: FloatArray, epsilon: float) -> float:
    """The delta of an epsilon: the worst over counts and directions."""
    factor = math.exp(epsilon)
    ways = (here - factor * there, there - factor * here)
    return max(float(np.maximum(way, 0).sum(axis=-1).max()) for way in ways)


def _epsilon(excess: Callable[[float], float], delta: float) -> float | None:
    """The smallest epsilon that leaves so much; None if there is none."""
    if excess(_LARGEST) > delta + 1e-12:
        return None
    low, high = 0.0, _LARGEST
    if excess(0.0) <= delta:
        return 0.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) <= delta else (middle, high)
    return high


def _gaussian(sigma: float) -> tuple[FloatArray, FloatArray]:
    noise = np.arange(-math.ceil(40 * sigma) - 1, math.ceil(40 * sigma) + 2, dtype=np.float64)
    chance = np.exp(-((noise / sigma) ** 2) / 2)
    return noise, np.asarray(chance / chance.sum(), dtype=np.float64)


def _geometric(epsilon: float) -> tuple[FloatArray, FloatArray]:
    decay = math.exp(-epsilon)
    width = math.ceil(40 / epsilon) + 1
    noise = np.arange(-width, width + 1, dtype=np.float64)
    chance = (1 - decay) / (1 + decay) * decay ** np.abs(noise)
    return noise, np.asarray(chance / chance.sum(), dtype=np.float64)


def _gaussian_width(epsilon: float, delta: float) -> float:
    """The smallest width of the discrete Gaussian with a budget."""

    def excess(sigma: float) -> float:
        chance = _gaussian(sigma)[1]
        return _excess(np.append(chance, 0.0), np.insert(chance, 0, 0.0), epsilon)

    low, high = 0.05, 1.0
    while excess(high) > delta:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) <= delta else (middle, high)
    return high
