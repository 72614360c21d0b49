"""The rules of tables: which counts, statistics and percentiles of one are withheld.

In: rows and records of figures, whoever printed them (CONFIDENTIAL). Out: cuts. Small counts go
with what would give them back: a second count, cumulated shares, the inside of a two-way table;
of statistics go extremes, percentiles too far out, values that are all the same, and all of too
few cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from discreet_fire.logs.claims import Claim, FigureRow, LogCut, LogFigure, withheld
from discreet_fire.logs.rules import CleaningRules

TOTAL = "Total"
TOTALS = (TOTAL, "Gesamt", "Insgesamt")
#: Rows that compare groups, without statistics of their own.
SHORT_ROWS = ("diff", "combined", "Combined")


# Counts -------------------------------------------------------------------------------------------


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


def hidden_counts(
    counts: Sequence[LogFigure], total: LogFigure | None, rules: CleaningRules
) -> dict[int, str]:
    """Which of some counts are withheld, and why; their total may be shown."""
    values = [figure.value for figure in counts]
    closed = [figure.hidden for figure in counts]
    return hidden_rows(values, closed, total.value if total else None, rules)


def part_cuts(
    counts: Sequence[LogFigure], total: LogFigure | None, rules: CleaningRules
) -> list[LogCut]:
    """Those of some counts that go."""
    hidden = hidden_counts(counts, total, rules)
    return [cut for at, why in hidden.items() for cut in withheld([counts[at]], why)]


def counts_cuts(
    rows: Sequence[FigureRow], cumulated: Sequence[LogFigure], rules: CleaningRules
) -> list[LogCut]:
    """What goes of a list of counts with shares: small ones, and what gives them back."""
    if not any(rules.few(row.count.value) or row.count.hidden for row in rows):
        return []
    totals = [row for row in rows if row.stub == TOTAL]
    whole = bool(totals) and rows[-1] is totals[-1]
    hidden_whole = whole and rows[-1].count.hidden
    if hidden_whole or any(rules.few(row.count.value) for row in totals):
        return withheld([one for row in rows for one in row.figures], "few-cases")
    if whole:
        cuts = list(subtotal_cuts(rows, rules))
    else:
        parts = [row for row in rows if row.stub != TOTAL]
        hidden = hidden_counts([row.count for row in parts], None, rules)
        cuts = [cut for at, why in hidden.items() for cut in withheld(parts[at].figures, why)]
    return list(dict.fromkeys([*cuts, *withheld(cumulated, "secondary")]))


def crosstab_cuts(
    rows: Sequence[FigureRow],
    shares: Sequence[LogFigure],
    rules: CleaningRules,
    *,
    total_column: bool,
) -> list[LogCut]:
    """What goes of a two-way table: with a small count all counts inside and all shares."""

    def inside(row: FigureRow) -> list[LogFigure]:
        return row.figures[:-1] if total_column else row.figures

    inner = [row for row in rows if row.stub not in TOTALS]
    total = next((row for row in reversed(rows) if row.stub in TOTALS), None)
    small = any(one.hidden or rules.few(one.value) for row in inner for one in inside(row))
    # Small totals of rows and columns, and a second one beside each single one.
    whole = total.figures[-1] if total and total_column else None
    cuts = part_cuts([row.figures[-1] for row in inner], whole, rules) if total_column else []
    cuts += part_cuts(inside(total), whole, rules) if total else []
    if whole and rules.few(whole.value):
        cuts += withheld([whole], "few-cases")
    if small or cuts:  # shares with totals give counts back
        cuts += withheld([one for row in inner for one in inside(row)], "small-cells")
        cuts += withheld(shares, "small-cells")
    return cuts


def subtotal_cuts(rows: Sequence[FigureRow], rules: CleaningRules) -> Iterator[LogCut]:
    """What goes of counts of valid and missing values with subtotals; the last row is the total."""
    totals = [at for at, row in enumerate(rows) if row.stub.split()[-1:] == ["Total"]]
    values = [at for at in range(len(rows)) if at not in totals]
    whole = rows[-1].count
    if rules.few(whole.value):
        yield from withheld([one for row in rows for one in row.figures], "few-cases")
        return
    small = {at for at in values if rules.few(rows[at].count.value) or rows[at].count.hidden}
    if not small and not any(rows[at].count.hidden for at in totals):
        return
    valid = [at for at in values if at < totals[0]]
    inside = small <= set(valid) and not rows[totals[0]].count.hidden
    within = valid if inside else values
    total = rows[totals[0]].count if inside else whole
    counts = [rows[at].count for at in within]
    hidden = {within[at]: why for at, why in hidden_counts(counts, total, rules).items()}
    for at, row in enumerate(rows):
        if at in hidden:
            yield from withheld(row.figures, hidden[at])
        elif at in totals and at != len(rows) - 1 and not inside:
            yield from withheld(row.figures, "secondary")
        elif at in values:  # shares of valid cases tell their number; cumulated ones each count
            yield from withheld(row.figures[3 if inside else 2 :], "secondary")


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
    """What goes of the statistics of groups or variables, which some lines hold."""
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
    """What must go of a record with enough cases."""
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
