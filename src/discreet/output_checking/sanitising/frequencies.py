"""Tables of frequencies: tabulate one-way and two-way, tab1, tab2, duplicates report.

In: lines with a stub, a bar and counts. Out: a claim that withholds small counts and what
would give them back: a second count, cumulated shares, the inside of a two-way table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.output_checking.sanitising.claims import Claim, Cut, Figure, figures, is_rule
from discreet.output_checking.sanitising.lines import LogLine
from discreet.output_checking.sanitising.rules import CleaningRules

__all__ = ["hidden_rows", "read_crosstab", "read_one_way"]

_ONE_WAY = re.compile(r"[^|]{0,60}\|\s+Freq\.\s+Percent\s+Cum\.\s*")
_COPIES = re.compile(r"\s*[Cc]opies \| [Oo]bservations\s+[Ss]urplus\s*")
_KEY = re.compile(r"\s*\|\s*Key\s*\|\s*")
_KEY_WORD = re.compile(r"\s*\|\s*(?P<word>[a-z][a-z -]{2,40})\s*\|\s*")
_TOTALS = ("Total", "Gesamt")
_STATISTIC = re.compile(
    r"\s*(?:Pearson chi2|likelihood-ratio chi2|Cram[ée]r's V|gamma|Kendall's tau-b|"
    r"Fisher's exact|1-sided Fisher's exact)[^=]{0,30}=.{0,80}"
)
_VALUE = re.compile(r"=\s*(?P<value>-?[\d.,]+)")


@dataclass(slots=True)
class _Row:
    stub: str
    line: int
    figures: list[Figure]

    @property
    def count(self) -> Figure:
        return self.figures[0]


def read_one_way(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A list of counts with shares and cumulated shares, or of copies."""
    copies = bool(_COPIES.fullmatch(lines[0].text))
    if not copies and not _ONE_WAY.fullmatch(lines[0].text):
        return None
    rows, count = _rows(lines, 1)
    if not rows:
        return None
    values = [row for row in rows if row.stub not in _TOTALS]
    totals = [row for row in rows if row.stub in _TOTALS]
    total = totals[0].count.value if totals else None
    counts = [row.count.value for row in values]
    hidden = hidden_rows(counts, [row.count.hidden for row in values], total, rules)
    cuts: list[Cut] = []
    for at, row in enumerate(values):
        if at in hidden:
            cuts += [figure.cut(hidden[at]) for figure in row.figures if not figure.hidden]
        elif hidden and not copies and len(row.figures) > 2 and not row.figures[2].hidden:
            cuts.append(row.figures[2].cut("secondary"))
    if rules.few(total):
        for row in (*values, *totals):
            cuts += [figure.cut("few-cases") for figure in row.figures if not figure.hidden]
    return Claim(count, "frequencies", list(dict.fromkeys(cuts)))


def hidden_rows(
    counts: Sequence[float | None],
    closed: Sequence[bool],
    total: float | None,
    rules: CleaningRules,
) -> dict[int, str]:
    """Which of some counts with a known total are withheld, and why.

    Args:
        counts: The counts; None where one cannot be read.
        closed: Which are withheld already.
        total: Their total, if it is shown.
        rules: The rules.

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


def _rows(lines: Sequence[LogLine], start: int) -> tuple[list[_Row], int]:
    rows: list[_Row] = []
    count = start
    for at, line in enumerate(lines[start:], start):
        if is_rule(line.text):
            count = at + 1
            continue
        stub, bar, _ = line.text.rpartition("|")
        found = figures(line.text, at, len(stub) + 1) if bar else None
        if not found:
            break
        rows.append(_Row(stub.strip(), at, found))
        count = at + 1
    return rows, count


@dataclass(slots=True)
class _Crosstab:
    """A two-way table: each row has as many lines as the key names."""

    rows: list[_Row]
    per_row: int
    has_total_column: bool
    end: int

    @property
    def counted(self) -> list[_Row]:
        return self.rows[:: self.per_row]

    @property
    def inner(self) -> list[_Row]:
        return [row for row in self.counted if row.stub not in _TOTALS]

    @property
    def total(self) -> _Row | None:
        found = [row for row in self.counted if row.stub in _TOTALS]
        return found[-1] if found else None


def read_crosstab(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """Counts by two variables, with or without shares."""
    start, words = _key(lines)
    table = _table(lines, start, max(len(words), 1))
    if table is None or not (words or table.total or table.has_total_column):
        return None
    if words and words[0] != "frequency":
        end = _statistics_end(lines, table.end)
        return Claim(end, "crosstab", [], "shares without the counts they rest on")
    inner = [
        figure
        for row in table.inner
        for figure in (row.figures[:-1] if table.has_total_column else row.figures)
    ]
    small = any(rules.few(figure.value) or figure.hidden for figure in inner)
    cuts = _margins(table, rules)
    if small or cuts:
        cuts += _inside(table)
    end = _statistics_end(lines, table.end)
    if small or cuts:
        cuts += _statistics(lines, table.end, end)
    review = "" if table.has_total_column and table.total else "part of a wide table"
    return Claim(end, "crosstab", list(dict.fromkeys(cuts)), review)


def _key(lines: Sequence[LogLine]) -> tuple[int, list[str]]:
    """Where the table starts behind the box that says what its lines are."""
    if len(lines) < 4 or not is_rule(lines[0].text) or not _KEY.fullmatch(lines[1].text):
        return 0, []
    words: list[str] = []
    for at, line in enumerate(lines[2:12], 2):
        found = _KEY_WORD.fullmatch(line.text)
        if found:
            words.append(found["word"].strip())
        elif words and is_rule(line.text):
            after = at + 1
            while after < len(lines) and not lines[after].text.strip():
                after += 1
            return after, words
    return 0, []


def _table(lines: Sequence[LogLine], start: int, per_row: int) -> _Crosstab | None:
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
    rows: list[_Row] = []
    end = head + 1
    for at, line in enumerate(lines[head + 1 :], head + 1):
        if is_rule(line.text):
            end = at + 1
            continue
        stub, bar, _ = line.text.partition("|")
        found = figures(line.text.replace("|", " "), at, len(stub) + 1) if bar else None
        if not found:
            break
        rows.append(_Row(stub.strip(), at, found))
        end = at + 1
    widths = {len(row.figures) for row in rows[::per_row]}
    if not rows or len(rows) % per_row or len(widths) != 1:
        return None
    total_column = heading.rstrip().endswith(_TOTALS) and rule.count("+") == 2
    whole = all(_whole(figure) for row in rows[::per_row] for figure in row.figures)
    return _Crosstab(rows, per_row, total_column, end) if whole else None


def _whole(figure: Figure) -> bool:
    value = figure.value
    if value is None:
        return figure.hidden or figure.text.startswith(".")
    return value == int(value)


def _margins(table: _Crosstab, rules: CleaningRules) -> list[Cut]:
    """Small totals of rows and columns, and a second one beside each single one."""
    cuts: list[Cut] = []
    total = table.total
    whole = total.figures[-1] if total and table.has_total_column else None
    if table.has_total_column:
        cuts += _margin([row.figures[-1] for row in table.inner], whole, rules)
    if total:
        columns = total.figures[:-1] if table.has_total_column else total.figures
        cuts += _margin(columns, whole, rules)
    if whole and rules.few(whole.value):
        cuts.append(whole.cut("few-cases"))
    return cuts


def _margin(margin: list[Figure], whole: Figure | None, rules: CleaningRules) -> list[Cut]:
    counts = [figure.value for figure in margin]
    closed = [figure.hidden for figure in margin]
    hidden = hidden_rows(counts, closed, whole.value if whole else None, rules)
    return [margin[at].cut(reason) for at, reason in hidden.items() if not margin[at].hidden]


def _inside(table: _Crosstab) -> list[Cut]:
    """All counts inside, and every share: shares with totals give counts back."""
    cuts: list[Cut] = []
    for at, row in enumerate(table.rows):
        stub = table.rows[at - at % table.per_row].stub
        if at % table.per_row:
            some = row.figures
        elif stub in _TOTALS:
            some = []
        else:
            some = row.figures[:-1] if table.has_total_column else row.figures
        cuts += [figure.cut("small-cells") for figure in some if not figure.hidden]
    return cuts


def _statistics_end(lines: Sequence[LogLine], start: int) -> int:
    """Where test statistics below a table end."""
    end = start
    for at in range(start, min(len(lines), start + 12)):
        if _STATISTIC.fullmatch(lines[at].text):
            end = at + 1
        elif lines[at].text.strip():
            break
    return end


def _statistics(lines: Sequence[LogLine], start: int, end: int) -> list[Cut]:
    """Statistics with the totals give back a table of two by two."""
    return [
        Cut(at, found.start("value"), found.end("value"), "small-cells", align="none")
        for at in range(start, end)
        for found in _VALUE.finditer(lines[at].text)
    ]
