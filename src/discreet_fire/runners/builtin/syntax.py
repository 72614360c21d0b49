"""The text of a program: its steps, and the parts of a command.

In: the text of a do-file. Out: `Step`s; `CommandCall`, the parts of a command by Stata's syntax.
Nothing of the data is read here. Macros and blocks are not known.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from discreet_fire.runners.builtin.values import (
    DoError,
    UnsupportedError,
    number_or_code,
    required,
)
from discreet_fire.stata import DoFile, Kind
from discreet_fire.texts import Lines

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

_KEYWORD = re.compile(r"(?:(?<=\s)|(?<=\))|(?<=\])|\A)(if|in|using)(?=[\s(!~\"`-])")
_OPTION = re.compile(r"\s*,?\s*([A-Za-z_][A-Za-z_0-9.]*)\s*")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


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


def _outside(text: str) -> Iterator[tuple[int, str]]:
    """The characters outside quotes and brackets; outer brackets are given, too."""
    at = depth = 0
    while at < len(text):
        one = text[at]
        if one == '"' or text.startswith('`"', at):
            at = _past_quotes(text, at)
            continue
        closes = one in ")]}"
        depth -= closes
        DoError.when(depth < 0, "brackets do not match")
        if not depth:
            yield at, one
        depth += one in _PAIRS
        at += 1
    DoError.when(depth, "brackets do not match")


def _past_quotes(text: str, start: int) -> int:
    """Where the text goes on after the quotes that open at `start`."""
    closing = '"' if text[start] == '"' else "\"'"
    end = text.find(closing, start + len(closing))
    DoError.when(end < 0, "quotes do not match", 132)
    return end + len(closing)


def split_outside(text: str, sign: str) -> list[str]:
    """The parts between signs that stand outside quotes and brackets.

    >>> split_outside('a, f(b, c), "d, e"', ",")
    ['a', ' f(b, c)', ' "d, e"']
    """
    cuts = [-1, *(at for at, one in _outside(text) if one == sign), len(text)]
    return [text[before + 1 : after] for before, after in pairwise(cuts)]


def read_call(name: str, text: str) -> CommandCall:
    """The parts of a command: of what stands behind its word.

    >>> call = read_call("summarize", "x y if z > 5, detail f(3)")
    >>> call.head, call.condition, call.options
    ('x y', 'z > 5', {'detail': None, 'f': '3'})
    >>> call = read_call("generate", "y = x == 2 if z")
    >>> call.head, call.expression, call.condition
    ('y', 'x == 2', 'z')
    """
    call = CommandCall(name, text)
    before, *rest = split_outside(text, ",")
    if rest:
        call.options = _options_of(text[len(before) + 1 :])
    weighted = re.search(r"(?:\A|\s)\[\s*[afpiw]\w*\s*=", before)
    UnsupportedError.when(weighted, "weights")
    outer = dict(_outside(before))
    last = max(outer, default=-1)
    plain = "".join(outer.get(at, "\x01" if at < last else " ") for at in range(len(before)))
    end = len(before)
    for match in reversed(list(_KEYWORD.finditer(plain))):
        keyword, part = match[1], before[match.end(1) : end].strip()
        DoError.when(not part, f"invalid syntax: nothing follows {keyword}")
        UnsupportedError.when(keyword == "in", "ranges of records (in)")
        field_name = {"if": "condition", "using": "using"}[keyword]
        DoError.when(getattr(call, field_name), f"invalid syntax: {keyword} is given twice")
        setattr(call, field_name, part)
        end = match.start(1)
    call.head = before[:end].strip()
    for at in (at for at, one in _outside(call.head) if one == "="):
        if (
            call.head[at - 1 : at] not in ("=", "!", "<", ">", "~")
            and call.head[at + 1 : at + 2] != "="
        ):
            call.expression, call.head = call.head[at + 1 :].strip(), call.head[:at].strip()
            break
    return call


def _options_of(text: str) -> dict[str, str | None]:
    """Options by their names as written, each with what stands in its brackets."""
    options: dict[str, str | None] = {}
    at = 0
    while text[at:].strip(" ,\t\n"):
        match = required(_OPTION.match(text, at), "options cannot be read")
        at, inside = match.end(), None
        if text[at : at + 1] == "(":
            end = next((at + place for place, one in _outside(text[at:]) if one == ")"), at)
            inside, at = text[at + 1 : end].strip(), end + 1
        options[match[1]] = inside
    return options
