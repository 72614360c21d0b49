"""What makes a perturbation table valid, and one error for everything that does not.

In: the intervals as stated. Out: `Intervals`, or a `PerturbationError` that
lists every problem with its line. Messages name lines and kinds of problems,
never a probability, a noise value or a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from discreet.errors import PerturbationError, Problem
from discreet.perturbation.intervals import (
    DECIMAL_SCALE,
    Beyond,
    Closed,
    Entry,
    Intervals,
    on_scale,
    pack,
)

__all__ = ["check_entries", "magnitude_error", "missing_rows", "raise_problems"]

_NEAR = Fraction(1, 10**9)  # rows sum to one, bounds meet
_ROUNDED = Fraction(1, 10**7)  # stated probabilities are rounded
_SHOWN = 20


def check_entries(
    entries: Sequence[Entry],
    *,
    name: str,
    closed: Closed = "left",
    beyond: Beyond = "last",
    zeros: bool = False,
    problems: Iterable[Problem] = (),
) -> Intervals:
    """Check stated intervals and pack them.

    Args:
        entries: The intervals in the order of the file.
        name: Name of the table, for errors.
        closed: Which side of an interval its bound belongs to.
        beyond: What counts beyond the last row use.
        zeros: Row 0 is meant to change zeros.
        problems: What went wrong before; raised together with what is found here.
    """
    found = list(problems)
    rows: dict[int, list[Entry]] = {}
    for entry in entries:
        rows.setdefault(entry.count, []).append(entry)
    if not rows and not found:
        found.append(Problem("there are no rows", name))
    found += missing_rows(rows, first=0)
    found += _beyond_problems(beyond, max(rows, default=0))
    for count, row in rows.items():
        found += _row_problems(row, last_line=row[-1].line)
        if count == 0 and not zeros and not _certain_zero(row):
            hint = "if zeros are to be changed on purpose, declare it: zeros=True"
            found.append(Problem("row 0 changes zeros", row[0].line, hint))
    raise_problems(name, found)
    packed = [
        [(_fixed(entry, closed, last=entry is row[-1]), entry.noise) for entry in row]
        for _, row in sorted(rows.items())
    ]
    return pack(packed, closed=closed, beyond=beyond, zeros=zeros)


def _fixed(entry: Entry, closed: Closed, *, last: bool) -> int:
    return DECIMAL_SCALE if last else min(on_scale(entry.upper, closed), DECIMAL_SCALE)


def _row_problems(row: Sequence[Entry], last_line: str) -> Iterator[Problem]:
    """Everything wrong with the intervals of one original count."""
    below = Fraction(0)
    seen: set[tuple[Fraction, int]] = set()
    for entry in row:
        if (entry.upper, entry.noise) in seen:
            yield Problem("the interval is listed twice", entry.line)
        seen.add((entry.upper, entry.noise))
        if entry.lower is not None and abs(entry.lower - below) > _NEAR:
            kind = "a gap before" if entry.lower > below else "an overlap with"
            what = f"there is {kind} the interval" if entry.lower > below else f"{kind} another one"
            yield Problem(what, entry.line, "intervals follow one another, in order")
        elif entry.upper < below:
            yield Problem("the upper bound falls", entry.line, "list the intervals in order")
        elif entry.share is not None and abs(entry.upper - below - entry.share) > _ROUNDED:
            yield Problem("probability and bounds contradict each other", entry.line)
        if entry.count + entry.noise < 0:
            yield Problem("the noise can make the count negative", entry.line)
        if entry.target is not None and entry.target != entry.count + entry.noise:
            yield Problem("count plus noise is not the target stated", entry.line)
        below = entry.upper
    if abs(below - 1) > _NEAR:
        what = f"the probabilities of row {row[-1].count} do not sum to one"
        yield Problem(what, last_line)


def _certain_zero(row: Sequence[Entry]) -> bool:
    below = Fraction(0)
    for entry in row:
        if entry.noise != 0 and entry.upper != below:
            return False
        below = entry.upper
    return True


def missing_rows(rows: Iterable[int], *, first: int) -> list[Problem]:
    """A problem if original counts between `first` and the last have no row."""
    counts = set(rows)
    if not counts:
        return []
    found = []
    if min(counts) < first:
        found.append(Problem("an original count is negative", "rows"))
    missing = [count for count in range(first, max(counts)) if count not in counts]
    if missing:
        shown = ", ".join(str(count) for count in missing[:5])
        more = ", …" if len(missing) > 5 else ""
        hint = "each count from 0 to the last needs one; size classes belong to magnitude tables"
        found.append(Problem(f"{len(missing)} rows are missing: {shown}{more}", "rows", hint))
    return found


def _beyond_problems(beyond: Beyond, n_max: int) -> list[Problem]:
    if beyond == "last":
        return []
    start, length = beyond
    if start >= 1 and length >= 1 and start + length - 1 == n_max:
        return []
    return [Problem("the repeating block does not end at the last row", "beyond")]


def magnitude_error(name: str, what: str) -> PerturbationError:
    """The error for a table of another kind: for sums, not for counts."""
    return PerturbationError(
        f"this is a perturbation table for magnitudes: {what}",
        code="magnitude-table",
        where=name,
        hint="counts need a table with whole-number noise and one row per count, type 'all'",
    )


def raise_problems(name: str, problems: Sequence[Problem]) -> None:
    """Raise one error for all problems; do nothing when there is none."""
    if not problems:
        return
    shown = list(problems[:_SHOWN])
    if len(problems) > _SHOWN:
        shown.append(Problem(f"and {len(problems) - _SHOWN} more"))
    what = problems[0].what
    if len(problems) > 1:
        what = f"{len(problems)} problems in the perturbation table"
    elif problems[0].where:
        shown = [Problem(what, f"{name}, {problems[0].where}", problems[0].hint)]
    raise PerturbationError(
        what, code="perturbation-table", where=name, hint=problems[0].hint, problems=shown
    )
