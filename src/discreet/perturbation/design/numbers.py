"""The arithmetic of table design: decimals of 38 digits, the same bits everywhere.

In: parameters as callers write them. Out: exact decimals, and the context they
are computed in. Decimal arithmetic, its exponential included, is correctly
rounded, so a designed table does not depend on processor or mathematics library.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["DIGITS", "TINY", "at_least", "at_most", "exact_arithmetic", "is_whole", "stated"]

#: Two machine words of the decimal library; far more than the 15 digits of the key grid.
DIGITS = 38

#: Relative size of what counts as rounding in parameters.
TINY = Decimal("1e-12")

_CONTEXT = Context(
    prec=DIGITS,
    rounding=ROUND_HALF_EVEN,
    Emin=MIN_EMIN,
    Emax=MAX_EMAX,
    traps=[InvalidOperation, DivisionByZero, Overflow],
)


def exact_arithmetic() -> AbstractContextManager[Context]:
    """The context of all computations of a design."""
    return localcontext(_CONTEXT)


def stated(value: Any) -> Decimal | None:
    """A parameter as the decimal it is written as; None if it is no finite number.

    >>> stated(1.08)
    Decimal('1.08')
    """
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, Fraction):
        with exact_arithmetic():
            return Decimal(value.numerator) / Decimal(value.denominator)
    if isinstance(value, float | np.floating):
        value = Decimal(repr(float(value)))
    elif isinstance(value, int | np.integer):
        value = Decimal(int(value))
    return value if isinstance(value, Decimal) and value.is_finite() else None


def is_whole(value: Any) -> bool:
    """Whether a parameter is a whole number (and not a truth value)."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def at_least(value: Decimal) -> str:
    """A lower limit for a message: six digits, rounded up.

    >>> at_least(Decimal(2)), at_least(Decimal(2) / 3)
    ('2', '0.666667')
    """
    return _short(value, ROUND_CEILING)


def at_most(value: Decimal) -> str:
    """An upper limit for a message: six digits, rounded down."""
    return _short(value, ROUND_FLOOR)


def _short(value: Decimal, rounding: str) -> str:
    # What differs from a round number by computation only is that number.
    with exact_arithmetic() as context:
        near = Context(prec=20).plus(value)
        context.prec, context.rounding = 6, rounding
        text = format(+near, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
