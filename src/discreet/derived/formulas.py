"""How figures are computed and rounded, and how far noise can move them. CONFIDENTIAL.

In: the cells of one or two ingredients at the same places. Out: values and expected
relative errors, by the delta method at the protected values. The noise of two cells counts
as independent unless they are one cell, or are known to have the same keys. Other cells may
happen to hold the same records and so have the same noise; to take that into account would
tell that they do. Halves are rounded
away from zero, as in print: the digits of a number are those it is written with, so 2.675
has a half at two decimals, although the nearest binary number lies a little below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.derived.components import IngredientCells
from discreet.tables import FigureKind

#: Kinds that say nothing where what they are measured against is negative.
_ABOVE_ZERO = frozenset({"share", "per_thousand", "change", "index"})


@dataclass(frozen=True, repr=False, eq=False)
class FigureValues:
    """A figure at some places."""

    value: FloatArray  # values before rounding; 0 where there is none
    error: FloatArray  # expected relative errors; infinite where any noise is too much
    numbered: BoolArray  # where there is a number at all
    suppressed: BoolArray  # where an ingredient is suppressed
    official: BoolArray  # which are published as they are


def shown(kind: FigureKind, cells: IngredientCells) -> FigureValues:
    """An ingredient as it is; counts are never negative."""
    value = np.maximum(cells.value, 0.0) if kind == "count" else cells.value
    error = _relative(cells.deviation, value)
    return FigureValues(value, error, cells.numbered, cells.suppressed, cells.official)


def combined(
    kind: FigureKind,
    part: IngredientCells,
    whole: IngredientCells,
    same: BoolArray,
    together: FloatArray,
    scale: float,
) -> FigureValues:
    """A figure made of two ingredients."""
    numbered = part.numbered & whole.numbered
    if kind == "balance":
        value = part.value - whole.value
        deviation = _difference(part.deviation, whole.deviation, together)
    else:
        below = whole.value > 0 if kind in _ABOVE_ZERO else whole.value != 0
        numbered = numbered & below
        value, deviation = _quotient(part, whole, numbered, together, scale)
    if kind == "change":
        value = np.zeros(len(value), dtype=np.float64)
        gained = scale * (part.value - whole.value)
        np.divide(gained, whole.value, out=value, where=numbered)
    error = _relative(np.where(same, 0.0, deviation), value)
    return FigureValues(
        value=_plausible(kind, value, part, whole),
        error=error,
        numbered=numbered,
        suppressed=part.suppressed | whole.suppressed,
        official=np.zeros(len(value), dtype=np.bool_),
    )


def _quotient(
    part: IngredientCells,
    whole: IngredientCells,
    where: BoolArray,
    together: FloatArray,
    scale: float,
) -> tuple[FloatArray, FloatArray]:
    """A scaled quotient and its standard deviation.

    Multiplied before dividing, so that quotients of whole numbers are rounded once.
    """
    value = np.zeros(len(part.value), dtype=np.float64)
    np.divide(scale * part.value, whole.value, out=value, where=where)
    spread = _difference(scale * part.deviation, value * whole.deviation, together)
    deviation = np.zeros(len(part.value), dtype=np.float64)
    np.divide(spread, np.abs(whole.value), out=deviation, where=where)
    return value, deviation


def _difference(one: FloatArray, other: FloatArray, together: FloatArray) -> FloatArray:
    """The standard deviation of a difference; `other` may be negative, as its factor is."""
    square = one * one + other * other - 2.0 * together * one * other
    return np.asarray(np.sqrt(np.maximum(square, 0.0)), dtype=np.float64)


def _relative(deviation: FloatArray, value: FloatArray) -> FloatArray:
    error = np.where(deviation > 0, np.inf, 0.0)
    np.divide(deviation, np.abs(value), out=error, where=value != 0)
    return np.asarray(error, dtype=np.float64)


def _plausible(
    kind: FigureKind, value: FloatArray, part: IngredientCells, whole: IngredientCells
) -> FloatArray:
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


_NEAR = 1e-6
_LAST_BITS = 2.0**-51
#: Numbers from here on have no digits after the point.
_WHOLE = 2.0**52


def rounded(value: FloatArray, decimals: int) -> FloatArray:
    """Figures with so many decimals; halves go away from zero.

    >>> rounded(np.array([2.675, -0.5, 12.25]), 1).tolist()
    [2.7, -0.5, 12.3]
    """
    scale = 10.0**decimals
    size = np.abs(value) * scale
    result = np.floor(size + 0.5) / scale
    exact = size >= _WHOLE
    result[exact] = np.abs(value[exact])
    # Where the next digits are near a half, the number as it is written decides.
    near = _NEAR + size * _LAST_BITS
    halves = np.flatnonzero((np.abs(size - np.floor(size) - 0.5) < near) & ~exact)
    if halves.size:
        distinct, where = np.unique(np.abs(value[halves]), return_inverse=True)
        digit = Decimal(1).scaleb(-decimals)
        written = [
            float(Decimal(repr(number)).quantize(digit, rounding=ROUND_HALF_UP))
            for number in distinct.tolist()
        ]
        result[halves] = np.array(written, dtype=np.float64)[where]
    return np.asarray(np.copysign(result, value) + 0.0, dtype=np.float64)
