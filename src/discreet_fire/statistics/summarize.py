"""`summarize` and `tabstat`: statistics of variables, by groups.

In: a frame of microdata (confidential), variables, rules. Out: `SafeResult`s: minimum and maximum
are never shown, other statistics if they tell nothing about few cases. `describe` gives the same
numbers to `codebook`, `table` and `ttest`: for each variable a `Description` – its numbers by group
and in total that may be shown, and the rules that withheld the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from discreet_fire.statistics.disclosure_rules import Found, checks_of, leading
from discreet_fire.statistics.grouped_values import (
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
    general,
)
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.records import MicrodataRecords, RecordGroups, crossed, names_of, take
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult
from discreet_fire.statistics.suppression import (
    HiddenSpreads,
    hide_alike,
    hide_groups,
    shared_counts,
    spreads_to_hide,
)

#: The rules that are held against every description.
RULES = ("minimum", "dominance", "same", "alike")


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
    limits: SafeLimits,
) -> list[Description]:
    """Describe variables by groups, or of all records together; statistics by canonical names."""
    codes, groups = (None, 1) if by is None else (by.codes, len(by))
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
    limits: SafeLimits | None = None,
    entity: str | None = None,
    weights: str | None = None,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
    detail: bool = False,
) -> SafeResult:
    """Number of cases, mean and standard deviation, with detail also percentiles.

    >>> frame = pl.DataFrame({"rent": [400, 520, 610, 480, 555]})
    >>> print(summarize(frame, "rent"))
        Variable |        Obs        Mean    Std. dev.       Min        Max
    -------------+---------------------------------------------------------
            rent |          5         513    79.18333          .          .
    . withheld for confidentiality
    """
    limits = limits_of(limits)
    names = names_of(names, "summarize")
    groups_by = names_of(by, "by") if by is not None else []
    records = take(frame, [*names, *groups_by], where=where, entity=entity, weights=weights)
    groups = crossed(records, groups_by, limits) if groups_by else None
    descriptions = describe(records, names, groups, _DETAIL if detail else _PLAIN, limits)
    lines: list[str] = []
    for at in range(1 if groups is None else len(groups)):
        if groups is not None:
            lines += ["", f"-> {groups.name} = {groups.labels[at]}"]
        lines += _details(descriptions, at) if detail else _plain(descriptions, at)
    last = descriptions[-1].shown[-1] if descriptions[-1].shown else {}
    command = f"summarize {' '.join(names)}" + (", detail" if detail else "")
    return SafeResult(
        command=f"by {groups.name}: {command}" if groups else command,
        shown=closed(lines, True, limits.language),
        frame=description_frame(descriptions, groups),
        stored={_STORED.get(name, name): x for name, x in last.items() if x is not None},
        checks=description_checks(
            descriptions, groups, [*RULES, *(["percentile"] if detail else [])]
        ),
        evidence=description_evidence(descriptions),
    )


def _plain(descriptions: Sequence[Description], at: int) -> list[str]:
    lines = [
        "    Variable |        Obs        Mean    Std. dev.       Min        Max",
        "-" * 13 + "+" + "-" * 57,
    ]
    for one in descriptions:
        numbers = one.shown[at]
        cells = f"{count_text(numbers['n']):>11}{general(numbers['mean']):>12}"
        cells += f"{general(numbers['sd']):>12}{'.':>11}{'.':>11}"
        lines.append(f"{abbreviated(one.name, 12):>12} |{cells}")
    return lines


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
    limits: SafeLimits | None = None,
    entity: str | None = None,
    weights: str | None = None,
    where: str | None = None,
    missing: bool = False,
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
    limits = limits_of(limits)
    names = names_of(names, "tabstat")
    wanted = canonical_statistics(statistics)
    needed = [*names, *([by] if by is not None else [])]
    records = take(frame, needed, where=where, entity=entity, weights=weights)
    groups = crossed(records, [by], limits, missing=missing) if by is not None else None
    descriptions = describe(records, names, groups, wanted, limits)
    withheld = any(None in row.values() for one in descriptions for row in (*one.shown, one.total))
    totals = [(f"{name}_{one.name}", x) for one in descriptions for name, x in one.total.items()]
    stored = {name: x for name, x in totals if x is not None}
    option = f", statistics({' '.join(wanted)})" + (f" by({by})" if by else "")
    return SafeResult(
        command=f"tabstat {' '.join(names)}{option}",
        shown=closed(_tabstat_lines(descriptions, groups, wanted), withheld, limits.language),
        frame=description_frame(descriptions, groups, total=groups is not None),
        stored=stored,
        checks=description_checks(descriptions, groups, RULES, extremes=True),
        evidence=description_evidence(descriptions),
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


def description_evidence(found: Sequence[Description]) -> OutputEvidence:
    """Evidence behind descriptions; internal."""
    return OutputEvidence(found=[rule for one in found for rule in one.found])
