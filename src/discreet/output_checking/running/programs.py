"""Programs that a do-file defines: `program define … end`.

In: their names and steps. Out: `Program`s, and the macros of one while it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.extended import words_of
from discreet.output_checking.running.keeping_data import restore_left

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Result, Session
    from discreet.output_checking.running.tree import Step

__all__ = ["Ended", "Program", "defined", "entered"]

_OPTIONS = frozenset(("rclass", "eclass", "sclass", "byable(recall)", "sortpreserve", "nclass"))


class Ended(Exception):  # noqa: N818 - `exit` is no error
    """`exit`: a program or do-file ends here."""


@dataclass(frozen=True)
class Program:
    """A program: its name, its commands, the kind of results that it returns."""

    name: str
    body: tuple[Step, ...]
    returns: str


def defined(text: str, body: Sequence[Step]) -> dict[str, Program]:
    """The program that `program define` makes."""
    before, _, after = text.partition(",")
    words = before.split()
    if words and words[0] in ("define", "defin", "defi", "def", "de", "d"):
        words = words[1:]
    if len(words) != 1:
        raise DoError("invalid syntax of program", code=198)
    options = set(after.replace(",", " ").split())
    if not options <= _OPTIONS:
        raise UnsupportedError("an option of program")
    returns = "e" if "eclass" in options else "s" if "sclass" in options else "r"
    named = returns if options & {"rclass", "eclass", "sclass"} else ""
    return {words[0]: Program(words[0], tuple(body), named)}


@contextmanager
def entered(session: Session, program: Program, text: str) -> Iterator[None]:
    """The macros that a program sees: `0` is all of its text, `1`, `2`, … are its words."""
    touched, doubted = session.trace.touched, "return" in session.trace.whole
    session.trace.whole.discard("return")
    session.locals.append({})
    before, session.returned = session.returned, {}
    try:
        session.set_local("0", text)
        for number, word in enumerate(words_of(text.replace(",", " , ")), 1):
            session.set_local(str(number), word)
        yield
    finally:
        returned: dict[str, Result] = session.returned
        session.returned = before
        restore_left(session)
        session.leave_program()
        if program.returns:
            session.stored[program.returns] = returned
            session.origin[program.returns] = ""
            if "return" in session.trace.whole:
                session.trace.whole.add(f"{program.returns}()")
        session.trace.whole.discard("return")
        if doubted:
            session.trace.whole.add("return")
        session.trace.touched = touched
