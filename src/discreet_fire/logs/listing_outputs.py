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

from discreet_fire.logs.claims import LogCut, LogFigure, OutputForms, numeric, withheld
from discreet_fire.logs.frequencies import CountRow, CrosstabCounts, crosstab_cuts, hidden_rows
from discreet_fire.logs.listing_tables import (
    BoxedCounts,
    ListingRow,
    ListingTable,
    figure_text,
    is_figure,
)
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.statistics import StatisticsRecord, statistics_claim
from discreet_fire.logs.summary_tables import FigureLine, subtotal_cuts

FORM = OutputForms(
    "listings",
    "role total procedure page system continued label_line group_line footnote expected_note "
    "figure_in_note missing_line sample_line cases_in_title pair_cases pair_count pair_plain "
    "matrix_title record_title plain_title opens residual count_word echo text_row log_program "
    "log_note log_note_starts log_dump log_plain log_symbol crosstab_title "
    "plain_words pair_test absent of_valid difference counts_title included summary_title "
    "descriptives numbered_head response_head mark plain_label plain_heads",
)
_COUNTS = frozenset(("count", "percent", "cumulative"))
_CASES = frozenset(
    ("valid", "valid_share", "missing", "missing_share", "whole", "whole_share", "percent")
)
MODELS = frozenset(("coefficient", "test", "df"))
_CELLS = frozenset(("count", "percent", "expected"))
_SHARED = ("share", "share2", "share3")
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
    name = match[0]
    for group in _SHARED:
        if match[group]:
            name = f"p{float(match[group].replace(',', '.')):g}"
    quartile = "p25" if match["lower"] else "p75" if match["upper"] else ""
    median = "median" if match[0].lower() == "zentralwert" else ""
    return FigureRole(match.lastgroup, quartile or median or name)


def role_of_parts(parts: Sequence[str]) -> FigureRole | None:
    """The role by a heading of several lines, of which the lowest say it."""
    parts = parts[-_MOST_PARTS:]
    tails = (" ".join(parts[at:]) for at in range(len(parts)))
    return next(filter(None, map(role_of, tails)), None)


def role_of_label(label: str) -> FigureRole | None:
    """The role by the last words of the label of a row."""
    return role_of_parts(label.split())


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

    def count(self, figure: LogFigure, rules: CleaningRules) -> None:
        """Take a number of cases."""
        if figure.hidden or rules.few(figure.value):
            self.closed = self.closed or "few-cases"
        elif figure.value is not None:
            self.cases = figure.value if self.cases is None else min(self.cases, figure.value)

    def freedom(self, figure: LogFigure, rules: CleaningRules) -> None:
        """Take residual degrees of freedom."""
        value = figure.value
        if figure.hidden or (value is not None and value < rules.residual_df):
            self.closed = self.closed or "degrees-of-freedom"
        if value is not None:
            self.residual = value if self.residual is None else min(self.residual, value)

    def hold(self, line: int, cuts: Iterable[LogCut]) -> None:
        """Take a table of tests or of a model."""
        self.models = line if self.models is None else self.models
        self.held += cuts

    def ended(self, rules: CleaningRules) -> tuple[list[LogCut], list[tuple[int, str]]]:
        """What goes of tests and models, and what a person must look at."""
        if self.models is None:
            return [], []
        left = None if self.cases is None else self.cases - self.terms
        if self.terms and self.residual is None and left is not None and left < rules.residual_df:
            self.closed = self.closed or "degrees-of-freedom"
        if self.closed:
            return [cut._replace(rule=self.closed) for cut in self.held], []
        if self.cases is None and self.residual is None:
            return [], [(self.models, "models without their number of cases")]
        return [], []


@dataclass(slots=True)
class TableJudgement:
    """What becomes of a table."""

    cuts: list[LogCut] = field(default_factory=list)  # what goes
    review: str = ""  # what a person must look at
    whole: bool = False  # whether the lines go as a whole


UNKNOWN = "tables that no rule knows; their figures are withheld"


def opens(table: ListingTable, scope: ProcedureScope) -> bool:
    """Whether a table is the first of a procedure of SPSS, which may not name itself."""
    if FORM.summary_title.fullmatch(table.title):
        return scope.models is not None or not scope.listed
    if FORM.descriptives.fullmatch(table.title):
        roles = map(role_of_parts, table.heads)
        counted = any(role is not None and role.kind == "count" for role in roles)
        return counted or scope.models is not None
    return bool(FORM.opens.fullmatch(table.title))


def judged_table(
    table: ListingTable, scope: ProcedureScope, rules: CleaningRules
) -> TableJudgement:
    """Look at a table by its title, its headings and its rows."""
    if FORM.record_title.fullmatch(table.title):
        return TableJudgement(withheld(table.figures(), "records"), whole=True)
    if FORM.plain_title.fullmatch(table.title):
        return _plain(table, rules)
    if table.odd or not table.heads or not table.rows or table.doubtful:
        return _unknown(table)
    roles = [role_of_parts(parts) for parts in table.heads]
    first = _first_figures(table, roles)
    cells = table.figures(first)
    if not cells:
        return _unknown(table) if any(map(is_figure, table.figures(0))) else TableJudgement()
    known = [role for role in roles[first:] if role is not None]
    if any(role.kind == "refused" for role in filter(None, roles)):
        return TableJudgement(withheld(table.figures(), "records"), whole=True)
    rows = table.labelled(first)
    if table.bare and any(len(some) > 1 for row in table.rows for some in row.cells[:first]):
        return _unknown(table)
    labels = [one for row in table.rows for some in row.cells[1:first] for one in some]
    if any(is_figure(one) and one.text for one in labels) and not _groups(known, table, first):
        return _unknown(table)
    heads = " ".join(" ".join(parts) for parts in table.heads)
    if FORM.plain_heads.fullmatch(heads) or all(FORM.plain_label.fullmatch(one) for one, _ in rows):
        return TableJudgement()
    named = all(role_of_label(label) for label, _ in rows)
    if FORM.matrix_title.fullmatch(table.title) and not (known or named):
        judged = _matrix(table, first, scope, rules)
    elif len(known) == len(table.heads) - first and not _generic(known):
        judged = _by_columns(table, rows, known, first, scope, rules)
    else:
        judged = _by_rows(table, rows, first, scope, rules)
    return judged


def _first_figures(table: ListingTable, roles: Sequence[FigureRole | None]) -> int:
    """The first column with figures: labels stand before it, below headings that are no role."""
    labels = [one for row in table.rows for one in row.cells[0] if one.text]
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
        codes = [one.text for row in table.rows for one in row.cells[at] if one.text]
        figures = [code for code in codes if numeric(code) is not None]
        if not all(_CODE.fullmatch(code) for code in figures):
            return False
        head = " ".join(table.heads[at])
        again = 2 * len(set(figures)) <= len(figures)
        if figures and not again and (table.bare or not FORM.numbered_head.fullmatch(head)):
            return False
    return any(role.kind in ("count", "coefficient", "test") for role in known)


def _generic(known: Sequence[FigureRole]) -> bool:
    """Whether headings say no more than that there are statistics: the rows name them."""
    names = {role.name.lower() for role in known}
    return bool(names & _GENERIC) and names <= _GENERIC | {"std. error", "standardfehler"}


def _unknown(table: ListingTable) -> TableJudgement:
    """All figures of a table go, in labels too; without a frame or headings also the words."""
    cells = table.figures() + [one for one in table.figures(0) if is_figure(one)]
    regular = table.heads and table.rows and any(table.heads)
    whole = table.odd or table.doubtful or table.bare or not regular
    cuts = list(dict.fromkeys(withheld(cells, "unknown-table")))
    return TableJudgement(cuts, UNKNOWN, whole=whole)


def _plain(table: ListingTable, rules: CleaningRules) -> TableJudgement:
    """A table that tells of variables and of the program only, but for numbers of cases."""
    small = [one for one in table.figures() if rules.few(one.value) and _cases_row(table, one)]
    return TableJudgement(withheld(small, "few-cases"))


def _cases_row(table: ListingTable, figure: LogFigure) -> bool:
    row = next(row for row in table.rows if row.line == figure.line)
    return bool(re.search(r"(?i)\bN\b|cases|rows|fälle|zeilen", row.text))


def _is_total(label: str) -> bool:
    return bool(FORM.total.fullmatch(label))


# By columns ---------------------------------------------------------------------------------------


def _by_columns(
    table: ListingTable,
    rows: Sequence[tuple[str, ListingRow]],
    roles: Sequence[FigureRole],
    first: int,
    scope: ProcedureScope,
    rules: CleaningRules,
) -> TableJudgement:
    """A table whose headings say what stands below them."""
    kinds = [role.kind for role in roles]
    present = set(kinds)
    if any(not is_figure(one) for one in table.figures(first)) and present <= _COUNTS | _CASES:
        return _unknown(table)
    if present & {"valid", "whole"} and present <= _CASES:
        return TableJudgement(_processed(rows, kinds, first, scope, rules))
    if present <= _COUNTS and "count" in present:
        if len({role.name.lower() for role in roles}) == len(roles):
            return TableJudgement(_list_of_counts(table, rows, kinds, first, scope, rules))
        return TableJudgement(_all_or_none(rows, kinds, first, scope, rules))
    if present & MODELS:
        return TableJudgement(_model(table, rows, roles, first, scope, rules))
    if present == {"distinct"}:  # the levels of classifications
        values = (one for one in table.figures(first) if not is_figure(one))
        return TableJudgement(withheld(filter(_numbered, values), "distinct-values"))
    if present <= {"percent", "cumulative", "expected"}:
        cuts = withheld(table.figures(first), "few-cases")
        return TableJudgement(cuts, "shares without the counts they rest on")
    return _statistics(rows, roles, first, scope, rules)


def _numbered(cell: LogFigure) -> bool:
    return any(map(str.isdigit, cell.text))


def _column(row: ListingRow, at: int) -> list[LogFigure]:
    return [one for one in row.cells[at] if one.text] if at < len(row.cells) else []


def _processed(
    rows: Sequence[tuple[str, ListingRow]],
    kinds: Sequence[str],
    first: int,
    scope: ProcedureScope,
    rules: CleaningRules,
) -> list[LogCut]:
    """How many cases are used, left out, there: two of them give the third."""
    cuts: list[LogCut] = []
    at = {kind: first + place for place, kind in enumerate(kinds)}
    valid = [[*_column(row, at.get("valid", -1))] for _, row in rows if "valid" in at]
    counts = [some[0] if some else None for some in valid]
    for one in filter(None, counts):
        scope.count(one, rules)
    scope.shared = True
    values = [one.value if one else None for one in counts]
    hidden = hidden_rows(values, [bool(one and one.hidden) for one in counts], None, rules)
    for place, (_, row) in enumerate(rows):
        missing = _column(row, at["missing"]) if "missing" in at else []
        if place in hidden:
            cuts += withheld(row.filled(first), hidden[place])
        elif any(rules.few(one.value) or one.hidden for one in missing):
            kept = valid[place] if valid else []
            cuts += withheld((one for one in row.filled(first) if one not in kept), "few-cases")
    return cuts


def _list_of_counts(
    table: ListingTable,
    rows: Sequence[tuple[str, ListingRow]],
    kinds: Sequence[str],
    first: int,
    scope: ProcedureScope,
    rules: CleaningRules,
) -> list[LogCut]:
    """Counts with shares and cumulated ones."""
    order = [kinds.index("count"), *(at for at, kind in enumerate(kinds) if kind != "count")]
    at_all = _sum_line([(row.line, _column(row, first + order[0])) for _, row in rows])
    lines: list[FigureLine] = []
    cumulated: list[LogFigure] = []
    for label, row in rows:
        shown = [one for at in order for one in _column(row, first + at)]
        cumulated += [
            one
            for at, kind in enumerate(kinds)
            if kind == "cumulative"
            for one in _column(row, first + at)
        ]
        stub = _TOTAL if _is_total(label) or at_all == row.line else label
        lines.append(FigureLine(stub, shown, 0, 0))
    counts = [line.figures[0] for line in lines if line.figures]
    totals = [line for line in lines if line.stub == _TOTAL and line.figures]
    few = [one for one in counts if rules.few(one.value) or one.hidden]
    if any(line.figures[0] in few for line in totals) or 2 * len(few) > len(counts):
        cuts = withheld(table.figures(0), "few-cases")  # a list of values more than of groups
    elif not few:
        cuts = []
    elif totals and lines[-1] is totals[-1]:
        cuts = list(subtotal_cuts([line for line in lines if line.figures], rules))
        cuts += withheld(cumulated, "secondary")
    else:
        cuts = _without_total(lines, rules) + withheld(cumulated, "secondary")
    if any(line.figures[0] in few for line in lines if FORM.absent.match(line.stub)):
        cuts += _of_valid(table, first)  # shares of valid cases tell how many are missing
    for _, row in rows:
        if any(one in few for one in row.filled(first)[:1]):
            cuts += _values_in_label(row, first)
    if cuts or few:
        scope.closed = scope.closed or "few-cases"
    used = [line for line in lines if FORM.included.fullmatch(line.stub) and line.figures]
    for line in used or totals[-1:]:
        scope.count(line.figures[0], rules)
    scope.listed = bool(used)
    return cuts


def _sum_line(counts: Sequence[tuple[int, Sequence[LogFigure]]]) -> int | None:
    """The last line if its count is the sum of all others: a total under any name."""
    values = [some[0].value for _, some in counts if some]
    if len(values) < 3 or len(values) < len(counts) or None in values:
        return None
    *parts, last = (value or 0 for value in values)
    return counts[-1][0] if last == sum(parts) > 0 else None


def _of_valid(table: ListingTable, first: int) -> list[LogCut]:
    """The shares of valid cases."""
    columns = [
        at
        for at in range(first, len(table.heads))
        if FORM.of_valid.search(" ".join(table.heads[at]))
    ]
    return withheld(
        (one for row in table.rows for at in columns for one in _column(row, at)), "secondary"
    )


def _values_in_label(row: ListingRow, first: int) -> Iterator[LogCut]:
    """The value that few cases have, if the label of a row is a number."""
    for one in (one for some in row.cells[:first] for one in some):
        for match in _LAST_WORD.finditer(row.text, one.start, one.end):
            if figure_text(match[0], commas=False) or figure_text(match[0], commas=True):
                yield LogCut(one.line, *match.span(), "few-cases", align="none")


def _without_total(lines: Sequence[FigureLine], rules: CleaningRules) -> list[LogCut]:
    shown = [line for line in lines if line.figures and line.stub != _TOTAL]
    counts = [line.figures[0] for line in shown]
    closed = [one.hidden for one in counts]
    hidden = hidden_rows([one.value for one in counts], closed, None, rules)
    return [cut for at, why in hidden.items() for cut in withheld(shown[at].figures, why)]


def _all_or_none(
    rows: Sequence[tuple[str, ListingRow]],
    kinds: Sequence[str],
    first: int,
    scope: ProcedureScope,
    rules: CleaningRules,
) -> list[LogCut]:
    """Several columns of counts: all go if one is too small."""
    counts = [
        one
        for _, row in rows
        for at, kind in enumerate(kinds)
        if kind == "count"
        for one in _column(row, first + at)
    ]
    if not any(rules.few(one.value) or one.hidden for one in counts):
        return []
    scope.closed = scope.closed or "few-cases"
    return withheld((one for _, row in rows for one in row.filled(first)), "few-cases")


def _model(
    table: ListingTable,
    rows: Sequence[tuple[str, ListingRow]],
    roles: Sequence[FigureRole],
    first: int,
    scope: ProcedureScope,
    rules: CleaningRules,
) -> list[LogCut]:
    """Coefficients and tests: they go if their cases or degrees of freedom are too few."""
    cuts: list[LogCut] = []
    for label, row in rows:
        for at, role in enumerate(roles):
            for one in _column(row, first + at):
                if role.kind == "count" or FORM.sample_line.fullmatch(f"{label} = {one.text}"):
                    scope.count(one, rules)
                elif role.kind == "df" and FORM.residual.fullmatch(label):
                    scope.freedom(one, rules)
                elif role.kind in ("extreme", "distinct"):
                    cuts += withheld([one], "extremes")
    if any(role.kind == "coefficient" for role in roles):
        scope.terms = max(scope.terms, len(rows))
    scope.hold(table.start, withheld(table.figures(first), "few-cases"))
    return cuts


def _statistics(
    rows: Sequence[tuple[str, ListingRow]],
    roles: Sequence[FigureRole],
    first: int,
    scope: ProcedureScope,
    rules: CleaningRules,
) -> TableJudgement:
    """Means and the like, a record for each row, or several where headings come again."""
    records: list[StatisticsRecord] = []
    several = False
    counted = [at for at, role in enumerate(roles) if role.kind == "count"][:1]
    at_all = _sum_line([(row.line, _column(row, first + at)) for _, row in rows for at in counted])
    for label, row in rows:
        named = _is_total(label) or row.line == at_all
        stub = _TOTAL if named else "diff" if FORM.difference.match(label) else label
        start = len(records)
        for at, role in enumerate(roles):
            for one in _column(row, first + at):
                if len(records) == start or _repeats(records[-1], role):
                    records.append(StatisticsRecord(stub))
                records[-1].add(role.kind, role.name, one)
        several = several or len(records) > start + 1
    return _of_records(records, scope, rules, several=several)


def _repeats(record: StatisticsRecord, role: FigureRole) -> bool:
    return role.name in record.names and role.kind != "interval"


def _of_records(
    records: Sequence[StatisticsRecord],
    scope: ProcedureScope,
    rules: CleaningRules,
    *,
    several: bool,
) -> TableJudgement:
    """What goes of records; with more than one total, or several in a row, all with the first."""
    for record in records:
        record.closed |= any(rules.few(one.value) for one in record.kinds.get("count", []))
        if record.count is None and not record.closed and "missing" not in record.kinds:
            record.count = scope.groups.get(record.stub, scope.cases if scope.shared else None)
    blind = [record for record in records if "count" not in record.kinds]
    if scope.closed and blind:  # a group of too few cases, and nothing says which one
        return TableJudgement(
            withheld((one for some in records for one in some.figures()), "few-cases")
        )
    if any(record.kinds for record in records):
        claim = statistics_claim(0, [record for record in records if record.kinds], rules)
    else:
        return TableJudgement()
    cuts = claim.cuts
    if claim.review:  # groups of unknown size
        cuts += withheld((one for some in records for one in some.figures()), "few-cases")
    gone = any(cut.rule in CLOSING for cut in cuts) or any(record.closed for record in records)
    totals = sum(record.stub == _TOTAL for record in records)
    if gone and (several or totals > 1):
        cuts += withheld((one for some in records for one in some.figures()), "secondary")
    for record in records:
        cuts += _beside_missing(record, rules)
        if record.count is not None and "count" in record.kinds:
            scope.count(record.kinds["count"][0], rules)
            scope.groups[record.stub] = record.count
    if gone:
        scope.closed = scope.closed or "few-cases"
    return TableJudgement(list(dict.fromkeys(cuts)), claim.review)


def _beside_missing(record: StatisticsRecord, rules: CleaningRules) -> list[LogCut]:
    """A small number of missing values, and that of the others, which gives it back."""
    missing = record.kinds.get("missing", [])
    if not any(rules.few(one.value) for one in missing):
        return []
    return withheld([*missing, *record.kinds.get("count", [])], "few-cases")


# By rows ------------------------------------------------------------------------------------------


def _by_rows(
    table: ListingTable,
    rows: Sequence[tuple[str, ListingRow]],
    first: int,
    scope: ProcedureScope,
    rules: CleaningRules,
) -> TableJudgement:
    """A table whose rows say what they are, or counts by two variables."""
    if FORM.counts_title.fullmatch(table.title):
        return _any_counts(table, first, scope, rules)
    roles = [role_of_label(label) for label, _ in rows]
    kinds = {role.kind for role in roles if role is not None}
    if all(roles) and kinds <= _CELLS and "count" in kinds:
        return _crosstab(table, rows, [role for role in roles if role], first, scope, rules)
    if all(roles) and kinds and not kinds <= _CELLS | {"refused"}:
        return _records_by_rows(table, rows, [role for role in roles if role], first, scope, rules)
    if FORM.crosstab_title.fullmatch(table.title) and not any(roles):
        whole = [FigureRole("count", "count")] * len(rows)
        return _crosstab(table, rows, whole, first, scope, rules)
    return _unknown(table)


def _any_counts(
    table: ListingTable, first: int, scope: ProcedureScope, rules: CleaningRules
) -> TableJudgement:
    """Counts in any order, with shares: all go if one is too small."""
    cells = table.figures(first)
    if not all(map(is_figure, cells)):
        return _unknown(table)
    if any(rules.few(one.value) or one.hidden for one in cells):
        scope.closed = scope.closed or "few-cases"
        return TableJudgement(withheld(cells, "few-cases"))
    return TableJudgement()


def _records_by_rows(
    table: ListingTable,
    rows: Sequence[tuple[str, ListingRow]],
    roles: Sequence[FigureRole],
    first: int,
    scope: ProcedureScope,
    rules: CleaningRules,
) -> TableJudgement:
    columns = range(first, len(table.heads))
    generic = bool(_generic([role for role in map(role_of_parts, table.heads[first:]) if role]))
    records: list[StatisticsRecord] = []
    by_column: dict[int, StatisticsRecord] = {}
    for (_, row), role in zip(rows, roles, strict=True):
        for at in columns:
            for one in _column(row, at):
                # A second column of statistics holds their errors.
                mine = role if not generic or at == first else FigureRole("error", role.name)
                key = first if generic else at
                record = by_column.get(key)
                if record is None or (mine.kind != "error" and _repeats(record, mine)):
                    record = by_column[key] = StatisticsRecord("")
                    records.append(record)
                record.add(mine.kind, mine.name, one)
    if {role.kind for role in roles} & MODELS:
        return TableJudgement(_models_by_rows(table, records, first, scope, rules))
    return _of_records(records, scope, rules, several=False)


def _models_by_rows(
    table: ListingTable,
    records: Sequence[StatisticsRecord],
    first: int,
    scope: ProcedureScope,
    rules: CleaningRules,
) -> list[LogCut]:
    """Coefficients, tests and numbers of cases below each other, such as correlations."""
    cuts: list[LogCut] = []
    for record in records:
        counts = record.kinds.get("count", [])
        for one in counts:
            if rules.few(one.value) or one.hidden:
                cuts += withheld(record.figures(), "few-cases")
            elif one.value is not None:
                scope.cases = min(one.value, scope.cases or one.value)
        cuts += withheld([*record.kinds.get("extreme", [])], "extremes")
    scope.hold(table.start, withheld(table.figures(first), "few-cases"))
    return cuts


def _matrix(
    table: ListingTable, first: int, scope: ProcedureScope, rules: CleaningRules
) -> TableJudgement:
    """A matrix of correlations: the title, or whole numbers in it, tell the cases."""
    cells = table.figures(first)
    if any(not is_figure(one) for one in cells):
        return _unknown(table)
    if (match := FORM.cases_in_title.fullmatch(table.title)) is not None:
        scope.count(LogFigure(match["count"], 0, 0, 0), rules)
    for one in cells:
        if one.text.isdecimal() or one.hidden:
            scope.count(one, rules)
    scope.hold(table.start, withheld(cells, "few-cases"))
    return TableJudgement()


def _crosstab(
    table: ListingTable,
    rows: Sequence[tuple[str, ListingRow]],
    roles: Sequence[FigureRole],
    first: int,
    scope: ProcedureScope,
    rules: CleaningRules,
) -> TableJudgement:
    """Counts by two variables; more than one total, of parts, is a table of three."""
    cells = table.figures(first)
    if roles[0].kind != "count" or any(not is_figure(one) for one in cells):
        return _unknown(table)
    counted: list[CountRow] = []
    shares: list[LogFigure] = []
    for (label, row), role in zip(rows, roles, strict=True):
        if role.kind == "count":
            counted.append(CountRow(_stub(label, role), row.filled(first)))
        else:
            shares += row.filled(first)
    totals = _is_total(" ".join(table.heads[-1]))
    counts = CrosstabCounts(counted, 1, totals, table.end)
    complete = totals and counted[-1].stub == _TOTAL
    return _counts_by_two(counts, shares, scope, rules, complete=complete)


def _stub(label: str, role: FigureRole) -> str:
    left = label.removesuffix(role.name).strip() if role.name.lower() != "count" else label
    left = re.sub(r"(?i)\s*(?:count|anzahl)$", "", left)
    return _TOTAL if _is_total(left) else left


def _counts_by_two(
    counts: CrosstabCounts,
    shares: Sequence[LogFigure],
    scope: ProcedureScope,
    rules: CleaningRules,
    *,
    complete: bool,
) -> TableJudgement:
    cells = [one for row in counts.rows for one in row.figures]
    few = any(rules.few(one.value) or one.hidden for one in cells)
    if sum(row.stub == _TOTAL for row in counts.rows) > 1:
        cuts = withheld(cells, "few-cases") if few else []
    else:
        cuts = crosstab_cuts(counts, rules)
    if few or cuts:
        cuts += withheld(shares, "small-cells")  # shares of totals give their counts back
        scope.closed = scope.closed or "small-cells"
    elif counts.total is not None and counts.has_total_column:
        scope.count(counts.total.figures[-1], rules)
    review = "" if complete else "part of a wide table"
    return TableJudgement(list(dict.fromkeys(cuts)), review)


def judged_box(box: BoxedCounts, scope: ProcedureScope, rules: CleaningRules) -> TableJudgement:
    """Look at a two-way table of PROC FREQ."""
    kinds = [role_of(kind) for kind in box.kinds]
    cells = list(chain.from_iterable(row for _, row in box.rows))
    if box.odd or not all(kinds) or not FORM.count_word.fullmatch(box.kinds[0]) or not cells:
        return TableJudgement(withheld(cells, "unknown-table"), UNKNOWN)
    rows: list[CountRow] = []
    shares: list[LogFigure] = []
    for label, shown in box.rows:
        if label:
            rows.append(CountRow(_TOTAL if _is_total(label) else label, shown))
        else:
            shares += shown
    width = {len(row.figures) for row in rows}
    totals = _is_total(box.heads[-1]) if box.heads else False
    if len(width) != 1 or width != {len(box.heads)}:
        return TableJudgement(withheld(cells, "unknown-table"), UNKNOWN)
    counts = CrosstabCounts(rows, 1, totals, box.end)
    complete = totals and counts.total is not None
    return _counts_by_two(counts, shares, scope, rules, complete=complete)
