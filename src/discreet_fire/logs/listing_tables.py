"""Tables in listings of SPSS and SAS, read into rows and columns.

In: lines of a listing (CONFIDENTIAL). Out: `ListingTable`s: the headings of each column from the
top down, the rows with their labels, each cell with its place. Three forms are read: frames of bars
and dashes, cells between tabs, and columns that only blanks part. A line that does not fit makes
the table odd, and nothing in an odd table is known.
"""

from __future__ import annotations

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
_WORD = re.compile(r"\S+")
_GAP = re.compile(r"\S+(?: \S+)*")
_POINT = re.compile(r"(?<![\d.,])\d*\.\d+(?![\d.,])")
_COMMA = re.compile(r"(?<![\d.,])\d*,\d+(?![\d.,])")
_GROUPED = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_DASHES = re.compile(r"(?<![^\s|+])[-_=]{3,}(?![^\s|+])")
_MOST_HEADS = 12
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

    def filled(self, start: int) -> list[LogFigure]:
        """All cells from a column on that hold something."""
        return [one for some in self.cells[start:] for one in some if one.text]


@dataclass(slots=True)
class ListingTable:
    """A table of a listing."""

    start: int  # its first line
    end: int  # behind its last line
    title: str  # what stands above it
    heads: list[list[str]]  # the heading of each column, from the top down
    rows: list[ListingRow] = field(default_factory=list)  # its lines with cells
    spans: list[tuple[int, int]] = field(default_factory=list)  # where each column starts and ends
    odd: bool = False  # whether something in it did not fit
    bare: bool = False  # whether only blanks part its columns, and the first may hold figures too

    @property
    def doubtful(self) -> bool:
        """Whether lines taken for headings may be rows: they hold figures like those of cells."""
        words = " ".join(part for parts in self.heads for part in parts)
        return bool(_VALUE_IN_HEAD.search(words))

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
            own = _pieces(_label_text(row, first, tabs=not self.spans))
            if row.filled(first):
                from_above = own[0].start if own else 0
                above = [one.until(from_above) for one in above if one.start < from_above] + own
                labels.append((above, row))
            elif labels and not row.ruled:
                for piece in own:
                    near = [one for one in above if one.start <= piece.start]
                    (near[-1] if near else piece).text += f" {piece.text}" if near else ""
            else:
                above = own
        return [(" ".join(one.text for one in label), row) for label, row in labels]


@dataclass(slots=True)
class _LabelPiece:
    """A part of a label, which may go on in lines below."""

    start: int
    text: str
    end: int

    def until(self, place: int) -> _LabelPiece:
        """What of it stands before a place."""
        short = self.text[: place - self.start].rstrip() if self.end > place else self.text
        return _LabelPiece(self.start, short, min(self.end, place))


def _pieces(text: str) -> list[_LabelPiece]:
    return [_LabelPiece(one.start(), one[0], one.end()) for one in _GAP.finditer(text)]


def _label_text(row: ListingRow, first: int, *, tabs: bool) -> str:
    """The label of a row, each part where it stands; between tabs all parts are equally wide."""
    if tabs:
        return "".join(part.ljust(_TAB) for part in row.text.split("\t")[:first])
    text = ""
    for one in (one for some in row.cells[:first] for one in some):
        text = text.ljust(one.start) + row.text[one.start : one.end]
    return text


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
    places = [at for at in range(start, end) if "|" in texts[at] and not _is_drawn(texts[at])]
    bars = max((_edges(texts[at]) for at in places), key=len, default=[])
    if len(bars) < 3:
        return ListingTable(start, end, title, [], odd=True)
    whole = _edges(texts[places[0]])
    if len(whole) == 2 and whole[1] == len(texts[places[0]].rstrip()) - 1:  # a title in the frame
        title, places = texts[places[0]].strip().strip("|").strip(), places[1:]
    spans = [(a + 1, b) for a, b in pairwise(bars)]
    heads, body = _framed_heads(texts, places, spans, end)
    table = ListingTable(start, end, title, heads, spans=spans)
    before = places[0] if places else start
    for at in places:
        if at < body:
            before = at
            continue
        text = _DASHES.sub(lambda one: " " * len(one[0]), texts[at])
        ruled = any(_DASHES.search(above) for above in texts[before:at])
        fits = _edges(texts[at]) == bars
        cells = [[_cell(text[a:b], at, a, commas=commas)] for a, b in spans] if fits else []
        table.rows += [ListingRow(at, cells, ruled, text)] if fits else []
        table.odd = table.odd or not fits
        before = at
    return table


def _is_drawn(text: str) -> bool:
    return bool(_FULL_RULE.fullmatch(text) or _PARTIAL_RULE.fullmatch(text))


def _edges(text: str) -> list[int]:
    """Where bars stand, or crossings of rules that are drawn through a part of the line."""
    return [
        at
        for at, letter in enumerate(text)
        if letter == "|" or (letter == "+" and "-" in text[max(at - 1, 0) : at + 2])
    ]


def _framed_heads(
    texts: Sequence[str], places: Sequence[int], spans: Sequence[tuple[int, int]], end: int
) -> tuple[list[list[str]], int]:
    """The headings of each column, and the first line below them."""
    heads: list[list[str]] = [[] for _ in spans]
    if not places:
        return heads, end
    body = places[0] + 1
    while body < end and not (_FULL_RULE.fullmatch(texts[body]) and not _has_gap(texts[body])):
        body += 1
    for at, (start, stop) in enumerate(spans):
        middle, parts = (start + stop) // 2, [""]
        for line in range(places[0], body):
            text = texts[line]
            edges = [-1, *_edges(text), len(text)]
            left = max(edge for edge in edges if edge <= middle and edge < len(text)) + 1
            cell = text[left : min(edge for edge in edges if edge >= left)].strip()
            if cell.strip("-_=+"):
                parts[-1] = f"{parts[-1]} {cell}".strip()
            elif cell:
                parts.append("")
        heads[at] = [part.replace("- ", "-") for part in parts if part]
    return heads, body


def _has_gap(text: str) -> bool:
    return " " in text.strip()


def is_part(table: ListingTable, part: ListingTable) -> bool:
    """Whether a table without a title is the next part of a wide one: its labels are the same."""

    def labels(one: ListingTable) -> list[str]:
        return [row.cells[0][0].text for row in one.rows]

    return not (part.title or part.odd or table.odd) and labels(table) == labels(part)


def join_part(table: ListingTable, part: ListingTable) -> None:
    """Put the columns of a further part beside those of a table."""
    above = table.heads[-1][:-1]  # a heading over several columns is not printed again
    table.heads += [above + parts if len(parts) < 2 else parts for parts in part.heads[1:]]
    table.end = part.end
    for row, more in zip(table.rows, part.rows, strict=True):
        row.cells += more.cells[1:]


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
    body = next((at for at, row in enumerate(rows) if any(map(_is_number, row[1:]))), len(rows))
    heads: list[list[str]] = [[] for _ in range(width)]
    for row in rows[:body]:
        last = ""
        for column in range(width):
            text = row[column].text if column < len(row) else ""
            lowest = row is rows[body - 1]
            last = text or ("" if lowest else last)
            heads[column] += [last] if last and column else []
    table = ListingTable(start, end, title, heads)
    for at, row in enumerate(rows[body:], start + body):
        padded = [[one] for one in row] + [[] for _ in range(width - len(row))]
        table.rows.append(ListingRow(at, padded, at > start + body, texts[at]))
    table.odd = not table.rows
    return table


def _is_number(cell: LogFigure) -> bool:
    return numeric(cell.text) is not None


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
    body = _body(texts, start, end)
    if not body:
        return None
    width = max(len(text) for text in texts[start:end])
    filled = [any(texts[at][place : place + 1].strip() for at in body) for place in range(width)]
    starts = [at for at in range(width) if filled[at] and not (at and filled[at - 1])]
    edges = [*starts, width + 1]
    columns = [(a, b - 1) for a, b in pairwise(edges)]
    first = next(
        (at for at, span in enumerate(columns) if at and _all_figures(texts, body, span)), 0
    )
    if first:
        columns = [(columns[0][0], columns[first][0] - 1), *columns[first:]]
    begins = [a for a, _ in columns]
    heads = [_spaced_head(texts[start : body[0]], begins, at) for at in range(len(columns))]
    table = ListingTable(start, end, title, heads if first else [], spans=columns, odd=not first)
    for at in range(body[0], end):
        cells = [[_cell(texts[at][a:b], at, a, commas=commas)] for a, b in columns]
        table.rows.append(ListingRow(at, cells, ruled=False, text=texts[at]))
    return table


def _body(texts: Sequence[str], start: int, end: int) -> list[int]:
    """The lines with figures behind a label; headings start right of where figures do."""
    rows: list[tuple[int, int, int]] = []
    for at in range(start, end):
        words = list(_WORD.finditer(texts[at]))
        last = len(words)
        while last > 1 and _shows(words[last - 1][0]):
            last -= 1
        if last < len(words):
            rows.append((at, words[0].start(), words[last].start()))
    left = min((figures for _, _, figures in rows), default=0)
    return [at for at, label, _ in rows if label < left]


def _shows(word: str) -> bool:
    return bool(_NO_VALUE.fullmatch(word)) or figure_text(word, commas=False) is not None


def _all_figures(texts: Sequence[str], body: Sequence[int], span: tuple[int, int]) -> bool:
    cells = [texts[at][slice(*span)].strip() for at in body]
    shown = [one for one in cells if one]
    return bool(shown) and all(
        figure_text(one, commas=False) is not None or _NO_VALUE.fullmatch(one) for one in shown
    )


def _spaced_head(lines: Sequence[str], starts: Sequence[int], at: int) -> list[str]:
    """What stands in headings above a column: a text that starts there, or reaches over it."""
    heads: list[str] = []
    for text in lines:
        edges = [
            start
            for start in starts
            if text[start : start + 1].strip() and not text[max(start - 1, 0) : start].strip()
        ]
        begin = max((edge for edge in edges if edge <= starts[at]), default=starts[at])
        end = min((edge for edge in edges if edge > starts[at]), default=len(text))
        piece = text[begin:end].split("  ")[0].rstrip()
        if piece and begin + len(piece) > starts[at]:
            heads.append(piece.strip())
    return heads


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
    lines = [stretches(_undashed(texts[at]), at, commas=False) for at in heads[-_MOST_HEADS:]]
    columns: list[list[tuple[int, int, str]]] = []
    for line in reversed(lines):
        for one in line:
            over = _below(one, columns)
            for some in over:
                some.append((one.start, one.end, one.text))
            if not over:
                columns.append([(one.start, one.end, one.text)])
    columns.sort(key=lambda some: some[0][0])
    labels = [one for at in rows for one in stretches(texts[at], at, commas=commas)[:1]]
    before = columns[0][0][0] if columns else 0
    outside = [one for one in labels if one.end <= before and not is_figure(one)]
    if outside:  # labels without a heading
        ends = min(one.start for one in outside), max(one.end for one in outside)
        columns.insert(0, [(*ends, "")])
    names = [[" ".join(part[2] for part in reversed(some)).strip()] for some in columns]
    names = [[one for one in parts if one] for parts in names]
    table = ListingTable(min(heads, default=rows[0]), rows[-1] + 1, title, names)
    bounds = [
        (min(part[0] for part in some[:1]), max(part[1] for part in some[:1])) for some in columns
    ]
    table.spans, table.bare = bounds, True
    for at in rows:
        cells: list[list[LogFigure]] = [[] for _ in columns]
        for one in stretches(texts[at], at, commas=commas):
            place = _column_of(one, bounds)
            if place is None:
                table.odd = True
            else:
                cells[place].append(one)
        table.rows.append(ListingRow(at, cells, ruled=False, text=texts[at]))
    return table


def _below(
    head: LogFigure, columns: Sequence[list[tuple[int, int, str]]]
) -> list[list[tuple[int, int, str]]]:
    """The columns over which most of a heading stands, or which stand mostly below it."""
    shared = [(min(some[0][1], head.end) - max(some[0][0], head.start), some) for some in columns]
    over = [
        some
        for both, some in shared
        if 2 * both >= min(some[0][1] - some[0][0], head.end - head.start)
    ]
    most = max(shared, key=lambda one: one[0], default=(0, []))
    return over or ([most[1]] if most[0] > 0 else [])


def _undashed(text: str) -> str:
    """A heading over several columns without the dashes that show how far it reaches."""
    return re.sub(r"-{2,}|(?<!\S)-(?=\w)|(?<=\w)-(?!\S)", lambda one: " " * len(one[0]), text)


def _column_of(cell: LogFigure, bounds: Sequence[tuple[int, int]]) -> int | None:
    """The column below whose heading a cell stands, or the nearest one."""

    def distance(bound: tuple[int, int]) -> int:
        return max(bound[0] - cell.end, cell.start - bound[1])

    near = min(range(len(bounds)), key=lambda at: distance(bounds[at]), default=None)
    return near if near is not None and distance(bounds[near]) < _FARTHEST else None


_FARTHEST = 12


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
    kinds: list[str] = []
    while head < len(texts) and "|" in texts[head] and not is_rule(texts[head]):
        kinds.append(texts[head].partition("|")[0].strip())
        head += 1
    if not kinds or head >= len(texts) or not (is_rule(texts[head]) and "+" in texts[head]):
        return None
    names = [part.strip() for part in texts[head - 1].split("|")[1:]]
    edges = [at for at, letter in enumerate(texts[head]) if letter == "+"]
    kinds = [kind for kind in kinds if kind]
    if not kinds:
        return None
    counts = BoxedCounts(start, head + 1, kinds, [name for name in names if name], [], odd=False)
    for at in range(head + 1, len(texts)):
        text = texts[at]
        if not text.strip():
            break
        if not is_rule(text):
            label = text[: edges[0]].strip()
            inner = [(a + 1, b) for a, b in pairwise([*edges, max(len(text), edges[-1] + 2)])]
            cells = [_cell(text[a:b].rstrip("| "), at, a, commas=commas) for a, b in inner]
            shown = [one for one in cells if one.text]
            counts.odd = counts.odd or not all(map(is_figure, shown))
            counts.rows.append((label, shown))
        counts.end = at + 1
    return counts
