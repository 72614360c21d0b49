"""Output about panel data: xtsum, xtdescribe.

In: lines of output. Out: a claim that withholds smallest and largest values, identifiers,
and patterns of participation that few entities have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from discreet.output_checking.sanitising.claims import Claim, Cut, figures, is_rule, numeric
from discreet.output_checking.sanitising.frequencies import hidden_rows
from discreet.output_checking.sanitising.lines import LogLine
from discreet.output_checking.sanitising.rules import CleaningRules

__all__ = ["read_xtdescribe", "read_xtsum"]

_XTSUM_HEAD = re.compile(
    r"\s*Variable\s+\|\s+Mean\s+Std\. [Dd]ev\.\s+Min\s+Max\s+\|\s+Observations\s*"
)
_XTSUM_ROW = re.compile(
    r"(?P<stub>[^|]{0,40}\b(?P<part>overall|between|within)\s{0,9})\|(?P<values>[^|]{1,60})\|"
    r"\s*(?P<name>N|n|T|T-bar)\s*=\s*(?P<count>[\d.,]{1,15}|#)\s*"
)
_XTSUM_GAP = re.compile(r"[^|\d]{0,40}\|\s*\|\s*")

_ENTITIES = re.compile(
    r"\s*(?P<name>\S{1,40}):\s+(?P<values>\S.{0,120}?)\s+n =\s+(?P<count>[\d,]{1,15}|#)\s*"
)
_TIMES = re.compile(r"\s*\S{1,40}:\s+(?P<values>\S.{0,120}?)\s+T =\s+[\d,]{1,15}\s*")
_SPAN = re.compile(r"\s*Span\(.{1,50}\)\s+=\s+(?P<span>\S{1,15}) periods?\s*")
_NOTES = re.compile(
    r"\s*(?:Delta\(.{1,60}|Span\(.{1,60}|\(\S{1,80} uniquely identif\w+ each observation\))\s*"
)
_LENGTHS = re.compile(r"\s*Distribution of T_i:\s+min\s+5%\s+25%\s+50%\s+75%\s+95%\s+max\s*")
_SHARES = (0, 5, 25, 50, 75, 95, 100)
_PATTERN_HEAD = re.compile(r"\s*Freq\.\s+Percent\s+Cum\. \|\s+Pattern\*?\s*")
_PATTERN = re.compile(r"(?P<figures>[^|]{1,60})\|\s+(?P<pattern>\S.{0,400}?)\s*")


def read_xtsum(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``xtsum``."""
    if not _XTSUM_HEAD.fullmatch(lines[0].text):
        return None
    cuts: list[Cut] = []
    end, few = 1, False
    for at, line in enumerate(lines[1:], 1):
        if is_rule(line.text) or _XTSUM_GAP.fullmatch(line.text):
            end = at + 1
            continue
        found = _XTSUM_ROW.fullmatch(line.text)
        if found is None:
            break
        shown = figures(line.text[: found.end("values")], at, found.start("values"))
        if shown is None or len(shown) < 2:
            break
        count = numeric(found["count"])
        if found["part"] == "overall":
            few = count is None or rules.few(count) or numeric(shown[1].text) == 0
        little = found["name"] in ("N", "n") and rules.few(count)
        keep = 0 if few or little else len(shown) - 2
        reason = "few-cases" if few or little else "extremes"
        cuts += [figure.cut(reason) for figure in shown[keep:] if not figure.hidden]
        if little:
            cuts.append(Cut(at, *found.span("count"), "few-cases"))
        end = at + 1
    return Claim(end, "xtsum", cuts)


def read_xtdescribe(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The lists of ``xtdescribe``."""
    first = _ENTITIES.fullmatch(lines[0].text)
    times = _TIMES.fullmatch(lines[1].text) if len(lines) > 1 else None
    if first is None or times is None:
        return None
    cuts: list[Cut] = []
    entities = numeric(first["count"])
    values = first["values"].rstrip()
    if values != "#":
        cuts.append(Cut(0, *first.span("values"), "identifiers", align="left"))
    if times["values"] != "#":
        cuts.append(Cut(1, *times.span("values"), "extremes", align="left"))
    if rules.few(entities):
        cuts.append(Cut(0, *first.span("count"), "few-cases"))
    at = 2
    while at < len(lines) and (not lines[at].text.strip() or _NOTES.fullmatch(lines[at].text)):
        span = _SPAN.fullmatch(lines[at].text)
        if span is not None and span["span"] != "#":
            cuts.append(Cut(at, *span.span("span"), "extremes", align="none"))
        at += 1
    if at < len(lines) and _LENGTHS.fullmatch(lines[at].text):
        cuts += _lengths(lines, at + 1, entities, rules)
        at += 2
    after = at
    while after < len(lines) and not lines[after].text.strip():
        after += 1
    if after < len(lines) and _PATTERN_HEAD.fullmatch(lines[after].text):
        at, more = _patterns(lines, after + 1, rules)
        cuts += more
    return Claim(min(at, len(lines)), "xtdescribe", cuts)


def _lengths(
    lines: Sequence[LogLine], at: int, entities: float | None, rules: CleaningRules
) -> Iterator[Cut]:
    found = figures(lines[at].text, at) if at < len(lines) else None
    if not found or len(found) != len(_SHARES):
        return
    for share, figure in zip(_SHARES, found, strict=True):
        few = (entities or 0) * min(share, 100 - share) < 100 * rules.percentile_cases
        if few and not figure.hidden:
            yield figure.cut("extremes" if share in (0, 100) else "percentiles")


def _patterns(lines: Sequence[LogLine], start: int, rules: CleaningRules) -> tuple[int, list[Cut]]:
    """Patterns with too few entities; also a second one where one could be worked out."""
    rows: list[tuple[int, re.Match[str]]] = []
    total: float | None = None
    end = start
    for at, line in enumerate(lines[start:], start):
        if is_rule(line.text):
            end = at + 1
            continue
        found = _PATTERN.fullmatch(line.text)
        shown = figures(found["figures"], at) if found else None
        if found is None or not shown:
            break
        if len(shown) < 3:
            total = shown[0].value
        else:
            rows.append((at, found))
        end = at + 1
    return end, list(_pattern_cuts(rows, total, rules))


def _pattern_cuts(
    rows: list[tuple[int, re.Match[str]]], total: float | None, rules: CleaningRules
) -> Iterator[Cut]:
    shown = [figures(found["figures"], at) or [] for at, found in rows]
    counts = [some[0].value for some in shown]
    hidden = hidden_rows(counts, [some[0].hidden for some in shown], total, rules)
    for place, (at, found) in enumerate(rows):
        if place in hidden:
            yield from (one.cut(hidden[place]) for one in shown[place] if not one.hidden)
            if found["pattern"] not in ("#", "(other patterns)"):
                yield Cut(at, *found.span("pattern"), hidden[place], align="left")
        elif hidden and not shown[place][2].hidden:
            yield shown[place][2].cut("secondary")
