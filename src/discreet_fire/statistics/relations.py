"""`ttest`, `correlate` and `pwcorr`: tests of means, correlations and covariances.

In: a frame of microdata (confidential), variables, rules. Out: `SafeResult`s. Tests are worked out
from shown numbers alone; of pairs all is withheld if it is of one of the variables or of their
difference, since two give the third. A correlation is a regression on one variable, so it needs as
many degrees of freedom, and no case may make up nearly all of the spread of a variable: its values
could be worked out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import polars as pl
from scipy import special

from discreet.arrays import FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import RULES, Found, broken, checks_of, leading
from discreet_fire.statistics.grouped_values import EntityNumbers, GroupedValues, Numbers, exact_sum
from discreet_fire.statistics.layout import (
    Grid,
    abbreviated,
    closed,
    count_text,
    fixed,
    general,
    rounded,
)
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.records import (
    MicrodataRecords,
    RecordOptions,
    crossed,
    names_of,
    take,
)
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult
from discreet_fire.statistics.variables import (
    Description,
    describe,
    description_checks,
    description_frame,
)

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
    **options: Unpack[RecordOptions],
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
    columns = [name, *(one for one in (other, by) if one is not None)]
    records = take(frame, columns, **options)
    command, title, stub = f"ttest {name}", "One-sample t test", "Variable"
    statistic, null = f"mean({name})", f"mean = {general(mean)}"
    groups, more = None, {}
    if other is None and by is None:
        descriptions = describe(records, [name], None, _TESTED)
        row = _Row.of(name, descriptions[0].shown[0])
        difference = replace(row, mean=None if row.mean is None else row.mean - mean)
        sections, table = [[row]], description_frame(descriptions, None)
    elif other is not None and not unpaired:
        command, title = f"{command} == {other}", "Paired t test"
        statistic, null = f"mean({name} - {other})", "mean(diff) = 0"
        descriptions, rows, table = _pairs(records, name, other)
        *_, difference = rows
        sections = [rows[:-1], [difference]]
    else:
        command, value = f"{command}, by({by})", name
        if other is not None:
            command, value, by = f"ttest {name} == {other}, unpaired", _VALUE, _WHICH
            data, which = _numbers(records, name, other), pl.Enum([name, other])
            kept = [] if records.entity is None else [records.entity]
            both = pl.concat(
                data.select(pl.col(one).alias(_VALUE), *kept, pl.lit(one).cast(which).alias(_WHICH))
                for one in (name, other)
            )
            records = replace(records, data=both)
        else:
            stub = "Group"
        groups = crossed(records, [str(by)])
        if len(groups) != 2:
            raise OutputCheckError("by() must make two groups", code="two-groups")
        descriptions = describe(records, [value], groups, _TESTED)
        pair = zip(groups.labels, descriptions[0].shown, strict=True)
        first, second = rows = [_Row.of(label, numbers) for label, numbers in pair]
        whole = _Row.of("Combined", descriptions[0].total)
        difference = _difference(first, second, unequal or welch, welch)
        sections, more = [rows, [whole], [difference]], {"sd": whole.sd}
        table = description_frame(descriptions, groups, total=True)
        title = f"Two-sample t test with {'unequal' if unequal or welch else 'equal'} variances"
        statistic, null = f"mean({first.label}) - mean({second.label})", "diff = 0"
        if other is not None:
            groups, table = None, table[:2].select(pl.col(_WHICH).alias("variable"), *_TESTED)

    interval = f"[{general(level)}% conf. interval]"
    heads = f"{'Obs':>8}{'Mean':>12}{'Std. err.':>12}{'Std. dev.':>12}{interval:>24}"
    lines = [title, _TEST_RULE, f"{stub:>12} |{heads}", _TEST_RULE]
    for section in sections:
        lines += [*(row.line(level) for row in section), _TEST_RULE]
    away, se, df = difference.mean, difference.se, difference.df
    t = away / se if away is not None and se and df else None
    lines.append(f"    {null.partition(' = ')[0]} = {statistic}   t = {fixed(t, 4)}")
    lines.append(f"H0: {null}   degrees of freedom = {general(df)}")
    stored: Numbers = {"level": level, **more}
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
        shown=closed(lines, t is None, records.limits.language),
        frame=table,
        stored={name: x for name, x in stored.items() if x is not None},
        checks=description_checks(descriptions, groups, RULES, extremes=True),
        evidence=OutputEvidence(found=[rule for one in descriptions for rule in one.found]),
    )


def _pairs(
    records: MicrodataRecords, name: str, other: str
) -> tuple[list[Description], list[_Row], pl.DataFrame]:
    """The variables and their difference: descriptions, rows, and a table of the variables."""
    difference = "diff" if "diff" not in (name, other, records.entity) else "diff_"
    both = _numbers(records, name, other)
    both = both.filter(pl.all_horizontal(pl.col(name, other).is_not_nan()))
    both = both.with_columns((pl.col(name) - pl.col(other)).alias(difference))
    names = list(dict.fromkeys([name, other, difference]))
    descriptions = describe(replace(records, data=both), names, None, _TESTED)
    # Two of the three give back the third, and so do their deviations.
    shown = [one.shown[0] for one in descriptions]
    hidden = {key for key in _TESTED if any(numbers[key] is None for numbers in shown)}
    hidden |= {"sd"} if "mean" in hidden else set()
    left = {
        one.name: {key: None if key in hidden else x for key, x in one.shown[0].items()}
        for one in descriptions
    }
    rows = [_Row.of("diff" if one == difference else one, left[one]) for one in names]
    # What is known of their difference follows.
    table = pl.DataFrame(
        [{"variable": one, **left[one]} for one in names[:-1]],
        schema_overrides=dict.fromkeys(_TESTED, pl.Float64),
    )
    return descriptions, rows, table


def _numbers(records: MicrodataRecords, *names: str) -> pl.DataFrame:
    """The records with variables as numbers, NaN if missing; an error if one holds none."""
    return records.data.with_columns(pl.Series(one, records.numbers(one)) for one in names)


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


def correlate(
    frame: Any,
    names: str | Sequence[str],
    *,
    covariance: bool = False,
    **options: Unpack[RecordOptions],
) -> SafeResult:
    """Correlations, or covariances, of the records that have all variables.

    >>> squares = [x * x / 10 for x in range(20)]
    >>> frame = pl.DataFrame({"x": [float(x) for x in range(20)], "y": squares})
    >>> print(correlate(frame, ["x", "y"]))
    (obs=20)
                 |          x          y
    -------------+----------------------
               x |     1.0000
               y |     0.9653     1.0000
    """
    kind = "covariance" if covariance else "correlation"
    return _correlated(frame, names, options, kind)


def pwcorr(
    frame: Any,
    names: str | Sequence[str],
    *,
    obs: bool = False,
    **options: Unpack[RecordOptions],
) -> SafeResult:
    """Correlations of each pair of variables, of the records that have both.

    >>> frame = pl.DataFrame({"x": [1.0, 2, 3, 4], "y": [2.0, 1, 4, 3]})
    >>> print(pwcorr(frame, ["x", "y"]))
                 |          x          y
    -------------+----------------------
               x |          .
               y |          .          .
    . withheld for confidentiality
    """
    return _correlated(frame, names, options, "correlation", pairwise=True, obs=obs)


@dataclass(frozen=True, repr=False)
class _Pair:
    """Two variables on the same records (confidential)."""

    n: int
    covariance: float
    correlation: float
    rules: frozenset[str]


def _correlated(
    frame: Any,
    names: str | Sequence[str],
    options: RecordOptions,
    kind: str,
    *,
    pairwise: bool = False,
    obs: bool = False,
) -> SafeResult:
    listed = names_of(names, "correlate")
    if len(listed) < 2:
        raise OutputCheckError("two or more variables are needed", code="correlate")
    records = take(frame, listed, **options)
    limits = records.limits
    columns = {name: records.numbers(name) for name in listed}
    there = {name: ~np.isnan(column) for name, column in columns.items()}
    complete = np.logical_and.reduce(list(there.values()))
    pairs: dict[tuple[str, str], _Pair] = {}
    for first, second in itertools.combinations_with_replacement(listed, 2):
        used = there[first] & there[second] if pairwise else complete
        who = None if records.entities is None else records.entities[used]
        pairs[first, second] = _pair(columns[first][used], columns[second][used], who, limits)

    rows: list[dict[str, Any]] = []
    block: list[tuple[str, list[str]]] = []
    for at, name in enumerate(listed):
        shown, counts = [], []
        for other in listed[: at + 1]:
            pair = pairs[other, name]
            value = None if pair.rules else rounded(getattr(pair, kind), limits.digits)
            count = None if "minimum" in pair.rules else float(pair.n)
            row = {"variable": name, "with": other, kind: value}
            rows.append(row | ({"n": count} if obs else {}))
            shown.append(general(value) if kind == "covariance" else fixed(value, 4))
            counts.append(count_text(count))
        block.append((abbreviated(name, 12), shown))
        if obs:
            block.append(("", counts))
    lines = Grid(stub="", heads=[abbreviated(name, 10) for name in listed], blocks=[block]).lines()
    stored = {}
    if not pairwise:
        few = any("minimum" in pair.rules for pair in pairs.values())
        n = int(complete.sum())
        lines = [f"(obs={'.' if few else f'{n:,}'})", *lines]
        stored = {} if few else {"N": float(n)}
    last = pairs[listed[0], listed[1]]
    if not last.rules and kind == "correlation":
        stored["rho"] = rounded(last.correlation, limits.digits)
    violations = [
        Found(rule, f"{first}, {second}")
        for (first, second), pair in pairs.items()
        for rule in leading(pair.rules)
    ]
    checks = checks_of(violations, ["minimum", "same", "alike", "freedom", "leverage"])
    review = CheckVerdict.review
    for (first, second), pair in pairs.items():
        if first != second and not pair.rules and abs(pair.correlation) > 1 - 1e-9:
            reason, where = "one variable follows exactly from the other", f"{first}, {second}"
            checks.append(Check(rule="exact", verdict=review, reason=reason, where=where))
    # Samples of pairs that differ by few cases: differences could reveal these.
    sizes = sorted({pair.n for pair in pairs.values()})
    if any(two - one < limits.minimum for one, two in itertools.pairwise(sizes)):
        reason = "the records behind two correlations differ by a few"
        checks.append(Check(rule="samples", verdict=review, reason=reason))
    return SafeResult(
        command=f"{'pwcorr' if pairwise else 'correlate'} {' '.join(listed)}",
        shown=closed(lines, any(row[kind] is None for row in rows), limits.language),
        frame=pl.DataFrame(rows, schema_overrides={kind: pl.Float64}),
        stored=stored,
        checks=checks,
        evidence=OutputEvidence(pairs=pairs),
    )


def _pair(x: FloatArray, y: FloatArray, who: IntArray | None, limits: SafeLimits) -> _Pair:
    """The moments of two variables on the records that have both."""
    if x.size < 2:
        return _Pair(x.size, math.nan, math.nan, frozenset({"minimum"} if x.size else ()))
    left, right = (GroupedValues.of(values, None, 1, who).total(limits) for values in (x, y))
    product = exact_sum((x - left.mean) * (y - right.mean))
    spread = math.sqrt(left.squares * right.squares)
    rules = set(broken(left, limits) | broken(right, limits)) - {"dominance"}
    if left.cases - 2 < limits.residual_df:
        rules.add("freedom")
    for values, facts in ((x, left), (y, right)):
        if facts.squares <= 0:
            continue
        # Whether one case determines the regression on a variable: its hat value is near 1.
        hat = (values - facts.mean) ** 2 / facts.squares + 1 / values.size
        hat = hat if who is None else np.bincount(EntityNumbers.of(who).who, hat).astype(np.float64)
        if float(hat.max()) > limits.leverage:
            rules.add("leverage")
    correlation = max(-1.0, min(1.0, product / spread)) if spread else math.nan
    return _Pair(x.size, product / (x.size - 1), correlation, frozenset(rules))
