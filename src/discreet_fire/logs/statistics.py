"""Statistics in logs: summarize, tabstat, centile, ttest, ci, codebook, xtsum, xtdescribe.

In: lines with named columns or rows, or a description of one variable (CONFIDENTIAL). Out: a
claim that withholds smallest and largest values, ranges, examples, identifiers, statistics of too
few cases, percentiles too far out, values that are all the same, patterns of participation that
few entities have, and what a total would give back.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

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
from discreet_fire.logs.frequencies import hidden_rows
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules

_FORM = OutputForms(
    "statistics",
    "test_foot test_value compact_head compact_row word stubs summary detail_head percentile side "
    "middle codebook_head field range missing count counted shares xtsum_head xtsum_row xtsum_gap "
    "entities times span notes lengths pattern_head pattern",
)
_NEEDED = {"mean", "extreme", "centile", "percentile", "spread", "distinct", "sum"}
_SHORT_ROWS = ("diff", "combined", "Combined")
_FOOT_LINES = 8
_COMPACT = (
    ("count", "Obs"), ("distinct", "Unique"), ("mean", "Mean"), ("extreme", "Min"),
    ("extreme", "Max"),
)  # fmt: skip
_TOTALS = ("Total", "Gesamt", "Insgesamt")


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
            self.count, self.closed = figure.value, figure.hidden

    def figures(self) -> Iterator[LogFigure]:
        """All figures."""
        for some in self.kinds.values():
            yield from some

    def value(self, kind: str) -> float | None:
        """The first figure of a kind as a number."""
        some = self.kinds.get(kind)
        return some[0].value if some else None


def read_columns(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A table with one statistic in each column."""
    stub, bar, heads = lines[0].text.partition("|")
    names = _header(heads) if bar else None
    if names is None or _FORM.stubs.fullmatch(stub) or not _NEEDED & {kind for kind, _ in names}:
        return None
    if len(lines) < 2 or not is_rule(lines[1].text):
        return None
    before: StatisticsRecord | None = None

    def row(text: str, at: int) -> StatisticsRecord | None:
        nonlocal before
        before = _row(text, at, names, before)
        return before

    records, count = read_rows(lines, 2, row)
    if not records:
        return None
    claim = statistics_claim(count, records, rules)
    return _with_foot(claim, lines) if records[-1].stub == "diff" else claim


def _with_foot(claim: Claim, lines: Sequence[LogLine]) -> Claim:
    """What stands below two means: their test, which goes if anything of them goes."""
    end = claim.count
    for at in range(claim.count, min(len(lines), claim.count + _FOOT_LINES)):
        text = lines[at].text
        if not (_FORM.test_foot.fullmatch(text) or is_rule(text) or not text.strip()):
            break
        end = at + 1 if text.strip() else end
        if claim.cuts:
            claim.cuts += [
                LogCut(at, *match.span("value"), "secondary", align="none")
                for match in _FORM.test_value.finditer(text)
                if match["value"] != "#"
            ]
    claim.count = end
    return claim


def read_compact(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``codebook, compact``."""
    if not _FORM.compact_head.fullmatch(lines[0].text):
        return None
    cuts: list[LogCut] = []
    end = 1
    for at, line in enumerate(lines[1:], 1):
        row = _FORM.compact_row.fullmatch(line.text)
        if row is not None:
            kinds = zip(_COMPACT, row["values"].split(), strict=True)
            record = StatisticsRecord(row["name"])
            place = row.start("values")
            for (kind, name), text in kinds:
                place = line.text.index(text, place)
                record.add(kind, name, LogFigure(text, at, place, place + len(text)))
                place += len(text)
            reason = _closing_reason(record, rules)
            cuts += withheld(record.figures(), reason) if reason else _some(record, rules)
        elif not is_rule(line.text):
            break
        end = at + 1
    return Claim(end, "codebook", cuts) if end > 1 else None


def read_statistics_down(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """A table with one statistic in each row: tabstat without or with groups."""
    match = _FORM.summary.fullmatch(lines[0].text)
    cycle = None if match is None else _header(" ".join(match["names"].replace(",", " ").split()))
    head = 0
    while head < len(lines) and "|" not in lines[head].text and head < 4:
        head += 1
    if head + 1 >= len(lines) or not is_rule(lines[head + 1].text):
        return None
    stub = lines[head].text.partition("|")[0]
    if cycle is None and (head or not _FORM.stubs.fullmatch(stub)):
        return None
    count, records = _down(lines, head + 2, cycle)
    return statistics_claim(count, records, rules) if records else None


def _header(heads: str) -> list[tuple[str, str]] | None:
    """Kind and name of each column; None if a word is not known."""
    names: list[tuple[str, str]] = []
    length = 0
    for match in _FORM.word.finditer(heads):
        kind = str(match.lastgroup)
        length += len(match[0].replace(" ", ""))
        names += [(kind, match[0])] * (2 if kind == "interval" else 1)
    return names if names and length == len(heads.replace(" ", "")) else None


def _row(
    text: str, at: int, names: list[tuple[str, str]], before: StatisticsRecord | None
) -> StatisticsRecord | None:
    stub, bar, _ = text.partition("|")
    found = figures(text, at, len(stub) + 1) if bar else None
    if not found:
        return None
    record = StatisticsRecord(stub.strip())
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


def _down(
    lines: Sequence[LogLine], start: int, cycle: list[tuple[str, str]] | None
) -> tuple[int, list[StatisticsRecord]]:
    """Records of a table whose rows are statistics, one for each group and column."""
    records: list[StatisticsRecord] = []
    current: list[StatisticsRecord] = []
    steps = itertools.count()

    def row(text: str, at: int) -> list[LogFigure] | None:
        nonlocal current
        stub, bar, _ = text.partition("|")
        found = figures(text, at, len(stub) + 1) if bar else None
        if not found:
            return None
        step = next(steps)
        if not current or len(found) != len(current) or (cycle and step % len(cycle) == 0):
            current = [StatisticsRecord(stub.strip()) for _ in found]
            records.extend(current)
        named = _header(stub) if cycle is None else [cycle[step % len(cycle)]]
        if named is None or len(named) != 1:
            return None
        for record, figure in zip(current, found, strict=True):
            record.add(*named[0], figure)
        return found

    return read_rows(lines, start, row)[1], records


def statistics_claim(count: int, records: list[StatisticsRecord], rules: CleaningRules) -> Claim:
    """What goes of the statistics of groups or variables, which some lines hold."""
    cuts: list[LogCut] = []
    closed: list[bool] = []
    for record in records:
        reason = _closing_reason(record, rules)
        closed.append(bool(reason))
        cuts += withheld(record.figures(), reason) if reason else _some(record, rules)
    if any(closed) and any(record.stub in _SHORT_ROWS for record in records):
        # The difference of two groups and both together give the withheld one back.
        for one, shut in zip(records, closed, strict=True):
            cuts += [] if shut else withheld(one.figures(), "secondary")
    cuts += _beside_totals(records, closed, rules)
    blind = any(
        record.count is None and not record.closed and record.stub not in _SHORT_ROWS
        for record in records
    )
    cuts = list(dict.fromkeys(cuts))
    review = "statistics without their number of cases" if blind else ""
    cases = [record.count for record in records]
    return Claim(count, "statistics", cuts, review, cases=cases)


def _closing_reason(record: StatisticsRecord, rules: CleaningRules) -> str:
    """Why nothing of a record may be shown; empty if some may."""
    if record.closed or rules.few(record.count):
        return "few-cases"
    spread = record.value("spread")
    if spread == 0 and record.count != 0:
        return "all-same"
    return "few-cases" if _tells_few(record, rules) else ""


def _tells_few(record: StatisticsRecord, rules: CleaningRules) -> bool:
    """Whether the mean of a variable with two values tells that one of them has too few cases."""
    mean, count, total = record.value("mean"), record.count, record.value("sum")
    if total is not None and count and total == int(total) and 0 < total <= count:
        return rules.few(total) or rules.few(count - total)
    extremes = [figure.value for figure in record.kinds.get("extreme", [])]
    if mean is None or not count:
        return False
    least, most = 0.0, 1.0
    if len(extremes) == 2 and None not in extremes:
        least, most = sorted(value for value in extremes if value is not None)
        if most - least != 1:
            return False
    if not least <= mean <= most:
        return False
    ones = count * (mean - least)
    whole = abs(ones - round(ones)) <= max(1e-4 * ones, 0.01)
    return whole and (rules.few(round(ones)) or rules.few(round(count - ones)))


def _some(record: StatisticsRecord, rules: CleaningRules) -> list[LogCut]:
    """What must go of a record with enough cases."""
    kinds = record.kinds
    cuts = withheld([*kinds.get("extreme", []), *kinds.get("distinct", [])], "extremes")
    # A star marks limits of an interval that are the smallest or the largest value.
    cuts += [one.cut("extremes") for one in record.figures() if one.text.endswith("*")]
    count = record.count
    if count is not None and count < rules.moment_cases:
        cuts += withheld(kinds.get("shape", []), "moments")
    for name, figure in record.names.items():
        share = "50" if name.lower() in ("median", "mdn", "iqr") else name.removeprefix("p")
        if share.isdecimal() and _far_out(float(share), count, rules):
            cuts += withheld([figure], "percentiles")
    at = record.value("at")
    if at is not None and _far_out(at, count, rules):
        cuts += withheld([*kinds.get("centile", []), *kinds.get("interval", [])], "percentiles")
    return cuts


def _far_out(share: float, count: float | None, rules: CleaningRules) -> bool:
    """Whether a percentile, from 0 to 100, rests on too few cases beyond it."""
    if count is None:
        return not 10 <= share <= 90
    return count * min(share, 100 - share) < 100 * rules.percentile_cases


def _beside_totals(
    records: list[StatisticsRecord], closed: list[bool], rules: CleaningRules
) -> list[LogCut]:
    """With a total, withheld groups together could be worked out: others go until they are many."""
    totals = [at for at, record in enumerate(records) if record.stub in _TOTALS]
    cuts: list[LogCut] = []
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
            cuts += withheld(records[left.pop(0)].figures(), "secondary")
            hidden += 1
        if hidden < 2 and not closed[total]:
            cuts += withheld(records[total].figures(), "secondary")
    return cuts


def _few_besides(
    records: list[StatisticsRecord], shown: list[int], total: int, rules: CleaningRules
) -> bool:
    """Whether too few cases are left when groups that are shown are taken off the total."""
    counts = [records[at].count for at in (total, *shown)]
    if any(count is None for count in counts):
        return False
    whole, *parts = (count or 0 for count in counts)
    return rules.few(whole - sum(parts))


_DETAIL_LINES = 14


def read_detail(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The block of ``summarize, detail``."""
    start = next(
        (at for at, line in enumerate(lines[:3]) if _FORM.detail_head.fullmatch(line.text)),
        None,
    )
    if start is None or (start and not is_rule(lines[start - 1].text)):
        return None
    block = lines[start : start + _DETAIL_LINES]
    sides = {
        match[1]: (at, match)
        for at, line in enumerate(block)
        if (match := _FORM.side.search(line.text)) is not None
    }
    last = max((at for at, _ in sides.values()), default=0)
    count = numeric(sides["Obs"][1][2]) if "Obs" in sides else None
    spread = next((found[2] for name, (_, found) in sides.items() if name.startswith("Std")), "")
    everything = count is None or rules.few(count) or numeric(spread) == 0
    reason = "all-same" if numeric(spread) == 0 else "few-cases"
    cuts: list[LogCut] = []
    for name, (at, found) in sides.items():
        shape = name in ("Skewness", "Kurtosis") and (count or 0) < rules.moment_cases
        if (everything and not name.startswith("Sum")) or shape:
            cuts += _cut(at, found.start(2), found[2], "moments" if shape else reason)
    for at, line in enumerate(block[: last + 1]):
        side = _FORM.side.search(line.text)
        limit = side.start() if side else len(line.text)
        cuts += _left_side(at, line.text[:limit], count, everything, rules)
    moved = [cut._replace(line=cut.line + start) for cut in cuts]
    return Claim(start + last + 1, "detail", moved, cases=[count])


def _left_side(
    at: int, text: str, count: float | None, everything: bool, rules: CleaningRules
) -> Iterator[LogCut]:
    """Percentiles and the smallest or largest values beside them."""
    match = _FORM.percentile.match(text)
    if match is None:
        return
    if everything or _far_out(int(match["share"]), count or 0, rules):
        yield from _cut(at, match.start("value"), match["value"], "percentiles")
    for more in _FORM.middle.finditer(text, match.end()):
        yield from _cut(at, more.start(), more[0], "extremes")


def _cut(at: int, start: int, text: str, rule: str) -> Iterator[LogCut]:
    if text not in ("#", "."):
        yield LogCut(at, start, start + len(text), rule)


def read_codebook(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The description of one variable by ``codebook``."""
    if len(lines) < 5 or not is_rule(lines[0].text) or not is_rule(lines[2].text):
        return None
    if not _FORM.codebook_head.fullmatch(lines[1].text):
        return None
    end = 3
    while end < len(lines) and not is_rule(lines[end].text):
        end += 1
    while end > 3 and not lines[end - 1].text.strip():
        end -= 1
    fields = _fields(lines[3:end])
    if "type" not in fields:
        return None
    cases = _cases(lines[:end])
    cuts: list[LogCut] = []
    for name, places in fields.items():
        for place in places:
            cuts += _codebook_cuts(name, lines, place + 3, cases, rules)
    return Claim(end, "codebook", cuts)


def _fields(lines: Sequence[LogLine]) -> dict[str, list[int]]:
    """The lines of each field; a field goes on until the next one."""
    fields: dict[str, list[int]] = {}
    name = ""
    for at, line in enumerate(lines):
        if (match := _FORM.field.match(line.text)) is not None:
            name = match["name"].lower()
        if name and line.text.strip():
            fields.setdefault(name, []).append(at)
    return fields


def _cases(lines: Sequence[LogLine]) -> float | None:
    """Cases with a value; None if nothing says how many."""
    for line in lines[3:]:
        if (match := _FORM.missing.search(line.text)) is not None and "issing" in line.text:
            missing, cases = numeric(match["missing"]), numeric(match["all"])
            return None if cases is None else cases - (missing or 0)
    return None


def _codebook_cuts(
    name: str, lines: Sequence[LogLine], at: int, cases: float | None, rules: CleaningRules
) -> Iterator[LogCut]:
    text = lines[at].text
    few = cases is None or rules.few(cases)
    if (match := _FORM.missing.search(text)) is not None and rules.few(numeric(match["missing"])):
        yield LogCut(at, *match.span("missing"), "few-cases", align="none")
    if name == "range" and (match := _FORM.range.search(text)) is not None and match[0] != "[#,#]":
        yield LogCut(at, *match.span(), "extremes", put="[#,#]", align="left")
    elif name == "unique values":
        rest = text.find(":") + 1
        if (match := _FORM.count.match(text, rest)) is not None:
            yield LogCut(at, *match.span("count"), "distinct-values", align="left")
    elif name == "examples":
        rest = text.find(":") + 1 if _FORM.field.match(text) else 0
        shown = text[rest:].strip()
        if shown and shown != "#":
            start = text.index(shown, rest)
            yield LogCut(at, start, start + len(shown), "examples", align="left")
    elif name in ("mean", "std. dev") and few:
        for match in NUMBER.finditer(text, text.find(":") + 1):
            yield LogCut(at, *match.span(), "few-cases")
    elif name == "percentiles":
        # the line above names the percentiles
        shares = [int(share) for share in _FORM.shares.findall(lines[at - 1].text)]
        yield from _percentiles(lines[at], at, shares, cases, rules)
    elif name == "tabulation":
        yield from _tabulation(text, at, rules)


def _percentiles(
    line: LogLine,
    at: int,
    shares: Sequence[int],
    cases: float | None,
    rules: CleaningRules,
    ends: Sequence[int] = (),
) -> Iterator[LogCut]:
    """Those values of percentiles in a line that are too far out; the ends are extremes."""
    found = figures(line.text, at)
    for share, figure in zip(shares, found or (), strict=False):
        if len(shares) == len(found or ()) and _far_out(share, cases or 0, rules):
            yield from withheld([figure], "extremes" if share in ends else "percentiles")


def _tabulation(text: str, at: int, rules: CleaningRules) -> Iterator[LogCut]:
    rest = text.find(":") + 1 if _FORM.field.match(text) else 0
    match = _FORM.counted.match(text, rest)
    if match is not None and rules.few(numeric(match["count"])):
        yield LogCut(at, *match.span("count"), "few-cases")
        shown = text[match.end("count") :]
        start = match.end("count") + len(shown) - len(shown.lstrip())
        yield LogCut(at, start, len(text.rstrip()), "few-cases", align="left")


_LENGTH_SHARES = (0, 5, 25, 50, 75, 95, 100)


def read_xtsum(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``xtsum``."""
    if not _FORM.xtsum_head.fullmatch(lines[0].text):
        return None
    few = False

    def row(text: str, at: int) -> list[LogCut] | None:
        nonlocal few
        if _FORM.xtsum_gap.fullmatch(text):
            return []
        match = _FORM.xtsum_row.fullmatch(text)
        shown = figures(text[: match.end("values")], at, match.start("values")) if match else None
        if match is None or shown is None or len(shown) < 2:
            return None
        count = numeric(match["count"])
        if match["part"] == "overall":
            few = count is None or rules.few(count) or numeric(shown[1].text) == 0
        little = match["name"] in ("N", "n") and rules.few(count)
        keep = 0 if few or little else len(shown) - 2
        reason = "few-cases" if few or little else "extremes"
        return withheld(shown[keep:], reason) + (
            [LogCut(at, *match.span("count"), "few-cases")] if little else []
        )

    cuts, end = read_rows(lines, 1, row)
    return Claim(end, "xtsum", list(itertools.chain.from_iterable(cuts)))


def read_xtdescribe(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The lists of ``xtdescribe``."""
    first = _FORM.entities.fullmatch(lines[0].text)
    times = _FORM.times.fullmatch(lines[1].text) if len(lines) > 1 else None
    if first is None or times is None:
        return None
    cuts: list[LogCut] = []
    entities = numeric(first["count"])
    if first["values"] != "#":
        cuts.append(LogCut(0, *first.span("values"), "identifiers", align="left"))
    if times["values"] != "#":
        cuts.append(LogCut(1, *times.span("values"), "extremes", align="left"))
    if rules.few(entities):
        cuts.append(LogCut(0, *first.span("count"), "few-cases"))
    at = 2
    while at < len(lines) and (not lines[at].text.strip() or _FORM.notes.fullmatch(lines[at].text)):
        span = _FORM.span.fullmatch(lines[at].text)
        if span is not None and span["span"] != "#":
            cuts.append(LogCut(at, *span.span("span"), "extremes", align="none"))
        at += 1
    if at < len(lines) and _FORM.lengths.fullmatch(lines[at].text):
        for line in lines[at + 1 : at + 2]:
            cuts += _percentiles(line, at + 1, _LENGTH_SHARES, entities, rules, (0, 100))
        at += 2
    after = behind_blanks(lines, at)
    if after < len(lines) and _FORM.pattern_head.fullmatch(lines[after].text):
        at, more = _patterns(lines, after + 1, rules)
        cuts += more
    return Claim(min(at, len(lines)), "xtdescribe", cuts)


def _patterns(
    lines: Sequence[LogLine], start: int, rules: CleaningRules
) -> tuple[int, list[LogCut]]:
    """Patterns with too few entities; also a second one where one could be worked out."""

    def row(text: str, at: int) -> tuple[re.Match[str], list[LogFigure]] | None:
        match = _FORM.pattern.fullmatch(text)
        shown = figures(match["figures"], at) if match else None
        return (match, shown) if match and shown else None

    rows, end = read_rows(lines, start, row)
    totals = [shown[0].value for _, shown in rows if len(shown) < 3]
    rows = [row for row in rows if len(row[1]) >= 3]
    counts = [shown[0].value for _, shown in rows]
    closed = [shown[0].hidden for _, shown in rows]
    hidden = hidden_rows(counts, closed, totals[-1] if totals else None, rules)
    cuts: list[LogCut] = []
    for place, (found, shown) in enumerate(rows):
        if place in hidden:
            cuts += withheld(shown, hidden[place])
            if found["pattern"] not in ("#", "(other patterns)"):
                span = found.span("pattern")
                cuts.append(LogCut(shown[0].line, *span, hidden[place], align="left"))
        elif hidden:
            cuts += withheld([shown[2]], "secondary")
    return end, cuts
