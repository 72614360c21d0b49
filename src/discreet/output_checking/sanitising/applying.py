"""Cuts carried out on the source: the changed text, and a list of the changes.

In: lines with cuts in what is shown. Out: the new source; all characters outside the
listed changes are the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from discreet.output_checking.sanitising.claims import HIDDEN, Cut
from discreet.output_checking.sanitising.lines import LogLine
from discreet.output_checking.sanitising.smcl import Piece

__all__ = ["Change", "Moves", "applied", "changes_of"]


class Change(NamedTuple):
    """One stretch of the source that is replaced.

    Args:
        start: Where it starts, in characters.
        end: Where it ends.
        put: What is put there.
        rule: Why.
    """

    start: int
    end: int
    put: str
    rule: str


class Moves:
    """Where places of a text are after some changes.

    Args:
        changes: The changes, in order and apart.

    >>> Moves([Change(2, 6, "#", "rule")]).place(8)
    5
    """

    __slots__ = ("changes", "ends", "shifts")

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = changes
        self.ends = [change.end for change in changes]
        longer = (len(change.put) - (change.end - change.start) for change in changes)
        self.shifts = list(accumulate(longer, initial=0))

    def place(self, place: int) -> int:
        """The new place; inside a change, where what is put starts."""
        done = bisect_right(self.ends, place)
        if done < len(self.changes) and self.changes[done].start < place:
            place = self.changes[done].start
        return place + self.shifts[done]


def changes_of(lines: Sequence[LogLine], cuts: Iterable[Cut]) -> list[Change]:
    """The changes of the source that carry out some cuts."""
    by_line: dict[int, list[Cut]] = {}
    for cut in cuts:
        by_line.setdefault(cut.line, []).append(cut)
    found: list[Change] = []
    for number in sorted(by_line):
        line = lines[number]
        for cut in _without_overlaps(line, by_line[number]):
            found += _carried_out(line, cut)
    return found


def applied(source: str, changes: Sequence[Change]) -> str:
    """The source with changes, which are in order and apart."""
    parts: list[str] = []
    at = 0
    for change in changes:
        parts += [source[at : change.start], change.put]
        at = change.end
    return "".join([*parts, source[at:]])


def _without_overlaps(line: LogLine, cuts: list[Cut]) -> list[Cut]:
    """Cuts that do not touch: those that overlap become one."""
    widened = sorted((_widened(line, cut) for cut in cuts), key=lambda cut: (cut.start, -cut.end))
    apart: list[Cut] = []
    for cut in widened:
        if apart and cut.start < apart[-1].end:
            before = apart[-1]
            if cut.end > before.end:
                apart[-1] = before._replace(end=cut.end, put=HIDDEN, align="none")
        else:
            apart.append(cut)
    return apart


def _widened(line: LogLine, cut: Cut) -> Cut:
    """A cut with the blanks of its column, so that nothing tells how wide a figure was."""
    if cut.align == "none":
        return cut
    plain = len(line.pieces) == 1
    if cut.align == "right":
        start = len(line.text[: cut.start].rstrip(" ")) if plain else cut.start
        while (
            not plain and start > 0 and line.text[start - 1] == " " and not _fixed(line, start - 1)
        ):
            start -= 1
        return cut._replace(start=start, put=cut.put.rjust(cut.end - start))
    end = cut.end
    while end < len(line.text) and line.text[end] == " " and not _fixed(line, end):
        end += 1
    if end == len(line.text) or _fixed(line, end):
        return cut._replace(end=end)
    return cut._replace(end=end, put=cut.put.ljust(end - cut.start))


def _fixed(line: LogLine, at: int) -> bool:
    """Whether a blank comes from a column position, which says nothing about a figure."""
    for piece in line.covering(at, at + 1):
        return not piece.literal and piece.fixed
    return False


def _trimmed(line: LogLine, cut: Cut) -> Cut:
    """A cut over markup without what it would put back: the markup there stays in its place.

    Not where a line goes on: from where it was broken one could tell how long it was before.
    """
    if cut.align != "none" or line.wraps or len(list(line.covering(cut.start, cut.end))) < 2:
        return cut
    before = line.text[cut.start : cut.end]
    head = _alike(before, cut.put)
    tail = _alike(before[:head:-1], cut.put[:head:-1])
    put = cut.put[head : len(cut.put) - tail]
    return cut._replace(start=cut.start + head, end=cut.end - tail, put=put)


def _alike(one: str, other: str) -> int:
    """How many letters at the beginning of two texts are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _carried_out(line: LogLine, cut: Cut) -> list[Change]:
    """Put the new text where the figure stood; what else belongs to the cut goes."""
    cut = _trimmed(line, cut)
    touched = [piece for piece in line.covering(cut.start, cut.end) if _replaceable(piece)]
    spans: list[tuple[int, int]] = []
    for piece in touched:
        if piece.literal:
            start = piece.start + max(cut.start - piece.at, 0)
            end = piece.start + min(cut.end - piece.at, piece.width)
        else:
            start, end = piece.start, piece.end
        if end > start:
            spans.append((start, end))
    if not spans:
        return []
    # The last stretch holds the figure if it is right-aligned, the first if it starts here.
    chosen = len(spans) - 1 if cut.align == "right" else 0
    return [
        Change(start, end, cut.put if at == chosen else "", cut.rule)
        for at, (start, end) in enumerate(spans)
    ]


def _replaceable(piece: Piece) -> bool:
    return piece.literal or not piece.fixed
