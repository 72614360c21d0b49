"""More or fewer observations: `duplicates`, `expand`, `fillin`, `sample`, `bsample`, `tsfill`.

In: calls. Out: the session's data; numbers of cases in the log are withheld where small.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.dataset import Variable, check_room
from discreet.output_checking.running.egen_work import codes_of
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.evaluating import evaluate, is_text, number_of, whole_column
from discreet.output_checking.running.failing import failure, repeated
from discreet.output_checking.running.formats import is_format
from discreet.output_checking.running.functions import part_of
from discreet.output_checking.running.isolating import RECORD, cases, differing_few
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.reporting import affected, cases_note
from discreet.output_checking.running.selecting import selected
from discreet.output_checking.running.values import MISSING, smallest_type
from discreet.output_checking.safe.results import Check, SafeResult, Verdict

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session


@command("duplicates", summary="report, drop or tag observations that occur several times",
         options="force GENerate()", layout="clean")  # fmt: skip
def duplicates(session: Session, call: Call) -> None:
    """`duplicates report|drop|tag [varlist] [if] [in]`."""
    kind, _, rest = call.head.partition(" ")
    if kind in ("list", "li", "l", "examples", "browse"):
        session.withhold("duplicates", "refused", "observations are not listed")
        return
    names = session.data.listed(rest) if rest.strip() else list(session.data.variables)
    mask = selected(session, call)
    rows = np.flatnonzero(mask)
    codes, count = codes_of(session, names)
    size = np.bincount(codes[rows], minlength=count)
    if kind in ("report", "r", "re", "rep"):
        _report(session, size, codes, mask)
    elif kind == "drop":
        if rest.strip() and not call.has("force"):
            raise DoError("option force is needed to drop by some variables only", code=198)
        _drop(session, codes, rows)
    elif kind in ("tag", "t", "ta"):
        name = (call.argument("generate") or "").strip()
        session.data.check_new(name)
        values = np.where(mask, size[codes] - 1.0, MISSING)
        session.data.put(name, Variable(values, smallest_type(values)))
        session.derive(name, names)
    else:
        raise UnsupportedError(f"duplicates {kind}")


def _drop(session: Session, codes: Any, rows: Any) -> None:
    session.trace.ordered()
    first = np.unique(codes[rows], return_index=True)[1]
    stays = np.ones(session.data.rows, dtype=np.bool_)
    stays[rows] = False
    stays[rows[first]] = True
    gone = affected(session, ~stays)
    session.data.take(stays)
    cases_note(session, gone, "observation deleted", "observations deleted", "duplicates")


def _report(session: Session, size: Any, codes: Any, mask: Any) -> None:
    """The table of copies; numbers of copies that few have are put together."""
    sizes = size[size > 0]
    copies, groups = np.unique(sizes, return_counts=True)
    table = [(int(copy), int(copy * many), int((copy - 1) * many))
             for copy, many in zip(copies, groups, strict=True)]  # fmt: skip
    least = session.limits.minimum
    hidden = [row for row in table
              if cases(session, mask & (size[codes] == row[0])) < least
              or 0 < row[2] < least]  # fmt: skip
    others = sorted((row for row in table if row not in hidden), key=lambda row: row[1])
    if len(hidden) == 1 and others:
        hidden.append(others[0])
    lines = [f"{'Copies':>12} | {'Observations':>14} {'Surplus':>12}", "-" * 13 + "+" + "-" * 29]
    shown = [(f"{row[0]}", f"{row[1]:,}", f"{row[2]:,}") for row in table if row not in hidden]
    shown += [("(other)", ".", ".")] if hidden else []
    lines += [f"{cells[0]:>12} | {cells[1]:>14} {cells[2]:>12}" for cells in shown]
    verdict = Verdict.fail if hidden else Verdict.passed
    reason = "numbers of cases are too small" if hidden else "numbers of cases"
    check = Check(rule="minimum", verdict=verdict, reason=reason)
    session.show(SafeResult(command="duplicates report", shown="\n".join(lines), checks=[check]))
    session.store("r", {"unique_value": float(len(sizes)), "N": float(sizes.sum())})


@command("expand", summary="copies of observations", expression=True, options="GENerate()")
def expand(session: Session, call: Call) -> None:
    """`expand [=]exp [if] [in] [, generate(name)]`: copies come last."""
    name = (call.argument("generate") or "").strip()
    if name:
        session.data.check_new(name)
    mask = selected(session, call)
    value = evaluate(call.expression or call.head, session.scope())
    if is_text(value):
        raise DoError("type mismatch", code=109)
    number = np.asarray(whole_column(value, session.data.rows), dtype=np.float64)
    number = np.where((number < MISSING) & (number >= 1) & mask, np.trunc(number), 1.0)
    session.trace.touch(session.trace.few or differing_few(session, number, number >= 1))
    check_room(float(number.sum()), len(session.data.variables))
    more = (number - 1).astype(np.int64)
    copies = np.repeat(np.arange(session.data.rows), more)
    old = session.data.rows
    copied(session, "expand")
    made = affected(session, copies)
    before, after = (affected(session, at) for at in (slice(None), np.r_[np.arange(old), copies]))
    session.trace.touch(before.even and not after.even)
    session.data.take(np.r_[np.arange(old), copies], keep_order=not len(copies))
    if name:
        values = (np.arange(session.data.rows) >= old).astype(np.float64)
        session.data.put(name, Variable(values, "byte"))
    cases_note(session, made, "observation created", "observations created", "expand")


def copied(session: Session, command_name: str) -> None:
    """Copies of observations count as cases unless it is known whom they are about."""
    if session.entity is None and RECORD not in session.data.hidden:
        reason = "observations were copied; each copy counts as a case, as no entity is named"
        check = Check(rule="copies", verdict=Verdict.review, reason=reason)
        session.remember(SafeResult(command=command_name, shown="", checks=[check]))


@command("fillin", summary="all combinations of values; _fillin marks the new ones")
def fill_in(session: Session, call: Call) -> None:
    """`fillin varlist`."""
    data = session.data
    names = data.listed(call.head)
    if not names:
        raise DoError("varlist required", code=100)
    data.check_new("_fillin")
    found = [np.unique(_sortable(data.variables[name]), return_inverse=True) for name in names]
    sizes = [len(values) for values, _ in found]
    check_room(math.prod(sizes), len(data.variables))
    place = np.ravel_multi_index([codes for _, codes in found], sizes)
    absent = np.setdiff1d(np.arange(int(np.prod(sizes))), place)
    indices = np.unravel_index(absent, sizes)
    old = data.rows
    data.grow(len(absent))
    for at, name in enumerate(names):
        variable, codes = data.variables[name], found[at][1]
        first = np.unique(codes, return_index=True)[1]
        values = np.concatenate([variable.values[:old], variable.values[first][indices[at]]])
        data.variables[name] = replace(variable, values=values)
    data.put("_fillin", Variable((np.arange(data.rows) >= old).astype(np.float64), "byte"))
    data.take(data.order_of(names))
    data.sorted_by = tuple(names)


def _sortable(variable: Variable) -> Any:
    if variable.is_text:
        return np.array([text.encode() for text in variable.values], dtype=object)
    return variable.values


@command("sample", summary="a random sample of the observations", options="count by()")
def sample(session: Session, call: Call) -> None:
    """`sample # [if] [in] [, count by(varlist)]`: others than those of `if` stay."""
    data = session.data
    size = number_of(call.head, session.scope(scalar=True))
    if size < 0 or (not call.has("count") and size > 100):
        raise DoError("the size of the sample is out of range", code=198)
    mask = selected(session, call)
    session.trace.ordered()
    codes, count = codes_of(session, data.listed(call.argument("by") or ""))
    rows = np.flatnonzero(mask)
    stays = ~mask
    mixed = rows[np.lexsort((part_of(session.draw).random(len(rows)), codes[rows]))]
    for group in range(count):
        part = mixed[codes[mixed] == group]
        wanted = size if call.has("count") else np.floor(len(part) * size / 100 + 0.5)
        stays[part[: int(min(wanted, len(part)))]] = True
    gone = affected(session, ~stays)
    data.take(stays)
    cases_note(session, gone, "observation deleted", "observations deleted", "sample")


@command("bsample", summary="a sample with replacement", options="STRata() CLuster()")
def bootstrap_sample(session: Session, call: Call) -> None:
    """`bsample [#] [if] [in] [, strata(varlist) cluster(varlist)]`."""
    data = session.data
    mask = selected(session, call)
    session.trace.ordered()
    strata, count = codes_of(session, data.listed(call.argument("strata") or ""))
    cluster = data.listed(call.argument("cluster") or "")
    units = codes_of(session, cluster)[0] if cluster else np.arange(data.rows)
    drawn: list[Any] = []
    draw = part_of(session.draw)
    for group in range(count):
        rows = np.flatnonzero(mask & (strata == group))
        known = np.unique(units[rows])
        size = number_of(call.head, session.scope(scalar=True)) if call.head else len(known)
        if not len(known) or size > len(known) or size < 1:
            error = DoError("the size of the sample is out of range", code=498)
            error.untold = call.condition is not None or call.rows is not None
            raise error
        chosen = known[np.sort((draw.random(int(size)) * len(known)).astype(np.int64))]
        if cluster:
            drawn.extend(rows[units[rows] == unit] for unit in chosen)
        else:
            drawn.append(chosen)
    copied(session, "bsample")
    data.take(np.concatenate(drawn), keep_order=False)


@command("tsfill", summary="observations for gaps in time", options="full")
def fill_time(session: Session, call: Call) -> None:
    """`tsfill [, full]`."""
    data = session.data
    panel, time = data.panel
    if not time:
        raise DoError("time variable not set; use tsset or xtset", code=459)
    times = np.asarray(data.variables[time].values, dtype=np.float64)
    units, count = codes_of(session, [panel] if panel else [])
    known = times < MISSING
    if not known.any():
        return
    whole = _between(times[known]) if call.has("full") else times[:0]
    missing: list[tuple[int, float]] = []
    for unit in range(count):
        own = times[known & (units == unit)]
        if not own.size:
            continue
        span = whole if call.has("full") else _between(own)
        missing.extend((unit, at) for at in np.setdiff1d(span, own))
    first = np.unique(units, return_index=True)[1]
    old = data.rows
    data.grow(len(missing))
    if missing:
        data.variables[time].values[old:] = [at for _, at in missing]
    if missing and panel:
        values = data.variables[panel].values
        values[old:] = values[first[[unit for unit, _ in missing]]]
    names = tuple(name for name in (panel, time) if name)
    data.take(data.order_of(names))
    data.sorted_by = names


def _between(times: Any) -> Any:
    """All times from the first to the last."""
    first, last = float(times.min()), float(times.max())
    check_room(last - first + 1)
    return np.arange(first, last + 1)


@command("xtset tsset", summary="panel and time variable",
         options="clear Daily Weekly Monthly Quarterly Halfyearly Yearly delta() Format()",
         idle="noQuery Generic")  # fmt: skip
def panel_set(session: Session, call: Call) -> None:
    """`xtset panel [time]`, `tsset [panel] time`; the data are sorted by them."""
    data = session.data
    if call.has("clear"):
        data.panel = ("", "")
        return
    if not re.fullmatch(r"1(\.0*)?", call.argument("delta") or "1"):
        raise UnsupportedError("delta() other than 1")
    names = data.listed(call.head)
    if not call.head:
        names = [name for name in data.panel if name]
        if not names:
            raise DoError("panel variable not set", code=459)
    elif len(names) > 2:
        raise DoError("too many variables specified", code=103)
    panel, time = _panel_and_time(call.name, names) if call.head else data.panel
    if any(data.variables[name].is_text for name in names):
        raise DoError("string variables are not allowed", code=109)
    if time:
        _check_times(session, panel, time)
        _set_layout(session, call, time)
    data.panel = (panel, time)
    order = tuple(name for name in (panel, time) if name)
    data.take(data.order_of(order))
    data.sorted_by = order
    if panel:
        session.write(f"{'Panel variable':>14}: {panel}")
    if time:
        session.write(f"{'Time variable':>14}: {time}")
    session.store("r", {"panelvar": panel, "timevar": time})


def _check_times(session: Session, panel: str, time: str) -> None:
    """Raise an error unless times are whole numbers, each once; missing ones do not count."""
    times = np.asarray(session.data.variables[time].values, dtype=np.float64)
    known = times < MISSING
    parts = known & (times != np.trunc(times))
    if parts.any():
        what = f"time variable {time} must hold whole numbers"
        raise failure(session, parts, what, code=451)
    codes, _ = codes_of(session, [name for name in (panel, time) if name])
    again = known.copy()
    again[known] = repeated(codes[known])
    if again.any():
        what = "repeated time values within panel" if panel else "repeated time values"
        raise failure(session, again, what, code=451)


def _set_layout(session: Session, call: Call, time: str) -> None:
    """The display format that options give the time variable."""
    layout = (call.argument("format") or "").strip('" ')
    for word in ("daily", "weekly", "monthly", "quarterly", "halfyearly", "yearly"):
        if call.has(word):
            layout = layout or f"%t{word[0]}"
    if not layout:
        return
    if not is_format(layout):
        raise DoError("invalid display format", code=120)
    variables = session.data.variables
    variables[time] = replace(variables[time], layout=layout)


def _panel_and_time(command_name: str, names: list[str]) -> tuple[str, str]:
    if len(names) == 2:
        return names[0], names[1]
    return (names[0], "") if command_name == "xtset" else ("", names[0])
