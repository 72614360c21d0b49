"""Output of Stata that is no table of columns: lists whose lines have forms.

In: lines of output (CONFIDENTIAL), forms of ``forms.toml``. Out: a `Claim`. The names of the groups
of a form are roles: counts that give each other back, figures that always go, statistics of a
record, which go with its number of cases.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from discreet_fire.logs.claims import (
    HIDDEN,
    NUMBER,
    Align,
    Claim,
    LogCut,
    LogFigure,
    figures,
    is_rule,
    output_forms,
    withheld,
)
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.table_rules import StatisticsRecord, hidden_counts, statistics_claim

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
_BELOW = re.compile(r"(\w+)> ")


class _LineForm(NamedTuple):
    """The form of a line, or of two: below which field of the list, and its pattern."""

    below: str
    pattern: re.Pattern[str]
    two: bool


class _ListForm(NamedTuple):
    """The form of a list: its first lines, its lines, and whether some may be blank."""

    first: re.Pattern[str]
    heads: int
    lines: tuple[_LineForm, ...]
    gaps: bool

    def match(self, text: str, after: str, field: str) -> re.Match[str] | None:
        for form in self.lines:
            match = form.pattern.fullmatch(text) if form.below in ("", field) else None
            if match is None and form.two:
                match = form.pattern.fullmatch(f"{text}\n{after}")
            if match is not None:
                return match
        return None


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


def _list_form(form: dict[str, object]) -> _ListForm:
    first = str(form["first"])
    lines: list[_LineForm] = []
    for text in form["lines"] if isinstance(form["lines"], list) else ():
        below = _BELOW.match(text)
        start = below.end() if below else 0
        lines.append(_LineForm(below[1] if below else "", _pattern(text[start:]), "\\n" in text))
    return _ListForm(_pattern(first), first.count("\\n") + 1, tuple(lines), bool(form.get("gaps")))


_FORMS = {name: _list_form(form) for name, form in output_forms()["lists"].items()}


class _Shown(NamedTuple):
    """What a line of a list shows: roles and figures, in its order."""

    line: int
    figures: list[tuple[str, Align, LogFigure]]


def _shown(match: re.Match[str], at: int, width: int) -> _Shown:
    shown: list[tuple[str, Align, LogFigure]] = []
    for name in sorted(match.groupdict(), key=match.start):
        if match[name] is None:
            continue
        role, side = _role(name)
        start, end = match.span(name)
        below = start > width  # in the second line of a form
        move = width + 1 if below else 0
        figure = LogFigure(match[name], at + below, start - move, end - move)
        shown.append((role, side, figure))
    return _Shown(at, shown)


def read_list(kind: str, lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The lines of a list of some kind."""
    form = _FORMS[kind]
    for heads in {form.heads, 1}:
        match = form.first.fullmatch("\n".join(line.text for line in lines[:heads]))
        if match is not None:
            break
    else:
        return None
    shown, field = [_shown(match, 0, len(lines[0].text))], ""
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
            shown.append(_shown(match, at, len(text)))
            field = next((one.text for role, _, one in shown[-1].figures if role == "field"), field)
            end = at + step
        at += step
    if end == heads and not any(one.figures for one in shown):
        return None
    claim = statistics_claim(end, list(_records(shown)), rules)
    cuts = [*_always(shown), *_of_counts(shown, rules), *claim.cuts]
    return Claim(end, kind, list(dict.fromkeys(cuts)))


def _always(shown: Sequence[_Shown]) -> Iterator[LogCut]:
    """What goes whatever the figures are."""
    for role, side, figure in (one for line in shown for one in line.figures):
        if role in _ALWAYS:
            put = _PUT.get(role, HIDDEN)
            cuts = withheld([figure], _ALWAYS[role], side)
            yield from (cut._replace(put=put) for cut in cuts if figure.text != put)
        elif role == "each":
            yield from withheld(
                figures(figure.text, figure.line, 0, figure.start) or (), "extremes"
            )


def _of_counts(shown: Sequence[_Shown], rules: CleaningRules) -> Iterator[LogCut]:
    """What goes of counts: small ones, what gives them back, and what stands beside them."""
    roles: dict[str, list[LogFigure]] = defaultdict(list)
    for role, _, figure in (one for line in shown for one in line.figures):
        roles[role].append(figure)
    total = roles["total"][0] if roles["total"] else None
    small = (one for one in (*roles["n"], *roles["total"]) if rules.few(one.value))
    yield from withheld(small, "few-cases", "none" if roles["all"] else "right")
    for kind, whole in (("part", total), ("other", None)):
        hidden = hidden_counts(roles[kind], whole, rules)
        gone = {roles[kind][at].line: why for at, why in hidden.items()}
        for place, why in hidden.items():
            yield from withheld([roles[kind][place]], why)
        for line in shown:
            for role, side, figure in line.figures:
                if role == "with" and line.line in gone:
                    yield from withheld([figure], gone[line.line], side)
                elif role == "run" and gone:
                    yield from withheld([figure], "secondary")


def _records(shown: Sequence[_Shown]) -> Iterator[StatisticsRecord]:
    """The statistics of each record; nothing of one whose number of cases is not known stays."""
    record, shares = StatisticsRecord(""), list[str]()
    records = [record]
    for line in shown:
        share = ""
        for role, _, figure in line.figures:
            if role == "new":
                record = StatisticsRecord("")
                records.append(record)
            elif role == "share":
                share = figure.text
            elif role == "shares":
                shares = [str(_ENDS.get(one, one.strip("%"))) for one in figure.text.split()]
            elif role == "values":
                cells = figures(figure.text, figure.line, 0, figure.start) or []
                for name, cell in zip(shares, cells, strict=False):
                    kind = "extreme" if name in ("0", "100") else "percentile"
                    record.add(kind, f"p{name}", cell)
            elif role == "all" and record.count is None and figure.value is not None:
                missing = next((one.value for some, _, one in line.figures if some == "n"), 0)
                record.count = figure.value - (missing or 0)
            elif role not in _OTHER and figure.text != ".":
                name = f"p{share}" if role == "percentile" else f"{role}{figure.start}"
                record.add(role, name, figure)
    for record in records:
        if record.kinds:
            record.closed = record.closed or record.count is None
            yield record
