"""Other data and shapes: `merge`, `append`, `joinby`, `cross`, `reshape`. CONFIDENTIAL.

In: calls. Out: the session's data with those of the file, or in the other shape, sorted. In the
table that `merge` prints, numbers of cases that are too small are withheld, and a second one so
that the total does not give the first away. Where values of the data become names of variables,
those of too few cases are a finding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet_fire.runners.builtin.commands.files import file_name, stored_data
from discreet_fire.runners.builtin.commands.observations import copied
from discreet_fire.runners.builtin.data.dataset import (
    DataSet,
    DataVariable,
    check_room,
    combined,
    keys_of,
    missing_values,
    text_kind,
    wider,
)
from discreet_fire.runners.builtin.disclosure.copies import (
    copied_names,
    note_copies,
    placed_sources,
)
from discreet_fire.runners.builtin.disclosure.record_counts import (
    AffectedRecords,
    affected,
    count_text,
    failure,
    repeated,
    show_counts,
    stop_where,
)
from discreet_fire.runners.builtin.disclosure.units import RECORD, few_in, owners
from discreet_fire.runners.builtin.language.calls import CommandCall
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.language.values import smallest_type, text_column
from discreet_fire.runners.builtin.macro_expansion import words_of
from discreet_fire.runners.builtin.names import macro_text
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import codes_of
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.statistics import CheckVerdict

_KINDS = ("1:1", "m:1", "1:m")
_RESULTS = {
    1.0: "Master only (1)",
    2.0: "Using only (2)",
    3.0: "Matched (3)",
    4.0: "Missing updated (4)",
    5.0: "Nonmissing conflict (5)",
}
_WORDS = {
    "1": 1, "masters": 1, "2": 2, "using": 2, "3": 3, "matches": 3, "matched": 3,
    "4": 4, "match_updates": 4, "5": 5, "match_conflicts": 5,
}  # fmt: skip


@command("merge")
def merge(session: Session, call: CommandCall) -> None:
    """`merge 1:1|m:1|1:m varlist using file [, options]`."""
    kind, _, rest = call.head.partition(" ")
    if kind not in _KINDS or call.using is None:
        raise UnsupportedError("merge other than 1:1, m:1 and 1:m")
    if call.has("replace") and not call.has("update"):
        raise DoError("option replace needs update", code=198)
    name = call.argument("generate") or "_merge"
    if not call.has("nogenerate"):
        session.data.check_new(name.strip())
    kept = stored_data(session, call.using)
    master, using = session.data, kept.data
    rest = rest.strip()
    if rest == "_n":
        DoError.when(kind != "1:1", "invalid syntax of merge", code=198)
        session.trace.ordered()
        keys: list[str] = []
        codes = np.arange(master.rows), np.arange(using.rows)
    else:
        keys = required(master.listed(rest))
        codes = keys_of(master, using, keys)
    _check_unique(session, kind, codes, using)
    names = using.listed(str(call.argument("keepusing"))) if call.has("keepusing") else None
    rows, others = _pairs(*codes)
    result = combined(master, using, (rows, others), keys=keys, names=names,
                      force=call.has("force"), labels=not call.has("nolabel"))  # fmt: skip
    found = np.where(rows < 0, 2.0, np.where(others < 0, 1.0, 3.0))
    replaced: dict[str, Any] = {}
    if call.has("update"):
        taken = [one for one in (names or using.variables) if one not in keys]
        replaced = _update(result, using, taken, (rows, others), found, replace=call.has("replace"))
        # Values that the program made could stand around those of a few.
        own = set(taken) if RECORD not in using.hidden else set(taken) & kept.made
        session.trace.variables |= own
    note_copies(session, result, ((master, rows), (using, others)), replaced)
    _assert(session, call, found, result)
    mask = np.isin(found, sorted(_numbers(call.argument("keep") or "1 2 3 4 5")))
    result.variables[name.strip()] = DataVariable(found, "byte", "%23.0g", "", "_merge")
    result.value_labels["_merge"] = dict(_RESULTS)
    result.take(mask)
    if call.has("nogenerate"):
        result.drop([name.strip()])
        result.value_labels.pop("_merge", None)
    result.sorted_by = tuple(keys) if not (rows < 0)[mask].any() else ()
    session.data = result
    session.add(kept)
    if not call.has("noreport"):
        _report(session, found[mask], name.strip(), named=not call.has("nogenerate"))


def _check_unique(session: Session, kind: str, codes: tuple[Any, Any], using: DataSet) -> None:
    sides = zip(kind.split(":"), codes, ("master", "using"), (session.data, using), strict=True)
    for side, given, place, data in sides:
        again = repeated(given)
        if side == "1" and again.any():
            message = f"the key variables do not uniquely identify observations in the {place} data"
            raise failure(session, again, message, code=459, data=data)


def _pairs(codes: Any, others: Any) -> tuple[Any, Any]:
    """Rows that go together, sorted by their keys; rows of the file alone come last."""
    order, sought = np.argsort(codes, kind="stable"), np.argsort(others, kind="stable")
    first = np.searchsorted(others[sought], codes[order], side="left")
    end = np.searchsorted(others[sought], codes[order], side="right")
    number = end - first
    repeated = np.maximum(number, 1)
    rows = np.repeat(order, repeated)
    step = np.arange(len(rows)) - np.repeat(np.cumsum(repeated) - repeated, repeated)
    place = np.repeat(first, repeated) + step
    matched = np.repeat(number > 0, repeated)
    safe = np.minimum(place, max(len(sought) - 1, 0))
    found = np.where(matched, sought[safe] if len(sought) else -1, -1)
    alone = sought[~np.isin(others[sought], codes)]
    return (
        np.concatenate([rows, np.full(len(alone), -1)]).astype(np.int64),
        np.concatenate([found, alone]).astype(np.int64),
    )


def _update(
    result: DataSet,
    using: DataSet,
    names: Sequence[str],
    pairs: tuple[Any, Any],
    found: Any,
    *,
    replace: bool,
) -> dict[str, Any]:
    """Values of the file where those in memory are missing, or also where they differ.

    Returns where each variable was changed.
    """
    changed: dict[str, Any] = {}
    rows, others = pairs
    both = (rows >= 0) & (others >= 0)
    filled, differs = np.zeros(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.bool_)
    for name in names:
        mine, other = result.variables[name], using.variables[name]
        if mine.is_text != other.is_text:
            continue
        new = DataVariable(other.values[np.maximum(others, 0)], other.kind)
        empty, known = missing_values(mine), ~missing_values(new)
        fill = both & empty & known
        clash = both & ~empty & known & (mine.values != new.values)
        filled |= fill
        differs |= clash
        changed[name] = fill | (clash if replace else False)
        values = np.where(changed[name], new.values, mine.values)
        kept = values.astype(object) if mine.is_text else values
        kind = wider(mine.kind, other.kind)
        result.variables[name] = DataVariable(kept, kind, mine.layout, mine.label, mine.value_label)
    found[filled] = 4.0
    found[differs] = 5.0
    return changed


def _numbers(text: str) -> set[int]:
    numbers: set[int] = set()
    for word in text.split():
        hits = [given for known, given in _WORDS.items()
                if known == word or (len(word) >= 3 and known.startswith(word))]  # fmt: skip
        DoError.when(not hits, "invalid result of merge", code=198)
        # `match` stands for the first of the results that begin so.
        numbers.add(min(hits))
    return numbers


def _assert(session: Session, call: CommandCall, found: Any, result: DataSet) -> None:
    text = call.argument("assert")
    others = ~np.isin(found, sorted(_numbers(text))) if text else np.zeros(0, dtype=np.bool_)
    message = "merge: after merge, not all observations are as asserted"
    stop_where(session, others, message, code=9, data=result)


def _report(session: Session, found: Any, name: str, *, named: bool) -> None:
    """The table of results."""
    counts = {one: int((found == one).sum()) for one in (1, 2, 3, 4, 5)}
    used = [one for one in counts if one <= 3 or counts[one]]
    hidden = [
        one for one in used
        if counts[one] and count_text(session, _whom(session, found == one)) == "."
    ]  # fmt: skip
    others = sorted((one for one in used if counts[one] and one not in hidden), key=counts.get)  # type: ignore[arg-type]
    if len(hidden) == 1 and others:
        hidden.append(others[0])
    text = {one: "." if one in hidden else f"{counts[one]:,}" for one in used}
    alone = "." if {1, 2} & set(hidden) else f"{counts[1] + counts[2]:,}"
    matched = [one for one in used if one >= 3]
    both = "." if set(matched) & set(hidden) else f"{sum(counts[one] for one in matched):,}"
    mark = {one: f"  ({name}=={one})" if named else "" for one in used}
    rule = "    " + "-" * 41
    lines = [
        f"    {'Result':<22}{'Number of obs':>19}",
        rule,
        f"    {'Not matched':<22}{alone:>19}",
        f"        {'from master':<18}{text[1]:>19}{mark[1]}",
        f"        {'from using':<18}{text[2]:>19}{mark[2]}",
        "",
        f"    {'Matched':<22}{both:>19}{mark[3] if matched == [3] else ''}",
    ]
    words = {3: "not updated", 4: "missing updated", 5: "nonmissing conflict"}
    if matched != [3]:
        lines += [f"        {words[one]:<18}{text[one]:>19}{mark[one]}" for one in matched]
    lines.append(rule)
    told = [_whom(session, found == one) for one in used if one not in hidden]
    show_counts(session, "merge", lines, hidden=bool(hidden), counts=told)


def _whom(session: Session, rows: Any) -> AffectedRecords:
    """Whom records are about; each counts for itself where that is not known."""
    known = affected(session, rows)
    unknown = int((owners(session)[rows] < 0).sum())
    return replace(known, cases=known.cases + unknown)


@command("append")
def append(session: Session, call: CommandCall) -> None:
    """`append using file … [, generate(name) keep(varlist) force]`."""
    if call.using is None or call.head:
        raise DoError("using required", code=100)
    name = (call.argument("generate") or "").strip()
    if name:
        session.data.check_new(name)
    copied(session, "append")
    result = session.data
    origin = [np.zeros(result.rows)]
    for number, word in enumerate(words_of(call.using), 1):
        kept = stored_data(session, f'"{word}"')
        using = kept.data
        rows = np.r_[np.arange(result.rows), np.full(using.rows, -1)]
        others = np.r_[np.full(result.rows, -1), np.arange(using.rows)]
        names = using.listed(str(call.argument("keep"))) if call.has("keep") else None
        before = result
        result = combined(result, using, (rows, others), names=names,
                          force=call.has("force"), labels=not call.has("nolabel"))  # fmt: skip
        note_copies(session, result, ((before, rows), (using, others)))
        origin.append(np.full(using.rows, float(number)))
        made = session.trace.made | kept.made
        session.add(kept)
        if few_in(session, session.data) or few_in(session, using):
            session.trace.variables |= made  # what the program made could stand around those
    if name:
        result.variables[name] = DataVariable(np.concatenate(origin), "byte")
    session.data = result


@command("joinby")
def join_by(session: Session, call: CommandCall) -> None:
    """`joinby varlist using file [, unmatched(none|both|master|using)]`."""
    if call.using is None or not call.head:
        raise DoError("invalid syntax of joinby", code=198)
    kept = stored_data(session, call.using)
    master, using = session.data, kept.data
    keys = master.listed(call.head)
    rows, others = _pairs(*keys_of(master, using, keys))
    wanted = (call.argument("unmatched") or "none").strip()
    if wanted not in ("none", "both", "master", "using"):
        raise DoError("invalid option unmatched()", code=198)
    found = np.where(rows < 0, 2.0, np.where(others < 0, 1.0, 3.0))
    stays = {"none": [3], "both": [1, 2, 3], "master": [1, 3], "using": [2, 3]}[wanted]
    result = combined(master, using, (rows, others), keys=keys, labels=not call.has("nolabel"))
    note_copies(session, result, ((master, rows), (using, others)))
    if wanted != "none":
        name = (call.argument("_merge") or "_merge").strip()
        result.check_new(name)
        result.variables[name] = DataVariable(found, "byte", "%23.0g", "", "_merge")
        result.value_labels["_merge"] = dict(_RESULTS)
    result.take(np.isin(found, stays))
    copied(session, "joinby")
    session.data = result
    session.add(kept)


@command("cross")
def cross(session: Session, call: CommandCall) -> None:
    """`cross using file`."""
    if call.using is None or call.head:
        raise DoError("using required", code=100)
    kept = stored_data(session, f'"{file_name(call.using)}"')
    one, other = session.data.rows, kept.data.rows
    check_room(one * other, len(session.data.variables) + len(kept.data.variables))
    pairs = np.repeat(np.arange(one), other), np.tile(np.arange(other), one)
    copied(session, "cross")
    result = combined(session.data, kept.data, pairs)
    note_copies(session, result, ((session.data, pairs[0]), (kept.data, pairs[1])))
    session.data = result
    session.add(kept)


@command("reshape")
def reshape(session: Session, call: CommandCall) -> None:
    """`reshape long|wide stubs, i(varlist) j(name) [string]`; alone it goes back again."""
    kind, _, stubs = call.head.partition(" ")
    UnsupportedError.when(kind not in ("long", "wide"), "reshape other than long and wide")
    if stubs.strip() and call.argument("i"):
        text = "string" if call.has("string") else ""
        given = (stubs, str(call.argument("i")), call.argument("j") or "_j", text)
    elif not stubs.strip() and not call.options and "reshape" in session.options.values:
        given = tuple(session.options.values["reshape"].split("\t"))  # type: ignore[assignment]
    else:
        raise UnsupportedError("reshape without stubs and i()")
    stubs, units, turn, text = given
    keys = session.data.listed(units)
    UnsupportedError.when(len(turn.split()) != 1, "reshape with values in j()")
    work = _long if kind == "long" else _wide
    work(session, stubs.split(), keys, turn.strip(), text=bool(text))
    session.options.values["reshape"] = "\t".join(" ".join(one.split()) for one in given)


def _long(session: Session, stubs: list[str], keys: list[str], name: str, *, text: bool) -> None:
    data = session.data
    data.check_new(name)
    found = {stub: _places(data, stub, keys, text=text) for stub in stubs}
    places = sorted({place for one in found.values() for place in one}, key=str if text else float)
    DoError.when(not places, "no variables of these stubs", code=111)
    again = repeated(codes_of(session, keys)[0])
    stop_where(session, again, "variable i() does not uniquely identify the observations", code=9)
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
        if not copied_names(data).isdisjoint(columns.values()):
            session.trace.variables.add(bare)
    for other, variable in data.variables.items():
        if other not in gone and other not in keys:
            result.variables[other] = variable.taken(rows)
    result.hidden = {one: kept.taken(rows) for one, kept in data.hidden.items()}
    result.sorted_by = (*keys, name)
    session.data = result


def _places(data: DataSet, stub: str, keys: list[str], *, text: bool) -> dict[str, str]:
    """The values of j that a stub's variables have, each with its variable."""
    before, _, after = stub.partition("@")
    inside = r"(.+)" if text else r"(\d+)"
    pattern = re.compile(rf"{re.escape(before)}{inside}{re.escape(after)}\Z")
    places = {}
    for name in data.variables:
        match = pattern.match(name)
        if match and name not in keys:
            place = match[1] if text else macro_text(float(match[1]))
            if not text and place != match[1]:
                raise UnsupportedError("reshape where j has leading zeros")
            places[place] = name
    return places


def _turned(places: list[str], turns: Any, *, text: bool) -> DataVariable:
    if text:
        return DataVariable(text_column(places[at] for at in turns), text_kind(places))
    numbers = np.array([float(place) for place in places])
    return DataVariable(numbers[turns], smallest_type(numbers))


def _stacked(data: DataSet, columns: dict[str, str], places: list[str], order: Any) -> DataVariable:
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
    return DataVariable(values, kind, variables[0].layout, "", variables[0].value_label)


def _wide(session: Session, stubs: list[str], keys: list[str], name: str, *, text: bool) -> None:
    data = session.data
    name = data.full(name)
    names = [data.full(stub) if "@" not in stub else stub for stub in stubs]
    bares = [stub.replace("@", "") for stub in names]
    for bare in bares:
        data.full(bare)
    turn = data.variables[name]
    DoError.when(turn.is_text and not text, "variable j() is text; use the option string", code=109)
    units, count = codes_of(session, keys)
    turns, _ = codes_of(session, [name])
    again = repeated(codes_of(session, [*keys, name])[0])
    stop_where(session, again, "values of j() are not unique within i()", code=9)
    if missing_values(turn).any():
        message = "variable j() has missing values"
        raise failure(session, missing_values(turn), message, code=498)
    first = np.full(count, -1, dtype=np.int64)
    first[units[::-1]] = np.arange(data.rows)[::-1]
    others = [one for one in data.variables if one not in (*keys, *bares, name)]
    for other in others:
        values = data.variables[other].values
        unlike = np.asarray(values != values[first][units], dtype=np.bool_)
        stop_where(session, unlike, f"variable {other} is not constant within i()", code=9)
    result = DataSet(rows=count, label=data.label, value_labels=data.value_labels)
    for key in keys:
        result.variables[key] = data.variables[key].taken(first)
    for other, kept in data.hidden.items():
        if not (kept.values != kept.values[first][units]).any():
            result.hidden[other] = kept.taken(first)
    _columns(session, result, list(zip(names, bares, strict=True)), turn, (units, turns))
    for other in others:
        result.variables[other] = data.variables[other].taken(first)
    result.sorted_by = tuple(keys)
    session.data = result
    _doubt(session, np.bincount(turns))


def _columns(
    session: Session,
    result: DataSet,
    stubs: list[tuple[str, str]],
    turn: DataVariable,
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
            sources = placed_sources(session, result, variable, units[rows], rows)
            result.variables[new] = replace(variable, values=values, label=label, sources=sources)
            session.derive(new, [bare])


def _check(session: Session, result: DataSet, name: str, rows: Any) -> None:
    """As `check_new`, but the message does not hold the name: it is made of a value."""
    try:
        result.check_new(name)
    except DoError as error:
        message = "a value of j() cannot be part of a new name"
        raise failure(session, rows, message, code=error.rc) from None


def _doubt(session: Session, cases: Any) -> None:
    """Names made of values that few have may tell who is in the data."""
    if (cases < session.limits.minimum).any():
        reason = "values that few cases have became names of variables"
        session.flag("reshape wide", "names", CheckVerdict.review, reason, shown="")
