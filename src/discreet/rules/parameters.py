"""Checks of the parameters of rules. Messages name a parameter, never its value.

In: parameters of a rule, SECRET. Out: nothing, or one error with all that is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from discreet.errors import Problem, SuppressionError

__all__ = ["MOST", "choice", "is_number", "number", "raise_parameters", "whole"]

#: At most so many contributions are looked at.
MOST = 16


def is_number(value: Any) -> bool:
    """Whether it is a number, infinite perhaps, but not a truth value."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    return real and not math.isnan(value)


def number(name: str, value: Any, low: float, high: float, *, open_low: bool = True) -> list[str]:
    """What is wrong with a number between bounds; the lower one excluded, the upper one too."""
    words = f"{name} is a number above {low:g}" if open_low else f"{name} is at least {low:g}"
    words += f" and below {high:g}" if math.isfinite(high) else ""
    if not is_number(value) or math.isinf(value):
        return [words]
    inside = (value > low if open_low else value >= low) and value < high
    return [] if inside else [words]


def whole(name: str, value: Any, low: int, high: int | None = None) -> list[str]:
    """What is wrong with a whole number between bounds."""
    words = f"{name} is a whole number of at least {low}"
    words += f" and at most {high}" if high is not None else ""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return [words]
    size = int(value)
    return [] if low <= size and (high is None or size <= high) else [words]


def choice(name: str, value: Any, options: Sequence[str]) -> list[str]:
    """What is wrong with a word out of a few."""
    return [] if value in options else [f"{name} is one of {', '.join(options)}"]


def raise_parameters(rule: str, *found: list[str]) -> None:
    """Raise one error with everything that is wrong."""
    problems = [Problem(what, rule) for part in found for what in part]
    if problems:
        several = len(problems) > 1
        raise SuppressionError(
            f"{len(problems)} parameters are wrong" if several else problems[0].what,
            code="rule",
            where=rule,
            problems=problems if several else (),
        )
