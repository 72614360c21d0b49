"""How figures are computed, and how far noise can be expected to move them. CONFIDENTIAL.

In: the cells of one or two ingredients at the same places. Out: values and expected
relative errors, by the delta method at the protected values. The noise of two cells counts
as independent unless they are one cell. Other cells may happen to hold the same records and
so have the same noise; to take that into account would tell that they do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.derived.cells import Cells
from discreet.tables.figures import FigureKind

__all__ = ["Result", "combined", "shown"]

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

#: Kinds that say nothing where what they are measured against is negative.
_ABOVE_ZERO = frozenset({"share", "per_thousand", "change", "index"})


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """A figure at some places.

    Args:
        value: Values before rounding; 0 where there is none.
        error: Expected relative errors; infinite where any noise is too much.
        numbered: Where there is a number at all.
        suppressed: Where an ingredient is suppressed.
        official: Which are published as they are.
    """

    value: FloatArray
    error: FloatArray
    numbered: BoolArray
    suppressed: BoolArray
    official: BoolArray


def shown(kind: FigureKind, cells: Cells) -> Result:
    """An ingredient as it is; counts are never negative."""
    value = np.maximum(cells.value, 0.0) if kind == "count" else cells.value
    error = _relative(cells.deviation, value)
    return Result(value, error, cells.numbered, cells.suppressed, cells.official)


def combined(kind: FigureKind, part: Cells, whole: Cells, same: BoolArray, scale: float) -> Result:
    """A figure made of two ingredients.

    Args:
        kind: What kind of figure it is.
        part: What stands above the line; now; what comes in.
        whole: What stands below the line; before; what goes out.
        same: Where both are one and the same cell.
        scale: What a quotient is multiplied with.
    """
    numbered = part.numbered & whole.numbered
    if kind == "balance":
        value = part.value - whole.value
        deviation = np.sqrt(part.deviation**2 + whole.deviation**2)
    else:
        below = whole.value > 0 if kind in _ABOVE_ZERO else whole.value != 0
        numbered = numbered & below
        value, deviation = _quotient(part, whole, numbered, scale)
    if kind == "change":
        value = np.zeros(len(value), dtype=np.float64)
        gained = scale * (part.value - whole.value)
        np.divide(gained, whole.value, out=value, where=numbered)
    error = _relative(np.where(same, 0.0, deviation), value)
    return Result(
        value=_plausible(kind, value, part, whole),
        error=error,
        numbered=numbered,
        suppressed=part.suppressed | whole.suppressed,
        official=np.zeros(len(value), dtype=np.bool_),
    )


def _quotient(
    part: Cells, whole: Cells, where: BoolArray, scale: float
) -> tuple[FloatArray, FloatArray]:
    """A scaled quotient and its standard deviation.

    Multiplied before dividing, so that quotients of whole numbers are rounded once.
    """
    value = np.zeros(len(part.value), dtype=np.float64)
    np.divide(scale * part.value, whole.value, out=value, where=where)
    spread = np.sqrt((scale * part.deviation) ** 2 + (value * whole.deviation) ** 2)
    deviation = np.zeros(len(part.value), dtype=np.float64)
    np.divide(spread, np.abs(whole.value), out=deviation, where=where)
    return value, deviation


def _relative(deviation: FloatArray, value: FloatArray) -> FloatArray:
    error = np.where(deviation > 0, np.inf, 0.0)
    np.divide(deviation, np.abs(value), out=error, where=value != 0)
    return np.asarray(error, dtype=np.float64)


def _plausible(kind: FigureKind, value: FloatArray, part: Cells, whole: Cells) -> FloatArray:
    """Figures as they can be: shares from 0 to 100, falls of at most 100, true signs."""
    if kind == "share":
        return np.clip(value, 0.0, 100.0)
    if kind == "change":
        return np.maximum(value, -100.0)
    if kind in ("per_thousand", "index"):
        return np.maximum(value, 0.0)
    if kind == "balance":
        true_sign = np.sign(part.original - whole.original)
        return np.where(np.sign(value) == true_sign, value, 0.0)
    return value
