"""Functions of dates: days since 1 January 1960, and months, quarters, years since then.

In: the values of arguments. Out: numbers; what is no date is missing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.scope import Scope, Value
from discreet.output_checking.running.values import MISSING

__all__ = ["DATES", "MONTHS", "day_number"]

_Function = Callable[[Scope, str, Sequence[Value]], Value]

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_EPOCH = datetime.date(1960, 1, 1)
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
        return float((datetime.date(year, month, day) - _EPOCH).days)
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


def _of_days(work: Callable[[Any], Any]) -> _Function:
    return _of_numbers(work, 1, lambda days: (days >= _FIRST) & (days <= _LAST))


def _of_numbers(
    work: Callable[..., Any], number: int, valid: Callable[..., Any] | None = None
) -> _Function:
    def call(scope: Scope, written: str, values: Sequence[Value]) -> Value:
        if len(values) != number:
            raise DoError("invalid syntax: wrong number of arguments", code=198)
        for value in values:
            if isinstance(value, str) or (isinstance(value, np.ndarray) and value.dtype == object):
                raise DoError("type mismatch", code=109)
        given = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values))
        known = np.ones(given[0].shape, dtype=np.bool_)
        for value in given:
            known &= value < MISSING
        safe = [np.where(known, value, 1.0) for value in given]
        if valid is not None:
            known &= valid(*safe)
            safe = [np.where(known, value, 1.0) for value in given]
        found = np.where(known, np.asarray(work(*safe), dtype=np.float64), MISSING)
        return found if found.ndim else float(found)

    return call


def _mdy(month: Any, day: Any, year: Any) -> Any:
    return np.vectorize(lambda m, d, y: day_number(int(y), int(m), int(d)), otypes=[np.float64])(
        month, day, year
    )


def _first_of_month(months: Any) -> Any:
    start = np.datetime64("1960-01") + np.floor(months).astype("timedelta64[M]")
    return (start.astype("datetime64[D]") - _EPOCH_64).astype(np.int64)


def _months(days: Any) -> Any:
    year, month, _, _ = _parts(days)
    return (year - 1960) * 12 + month - 1


def _quarters(days: Any) -> Any:
    return np.floor(_months(days) / 3)


def _weekday(days: Any) -> Any:
    return np.mod(np.floor(days) + 5, 7)


def _week(days: Any) -> Any:
    return np.minimum((_parts(days)[3] - 1) // 7 + 1, 52)


def _read(text: str, order: str) -> float:
    """A date written with its parts in an order such as `DMY`."""
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
    found = dict(zip(wanted, parts, strict=True))
    month = found["M"]
    if not month.isdigit():
        short = month[:3].lower()
        if short not in MONTHS:
            return MISSING
        month = str(MONTHS.index(short) + 1)
    if not (found["Y"].isdigit() and found["D"].isdigit()) or len(found["Y"]) != 4:
        return MISSING
    return day_number(int(found["Y"]), int(month), int(found["D"]))


def _date(scope: Scope, written: str, values: Sequence[Value]) -> Value:
    if len(values) not in (2, 3) or not isinstance(values[1], str):
        raise DoError("type mismatch", code=109)
    text, order = values[0], values[1]
    if isinstance(text, str):
        return _read(text, order)
    if not isinstance(text, np.ndarray) or text.dtype != object:
        raise DoError("type mismatch", code=109)
    return np.array([_read(one, order) for one in text], dtype=np.float64)


def _literal(scope: Scope, written: str, values: Sequence[Value]) -> Value:
    found = _LITERAL.match(written)
    if not found or found[2].lower() not in MONTHS:
        raise DoError("a date literal cannot be read", code=198)
    return day_number(int(found[3]), MONTHS.index(found[2].lower()) + 1, int(found[1]))


def _period(letter: str, parts: int) -> _Function:
    def call(scope: Scope, written: str, values: Sequence[Value]) -> Value:
        found = _PERIOD.match(written)
        if not found or (found[2] or letter).lower() != letter or not found[3]:
            raise DoError("a date literal cannot be read", code=198)
        part = int(found[3])
        if not 1 <= part <= parts:
            raise DoError("a date literal cannot be read", code=198)
        return float((int(found[1]) - 1960) * parts + part - 1)

    return call


DATES: dict[str, _Function] = {
    "mdy": _of_numbers(_mdy, 3),
    "year": _of_days(lambda days: _parts(days)[0]),
    "month": _of_days(lambda days: _parts(days)[1]),
    "day": _of_days(lambda days: _parts(days)[2]),
    "doy": _of_days(lambda days: _parts(days)[3]),
    "dow": _of_days(_weekday),
    "week": _of_days(_week),
    "quarter": _of_days(lambda days: (_parts(days)[1] - 1) // 3 + 1),
    "halfyear": _of_days(lambda days: (_parts(days)[1] - 1) // 6 + 1),
    "mofd": _of_days(_months),
    "qofd": _of_days(_quarters),
    "yofd": _of_days(lambda days: _parts(days)[0]),
    "dofm": _of_numbers(_first_of_month, 1),
    "dofq": _of_numbers(lambda quarters: _first_of_month(np.floor(quarters) * 3), 1),
    "dofy": _of_numbers(lambda years: _first_of_month((np.floor(years) - 1960) * 12), 1),
    "ym": _of_numbers(
        lambda y, m: np.where((m >= 1) & (m <= 12), (y - 1960) * 12 + m - 1, MISSING), 2
    ),
    "yq": _of_numbers(
        lambda y, q: np.where((q >= 1) & (q <= 4), (y - 1960) * 4 + q - 1, MISSING), 2
    ),
    "date": _date,
    "daily": _date,
    "td": _literal,
    "tm": _period("m", 12),
    "tq": _period("q", 4),
}
