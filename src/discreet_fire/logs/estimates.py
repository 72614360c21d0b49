"""Output of models: headers, tables of coefficients, iterations, tests.

In: lines of output. Out: a claim; nothing of a model with too few cases, clusters or
residual degrees of freedom is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from discreet_fire.logs.claims import NUMBER, Claim, LogCut, OutputForms, is_rule, numeric
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules

_FORM = OutputForms(
    "estimates",
    "part phrase counted f_test start anova anova_row anova_rule iteration words title "
    "coefficients above word_row section row_values row_value clusters foot",
)
_OF_GROUPS = ("Mean", "Total", "Ratio", "Proportion", "Margin")
_LONGEST = 4000


def read_model(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The output of one estimation command, or a table of coefficients alone."""
    if _FORM.iteration.fullmatch(lines[0].text):
        return Claim(1, "iteration", held=list(_likelihood(lines[0].text)))
    head = _head(lines)
    table = _first_table(lines, head)
    if table is None:
        return None
    end, rows = table
    groups = _groups(lines[head:end])
    values = [cut for at in range(head) for cut in _values(lines[at].text, at)]
    body = [cut for at in rows for cut in _row_values(lines[at].text, at)]
    reason = _reason(lines[:head], 0 if groups else len(rows), rules)
    cases = _cases(lines[:head])
    if groups and any(_is_alone(lines[at].text) for at in rows):
        reason = reason or "few-cases"
    shares = _shares(lines[head:end], [lines[at].text for at in rows])
    if cases is not None and shares:
        total = shares == "Total"
        few = (_is_share_of_few(lines[at].text, cases, rules, total=total) for at in rows)
        reason = "few-cases" if any(few) else reason
    panel = [cut for at in range(head) for cut in _panel_extremes(lines[at].text, at)]
    known = any(
        _FORM.start.fullmatch(line.text) or _FORM.anova.match(line.text) for line in lines[:head]
    )
    cuts = [*values, *body] if reason else panel
    named = [cut._replace(rule=reason or cut.rule) for cut in cuts]
    kind = "model" if known else "coefficients"
    return Claim(end, kind, list(dict.fromkeys(named)), groups, gone=bool(reason))


def _heading(table: Sequence[LogLine]) -> re.Match[str] | None:
    """The heading of a table of coefficients."""
    return next(filter(None, (_FORM.coefficients.fullmatch(line.text) for line in table)), None)


def _groups(table: Sequence[LogLine]) -> str:
    """Why a person must look: means, totals or shares of groups, not of all cases."""
    heading = _heading(table)
    if heading is None or heading["heading"] not in _OF_GROUPS:
        return ""
    named = [
        line.text.partition("|")[0].strip() for line in table if _FORM.section.fullmatch(line.text)
    ]
    sections = any(name not in ("", "_at") for name in named)
    if heading["heading"] == "Proportion" or sections or heading["stub"].strip() == "Over":
        return "statistics of groups without their number of cases"
    return ""


def _is_alone(text: str) -> bool:
    """Whether a row has no error, as of a group of one case."""
    values = text.partition("|")[2].split()
    return len(values) > 1 and values[1] in (".", "0", "#")


def _shares(table: Sequence[LogLine], rows: Sequence[str]) -> str:
    """What the figures of a table are called that may be shares or numbers of all cases."""
    table_heading = _heading(table)
    heading = "" if table_heading is None else table_heading["heading"]
    alone = len(rows) == 1 and rows[0].partition("|")[0].strip() == "_cons"
    return heading if alone or heading in _OF_GROUPS else ""


def _is_share_of_few(text: str, cases: float, rules: CleaningRules, *, total: bool) -> bool:
    """Whether the first figure of a row is a share, or a number, of too few cases or of all but
    too few.
    """
    values = text.partition("|")[2].split()
    shown = numeric(values[0]) if values else None
    if shown is None or not 0 < shown <= cases:
        return False
    part = shown * cases if shown < 1 else shown
    if (shown >= 1 and not total) or abs(part - round(part)) > max(1e-4 * part, 0.01):
        return False
    return rules.few(round(part)) or rules.few(round(cases - part))


def _head(lines: Sequence[LogLine]) -> int:
    """How many lines of a header there are, from the first."""
    text = lines[0].text
    if not (_FORM.start.fullmatch(text) or _FORM.anova.match(text)):
        return 0
    if not _is_header(text):
        return 0
    for at, line in enumerate(lines[1:40], 1):
        if _is_table_start(lines, at):
            return at
        if not _is_header(line.text):
            return 0
    return 0


def _is_header(text: str) -> bool:
    """Whether a line holds known names with values, words, or sums of squares, only."""
    if (match := _FORM.anova.match(text)) is not None:
        text = re.sub(r"^.{0,40}\bMS\b|^.{0,60}Prob ?> ?F", "", text)
    elif (match := _FORM.anova_row.fullmatch(text) or _FORM.anova_rule.fullmatch(text)) is not None:
        text = match["rest"]
    if _FORM.clusters.fullmatch(text):
        return True
    return bool(
        _FORM.words.fullmatch(_FORM.phrase.sub("", _FORM.part.sub("", text)).replace("|", " "))
        or _FORM.title.fullmatch(text)
    )


def _is_table_start(lines: Sequence[LogLine], at: int) -> bool:
    """Whether a rule and the heading of coefficients stand here."""
    if at >= len(lines) or not is_rule(lines[at].text):
        return False
    for line in lines[at + 1 : at + 4]:
        if _FORM.coefficients.fullmatch(line.text):
            return True
        if not _FORM.above.fullmatch(line.text) and "|" not in line.text:
            return False
    return False


def _first_table(lines: Sequence[LogLine], head: int) -> tuple[int, list[int]] | None:
    """Where the table of coefficients ends, and which lines of it hold values."""
    at = head
    if not _is_table_start(lines, at):
        return None
    at += 1
    while not _FORM.coefficients.fullmatch(lines[at].text):
        at += 1
    rows: list[int] = []
    end = at + 1
    for place in range(at + 1, min(len(lines), at + _LONGEST)):
        text = lines[place].text
        if is_rule(text):
            end = place + 1
            if "+" not in text and "|" not in text and place > at + 1:
                break  # the rule that closes the table
            continue
        _, bar, rest = text.partition("|")
        if not bar:
            break
        if _FORM.row_values.fullmatch(rest) and rest.strip():
            rows.append(place)
        elif not (_FORM.section.fullmatch(text) or _FORM.word_row.search(rest)):
            break
        elif NUMBER.search(_FORM.word_row.sub("", rest)):
            rows.append(place)
        end = place + 1
    while end < len(lines) and _FORM.foot.fullmatch(lines[end].text):
        end += 1
    return (end, rows) if rows else None


def _reason(header: Sequence[LogLine], rows: int, rules: CleaningRules) -> str:
    """Why nothing of a model may be shown; empty if it may."""
    cases: float | None = None
    clustered = any("cluster" in line.text for line in header)
    for line in header:
        row = _FORM.anova_row.fullmatch(line.text)
        if row is not None and row["stub"] == "Residual":
            df = numeric(row["df"])
            if df is None or df < rules.residual_df:
                return "degrees-of-freedom"
        clusters = _FORM.clusters.fullmatch(line.text)
        if clusters is not None and rules.few(numeric(clusters["count"]) or 1):
            return "few-cases"
        for part in _FORM.part.finditer(line.text):
            value = numeric(part["value"])
            if not clustered and _has_few_left(part["key"], rules):
                return "degrees-of-freedom"
            if _FORM.counted.fullmatch(part["key"]):
                if value is None or rules.few(value):
                    return "few-cases"
                if part["key"] in ("Number of obs", "Number of observations"):
                    cases = value
    if cases is not None and cases - rows < rules.residual_df:
        return "degrees-of-freedom"
    return ""


def _has_few_left(key: str, rules: CleaningRules) -> bool:
    """Whether an F test has too few residual degrees of freedom: absorbed effects count there."""
    match = _FORM.f_test.fullmatch(key)
    left = None if match is None else numeric(match["df"])
    return left is not None and left < rules.residual_df


def _cases(header: Sequence[LogLine]) -> float | None:
    """The number of observations that a header tells."""
    parts = (part for line in header for part in _FORM.part.finditer(line.text))
    counts = (part for part in parts if part["key"] in ("Number of obs", "Number of observations"))
    return next((numeric(part["value"]) for part in counts), None)


def _values(text: str, at: int) -> Iterator[LogCut]:
    """All values of one line of a header."""
    if (match := _FORM.anova_row.fullmatch(text)) is not None:
        for name in ("ss", "df", "ms"):
            if match[name] not in ("#", "."):
                yield LogCut(at, *match.span(name), "model")
    for part in _FORM.part.finditer(text):
        if part["value"] != "#":
            yield LogCut(at, *part.span("value"), "model")


def _likelihood(text: str) -> Iterator[LogCut]:
    """The value of a step; it goes if the model goes."""
    match = _FORM.iteration.fullmatch(text)
    if match is not None and match["value"] not in (None, "#"):
        yield LogCut(0, *match.span("value"), "model", align="none")


def _panel_extremes(text: str, at: int) -> Iterator[LogCut]:
    """Length of the shortest and the longest series."""
    for part in _FORM.part.finditer(text):
        if part["key"] in ("min", "max") and part["value"] != "#":
            yield LogCut(at, *part.span("value"), "extremes")


def _row_values(text: str, at: int) -> Iterator[LogCut]:
    bar = text.find("|")
    for match in _FORM.row_value.finditer(text[bar + 1 :]):
        yield LogCut(at, bar + 1 + match.start(), bar + 1 + match.end(), "model")
