"""One command as it is called: variables, expression, `if`, `in`, weights, options.

In: the text of a command after macros are expanded. Out: `CommandCall`, its parts by Stata's
standard syntax. Nothing is looked up in the data here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from discreet_fire.runners.builtin.language.errors import DoError, present, required
from discreet_fire.runners.builtin.language.scope import ByGroups
from discreet_fire.runners.builtin.language.values import number_of_text

_WEIGHT = re.compile(
    r"\[\s*(?P<kind>fweight|fw|aweight|aw|pweight|pw|iweight|iw|weight|w)[a-z]*\s*=\s*(?P<exp>.*)\]\Z",
    re.DOTALL,
)
_KEYWORD = re.compile(r"(?:(?<=\s)|(?<=\))|(?<=\])|\A)(if|in|using)(?=[\s(!~\"`-])")
_OPTION = re.compile(r"\s*,?\s*([A-Za-z_][A-Za-z_0-9.]*)")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Weight:
    """A weight: fweight, aweight, pweight or iweight, and its expression."""

    kind: str
    expression: str


@dataclass
class CommandCall:
    """A command with its parts: all text behind its word, the `head` before `if`, `in`, weight,
    `using` and options, what stands behind each of these and behind `=`, and the groups of a `by`
    prefix.

    Options are as written, each with what stands in its brackets.
    """

    name: str
    text: str
    head: str = ""
    expression: str | None = None
    condition: str | None = None
    rows: str | None = None
    weight: Weight | None = None
    using: str | None = None
    options: dict[str, str | None] = field(default_factory=dict)
    line: int = 0
    by: tuple[str, ...] = ()
    groups: ByGroups | None = None

    def has(self, option: str) -> bool:
        """Whether an option is given, by its full name."""
        return option in self.options

    def argument(self, option: str) -> str | None:
        """What stands in the brackets of an option; None if it is not given."""
        return self.options.get(option)

    def whole(self, option: str, default: int) -> int:
        """The whole number in the brackets of an option."""
        text = self.options.get(option)
        try:
            return default if text is None else int(text.encode("ascii"))
        except ValueError:
            raise DoError(f"option {option}() needs a whole number", code=198) from None

    def number(self, option: str, default: float) -> float:
        """The number in the brackets of an option."""
        text = self.options.get(option)
        number = default if text is None else number_of_text(text)
        if number is None:
            raise DoError(f"option {option}() needs a number", code=198)
        return number


def _outside(text: str) -> Iterator[tuple[int, str]]:
    """The characters outside quotes and brackets; opening brackets are given, too."""
    at, depth, end = 0, 0, len(text)
    while at < end:
        one = text[at]
        if one == '"' or text.startswith('`"', at):
            at = past_quotes(text, at)
            continue
        if one in _PAIRS:
            if not depth:
                yield at, one
            depth += 1
        elif one in ")]}":
            depth -= 1
            DoError.when(depth < 0, "brackets do not match", code=198)
            if not depth:
                yield at, one
        elif not depth:
            yield at, one
        at += 1
    DoError.when(depth, "brackets do not match", code=198)


def past_quotes(text: str, start: int) -> int:
    """Where the text goes on after the quotes that open at `start`."""
    if text[start] == '"':
        end = text.find('"', start + 1)
        DoError.when(end < 0, "quotes do not match", code=132)
        return end + 1
    depth, at = 0, start
    while at < len(text):
        if text.startswith('`"', at):
            depth, at = depth + 1, at + 2
        elif text.startswith("\"'", at):
            depth, at = depth - 1, at + 2
            if not depth:
                return at
        else:
            at += 1
    raise DoError("quotes do not match", code=132)


def split_outside(text: str, sign: str) -> list[str]:
    """The parts between signs that stand outside quotes and brackets.

    >>> split_outside('a, f(b, c), "d, e"', ",")
    ['a', ' f(b, c)', ' "d, e"']
    """
    cuts = [-1, *(at for at, one in _outside(text) if one == sign), len(text)]
    return [text[before + 1 : after] for before, after in pairwise(cuts)]


def _blanked(text: str) -> str:
    """The text with other signs for what stands in quotes or brackets, blanks at its end."""
    pieces = dict(_outside(text))
    last = max(pieces, default=-1)
    return "".join(pieces.get(at, "\x01" if at < last else " ") for at in range(len(text)))


def read_call(name: str, text: str, line: int = 0, *, expression: bool = False) -> CommandCall:
    """The parts of a command: of what stands behind its word; `= exp` if that is its syntax.

    >>> call = read_call("summarize", "x y if z > 5 in 1/10 [aw=w], detail f(3)")
    >>> call.head, call.condition, call.rows, call.weight.expression, call.options
    ('x y', 'z > 5', '1/10', 'w', {'detail': None, 'f': '3'})
    """
    call = CommandCall(name, text, line=line)
    before, *rest = split_outside(text, ",")
    if rest:
        call.options = options_of(text[len(before) + 1 :])
    before = _without_weight(call, before)
    plain = _blanked(before)
    marks = [(match.start(1), match.group(1)) for match in _KEYWORD.finditer(plain)]
    end = len(before)
    for start, keyword in reversed(marks):
        _set(call, keyword, before[start + len(keyword) : end].strip())
        end = start
    head = before[:end].strip()
    if expression:
        at = _equals(head)
        if at is not None:
            call.expression = head[at + 1 :].strip()
            head = head[:at].strip()
    call.head = head
    return call


def _set(call: CommandCall, keyword: str, value: str) -> None:
    DoError.when(not value, f"invalid syntax: nothing follows {keyword}", code=198)
    part = {"if": "condition", "in": "rows", "using": "using"}[keyword]
    twice = getattr(call, part) is not None
    DoError.when(twice, f"invalid syntax: {keyword} is given twice", code=198)
    setattr(call, part, value)


def _equals(head: str) -> int | None:
    """Where a single `=` stands outside quotes and brackets."""
    signs = [at for at, one in _outside(head) if one == "="]
    for at in signs:
        if head[at - 1 : at] not in ("=", "!", "<", ">", "~") and head[at + 1 : at + 2] != "=":
            return at
    return None


def _without_weight(call: CommandCall, text: str) -> str:
    """Take the weight out: `[aw=w]` after a blank."""
    openings = [at for at, one in _outside(text) if one == "["]
    closings = [at for at, one in _outside(text) if one == "]"]
    for start, end in zip(openings, closings, strict=True):
        match = _WEIGHT.match(text[start : end + 1])
        if match:
            kinds = {"f": "fweight", "a": "aweight", "p": "pweight", "i": "iweight", "w": "weight"}
            call.weight = Weight(kinds[match["kind"][0]], match["exp"].strip())
            return f"{text[:start]} {text[end + 1 :]}"
    return text


def options_of(text: str) -> dict[str, str | None]:
    r"""Options by their names as written, each with what stands in its brackets.

    >>> options_of("clear by(a b) title(\"x, y\")")
    {'clear': None, 'by': 'a b', 'title': '"x, y"'}
    """
    options: dict[str, str | None] = {}
    at = 0
    while text[at:].strip(" ,\t\n"):
        match = required(_OPTION.match(text, at), "options cannot be read", code=198)
        name, at = match[1], match.end()
        inside: str | None = None
        after = text[at:].lstrip()
        if after.startswith("("):
            start = len(text) - len(after)
            ends = (start + place for place, one in _outside(text[start:]) if one == ")")
            end = present(next(ends, None), "brackets do not match", code=198)
            inside, at = text[start + 1 : end].strip(), end + 1
        options[name] = inside
    return options
