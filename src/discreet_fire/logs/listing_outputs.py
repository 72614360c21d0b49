"""Tables of SPSS and SAS, judged by what their headings and rows say.

In: tables of a listing, one after the other (CONFIDENTIAL). Out: a `TableJudgement`: cuts, and what
hangs on what the rest of its procedure shows: tests and models go if their cases go. A table with a
heading or a row that is not known is not known, and all its figures go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from discreet_fire.logs.claims import FigureRow, LogCut, LogFigure, OutputForms, numeric, withheld
from discreet_fire.logs.listing_tables import (
    BoxedCounts,
    ListingRow,
    ListingTable,
    figure_text,
    is_figure,
)
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.table_rules import (
    StatisticsRecord,
    crosstab_cuts,
    hidden_rows,
    statistics_claim,
    subtotal_cuts,
)

FORM = OutputForms("listings")
_COUNTS = frozenset(("count", "percent", "cumulative"))
_CASES = frozenset(
    ("valid", "valid_share", "missing", "missing_share", "whole", "whole_share", "percent")
)
MODELS = frozenset(("coefficient", "test", "df"))
_CELLS = frozenset(("count", "percent", "expected"))
_CODE = re.compile(r"\d{1,4}")
_LAST_WORD = re.compile(r"\S+(?=\s*$)")
#: Rules by which a whole record goes.
CLOSING = frozenset(("few-cases", "all-same", "secondary"))
#: Headings of figures that only their rows name.
_GENERIC = frozenset(
    ("statistic", "statistik", "value", "wert", "estimate", "schätzwert", "quantile", "quantil")
)
_TOTAL = "Total"
_MOST_PARTS = 12
UNKNOWN = "tables that no rule knows; their figures are withheld"


@dataclass(frozen=True, slots=True)
class FigureRole:
    """What figures below a heading are, and the share of a percentile."""

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
    """What one procedure has shown so far."""

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

    def count(self, figure: LogFigure, rules: CleaningRules) -> None:
        """Take a number of cases."""
        if figure.hidden or rules.few(figure.value):
            self.close("few-cases")
        elif figure.value is not None:
            self.cases = figure.value if self.cases is None else min(self.cases, figure.value)

    def freedom(self, figure: LogFigure, rules: CleaningRules) -> None:
        """Take residual degrees of freedom."""
        value = figure.value
        if figure.hidden or (value is not None and value < rules.residual_df):
            self.close("degrees-of-freedom")
        if value is not None:
            self.residual = value if self.residual is None else min(self.residual, value)

    def hold(self, line: int, figures: Iterable[LogFigure]) -> None:
        """Take a table of tests or of a model."""
        self.models = line if self.models is None else self.models
        self.held += withheld(figures, "few-cases")

    def ended(self, rules: CleaningRules) -> tuple[list[LogCut], list[tuple[int, str]]]:
        """What goes of tests and models, and what a person must look at."""
        if self.models is None:
            return [], []
        left = None if self.cases is None else self.cases - self.terms
        if self.terms and self.residual is None and left is not None and left < rules.residual_df:
            self.close("degrees-of-freedom")
        if self.closed:
            return [cut._replace(rule=self.closed) for cut in self.held], []
        blind = self.cases is None and self.residual is None
        return [], [(self.models, "models without their number of cases")] if blind else []


@dataclass(slots=True)
class TableJudgement:
    """What becomes of a table."""

    cuts: list[LogCut] = field(default_factory=list)  # what goes
    review: str = ""  # what a person must look at
    whole: bool = False  # whether the lines go as a whole


def opens(table: ListingTable, scope: ProcedureScope) -> bool:
    """Whether a table is the first of a procedure of SPSS, which may not name itself."""
    if FORM.summary_title.fullmatch(table.title):
        return scope.models is not None or not scope.listed
    if FORM.descriptives.fullmatch(table.title):
        roles = filter(None, map(role_of_parts, table.heads))
        return scope.models is not None or any(role.kind == "count" for role in roles)
    return bool(FORM.opens.fullmatch(table.title))


def judged_table(
    table: ListingTable, scope: ProcedureScope, rules: CleaningRules
) -> TableJudgement:
    """Look at a table by its title, its headings and its rows."""
    if FORM.record_title.fullmatch(table.title):
        return TableJudgement(withheld(table.figures(), "records"), whole=True)
    if FORM.plain_title.fullmatch(table.title):  # of variables and the program, but for cases
        counts = (row for row in table.rows if FORM.cases_row.search(row.text))
        small = [one for row in counts for one in row.filled(1) if rules.few(one.value)]
        return TableJudgement(withheld(small, "few-cases"))
    if table.odd or not table.heads or not table.rows or table.doubtful:
        return _unknown(table)
    roles = [role_of_parts(parts) for parts in table.heads]
    first = _first_figures(table, roles)
    if not table.figures(first):
        return _unknown(table) if any(map(is_figure, table.figures(0))) else TableJudgement()
    known = [role for role in roles[first:] if role is not None]
    if any(role is not None and role.kind == "refused" for role in roles):
        return TableJudgement(withheld(table.figures(), "records"), whole=True)
    rows = table.labelled(first)
    if table.bare and any(len(some) > 1 for row in table.rows for some in row.cells[:first]):
        return _unknown(table)
    labels = [one for row in table.rows for one in row.filled(1, first)]
    if any(map(is_figure, labels)) and not _groups(known, table, first):
        return _unknown(table)
    heads = " ".join(chain.from_iterable(table.heads))
    if FORM.plain_heads.fullmatch(heads) or all(FORM.plain_label.fullmatch(one) for one, _ in rows):
        return TableJudgement()
    work = _FigureTable(table, rows, first, scope, rules)
    named = [role_of_parts(label.split()) for label, _ in rows]
    if FORM.matrix_title.fullmatch(table.title) and not known and None in named:
        return work.matrix()
    if len(known) == len(table.heads) - first and not _generic(known):
        return work.by_columns(known)
    return work.by_rows(named)


def _first_figures(table: ListingTable, roles: Sequence[FigureRole | None]) -> int:
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


def _groups(known: Sequence[FigureRole], table: ListingTable, first: int) -> bool:
    """Whether figures among the labels are codes of groups, which come again; not statistics whose
    heading is not known.
    """
    if FORM.response_head.fullmatch(" ".join(table.heads[0])):
        return True
    for at in range(1, first):
        codes = [one.text for row in table.rows for one in row.filled(at, at + 1)]
        figures = [code for code in codes if numeric(code) is not None]
        if not all(map(_CODE.fullmatch, figures)):
            return False
        head = " ".join(table.heads[at])
        again = 2 * len(set(figures)) <= len(figures)
        if figures and not again and (table.bare or not FORM.numbered_head.fullmatch(head)):
            return False
    return any(role.kind in ("count", "coefficient", "test") for role in known)


def _generic(known: Iterable[FigureRole | None]) -> bool:
    """Whether headings say no more than that there are statistics: the rows name them."""
    names = {role.name.lower() for role in known if role is not None}
    return bool(names & _GENERIC) and names <= _GENERIC | {"std. error", "standardfehler"}


def _unknown(table: ListingTable) -> TableJudgement:
    """All figures of a table go, in labels too; without a frame or headings also the words."""
    cells = table.figures() + [one for one in table.figures(0) if is_figure(one)]
    whole = table.odd or table.doubtful or table.bare or not (table.rows and any(table.heads))
    return TableJudgement(list(dict.fromkeys(withheld(cells, "unknown-table"))), UNKNOWN, whole)


def _stub(label: str, role: FigureRole | None = None) -> str:
    """The label of a row, without the name of what stands in it; that of totals is one word."""
    if role is not None:
        named = role.name.lower() != "count"
        label = label.removesuffix(role.name).strip() if named else label
        label = re.sub(r"(?i)\s*(?:count|anzahl)$", "", label)
    return _TOTAL if FORM.total.fullmatch(label) else label


def _repeats(record: StatisticsRecord, role: FigureRole) -> bool:
    return role.name in record.names and role.kind != "interval"


@dataclass(frozen=True, slots=True)
class _FigureTable:
    """A table whose headings are understood, with the first of its columns of figures."""

    table: ListingTable
    rows: Sequence[tuple[str, ListingRow]]
    first: int
    scope: ProcedureScope
    rules: CleaningRules

    def column(self, row: ListingRow, at: int) -> list[LogFigure]:
        return row.filled(self.first + at, self.first + at + 1)

    def few(self, figures: Iterable[LogFigure]) -> bool:
        """Whether one of some counts is too small, or withheld already."""
        return any(self.rules.few(one.value) or one.hidden for one in figures)

    def total_line(self, counted: int) -> int | None:
        """The last line if its count is the sum of all others: a total under any name."""
        counts = [self.column(row, counted) for _, row in self.rows]
        values = [some[0].value if some else None for some in counts]
        if len(values) < 3 or None in values:
            return None
        *parts, last = (value or 0 for value in values)
        return self.rows[-1][1].line if last == sum(parts) > 0 else None

    # By columns -----------------------------------------------------------------------------------

    def by_columns(self, roles: Sequence[FigureRole]) -> TableJudgement:
        """A table whose headings say what stands below them."""
        kinds = [role.kind for role in roles]
        present, cells = set(kinds), self.table.figures(self.first)
        if any(not is_figure(one) for one in cells) and present <= _COUNTS | _CASES:
            return _unknown(self.table)
        if present & {"valid", "whole"} and present <= _CASES:
            return TableJudgement(self.processed(kinds))
        if present <= _COUNTS and "count" in present:
            if len({role.name.lower() for role in roles}) == len(roles):
                return TableJudgement(self.list_of_counts(kinds))
            # Several columns of counts: all go if one is too small.
            counted = [at for at, kind in enumerate(kinds) if kind == "count"]
            counts = chain.from_iterable(
                self.column(row, at) for _, row in self.rows for at in counted
            )
            if not self.few(counts):
                return TableJudgement()
            self.scope.close("few-cases")
            shown = chain.from_iterable(row.filled(self.first) for _, row in self.rows)
            return TableJudgement(withheld(shown, "few-cases"))
        if present & MODELS:
            return TableJudgement(self.model(roles))
        if present == {"distinct"}:  # the levels of classifications
            words = [one for one in cells if not is_figure(one) and any(map(str.isdigit, one.text))]
            return TableJudgement(withheld(words, "distinct-values"))
        if present <= {"percent", "cumulative", "expected"}:
            cuts = withheld(cells, "few-cases")
            return TableJudgement(cuts, "shares without the counts they rest on")
        return self.statistics(roles)

    def processed(self, kinds: Sequence[str]) -> list[LogCut]:
        """How many cases are used, left out, there: two of them give the third."""
        at = {kind: place for place, kind in enumerate(kinds)}
        valid = [self.column(row, at["valid"]) if "valid" in at else [] for _, row in self.rows]
        for one in (some[0] for some in valid if some):
            self.scope.count(one, self.rules)
        self.scope.shared = True
        values = [some[0].value if some else None for some in valid if "valid" in at]
        closed = [bool(some and some[0].hidden) for some in valid if "valid" in at]
        hidden = hidden_rows(values, closed, None, self.rules)
        cuts: list[LogCut] = []
        for place, (_, row) in enumerate(self.rows):
            shown = row.filled(self.first)
            if place in hidden:
                cuts += withheld(shown, hidden[place])
            elif "missing" in at and self.few(self.column(row, at["missing"])):
                cuts += withheld((one for one in shown if one not in valid[place]), "few-cases")
        return cuts

    def list_of_counts(self, kinds: Sequence[str]) -> list[LogCut]:
        rules, scope = self.rules, self.scope
        order = [kinds.index("count"), *(at for at, kind in enumerate(kinds) if kind != "count")]
        at_all = self.total_line(order[0])
        lines: list[FigureRow] = []
        cumulated: list[LogFigure] = []
        for label, row in self.rows:
            shown = [one for at in order for one in self.column(row, at)]
            for at, kind in enumerate(kinds):
                cumulated += self.column(row, at) if kind == "cumulative" else []
            lines.append(FigureRow(_TOTAL if at_all == row.line else _stub(label), shown))
        filled = [line for line in lines if line.figures]
        counts = [line.count for line in filled]
        totals = [line for line in filled if line.stub == _TOTAL]
        few = [one for one in counts if self.few([one])]
        if any(line.count in few for line in totals) or 2 * len(few) > len(counts):
            cuts = withheld(self.table.figures(0), "few-cases")  # a list of values more than groups
        elif not few:
            cuts = []
        elif totals and lines[-1] is totals[-1]:
            cuts = [*subtotal_cuts(filled, rules), *withheld(cumulated, "secondary")]
        else:
            parts = [line for line in filled if line.stub != _TOTAL]
            values = [line.count.value for line in parts]
            closed = [line.count.hidden for line in parts]
            hidden = hidden_rows(values, closed, None, rules)
            cuts = [cut for at, why in hidden.items() for cut in withheld(parts[at].figures, why)]
            cuts += withheld(cumulated, "secondary")
        if any(line.count in few for line in filled if FORM.absent.match(line.stub)):
            # Shares of valid cases tell how many are missing.
            heads = map(" ".join, self.table.heads[self.first :])
            columns = [at for at, head in enumerate(heads) if FORM.of_valid.search(head)]
            shares = (self.column(row, at) for row in self.table.rows for at in columns)
            cuts += withheld(chain.from_iterable(shares), "secondary")
        for _, row in self.rows:
            if any(one in few for one in row.filled(self.first)[:1]):
                cuts += _values_in_label(row, self.first)
        if cuts or few:
            scope.close("few-cases")
        used = [line for line in filled if FORM.included.fullmatch(line.stub)]
        for line in used or totals[-1:]:
            scope.count(line.count, rules)
        scope.listed = bool(used)
        return cuts

    def model(self, roles: Sequence[FigureRole]) -> list[LogCut]:
        """Coefficients and tests: they go if their cases or degrees of freedom are too few."""
        cuts: list[LogCut] = []
        for label, row in self.rows:
            for at, role in enumerate(roles):
                for one in self.column(row, at):
                    if role.kind == "count" or FORM.sample_line.fullmatch(f"{label} = {one.text}"):
                        self.scope.count(one, self.rules)
                    elif role.kind == "df" and FORM.residual.fullmatch(label):
                        self.scope.freedom(one, self.rules)
                    elif role.kind in ("extreme", "distinct"):
                        cuts += withheld([one], "extremes")
        if any(role.kind == "coefficient" for role in roles):
            self.scope.terms = max(self.scope.terms, len(self.rows))
        self.scope.hold(self.table.start, self.table.figures(self.first))
        return cuts

    def statistics(self, roles: Sequence[FigureRole]) -> TableJudgement:
        """Means and the like, a record for each row, or several where headings come again."""
        records: list[StatisticsRecord] = []
        several = False
        counted = [at for at, role in enumerate(roles) if role.kind == "count"]
        at_all = self.total_line(counted[0]) if counted else None
        for label, row in self.rows:
            stub = _TOTAL if row.line == at_all else _stub(label)
            stub = "diff" if stub != _TOTAL and FORM.difference.match(label) else stub
            start = len(records)
            for at, role in enumerate(roles):
                for one in self.column(row, at):
                    if len(records) == start or _repeats(records[-1], role):
                        records.append(StatisticsRecord(stub))
                    records[-1].add(role.kind, role.name, one)
            several = several or len(records) > start + 1
        return self.of_records(records, several=several)

    def of_records(self, records: Sequence[StatisticsRecord], *, several: bool) -> TableJudgement:
        """What goes of records; with several totals, or several in a row, all with the first."""
        rules, scope = self.rules, self.scope
        for record in records:
            record.closed |= any(rules.few(one.value) for one in record.kinds.get("count", []))
            if record.count is None and not record.closed and "missing" not in record.kinds:
                record.count = scope.groups.get(record.stub, scope.cases if scope.shared else None)
        every = [one for some in records for one in some.figures()]
        if scope.closed and any("count" not in record.kinds for record in records):
            # A group of too few cases, and nothing says which one.
            return TableJudgement(withheld(every, "few-cases"))
        if not any(record.kinds for record in records):
            return TableJudgement()
        claim = statistics_claim(0, [record for record in records if record.kinds], rules)
        cuts = claim.cuts
        cuts += withheld(every if claim.review else (), "few-cases")  # groups of unknown size
        gone = any(cut.rule in CLOSING for cut in cuts) or any(record.closed for record in records)
        totals = sum(record.stub == _TOTAL for record in records)
        cuts += withheld(every if gone and (several or totals > 1) else (), "secondary")
        for record in records:
            missing, counts = (record.kinds.get(kind, []) for kind in ("missing", "count"))
            if any(rules.few(one.value) for one in missing):
                # A small number of missing values, and that of the others, which gives it back.
                cuts += withheld([*missing, *counts], "few-cases")
            if record.count is not None and counts:
                scope.count(counts[0], rules)
                scope.groups[record.stub] = record.count
        if gone:
            scope.close("few-cases")
        return TableJudgement(list(dict.fromkeys(cuts)), claim.review)

    # By rows --------------------------------------------------------------------------------------

    def by_rows(self, named: Sequence[FigureRole | None]) -> TableJudgement:
        """A table whose rows say what they are, or counts by two variables."""
        table, cells = self.table, self.table.figures(self.first)
        if FORM.counts_title.fullmatch(table.title):
            # Counts in any order, with shares: all go if one is too small.
            if not all(map(is_figure, cells)):
                return _unknown(table)
            if not self.few(cells):
                return TableJudgement()
            self.scope.close("few-cases")
            return TableJudgement(withheld(cells, "few-cases"))
        roles = [role for role in named if role is not None]
        kinds = {role.kind for role in roles}
        if len(roles) == len(named) and kinds <= _CELLS and "count" in kinds:
            return self.crosstab(roles)
        if len(roles) == len(named) and kinds and not kinds <= _CELLS | {"refused"}:
            return self.records_by_rows(roles)
        if FORM.crosstab_title.fullmatch(table.title) and not roles:
            return self.crosstab([FigureRole("count", "count")] * len(self.rows))
        return _unknown(table)

    def records_by_rows(self, roles: Sequence[FigureRole]) -> TableJudgement:
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
        if not {role.kind for role in roles} & MODELS:
            return self.of_records(records, several=False)
        # Coefficients, tests and numbers of cases below each other, such as correlations.
        cuts: list[LogCut] = []
        for record in records:
            for one in record.kinds.get("count", []):
                if self.few([one]):
                    cuts += withheld(record.figures(), "few-cases")
                elif one.value is not None:
                    self.scope.cases = min(one.value, self.scope.cases or one.value)
            cuts += withheld(record.kinds.get("extreme", []), "extremes")
        self.scope.hold(self.table.start, self.table.figures(self.first))
        return TableJudgement(cuts)

    def matrix(self) -> TableJudgement:
        """A matrix of correlations: the title, or whole numbers in it, tell the cases."""
        cells = self.table.figures(self.first)
        if not all(map(is_figure, cells)):
            return _unknown(self.table)
        if (match := FORM.cases_in_title.fullmatch(self.table.title)) is not None:
            self.scope.count(LogFigure(match["count"], 0, 0, 0), self.rules)
        for one in cells:
            if one.text.isdecimal() or one.hidden:
                self.scope.count(one, self.rules)
        self.scope.hold(self.table.start, cells)
        return TableJudgement()

    def crosstab(self, roles: Sequence[FigureRole]) -> TableJudgement:
        """Counts by two variables; more than one total, of parts, is a table of three."""
        if roles[0].kind != "count" or not all(map(is_figure, self.table.figures(self.first))):
            return _unknown(self.table)
        counted: list[FigureRow] = []
        shares: list[LogFigure] = []
        for (label, row), role in zip(self.rows, roles, strict=True):
            if role.kind == "count":
                counted.append(FigureRow(_stub(label, role), row.filled(self.first)))
            else:
                shares += row.filled(self.first)
        heads = " ".join(self.table.heads[-1])
        return _counts_by_two(counted, shares, heads, self.scope, self.rules)


def _values_in_label(row: ListingRow, first: int) -> Iterator[LogCut]:
    """The value that few cases have, if the label of a row is a number."""
    for one in chain.from_iterable(row.cells[:first]):
        for match in _LAST_WORD.finditer(row.text, one.start, one.end):
            if figure_text(match[0], commas=False) or figure_text(match[0], commas=True):
                yield LogCut(one.line, *match.span(), "few-cases", align="none")


def _counts_by_two(
    rows: Sequence[FigureRow],
    shares: Sequence[LogFigure],
    last_head: str,
    scope: ProcedureScope,
    rules: CleaningRules,
) -> TableJudgement:
    total_column = bool(FORM.total.fullmatch(last_head))
    cells = [one for row in rows for one in row.figures]
    few = any(rules.few(one.value) or one.hidden for one in cells)
    totals = [row for row in rows if row.stub == _TOTAL]
    if len(totals) > 1:
        cuts = withheld(cells, "few-cases") if few else []
    else:
        cuts = crosstab_cuts(rows, shares, rules, total_column=total_column)
    if few or cuts:
        cuts += withheld(shares, "small-cells")  # shares of totals give their counts back
        scope.close("small-cells")
    elif totals and total_column:
        scope.count(totals[-1].figures[-1], rules)
    review = "" if total_column and rows[-1].stub == _TOTAL else "part of a wide table"
    return TableJudgement(list(dict.fromkeys(cuts)), review)


def judged_box(box: BoxedCounts, scope: ProcedureScope, rules: CleaningRules) -> TableJudgement:
    """Look at a two-way table of PROC FREQ: rows with a label hold counts, others shares."""
    cells = list(chain.from_iterable(row for _, row in box.rows))
    rows = [FigureRow(_stub(label), shown) for label, shown in box.rows if label]
    shares = [one for label, shown in box.rows if not label for one in shown]
    known = all(map(role_of, box.kinds)) and FORM.count_word.fullmatch(box.kinds[0])
    width = {len(row.figures) for row in rows}
    if box.odd or not known or not cells or width != {len(box.heads)}:
        return TableJudgement(withheld(cells, "unknown-table"), UNKNOWN)
    return _counts_by_two(rows, shares, box.heads[-1] if box.heads else "", scope, rules)
