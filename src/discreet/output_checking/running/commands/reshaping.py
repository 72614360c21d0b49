"""`reshape`: from one observation per unit to several, and back.

In: a call. Out: the session's data in the other shape, sorted. Where values of the data
become names of variables, those of too few cases are a finding.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.combining import missing_values, wider
from discreet.output_checking.running.dataset import DataSet, Variable
from discreet.output_checking.running.egen_work import codes_of
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.failing import failure, repeated
from discreet.output_checking.running.reading import text_kind
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.single import macro_text
from discreet.output_checking.running.values import smallest_type
from discreet.output_checking.safe.results import Check, SafeResult, Verdict

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session


@command("reshape", summary="from wide to long and back", options="i() j() String")
def reshape(session: Session, call: Call) -> None:
    """`reshape long|wide stubs, i(varlist) j(name) [string]`; alone it goes back again."""
    kind, _, stubs = call.head.partition(" ")
    if kind not in ("long", "wide"):
        raise UnsupportedError("reshape other than long and wide")
    if stubs.strip() and call.argument("i"):
        text = "string" if call.has("string") else ""
        given = (stubs, str(call.argument("i")), call.argument("j") or "_j", text)
    elif not stubs.strip() and not call.options and "reshape" in session.settings:
        given = tuple(session.settings["reshape"].split("\t"))  # type: ignore[assignment]
    else:
        raise UnsupportedError("reshape without stubs and i()")
    stubs, units, turn, text = given
    keys = session.data.listed(units)
    if len(turn.split()) != 1:
        raise UnsupportedError("reshape with values in j()")
    work = _long if kind == "long" else _wide
    work(session, stubs.split(), keys, turn.strip(), text=bool(text))
    session.settings["reshape"] = "\t".join(" ".join(one.split()) for one in given)


def _long(session: Session, stubs: list[str], keys: list[str], name: str, *, text: bool) -> None:
    data = session.data
    data.check_new(name)
    found = {stub: _places(data, stub, keys, text=text) for stub in stubs}
    places = sorted({place for one in found.values() for place in one}, key=_sorting(text))
    if not places:
        raise DoError("no variables of these stubs", code=111)
    again = repeated(codes_of(session, keys)[0])
    if again.any():
        what = "variable i() does not uniquely identify the observations"
        raise failure(session, again, what, code=9)
    order = data.order_of(keys)
    rows, turns = np.repeat(order, len(places)), np.tile(np.arange(len(places)), data.rows)
    gone = {one for stub in found.values() for one in stub.values()}
    result = DataSet(rows=len(rows), label=data.label, value_labels=data.value_labels)
    for key in keys:
        result.variables[key] = data.variables[key].taken(rows)
    result.variables[name] = _turned(places, turns, text=text)
    for stub, columns in found.items():
        bare = stub.replace("@", "")
        if bare in data.variables and bare not in gone:
            raise DoError(f"variable {bare} already defined", code=110)
        result.variables[bare] = _stacked(data, columns, places, order)
        session.derive(bare, columns.values())
    for other, variable in data.variables.items():
        if other not in gone and other not in keys:
            result.variables[other] = variable.taken(rows)
    result.hidden = {one: kept.taken(rows) for one, kept in data.hidden.items()}
    result.sorted_by = (*keys, name)
    session.data = result


def _sorting(text: bool) -> Any:
    return str if text else float


def _places(data: DataSet, stub: str, keys: list[str], *, text: bool) -> dict[str, str]:
    """The values of j that a stub's variables have, each with its variable."""
    before, _, after = stub.partition("@")
    inside = r"(.+)" if text else r"(\d+)"
    pattern = re.compile(rf"{re.escape(before)}{inside}{re.escape(after)}\Z")
    found = {}
    for name in data.variables:
        match = pattern.match(name)
        if match and name not in keys:
            place = match[1] if text else macro_text(float(match[1]))
            if not text and place != match[1]:
                raise UnsupportedError("reshape where j has leading zeros")
            found[place] = name
    return found


def _turned(places: list[str], turns: Any, *, text: bool) -> Variable:
    if text:
        texts = np.empty(len(turns), dtype=object)
        texts[:] = [places[at] for at in turns]
        return Variable(texts, text_kind(places))
    numbers = np.array([float(place) for place in places])
    return Variable(numbers[turns], smallest_type(numbers))


def _stacked(data: DataSet, columns: dict[str, str], places: list[str], order: Any) -> Variable:
    variables = [data.variables[name] for name in columns.values()]
    if len({one.is_text for one in variables}) > 1:
        raise DoError("variables of a stub are text and numeric", code=198)
    kind = variables[0].kind
    for one in variables[1:]:
        kind = wider(kind, one.kind)
    parts = [
        data.variables[columns[place]].values[order]
        if place in columns
        else variables[0].nothing(data.rows)
        for place in places
    ]
    values = np.column_stack(parts).reshape(-1)
    return Variable(values, kind, variables[0].layout, "", variables[0].value_label)


def _wide(session: Session, stubs: list[str], keys: list[str], name: str, *, text: bool) -> None:
    data = session.data
    name = data.full(name)
    names = [data.full(stub) if "@" not in stub else stub for stub in stubs]
    bares = [stub.replace("@", "") for stub in names]
    for bare in bares:
        data.full(bare)
    turn = data.variables[name]
    if turn.is_text and not text:
        raise DoError("variable j() is text; use the option string", code=109)
    units, count = codes_of(session, keys)
    turns, _ = codes_of(session, [name])
    again = repeated(codes_of(session, [*keys, name])[0])
    if again.any():
        raise failure(session, again, "values of j() are not unique within i()", code=9)
    if missing_values(turn).any():
        what = "variable j() has missing values"
        raise failure(session, missing_values(turn), what, code=498)
    first = np.full(count, -1, dtype=np.int64)
    first[units[::-1]] = np.arange(data.rows)[::-1]
    others = [one for one in data.variables if one not in (*keys, *bares, name)]
    for other in others:
        values = data.variables[other].values
        unlike = np.asarray(values != values[first][units], dtype=np.bool_)
        if unlike.any():
            what = f"variable {other} is not constant within i()"
            raise failure(session, unlike, what, code=9)
    result = DataSet(rows=count, label=data.label, value_labels=data.value_labels)
    for key in keys:
        result.variables[key] = data.variables[key].taken(first)
    _columns(session, result, list(zip(names, bares, strict=True)), turn, (units, turns))
    for other in others:
        result.variables[other] = data.variables[other].taken(first)
    for other, kept in data.hidden.items():
        if not (kept.values != kept.values[first][units]).any():
            result.hidden[other] = kept.taken(first)
    result.sorted_by = tuple(keys)
    session.data = result
    _doubt(session, np.bincount(turns))


def _columns(
    session: Session,
    result: DataSet,
    stubs: list[tuple[str, str]],
    turn: Variable,
    codes: tuple[Any, Any],
) -> None:
    """The variables of each value of j."""
    units, turns = codes
    for number in range(int(turns.max(initial=-1)) + 1):
        rows = np.flatnonzero(turns == number)
        value = turn.values[rows[0]]
        place = value if isinstance(value, str) else macro_text(float(value))
        for stub, bare in stubs:
            new = stub.replace("@", place) if "@" in stub else f"{stub}{place}"
            _check(session, result, new, turns == number)
            variable = session.data.variables[bare]
            values = variable.nothing(result.rows)
            values[units[rows]] = variable.values[rows]
            label = f"{place} {variable.label or bare}"
            result.variables[new] = replace(variable, values=values, label=label)
            session.derive(new, [bare])


def _check(session: Session, result: DataSet, name: str, rows: Any) -> None:
    """As `check_new`, but the message does not hold the name: it is made of a value."""
    try:
        result.check_new(name)
    except DoError as error:
        what = "a value of j() cannot be part of a new name"
        raise failure(session, rows, what, code=error.rc) from None


def _doubt(session: Session, cases: Any) -> None:
    """Names made of values that few have may tell who is in the data."""
    if (cases < session.limits.minimum).any():
        check = Check(
            rule="names",
            verdict=Verdict.review,
            reason="values that few cases have became names of variables",
        )
        session.show(SafeResult(command="reshape wide", shown="", checks=[check]))
