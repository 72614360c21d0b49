"""`histogram` and `survival`: how many cases lie in classes, and are still there after some time.

In: a frame of microdata (confidential), a variable or a time and an event, rules. Out:
`SafeResult`s. The edges of classes never depend on minimum and maximum: they are given, or
multiples of a round width made of quartiles. Classes of few cases, events, or of few who left
without one, are merged with their neighbours, of survival in all groups alike, and the outer ones
are open. Survival is estimated as by Kaplan and Meier, of the counts that are shown.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import Found, broken, checks_of, leading
from discreet_fire.statistics.grouped_values import (
    EntityNumbers,
    GroupedValues,
    StatisticsGroup,
    statistics_of,
)
from discreet_fire.statistics.layout import (
    Grid,
    abbreviated,
    closed,
    count_text,
    fixed,
    general,
    round_step,
    rounded,
)
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.records import group, take
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult

_MOST = 60
_BAR = 40


def histogram(
    frame: Any,
    name: str,
    *,
    edges: Sequence[float] | None = None,
    start: float | None = None,
    width: float | None = None,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
) -> SafeResult:
    """Frequencies in classes.

    >>> frame = pl.DataFrame({"x": [1, 2, 3, 11, 12, 13, 14, 25, 26, 27, 99]})
    >>> print(histogram(frame, "x", edges=[10, 20, 30]))
               x |      Freq.    Percent
    -------------+----------------------
            < 10 |          3      27.27  ******************************
        10 - <20 |          4      36.36  ****************************************
           >= 20 |          4      36.36  ****************************************
    """
    limits = limits_of(limits)
    records = take(frame, [name], where=where, entity=entity)
    holding = records.grouped(name)
    facts = holding.total(limits)
    rules = broken(facts, limits) & {"minimum", "same"}
    violations = [Found(rule, name) for rule in leading(rules)]
    if rules or not facts.n:
        lines = ["."] if facts.n else ["no observations"]
        return SafeResult(
            command=f"histogram {name}",
            shown=closed(lines, bool(rules), limits.language),
            checks=checks_of(violations, ["minimum", "same"]),
        )
    if edges is None:
        wanted = _edges(holding, start, width, limits)
    else:
        wanted = [float(edge) for edge in edges]
        rising = all(low < high for low, high in itertools.pairwise(wanted))
        if not wanted or not rising or not all(map(math.isfinite, wanted)):
            raise OutputCheckError("edges are finite and ascending", code="edges")
    merged, sizes = _safe_classes(wanted, holding, limits)
    labels = _class_labels(merged)
    # Labels of classes are never cut, so the stub is as wide as the longest.
    wide = max(12, *(len(label) for label in labels))
    lines = [f"{abbreviated(name, 12):>{wide}} |{'Freq.':>11}{'Percent':>11}"]
    lines.append("-" * (wide + 1) + "+" + "-" * 22)
    for label, size in zip(labels, sizes, strict=True):
        numbers = f"{count_text(float(size)):>11}{fixed(100 * size / facts.n):>11}"
        bar = "*" * round(_BAR * size / max(sizes))
        lines.append(f"{label:>{wide}} |{numbers}  {bar}".rstrip())
    return SafeResult(
        command=f"histogram {name}",
        shown="\n".join(lines),
        frame=pl.DataFrame(
            {"from": [None, *merged], "below": [*merged, None], "n": sizes},
            schema={"from": pl.Float64, "below": pl.Float64, "n": pl.Int64},
        ),
        stored={"N": float(facts.n)},
        checks=checks_of([Found("bins", name)] * (merged != wanted), ["minimum", "bins"]),
        evidence=OutputEvidence(edges=wanted, facts=facts),
    )


def _edges(
    holding: GroupedValues, start: float | None, width: float | None, limits: SafeLimits
) -> list[float]:
    # Where the rules allow to use them.
    whole = StatisticsGroup(facts=holding.total(limits), part=lambda: holding)
    quartiles, _ = statistics_of(["p25", "p75"], whole, limits)
    lower, upper = quartiles["p25"], quartiles["p75"]
    if lower is None or upper is None or lower == upper:
        message = "quartiles cannot define classes here"
        hint = "name the edges of classes: edges=[…]"
        raise OutputCheckError(message, code="edges", hint=hint)
    spread = upper - lower
    if width is None:
        width = round_step(2 * spread / holding.values.size ** (1 / 3))
    if not (math.isfinite(width) and width > 0):
        raise OutputCheckError("the width of classes is above 0", code="edges", where="width")
    # Two interquartile ranges beyond the quartiles; the rest is in the open classes.
    origin = 0.0 if start is None else float(start)
    low = (lower - 2 * spread - origin) / width
    high = (upper + 2 * spread - origin) / width
    if not (math.isfinite(low) and math.isfinite(high)):
        message = "classes of this start and width do not fit the variable"
        raise OutputCheckError(message, code="edges", where="width")
    first, last = math.floor(low), math.ceil(high)
    while last - first > _MOST:
        width, first, last = width * 2, math.floor(first / 2), math.ceil(last / 2)
    return [origin + width * at for at in range(first, last + 1)]


def _safe_classes(
    edges: list[float], holding: GroupedValues, limits: SafeLimits
) -> tuple[list[float], list[int]]:
    """The edges between classes of enough cases, and how many values there are in each class."""
    places = np.searchsorted(np.array(edges), holding.values, "right").astype(np.int64)
    who = None if holding.entities is None else EntityNumbers.of(holding.entities)

    def counted(left: Sequence[float], *, cases: bool) -> IntArray:
        """Values or cases by the edges that are left."""
        new = np.searchsorted(np.array(left), np.array([-math.inf, *edges]), "right")[places]
        if who is None or not cases:
            return np.bincount(new, minlength=len(left) + 1)
        return who.cases(who.gathered(new), len(left) + 1)

    fewest = max(limits.bin_cases, limits.minimum)
    left: list[float] = []
    reached, own = 0, counted(edges, cases=True).tolist()
    for edge, size in zip(edges, own, strict=False):
        reached += size
        # An empty class is shown between others, but not at the ends: they would tell
        # where the smallest and the largest value lie.
        if reached >= fewest or (reached == 0 and left):
            left.append(edge)
            reached = 0
    reached += own[-1]
    while left and reached < fewest:
        at = edges.index(left.pop())
        before = edges.index(left[-1]) + 1 if left else 0
        reached += sum(own[before : at + 1])
    # An entity in several classes is one case where these are merged.
    while left:
        cases = counted(left, cases=True)
        small = np.flatnonzero((cases > 0) & (cases < fewest))
        if not small.size:
            break
        left.pop(min(int(small[0]), len(left) - 1))
    return left, counted(left, cases=False).tolist()


def _class_labels(edges: Sequence[float]) -> list[str]:
    texts = [general(edge, 7) for edge in edges]
    inner = [f"{low} - <{high}" for low, high in itertools.pairwise(texts)]
    return [f"< {texts[0]}", *inner, f">= {texts[-1]}"] if texts else [_ALL]


#: What is shown of each class.
MEASURES = ("at_risk", "events", "left", "survival", "std_error")
_HEADS = ("At risk", "Events", "Left", "Survival", "Std. err.")
_ALL = "all"


def survival(
    frame: Any,
    time: str,
    event: str,
    *,
    by: str | None = None,
    edges: Sequence[float] | None = None,
    width: float | None = None,
    limits: SafeLimits | None = None,
    entity: str | None = None,
    where: str | None = None,
) -> SafeResult:
    """Survival in classes of time.

    >>> frame = pl.DataFrame({"months": [1, 2, 3, 4, 5, 6, 7, 8] * 5, "ended": [1, 0, 1, 1] * 10})
    >>> print(survival(frame, "months", "ended", edges=[3, 6]))
          months |    At risk     Events       Left   Survival  Std. err.
    -------------+-------------------------------------------------------
             < 3 |         40          5          5     0.8750     0.0523
          3 - <6 |         30         15          0     0.4375     0.0840
            >= 6 |         15         10          5     0.1458     0.0602
    """
    limits = limits_of(limits)
    names = [time, event, *([by] if by is not None else [])]
    if len(set(names)) < len(names):
        message = "time, event and groups are different variables"
        raise OutputCheckError(message, code="survival", where=", ".join(names))
    records = take(frame, names, where=where, entity=entity)
    lasted, happened = records.numbers(time), records.numbers(event)
    if not np.isin(happened[~np.isnan(happened)], (0.0, 1.0)).all():
        message, hint = "an event is 1 if it happened and 0 if not", "make such a variable first"
        raise OutputCheckError(message, code="survival", where=event, hint=hint)
    if (lasted < 0).any():
        raise OutputCheckError("a time is negative", code="survival", where=time)
    used = ~(np.isnan(happened) | np.isnan(lasted))
    groups = None if by is None else group(records, by, limits)
    data = records.data.filter(pl.Series(used))
    classes = histogram(data, time, edges=edges, width=width, limits=limits, entity=entity)
    command = f"survival {time} {event}" + (f", by({by})" if by else "")
    if classes.frame is None:
        return SafeResult(command=command, shown=classes.shown, checks=classes.checks)
    bounds = [float(one) for one in classes.frame["from"].to_list()[1:]]
    names_of_groups = (_ALL,) if groups is None else groups.labels
    code = np.zeros(used.size, dtype=np.int64) if groups is None else groups.codes
    inside = used & (code >= 0)
    place, who = np.searchsorted(np.array(bounds), lasted, side="right"), records.entities

    def counted(left: Sequence[int], *, cases: bool = True) -> IntArray:
        """Cases, or records, by group, class and event, with the edges that are left."""
        new = np.searchsorted(np.array(left, dtype=np.int64), place[inside], side="left")
        shape = (len(names_of_groups), len(left) + 1, 2)
        three = (code[inside], new, (happened[inside] > 0).astype(np.int64))
        cell = np.ravel_multi_index(three, shape)
        if cases and who is not None:
            cell = np.unique(np.stack([cell, who[inside]]), axis=1)[0]
        return np.bincount(cell, minlength=math.prod(shape)).reshape(shape).astype(np.int64)

    def few(counts: IntArray) -> bool:
        """Whether something is shown of too few cases."""
        return bool(((counts > 0) & (counts < limits.minimum)).any())

    # Groups of which not even the number of events can be told.
    whole = counted([])[:, 0, :]
    hidden = np.array([few(one) or not one.any() for one in whole])
    # The edges between classes in which every group has enough events, or none.
    left: list[int] = []
    for at in range(len(bounds) if not hidden.all() else 0):
        trial = counted([*left, at])[~hidden][:, len(left), :]
        left += [at] * (not few(trial) and bool(trial.any()))
    while left and few(counted(left)[~hidden]):
        left.pop()
    counts = counted(left, cases=False)
    numbers = _estimated(counts)
    labels = _class_labels([bounds[at] for at in left])
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for at, name in enumerate(names_of_groups):
        block = []
        for step, label in enumerate(labels):
            own = {
                one: None if hidden[at] else rounded(float(numbers[one][at, step]), limits.digits)
                for one in MEASURES
            }
            rows.append({time: label, **({} if by is None else {by: name}), **own})
            cells = [count_text(own[one]) for one in MEASURES[:3]]
            block.append((label, [*cells, *(fixed(own[one], 4) for one in MEASURES[3:])]))
        lines += [] if by is None else [*([""] if at else []), f"-> {by} = {name}"]
        lines += Grid(stub=time, heads=_HEADS, blocks=[block]).lines()
    scope = time if by is None else f"{time}, {by}"
    broken = [
        Found("minimum", scope, f"{scope} = {names_of_groups[at]}") for at in np.flatnonzero(hidden)
    ]
    broken += [Found("bins", time)] * (len(left) < len(bounds))
    checks = [*(() if groups is None else groups.checks), *checks_of(broken, ["minimum", "bins"])]
    if (numbers["survival"][~hidden] == 0).any():
        reason = "everyone who was left had the event"
        checks.append(Check(rule="same", verdict=CheckVerdict.review, reason=reason, where=scope))
    final = np.searchsorted(np.array(left, dtype=np.int64), place, side="left")
    return SafeResult(
        command=command,
        shown=closed(lines, bool(hidden.any()), limits.language),
        frame=pl.DataFrame(rows, schema_overrides=dict.fromkeys(MEASURES, pl.Float64)),
        stored={} if hidden.any() else {"N": float(inside.sum())},
        checks=checks,
        evidence=OutputEvidence(counts=counts, hidden=hidden, classes=np.where(used, final, -1)),
    )


def _estimated(counts: IntArray) -> dict[str, FloatArray]:
    """At risk, events, left, survival and its error, by group and class."""
    events, gone = counts[:, :, 1].astype(np.float64), counts[:, :, 0].astype(np.float64)
    total = events + gone
    before = np.cumsum(total, axis=1) - total
    risk = total.sum(axis=1, keepdims=True) - before
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(risk > 0, events / risk, 0.0)
        term = np.where(events > 0, events / (risk * (risk - events)), 0.0)
    kept = np.cumprod(1.0 - share, axis=1)
    error = np.where(kept > 0, kept * np.sqrt(np.cumsum(np.where(kept > 0, term, 0.0), axis=1)), 0)
    return {"at_risk": risk, "events": events, "left": gone, "survival": kept, "std_error": error}
