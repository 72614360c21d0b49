"""Counts in logs: tabulate, tab1, tab2, duplicates, merge, describe, count, reshape, correlate.

In: lines of output (CONFIDENTIAL). Out: a claim that withholds small counts and what would give
them back: a second count, cumulated shares, the inside of a two-way table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from discreet_fire.logs.claims import (
    NUMBER,
    Claim,
    LogCut,
    LogFigure,
    OutputForms,
    behind_blanks,
    figures,
    is_rule,
    numeric,
    read_rows,
    withheld,
)
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules

_FORM = OutputForms(
    "frequencies",
    "st_total st_left st_out st_number st_time one_way copies storage long_name "
    "key key_word statistic value merge_head merge_row described contains describe_head "
    "describe_row sorted count reshape_head reshape reshape_row group "
    "observed correlation_head",
)
_TOTALS = ("Total", "Gesamt", "Insgesamt")


@dataclass(slots=True)
class CountRow:
    """A row of counts and shares, the count first."""

    stub: str
    figures: list[LogFigure]

    @property
    def count(self) -> LogFigure:
        """The count."""
        return self.figures[0]


def read_one_way(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A list of counts with shares and cumulated shares, or of copies."""
    copies = bool(_FORM.copies.fullmatch(lines[0].text))
    if not copies and not _FORM.one_way.fullmatch(lines[0].text):
        return None
    rows, count = read_rows(lines, 1, _row)
    if not rows:
        return None
    values = [row for row in rows if row.stub not in _TOTALS]
    totals = [row for row in rows if row.stub in _TOTALS]
    total = totals[0].count.value if totals else None
    counts = [row.count.value for row in values]
    hidden = hidden_rows(counts, [row.count.hidden for row in values], total, rules)
    cuts: list[LogCut] = []
    for at, row in enumerate(values):
        if at in hidden:
            cuts += withheld(row.figures, hidden[at])
        elif hidden and not copies:
            cuts += withheld(row.figures[2:3], "secondary")
    if rules.few(total):
        cuts += withheld([one for row in (*values, *totals) for one in row.figures], "few-cases")
    return Claim(count, "frequencies", list(dict.fromkeys(cuts)), cases=[total])


def hidden_rows(
    counts: Sequence[float | None],
    closed: Sequence[bool],
    total: float | None,
    rules: CleaningRules,
) -> dict[int, str]:
    """Which of some counts with a known total are withheld, and why.

    >>> hidden_rows([2, 30, 8], [False] * 3, 40, CleaningRules.default())
    {0: 'few-cases', 2: 'secondary'}
    >>> hidden_rows([20, 30, 8], [False] * 3, 58, CleaningRules.default())
    {}
    """
    hidden = {at: "few-cases" for at, count in enumerate(counts) if rules.few(count) or closed[at]}
    if not hidden:
        return hidden
    others = sorted(
        (at for at, count in enumerate(counts) if at not in hidden and count),
        key=lambda at: (counts[at] or 0, at),
    )
    shown = sum(counts[at] or 0 for at in others)
    whole = total if total is not None else sum(count or 0 for count in counts)
    while others and (len(hidden) < 2 or whole - shown < rules.minimum):
        if total is None and any(closed):
            break  # without a total nothing says how much is withheld already
        taken = others.pop(0)
        hidden[taken] = "secondary"
        shown -= counts[taken] or 0
    return hidden


def _row(text: str, at: int) -> CountRow | None:
    stub, bar, _ = text.rpartition("|")
    found = figures(text, at, len(stub) + 1) if bar else None
    return CountRow(stub.strip(), found) if found else None


def _row_of_parts(text: str, at: int) -> CountRow | None:
    stub, bar, _ = text.partition("|")
    found = figures(text.replace("|", " "), at, len(stub) + 1) if bar else None
    return CountRow(stub.strip(), found) if found else None


@dataclass(slots=True)
class CrosstabCounts:
    """A two-way table: each row has as many lines as the key names."""

    rows: list[CountRow]
    per_row: int
    has_total_column: bool
    end: int

    @property
    def counted(self) -> list[CountRow]:
        """The lines with counts."""
        return self.rows[:: self.per_row]

    @property
    def inner(self) -> list[CountRow]:
        """The lines with counts but for totals."""
        return [row for row in self.counted if row.stub not in _TOTALS]

    @property
    def total(self) -> CountRow | None:
        """The line of totals."""
        rows = [row for row in self.counted if row.stub in _TOTALS]
        return rows[-1] if rows else None

    @property
    def closed(self) -> bool:
        """Whether a count inside is withheld already."""
        return any(figure.hidden for row in self.inner for figure in self.without_total(row))

    def without_total(self, row: CountRow) -> list[LogFigure]:
        """The counts of a line but for its total."""
        return row.figures[:-1] if self.has_total_column else row.figures


def read_crosstab(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """Counts by two variables, with or without shares."""
    start, words = _key(lines)
    table = _table(lines, start, max(len(words), 1))
    if table is None or not (words or table.total or table.has_total_column):
        return None
    end = _statistics_end(lines, table.end)
    if words and words[0] != "frequency":
        return Claim(end, "crosstab", [], "shares without the counts they rest on")
    cuts = crosstab_cuts(table, rules)
    if cuts or table.closed:
        # Statistics with the totals give back a table of two by two.
        cuts += [
            LogCut(at, *match.span("value"), "small-cells", align="none")
            for at in range(table.end, end)
            for match in _FORM.value.finditer(lines[at].text)
        ]
    review = "" if table.has_total_column and table.total else "part of a wide table"
    whole = table.total.figures[-1:] if table.total and table.has_total_column else ()
    cases = [one.value for one in whole]
    return Claim(end, "crosstab", list(dict.fromkeys(cuts)), review, cases=cases)


def crosstab_cuts(table: CrosstabCounts, rules: CleaningRules) -> list[LogCut]:
    """What goes of a two-way table: with a small count all counts inside and all shares."""
    inner = chain.from_iterable(table.without_total(row) for row in table.inner)
    small = table.closed or any(rules.few(figure.value) for figure in inner)
    cuts = _margins(table, rules)
    return cuts + _inside(table) if small or cuts else []


def _key(lines: Sequence[LogLine]) -> tuple[int, list[str]]:
    """Where the table starts behind the box that says what its lines are."""
    if len(lines) < 4 or not is_rule(lines[0].text) or not _FORM.key.fullmatch(lines[1].text):
        return 0, []
    words: list[str] = []
    for at, line in enumerate(lines[2:12], 2):
        match = _FORM.key_word.fullmatch(line.text)
        if match:
            words.append(match["word"].strip())
        elif words and is_rule(line.text):
            return behind_blanks(lines, at + 1), words
    return 0, []


def _table(lines: Sequence[LogLine], start: int, per_row: int) -> CrosstabCounts | None:
    head = start
    while head < len(lines) and "|" in lines[head].text and head - start < 6:
        if is_rule(lines[head].text):
            break
        head += 1
    if head == start or head >= len(lines) or not is_rule(lines[head].text):
        return None
    rule, heading = lines[head].text, lines[head - 1].text
    if rule.count("+") not in (1, 2) or rule.count("+") != heading.count("|"):
        return None
    rows, end = read_rows(lines, head + 1, _row_of_parts)
    widths = {len(row.figures) for row in rows[::per_row]}
    if not rows or len(rows) % per_row or len(widths) != 1:
        return None
    total_column = heading.rstrip().endswith(_TOTALS) and rule.count("+") == 2
    whole = all(_whole(figure) for row in rows[::per_row] for figure in row.figures)
    return CrosstabCounts(rows, per_row, total_column, end) if whole else None


def _whole(figure: LogFigure) -> bool:
    value = figure.value
    if value is None:
        return figure.hidden or figure.text.startswith(".")
    return value == int(value)


def _margins(table: CrosstabCounts, rules: CleaningRules) -> list[LogCut]:
    """Small totals of rows and columns, and a second one beside each single one."""
    cuts: list[LogCut] = []
    total = table.total
    whole = total.figures[-1] if total and table.has_total_column else None
    if table.has_total_column:
        cuts += _margin([row.figures[-1] for row in table.inner], whole, rules)
    if total:
        cuts += _margin(table.without_total(total), whole, rules)
    if whole and rules.few(whole.value):
        cuts.append(whole.cut("few-cases"))
    return cuts


def _margin(margin: list[LogFigure], whole: LogFigure | None, rules: CleaningRules) -> list[LogCut]:
    """Those of some counts that are withheld, with their total if it is shown."""
    counts = [figure.value for figure in margin]
    closed = [figure.hidden for figure in margin]
    hidden = hidden_rows(counts, closed, whole.value if whole else None, rules)
    return [margin[at].cut(reason) for at, reason in hidden.items() if not margin[at].hidden]


def _inside(table: CrosstabCounts) -> list[LogCut]:
    """All counts inside, and every share: shares with totals give counts back."""
    cuts: list[LogCut] = []
    for at, row in enumerate(table.rows):
        stub = table.rows[at - at % table.per_row].stub
        if at % table.per_row:
            cuts += withheld(row.figures, "small-cells")
        elif stub not in _TOTALS:
            cuts += withheld(table.without_total(row), "small-cells")
    return cuts


def _statistics_end(lines: Sequence[LogLine], start: int) -> int:
    """Where test statistics below a table end."""
    end = start
    for at in range(start, min(len(lines), start + 12)):
        if _FORM.statistic.fullmatch(lines[at].text):
            end = at + 1
        elif lines[at].text.strip():
            break
    return end


def read_merge(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The result of ``merge``."""
    if not _FORM.merge_head.fullmatch(lines[0].text):
        return None
    parts: list[LogFigure] = []
    others: list[LogFigure] = []
    end = 1
    for at, line in enumerate(lines[1:], 1):
        row = _FORM.merge_row.fullmatch(line.text)
        if row is not None:
            some = parts if row["name"].startswith("from ") else others
            some.append(LogFigure(row["count"], at, *row.span("count")))
        elif line.text.strip() and not is_rule(line.text):
            break
        if line.text.strip():
            end = at + 1
    return Claim(end, "merge", _margin(parts, None, rules) + _margin(others, None, rules))


def read_describe(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The list of variables of ``describe`` and ``lookfor``."""
    if not _FORM.contains.fullmatch(lines[0].text) and not _FORM.storage.fullmatch(lines[0].text):
        return None
    cuts: list[LogCut] = []
    end = 1
    for at, line in enumerate(lines[1:], 1):
        counted = _FORM.described.fullmatch(line.text)
        if counted is not None and rules.few(numeric(counted["count"])):
            cuts.append(LogCut(at, *counted.span("count"), "few-cases"))
        if counted is not None and counted["kind"] in ("obs", "Observations"):
            label = counted["label"].strip()
            if label not in ("", "#"):
                start = line.text.index(label, counted.start("label"))
                cuts.append(LogCut(at, start, start + len(label), "data-label", align="left"))
        if counted is None and not _is_described(lines, at):
            break
        end = at + 1
    return Claim(end, "describe", cuts) if end > 2 else None


def _is_described(lines: Sequence[LogLine], at: int) -> bool:
    """Whether a line of a description tells of variables only; a long name has its own line."""
    text = lines[at].text
    if is_rule(text) or _FORM.describe_head.fullmatch(text) or _FORM.describe_row.fullmatch(text):
        return True
    if _FORM.sorted.fullmatch(text):
        return True
    after = lines[at + 1].text if at + 1 < len(lines) else ""
    return bool(_FORM.long_name.fullmatch(text) and _FORM.describe_row.fullmatch(after))


def read_stset(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """What ``stset`` says of observations that it leaves out, and of those that are left."""
    if not _FORM.st_total.fullmatch(lines[0].text):
        return None
    parts: list[LogFigure] = []
    totals: list[LogFigure] = []
    others: list[LogFigure] = []
    end = 0
    for at, line in enumerate(lines):
        text = line.text
        for form, some in (
            (_FORM.st_out, parts),
            (_FORM.st_left, parts),
            (_FORM.st_total, totals),
            (_FORM.st_number, others),
        ):
            if (row := form.fullmatch(text)) is not None:
                some.append(LogFigure(row["count"], at, *row.span("count")))
                break
        else:
            if text.strip() and not (is_rule(text) or _FORM.st_time.fullmatch(text)):
                break
        end = at + 1 if text.strip() else end
    if not totals or not parts:
        return None
    cuts = _margin(parts, totals[0], rules)
    cuts += [one.cut("few-cases") for one in (*others, *totals) if rules.few(one.value)]
    return Claim(end, "survival", cuts)


def read_count(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The single number of ``count``."""
    match = _FORM.count.fullmatch(lines[0].text)
    if match is None:
        return None
    few = rules.few(numeric(match["count"]))
    return Claim(1, "count", [LogCut(0, *match.span("count"), "few-cases")] if few else [])


def read_reshape(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The result of ``reshape``."""
    if not _FORM.reshape_head.fullmatch(lines[0].text):
        return None

    def row(text: str, at: int) -> list[LogCut] | None:
        if (match := _FORM.reshape.fullmatch(text)) is not None:
            few = [name for name in ("a", "b") if rules.few(numeric(match[name]))]
            return [LogCut(at, *match.span(name), "few-cases") for name in few]
        return [] if _FORM.reshape_row.fullmatch(text) else None

    cuts, end = read_rows(lines, 1, row)
    return Claim(end, "reshape", list(chain.from_iterable(cuts)))


def read_group_heading(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The heading of a group: the lines drawn above it, and its values."""
    del rules
    start = 1 if is_rule(lines[0].text) and len(lines) > 1 else 0
    return Claim(start + 1, "group") if _FORM.group.fullmatch(lines[start].text) else None


def read_correlations(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The triangle of ``correlate`` and ``pwcorr``."""
    start, count = 0, None
    if (match := _FORM.observed.fullmatch(lines[0].text)) is not None:
        count, start = numeric(match["count"]), behind_blanks(lines, 1)
    head = [line.text for line in lines[start : start + 2]]
    if len(head) < 2 or not (_FORM.correlation_head.fullmatch(head[0]) and is_rule(head[1])):
        return None

    def row(text: str, at: int) -> list[LogFigure] | None:
        stub, bar, _ = text.partition("|")
        shown = figures(text, at, len(stub) + 1) if bar else None
        return shown or ([] if text.strip() == "|" else None)

    rows, end = read_rows(lines, start + 2, row)
    shown = [some for some in rows if some]
    cuts = _correlation_cuts(lines, shown, count, rules, known=match is not None)
    known = match is not None or _counts_follow(lines[start + 2 : end])
    review = "" if known else "correlations without their number of cases"
    return Claim(end, "correlations", cuts, review)


def _correlation_cuts(
    lines: Sequence[LogLine],
    rows: list[list[LogFigure]],
    count: float | None,
    rules: CleaningRules,
    *,
    known: bool,
) -> list[LogCut]:
    few = known and (count is None or rules.few(count))
    cuts: list[LogCut] = []
    for at, row in enumerate(rows):
        for place, figure in enumerate(row):
            small = _is_count(figure) and rules.few(figure.value)
            if few or small:
                cuts += withheld([figure], "few-cases")
            if small:  # the coefficient, and its significance, stand above their count
                cuts += _above(rows[:at], place)
    if few and (match := NUMBER.search(lines[0].text)) is not None:
        cuts.append(LogCut(0, *match.span(), "few-cases", align="none"))
    return cuts


def _counts_follow(lines: Sequence[LogLine]) -> bool:
    """Whether below each row of coefficients stands one of counts, which has no name."""
    kinds: list[bool] = []
    for line in lines:
        stub, bar, _ = line.text.partition("|")
        shown = figures(line.text, 0, len(stub) + 1) if bar else None
        if shown and not is_rule(line.text):
            counts = all(_is_count(figure) or figure.hidden for figure in shown)
            if counts and stub.strip():
                return False
            kinds += [counts] if counts or stub.strip() else []
    return bool(kinds) and all(kinds[1::2]) and not any(kinds[::2]) and len(kinds) % 2 == 0


def _above(rows: list[list[LogFigure]], place: int) -> Iterator[LogCut]:
    """The coefficient of a pair, and what stands between it and its count."""
    for row in reversed(rows[-2:]):
        if place >= len(row) or _is_count(row[place]):
            break
        yield from withheld([row[place]], "few-cases")


def _is_count(figure: LogFigure) -> bool:
    return figure.text.replace(",", "").isdecimal()
