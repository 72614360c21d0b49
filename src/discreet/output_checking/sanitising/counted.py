"""Small lists of counts: merge, describe, count, reshape, correlate, group headings.

In: lines of output. Out: a claim that withholds numbers of cases that are too small.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from discreet.output_checking.sanitising.claims import (
    NUMBER,
    Claim,
    Cut,
    Figure,
    figures,
    is_rule,
    numeric,
)
from discreet.output_checking.sanitising.frequencies import hidden_rows
from discreet.output_checking.sanitising.lines import LogLine
from discreet.output_checking.sanitising.rules import CleaningRules

__all__ = [
    "read_correlations",
    "read_count",
    "read_describe",
    "read_group_heading",
    "read_merge",
    "read_reshape",
]

_MERGE_HEAD = re.compile(r"\s*Result\s+(?:# of obs\.|Number of obs)\s*")
_MERGE_ROW = re.compile(
    r"\s*(?P<name>[Nn]ot matched|from master|from using|[Mm]atched|not updated|missing updated|"
    r"nonmissing conflict)\s+(?P<count>[\d,]{1,15}|#)(?:\s+\(_merge==\d\))?\s*"
)
_DESCRIBED = re.compile(
    r"\s*(?P<kind>obs|Observations|vars|Variables|size):\s+(?P<count>[\d,]{1,15}|#)(?P<label>.{0,120})"
)
_CONTAINS = re.compile(r"Contains data.{0,200}")
_DESCRIBE_HEAD = re.compile(r"\s*(?:storage|Variable\s+Storage|variable name|name)\s+.{1,80}")
_DESCRIBE_ROW = re.compile(
    r"\S{1,32}\s+(?:byte|int|long|float|double|str\w{1,6})\s+%\S{1,12}.{0,160}"
)
_SORTED = re.compile(r"Sorted by:.{0,200}|\s*Note: [Dd]ataset has changed.{0,60}")
_COUNT = re.compile(r"\s{0,20}(?P<count>[\d,]{1,15}|#)")
_RESHAPE_HEAD = re.compile(r"Data\s+(?:wide|long|Wide|Long)\s+->\s+(?:wide|long|Wide|Long)\s*")
_RESHAPE = re.compile(
    r"Number of obs(?:ervations|\.)?\s+(?P<a>[\d,]{1,15}|#)\s+->\s+(?P<b>[\d,]{1,15}|#)\s*"
)
_RESHAPE_ROW = re.compile(r"(?:Number of variables|[ij] variable|xij variables|\s).{0,120}")
_GROUP = re.compile(
    r"->(?: tabulation of)? [A-Za-z_]\w{0,31}(?: = .{1,80})?(?:, \w{1,32} = .{1,80}){0,5}\s*"
)
_OBSERVED = re.compile(r"\(obs=(?P<count>[\d,]{1,15}|#)\)")
_CORRELATION_HEAD = re.compile(r"\s*\|(?:\s+[A-Za-z_~][\w~.]{0,31})+\s*")


def read_merge(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The result of ``merge``."""
    if not _MERGE_HEAD.fullmatch(lines[0].text):
        return None
    found: list[Figure] = []
    names: list[str] = []
    end = 1
    for at, line in enumerate(lines[1:], 1):
        row = _MERGE_ROW.fullmatch(line.text)
        if row is not None:
            found.append(Figure(row["count"], at, *row.span("count")))
            names.append(row["name"].lower())
        elif line.text.strip() and not is_rule(line.text):
            break
        if line.text.strip():
            end = at + 1
    parts = [at for at, name in enumerate(names) if name.startswith("from ")]
    others = [at for at in range(len(names)) if at not in parts]
    cuts: list[Cut] = []
    for some in (parts, others):
        counts = [found[at].value for at in some]
        closed = [found[at].hidden for at in some]
        for place, reason in hidden_rows(counts, closed, None, rules).items():
            if not found[some[place]].hidden:
                cuts.append(found[some[place]].cut(reason))
    return Claim(end, "merge", cuts)


def read_describe(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The list of variables of ``describe``."""
    if not _CONTAINS.fullmatch(lines[0].text):
        return None
    cuts: list[Cut] = []
    end = 1
    for at, line in enumerate(lines[1:], 1):
        counted = _DESCRIBED.fullmatch(line.text)
        if counted is not None and rules.few(numeric(counted["count"])):
            cuts.append(Cut(at, *counted.span("count"), "few-cases"))
        if counted is not None and counted["kind"] in ("obs", "Observations"):
            label = counted["label"].strip()
            if label not in ("", "#"):
                start = line.text.index(label, counted.start("label"))
                cuts.append(Cut(at, start, start + len(label), "data-label", align="left"))
        known = counted or is_rule(line.text) or _DESCRIBE_HEAD.fullmatch(line.text)
        if not (known or _DESCRIBE_ROW.fullmatch(line.text) or _SORTED.fullmatch(line.text)):
            break
        end = at + 1
    return Claim(end, "describe", cuts) if end > 2 else None


def read_count(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The single number of ``count``."""
    found = _COUNT.fullmatch(lines[0].text)
    if found is None:
        return None
    few = rules.few(numeric(found["count"]))
    cuts = [Cut(0, *found.span("count"), "few-cases")] if few else []
    return Claim(1, "count", cuts)


def read_reshape(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The result of ``reshape``."""
    if not _RESHAPE_HEAD.fullmatch(lines[0].text):
        return None
    cuts: list[Cut] = []
    end = 1
    for at, line in enumerate(lines[1:], 1):
        if (found := _RESHAPE.fullmatch(line.text)) is not None:
            few = [name for name in ("a", "b") if rules.few(numeric(found[name]))]
            cuts += [Cut(at, *found.span(name), "few-cases") for name in few]
        elif not is_rule(line.text) and not _RESHAPE_ROW.fullmatch(line.text):
            break
        end = at + 1
    return Claim(end, "reshape", cuts)


def read_group_heading(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The heading of a group: the lines drawn above it, and its values."""
    del rules
    start = 1 if is_rule(lines[0].text) and len(lines) > 1 else 0
    return Claim(start + 1, "group") if _GROUP.fullmatch(lines[start].text) else None


def read_correlations(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The triangle of ``correlate`` and ``pwcorr``."""
    start, count = 0, None
    if (found := _OBSERVED.fullmatch(lines[0].text)) is not None:
        count, start = numeric(found["count"]), 1
        while start < len(lines) and not lines[start].text.strip():
            start += 1
    head = lines[start].text if start < len(lines) else ""
    if not _CORRELATION_HEAD.fullmatch(head) or not is_rule(
        lines[start + 1].text if start + 1 < len(lines) else ""
    ):
        return None
    rows: list[list[Figure]] = []
    end = start + 2
    for at, line in enumerate(lines[end:], end):
        stub, bar, rest = line.text.partition("|")
        if is_rule(line.text) or (bar and not rest.strip() and not stub.strip()):
            end = at + 1
            continue
        shown = figures(line.text, at, len(stub) + 1) if bar else None
        if not shown:
            break
        rows.append(shown)
        end = at + 1
    cuts = _correlation_cuts(lines, rows, count, rules, known=found is not None)
    review = "" if found is not None else "correlations without their number of cases"
    return Claim(end, "correlations", cuts, review)


def _correlation_cuts(
    lines: Sequence[LogLine],
    rows: list[list[Figure]],
    count: float | None,
    rules: CleaningRules,
    *,
    known: bool,
) -> list[Cut]:
    few = known and (count is None or rules.few(count))
    cuts: list[Cut] = []
    for at, row in enumerate(rows):
        for place, figure in enumerate(row):
            small = _is_count(figure) and rules.few(figure.value)
            if (few or small) and not figure.hidden:
                cuts.append(figure.cut("few-cases"))
            if small:  # the coefficient, and its significance, stand above their count
                cuts += _above(rows[:at], place)
    if few and (found := NUMBER.search(lines[0].text)) is not None:
        cuts.append(Cut(0, *found.span(), "few-cases", align="none"))
    return cuts


def _above(rows: list[list[Figure]], place: int) -> Iterator[Cut]:
    """The coefficient of a pair, and what stands between it and its count."""
    for row in reversed(rows[-2:]):
        if place >= len(row) or _is_count(row[place]):
            break
        if not row[place].hidden:
            yield row[place].cut("few-cases")


def _is_count(figure: Figure) -> bool:
    return figure.text.replace(",", "").isdecimal()
