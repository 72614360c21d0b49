"""Lines of a log as a reader sees them, and what readers of output say about them.

In: the text of a log (CONFIDENTIAL). Out: `LogLine`s: lines that Stata wrapped are whole again,
SMCL, the markup of Stata's logs, is shown as text, every stretch of a line knows its place in
the source, and directives with text that is not shown are named. A `Claim` on some of them, with
`LogCut`s: stretches of shown text that are withheld. A figure in a column is replaced together with
the blanks before it, so that nothing tells how many digits it had.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

from discreet.files import texts_of
from discreet_fire.catalogue import Forms, form_texts
from discreet_fire.statistics import LANGUAGES

_HEAD = re.compile(
    r"""\{(?P<name>\.\.\.|\.-|\*|[A-Za-z_][\w]*)?
        (?P<rest>(?:"[^"\r\n{}]{0,500}"|[^:"{}\r\n]){0,300})
        (?P<close>[:}])""",
    re.VERBOSE,
)
_RULE_WIDTH = 79
_WIDEST = 300
_DEEPEST = 40
_BOX = dict.fromkeys(("+", "TT", "BT", "LT", "RT", "TLC", "TRC", "BLC", "BRC"), "+")
_BOX |= {"|": "|", "-": "-", "-(": "{", ")-": "}", "S|": "$", "'g": "`", "'-": "'"}
_ALIGNED = frozenset(("ralign", "lalign", "center", "centre", "rcenter", "rcentre", "right"))
#: Directives whose argument is layout: small numbers.
_LAYOUT = frozenset(("c", "char", "col", "dup", "hline", "p", "p2colset", "p2line", "space"))
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
            match = (_FORM.brace if self.opened else _FORM.opening).search(source, at, end)
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
            self.hidden |= bool(_FORM.layout_number.search(argument))
        elif name == "search":  # error numbers: {search r(111), local:r(111);}
            self.hidden |= not argument.startswith("r(")
        else:
            self.hidden |= name == "*" or bool(_FORM.digit.search(argument))
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
    for match in _FORM.physical.finditer(text):
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


# Claims -------------------------------------------------------------------------------------------

Align = Literal["right", "left", "none"]
_Row = TypeVar("_Row")

#: What stands in place of a figure.
HIDDEN = "#"

_NUMBER = form_texts("discreet_fire.logs")["number"]
NUMBER = re.compile(_NUMBER)
#: A figure of a table: a number, a missing value, or one that is withheld already.
_FIGURE = re.compile(rf"(?<!\S)(?:{_NUMBER}%?\*?|\.[a-z]?|#)(?!\S)")


class LogCut(NamedTuple):
    """A stretch of the shown text of one line that is replaced."""

    line: int  # which of the lines of the passage, counted from 0
    start: int  # where it starts in the shown text
    end: int  # where it ends
    rule: str  # why it is replaced
    put: str = HIDDEN  # what is put there
    #: On which side a column holds it: blanks on the other side are replaced too
    align: Align = "right"


class LogFigure(NamedTuple):
    """A figure of a table, and where it stands in the shown text of its line."""

    text: str
    line: int
    start: int
    end: int

    def __repr__(self) -> str:
        return "<Figure: confidential>"

    @property
    def value(self) -> float | None:
        """The number; None if it is missing or withheld."""
        return numeric(self.text)

    @property
    def hidden(self) -> bool:
        """Whether it is withheld already."""
        return self.text == HIDDEN


@dataclass(slots=True)
class FigureRow:
    """A row of a table: what stands before its figures, these, and where they start and end."""

    stub: str
    figures: list[LogFigure]
    start: int = 0
    end: int = 0

    @property
    def count(self) -> LogFigure:
        """The count, which is the first figure."""
        return self.figures[0]


@dataclass(slots=True)
class Claim:
    """Lines that are known, with what must go."""

    count: int  # how many lines, from the first
    kind: str  # name of the kind of output
    cuts: list[LogCut] = field(default_factory=list)  # what is withheld
    review: str = ""  # what a person must look at; nothing if empty
    #: What goes as well if a result that follows in the same block is withheld
    held: list[LogCut] = field(default_factory=list)
    gone: bool = False  # whether this result is withheld as a whole
    #: The numbers of cases of its variables or groups, or of all
    cases: Sequence[float | None] = ()


def numeric(text: str) -> float | None:
    """The number that a text shows; None for what is none, or too large for one.

    A comma that parts no thousands is the sign of decimals.

    >>> numeric("1,234"), numeric("."), numeric("2.5%"), numeric("0,125")
    (1234.0, None, 2.5, 0.125)
    """
    text = text.strip("%*")
    if "," in text:
        text = text.replace(",", "" if _FORM.thousands.fullmatch(text) else ".")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def figures(text: str, line: int, start: int = 0, move: int = 0) -> list[LogFigure] | None:
    """All figures of a line from a place on; None if there is anything else. If the text is only a
    part of the line, `move` is where it starts.

    >>> [figure.text for figure in figures("  74   6165.2  .", 0)]
    ['74', '6165.2', '.']
    >>> figures("74 cases", 0) is None
    True
    """
    shown = [
        LogFigure(one[0], line, one.start() + move, one.end() + move)
        for one in _FIGURE.finditer(text, start)
    ]
    length = sum(figure.end - figure.start for figure in shown)
    return shown if length == len("".join(text[start:].split())) else None


def bar_row(text: str, at: int) -> FigureRow | None:
    """A row with nothing but figures behind its first bar."""
    stub, bar, _ = text.partition("|")
    shown = figures(text, at, len(stub) + 1) if bar else None
    return FigureRow(stub.strip(), shown) if shown else None


def withheld(shown: Iterable[LogFigure], rule: str, align: Align = "right") -> list[LogCut]:
    """The order to withhold some figures, but those that are withheld already."""
    return [
        LogCut(figure.line, figure.start, figure.end, rule, align=align)
        for figure in shown
        if not figure.hidden
    ]


def is_rule(text: str) -> bool:
    """Whether a line is drawn: dashes, with crossings."""
    return bool(_FORM.rule.fullmatch(text))


def read_rows(
    lines: Sequence[LogLine], start: int, read: Callable[[str, int], _Row | None]
) -> tuple[list[_Row], int]:
    """The rows of a table from a line on, and where they end; lines that are drawn are no rows."""
    rows: list[_Row] = []
    end = start
    for at, line in enumerate(lines[start:], start):
        if not is_rule(line.text):
            row = read(line.text, at)
            if row is None:
                break
            rows.append(row)
        end = at + 1
    return rows, end


def behind_blanks(lines: Sequence[LogLine], start: int) -> int:
    """The first line from one on that holds something."""
    filled = (at for at in range(start, len(lines)) if lines[at].text.strip())
    return next(filled, max(start, len(lines)))


_FORM = Forms(__package__, "passages")
#: No reader looks at longer lines, for which patterns could take long.
LONGEST = 2_000
#: What stands in place of output that is withheld as a whole, by language.
WITHHELD = {
    language: texts_of("discreet_fire.logs", "lines", language)["withheld"]
    for language in LANGUAGES
}


def has_digits(text: str) -> bool:
    """Whether a text holds a digit, of any script."""
    return any(map(str.isdigit, text))


def observation_numbers(text: str, line: int) -> Iterator[LogCut]:
    """Numbers of observations in a command: ``in 17``, ``in 5/9``.

    >>> [cut.rule for cut in observation_numbers("replace x = 5 in 17", 0)]
    ['observation-number']
    >>> list(observation_numbers('foreach n in 1 2 { // "in 2010"', 0))
    []
    """
    if " in " not in text or _FORM.loops.search(text):
        return
    strings = [item.span() for item in _FORM.quoted.finditer(text)]
    for match in _FORM.qualifier.finditer(text):
        if not any(start < match.start() < end for start, end in strings):
            yield LogCut(line, *match.span("range"), "observation-number", align="none")
