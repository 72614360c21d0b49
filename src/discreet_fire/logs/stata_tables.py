"""Tables that Stata prints: counts, statistics, correlations, what commands of others add.

In: lines of output (CONFIDENTIAL). Out: a `Claim` by the rules of `table_rules`; None for lines
of another form. A row is figures behind a bar, or behind a gap.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial

from discreet_fire.logs.claims import (
    HIDDEN,
    Claim,
    FigureRow,
    LogCut,
    LogFigure,
    OutputForms,
    Reader,
    bar_row,
    behind_blanks,
    figures,
    is_rule,
    numeric,
    read_rows,
    withheld,
)
from discreet_fire.logs.line_forms import read_list
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.table_rules import (
    SHORT_ROWS,
    TOTAL,
    TOTALS,
    StatisticsRecord,
    counts_cuts,
    crosstab_cuts,
    statistics_claim,
)

_FORM = OutputForms("tables")
_COUNTS = frozenset(("count", "percent", "cumulative"))
_NEEDED = frozenset(("mean", "extreme", "centile", "percentile", "spread", "distinct", "sum"))
_FOOT_LINES = 12
_INDENTED = 4


# Columns of statistics ----------------------------------------------------------------------------


def _header(heads: str) -> list[tuple[str, str]] | None:
    """Kind and name of each column; None if a word is not known."""
    names: list[tuple[str, str]] = []
    length = 0
    for match in _FORM.word.finditer(heads):
        kind = str(match.lastgroup)
        length += len(match[0].replace(" ", ""))
        names += [(kind, match[0])] * (2 if kind == "interval" else 1)
    return names if names and length == len(heads.replace(" ", "")) else None


def read_columns(
    lines: Sequence[LogLine], rules: CleaningRules, start: int = 0, *, subtotals: bool = False
) -> Claim | None:
    """A table whose headings are statistics, or counts and shares."""
    stub, bar, heads = lines[start].text.partition("|")
    names = _header(heads) if bar else None
    if names is None or _FORM.stubs.fullmatch(stub):
        return None
    if len(lines) < start + 2 or not is_rule(lines[start + 1].text):
        return None
    kinds = [kind for kind, _ in names]
    if _COUNTS.issuperset(kinds):
        known = kinds[0] == "count" and "percent" in kinds
        return _counts(lines, start + 2, kinds, rules, subtotals) if known else None
    return _statistics(lines, start + 2, names, rules) if _NEEDED & set(kinds) else None


def _counts(
    lines: Sequence[LogLine], start: int, kinds: list[str], rules: CleaningRules, subtotals: bool
) -> Claim | None:
    def row(text: str, at: int) -> FigureRow | None:
        stub, bar, _ = text.rpartition("|")
        shown = figures(text, at, len(stub) + 1) if bar else None
        return FigureRow(stub.strip() if subtotals else "", shown) if shown else None

    rows, end = read_rows(lines, start, row)
    if not rows or not all(_is_whole(one.count) for one in rows if subtotals):
        return None
    last = lines[rows[-1].count.line].text.rpartition("|")[0].strip() in TOTALS
    if last:
        rows[-1].stub = TOTAL
    pairs = (pair for one in rows for pair in zip(kinds, one.figures, strict=False))
    cumulated = [figure for kind, figure in pairs if kind == "cumulative"]
    cases = [rows[-1].count.value if last else None]
    return Claim(end, "frequencies", counts_cuts(rows, cumulated, rules), cases=cases)


def _statistics(
    lines: Sequence[LogLine], start: int, names: list[tuple[str, str]], rules: CleaningRules
) -> Claim | None:
    counted = names[0][0] == "count"
    records: list[StatisticsRecord] = []

    def row(text: str, at: int) -> FigureRow | None:
        shown = bar_row(text, at)
        if shown is None:
            return None
        record, columns, width = StatisticsRecord(shown.stub), names, len(shown.figures)
        if width == 1 and counted and shown.count.value == 0:
            columns = names[:1]
        elif counted and not shown.stub and records and width == len(names) - 1:
            columns = names[1:]  # centile: further percentiles of the same variable
            record.count, record.closed = records[-1].count, records[-1].closed
        elif shown.stub in SHORT_ROWS and width < len(names):
            columns = [("error", "")] * width
        if len(columns) != width:
            return None
        for (kind, name), figure in zip(columns, shown.figures, strict=True):
            record.add(kind, name, figure)
        records.append(record)
        return shown

    _, count = read_rows(lines, start, row)
    if not records:
        return None
    claim = statistics_claim(count, records, rules)
    # Below two means stands their test, which goes if anything of them goes.
    gone = bool(claim.cuts)
    for at in range(
        count, min(len(lines), count + _FOOT_LINES) if records[-1].stub == "diff" else 0
    ):
        text = lines[at].text
        if not (_FORM.test_foot.fullmatch(text) or is_rule(text) or not text.strip()):
            break
        claim.count = at + 1 if text.strip() else claim.count
        shown = (one for one in _FORM.test_value.finditer(text) if one["value"] != HIDDEN)
        cuts = [LogCut(at, *one.span("value"), "secondary", align="none") for one in shown]
        claim.cuts += cuts if gone else []
    return claim


def read_statistics_down(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A table whose rows are statistics, for each column and without or with groups: tabstat."""
    match = _FORM.summary.fullmatch(lines[0].text)
    cycle = None if match is None else _header(" ".join(match["names"].replace(",", " ").split()))
    head = 0
    while head < min(len(lines), 4) and "|" not in lines[head].text:
        head += 1
    if head + 1 >= len(lines) or not is_rule(lines[head + 1].text):
        return None
    if cycle is None and (head or not _FORM.stubs.fullmatch(lines[0].text.partition("|")[0])):
        return None
    records: list[StatisticsRecord] = []
    current: list[StatisticsRecord] = []
    steps = itertools.count()

    def row(text: str, at: int) -> FigureRow | None:
        nonlocal current
        shown = bar_row(text, at)
        step = next(steps)
        named = _header(text.partition("|")[0]) if cycle is None else [cycle[step % len(cycle)]]
        if shown is None or named is None or len(named) != 1:
            return None
        if len(shown.figures) != len(current) or (cycle and step % len(cycle) == 0):
            current = [StatisticsRecord(shown.stub) for _ in shown.figures]
            records.extend(current)
        for record, figure in zip(current, shown.figures, strict=True):
            record.add(*named[0], figure)
        return shown

    _, count = read_rows(lines, head + 2, row)
    return statistics_claim(count, records, rules) if records else None


# Counts by two variables, correlations ------------------------------------------------------------


def _is_whole(figure: LogFigure) -> bool:
    value = figure.value
    return figure.hidden or (value is not None and value == int(value))


def _heading(lines: Sequence[LogLine], start: int) -> int | None:
    """The rule below the lines of a heading; None if none stands there."""
    head = start
    while head < min(len(lines), start + 8) and "|" in lines[head].text:
        if is_rule(lines[head].text):
            break
        head += 1
    return head if start < head < len(lines) and is_rule(lines[head].text) else None


def _key(lines: Sequence[LogLine]) -> tuple[int, list[str]]:
    """Where a table begins, and what the box above it says its lines are."""
    words: list[str] = []
    if len(lines) < 3 or not is_rule(lines[0].text) or not _FORM.key.fullmatch(lines[1].text):
        return 0, words
    for at, line in enumerate(lines[2:12], 2):
        if (word := _FORM.key_word.fullmatch(line.text)) is not None:
            words.append(word["word"].strip())
        elif words and is_rule(line.text):
            return behind_blanks(lines, at + 1), words
    return 0, []


def read_crosstab(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """Counts by two variables, with or without shares."""
    start, words = _key(lines)
    head = _heading(lines, start)
    if head is None:
        return None
    rule, heading = lines[head].text, lines[head - 1].text
    if rule.count("+") not in (1, 2) or rule.count("+") != heading.count("|"):
        return None

    def row(text: str, at: int) -> FigureRow | None:
        stub, bar, _ = text.partition("|")
        shown = figures(text.replace("|", " "), at, len(stub) + 1) if bar else None
        return FigureRow(stub.strip(), shown) if shown else None

    rows, end = read_rows(lines, head + 1, row)
    per_row = max(len(words), 1)
    counted = rows[::per_row]
    if not rows or len(rows) % per_row or len({len(one.figures) for one in counted}) != 1:
        return None
    cells = [one for some in counted for one in some.figures]
    if not all(_is_whole(one) or one.text.startswith(".") for one in cells):
        return None
    total_column = heading.rstrip().endswith(TOTALS) and rule.count("+") == 2
    totals = [one for one in counted if one.stub in TOTALS]
    if not (words or totals or total_column):
        return None
    feet: list[int] = []
    for at in range(end, min(len(lines), end + _FOOT_LINES)):
        if _FORM.statistic.fullmatch(lines[at].text):
            feet.append(at)
        elif lines[at].text.strip():
            break
    end = feet[-1] + 1 if feet else end
    if words and words[0] != "frequency":
        return Claim(end, "crosstab", [], "shares")
    for total in totals:
        total.stub = TOTAL
    shares = [one for at, some in enumerate(rows) if at % per_row for one in some.figures]
    cuts = crosstab_cuts(counted, shares, rules, total_column=total_column)
    if cuts or any(one.hidden for one in cells):
        # Statistics with the totals give back a table of two by two.
        found = ((at, one) for at in feet for one in _FORM.value.finditer(lines[at].text))
        cuts += [LogCut(at, *one.span("value"), "small-cells", align="none") for at, one in found]
    whole = totals[-1].figures[-1].value if totals and total_column else None
    review = "" if total_column and totals else "wide"
    return Claim(end, "crosstab", cuts, review, cases=[whole])


def read_frequency_table(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A table of ``table`` that holds counts only: all of them go if one is too small."""
    first = 1 if is_rule(lines[0].text) else 0
    head = _heading(lines, first)
    if head is None:
        return None
    heading = " ".join(line.text.partition("|")[2] for line in lines[first:head])
    rows, end = read_rows(lines, head + 1, cells_behind_bar)
    shown = [figure for row in rows for figure in row.figures]
    if not shown or not all(map(_is_whole, shown)) or not _FORM.table_head.fullmatch(heading):
        return None
    small = any(figure.hidden or rules.few(figure.value) for figure in shown)
    return Claim(end, "frequencies", withheld(shown, "few-cases") if small else [])


def read_correlations(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The triangle of ``correlate`` and ``pwcorr``: coefficients, each with its number of cases."""
    match = _FORM.observed.fullmatch(lines[0].text)
    start = 0 if match is None else behind_blanks(lines, 1)
    head = [line.text for line in lines[start : start + 2]]
    if len(head) < 2 or not (_FORM.correlation_head.fullmatch(head[0]) and is_rule(head[1])):
        return None

    def row(text: str, at: int) -> FigureRow | None:
        return bar_row(text, at) or (FigureRow("", []) if text.strip() == "|" else None)

    rows, end = read_rows(lines, start + 2, row)
    if not rows or len(rows[0].figures) != 1:
        return None
    if match is not None:
        few = match["count"] == HIDDEN or rules.few(numeric(match["count"]))
        count = LogFigure(match["count"], 0, *match.span("count"))
        cuts = withheld([one for some in rows for one in some.figures], "few-cases")
        cuts += withheld([count], "few-cases", "none")
        return Claim(end, "correlations", cuts if few else [])
    # One below the other: a coefficient, its significance, its number of cases.
    columns: list[list[LogFigure]] = []
    for shown in rows:
        columns += [[] for _ in shown.figures] if shown.stub else []
        mine = columns[-len(shown.figures) :] if shown.figures else []
        for column, figure in zip(mine, shown.figures, strict=False):
            column.append(figure)
    known = bool(columns)
    gone: list[LogFigure] = []
    for column in columns:
        counted = len(column) > 1 and (column[-1].hidden or column[-1].text.isdecimal())
        known = known and counted
        gone += column if counted and (column[-1].hidden or rules.few(column[-1].value)) else []
    review = "" if known else "correlations"
    return Claim(end, "correlations", withheld(gone, "few-cases"), review)


# Tables of commands of others ---------------------------------------------------------------------


def _cells(text: str, at: int, start: int) -> list[LogFigure] | None:
    """All figures from a place on, without stars and brackets; None if there is anything else."""
    text = _FORM.no_value.sub(lambda one: " " * len(one[0]), text)
    cells = list(_FORM.cells.finditer(text, start))
    left = _FORM.cells.sub(lambda one: " " * len(one[0]), text[start:])
    shown = [LogFigure(one["figure"], at, *one.span("figure")) for one in cells]
    return None if left.strip() else shown


def cells_behind_bar(text: str, at: int) -> FigureRow | None:
    """A row with nothing but cells behind its first bar, or none at all."""
    stub, bar, _ = text.partition("|")
    cells = _cells(text, at, len(stub) + 1) if bar else None
    return None if cells is None else FigureRow(stub.strip(), cells, len(stub) + 1, len(text))


def cells_behind_gap(text: str, at: int) -> FigureRow | None:
    """A line without bars: two blanks or more are between its name, if it has one, and figures."""
    blanks = len(text) - len(text.lstrip())
    stub = text[blanks:].partition("  ")[0].rstrip() if blanks <= _INDENTED else ""
    start = blanks + len(stub)
    cells = _cells(text, at, start)
    return None if cells is None else FigureRow(stub, cells, start, len(text))


def rows_as_one(rows: Sequence[FigureRow], rule: str) -> list[LogCut]:
    """The order to withhold the figures of rows as one: how long each is shows between them."""
    return [
        LogCut(row.figures[0].line, row.start, row.end, rule, put=f" {HIDDEN}", align="none")
        for row in rows
        if any(not figure.hidden for figure in row.figures)
    ]


def read_fre(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``fre``: valid and missing values, with subtotals."""
    start = 1 if _FORM.title.fullmatch(lines[0].text) else 0
    if len(lines) < start + 4 or not is_rule(lines[start].text):
        return None
    return read_columns(lines, rules, start + 1, subtotals=True)


#: Readers of output, the first that knows some lines first.
READERS: tuple[Reader, ...] = (
    *(partial(read_list, name)
      for name in ("detail", "codebook", "xtdescribe", "merge", "describe", "reshape", "xtsum")),
    read_columns,
    read_statistics_down,
    read_correlations,
    read_crosstab,
    partial(read_list, "compact"),
)  # fmt: skip
#: Readers of what only one command prints.
COMMAND_READERS: dict[str, Reader] = {
    "fre": read_fre,
    "table": read_frequency_table,
    "stset": partial(read_list, "stset"),
    "utest": partial(read_list, "utest"),
}
