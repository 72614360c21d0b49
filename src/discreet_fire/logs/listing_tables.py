"""Tables in listings of SPSS and SAS, read into rows and columns, and judged by what these say.

In: lines of a listing (CONFIDENTIAL). Out: `TextTable`s: the headings of each column from the top
down, the rows with their labels, each cell with its place; bars part columns, or blanks do. For
each a `TableJudgement`: cuts, and what hangs on what the rest of its procedure shows: tests and
models go if their cases go. In a table with a line that does not fit, or with a heading or a row
that is not known, nothing is known, and all its figures go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

from discreet_fire.catalogue import Forms
from discreet_fire.logs.lines import FigureRow, LogCut, LogFigure, numeric, withheld
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.table_rules import (
    TOTAL,
    StatisticsRecord,
    counts_cuts,
    crosstab_cuts,
    statistics_claim,
)

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
FORM = Forms(__package__, "listings")
_MOST_HEADS = 12
_FARTHEST = 12


def drawn(texts: Sequence[str]) -> list[str]:
    """The lines with frames in plain signs, each as long as before.

    >>> drawn(["│ 7 │", "└───┘"])
    ['| 7 |', '+---+']
    """
    sas = any(FORM.sas_font.search(text) for text in texts)
    plain = [text.translate(_DRAWN) for text in texts]
    return [text.translate(_SAS_DRAWN) for text in plain] if sas else plain


def writes_commas(texts: Sequence[str]) -> bool:
    """Whether decimals stand behind commas.

    >>> writes_commas(["N 1.234", "mean 12,5"]), writes_commas(["12.5", "1,234"])
    (True, False)
    """
    points, commas = (
        sum(not FORM.grouped.fullmatch(one) for text in texts for one in form.findall(text))
        for form in (FORM.point, FORM.comma)
    )
    return commas > points


def figure_text(text: str, *, commas: bool) -> str | None:
    """A figure as English writes it, without marks of footnotes; None if it is none.

    >>> figure_text("1.234,5", commas=True), figure_text(",576**", commas=True)
    ('1234.5', '.576')
    >>> figure_text("1,234.5", commas=False), figure_text("male", commas=False)
    ('1234.5', None)
    """
    match = FORM.figure.fullmatch(text.strip())
    if match is None:
        return None
    number = match["number"].lstrip("<>").replace("'", "")
    if commas:
        number = number.replace(".", "").replace(",", ".")
    return number.replace(",", "")


def is_figure(cell: LogFigure) -> bool:
    """Whether a cell holds a number, a sign that there is none, or one that is withheld."""
    return numeric(cell.text) is not None or bool(FORM.no_value.fullmatch(cell.text))


def stretches(text: str, line: int, *, commas: bool) -> list[LogFigure]:
    """Texts between gaps of two or more blanks.

    >>> [one.text for one in stretches("sex    Row  Pct    7", 0, commas=False)]
    ['sex', 'Row', 'Pct', '7']
    """
    return [
        LogFigure(figure_text(one[0], commas=commas) or one[0], line, *one.span())
        for one in FORM.gap.finditer(text)
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
        return bool(FORM.value_in_head.search(" ".join(map(" ".join, self.heads))))

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
            for cell in chain(*row.cells[:first]):
                text = text.ljust(cell.start) + row.text[cell.start : cell.end]
            own = {one.start(): one[0] for one in FORM.gap.finditer(text)}
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
    return stripped[:1] == "|" or (stripped[:1] == "+" and bool(FORM.partial_rule.fullmatch(text)))


def framed_end(texts: Sequence[str], start: int) -> int:
    """Behind the last line of a frame that starts here; the start itself if none does."""
    end = start
    while end < len(texts) and (is_framed(texts[end]) or FORM.full_rule.fullmatch(texts[end])):
        end += 1
    return end if any("|" in text for text in texts[start:end]) else start


def _edges(text: str) -> list[int]:
    """Where bars stand, or crossings of rules that are drawn through a part of the line."""
    return [
        at
        for at, letter in enumerate(text)
        if letter == "|" or (letter == "+" and "-" in text[max(at - 1, 0) : at + 2])
    ]


def between(text: str, line: int, edges: Sequence[int], *, commas: bool) -> list[LogFigure]:
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
        and not (FORM.full_rule.fullmatch(texts[at]) or FORM.partial_rule.fullmatch(texts[at]))
    ]
    bars = max((_edges(texts[at]) for at in places), key=len, default=[])
    if len(bars) < 3:
        return TextTable(start, end, title, [], odd=True)
    whole, first = _edges(texts[places[0]]), texts[places[0]]
    if len(whole) == 2 and whole[1] == len(first.rstrip()) - 1:  # a title in the frame
        title, places = first.strip().strip("|").strip(), places[1:]
    body = places[0] + 1 if places else end
    while body < end and not (
        FORM.full_rule.fullmatch(texts[body]) and " " not in texts[body].strip()
    ):
        body += 1
    heads: list[list[str]] = [[] for _ in bars[1:]]
    for at in places:
        if at >= body:
            break
        edges = sorted({*_edges(texts[at]), bars[-1]})  # the last bar may be cut off
        for cell in between(texts[at], at, edges, commas=False):
            shown = texts[at][cell.start : cell.end].strip()
            for column, (left, right) in enumerate(pairwise(bars)):
                if shown.strip("-_=+") and cell.start <= (left + right) // 2 < cell.end:
                    heads[column].append(shown)
    table = TextTable(start, end, title, heads)
    before = places[0] if places else start
    for at in places:
        if at >= body:
            text = FORM.dashes.sub(lambda one: " " * len(one[0]), texts[at])
            ruled = any(map(FORM.dashes.search, texts[before:at]))
            cells = [[one] for one in between(text, at, bars, commas=commas)]
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
        text = FORM.reach.sub(lambda one: " " * len(one[0]), texts[at])
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


# Judgement ----------------------------------------------------------------------------------------

MODELS = frozenset(("coefficient", "test", "df"))
_CASES = frozenset(("valid", "valid_share", "missing", "missing_share", "whole", "whole_share"))
_COUNTS = frozenset(("count", "percent", "cumulative", "expected")) | _CASES
#: Rules by which a whole record goes.
CLOSING = frozenset(("few-cases", "all-same", "secondary"))
#: Headings of figures that only their rows name.
_GENERIC = frozenset(
    ("statistic", "statistik", "value", "wert", "estimate", "schätzwert", "quantile", "quantil")
)
_MOST_PARTS = 12
UNKNOWN = "unknown_table"


class FigureRole(NamedTuple):
    """Role of the figures below a heading, and the share of a percentile."""

    kind: str
    name: str


def role_of(words: str) -> FigureRole | None:
    """The role of figures by the words of a heading.

    >>> role_of("Std. Deviation").kind, role_of("25th Pctl").name, role_of("income")
    ('spread', 'p25', None)
    """
    match = FORM.role.fullmatch(FORM.mark.sub("", " ".join(words.split())))
    if match is None or match.lastgroup is None:
        return None
    name = "median" if match[0].lower() == "zentralwert" else match[0]
    share = match["share"] or match["share2"] or match["share3"]
    share = "25" if match["lower"] else "75" if match["upper"] else share
    return FigureRole(match.lastgroup, f"p{float(share.replace(',', '.')):g}" if share else name)


def role_of_parts(parts: Sequence[str]) -> FigureRole | None:
    """The role by a heading of several lines, or the words of a label: the last ones say it."""
    parts = parts[-_MOST_PARTS:]
    tails = (" ".join(parts[at:]) for at in range(len(parts)))
    return next(filter(None, map(role_of, tails)), None)


@dataclass(slots=True)
class ProcedureScope:
    """Output of one procedure so far."""

    rules: CleaningRules
    line: int = 0  # where it starts
    cases: float | None = None  # the fewest cases that it says it uses
    residual: float | None = None  # the fewest residual degrees of freedom
    closed: str = ""  # why tests and models go; empty if they may stay
    held: list[LogCut] = field(default_factory=list)  # what goes of tests and models, if they go
    models: int | None = None  # the first line of tests and models
    terms: int = 0  # the most coefficients of a table
    #: The cases of groups that a table of statistics has shown, by their labels
    groups: dict[str, float | None] = field(default_factory=dict)
    shared: bool = False  # whether the cases are those of all tables without their own
    #: Whether the cases stand in a list of used and left out ones, as for one model
    listed: bool = False

    def close(self, reason: str) -> None:
        """Let tests and models go."""
        self.closed = self.closed or reason

    def count(self, figure: LogFigure) -> None:
        """Take a number of cases."""
        value = figure.value
        if figure.hidden or self.rules.few(value):
            self.close("few-cases")
        elif value is not None:
            self.cases = min(value, value if self.cases is None else self.cases)

    def freedom(self, figure: LogFigure) -> None:
        """Take residual degrees of freedom."""
        value = figure.value
        if figure.hidden or (value is not None and value < self.rules.residual_df):
            self.close("degrees-of-freedom")
        if value is not None:
            self.residual = min(value, value if self.residual is None else self.residual)

    def hold(self, line: int, figures: Iterable[LogFigure]) -> None:
        """Take a table of tests or of a model."""
        self.models = line if self.models is None else self.models
        self.held += withheld(figures, "few-cases")

    def ended(self) -> tuple[list[LogCut], list[tuple[int, str]]]:
        """Figures to withhold from tests and models, and findings for an officer."""
        if self.models is None:
            return [], []
        left = None if self.cases is None else self.cases - self.terms
        few = left is not None and left < self.rules.residual_df
        if self.terms and self.residual is None and few:
            self.close("degrees-of-freedom")
        if self.closed:
            return [cut._replace(rule=self.closed) for cut in self.held], []
        blind = self.cases is None and self.residual is None
        return [], [(self.models, "models")] if blind else []


@dataclass(slots=True)
class TableJudgement:
    """Judgement of a table."""

    cuts: list[LogCut] = field(default_factory=list)  # what goes
    review: str = ""  # what a person must look at
    whole: bool = False  # whether the lines go as a whole


def opens(table: TextTable, scope: ProcedureScope) -> bool:
    """Whether a table is the first of a procedure of SPSS, which may not name itself."""
    if FORM.summary_title.fullmatch(table.title):
        return scope.models is not None or not scope.listed
    if FORM.descriptives.fullmatch(table.title):
        roles = filter(None, map(role_of_parts, table.heads))
        return scope.models is not None or any(role.kind == "count" for role in roles)
    return bool(FORM.opens.fullmatch(table.title))


def judged_table(table: TextTable, scope: ProcedureScope) -> TableJudgement:
    """Look at a table by its title, its headings and its rows."""
    if FORM.record_title.fullmatch(table.title):
        return TableJudgement(withheld(table.figures(), "records"), whole=True)
    if FORM.plain_title.fullmatch(table.title):  # of variables and the program, but for cases
        counts = (row for row in table.rows if FORM.cases_row.search(row.text))
        small = [one for row in counts for one in row.filled(1) if scope.rules.few(one.value)]
        return TableJudgement(withheld(small, "few-cases"))
    if table.odd or not table.heads or not table.rows or table.doubtful:
        return _unknown(table)
    roles = [role_of_parts(parts) for parts in table.heads]
    first = _first_figures(table, roles)
    cells = table.figures(first)
    if not cells:
        return _unknown(table) if any(map(is_figure, table.figures(0))) else TableJudgement()
    if any(role is not None and role.kind == "refused" for role in roles):
        return TableJudgement(withheld(table.figures(), "records"), whole=True)
    known = [role for role in roles[first:] if role is not None]
    labels = [one for row in table.rows for one in row.filled(1, first)]
    wide = table.bare and any(len(some) > 1 for row in table.rows for some in row.cells[:first])
    if wide or (any(map(is_figure, labels)) and not _are_codes(known, table, first)):
        return _unknown(table)
    rows = table.labelled(first)
    heads = " ".join(chain.from_iterable(table.heads))
    if FORM.plain_heads.fullmatch(heads) or all(FORM.plain_label.fullmatch(one) for one, _ in rows):
        return TableJudgement()
    work = _FigureTable(table, rows, first, scope)
    if len(known) == len(roles) - first and not _generic(known):
        return work.of_kinds(work.records_of_rows(known), [role.kind for role in known])
    named = [role_of_parts(label.split()) for label, _ in rows]
    if not all(map(is_figure, cells)) and None in named:
        return _unknown(table)
    if FORM.matrix_title.fullmatch(table.title) and not known and None in named:
        return work.matrix()
    if FORM.counts_title.fullmatch(table.title):
        return work.all_if_few(())
    own = [role for role in named if role is not None]
    if not own and FORM.crosstab_title.fullmatch(table.title):
        return work.crosstab([FigureRole("count", "count")] * len(rows))
    if len(own) != len(named) or {role.kind for role in own} <= {"percent", "refused"}:
        return _unknown(table)
    if {role.kind for role in own} <= {"count", "percent", "expected"}:
        return work.crosstab(own)
    return work.of_kinds(work.records_of_columns(own), [role.kind for role in own], own)


def _first_figures(table: TextTable, roles: Sequence[FigureRole | None]) -> int:
    """The first column with figures: labels stand before it, below headings that are no role."""
    labels = [one for row in table.rows for one in row.filled(0, 1)]
    start = 0 if table.bare or (roles[0] and all(map(is_figure, labels))) else 1
    first = next((at for at, role in enumerate(roles[start:], start) if role), len(roles))
    if first < len(roles) and all(roles[first:]):
        return first
    first = 1
    while first < len(roles) - 1 and not table.heads[first]:
        first += 1
    return min(first, len(roles))


def _are_codes(known: Sequence[FigureRole], table: TextTable, first: int) -> bool:
    """Whether figures among the labels are codes of groups, which come again; not statistics whose
    heading is not known.
    """
    if FORM.response_head.fullmatch(" ".join(table.heads[0])):
        return True
    for at in range(1, first):
        codes = [one.text for row in table.rows for one in row.filled(at, at + 1)]
        figures = [code for code in codes if numeric(code) is not None]
        single = 2 * len(set(figures)) > len(figures)
        numbered = not table.bare and FORM.numbered_head.fullmatch(" ".join(table.heads[at]))
        if not all(map(FORM.code.fullmatch, figures)) or (single and not numbered):
            return False
    return any(role.kind in ("count", "coefficient", "test") for role in known)


def _generic(known: Iterable[FigureRole | None]) -> bool:
    """Whether headings say no more than that there are statistics: the rows name them."""
    names = {role.name.lower() for role in known if role is not None}
    return bool(names & _GENERIC) and names <= _GENERIC | {"std. error", "standardfehler"}


def _unknown(table: TextTable) -> TableJudgement:
    """All figures of a table go, in labels too; without a frame or headings also the words."""
    cells = table.figures() + [one for one in table.figures(0) if is_figure(one)]
    whole = table.odd or table.doubtful or table.bare or not (table.rows and any(table.heads))
    return TableJudgement(list(dict.fromkeys(withheld(cells, "unknown-table"))), UNKNOWN, whole)


def stub_of(label: str, role: FigureRole | None = None) -> str:
    """The label of a row, without the name of what stands in it; that of totals is one word."""
    if role is not None:
        label = label.removesuffix(role.name).strip() if role.name.lower() != "count" else label
        label = re.sub(r"(?i)\s*(?:count|anzahl)$", "", label)
    if FORM.total.fullmatch(label):
        return TOTAL
    return "diff" if FORM.difference.match(label) else label


def _repeats(record: StatisticsRecord, role: FigureRole) -> bool:
    return role.name in record.names and role.kind != "interval"


@dataclass(frozen=True, slots=True)
class _FigureTable:
    """A table whose headings are understood, with the first of its columns of figures."""

    table: TextTable
    rows: Sequence[tuple[str, TextRow]]
    first: int
    scope: ProcedureScope

    def column(self, row: TextRow, at: int) -> list[LogFigure]:
        return row.filled(self.first + at, self.first + at + 1)

    def cells(self) -> list[LogFigure]:
        return self.table.figures(self.first)

    def few(self, figures: Iterable[LogFigure]) -> bool:
        """Whether one of some counts is too small, or withheld already."""
        return any(self.scope.rules.few(one.value) or one.hidden for one in figures)

    def all_if_few(self, records: Sequence[StatisticsRecord], *kinds: str) -> TableJudgement:
        """Counts in any order, with shares: all go if one is too small."""
        every = [one for some in records for one in some.figures(*kinds)]
        if not self.few(every if records else self.cells()):
            return TableJudgement()
        if "missing" not in kinds:
            self.scope.close("few-cases")
        return TableJudgement(withheld(self.cells(), "few-cases"))

    # Records --------------------------------------------------------------------------------------

    def records_of_rows(self, roles: Sequence[FigureRole]) -> list[StatisticsRecord]:
        """A record for each row, or several where headings come again."""
        records: list[StatisticsRecord] = []
        counted = [at for at, role in enumerate(roles) if role.kind == "count"]
        at_all = self.total_line(counted[0]) if counted else None
        for label, row in self.rows:
            start = len(records)
            for at, role in enumerate(roles):
                for one in self.column(row, at):
                    if len(records) == start or _repeats(records[-1], role):
                        records.append(
                            StatisticsRecord(TOTAL if row.line == at_all else stub_of(label))
                        )
                    records[-1].add(role.kind, role.name, one)
        return records

    def records_of_columns(self, roles: Sequence[FigureRole]) -> list[StatisticsRecord]:
        """Statistics below each other, a record for each column."""
        heads = self.table.heads[self.first :]
        generic = _generic(map(role_of_parts, heads))
        records: list[StatisticsRecord] = []
        by_column: dict[int, StatisticsRecord] = {}
        for (_, row), role in zip(self.rows, roles, strict=True):
            for at in range(len(heads)):
                for one in self.column(row, at):
                    # A second column of statistics holds their errors.
                    mine = role if not generic or not at else FigureRole("error", role.name)
                    key = 0 if generic else at
                    record = by_column.get(key)
                    if record is None or (mine.kind != "error" and _repeats(record, mine)):
                        record = by_column[key] = StatisticsRecord("")
                        records.append(record)
                    record.add(mine.kind, mine.name, one)
        return records

    def total_line(self, counted: int) -> int | None:
        """The last line if its count is the sum of all others: a total under any name."""
        values = [one.value for _, row in self.rows for one in self.column(row, counted)[:1]]
        if len(values) < max(3, len(self.rows)) or None in values:
            return None
        *parts, last = (value or 0 for value in values)
        return self.rows[-1][1].line if last == sum(parts) > 0 else None

    # Kinds of tables ------------------------------------------------------------------------------

    def of_kinds(
        self,
        records: Sequence[StatisticsRecord],
        kinds: Sequence[str],
        by_rows: Sequence[FigureRole] = (),
    ) -> TableJudgement:
        """A table by the kinds of its figures."""
        present, cells = set(kinds), self.cells()
        if present <= _COUNTS:
            if not all(map(is_figure, cells)):
                return _unknown(self.table)
            if present & _CASES:
                self.scope.shared = True
                for one in (one for some in records for one in some.figures("valid")):
                    self.scope.count(one)
                return self.all_if_few(records, "valid", "missing", "whole")
            if "count" not in present:
                cuts = withheld(cells, "few-cases")
                return TableJudgement(cuts, "shares")
            if any(len(some.figures("count")) > 1 for some in records) or kinds.count("count") > 1:
                return self.all_if_few(records, "count")
            return TableJudgement(self.list_of_counts(kinds))
        if present & MODELS:
            return TableJudgement(self.model(records, kinds, by_rows))
        if present == {"distinct"}:  # the levels of classifications
            words = [one for one in cells if not is_figure(one) and any(map(str.isdigit, one.text))]
            return TableJudgement(withheld(words, "distinct-values"))
        return self.statistics(records, several=not by_rows and len(records) > len(self.rows))

    def list_of_counts(self, kinds: Sequence[str]) -> list[LogCut]:
        """A count in each row, with shares; where most are small, labels are values and go too."""
        scope, rules = self.scope, self.scope.rules
        order = [kinds.index("count"), *(at for at, kind in enumerate(kinds) if kind != "count")]
        at_all = self.total_line(order[0])
        lines: list[FigureRow] = []
        cumulated: list[LogFigure] = []
        for label, row in self.rows:
            shown = [one for at in order for one in self.column(row, at)]
            for at, kind in enumerate(kinds):
                cumulated += self.column(row, at) if kind == "cumulative" else []
            stub = TOTAL if at_all == row.line else stub_of(label)
            lines += [FigureRow(stub, shown)] if shown else []
        few = [line.count for line in lines if self.few([line.count])]
        totals = [line for line in lines if line.stub == TOTAL]
        if any(line.count in few for line in totals) or 2 * len(few) > len(lines):
            cuts = withheld(self.table.figures(0), "few-cases")
        else:
            cuts = counts_cuts(lines, cumulated, rules)
        if any(line.count in few for line in lines if FORM.absent.match(line.stub)):
            # Shares of valid cases tell how many are missing.
            heads = map(" ".join, self.table.heads[self.first :])
            columns = [at for at, head in enumerate(heads) if FORM.of_valid.search(head)]
            shares = (self.column(row, at) for row in self.table.rows for at in columns)
            cuts += withheld(chain.from_iterable(shares), "secondary")
        for _, row in self.rows:
            if any(one in few for one in row.filled(self.first)[:1]):
                # The value that few cases have, if the label of a row is a number.
                cuts += [
                    LogCut(one.line, *match.span(), "few-cases", align="none")
                    for one in chain.from_iterable(row.cells[: self.first])
                    for match in FORM.last_word.finditer(row.text, one.start, one.end)
                    if figure_text(match[0], commas=False) or figure_text(match[0], commas=True)
                ]
        if cuts or few:
            scope.close("few-cases")
        used = [line for line in lines if FORM.included.fullmatch(line.stub)]
        for line in used or totals[-1:]:
            scope.count(line.count)
        scope.listed = bool(used)
        return cuts

    def model(
        self,
        records: Sequence[StatisticsRecord],
        kinds: Sequence[str],
        by_rows: Sequence[FigureRole],
    ) -> list[LogCut]:
        """Coefficients and tests: they go if their cases or degrees of freedom are too few."""
        cuts: list[LogCut] = []
        for record in records:
            counts = record.figures("count")
            if by_rows and self.few(counts):
                cuts += withheld(record.figures(), "few-cases")
                continue
            for one in counts:
                self.scope.count(one)
            cuts += withheld(record.figures("extreme", "distinct"), "extremes")
        for label, row in self.rows if not by_rows else ():
            for at, kind in enumerate(kinds):
                for one in self.column(row, at):
                    if FORM.sample_line.fullmatch(f"{label} = {one.text}"):
                        self.scope.count(one)
                    elif kind == "df" and FORM.residual.fullmatch(label):
                        self.scope.freedom(one)
        if "coefficient" in kinds and not by_rows:
            self.scope.terms = max(self.scope.terms, len(self.rows))
        self.scope.hold(self.table.start, self.cells())
        return cuts

    def statistics(self, records: Sequence[StatisticsRecord], *, several: bool) -> TableJudgement:
        """Means and the like; with several totals, or several in a row, all go with the first."""
        scope, rules = self.scope, self.scope.rules
        for record in records:
            if record.count is None and not record.closed and "missing" not in record.kinds:
                record.count = scope.groups.get(record.stub, scope.cases if scope.shared else None)
        every = [one for some in records for one in some.figures()]
        if scope.closed and any("count" not in record.kinds for record in records):
            # A group of too few cases, and nothing says which one.
            return TableJudgement(withheld(every, "few-cases"))
        claim = statistics_claim(0, [record for record in records if record.kinds], rules)
        cuts = claim.cuts
        cuts += withheld(every if claim.review else (), "few-cases")  # groups of unknown size
        gone = any(cut.rule in CLOSING for cut in cuts) or any(record.closed for record in records)
        totals = sum(record.stub == TOTAL for record in records)
        cuts += withheld(every if gone and (several or totals > 1) else (), "secondary")
        for record in records:
            if self.few(record.figures("missing")):
                # A small number of missing values, and that of the others, which gives it back.
                cuts += withheld(record.figures("missing", "count"), "few-cases")
            if record.count is not None and (counts := record.figures("count")):
                scope.count(counts[0])
                scope.groups[record.stub] = record.count
        if gone:
            scope.close("few-cases")
        return TableJudgement(list(dict.fromkeys(cuts)), claim.review)

    def matrix(self) -> TableJudgement:
        """A matrix of correlations: the title, or whole numbers in it, tell the cases."""
        if (match := FORM.cases_in_title.fullmatch(self.table.title)) is not None:
            self.scope.count(LogFigure(match["count"], 0, 0, 0))
        for one in self.cells():
            if one.text.isdecimal() or one.hidden:
                self.scope.count(one)
        self.scope.hold(self.table.start, self.cells())
        return TableJudgement()

    def crosstab(self, roles: Sequence[FigureRole]) -> TableJudgement:
        """Counts by two variables; more than one total, of parts, is a table of three."""
        if roles[0].kind != "count":
            return _unknown(self.table)
        counted: list[FigureRow] = []
        shares: list[LogFigure] = []
        for (label, row), role in zip(self.rows, roles, strict=True):
            if role.kind == "count":
                counted.append(FigureRow(stub_of(label, role), row.filled(self.first)))
            else:
                shares += row.filled(self.first)
        return counts_by_two(counted, shares, " ".join(self.table.heads[-1]), self.scope)


def counts_by_two(
    rows: Sequence[FigureRow], shares: Sequence[LogFigure], last_head: str, scope: ProcedureScope
) -> TableJudgement:
    """Figures to withhold from counts by two variables and their shares."""
    rules = scope.rules
    total_column = bool(FORM.total.fullmatch(last_head))
    cells = [one for row in rows for one in row.figures]
    few = any(rules.few(one.value) or one.hidden for one in cells)
    totals = [row for row in rows if row.stub == TOTAL]
    if len(totals) > 1:
        cuts = withheld(cells, "few-cases") if few else []
    else:
        cuts = crosstab_cuts(rows, shares, rules, total_column=total_column)
    if few or cuts:
        cuts += withheld(shares, "small-cells")  # shares of totals give their counts back
        scope.close("small-cells")
    elif totals and total_column:
        scope.count(totals[-1].figures[-1])
    review = "" if total_column and rows[-1].stub == TOTAL else "wide"
    return TableJudgement(list(dict.fromkeys(cuts)), review)
