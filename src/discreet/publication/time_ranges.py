"""Ranges of periods, as structures of SDMX constrain them. Public."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeRange:
    """Periods from one on or up to one; each end is a period with what includes it."""

    start: tuple[str, bool] | None = None
    end: tuple[str, bool] | None = None

    def holds(self, period: str) -> bool:
        """Whether a period lies within it, as a whole.

        >>> years = TimeRange(start=("2020-Q2", True), end=("2022", False))
        >>> [years.holds(one) for one in ("2020", "2020-Q2", "2021-12", "2022-W01", "2021-W52")]
        [False, True, True, False, False]
        """
        own = days_of(period)
        if own is None:
            return False
        for edge, after in ((self.start, True), (self.end, False)):
            days = None if edge is None else days_of(edge[0])
            if edge is None or days is None:
                continue
            inside = own[0] >= days[0] if after else own[1] <= days[1]
            outside = own[0] > days[1] if after else own[1] < days[0]
            if not (inside if edge[1] else outside):
                return False
        return True


#: Letters of periods within a year, and their months; a period without one is a month.
_MONTHS = {"A": 12, "S": 6, "T": 4, "Q": 3, "M": 1, "": 1}
_PERIOD = re.compile(r"(\d{4})(?:-([ASTQMW]?)(\d{1,2})(?:-(\d\d))?)?(?:T.*)?")


def days_of(period: str) -> tuple[str, str] | None:
    """The first and last day of a period, as texts in order; None if it is none.

    >>> days_of("2021-Q2"), days_of("2021"), days_of("2021-02-03T00:00:00"), days_of("soon")
    (('2021-04-01', '2021-06-31'), ('2021-01-01', '2021-12-31'), ('2021-02-03', '2021-02-03'), None)
    """
    match = _PERIOD.fullmatch(period.strip())
    if match is None:
        return None
    year, letter, number, day = match.groups()
    if number is None:
        return f"{year}-01-01", f"{year}-12-31"
    if day is not None:
        return (f"{year}-{number}-{day}",) * 2
    if letter == "W":
        try:
            days = [date.fromisocalendar(int(year), int(number), one) for one in (1, 7)]
        except ValueError:
            return None
        return days[0].isoformat(), days[1].isoformat()
    last = int(number) * _MONTHS[letter]
    if not 1 <= last <= 12:
        return None
    return f"{year}-{last - _MONTHS[letter] + 1:02}-01", f"{year}-{last:02}-31"
