"""Statistics of groups as data: `collapse`, `contract`, `xtile`, `pctile`, `_pctile`. CONFIDENTIAL.

In: calls. Out: the session's data replaced by statistics of groups, or classes by percentiles as
new variables, or r(r1), r(r2), … for the program's own use. Nothing is shown here. Percentiles
are single values of the data: what holds them is never shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, CellIndex, FloatArray
from discreet_fire.catalogue import statistic_facts
from discreet_fire.runners.builtin.data.dataset import (
    DataSet,
    DataVariable,
    check_room,
    missing_values,
)
from discreet_fire.runners.builtin.data.true_statistics import percentile, statistic_of
from discreet_fire.runners.builtin.disclosure.copies import note_groups
from discreet_fire.runners.builtin.disclosure.dependence import groups_of_many, rests_on_one_unit
from discreet_fire.runners.builtin.disclosure.record_counts import nobody
from discreet_fire.runners.builtin.disclosure.units import conflicts_with_earlier, number_microdata
from discreet_fire.runners.builtin.interpreter import numbers_of
from discreet_fire.runners.builtin.language.calls import CommandCall
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.language.expressions import evaluate, number_column
from discreet_fire.runners.builtin.language.values import (
    MISSING,
    WHOLE,
    is_format,
    limited,
    smallest_type,
)
from discreet_fire.runners.builtin.names import scope_of
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import codes_of, selected, weights_of
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.statistics import CheckVerdict

_PART = re.compile(r"\(\s*([A-Za-z]\w*)\s*\)")


@dataclass(frozen=True)
class _Target:
    """A new variable: its name, the statistic, the variable it is of."""

    name: str
    statistic: str
    source: str


@command("collapse")
def collapse(session: Session, call: CommandCall) -> None:
    """`collapse [(stat)] [name=]varlist … [if] [in] [weight] [, by(varlist) cw]`."""
    data = session.data
    targets = _targets(session, call)
    names = data.listed(call.argument("by") or "")
    for target in targets:
        DoError.when(target.name in names, f"variable {target.name} is also in by()", code=198)
    mask = selected(session, call)
    weights = weights_of(session, call, mask, default="aweight")
    kind = "" if call.weight is None else call.weight.kind
    kind = "aweight" if kind == "weight" else kind
    if call.has("cw"):
        for target in targets:
            mask &= ~missing_values(data.variables[target.source])
    if not mask.any():
        raise nobody(session)
    # Figures of groups can be merged again and taken from each other, as shown ones can.
    sources = [target.source for target in targets]
    session.trace.touch(conflicts_with_earlier(session, mask, sources))
    groups = _groups(session, names, mask)
    result = DataSet(rows=len(groups), label=data.label, sorted_by=tuple(names))
    for name in names:
        result.variables[name] = data.variables[name].taken(np.array([part[0] for part in groups]))
    code = np.full(data.rows, -1, dtype=np.int64)
    for number, rows in enumerate(groups):
        code[rows] = number
    if any(statistic_facts(target.statistic).ordered for target in targets):
        session.trace.ordered()
    enough: dict[str, Any] = {}
    for target in targets:
        result.variables[target.name] = _made(session, target, groups, mask, weights, kind)
        session.derive(target.name, [target.source, *names])
        values = data.variables[target.source].values
        if rests_on_one_unit(session, target.statistic, code, values.__array__):
            session.trace.variables.add(target.name)
        known = np.where(missing_values(data.variables[target.source]), -1, code)
        many = groups_of_many(session, known, len(groups))
        enough[target.name] = many[0]
        if (many[0] & ~many).any():
            session.trace.variables.add(target.name)
    used = {one.value_label for one in result.variables.values()} - {""}
    result.value_labels = {name: texts for name, texts in data.value_labels.items() if name in used}
    session.data = result
    _doubt(session, "collapse")
    note_groups(session, enough)


def _doubt(session: Session, command_name: str) -> None:
    """What is shown of the new data counts groups, not those whom the data are about."""
    reason = "each observation is a group now; minimum cases are counted in groups"
    number_microdata(session, session.data)
    session.flag(command_name, "groups", CheckVerdict.review, reason, shown=None)


def _targets(session: Session, call: CommandCall) -> list[_Target]:
    """What is to be worked out; the mean unless a statistic stands before."""
    data = session.data
    targets: list[_Target] = []
    pieces = _PART.split(call.head)
    parts = [("mean", pieces[0]), *zip(pieces[1::2], pieces[2::2], strict=True)]
    for statistic, text in parts:
        for word in re.sub(r"\s*=\s*", "=", text).split():
            target, sign, source = word.partition("=")
            names = data.listed(source if sign else word)
            targets.extend(_Target(target if sign else name, statistic, name) for name in names)
    required(targets)
    if len({one.name for one in targets}) < len(targets):
        raise DoError("a name is used for several statistics", code=198)
    for one in targets:
        text = data.variables[one.source].is_text
        counted = one.statistic == "count" or statistic_facts(one.statistic).gives == "end"
        DoError.when(text and not counted, "type mismatch", code=109)
        if one.statistic not in ("first", "last", "percent") and not statistic_of(one.statistic):
            raise UnsupportedError(f"collapse with ({one.statistic})")
        if one.name not in data.variables:
            data.check_new(one.name)
    return targets


def _groups(session: Session, names: list[str], mask: BoolArray) -> list[Any]:
    """The rows of each group, in order."""
    codes, _ = codes_of(session, names)
    rows = np.flatnonzero(mask)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    cuts = np.flatnonzero(np.diff(codes[rows])) + 1
    return np.split(rows, cuts)


def _made(
    session: Session,
    target: _Target,
    groups: list[Any],
    mask: BoolArray,
    weights: FloatArray | None,
    kind: str,
) -> DataVariable:
    variable = session.data.variables[target.source]
    label = f"({target.statistic}) {variable.label or target.source}"
    known = ~missing_values(variable)
    facts = statistic_facts(target.statistic)
    if facts.gives == "end":
        ends = _ends(variable, target.statistic, groups)
        return replace(variable, values=ends, label=label, sources=())
    if target.statistic == "percent" or variable.is_text:
        counts = [_sized(part[known[part]], weights, kind) for part in groups]
        if target.statistic != "percent":
            return DataVariable(np.array(counts), smallest_type(np.array(counts)), "", label)
        total = sum(counts)
        shares = np.array([100 * count / total if total else 0.0 for count in counts])
        return DataVariable(shares, "double", "", label)
    work = statistic_of(target.statistic)
    if kind in facts.without.split():
        raise DoError(f"{kind}s not allowed with ({target.statistic})", code=135)
    results = []
    for part in groups:
        rows = part[known[part]]
        weight = None if weights is None else weights[rows]
        results.append(work(variable.values[rows], weight, kind))  # type: ignore[misc]
    values = np.array(results, dtype=np.float64)
    if facts.gives == "value":
        return replace(variable, values=values, label=label, sources=())
    if target.statistic == "count":
        return DataVariable(values, "long" if kind != "pweight" else "double", "", label)
    layout = variable.layout if target.statistic != "sum" else ""
    return DataVariable(values, "double", layout, label)


def _sized(rows: Any, weights: FloatArray | None, kind: str) -> float:
    if weights is None or kind == "aweight":
        return float(len(rows))
    return float(weights[rows].sum())


def _ends(variable: DataVariable, statistic: str, groups: list[Any]) -> Any:
    """The first or last value of each group; with `nm` the first or last known one."""
    known = ~missing_values(variable)
    places = []
    for part in groups:
        rows = part[known[part]] if statistic.endswith("nm") else part
        rows = rows if len(rows) else part
        places.append(rows[0] if statistic.startswith("first") else rows[-1])
    return variable.values[np.array(places, dtype=np.int64)]


def _percent_layout(call: CommandCall) -> str:
    """The display format of percentages."""
    layout = (call.argument("format") or "%8.2f").strip('" ')
    DoError.when(not is_format(layout), "invalid display format", code=120)
    return layout


@command("contract")
def contract(session: Session, call: CommandCall) -> None:
    """`contract varlist [if] [in] [fweight] [, freq(name) zero nomiss]`."""
    data = session.data
    names = required(data.listed(call.head))
    mask = selected(session, call)
    weights = weights_of(session, call, mask, default="fweight")
    if call.has("nomiss"):
        for name in names:
            mask &= ~missing_values(data.variables[name])
    if not mask.any():
        raise nobody(session)
    groups = _groups(session, names, mask)
    counts = np.array([_sized(part, weights, "fweight") for part in groups])
    result = DataSet(rows=len(counts), sorted_by=tuple(names), label=data.label)
    for name in names:
        result.variables[name] = data.variables[name].taken(np.array([part[0] for part in groups]))
    if call.has("zero"):
        counts = _with_zeros(result, names, counts)
    total = counts.sum()
    columns = {"freq": counts, "cfreq": np.cumsum(counts), "percent": 100 * counts / total,
               "cpercent": 100 * np.cumsum(counts) / total}  # fmt: skip
    for option, values in columns.items():
        argument = call.argument(option)
        name = (argument or ("_freq" if option == "freq" else "")).strip()
        if name:
            result.check_new(name)
            kind = smallest_type(values) if option.endswith("freq") else "float"
            shown = "" if option.endswith("freq") else _percent_layout(call)
            kept = limited(np.asarray(values, dtype=np.float64), kind)
            result.variables[name] = DataVariable(kept, kind, shown)
    result.value_labels = dict(data.value_labels)
    code = np.full(data.rows, -1, dtype=np.int64)
    for number, rows in enumerate(groups):
        code[rows] = number
    many = groups_of_many(session, code, len(groups)).all(axis=0)
    session.data = result
    _doubt(session, "contract")
    if not call.has("zero"):
        note_groups(session, {name: many for name in result.variables if name not in names})


def _with_zeros(result: DataSet, names: list[str], counts: Any) -> Any:
    """Also the combinations that do not occur."""
    codes: list[Any] = [
        np.unique(result.variables[name].values, return_inverse=True) for name in names
    ]
    sizes = [len(values) for values, _ in codes]
    grid = CellIndex(tuple(sizes))
    check_room(grid.size, len(names))
    every = np.zeros(grid.size)
    every[grid.numbers([place_codes for _, place_codes in codes])] = counts
    for name, (values, _), at in zip(names, codes, grid.every(), strict=True):
        result.variables[name] = replace(result.variables[name], values=values[at], sources=())
    result.rows = len(every)
    return every


#: So many classes are made at most.
_PARTS = 10_000


def _known(session: Session, call: CommandCall, expression: str) -> tuple[Any, Any, Any]:
    """All values, which of them count, and the weights of those."""
    mask = selected(session, call)
    weights = weights_of(session, call, mask, default="aweight")
    value = evaluate(expression, scope_of(session))
    values = number_column(value, session.data.rows)
    known = mask & (values < MISSING)
    return values, known, None if weights is None else weights[known]


def _shares(call: CommandCall) -> list[float]:
    argument = call.argument("percentiles")
    if argument is not None:
        percents = numbers_of(argument)
        if not percents or not all(0 < one < 100 for one in percents):
            raise DoError("percentiles() are between 0 and 100", code=198)
        return [percent / 100 for percent in percents]
    parts = call.whole("nquantiles", 2)
    DoError.when(not 2 <= parts <= _PARTS, f"nquantiles() is from 2 to {_PARTS}", code=198)
    return [at / parts for at in range(1, parts)]


def _cuts(values: FloatArray, weights: FloatArray | None, shares: list[float]) -> FloatArray:
    return np.array([percentile(values, share, weights) for share in shares])


@command("xtile")
def xtile(session: Session, call: CommandCall) -> None:
    """`xtile new = exp [if] [in] [weight] [, nquantiles(#) cutpoints(variable)]`."""
    name = call.head.strip()
    session.data.check_new(name)
    values, known, weights = _known(session, call, call.expression or "")
    cutpoints = call.argument("cutpoints")
    if cutpoints is not None:
        variable = session.data.full(cutpoints.strip())
        DoError.when(session.data.variables[variable].is_text, "type mismatch", code=109)
        session.trace.touch(session.trace.rests([variable]))
        column = np.asarray(session.data.variables[variable].values, dtype=np.float64)
        cuts = np.sort(column[column < MISSING])
    else:
        cuts = _cuts(values[known], weights, _shares(call))
    place = np.searchsorted(cuts, values, side="left") + 1.0
    result = np.where(known, place, MISSING)
    session.data.put(name, DataVariable(result, smallest_type(result)))
    if session.trace.touched:
        session.trace.variables.add(name)


@command("pctile")
def pctile(session: Session, call: CommandCall) -> None:
    """`pctile [type] new = exp [if] [in] [weight] [, nquantiles(#) genp(name)]`."""
    *kind, name = call.head.split() or [""]
    if kind not in ([], *([one] for one in (*WHOLE, "float", "double"))):
        raise DoError("invalid syntax of pctile", code=198)
    session.data.check_new(name)
    values, known, weights = _known(session, call, call.expression or "")
    shares = _shares(call)
    if len(shares) > session.data.rows:
        raise DoError("nquantiles() is larger than the number of observations", code=198)
    cuts = _cuts(values[known], weights, shares)
    session.store("r", {f"r{at}": float(cut) for at, cut in enumerate(cuts, 1)})
    stored = kind[0] if kind else "float"
    _put(session, name, cuts, stored)
    session.trace.variables.add(name)
    shown = (call.argument("genp") or "").strip()
    if shown:
        session.data.check_new(shown)
        _put(session, shown, np.array(shares) * 100, "float")


def _put(session: Session, name: str, numbers: FloatArray, kind: str) -> None:
    column = np.full(session.data.rows, MISSING)
    column[: len(numbers)] = numbers
    session.data.put(name, DataVariable(limited(column, kind), kind))


@command("_pctile")
def stored_percentiles(session: Session, call: CommandCall) -> None:
    """`_pctile x [if] [in] [weight], percentiles(numlist)|nquantiles(#)`."""
    values, known, weights = _known(session, call, call.head)
    cuts = _cuts(values[known], weights, _shares(call))
    session.store("r", {f"r{at}": float(cut) for at, cut in enumerate(cuts, 1)})
