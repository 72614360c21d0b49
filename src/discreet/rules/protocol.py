"""What all primary rules share: kinds of reasons, and checks of parameters.

In: parameters of a rule, SECRET. Out: nothing, or one error with all that is wrong, which
names a parameter, never its value. The kind of a rule, a `Reason`, has no parameters
and may be published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from numbers import Integral, Real
from typing import Any

from discreet.errors import Problem, SuppressionError

__all__ = ["MOST", "Reason", "choice", "is_number", "number", "raise_parameters", "whole"]

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


class Reason(IntEnum):
    """Why a cell is sensitive; in the order in which rules are usually named.

    >>> Reason.p_percent.code, Reason.p_percent.text("de")
    ('p-percent', 'p%-Regel')
    """

    none = 0
    minimum_frequency = 1
    marginal = 2
    dominance = 3
    p_percent = 4
    prior_posterior = 5
    request = 6
    zero = 7
    manual = 8

    @property
    def code(self) -> str:
        """Its name in files."""
        return self.name.replace("_", "-")

    def text(self, language: str = "en") -> str:
        """Its name in words: English ("en") or German ("de")."""
        if language not in _WORDS:
            raise SuppressionError(
                f"there are no words in the language {language!r}",
                code="language",
                where="language",
                hint="use en or de",
            )
        return _WORDS[language][self]


_WORDS = {
    "en": (
        "not sensitive",
        "minimum frequency",
        "marginal rule",
        "dominance rule",
        "p% rule",
        "prior-posterior rule",
        "request of a respondent",
        "zero from respondents",
        "marked by hand",
    ),
    "de": (
        "nicht sensibel",
        "Mindestfallzahl",
        "Randwertregel",
        "Dominanzregel",
        "p%-Regel",
        "p/q-Regel",
        "Antrag eines Auskunftgebenden",
        "Null von Auskunftgebenden",
        "von Hand gekennzeichnet",
    ),
}
