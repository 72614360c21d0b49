"""Lines of a log as a reader sees them, each tied to the characters it is made of.

In: the text of a log (CONFIDENTIAL). Out: `LogLine`s: lines that Stata wrapped are whole again,
SMCL, the markup of Stata's logs, is shown as text, every stretch of a line knows its place in
the source, and directives with text that is not shown are named.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

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
_BOX = dict.fromkeys(("+", "TT", "BT", "LT", "RT", "TLC", "TRC", "BLC", "BRC"), "+")
_BOX |= {"|": "|", "-": "-", "-(": "{", ")-": "}", "S|": "$", "'g": "`", "'-": "'"}
_ALIGNED = frozenset(("ralign", "lalign", "center", "centre", "rcenter", "rcentre", "right"))
#: Directives whose argument is layout: small numbers.
_LAYOUT = frozenset(("c", "char", "col", "dup", "hline", "p", "p2colset", "p2line", "space"))
_LAYOUT_NUMBER = re.compile(r"\d{4,}")
_DIGIT = re.compile(r"\d")


class ShownPiece(NamedTuple):
    """A stretch of the shown text and its source."""

    at: int  # where it starts in the shown text
    start: int  # where its source starts
    end: int  # where its source ends
    width: int  # length of what is shown
    literal: bool  # whether source and shown text are the same characters
    fixed: bool = False  # whether it is layout that does not depend on a figure


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
    pieces: list[ShownPiece] = field(default_factory=list)
    hidden: bool = False
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
            self.pieces.append(ShownPiece(self.width, start, end, len(text), literal, fixed))
            self.parts.append(text)
            self.width += len(text)


def shown(source: str, start: int, end: int) -> _Shown:
    """The text of one line of the source, without its line end.

    >>> shown("{ralign 6:mpg} {c |}{res}{space 2}74", 0, 36).text
    '   mpg |  74'
    """
    seen = _Shown()
    opened: list[_Open] = []
    at = start
    while at < end:
        match = (_BRACE if opened else _OPENING).search(source, at, end)
        brace = end if match is None else match.start()
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
    seen.hidden = seen.hidden or _hides(name, argument)
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
    try:
        code = int(argument, 0)
    except ValueError:
        return _BOX.get(argument, "")
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
    left = {"lalign": 0, "ralign": room, "right": room}.get(opened.name, room // 2)
    if left:
        inside = seen.pieces[opened.piece :]
        place = inside[0].start if inside else at
        pad = ShownPiece(opened.at, place, place, left, literal=False)
        moved = [piece._replace(at=piece.at + left) for piece in inside]
        seen.pieces[opened.piece :] = [pad, *moved]
        seen.parts.insert(opened.piece, " " * left)
        seen.width += left
    seen.put(" " * (room - left), at, at)


_PHYSICAL = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_ENDS = "\r\n"
_WRAPPED = "> "


@dataclass(slots=True, repr=False)
class LogLine:
    """One line of a log, without wraps. CONFIDENTIAL."""

    text: str  # what a reader sees
    start: int  # where it starts in the source
    end: int  # where it ends, without its line end
    pieces: list[ShownPiece]  # which source characters stand behind which stretch of the text
    #: Places of the text where the program had a line end of its own
    echo_breaks: tuple[int, ...] = ()
    hidden: bool = False  # whether SMCL directives carry text nobody sees
    #: Whether it was put together from several lines of the source.
    wraps: bool = False

    def covering(self, start: int, end: int) -> Iterator[ShownPiece]:
        """The pieces that show a stretch of the text."""
        first = max(bisect_right(self.pieces, start, key=lambda piece: piece.at) - 1, 0)
        for piece in self.pieces[first:]:
            if piece.at >= end:
                break
            if piece.at + piece.width > start:
                yield piece


class _Physical(NamedTuple):
    """A line of the source, and how many of its first characters only say that it goes on."""

    line: LogLine
    skip: int


def log_lines(text: str, *, smcl: bool) -> list[LogLine]:
    r"""The lines of a log.

    >>> [line.text for line in log_lines("{com}. count{txt}\n{space 2}{res}74\n", smcl=True)]
    ['. count', '  74']
    """
    groups: list[list[_Physical]] = []
    joined = False
    for match in _PHYSICAL.finditer(text):
        if match.start() == match.end():
            break
        start = match.start()
        end = start + len(match[0].rstrip(_ENDS))
        if smcl:
            seen = shown(text, start, end)
            line, joins = LogLine(seen.text, start, end, seen.pieces, (), seen.hidden), seen.joins
        else:  # without markup: one piece
            pieces = [ShownPiece(0, start, end, end - start, True)] if end > start else []
            line, joins = LogLine(text[start:end], start, end, pieces), False
        if joined:
            groups[-1].append(_Physical(line, 0))
        elif groups and line.text.startswith(_WRAPPED) and groups[-1][-1].line.text:
            groups[-1].append(_Physical(line, len(_WRAPPED)))
        else:
            groups.append([_Physical(line, 0)])
        joined = joins
    # Stata wrapped lines at the length of the longest of those that go on
    lengths = (len(part.line.text) for group in groups for part in group[:-1])
    width = max(lengths, default=0)
    return [_whole(group, width) for group in groups]


def _whole(group: list[_Physical], width: int) -> LogLine:
    """Put continuations behind their beginning, without the signs that they are such."""
    if len(group) == 1:
        return group[0].line
    whole = LogLine("", group[0].line.start, group[-1].line.end, [], wraps=True)
    parts: list[str] = []
    length = 0
    before = ""
    for line, skip in group:
        if skip and (before.endswith("///") or len(before) < width):
            whole.echo_breaks += (length,)
        whole.pieces.extend(_moved(line.pieces, skip, length))
        whole.hidden = whole.hidden or line.hidden
        parts.append(line.text[skip:])
        length += len(line.text) - skip
        before = line.text
    whole.text = "".join(parts)
    return whole


def _moved(pieces: list[ShownPiece], skip: int, length: int) -> Iterator[ShownPiece]:
    for piece in pieces:
        cut = max(skip - piece.at, 0)
        if cut < piece.width:
            start = piece.start + (cut if piece.literal else 0)
            at = piece.at + cut - skip + length
            yield ShownPiece(at, start, piece.end, piece.width - cut, piece.literal, piece.fixed)
