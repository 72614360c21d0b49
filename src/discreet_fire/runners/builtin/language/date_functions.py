"""Functions of dates: days since 1 January 1960, and months, quarters, years since then.

In: the values of arguments. Out: numbers; what is no date is missing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet_fire.runners.builtin.language.errors import DoError
from discreet_fire.runners.builtin.language.function_frames import FunctionOf, each_number
from discreet_fire.runners.builtin.language.scope import Scope, Value
from discreet_fire.runners.builtin.language.values import EPOCH, MISSING, MONTHS

_EPOCH_64 = np.datetime64("1960-01-01")
_FIRST, _LAST = -679_350, 2_936_549
_LITERAL = re.compile(r"\s*(\d{1,2})[ -]?([a-z]{3})[a-z]*[ -]?(\d{4})\s*\Z", re.IGNORECASE)
_PERIOD = re.compile(r"\s*(\d{4})[ -]?([mqhw])?[ -]?(\d{1,2})?\s*\Z", re.IGNORECASE)


def day_number(year: int, month: int, day: int) -> float:
    """Days since 1 January 1960; missing if there is no such day.

    >>> day_number(1960, 1, 2), day_number(2020, 2, 30) == MISSING
    (1.0, True)
    """
    try:
        return float((datetime.date(year, month, day) - EPOCH).days)
    except (ValueError, OverflowError):
        return MISSING


def _parts(days: Any) -> tuple[Any, Any, Any, Any]:
    """Year, month, day of the month and day of the year."""
    date = _EPOCH_64 + np.floor(days).astype("timedelta64[D]")
    year = date.astype("datetime64[Y]")
    month = date.astype("datetime64[M]")
    years = year.astype(np.int64) + 1970
    months = (month - year.astype("datetime64[M]")).astype(np.int64) + 1
    in_month = (date - month.astype("datetime64[D]")).astype(np.int64) + 1
    in_year = (date - year.astype("datetime64[D]")).astype(np.int64) + 1
    return years, months, in_month, in_year


def _of_days(work: Callable[[Any], Any]) -> FunctionOf:
    return each_number(work, valid=lambda days: (days >= _FIRST) & (days <= _LAST))


def _of_periods(work: Callable[[Any], Any], parts: int) -> FunctionOf:
    """The first day of a period; years themselves are counted from 0, parts of one from 1960."""
    first, last = (100, 9999) if parts == 1 else ((100 - 1960) * parts, (10_000 - 1960) * parts - 1)
    return each_number(work, valid=lambda period: (period >= first) & (period < last + 1))


def _period_of(parts: int) -> FunctionOf:
    """The period of a year and a number within it, such as `ym(2020, 12)`."""
    return each_number(
        lambda year, part: np.where(
            (part >= 1) & (part <= parts), (year - 1960) * parts + part - 1, MISSING
        ),
        2,
    )


def _mdy(month: Any, day: Any, year: Any) -> Any:
    return np.vectorize(lambda m, d, y: day_number(int(y), int(m), int(d)), otypes=[np.float64])(
        month, day, year
    )


def _first_of_month(months: Any) -> Any:
    start = np.datetime64("1960-01") + np.floor(months).astype("timedelta64[M]")
    return (start.astype("datetime64[D]") - _EPOCH_64).astype(np.int64)


def _first_of_week(weeks: Any) -> Any:
    year = np.floor(weeks / 52)
    return _first_of_month(year * 12) + 7 * (np.floor(weeks) - year * 52)


def _months(days: Any) -> Any:
    year, month, _, _ = _parts(days)
    return (year - 1960) * 12 + month - 1


def _week(days: Any) -> Any:
    return np.minimum((_parts(days)[3] - 1) // 7 + 1, 52)


def _year(text: str, century: str, top: float) -> str | None:
    """A year of four digits, or of two with its century or the latest year it may be."""
    if not text.isdigit() or len(text) == 4:
        return text if text.isdigit() else None
    if len(text) != 2:
        return None
    if century:
        return f"{century}{text}"
    if top >= MISSING:
        return None
    year = int(top) // 100 * 100 + int(text)
    return f"{year if year <= top else year - 100:04d}"


def _read(text: str, order: str, top: float = MISSING) -> float:
    """A date written with its parts in an order such as `DMY` or `MD20Y`."""
    century = "".join(re.findall(r"\d\d(?=Y)", order.upper()))
    wanted = [part for part in order.upper() if part in "DMY"]
    parts = re.findall(r"[A-Za-z]+|\d+", text)
    if len(parts) == 1 and parts[0].isdigit() and len(parts[0]) == 8:
        widths = {"Y": 4, "M": 2, "D": 2}
        digits, parts = parts[0], []
        for part in wanted:
            parts.append(digits[: widths[part]])
            digits = digits[widths[part] :]
    if len(parts) != 3 or sorted(wanted) != ["D", "M", "Y"]:
        return MISSING
    fields = dict(zip(wanted, parts, strict=True))
    month = fields["M"]
    if not month.isdigit():
        short = month[:3].lower()
        if short not in MONTHS:
            return MISSING
        month = str(MONTHS.index(short) + 1)
    year = _year(fields["Y"], century, top)
    if year is None or not fields["D"].isdigit():
        return MISSING
    return day_number(int(year), int(month), int(fields["D"]))


def _read_period(letter: str, parts: int) -> Callable[[str, str, float], float]:
    """A month, quarter, week or half-year written with its year, in an order such as `YM`."""

    def read(text: str, order: str, top: float) -> float:
        century = "".join(re.findall(r"\d\d(?=Y)", order.upper()))
        wanted = [part for part in order.upper() if part in "YMQHW"]
        matches = re.findall(r"[A-Za-z]+|\d+", text)
        if len(matches) == 3 and not matches[1].isdigit() and matches[1].lower() == letter:
            matches = [matches[0], matches[2]]
        if sorted(wanted) != sorted({"Y", letter.upper()}) or len(matches) != len(wanted):
            return MISSING
        fields = dict(zip(wanted, matches, strict=True))
        year = _year(fields["Y"], century, top)
        part = fields[letter.upper()] if parts > 1 else "1"
        if letter == "m" and part[:3].lower() in MONTHS:
            part = str(MONTHS.index(part[:3].lower()) + 1)
        if year is None or not part.isdigit() or not 1 <= int(part) <= parts:
            return MISSING
        return float((int(year) - 1960) * parts + int(part) - 1 if parts > 1 else int(year))

    return read


def _written(read: Callable[[str, str, float], float]) -> FunctionOf:
    """`date(text, order)`, also with the latest year that two digits may mean."""

    def call(scope: Scope, written: str, values: Sequence[Value]) -> Value:
        if len(values) not in (2, 3) or not isinstance(values[1], str):
            raise DoError("type mismatch", code=109)
        text, order, top = values[0], values[1], (*values, MISSING)[2]
        if not isinstance(top, float):
            raise DoError("type mismatch", code=109)
        if isinstance(text, str):
            return read(text, order, top)
        if not isinstance(text, np.ndarray) or text.dtype != object:
            raise DoError("type mismatch", code=109)
        return np.array([read(one, order, top) for one in text], dtype=np.float64)

    return call


def _literal(scope: Scope, written: str, values: Sequence[Value]) -> Value:
    match = _LITERAL.match(written)
    if not match or match[2].lower() not in MONTHS:
        raise DoError("a date literal cannot be read", code=198)
    return day_number(int(match[3]), MONTHS.index(match[2].lower()) + 1, int(match[1]))


def _period(letter: str, parts: int) -> FunctionOf:
    def call(scope: Scope, written: str, values: Sequence[Value]) -> Value:
        match = _PERIOD.match(written)
        if not match or (match[2] or letter).lower() != letter or not match[3]:
            raise DoError("a date literal cannot be read", code=198)
        part = int(match[3])
        DoError.when(not 1 <= part <= parts, "a date literal cannot be read", code=198)
        return float((int(match[1]) - 1960) * parts + part - 1)

    return call


DATES: dict[str, FunctionOf] = {
    "mdy": each_number(_mdy, 3),
    **dict.fromkeys(("year", "yofd"), _of_days(lambda days: _parts(days)[0])),
    "month": _of_days(lambda days: _parts(days)[1]),
    "day": _of_days(lambda days: _parts(days)[2]),
    "doy": _of_days(lambda days: _parts(days)[3]),
    "dow": _of_days(lambda days: np.mod(np.floor(days) + 5, 7)),
    "week": _of_days(_week),
    "quarter": _of_days(lambda days: (_parts(days)[1] - 1) // 3 + 1),
    "halfyear": _of_days(lambda days: (_parts(days)[1] - 1) // 6 + 1),
    "mofd": _of_days(_months),
    "qofd": _of_days(lambda days: np.floor(_months(days) / 3)),
    "dofm": _of_periods(_first_of_month, 12),
    "dofq": _of_periods(lambda quarters: _first_of_month(np.floor(quarters) * 3), 4),
    "dofy": _of_periods(lambda years: _first_of_month((np.floor(years) - 1960) * 12), 1),
    "ym": _period_of(12),
    "yq": _period_of(4),
    "wofd": _of_days(lambda days: (_parts(days)[0] - 1960) * 52 + _week(days) - 1),
    "hofd": _of_days(lambda days: np.floor(_months(days) / 6)),
    "dofh": _of_periods(lambda halves: _first_of_month(np.floor(halves) * 6), 2),
    "dofw": _of_periods(_first_of_week, 52),
    "yh": _period_of(2),
    "yw": _period_of(52),
    **dict.fromkeys(("date", "daily"), _written(_read)),
    "monthly": _written(_read_period("m", 12)),
    "quarterly": _written(_read_period("q", 4)),
    "halfyearly": _written(_read_period("h", 2)),
    "weekly": _written(_read_period("w", 52)),
    "yearly": _written(_read_period("y", 1)),
    "td": _literal,
    "tm": _period("m", 12),
    "tq": _period("q", 4),
    "th": _period("h", 2),
    "tw": _period("w", 52),
}
