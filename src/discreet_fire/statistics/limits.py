"""`SafeLimits`: the parameters of all rules of the safe commands. p and k are SECRET.

In: keyword arguments, or a TOML file that lies on the server. Out: one frozen object that
every safe command takes; its repr never shows the parameters of concentration rules.
"""

from __future__ import annotations

import dataclasses
import math
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from discreet.errors import OutputCheckError, Problem

#: Languages of the legend below withheld numbers.
LANGUAGES = ("en", "de")

#: Name, lowest and highest value of whole parameters.
_WHOLE = {
    "minimum": (1, 10**6),
    "percentile_cases": (1, 10**6),
    "bin_cases": (1, 10**6),
    "residual_df": (0, 10**6),
    "most_levels": (1, 10**6),
    "most_cells": (1, 10**7),
    "digits": (2, 12),
}


@dataclass(frozen=True, kw_only=True, repr=False)
class SafeLimits:
    """When an output is safe. The defaults suit a first try; a centre sets its own.

    >>> SafeLimits(k=80)
    <SafeLimits: minimum 3; p and k secret>
    >>> SafeLimits(minimum=0)
    Traceback (most recent call last):
        ...
    discreet.errors.OutputCheckError: [limits] minimum: is a whole number from 1 to 1000000
    """

    minimum: int = 3  # fewest cases – entities where an entity column is named – behind a number
    #: Dominance: the two largest may not have more than this percentage. SECRET
    k: float | None = None
    p: float | None = None  # p% rule; from `k` unless given, as p = 100(100 − k)/k. SECRET
    #: The smallest p that a program may ask for with `critical(p)`; without it only a larger one
    #: than that of the centre has an effect
    critical_least: float | None = None
    percentile_cases: int = 3  # a percentile q needs n·min(q, 1 − q) of at least this
    bin_cases: int = 3  # fewest cases in a bin of a histogram; at least `minimum`
    residual_df: int = 10  # fewest residual degrees of freedom of a model
    leverage: float = 0.99  # hat values above this reveal an observation
    most_levels: int = 50  # most values of a grouping variable before a person has to look at it
    most_cells: int = 100_000  # most cells of one table
    digits: int = 7  # significant digits of numbers that are not counts
    language: str = "en"  # language of legends: "en" or "de"

    def __post_init__(self) -> None:
        if problems := list(self._problems()):
            raise _limits_error(problems)

    def _problems(self) -> Iterator[Problem]:
        for name, (low, high) in _WHOLE.items():
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not whole or not low <= value <= high:
                yield Problem(f"is a whole number from {low} to {high}", name)
        bounds = (("k", 100), ("p", math.inf), ("critical_least", math.inf), ("leverage", 1))
        for name, bound in bounds:
            value = getattr(self, name)
            if value is None and name != "leverage":
                continue
            number = isinstance(value, Real) and not isinstance(value, bool)
            if not number or not 0 < value < bound:  # NaN is between no bounds
                below = f" and below {bound}" if math.isfinite(bound) else ""
                yield Problem(f"is a number above 0{below}", name)
        if self.language not in LANGUAGES:
            yield Problem(f"is one of {', '.join(LANGUAGES)}", "language")

    @property
    def dominance(self) -> float:
        """The k of the (2,k) rule, in percent: as given, from p, or the default. SECRET."""
        if self.k is not None:
            return float(self.k)
        return 85.0 if self.p is None else 100.0 * 100.0 / (100.0 + float(self.p))

    @property
    def closeness(self) -> float:
        """The p of the p% rule, in percent: as given, or from k. SECRET.

        >>> round(SafeLimits(k=80).closeness, 6)
        25.0
        """
        if self.p is not None:
            return float(self.p)
        return 100.0 * (100.0 - self.dominance) / self.dominance

    def critical(self, p: Any) -> SafeLimits:
        """These limits with the p that a program asks for, within the centre's bounds.

        Whether the bound or the program has decided is not told, as it would tell p.

        >>> SafeLimits(p=20).critical(50).closeness, SafeLimits(p=20).critical(5).closeness
        (50.0, 20.0)
        >>> SafeLimits(p=20, critical_least=10).critical(5).closeness
        10.0
        """
        number = isinstance(p, Real) and not isinstance(p, bool)
        if not number or not 0 < p <= 100:
            message = "critical() takes a number above 0, up to 100"
            raise OutputCheckError(message, code="limits", where="critical")
        least = self.closeness if self.critical_least is None else self.critical_least
        chosen = max(float(p), least)
        k = 100.0 * 100.0 / (100.0 + chosen)
        # A stricter p makes k stricter, too, and never laxer.
        k = min(k, self.dominance) if chosen >= self.closeness else k
        return dataclasses.replace(self, k=k, p=chosen)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SafeLimits:
        """Limits from a TOML file: one line each, at top level or under `[limits]`."""
        place = Path(path)
        try:
            document = tomllib.loads(place.read_text(encoding="utf-8"))
        except OSError as error:
            message = f"the limits cannot be read ({error.strerror})"
            raise OutputCheckError(message, code="limits", where=str(place)) from None
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
            # The parser's own message could quote a line, and with it a parameter.
            message, hint = "this is not a TOML file", "lines like: minimum = 3"
            raise OutputCheckError(message, code="limits", where=str(place), hint=hint) from None
        table = document.get("limits", document)
        known = [part.name for part in dataclasses.fields(cls)]
        extra = [name for name in document if table is not document and name != "limits"]
        extra += sorted(set(table) - set(known)) if isinstance(table, dict) else ["limits"]
        if extra:
            hint = f"names: {', '.join(known)}"
            raise _limits_error([Problem("unknown limit", name, hint) for name in extra])
        try:
            return cls(**table)
        except OutputCheckError as error:
            raise _limits_error(
                [Problem(p.what, f"{place.name}: {p.where}") for p in error.problems]
            ) from None

    def __repr__(self) -> str:
        return f"<SafeLimits: minimum {self.minimum}; p and k secret>"


def _limits_error(problems: list[Problem]) -> OutputCheckError:
    return OutputCheckError.of(problems, f"{len(problems)} limits are wrong", code="limits")


def limits_of(limits: object) -> SafeLimits:
    """The limits that a command is given, or those for a first try.

    >>> limits_of(None).minimum
    3
    """
    if limits is None:
        return SafeLimits()
    if not isinstance(limits, SafeLimits):
        hint = "write limits=SafeLimits(minimum=5), or SafeLimits.read(FILE)"
        raise OutputCheckError("limits are SafeLimits", code="limits", where="limits", hint=hint)
    return limits
