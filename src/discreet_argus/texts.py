"""Lines and words of τ-ARGUS texts.

In: a file. Out: its lines without comments, cut into words: quoted texts, the signs
| ( ) and comma, and whatever stands between blanks. The last line needs no line end.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.classifications import read_text
from discreet.errors import ClassificationError, Problem, SuppressionError, raise_all

_TOKEN = re.compile(r'"([^"]*)"|([|(),])|([^\s"|(),]+)')
_QUOTED = re.compile(r'"[^"]*"')
_COMMENT = re.compile(r"//|\\\\")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ArgusText:
    """The lines of a file that are not blank, with their numbers."""

    path: Path
    lines: tuple[tuple[int, str], ...]

    def place(self, line: int) -> str:
        """The file and a line, for messages."""
        return f"{self.path.name}, line {line}"


def open_text(path: str | os.PathLike[str], encoding: str = "utf-8") -> ArgusText:
    """Read the lines of a file, perhaps gzipped."""
    try:
        text = read_text(path, encoding)
    except ClassificationError as error:
        problem = error.problems[0]
        raise SuppressionError(
            problem.what, code="argus-file", where=problem.where, hint=problem.hint
        ) from None
    return ArgusText(text.path, tuple(text.lines()))


class LineProblems:
    """Problems of the lines of a text, collected and raised together."""

    def __init__(self, text: ArgusText) -> None:
        self.text = text
        self.line = 0
        self.problems: list[Problem] = []

    def wrong(self, what: str, hint: str = "") -> None:
        """Keep a problem with the line that is being read."""
        self.problems.append(Problem(what, self.text.place(self.line), hint))


class LineReader(LineProblems, ABC):
    """Takes a text line by line, as words."""

    def read(self) -> None:
        """Take all lines that hold words outside comments."""
        for at, line in self.text.lines:
            self.line = at
            if words := tokens(without_comment(line)):
                self.take(words)

    @abstractmethod
    def take(self, words: list[str]) -> None:
        """Take the words of one line."""


def refuse_lines(text: ArgusText, problems: Sequence[Problem]) -> None:
    """Raise one error with everything that is wrong with a file, if anything is."""
    many, where = "{:,} lines are wrong", str(text.path)
    raise_all(SuppressionError, problems, code="argus-file", many=many, where=where, most=_SHOWN)


def without_comment(line: str) -> str:
    r"""A line up to a comment mark, // or \\, outside quotes.

    >>> without_comment('<OPENTABLEDATA> "a//b.tab" // the cells').rstrip()
    '<OPENTABLEDATA> "a//b.tab"'
    """
    shielded = _QUOTED.sub(lambda quoted: "·" * len(quoted.group(0)), line)
    mark = _COMMENT.search(shielded)
    return line[: mark.start()] if mark else line


def tokens(line: str) -> list[str]:
    """The words and signs of a line; quotes are taken off.

    >>> tokens('<SUPPRESS> MOD(1, 5) "a b"')
    ['<SUPPRESS>', 'MOD', '(', '1', ',', '5', ')', 'a b']
    """
    groups = (match.groups() for match in _TOKEN.finditer(line))
    return [quoted if quoted is not None else sign or word for quoted, sign, word in groups]


def split_fields(line: str, separator: str) -> list[str]:
    """The fields of a line; a quoted field keeps its blanks, and separators within.

    >>> split_fields('"Total";" 1"; u', ";")
    ['Total', ' 1', 'u']
    """
    shielded = _QUOTED.sub(lambda quoted: "·" * len(quoted.group(0)), line)
    found, last = [], 0
    at = shielded.find(separator)
    while at >= 0:
        found.append(_bare(line[last:at]))
        last = at + len(separator)
        at = shielded.find(separator, last)
    found.append(_bare(line[last:]))
    return found


def _bare(field: str) -> str:
    text = field.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def split_rows(
    text: ArgusText, lines: Sequence[tuple[int, str]], separator: str, names: Sequence[str]
) -> dict[str, list[str]]:
    """The fields of lines by name; lines with more or fewer fields are refused."""
    rows = [split_fields(line, separator) for _, line in lines]
    problems = [
        Problem(f"{len(row)} fields, but {len(names)} are described", text.place(at))
        for (at, _), row in zip(lines, rows, strict=True)
        if len(row) != len(names)
    ]
    refuse_lines(text, problems)
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def parsed_number(text: str) -> float | None:
    """A number with a decimal point or comma; None if it is none.

    >>> parsed_number("12,5"), parsed_number("x")
    (12.5, None)
    """
    bare = text.strip()
    return float(bare.replace(",", ".")) if _NUMBER.fullmatch(bare) else None
