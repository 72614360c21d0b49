"""Numbers as Stata holds them: missing values are larger than all others.

In: numbers with nulls, or letters for extended missings. Out: 64-bit floats in which `.`,
`.a` … `.z` are the large numbers that Stata itself uses, so that comparing and sorting need
no care: `x > 5` holds for a missing x. Storage types say what a column can hold.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "LETTERS",
    "MISSING",
    "Floats",
    "Mask",
    "code_of",
    "extended",
    "is_text",
    "letter_of",
    "limited",
    "number_of_text",
    "smallest_type",
    "stored",
    "tidy",
    "with_nulls",
]

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LETTERS = "abcdefghijklmnopqrstuvwxyz"
#: The value of `.`; each letter is one step of the exponent's last twelve bits above it.
MISSING = 2.0**1023
_STEP = 2.0**1011

#: The smallest and largest number of each whole-number type.
WHOLE = {"byte": (-127, 100), "int": (-32_767, 32_740), "long": (-2_147_483_647, 2_147_483_620)}
#: The largest number of `float`.
FLOAT_MAX = 1.70141173319e38
_WRITTEN = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*\Z")
_TEXT_TYPE = re.compile(r"str(\d{1,4}|L)\Z")
STR_MAX = 2045


def extended(letter: str = "") -> float:
    """The number that stands for `.` or an extended missing value.

    >>> extended() == MISSING, extended("a") > extended()
    (True, True)
    """
    return MISSING + (LETTERS.index(letter) + 1) * _STEP if letter else MISSING


def letter_of(value: float) -> str:
    """How a missing value is written.

    >>> letter_of(extended("b")), letter_of(MISSING)
    ('.b', '.')
    """
    number = round((value - MISSING) / _STEP)
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


def is_text(value: Any) -> bool:
    """Whether a value is text, for all or per observation."""
    return isinstance(value, str) or (isinstance(value, np.ndarray) and value.dtype == object)


def tidy(values: Any) -> Any:
    """Results of arithmetic: what is no number, or too large, is missing."""
    if isinstance(values, np.ndarray):
        wrong = ~(np.abs(values) < MISSING)
        return np.where(wrong, MISSING, values) if wrong.any() else values
    return float(values) if abs(values) < MISSING else MISSING


def with_nulls(values: Floats) -> Floats:
    """The same with NaN for every missing value, for libraries that know no others."""
    return np.where(values >= MISSING, np.nan, values)


def limited(values: Floats, kind: str) -> Floats:
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


def smallest_type(values: Floats) -> str:
    """The smallest storage type that holds numbers exactly.

    >>> smallest_type(np.array([1.0, 100.0])), smallest_type(np.array([0.1]))
    ('byte', 'double')
    """
    known = values[values < MISSING]
    if (known == np.trunc(known)).all():
        for kind, (low, high) in WHOLE.items():
            if not known.size or (known.min() >= low and known.max() <= high):
                return kind
    fits = np.abs(known) <= FLOAT_MAX
    if fits.all() and np.array_equal(known.astype(np.float32).astype(np.float64), known):
        return "float"
    return "double"


def stored(values: Floats, kind: str, default: str = "float") -> tuple[Floats, str]:
    """Numbers for `replace`: the type grows until it holds them, as Stata promotes.

    Args:
        values: The numbers.
        kind: The storage type until now.
        default: What a whole-number type becomes where numbers are not whole: `float`, which
            rounds them, unless `set type double` says otherwise; `long` becomes `double`.

    Returns:
        The numbers as kept, and the storage type.
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
    for wide in list(WHOLE)[list(WHOLE).index(kind) :]:
        low, high = WHOLE[wide]
        if not known.size or (known.min() >= low and known.max() <= high):
            return values, wide
    return values, "double"


def text_width(kind: str) -> int | None:
    """How long texts of a storage type may be: 2045 for strL too; None for numbers.

    >>> text_width("str5"), text_width("float")
    (5, None)
    """
    found = _TEXT_TYPE.match(kind)
    if not found:
        return None
    return STR_MAX if found[1] == "L" else int(found[1])
