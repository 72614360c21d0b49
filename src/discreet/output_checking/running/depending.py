"""Whether what is worked out hangs on the data of a few persons or firms only. CONFIDENTIAL.

In: an expression and where it is evaluated. Out: yes or no. However it is written – a condition,
a product with 0 and 1, a table of one's own – a value that only one person's data can change is
about that person: so the data are shaken, one variable after the other, and it is seen whose
values change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.evaluating import evaluate, whole_column
from discreet.output_checking.running.isolating import few
from discreet.output_checking.running.values import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.output_checking.running.egen_work import Work
    from discreet.output_checking.running.scope import Scope
    from discreet.output_checking.running.session import Session

__all__ = ["hangs_on_few", "rows_hang_on_few"]

#: Ways to shake a number; each is seen by other expressions.
_SHAKEN: tuple[Callable[[Any], Any], ...] = (
    lambda x: x + 1.0 + np.abs(x),
    lambda x: -x - 3.3,
    lambda x: 1.0013 * x + 0.37,
)


def hangs_on_few(
    session: Session,
    expression: str,
    scope: Scope,
    value: Any,
    mask: Any = None,
    *,
    held: bool = False,
) -> bool:
    """Whether some variable matters for a few only.

    Args:
        session: The session.
        expression: The expression.
        scope: Where it was evaluated.
        value: What it gave.
        mask: The records for which it is used.
        held: Whether it is a condition, and the value says where it holds.
    """
    names = scope.names
    if not isinstance(value, np.ndarray) or not names.columns:
        return False
    trace = session.trace
    before = trace.touched, trace.few, trace.rest
    used, matched = set(names.columns), scope.matched
    try:
        for name in sorted(used):
            changed = np.zeros(session.data.rows, dtype=np.bool_)
            for shake in _SHAKEN:
                names.shaken = name, _shaken(session.data.variables[name].values, shake)
                other = whole_column(evaluate(expression, scope), session.data.rows)
                if held:
                    other = np.asarray(other != 0)
                changed |= np.asarray(other != value, dtype=np.bool_)
                if changed.all():
                    break
            if few(session, changed if mask is None else changed & mask):
                return True
    except (DoError, UnsupportedError):
        return False
    finally:
        names.shaken = None
        scope.matched = matched
        trace.touched, trace.few, trace.rest = before
    return False


def rows_hang_on_few(session: Session, work: Work, function: Any, result: Any) -> bool:
    """The same for a function of `egen` across variables."""
    variables, trace = session.data.variables, session.trace
    before = trace.touched
    for name in dict.fromkeys(work.names()):
        if name in trace.own or variables[name].is_text:
            continue
        kept, changed = variables[name], np.zeros(session.data.rows, dtype=np.bool_)
        try:
            for shake in _SHAKEN:
                variables[name] = replace(kept, values=_shaken(kept.values, shake))
                changed |= np.asarray(function(work)[0] != result, dtype=np.bool_)
        finally:
            variables[name] = kept
            trace.touched = before
        if few(session, changed & work.mask):
            return True
    return False


def _shaken(values: Any, shake: Callable[[Any], Any]) -> Any:
    if values.dtype == object:
        column = np.empty(len(values), dtype=object)
        column[:] = [f"~{text[::-1]}{text}" if text else "" for text in values]
        return column
    known = values < MISSING
    return np.where(known, shake(np.where(known, values, 0.0)), values)
