"""Macros of a session: expanded with its results, and followed by its trace.

In: a session. Out: `TracedMacros`, which evaluates `` `=exp' `` and `` `:function' `` and
notes whenever a text that rests on values of the data is put in. CONFIDENTIAL.
"""

from __future__ import annotations

from collections import UserDict
from typing import TYPE_CHECKING

from discreet.output_checking.running.evaluating import evaluate, is_text
from discreet.output_checking.running.extended import extended_function
from discreet.output_checking.running.formats import shown_default
from discreet.output_checking.running.macros import Macros

if TYPE_CHECKING:
    from discreet.output_checking.running.scope import Value
    from discreet.output_checking.running.session import Session

__all__ = ["TracedMacros", "macro_text", "one_value"]


class _Followed(UserDict[str, str]):
    """Macros by name; reading one that rests on values of the data is noted."""

    def __init__(self, session: Session, texts: dict[str, str], depth: int) -> None:
        super().__init__()
        self.data = texts
        self._session = session
        self._depth = depth

    def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
        if (self._depth, name) in self._session.trace.macros:
            self._session.trace.touched = True
        return self.data.get(name, default)


class TracedMacros(Macros):
    """Macros of a session."""

    @classmethod
    def of(cls, session: Session) -> TracedMacros:
        """The macros that the running program sees."""
        return cls(
            local=_Followed(session, session.local, len(session.locals)),  # type: ignore[arg-type]
            shared=_Followed(session, session.shared, 0),  # type: ignore[arg-type]
            evaluate=lambda text: macro_text(one_value(session, text)),
            extended=lambda text: extended_function(session, text),
        )


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
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return shown_default(value, 18)
