"""Errors of a do-file, and numbers as Stata holds them.

Missing values `.`, `.a` … `.z` are the large numbers that Stata itself uses, so that comparing and
sorting need no care: `x > 5` holds for a missing x.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, TypeVar

import numpy as np

from discreet import microdata
from discreet.arrays import FloatArray, TextArray
from discreet.errors import OutputCheckError

_FILES = microdata.stata_files
LETTERS, STEP, MISSING = _FILES.LETTERS, _FILES.STEP, _FILES.MISSING
#: The smallest and largest number of each whole-number type, and of `float`; the longest text.
WHOLE, FLOAT_MAX, STR_MAX = _FILES.WHOLE, _FILES.FLOAT_MAX, _FILES.STR_MAX
#: The storage types of numbers, the narrowest first.
NUMBER_TYPES = (*WHOLE, "float", "double")
_Part = TypeVar("_Part")
#: A number or text for all, or one per observation.
Value = float | str | FloatArray | TextArray


class DoError(OutputCheckError):
    """An error that Stata would report too, with its return code.

    Where a few of the records decide that it happens, it is `redacted`: even its line would tell
    something.

    >>> print(DoError("variable x not found", 111, line=3))
    [do-file] line 3: variable x not found; r(111)
    """

    kind, hint_of = "do-file", ""

    def __init__(
        self,
        failure: str,
        rc: int = 198,
        *,
        line: int | None = None,
        redacted: bool = False,
    ) -> None:
        self.failure, self.rc, self.line, self.redacted = failure, rc, line, redacted
        where = "" if line is None else f"line {line}"
        super().__init__(self.sentence(), code=self.kind, where=where, hint=self.hint_of)

    def sentence(self) -> str:
        """What is wrong."""
        return f"{self.failure}; r({self.rc})"

    def at(self, line: int) -> DoError:
        """The same with its line, unless it has one."""
        line = line if self.line is None else self.line
        return type(self)(self.failure, self.rc, line=line, redacted=self.redacted)

    @classmethod
    def when(cls, holds: object, failure: str, rc: int = 198) -> None:
        """Raise the error where something holds."""
        if holds:
            raise cls(failure, rc)

    def __reduce__(self) -> tuple[Any, ...]:
        again = partial(type(self), line=self.line, redacted=self.redacted)
        return again, (self.failure, self.rc)


class UnsupportedError(DoError):
    """Something that the small Stata does not know; the run ends here.

    >>> print(UnsupportedError("the command xtabond", line=7))
    [unsupported] line 7: the small Stata does not know the command xtabond
      Hint: a centre runs real Stata, R or Python: see docs/how-to/run-programs.md
    """

    kind = "unsupported"
    hint_of = "a centre runs real Stata, R or Python: see docs/how-to/run-programs.md"

    def sentence(self) -> str:
        """What is not known."""
        return f"the small Stata does not know {' '.join(self.failure.split())[:60]}"


def required(part: _Part | None, failure: str, rc: int = 198) -> _Part:
    """A part that must be there; an error if it is not."""
    if part is None:
        raise DoError(failure, rc)
    return part


# --- missing values and storage types --------------------------------------------------


def missing_letter(value: float) -> str:
    """How a missing value is written.

    >>> missing_letter(MISSING), missing_letter(MISSING + 2 * STEP)
    ('.', '.b')
    """
    number = round((value - MISSING) / STEP)
    return "." + (LETTERS[number - 1] if 1 <= number <= len(LETTERS) else "")


def missing_code(text: str) -> float | None:
    """The number for `.`, `.a` … `.z`; None for any other text."""
    if re.fullmatch(r"\.[a-z]?", text) is None:
        return None
    return MISSING + (LETTERS.index(text[1]) + 1) * STEP if len(text) == 2 else MISSING


def number_or_code(text: str) -> float | None:
    """The number that a text is, also a missing one such as `.a`; None if it is none.

    >>> number_or_code(" -1.5e3 "), number_or_code("nan"), number_or_code("1_0")
    (-1500.0, None, None)
    """
    if not re.fullmatch(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*", text):
        return missing_code(text)
    return float(text) if abs(float(text)) < MISSING else None


def is_text(value: object) -> bool:
    """Whether a value is text, for all or per observation."""
    return isinstance(value, str) or (isinstance(value, np.ndarray) and value.dtype == object)


def text_column(texts: Any) -> TextArray:
    """Texts as an array, one per observation."""
    kept = list(texts)
    column = np.empty(len(kept), dtype=object)
    column[:] = kept
    return column


def text_kind(texts: Any) -> str:
    """The storage type that holds texts.

    >>> text_kind(["a", "für"])
    'str4'
    """
    width = max((len(text.encode()) for text in texts), default=1)
    return f"str{max(width, 1)}" if width <= STR_MAX else "strL"


def tidy(values: Any) -> Any:
    """Results of arithmetic: what is no number, or too large, is missing."""
    if isinstance(values, np.ndarray) and values.ndim:
        return np.where(np.abs(values) < MISSING, values, MISSING)
    return float(values) if abs(values) < MISSING else MISSING


def limited(values: FloatArray, kind: str) -> FloatArray:
    """What a column of a storage type keeps of numbers: `float` rounds, others cut off.

    >>> limited(np.array([1.9, -3.2, 300]), "byte") == [1, -3, MISSING]
    array([ True,  True,  True])
    """
    missing = values >= MISSING
    if kind == "double":
        return values
    known = np.where(missing, 0.0, values)
    if kind == "float":
        with np.errstate(over="ignore"):
            kept = known.astype(np.float32).astype(np.float64)
        outside = np.abs(known) > FLOAT_MAX
    else:
        kept, (low, high) = np.trunc(known), WHOLE[kind]
        outside = (kept < low) | (kept > high)
    return np.where(missing, values, np.where(outside, MISSING, kept))


def smallest_type(values: FloatArray, least: str = "byte") -> str:
    """The smallest storage type, from one on, that holds numbers exactly, or as `float` does.

    >>> smallest_type(np.array([1.0, 100.0])), smallest_type(np.array([1.0]), "int")
    ('byte', 'int')
    """
    known = values[values < MISSING]
    low, high = known.min(initial=0), known.max(initial=0)
    whole = bool((known == np.trunc(known)).all())
    for kind in NUMBER_TYPES[NUMBER_TYPES.index(least) :]:
        if kind in WHOLE and whole and WHOLE[kind][0] <= low and high <= WHOLE[kind][1]:
            return kind
    wide = whole or least in ("long", "double") or bool((np.abs(known) > FLOAT_MAX).any())
    return "double" if wide else "float"
