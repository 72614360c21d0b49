"""The short notes that commands print: how many values changed, were made, were dropped.

In: a session and the records concerned. Out: the note in the log. A number of records of too
few persons or firms is withheld; so is 0 where it would answer a question about what one has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.isolating import few, owners
from discreet.output_checking.safe.judging import concentrated
from discreet.output_checking.safe.results import Check, SafeResult, Verdict

if TYPE_CHECKING:
    from discreet.output_checking.running.session import Session

__all__ = [
    "Affected",
    "affected",
    "all_affected",
    "all_records",
    "cases_note",
    "changed",
    "count_text",
    "missing_made",
]


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


def all_affected(session: Session, masks: Sequence[Any], *, whole: bool = True) -> Affected:
    """The records of several masks together; of nobody if one, or its rest, is about few.

    Args:
        session: The session.
        masks: The records.
        whole: Whether it may be told that it is all of them.
    """
    least = session.limits.minimum
    found = [affected(session, mask) for mask in masks]
    shown = True
    for one, mask in zip(found, masks, strict=True):
        rest = ~np.asarray(mask, dtype=np.bool_)
        told = rest.any() or not mask.any() or (whole and session.trace.plain)
        shown &= bool(told) and (not one.records or one.cases >= least) and not few(session, rest)
    even = all(one.even for one in found)
    return Affected(sum(one.records for one in found), least if shown else 0, even)


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
    hidden = text == "." or session.trace.touched or session.trace.rests(())
    if hidden or (text == "0" and not (nobody and session.trace.plain)):
        check = Check(rule="minimum", verdict=Verdict.fail, reason="a number of cases is too small")
        if not session.quiet:
            session.remember(SafeResult(command=command, shown="", checks=[check]))
            session.note(f"(. {several})")
        return
    check = Check(rule="minimum", verdict=Verdict.passed, reason="a number of cases")
    words = one if text == "1" else several
    session.show(SafeResult(command=command, shown=f"({text} {words})", checks=[check]))


def missing_made(session: Session, missing: Any) -> None:
    """What `generate` prints where missing values come out; nothing if they are few."""
    if session.trace.touched:
        return
    found = all_affected(session, [missing])
    if count_text(session, found) not in ("0", "."):
        words = "missing value generated", "missing values generated"
        cases_note(session, found, *words, "generate")


def changed(session: Session, rows: Any, to_missing: Any) -> None:
    """What `replace` prints."""
    rest = np.asarray(rows) & ~np.asarray(to_missing)
    found, gone, others = (all_affected(session, [one]) for one in (rows, to_missing, rest))
    words = "real change made", "real changes made"
    texts = [count_text(session, one) for one in (found, gone, others)]
    if "." not in texts and texts[1] != "0" and not session.trace.touched:
        words = words[0] + f", {texts[1]} to missing", words[1] + f", {texts[1]} to missing"
    cases_note(session, found, *words, "replace", nobody=False)
