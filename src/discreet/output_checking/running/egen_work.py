"""What a function of `egen` works on: chosen observations and their groups. CONFIDENTIAL.

In: a session and a call. Out: `Work`, which gives the values in brackets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.depending import hangs_on_few
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.evaluating import evaluate, is_text, whole_column
from discreet.output_checking.running.values import MISSING, Floats, Mask

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

__all__ = ["Result", "Work", "codes_of", "percent_of"]

#: What a function gives: numbers, or a whole variable, and the default storage type.
Result = tuple[Any, str]


@dataclass
class Work:
    """What a function of `egen` works on.

    Args:
        session: The session.
        inside: What stands in the brackets.
        mask: The chosen observations.
        group: Number of each observation's group.
        groups: How many groups there are.
        call: The call, for options.
        target: Name of the new variable.
    """

    session: Session
    inside: str
    mask: Mask
    group: Any
    groups: int
    call: Call
    target: str = ""

    def values(self, expression: str = "") -> Floats:
        """The expression in brackets, missing where an observation is not chosen."""
        scope = self.session.scope(self.call.groups)
        value = evaluate(expression or self.inside, scope)
        text = expression or self.inside
        self.session.trace.touch(hangs_on_few(self.session, text, scope, value, self.mask))
        if is_text(value):
            raise DoError("type mismatch", code=109)
        column = np.asarray(whole_column(value, self.session.data.rows), dtype=np.float64)
        return np.where(self.mask, column, MISSING)

    def number(self, option: str, default: float) -> float:
        """The number in an option's brackets."""
        return self.call.number(option, default)

    def names(self) -> list[str]:
        """The variables in brackets; the trace learns of those that may not be shown."""
        names = self.session.data.listed(self.inside)
        if self.session.trace.variables.intersection(names):
            self.session.trace.touched = True
        return names

    def columns(self) -> list[Floats]:
        """The numeric variables in brackets."""
        data, found = self.session.data, []
        for name in self.names():
            if data.variables[name].is_text:
                raise DoError("type mismatch", code=109)
            found.append(np.asarray(data.variables[name].values, dtype=np.float64))
        if not found:
            raise DoError("varlist required", code=100)
        return found


def percent_of(given: Work) -> float:
    """The option p(), as a share."""
    percent = given.number("p", 50.0)
    if not 0 < percent < 100:
        raise DoError("p() is between 0 and 100", code=198)
    return percent / 100


def codes_of(session: Session, names: list[str]) -> tuple[Any, int]:
    """Groups of equal values, numbered in their order from 0."""
    rows = session.data.rows
    if not names or not rows:
        return np.zeros(rows, dtype=np.int64), int(rows > 0)
    order = session.data.order_of(names)
    ordered = [session.data.variables[name].values[order] for name in names]
    changed = np.zeros(rows, dtype=np.bool_)
    for values in ordered:
        changed[1:] |= values[1:] != values[:-1]
    codes = np.empty(rows, dtype=np.int64)
    codes[order] = np.cumsum(changed)
    return codes, int(changed.sum()) + 1
