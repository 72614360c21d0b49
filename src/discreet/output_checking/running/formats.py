"""Display formats: how numbers are written, `%9.0g` and the like.

In: a number and a format. Out: its text, missing values as `.`, `.a`, …
"""

from __future__ import annotations

import datetime
import re

from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.values import MISSING, letter_of

__all__ = ["is_format", "shown", "shown_default"]

_FORMAT = re.compile(
    r"%(?P<left>-?)(?P<zero>0?)(?P<width>\d+)(?:[.,](?P<digits>\d+))?(?P<kind>[fgesc]{1,2})\Z"
)
_DATE = re.compile(r"%(?P<left>-?)t(?P<kind>[dmqyhw])(?P<rest>.*)\Z")
_EPOCH = datetime.date(1960, 1, 1)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def is_format(text: str) -> bool:
    """Whether a text is a display format that is known."""
    return bool(_FORMAT.match(text) or _DATE.match(text))


def shown(value: float, layout: str) -> str:
    """A number in a format, filled up to its width.

    >>> shown(3.14159, "%9.2f"), shown(1234567.0, "%12.0fc"), shown(0.5, "%9.0g")
    ('     3.14', '   1,234,567', '       .5')
    """
    date = _DATE.match(layout)
    if date:
        return letter_of(value) if value >= MISSING else _date(value, date["kind"])
    found = _FORMAT.match(layout)
    if not found:
        raise DoError("invalid display format", code=120)
    width = int(found["width"])
    digits = int(found["digits"] or 0)
    text = letter_of(value) if value >= MISSING else _number(value, width, digits, found["kind"])
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
        whole, dot, rest = text.partition(".")
        sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
        text = f"{sign}{int(whole):,}{dot}{rest}" if whole else text
    return text


def shown_default(value: float, width: int, digits: int = 0) -> str:
    """A number in general format: as many digits as fit, without zeros that say nothing.

    >>> shown_default(100000.0, 9), shown_default(0.1, 9), shown_default(-1 / 3, 9)
    ('100000', '.1', '-.3333333')
    """
    if value >= MISSING:
        return letter_of(value)
    if value == 0:
        return "0"
    room = width - (2 if digits == 0 else 1)
    if value == int(value) and abs(value) < 10 ** (width - (value < 0)):
        return str(int(value))
    size = abs(value)
    if size < 1e-4 or size >= 10.0 ** (width - 1):
        places = max(width - 7, 0)
        return _stripped_exponent(f"{value:.{places}e}")
    before = len(str(int(size))) if size >= 1 else 0
    places = max(room - before, 0) if not digits else max(digits - before, 0)
    text = f"{value:.{places}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def _stripped_exponent(text: str) -> str:
    number, _, exponent = text.partition("e")
    number = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{number}e{exponent}"


def _date(value: float, kind: str) -> str:
    number = int(value // 1)
    if kind == "d":
        try:
            day = _EPOCH + datetime.timedelta(days=number)
        except OverflowError:
            return str(number)
        return f"{day.day:02d}{_MONTHS[day.month - 1]}{day.year}"
    if kind == "y":
        return str(number)
    parts = {"m": 12, "q": 4, "h": 2, "w": 52}[kind]
    return f"{1960 + number // parts}{kind}{number % parts + 1}"
