"""`codebook`, `count`, `levelsof`, `centile` and `inspect`: what values variables hold, how many.

In: a frame of microdata (confidential), rules. Out: `SafeResult`s. Ranges, numbers of distinct
values and examples of texts are never shown. A percentile needs enough cases beyond it, and so does
each end of its interval, which is a value too.
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
from discreet.microdata import open_frame
from discreet_fire.statistics.disclosure_rules import (
    Found,
    broken,
    checks_of,
    free_statistics,
    leading,
)
from discreet_fire.statistics.layout import (
    abbreviated,
    closed,
    count_text,
    general,
    refused_line,
    rounded,
)
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.records import group, names_of, take
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult
from discreet_fire.statistics.summarize import RULES, describe
from discreet_fire.statistics.tables import CountTable

#: Variables of at most so many values are tabulated.
_CATEGORIES = 9
_ASKED = ("n", "mean", "sd", "p10", "p25", "p50", "p75", "p90")
_WIDTH = 79


def codebook(
    frame: Any,
    names: str | Sequence[str] | None = None,
    *,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
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
    limits = limits_of(limits)
    chosen = open_frame(frame).collect_schema().names() if names is None else names
    listed = names_of(chosen, "codebook")
    records = take(frame, listed, where=where, entity=entity)
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
        grouping = name != records.entity and different <= _CATEGORIES
        if grouping and different * limits.minimum <= len(present):
            try:
                axis = group(records, name, limits)
            except OutputCheckError:  # values that cannot group are described as numbers
                if text:
                    raise
        if axis is not None:
            table = CountTable.of([axis], records, limits)
            violations += table.found
            say("Tabulation", "Freq.  Value")
            for label, size, gone in zip(axis.labels, table.amounts, table.hidden, strict=False):
                lines.append(f"{count_text(None if gone else float(size)):>29}  {label}")
        elif text or name == records.entity:  # percentiles would be identifiers
            say("Examples", ".")
        else:
            (one,) = describe(records, [name], None, _ASKED, limits)
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


def count(
    frame: Any,
    *,
    where: str | None = None,
    limits: SafeLimits | None = None,
    entity: str | None = None,
) -> SafeResult:
    r"""Number of records.

    Withheld if they are few, and if all but few are counted.

    >>> frame = pl.DataFrame({"age": [30, 41, 52, 63]})
    >>> print(count(frame, where="age > 0"))
      4
    >>> count(frame, where="age > 35").shown
    '  .\n. withheld for confidentiality'
    """
    limits = limits_of(limits)
    some = [entity] if entity is not None else open_frame(frame).collect_schema().names()[:1]
    records = take(frame, some, where=where, entity=entity)
    everyone = records if where is None else take(frame, some, entity=entity)
    inside, outside = len(records), len(everyone) - len(records)
    if entity is not None:  # cases with records that are not counted
        inside = records.named_entities().n_unique()
        own = records.data[entity].value_counts(name="\0inside")
        every = everyone.named_entities().value_counts(name="\0every")
        joined = every.join(own, on=entity, how="left").fill_null(0)
        outside = joined.filter(pl.col("\0every") > pl.col("\0inside")).height
    violations = [Found("minimum", "count")] * (0 < inside < limits.minimum)
    violations += [Found("few-others", "count")] * (0 < outside < limits.minimum)
    shown = None if violations else float(len(records))
    return SafeResult(
        command="count" + (f" if {where}" if where else ""),
        shown=closed([f"  {count_text(shown)}"], shown is None, limits.language),
        stored={} if shown is None else {"N": shown},
        checks=checks_of(violations, ["minimum", "few-others"]),
        evidence=OutputEvidence(records=len(records), cases=inside, others=outside),
    )


def levelsof(
    frame: Any,
    name: str,
    *,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
) -> SafeResult:
    """The values of a variable that enough cases have.

    >>> print(levelsof(pl.DataFrame({"region": [1] * 5 + [2] * 4 + [9]}), "region"))
    1 2
    . withheld for confidentiality
    """
    limits = limits_of(limits)
    names_of(name, "levelsof")
    records = take(frame, [name], where=where, entity=entity)
    axis = group(records, name, limits, together=False)
    cases = records.cases(axis.codes, len(axis))
    text = records.is_text(name)
    levels = [
        f'`"{label}"\'' if text else label
        for label, value, size in zip(axis.labels, axis.values, cases.tolist(), strict=True)
        if size >= limits.minimum and not (axis.checks and value == "(other)")
    ]
    violations = [Found("minimum", name)] * (len(levels) < len(axis))
    return SafeResult(
        command=f"levelsof {name}",
        shown=closed([" ".join(levels)], bool(violations), limits.language),
        frame=pl.DataFrame({name: levels}, schema={name: pl.String}),
        checks=[*axis.checks, *checks_of(violations, ["minimum"])],
        evidence=OutputEvidence(cases=cases),
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
            row: dict[str, Any] = {
                "variable": name,
                "n": n,
                "percentile": percent,
                "centile": centre,
            }
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
