"""Readers of what single commands of Stata print: counts, statistics, descriptions of variables.

In: lines of output (CONFIDENTIAL). Out: a `Claim` by the rules of `table_rules`; None for lines
of another form. Tables are rows of figures behind a bar; lists are lines whose forms stand in
``forms.toml``.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

from discreet_fire.logs.claims import (
    HIDDEN,
    NUMBER,
    Align,
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
    list_forms,
    numeric,
    read_rows,
    withheld,
)
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.table_rules import (
    TOTALS,
    StatisticsRecord,
    crosstab_cuts,
    far_out,
    hidden_counts,
    part_cuts,
    statistics_claim,
    subtotal_cuts,
)

_COUNTS = OutputForms("frequencies")
_STATISTICS = OutputForms("statistics")
_TABLES = OutputForms("summary_tables")
_LISTS = list_forms()
_NEEDED = {"mean", "extreme", "centile", "percentile", "spread", "distinct", "sum"}
_FOOT_LINES = 8
_DETAIL_LINES = 14
_INDENTED = 4
_COMPACT = (
    ("count", "Obs"), ("distinct", "Unique"), ("mean", "Mean"), ("extreme", "Min"),
    ("extreme", "Max"),
)  # fmt: skip
_SIDES: dict[str, Align] = {"left": "left", "none": "none", "": "right"}
_LENGTH_SHARES = (0, 5, 25, 50, 75, 95, 100)


def _once(cuts: list[LogCut]) -> list[LogCut]:
    return list(dict.fromkeys(cuts))


# Lists --------------------------------------------------------------------------------------------


def read_list(kind: str, lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """Lines of a list, whose groups say what stands there and on which side of its column."""
    form = _LISTS[kind]
    if not form.first.fullmatch(lines[0].text):
        return None
    parts: dict[str, list[LogFigure]] = defaultdict(list)
    cuts: list[LogCut] = []
    end = 0
    for at, line in enumerate(lines):
        text = line.text
        if not text.strip() and not form.gaps:
            break
        if text.strip() and not is_rule(text):
            pair = f"{text}\n{lines[at + 1].text}" if at + 1 < len(lines) else text
            forms = (one.fullmatch(text) or one.fullmatch(pair) for one in form.lines)
            match = next(filter(None, forms), None)
            if match is None:
                break
            for name, shown in match.groupdict().items():
                role, _, align = name.rstrip("0123456789").partition("_")
                figure = LogFigure(shown or HIDDEN, at, *match.span(name))
                if role in ("identifiers", "extremes", "data"):
                    rule = "data-label" if role == "data" else role
                    cuts += withheld([figure], rule, _SIDES[align])
                elif role == "each":
                    cuts += withheld(figures(text, at, figure.start) or (), "extremes")
                else:
                    parts[role].append(figure)
        end = at + 1 if text.strip() else end
    total = parts["total"][0] if parts["total"] else None
    cuts += part_cuts(parts["part"], total, rules) + part_cuts(parts["other"], None, rules)
    small = (one for one in (*parts["n"], *parts["total"]) if rules.few(one.value))
    return Claim(end, kind, cuts + withheld(small, "few-cases")) if end > 1 else None


def read_count(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The single number of ``count``."""
    match = _COUNTS.count.fullmatch(lines[0].text)
    if match is None:
        return None
    few = rules.few(numeric(match["count"]))
    return Claim(1, "count", [LogCut(0, *match.span("count"), "few-cases")] if few else [])


def read_group_heading(lines: Sequence[LogLine], _: CleaningRules) -> Claim | None:
    """The heading of a group: the line drawn above it, and its values."""
    start = 1 if is_rule(lines[0].text) and len(lines) > 1 else 0
    return Claim(start + 1, "group") if _COUNTS.group.fullmatch(lines[start].text) else None


# Counts -------------------------------------------------------------------------------------------


def read_one_way(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A list of counts with shares and cumulated shares, or of copies."""
    copies = bool(_COUNTS.copies.fullmatch(lines[0].text))
    if not copies and not _COUNTS.one_way.fullmatch(lines[0].text):
        return None

    def row(text: str, at: int) -> FigureRow | None:
        stub, bar, _ = text.rpartition("|")
        shown = figures(text, at, len(stub) + 1) if bar else None
        return FigureRow(stub.strip(), shown) if shown else None

    rows, count = read_rows(lines, 1, row)
    if not rows:
        return None
    values = [row for row in rows if row.stub not in TOTALS]
    totals = [row for row in rows if row.stub in TOTALS]
    total = totals[0].count if totals else None
    hidden = hidden_counts([row.count for row in values], total, rules)
    cuts: list[LogCut] = []
    for at, row_of_value in enumerate(values):
        if at in hidden:
            cuts += withheld(row_of_value.figures, hidden[at])
        elif hidden and not copies:
            cuts += withheld(row_of_value.figures[2:3], "secondary")
    if total is not None and rules.few(total.value):
        cuts += withheld([one for some in (*values, *totals) for one in some.figures], "few-cases")
    return Claim(count, "frequencies", _once(cuts), cases=[total.value if total else None])


def read_crosstab(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """Counts by two variables, with or without shares."""
    # A box above the table says what the lines of each row are.
    head, words = 0, list[str]()
    if len(lines) > 3 and is_rule(lines[0].text) and _COUNTS.key.fullmatch(lines[1].text):
        for at, line in enumerate(lines[2:12], 2):
            if (word := _COUNTS.key_word.fullmatch(line.text)) is not None:
                words.append(word["word"].strip())
            elif words and is_rule(line.text):
                head = behind_blanks(lines, at + 1)
                break
        words = words if head else []
    start, per_row = head, max(len(words), 1)
    while head < min(len(lines), start + 6) and "|" in lines[head].text:
        if is_rule(lines[head].text):
            break
        head += 1
    if head == start or head >= len(lines) or not is_rule(lines[head].text):
        return None
    rule, heading = lines[head].text, lines[head - 1].text
    if rule.count("+") not in (1, 2) or rule.count("+") != heading.count("|"):
        return None

    def row(text: str, at: int) -> FigureRow | None:
        stub, bar, _ = text.partition("|")
        shown = figures(text.replace("|", " "), at, len(stub) + 1) if bar else None
        return FigureRow(stub.strip(), shown) if shown else None

    rows, table_end = read_rows(lines, head + 1, row)
    counted = rows[::per_row]
    if not rows or len(rows) % per_row or len({len(one.figures) for one in counted}) != 1:
        return None
    if not all(_whole(one) or one.text.startswith(".") for some in counted for one in some.figures):
        return None
    total_column = heading.rstrip().endswith(TOTALS) and rule.count("+") == 2
    totals = [one for one in counted if one.stub in TOTALS]
    if not (words or totals or total_column):
        return None
    end = table_end
    for at in range(table_end, min(len(lines), table_end + 12)):
        if _COUNTS.statistic.fullmatch(lines[at].text):
            end = at + 1
        elif lines[at].text.strip():
            break
    if words and words[0] != "frequency":
        return Claim(end, "crosstab", [], "shares without the counts they rest on")
    shares = [one for at, some in enumerate(rows) if at % per_row for one in some.figures]
    cuts = crosstab_cuts(counted, shares, rules, total_column=total_column)
    inner = [
        one.figures[:-1] if total_column else one.figures for one in counted if one not in totals
    ]
    if cuts or any(one.hidden for some in inner for one in some):
        # Statistics with the totals give back a table of two by two.
        cuts += [
            LogCut(at, *match.span("value"), "small-cells", align="none")
            for at in range(table_end, end)
            for match in _COUNTS.value.finditer(lines[at].text)
        ]
    whole = totals[-1].figures[-1].value if totals and total_column else None
    review = "" if total_column and totals else "part of a wide table"
    return Claim(end, "crosstab", _once(cuts), review, cases=[whole])


def _whole(figure: LogFigure) -> bool:
    value = figure.value
    return figure.hidden or (value is not None and value == int(value))


def read_correlations(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The triangle of ``correlate`` and ``pwcorr``."""
    start, count = 0, None
    if (match := _COUNTS.observed.fullmatch(lines[0].text)) is not None:
        count, start = numeric(match["count"]), behind_blanks(lines, 1)
    head = [line.text for line in lines[start : start + 2]]
    if len(head) < 2 or not (_COUNTS.correlation_head.fullmatch(head[0]) and is_rule(head[1])):
        return None

    def row(text: str, at: int) -> FigureRow | None:
        return bar_row(text, at) or (FigureRow("", []) if text.strip() == "|" else None)

    def is_count(figure: LogFigure) -> bool:
        return figure.text.replace(",", "").isdecimal()

    rows, end = read_rows(lines, start + 2, row)
    rows = [one for one in rows if one.figures]
    few = match is not None and (count is None or rules.few(count))
    cuts: list[LogCut] = []
    for at, shown in enumerate(rows):
        for place, figure in enumerate(shown.figures):
            small = is_count(figure) and rules.few(figure.value)
            cuts += withheld([figure] if few or small else [], "few-cases")
            # The coefficient, and its significance, stand above their count.
            for above in reversed(rows[max(at - 2, 0) : at] if small else []):
                if place >= len(above.figures) or is_count(above.figures[place]):
                    break
                cuts += withheld([above.figures[place]], "few-cases")
    if few and (number := NUMBER.search(lines[0].text)) is not None:
        cuts.append(LogCut(0, *number.span(), "few-cases", align="none"))
    # Below each row of coefficients may stand one of counts, which has no name.
    kinds: list[bool] = []
    named = False
    for one in rows:
        counts = all(is_count(figure) or figure.hidden for figure in one.figures)
        named = named or (counts and bool(one.stub))
        kinds += [counts] if counts or one.stub else []
    follow = kinds == [False, True] * (len(kinds) // 2) and bool(kinds) and not named
    known = match is not None or follow
    review = "" if known else "correlations without their number of cases"
    return Claim(end, "correlations", cuts, review)


# Statistics ---------------------------------------------------------------------------------------


def _header(heads: str) -> list[tuple[str, str]] | None:
    """Kind and name of each column; None if a word is not known."""
    names: list[tuple[str, str]] = []
    length = 0
    for match in _STATISTICS.word.finditer(heads):
        kind = str(match.lastgroup)
        length += len(match[0].replace(" ", ""))
        names += [(kind, match[0])] * (2 if kind == "interval" else 1)
    return names if names and length == len(heads.replace(" ", "")) else None


def read_columns(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A table with one statistic in each column."""
    stub, bar, heads = lines[0].text.partition("|")
    names = _header(heads) if bar else None
    if names is None or _STATISTICS.stubs.fullmatch(stub):
        return None
    if not _NEEDED & {kind for kind, _ in names} or len(lines) < 2 or not is_rule(lines[1].text):
        return None
    counted = names[0][0] == "count"
    records: list[StatisticsRecord] = []

    def row(text: str, at: int) -> FigureRow | None:
        shown = bar_row(text, at)
        if shown is None:
            return None
        record, columns = StatisticsRecord(shown.stub), names
        if len(shown.figures) == len(names):
            pass
        elif len(shown.figures) == 1 and counted and shown.count.value == 0:
            columns = names[:1]
        elif counted and not shown.stub and records and len(shown.figures) == len(names) - 1:
            columns = names[1:]  # centile: further percentiles of the same variable
            record.count, record.closed = records[-1].count, records[-1].closed
        elif shown.stub in ("diff", "combined", "Combined") and len(shown.figures) < len(names):
            columns = [("error", "")] * len(shown.figures)
        else:
            return None
        for (kind, name), figure in zip(columns, shown.figures, strict=True):
            record.add(kind, name, figure)
        records.append(record)
        return shown

    _, count = read_rows(lines, 2, row)
    if not records:
        return None
    claim = statistics_claim(count, records, rules)
    if records[-1].stub != "diff":
        return claim
    # Below two means stands their test, which goes if anything of them goes.
    gone = bool(claim.cuts)
    for at in range(count, min(len(lines), count + _FOOT_LINES)):
        text = lines[at].text
        if not (_STATISTICS.test_foot.fullmatch(text) or is_rule(text) or not text.strip()):
            break
        claim.count = at + 1 if text.strip() else claim.count
        shown = (one for one in _STATISTICS.test_value.finditer(text) if one["value"] != HIDDEN)
        cuts = [LogCut(at, *one.span("value"), "secondary", align="none") for one in shown]
        claim.cuts += cuts if gone else []
    return claim


def read_compact(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``codebook, compact``."""
    if not _STATISTICS.compact_head.fullmatch(lines[0].text):
        return None

    def row(text: str, at: int) -> StatisticsRecord | None:
        match = _STATISTICS.compact_row.fullmatch(text)
        if match is None:
            return None
        record = StatisticsRecord(match["name"])
        shown = figures(text[: match.end("values")], at, match.start("values"))
        for (kind, name), figure in zip(_COMPACT, shown or (), strict=True):
            record.add(kind, name, figure)
        return record

    records, end = read_rows(lines, 1, row)
    return statistics_claim(end, records, rules) if records else None


def read_statistics_down(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A table whose rows are statistics, for each column and without or with groups: tabstat."""
    match = _STATISTICS.summary.fullmatch(lines[0].text)
    cycle = None if match is None else _header(" ".join(match["names"].replace(",", " ").split()))
    head = 0
    while head < min(len(lines), 4) and "|" not in lines[head].text:
        head += 1
    if head + 1 >= len(lines) or not is_rule(lines[head + 1].text):
        return None
    stub = lines[head].text.partition("|")[0]
    if cycle is None and (head or not _STATISTICS.stubs.fullmatch(stub)):
        return None
    records: list[StatisticsRecord] = []
    current: list[StatisticsRecord] = []
    steps = itertools.count()

    def row(text: str, at: int) -> FigureRow | None:
        nonlocal current
        shown = bar_row(text, at)
        if shown is None:
            return None
        step = next(steps)
        if len(shown.figures) != len(current) or (cycle and step % len(cycle) == 0):
            current = [StatisticsRecord(shown.stub) for _ in shown.figures]
            records.extend(current)
        named = _header(text.partition("|")[0]) if cycle is None else [cycle[step % len(cycle)]]
        if named is None or len(named) != 1:
            return None
        for record, figure in zip(current, shown.figures, strict=True):
            record.add(*named[0], figure)
        return shown

    _, count = read_rows(lines, head + 2, row)
    return statistics_claim(count, records, rules) if records else None


def read_detail(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The block of ``summarize, detail``."""
    heads = (
        at for at, line in enumerate(lines[:3]) if _STATISTICS.detail_head.fullmatch(line.text)
    )
    start = next(heads, None)
    if start is None or (start and not is_rule(lines[start - 1].text)):
        return None
    record = StatisticsRecord("")
    block = lines[start : start + _DETAIL_LINES]
    sides = {
        at: match
        for at, line in enumerate(block, start)
        if (match := _STATISTICS.side.search(line.text)) is not None
    }
    last = max(sides, default=start)
    for at, line in enumerate(block[: last + 1 - start], start):
        side = sides.get(at)
        if side is not None and side[2] != ".":
            ((kind, name),) = _header(side[1]) or (("weight", side[1]),)
            record.add(kind, name, LogFigure(side[2], at, *side.span(2)))
        # Percentiles, and the smallest or largest values beside them.
        text = line.text[: side.start() if side else len(line.text)]
        if (match := _STATISTICS.percentile.match(text)) is not None:
            shown = [("percentile", f"p{int(match['share'])}", match)]
            middle = _STATISTICS.middle.finditer(text, match.end())
            for kind, name, one in (*shown, *(("extreme", "", one) for one in middle)):
                if one["value"] != ".":
                    record.add(kind, name, LogFigure(one["value"], at, *one.span("value")))
    record.closed = record.closed or record.count is None
    return statistics_claim(last + 1, [record], rules)


def read_codebook(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The description of one variable by ``codebook``."""
    if len(lines) < 5 or not is_rule(lines[0].text) or not is_rule(lines[2].text):
        return None
    if not _STATISTICS.codebook_head.fullmatch(lines[1].text):
        return None
    end = 3
    while end < len(lines) and not is_rule(lines[end].text):
        end += 1
    while end > 3 and not lines[end - 1].text.strip():
        end -= 1
    # A field goes on until the next one.
    fields: list[tuple[str, int]] = []
    cases: float | None = None
    name, known = "", False
    for at in range(3, end):
        text = lines[at].text
        if (match := _STATISTICS.field.match(text)) is not None:
            name = match["name"].lower()
        if name and text.strip():
            fields.append((name, at))
        missing = _STATISTICS.missing.search(text) if not known and "issing" in text else None
        if missing is not None:
            known, whole = True, numeric(missing["all"])
            cases = None if whole is None else whole - (numeric(missing["missing"]) or 0)
    if "type" not in dict(fields):
        return None
    cuts = [cut for name, at in fields for cut in _codebook_cuts(name, lines, at, cases, rules)]
    return Claim(end, "codebook", cuts)


def _codebook_cuts(
    name: str, lines: Sequence[LogLine], at: int, cases: float | None, rules: CleaningRules
) -> Iterator[LogCut]:
    text = lines[at].text
    rest = text.find(":") + 1 if _STATISTICS.field.match(text) else 0
    match = _STATISTICS.missing.search(text)
    if match is not None and rules.few(numeric(match["missing"])):
        yield LogCut(at, *match.span("missing"), "few-cases", align="none")
    if name == "range":
        match = _STATISTICS.range.search(text)
        if match is not None and match[0] != "[#,#]":
            yield LogCut(at, *match.span(), "extremes", put="[#,#]", align="left")
    elif name == "unique values":
        if (match := _STATISTICS.count.match(text, text.find(":") + 1)) is not None:
            yield LogCut(at, *match.span("count"), "distinct-values", align="left")
    elif name == "examples":
        shown = text[rest:].strip()
        if shown not in ("", HIDDEN):
            start = text.index(shown, rest)
            yield LogCut(at, start, start + len(shown), "examples", align="left")
    elif name in ("mean", "std. dev") and (cases is None or rules.few(cases)):
        for match in NUMBER.finditer(text, text.find(":") + 1):
            yield LogCut(at, *match.span(), "few-cases")
    elif name == "percentiles":
        # the line above names the percentiles
        shares = [int(share) for share in _STATISTICS.shares.findall(lines[at - 1].text)]
        yield from _percentiles(lines[at], at, shares, cases, rules)
    elif name == "tabulation":
        match = _STATISTICS.counted.match(text, rest)
        if match is not None and rules.few(numeric(match["count"])):
            yield LogCut(at, *match.span("count"), "few-cases")
            start = match.end("count")
            start += len(text[start:]) - len(text[start:].lstrip())
            yield LogCut(at, start, len(text.rstrip()), "few-cases", align="left")


def _percentiles(
    line: LogLine, at: int, shares: Sequence[int], cases: float | None, rules: CleaningRules
) -> Iterator[LogCut]:
    """Those values of percentiles in a line that are too far out; the ends are extremes."""
    shown = figures(line.text, at) or []
    for share, figure in zip(shares, shown, strict=False):
        if len(shares) == len(shown) and far_out(share, cases or 0, rules):
            yield from withheld([figure], "percentiles" if 0 < share < 100 else "extremes")


def read_xtsum(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``xtsum``."""
    if not _STATISTICS.xtsum_head.fullmatch(lines[0].text):
        return None
    few = False

    def row(text: str, at: int) -> list[LogCut] | None:
        nonlocal few
        if _STATISTICS.xtsum_gap.fullmatch(text):
            return []
        match = _STATISTICS.xtsum_row.fullmatch(text)
        shown = figures(text[: match.end("values")], at, match.start("values")) if match else None
        if match is None or shown is None or len(shown) < 2:
            return None
        count = LogFigure(match["count"], at, *match.span("count"))
        if match["part"] == "overall":
            few = count.value is None or rules.few(count.value) or shown[1].value == 0
        if match["name"] in ("N", "n") and rules.few(count.value):
            return withheld([*shown, count], "few-cases")
        return withheld(shown, "few-cases") if few else withheld(shown[-2:], "extremes")

    cuts, end = read_rows(lines, 1, row)
    return Claim(end, "xtsum", list(itertools.chain.from_iterable(cuts)))


def read_xtdescribe(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The lists of ``xtdescribe``: entities, times, lengths of series, patterns."""
    form = _LISTS["xtdescribe"]
    first = form.first.fullmatch(lines[0].text)
    claim = read_list("xtdescribe", lines, rules)
    if first is None or claim is None or not form.lines[1].fullmatch(lines[1].text):
        return None
    entities = numeric(first["n"])
    at = behind_blanks(lines, claim.count)
    if at < len(lines) and _STATISTICS.lengths.fullmatch(lines[at].text):
        for line in lines[at + 1 : at + 2]:
            claim.cuts += _percentiles(line, at + 1, _LENGTH_SHARES, entities, rules)
        claim.count = min(at + 2, len(lines))
    at = behind_blanks(lines, claim.count)
    if at >= len(lines) or not _STATISTICS.pattern_head.fullmatch(lines[at].text):
        return claim

    def row(text: str, at: int) -> tuple[re.Match[str], list[LogFigure]] | None:
        match = _STATISTICS.pattern.fullmatch(text)
        shown = figures(match["figures"], at) if match else None
        return (match, shown) if match and shown else None

    # Patterns with too few entities go; also a second one where one could be worked out.
    rows, claim.count = read_rows(lines, at + 1, row)
    totals = [shown[0] for _, shown in rows if len(shown) < 3]
    rows = [one for one in rows if len(one[1]) >= 3]
    hidden = hidden_counts([shown[0] for _, shown in rows], totals[-1] if totals else None, rules)
    for place, (match, shown) in enumerate(rows):
        if place not in hidden:
            claim.cuts += withheld(shown[2:3] if hidden else [], "secondary")
            continue
        claim.cuts += withheld(shown, hidden[place])
        if match["pattern"] not in (HIDDEN, "(other patterns)"):
            span = match.span("pattern")
            claim.cuts.append(LogCut(shown[0].line, *span, hidden[place], align="left"))
    return claim


# Tables of single commands ------------------------------------------------------------------------


def _cells(text: str, at: int, start: int) -> list[LogFigure] | None:
    """All figures from a place on, without stars and brackets; None if there is anything else."""
    text = _TABLES.no_value.sub(lambda one: " " * len(one[0]), text)
    cells = list(_TABLES.cells.finditer(text, start))
    left = _TABLES.cells.sub(lambda one: " " * len(one[0]), text[start:])
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
    start = 1 if _TABLES.title.fullmatch(lines[0].text) else 0
    if len(lines) < start + 4 or not is_rule(lines[start].text):
        return None
    if not _TABLES.fre_head.fullmatch(lines[start + 1].text):
        return None

    def row(text: str, at: int) -> FigureRow | None:
        cells = cells_behind_bar(text, at)
        return cells if cells is not None and cells.figures and _whole(cells.count) else None

    rows, end = read_rows(lines, start + 2, row)
    if not rows or rows[-1].stub != "Total":
        return None
    return Claim(end, "frequencies", _once(list(subtotal_cuts(rows, rules))))


def read_dtable(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``dtable``: counts with shares, means with deviations."""
    top = next((at for at in range(1, min(len(lines), 9)) if is_rule(lines[at].text)), 0)
    heading = [line.text for line in lines[1:top]]
    if not is_rule(lines[0].text) or not any(map(_TABLES.dtable_head.fullmatch, heading)):
        return None
    cases: list[LogFigure] = []
    group: list[FigureRow] = []
    cuts: list[LogCut] = []
    few = closed = False
    review = ""
    end = top + 1
    while end < len(lines) and not is_rule(lines[end].text):
        text = lines[end].text
        row = cells_behind_gap(text, end)
        end += 1
        if row is None or (row.figures and not row.stub):
            return None
        if not row.figures:
            group, closed = [], False
            continue
        if row.stub == "N" and not cases:
            cases = row.figures
            few = any(rules.few(one.value) or one.hidden for one in cases)
            cuts += rows_as_one([row], "few-cases") if few else []
            continue
        cuts += rows_as_one([row], "few-cases") if few else []
        means = not text.startswith(" ")
        form = _TABLES.dtable_means if means else _TABLES.dtable_cell
        gone = len(row.figures) == 1 and row.count.hidden
        if not gone and 2 * len(list(form.finditer(text, row.start))) != len(row.figures):
            return None
        if means:
            alone = any(one.value in (None, 0) for one in row.figures[1::2])
            cuts += rows_as_one([row], "few-cases") if alone else []
            review = "statistics without their number of cases"
            continue
        if not all(map(_whole, row.figures[::2])):
            return None
        group.append(row)
        closed = closed or any(rules.few(one.value) or one.hidden for one in row.figures[::2])
        if closed:
            cuts += rows_as_one(group, "few-cases")
            group = []
    return Claim(min(end + 1, len(lines)), "dtable", cuts, review) if cases else None


def read_frequency_table(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A table of ``table`` that holds counts only: all of them go if one is too small."""
    head = 0
    while head < min(len(lines), 8) and "|" not in lines[head].text and is_rule(lines[head].text):
        head += 1
    first = head
    while head < min(len(lines), 8) and "|" in lines[head].text and not is_rule(lines[head].text):
        head += 1
    if head == first or head >= len(lines) or not is_rule(lines[head].text):
        return None
    heading = " ".join(line.text.partition("|")[2] for line in lines[first:head])
    rows, end = read_rows(lines, head + 1, cells_behind_bar)
    shown = [figure for row in rows for figure in row.figures]
    if not shown or not all(map(_whole, shown)) or not _TABLES.table_head.fullmatch(heading):
        return None
    small = any(figure.hidden or rules.few(figure.value) for figure in shown)
    return Claim(end, "frequencies", withheld(shown, "few-cases") if small else [])


#: Readers of output, the first that knows some lines first.
READERS: tuple[Reader, ...] = (
    read_detail,
    read_codebook,
    read_xtdescribe,
    *(partial(read_list, name) for name in ("merge", "describe", "reshape")),
    read_one_way,
    read_xtsum,
    read_columns,
    read_statistics_down,
    read_correlations,
    read_crosstab,
    read_group_heading,
    read_compact,
)
#: Readers of what only one command prints.
COMMAND_READERS: dict[str, Reader] = {
    "fre": read_fre,
    "dtable": read_dtable,
    "table": read_frequency_table,
    "stset": partial(read_list, "stset"),
    "utest": partial(read_list, "utest"),
}
