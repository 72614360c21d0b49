"""The rules of tables and lists: which counts, statistics and percentiles of one are withheld.

In: rows and records of figures, whoever printed them; lines of lists by the forms of ``forms.toml``
(CONFIDENTIAL). Out: cuts. Small counts go with what would give them back: a second count, cumulated
shares, the inside of a two-way table; of statistics go extremes, percentiles too far out, values
that are all the same, and all of too few cases. The names of the groups of a form are roles: counts
that give each other back, figures that always go, statistics of a record.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet_fire.catalogue import form_texts
from discreet_fire.logs.lines import (
    HIDDEN,
    NUMBER,
    Align,
    Claim,
    FigureRow,
    LogCut,
    LogFigure,
    LogLine,
    figures,
    is_rule,
    withheld,
)
from discreet_fire.logs.rules import CleaningRules

#: Looks at the beginning of some lines; None if it does not know them.
Reader = Callable[[Sequence[LogLine], CleaningRules], Claim | None]
TOTAL = "Total"
TOTALS = (TOTAL, "Gesamt", "Insgesamt")
#: Rows that compare groups, without statistics of their own.
SHORT_ROWS = ("diff", "combined", "Combined")


# Counts -------------------------------------------------------------------------------------------


def hidden_counts(
    counts: Sequence[LogFigure], total: LogFigure | None, rules: CleaningRules
) -> dict[int, str]:
    """Which of some counts are withheld, and why; their total may be shown.

    >>> counts = [LogFigure(text, 0, 0, 0) for text in ("2", "30", "8")]
    >>> hidden_counts(counts, LogFigure("40", 0, 0, 0), CleaningRules.default())
    {0: 'few-cases', 2: 'secondary'}
    """
    values = [figure.value or 0 for figure in counts]
    hidden = {
        at: "few-cases" for at, one in enumerate(counts) if one.hidden or rules.few(values[at])
    }
    if not hidden or (total is None and any(one.hidden for one in counts)):
        return hidden  # without a total nothing says how much is withheld already
    others = [at for at, value in enumerate(values) if at not in hidden and value]
    others.sort(key=lambda at: (values[at], at))
    whole = sum(values) if total is None or total.value is None else total.value
    left = whole - sum(values[at] for at in others)
    while others and (len(hidden) < 2 or left < rules.minimum):
        taken = others.pop(0)
        hidden[taken] = "secondary"
        left += values[taken]
    return hidden


def counts_cuts(
    rows: Sequence[FigureRow], cumulated: Sequence[LogFigure], rules: CleaningRules
) -> list[LogCut]:
    """Figures to withhold from counts with shares: small ones, and those that reveal them."""
    few = [row.count.hidden or rules.few(row.count.value) for row in rows]
    if not any(few):
        return []
    whole = rows[-1].count if rows[-1].stub == TOTAL else None
    totals = [at for at, row in enumerate(rows) if row.stub == TOTAL]
    if (whole and whole.hidden) or any(rules.few(rows[at].count.value) for at in totals):
        return withheld([one for row in rows for one in row.figures], "few-cases")
    if whole:  # subtotals stand above it
        totals = [at for at, row in enumerate(rows) if row.stub.split()[-1:] == [TOTAL]]
    within = values = [at for at in range(len(rows)) if at not in totals]
    total, inside = whole, False
    if whole:
        valid = [at for at in values if at < totals[0]]
        inside = {at for at in values if few[at]} <= {*valid} and not rows[totals[0]].count.hidden
        within, total = (valid, rows[totals[0]].count) if inside else (values, whole)
    hidden = hidden_counts([rows[at].count for at in within], total, rules)
    reasons = {within[at]: why for at, why in hidden.items()}
    cuts: list[LogCut] = []
    for at, row in enumerate(rows):
        if at in reasons:
            cuts += withheld(row.figures, reasons[at])
        elif whole and at in values:  # shares of valid cases tell their number; cumulated ones each
            cuts += withheld(row.figures[3 if inside else 2 :], "secondary")
        elif whole and at != len(rows) - 1 and not inside:
            cuts += withheld(row.figures, "secondary")
    return list(dict.fromkeys([*cuts, *withheld(cumulated, "secondary")]))


def crosstab_cuts(
    rows: Sequence[FigureRow],
    shares: Sequence[LogFigure],
    rules: CleaningRules,
    *,
    total_column: bool,
) -> list[LogCut]:
    """Figures to withhold from a two-way table: all inner counts and shares if one is small."""
    last = -1 if total_column else None
    inner = [row for row in rows if row.stub not in TOTALS]
    cells = [one for row in inner for one in row.figures[:last]]
    total = next((row for row in reversed(rows) if row.stub in TOTALS), None)
    whole = total.figures[-1] if total and total_column else None
    cuts = withheld([whole], "few-cases") if whole and rules.few(whole.value) else []
    # Small totals of rows and columns, and a second one beside each single one.
    for parts in (
        [row.figures[-1] for row in inner if total_column],
        total.figures[:last] if total else [],
    ):
        for at, why in hidden_counts(parts, whole, rules).items():
            cuts += withheld([parts[at]], why)
    if cuts or any(one.hidden or rules.few(one.value) for one in cells):
        cuts += withheld([*cells, *shares], "small-cells")  # with totals they give counts back
    return cuts


# Statistics ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class StatisticsRecord:
    """The statistics of one group or variable."""

    stub: str
    kinds: dict[str, list[LogFigure]] = field(default_factory=dict)
    names: dict[str, LogFigure] = field(default_factory=dict)
    count: float | None = None
    closed: bool = False

    def add(self, kind: str, name: str, figure: LogFigure) -> None:
        """Take a figure with the kind and the name of its heading."""
        self.kinds.setdefault(kind, []).append(figure)
        self.names[name] = figure
        if kind == "count":
            self.count = figure.value if self.count is None else self.count
            self.closed |= figure.hidden

    def figures(self, *kinds: str) -> list[LogFigure]:
        """All figures, or those of some kinds."""
        return [one for kind in kinds or self.kinds for one in self.kinds.get(kind, ())]

    def value(self, kind: str) -> float | None:
        """The first figure of a kind as a number."""
        some = self.kinds.get(kind)
        return some[0].value if some else None


def statistics_claim(count: int, records: list[StatisticsRecord], rules: CleaningRules) -> Claim:
    """Figures to withhold from statistics of groups or variables in some lines."""
    reasons = [_closing_reason(record, rules) for record in records]
    closed = [bool(reason) for reason in reasons]
    cuts: list[LogCut] = []
    for record, reason in zip(records, reasons, strict=True):
        cuts += withheld(record.figures(), reason) if reason else open_cuts(record, rules)
    if any(closed) and any(record.stub in SHORT_ROWS for record in records):
        # The difference of two groups and both together give the withheld one back.
        for one, shut in zip(records, closed, strict=True):
            cuts += [] if shut else withheld(one.figures(), "secondary")
    # With a total, withheld groups together could be worked out: others go until they are many.
    totals = [at for at, record in enumerate(records) if record.stub in TOTALS]
    for place, total in enumerate(totals):
        groups = [
            at
            for at, record in enumerate(records)
            if record.stub not in TOTALS and at % len(totals) == place
        ]
        hidden = sum(closed[at] for at in groups)
        # A group without a case hides nothing.
        left = [at for at in groups if not closed[at] and records[at].count != 0]
        left.sort(key=lambda at: records[at].count or 0)
        whole = records[total].count
        while hidden and left:
            counts = [records[at].count for at in left]
            unknown = whole is None or None in counts
            rest = 0.0 if unknown else (whole or 0) - sum(one or 0 for one in counts)
            if hidden > 1 and not rules.few(rest):
                break
            cuts += withheld(records[left.pop(0)].figures(), "secondary")
            hidden += 1
        if hidden == 1 and not closed[total]:
            cuts += withheld(records[total].figures(), "secondary")
    blind = any(
        record.count is None and not record.closed and record.stub not in SHORT_ROWS
        for record in records
    )
    review = "no_cases" if blind else ""
    cases = [record.count for record in records]
    return Claim(count, "statistics", list(dict.fromkeys(cuts)), review, cases=cases)


def _closing_reason(record: StatisticsRecord, rules: CleaningRules) -> str:
    """Why nothing of a record may be shown; empty if some may."""
    counts = (one.value for one in record.figures("count"))
    if record.closed or any(map(rules.few, (record.count, *counts))):
        return "few-cases"
    if record.value("spread") == 0 and record.count != 0:
        return "all-same"
    # The mean of a variable with two values tells how many cases have each of them.
    mean, count, total = record.value("mean"), record.count, record.value("sum")
    if total is not None and count and total == int(total) and 0 < total <= count:
        return "few-cases" if rules.few(total) or rules.few(count - total) else ""
    extremes = [figure.value for figure in record.figures("extreme")]
    if mean is None or not count:
        return ""
    least, most = 0.0, 1.0
    if len(extremes) == 2 and None not in extremes:
        least, most = sorted(value for value in extremes if value is not None)
        if most - least != 1:
            return ""
    ones = count * (mean - least)
    whole = abs(ones - round(ones)) <= max(1e-4 * ones, 0.01)
    few = rules.few(round(ones)) or rules.few(round(count - ones))
    return "few-cases" if least <= mean <= most and whole and few else ""


def open_cuts(record: StatisticsRecord, rules: CleaningRules) -> list[LogCut]:
    """Figures to withhold from a record with enough cases."""
    cuts = withheld(record.figures("extreme", "distinct"), "extremes")
    # A star marks limits of an interval that are the smallest or the largest value.
    cuts += withheld((one for one in record.figures() if one.text.endswith("*")), "extremes")
    count = record.count
    if count is not None and count < rules.moment_cases:
        cuts += withheld(record.figures("shape"), "moments")
    for name, figure in record.names.items():
        share = "50" if name.lower() in ("median", "mdn", "iqr") else name.removeprefix("p")
        if share.isdecimal() and far_out(float(share), count, rules):
            cuts += withheld([figure], "percentiles")
    at = record.value("at")
    if at is not None and far_out(at, count, rules):
        cuts += withheld(record.figures("centile", "interval"), "percentiles")
    return cuts


def far_out(share: float, count: float | None, rules: CleaningRules) -> bool:
    """Whether a percentile, from 0 to 100, rests on too few cases beyond it."""
    if count is None:
        return not 10 <= share <= 90
    return count * min(share, 100 - share) < 100 * rules.percentile_cases


#: Roles that always go, and why.
_ALWAYS = {"identifiers": "identifiers", "extremes": "extremes", "range": "extremes",
           "data": "data-label", "examples": "examples", "levels": "distinct-values"}  # fmt: skip
#: Roles of counts; `part` and `other` are parts of a whole.
_COUNTS = frozenset(("part", "other", "total", "n", "all"))
#: Roles that are no statistics of a record.
_OTHER = frozenset(("each", "field", "with", "run", *_ALWAYS, *_COUNTS))
_PUT = {"range": "[#,#]"}
_SIDES: dict[str, Align] = {"left": "left", "none": "none", "": "right"}
_ENDS = {"min": 0, "max": 100}
#: Words before ``> `` name the field of a list below which alone a line has this form.
_BELOW = re.compile(r"\A(?:(\w+)> )?(.+)", re.DOTALL)


def _role(name: str) -> tuple[str, Align]:
    """The role of a group, and the side of its column."""
    role, _, side = name.partition("_")
    return role.rstrip("0123456789"), _SIDES[side.rstrip("0123456789")]


def _pattern(text: str) -> re.Pattern[str]:
    """A pattern; ``<part>`` is a figure in this role."""

    def piece(match: re.Match[str]) -> str:
        name = match[1]
        role, _ = _role(name)
        digits = r"[\d,]{1,15}|#" if role in _COUNTS else rf"{NUMBER.pattern}|\.|#"
        return f"(?P<{name}>{'' if role == 'new' else digits})"

    return re.compile(re.sub(r"(?<!P)<(\w+)>", piece, text.replace("<number>", NUMBER.pattern)))


class _ListForm:
    """The form of a list: its first lines, its lines, and whether some may be blank."""

    def __init__(self, form: dict[str, Any]) -> None:
        self.first, self.heads = _pattern(form["first"]), form["first"].count("\\n") + 1
        self.gaps = form.get("gaps", False)
        #: Below which field of the list alone a line has this form, the form, and if it takes two.
        self.lines = [
            (field, _pattern(text), "\\n" in text)
            for line in form["lines"]
            for field, text in _BELOW.findall(line)
        ]

    def match(self, text: str, after: str, field: str) -> re.Match[str] | None:
        for below, pattern, two in self.lines:
            match = pattern.fullmatch(text) if below in ("", field) else None
            if match is None and two:
                match = pattern.fullmatch(f"{text}\n{after}")
            if match is not None:
                return match
        return None


_FORMS = {name: _ListForm(form) for name, form in form_texts(__package__)["lists"].items()}
#: The roles of the figures of a list in their order, with the sides of their columns.
_Shown = list[tuple[str, Align, LogFigure]]


def _shown(match: re.Match[str], at: int, width: int) -> _Shown:
    shown: _Shown = []
    for name in sorted(match.groupdict(), key=match.start):
        start, end = match.span(name)
        below = start > width  # in the second line of a form
        move = width + 1 if below else 0
        figure = LogFigure(match[name] or "", at + below, start - move, end - move)
        shown += [(*_role(name), figure)] if match[name] is not None else []
    return shown


def read_list(kind: str, lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The lines of a list of some kind."""
    form = _FORMS[kind]
    for heads in {form.heads, 1}:
        match = form.first.fullmatch("\n".join(line.text for line in lines[:heads]))
        if match is not None:
            break
    else:
        return None
    shown, field = _shown(match, 0, len(lines[0].text)), ""
    at = end = heads
    while at < len(lines):
        text, step = lines[at].text, 1
        after = lines[at + 1].text if at + 1 < len(lines) else ""
        if not text.strip() and not form.gaps:
            break
        if text.strip() and not is_rule(text):
            match = form.match(text, after, field)
            if match is None:
                break
            step += "\n" in match[0]
            shown += _shown(match, at, len(text))
            field = match.groupdict().get("field") or field
            end = at + step
        at += step
    if end == heads and not shown:
        return None
    claim = statistics_claim(end, list(_records(shown)), rules)
    cuts = [*_always(shown), *_of_counts(shown, rules), *claim.cuts]
    return Claim(end, kind, list(dict.fromkeys(cuts)))


def _always(shown: _Shown) -> Iterator[LogCut]:
    """What goes whatever the figures are."""
    for role, side, figure in shown:
        if role in _ALWAYS:
            put = _PUT.get(role, HIDDEN)
            cuts = withheld([figure], _ALWAYS[role], side)
            yield from (cut._replace(put=put) for cut in cuts if figure.text != put)
        elif role == "each":
            several = figures(figure.text, figure.line, 0, figure.start) or ()
            yield from withheld(several, "extremes")


def _of_counts(shown: _Shown, rules: CleaningRules) -> Iterator[LogCut]:
    """What goes of counts: small ones, what gives them back, and what stands beside them."""
    roles: dict[str, list[LogFigure]] = defaultdict(list)
    for role, _, figure in shown:
        roles[role].append(figure)
    total = roles["total"][0] if roles["total"] else None
    small = (one for one in (*roles["n"], *roles["total"]) if rules.few(one.value))
    yield from withheld(small, "few-cases", "none" if roles["all"] else "right")
    for kind, whole in (("part", total), ("other", None)):
        gone: dict[int, str] = {}
        for at, why in hidden_counts(roles[kind], whole, rules).items():
            gone[roles[kind][at].line] = why
            yield from withheld([roles[kind][at]], why)
        for role, side, figure in shown:
            if role == "with" and figure.line in gone:
                yield from withheld([figure], gone[figure.line], side)
            elif role == "run" and gone:
                yield from withheld([figure], "secondary")


def _records(shown: _Shown) -> Iterator[StatisticsRecord]:
    """The statistics of each record; nothing of one whose number of cases is not known stays."""
    record, names = StatisticsRecord(""), list[str]()
    records, share = [record], ("", 0)
    missing = {one.line: one.value or 0 for role, _, one in shown if role == "n"}
    for role, _, figure in shown:
        if role == "new":
            record = StatisticsRecord("")
            records.append(record)
        elif role == "share":
            share = figure.text, figure.line
        elif role == "shares":
            names = [str(_ENDS.get(one, one.strip("%"))) for one in figure.text.split()]
        elif role == "values":
            cells = figures(figure.text, figure.line, 0, figure.start) or []
            for name, cell in zip(names, cells, strict=False):
                record.add("extreme" if name in ("0", "100") else "percentile", f"p{name}", cell)
        elif role == "all" and record.count is None and figure.value is not None:
            record.count = figure.value - missing.get(figure.line, 0)
        elif role not in _OTHER and figure.text != ".":
            own = share[0] if share[1] == figure.line else ""
            name = f"p{own}" if role == "percentile" else f"{role}{figure.start}"
            record.add(role, name, figure)
    for record in records:
        if record.kinds:
            record.closed = record.closed or record.count is None
            yield record
