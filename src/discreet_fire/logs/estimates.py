"""Output of models: headers, tables of coefficients, iterations; tables of several models.

In: lines of output. Out: a claim; nothing of a model with too few cases, clusters or
residual degrees of freedom is shown, and a table of models only if it tells their cases.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, pairwise

from discreet_fire.logs.claims import (
    HIDDEN,
    NUMBER,
    Claim,
    FigureRow,
    LogCut,
    OutputForms,
    is_rule,
    numeric,
)
from discreet_fire.logs.lines import LogLine
from discreet_fire.logs.rules import CleaningRules
from discreet_fire.logs.stata_tables import cells_behind_bar, cells_behind_gap, rows_as_one

_FORM = OutputForms("estimates")
_TABLES = _FORM
_OF_GROUPS = ("Mean", "Total", "Ratio", "Proportion", "Margin")
_CASES = ("Number of obs", "Number of observations")
_LONGEST = 4000
_MOST_LINES = 2000


def read_model(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The output of one estimation command, or a table of coefficients alone."""
    step = _FORM.iteration.fullmatch(lines[0].text)
    if step is not None:
        # The value of a step goes if the model goes.
        shown = step["value"] not in (None, HIDDEN)
        cut = LogCut(0, *step.span("value"), "model", align="none")
        return Claim(1, "iteration", held=[cut] * shown)
    # The header: known names with values, words, or sums of squares, only.
    first = lines[0].text
    known = bool(_FORM.start.fullmatch(first) or _FORM.anova.match(first))
    places = range(1, min(len(lines), 40)) if known else ()
    head = next((at for at in places if _starts_table(lines, at)), 0)
    if known and not (head and all(_is_header(line.text) for line in lines[:head])):
        return None
    table = _table(lines, head) if _starts_table(lines, head) else None
    if table is None:
        return None
    end, rows, heading, stub = table
    texts = [lines[at].text for at in rows]
    parts = [(at, part) for at in range(head) for part in _FORM.part.finditer(lines[at].text)]
    # Means, totals or shares of groups, not of all cases.
    groups = ""
    if heading in _OF_GROUPS:
        named = (line.text for line in lines[head:end] if _FORM.section.fullmatch(line.text))
        sections = {name.partition("|")[0].strip() for name in named} - {"", "_at"}
        if heading == "Proportion" or sections or stub == "Over":
            groups = "groups"
    reason = _reason(lines[:head], 0 if groups else len(rows), rules)
    values = [text.partition("|")[2].split() for text in texts]
    # A row has no error where it is of a group of one case.
    if groups and any(len(some) > 1 and some[1] in (".", "0", HIDDEN) for some in values):
        reason = reason or "few-cases"
    alone = len(texts) == 1 and texts[0].partition("|")[0].strip() == "_cons"
    counted = (numeric(part["value"]) for _, part in parts if part["key"] in _CASES)
    cases = next(counted, None)
    if cases is not None and (alone or heading in _OF_GROUPS):
        total = heading == "Total"
        if any(_is_share_of_few(some, cases, rules, total=total) for some in values):
            reason = "few-cases"
    shown_parts = [(at, part) for at, part in parts if part["value"] != HIDDEN]
    if reason:
        cuts = [LogCut(at, *part.span("value"), reason) for at, part in shown_parts]
        for at in range(head):
            if (row := _FORM.anova_row.fullmatch(lines[at].text)) is not None:
                names = (name for name in ("ss", "df", "ms") if row[name] not in (HIDDEN, "."))
                cuts += [LogCut(at, *row.span(name), reason) for name in names]
        for at, text in zip(rows, texts, strict=True):
            bar = text.find("|") + 1
            figures = _FORM.row_value.finditer(text[bar:])
            cuts += [LogCut(at, bar + one.start(), bar + one.end(), reason) for one in figures]
    else:  # length of the shortest and the longest series
        ends = ((at, part) for at, part in shown_parts if part["key"] in ("min", "max"))
        cuts = [LogCut(at, *part.span("value"), "extremes") for at, part in ends]
    kind = "model" if known else "coefficients"
    return Claim(end, kind, list(dict.fromkeys(cuts)), groups, gone=bool(reason))


def _is_share_of_few(
    values: Sequence[str], cases: float, rules: CleaningRules, *, total: bool
) -> bool:
    """Whether the first figure of a row is a share, or a number, of too few cases or of all but
    too few.
    """
    shown = numeric(values[0]) if values else None
    if shown is None or not 0 < shown <= cases:
        return False
    part = shown * cases if shown < 1 else shown
    if (shown >= 1 and not total) or abs(part - round(part)) > max(1e-4 * part, 0.01):
        return False
    return rules.few(round(part)) or rules.few(round(cases - part))


def _is_header(text: str) -> bool:
    if (match := _FORM.anova.match(text)) is not None:
        text = re.sub(r"^.{0,40}\bMS\b|^.{0,60}Prob ?> ?F", "", text)
    elif (match := _FORM.anova_row.fullmatch(text) or _FORM.anova_rule.fullmatch(text)) is not None:
        text = match["rest"]
    left = _FORM.phrase.sub("", _FORM.part.sub("", text)).replace("|", " ")
    forms = ((_FORM.clusters, text), (_FORM.words, left), (_FORM.title, text))
    return any(form.fullmatch(some) for form, some in forms)


def _starts_table(lines: Sequence[LogLine], at: int) -> bool:
    """Whether a rule and the heading of coefficients stand here."""
    if at >= len(lines) or not is_rule(lines[at].text):
        return False
    for line in lines[at + 1 : at + 4]:
        if _FORM.coefficients.fullmatch(line.text):
            return True
        if not _FORM.above.fullmatch(line.text) and "|" not in line.text:
            return False
    return False


def _table(lines: Sequence[LogLine], at: int) -> tuple[int, list[int], str, str] | None:
    """Where a table of coefficients ends, which lines hold values, the heading, its stub."""
    heading = None
    while heading is None:
        at += 1
        heading = _FORM.coefficients.fullmatch(lines[at].text)
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
    return (end, rows, heading["heading"], heading["stub"].strip()) if rows else None


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
            test = None if clustered else _FORM.f_test.fullmatch(part["key"])
            left = None if test is None else numeric(test["df"])
            if left is not None and left < rules.residual_df:
                return "degrees-of-freedom"  # absorbed effects count there
            if _FORM.counted.fullmatch(part["key"]):
                if value is None or rules.few(value):
                    return "few-cases"
                if part["key"] in _CASES:
                    cases = value
    few = cases is not None and cases - rows < rules.residual_df
    return "degrees-of-freedom" if few else ""


def read_estimates_table(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``estimates table``."""
    head = [line.text for line in lines[:2]]
    if len(lines) < 4 or not is_rule(head[0]) or not _TABLES.model_head.fullmatch(head[1]):
        return None
    parts: list[list[FigureRow]] = []
    for at, line in enumerate(lines[2:], 2):
        if is_rule(line.text):
            if "+" not in line.text and "|" not in line.text:
                return _models(lines, at + 1, [part for part in parts if part], rules)
            parts.append([])
        elif parts:
            row = cells_behind_bar(line.text, at)
            if row is None:
                return None
            parts[-1].append(row)
    return None


def read_esttab(lines: Sequence[LogLine], rules: CleaningRules) -> Claim | None:
    """The table of ``esttab`` and ``estout``."""
    rules_at = [at for at, line in enumerate(lines[:_MOST_LINES]) if is_rule(line.text)]
    if len(rules_at) < 3 or rules_at[0] != 0:
        return None
    heading = [line.text for line in lines[1 : rules_at[1]]]
    if not any(map(_TABLES.models_head.fullmatch, heading)):
        return None
    if any(map(_TABLES.figure_words.search, heading)):
        return None
    parts: list[list[FigureRow]] = []
    for start, end in pairwise(rules_at[1:4]):
        rows = [cells_behind_gap(lines[at].text, at) for at in range(start + 1, end)]
        parts.append([row for row in rows if row is not None])
        if None in rows:
            return None
    return _models(lines, rules_at[min(len(rules_at) - 1, 3)] + 1, parts, rules)


def _models(
    lines: Sequence[LogLine], end: int, parts: Sequence[Sequence[FigureRow]], rules: CleaningRules
) -> Claim:
    """What becomes of a table of models whose last part may hold numbers of cases."""
    while end < len(lines) and _TABLES.legend.fullmatch(lines[end].text):
        end += 1
    named = [row for row in parts[-1] if row.stub] if len(parts) > 1 else []
    numbers = [row for row in named if _TABLES.stats_counts.fullmatch(row.stub)]
    known = [row for row in named if _TABLES.stats_name.fullmatch(row.stub)]
    odd = [row for row in named if row not in known and row not in numbers]
    rows = chain.from_iterable(parts[:-1] if numbers or known else parts)
    coefficients = sum(bool(row.stub and row.figures) for row in rows)
    cases = [one for row in numbers for one in row.figures]
    left = [one.value - coefficients for one in cases if one.value is not None]
    few = any(one.hidden or rules.few(one.value) for one in cases)
    if few or any(one < rules.residual_df for one in left):
        reason = "few-cases" if few else "degrees-of-freedom"
        return Claim(end, "models", rows_as_one(list(chain.from_iterable(parts)), reason))
    cuts = rows_as_one([row for row in odd if _TABLES.figure_words.search(row.stub)], "extremes")
    review = "" if cases else "models"
    if any(figure.value is not None for row in odd for figure in row.figures) and not cuts:
        review = review or "model_statistics"
    return Claim(end, "models", cuts, review)
