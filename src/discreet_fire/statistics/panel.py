"""`xtsum`, `xtdescribe` and `survival`: who is there when, what varies, and how long it lasts.

In: a frame of records of entities over time, or of a time and an event (confidential), rules. Out:
`SafeResult`s. The deviations overall, between and within belong together: what one of them would
give away of another is withheld with it. Identifiers are never shown; patterns of few entities are
put together. Survival is estimated as by Kaplan and Meier, of counts in classes that are shown:
classes of few cases, events, or of few who left without one, are merged, in all groups alike.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.disclosure_rules import (
    Found,
    broken,
    checks_of,
    concentrated,
    free_statistics,
    leading,
)
from discreet_fire.statistics.grouped_values import (
    GroupedValues,
    exact_sum,
    percentile,
)
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
from discreet_fire.statistics.records import RecordOptions, count_of, group, names_of, take
from discreet_fire.statistics.results import Check, CheckVerdict, OutputEvidence, SafeResult
from discreet_fire.statistics.suppression import is_lonely
from discreet_fire.statistics.variables import ALL, class_labels, histogram

_RULES = ("minimum", "dominance", "same", "alike", "equations", "within")


def xtsum(
    frame: Any,
    names: str | Sequence[str],
    *,
    entity: str,
    limits: SafeLimits | None = None,
    where: str | None = None,
) -> SafeResult:
    """Mean, and standard deviations overall, between entities and within them.

    >>> ids = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    >>> frame = pl.DataFrame({"id": ids, "x": [1.0, 3, 2, 5, 4, 5, 6, 8, 3, 7, 5, 6]})
    >>> print(xtsum(frame, "x", entity="id"))
    Variable         |      Mean   Std. dev.       Min        Max |    Observations
    -----------------+--------------------------------------------+----------------
    x        overall |  4.583333    2.065224          .          . |     N =        12
             between |              1.715129          .          . |     n =         6
             within  |              1.261312          .          . | T-bar =         2
    . withheld for confidentiality
    """
    listed = names_of(names, "xtsum")
    records = take(frame, listed, limits=limits, entity=entity, where=where)
    entities, limits = records.entities, records.limits
    assert entities is not None
    lines = [
        "Variable         |      Mean   Std. dev.       Min        Max |    Observations",
        "-" * 17 + "+" + "-" * 44 + "+" + "-" * 16,
    ]
    rows: list[dict[str, Any]] = []
    violations: list[Found] = []
    checks: list[Check] = []
    for name in listed:
        numbers, rules, constant = _varied(records.numbers(name), entities, limits)
        violations += [Found(rule, name) for rule in rules]
        mean, sd, between, within, n, entities_of, mean_n = (
            (count_text if one in ("N", "n") else general)(numbers[one]) for one in _NUMBERS
        )
        ends = f"{'.':>11}{'.':>11}"
        lines += [
            f"{abbreviated(name, 8):<8} overall |{mean:>10}{sd:>12}{ends} |     N ={n:>10}",
            f"         between |{'':>10}{between:>12}{ends} |     n ={entities_of:>10}",
            f"         within  |{'':>10}{within:>12}{ends} | T-bar ={mean_n:>10}",
        ]
        rows.append({"variable": name, **numbers})
        if constant:
            why = "the variable never changes within an entity"
            checks += [Check(rule="constant", verdict=CheckVerdict.review, reason=why, where=name)]
    stored = {"N": "N", "n": "n", "Tbar": "T", "mean": "mean", "sd": "sd"}
    stored |= {"sd_b": "sd_between", "sd_w": "sd_within"}
    last = rows[-1]
    return SafeResult(
        command=f"xtsum {' '.join(listed)}",
        shown=closed(lines, True, limits.language),
        frame=pl.DataFrame(rows, schema_overrides=dict.fromkeys(_NUMBERS, pl.Float64)),
        stored={to: last[of] for to, of in stored.items() if last[of] is not None},
        checks=[*checks_of(violations, _RULES), *checks],
        evidence=OutputEvidence(found=violations),
    )


_NUMBERS = ("mean", "sd", "sd_between", "sd_within", "N", "n", "T")


def _varied(
    values: FloatArray, entities: IntArray, limits: SafeLimits
) -> tuple[dict[str, float | None], list[str], bool]:
    """The numbers that may be shown, the broken rules, whether nothing varies within entities."""
    numbers: dict[str, float | None] = dict.fromkeys(_NUMBERS)
    used = ~np.isnan(values)
    if not used.any():
        return numbers | {"N": 0.0, "n": 0.0}, [], False
    order = np.lexsort((values[used], entities[used]))
    kept, who = values[used][order], entities[used][order]
    start = np.flatnonzero(np.concatenate([[True], who[1:] != who[:-1]]))
    size = np.diff(np.append(start, kept.size))
    same = kept[start] == kept[start + size - 1]
    centres = np.where(same, kept[start], np.add.reduceat(kept, start) / size)
    deviations = kept - np.repeat(centres, size)
    facts = GroupedValues.of(kept, None, 1, who).total(limits)
    means = GroupedValues.of(centres, None, 1).total(limits)
    rules = broken(facts, limits) | broken(means, limits)
    if "minimum" not in rules:
        numbers |= {"N": float(facts.n), "n": float(facts.cases)}
        numbers["T"] = rounded(facts.n / facts.cases, limits.digits)
    violations = leading(rules)
    if rules:
        return numbers, violations, False
    # Enough entities must change, and none much more than all others.
    changing = int((~same).sum())
    within = changing == 0 or changing >= limits.minimum
    if within and changing:
        spread = np.sort(np.add.reduceat(deviations**2, start))
        within = not concentrated(spread[-1], spread[-2], float(spread.sum()), limits)
    lonely = is_lonely(means, limits) or is_lonely(facts, limits)
    # Of deviations overall, between and within, two give the third away.
    names = ["mean", *([] if lonely else ["sd_between"])]
    names += [] if not within else ["sd_within"] if lonely else ["sd", "sd_within"]
    wanted = names[: free_statistics(facts.cases, limits)]
    if "sd" in wanted and "sd_within" not in wanted:
        wanted.remove("sd")
    squares = {"sd": facts.squares, "sd_within": exact_sum(deviations**2)}
    known = {name: math.sqrt(square / (facts.n - 1)) for name, square in squares.items()}
    known |= {"mean": facts.mean, "sd_between": math.sqrt(means.squares / (means.n - 1))}
    numbers |= {name: rounded(known[name], limits.digits) for name in wanted}
    violations += ["within"] * (not within) + ["leverage"] * lonely
    violations += ["equations"] * (len(wanted) < len(names))
    return numbers, violations, changing == 0


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
    records = take(frame, [time], limits=limits, entity=entity, where=where)
    entities, times = records.entities, group(records, time, together=False)
    limits = records.limits
    assert entities is not None
    used = times.codes >= 0
    unique, who = np.unique(entities[used], return_inverse=True)
    violations = [Found("minimum", entity)] * (0 < unique.size < limits.minimum)
    if violations or not unique.size:
        shown = closed(
            ["." if violations else "no observations"], bool(violations), limits.language
        )
        return SafeResult(
            command="xtdescribe", shown=shown, checks=checks_of(violations, ["minimum"])
        )
    cases = records.cases(times.codes, len(times))
    kept = np.flatnonzero(cases >= limits.minimum).tolist()
    violations += [Found("minimum", time)] * (len(kept) < len(times))
    there = np.zeros((unique.size, len(times)), dtype=np.bool_)
    there[who, times.codes[used]] = True
    n = unique.size
    # The commonest patterns; what is left together must not be few, nor a single small pattern.
    if patterns < 1:
        raise OutputCheckError("at least one pattern is listed", code="xtdescribe")
    texts = Counter("".join(".1"[one] for one in row) for row in there[:, kept].tolist())
    order = sorted(texts.items(), key=lambda one: (-one[1], one[0]))
    rows = [(text, size) for text, size in order if size >= limits.minimum][:patterns]
    left, other = len(order) - len(rows), n - sum(size for _, size in rows)
    while rows and other and (left < 2 or other < limits.minimum + left - 1):
        other += rows.pop()[1]
        left += 1
    if other:
        violations.append(Found("patterns", time))
        rows.append(("(other patterns)", other))
    # Percentiles of the number of times per entity; never the smallest and the largest.
    values, spread = np.sort(there.sum(axis=1).astype(np.float64)), []
    for share in _SHARES:
        deep = round(n * min(share, 1 - share), 9) >= limits.percentile_cases
        spread.append(general(percentile(values, share)) if deep else ".")
    heads = "".join(f"{share:>8.0%}" for share in _SHARES)
    labels = [times.labels[at] for at in kept]
    span = labels if len(labels) <= 3 else [*labels[:2], "...", labels[-1]]
    lines = [
        f"{entity:>8}:  {'withheld':<45} n = {n:>10,}",
        f"{time:>8}:  {', '.join(span):<45} T = {len(kept):>10,}",
        f"Distribution of T_i:   min{heads}     max",
        f"{'.':>26}{''.join(f'{one:>8}' for one in spread)}{'.':>8}",
    ]
    rule = " " + "-" * 27 + "+" + "-" * max(10, len(kept) + 3)
    lines += ["     Freq.  Percent    Cum. |  Pattern", rule]
    reached = 0
    for text, size in rows:
        reached += size
        shares = f"{fixed(100 * size / n):>9}{fixed(100 * reached / n):>8}"
        lines.append(f"{count_text(float(size)):>10}{shares} |  {text}")
    whole = f"{count_text(float(n)):>10}{'100.00':>9}{'':>8} |  {'X' * len(kept)}"
    return SafeResult(
        command="xtdescribe",
        shown=closed([*lines, rule, whole], True, limits.language),
        frame=pl.DataFrame(rows, schema={"pattern": pl.String, "n": pl.Int64}, orient="row"),
        stored={"N": float(n)},
        checks=[*times.checks, *checks_of(violations, ["minimum"])],
    )


#: What is shown of each class.
MEASURES = ("at_risk", "events", "left", "survival", "std_error")
_HEADS = ("At risk", "Events", "Left", "Survival", "Std. err.")


def survival(
    frame: Any,
    time: str,
    event: str,
    *,
    by: str | None = None,
    edges: Sequence[float] | None = None,
    width: float | None = None,
    **options: Unpack[RecordOptions],
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
    names = [time, event, *([by] if by is not None else [])]
    if len(set(names)) < len(names):
        message = "time, event and groups are different variables"
        raise OutputCheckError(message, code="survival", where=", ".join(names))
    records = take(frame, names, **options)
    limits = records.limits
    lasted, happened = records.numbers(time), records.numbers(event)
    if not np.isin(happened[~np.isnan(happened)], (0.0, 1.0)).all():
        message, hint = "an event is 1 if it happened and 0 if not", "make such a variable first"
        raise OutputCheckError(message, code="survival", where=event, hint=hint)
    if (lasted < 0).any():
        raise OutputCheckError("a time is negative", code="survival", where=time)
    used = ~(np.isnan(happened) | np.isnan(lasted))
    groups = None if by is None else group(records, by)
    data = records.data.filter(pl.Series(used))
    bounding = RecordOptions(limits=limits, entity=records.entity)
    classes = histogram(data, time, edges=edges, width=width, **bounding)
    command = f"survival {time} {event}" + (f", by({by})" if by else "")
    if classes.frame is None:
        return SafeResult(command=command, shown=classes.shown, checks=classes.checks)
    bounds = [float(one) for one in classes.frame["from"].to_list()[1:]]
    who_is = (ALL,) if groups is None else groups.labels
    code = np.zeros(used.size, dtype=np.int64) if groups is None else groups.codes
    inside = used & (code >= 0)
    place = np.searchsorted(np.array(bounds), lasted, side="right")

    def counted(left: Sequence[int], *, cases: bool = True) -> IntArray:
        """Cases, or records, by group, class and event, with the edges that are left."""
        new = np.searchsorted(np.array(left, dtype=np.int64), place[inside], side="left")
        shape = (len(who_is), len(left) + 1, 2)
        three = (code[inside], new, (happened[inside] > 0).astype(np.int64))
        cell = np.full(used.size, -1)
        cell[inside] = np.ravel_multi_index(three, shape)
        counting = records.cases if cases else count_of
        return counting(cell, math.prod(shape)).reshape(shape)

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
    # At risk, events, left, survival and its error, by group and class.
    events, gone = counts[:, :, 1].astype(np.float64), counts[:, :, 0].astype(np.float64)
    total = events + gone
    risk = total.sum(axis=1, keepdims=True) - (np.cumsum(total, axis=1) - total)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(risk > 0, events / risk, 0.0)
        term = np.where(events > 0, events / (risk * (risk - events)), 0.0)
    kept = np.cumprod(1.0 - share, axis=1)
    error = np.where(kept > 0, kept * np.sqrt(np.cumsum(np.where(kept > 0, term, 0.0), axis=1)), 0)
    numbers = dict(zip(MEASURES, (risk, events, gone, kept, error), strict=True))
    labels = class_labels([bounds[at] for at in left])
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for at, name in enumerate(who_is):
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
    broken = [Found("minimum", scope, f"{scope} = {who_is[at]}") for at in np.flatnonzero(hidden)]
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
