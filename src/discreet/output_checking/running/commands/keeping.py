"""Which observations and variables stay, their order and names.

In: calls. Out: the session's data changed; numbers of observations are withheld where small.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.calls import split_outside
from discreet.output_checking.running.dataset import Variable
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.isolating import cases, trimmed
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.reporting import affected, cases_note
from discreet.output_checking.running.selecting import selected
from discreet.output_checking.running.tracing import ORDER
from discreet.output_checking.running.values import smallest_type

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session


@command("keep", summary="keep variables or observations", by=True)
def keep(session: Session, call: Call) -> None:
    """`keep varlist`, `keep if exp`, `keep in range`."""
    _stay(session, call, kept=True)


@command("drop", summary="drop variables or observations", by=True)
def drop(session: Session, call: Call) -> None:
    """`drop varlist`, `drop _all`, `drop if exp`, `drop in range`."""
    _stay(session, call, kept=False)


def _stay(session: Session, call: Call, *, kept: bool) -> None:
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
    trimmed(session, call.condition, ~mask)
    data.take(mask)
    cases_note(session, gone, "observation deleted", "observations deleted", call.name)


@command("sort", summary="sort; equal observations stay in their order", idle="stable")
def sort(session: Session, call: Call) -> None:
    """`sort varlist`."""
    names = tuple(session.data.listed(call.head))
    if not names:
        raise DoError("varlist required", code=100)
    session.data.take(session.data.order_of(names))
    session.data.sorted_by = names


@command("gsort", summary="sort, also falling", options="GENerate() Mfirst")
def gsort(session: Session, call: Call) -> None:
    """`gsort [+|-]var …`; missing values come last in either direction unless `mfirst`."""
    data = session.data
    words = re.findall(r"([+-]?)\s*([^\s+-]+)", call.head)
    if not words:
        raise DoError("varlist required", code=100)
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
        data.put(new, Variable(numbers, smallest_type(numbers)))
        session.derive(new, names)


def _ranked(session: Session, name: str, rows: Any, down: bool, *, first: bool) -> Any:
    """The order of one variable among rows already in an order."""
    values = session.data.variables[name].values[rows]
    if values.dtype == object:
        keys = np.array([one.encode() for one in values], dtype=object)
        codes = np.unique(keys, return_inverse=True)[1].astype(np.float64)
        return np.argsort(-codes if down else codes, kind="stable")
    missing = values >= 2.0**1023
    keys = np.where(missing, -np.inf if first else np.inf, -values if down else values)
    return np.argsort(keys, kind="stable")


@command("order", summary="order of the variables",
         options="last Before() After() ALPHAbetic SEQuential", idle="first")  # fmt: skip
def order(session: Session, call: Call) -> None:
    """`order varlist [, last before() after() alphabetic]`."""
    data = session.data
    moved = list(dict.fromkeys(data.listed(call.head)))
    if call.has("alphabetic"):
        moved.sort()
    if call.has("sequential"):
        moved.sort(
            key=lambda name: (
                re.sub(r"\d+\Z", "", name),
                int((re.findall(r"\d+\Z", name) or [0])[0]),
            )
        )
    others = [name for name in data.variables if name not in moved]
    at = len(others) if call.has("last") else 0
    for option in ("before", "after"):
        anchor = call.argument(option)
        if anchor is not None:
            full = data.full(anchor.strip())
            if full in moved:
                raise DoError(f"{full} may not be moved next to itself", code=198)
            at = others.index(full) + (option == "after")
    arranged = others[:at] + moved + others[at:]
    data.variables = {name: data.variables[name] for name in arranged}


@command("rename", summary="new names of variables", options="Upper Lower Proper")
def rename(session: Session, call: Call) -> None:
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


def _pairs(session: Session, call: Call) -> list[tuple[str, str]]:
    data, text = session.data, call.head
    for option, change in (("upper", str.upper), ("lower", str.lower), ("proper", str.capitalize)):
        if call.has(option):
            names = data.listed(text.strip("() "))
            return [(name, change(name)) for name in names if change(name) != name]
    if text.startswith("("):
        parts = re.findall(r"\(([^()]*)\)", text)
        if len(parts) != 2:
            raise DoError("invalid syntax of rename", code=198)
        old, new = parts[0].split(), parts[1].split()
    else:
        words = split_outside(" ".join(text.split()), " ")
        if len(words) != 2:
            raise DoError("invalid syntax of rename", code=198)
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
        if len(names) != 1:
            raise DoError("the lists of old and new names differ in length", code=198)
        return [(names[0], after)]
    if before.count("*") != 1 or after.count("*") != 1:
        raise DoError("invalid syntax of rename", code=198)
    head, tail = before.split("*")
    found = []
    for name in session.data.listed(before):
        middle = name[len(head) : len(name) - len(tail) if tail else None]
        found.append((name, after.replace("*", middle)))
    return found
