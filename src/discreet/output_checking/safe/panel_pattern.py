"""`xtdescribe`: for which times there are records of how many entities.

In: a frame of records of entities over time (confidential), rules. Out: a `SafeResult`.
Identifiers are never shown; patterns of few entities are put together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from discreet.errors import OutputCheckError
from discreet.output_checking.safe.cases import cases_of
from discreet.output_checking.safe.groups import Groups, group
from discreet.output_checking.safe.judging import Found, checks_of
from discreet.output_checking.safe.layout import closed
from discreet.output_checking.safe.limits import SafeLimits, limits_of
from discreet.output_checking.safe.numbers import count_text, fixed, general
from discreet.output_checking.safe.percentiles import percentile
from discreet.output_checking.safe.records import IntArray, take
from discreet.output_checking.safe.results import SafeResult

__all__ = ["xtdescribe"]

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


def xtdescribe(
    frame: Any,
    *,
    entity: str,
    time: str,
    patterns: int = 9,
    limits: SafeLimits | None = None,
    where: str | None = None,
) -> SafeResult:
    """Participation patterns of entities.

    Args:
        frame: Records; any frame narwhals reads.
        entity: Column of whom a record is about.
        time: Column of the time of a record.
        patterns: How many patterns are listed at most.
        limits: The rules.
        where: Only these records.

    >>> frame = pl.DataFrame({"id": [1, 1, 2, 2, 3, 3, 4, 5, 6], "t": [1, 2] * 3 + [1] * 3})
    >>> print(xtdescribe(frame, entity="id", time="t"))
          id:  withheld                                      n =          6
           t:  1, 2                                          T =          2
    Distribution of T_i:   min      5%     25%     50%     75%     95%     max
                             .       .       .     1.5       .       .       .
         Freq.  Percent    Cum. |  Pattern
     ---------------------------+----------
             3    50.00   50.00 |  1.
             3    50.00  100.00 |  11
     ---------------------------+----------
             6   100.00         |  XX
    . withheld for confidentiality
    """
    limits = limits_of(limits)
    records = take(frame, [time], where=where, entity=entity)
    entities = records.entities()
    assert entities is not None
    times = group(records, time, limits, together=False)
    used = times.codes >= 0
    unique, who = np.unique(entities[used], return_inverse=True)
    found = [Found("minimum", entity)] * (0 < unique.size < limits.minimum)
    if found or not unique.size:
        return _nothing(found, limits)
    kept = _common_times(times, entities, limits)
    found += [Found("minimum", time)] * (len(kept) < len(times))
    there = np.zeros((unique.size, len(times)), dtype=np.bool_)
    there[who, times.codes[used]] = True
    listed, other = _patterns(there[:, kept], patterns, limits)
    found += [Found("patterns", time)] * (other > 0)
    lines = _head(entity, time, times, kept, unique.size)
    lines += _distribution(there.sum(axis=1), limits)
    rows = [*listed, *([("(other patterns)", other)] if other else [])]
    lines += _pattern_lines(rows, unique.size, len(kept))
    return SafeResult(
        command="xtdescribe",
        shown=closed(lines, True, limits.language),
        frame=pl.DataFrame(rows, schema={"pattern": pl.String, "n": pl.Int64}, orient="row"),
        stored={"N": float(unique.size)},
        checks=[*times.checks, *checks_of(found, ["minimum"])],
    )


def _nothing(found: list[Found], limits: SafeLimits) -> SafeResult:
    return SafeResult(
        command="xtdescribe",
        shown=closed(["." if found else "no observations"], bool(found), limits.language),
        checks=checks_of(found, ["minimum"]),
    )


def _common_times(times: Groups, entities: IntArray, limits: SafeLimits) -> list[int]:
    """Times at which there are enough entities."""
    cases = cases_of(times.codes, len(times), entities)
    return [at for at, size in enumerate(cases.tolist()) if size >= limits.minimum]


def _patterns(
    there: np.ndarray, most: int, limits: SafeLimits
) -> tuple[list[tuple[str, int]], int]:
    """The commonest patterns, and how many entities have another."""
    if most < 1:
        raise OutputCheckError("at least one pattern is listed", code="xtdescribe")
    texts = ["".join("1" if x else "." for x in row) for row in there.tolist()]
    seen, count = np.unique(np.array(texts, dtype=str), return_counts=True)
    order = sorted(zip(seen.tolist(), count.tolist(), strict=True), key=lambda x: (-x[1], x[0]))
    listed = [(text, size) for text, size in order if size >= limits.minimum][:most]
    left = len(order) - len(listed)
    other = len(texts) - sum(size for _, size in listed)
    # What is left together must not be few either, nor a single small pattern.
    while listed and other and (left < 2 or other < limits.minimum + left - 1):
        other += listed.pop()[1]
        left += 1
    return listed, other


def _head(entity: str, time: str, times: Groups, kept: list[int], n: int) -> list[str]:
    labels = [times.labels[at] for at in kept]
    span = labels if len(labels) <= 3 else [*labels[:2], "...", labels[-1]]
    return [
        f"{entity:>8}:  {'withheld':<45} n = {n:>10,}",
        f"{time:>8}:  {', '.join(span):<45} T = {len(kept):>10,}",
    ]


def _distribution(sizes: IntArray, limits: SafeLimits) -> list[str]:
    """Percentiles of the number of times per entity; never the smallest and the largest."""
    values = np.sort(sizes.astype(np.float64))
    texts = ["."]
    for share in _SHARES:
        deep = round(values.size * min(share, 1 - share), 9) >= limits.percentile_cases
        texts.append(general(percentile(values, share)) if deep else ".")
    heads = ["min", "5%", "25%", "50%", "75%", "95%", "max"]
    return [
        "Distribution of T_i:" + "".join(f"{head:>{6 if head == 'min' else 8}}" for head in heads),
        " " * 20 + "".join(f"{x:>{8 if at else 6}}" for at, x in enumerate([*texts, "."])),
    ]


def _pattern_lines(rows: list[tuple[str, int]], n: int, times: int) -> list[str]:
    rule = " " + "-" * 27 + "+" + "-" * max(10, times + 3)
    lines = ["     Freq.  Percent    Cum. |  Pattern", rule]
    reached = 0
    for text, size in rows:
        reached += size
        lines.append(
            f"{count_text(float(size)):>10}{fixed(100 * size / n):>9}"
            f"{fixed(100 * reached / n):>8} |  {text}"
        )
    return [*lines, rule, f"{count_text(float(n)):>10}{'100.00':>9}{'':>8} |  {'X' * times}"]
