"""`correlate` and `pwcorr`: correlations and covariances.

In: a frame of microdata (confidential), variables, rules. Out: `SafeResult`s. A correlation
is a regression on one variable, so it needs as many degrees of freedom, and no case may
make up nearly all of the spread of a variable: its values could be worked out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import Found, broken, checks_of, leading
from discreet_fire.statistics.grouped_values import GroupedValues, exact_sum
from discreet_fire.statistics.layout import (
    Grid,
    abbreviated,
    closed,
    count_text,
    fixed,
    general,
    rounded,
)
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.records import names_of, take
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult


def correlate(
    frame: Any,
    names: str | Sequence[str],
    *,
    covariance: bool = False,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
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
    return _correlated(frame, names, limits_of(limits), entity, where, kind, pairwise=False)


def pwcorr(
    frame: Any,
    names: str | Sequence[str],
    *,
    obs: bool = False,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
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
    how = {"pairwise": True, "obs": obs}
    return _correlated(frame, names, limits_of(limits), entity, where, "correlation", **how)


@dataclass(frozen=True, kw_only=True, repr=False)
class _Pair:
    """Two variables on the same records (confidential)."""

    n: int
    covariance: float = math.nan
    correlation: float = math.nan
    rules: frozenset[str] = frozenset()


def _correlated(
    frame: Any,
    names: str | Sequence[str],
    limits: SafeLimits,
    entity: str | None,
    where: str | None,
    kind: str,
    *,
    pairwise: bool,
    obs: bool = False,
) -> SafeResult:
    listed = names_of(names, "correlate")
    if len(listed) < 2:
        raise OutputCheckError("two or more variables are needed", code="correlate")
    records = take(frame, listed, where=where, entity=entity)
    columns = {name: records.numbers(name) for name in listed}
    there = {name: ~np.isnan(column) for name, column in columns.items()}
    complete = np.logical_and.reduce(list(there.values()))
    pairs: dict[tuple[str, str], _Pair] = {}
    for first, second in itertools.combinations_with_replacement(listed, 2):
        used = there[first] & there[second] if pairwise else complete
        who = records.entities()
        who = None if who is None else who[used]
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
    return SafeResult(
        command=f"{'pwcorr' if pairwise else 'correlate'} {' '.join(listed)}",
        shown=closed(lines, any(row[kind] is None for row in rows), limits.language),
        frame=pl.DataFrame(rows, schema_overrides={kind: pl.Float64}),
        stored=stored,
        checks=_checks(pairs, limits),
        evidence=OutputEvidence(pairs=pairs),
    )


def _pair(x: FloatArray, y: FloatArray, who: IntArray | None, limits: SafeLimits) -> _Pair:
    """The moments of two variables on the records that have both."""
    if x.size < 2:
        return _Pair(n=x.size, rules=frozenset({"minimum"} if x.size else ()))
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
        if who is not None:
            order = np.lexsort((hat, who))
            start = np.flatnonzero(np.concatenate([[True], np.diff(who[order]) != 0]))
            hat = np.add.reduceat(hat[order], start)
        if float(hat.max()) > limits.leverage:
            rules.add("leverage")
    return _Pair(
        n=x.size,
        covariance=product / (x.size - 1),
        correlation=max(-1.0, min(1.0, product / spread)) if spread else math.nan,
        rules=frozenset(rules),
    )


def _checks(pairs: dict[tuple[str, str], _Pair], limits: SafeLimits) -> list[Check]:
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
    return checks
