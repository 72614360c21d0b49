"""Output that describes one variable at length: summarize with detail, codebook.

In: lines of output. Out: a claim that withholds smallest and largest values, ranges,
distinct values, examples, and percentiles with too few cases beyond them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from discreet.output_checking.sanitising.claims import NUMBER, Claim, Cut, figures, is_rule, numeric
from discreet.output_checking.sanitising.lines import LogLine
from discreet.output_checking.sanitising.rules import CleaningRules

__all__ = ["read_codebook", "read_detail"]

_DETAIL_HEAD = re.compile(r"\s*Percentiles\s+Smallest\s*")
_PERCENTILE = re.compile(rf"\s{{0,3}}(?P<share>\d{{1,2}})%\s+(?P<value>{NUMBER.pattern}|\.|#)")
_SIDE = re.compile(
    r"(Obs|Sum of [Ww]gt\.|Mean|Std\. [Dd]ev\.|Variance|Skewness|Kurtosis)\s+(\S+)\s*$"
)
_MIDDLE = re.compile(rf"(?P<value>{NUMBER.pattern}|\.|#)")
_DETAIL_LINES = 14

_CODEBOOK_HEAD = re.compile(r"[A-Za-z_~][\w~.]{0,31}\s+\S.{0,200}")
_FIELD = re.compile(
    r"\s*(?P<name>type|label|range|unique values|missing \.\*?|mean|std\. dev|percentiles|"
    r"tabulation|examples|warning|unique mv codes|units|miss\. values):\s{0,40}(?P<rest>.*)",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\[[^\]]{0,80}\]")
_MISSING = re.compile(r"(?P<missing>[\d,]{1,15}|#)/(?P<all>[\d,]{1,15})")
_COUNT = re.compile(r"\s{0,20}(?P<count>[\d,]{1,15})")
_COUNTED = re.compile(r"\s*(?P<count>[\d,]{1,15})\s+\S")
_SHARES = re.compile(r"(\d{1,2})%")


def read_detail(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The block of ``summarize, detail``."""
    start = next(
        (at for at, line in enumerate(lines[:3]) if _DETAIL_HEAD.fullmatch(line.text)), None
    )
    if start is None or (start and not is_rule(lines[start - 1].text)):
        return None
    block = lines[start : start + _DETAIL_LINES]
    sides = {
        found[1]: (at, found)
        for at, line in enumerate(block)
        if (found := _SIDE.search(line.text)) is not None
    }
    last = max((at for at, _ in sides.values()), default=0)
    count = numeric(sides["Obs"][1][2]) if "Obs" in sides else None
    spread = next((found[2] for name, (_, found) in sides.items() if name.startswith("Std")), "")
    everything = count is None or rules.few(count) or numeric(spread) == 0
    reason = "all-same" if numeric(spread) == 0 else "few-cases"
    cuts: list[Cut] = []
    for name, (at, found) in sides.items():
        shape = name in ("Skewness", "Kurtosis") and (count or 0) < rules.moment_cases
        if (everything and not name.startswith("Sum")) or shape:
            cuts += _cut(at, found.start(2), found[2], "moments" if shape else reason)
    for at, line in enumerate(block[: last + 1]):
        side = _SIDE.search(line.text)
        limit = side.start() if side else len(line.text)
        cuts += _left_side(at, line.text[:limit], count, everything, rules)
    moved = [cut._replace(line=cut.line + start) for cut in cuts]
    return Claim(start + last + 1, "detail", moved)


def _left_side(
    at: int, text: str, count: float | None, everything: bool, rules: CleaningRules
) -> Iterator[Cut]:
    """Percentiles and the smallest or largest values beside them."""
    found = _PERCENTILE.match(text)
    if found is None:
        return
    share = int(found["share"])
    few = everything or (count or 0) * min(share, 100 - share) < 100 * rules.percentile_cases
    if few:
        yield from _cut(at, found.start("value"), found["value"], "percentiles")
    for more in _MIDDLE.finditer(text, found.end()):
        yield from _cut(at, more.start(), more[0], "extremes")


def _cut(at: int, start: int, text: str, rule: str) -> Iterator[Cut]:
    if text not in ("#", "."):
        yield Cut(at, start, start + len(text), rule)


def read_codebook(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The description of one variable by ``codebook``."""
    if len(lines) < 5 or not is_rule(lines[0].text) or not is_rule(lines[2].text):
        return None
    if not _CODEBOOK_HEAD.fullmatch(lines[1].text):
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
    cuts: list[Cut] = []
    for name, places in fields.items():
        for place in places:
            cuts += _codebook_cuts(name, lines, place + 3, cases, rules)
    return Claim(end, "codebook", cuts)


def _fields(lines: Sequence[LogLine]) -> dict[str, list[int]]:
    """The lines of each field; a field goes on until the next one."""
    fields: dict[str, list[int]] = {}
    name = ""
    for at, line in enumerate(lines):
        if (found := _FIELD.match(line.text)) is not None:
            name = found["name"].lower()
        if name and line.text.strip():
            fields.setdefault(name, []).append(at)
    return fields


def _cases(lines: Sequence[LogLine]) -> float | None:
    """Cases with a value; None if nothing says how many."""
    for line in lines[3:]:
        if (found := _MISSING.search(line.text)) is not None and "issing" in line.text:
            missing, cases = numeric(found["missing"]), numeric(found["all"])
            return None if cases is None else cases - (missing or 0)
    return None


def _codebook_cuts(
    name: str, lines: Sequence[LogLine], at: int, cases: float | None, rules: CleaningRules
) -> Iterator[Cut]:
    text = lines[at].text
    few = cases is None or rules.few(cases)
    if (found := _MISSING.search(text)) is not None and rules.few(numeric(found["missing"])):
        yield Cut(at, *found.span("missing"), "few-cases", align="none")
    if name == "range" and (found := _RANGE.search(text)) is not None and found[0] != "[#,#]":
        yield Cut(at, *found.span(), "extremes", put="[#,#]", align="left")
    elif name == "unique values":
        rest = text.find(":") + 1
        if (found := _COUNT.match(text, rest)) is not None:
            yield Cut(at, *found.span("count"), "distinct-values", align="left")
    elif name == "examples":
        rest = text.find(":") + 1 if _FIELD.match(text) else 0
        shown = text[rest:].strip()
        if shown and shown != "#":
            start = text.index(shown, rest)
            yield Cut(at, start, start + len(shown), "examples", align="left")
    elif name in ("mean", "std. dev") and few:
        for found in NUMBER.finditer(text, text.find(":") + 1):
            yield Cut(at, *found.span(), "few-cases")
    elif name == "percentiles":
        yield from _percentiles(lines, at, cases, rules)
    elif name == "tabulation":
        yield from _tabulation(text, at, rules)


def _percentiles(
    lines: Sequence[LogLine], at: int, cases: float | None, rules: CleaningRules
) -> Iterator[Cut]:
    """The values of percentiles, in the line below the one that names them."""
    shares = [int(share) for share in _SHARES.findall(lines[at - 1].text)]
    found = figures(lines[at].text, at)
    if not shares or not found or len(shares) != len(found):
        return
    for share, figure in zip(shares, found, strict=True):
        few = cases is None or cases * min(share, 100 - share) < 100 * rules.percentile_cases
        if few and not figure.hidden:
            yield figure.cut("percentiles")


def _tabulation(text: str, at: int, rules: CleaningRules) -> Iterator[Cut]:
    rest = text.find(":") + 1 if _FIELD.match(text) else 0
    found = _COUNTED.match(text, rest)
    if found is not None and rules.few(numeric(found["count"])):
        yield Cut(at, *found.span("count"), "few-cases")
        shown = text[found.end("count") :]
        start = found.end("count") + len(shown) - len(shown.lstrip())
        yield Cut(at, start, len(text.rstrip()), "few-cases", align="left")
