"""Limits of noise: how near a guess may usually come, and those of stated numbers."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from discreet.errors import PerturbationError

#: A contribution is not to be guessed within so many per cent, unless a column says otherwise.
P_PERCENT = 10.0
#: And the best guess may be as near as that so often; without any figure, one in seven of the
#: rents of the demonstration is within 10 % of the best guess.
CHANCE = 0.2
#: More digits than a double holds would say nothing.
MOST_DECIMALS = 15
#: Figures are rounded to multiples of at most this.
MOST_ROUNDED = 1_000_000


def plain_number(value: Any) -> float | None:
    """The number as a float, whatever kind of number it was; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        return None
    return float(value)


def check_gate(p_percent: float, chance: float) -> None:
    """Refuse numbers that no gate can have."""
    if not 0 <= p_percent < 100 or not 0 <= chance <= 1:
        message = "p_percent must be at least 0 and below 100, chance from 0 to 1"
        raise PerturbationError(message, code="gate", where="p_percent")


def checked_decimals(decimals: Any, where: str) -> int | None:
    """A number of digits after the decimal point, or None for all; an error if it is neither."""
    if decimals is None:
        return None
    number = plain_number(decimals)
    if number is None or number != int(number) or not 0 <= number <= MOST_DECIMALS:
        message = f"decimals must be a whole number from 0 to {MOST_DECIMALS}, or None"
        raise PerturbationError(message, code="decimals", where=where)
    return int(number)
