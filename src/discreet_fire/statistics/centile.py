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
from scipy import special

from discreet.arrays import FloatArray, IntArray
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
    outside = [x for x in centiles if not 0 < x < 100]
    if outside or not centiles or not 10 <= level < 100:
        message = "percentiles lie between 0 and 100, confidence levels from 10 to below 100"
        raise OutputCheckError(message, code="centile", where=f"{outside[0]:g}" if outside else "")
    records = take(frame, listed, where=where, entity=entity)
    lines = [
        f"    Variable |        Obs  Percentile     Centile   [{level:g}% conf. interval]",
        "-" * 13 + "+" + "-" * 59,
    ]
    rows: list[dict[str, Any]] = []
    violations: list[Found] = []
    for name in listed:
        holding = GroupedValues.of(records.numbers(name), None, 1, records.entities())
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
            row = {"variable": name, "n": n, "percentile": percent, "centile": centre}
            rows.append(row | {"low": low, "high": high})
            head = abbreviated(name, 12) if not at else ""
            obs = count_text(n) if not at else ""
            line = f"{head:>12} |{obs:>11}{general(percent):>12}{general(centre):>12}"
            lines.append(line + f"{general(low):>12}{general(high):>11}")
    withheld = any(row[key] is None for row in rows for key in ("n", "centile", "low", "high"))
    last = [row["centile"] for row in rows if row["variable"] == listed[-1]]
    return SafeResult(
        command=f"centile {' '.join(listed)}",
        shown=closed(lines, withheld, limits.language),
        frame=pl.DataFrame(rows, schema_overrides=dict.fromkeys(list(rows[0])[1:], pl.Float64)),
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
