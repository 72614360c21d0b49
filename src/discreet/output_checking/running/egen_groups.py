"""Functions of `egen` that look at whole groups: means, ranks, sequences. CONFIDENTIAL.

In: chosen observations and their groups. Out: one number per observation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.output_checking.running.blocks import numbers_of
from discreet.output_checking.running.dataset import DataSet, Variable
from discreet.output_checking.running.egen_work import Result, Work, codes_of, percent_of
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.evaluating import evaluate, is_text, whole_column
from discreet.output_checking.running.formats import shown_default
from discreet.output_checking.running.single import macro_text
from discreet.output_checking.running.statistics import percentile
from discreet.output_checking.running.values import MISSING, Floats, Mask, tidy

__all__ = ["GROUP_FUNCTIONS"]

#: So many classes `cut()` makes at most.
_PARTS = 10_000


def _reduced(reduce: Callable[[Floats], float]) -> Callable[[Work], Result]:
    """A function of the known values of each group."""

    def work(given: Work) -> Result:
        values = given.values()
        known = values < MISSING
        order = np.argsort(given.group[known], kind="stable")
        chosen, group = values[known][order], given.group[known][order]
        found = np.full(given.groups, MISSING)
        changed = np.r_[True, group[1:] != group[:-1]] if group.size else np.zeros(0, dtype=bool)
        starts = np.flatnonzero(changed)
        for start, end in zip(starts, np.r_[starts[1:], group.size][: starts.size], strict=True):
            found[group[start]] = reduce(chosen[start:end])
        return found[given.group], "float"

    return work


def _total(given: Work) -> Result:
    values = given.values()
    known = values < MISSING
    sums = np.bincount(given.group[known], values[known], minlength=given.groups)
    if given.call.has("missing"):
        number = np.bincount(given.group[known], minlength=given.groups)
        sums = np.where(number > 0, sums, MISSING)
    return sums[given.group], "float"


def _mean(given: Work) -> Result:
    values = given.values()
    known = values < MISSING
    number = np.bincount(given.group[known], minlength=given.groups)
    sums = np.bincount(given.group[known], values[known], minlength=given.groups)
    with np.errstate(all="ignore"):
        found = np.where(number > 0, sums / np.maximum(number, 1), MISSING)
    return found[given.group], "float"


def _count(given: Work) -> Result:
    known = _nonmissing(given)
    return np.bincount(given.group[known], minlength=given.groups)[given.group], "float"


def _nonmissing(given: Work) -> Mask:
    value = evaluate(given.inside, given.session.scope(given.call.groups))
    column = whole_column(value, given.session.data.rows)
    known = column != "" if is_text(value) else np.asarray(column, dtype=np.float64) < MISSING
    return np.asarray(known & given.mask, dtype=np.bool_)


def _deviation(values: Floats) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else MISSING


def _percentile(given: Work) -> Result:
    share = percent_of(given)
    return _reduced(lambda values: percentile(values, share))(given)


def _rank(given: Work) -> Result:
    """Mean ranks of equal values; `field` and `track` count those above or below, `unique` none."""
    values = given.values()
    if given.call.has("field"):
        values = np.where(values < MISSING, -values, MISSING)
    known = np.flatnonzero(values < MISSING)
    order = known[np.lexsort((values[known], given.group[known]))]
    found = np.full(len(values), MISSING)
    group, sorted_values = given.group[order], values[order]
    changed = np.r_[True, (group[1:] != group[:-1]) | (sorted_values[1:] != sorted_values[:-1])]
    first_of_group = np.r_[True, group[1:] != group[:-1]]
    if order.size:
        place = np.arange(order.size) - np.maximum.accumulate(
            np.where(first_of_group, np.arange(order.size), 0)
        )
        run = np.cumsum(changed) - 1
        size = np.bincount(run)
        start = place[changed][run]
        if given.call.has("unique"):
            found[order] = place + 1
        elif given.call.has("field") or given.call.has("track"):
            found[order] = start + 1
        else:
            found[order] = start + (size[run] + 1) / 2
    return found, "float"


def _group(given: Work) -> Result:
    data = given.session.data
    names = given.names()
    known = given.mask.copy()
    if not given.call.has("missing"):
        for name in names:
            values = data.variables[name].values
            known &= values != "" if data.variables[name].is_text else values < MISSING
    codes, _ = codes_of(given.session, names)
    found = np.full(data.rows, MISSING)
    _, first, number = np.unique(codes[known], return_index=True, return_inverse=True)
    found[known] = number + 1
    if given.call.has("label"):
        rows = np.flatnonzero(known)[first]
        return _labelled(given, names, found, rows), ""
    return found, "float"


def _labelled(given: Work, names: list[str], numbers: Floats, rows: Any) -> Variable:
    """Group numbers with the values of their groups as labels, which are never listed."""
    data, label = given.session.data, given.target
    data.value_labels[label] = {
        float(at): " ".join(_said(data, name, row) for name in names)
        for at, row in enumerate(rows, 1)
    }
    given.session.trace.labels.add(label)
    return Variable(numbers, "float", "", "", label)


def _said(data: DataSet, name: str, row: int) -> str:
    variable = data.variables[name]
    value = variable.values[row]
    if isinstance(value, str):
        return value
    text = data.value_labels.get(variable.value_label, {}).get(float(value))
    return text if text is not None else macro_text(float(value))


def _tag(given: Work) -> Result:
    data = given.session.data
    group, _ = _group(given)
    found = np.zeros(data.rows)
    known = np.flatnonzero(group < MISSING)
    first = known[np.unique(group[known], return_index=True)[1]]
    found[first] = 1.0
    return np.where(given.mask, found, 0.0), "byte"


def _sequence(given: Work) -> Result:
    """`seq(), from(#) to(#) block(#)`: a cycle of whole numbers within each group."""
    start, block = given.number("from", 1.0), given.number("block", 1.0)
    end = given.number("to", MISSING)
    if block < 1:
        raise DoError("block() is at least 1", code=198)
    order = np.argsort(given.group[given.mask], kind="stable")
    rows = np.flatnonzero(given.mask)[order]
    group = given.group[rows]
    first = np.r_[True, group[1:] != group[:-1]] if rows.size else np.zeros(0, dtype=np.bool_)
    counted = np.arange(rows.size)
    step = (counted - np.maximum.accumulate(np.where(first, counted, 0))) // block
    if end < MISSING:
        step = step % (abs(end - start) + 1) * (1 if end >= start else -1)
    found = np.full(given.session.data.rows, MISSING)
    found[rows] = start + step
    return found, "float"


def _cut(given: Work) -> Result:
    """`cut(x), at(…)` or `group(#)`, also with icodes and label."""
    options, values = given.call.options, given.values()
    if (options.get("group") is None) == (options.get("at") is None):
        raise DoError("give one of at() and group()", code=198)
    known = values < MISSING
    if options.get("group") is not None:
        parts = int(given.number("group", 2.0))
        if not 1 <= parts <= _PARTS:
            raise DoError(f"group() is from 1 to {_PARTS}", code=198)
        ordered = np.sort(values[known])
        shares = [at / parts for at in range(1, parts)]
        inner = [percentile(ordered, share) for share in shares]
        cuts = np.array([ordered.min(initial=np.inf), *inner, np.inf])
    else:
        cuts = np.array(numbers_of(str(options["at"])))
        if (np.diff(cuts) <= 0).any():
            raise DoError("the numbers of at() must rise", code=198)
    at = np.searchsorted(cuts, values, side="right") - 1
    inside_cuts = (at >= 0) & (at < len(cuts) - 1) & known
    codes = {"icodes", "label", "group"} & options.keys()
    result = at.astype(np.float64) if codes else cuts[np.clip(at, 0, len(cuts) - 1)]
    found = np.where(inside_cuts, result, MISSING)
    if "label" in options:
        return _named_classes(given, found, cuts), ""
    return found, "float"


def _named_classes(given: Work, found: Floats, cuts: Floats) -> Variable:
    """Classes with their lower ends as labels; percentiles are values of the data."""
    texts = {float(at): f"{shown_default(float(cut), 9)}-" for at, cut in enumerate(cuts[:-1])}
    given.session.data.value_labels[given.target] = texts
    if given.call.has("group") or given.session.trace.touched:
        given.session.trace.labels.add(given.target)
    return Variable(found, "float", "", "", given.target)


def _standard(given: Work) -> Result:
    """`std(x), mean(#) std(#)`."""
    mean, scale = given.number("mean", 0.0), given.number("sd", given.number("std", 1.0))

    def scaled(values: Floats) -> Any:
        deviation = _deviation(values)
        if deviation >= MISSING or deviation == 0:
            return np.full(len(values), MISSING)
        return mean + scale * (values - values.mean()) / deviation

    return _within(given, scaled), "float"


def _share_of_total(given: Work) -> Result:
    """`pc(x) [, prop]`."""
    unit = 1.0 if given.call.has("prop") else 100.0
    return _within(given, lambda values: unit * values / values.sum()), "float"


def _within(given: Work, change: Callable[[Floats], Any]) -> Floats:
    """What becomes of the known values of each group."""
    values = given.values()
    found = np.full(len(values), MISSING)
    known = np.flatnonzero(values < MISSING)
    rows = known[np.argsort(given.group[known], kind="stable")]
    cuts = np.flatnonzero(np.diff(given.group[rows])) + 1
    for part in np.split(rows, cuts):
        if len(part):
            with np.errstate(all="ignore"):
                found[part] = tidy(change(values[part]))
    return found


def _mode(given: Work) -> Result:
    """`mode(x) [, minmode maxmode]`; missing where several values are as frequent."""

    def most(values: Floats) -> float:
        found, number = np.unique(values, return_counts=True)
        best = found[number == number.max()]
        if len(best) == 1 or given.call.has("minmode"):
            return float(best[0])
        return float(best[-1]) if given.call.has("maxmode") else MISSING

    return _reduced(most)(given)


def _moment(order: int) -> Callable[[Floats], float]:
    """Skewness or kurtosis, as `summarize, detail` has them."""

    def work(values: Floats) -> float:
        off = values - values.mean()
        spread = (off**2).mean()
        return float((off**order).mean() / spread ** (order / 2)) if spread > 0 else MISSING

    return work


def _absolute(centre: Callable[[Floats], float], whole: Callable[[Floats], float]) -> Any:
    return lambda values: float(whole(np.abs(values - centre(values))))


GROUP_FUNCTIONS: dict[str, Callable[[Work], Result]] = {
    "mean": _mean,
    "total": _total,
    "sum": _total,
    "count": _count,
    "sd": _reduced(_deviation),
    "min": _reduced(lambda values: float(values.min())),
    "max": _reduced(lambda values: float(values.max())),
    "median": _reduced(lambda values: percentile(values, 0.5)),
    "iqr": _reduced(lambda values: percentile(values, 0.75) - percentile(values, 0.25)),
    "mad": _reduced(
        _absolute(lambda values: percentile(values, 0.5), lambda off: percentile(off, 0.5))
    ),
    "mdev": _reduced(_absolute(lambda values: float(values.mean()), lambda off: float(off.mean()))),
    "skew": _reduced(_moment(3)),
    "kurt": _reduced(_moment(4)),
    "mode": _mode,
    "pctile": _percentile,
    "pc": _share_of_total,
    "rank": _rank,
    "group": _group,
    "tag": _tag,
    "seq": _sequence,
    "cut": _cut,
    "std": _standard,
}
