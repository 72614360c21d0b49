"""Lines of a log as a reader sees them, each tied to the characters it is made of.

In: the text of a log. Out: `LogLine`s: lines that Stata wrapped are whole again, SMCL is
shown as text, and every stretch of a line knows its place in the source.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from discreet.output_checking.sanitising.smcl import Hidden, Piece, shown

__all__ = ["LogLine", "log_lines"]

_PHYSICAL = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_ENDS = "\r\n"
_WRAPPED = "> "


@dataclass(slots=True, repr=False)
class LogLine:
    """One line of a log, without wraps. CONFIDENTIAL.

    Args:
        text: What a reader sees.
        start: Where it starts in the source.
        end: Where it ends, without its line end.
        pieces: Which source characters stand behind which stretch of the text.
        echo_breaks: Places of the text where the program had a line end of its own.
        hidden: SMCL directives that carry text nobody sees.
    """

    text: str
    start: int
    end: int
    pieces: list[Piece]
    echo_breaks: tuple[int, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    #: Whether it was put together from several lines of the source.
    wraps: bool = False

    def covering(self, start: int, end: int) -> Iterator[Piece]:
        """The pieces that show a stretch of the text."""
        first = max(bisect_right(self.pieces, start, key=lambda piece: piece.at) - 1, 0)
        for piece in self.pieces[first:]:
            if piece.at >= end:
                break
            if piece.at + piece.width > start:
                yield piece

    def source_of(self, at: int) -> int:
        """The place in the source of one character of the text."""
        for piece in self.covering(at, at + 1):
            return piece.start + (at - piece.at if piece.literal else 0)
        return self.end


class _Physical(NamedTuple):
    """A line of the source, and how many of its first characters only say that it goes on."""

    line: LogLine
    skip: int


def log_lines(text: str, *, smcl: bool) -> list[LogLine]:
    r"""The lines of a log.

    Args:
        text: The source.
        smcl: Whether it is written in SMCL.

    >>> [line.text for line in log_lines("{com}. count{txt}\n{space 2}{res}74\n", smcl=True)]
    ['. count', '  74']
    """
    groups: list[list[_Physical]] = []
    joined = False
    for found in _PHYSICAL.finditer(text):
        if found.start() == found.end():
            break
        start = found.start()
        end = start + len(found[0].rstrip(_ENDS))
        line, joins = _line(text, start, end, smcl=smcl)
        if joined:
            groups[-1].append(_Physical(line, 0))
        elif groups and line.text.startswith(_WRAPPED) and groups[-1][-1].line.text:
            groups[-1].append(_Physical(line, len(_WRAPPED)))
        else:
            groups.append([_Physical(line, 0)])
        joined = joins
    width = _line_size(groups)
    return [_whole(group, width) for group in groups]


def _line(text: str, start: int, end: int, *, smcl: bool) -> tuple[LogLine, bool]:
    if not smcl:
        return _plain(text, start, end), False
    seen = shown(text, start, end)
    return LogLine(seen.text, start, end, seen.pieces, (), tuple(seen.hidden)), seen.joins


def _plain(text: str, start: int, end: int) -> LogLine:
    """A line without markup: one piece."""
    pieces = [Piece(0, start, end, end - start, True)] if end > start else []
    return LogLine(text[start:end], start, end, pieces)


def _line_size(groups: list[list[_Physical]]) -> int:
    """The length at which Stata wrapped lines: the longest of those that go on."""
    lengths = [len(part.line.text) for group in groups for part in group[:-1]]
    return max(lengths, default=0)


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
        whole.hidden += line.hidden
        parts.append(line.text[skip:])
        length += len(line.text) - skip
        before = line.text
    whole.text = "".join(parts)
    return whole


def _moved(pieces: list[Piece], skip: int, length: int) -> Iterator[Piece]:
    for piece in pieces:
        cut = max(skip - piece.at, 0)
        if cut < piece.width:
            start = piece.start + (cut if piece.literal else 0)
            at = piece.at + cut - skip + length
            yield Piece(at, start, piece.end, piece.width - cut, piece.literal, piece.fixed)
