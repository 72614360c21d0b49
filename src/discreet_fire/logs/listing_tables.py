"""Tables in listings of SPSS and SAS, read into rows and columns.

In: lines of a listing (CONFIDENTIAL). Out: `ListingTable`s: the headings of each column from the
top down, the rows with their labels, each cell with its place. Three forms are read: frames of bars
and dashes, cells between tabs, and columns that only blanks part. A line that does not fit makes
the table odd, and nothing in an odd table is known.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
_WORD = re.compile(r"\S+")
_GAP = re.compile(r"\S+(?: \S+)*")
_POINT = re.compile(r"(?<![\d.,])\d*\.\d+(?![\d.,])")
_COMMA = re.compile(r"(?<![\d.,])\d*,\d+(?![\d.,])")
_GROUPED = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_DASHES = re.compile(r"(?<![^\s|+])[-_=]{3,}(?![^\s|+])")
_REACH = re.compile(r"-{2,}|(?<!\S)-(?=\w)|(?<=\w)-(?!\S)")
_MOST_HEADS = 12
_FARTHEST = 12
_TAB = 400


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


@dataclass(slots=True)
class ListingRow:
    """A line of a table: cells by column, and whether a rule stands above it."""

    line: int
    cells: list[list[LogFigure]]
    ruled: bool
    text: str

    def filled(self, start: int, end: int | None = None) -> list[LogFigure]:
        """All cells of some columns that hold something."""
        return [one for some in self.cells[start:end] for one in some if one.text]


@dataclass(slots=True)
class _LabelPiece:
    """A part of a label, which may go on in lines below."""

    start: int
    text: str
    end: int


@dataclass(slots=True)
class ListingTable:
    """A table of a listing."""

    start: int  # its first line
    end: int  # behind its last line
    title: str  # what stands above it
    heads: list[list[str]]  # the heading of each column, from the top down
    rows: list[ListingRow] = field(default_factory=list)  # its lines with cells
    tabs: bool = False  # whether tabs part its columns
    odd: bool = False  # whether something in it did not fit
    bare: bool = False  # whether only blanks part its columns, and the first may hold figures too

    @property
    def doubtful(self) -> bool:
        """Whether lines taken for headings may be rows: they hold figures like those of cells."""
        return bool(_VALUE_IN_HEAD.search(" ".join(map(" ".join, self.heads))))

    def figures(self, start: int = 1) -> list[LogFigure]:
        """All cells from a column on that hold something."""
        return [one for row in self.rows for one in row.filled(start)]

    def labelled(self, first: int) -> list[tuple[str, ListingRow]]:
        """The rows with figures from a column on, each with its whole label.

        What is blank in a label is as in the row above; a label goes on in lines without figures.
        """
        labels: list[tuple[list[_LabelPiece], ListingRow]] = []
        above: list[_LabelPiece] = []
        for row in self.rows:
            text = ""
            if self.tabs:  # all parts are equally wide
                text = "".join(part.ljust(_TAB) for part in row.text.split("\t")[:first])
            for cell in () if self.tabs else itertools.chain(*row.cells[:first]):
                text = text.ljust(cell.start) + row.text[cell.start : cell.end]
            own = [_LabelPiece(one.start(), one[0], one.end()) for one in _GAP.finditer(text)]
            if row.filled(first):
                place = own[0].start if own else 0
                above = [replace(one) for one in above if one.start < place]
                for one in above:
                    one.text = (
                        one.text[: place - one.start].rstrip() if one.end > place else one.text
                    )
                    one.end = min(one.end, place)
                above += own
                labels.append((above, row))
            elif labels and not row.ruled:
                for piece in own:
                    near = [one for one in above if one.start <= piece.start]
                    if near:
                        near[-1].text += f" {piece.text}"
            else:
                above = own
        return [(" ".join(one.text for one in label), row) for label, row in labels]


def _cell(text: str, line: int, start: int, *, commas: bool) -> LogFigure:
    """What stands in a stretch, as one figure that reaches over all of it."""
    shown = text.strip()
    return LogFigure(figure_text(shown, commas=commas) or shown, line, start, start + len(text))


def is_figure(cell: LogFigure) -> bool:
    """Whether a cell holds a number, a sign that there is none, or one that is withheld."""
    return numeric(cell.text) is not None or bool(_NO_VALUE.fullmatch(cell.text))


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


def framed_table(
    texts: Sequence[str], start: int, end: int, title: str, *, commas: bool
) -> ListingTable:
    """A table in a frame of bars and dashes."""
    places = [
        at
        for at in range(start, end)
        if "|" in texts[at]
        and not (_FULL_RULE.fullmatch(texts[at]) or _PARTIAL_RULE.fullmatch(texts[at]))
    ]
    bars = max((_edges(texts[at]) for at in places), key=len, default=[])
    if len(bars) < 3:
        return ListingTable(start, end, title, [], odd=True)
    whole, first = _edges(texts[places[0]]), texts[places[0]]
    if len(whole) == 2 and whole[1] == len(first.rstrip()) - 1:  # a title in the frame
        title, places = first.strip().strip("|").strip(), places[1:]
    spans = [(a + 1, b) for a, b in pairwise(bars)]
    # Headings go down to the first rule without a gap; a crossing of rules parts them, too.
    body = places[0] + 1 if places else end
    while body < end and not (_FULL_RULE.fullmatch(texts[body]) and " " not in texts[body].strip()):
        body += 1
    heads: list[list[str]] = []
    for left, right in spans:
        middle, parts = (left + right) // 2, [""]
        for text in texts[places[0] : body] if places else ():
            edges = [-1, *_edges(text), len(text)]
            begin = max(edge for edge in edges if edge <= middle and edge < len(text)) + 1
            cell = text[begin : min(edge for edge in edges if edge >= begin)].strip()
            if cell.strip("-_=+"):
                parts[-1] = f"{parts[-1]} {cell}".strip()
            elif cell:
                parts.append("")
        heads.append([part.replace("- ", "-") for part in parts if part])
    table = ListingTable(start, end, title, heads)
    before = places[0] if places else start
    for at in places:
        if at >= body:
            text = _DASHES.sub(lambda one: " " * len(one[0]), texts[at])
            ruled = any(map(_DASHES.search, texts[before:at]))
            if _edges(texts[at]) == bars:
                cells = [[_cell(text[a:b], at, a, commas=commas)] for a, b in spans]
                table.rows.append(ListingRow(at, cells, ruled, text))
            else:
                table.odd = True
        before = at
    return table


def _edges(text: str) -> list[int]:
    """Where bars stand, or crossings of rules that are drawn through a part of the line."""
    return [
        at
        for at, letter in enumerate(text)
        if letter == "|" or (letter == "+" and "-" in text[max(at - 1, 0) : at + 2])
    ]


def joined_parts(table: ListingTable, part: ListingTable) -> bool:
    """Put the columns of the next part of a wide table beside it; whether the labels are the same
    and it has no title.
    """
    labels, own = ([row.cells[0][0].text for row in one.rows] for one in (table, part))
    if part.title or part.odd or table.odd or labels != own:
        return False
    above = table.heads[-1][:-1]  # a heading over several columns is not printed again
    table.heads += [above + parts if len(parts) < 2 else parts for parts in part.heads[1:]]
    table.end = part.end
    for row, more in zip(table.rows, part.rows, strict=True):
        row.cells += more.cells[1:]
    return True


# Tabs ---------------------------------------------------------------------------------------------


def tabbed_table(
    texts: Sequence[str], start: int, end: int, title: str, *, commas: bool
) -> ListingTable:
    """A table whose cells stand between tabs: headings are the lines before the first figure."""
    rows: list[list[LogFigure]] = []
    for at in range(start, end):
        place, cells = 0, []
        for text in texts[at].split("\t"):
            cells.append(_cell(text, at, place, commas=commas))
            place += len(text) + 1
        rows.append(cells)
    width = max(map(len, rows))
    numbers = (any(numeric(one.text) is not None for one in row[1:]) for row in rows)
    body = next((at for at, shown in enumerate(numbers) if shown), len(rows))
    heads: list[list[str]] = [[] for _ in range(width)]
    for row in rows[:body]:
        last = ""
        for column in range(width):
            text = row[column].text if column < len(row) else ""
            last = text or ("" if row is rows[body - 1] else last)
            heads[column] += [last] if last and column else []
    table = ListingTable(start, end, title, heads, tabs=True, odd=body == len(rows))
    for at, row in enumerate(rows[body:], start + body):
        padded = [[one] for one in row] + [[] for _ in range(width - len(row))]
        table.rows.append(ListingRow(at, padded, at > start + body, texts[at]))
    return table


# Columns of SPSS, each at its left edge -----------------------------------------------------------


def spaced_end(texts: Sequence[str], start: int) -> int:
    """Behind the last line of a table of SPSS without a frame, whose lines start with a blank."""
    end = start
    while end < len(texts) and texts[end].startswith(" ") and texts[end].strip():
        end += 1
    return end


def spaced_table(
    texts: Sequence[str], start: int, end: int, title: str, *, commas: bool
) -> ListingTable | None:
    """A table whose cells stand at the left edge of their columns; None if nothing is one."""

    def shows(word: str) -> bool:
        return bool(_NO_VALUE.fullmatch(word)) or figure_text(word, commas=False) is not None

    # The lines with figures behind a label; headings start right of where figures do.
    rows: list[tuple[int, int, int]] = []
    for at in range(start, end):
        words = list(_WORD.finditer(texts[at]))
        last = len(words)
        while last > 1 and shows(words[last - 1][0]):
            last -= 1
        if last < len(words):
            rows.append((at, words[0].start(), words[last].start()))
    left = min((figures for _, _, figures in rows), default=0)
    body = [at for at, label, _ in rows if label < left]
    if not body:
        return None
    width = max(len(text) for text in texts[start:end])
    filled = [any(texts[at][place : place + 1].strip() for at in body) for place in range(width)]
    starts = [at for at in range(width) if filled[at] and not (at and filled[at - 1])]
    columns = [(a, b - 1) for a, b in pairwise([*starts, width + 1])]
    first = 0
    for place, span in enumerate(columns[1:], 1):
        shown = [cell for at in body if (cell := texts[at][slice(*span)].strip())]
        if shown and all(map(shows, shown)):
            first = place
            break
    if first:
        columns = [(columns[0][0], columns[first][0] - 1), *columns[first:]]
    heads: list[list[str]] = [[] for _ in columns] if first else []
    for text in texts[start : body[0]]:
        # A heading is a text that starts above a column, or reaches over it.
        edges = [
            edge
            for edge, _ in columns
            if text[edge : edge + 1].strip() and not text[max(edge - 1, 0) : edge].strip()
        ]
        for head, (place, _) in zip(heads, columns, strict=False):
            begin = max((edge for edge in edges if edge <= place), default=place)
            stop = min((edge for edge in edges if edge > place), default=len(text))
            piece = text[begin:stop].split("  ")[0].rstrip()
            head += [piece.strip()] if piece and begin + len(piece) > place else []
    table = ListingTable(start, end, title, heads, odd=not first)
    for at in range(body[0], end):
        cells = [[_cell(texts[at][a:b], at, a, commas=commas)] for a, b in columns]
        table.rows.append(ListingRow(at, cells, ruled=False, text=texts[at]))
    return table


# Columns ------------------------------------------------------------------------------------------


def stretches(text: str, line: int, *, commas: bool) -> list[LogFigure]:
    """What stands between gaps of two blanks or more.

    >>> [one.text for one in stretches("sex    Row  Pct    7", 0, commas=False)]
    ['sex', 'Row', 'Pct', '7']
    """
    return [
        LogFigure(figure_text(one[0], commas=commas) or one[0], line, *one.span())
        for one in _GAP.finditer(text)
    ]


def columned_table(
    texts: Sequence[str], heads: Sequence[int], rows: Sequence[int], title: str, *, commas: bool
) -> ListingTable:
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
    labels = [one for at in rows for one in stretches(texts[at], at, commas=commas)[:1]]
    before = columns[0][0].start if columns else 0
    outside = [one for one in labels if one.end <= before and not is_figure(one)]
    if outside:  # labels without a heading
        ends = min(one.start for one in outside), max(one.end for one in outside)
        columns.insert(0, [LogFigure("", 0, *ends)])
    names = [" ".join(part.text for part in reversed(some)).strip() for some in columns]
    heading = [[name] if name else [] for name in names]
    start = min(heads, default=rows[0])
    table = ListingTable(start, rows[-1] + 1, title, heading, bare=True)
    for at in rows:
        cells: list[list[LogFigure]] = [[] for _ in columns]
        for one in stretches(texts[at], at, commas=commas):
            # The column below whose heading a cell stands, or the nearest one.
            far = [max(some[0].start - one.end, one.start - some[0].end) for some in columns]
            if min(far, default=_FARTHEST) < _FARTHEST:
                cells[far.index(min(far))].append(one)
            else:
                table.odd = True
        table.rows.append(ListingRow(at, cells, ruled=False, text=texts[at]))
    return table


# Crosstabulations of SAS --------------------------------------------------------------------------


@dataclass(slots=True)
class BoxedCounts:
    """A two-way table of PROC FREQ: what its lines are, headings, and the lines themselves."""

    start: int
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
    kinds = [text.partition("|")[0].strip() for text in texts[start:head]]
    kinds = [kind for kind in kinds if kind]
    if not kinds or head >= len(texts) or not (is_rule(texts[head]) and "+" in texts[head]):
        return None
    names = [part.strip() for part in texts[head - 1].split("|")[1:]]
    edges = [at for at, letter in enumerate(texts[head]) if letter == "+"]
    counts = BoxedCounts(start, head + 1, kinds, [name for name in names if name], [], odd=False)
    for at in range(head + 1, len(texts)):
        text = texts[at]
        if not text.strip():
            break
        if not is_rule(text):
            inner = [(a + 1, b) for a, b in pairwise([*edges, max(len(text), edges[-1] + 2)])]
            cells = [_cell(text[a:b].rstrip("| "), at, a, commas=commas) for a, b in inner]
            shown = [one for one in cells if one.text]
            counts.odd = counts.odd or not all(map(is_figure, shown))
            counts.rows.append((text[: edges[0]].strip(), shown))
        counts.end = at + 1
    return counts
