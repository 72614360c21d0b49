"""Lines of a log as a reader sees them, each tied to the characters it is made of.

In: the text of a log (CONFIDENTIAL). Out: `LogLine`s: lines that Stata wrapped are whole again,
SMCL, the markup of Stata's logs, is shown as text, every stretch of a line knows its place in
the source, and directives with text that is not shown are named.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
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
_PHYSICAL = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_WRAPPED = "> "


class ShownPiece(NamedTuple):
    """A stretch of the shown text and its source."""

    at: int  # where it starts in the shown text
    start: int  # where its source starts
    end: int  # where its source ends
    width: int  # length of what is shown
    literal: bool  # whether source and shown text are the same characters
    fixed: bool = False  # whether it is layout that does not depend on a figure


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


class _Open(NamedTuple):
    name: str
    argument: str
    at: int
    piece: int


class _Markup:
    """A line of SMCL, shown directive by directive."""

    def __init__(self, source: str, start: int, end: int) -> None:
        self.source, self.end = source, end
        self.parts: list[str] = []
        self.width = 0
        self.pieces: list[ShownPiece] = []
        self.opened: list[_Open] = []
        self.hidden = self.joins = False
        at = start
        while at < end:
            match = (_BRACE if self.opened else _OPENING).search(source, at, end)
            brace = end if match is None else match.start()
            self.put(source[at:brace], at, brace, literal=True)
            at = self.directive(brace) if brace < end else end

    def put(
        self, text: str, start: int, end: int, *, literal: bool = False, fixed: bool = False
    ) -> None:
        if text:
            self.pieces.append(ShownPiece(self.width, start, end, len(text), literal, fixed))
            self.parts.append(text)
            self.width += len(text)

    def directive(self, at: int) -> int:
        """Take one directive, or a brace that is none; where to go on."""
        brace = self.source[at]
        if brace == "}" and self.opened:
            self.close(self.opened.pop(), at)
            return at + 1
        head = None if brace == "}" else _HEAD.match(self.source, at, self.end)
        if head is None or len(self.opened) > _DEEPEST:
            self.put(brace, at, at + 1, literal=True)
            return at + 1
        name, argument = head["name"] or "", head["rest"].strip()
        # Whether a number could be read in the source that no reader of the text sees.
        if name in _LAYOUT or name in _ALIGNED:
            self.hidden |= bool(_LAYOUT_NUMBER.search(argument))
        elif name == "search":  # error numbers: {search r(111), local:r(111);}
            self.hidden |= not argument.startswith("r(")
        else:
            self.hidden |= name == "*" or bool(_DIGIT.search(argument))
        if head["close"] == ":":
            self.opened.append(_Open(name, argument, self.width, len(self.pieces)))
        elif name == "...":
            self.joins = True
        else:
            drawn = _drawn(name, argument, self.width)
            fixed = name != "space" and not drawn.isalnum()
            self.put(drawn, at, head.end(), fixed=fixed)
        return head.end()

    def close(self, opened: _Open, at: int) -> None:
        """Line up the text of a directive that ends here, or repeat it."""
        width = self.width - opened.at
        if opened.name == "dup":
            again = min(max(_number(opened.argument, 1) - 1, 0), _WIDEST // max(width, 1))
            self.put("".join(self.parts[opened.piece :]) * again, at, at)
        if opened.name not in _ALIGNED:
            return
        room = max(_number(opened.argument, width) - width, 0)
        left = {"lalign": 0, "ralign": room, "right": room}.get(opened.name, room // 2)
        if left:
            inside = self.pieces[opened.piece :]
            place = inside[0].start if inside else at
            pad = ShownPiece(opened.at, place, place, left, literal=False)
            moved = [piece._replace(at=piece.at + left) for piece in inside]
            self.pieces[opened.piece :] = [pad, *moved]
            self.parts.insert(opened.piece, " " * left)
            self.width += left
        self.put(" " * (room - left), at, at)


def _drawn(name: str, argument: str, at: int) -> str:
    """What a directive without text of its own puts on the screen."""
    if name == "space":
        return " " * _number(argument, 1)
    if name == "col":
        return " " * max(_number(argument, 1) - 1 - at, 0)
    if name in ("hline", ".-"):
        return "-" * (_number(argument, 1) if argument else _RULE_WIDTH)
    if name not in ("c", "char"):
        return ""
    try:
        code = int(argument, 0)
    except ValueError:
        return _BOX.get(argument, "")
    return chr(code) if 32 <= code < 0xD800 else ""


def _number(argument: str, otherwise: int) -> int:
    digits = argument.strip()
    plain = digits.isdecimal() and len(digits) <= 6
    return min(int(digits), _WIDEST) if plain else otherwise


def log_lines(text: str, *, smcl: bool) -> list[LogLine]:
    r"""The lines of a log.

    >>> [line.text for line in log_lines("{com}. count{txt}\n{space 2}{res}74\n", smcl=True)]
    ['. count', '  74']
    >>> log_lines("{ralign 6:mpg} {c |}{res}{space 2}74", smcl=True)[0].text
    '   mpg |  74'
    """
    # Lines that belong together; of each how many characters only say that it goes on.
    groups: list[list[tuple[LogLine, int]]] = []
    joined = False
    for match in _PHYSICAL.finditer(text):
        if match.start() == match.end():
            break
        start, end = match.start(), match.start() + len(match[0].rstrip("\r\n"))
        joins = False
        if smcl:
            markup = _Markup(text, start, end)
            shown, joins = "".join(markup.parts), markup.joins
            line = LogLine(shown, start, end, markup.pieces, hidden=markup.hidden)
        else:  # without markup: one piece
            pieces = [ShownPiece(0, start, end, end - start, True)] if end > start else []
            line = LogLine(text[start:end], start, end, pieces)
        if joined:
            groups[-1].append((line, 0))
        elif groups and line.text.startswith(_WRAPPED) and groups[-1][-1][0].text:
            groups[-1].append((line, len(_WRAPPED)))
        else:
            groups.append([(line, 0)])
        joined = joins
    # Stata wrapped lines at the length of the longest of those that go on
    lengths = (len(line.text) for group in groups for line, _ in group[:-1])
    width = max(lengths, default=0)
    return [group[0][0] if len(group) == 1 else _whole(group, width) for group in groups]


def _whole(group: list[tuple[LogLine, int]], width: int) -> LogLine:
    """Put continuations behind their beginning, without the signs that they are such."""
    whole = LogLine("", group[0][0].start, group[-1][0].end, [], wraps=True)
    parts: list[str] = []
    length, before = 0, ""
    for line, skip in group:
        if skip and (before.endswith("///") or len(before) < width):
            whole.echo_breaks += (length,)
        for piece in line.pieces:
            cut = max(skip - piece.at, 0)
            if cut < piece.width:
                start = piece.start + (cut if piece.literal else 0)
                at = piece.at + cut - skip + length
                kept = piece._replace(at=at, start=start, width=piece.width - cut)
                whole.pieces.append(kept)
        whole.hidden = whole.hidden or line.hidden
        parts.append(line.text[skip:])
        length += len(line.text) - skip
        before = line.text
    whole.text = "".join(parts)
    return whole
