"""The short notes that commands print: how many values changed, were made, were dropped.

In: a session and the records concerned. Out: the note in the log. A number of records of too
few persons or firms is withheld; so is 0 where it would answer a question about what one has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.isolating import owners
from discreet.output_checking.safe.judging import concentrated
from discreet.output_checking.safe.results import Check, SafeResult, Verdict

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session

__all__ = ["Affected", "affected", "all_records", "cases_note", "changed", "count_text",
           "missing_made"]  # fmt: skip


@dataclass(frozen=True, repr=False)
class Affected:
    """Records that a command changes (confidential).

    Args:
        records: How many there are.
        cases: How many persons or firms they are about.
        even: Whether no one or two of these have nearly all of them.
    """

    records: int
    cases: int
    even: bool = True


def affected(session: Session, rows: Any) -> Affected:
    """The records of a mask, or of row numbers, one of which may come several times."""
    who = owners(session)[rows]
    number = np.unique(who[who >= 0], return_counts=True)[1]
    largest = np.sort(number)[::-1].astype(np.float64)
    even = True
    if number.size > 1:
        even = not concentrated(largest[0], largest[1], float(number.sum()), session.limits)
    return Affected(len(who), number.size, even)


def all_records(session: Session) -> str:
    """The number of records in memory as text; `.` where it may not be shown."""
    if not session.data.variables or not session.data.rows:
        return "." if session.data.variables else "0"
    found = affected(session, slice(None))
    hidden = session.trace.rests(()) or found.cases < session.limits.minimum or not found.even
    return "." if hidden else f"{found.records:,}"


def count_text(session: Session, count: int | Affected) -> str:
    """A number of cases, or `.` where it is too small to be shown."""
    found = count if isinstance(count, Affected) else Affected(count, count)
    if found.records == 0:
        return "0"
    safe = found.cases >= session.limits.minimum and found.even
    return f"{found.records:,}" if safe else "."


def cases_note(
    session: Session,
    count: int | Affected,
    one: str,
    several: str,
    command: str,
    *,
    nobody: bool = True,
) -> None:
    """Print `(5 real changes made)` or the like.

    Args:
        session: The session.
        count: The records.
        one: Words for one of them.
        several: Words for several.
        command: The command.
        nobody: Whether 0 may be shown.
    """
    text = count_text(session, count)
    if text == "0" and not (nobody and session.trace.plain):
        text = "."
    words = one if text == "1" else several
    check = Check(rule="minimum", verdict=Verdict.passed, reason="a number of cases")
    if text == ".":
        check = Check(rule="minimum", verdict=Verdict.fail, reason="a number of cases is too small")
    session.show(SafeResult(command=command, shown=f"({text} {words})", checks=[check]))


def missing_made(session: Session, missing: Any) -> None:
    """What `generate` prints where missing values come out; nothing if they are few."""
    if session.trace.touched:
        return
    found = affected(session, missing)
    if count_text(session, found) not in ("0", "."):
        words = "missing value generated", "missing values generated"
        cases_note(session, found, *words, "generate")


def changed(session: Session, rows: Any, to_missing: Any) -> None:
    """What `replace` prints."""
    found, gone = affected(session, rows), affected(session, to_missing)
    words = "real change made", "real changes made"
    if count_text(session, gone) not in ("0", "."):
        more = f", {count_text(session, gone)} to missing"
        words = words[0] + more, words[1] + more
        rest = affected(session, np.asarray(rows) & ~np.asarray(to_missing))
        if count_text(session, rest) == ".":
            words = "real change made", "real changes made"
    cases_note(session, found, *words, "replace", nobody=False)
