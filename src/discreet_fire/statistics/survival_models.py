"""`survival`: how many are still there after some time, as Kaplan and Meier estimate it.

In: a frame of microdata (confidential): a time, whether the event happened then or nobody looked
further, groups, rules. Out: a `SafeResult` in classes of time. Classes of few events, or of few who
left without one, are joined with their neighbours in all groups alike, so every step is about
enough cases; all that is shown is worked out of the counts that are shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import Found, checks_of
from discreet_fire.statistics.histogram import histogram
from discreet_fire.statistics.layout import Grid, closed, count_text, fixed, general, rounded
from discreet_fire.statistics.limits import SafeLimits, limits_of
from discreet_fire.statistics.records import group, take
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult

#: What is shown of each class.
MEASURES = ("at_risk", "events", "left", "survival", "std_error")
_HEADS = ("At risk", "Events", "Left", "Survival", "Std. err.")
_ALL = "all"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Times:
    """Times in classes, by group (confidential)."""

    edges: tuple[float, ...]  # where classes end; the first and the last are open
    place: IntArray  # the class of each record
    event: BoolArray  # whether it had the event
    code: IntArray  # its group; -1 for none
    labels: tuple[str, ...]  # names of the groups
    who: IntArray | None  # whom it is about; None if each is another case

    def counts(self, left: Sequence[int], *, cases: bool) -> IntArray:
        """Records, or cases, by group, class and event, with the edges that are left."""
        new = np.searchsorted(np.array(left, dtype=np.int64), self.place, side="left")
        shape = (len(self.labels), len(left) + 1, 2)
        inside = self.code >= 0
        cell = np.ravel_multi_index(
            (self.code[inside], new[inside], self.event[inside].astype(np.int64)), shape
        )
        if cases and self.who is not None:
            cell = np.unique(np.stack([cell, self.who[inside]]), axis=1)[0]
        return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64)


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
    bounds = tuple(float(one) for one in classes.frame["from"].to_list()[1:])
    who = records.entities()
    times = _Times(
        edges=bounds,
        place=np.searchsorted(np.array(bounds), lasted[used], side="right").astype(np.int64),
        event=happened[used] > 0,
        code=np.zeros(int(used.sum()), dtype=np.int64) if groups is None else groups.codes[used],
        labels=(_ALL,) if groups is None else groups.labels,
        who=None if who is None else who[used],
    )

    # Groups of which not even the number of events can be told.
    whole = times.counts([], cases=True)[:, 0, :]
    few = ((whole > 0) & (whole < limits.minimum)).any(axis=1)
    hidden = few | (whole.sum(axis=1) == 0)
    left = _edges_left(times, ~hidden, limits) if not hidden.all() else []
    counts = times.counts(left, cases=False)
    numbers = _estimated(counts)
    texts = [general(times.edges[at], 7) for at in left]
    inner = [f"{low} - <{high}" for low, high in itertools.pairwise(texts)]
    labels = [f"< {texts[0]}", *inner, f">= {texts[-1]}"] if texts else [_ALL]
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for at, name in enumerate(times.labels):
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
        Found("minimum", scope, f"{scope} = {times.labels[at]}") for at in np.flatnonzero(hidden)
    ]
    broken += [Found("bins", time)] * (len(left) < len(times.edges))
    checks = [*(() if groups is None else groups.checks), *checks_of(broken, ["minimum", "bins"])]
    if (numbers["survival"][~hidden] == 0).any():
        reason = "everyone who was left had the event"
        checks.append(Check(rule="same", verdict=CheckVerdict.review, reason=reason, where=scope))
    place = np.full(used.size, -1, dtype=np.int64)
    place[used] = np.searchsorted(np.array(left, dtype=np.int64), times.place, side="left")
    return SafeResult(
        command=command,
        shown=closed(lines, bool(hidden.any()), limits.language),
        frame=pl.DataFrame(rows, schema_overrides=dict.fromkeys(MEASURES, pl.Float64)),
        stored={} if hidden.any() else {"N": float((times.code >= 0).sum())},
        checks=checks,
        evidence=OutputEvidence(counts=counts, hidden=hidden, classes=place),
    )


def _edges_left(times: _Times, shown: BoolArray, limits: SafeLimits) -> list[int]:
    """The edges between classes in which every group has enough events, or none."""
    left: list[int] = []
    for at in range(len(times.edges)):
        trial = times.counts([*left, at], cases=True)[shown][:, len(left), :]
        if not ((trial > 0) & (trial < limits.minimum)).any() and trial.any():
            left.append(at)
    while left:
        tail = times.counts(left, cases=True)[shown]
        if not ((tail > 0) & (tail < limits.minimum)).any():
            break
        left.pop()
    return left


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
