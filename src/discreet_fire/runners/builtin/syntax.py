"""The text of a program: steps, parts of a command, errors; and numbers as Stata holds them.

In: the text of a do-file. Out: `Step`s; `CommandCall`, the parts of a command by Stata's syntax.
Nothing of the data is read here. Macros and blocks are not known. Missing values `.`, `.a` … `.z`
are the large numbers that Stata itself uses, so that comparing and sorting need no care: `x > 5`
holds for a missing x.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

from discreet import microdata
from discreet.arrays import FloatArray, TextArray
from discreet.errors import OutputCheckError
from discreet_fire.stata import DoFile, Kind
from discreet_fire.texts import Lines, place_of

_FILES = microdata.stata_files
LETTERS, STEP, MISSING = _FILES.LETTERS, _FILES.STEP, _FILES.MISSING
#: The smallest and largest number of each whole-number type, and of `float`; the longest text.
WHOLE, FLOAT_MAX, STR_MAX = _FILES.WHOLE, _FILES.FLOAT_MAX, _FILES.STR_MAX
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
        file: str = "",
        redacted: bool = False,
    ) -> None:
        self.failure, self.rc, self.line, self.redacted = failure, rc, line, redacted
        self.file = file
        where = "" if line is None else place_of(file, line)
        super().__init__(self.sentence(), code=self.kind, where=where, hint=self.hint_of)

    def sentence(self) -> str:
        """The error in one sentence."""
        return f"{self.failure}; r({self.rc})"

    def at(self, file: str, line: int) -> DoError:
        """A copy with its place, unless it has one."""
        if self.line is not None:
            return self
        return type(self)(self.failure, self.rc, line=line, file=file, redacted=self.redacted)

    @classmethod
    def when(cls, holds: object, failure: str, rc: int = 198) -> None:
        """Raise the error where something holds."""
        if holds:
            raise cls(failure, rc)

    def __reduce__(self) -> tuple[Any, ...]:
        again = partial(type(self), line=self.line, file=self.file, redacted=self.redacted)
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
        """The unknown name in one sentence."""
        return f"the small Stata does not know {' '.join(self.failure.split())[:60]}"


def required(part: _Part | None, failure: str, rc: int = 198) -> _Part:
    """A part that must be there; an error if it is not."""
    if part is None:
        raise DoError(failure, rc)
    return part


# --- missing values and storage types --------------------------------------------------


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
    """Numbers as a storage type keeps them: `float` rounds, others cut off.

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


_MACRO = re.compile(r"`(?!\")|\$")


@dataclass(frozen=True)
class Step:
    """One command: its text without comments on one line, and as it is written."""

    code: str
    line: int
    source: str
    unknown: str  # what of it the small Stata does not know


def steps_of(do: DoFile) -> tuple[Step, ...]:
    """The steps of a do-file; comments and directives are left out."""
    lines, steps = Lines(do.text), list[Step]()
    for one in do.statements:
        if one.kind in (Kind.COMMENT, Kind.DIRECTIVE):
            continue
        texts, at = list[str](), one.start
        for kind, start, end in one.spans:
            if kind in ("comment", "continuation") and start >= at:
                texts.append(do.text[at:start])
                at = end
        texts.append(do.text[at : one.end])
        code = " ".join(" ".join(texts).splitlines()).strip()
        unknown = "macros" if _MACRO.search(code) else ""
        unknown = "blocks" if one.opens or one.kind is Kind.BRACE else unknown
        steps.append(Step(code, lines.place(one.start)[0], one.text, unknown))
    return tuple(steps)


def words_of(text: str) -> list[str]:
    """The words of a text; what stands in double quotes is one word.

    >>> words_of('a "b c" d')
    ['a', 'b c', 'd']
    """
    lexer = shlex.shlex(text.replace('`"', '"').replace("\"'", '"'), posix=True)
    lexer.whitespace_split, lexer.quotes, lexer.escape, lexer.commenters = True, '"', "", ""
    try:
        return list(lexer)
    except ValueError:
        raise DoError("quotes do not match", 132) from None


# --- the parts of a command -------------------------------------------------------------------

_KEYWORD = re.compile(r"(?:(?<=\s)|(?<=\))|(?<=\])|\A)(if|in|using)(?=[\s(!~\x01-])")
_OPTION = re.compile(r"[\s,]*([A-Za-z_][A-Za-z_0-9.]*)\s*(?:\((\x01*)\))?\s*")
_EQUALS = re.compile(r"(?<![=!<>~])=(?!=)")
#: What stands in quotes, or one character.
_PART = re.compile(r"`\".*?\"'|\"[^\"]*\"|.", re.DOTALL)


@dataclass
class CommandCall:
    """A command with its parts: all text behind its word, the `head` before `if`, `using` and
    options, what stands behind each of these and behind `=`, and the groups of `by`.
    """

    name: str
    text: str
    head: str = ""
    expression: str | None = None
    condition: str | None = None
    using: str | None = None
    options: dict[str, str | None] = field(default_factory=dict)
    by: tuple[str, ...] = ()

    def number(self, option: str, default: float) -> float:
        """The number in the brackets of an option."""
        text = self.options.get(option)
        number = default if text is None else number_or_code(text)
        return required(number, f"option {option}() needs a number")


def _outside(text: str) -> str:
    r"""The text with a filler for what stands in quotes and brackets; outer brackets are left.

    >>> _outside('a, f(b, c), "d"').replace("\x01", "#")
    'a, f(####), ###'
    """
    parts, depth = list[str](), 0
    for part in _PART.findall(text):
        DoError.when(part == '"', "quotes do not match", 132)
        depth -= part in ")]}"
        DoError.when(depth < 0, "brackets do not match")
        parts.append(part if not depth and len(part) == 1 else "\x01" * len(part))
        depth += part in "([{"
    DoError.when(depth, "brackets do not match")
    return "".join(parts)


def read_call(name: str, text: str) -> CommandCall:
    """The parts of a command: of what stands behind its word.

    >>> call = read_call("summarize", "x y if z > 5, detail f(3)")
    >>> call.head, call.condition, call.options
    ('x y', 'z > 5', {'detail': None, 'f': '3'})
    >>> call = read_call("generate", "y = x == 2 if z")
    >>> call.head, call.expression, call.condition
    ('y', 'x == 2', 'z')
    """
    call, plain = CommandCall(name, text), _outside(text)
    end = f"{plain},".index(",")
    UnsupportedError.when(re.search(r"(?:\A|\s)\[\s*[afpiw]\w*\s*=", text[:end]), "weights")
    at = end
    while text[at:].strip(" ,\t\n"):
        option = required(_OPTION.match(plain, at), "options cannot be read")
        inside = None if option[2] is None else text[slice(*option.span(2))].strip()
        call.options[option[1]], at = inside, option.end()
    for match in reversed(list(_KEYWORD.finditer(plain, 0, end))):
        keyword, part = match[1], text[match.end(1) : end].strip()
        DoError.when(not part, f"invalid syntax: nothing follows {keyword}")
        UnsupportedError.when(keyword == "in", "ranges of records (in)")
        field_name = {"if": "condition", "using": "using"}[keyword]
        DoError.when(getattr(call, field_name), f"invalid syntax: {keyword} is given twice")
        setattr(call, field_name, part)
        end = match.start(1)
    if sign := _EQUALS.search(plain, 0, end):
        call.expression = text[sign.end() : end].strip()
        end = sign.start()
    call.head = text[:end].strip()
    return call
