"""Display formats: how numbers are written, `%9.0g` and the like.

In: a number and a format. Out: its text, missing values as `.`, `.a`, …
"""

from __future__ import annotations

import datetime
import re

from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.values import MISSING, letter_of

__all__ = ["EPOCH", "MONTHS", "is_format", "shown", "shown_default"]

_FORMAT = re.compile(
    r"%(?P<left>-?)(?P<zero>0?)(?P<width>\d{1,3})(?:(?P<point>[.,])(?P<digits>\d{1,2}))?(?P<kind>[fgesc]{1,2})\Z"
)
_DATE = re.compile(r"%(?P<left>-?)(?:t(?P<kind>[dmqyhw])|d)(?P<rest>.*)\Z")
#: Codes of a date format; `!` stands before a letter that is meant as it is.
_CODE = re.compile(
    r"DAYNAME|Dayname|Month|month|JJJ|jjj|Mon|mon|Day|day|CC|cc|YY|yy|NN|nn|DD|dd|Da|da|WW|ww|h|q"
    r"|![A-Za-z]|[-.,:_/\\+]"
)
_USUAL = {"d": "DDmonCCYY", "m": "CCYY!mnn", "q": "CCYY!qq", "h": "CCYY!hh", "w": "CCYY!www"}
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_SWAPPED = str.maketrans(".,", ",.")
EPOCH = datetime.date(1960, 1, 1)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def is_format(text: str) -> bool:
    """Whether a text is a display format that is known."""
    date = _DATE.match(text)
    return bool(_FORMAT.match(text) or (date and not _CODE.sub("", date["rest"])))


def shown(value: float, layout: str) -> str:
    """A number in a format, filled up to its width.

    >>> shown(3.14159, "%9.2f"), shown(1234567.0, "%12.0fc"), shown(0.5, "%9.0g")
    ('     3.14', '   1,234,567', '       .5')
    """
    date = _DATE.match(layout)
    if date and is_format(layout):
        return (
            letter_of(value)
            if value >= MISSING
            else _date(value, date["kind"] or "d", date["rest"])
        )
    found = _FORMAT.match(layout)
    if not found:
        raise DoError("invalid display format", code=120)
    width = int(found["width"])
    digits = int(found["digits"] or 0)
    text = letter_of(value) if value >= MISSING else _number(value, width, digits, found["kind"])
    if found["point"] == "," and value < MISSING:
        text = text.translate(_SWAPPED)
    if found["zero"] and value < MISSING:
        return text.zfill(width)
    return text.ljust(width) if found["left"] else text.rjust(width)


def _number(value: float, width: int, digits: int, kind: str) -> str:
    comma = kind.endswith("c")
    if kind[0] == "f":
        return f"{value:,.{digits}f}" if comma else f"{value:.{digits}f}"
    if kind[0] == "e":
        return f"{value:.{digits}e}"
    text = shown_default(value, width, digits)
    if comma and "e" not in text:
        whole, dot, rest = text.lstrip("-").partition(".")
        grouped = f"{int(whole):,}{dot}{rest}" if whole else text
        # Commas are left out where they do not fit.
        if whole and len(grouped) <= width - 2:
            text = f"-{grouped}" if value < 0 else grouped
    return text


def shown_default(value: float, width: int, digits: int = 0) -> str:
    """A number in general format: as many digits as fit, without zeros that say nothing.

    Two places are kept for a sign and a point. The exponent is written where it shows more
    digits, as Stata does.

    >>> shown_default(100000.0, 9), shown_default(0.1, 9), shown_default(-1 / 3, 9)
    ('100000', '.1', '-.3333333')
    >>> shown_default(12345678.0, 9), shown_default(2.0**31, 10)
    ('1.23e+07', '2.147e+09')
    """
    if value >= MISSING:
        return letter_of(value)
    if value == 0:
        return "0"
    room = max(width - 2, 1)
    places = max(width - 7, 0)
    exponent = int(f"{value:.{max(room - 1, 0)}e}".partition("e")[2])
    if exponent >= room or (exponent < -1 and room + exponent + 1 < places + 1):
        return f"{value:.{places}e}"
    kept = room - max(exponent + 1, 0)
    if digits:
        kept = min(kept, max(digits - exponent - 1, 0))
    text = f"{value:.{kept}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def _date(value: float, kind: str, codes: str) -> str:
    """A date or period as the codes of a format have it, such as `DD.NN.CCYY`."""
    number = int(value // 1)
    if kind == "y" and not codes:
        return str(number)
    try:
        parts = _parts(number, kind)
    except OverflowError:
        return str(number)
    text = ""
    for piece in _CODE.findall(codes or _USUAL[kind]):
        if piece in parts:
            text += parts[piece]
        else:
            text += {"_": " ", "+": ""}.get(piece, piece.removeprefix("!"))
    return text


def _parts(number: int, kind: str) -> dict[str, str]:
    """What stands for each code."""
    if kind == "d":
        day = EPOCH + datetime.timedelta(days=number)
    else:
        count = {"m": 12, "q": 4, "h": 2, "w": 52, "y": 1}[kind]
        year, step = (number, 0) if kind == "y" else (1960 + number // count, number % count)
        if not 1 <= year <= datetime.MAXYEAR:
            raise OverflowError
        start = datetime.date(year, 1 if kind == "w" else 1 + step * 12 // count, 1)
        day = start + datetime.timedelta(days=7 * step if kind == "w" else 0)
    month, week = MONTHS[day.month - 1], min((day.timetuple().tm_yday - 1) // 7 + 1, 52)
    name, weekday = _NAMES[day.month - 1], _WEEKDAYS[day.weekday()]
    century, year = divmod(day.year, 100)
    return {
        "CC": f"{century:02d}", "cc": str(century), "YY": f"{year:02d}", "yy": str(year),
        "JJJ": f"{day.timetuple().tm_yday:03d}", "jjj": str(day.timetuple().tm_yday),
        "Mon": month.capitalize(), "mon": month, "Month": name.capitalize(), "month": name,
        "NN": f"{day.month:02d}", "nn": str(day.month), "DD": f"{day.day:02d}", "dd": str(day.day),
        "DAYNAME": f"{weekday:<9}", "Dayname": weekday, "Day": weekday[:3], "Da": weekday[:2],
        "day": weekday[:3].lower(), "da": weekday[:2].lower(), "h": str((day.month - 1) // 6 + 1),
        "q": str((day.month - 1) // 3 + 1), "WW": f"{week:02d}", "ww": str(week),
    }  # fmt: skip
