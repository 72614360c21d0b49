"""One value where one is wanted: in macros, scalars, conditions and `display`. CONFIDENTIAL.

In: an expression. Out: its value, of the first observation where it depends on them, and
its text in a macro.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.output_checking.running.evaluating import evaluate, is_text
from discreet.output_checking.running.formats import shown_default

if TYPE_CHECKING:
    from discreet.output_checking.running.scope import Value
    from discreet.output_checking.running.session import Session

__all__ = ["macro_text", "one_value"]


def one_value(session: Session, expression: str) -> float | str:
    """One value: of the first observation where the expression depends on them."""
    value: Value = evaluate(expression, session.scope(scalar=True))
    if isinstance(value, float | str | int):
        return value if isinstance(value, str) else float(value)
    if not len(value):
        return "" if is_text(value) else 2.0**1023
    return str(value[0]) if is_text(value) else float(value[0])


def macro_text(value: float | str) -> str:
    """A value as the text of a macro.

    >>> macro_text(3.0), macro_text(0.1), macro_text("a")
    ('3', '.1', 'a')
    """
    if isinstance(value, str):
        return value
    if abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return shown_default(value, 18)
