"""Tests of means: of one variable, of pairs, of two groups, as Stata's `ttest` shows them.

In: records. Out: numbers of cases, means and deviations that `summarize` and `tabstat` would show
too, and standard errors, intervals, t and p that are worked out from these alone. Of pairs all is
withheld if it is of one of the variables or of their difference, since two give the third.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from discreet.errors import OutputCheckError
from discreet_fire.statistics.layout import abbreviated, closed, count_text, fixed, general
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.models.distributions import t_quantile, t_two_sided
from discreet_fire.statistics.records import RecordGroups, crossed, take
from discreet_fire.statistics.results import SafeResult
from discreet_fire.statistics.summarize import (
    RULES,
    Description,
    describe,
    description_checks,
    description_evidence,
    description_frame,
)

_ASKED = ("n", "mean", "sd")
#: What the column of the two variables of an unpaired test is called, and that of their values.
_WHICH, _VALUE = "variable tested", "value"
_RULE = "-" * 13 + "+" + "-" * 68


@dataclass(frozen=True, kw_only=True)
class _Row:
    """What is shown of a variable, a group or both together; None is withheld."""

    label: str
    n: float | None = None
    mean: float | None = None
    sd: float | None = None
    se: float | None = None

    @classmethod
    def of(cls, label: str, numbers: dict[str, float | None]) -> _Row:
        n, mean, sd = (numbers[name] for name in _ASKED)
        se = sd / math.sqrt(n) if n and sd is not None else None
        return cls(label=label, n=n, mean=mean, sd=sd, se=se)

    @property
    def df(self) -> float | None:
        """The degrees of freedom of its own mean."""
        return None if self.n is None else self.n - 1

    def line(self, level: float, df: float | None = None) -> str:
        """The row, with the interval by its own degrees of freedom unless others are given."""
        df = self.df if df is None else df
        ends: list[float | None] = [None, None]
        if self.mean is not None and self.se is not None and df:
            half = t_quantile(level / 100, df) * self.se
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
    if other is None and by is None:
        return _alone(data, name, mean, level, limits, entity)
    if other is not None and not unpaired:
        return _pairs(data, name, other, level, limits, entity)
    how = (unequal or welch, welch)
    return _groups(data, name, other, by, how, level=level, limits=limits, entity=entity)


def _alone(
    data: pl.DataFrame, name: str, mean: float, level: float, limits: SafeLimits, entity: str | None
) -> SafeResult:
    descriptions = describe(take(data, [name], entity=entity), [name], None, _ASKED, limits)
    row = _Row.of(name, descriptions[0].shown[0])
    lines = [*_head("One-sample t test", "Variable", level), row.line(level), _RULE]
    difference = None if row.mean is None else row.mean - mean
    test = f"mean({name})", f"mean = {general(mean)}", difference, row.se, row.df
    command = f"ttest {name}"
    return _result(command, lines, test, [row], descriptions, limits=limits, level=level)


def _pairs(
    data: pl.DataFrame, name: str, other: str, level: float, limits: SafeLimits, entity: str | None
) -> SafeResult:
    difference = "diff" if "diff" not in (name, other, entity) else "diff_"
    data = _numbers(data, name, other)
    both = data.filter(pl.all_horizontal(pl.col(name, other).is_not_nan()))
    both = both.with_columns((pl.col(name) - pl.col(other)).alias(difference))
    names = list(dict.fromkeys([name, other, difference]))
    descriptions = describe(take(both, names, entity=entity), names, None, _ASKED, limits)
    # Two of the three give back the third, and so do their deviations.
    shown = [one.shown[0] for one in descriptions]
    hidden = {key for key in _ASKED if any(numbers[key] is None for numbers in shown)}
    hidden |= {"sd"} if "mean" in hidden else set()
    open_ = [{key: None if key in hidden else x for key, x in one.items()} for one in shown]
    first, *_, last = rows = [
        _Row.of(one.name if one.name in (name, other) else "diff", numbers)
        for one, numbers in zip(descriptions, open_, strict=True)
    ]
    lines = [*_head("Paired t test", "Variable", level), *(row.line(level) for row in rows[:-1])]
    lines += [_RULE, last.line(level), _RULE]
    test = f"mean({name} - {other})", "mean(diff) = 0", last.mean, last.se, last.df
    # A table of the variables: what is known of their difference follows.
    frame = pl.DataFrame(
        [{"variable": one.name, **x} for one, x in zip(descriptions, open_, strict=True)][:-1],
        schema_overrides=dict.fromkeys(_ASKED, pl.Float64),
    )
    return _result(
        f"ttest {name} == {other}", lines, test, [first, rows[-2]], descriptions,
        limits=limits, level=level, frame=frame,
    )  # fmt: skip


def _numbers(data: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Variables as numbers, NaN if missing; an error if one holds none."""
    records = take(data, names)
    return data.with_columns(pl.Series(one, records.numbers(one)) for one in names)


def _groups(
    data: pl.DataFrame,
    name: str,
    other: str | None,
    by: str | None,
    how: tuple[bool, bool],
    *,
    level: float,
    limits: SafeLimits,
    entity: str | None,
) -> SafeResult:
    command, value = f"ttest {name}, by({by})", name
    if other is not None:
        command, value, by = f"ttest {name} == {other}, unpaired", _VALUE, _WHICH
        kept = [pl.col(entity)] if entity is not None else []
        data = _numbers(data, name, other)
        data = pl.concat(
            [
                data.select(pl.col(one).alias(_VALUE), *kept).with_columns(
                    pl.lit(one).cast(pl.Enum([name, other])).alias(_WHICH)
                )
                for one in (name, other)
            ]
        )
    assert by is not None
    records = take(data, [value, by], entity=entity)
    groups = crossed(records, [by], limits)
    if len(groups) != 2:
        raise OutputCheckError("by() must make two groups", code="two-groups")
    descriptions = describe(records, [value], groups, _ASKED, limits)
    pair = zip(groups.labels, descriptions[0].shown, strict=True)
    first, second = rows = [_Row.of(label, numbers) for label, numbers in pair]
    whole = _Row.of("Combined", descriptions[0].total)
    difference, df = _difference(first, second, *how)
    title = f"Two-sample t test with {'unequal' if how[0] else 'equal'} variances"
    lines = [*_head(title, "Group" if other is None else "Variable", level)]
    lines += [*(row.line(level) for row in rows), _RULE, whole.line(level), _RULE]
    lines += [difference.line(level, df), _RULE]
    message = f"mean({first.label}) - mean({second.label})"
    test = message, "diff = 0", difference.mean, difference.se, df
    frame = description_frame(descriptions, groups, total=True)
    if other is not None:
        frame = frame[:2].select(pl.col(by).alias("variable"), *_ASKED)
    return _result(
        command, lines, test, rows, descriptions, limits=limits, level=level, frame=frame,
        groups=groups if other is None else None, more={"sd": whole.sd},
    )  # fmt: skip


def _difference(first: _Row, second: _Row, unequal: bool, welch: bool) -> tuple[_Row, float | None]:
    """The difference of two means, and its degrees of freedom, from numbers that are shown."""
    if first.mean is None or second.mean is None:
        return _Row(label="diff"), None
    mean = first.mean - second.mean
    n, s, m, r = first.n, first.sd, second.n, second.sd
    if not n or not m or s is None or r is None:
        return _Row(label="diff", mean=mean), None
    if not unequal:
        df = n + m - 2
        pooled = ((n - 1) * s * s + (m - 1) * r * r) / df
        return _Row(label="diff", mean=mean, se=math.sqrt(pooled * (1 / n + 1 / m))), df
    a, b, more = s * s / n, r * r / m, 1 if welch else -1
    if not a + b:
        return _Row(label="diff", mean=mean, se=0.0), None
    df = (a + b) ** 2 / (a * a / (n + more) + b * b / (m + more)) - (2 if welch else 0)
    return _Row(label="diff", mean=mean, se=math.sqrt(a + b)), df


def _head(title: str, stub: str, level: float) -> list[str]:
    heads = f"{'Obs':>8}{'Mean':>12}{'Std. err.':>12}{'Std. dev.':>12}"
    interval = f"[{general(level)}% conf. interval]"
    return [title, _RULE, f"{stub:>12} |{heads}{interval:>24}", _RULE]


def _result(
    command: str,
    lines: Sequence[str],
    test: tuple[str, str, float | None, float | None, float | None],
    rows: Sequence[_Row],
    descriptions: Sequence[Description],
    *,
    limits: SafeLimits,
    level: float,
    frame: pl.DataFrame | None = None,
    groups: RecordGroups | None = None,
    more: dict[str, float | None] | None = None,
) -> SafeResult:
    """The lines with those of the test; what is stored of rows that are shown, and of the test."""
    statistic, null, difference, se, df = test
    t = difference / se if difference is not None and se and df else None
    tested = [f"    {null.partition(' = ')[0]} = {statistic}   t = {fixed(t, 4)}"]
    tested.append(f"H0: {null}   degrees of freedom = {general(df)}")
    stored: dict[str, float | None] = {"level": level, **(more or {})}
    for at, row in enumerate(rows, 1):
        stored |= {f"N_{at}": row.n, f"mu_{at}": row.mean, f"sd_{at}": row.sd}
    if t is not None and df is not None:
        p = t_two_sided(t, df)
        below = p / 2 if t < 0 else 1 - p / 2
        chances = f"Pr(T < t) = {fixed(below, 4)}   Pr(|T| > |t|) = {fixed(p, 4)}"
        tested += ["", f"{chances}   Pr(T > t) = {fixed(1 - below, 4)}"]
        stored |= {"t": t, "p": p, "df_t": float(df), "se": se, "p_l": below, "p_u": 1 - below}
    return SafeResult(
        command=command,
        shown=closed([*lines, *tested], t is None, limits.language),
        frame=description_frame(descriptions, None) if frame is None else frame,
        stored={name: x for name, x in stored.items() if x is not None},
        checks=description_checks(descriptions, groups, RULES, extremes=True),
        evidence=description_evidence(descriptions),
    )
