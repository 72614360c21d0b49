"""Numbers as texts, as Stata writes them.

In: numbers that may be shown, None or NaN for withheld ones. Out: texts; a withheld number
is a point.
"""

from __future__ import annotations

import math
import unicodedata
from typing import Any

__all__ = ["count_text", "fixed", "general", "number_text", "rounded"]


def rounded(value: float, digits: int) -> float:
    """A number with so many significant digits.

    >>> rounded(1234.5678, 6), rounded(0.0, 3)
    (1234.57, 0.0)
    """
    return float(f"{value:.{digits - 1}e}") if math.isfinite(value) else value


def general(value: float | None, width: int = 9) -> str:
    """As `%9.0g`: up to 7 digits, and as many as the width holds.

    >>> general(6165.25675), general(0.25), general(None), general(1234567890.0)
    ('6165.257', '.25', '.', '1.23e+09')
    """
    if value is None or not math.isfinite(value):
        return "."
    if value == 0:
        return "0"
    for digits in range(min(7, width), 0, -1):
        short = rounded(value, digits)
        exponent = math.floor(math.log10(abs(short)))
        if -5 < exponent < width - 1:
            text = f"{short:.{max(digits - 1 - exponent, 0)}f}"
            text = text.rstrip("0").rstrip(".") if "." in text else text
            text = text.replace("0.", ".", 1) if abs(short) < 1 else text
        else:
            text = f"{short:.{min(digits - 1, 2)}e}"
        if len(text) <= width:
            return text
    return "." if width < 2 else f"{value:.0e}"


def fixed(value: float | None, decimals: int = 2) -> str:
    """With so many decimals.

    >>> fixed(33.333), fixed(None)
    ('33.33', '.')
    """
    return "." if value is None or not math.isfinite(value) else f"{value:.{decimals}f}"


def count_text(value: float | None) -> str:
    """A count with separators, or a sum of weights.

    >>> count_text(12345.0), count_text(None), count_text(2.5)
    ('12,345', '.', '2.5')
    """
    if value is None or not math.isfinite(value):
        return "."
    return f"{int(value):,}" if value == int(value) else general(value)


def number_text(value: Any) -> str:
    r"""A value of a grouping variable as a label on one line.

    >>> number_text(2.0), number_text("north"), number_text(0.5), number_text("a\nb")
    ('2', 'north', '.5', 'a b')
    """
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else general(value)
    text = str(value)
    return text if text.isprintable() else _plain(text)


def _plain(text: str) -> str:
    """Without characters that end lines, steer a screen or turn the direction of writing."""
    return "".join(" " if unicodedata.category(sign)[0] in "CZ" else sign for sign in text)
