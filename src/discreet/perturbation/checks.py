"""What makes a perturbation table valid, and one error for everything that does not.

In: the intervals as stated. Out: `Intervals`, or a `PerturbationError` that
lists every problem with its line. Messages name lines and kinds of problems,
never a probability, a noise value or a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice

from discreet.errors import PerturbationError, Problem, shortened
from discreet.perturbation.intervals import (
    DECIMAL_SCALE,
    Beyond,
    Bound,
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
_SHOWN_ROWS = 5


def check_entries(
    entries: Sequence[Entry],
    *,
    name: str,
    closed: Closed = "left",
    scale: int = DECIMAL_SCALE,
    one: int = 1,
    beyond: Beyond = "last",
    zeros: bool = False,
    problems: Iterable[Problem] = (),
) -> Intervals:
    """Check stated intervals and pack them.

    Args:
        entries: The intervals in the order of the file.
        name: Name of the table, for errors.
        closed: Which side of an interval its bound belongs to.
        scale: Number of units the bounds are stored in.
        one: What the bounds state as the end: 1, or the scale if they are in its units.
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
        found += _row_problems(row, closed, one)
        if count == 0 and not zeros and not _certain_zero(row, closed):
            hint = "if zeros are to be changed on purpose, declare it: zeros=True"
            found.append(Problem("row 0 changes zeros", row[0].line, hint))
    raise_problems(name, found)
    changes_zeros = zeros and not _certain_zero(rows[0], closed)
    packed = [
        [(_unit(entry.upper, row[-1].upper, closed, scale, one), entry.noise) for entry in row]
        for _, row in sorted(rows.items())
    ]
    return pack(packed, closed=closed, scale=scale, beyond=beyond, zeros=changes_zeros)


def _unit(upper: Bound, last: Bound, closed: Closed, scale: int, one: int) -> int:
    """A bound in units of 1/scale; the last of its row, one up to rounding, becomes one."""
    if upper == last:
        return scale
    return int(upper) if one == scale else min(on_scale(Fraction(upper), closed, scale), scale)


def _row_problems(row: Sequence[Entry], closed: Closed, one: int) -> Iterator[Problem]:
    """Everything wrong with the intervals of one original count."""
    below: Bound = 0
    seen: set[tuple[Bound, int]] = set()
    for entry in row:
        if (entry.upper, entry.noise) in seen:
            yield Problem("the interval is listed twice", entry.line)
        seen.add((entry.upper, entry.noise))
        if entry.lower is not None and abs(entry.lower - below) > _NEAR:
            gap = entry.lower > below
            what = "there is a gap before the interval" if gap else "the interval overlaps another"
            yield Problem(what, entry.line, "intervals follow one another, in order")
        elif entry.upper < below:
            yield Problem(
                "the upper bound falls",
                entry.line,
                "intervals, and cumulative probabilities, go upward",
            )
        elif entry.share is not None and abs(entry.upper - below - entry.share) > _ROUNDED:
            yield Problem("probability and bounds contradict each other", entry.line)
        occurs = entry.upper > below or (closed == "right" and entry is row[0])
        if occurs and entry.count + entry.noise < 0:
            yield Problem("the noise can make the count negative", entry.line)
        if entry.target is not None and entry.target != entry.count + entry.noise:
            yield Problem("count plus noise is not the target stated", entry.line)
        below = entry.upper
    if not one - _NEAR * one <= below <= one + _NEAR * one:
        what = f"the probabilities of row {row[-1].count} do not sum to one"
        yield Problem(what, row[-1].line)


def _certain_zero(row: Sequence[Entry], closed: Closed) -> bool:
    below: Bound = 0 if closed == "left" else -1
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
    number = max(counts) + 1 - first - sum(count >= first for count in counts)
    if number > 0:
        missing = (count for count in range(first, max(counts)) if count not in counts)
        shown = ", ".join(str(count) for count in islice(missing, _SHOWN_ROWS))
        more = ", …" if number > _SHOWN_ROWS else ""
        hint = "each count from 0 to the last needs one; size classes belong to magnitude tables"
        what = "1 row is missing" if number == 1 else f"{number} rows are missing"
        found.append(Problem(f"{what}: {shown}{more}", "rows", hint))
    return found


def _beyond_problems(beyond: Beyond, n_max: int) -> list[Problem]:
    if beyond == "last":
        return []
    given: object = beyond
    pair = isinstance(given, tuple | list) and len(given) == 2
    if not pair or not all(type(part) is int for part in beyond):
        hint = 'write beyond="last" or beyond=(501, 250)'
        return [Problem("this is neither the last row nor a block of rows", "beyond", hint)]
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
    shown = shortened(problems, _SHOWN)
    what = problems[0].what
    if len(problems) > 1:
        what = f"{len(problems)} problems in the perturbation table"
    elif problems[0].where:
        shown = [Problem(what, f"{name}, {problems[0].where}", problems[0].hint)]
    raise PerturbationError(
        what, code="perturbation-table", where=name, hint=problems[0].hint, problems=shown
    )
