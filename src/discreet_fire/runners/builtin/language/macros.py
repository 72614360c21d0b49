r"""Macros: `` `name' `` and `$name` are replaced by their texts, from the inside out.

In: a line of program and the macros. Out: the line expanded. Nesting, `` `=exp' ``,
`` `:function' ``, `` `++i' `` and `\` before a macro are taken as Stata takes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from discreet_fire.runners.builtin.language.errors import DoError, present
from discreet_fire.runners.builtin.language.values import number_of_text

_GLOBAL = re.compile(r"\$(?:\{(?P<braced>[^{}]*)\}|(?P<name>[A-Za-z_0-9]+))")
_SPECIAL = re.compile(r"[`$\\]")
_LONGEST = 4_000_000
_DEEPEST = 64
_STORED = re.compile(r"([resc])\((\w+)\)\Z")
_COUNTED = re.compile(r"(\+\+|--)?(\w+)(\+\+|--)?\Z")


@dataclass(repr=False)
class Macros:
    """Local and global macros, and what gives the text of `` `=exp' ``, of `` `:function …' `` and
    of `` `r(name)' ``, which is empty if nothing is stored there.
    """

    local: dict[str, str] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    evaluate: Callable[[str], str] = lambda text: text
    extended: Callable[[str], str] = lambda text: text
    result: Callable[[str, str], str] = lambda kind, name: ""

    def value(self, inside: str) -> str:
        """What stands for the text between the quotes of a local macro."""
        name = inside.strip()
        if name.startswith("="):
            return self.evaluate(name[1:])
        if name.startswith(":"):
            return self.extended(name[1:].strip())
        DoError.when(name.startswith("."), "class macros are not supported", code=198)
        stored = _STORED.match(name)
        if stored:
            return self.result(stored[1], stored[2])
        counted = _COUNTED.match(name)
        if counted and (counted[1] or counted[3]):
            return self._counted(counted[2], counted[1], counted[3])
        return self.local.get(name, "")

    def _counted(self, name: str, before: str | None, after: str | None) -> str:
        old = self.local.get(name, "")
        number = counted_number(old)
        new = number + (1 if (before or after) == "++" else -1)
        self.local[name] = f"{new:.0f}" if new == int(new) else repr(new)
        return self.local[name] if before else old


def counted_number(text: str) -> float:
    """The number in a macro that is counted; 0 if it is empty.

    >>> counted_number("3"), counted_number("")
    (3.0, 0.0)
    """
    return present(number_of_text(text or "0"), "a macro that is counted is no number", code=198)


def expanded(text: str, macros: Macros, depth: int = 0) -> str:
    r"""A text with its macros replaced.

    >>> expanded("su `v`i'' $all", Macros({"v1": "wage", "i": "1"}, {"all": "if x"}))
    'su wage if x'
    """
    DoError.when(depth > _DEEPEST, "macros are nested too deeply", code=130)
    parts: list[str] = []
    at = size = 0
    while True:
        match = _SPECIAL.search(text, at)
        if not match:
            parts.append(text[at:])
            return "".join(parts)
        parts.append(text[at : match.start()])
        piece, at = _one(text, match.start(), macros, depth)
        parts.append(piece)
        size += len(piece)
        DoError.when(size > _LONGEST, "macros expand to too long a line", code=920)


def _one(text: str, start: int, macros: Macros, depth: int) -> tuple[str, int]:
    """What stands for the sign at `start`, and where to go on."""
    sign = text[start]
    if sign == "\\":
        if text[start + 1 : start + 2] in ("`", "$"):
            return text[start + 1], start + 2
        return sign, start + 1
    if sign == "$":
        return _shared(text, start, macros, depth)
    if text.startswith('`"', start):
        return '`"', start + 2
    end = _closing(text, start)
    if end is None:
        return sign, start + 1
    inside = text[start + 1 : end]
    if not inside.lstrip().startswith(("=", ":")) or "`" in inside or "$" in inside:
        inside = expanded(inside, macros, depth + 1)
    return expanded(macros.value(inside), macros, depth + 1), end + 1


def _shared(text: str, start: int, macros: Macros, depth: int) -> tuple[str, int]:
    match = _GLOBAL.match(text, start)
    end = _closing(text, start + 1, "{", "}") if text.startswith("${", start) else None
    if text.startswith("$`", start):
        end = _closing(text, start + 1)
        name = "" if end is None else expanded(text[start + 1 : end + 1], macros, depth + 1)
    elif end is not None and re.search(r"[`$]", text[start + 2 : end]):
        name = expanded(text[start + 2 : end], macros, depth + 1).strip()
    elif match:
        end, name = match.end() - 1, (match["braced"] or match["name"] or "").strip()
    else:
        end = None
    if end is None:
        return "$", start + 1
    return expanded(macros.shared.get(name, ""), macros, depth + 1), end + 1


def _closing(text: str, start: int, opening: str = "`", closing: str = "'") -> int | None:
    """Where the quote or brace that opens at `start` is closed."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if not depth:
            return at
    return None
