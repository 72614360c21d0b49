"""`egen`: variables from whole groups and across variables.

In: a call. Out: a new variable. Groups are those of `by` or `by()`; missing values are left
out as each function asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.blocks import numbers_of
from discreet.output_checking.running.calls import options_of
from discreet.output_checking.running.dataset import Variable
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.evaluating import evaluate, is_text, whole_column
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.reporting import missing_made
from discreet.output_checking.running.selecting import selected
from discreet.output_checking.running.values import MISSING, Floats, Mask, limited

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

_HEAD = re.compile(r"(?:(?P<type>byte|int|long|float|double|str\d*)\s+)?(?P<name>\S+)\Z")
_CALLED = re.compile(r"(?P<function>\w+)\s*\((?P<inside>.*)\)\s*\Z", re.DOTALL)


@dataclass
class _Work:
    """What a function of `egen` works on.

    Args:
        session: The session.
        inside: What stands in the brackets.
        mask: The chosen observations.
        group: Number of each observation's group.
        groups: How many groups there are.
        call: The call, for options.
    """

    session: Session
    inside: str
    mask: Mask
    group: Any
    groups: int
    call: Call

    def values(self) -> Floats:
        """The expression in brackets, missing where an observation is not chosen."""
        value = evaluate(self.inside, self.session.scope(self.call.groups))
        if is_text(value):
            raise DoError("type mismatch", code=109)
        column = np.asarray(whole_column(value, self.session.data.rows), dtype=np.float64)
        return np.where(self.mask, column, MISSING)

    def columns(self) -> list[Floats]:
        """The numeric variables in brackets."""
        data = self.session.data
        found = []
        for name in data.listed(self.inside):
            if data.variables[name].is_text:
                raise DoError("type mismatch", code=109)
            found.append(np.asarray(data.variables[name].values, dtype=np.float64))
        return found


@command(
    "egen",
    summary="variables from groups and across variables",
    by=True,
    expression=True,
    options="by() Missing Punct() p() at() icodes Values()",
)
def egen(session: Session, call: Call) -> None:
    """`egen [type] name = function(…) [if] [in] [, by() …]`."""
    found, called = _HEAD.match(call.head), _CALLED.match(call.expression or "")
    if not found or not called:
        raise DoError("invalid syntax of egen", code=198)
    name, kind = found["name"], found["type"]
    session.data.check_new(name)
    function = _FUNCTIONS.get(called["function"])
    if function is None:
        raise UnsupportedError(f"egen function {called['function']}()")
    mask = selected(session, call)
    group, groups = _groups(session, call)
    work = _Work(session, called["inside"].strip(), mask, group, groups, call)
    result, default = function(work)
    if isinstance(result, Variable):
        session.data.put(name, result)
        return
    numbers = np.where(mask, result, MISSING)
    kept = kind or default
    variable = Variable(limited(numbers, kept), kept)
    session.data.put(name, variable)
    if session.trace.touched:
        session.trace.variables.add(name)
    missing_made(session, int((variable.values >= MISSING).sum()))


def _groups(session: Session, call: Call) -> tuple[Any, int]:
    """The group of each observation: of the prefix, or of the option by()."""
    data = session.data
    option = call.argument("by")
    if option is not None and call.by:
        raise DoError("by and by() may not be combined", code=190)
    names = list(call.by) or (data.listed(option) if option else [])
    return codes_of(session, names)


def codes_of(session: Session, names: list[str]) -> tuple[Any, int]:
    """Groups of equal values, numbered in their order from 0."""
    rows = session.data.rows
    if not names or not rows:
        return np.zeros(rows, dtype=np.int64), int(rows > 0)
    order = session.data.order_of(names)
    ordered = [session.data.variables[name].values[order] for name in names]
    changed = np.zeros(rows, dtype=np.bool_)
    for values in ordered:
        changed[1:] |= values[1:] != values[:-1]
    codes = np.empty(rows, dtype=np.int64)
    codes[order] = np.cumsum(changed)
    return codes, int(changed.sum()) + 1


_Result = tuple[Any, str]


def _reduced(reduce: Callable[[Floats], float]) -> Callable[[_Work], _Result]:
    """A function of the known values of each group."""

    def work(given: _Work) -> _Result:
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


def _total(given: _Work) -> _Result:
    values = given.values()
    known = values < MISSING
    sums = np.bincount(given.group[known], values[known], minlength=given.groups)
    if given.call.has("missing"):
        number = np.bincount(given.group[known], minlength=given.groups)
        sums = np.where(number > 0, sums, MISSING)
    return sums[given.group], "float"


def _mean(given: _Work) -> _Result:
    values = given.values()
    known = values < MISSING
    number = np.bincount(given.group[known], minlength=given.groups)
    sums = np.bincount(given.group[known], values[known], minlength=given.groups)
    with np.errstate(all="ignore"):
        found = np.where(number > 0, sums / np.maximum(number, 1), MISSING)
    return found[given.group], "float"


def _count(given: _Work) -> _Result:
    known = _nonmissing(given)
    return np.bincount(given.group[known], minlength=given.groups)[given.group], "float"


def _nonmissing(given: _Work) -> Mask:
    value = evaluate(given.inside, given.session.scope(given.call.groups))
    column = whole_column(value, given.session.data.rows)
    known = column != "" if is_text(value) else np.asarray(column, dtype=np.float64) < MISSING
    return np.asarray(known & given.mask, dtype=np.bool_)


def _deviation(values: Floats) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else MISSING


def percentile_of(values: Floats, share: float) -> float:
    """A percentile as Stata has it: the mean of two neighbours where the place is whole.

    >>> percentile_of(np.array([1.0, 2.0, 3.0, 4.0]), 0.5)
    2.5
    """
    ordered = np.sort(values)
    place = len(ordered) * share
    whole = int(place)
    if place == whole:
        low = ordered[max(whole - 1, 0)]
        return float((low + ordered[min(whole, len(ordered) - 1)]) / 2)
    return float(ordered[min(whole, len(ordered) - 1)])


def _percentile(given: _Work) -> _Result:
    share = float(given.call.argument("p") or 50) / 100
    return _reduced(lambda values: percentile_of(values, share))(given)


def _rank(given: _Work) -> _Result:
    values = given.values()
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
        found[order] = start + (size[run] + 1) / 2
    return found, "float"


def _group(given: _Work) -> _Result:
    data = given.session.data
    names = data.listed(given.inside)
    known = given.mask.copy()
    if not given.call.has("missing"):
        for name in names:
            values = data.variables[name].values
            known &= values != "" if data.variables[name].is_text else values < MISSING
    codes, _ = codes_of(given.session, names)
    found = np.full(data.rows, MISSING)
    number = np.unique(codes[known], return_inverse=True)[1]
    found[known] = number + 1
    return found, "float"


def _tag(given: _Work) -> _Result:
    data = given.session.data
    group, _ = _group(given)
    found = np.zeros(data.rows)
    known = np.flatnonzero(group < MISSING)
    first = known[np.unique(group[known], return_index=True)[1]]
    found[first] = 1.0
    return np.where(given.mask, found, 0.0), "byte"


def _across(reduce: Callable[[Any, Any], Any]) -> Callable[[_Work], _Result]:
    """A function across variables of one observation: of values and whether each is known."""

    def work(given: _Work) -> _Result:
        table = np.column_stack(given.columns() or [np.full(given.session.data.rows, MISSING)])
        known = table < MISSING
        with np.errstate(all="ignore"):
            return reduce(np.where(known, table, 0.0), known), "float"

    return work


def _row_extreme(choose: Any, nothing: float) -> Callable[[Any, Any], Any]:
    def reduce(table: Any, known: Any) -> Any:
        best = choose(np.where(known, table, nothing), axis=1)
        return np.where(known.any(axis=1), best, MISSING)

    return reduce


def _row_mean(table: Any, known: Any) -> Any:
    number = known.sum(axis=1)
    return np.where(number > 0, table.sum(axis=1) / np.maximum(number, 1), MISSING)


def _row_deviation(table: Any, known: Any) -> Any:
    number = known.sum(axis=1)
    mean = table.sum(axis=1) / np.maximum(number, 1)
    squares = np.where(known, (table - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return np.where(number > 1, np.sqrt(squares / np.maximum(number - 1, 1)), MISSING)


def _row_total(given: _Work) -> _Result:
    table = np.column_stack(given.columns() or [np.full(given.session.data.rows, MISSING)])
    known = table < MISSING
    total = np.where(known, table, 0.0).sum(axis=1)
    if given.call.has("missing"):
        total = np.where(known.any(axis=1), total, MISSING)
    return total, "float"


def _sequence(given: _Work) -> _Result:
    """`seq(), from() to() block()` in its plain form."""
    place = np.arange(given.session.data.rows, dtype=np.float64)
    order = np.argsort(given.group[given.mask], kind="stable")
    rows = np.flatnonzero(given.mask)[order]
    group = given.group[rows]
    first = np.r_[True, group[1:] != group[:-1]] if rows.size else np.zeros(0, dtype=np.bool_)
    counted = np.arange(rows.size)
    place[rows] = counted - np.maximum.accumulate(np.where(first, counted, 0)) + 1
    return place, "float"


def _cut(given: _Work) -> _Result:
    """`cut(x), at(…)`, also with icodes."""
    inside, _, rest = given.inside.partition(",")
    options = {**given.call.options, **options_of(rest)} if rest else given.call.options
    if options.get("at") is None:
        raise UnsupportedError("egen cut() without at()")
    cuts = np.array(numbers_of(str(options["at"])))
    value = evaluate(inside.strip(), given.session.scope(given.call.groups))
    values = np.asarray(whole_column(value, given.session.data.rows), dtype=np.float64)
    at = np.searchsorted(cuts, values, side="right") - 1
    inside_cuts = (at >= 0) & (at < len(cuts) - 1) & (values < MISSING)
    result = at.astype(np.float64) if "icodes" in options else cuts[np.clip(at, 0, len(cuts) - 1)]
    return np.where(inside_cuts, result, MISSING), "float"


def _standard(given: _Work) -> _Result:
    values = given.values()
    known = values[values < MISSING]
    deviation = _deviation(known)
    if deviation >= MISSING or deviation == 0:
        return np.full(len(values), MISSING), "float"
    scaled = (np.where(values < MISSING, values, 0.0) - known.mean()) / deviation
    return np.where(values < MISSING, scaled, MISSING), "float"


def _concat(given: _Work) -> _Result:
    from discreet.output_checking.running.expanding import macro_text

    data, sign = given.session.data, given.call.argument("punct") or ""
    columns = [data.variables[name] for name in data.listed(given.inside)]
    texts = np.empty(data.rows, dtype=object)
    texts[:] = [
        sign.join(one if isinstance(one, str) else macro_text(float(one)) for one in row)
        for row in zip(*(column.values for column in columns), strict=True)
    ]
    texts[~given.mask] = ""
    width = max((len(one.encode()) for one in texts), default=1)
    return Variable(texts, f"str{max(width, 1)}"), ""


def _mode(values: Floats) -> float:
    found, number = np.unique(values, return_counts=True)
    best = found[number == number.max()]
    return float(best[0]) if len(best) == 1 else MISSING


def _any_count(given: _Work) -> _Result:
    wanted = np.array(numbers_of(given.call.argument("values") or ""))
    table = np.column_stack(given.columns())
    return np.isin(table, wanted).sum(axis=1).astype(np.float64), "byte"


_FUNCTIONS: dict[str, Callable[[_Work], _Result]] = {
    "mean": _mean,
    "total": _total,
    "sum": _total,
    "count": _count,
    "sd": _reduced(_deviation),
    "min": _reduced(lambda values: float(values.min())),
    "max": _reduced(lambda values: float(values.max())),
    "median": _reduced(lambda values: percentile_of(values, 0.5)),
    "iqr": _reduced(lambda values: percentile_of(values, 0.75) - percentile_of(values, 0.25)),
    "mode": _reduced(_mode),
    "pctile": _percentile,
    "rank": _rank,
    "group": _group,
    "tag": _tag,
    "rowmean": _across(_row_mean),
    "rowsd": _across(_row_deviation),
    "rowmin": _across(_row_extreme(np.min, np.inf)),
    "rowmax": _across(_row_extreme(np.max, -np.inf)),
    "rownonmiss": _across(lambda table, known: known.sum(axis=1).astype(np.float64)),
    "rowmiss": _across(lambda table, known: (~known).sum(axis=1).astype(np.float64)),
    "rowtotal": _row_total,
    "seq": _sequence,
    "cut": _cut,
    "std": _standard,
    "concat": _concat,
    "anycount": _any_count,
}
