"""SMCL, the markup of Stata's logs, as the text that a reader sees.

In: one line of the source. Out: its text, which source characters stand behind which
stretch of it, and directives with text that is not shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["Hidden", "Piece", "shown"]

_HEAD = re.compile(
    r"""\{(?P<name>\.\.\.|\.-|\*|[A-Za-z_][\w]*)?
        (?P<rest>(?:"[^"\r\n{}]{0,500}"|[^:"{}\r\n]){0,300})
        (?P<close>[:}])""",
    re.VERBOSE,
)
_OPENING = re.compile(r"\{(?=[A-Za-z_.*])")
_BRACE = re.compile(r"\{(?=[A-Za-z_.*])|\}")
_RULE_WIDTH = 79
_WIDEST = 300
_DEEPEST = 40
_BOX = {"|": "|", "-": "-", "-(": "{", ")-": "}", "S|": "$", "'g": "`", "'-": "'"}
_CORNERS = frozenset(("+", "TT", "BT", "LT", "RT", "TLC", "TRC", "BLC", "BRC"))
_ALIGNED = frozenset(("ralign", "lalign", "center", "centre", "rcenter", "rcentre", "right"))
#: Directives whose argument is layout: small numbers.
_LAYOUT = frozenset(("c", "char", "col", "dup", "hline", "p", "p2colset", "p2line", "space"))
_LAYOUT_NUMBER = re.compile(r"\d{4,}")
_DIGIT = re.compile(r"\d")


class Piece(NamedTuple):
    """A stretch of the shown text and its source.

    Args:
        at: Where it starts in the shown text.
        start: Where its source starts.
        end: Where its source ends.
        width: Length of what is shown.
        literal: Whether source and shown text are the same characters.
        fixed: Whether it is layout that does not depend on a figure.
    """

    at: int
    start: int
    end: int
    width: int
    literal: bool
    fixed: bool = False


class Hidden(NamedTuple):
    """A directive with text that is not shown."""

    start: int
    end: int


class _Open(NamedTuple):
    name: str
    argument: str
    at: int
    piece: int


@dataclass(slots=True)
class _Shown:
    """The text of a line while it is put together."""

    parts: list[str] = field(default_factory=list)
    width: int = 0
    pieces: list[Piece] = field(default_factory=list)
    hidden: list[Hidden] = field(default_factory=list)
    joins: bool = False

    @property
    def text(self) -> str:
        """What a reader sees."""
        return "".join(self.parts)

    def put(
        self, text: str, start: int, end: int, *, literal: bool = False, fixed: bool = False
    ) -> None:
        """Add text to the end of the line."""
        if text:
            self.pieces.append(Piece(self.width, start, end, len(text), literal, fixed))
            self.parts.append(text)
            self.width += len(text)


def shown(source: str, start: int, end: int) -> _Shown:
    """The text of one line.

    Args:
        source: The whole source.
        start: Where the line starts.
        end: Where it ends, without line end.

    >>> shown("{ralign 6:mpg} {c |}{res}{space 2}74", 0, 36).text
    '   mpg |  74'
    """
    seen = _Shown()
    opened: list[_Open] = []
    at = start
    while at < end:
        found = (_BRACE if opened else _OPENING).search(source, at, end)
        brace = end if found is None else found.start()
        if brace > at:
            seen.put(source[at:brace], at, brace, literal=True)
        if brace >= end:
            break
        at = _directive(source, brace, end, seen, opened)
    return seen


def _directive(source: str, at: int, end: int, seen: _Shown, opened: list[_Open]) -> int:
    """Take one directive, or a brace that is none; where to go on."""
    if source[at] == "}":
        if opened:
            _close(opened.pop(), seen, at)
        else:
            seen.put("}", at, at + 1, literal=True)
        return at + 1
    head = _HEAD.match(source, at, end)
    if head is None or len(opened) > _DEEPEST:
        seen.put("{", at, at + 1, literal=True)
        return at + 1
    name, argument = head["name"] or "", head["rest"].strip()
    if _hides(name, argument):
        seen.hidden.append(Hidden(at, head.end()))
    if head["close"] == ":":
        opened.append(_Open(name, argument, seen.width, len(seen.pieces)))
    elif name == "...":
        seen.joins = True
    else:
        drawn = _drawn(name, argument, seen.width)
        fixed = name != "space" and not drawn.isalnum()
        seen.put(drawn, at, head.end(), fixed=fixed)
    return head.end()


def _hides(name: str, argument: str) -> bool:
    """Whether a number could be read in the source that no reader of the text sees."""
    if name in _LAYOUT or name in _ALIGNED:
        return bool(_LAYOUT_NUMBER.search(argument))
    if name == "search":  # error numbers: {search r(111), local:r(111);}
        return not argument.startswith("r(")
    return name == "*" or bool(_DIGIT.search(argument))


def _drawn(name: str, argument: str, at: int) -> str:
    """What a directive without text of its own puts on the screen."""
    if name == "space":
        return " " * _number(argument, 1)
    if name == "col":
        return " " * max(_number(argument, 1) - 1 - at, 0)
    if name in ("hline", ".-"):
        return "-" * (_number(argument, 1) if argument else _RULE_WIDTH)
    if name in ("c", "char"):
        return _character(argument)
    return ""


def _character(argument: str) -> str:
    if argument in _CORNERS:
        return "+"
    if argument in _BOX:
        return _BOX[argument]
    try:
        code = int(argument, 0)
    except ValueError:
        return ""
    return chr(code) if 32 <= code < 0xD800 else ""


def _number(argument: str, otherwise: int) -> int:
    digits = argument.strip()
    if not digits.isdecimal() or len(digits) > 6:
        return otherwise
    return min(int(digits), _WIDEST)


def _close(opened: _Open, seen: _Shown, at: int) -> None:
    """Line up the text of a directive that ends here, or repeat it."""
    width = seen.width - opened.at
    if opened.name == "dup":
        again = min(max(_number(opened.argument, 1) - 1, 0), _WIDEST // max(width, 1))
        inner = "".join(seen.parts[opened.piece :])
        seen.put(inner * again, at, at)
        return
    if opened.name not in _ALIGNED:
        return
    room = max(_number(opened.argument, width) - width, 0)
    if opened.name == "lalign":
        left = 0
    elif opened.name in ("ralign", "right"):
        left = room
    else:
        left = room // 2
    _pad_left(opened, seen, left, at)
    seen.put(" " * (room - left), at, at)


def _pad_left(opened: _Open, seen: _Shown, room: int, at: int) -> None:
    if not room:
        return
    inside = seen.pieces[opened.piece :]
    place = inside[0].start if inside else at
    moved = [piece._replace(at=piece.at + room) for piece in inside]
    seen.pieces[opened.piece :] = [Piece(opened.at, place, place, room, literal=False), *moved]
    seen.parts.insert(opened.piece, " " * room)
    seen.width += room
