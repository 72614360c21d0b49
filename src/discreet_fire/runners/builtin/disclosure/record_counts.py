"""What errors and notes of commands tell of numbers of records. CONFIDENTIAL.

In: a session and the records that make a command fail, or that it changed, made or dropped.
Out: the error, or the note in the log. A number of records of too few persons or firms is
withheld; so is 0 where it would answer a question about what one has, and so is an error: a
program that tries one bound after the other until it stops would else learn a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet_fire.linked_tables import ShownCounts, shown_counts
from discreet_fire.runners.builtin.data.dataset import DataSet, DataVariable
from discreet_fire.runners.builtin.disclosure.units import (
    RECORD,
    few,
    few_in,
    first_records,
    hidden_column,
    named_units,
    owners,
    record_numbers,
)
from discreet_fire.runners.builtin.language.errors import DoError
from discreet_fire.runners.builtin.language.values import MISSING, limited
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.runners.protocol import StatisticShown
from discreet_fire.statistics import CheckVerdict, concentrated


def failure(
    session: Session, rows: Any, what: str, *, code: int, data: DataSet | None = None
) -> DoError:
    """An error that records, a mask, cause; redacted where they are of a few.

    They are records of `data`, unless of those in memory.
    """
    error = DoError(what, code=code)
    data = session.data if data is None else data
    error.redacted = bool(data.rows) and few_in(session, data, rows)
    return error


def stop_where(
    session: Session, rows: Any, what: str, *, code: int, data: DataSet | None = None
) -> None:
    """Raise the error that records cause, if there are any; see `failure`."""
    if rows.any():
        raise failure(session, rows, what, code=code, data=data)


def check_made(session: Session, name: str, rows: Any) -> None:
    """As `check_new`, for a variable that is made because some records have a value."""
    try:
        session.data.check_new(name)
    except DoError as error:
        raise failure(session, rows, error.failed, code=error.rc) from None


def nobody(session: Session) -> DoError:
    """No observations: redacted if a condition asks for more than categories and missing values."""
    error = DoError("no observations", code=2000)
    error.redacted = bool(session.data.rows) and not session.trace.plain
    return error


def repeated(codes: Any) -> Any:
    """Which records have a code that others have, too.

    >>> repeated(np.array([3, 5, 3]))
    array([ True, False,  True])
    """
    _, at, number = np.unique(codes, return_inverse=True, return_counts=True)
    return number[at] > 1


@dataclass(frozen=True, repr=False)
class AffectedRecords:
    """Records that a command changes (confidential), and the persons or firms they are about.

    They are even if no one or two of these have nearly all of them. Their numbers in the data, and
    whom each is about, are None where they are not known.
    """

    records: int
    cases: int
    even: bool = True
    numbers: IntArray | None = None
    units: list[Any] | None = None


def affected(session: Session, rows: Any) -> AffectedRecords:
    """The records of a mask, or of row numbers, one of which may come several times."""
    who = owners(session)[rows]
    number = np.unique(who[who >= 0], return_counts=True)[1]
    largest = np.sort(number)[::-1].astype(np.float64)
    even = True
    if number.size > 1:
        even = not concentrated(largest[0], largest[1], float(number.sum()), session.limits)
    if session.log.witness is None or hidden_column(session.data, RECORD) is None:
        return AffectedRecords(len(who), number.size, even)
    numbers, units = record_numbers(session, rows), named_units(session, rows)
    return AffectedRecords(len(who), number.size, even, numbers, units)


def all_affected(session: Session, masks: Sequence[Any], *, whole: bool = True) -> AffectedRecords:
    """The records of several masks together; of nobody if one, or its rest, is about few.

    That it is all of them may be told where `whole` says so.
    """
    least = session.limits.minimum
    counts = [affected(session, mask) for mask in masks]
    shown = True
    for one, mask in zip(counts, masks, strict=True):
        rest = ~np.asarray(mask, dtype=np.bool_)
        open_rest = rest.any() or not mask.any() or (whole and session.trace.plain)
        shown &= (
            bool(open_rest) and (not one.records or one.cases >= least) and not few(session, rest)
        )
    even = all(one.even for one in counts)
    parts = [one.numbers for one in counts if one.numbers is not None]
    numbers = np.concatenate(parts) if len(parts) == len(counts) and parts else None
    units = [unit for one in counts for unit in one.units or ()]
    several, known = sum(one.records for one in counts), least if shown else 0
    whom = units if numbers is not None and len(units) == len(numbers) else None
    return AffectedRecords(several, known, even, numbers, whom)


def all_records(session: Session) -> str:
    """The number of records in memory as text; `.` where it may not be shown."""
    if not session.data.variables:
        return "0"
    counted = affected(session, slice(None))
    hidden = session.trace.rests(()) or counted.cases < session.limits.minimum or not counted.even
    return "." if hidden else f"{counted.records:,}"


def count_text(session: Session, count: int | AffectedRecords) -> str:
    """A number of cases, or `.` where it is too small to be shown."""
    records = count if isinstance(count, AffectedRecords) else AffectedRecords(count, count)
    if records.records == 0:
        return "0"
    safe = records.cases >= session.limits.minimum and records.even
    return f"{records.records:,}" if safe else "."


def cases_note(
    session: Session,
    count: int | AffectedRecords,
    one: str,
    several: str,
    command: str,
    *,
    nobody: bool = True,
) -> None:
    """Print `(5 real changes made)` or the like, with words for one and for several."""
    text = count_text(session, count)
    hidden = text == "." or session.trace.touched or session.trace.rests(())
    if hidden or (text == "0" and not (nobody and session.trace.plain)):
        if not session.log.quiet:
            reason = "a number of cases is too small"
            session.flag(command, "minimum", CheckVerdict.fail, reason, shown=None)
            session.note(f"(. {several})")
        return
    shown = f"({text} {one if text == '1' else several})"
    tell_counts(session, command, [count if isinstance(count, AffectedRecords) else None])
    session.flag(command, "minimum", CheckVerdict.passed, "a number of cases", shown=shown)


def tell_counts(session: Session, command: str, counts: Sequence[AffectedRecords | None]) -> None:
    """Tell numbers of records that are shown, to be held against those of other outputs.

    None stands for some whose records are not known.
    """
    if session.log.witness is None or session.log.quiet or session.trace.branches:
        return
    title = f"line {session.log.line}, {command}"
    tables: list[ShownCounts | None] = []
    for one in counts:
        if one is None or one.numbers is None:
            tables.append(None)
            continue
        shown = pl.DataFrame({"n": [float(one.records)]})
        tables.append(shown_counts(title, shown, pl.DataFrame(), one.numbers))
    known = [one for one in counts if one is not None and one.numbers is not None]
    whom = [unit for one in known for unit in one.units or ()]
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *(one.numbers for one in known)])
    session.log.witness(
        StatisticShown(
            line=session.log.line,
            command=command,
            universes="none",
            units=whom if len(whom) == len(numbers) else None,
            numbers=numbers,
            first=first_records(session),
            frame=pl.DataFrame(),
            groups=(),
            categories=frozenset(),
            missing=False,
            tables=tuple(tables),
        )
    )


def show_counts(
    session: Session,
    command: str,
    lines: Sequence[str],
    *,
    hidden: bool,
    counts: Sequence[AffectedRecords | None],
) -> None:
    """Show lines with numbers of cases, some of which may be withheld; `counts` are the shown."""
    tell_counts(session, command, counts)
    verdict = CheckVerdict.fail if hidden else CheckVerdict.passed
    reason = "numbers of cases are too small" if hidden else "numbers of cases"
    session.flag(command, "minimum", verdict, reason, shown="\n".join(lines))


def missing_made(session: Session, missing: Any) -> None:
    """What `generate` prints where missing values come out; nothing if they are few."""
    if session.trace.touched:
        return
    counted = all_affected(session, [missing])
    if count_text(session, counted) not in ("0", "."):
        words = "missing value generated", "missing values generated"
        cases_note(session, counted, *words, "generate")


def put_numbers(
    session: Session, name: str, numbers: FloatArray, kind: str, sources: Sequence[str] = ()
) -> None:
    """Make a variable of what a storage type keeps of numbers, and tell how many are missing."""
    values = limited(numbers, kind)
    session.put(name, DataVariable(values, kind), sources)
    missing_made(session, values >= MISSING)


def changed(session: Session, rows: Any, to_missing: Any) -> None:
    """What `replace` prints."""
    rest = np.asarray(rows) & ~np.asarray(to_missing)
    counted, gone, others = (all_affected(session, [one]) for one in (rows, to_missing, rest))
    words = "real change made", "real changes made"
    texts = [count_text(session, one) for one in (counted, gone, others)]
    if "." not in texts and texts[1] != "0" and not session.trace.touched:
        words = words[0] + f", {texts[1]} to missing", words[1] + f", {texts[1]} to missing"
    cases_note(session, counted, *words, "replace", nobody=False)
