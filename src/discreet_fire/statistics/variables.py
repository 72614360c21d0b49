"""`summarize`, `tabstat`, `codebook`, `centile`, `histogram`: values of variables, also by groups.

In: a frame of microdata (confidential), variables, rules. Out: `SafeResult`s. Minimum and maximum,
numbers of distinct values and examples of texts are never shown, other statistics if they tell
nothing about few cases: a percentile needs enough cases beyond it, and so does each end of its
interval, which is a value too. `describe` gives the same numbers to `ttest`: for each variable a
`Description` – its numbers by group and in total that may be shown, and the rules that withheld the
others. The edges of classes never depend on minimum and maximum: they are given, or multiples of a
round width made of quartiles. Classes of few cases are merged with their neighbours, and the outer
ones are open.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np
import polars as pl
from scipy import special

from discreet.arrays import FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet.microdata import open_frame
from discreet_fire.statistics.disclosure_rules import (
    RULES,
    Found,
    broken,
    checks_of,
    free_statistics,
    leading,
)
from discreet_fire.statistics.grouped_values import (
    EntityNumbers,
    GroupedValues,
    Numbers,
    StatisticsGroup,
    canonical_statistics,
    group_statistics,
    spreads_of,
    statistics_of,
)
from discreet_fire.statistics.layout import (
    Grid,
    abbreviated,
    closed,
    column_name,
    count_text,
    fixed,
    general,
    refused_line,
    round_step,
    rounded,
)
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.records import (
    MicrodataRecords,
    RecordGroups,
    RecordOptions,
    crossed,
    group,
    names_of,
    take,
)
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult
from discreet_fire.statistics.suppression import (
    HiddenSpreads,
    hide_alike,
    hide_groups,
    shared_counts,
    spreads_to_hide,
)
from discreet_fire.statistics.tables import CountTable


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Description:
    """One variable, by groups (confidential but for `shown` and `total`; None is withheld)."""

    name: str
    shown: tuple[Numbers, ...]
    total: Numbers
    found: tuple[Found, ...]


def describe(
    records: MicrodataRecords,
    names: Sequence[str],
    by: RecordGroups | None,
    wanted: Sequence[str],
) -> list[Description]:
    """Describe variables by groups, or of all records together; statistics by canonical names."""
    codes, groups = (None, 1) if by is None else (by.codes, len(by))
    limits = records.limits
    holdings = [records.grouped(name, codes, groups) for name in names]
    every = [holding.facts(limits) for holding in holdings]
    counts = None if by is None else shared_counts(every, limits)
    pairs = list(zip(holdings, every, strict=True))
    withheld = [hide_groups(holding, facts, limits, counts=counts) for holding, facts in pairs]
    if len(names) > 1 and any(one.value or one.total_value for one in withheld):
        withheld = hide_alike(withheld, [records.numbers(name) for name in names])
    descriptions = []
    for name, (holding, facts), hidden in zip(names, pairs, withheld, strict=True):
        spreads = HiddenSpreads()
        if spread := spreads_of(wanted):
            whole = hidden.total if by is not None and not hidden.total_value else None
            spreads = spreads_to_hide(
                facts, limits, union=partial(holding.union, limits=limits), hidden=hidden.value,
                total=whole, needed=1 + spread,
            )  # fmt: skip
        several = [
            StatisticsGroup(
                facts=one,
                part=partial(holding.part, [at]),
                place=name if by is None else f"{name}, {by.name} = {by.labels[at]}",
                rules=hidden.rules[at],
                count=at not in hidden.count,
                value=at not in hidden.value,
                spread=spreads.groups.get(at, ""),
            )
            for at, one in enumerate(facts)
        ]
        shown, found = group_statistics(name, wanted, several, limits)
        total = shown[0] if by is None else {}
        if by is not None:
            together = StatisticsGroup(
                facts=hidden.total,
                part=partial(holding.part, range(groups)),
                rules=hidden.whole,
                count=not hidden.total_count,
                value=not hidden.total_value,
                spread=spreads.total,
            )
            total, broken = statistics_of(wanted, together, limits)
            rules = (*leading(hidden.whole), *sorted(broken))
            found += [Found(rule, name, f"{name}, total", hidden.total) for rule in rules]
        descriptions.append(
            Description(name=name, shown=tuple(shown), total=total, found=tuple(found))
        )
    return descriptions


_PLAIN = ("n", "sum_w", "sum", "mean", "variance", "sd")
_PERCENTILES = ("p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99")
_DETAIL = (*_PLAIN, *_PERCENTILES, "skewness", "kurtosis")
#: Names of stored results where they differ from those of statistics.
_STORED = {"n": "N", "variance": "Var"}
_NEVER = Check(
    rule="extremes", verdict=CheckVerdict.passed, reason="minimum and maximum are never shown"
)


def summarize(
    frame: Any,
    names: str | Sequence[str],
    *,
    weights: str | None = None,
    by: str | Sequence[str] | None = None,
    detail: bool = False,
    **options: Unpack[RecordOptions],
) -> SafeResult:
    """Number of cases, mean and standard deviation, with detail also percentiles.

    >>> frame = pl.DataFrame({"rent": [400, 520, 610, 480, 555]})
    >>> print(summarize(frame, "rent"))
        Variable |        Obs        Mean    Std. dev.       Min        Max
    -------------+---------------------------------------------------------
            rent |          5         513    79.18333          .          .
    . withheld for confidentiality
    """
    names = names_of(names, "summarize")
    groups_by = names_of(by, "by") if by is not None else []
    records = take(frame, [*names, *groups_by], weights, **options)
    groups = crossed(records, groups_by) if groups_by else None
    descriptions = describe(records, names, groups, _DETAIL if detail else _PLAIN)
    lines: list[str] = []
    for at in range(1 if groups is None else len(groups)):
        if groups is not None:
            lines += ["", f"-> {groups.name} = {groups.labels[at]}"]
        if detail:
            lines += _details(descriptions, at)
            continue
        lines.append("    Variable |        Obs        Mean    Std. dev.       Min        Max")
        lines.append("-" * 13 + "+" + "-" * 57)
        for one in descriptions:
            n, mean, sd = (one.shown[at][name] for name in ("n", "mean", "sd"))
            cells = f"{count_text(n):>11}{general(mean):>12}{general(sd):>12}{'.':>11}{'.':>11}"
            lines.append(f"{abbreviated(one.name, 12):>12} |{cells}")
    last = descriptions[-1].shown[-1] if descriptions[-1].shown else {}
    command = f"summarize {' '.join(names)}" + (", detail" if detail else "")
    return SafeResult(
        command=f"by {groups.name}: {command}" if groups else command,
        shown=closed(lines, True, records.limits.language),
        frame=description_frame(descriptions, groups),
        stored={_STORED.get(name, name): x for name, x in last.items() if x is not None},
        checks=description_checks(
            descriptions, groups, [*RULES, *(["percentile"] if detail else [])]
        ),
        evidence=OutputEvidence(found=[rule for one in descriptions for rule in one.found]),
    )


_LABELS = {"n": "Obs", "sum_w": "Sum of wgt.", "mean": "Mean", "sd": "Std. dev."}
_LABELS |= {name: name.capitalize() for name in ("variance", "skewness", "kurtosis")}
#: What stands beside percentiles.
_BESIDE = ("", "", "n", "sum_w", "", "mean", "sd", "", "variance", "skewness", "kurtosis")


def _details(descriptions: Sequence[Description], at: int) -> list[str]:
    lines: list[str] = []
    for one in descriptions:
        x = one.shown[at]
        left = [_percentile_line(x, share) for share in (1, 5, 10, 25)]
        left += ["", _percentile_line(x, 50)[:24], f"{'Largest':>31}"]
        left += [_percentile_line(x, share) for share in (75, 90, 95, 99)]
        lines += [f"{one.name:^61}".rstrip(), "-" * 61, "      Percentiles      Smallest"]
        for text, name in zip(left, _BESIDE, strict=True):
            number = count_text(x[name]) if name in ("n", "sum_w") else general(x.get(name))
            tail = f"{_LABELS[name]:<14}{number:>10}" if name else ""
            lines.append(f"{text:<38}{tail}".rstrip())
    return lines


def _percentile_line(numbers: Numbers, share: int) -> str:
    return f"{share:>2}% {general(numbers[f'p{share}']):>12} {'.':>14}"


def tabstat(
    frame: Any,
    names: str | Sequence[str],
    *,
    statistics: str | Sequence[str] = "mean",
    by: str | None = None,
    weights: str | None = None,
    missing: bool = False,
    **options: Unpack[RecordOptions],
) -> SafeResult:
    """A table of statistics, by the groups of a variable and in total.

    Groups are withheld together with others that would give them away by the total.

    >>> groups = ["a"] * 4 + ["b"] * 5 + ["c"]
    >>> frame = pl.DataFrame({"g": groups, "x": [3, 5, 4, 6, 2, 5, 7, 8, 6, 9]})
    >>> print(tabstat(frame, "x", statistics="n mean", by="g"))
               g |          N       Mean
    -------------+----------------------
               a |          .          .
               b |          5        5.6
               c |          .          .
    -------------+----------------------
           Total |         10        5.5
    . withheld for confidentiality
    """
    names = names_of(names, "tabstat")
    wanted = canonical_statistics(statistics)
    needed = [*names, *([by] if by is not None else [])]
    records = take(frame, needed, weights, **options)
    groups = crossed(records, [by], missing=missing) if by is not None else None
    descriptions = describe(records, names, groups, wanted)
    withheld = any(None in row.values() for one in descriptions for row in (*one.shown, one.total))
    totals = [(f"{name}_{one.name}", x) for one in descriptions for name, x in one.total.items()]
    stored = {name: x for name, x in totals if x is not None}
    option = f", statistics({' '.join(wanted)})" + (f" by({by})" if by else "")
    lines = _tabstat_lines(descriptions, groups, wanted)
    return SafeResult(
        command=f"tabstat {' '.join(names)}{option}",
        shown=closed(lines, withheld, records.limits.language),
        frame=description_frame(descriptions, groups, total=groups is not None),
        stored=stored,
        checks=description_checks(descriptions, groups, RULES, extremes=True),
        evidence=OutputEvidence(found=[rule for one in descriptions for rule in one.found]),
    )


_HEADS = {"n": "N", "sum_w": "Sum w", "mean": "Mean", "sd": "SD", "sum": "Sum", "cv": "CV"}


def _tabstat_lines(
    descriptions: Sequence[Description], groups: RecordGroups | None, columns: Sequence[str]
) -> list[str]:
    labels = [*([] if groups is None else groups.labels), "Total"]
    shown = [] if groups is None else list(zip(*(one.shown for one in descriptions), strict=True))
    rows = list(zip(labels, [*shown, [one.total for one in descriptions]], strict=True))
    if len(descriptions) == 1 and groups is not None:
        body = [(label, [_cell(name, row[0]) for name in columns]) for label, row in rows]
        heads = [_HEADS.get(name, name) for name in columns]
        return Grid(stub=groups.name, heads=heads, blocks=[body[:-1], body[-1:]]).lines()
    blocks = []
    for label, row in rows:
        names = {
            name: _HEADS.get(name, name) if groups is None else f"{label[:6]} {name}"
            for name in columns
        }
        blocks.append([(text, [_cell(name, one) for one in row]) for name, text in names.items()])
    heads = [abbreviated(one.name, 10) for one in descriptions]
    stub = "Stats" if groups is None else groups.name
    return Grid(stub=stub, heads=heads, blocks=blocks).lines()


def _cell(name: str, numbers: Numbers) -> str:
    return count_text(numbers[name]) if name == "n" else general(numbers[name])


def description_frame(
    found: Sequence[Description], groups: RecordGroups | None, *, total: bool = False
) -> pl.DataFrame:
    """The numbers as a table: a row for each variable and group."""
    rows: list[dict[str, Any]] = []
    floats = list(found[0].total)
    name = "" if groups is None else column_name(groups.name, ["variable", *floats])
    for one in found:
        labels = [None] if groups is None else list(groups.labels)
        for label, numbers in zip(labels, one.shown, strict=True):
            place = {} if groups is None else {name: label}
            rows.append({"variable": one.name, **place, **numbers})
        if total and groups is not None:
            rows.append({"variable": one.name, name: "Total", **one.total})
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(floats, pl.Float64))


def description_checks(
    found: Sequence[Description],
    groups: RecordGroups | None,
    asked: Sequence[str],
    *,
    extremes: bool = False,
) -> list[Check]:
    """Which of the rules that are asked for the descriptions keep, and how groups were made."""
    broken = [rule for one in found for rule in one.found if extremes or rule.rule != "extremes"]
    checks = [*(groups.checks if groups else ()), *checks_of(broken, asked)]
    return checks if extremes else [*checks, _NEVER]


#: Variables of at most so many values are tabulated.
_CATEGORIES = 9
_ASKED = ("n", "mean", "sd", "p10", "p25", "p50", "p75", "p90")
_WIDTH = 79


def codebook(
    frame: Any,
    names: str | Sequence[str] | None = None,
    **options: Unpack[RecordOptions],
) -> SafeResult:
    """Type, missing values, and frequencies or percentiles of variables.

    >>> print(codebook(pl.DataFrame({"sex": [1] * 6 + [2] * 5}), "sex"))
    -------------------------------------------------------------------------------
    sex
    -------------------------------------------------------------------------------
                      Type: numeric
                     Range: [.,.]
             Unique values: .
                 Missing .: 0/11
                Tabulation: Freq.  Value
                                6  1
                                5  2
    . withheld for confidentiality
    """
    chosen = open_frame(frame).collect_schema().names() if names is None else names
    listed = names_of(chosen, "codebook")
    records = take(frame, listed, **options)
    limits, entity = records.limits, records.entity
    lines: list[str] = []
    rows: list[dict[str, Any]] = []
    violations: list[Found] = []

    def say(label: str, text: str) -> None:
        lines.append(f"{label:>22}{':' if label else ' '} {text}")

    for name in listed:
        lines += ["-" * _WIDTH, name, "-" * _WIDTH]
        text, schema = records.is_text(name), records.data.schema[name]
        # Of values of some kinds nothing is said but what is missing.
        other = schema.is_nested() or schema in (pl.Object, pl.Binary)
        kind = "date" if schema.is_temporal() else "string" if text else "numeric"
        absent = records.without_nan(name).is_null()
        sides = [records.data.filter(side) for side in (absent, ~absent)]
        sizes = [side.height if entity is None else side[entity].n_unique() for side in sides]
        missing = f"{count_text(float(absent.sum()))}/{count_text(float(len(records)))}"
        if any(0 < size < limits.minimum for size in sizes):
            missing = "."
            violations.append(Found("missing", name))
        row: dict[str, Any] = {
            "variable": name,
            "type": "other" if other else kind,
            "missing": missing,
        }
        rows.append(row)
        say("Type", row["type"])
        if not text:
            say("Range", "[.,.]")
        say("Unique values", ".")
        say("Missing" if other else 'Missing ""' if text else "Missing .", missing)
        if other:
            continue
        axis, present = None, records.data[name].drop_nulls()
        different = present.n_unique()
        grouping = name != entity and different <= _CATEGORIES
        if grouping and different * limits.minimum <= len(present):
            try:
                axis = group(records, name)
            except OutputCheckError:  # values that cannot group are described as numbers
                if text:
                    raise
        if axis is not None:
            table = CountTable.of([axis], records)
            violations += table.found
            say("Tabulation", "Freq.  Value")
            for label, size, gone in zip(axis.labels, table.amounts, table.hidden, strict=False):
                lines.append(f"{count_text(None if gone else float(size)):>29}  {label}")
        elif text or name == entity:  # percentiles would be identifiers
            say("Examples", ".")
        else:
            (one,) = describe(records, [name], None, _ASKED)
            numbers = one.shown[0]
            percentiles = [word for word in _ASKED if word.startswith("p")]
            say("Mean", general(numbers["mean"]))
            say("Std. dev.", general(numbers["sd"]))
            say("Percentiles", "".join(f"{word[1:] + '%':>10}" for word in percentiles))
            say("", "".join(f"{general(numbers[word]):>10}" for word in percentiles))
            row |= numbers
            violations += one.found
    return SafeResult(
        command=f"codebook {' '.join(listed)}",
        shown=closed(lines, True, limits.language),
        frame=pl.DataFrame(rows, infer_schema_length=None),
        checks=checks_of(violations, [*RULES, "percentile", "missing"]),
        evidence=OutputEvidence(found=violations),
    )


def inspect(frame: Any, name: str, *, limits: SafeLimits | None = None) -> SafeResult:
    """Refused: it draws single values and counts of signs and distinct values.

    >>> print(inspect(None, "rent"))
    *FDZ: command not permitted in remote execution
    """
    limits = limits_of(limits)
    reason = "it shows single and distinct values; use codebook or tabulate"
    return SafeResult(
        command=f"inspect {name}",
        shown=refused_line(limits.language),
        checks=[Check(rule="refused", verdict=CheckVerdict.fail, reason=reason, where=name)],
    )


_CENTILE = ("variable", "n", "percentile", "centile", "low", "high")


def centile(
    frame: Any,
    names: str | Sequence[str],
    *,
    centiles: Sequence[float] = (50,),
    level: float = 95,
    **options: Unpack[RecordOptions],
) -> SafeResult:
    """Percentiles with exact (conservative) binomial confidence intervals.

    >>> frame = pl.DataFrame({"x": [float(x) for x in range(1, 100)]})
    >>> print(centile(frame, "x", centiles=[2, 50]))
        Variable |        Obs  Percentile     Centile   [95% conf. interval]
    -------------+-----------------------------------------------------------
               x |         99           2           .           .          .
                 |                     50          50          40         60
    . withheld for confidentiality
    """
    listed = names_of(names, "centile")
    outside = [x for x in centiles if not 0 < x < 100]
    if outside or not centiles or not 10 <= level < 100:
        message = "percentiles lie between 0 and 100, confidence levels from 10 to below 100"
        raise OutputCheckError(message, code="centile", where=f"{outside[0]:g}" if outside else "")
    records = take(frame, listed, **options)
    limits = records.limits
    lines = [
        f"    Variable |        Obs  Percentile     Centile   [{level:g}% conf. interval]",
        "-" * 13 + "+" + "-" * 59,
    ]
    rows: list[dict[str, Any]] = []
    violations: list[Found] = []
    for name in listed:
        holding = records.grouped(name)
        facts = holding.facts(limits)[0]
        rules = broken(facts, limits) & {"minimum", "same"}
        violations += [Found(rule, name) for rule in leading(rules)]
        order = np.argsort(holding.values, kind="stable")
        values = holding.values[order]
        entities = None if holding.entities is None else holding.entities[order]
        free = 0 if rules or not facts.n else free_statistics(facts.cases, limits)
        shown: dict[float, list[float | None]] = {}
        for percent in sorted(map(float, centiles), key=lambda x: (abs(x - 50), x)):
            numbers: list[float | None] = [None, None, None]
            if free:
                numbers = _with_interval(
                    values, entities, percent / 100, level / 100, limits.percentile_cases
                )
            for at, number in enumerate(numbers):
                numbers[at] = None if number is None or not free else rounded(number, limits.digits)
                free -= numbers[at] is not None
            shown[percent] = numbers
            if not rules and facts.n and numbers[0] is None:
                violations.append(Found("percentile", name, f"{percent:g}"))
        n = None if "minimum" in rules else float(facts.n)
        for at, percent in enumerate(map(float, centiles)):
            centre, low, high = shown[percent]
            row = (name, n, percent, centre, low, high)
            rows.append(dict(zip(_CENTILE, row, strict=True)))
            head = abbreviated(name, 12) if not at else ""
            obs = count_text(n) if not at else ""
            line = f"{head:>12} |{obs:>11}{general(percent):>12}{general(centre):>12}"
            lines.append(line + f"{general(low):>12}{general(high):>11}")
    withheld = any(None in row.values() for row in rows)
    last = [row["centile"] for row in rows if row["variable"] == listed[-1]]
    return SafeResult(
        command=f"centile {' '.join(listed)}",
        shown=closed(lines, withheld, limits.language),
        frame=pl.DataFrame(rows, schema_overrides=dict.fromkeys(_CENTILE[1:], pl.Float64)),
        stored={f"c_{at}": x for at, x in enumerate(last, 1) if x is not None},
        checks=checks_of(violations, ["minimum", "same", "percentile"]),
        evidence=OutputEvidence(found=violations),
    )


def _with_interval(
    values: FloatArray, entities: IntArray | None, share: float, level: float, least: int
) -> list[float | None]:
    """A percentile of sorted values, the lower and the upper end of its interval.

    Each is shown if enough cases lie on both outer sides of it, itself included.
    """
    n = values.size

    def deep(low: int, high: int) -> bool:
        if not 1 <= low <= high <= n:
            return False
        if entities is None:
            return min(low, n + 1 - high) >= least
        sides = entities[:low], entities[high - 1 :]
        return all(np.unique(side).size >= least for side in sides)

    cases = n if entities is None else np.unique(entities).size
    place = (n + 1) * share
    below = math.floor(place)
    if not deep(below, below + 1) or round(cases * min(share, 1 - share), 9) < least:
        return [None, None, None]
    centre = values[below - 1] + (place - below) * (values[below] - values[below - 1])
    # Ranks between which the percentile lies with at least this chance.
    reached = special.bdtr(np.arange(n + 1), n, share)
    low = int(np.searchsorted(reached, (1 - level) / 2, side="right"))
    high = int(np.searchsorted(reached, 1 - (1 - level) / 2, side="left")) + 1
    ends = [float(values[at - 1]) if deep(at, at) else None for at in (low, high)]
    return [float(centre), *ends]


_MOST = 60
_BAR = 40


def histogram(
    frame: Any,
    name: str,
    *,
    edges: Sequence[float] | None = None,
    start: float | None = None,
    width: float | None = None,
    **options: Unpack[RecordOptions],
) -> SafeResult:
    """Frequencies in classes.

    >>> frame = pl.DataFrame({"x": [1, 2, 3, 11, 12, 13, 14, 25, 26, 27, 99]})
    >>> print(histogram(frame, "x", edges=[10, 20, 30]))
               x |      Freq.    Percent
    -------------+----------------------
            < 10 |          3      27.27  ******************************
        10 - <20 |          4      36.36  ****************************************
           >= 20 |          4      36.36  ****************************************
    """
    records = take(frame, [name], **options)
    holding, limits = records.grouped(name), records.limits
    facts = holding.total(limits)
    rules = broken(facts, limits) & {"minimum", "same"}
    violations = [Found(rule, name) for rule in leading(rules)]
    if rules or not facts.n:
        lines = ["."] if facts.n else ["no observations"]
        return SafeResult(
            command=f"histogram {name}",
            shown=closed(lines, bool(rules), limits.language),
            checks=checks_of(violations, ["minimum", "same"]),
        )
    if edges is None:
        # Where the rules allow to use them.
        whole = StatisticsGroup(facts=facts, part=lambda: holding)
        quartiles, _ = statistics_of(["p25", "p75"], whole, limits)
        lower, upper = quartiles["p25"], quartiles["p75"]
        if lower is None or upper is None or lower == upper:
            message = "quartiles cannot define classes here"
            hint = "name the edges of classes: edges=[…]"
            raise OutputCheckError(message, code="edges", hint=hint)
        spread = upper - lower
        if width is None:
            width = round_step(2 * spread / holding.values.size ** (1 / 3))
        if not (math.isfinite(width) and width > 0):
            raise OutputCheckError("the width of classes is above 0", code="edges", where="width")
        # Two interquartile ranges beyond the quartiles; the rest is in the open classes.
        origin = 0.0 if start is None else float(start)
        low = (lower - 2 * spread - origin) / width
        high = (upper + 2 * spread - origin) / width
        if not (math.isfinite(low) and math.isfinite(high)):
            message = "classes of this start and width do not fit the variable"
            raise OutputCheckError(message, code="edges", where="width")
        first, last = math.floor(low), math.ceil(high)
        while last - first > _MOST:
            width, first, last = width * 2, math.floor(first / 2), math.ceil(last / 2)
        wanted = [origin + width * at for at in range(first, last + 1)]
    else:
        wanted = [float(edge) for edge in edges]
        rising = all(low < high for low, high in itertools.pairwise(wanted))
        if not wanted or not rising or not all(map(math.isfinite, wanted)):
            raise OutputCheckError("edges are finite and ascending", code="edges")
    merged, sizes = _safe_classes(wanted, holding, limits)
    labels = class_labels(merged)
    # Labels of classes are never cut, so the stub is as wide as the longest.
    wide = max(12, *(len(label) for label in labels))
    lines = [f"{abbreviated(name, 12):>{wide}} |{'Freq.':>11}{'Percent':>11}"]
    lines.append("-" * (wide + 1) + "+" + "-" * 22)
    for label, size in zip(labels, sizes, strict=True):
        numbers = f"{count_text(float(size)):>11}{fixed(100 * size / facts.n):>11}"
        bar = "*" * round(_BAR * size / max(sizes))
        lines.append(f"{label:>{wide}} |{numbers}  {bar}".rstrip())
    return SafeResult(
        command=f"histogram {name}",
        shown="\n".join(lines),
        frame=pl.DataFrame(
            {"from": [None, *merged], "below": [*merged, None], "n": sizes},
            schema={"from": pl.Float64, "below": pl.Float64, "n": pl.Int64},
        ),
        stored={"N": float(facts.n)},
        checks=checks_of([Found("bins", name)] * (merged != wanted), ["minimum", "bins"]),
        evidence=OutputEvidence(edges=wanted, facts=facts),
    )


def _safe_classes(
    edges: list[float], holding: GroupedValues, limits: SafeLimits
) -> tuple[list[float], list[int]]:
    """The edges between classes of enough cases, and how many values there are in each class."""
    places = np.searchsorted(np.array(edges), holding.values, "right").astype(np.int64)
    who = None if holding.entities is None else EntityNumbers.of(holding.entities)

    def counted(left: Sequence[float], *, cases: bool) -> IntArray:
        """Values or cases by the edges that are left."""
        new = np.searchsorted(np.array(left), np.array([-math.inf, *edges]), "right")[places]
        if who is None or not cases:
            return np.bincount(new, minlength=len(left) + 1)
        return who.cases(new, len(left) + 1)

    fewest = max(limits.bin_cases, limits.minimum)
    left: list[float] = []
    reached, own = 0, counted(edges, cases=True).tolist()
    for edge, size in zip(edges, own, strict=False):
        reached += size
        # An empty class is shown between others, but not at the ends: they would tell
        # where the smallest and the largest value lie.
        if reached >= fewest or (reached == 0 and left):
            left.append(edge)
            reached = 0
    reached += own[-1]
    while left and reached < fewest:
        at = edges.index(left.pop())
        before = edges.index(left[-1]) + 1 if left else 0
        reached += sum(own[before : at + 1])
    # An entity in several classes is one case where these are merged.
    while left:
        cases = counted(left, cases=True)
        small = np.flatnonzero((cases > 0) & (cases < fewest))
        if not small.size:
            break
        left.pop(min(int(small[0]), len(left) - 1))
    return left, counted(left, cases=False).tolist()


#: The label of the only class, or group.
ALL = "all"


def class_labels(edges: Sequence[float]) -> list[str]:
    """The labels of classes with these edges between them."""
    texts = [general(edge, 7) for edge in edges]
    inner = [f"{low} - <{high}" for low, high in itertools.pairwise(texts)]
    return [f"< {texts[0]}", *inner, f">= {texts[-1]}"] if texts else [ALL]
