"""Which observations there are: `keep`, `drop`, `sort`, `duplicates`, `expand` … CONFIDENTIAL.

In: calls. Out: the session's data with other observations, variables, order or names (`fillin`,
`sample`, `bsample`, `xtset`, `tsfill` among them); numbers of cases in the log are withheld
where small.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.arrays import CellIndex
from discreet_fire.runners.builtin.data.dataset import DataVariable, check_room, sortable
from discreet_fire.runners.builtin.disclosure.record_counts import (
    affected,
    cases_note,
    repeated,
    show_counts,
    stop_where,
)
from discreet_fire.runners.builtin.disclosure.units import RECORD, cases, few_differ, trimmed
from discreet_fire.runners.builtin.language.calls import CommandCall, split_outside
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.language.expressions import evaluate, number_column, number_of
from discreet_fire.runners.builtin.language.functions import part_of
from discreet_fire.runners.builtin.language.values import MISSING, is_format, smallest_type
from discreet_fire.runners.builtin.names import scope_of
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import codes_of, selected
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.runners.builtin.state.trace import ORDER
from discreet_fire.statistics import CheckVerdict


@command("keep drop")
def stay(session: Session, call: CommandCall) -> None:
    """`keep varlist`, `keep if exp`, `keep in range`, the same for `drop`, `drop _all`."""
    kept = call.name == "keep"
    data = session.data
    chosen = call.condition is not None or call.rows is not None
    if bool(call.head) == chosen:
        raise DoError("invalid syntax: give variables, or if and in", code=198)
    if call.head:
        names = set(data.listed(call.head))
        data.drop([name for name in data.variables if (name in names) != kept])
        return
    mask = selected(session, call)
    mask = mask if kept else ~mask
    gone = affected(session, ~mask)
    if cases(session, mask) < session.limits.minimum:
        gone = replace(gone, cases=0)  # the rest would tell how many are left
    trimmed(session, call.condition, ~mask, few_told=session.trace.few)
    data.take(mask)
    cases_note(session, gone, "observation deleted", "observations deleted", call.name)


@command("sort")
def sort(session: Session, call: CommandCall) -> None:
    """`sort varlist`."""
    names = tuple(required(session.data.listed(call.head)))
    session.data.take(session.data.order_of(names))
    session.data.sorted_by = names


@command("gsort")
def gsort(session: Session, call: CommandCall) -> None:
    """`gsort [+|-]var …`; missing values come last in either direction unless `mfirst`."""
    data = session.data
    words = required(re.findall(r"([+-]?)\s*([^\s+-]+)", call.head))
    names = [data.full(name) for _, name in words]
    falling = [sign == "-" for sign, _ in words]
    rows = np.arange(data.rows, dtype=np.int64)
    for name, down in reversed(list(zip(names, falling, strict=True))):
        rows = rows[_ranked(session, name, rows, down, first=call.has("mfirst"))]
    data.take(rows)
    data.sorted_by = () if any(falling) else tuple(names)
    if not session.trace.variables.isdisjoint(names):
        session.trace.variables.add(ORDER)
    new = (call.argument("generate") or "").strip()
    if new:
        data.check_new(new)
        sizes = np.diff(data.starts_of(names))
        numbers = np.repeat(np.arange(1.0, sizes.size + 1), sizes)
        session.put(new, DataVariable(numbers, smallest_type(numbers)), names)


def _ranked(session: Session, name: str, rows: Any, down: bool, *, first: bool) -> Any:
    """The order of one variable among rows already in an order."""
    values = sortable(session.data.variables[name].values[rows])
    if session.data.variables[name].is_text:
        return np.argsort(-values if down else values, kind="stable")
    missing = values >= MISSING
    keys = np.where(missing, -np.inf if first else np.inf, -values if down else values)
    return np.argsort(keys, kind="stable")


@command("order")
def order(session: Session, call: CommandCall) -> None:
    """`order varlist [, last before() after() alphabetic]`."""
    data = session.data
    moved = list(dict.fromkeys(data.listed(call.head)))
    if call.has("alphabetic"):
        moved.sort()
    if call.has("sequential"):
        ends = {name: re.findall(r"\d+\Z", name) or [""] for name in moved}
        moved.sort(key=lambda name: (name.removesuffix(ends[name][0]), int(ends[name][0] or 0)))
    others = [name for name in data.variables if name not in moved]
    at = len(others) if call.has("last") else 0
    for option in ("before", "after"):
        anchor = call.argument(option)
        if anchor is not None:
            full = data.full(anchor.strip())
            DoError.when(full in moved, f"{full} may not be moved next to itself", code=198)
            at = others.index(full) + (option == "after")
    arranged = others[:at] + moved + others[at:]
    data.variables = {name: data.variables[name] for name in arranged}


@command("rename")
def rename(session: Session, call: CommandCall) -> None:
    """`rename old new`, `rename (a b) (c d)`, `rename list, lower`, `rename a* b*`."""
    data = session.data
    pairs = _pairs(session, call)
    new = [after for _, after in pairs]
    kept = [name for name in data.variables if name not in {before for before, _ in pairs}]
    for name in new:
        data.check_name(name)
        if name in kept or new.count(name) > 1:
            raise DoError(f"variable {name} already defined", code=110)
    names = dict(pairs)
    data.variables = {names.get(name, name): one for name, one in data.variables.items()}
    data.sorted_by = tuple(names.get(name, name) for name in data.sorted_by)
    panel, time = data.panel
    data.panel = (names.get(panel, panel), names.get(time, time))
    trace = session.trace
    for held in (trace.variables, trace.made, trace.sized):
        new_names = {names[name] for name in held if name in names}
        held.difference_update(names)
        held |= new_names


def _pairs(session: Session, call: CommandCall) -> list[tuple[str, str]]:
    data, text = session.data, call.head
    for option, change in (("upper", str.upper), ("lower", str.lower), ("proper", str.capitalize)):
        if call.has(option):
            names = data.listed(text.strip("() "))
            return [(name, change(name)) for name in names if change(name) != name]
    if text.startswith("("):
        parts = re.findall(r"\(([^()]*)\)", text)
        DoError.when(len(parts) != 2, "invalid syntax of rename", code=198)
        old, new = parts[0].split(), parts[1].split()
    else:
        words = split_outside(" ".join(text.split()), " ")
        DoError.when(len(words) != 2, "invalid syntax of rename", code=198)
        old, new = [words[0]], [words[1]]
    pairs = []
    if len(new) == len(old):
        for before, after in zip(old, new, strict=True):
            pairs.extend(_pattern(session, before, after))
    else:
        names = data.listed(" ".join(old))
        if len(names) != len(new):
            raise DoError("the lists of old and new names differ in length", code=198)
        pairs = list(zip(names, new, strict=True))
    return [(before, after) for before, after in pairs if before != after]


def _pattern(session: Session, before: str, after: str) -> list[tuple[str, str]]:
    """Old and new names of `a*` → `b*`; a plain name is its own."""
    if "*" not in before:
        names = session.data.listed(before)
        DoError.when(len(names) != 1, "the lists of old and new names differ in length", code=198)
        return [(names[0], after)]
    if before.count("*") != 1 or after.count("*") != 1:
        raise DoError("invalid syntax of rename", code=198)
    head, tail = before.split("*")
    pattern = []
    for name in session.data.listed(before):
        middle = name[len(head) : len(name) - len(tail) if tail else None]
        pattern.append((name, after.replace("*", middle)))
    return pattern


@command("duplicates")
def duplicates(session: Session, call: CommandCall) -> None:
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
        session.put(name, DataVariable(values, smallest_type(values)), names)
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
    counts = [affected(session, mask & (size[codes] == row[0])) for row in table
              if row not in hidden]  # fmt: skip
    show_counts(session, "duplicates report", lines, hidden=bool(hidden), counts=counts)
    session.store("r", {"unique_value": float(len(sizes)), "N": float(sizes.sum())})


@command("expand")
def expand(session: Session, call: CommandCall) -> None:
    """`expand [=]exp [if] [in] [, generate(name)]`: copies come last."""
    name = (call.argument("generate") or "").strip()
    if name:
        session.data.check_new(name)
    mask = selected(session, call)
    value = evaluate(call.expression or call.head, scope_of(session))
    number = number_column(value, session.data.rows)
    number = np.where((number < MISSING) & (number >= 1) & mask, np.trunc(number), 1.0)
    session.trace.touch(session.trace.few or few_differ(session, number, number >= 1))
    check_room(float(number.sum()), len(session.data.variables))
    more = (number - 1).astype(np.int64)
    copies = np.repeat(np.arange(session.data.rows), more)
    old = session.data.rows
    copied(session, "expand")
    new = affected(session, copies)
    before, after = (affected(session, at) for at in (slice(None), np.r_[np.arange(old), copies]))
    session.trace.touch(before.even and not after.even)
    session.data.take(np.r_[np.arange(old), copies], keep_order=not len(copies))
    if name:
        values = (np.arange(session.data.rows) >= old).astype(np.float64)
        session.data.put(name, DataVariable(values, "byte"))
    cases_note(session, new, "observation created", "observations created", "expand")


def copied(session: Session, command_name: str) -> None:
    """Copies of observations count as cases unless it is known whom they are about."""
    if session.entity is None and RECORD not in session.data.hidden:
        reason = "observations were copied; each copy counts as a case, as no entity is named"
        session.flag(command_name, "copies", CheckVerdict.review, reason, shown=None)


@command("fillin")
def fill_in(session: Session, call: CommandCall) -> None:
    """`fillin varlist`."""
    data = session.data
    names = required(data.listed(call.head))
    data.check_new("_fillin")
    codings = [
        np.unique(sortable(data.variables[name].values), return_inverse=True) for name in names
    ]
    sizes = [len(values) for values, _ in codings]
    check_room(math.prod(sizes), len(data.variables))
    grid = CellIndex(tuple(sizes))
    place = grid.numbers([codes for _, codes in codings])
    absent = np.setdiff1d(np.arange(grid.size), place)
    indices = grid.positions(absent)
    old = data.rows
    data.grow(len(absent))
    for at, name in enumerate(names):
        variable, codes = data.variables[name], codings[at][1]
        first = np.unique(codes, return_index=True)[1]
        values = np.concatenate([variable.values[:old], variable.values[first][indices[at]]])
        data.variables[name] = replace(variable, values=values)
    data.put("_fillin", DataVariable((np.arange(data.rows) >= old).astype(np.float64), "byte"))
    data.take(data.order_of(names))
    data.sorted_by = tuple(names)


@command("sample")
def sample(session: Session, call: CommandCall) -> None:
    """`sample # [if] [in] [, count by(varlist)]`: others than those of `if` stay."""
    data = session.data
    size = number_of(call.head, scope_of(session, scalar=True))
    if size < 0 or (not call.has("count") and size > 100):
        raise DoError("the size of the sample is out of range", code=198)
    mask = selected(session, call)
    session.trace.ordered()
    codes, count = codes_of(session, data.listed(call.argument("by") or ""))
    rows = np.flatnonzero(mask)
    stays = ~mask
    mixed = rows[np.lexsort((part_of(session.options.draw).random(len(rows)), codes[rows]))]
    for group in range(count):
        part = mixed[codes[mixed] == group]
        wanted = size if call.has("count") else np.floor(len(part) * size / 100 + 0.5)
        stays[part[: int(min(wanted, len(part)))]] = True
    gone = affected(session, ~stays)
    data.take(stays)
    cases_note(session, gone, "observation deleted", "observations deleted", "sample")


@command("bsample")
def bootstrap_sample(session: Session, call: CommandCall) -> None:
    """`bsample [#] [if] [in] [, strata(varlist) cluster(varlist)]`."""
    data = session.data
    mask = selected(session, call)
    session.trace.ordered()
    strata, count = codes_of(session, data.listed(call.argument("strata") or ""))
    cluster = data.listed(call.argument("cluster") or "")
    units = codes_of(session, cluster)[0] if cluster else np.arange(data.rows)
    drawn: list[Any] = []
    draw = part_of(session.options.draw)
    for group in range(count):
        rows = np.flatnonzero(mask & (strata == group))
        known = np.unique(units[rows])
        size = number_of(call.head, scope_of(session, scalar=True)) if call.head else len(known)
        if not len(known) or size > len(known) or size < 1:
            error = DoError("the size of the sample is out of range", code=498)
            error.redacted = call.condition is not None or call.rows is not None
            raise error
        chosen = known[np.sort((draw.random(int(size)) * len(known)).astype(np.int64))]
        if cluster:
            drawn.extend(rows[units[rows] == unit] for unit in chosen)
        else:
            drawn.append(chosen)
    copied(session, "bsample")
    data.take(np.concatenate(drawn), keep_order=False)


@command("tsfill")
def fill_time(session: Session, call: CommandCall) -> None:
    """`tsfill [, full]`."""
    data = session.data
    panel, time = data.panel
    DoError.when(not time, "time variable not set; use tsset or xtset", code=459)
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


@command("xtset tsset")
def panel_set(session: Session, call: CommandCall) -> None:
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
        DoError.when(not names, "panel variable not set", code=459)
    elif len(names) > 2:
        raise DoError("too many variables specified", code=103)
    panel, time = data.panel
    if call.head:
        alone = (names[0], "") if call.name == "xtset" else ("", names[0])
        panel, time = (names[0], names[1]) if len(names) == 2 else alone
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
    stop_where(session, parts, f"time variable {time} must hold whole numbers", code=451)
    codes, _ = codes_of(session, [name for name in (panel, time) if name])
    again = known.copy()
    again[known] = repeated(codes[known])
    message = "repeated time values within panel" if panel else "repeated time values"
    stop_where(session, again, message, code=451)


def _set_layout(session: Session, call: CommandCall, time: str) -> None:
    """The display format that options give the time variable."""
    layout = (call.argument("format") or "").strip('" ')
    for word in ("daily", "weekly", "monthly", "quarterly", "halfyearly", "yearly"):
        if call.has(word):
            layout = layout or f"%t{word[0]}"
    if not layout:
        return
    DoError.when(not is_format(layout), "invalid display format", code=120)
    variables = session.data.variables
    variables[time] = replace(variables[time], layout=layout)
