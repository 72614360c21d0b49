"""How far the noise of sums can be expected to go. CONFIDENTIAL.

In: true cells and the secret noise. Out: per cell the standard deviation of the noise
it could have got: over all cell keys, not for its own. Interpolated noise comes from
two rows and one key, so both rows are laid over each other. Contributions have keys of
their own and count as independent; that noise stops at zero is left out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.perturbation.intervals import Intervals
from discreet.perturbation.magnitude_cells import (
    MagnitudeCells,
    between,
    kinds_of,
    units_of_noise,
)
from discreet.perturbation.magnitude_files import Part
from discreet.perturbation.magnitude_noise import MagnitudeNoise

__all__ = ["magnitude_deviations"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def magnitude_deviations(cells: MagnitudeCells, noise: MagnitudeNoise) -> FloatArray:
    """The standard deviation of each cell's noise."""
    units = units_of_noise(cells, noise)
    size = np.abs(cells.value)
    variance = np.zeros(len(size), dtype=np.float64)
    groups = kinds_of(cells, noise)
    for number in range(units.shape[1]):
        unit = units[:, number]
        ratio = np.zeros(len(size), dtype=np.float64)
        np.divide(size, unit, out=ratio, where=unit > 0)
        for kind, which in groups:
            for mu_c, marked in ((0.0, ~cells.sensitive), (noise.mu_c, cells.sensitive)):
                at = np.flatnonzero(which & marked & (unit > 0))
                found = _variances(noise.part(kind), ratio[at], mu_c)
                variance[at] += unit[at] * unit[at] * found
    return np.sqrt(variance)


def _variances(part: Part, ratio: FloatArray, mu_c: float) -> FloatArray:
    """The variance of the table noise at each ratio."""
    below, above, way = between(part, ratio)
    variance = np.zeros(len(ratio), dtype=np.float64)
    for row in np.unique(below).tolist():
        here = below == row
        for whole in (True, False):  # on the row itself, or between it and the next
            at = np.flatnonzero(here & ((way == 0) == whole))
            if at.size:
                other = row if whole else int(above[at[0]])
                share = np.zeros(1) if whole else way[at]
                variance[at] = _variance(part, row, other, share, mu_c)
    return variance


def _variance(part: Part, below: int, above: int, way: FloatArray, mu_c: float) -> FloatArray:
    """The variance of noise between two rows, interval by interval of the key."""
    mean = np.zeros(len(way), dtype=np.float64)
    square = np.zeros(len(way), dtype=np.float64)
    for width, low, high in _overlaid(part.content, below, above):
        value = ((1 - way) * low + way * high) / part.step
        value = np.where(value < 0, value - mu_c, value + mu_c)
        share = width / part.content.scale
        mean += share * value
        square += share * value * value
    return np.maximum(square - mean * mean, 0.0)


def _overlaid(content: Intervals, below: int, above: int) -> list[tuple[int, int, int]]:
    """Width and both noises of each interval of the key on which neither row changes."""
    upper, noise = content.upper, content.noise
    rows = [slice(int(content.starts[row]), int(content.starts[row + 1])) for row in (below, above)]
    bounds = np.unique(np.concatenate([upper[row] for row in rows]))
    widths = np.diff(bounds, prepend=0)
    low, high = (noise[row][np.searchsorted(upper[row], bounds)] for row in rows)
    return list(zip(widths.tolist(), low.tolist(), high.tolist(), strict=True))
