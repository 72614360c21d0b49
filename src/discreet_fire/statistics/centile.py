"""`centile`: percentiles with confidence intervals.

In: a frame of microdata (confidential), variables, rules. Out: a `SafeResult`. A percentile
needs enough cases beyond it, and so does each end of its interval, which is a value too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import (
    Found,
    broken,
    checks_of,
    free_statistics,
    leading,
)
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.layout import abbreviated, closed, count_text, general, rounded
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.records import names_of, take
from discreet_fire.statistics.results import OutputEvidence, SafeResult


def centile(
    frame: Any,
    names: str | Sequence[str],
    *,
    centiles: Sequence[float] = (50,),
    level: float = 95,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
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
    limits = limits_of(limits)
    listed = names_of(names, "centile")
    _check(centiles, level)
    records = take(frame, listed, where=where, entity=entity)
    lines = [
        f"    Variable |        Obs  Percentile     Centile   [{level:g}% conf. interval]",
        "-" * 13 + "+" + "-" * 59,
    ]
    rows: list[dict[str, Any]] = []
    violations: list[Found] = []
    for name in listed:
        holding = GroupedValues.of(records.numbers(name), None, 1, records.entities())
        one, more = _centiles(name, holding, centiles, level / 100, limits)
        violations += more
        rows += one
        lines += _lines(name, one)
    values = [row[key] for row in rows for key in ("n", "centile", "low", "high")]
    numbers = ("n", "percentile", "centile", "low", "high")
    last = [row["centile"] for row in rows if row["variable"] == listed[-1]]
    return SafeResult(
        command=f"centile {' '.join(listed)}",
        shown=closed(lines, None in values, limits.language),
        frame=pl.DataFrame(rows, schema_overrides=dict.fromkeys(numbers, pl.Float64)),
        stored={f"c_{at}": x for at, x in enumerate(last, 1) if x is not None},
        checks=checks_of(violations, ["minimum", "same", "percentile"]),
        evidence=OutputEvidence(found=violations),
    )


def _check(centiles: Sequence[float], level: float) -> None:
    outside = [x for x in centiles if not 0 < x < 100]
    if outside or not centiles or not 10 <= level < 100:
        message = "percentiles lie between 0 and 100, confidence levels from 10 to below 100"
        raise OutputCheckError(message, code="centile", where=f"{outside[0]:g}" if outside else "")


def _lines(name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    for at, row in enumerate(rows):
        head = abbreviated(name, 12) if not at else ""
        obs = count_text(row["n"]) if not at else ""
        numbers = f"{general(row['percentile']):>12}{general(row['centile']):>12}"
        ends = f"{general(row['low']):>12}{general(row['high']):>11}"
        lines.append(f"{head:>12} |{obs:>11}{numbers}{ends}")
    return lines


def _centiles(
    name: str, holding: GroupedValues, centiles: Sequence[float], level: float, limits: SafeLimits
) -> tuple[list[dict[str, Any]], list[Found]]:
    facts = holding.facts(limits)[0]
    rules = broken(facts, limits) & {"minimum", "same"}
    violations = [Found(rule, name) for rule in leading(rules)]
    shown = {float(x): _Centile(holding, float(x) / 100, level, limits) for x in centiles}
    values: dict[float, list[float | None]] = {}
    free = 0 if rules or not facts.n else free_statistics(facts.cases, limits)
    for percent in sorted(shown, key=lambda x: (abs(x - 50), x)):
        numbers: list[float | None] = [None, None, None]
        for at, number in enumerate(shown[percent].numbers() if free else ()):
            if number is not None and free:
                free -= 1
                numbers[at] = rounded(number, limits.digits)
        values[percent] = numbers
        if not rules and facts.n and numbers[0] is None:
            violations.append(Found("percentile", name, f"{percent:g}"))
    rows = []
    for x in centiles:
        centre, low, high = values[float(x)]
        n = None if "minimum" in rules else float(facts.n)
        row = {"variable": name, "n": n, "percentile": float(x), "centile": centre}
        rows.append(row | {"low": low, "high": high})
    return rows, violations


class _Centile:
    """One percentile of values (confidential)."""

    def __init__(
        self, holding: GroupedValues, share: float, level: float, limits: SafeLimits
    ) -> None:
        self.order = np.argsort(holding.values, kind="stable")
        self.values = holding.values[self.order]
        self.entities = None if holding.entities is None else holding.entities[self.order]
        self.share, self.level, self.limits = share, level, limits

    def numbers(self) -> list[float | None]:
        """The percentile, the lower and the upper end of its interval."""
        n = self.values.size
        place = (n + 1) * self.share
        below = math.floor(place)
        if not self._deep(below, below + 1) or not self._enough():
            return [None, None, None]
        centre = self.values[below - 1] + (place - below) * (
            self.values[min(below, n - 1)] - self.values[below - 1]
        )
        low, high = _ranks(n, self.share, self.level)
        return [
            float(centre),
            float(self.values[low - 1]) if low >= 1 and self._deep(low, low) else None,
            float(self.values[high - 1]) if high <= n and self._deep(high, high) else None,
        ]

    def _enough(self) -> bool:
        n = self.values.size if self.entities is None else np.unique(self.entities).size
        return round(n * min(self.share, 1 - self.share), 9) >= self.limits.percentile_cases

    def _deep(self, low: int, high: int) -> bool:
        """Whether enough cases lie on both outer sides of ranks, these included."""
        n = self.values.size
        if not 1 <= low <= high <= n:
            return False
        if self.entities is None:
            return min(low, n + 1 - high) >= self.limits.percentile_cases
        sides = (self.entities[:low], self.entities[high - 1 :])
        return all(np.unique(side).size >= self.limits.percentile_cases for side in sides)


def _ranks(n: int, share: float, level: float) -> tuple[int, int]:
    """Ranks between which a percentile lies with at least this chance."""
    if n == 0:
        return 0, 1
    reached = _binomial(n, share)
    tail = (1 - level) / 2
    low = int(np.searchsorted(reached, tail, side="right"))
    high = int(np.searchsorted(reached, 1 - tail, side="left")) + 1
    return low, high


def _binomial(n: int, share: float) -> FloatArray:
    """The chance of at most k successes of n, for each k."""
    whole = np.arange(n + 1, dtype=np.float64)
    factorial = np.concatenate([[0.0], np.cumsum(np.log(whole[1:]))])
    logs = factorial[n] - factorial - factorial[::-1]
    logs += whole * math.log(share) + (n - whole) * math.log1p(-share)
    return np.cumsum(np.exp(logs))
