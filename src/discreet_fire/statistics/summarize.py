"""`summarize`, `tabstat` and `ttest`: statistics of variables, by groups, and tests of their means.

In: a frame of microdata (confidential), variables, rules. Out: `SafeResult`s: minimum and maximum
are never shown, other statistics if they tell nothing about few cases. `describe` gives the same
numbers to `codebook` and `table`: for each variable a `Description` – its numbers by group and in
total that may be shown, and the rules that withheld the others. Tests are worked out from shown
numbers alone; of pairs all is withheld if it is of one of the variables or of their difference,
since two give the third.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl
from scipy import special

from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import Facts, Found, checks_of, leading
from discreet_fire.statistics.group_statistics import canonical_statistics, statistics
from discreet_fire.statistics.group_statistics import spreads as spreads_of
from discreet_fire.statistics.group_suppression import (
    HiddenGroups,
    HiddenSpreads,
    hide_alike,
    hide_groups,
    shared_counts,
    spreads_to_hide,
)
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.layout import (
    Grid,
    abbreviated,
    closed,
    column_name,
    count_text,
    fixed,
    general,
)
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.records import MicrodataRecords, RecordGroups, crossed, names_of, take
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult

#: The rules that are held against every description.
RULES = ("minimum", "dominance", "same", "alike")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Description:
    """One variable, by groups (confidential but for `shown` and `total`; None is withheld)."""

    name: str
    shown: tuple[dict[str, float | None], ...]
    total: dict[str, float | None]
    found: tuple[Found, ...]


def describe(
    records: MicrodataRecords,
    names: Sequence[str],
    by: RecordGroups | None,
    asked: Sequence[str],
    limits: SafeLimits,
) -> list[Description]:
    """Describe variables by groups, or of all records together; statistics by canonical names."""
    codes, groups = (None, 1) if by is None else (by.codes, len(by))
    holdings = []
    for name in names:
        holding = GroupedValues.of(
            *(records.numbers(name), codes, groups, records.entities(), records.weights()),
            numbering=lambda: records.numbering,
        )
        holdings.append(holding)
    every = [holding.facts(limits) for holding in holdings]
    counts = shared_counts(every, limits) if by is not None and len(by) else frozenset()
    shared = counts if by is not None else None
    pairs = list(zip(holdings, every, strict=True))
    hidden = [hide_groups(holding, facts, limits, counts=shared) for holding, facts in pairs]
    if len(names) > 1 and any(one.value or one.total_value for one in hidden):
        hidden = hide_alike(hidden, [records.numbers(name) for name in names])
    return [
        _described(name, holding, facts, withheld, by, asked, limits)
        for name, (holding, facts), withheld in zip(names, pairs, hidden, strict=True)
    ]


def _described(
    name: str,
    holding: GroupedValues,
    facts: list[Facts],
    hidden: HiddenGroups,
    by: RecordGroups | None,
    wanted: Sequence[str],
    limits: SafeLimits,
) -> Description:
    spreads = HiddenSpreads()
    if spread := spreads_of(wanted):
        total = hidden.total if by is not None and not hidden.total_value else None
        spreads = spreads_to_hide(
            facts, limits, part=holding.part, hidden=hidden.value, total=total, needed=1 + spread
        )
    several = [
        statistics(
            *(wanted, one, partial(holding.part, [at]), limits),
            count=at not in hidden.count,
            value=at not in hidden.value,
            spread=spreads.groups.get(at, ""),
            rules=hidden.rules[at],
        )
        for at, one in enumerate(facts)
    ]
    if by is None:
        of_all = several[0]
    else:
        of_all = statistics(
            *(wanted, hidden.total, partial(holding.part, range(holding.groups)), limits),
            count=not hidden.total_count,
            value=not hidden.total_value,
            spread=spreads.total,
            rules=hidden.whole,
        )
    broken: list[Found] = []
    for at, (one, (_, more)) in enumerate(zip(facts, several, strict=True)):
        place = name if by is None else f"{name}, {by.name} = {by.labels[at]}"
        secondary = {"secondary"} if at in hidden.value | hidden.count else set()
        reasons = hidden.rules[at] or secondary
        broken += [Found(rule, name, place, one) for rule in (*leading(reasons), *sorted(more))]
    if by is not None:
        rules = (*leading(hidden.whole), *sorted(of_all[1]))
        broken += [Found(rule, name, f"{name}, total", hidden.total) for rule in rules]
    return Description(
        name=name,
        shown=tuple(numbers for numbers, _ in several),
        total=of_all[0],
        found=tuple(broken),
    )


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


def _percentile_line(numbers: dict[str, float | None], share: int) -> str:
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
    labels = ["Total"] if groups is None else [*groups.labels, "Total"]
    rows = [[one.shown[at] for one in descriptions] for at in range(len(labels) - 1)]
    rows.append([one.total for one in descriptions])
    if len(descriptions) == 1 and groups is not None:
        body = [
            (label, [_cell(name, row[0]) for name in columns])
            for label, row in zip(labels, rows, strict=True)
        ]
        heads = [_HEADS.get(name, name) for name in columns]
        return Grid(stub=groups.name, heads=heads, blocks=[body[:-1], body[-1:]]).lines()
    several = [
        [
            (
                f"{label[:6]} {name}" if groups is not None else _HEADS.get(name, name),
                [_cell(name, numbers) for numbers in row],
            )
            for name in columns
        ]
        for label, row in zip(labels, rows, strict=True)
    ]
    heads = [abbreviated(one.name, 10) for one in descriptions]
    stub = "Stats" if groups is None else groups.name
    return Grid(stub=stub, heads=heads, blocks=several).lines()


def _cell(name: str, numbers: dict[str, float | None]) -> str:
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


_TESTED = ("n", "mean", "sd")
#: What the column of the two variables of an unpaired test is called, and that of their values.
_WHICH, _VALUE = "variable tested", "value"
_TEST_RULE = "-" * 13 + "+" + "-" * 68


@dataclass(frozen=True, kw_only=True)
class _Row:
    """What is shown of a variable, a group or both together; None is withheld."""

    label: str
    n: float | None = None
    mean: float | None = None
    sd: float | None = None
    se: float | None = None
    df: float | None = None  # of its mean

    @classmethod
    def of(cls, label: str, numbers: dict[str, float | None]) -> _Row:
        n, mean, sd = (numbers[name] for name in _TESTED)
        se = sd / math.sqrt(n) if n and sd is not None else None
        df = None if n is None else n - 1
        return cls(label=label, n=n, mean=mean, sd=sd, se=se, df=df)

    def line(self, level: float) -> str:
        """The row, with its interval."""
        ends: list[float | None] = [None, None]
        if self.mean is not None and self.se is not None and self.df:
            half = float(special.stdtrit(self.df, 0.5 + level / 200)) * self.se
            ends = [self.mean - half, self.mean + half]
        cells = [count_text(self.n), *map(general, (self.mean, self.se, self.sd, *ends))]
        if self.label == "diff" and self.n is None:
            cells[0] = cells[3] = ""
        text = "".join(f"{cell:>{12 if at else 8}}" for at, cell in enumerate(cells))
        return f"{abbreviated(self.label, 12):>12} |{text}".rstrip()


def ttest(
    frame: Any,
    name: str,
    *,
    other: str | None = None,
    mean: float = 0.0,
    by: str | None = None,
    unpaired: bool = False,
    unequal: bool = False,
    welch: bool = False,
    level: float = 95.0,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
) -> SafeResult:
    """A t test: that a mean is a number, that of `other`, or the same in two groups.

    >>> frame = pl.DataFrame({"g": ["a"] * 5 + ["b"] * 5, "x": [3, 5, 4, 6, 2, 5, 7, 8, 6, 9]})
    >>> found = ttest(frame, "x", by="g")
    >>> [round(found.stored[name], 4) for name in ("mu_1", "mu_2", "t", "df_t", "p")]
    [4.0, 7.0, -3.0, 8.0, 0.0171]
    >>> "mu_2" in ttest(frame[3:], "x", by="g").stored
    False
    """
    if not 10 <= level < 100:
        raise OutputCheckError("the level is a number from 10 to 99.99", code="statistic")
    if by is not None and other is not None:
        raise OutputCheckError("by() takes one variable on the left", code="statistic")
    limits = limits_of(limits)
    columns = [name, *(one for one in (other, by) if one is not None)]
    data = take(frame, columns, where=where, entity=entity).data
    how: dict[str, Any] = {"limits": limits, "level": level}
    if other is None and by is None:
        descriptions = describe(take(data, [name], entity=entity), [name], None, _TESTED, limits)
        row = _Row.of(name, descriptions[0].shown[0])
        away = replace(row, mean=None if row.mean is None else row.mean - mean)
        words = "One-sample t test", "Variable", f"mean({name})", f"mean = {general(mean)}"
        return _result(f"ttest {name}", words, [[row]], away, descriptions, **how)
    if other is not None and not unpaired:
        return _pairs(data, name, other, entity, **how)
    return _groups(data, name, other, by, entity, unequal=unequal or welch, welch=welch, **how)


def _pairs(data: pl.DataFrame, name: str, other: str, entity: str | None, **how: Any) -> SafeResult:
    difference = "diff" if "diff" not in (name, other, entity) else "diff_"
    data = _numbers(data, name, other)
    both = data.filter(pl.all_horizontal(pl.col(name, other).is_not_nan()))
    both = both.with_columns((pl.col(name) - pl.col(other)).alias(difference))
    names = list(dict.fromkeys([name, other, difference]))
    records = take(both, names, entity=entity)
    descriptions = describe(records, names, None, _TESTED, how["limits"])
    # Two of the three give back the third, and so do their deviations.
    shown = [one.shown[0] for one in descriptions]
    hidden = {key for key in _TESTED if any(numbers[key] is None for numbers in shown)}
    hidden |= {"sd"} if "mean" in hidden else set()
    open_ = [{key: None if key in hidden else x for key, x in one.items()} for one in shown]
    *rows, last = (
        _Row.of(one.name if one.name in (name, other) else "diff", numbers)
        for one, numbers in zip(descriptions, open_, strict=True)
    )
    # A table of the variables: what is known of their difference follows.
    frame = pl.DataFrame(
        [{"variable": one.name, **x} for one, x in zip(descriptions, open_, strict=True)][:-1],
        schema_overrides=dict.fromkeys(_TESTED, pl.Float64),
    )
    words = "Paired t test", "Variable", f"mean({name} - {other})", "mean(diff) = 0"
    command = f"ttest {name} == {other}"
    return _result(command, words, [rows, [last]], last, descriptions, frame=frame, **how)


def _numbers(data: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Variables as numbers, NaN if missing; an error if one holds none."""
    records = take(data, names)
    return data.with_columns(pl.Series(one, records.numbers(one)) for one in names)


def _groups(
    data: pl.DataFrame,
    name: str,
    other: str | None,
    by: str | None,
    entity: str | None,
    *,
    unequal: bool,
    welch: bool,
    **how: Any,
) -> SafeResult:
    command, value = f"ttest {name}, by({by})", name
    if other is not None:
        command, value, by = f"ttest {name} == {other}, unpaired", _VALUE, _WHICH
        kept = [pl.col(entity)] if entity is not None else []
        data = _numbers(data, name, other)
        which = pl.Enum([name, other])
        parts = [
            data.select(pl.col(one).alias(_VALUE), *kept).with_columns(
                pl.lit(one).cast(which).alias(_WHICH)
            )
            for one in (name, other)
        ]
        data = pl.concat(parts)
    assert by is not None
    records = take(data, [value, by], entity=entity)
    groups = crossed(records, [by], how["limits"])
    if len(groups) != 2:
        raise OutputCheckError("by() must make two groups", code="two-groups")
    descriptions = describe(records, [value], groups, _TESTED, how["limits"])
    pair = zip(groups.labels, descriptions[0].shown, strict=True)
    first, second = rows = [_Row.of(label, numbers) for label, numbers in pair]
    whole = _Row.of("Combined", descriptions[0].total)
    difference = _difference(first, second, unequal, welch)
    frame = description_frame(descriptions, groups, total=True)
    if other is not None:
        frame = frame[:2].select(pl.col(by).alias("variable"), *_TESTED)
    title = f"Two-sample t test with {'unequal' if unequal else 'equal'} variances"
    message = f"mean({first.label}) - mean({second.label})"
    words = title, "Group" if other is None else "Variable", message, "diff = 0"
    return _result(
        command, words, [rows, [whole], [difference]], difference, descriptions, frame=frame,
        groups=groups if other is None else None, more={"sd": whole.sd}, **how,
    )  # fmt: skip


def _difference(first: _Row, second: _Row, unequal: bool, welch: bool) -> _Row:
    """The difference of two means from numbers that are shown."""
    if first.mean is None or second.mean is None:
        return _Row(label="diff")
    row = _Row(label="diff", mean=first.mean - second.mean)
    n, s, m, r = first.n, first.sd, second.n, second.sd
    if not n or not m or s is None or r is None:
        return row
    if not unequal:
        df = n + m - 2
        pooled = ((n - 1) * s * s + (m - 1) * r * r) / df
        return replace(row, se=math.sqrt(pooled * (1 / n + 1 / m)), df=df)
    a, b, more = s * s / n, r * r / m, 1 if welch else -1
    if not a + b:
        return replace(row, se=0.0)
    df = (a + b) ** 2 / (a * a / (n + more) + b * b / (m + more)) - (2 if welch else 0)
    return replace(row, se=math.sqrt(a + b), df=df)


def _result(
    command: str,
    words: tuple[str, str, str, str],
    sections: Sequence[Sequence[_Row]],
    difference: _Row,
    descriptions: Sequence[Description],
    *,
    limits: SafeLimits,
    level: float,
    frame: pl.DataFrame | None = None,
    groups: RecordGroups | None = None,
    more: dict[str, float | None] | None = None,
) -> SafeResult:
    """The rows with the test; what is stored of those that are shown first, and of the test.

    The words are a title, what stands above the labels, what is tested, and what it is held to be.
    """
    title, stub, statistic, null = words
    interval = f"[{general(level)}% conf. interval]"
    heads = f"{'Obs':>8}{'Mean':>12}{'Std. err.':>12}{'Std. dev.':>12}{interval:>24}"
    lines = [title, _TEST_RULE, f"{stub:>12} |{heads}", _TEST_RULE]
    for rows in sections:
        lines += [*(row.line(level) for row in rows), _TEST_RULE]
    mean, se, df = difference.mean, difference.se, difference.df
    t = mean / se if mean is not None and se and df else None
    lines.append(f"    {null.partition(' = ')[0]} = {statistic}   t = {fixed(t, 4)}")
    lines.append(f"H0: {null}   degrees of freedom = {general(df)}")
    stored: dict[str, float | None] = {"level": level, **(more or {})}
    for at, row in enumerate(sections[0], 1):
        stored |= {f"N_{at}": row.n, f"mu_{at}": row.mean, f"sd_{at}": row.sd}
    if t is not None and df is not None:
        p = 2.0 * float(special.stdtr(df, -abs(t)))
        below = p / 2 if t < 0 else 1 - p / 2
        chances = f"Pr(T < t) = {fixed(below, 4)}   Pr(|T| > |t|) = {fixed(p, 4)}"
        lines += ["", f"{chances}   Pr(T > t) = {fixed(1 - below, 4)}"]
        stored |= {"t": t, "p": p, "df_t": float(df), "se": se, "p_l": below, "p_u": 1 - below}
    return SafeResult(
        command=command,
        shown=closed(lines, t is None, limits.language),
        frame=description_frame(descriptions, None) if frame is None else frame,
        stored={name: x for name, x in stored.items() if x is not None},
        checks=description_checks(descriptions, groups, RULES, extremes=True),
        evidence=description_evidence(descriptions),
    )
