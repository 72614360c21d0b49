"""How far noise can be expected to go: standard deviations from perturbation tables.

In: the secret intervals of a table. Out: the standard deviation of each row's noise,
SECRET: of what could happen, never of what did.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import numpy.typing as npt

from discreet.perturbation.intervals import Intervals
from discreet.perturbation.lookup import rows_of

__all__ = ["count_deviations", "row_deviations"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def row_deviations(content: Intervals) -> FloatArray:
    """The standard deviation of each row's noise; computed with whole numbers."""
    scale, found = content.scale, []
    widths = content.widths.tolist()
    starts = content.starts.tolist()
    for row, _, noise in content.rows():
        share = widths[starts[row] : starts[row + 1]]
        mean = sum(part * value for part, value in zip(share, noise, strict=True))
        square = sum(part * value * value for part, value in zip(share, noise, strict=True))
        found.append(sqrt((square * scale - mean * mean) / (scale * scale)))
    return np.array(found, dtype=np.float64)


def count_deviations(content: Intervals, count: IntArray) -> FloatArray:
    """The standard deviation of the noise that each count could have got."""
    return row_deviations(content)[rows_of(content, count)]
