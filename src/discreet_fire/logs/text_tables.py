"""Tables in listings of SPSS and SAS, read into rows and columns.

In: lines of a listing (CONFIDENTIAL). Out: `TextTable`s: the headings of each column from the top
down, the rows with their labels, each cell with its place. Bars part columns, or blanks do. A line
that does not fit makes the table odd, and nothing in an odd table is known.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from discreet_fire.logs.claims import HIDDEN, LogFigure, is_rule, numeric

_DRAWN = str.maketrans(
    dict.fromkeys("│┃║┆┊", "|")
    | dict.fromkeys("─━═╌┄┈╴╶", "-")
    | dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╯╰╔╗╚╝╠╣╦╩╬╞╡╪╟╢╤╧╫┏┓┗┛┣┫┳┻╋┝┥┿╥╨╒╕╘╛╓╖╙╜", "+")
    | {"\x0c": " "}
)
#: The font of SAS draws frames with signs that are letters elsewhere.
_SAS_DRAWN = str.maketrans(
    dict.fromkeys("‚\x82", "|")
    | dict.fromkeys("ƒ\x83", "-")
    | dict.fromkeys("„…†‡ˆ‰Š‹Œ\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c", "+")
)
_SAS_FONT = re.compile("[ƒ\x83]{3}")
_FULL_RULE = re.compile(r"\s*[-_+|=]*[-_=]{3}[-_+|=]*\s*")
_PARTIAL_RULE = re.compile(r"\s*[|+][-_+|= ]*[-_=]{2}[-_+|= ]*\s*")
_MARKS = r"(?:\*{1,3}|\(\*{1,3}\)|\(?[a-z]{1,2}\)|\[[a-z]{1,2}\]|[a-z](?:,[a-z]){0,3})?"
_SHOWN = r"[<>]?[-+]?(?:\d[\d.,']{0,30}|[.,]\d{1,20})(?:[eE][-+]?\d{1,3})?"
_FIGURE = re.compile(rf"(?P<number>{_SHOWN}) ?%?{_MARKS}")
_NO_VALUE = re.compile(rf"\.[a-z_]?|-|NaN|n/a|{HIDDEN}[a-z]?", re.IGNORECASE)
_VALUE_IN_HEAD = re.compile(r"(?<![\w=(.,] )(?<![\w=(.,])(?:\d*[.,]\d+|\d{5,})(?![\w%)])")
_GAP = re.compile(r"\S+(?: \S+)*")
_POINT = re.compile(r"(?<![\d.,])\d*\.\d+(?![\d.,])")
_COMMA = re.compile(r"(?<![\d.,])\d*,\d+(?![\d.,])")
_GROUPED = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_DASHES = re.compile(r"(?<![^\s|+])[-_=]{3,}(?![^\s|+])")
_REACH = re.compile(r"-{2,}|(?<!\S)-(?=\w)|(?<=\w)-(?!\S)")
_MOST_HEADS = 12
_FARTHEST = 12


def drawn(texts: Sequence[str]) -> list[str]:
    """The lines with frames in plain signs, each as long as before.

    >>> drawn(["│ 7 │", "└───┘"])
    ['| 7 |', '+---+']
    """
    sas = any(_SAS_FONT.search(text) for text in texts)
    plain = [text.translate(_DRAWN) for text in texts]
    return [text.translate(_SAS_DRAWN) for text in plain] if sas else plain


def writes_commas(texts: Sequence[str]) -> bool:
    """Whether decimals stand behind commas.

    >>> writes_commas(["N 1.234", "mean 12,5"]), writes_commas(["12.5", "1,234"])
    (True, False)
    """
    points, commas = (
        sum(not _GROUPED.fullmatch(one) for text in texts for one in form.findall(text))
        for form in (_POINT, _COMMA)
    )
    return commas > points


def figure_text(text: str, *, commas: bool) -> str | None:
    """A figure as English writes it, without marks of footnotes; None if it is none.

    >>> figure_text("1.234,5", commas=True), figure_text(",576**", commas=True)
    ('1234.5', '.576')
    >>> figure_text("1,234.5", commas=False), figure_text("male", commas=False)
    ('1234.5', None)
    """
    match = _FIGURE.fullmatch(text.strip())
    if match is None:
        return None
    number = match["number"].lstrip("<>").replace("'", "")
    if commas:
        number = number.replace(".", "").replace(",", ".")
    return number.replace(",", "")


def is_figure(cell: LogFigure) -> bool:
    """Whether a cell holds a number, a sign that there is none, or one that is withheld."""
    return numeric(cell.text) is not None or bool(_NO_VALUE.fullmatch(cell.text))


def stretches(text: str, line: int, *, commas: bool) -> list[LogFigure]:
    """Texts between gaps of two or more blanks.

    >>> [one.text for one in stretches("sex    Row  Pct    7", 0, commas=False)]
    ['sex', 'Row', 'Pct', '7']
    """
    return [
        LogFigure(figure_text(one[0], commas=commas) or one[0], line, *one.span())
        for one in _GAP.finditer(text)
    ]


@dataclass(slots=True)
class TextRow:
    """A line of a table: cells by column, and whether a rule stands above it."""

    line: int
    cells: list[list[LogFigure]]
    ruled: bool
    text: str

    def filled(self, start: int, end: int | None = None) -> list[LogFigure]:
        """All cells of some columns that hold something."""
        return [one for some in self.cells[start:end] for one in some if one.text]


@dataclass(slots=True)
class TextTable:
    """A table of a listing."""

    start: int  # its first line
    end: int  # behind its last line
    title: str  # what stands above it
    heads: list[list[str]]  # the heading of each column, from the top down
    rows: list[TextRow] = field(default_factory=list)  # its lines with cells
    odd: bool = False  # whether something in it did not fit
    bare: bool = False  # whether only blanks part its columns, and the first may hold figures too

    @property
    def doubtful(self) -> bool:
        """Whether lines taken for headings may be rows: they hold figures like those of cells."""
        return bool(_VALUE_IN_HEAD.search(" ".join(map(" ".join, self.heads))))

    def figures(self, start: int = 1) -> list[LogFigure]:
        """All cells from a column on that hold something."""
        return [one for row in self.rows for one in row.filled(start)]

    def labelled(self, first: int) -> list[tuple[str, TextRow]]:
        """The rows with figures from a column on, each with its whole label.

        What is blank in a label is as in the row above; a label goes on in lines without figures.
        """
        labels: list[tuple[dict[int, str], TextRow]] = []
        above: dict[int, str] = {}
        for row in self.rows:
            text = ""
            for cell in itertools.chain(*row.cells[:first]):
                text = text.ljust(cell.start) + row.text[cell.start : cell.end]
            own = {one.start(): one[0] for one in _GAP.finditer(text)}
            if row.filled(first):
                place = min(own, default=0)
                kept = {at: one[: place - at].rstrip() for at, one in above.items() if at < place}
                above = kept | own
                labels.append((above, row))
            elif labels and not row.ruled:
                for at, piece in own.items():
                    near = [one for one in above if one <= at]
                    if near:
                        above[max(near)] += f" {piece}"
            else:
                above = own
        return [(" ".join(label[at] for at in sorted(label)), row) for label, row in labels]

    def join(self, part: TextTable) -> bool:
        """Put the columns of the next part of a wide table beside it; whether the labels are the
        same and it has no title.
        """
        labels, own = ([row.cells[0][0].text for row in one.rows] for one in (self, part))
        if part.title or part.odd or self.odd or labels != own:
            return False
        above = self.heads[-1][:-1]  # a heading over several columns is not printed again
        self.heads += [above + parts if len(parts) < 2 else parts for parts in part.heads[1:]]
        self.end = part.end
        for row, more in zip(self.rows, part.rows, strict=True):
            row.cells += more.cells[1:]
        return True


# Frames -------------------------------------------------------------------------------------------


def is_framed(text: str) -> bool:
    """Whether a line starts like one of a frame."""
    stripped = text.strip()
    return stripped[:1] == "|" or (stripped[:1] == "+" and bool(_PARTIAL_RULE.fullmatch(text)))


def framed_end(texts: Sequence[str], start: int) -> int:
    """Behind the last line of a frame that starts here; the start itself if none does."""
    end = start
    while end < len(texts) and (is_framed(texts[end]) or _FULL_RULE.fullmatch(texts[end])):
        end += 1
    return end if any("|" in text for text in texts[start:end]) else start


def _edges(text: str) -> list[int]:
    """Where bars stand, or crossings of rules that are drawn through a part of the line."""
    return [
        at
        for at, letter in enumerate(text)
        if letter == "|" or (letter == "+" and "-" in text[max(at - 1, 0) : at + 2])
    ]


def _between(text: str, line: int, edges: Sequence[int], *, commas: bool) -> list[LogFigure]:
    """What stands between edges, each as one figure that reaches over all of it."""
    cells: list[LogFigure] = []
    for start, end in pairwise(edges):
        shown = text[start + 1 : end].strip()
        cells.append(LogFigure(figure_text(shown, commas=commas) or shown, line, start + 1, end))
    return cells


def framed_table(
    texts: Sequence[str], start: int, end: int, title: str, *, commas: bool
) -> TextTable:
    """A table in a frame of bars and dashes; headings go down to the first rule without a gap."""
    places = [
        at
        for at in range(start, end)
        if "|" in texts[at]
        and not (_FULL_RULE.fullmatch(texts[at]) or _PARTIAL_RULE.fullmatch(texts[at]))
    ]
    bars = max((_edges(texts[at]) for at in places), key=len, default=[])
    if len(bars) < 3:
        return TextTable(start, end, title, [], odd=True)
    whole, first = _edges(texts[places[0]]), texts[places[0]]
    if len(whole) == 2 and whole[1] == len(first.rstrip()) - 1:  # a title in the frame
        title, places = first.strip().strip("|").strip(), places[1:]
    body = places[0] + 1 if places else end
    while body < end and not (_FULL_RULE.fullmatch(texts[body]) and " " not in texts[body].strip()):
        body += 1
    heads: list[list[str]] = [[] for _ in bars[1:]]
    for at in places:
        if at >= body:
            break
        edges = sorted({*_edges(texts[at]), bars[-1]})  # the last bar may be cut off
        for cell in _between(texts[at], at, edges, commas=False):
            shown = texts[at][cell.start : cell.end].strip()
            for column, (left, right) in enumerate(pairwise(bars)):
                if shown.strip("-_=+") and cell.start <= (left + right) // 2 < cell.end:
                    heads[column].append(shown)
    table = TextTable(start, end, title, heads)
    before = places[0] if places else start
    for at in places:
        if at >= body:
            text = _DASHES.sub(lambda one: " " * len(one[0]), texts[at])
            ruled = any(map(_DASHES.search, texts[before:at]))
            cells = [[one] for one in _between(text, at, bars, commas=commas)]
            table.rows.append(TextRow(at, cells, ruled, text))
            table.odd = table.odd or _edges(texts[at]) != bars
        before = at
    return table


# Columns ------------------------------------------------------------------------------------------


def columned_table(
    texts: Sequence[str], heads: Sequence[int], rows: Sequence[int], title: str, *, commas: bool
) -> TextTable:
    """A table whose columns only blanks part."""
    # The pieces of each heading, the lowest first; a higher one stands over some columns.
    columns: list[list[LogFigure]] = []
    for at in reversed(heads[-_MOST_HEADS:]):
        # Dashes show how far a heading over several columns reaches.
        text = _REACH.sub(lambda one: " " * len(one[0]), texts[at])
        for head in stretches(text, at, commas=False):
            over: list[list[LogFigure]] = []
            nearest, most = list[list[LogFigure]](), 0
            for some in columns:
                shared = min(some[0].end, head.end) - max(some[0].start, head.start)
                if 2 * shared >= min(some[0].end - some[0].start, head.end - head.start):
                    over.append(some)
                if shared > most:
                    nearest, most = [some], shared
            for some in over or nearest:
                some.append(head)
            if not over and not nearest:
                columns.append([head])
    columns.sort(key=lambda some: some[0].start)
    cells = {at: stretches(texts[at], at, commas=commas) for at in rows}
    before = columns[0][0].start if columns else 0
    labels = [one for some in cells.values() for one in some[:1]]
    outside = [one for one in labels if one.end <= before and not is_figure(one)]
    if outside:  # labels without a heading
        ends = min(one.start for one in outside), max(one.end for one in outside)
        columns.insert(0, [LogFigure("", 0, *ends)])
    names = [" ".join(part.text for part in reversed(some)).strip() for some in columns]
    start = min(heads, default=rows[0])
    table = TextTable(start, rows[-1] + 1, title, [[name] if name else [] for name in names])
    table.bare = True
    for at in rows:
        row = TextRow(at, [[] for _ in columns], ruled=False, text=texts[at])
        for one in cells[at]:
            # The column below whose heading a cell stands, or the nearest one.
            far = [max(some[0].start - one.end, one.start - some[0].end) for some in columns]
            if min(far, default=_FARTHEST) < _FARTHEST:
                row.cells[far.index(min(far))].append(one)
            else:
                table.odd = True
        table.rows.append(row)
    return table


# Counts by two variables --------------------------------------------------------------------------


@dataclass(slots=True)
class BoxedCounts:
    """A two-way table of PROC FREQ: what its lines are, headings, and the lines themselves."""

    end: int
    kinds: list[str]
    heads: list[str]
    rows: list[tuple[str, list[LogFigure]]]
    odd: bool


def boxed_counts(texts: Sequence[str], start: int, *, commas: bool) -> BoxedCounts | None:
    """The table that starts here: the box that names its lines, rows between rules, totals."""
    head = start
    while head < len(texts) and "|" in texts[head] and not is_rule(texts[head]):
        head += 1
    kinds = [kind for text in texts[start:head] if (kind := text.partition("|")[0].strip())]
    if not kinds or head >= len(texts) or not (is_rule(texts[head]) and "+" in texts[head]):
        return None
    heads = [name for part in texts[head - 1].split("|")[1:] if (name := part.strip())]
    edges = [at for at, letter in enumerate(texts[head]) if letter == "+"]
    counts = BoxedCounts(head + 1, kinds, heads, [], odd=False)
    for at in range(head + 1, len(texts)):
        text = texts[at]
        if not text.strip():
            break
        if not is_rule(text):
            ends = [*edges, max(len(text), edges[-1] + 2)]
            cells = _between(text.replace("|", " "), at, ends, commas=commas)
            shown = [one for one in cells if one.text]
            counts.odd = counts.odd or not all(map(is_figure, shown))
            counts.rows.append((text[: edges[0]].strip(), shown))
        counts.end = at + 1
    return counts
