"""Tables that single commands print: fre, dtable, table, estimates table, esttab, utest.

In: lines below such a command (CONFIDENTIAL). Out: a claim. Where one figure is of too few cases,
all figures go that it could be worked out from, which mostly is the whole table; a table of models
is shown only if it tells how many cases each model has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from discreet_fire.logs.claims import (
    HIDDEN,
    Claim,
    LogCut,
    LogFigure,
    OutputForms,
    is_rule,
    withheld,
)
from discreet_fire.logs.frequencies import hidden_rows
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules

_FORM = OutputForms(
    "summary_tables",
    "title fre_head dtable_head dtable_cell dtable_means table_head legend model_head models_head "
    "cells no_value stats_name stats_counts u_line u_head u_row u_test figure_words",
)
_TOTAL = "Total"
_LONGEST = 2000
_INDENTED = 4
_NO_CASES = "models without their number of cases"
_BLIND = "statistics without their number of cases"


@dataclass(slots=True)
class FigureLine:
    """A line of a table: what stands before its figures, and these."""

    stub: str
    figures: list[LogFigure]
    start: int
    end: int

    def cut(self, rule: str) -> Iterator[LogCut]:
        """The order to withhold all figures as one: how long each is shows between them."""
        if any(not figure.hidden for figure in self.figures):
            at = self.figures[0].line
            yield LogCut(at, self.start, self.end, rule, put=f" {HIDDEN}", align="none")


def _cells(text: str, at: int, start: int) -> list[LogFigure] | None:
    """All figures from a place on, without stars and brackets; None if there is anything else."""
    text = _FORM.no_value.sub(lambda one: " " * len(one[0]), text)
    figures = [
        LogFigure(one["figure"], at, *one.span("figure"))
        for one in _FORM.cells.finditer(text, start)
    ]
    left = _FORM.cells.sub(lambda one: " " * len(one[0]), text[start:])
    return None if left.strip() else figures


def _behind_bar(text: str, at: int) -> FigureLine | None:
    stub, bar, _ = text.partition("|")
    start = len(stub) + 1
    cells = _cells(text, at, start) if bar else None
    return None if cells is None else FigureLine(stub.strip(), cells, start, len(text))


def _behind_gap(text: str, at: int) -> FigureLine | None:
    """A line without bars: two blanks or more are between its name, if it has one, and figures."""
    blanks = len(text) - len(text.lstrip())
    stub = text[blanks:].partition("  ")[0].rstrip() if blanks <= _INDENTED else ""
    start = blanks + len(stub)
    cells = _cells(text, at, start)
    return None if cells is None else FigureLine(stub, cells, start, len(text))


def _all(lines: Iterable[FigureLine], rule: str) -> list[LogCut]:
    return [cut for line in lines for cut in line.cut(rule)]


def _whole(figure: LogFigure) -> bool:
    value = figure.value
    return figure.hidden or (value is not None and value == int(value))


# Counts -------------------------------------------------------------------------------------------


def read_fre(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``fre``: valid and missing values, with subtotals."""
    start = 1 if _FORM.title.fullmatch(lines[0].text) else 0
    if len(lines) < start + 4 or not is_rule(lines[start].text):
        return None
    head = _FORM.fre_head.fullmatch(lines[start + 1].text)
    if head is None:
        return None
    rows: list[FigureLine] = []
    end = start + 2
    for at, line in enumerate(lines[end:], end):
        row = None if is_rule(line.text) else _behind_bar(line.text, at)
        if not is_rule(line.text):
            if row is None or not row.figures or not _whole(row.figures[0]):
                break
            rows.append(row)
        end = at + 1
    if not rows or rows[-1].stub != _TOTAL:
        return None
    return Claim(end, "frequencies", list(dict.fromkeys(subtotal_cuts(rows, rules))))


def subtotal_cuts(rows: Sequence[FigureLine], rules: CleaningRules) -> Iterator[LogCut]:
    """What goes of counts of valid and missing values with subtotals; the last row is the total."""
    totals = [at for at, row in enumerate(rows) if row.stub.split()[-1:] == [_TOTAL]]
    values = [at for at in range(len(rows)) if at not in totals]
    whole = rows[-1].figures[0].value
    if rules.few(whole):
        yield from _all(rows, "few-cases")
        return
    valid = [at for at in values if at < totals[0]]
    counts = {at: rows[at].figures[0] for at in values}
    small = {at for at in values if rules.few(counts[at].value) or counts[at].hidden}
    if not small and not any(rows[at].figures[0].hidden for at in totals):
        return
    inside = small <= set(valid) and not rows[totals[0]].figures[0].hidden
    within = valid if inside else values
    total = rows[totals[0]].figures[0].value if inside else whole
    shown = [counts[at].value for at in within]
    closed = [counts[at].hidden for at in within]
    hidden = {within[at]: why for at, why in hidden_rows(shown, closed, total, rules).items()}
    for at, row in enumerate(rows):
        if at in hidden:
            yield from withheld(row.figures, hidden[at])
        elif at in totals and at != len(rows) - 1 and not inside:
            yield from withheld(row.figures, "secondary")
        elif at in values:  # shares of valid cases tell their number; cumulated ones each count
            yield from withheld(row.figures[3 if inside else 2 :], "secondary")


def read_dtable(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``dtable``: counts with shares, means with deviations."""
    head = next((at for at, line in enumerate(lines[:8]) if is_rule(line.text)), 9)
    top = next((at for at in range(head + 1, min(len(lines), 9)) if is_rule(lines[at].text)), 0)
    heading = [line.text for line in lines[head + 1 : top]] if top else []
    if head or not heading or not any(map(_FORM.dtable_head.fullmatch, heading)):
        return None
    table = _Dtable(rules)
    end = top + 1
    while end < len(lines) and not is_rule(lines[end].text):
        if not table.takes(lines[end].text, end):
            return None
        end += 1
    return Claim(end + 1, "dtable", table.cuts, table.review) if table.cases else None


@dataclass(slots=True)
class _Dtable:
    """The lines of a table of ``dtable``, one after the other."""

    rules: CleaningRules
    cases: list[LogFigure] = field(default_factory=list)
    group: list[FigureLine] = field(default_factory=list)
    cuts: list[LogCut] = field(default_factory=list)
    few: bool = False
    closed: bool = False
    review: str = ""

    def takes(self, text: str, at: int) -> bool:
        """Whether a line is one of such a table."""
        row = _behind_gap(text, at)
        if row is None or (row.figures and not row.stub):
            return False
        if not row.figures:
            self.group, self.closed = [], False
            return True
        if row.stub == "N" and not self.cases:
            self.cases = row.figures
            self.few = any(self.rules.few(one.value) or one.hidden for one in row.figures)
            self.cuts += _all([row], "few-cases") if self.few else []
            return True
        if self.few:
            self.cuts += _all([row], "few-cases")
        if not text.startswith(" "):
            return self._takes_means(text, row)
        cells = list(_FORM.dtable_cell.finditer(text, row.start))
        gone = len(row.figures) == 1 and row.figures[0].hidden
        if not (gone or 2 * len(cells) == len(row.figures)) or not all(
            map(_whole, row.figures[::2])
        ):
            return False
        self.group.append(row)
        small = any(self.rules.few(one.value) or one.hidden for one in row.figures[::2])
        self.closed = self.closed or small
        if self.closed:
            self.cuts += _all(self.group, "few-cases")
            self.group = []
        return True

    def _takes_means(self, text: str, row: FigureLine) -> bool:
        cells = list(_FORM.dtable_means.finditer(text, row.start))
        gone = len(row.figures) == 1 and row.figures[0].hidden
        if not gone and 2 * len(cells) != len(row.figures):
            return False
        if any(one.value in (None, 0) for one in row.figures[1::2]):
            self.cuts += _all([row], "few-cases")
        self.review = _BLIND
        return True


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
    rows: list[FigureLine] = []
    end = head + 1
    for at, line in enumerate(lines[end:], end):
        if not is_rule(line.text):
            row = _behind_bar(line.text, at)
            if row is None:
                break
            rows.append(row)
        end = at + 1
    shown = [figure for row in rows for figure in row.figures]
    if not shown or not all(map(_whole, shown)) or not _FORM.table_head.fullmatch(heading):
        return None
    small = any(figure.hidden or rules.few(figure.value) for figure in shown)
    return Claim(end, "frequencies", withheld(shown, "few-cases") if small else [])


# Models -------------------------------------------------------------------------------------------


def read_estimates_table(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``estimates table``."""
    if (
        len(lines) < 4
        or not is_rule(lines[0].text)
        or not _FORM.model_head.fullmatch(lines[1].text)
    ):
        return None
    parts: list[list[FigureLine]] = []
    end = 1
    for at, line in enumerate(lines[1:], 1):
        if is_rule(line.text):
            parts.append([])
            if "+" not in line.text and "|" not in line.text and at > 1:
                end = at + 1
                break
        elif parts:
            row = _behind_bar(line.text, at)
            if row is None:
                return None
            parts[-1].append(row)
    else:
        return None
    while end < len(lines) and _FORM.legend.fullmatch(lines[end].text):
        end += 1
    return _models(end, [part for part in parts if part], rules)


def read_esttab(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``esttab`` and ``estout``."""
    rules_at = [at for at, line in enumerate(lines[:_LONGEST]) if is_rule(line.text)]
    if len(rules_at) < 3 or rules_at[0] != 0:
        return None
    heading = [line.text for line in lines[1 : rules_at[1]]]
    if not heading or not any(map(_FORM.models_head.fullmatch, heading)):
        return None
    if any(_FORM.figure_words.search(text) for text in heading):
        return None
    parts: list[list[FigureLine]] = []
    for start, end in pairwise(rules_at[1:4]):
        rows = [_behind_gap(lines[at].text, at) for at in range(start + 1, end)]
        if any(row is None for row in rows):
            return None
        parts.append([row for row in rows if row is not None])
    end = rules_at[min(len(rules_at) - 1, 3)] + 1
    while end < len(lines) and _FORM.legend.fullmatch(lines[end].text):
        end += 1
    return _models(end, parts, rules)


def _models(count: int, parts: Sequence[Sequence[FigureLine]], rules: CleaningRules) -> Claim:
    """What becomes of a table of models whose last part may hold numbers of cases."""
    named = [row for row in parts[-1] if row.stub] if len(parts) > 1 else []
    numbers = [row for row in named if _FORM.stats_counts.fullmatch(row.stub)]
    known = [row for row in named if _FORM.stats_name.fullmatch(row.stub)]
    odd = [row for row in named if row not in known and row not in numbers]
    rows = chain.from_iterable(parts[:-1] if numbers or known else parts)
    coefficients = sum(bool(row.stub and row.figures) for row in rows)
    cases = [one for row in numbers for one in row.figures]
    everything = [row for part in parts for row in part]
    if any(one.hidden or rules.few(one.value) for one in cases):
        return Claim(count, "models", _all(everything, "few-cases"))
    few = (one.value is not None and one.value - coefficients < rules.residual_df for one in cases)
    if any(few):
        return Claim(count, "models", _all(everything, "degrees-of-freedom"))
    cuts = _all((row for row in odd if _FORM.figure_words.search(row.stub)), "extremes")
    review = "" if cases else _NO_CASES
    if any(figure.value is not None for row in odd for figure in row.figures) and not cuts:
        review = review or "statistics of models that no rule knows"
    return Claim(count, "models", cuts, review)


def read_utest(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The output of ``utest``: its interval ends at the smallest and the largest value, and the
    slopes there give these back.
    """
    del rules
    if not _FORM.u_head.fullmatch(lines[0].text):
        return None
    cuts: list[LogCut] = []
    end = 0
    for at, line in enumerate(lines):
        text = line.text
        row = _FORM.u_row.fullmatch(text) or _FORM.u_test.fullmatch(text)
        if row is not None:
            cells = _cells(text, at, row.start("values"))
            cuts += withheld(cells or (), "extremes")
            if cells is None:
                break
        elif text.strip() and not (is_rule(text) or _FORM.u_line.fullmatch(text)):
            break
        end = at + 1 if text.strip() else end
    return Claim(end, "utest", cuts)
