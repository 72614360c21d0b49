"""Numbers as Stata holds and writes them: missing values, storage types, display formats.

In: numbers with nulls, or letters for extended missings; a number and a format such as
`%9.0g`. Out: 64-bit floats in which `.`, `.a` … `.z` are the large numbers that Stata itself
uses, so that comparing and sorting need no care: `x > 5` holds for a missing x. Storage types
say what a column can hold, formats how a number is written.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from discreet import microdata
from discreet.arrays import FloatArray, TextArray
from discreet_fire.runners.builtin.language.errors import required

stata_files = microdata.stata_files
LETTERS, STEP = stata_files.LETTERS, stata_files.STEP
#: The value of `.`; each letter is one step above it.
MISSING = stata_files.MISSING
#: The smallest and largest number of each whole-number type, and of `float`; the longest text.
WHOLE, FLOAT_MAX, STR_MAX = stata_files.WHOLE, stata_files.FLOAT_MAX, stata_files.STR_MAX
#: The storage types of numbers, the narrowest first.
NUMBER_TYPES = (*WHOLE, "float", "double")
_WRITTEN = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*\Z")
_TEXT_TYPE = re.compile(r"str(\d{1,4}|L)\Z")


def extended(letter: str = "") -> float:
    """The number that stands for `.` or an extended missing value.

    >>> extended() == MISSING, extended("a") > extended()
    (True, True)
    """
    return MISSING + (LETTERS.index(letter) + 1) * STEP if letter else MISSING


def letter_of(value: float) -> str:
    """How a missing value is written.

    >>> letter_of(extended("b")), letter_of(MISSING)
    ('.b', '.')
    """
    number = round((value - MISSING) / STEP)
    return "." + (LETTERS[number - 1] if 1 <= number <= len(LETTERS) else "")


def code_of(text: str) -> float | None:
    """The number for `.`, `.a` … `.z`; None for any other text.

    >>> code_of(".a") == extended("a"), code_of("1")
    (True, None)
    """
    if text == ".":
        return MISSING
    if len(text) == 2 and text[0] == "." and text[1] in LETTERS:
        return extended(text[1])
    return None


def number_of_text(text: str) -> float | None:
    """The number that a text is, as programs write numbers; None if it is none.

    >>> number_of_text(" -1.5e3 "), number_of_text("nan"), number_of_text("1_0")
    (-1500.0, None, None)
    """
    found = float(text) if _WRITTEN.match(text) else None
    return None if found is None or abs(found) >= MISSING else found


def number_or_code(text: str) -> float | None:
    """The number that a text is, also a missing one such as `.a`; None if it is none."""
    code = code_of(text)
    return number_of_text(text) if code is None else code


def is_text(value: Any) -> bool:
    """Whether a value is text, for all or per observation."""
    return isinstance(value, str) or (isinstance(value, np.ndarray) and value.dtype == object)


def text_column(texts: Iterable[str]) -> TextArray:
    """Texts as an array, one per observation."""
    kept = list(texts)
    column = np.empty(len(kept), dtype=object)
    column[:] = kept
    return column


def shortened(text: str, width: int | None) -> str:
    """A text cut off after so many bytes, between characters."""
    return text.encode()[:width].decode("utf-8", "ignore")


def tidy(values: Any) -> Any:
    """Results of arithmetic: what is no number, or too large, is missing."""
    if isinstance(values, np.ndarray):
        wrong = ~(np.abs(values) < MISSING)
        return np.where(wrong, MISSING, values) if wrong.any() else values
    return float(values) if abs(values) < MISSING else MISSING


def with_nulls(values: FloatArray) -> FloatArray:
    """The same with NaN for every missing value, for libraries that know no others."""
    return np.where(values >= MISSING, np.nan, values)


def limited(values: FloatArray, kind: str) -> FloatArray:
    """What a column of a storage type keeps of numbers: `float` rounds, others cut off.

    Numbers beyond the type's range become missing, as `generate` does.

    >>> limited(np.array([1.9, -3.2]), "byte")
    array([ 1., -3.])
    """
    missing = values >= MISSING
    if kind == "double":
        return values
    if kind == "float":
        kept = np.where(missing, 0.0, values)
        with np.errstate(over="ignore"):
            rounded = kept.astype(np.float32).astype(np.float64)
        rounded = np.where(np.abs(kept) > FLOAT_MAX, MISSING, rounded)
        return np.where(missing, values, rounded)
    low, high = WHOLE[kind]
    cut = np.trunc(np.where(missing, 0.0, values))
    cut = np.where((cut < low) | (cut > high), MISSING, cut)
    return np.where(missing, values, cut)


def smallest_type(values: FloatArray) -> str:
    """The smallest storage type that holds numbers exactly.

    >>> smallest_type(np.array([1.0, 100.0])), smallest_type(np.array([0.1]))
    ('byte', 'double')
    """
    known = values[values < MISSING]
    if (known == np.trunc(known)).all() and (whole := _whole_type(known)):
        return whole
    fits = np.abs(known) <= FLOAT_MAX
    if fits.all() and np.array_equal(known.astype(np.float32).astype(np.float64), known):
        return "float"
    return "double"


def stored(values: FloatArray, kind: str, default: str = "float") -> tuple[FloatArray, str]:
    """Numbers for `replace`, and their type: it grows until it holds them, as Stata promotes.

    A whole-number type becomes the default where numbers are not whole: `float`, which rounds
    them, unless `set type double` says otherwise; `long` becomes `double`.
    """
    if kind == "double":
        return values, kind
    if kind == "float":
        return limited(values, kind), kind
    known = values[values < MISSING]
    if not (known == np.trunc(known)).all():
        beyond = bool((np.abs(known) > FLOAT_MAX).any())
        wide = "double" if kind == "long" or default == "double" or beyond else "float"
        return limited(values, wide), wide
    return values, _whole_type(known, kind) or "double"


def _whole_type(known: FloatArray, least: str = "byte") -> str | None:
    """The smallest type of whole numbers, from one on, whose range holds all of them."""
    kinds = list(WHOLE)[list(WHOLE).index(least) :]
    low, high = known.min(initial=0), known.max(initial=0)
    return next((one for one in kinds if WHOLE[one][0] <= low and high <= WHOLE[one][1]), None)


def text_width(kind: str) -> int | None:
    """How long texts of a storage type may be: 2045 for strL too; None for numbers.

    >>> text_width("str5"), text_width("float")
    (5, None)
    """
    match = _TEXT_TYPE.match(kind)
    if not match:
        return None
    return STR_MAX if match[1] == "L" else int(match[1])


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
        missing = value >= MISSING
        return letter_of(value) if missing else _date(value, date["kind"] or "d", date["rest"])
    found = required(_FORMAT.match(layout), "invalid display format", code=120)
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
