"""Tables whose columns, or rows, are statistics: summarize, tabstat, centile, ttest, ci.

In: lines with a stub, a bar and named columns. Out: a claim that withholds smallest and
largest values, statistics of too few cases, percentiles too far out, values that are all
the same, and what a total would give back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from discreet.output_checking.sanitising.claims import Claim, Cut, Figure, figures, is_rule
from discreet.output_checking.sanitising.lines import LogLine
from discreet.output_checking.sanitising.rules import CleaningRules

__all__ = ["read_columns", "read_statistics_down"]

#: Words of headers, with the kind of what stands below.
_KINDS = {
    "count": r"Obs\.?|N|Freq\.|Number of obs|n",
    "weight": r"Weight|Sum of [Ww]gt\.",
    "mean": r"[Mm]ean|Proportion",
    "spread": r"Std\. [Dd]ev\.|[Ss][Dd]|S\.D\.|[Vv]ariance|cv|CV",
    "error": r"Std\. [Ee]rr\.|se\(mean\)|SE\(mean\)|se\(mean~\)",
    "sum": r"[Ss]um|Total",
    "shape": r"[Ss]kewness|[Kk]urtosis|skewn~s|kurto~s",
    "extreme": r"[Mm]in|[Mm]ax|[Rr]ange|Smallest|Largest",
    "distinct": r"Unique(?: values)?",
    "percentile": r"p\d{1,2}|[Mm]edian|Mdn",
    "spread_of_percentiles": r"iqr|IQR",
    "at": r"Percentile",
    "centile": r"Centile",
    "interval": r"\[\d{2}(?:\.\d+)?% [Cc]onf\. [Ii]nterval\]",
}
_WORD = re.compile(
    "|".join(f"(?P<{kind}>(?<!\\S)(?:{words})(?!\\S))" for kind, words in _KINDS.items())
)
_NEEDED = {"mean", "extreme", "centile", "percentile", "spread", "distinct", "sum"}
_STUBS = re.compile(r"\s*(stats|Stats|statistics|Statistics)\s*")
_SHORT_ROWS = ("diff", "combined", "Combined")
_TOTALS = ("Total", "Gesamt")
_SUMMARY = re.compile(r"\s*Summary statistics: (?P<names>.{1,200})")


@dataclass(slots=True)
class _Record:
    """The statistics of one group or variable."""

    stub: str
    kinds: dict[str, list[Figure]] = field(default_factory=dict)
    names: dict[str, Figure] = field(default_factory=dict)
    count: float | None = None
    closed: bool = False

    def add(self, kind: str, name: str, figure: Figure) -> None:
        self.kinds.setdefault(kind, []).append(figure)
        self.names[name] = figure
        if kind == "count":
            self.count, self.closed = figure.value, figure.hidden

    def figures(self) -> Iterator[Figure]:
        for some in self.kinds.values():
            yield from some

    def value(self, kind: str) -> float | None:
        some = self.kinds.get(kind)
        return some[0].value if some else None


def read_columns(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A table with one statistic in each column."""
    stub, bar, heads = lines[0].text.partition("|")
    names = _header(heads) if bar else None
    if names is None or _STUBS.fullmatch(stub) or not _NEEDED & {kind for kind, _ in names}:
        return None
    if len(lines) < 2 or not is_rule(lines[1].text):
        return None
    records: list[_Record] = []
    count = 2
    for at, line in enumerate(lines[2:], 2):
        if is_rule(line.text):
            count = at + 1
            continue
        record = _row(line.text, at, names, records[-1] if records else None)
        if record is None:
            break
        records.append(record)
        count = at + 1
    if not records:
        return None
    return _claimed(count, "statistics", records, rules)


def read_statistics_down(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A table with one statistic in each row: tabstat without or with groups."""
    given = _SUMMARY.fullmatch(lines[0].text)
    cycle = None if given is None else _cycle(given["names"])
    head = 0
    while head < len(lines) and "|" not in lines[head].text and head < 4:
        head += 1
    if head + 1 >= len(lines) or not is_rule(lines[head + 1].text):
        return None
    stub = lines[head].text.partition("|")[0]
    if cycle is None and not _STUBS.fullmatch(stub):
        return None
    if cycle is None and head:
        return None
    found = _down(lines, head + 2, cycle)
    if found is None:
        return None
    count, records = found
    return _claimed(count, "statistics", records, rules) if records else None


def _header(heads: str) -> list[tuple[str, str]] | None:
    """Kind and name of each column; None if a word is not known."""
    names: list[tuple[str, str]] = []
    length = 0
    for found in _WORD.finditer(heads):
        kind = str(found.lastgroup)
        length += len(found[0].replace(" ", ""))
        names += [(kind, found[0])] * (2 if kind == "interval" else 1)
    return names if names and length == len(heads.replace(" ", "")) else None


def _row(
    text: str, at: int, names: list[tuple[str, str]], before: _Record | None
) -> _Record | None:
    stub, bar, _ = text.partition("|")
    found = figures(text, at, len(stub) + 1) if bar else None
    if not found:
        return None
    record = _Record(stub.strip())
    counted = bool(names) and names[0][0] == "count"
    if len(found) == len(names):
        columns: Iterable[tuple[str, str]] = names
    elif len(found) == 1 and counted and found[0].value == 0:
        columns = names[:1]
    elif counted and not record.stub and before and len(found) == len(names) - 1:
        columns = names[1:]  # centile: further percentiles of the same variable
        record.count, record.closed = before.count, before.closed
    elif record.stub in _SHORT_ROWS and len(found) < len(names):
        columns = [("error", "")] * len(found)
    else:
        return None
    for (kind, name), figure in zip(columns, found, strict=False):
        record.add(kind, name, figure)
    return record


def _cycle(text: str) -> list[tuple[str, str]] | None:
    return _header(" ".join(text.replace(",", " ").split()))


def _down(
    lines: Sequence[LogLine], start: int, cycle: list[tuple[str, str]] | None
) -> tuple[int, list[_Record]] | None:
    """Records of a table whose rows are statistics, one for each group and column."""
    records: list[_Record] = []
    current: list[_Record] = []
    step = 0
    count = start
    for at, line in enumerate(lines[start:], start):
        if is_rule(line.text):
            count = at + 1
            continue
        stub, bar, _ = line.text.partition("|")
        found = figures(line.text, at, len(stub) + 1) if bar else None
        if not found:
            break
        if not current or len(found) != len(current) or (cycle and step % len(cycle) == 0):
            current = [_Record(stub.strip()) for _ in found]
            records += current
        named = _header(stub) if cycle is None else [cycle[step % len(cycle)]]
        if named is None or len(named) != 1:
            break
        for record, figure in zip(current, found, strict=True):
            record.add(*named[0], figure)
        step += 1
        count = at + 1
    return count, records


def _claimed(count: int, kind: str, records: list[_Record], rules: CleaningRules) -> Claim:
    cuts: list[Cut] = []
    closed: list[bool] = []
    for record in records:
        reason = _closing_reason(record, rules)
        closed.append(bool(reason))
        cuts += _all(record, reason) if reason else _some(record, rules)
    if any(closed) and any(record.stub in _SHORT_ROWS for record in records):
        # The difference of two groups and both together give the withheld one back.
        open_ones = (one for one, shut in zip(records, closed, strict=True) if not shut)
        cuts = [*cuts, *(cut for one in open_ones for cut in _all(one, "secondary"))]
    cuts += _beside_totals(records, closed, rules)
    blind = any(
        record.count is None and not record.closed and record.stub not in _SHORT_ROWS
        for record in records
    )
    cuts = list(dict.fromkeys(cuts))
    return Claim(count, kind, cuts, "statistics without their number of cases" if blind else "")


def _closing_reason(record: _Record, rules: CleaningRules) -> str:
    """Why nothing of a record may be shown; empty if some may."""
    if record.closed or rules.few(record.count):
        return "few-cases"
    spread = record.value("spread")
    if spread == 0 and record.count != 0:
        return "all-same"
    extremes = [figure.value for figure in record.kinds.get("extreme", [])]
    mean = record.value("mean")
    if sorted(extremes, key=str) == [0, 1] and record.count and mean is not None:
        ones = record.count * mean
        if rules.few(round(ones, 3)) or rules.few(round(record.count - ones, 3)):
            return "few-cases"
    return ""


def _all(record: _Record, reason: str) -> list[Cut]:
    return [figure.cut(reason) for figure in record.figures() if not figure.hidden]


def _some(record: _Record, rules: CleaningRules) -> list[Cut]:
    """What must go of a record with enough cases."""
    cuts = [
        figure.cut("extremes")
        for kind in ("extreme", "distinct")
        for figure in record.kinds.get(kind, [])
        if not figure.hidden
    ]
    # A star marks limits of an interval that are the smallest or the largest value.
    cuts += [one.cut("extremes") for one in record.figures() if one.text.endswith("*")]
    count = record.count
    if "shape" in record.kinds and count is not None and count < rules.moment_cases:
        cuts += [one.cut("moments") for one in record.kinds["shape"] if not one.hidden]
    for name, figure in record.names.items():
        share = 50.0 if name.lower() in ("median", "mdn", "iqr") else _share(name)
        if share is not None and not figure.hidden and _far_out(share, count, rules):
            cuts.append(figure.cut("percentiles"))
    at = record.value("at")
    if at is not None and _far_out(at, count, rules):
        inner = ("centile", "interval")
        beyond = [one for kind in inner for one in record.kinds.get(kind, [])]
        cuts += [one.cut("percentiles") for one in beyond if not one.hidden]
    return cuts


def _share(name: str) -> float | None:
    return float(name[1:]) if name[:1] == "p" and name[1:].isdecimal() else None


def _far_out(share: float, count: float | None, rules: CleaningRules) -> bool:
    """Whether a percentile, from 0 to 100, rests on too few cases beyond it."""
    if count is None:
        return not 10 <= share <= 90
    return count * min(share, 100 - share) < 100 * rules.percentile_cases


def _beside_totals(records: list[_Record], closed: list[bool], rules: CleaningRules) -> list[Cut]:
    """With a total, withheld groups together could be worked out: others go until they are many."""
    totals = [at for at, record in enumerate(records) if record.stub in _TOTALS]
    cuts: list[Cut] = []
    for place, total in enumerate(totals):
        groups = [
            at
            for at, record in enumerate(records)
            if record.stub not in _TOTALS and at % len(totals) == place
        ]
        hidden = sum(closed[at] for at in groups)
        if not hidden:
            continue
        # A group without a case hides nothing.
        left = [at for at in groups if not closed[at] and records[at].count != 0]
        left.sort(key=lambda at: records[at].count or 0)
        while left and (hidden < 2 or _few_besides(records, left, total, rules)):
            cuts += _all(records[left.pop(0)], "secondary")
            hidden += 1
        if hidden < 2 and not closed[total]:
            cuts += _all(records[total], "secondary")
    return cuts


def _few_besides(
    records: list[_Record], shown: list[int], total: int, rules: CleaningRules
) -> bool:
    """Whether too few cases are left when groups that are shown are taken off the total."""
    counts = [records[at].count for at in (total, *shown)]
    if any(count is None for count in counts):
        return False
    whole, *parts = (count or 0 for count in counts)
    return rules.few(whole - sum(parts))
