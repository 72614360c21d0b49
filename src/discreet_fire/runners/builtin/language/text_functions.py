"""Functions of texts. Positions and lengths count bytes of UTF-8, as in Stata; those that
begin with `u` count characters.

In: the values of arguments. Out: texts or numbers, per observation or for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from discreet_fire.runners.builtin.language.errors import DoError
from discreet_fire.runners.builtin.language.function_frames import FunctionOf
from discreet_fire.runners.builtin.language.scope import Scope, Value
from discreet_fire.runners.builtin.language.values import (
    MISSING,
    is_text,
    number_or_code,
    shown,
    shown_default,
    text_column,
)


def _over(
    function: Callable[..., Any], kinds: str, text: bool, optional: int = 0, *, fails: bool = False
) -> FunctionOf:
    """A function of single values for arrays; its kinds of arguments are s for text, n for a
    number.

    So many of the last ones are optional; `text` says if it gives texts, `fails` if it may fail.
    """

    def call(scope: Scope, written: str, values: Sequence[Value]) -> Value:
        if not len(kinds) - optional <= len(values) <= len(kinds):
            raise DoError("invalid syntax: wrong number of arguments", code=198)
        size = 0
        for value, kind in zip(values, kinds, strict=False):
            DoError.when(is_text(value) != (kind == "s"), "type mismatch", code=109)
            size = max(size, len(value) if isinstance(value, np.ndarray) else 0)
        if not any(isinstance(value, np.ndarray) for value in values):
            single: Value = function(*values)
            return single
        if fails:
            scope.names.may_fail()
        columns = [value if isinstance(value, np.ndarray) else [value] * size for value in values]
        try:
            functions = [function(*row) for row in zip(*columns, strict=True)]
        except DoError as error:  # at which record tells what it has
            error.redacted = True
            raise
        if not text:
            return np.array(functions, dtype=np.float64)
        return text_column(functions)

    return call


def _encoded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of characters, for bytes."""
    return lambda *texts: function(*(text.encode() for text in texts))


def _part(data: Any, start: float, length: float) -> Any:
    if start >= MISSING or start == 0:
        return data[:0]
    first = int(start) - 1 if start > 0 else len(data) + int(start)
    if first < 0 or first >= len(data):
        return data[:0]
    return data[first:] if length >= MISSING else data[first : first + max(int(length), 0)]


def _of_bytes(text: str, start: float, length: float) -> str:
    part: bytes = _part(text.encode(), start, length)
    return part.decode("utf-8", "ignore")


def _plain_case(change: Callable[[str], str]) -> FunctionOf:
    """Change ASCII letters only, as the functions do whose names do not begin with `u`."""
    return _over(lambda text: re.sub("[A-Za-z]+", lambda one: change(one[0]), text), "s", True)


def _words(text: str) -> list[str]:
    """Words between blanks; other white space is part of a word."""
    return [word for word in text.split(" ") if word]


def _replaced(text: str, old: str, new: str, times: float = MISSING) -> str:
    if not old:
        return text
    return text.replace(old, new, -1 if times >= MISSING else max(int(times), 0))


def _reversed(text: str) -> str:
    DoError.when(not text.isascii(), "strreverse() is for ASCII texts; use ustrreverse()", code=198)
    return text[::-1]


def _in_words(text: str, old: str, new: str, times: float) -> str:
    """Replace words between blanks."""
    most = 0 if times >= MISSING else max(int(times), 0)
    if times < MISSING and not most:
        return text
    return re.sub(rf"(?<![^ ]){re.escape(old)}(?![^ ])", lambda _: new, text, count=most)


def _string(value: float, layout: str | None = None) -> str:
    return shown(value, layout).strip() if layout is not None else shown_default(value, 9)


def _real(text: str) -> float:
    number = number_or_code(text.strip())
    return MISSING if number is None else number


def _word(text: str, number: float) -> str:
    words = _words(text)
    at = int(number) if number < MISSING else 0
    if at == 0 or abs(at) > len(words):
        return ""
    return words[at - 1] if at > 0 else words[at]


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error:
        raise DoError("a regular expression cannot be read", code=198) from None


def _regexm(scope: Scope, written: str, values: Sequence[Value]) -> Value:
    """Whether a pattern is found; what it matched is kept for `regexs()`."""
    text, wanted = values[0], values[1]
    if not isinstance(wanted, str):
        raise DoError("type mismatch", code=109)
    pattern = _pattern(wanted)
    if isinstance(text, str):
        scope.matched = pattern.search(text)
        return float(scope.matched is not None)
    if not isinstance(text, np.ndarray) or text.dtype != object:
        raise DoError("type mismatch", code=109)
    scope.matched = [pattern.search(one) for one in text]
    return np.array([one is not None for one in scope.matched], dtype=np.float64)


def _regexs(scope: Scope, written: str, values: Sequence[Value]) -> Value:
    DoError.when(not isinstance(values[0], float), "type mismatch", code=109)
    number = int(values[0])
    if not isinstance(scope.matched, list):
        return _group(scope.matched, number)
    return text_column(_group(one, number) for one in scope.matched)


def _group(match: Any, number: int) -> str:
    if match is None or number > (match.re.groups or 0):
        return ""
    return str(match.group(number) or "")


def _matches(text: str, pattern: str) -> float:
    parts = {"*": ".*", "?": "."}
    glob = "".join(parts.get(one, re.escape(one)) for one in pattern)
    return float(re.fullmatch(glob, text, re.DOTALL) is not None)


def _abbreviated(text: str, width: float) -> str:
    size = max(int(width), 5)  # as in Stata, names of 5 signs are not shortened
    return text if len(text) <= size else f"{text[: size - 2]}~{text[-1]}"


#: Lengths and positions; the functions count bytes, those that begin with `u` characters.
_COUNTING: dict[str, tuple[Callable[..., float], str]] = {
    "strlen": (lambda text: float(len(text)), "s"),
    "strpos": (lambda text, part: float(text.find(part) + 1), "ss"),
    "strrpos": (lambda text, part: float(text.rfind(part) + 1) if part else 0.0, "ss"),
}
TEXTS: dict[str, FunctionOf] = {
    **{name: _over(_encoded(of), kinds, False) for name, (of, kinds) in _COUNTING.items()},
    **{f"u{name}": _over(of, kinds, False) for name, (of, kinds) in _COUNTING.items()},
    "length": _over(lambda text: float(len(text.encode())), "s", False),
    "substr": _over(_of_bytes, "snn", True),
    "usubstr": _over(_part, "snn", True),
    **dict.fromkeys(("subinstr", "usubinstr"), _over(_replaced, "sssn", True, 1)),
    **dict.fromkeys(("upper", "strupper"), _plain_case(str.upper)),
    **dict.fromkeys(("lower", "strlower"), _plain_case(str.lower)),
    **dict.fromkeys(("proper", "strproper"), _plain_case(str.capitalize)),
    "ustrupper": _over(lambda text: text.upper(), "s", True),
    "ustrlower": _over(lambda text: text.lower(), "s", True),
    "ustrtrim": _over(lambda text: text.strip(), "s", True),
    "ustrreverse": _over(lambda text: text[::-1], "s", True),
    "subinword": _over(_in_words, "sssn", True),
    "indexnot": _over(
        lambda text, signs: float(
            next((at for at, one in enumerate(text, 1) if one not in signs), 0)
        ),
        "ss",
        False,
    ),
    "plural": _over(lambda number, word: word if abs(number) == 1 else f"{word}s", "ns", True),
    **dict.fromkeys(("trim", "strtrim"), _over(lambda text: text.strip(" "), "s", True)),
    **dict.fromkeys(("ltrim", "strltrim"), _over(lambda text: text.lstrip(" "), "s", True)),
    **dict.fromkeys(("rtrim", "strrtrim"), _over(lambda text: text.rstrip(" "), "s", True)),
    **dict.fromkeys(("itrim", "stritrim"), _over(lambda text: re.sub(" +", " ", text), "s", True)),
    "strreverse": _over(_reversed, "s", True, fails=True),
    **dict.fromkeys(("string", "strofreal"), _over(_string, "ns", True, 1)),
    "real": _over(_real, "s", False),
    "word": _over(_word, "sn", True),
    "wordcount": _over(lambda text: float(len(_words(text))), "s", False),
    "char": _over(lambda code: chr(int(code)) if 0 < code < 128 else "", "n", True),
    "abbrev": _over(_abbreviated, "sn", True),
    "strmatch": _over(_matches, "ss", False),
    **dict.fromkeys(("regexm", "ustrregexm"), _regexm),
    **dict.fromkeys(("regexs", "ustrregexs"), _regexs),
    "regexr": _over(
        lambda text, old, new: _pattern(old).sub(lambda _: new, text, count=1),
        "sss",
        True,
        fails=True,
    ),
}
