"""Tables that Stata prints: counts, statistics, correlations, models, what commands of others add.

In: lines of output (CONFIDENTIAL). Out: a `Claim` by the rules of `table_rules`; None for lines of
another form. A row is figures behind a bar, or behind a gap. Nothing of a model with too few cases,
clusters or residual degrees of freedom is shown. A safe command (`fdz…`) shows no small counts;
where a log does, they go, and a person looks at it, since a log does not say what ran.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from functools import partial
from itertools import chain, pairwise

from discreet.files import texts_of
from discreet_fire.catalogue import Forms, stata_catalogue
from discreet_fire.logs.lines import (
    HIDDEN,
    NUMBER,
    Claim,
    FigureRow,
    LogCut,
    LogFigure,
    LogLine,
    bar_row,
    behind_blanks,
    figures,
    is_rule,
    numeric,
    read_rows,
    withheld,
)
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.table_rules import (
    SHORT_ROWS,
    TOTAL,
    TOTALS,
    Reader,
    StatisticsRecord,
    counts_cuts,
    crosstab_cuts,
    far_out,
    read_list,
    statistics_claim,
)
from discreet_fire.statistics import LANGUAGES

_SAFE_FIGURE = rf"\s{{1,40}}(?:{NUMBER.pattern}|\.|#)"
_SAFE_COUNT = r"\s{1,40}(?P<n>\d[\d,]{0,14}|\.|#)"
#: The forms of the lines of each command: ``<n>`` is a number of cases, ``<f>`` any figure.
_SAFE_FORMS: dict[str, tuple[re.Pattern[str], ...]] = {
    name: tuple(
        re.compile(one.replace("<n>", _SAFE_COUNT).replace("<f>", _SAFE_FIGURE)) for one in forms
    )
    for name, forms in stata_catalogue()["forms"].items()
}
#: What a dot stands for, which looks like a command.
LEGENDS = frozenset(
    texts_of("discreet_fire.statistics", "lines", language)["withheld"] for language in LANGUAGES
)
_SAFE_FORM = Forms(__package__, "safe_outputs")


def read_safe(
    window: Sequence[LogLine], rules: CleaningRules, names: Collection[str]
) -> Claim | None:
    """Lines that safe commands of these names printed."""
    forms = [form for name in sorted(names) for form in _SAFE_FORMS.get(name, ())]
    tabled = "fdztabstat" in names
    cuts: list[LogCut] = []
    words: list[str] = []  # the statistics of tabstat
    cases = 0.0
    end = 0
    for at, line in enumerate(window):
        text = line.text
        broken: list[int] = []  # where figures start that break a rule
        if hit := next((match for form in forms if (match := form.fullmatch(text))), None):
            parts = hit.groupdict()
            for name in ("n", "counts"):
                if parts.get(name) is not None:
                    counts = [numeric(word) or 0.0 for word in parts[name].split() if word != "|"]
                    cases = counts[0]
                    broken += [hit.start(name)] if any(map(rules.few, counts)) else []
            if parts.get("q") is not None and far_out(int(parts["q"]), cases, rules):
                broken.append(hit.start("value"))
        elif at and (is_rule(text) or text in LEGENDS):
            pass
        elif tabled and (head := _SAFE_FORM.tabstat.fullmatch(text)):
            words = head["words"].split()
        elif (row := _SAFE_FORM.row.fullmatch(text)) and len(row["figures"].split()) == len(words):
            shown = dict(zip(words, map(numeric, row["figures"].split()), strict=True))
            count = shown.get("n", shown.get("count"))
            cases = cases if count is None else count
            shares = [name for name, one in shown.items() if name[0] == "p" and one is not None]
            few = any(far_out(int(share[1:]), cases, rules) for share in shares)
            if count is not None and (few or rules.few(count)):
                broken.append(row.start("figures"))
        elif not (words and _SAFE_FORM.withheld.fullmatch(text)):
            break
        for start in broken:  # all figures go
            spans = (one.span() for one in NUMBER.finditer(text, start))
            cuts += [LogCut(at, *span, "safe-command") for span in spans]
        end = at + 1
    return Claim(end, "safe", cuts, "safe_command" if cuts else "") if end else None


_FORM = Forms(__package__, "tables")
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
    rows[-1].stub = TOTAL if last else rows[-1].stub
    pairs = (pair for one in rows for pair in zip(kinds, one.figures, strict=False))
    cumulated = [figure for kind, figure in pairs if kind == "cumulative"]
    cases = [rows[-1].count.value] * last
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
    foot = lines[count : count + _FOOT_LINES] if records[-1].stub == "diff" else []
    for at, text in enumerate((line.text for line in foot), count):
        if not (_FORM.test_foot.fullmatch(text) or is_rule(text) or not text.strip()):
            break
        claim.count = at + 1 if text.strip() else claim.count
        shown = (one for one in _FORM.test_value.finditer(text) if gone and one["value"] != HIDDEN)
        claim.cuts += [LogCut(at, *one.span("value"), "secondary", align="none") for one in shown]
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
    for head, line in enumerate(lines[start : start + 9], start):
        if is_rule(line.text) or "|" not in line.text:
            return head if head > start and is_rule(line.text) else None
    return None


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
    values: list[LogCut] = []
    for at in range(end, min(len(lines), end + _FOOT_LINES)):
        text = lines[at].text
        if _FORM.statistic.fullmatch(text):
            spans = (one.span("value") for one in _FORM.value.finditer(text))
            values += [LogCut(at, *span, "small-cells", align="none") for span in spans]
            end = at + 1
        elif text.strip():
            break
    if words and words[0] != "frequency":
        return Claim(end, "crosstab", [], "shares")
    shares = [one for at, some in enumerate(rows) if at % per_row for one in some.figures]
    cuts = crosstab_cuts(counted, shares, rules, total_column=total_column)
    # Statistics with the totals give back a table of two by two.
    cuts += values if cuts or any(one.hidden for one in cells) else []
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


_MODEL_FORM = Forms(__package__, "estimates")

_OF_GROUPS = ("Mean", "Total", "Ratio", "Proportion", "Margin")
_CASES = ("Number of obs", "Number of observations")
_LONGEST = 4000
_MOST_LINES = 2000


def read_model(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The output of one estimation command, or a table of coefficients alone."""
    step = _MODEL_FORM.iteration.fullmatch(lines[0].text)
    if step is not None:
        # The value of a step goes if the model goes.
        shown = step["value"] not in (None, HIDDEN)
        cut = LogCut(0, *step.span("value"), "model", align="none")
        return Claim(1, "iteration", held=[cut] * shown)
    # The header: known names with values, words, or sums of squares, only.
    first = lines[0].text
    known = bool(_MODEL_FORM.start.fullmatch(first) or _MODEL_FORM.anova.match(first))
    places = range(1, min(len(lines), 40)) if known else ()
    head = next((at for at in places if _starts_table(lines, at)), 0)
    if known and not (head and all(_is_header(line.text) for line in lines[:head])):
        return None
    table = _coefficient_table(lines, head) if _starts_table(lines, head) else None
    if table is None:
        return None
    end, rows, heading, stub = table
    texts = [lines[at].text for at in rows]
    parts = [(at, part) for at in range(head) for part in _MODEL_FORM.part.finditer(lines[at].text)]
    # Means, totals or shares of groups, not of all cases.
    groups = ""
    if heading in _OF_GROUPS:
        named = (line.text for line in lines[head:end] if _MODEL_FORM.section.fullmatch(line.text))
        sections = {name.partition("|")[0].strip() for name in named} - {"", "_at"}
        if heading == "Proportion" or sections or stub == "Over":
            groups = "groups"
    reason = _model_reason(lines[:head], 0 if groups else len(rows), rules)
    values = [text.partition("|")[2].split() for text in texts]
    # A row has no error where it is of a group of one case.
    if groups and any(len(some) > 1 and some[1] in (".", "0", HIDDEN) for some in values):
        reason = reason or "few-cases"
    alone = len(texts) == 1 and texts[0].partition("|")[0].strip() == "_cons"
    counted = (numeric(part["value"]) for _, part in parts if part["key"] in _CASES)
    cases = next(counted, None)
    if cases is not None and (alone or heading in _OF_GROUPS):
        total = heading == "Total"
        if any(_is_share_of_few(some, cases, rules, total=total) for some in values):
            reason = "few-cases"
    shown_parts = [(at, part) for at, part in parts if part["value"] != HIDDEN]
    if reason:
        cuts = [LogCut(at, *part.span("value"), reason) for at, part in shown_parts]
        for at in range(head):
            if (row := _MODEL_FORM.anova_row.fullmatch(lines[at].text)) is not None:
                names = (name for name in ("ss", "df", "ms") if row[name] not in (HIDDEN, "."))
                cuts += [LogCut(at, *row.span(name), reason) for name in names]
        for at, text in zip(rows, texts, strict=True):
            bar = text.find("|") + 1
            figures = _MODEL_FORM.row_value.finditer(text[bar:])
            cuts += [LogCut(at, bar + one.start(), bar + one.end(), reason) for one in figures]
    else:  # length of the shortest and the longest series
        ends = ((at, part) for at, part in shown_parts if part["key"] in ("min", "max"))
        cuts = [LogCut(at, *part.span("value"), "extremes") for at, part in ends]
    kind = "model" if known else "coefficients"
    return Claim(end, kind, list(dict.fromkeys(cuts)), groups, gone=bool(reason))


def _is_share_of_few(
    values: Sequence[str], cases: float, rules: CleaningRules, *, total: bool
) -> bool:
    """Whether the first figure of a row is a share, or a number, of too few cases or of all but
    too few.
    """
    shown = numeric(values[0]) if values else None
    if shown is None or not 0 < shown <= cases:
        return False
    part = shown * cases if shown < 1 else shown
    if (shown >= 1 and not total) or abs(part - round(part)) > max(1e-4 * part, 0.01):
        return False
    return rules.few(round(part)) or rules.few(round(cases - part))


def _is_header(text: str) -> bool:
    if (match := _MODEL_FORM.anova.match(text)) is not None:
        text = re.sub(r"^.{0,40}\bMS\b|^.{0,60}Prob ?> ?F", "", text)
    elif (
        match := _MODEL_FORM.anova_row.fullmatch(text) or _MODEL_FORM.anova_rule.fullmatch(text)
    ) is not None:
        text = match["rest"]
    left = _MODEL_FORM.phrase.sub("", _MODEL_FORM.part.sub("", text)).replace("|", " ")
    forms = ((_MODEL_FORM.clusters, text), (_MODEL_FORM.words, left), (_MODEL_FORM.title, text))
    return any(form.fullmatch(some) for form, some in forms)


def _starts_table(lines: Sequence[LogLine], at: int) -> bool:
    """Whether a rule and the heading of coefficients stand here."""
    if at >= len(lines) or not is_rule(lines[at].text):
        return False
    for line in lines[at + 1 : at + 4]:
        if _MODEL_FORM.coefficients.fullmatch(line.text):
            return True
        if not _MODEL_FORM.above.fullmatch(line.text) and "|" not in line.text:
            return False
    return False


def _coefficient_table(lines: Sequence[LogLine], at: int) -> tuple[int, list[int], str, str] | None:
    """Where a table of coefficients ends, which lines hold values, the heading, its stub."""
    heading = None
    while heading is None:
        at += 1
        heading = _MODEL_FORM.coefficients.fullmatch(lines[at].text)
    rows: list[int] = []
    end = at + 1
    for place in range(at + 1, min(len(lines), at + _LONGEST)):
        text = lines[place].text
        if is_rule(text):
            end = place + 1
            if "+" not in text and "|" not in text and place > at + 1:
                break  # the rule that closes the table
            continue
        _, bar, rest = text.partition("|")
        if not bar:
            break
        if _MODEL_FORM.row_values.fullmatch(rest) and rest.strip():
            rows.append(place)
        elif not (_MODEL_FORM.section.fullmatch(text) or _MODEL_FORM.word_row.search(rest)):
            break
        elif NUMBER.search(_MODEL_FORM.word_row.sub("", rest)):
            rows.append(place)
        end = place + 1
    while end < len(lines) and _MODEL_FORM.foot.fullmatch(lines[end].text):
        end += 1
    return (end, rows, heading["heading"], heading["stub"].strip()) if rows else None


def _model_reason(header: Sequence[LogLine], rows: int, rules: CleaningRules) -> str:
    """Why nothing of a model may be shown; empty if it may."""
    cases: float | None = None
    clustered = any("cluster" in line.text for line in header)
    for line in header:
        row = _MODEL_FORM.anova_row.fullmatch(line.text)
        if row is not None and row["stub"] == "Residual":
            df = numeric(row["df"])
            if df is None or df < rules.residual_df:
                return "degrees-of-freedom"
        clusters = _MODEL_FORM.clusters.fullmatch(line.text)
        if clusters is not None and rules.few(numeric(clusters["count"]) or 1):
            return "few-cases"
        for part in _MODEL_FORM.part.finditer(line.text):
            value = numeric(part["value"])
            test = None if clustered else _MODEL_FORM.f_test.fullmatch(part["key"])
            left = None if test is None else numeric(test["df"])
            if left is not None and left < rules.residual_df:
                return "degrees-of-freedom"  # absorbed effects count there
            if _MODEL_FORM.counted.fullmatch(part["key"]):
                if value is None or rules.few(value):
                    return "few-cases"
                if part["key"] in _CASES:
                    cases = value
    few = cases is not None and cases - rows < rules.residual_df
    return "degrees-of-freedom" if few else ""


def read_estimates_table(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``estimates table``."""
    head = [line.text for line in lines[:2]]
    if len(lines) < 4 or not is_rule(head[0]) or not _MODEL_FORM.model_head.fullmatch(head[1]):
        return None
    parts: list[list[FigureRow]] = []
    for at, line in enumerate(lines[2:], 2):
        if is_rule(line.text):
            if "+" not in line.text and "|" not in line.text:
                return _models(lines, at + 1, [part for part in parts if part], rules)
            parts.append([])
        elif parts:
            row = cells_behind_bar(line.text, at)
            if row is None:
                return None
            parts[-1].append(row)
    return None


def read_esttab(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``esttab`` and ``estout``."""
    rules_at = [at for at, line in enumerate(lines[:_MOST_LINES]) if is_rule(line.text)]
    if len(rules_at) < 3 or rules_at[0] != 0:
        return None
    heading = [line.text for line in lines[1 : rules_at[1]]]
    if not any(map(_MODEL_FORM.models_head.fullmatch, heading)):
        return None
    if any(map(_MODEL_FORM.figure_words.search, heading)):
        return None
    parts: list[list[FigureRow]] = []
    for start, end in pairwise(rules_at[1:4]):
        rows = [cells_behind_gap(lines[at].text, at) for at in range(start + 1, end)]
        parts.append([row for row in rows if row is not None])
        if None in rows:
            return None
    return _models(lines, rules_at[min(len(rules_at) - 1, 3)] + 1, parts, rules)


def _models(
    lines: Sequence[LogLine], end: int, parts: Sequence[Sequence[FigureRow]], rules: CleaningRules
) -> Claim:
    """What becomes of a table of models whose last part may hold numbers of cases."""
    while end < len(lines) and _MODEL_FORM.legend.fullmatch(lines[end].text):
        end += 1
    named = [row for row in parts[-1] if row.stub] if len(parts) > 1 else []
    numbers = [row for row in named if _MODEL_FORM.stats_counts.fullmatch(row.stub)]
    known = [row for row in named if _MODEL_FORM.stats_name.fullmatch(row.stub)]
    odd = [row for row in named if row not in known and row not in numbers]
    rows = chain.from_iterable(parts[:-1] if numbers or known else parts)
    coefficients = sum(bool(row.stub and row.figures) for row in rows)
    cases = [one for row in numbers for one in row.figures]
    left = [one.value - coefficients for one in cases if one.value is not None]
    few = any(one.hidden or rules.few(one.value) for one in cases)
    if few or any(one < rules.residual_df for one in left):
        reason = "few-cases" if few else "degrees-of-freedom"
        return Claim(end, "models", rows_as_one(list(chain.from_iterable(parts)), reason))
    cuts = rows_as_one(
        [row for row in odd if _MODEL_FORM.figure_words.search(row.stub)], "extremes"
    )
    review = "" if cases else "models"
    if any(figure.value is not None for row in odd for figure in row.figures) and not cuts:
        review = review or "model_statistics"
    return Claim(end, "models", cuts, review)


#: Readers of output, the first that knows some lines first.
READERS: tuple[Reader, ...] = (
    read_model,
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
    "estimates": read_estimates_table,
    "esttab": read_esttab,
    "estout": read_esttab,
}
