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

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import Found, broken, checks_of, leading
from discreet_fire.statistics.grouped_values import GroupedValues
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
from discreet_fire.statistics.sums import exact_sum


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
    work = _work(frame, names, limits, entity, where)
    complete = ~np.any([np.isnan(column) for column in work.columns.values()], axis=0)
    n = int(complete.sum())
    pairs = work.pairs(complete)
    few = any("minimum" in pair.rules for pair in pairs.values())
    head = "." if few else f"{n:,}"
    return work.result(
        pairs, "covariance" if covariance else "correlation", [f"(obs={head})"], few=few, n=n
    )


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
    work = _work(frame, names, limits, entity, where)
    return work.result(work.pairs(), "correlation", [], obs=obs)


def _work(
    frame: Any,
    names: str | Sequence[str],
    limits: SafeLimits | None,
    entity: str | None,
    where: str | None,
) -> _CorrelationInput:
    limits = limits_of(limits)
    listed = names_of(names, "correlate")
    if len(listed) < 2:
        raise OutputCheckError("two or more variables are needed", code="correlate")
    records = take(frame, listed, where=where, entity=entity)
    entities = records.entities()
    columns = {name: records.numbers(name) for name in listed}
    return _CorrelationInput(names=listed, columns=columns, entities=entities, limits=limits)


@dataclass(frozen=True, kw_only=True, repr=False)
class _Pair:
    """Two variables on the same records (confidential)."""

    n: int
    covariance: float
    correlation: float
    rules: frozenset[str]


@dataclass(frozen=True, kw_only=True, repr=False)
class _CorrelationInput:
    names: list[str]
    columns: dict[str, FloatArray]
    entities: IntArray | None
    limits: SafeLimits

    def pairs(self, used: BoolArray | None = None) -> dict[tuple[str, str], _Pair]:
        """The moments of every two variables, on the same records or on those that have both."""
        there = {name: ~np.isnan(column) for name, column in self.columns.items()}
        return {
            (one, two): self.pair(
                self.columns[one],
                self.columns[two],
                there[one] & there[two] if used is None else used,
            )
            for one, two in itertools.combinations_with_replacement(self.names, 2)
        }

    def pair(self, first: FloatArray, second: FloatArray, used: BoolArray) -> _Pair:
        """The moments of two variables on the records that have both."""
        x, y = first[used], second[used]
        who = None if self.entities is None else self.entities[used]
        if x.size < 2:
            few = frozenset({"minimum"} if x.size else ())
            return _Pair(n=x.size, covariance=math.nan, correlation=math.nan, rules=few)
        left, right = (GroupedValues.of(values, None, 1, who).whole for values in (x, y))
        product = exact_sum((x - left.mean) * (y - right.mean))
        spread = math.sqrt(left.squares * right.squares)
        rules = set(broken(left, self.limits) | broken(right, self.limits)) - {"dominance"}
        if left.cases - 2 < self.limits.residual_df:
            rules |= {"freedom"}
        for values, facts in ((x, left), (y, right)):
            if self._lonely(values - facts.mean, facts.squares, who):
                rules |= {"leverage"}
        return _Pair(
            n=x.size,
            covariance=product / (x.size - 1),
            correlation=max(-1.0, min(1.0, product / spread)) if spread else math.nan,
            rules=frozenset(rules),
        )

    def _lonely(self, deviations: FloatArray, squares: float, who: IntArray | None) -> bool:
        """Whether one case determines the regression on a variable: its hat value is near 1."""
        if squares <= 0:
            return False
        hat = deviations**2 / squares + 1 / deviations.size
        if who is not None:
            order = np.lexsort((hat, who))
            start = np.flatnonzero(np.concatenate([[True], np.diff(who[order]) != 0]))
            hat = np.add.reduceat(hat[order], start)
        return float(hat.max()) > self.limits.leverage

    def result(
        self,
        pairs: dict[tuple[str, str], _Pair],
        kind: str,
        head: list[str],
        *,
        obs: bool = False,
        few: bool = False,
        n: int | None = None,
    ) -> SafeResult:
        """Lay the lower triangle out, as far as it may be shown."""
        rows: list[dict[str, Any]] = []
        block: list[tuple[str, list[str]]] = []
        for at, name in enumerate(self.names):
            shown, counts = [], []
            for other in self.names[: at + 1]:
                pair = pairs[other, name]
                value = None if pair.rules else getattr(pair, kind)
                count = None if "minimum" in pair.rules else float(pair.n)
                text = rounded(value, self.limits.digits) if value is not None else None
                row = {"variable": name, "with": other, kind: text}
                rows.append(row | ({"n": count} if obs else {}))
                shown.append(general(text) if kind == "covariance" else fixed(text, 4))
                counts.append(count_text(count))
            block.append((abbreviated(name, 12), shown))
            if obs:
                block.append(("", counts))
        heads = [abbreviated(name, 10) for name in self.names]
        grid = Grid(stub="", heads=heads, blocks=[block])
        withheld = any(row[kind] is None for row in rows)
        last = pairs[self.names[0], self.names[1]]
        stored = {} if n is None or few else {"N": float(n)}
        if not last.rules and kind == "correlation":
            stored["rho"] = rounded(last.correlation, self.limits.digits)
        return SafeResult(
            command=f"{'pwcorr' if n is None else 'correlate'} {' '.join(self.names)}",
            shown=closed([*head, *grid.lines()], withheld, self.limits.language),
            frame=pl.DataFrame(rows, schema_overrides={kind: pl.Float64}),
            stored=stored,
            checks=self._checks(pairs),
            evidence=OutputEvidence(pairs=pairs),
        )

    def _checks(self, pairs: dict[tuple[str, str], _Pair]) -> list[Check]:
        violations = [
            Found(rule, f"{first}, {second}")
            for (first, second), pair in pairs.items()
            for rule in leading(pair.rules)
        ]
        checks = checks_of(violations, ["minimum", "same", "alike", "freedom", "leverage"])
        for (first, second), pair in pairs.items():
            if first != second and not pair.rules and abs(pair.correlation) > 1 - 1e-9:
                reason = "one variable follows exactly from the other"
                where = f"{first}, {second}"
                checks.append(
                    Check(rule="exact", verdict=CheckVerdict.review, reason=reason, where=where)
                )
        # Samples of pairs that differ by few cases: differences could reveal these.
        sizes = sorted({pair.n for pair in pairs.values()})
        if any(two - one < self.limits.minimum for one, two in itertools.pairwise(sizes)):
            reason = "the records behind two correlations differ by a few"
            checks.append(Check(rule="samples", verdict=CheckVerdict.review, reason=reason))
        return checks
