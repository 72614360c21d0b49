"""Data put aside by `preserve`, and taken back when a program or do-file ends.

In: a session. Out: its data as they were. CONFIDENTIAL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.output_checking.running.errors import DoError

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session

__all__ = ["preserve", "restore", "restore_left"]


def preserve(session: Session) -> None:
    """Put the data aside; each program or do-file may do so once at a time."""
    depth = len(session.locals)
    if session.preserved and session.preserved[-1][0] >= depth:
        raise DoError("already preserved", code=621)
    session.preserved.append((depth, session.kept()))


def restore(session: Session, *, take: bool = True, keep: bool = False) -> None:
    """Take the data back.

    Args:
        session: The session.
        take: Whether to; otherwise what was put aside is only forgotten.
        keep: Whether it stays put aside as well.
    """
    if not session.preserved or session.preserved[-1][0] < len(session.locals):
        raise DoError("nothing to restore", code=622)
    kept = session.preserved[-1][1]
    if not keep:
        session.preserved.pop()
    if take:
        session.take(kept)


def restore_left(session: Session) -> None:
    """Take back what the program that ends has put aside and not taken back."""
    depth = len(session.locals)
    while session.preserved and session.preserved[-1][0] >= depth:
        session.take(session.preserved.pop()[1])
