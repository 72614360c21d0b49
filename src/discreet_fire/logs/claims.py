"""What a reader of one kind of output says about it: the lines it knows, and what must go.

In: lines of output. Out: a `Claim` on some of them with `LogCut`s: stretches of shown text
that are withheld. A figure in a column is replaced together with the blanks before it, so
that nothing tells how many digits it had.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, TypeVar

from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules

Align = Literal["right", "left", "none"]
_Row = TypeVar("_Row")

#: What stands in place of a figure.
HIDDEN = "#"

_NUMBER = r"[-+]?(?:\d[\d,]{0,25}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,3})?"
NUMBER = re.compile(_NUMBER)
#: A figure of a table: a number, a missing value, or one that is withheld already.
_FIGURE = re.compile(rf"(?<!\S)(?:{_NUMBER}%?\*?|\.[a-z]?|#)(?!\S)")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_RULE = re.compile(r"\s*[-+|]{3,}\s*")
#: A piece of a form: an earlier one, or a figure; not the name of a group.
_PIECE = re.compile(r"(?<!\?P)<([a-z_]+)>")


@cache
def output_forms() -> dict[str, Any]:
    """The forms of output by the parts of ``forms.toml``."""
    return tomllib.loads((files(__package__) / "forms.toml").read_text(encoding="utf-8"))


class OutputForms:
    """The forms of output of one part of ``forms.toml``, as attributes; lists are choices."""

    def __init__(self, part: str) -> None:
        texts = {"number": _NUMBER}
        for name, form in output_forms()[part].items():
            text = form if isinstance(form, str) else "|".join(form)
            texts[name] = _PIECE.sub(lambda piece: texts[piece[1]], text)
            vars(self)[name] = re.compile(texts[name])

    def __getattr__(self, name: str) -> re.Pattern[str]:
        raise AttributeError(name)


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


#: Looks at the beginning of some lines; None if it does not know them.
Reader = Callable[[Sequence[LogLine], CleaningRules], Claim | None]


def numeric(text: str) -> float | None:
    """The number that a text shows; None for what is none, or too large for one.

    A comma that parts no thousands is the sign of decimals.

    >>> numeric("1,234"), numeric("."), numeric("2.5%"), numeric("0,125")
    (1234.0, None, 2.5, 0.125)
    """
    text = text.strip("%*")
    if "," in text:
        text = text.replace(",", "" if _THOUSANDS.fullmatch(text) else ".")
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
    return bool(_RULE.fullmatch(text))


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
