"""The short notes that commands print: how many values changed, were made, were dropped.

In: a session and a number. Out: the note in the log; a number of cases that is too small to
be shown is withheld, 0 is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.output_checking.safe.results import Check, SafeResult, Verdict

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session

__all__ = ["cases_note", "changed", "count_text", "missing_made"]


def count_text(session: Session, count: int) -> str:
    """A number of cases, or `.` where it is too small to be shown."""
    return f"{count:,}" if count == 0 or count >= session.limits.minimum else "."


def cases_note(session: Session, count: int, one: str, several: str, command: str) -> None:
    """Print `(5 real changes made)` or the like."""
    text = count_text(session, count)
    words = one if count == 1 and text != "." else several
    check = Check(rule="minimum", verdict=Verdict.passed, reason="a number of cases")
    if text == ".":
        check = Check(rule="minimum", verdict=Verdict.fail, reason="a number of cases is too small")
    session.show(SafeResult(command=command, shown=f"({text} {words})", checks=[check]))


def missing_made(session: Session, count: int) -> None:
    """What `generate` prints where missing values come out."""
    if count:
        cases_note(
            session, count, "missing value generated", "missing values generated", "generate"
        )


def changed(session: Session, count: int, to_missing: int) -> None:
    """What `replace` prints."""
    if not to_missing:
        cases_note(session, count, "real change made", "real changes made", "replace")
        return
    words = f"real changes made, {count_text(session, to_missing)} to missing"
    cases_note(session, count, words.replace("changes", "change"), words, "replace")
