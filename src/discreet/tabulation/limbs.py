"""Exact sums of floating-point numbers, whatever the order of the records.

Every number is cut into three whole numbers (limbs), a multiple of 2^12, of
2^-22 and of 2^-56; limbs are added as 64-bit integers, which no order can
change. Numbers are exact where their last bit is worth at least 2^-56, which
holds for all numbers of at least 1/8 and for all amounts in cents times a
power of two; smaller remainders are cut off, per record and always alike.

In: values of records or cells. Out: limbs, and sums made of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import narwhals as nw

__all__ = ["LIMIT", "MAX_RECORDS", "engine_limbs", "from_limbs", "to_limbs"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

#: Values must be smaller than this in absolute size.
LIMIT = 2.0**47
#: So many records can be added in one cell without leaving 64 bits.
MAX_RECORDS = 2**28

COARSE = 2.0**12
_BITS = 34
MIDDLE = 2.0**22
FINE = 2.0**_BITS
_MASK = (1 << _BITS) - 1


def to_limbs(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cut values into limbs (whole numbers, still as floats)."""
    coarse = np.trunc(values / COARSE)
    rest = (values - coarse * COARSE) * MIDDLE
    middle = np.trunc(rest)
    return coarse, middle, np.trunc((rest - middle) * FINE)


def engine_limbs(value: nw.Expr) -> tuple[nw.Expr, nw.Expr, nw.Expr]:
    """The same cut as expressions of a data engine."""
    import narwhals as nw

    sign = nw.when(value < 0).then(nw.lit(-1.0)).otherwise(nw.lit(1.0))
    size = value * sign
    coarse = (size / COARSE).floor()
    rest = (size - coarse * COARSE) * MIDDLE
    middle = rest.floor()
    return coarse * sign, middle * sign, ((rest - middle) * FINE).floor() * sign


def from_limbs(coarse: IntArray, middle: IntArray, fine: IntArray) -> FloatArray:
    """Put sums of limbs together.

    >>> parts = to_limbs(np.array([0.5, -1234567.25, 3.0]))
    >>> sums = [np.array([int(part.sum())]) for part in parts]
    >>> float(from_limbs(*sums)[0])
    -1234563.75
    """
    coarse, middle, fine = _carried(coarse, middle, fine)
    sign = np.where(coarse < 0, np.int64(-1), np.int64(1))
    coarse, middle, fine = _carried(coarse * sign, middle * sign, fine * sign)
    small: Any = middle.astype(np.float64) / MIDDLE + fine.astype(np.float64) / (MIDDLE * FINE)
    total: FloatArray = (coarse.astype(np.float64) * COARSE + small) * sign
    return total


def _carried(
    coarse: IntArray, middle: IntArray, fine: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """The one form of a sum in which the lower limbs are at least 0 and have no carry left."""
    middle = middle + (fine >> _BITS)
    coarse = coarse + (middle >> _BITS)
    return coarse, middle & _MASK, fine & _MASK
