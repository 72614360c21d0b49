"""`egen`: variables from whole groups and across variables. CONFIDENTIAL.

In: a call: chosen observations and their groups, those of `by` or `by()`. Out: a new variable,
one number or text per observation. Missing values are left out as each function asks for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet_fire.catalogue import check_function_names, function_table, statistic_facts
from discreet_fire.runners.builtin.data.dataset import DataSet, DataVariable, missing_values
from discreet_fire.runners.builtin.data.true_statistics import STATISTICS, percentile
from discreet_fire.runners.builtin.disclosure.dependence import (
    altered,
    depends_on_few_units,
    rests_on_one_unit,
)
from discreet_fire.runners.builtin.disclosure.record_counts import put_numbers
from discreet_fire.runners.builtin.disclosure.units import few
from discreet_fire.runners.builtin.interpreter import numbers_of
from discreet_fire.runners.builtin.language.calls import CommandCall
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.language.expressions import evaluate, number_column, whole_column
from discreet_fire.runners.builtin.language.scope import ExpressionUse, Scope
from discreet_fire.runners.builtin.language.values import MISSING, is_text, shown_default, tidy
from discreet_fire.runners.builtin.names import macro_text, scope_of
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import codes_of, selected
from discreet_fire.runners.builtin.state.session import Session

#: What a function gives: numbers, or a whole variable, and the default storage type.
EgenResult = tuple[Any, str]


@dataclass(repr=False)
class EgenInput:
    """What a function of `egen` works on: what stands in its brackets, which of how many groups
    each observation is in, and the `others` that have other values here than in the data.
    """

    session: Session
    inside: str
    mask: BoolArray
    group: Any
    groups: int
    call: CommandCall
    target: str = ""
    use: ExpressionUse = field(default_factory=ExpressionUse)
    others: Mapping[str, Any] = field(default_factory=dict)

    def scope(self) -> Scope:
        """What expressions are evaluated in."""
        return scope_of(self.session, self.call.groups, use=self.use, others=self.others)

    def variable(self, name: str) -> DataVariable:
        """A variable of the data, or with other values."""
        variable = self.session.data.variables[name]
        return replace(variable, values=self.others[name]) if name in self.others else variable

    def values(self, expression: str = "") -> FloatArray:
        """The expression in brackets, missing where an observation is not chosen."""
        scope, text = self.scope(), expression or self.inside
        value = evaluate(text, scope)
        self.session.trace.touch(depends_on_few_units(self.session, text, scope, value, self.mask))
        return np.where(self.mask, number_column(value, self.session.data.rows), MISSING)

    def names(self) -> list[str]:
        """The variables in brackets; the trace learns of those that may not be shown."""
        names = self.session.data.listed(self.inside)
        if self.session.trace.variables.intersection(names):
            self.session.trace.touch()
        return names

    def table(self) -> Any:
        """The numeric variables in brackets, as columns."""
        variables = [self.variable(name) for name in self.names()]
        DoError.when(any(one.is_text for one in variables), "type mismatch", code=109)
        return np.column_stack([np.asarray(one.values, np.float64) for one in required(variables)])


def _percent_of(request: EgenInput) -> float:
    """The option p(), as a share."""
    percent = request.call.number("p", 50.0)
    DoError.when(not 0 < percent < 100, "p() is between 0 and 100", code=198)
    return percent / 100


#: So many classes `cut()` makes at most.
_PARTS = 10_000


def _parts(request: EgenInput, values: FloatArray) -> list[Any]:
    """The rows of the known values of each group."""
    known = np.flatnonzero(values < MISSING)
    rows = known[np.argsort(request.group[known], kind="stable")]
    cuts = np.flatnonzero(np.diff(request.group[rows])) + 1
    return [part for part in np.split(rows, cuts) if len(part)]


def _reduced(reduce: Callable[[FloatArray], float]) -> Callable[[EgenInput], EgenResult]:
    """A function of the known values of each group."""

    def work(given: EgenInput) -> EgenResult:
        values, result = given.values(), np.full(given.groups, MISSING)
        for part in _parts(given, values):
            result[given.group[part[0]]] = reduce(values[part])
        return result[given.group], "float"

    return work


def _sums(request: EgenInput) -> tuple[Any, Any]:
    """The sum of each group, and of how many known values it is."""
    values = request.values()
    known = values < MISSING
    sums = np.bincount(request.group[known], values[known], minlength=request.groups)
    return sums, np.bincount(request.group[known], minlength=request.groups)


def _total(request: EgenInput) -> EgenResult:
    sums, number = _sums(request)
    if request.call.has("missing"):
        sums = np.where(number > 0, sums, MISSING)
    return sums[request.group], "float"


def _mean(request: EgenInput) -> EgenResult:
    sums, number = _sums(request)
    with np.errstate(all="ignore"):
        means = np.where(number > 0, sums / np.maximum(number, 1), MISSING)
    return means[request.group], "float"


def _count(request: EgenInput) -> EgenResult:
    known = _nonmissing(request)
    return np.bincount(request.group[known], minlength=request.groups)[request.group], "float"


def _nonmissing(request: EgenInput) -> BoolArray:
    value = evaluate(request.inside, request.scope())
    column = whole_column(value, request.session.data.rows)
    known = column != "" if is_text(value) else np.asarray(column, dtype=np.float64) < MISSING
    return np.asarray(known & request.mask, dtype=np.bool_)


def _deviation(values: FloatArray) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else MISSING


def _share(share: float) -> Callable[[EgenInput], EgenResult]:
    return _reduced(lambda values: percentile(values, share))


def _rank(request: EgenInput) -> EgenResult:
    """Mean ranks of equal values; `field` and `track` count those above or below, `unique` none."""
    values = request.values()
    if request.call.has("field"):
        values = np.where(values < MISSING, -values, MISSING)
    known = np.flatnonzero(values < MISSING)
    order = known[np.lexsort((values[known], request.group[known]))]
    ranks = np.full(len(values), MISSING)
    group, sorted_values = request.group[order], values[order]
    changed = np.r_[True, (group[1:] != group[:-1]) | (sorted_values[1:] != sorted_values[:-1])]
    first_of_group = np.r_[True, group[1:] != group[:-1]]
    if order.size:
        place = np.arange(order.size) - np.maximum.accumulate(
            np.where(first_of_group, np.arange(order.size), 0)
        )
        run = np.cumsum(changed) - 1
        size = np.bincount(run)
        start = place[changed][run]
        if request.call.has("unique"):
            ranks[order] = place + 1
        elif request.call.has("field") or request.call.has("track"):
            ranks[order] = start + 1
        else:
            ranks[order] = start + (size[run] + 1) / 2
    return ranks, "float"


def _group(request: EgenInput) -> EgenResult:
    data = request.session.data
    names = request.names()
    known = request.mask.copy()
    if not request.call.has("missing"):
        for name in names:
            known &= ~missing_values(data.variables[name])
    codes, _ = codes_of(request.session, names)
    numbers = np.full(data.rows, MISSING)
    _, first, number = np.unique(codes[known], return_index=True, return_inverse=True)
    numbers[known] = number + 1
    if request.call.has("label"):
        rows = np.flatnonzero(known)[first]
        return _labelled(request, names, numbers, rows), ""
    return numbers, "float"


def _labelled(request: EgenInput, names: list[str], numbers: FloatArray, rows: Any) -> DataVariable:
    """Group numbers with the values of their groups as labels, which are never listed."""
    data, label = request.session.data, request.target
    data.value_labels[label] = {
        float(at): " ".join(_said(data, name, row) for name in names)
        for at, row in enumerate(rows, 1)
    }
    request.session.trace.labels.add(label)
    return DataVariable(numbers, "float", "", "", label)


def _said(data: DataSet, name: str, row: int) -> str:
    variable = data.variables[name]
    value = variable.values[row]
    if isinstance(value, str):
        return value
    text = data.value_labels.get(variable.value_label, {}).get(float(value))
    return text if text is not None else macro_text(float(value))


def _tag(request: EgenInput) -> EgenResult:
    data = request.session.data
    group, _ = _group(request)
    tags = np.zeros(data.rows)
    known = np.flatnonzero(group < MISSING)
    first = known[np.unique(group[known], return_index=True)[1]]
    tags[first] = 1.0
    return np.where(request.mask, tags, 0.0), "byte"


def _sequence(request: EgenInput) -> EgenResult:
    """`seq(), from(#) to(#) block(#)`: a cycle of whole numbers within each group."""
    start, block = request.call.number("from", 1.0), request.call.number("block", 1.0)
    end = request.call.number("to", MISSING)
    DoError.when(block < 1, "block() is at least 1", code=198)
    order = np.argsort(request.group[request.mask], kind="stable")
    rows = np.flatnonzero(request.mask)[order]
    group = request.group[rows]
    first = np.r_[True, group[1:] != group[:-1]] if rows.size else np.zeros(0, dtype=np.bool_)
    counted = np.arange(rows.size)
    step = (counted - np.maximum.accumulate(np.where(first, counted, 0))) // block
    if end < MISSING:
        step = step % (abs(end - start) + 1) * (1 if end >= start else -1)
    sequence = np.full(request.session.data.rows, MISSING)
    sequence[rows] = start + step
    return sequence, "float"


def _cut(request: EgenInput) -> EgenResult:
    """`cut(x), at(…)` or `group(#)`, also with icodes and label."""
    options, values = request.call.options, request.values()
    if (options.get("group") is None) == (options.get("at") is None):
        raise DoError("give one of at() and group()", code=198)
    known = values < MISSING
    if options.get("group") is not None:
        parts = int(request.call.number("group", 2.0))
        DoError.when(not 1 <= parts <= _PARTS, f"group() is from 1 to {_PARTS}", code=198)
        ordered = np.sort(values[known])
        shares = [at / parts for at in range(1, parts)]
        inner = [percentile(ordered, share) for share in shares]
        cuts = np.array([ordered.min(initial=np.inf), *inner, np.inf])
    else:
        cuts = np.array(numbers_of(str(options["at"])))
        DoError.when((np.diff(cuts) <= 0).any(), "the numbers of at() must rise", code=198)
    at = np.searchsorted(cuts, values, side="right") - 1
    inside_cuts = (at >= 0) & (at < len(cuts) - 1) & known
    codes = {"icodes", "label", "group"} & options.keys()
    result = at.astype(np.float64) if codes else cuts[np.clip(at, 0, len(cuts) - 1)]
    classes = np.where(inside_cuts, result, MISSING)
    if "label" in options:
        return _named_classes(request, classes, cuts), ""
    return classes, "float"


def _named_classes(request: EgenInput, numbers: FloatArray, cuts: FloatArray) -> DataVariable:
    """Classes with their lower ends as labels; percentiles are values of the data."""
    texts = {float(at): f"{shown_default(float(cut), 9)}-" for at, cut in enumerate(cuts[:-1])}
    request.session.data.value_labels[request.target] = texts
    if request.call.has("group") or request.session.trace.touched:
        request.session.trace.labels.add(request.target)
    return DataVariable(numbers, "float", "", "", request.target)


def _standard(request: EgenInput) -> EgenResult:
    """`std(x), mean(#) std(#)`."""
    mean = request.call.number("mean", 0.0)
    scale = request.call.number("sd", request.call.number("std", 1.0))

    def scaled(values: FloatArray) -> Any:
        deviation = _deviation(values)
        if deviation >= MISSING or deviation == 0:
            return np.full(len(values), MISSING)
        return mean + scale * (values - values.mean()) / deviation

    return _within(request, scaled), "float"


def _shares_of(call: CommandCall) -> Callable[[FloatArray], Any]:
    """`pc(x) [, prop]`: percentages or shares of the total."""
    unit = 1.0 if call.has("prop") else 100.0
    return lambda values: unit * values / values.sum()


def _within(request: EgenInput, change: Callable[[FloatArray], Any]) -> FloatArray:
    """What becomes of the known values of each group."""
    values = request.values()
    changed = np.full(len(values), MISSING)
    for part in _parts(request, values):
        with np.errstate(all="ignore"):
            changed[part] = tidy(change(values[part]))
    return changed


def _mode(request: EgenInput) -> EgenResult:
    """`mode(x) [, minmode maxmode]`; missing where several values are as frequent."""

    def most(values: FloatArray) -> float:
        distinct, number = np.unique(values, return_counts=True)
        best = distinct[number == number.max()]
        if len(best) == 1 or request.call.has("minmode"):
            return float(best[0])
        return float(best[-1]) if request.call.has("maxmode") else MISSING

    return _reduced(most)(request)


def _moment(order: int) -> Callable[[FloatArray], float]:
    """Skewness or kurtosis, as `summarize, detail` has them."""

    def work(values: FloatArray) -> float:
        off = values - values.mean()
        spread = (off**2).mean()
        return float((off**order).mean() / spread ** (order / 2)) if spread > 0 else MISSING

    return work


def _absolute(centre: Callable[[FloatArray], float], whole: Callable[[FloatArray], float]) -> Any:
    return lambda values: float(whole(np.abs(values - centre(values))))


GROUP_FUNCTIONS: dict[str, Callable[[EgenInput], EgenResult]] = {
    "mean": _mean,
    "total": _total,
    "sum": _total,
    "count": _count,
    "sd": _reduced(_deviation),
    "min": _reduced(lambda values: float(values.min())),
    "max": _reduced(lambda values: float(values.max())),
    "median": _share(0.5),
    "iqr": _reduced(lambda values: percentile(values, 0.75) - percentile(values, 0.25)),
    "mad": _reduced(
        _absolute(lambda values: percentile(values, 0.5), lambda off: percentile(off, 0.5))
    ),
    "mdev": _reduced(_absolute(lambda values: float(values.mean()), lambda off: float(off.mean()))),
    "skew": _reduced(_moment(3)),
    "kurt": _reduced(_moment(4)),
    "mode": _mode,
    "pctile": lambda given: _share(_percent_of(given))(given),
    "pc": lambda given: (_within(given, _shares_of(given.call)), "float"),
    "rank": _rank,
    "group": _group,
    "tag": _tag,
    "seq": _sequence,
    "cut": _cut,
    "std": _standard,
}


def _across(reduce: Callable[[Any, Any], Any]) -> Callable[[EgenInput], EgenResult]:
    """A function across variables of one observation: of values and whether each is known."""

    def work(given: EgenInput) -> EgenResult:
        table = given.table()
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


def _row_total(request: EgenInput) -> EgenResult:
    table = request.table()
    known = table < MISSING
    total = np.where(known, table, 0.0).sum(axis=1)
    if request.call.has("missing"):
        total = np.where(known.any(axis=1), total, MISSING)
    return total, "float"


def _concat(request: EgenInput) -> EgenResult:
    """Values one after the other; numbers as `string()` writes them."""
    data, sign = request.session.data, (request.call.argument("punct") or "").strip('"')
    columns = [request.variable(name) for name in request.names()]
    texts = np.empty(data.rows, dtype=object)
    texts[:] = [
        sign.join(one if isinstance(one, str) else shown_default(float(one), 9) for one in row)
        for row in zip(*(column.values for column in columns), strict=True)
    ]
    texts[~request.mask] = ""
    width = max((len(one.encode()) for one in texts), default=1)
    return DataVariable(texts, f"str{max(width, 1)}"), ""


def _any_count(request: EgenInput) -> EgenResult:
    wanted = np.array(numbers_of(request.call.argument("values") or ""))
    table = request.table()
    return np.isin(table, wanted).sum(axis=1).astype(np.float64), "byte"


def _known_cells(request: EgenInput, *, texts: bool = False) -> Any:
    """1 where a variable is known, else 0; texts count too with the option strok."""
    variables = required([request.variable(name) for name in request.names()])
    texts = texts or request.call.has("strok")
    DoError.when(any(one.is_text for one in variables) and not texts, "type mismatch", code=109)
    return np.column_stack([~missing_values(one) for one in variables]).astype(np.float64)


def _any_value(request: EgenInput) -> EgenResult:
    """Values of a variable that are in a list; others are missing."""
    wanted = np.array(numbers_of(request.call.argument("values") or ""))
    values = request.values()
    return np.where(np.isin(values, wanted), values, MISSING), "float"


def _differ(request: EgenInput) -> EgenResult:
    """1 where the variables are not all equal."""
    columns = [request.variable(name).values for name in request.names()]
    different = np.zeros(request.session.data.rows, dtype=np.bool_)
    for one in columns[1:]:
        different |= np.asarray(one != columns[0], dtype=np.bool_)
    return different.astype(np.float64), "byte"


def _row_percentile(share: float | None) -> Callable[[EgenInput], EgenResult]:
    def work(given: EgenInput) -> EgenResult:
        wanted = _percent_of(given) if share is None else share
        table = given.table()
        percentiles = [percentile(row[row < MISSING], wanted) for row in table]
        return np.array(percentiles, dtype=np.float64), "float"

    return work


def _row_end(*, last: bool) -> Callable[[Any, Any], Any]:
    def reduce(table: Any, known: Any) -> Any:
        place = known[:, ::-1].argmax(axis=1) if last else known.argmax(axis=1)
        place = known.shape[1] - 1 - place if last else place
        return np.where(known.any(axis=1), table[np.arange(len(table)), place], MISSING)

    return reduce


ROW_FUNCTIONS: dict[str, Callable[[EgenInput], EgenResult]] = {
    "rowmean": _across(_row_mean),
    "rowsd": _across(_row_deviation),
    "rowmin": _across(_row_extreme(np.min, np.inf)),
    "rowmax": _across(_row_extreme(np.max, -np.inf)),
    "rowmedian": _row_percentile(0.5),
    "rowpctile": _row_percentile(None),
    "rowfirst": _across(_row_end(last=False)),
    "rowlast": _across(_row_end(last=True)),
    "rownonmiss": lambda given: (_known_cells(given).sum(axis=1), "float"),
    "rowmiss": lambda given: ((1 - _known_cells(given, texts=True)).sum(axis=1), "float"),
    "rowtotal": _row_total,
    "concat": _concat,
    "diff": _differ,
    "anycount": _any_count,
    "anymatch": lambda given: ((_any_count(given)[0] > 0).astype(np.float64), "byte"),
    "anyvalue": _any_value,
}


_HEAD = re.compile(r"(?:(?P<type>byte|int|long|float|double|str\d*)\s+)?(?P<name>\S+)\Z")
FUNCTIONS = {**GROUP_FUNCTIONS, **ROW_FUNCTIONS}
check_function_names(
    function_table().statistics, {*FUNCTIONS, *STATISTICS, "first", "last", "percent"}
)
_CALLED = re.compile(r"(?P<function>\w+)\s*\((?P<inside>.*)\)\s*\Z", re.DOTALL)


@command("egen")
def egen(session: Session, call: CommandCall) -> None:
    """`egen [type] name = function(…) [if] [in] [, by() …]`."""
    match, called = (
        required(one, "invalid syntax of egen", code=198)
        for one in (_HEAD.match(call.head), _CALLED.match(call.expression or ""))
    )
    name, kind = match["name"], match["type"]
    session.data.check_new(name)
    function = FUNCTIONS.get(called["function"])
    if function is None:
        raise UnsupportedError(f"egen function {called['function']}()")
    _check_options(called["function"], call)
    mask = selected(session, call)
    group, groups = _groups(session, call)
    work = EgenInput(session, called["inside"].strip(), mask, group, groups, call, name)
    if statistic_facts(called["function"]).ordered or call.has("unique"):
        session.trace.ordered()
    result, default = function(work)
    session.trace.touch(work.use.few or work.use.rest)
    if called["function"] in ROW_FUNCTIONS and not isinstance(result, DataVariable):
        session.trace.touch(_row_function_depends_on_few(work, function, result))
    chosen = np.where(mask, group, -1)
    session.trace.touch(rests_on_one_unit(session, called["function"], chosen, work.values))
    if isinstance(result, DataVariable):
        session.put(name, result, ())
        return
    kept = kind or (session.options.values.get("type", "float") if default == "float" else default)
    put_numbers(session, name, np.where(mask, result, MISSING), kept)


def _check_options(function: str, call: CommandCall) -> None:
    """Stop at an option that the function does not have."""
    if function == "concat" and "p" in call.options:
        call.options["punct"] = call.options.pop("p")
    facts = statistic_facts(function)
    for option in call.options:
        if option != "by" and option not in facts.options.split():
            raise UnsupportedError(f"option {option} of egen {function}()")
    if not facts.groups and (call.by or call.has("by")):
        raise DoError(f"egen {function}() may not be combined with by", code=190)
    if len(call.options.keys() & {"field", "track", "unique"}) > 1:
        raise DoError("give one of field, track and unique", code=198)


def _groups(session: Session, call: CommandCall) -> tuple[Any, int]:
    """The group of each observation: of the prefix, or of the option by()."""
    option = call.argument("by")
    DoError.when(option is not None and call.by, "by and by() may not be combined", code=190)
    names = list(call.by) or session.data.listed(option or "")
    session.trace.touch(not session.trace.variables.isdisjoint(names))
    return codes_of(session, names)


def _row_function_depends_on_few(work: EgenInput, function: Any, result: Any) -> bool:
    """Whether some variable matters for a few only, in a function across variables."""
    data, trace = work.session.data, work.session.trace
    for name in dict.fromkeys(work.names()):
        if name in trace.own or data.variables[name].is_text:
            continue
        changed = np.zeros(data.rows, dtype=np.bool_)
        with trace.apart():
            for values in altered(data.variables[name].values):
                other = replace(work, use=ExpressionUse(), others={name: values})
                changed |= np.asarray(function(other)[0] != result, dtype=np.bool_)
        if few(work.session, changed & work.mask):
            return True
    return False
