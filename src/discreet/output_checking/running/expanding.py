"""Macros of a session: expanded with its results, and followed by its trace.

In: a session. Out: `TracedMacros`, which evaluates `` `=exp' `` and `` `:function' `` and
notes whenever a text that rests on values of the data is put in. CONFIDENTIAL.
"""

from __future__ import annotations

from collections import UserDict
from typing import TYPE_CHECKING

from discreet.output_checking.running.extended import extended_function
from discreet.output_checking.running.macros import Macros
from discreet.output_checking.running.single import macro_text, one_value

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session

__all__ = ["TracedMacros"]


class _Followed(UserDict[str, str]):
    """Macros by name; reading one that rests on values of the data is noted."""

    def __init__(self, session: Session, texts: dict[str, str], depth: int) -> None:
        super().__init__()
        self.data = texts
        self._session = session
        self._depth = depth

    def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
        trace = self._session.trace
        trace.touch((self._depth, name) in trace.macros or "macros" in trace.whole)
        return self.data.get(name, default)

    def __setitem__(self, name: str, text: str) -> None:
        if self._depth:
            self._session.set_local(name, text)
        else:
            self._session.set_global(name, text)


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
            result=lambda kind, name: _stored_text(session, kind, name),
        )


def _stored_text(session: Session, kind: str, name: str) -> str:
    """A stored result as text; empty if there is none."""
    found = session.scope(scalar=True).names.result(kind, name)
    return macro_text(found) if isinstance(found, float | str) else ""
