"""New variables and new values: `generate`, `replace`, `recode`, `mvdecode`, `separate`, `ipolate`.

In: calls. Out: variables of the session changed; the counts that Stata prints are given as safe
results, small ones withheld. CONFIDENTIAL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet_fire.runners.builtin.data.dataset import DataVariable, missing_values, text_kind
from discreet_fire.runners.builtin.disclosure.copies import note_carried
from discreet_fire.runners.builtin.disclosure.dependence import depends_on_few_units, fills_from_few
from discreet_fire.runners.builtin.disclosure.record_counts import (
    all_affected,
    cases_note,
    changed,
    check_made,
    count_text,
    missing_made,
    stop_where,
)
from discreet_fire.runners.builtin.disclosure.units import few, trimmed
from discreet_fire.runners.builtin.interpreter import numbers_of
from discreet_fire.runners.builtin.language.calls import CommandCall
from discreet_fire.runners.builtin.language.errors import (
    DoError,
    UnsupportedError,
    present,
    required,
)
from discreet_fire.runners.builtin.language.expressions import evaluate, truth, whole_column
from discreet_fire.runners.builtin.language.scope import ExpressionUse, Scope, Value
from discreet_fire.runners.builtin.language.values import (
    MISSING,
    WHOLE,
    code_of,
    is_text,
    limited,
    number_or_code,
    shortened,
    smallest_type,
    stored,
    text_column,
    text_width,
)
from discreet_fire.runners.builtin.macro_expansion import words_of
from discreet_fire.runners.builtin.names import scope_of
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import codes_of, selected
from discreet_fire.runners.builtin.state.session import Session

_TYPED = re.compile(
    r"(?:(?P<type>byte|int|long|float|double|str\d*|strL)\s+)?(?P<name>[^\s:]+)(?::(?P<label>\w+))?\Z"
)


@command("generate")
def generate(session: Session, call: CommandCall) -> None:
    """`generate [type] name[:label] = exp [if] [in]`."""
    match = _TYPED.match(call.head)
    if not match or call.expression is None:
        raise DoError("invalid syntax of generate", code=198)
    name, kind = match["name"], match["type"]
    session.data.check_new(name)
    scope = scope_of(session, call.groups)
    mask = selected(session, call, scope)
    session.trace.touch(session.trace.few)
    chosen_by, use = scope.names.use.columns, ExpressionUse()
    scope.names.use = use
    value = evaluate(call.expression, scope)
    session.trace.touch(depends_on_few_units(session, call.expression, scope, value, mask))
    session.trace.touch(use.few or use.rest or few(session, mask))
    if use.columns or chosen_by:
        session.trace.own.discard(name)
    else:
        session.trace.own.add(name)
    if is_text(value) != (kind or "").startswith("str") and (kind or is_text(value)):
        DoError.when(kind, "type mismatch", code=109)
        kind = ""
    default = "" if is_text(value) else session.options.values.get("type")
    variable = _made(value, kind or default, mask, session.data.rows)
    session.data.put(name, replace(variable, value_label=match["label"] or ""))
    session.trace.mark(session.trace.variables, name)
    _place(session, call, name)
    if not variable.is_text:
        missing_made(session, variable.values >= MISSING)


def _made(value: Value, kind: str | None, mask: BoolArray, rows: int) -> DataVariable:
    column = whole_column(value, rows)
    if is_text(value):
        texts = np.where(mask, column, "").astype(object)
        width = text_width(kind) if kind and kind != "str" else None
        if width is not None and kind != "strL":
            texts = text_column(shortened(one, width) for one in texts)
        return DataVariable(texts, kind if kind and kind != "str" else text_kind(texts))
    kept = kind or "float"
    numbers = np.where(mask, np.asarray(column, dtype=np.float64), MISSING)
    return DataVariable(limited(numbers, kept), kept)


def _place(session: Session, call: CommandCall, name: str) -> None:
    """Options before() and after()."""
    for option in ("before", "after"):
        other = call.argument(option)
        if other is None:
            continue
        names = [one for one in session.data.variables if one != name]
        at = names.index(session.data.full(other.strip())) + (option == "after")
        names.insert(at, name)
        session.data.variables = {one: session.data.variables[one] for one in names}


@command("replace")
def replace_values(session: Session, call: CommandCall) -> None:
    """`replace name = exp [if] [in]`; earlier observations are changed before later ones."""
    if call.expression is None:
        raise DoError("invalid syntax of replace", code=198)
    name = session.data.full(call.head.strip())
    old = session.data.variables[name]
    scope = scope_of(session, call.groups)
    mask = selected(session, call, scope)
    isolated = session.trace.few or few(session, mask) or few(session, ~mask)
    use = scope.names.use = ExpressionUse()
    value = _settled(call.expression, scope, name, old, mask)
    varying = isinstance(value, np.ndarray) or name in session.trace.own
    session.trace.touch((varying and isolated) or few(session, ~mask & (old.values != value)))
    if isolated:
        trimmed(session, call.condition, mask, few_told=use.few)
    session.trace.touch(depends_on_few_units(session, call.expression, scope, value, mask))
    session.trace.touch(use.few or use.rest)
    if use.columns and not few(session, mask):
        session.trace.own.discard(name)
    DoError.when(is_text(value) != old.is_text, "type mismatch", code=109)
    column = whole_column(value, session.data.rows)
    if old.is_text:
        texts = np.where(mask, column, old.values).astype(object)
        longer = max((len(one.encode()) for one in texts), default=1)
        width = text_width(old.kind) or 1
        fresh = DataVariable(texts, old.kind if longer <= width else text_kind(texts))
    else:
        numbers = np.where(mask, np.asarray(column, dtype=np.float64), old.values)
        default = session.options.values.get("type", "float")
        fresh = _kept(numbers, old, default, promote=not call.has("nopromote"))
    count = np.asarray(fresh.values != old.values, dtype=np.bool_)
    to_missing = np.zeros(session.data.rows, dtype=np.bool_)
    if not old.is_text:
        to_missing = missing_values(fresh) & ~missing_values(old)
    varied = name not in session.trace.own
    session.data.put(name, replace(old, values=fresh.values, kind=fresh.kind))
    for rows, inside in use.taken if varied else ():
        note_carried(session, name, rows, mask & inside)
    if session.trace.touched:
        session.trace.variables.add(name)
    changed(session, count, to_missing)


def _kept(numbers: object, old: DataVariable, default: str, *, promote: bool) -> DataVariable:
    values = np.asarray(numbers, dtype=np.float64)
    if promote or old.kind not in WHOLE:
        kept, kind = stored(values, old.kind, default)
        return DataVariable(kept, kind)
    return DataVariable(limited(values, old.kind), old.kind)


def _settled(expression: str, scope: Scope, name: str, old: DataVariable, mask: BoolArray) -> Value:
    """The value of an expression that may refer to values it has just changed itself.

    Where it does, it is worked out again until nothing changes: after k rounds the first k
    observations are final.
    """
    scope.sequential, scope.renewed = name, old.values
    value = evaluate(expression, scope)
    if not re.search(rf"\b{re.escape(name)}\s*\[", expression):
        return value
    while True:
        column = whole_column(value, scope.rows)
        renewed = np.where(mask, column, old.values)
        if old.is_text:
            renewed = renewed.astype(object)
        if np.array_equal(renewed, scope.renewed):
            return value
        scope.renewed = renewed
        value = evaluate(expression, scope)


@command("ipolate")
def interpolate(session: Session, call: CommandCall) -> None:
    """`ipolate y x [if] [in], generate(name) [epolate by(varlist)]`."""
    data = session.data
    names = data.listed(call.head)
    if len(names) != 2 or any(data.variables[name].is_text for name in names):
        raise DoError("invalid syntax of ipolate", code=198)
    name = (call.argument("generate") or "").strip()
    data.check_new(name)
    y, x = (np.asarray(data.variables[one].values, dtype=np.float64) for one in names)
    mask = selected(session, call) & (x < MISSING)
    codes, count = codes_of(session, list(call.by) or data.listed(call.argument("by") or ""))
    result = np.full(data.rows, MISSING)
    for group in range(count):
        rows = np.flatnonzero(mask & (codes == group))
        result[rows] = _on_lines(y[rows], x[rows], beyond=call.has("epolate"))
    session.put(name, DataVariable(limited(result, "float"), "float"), names)
    classes = np.where(mask & (y < MISSING), codes, -1)
    filled = np.where(mask & (result < MISSING), codes, -1)
    if fills_from_few(session, classes, filled, count):
        session.trace.variables.add(name)
    missing_made(session, result >= MISSING)


def _on_lines(y: FloatArray, x: FloatArray, *, beyond: bool) -> Any:
    known = y < MISSING
    places, at = np.unique(x[known], return_inverse=True)
    if len(places) < 2:
        return y
    heights = np.bincount(at, y[known]) / np.bincount(at)
    heights_at = np.interp(x, places, heights, left=MISSING, right=MISSING)
    if beyond:
        for outside, one, other in ((x < places[0], 0, 1), (x > places[-1], -1, -2)):
            slope = (heights[other] - heights[one]) / (places[other] - places[one])
            heights_at = np.where(outside, heights[one] + slope * (x - places[one]), heights_at)
    return np.where(known, y, heights_at)


_RULE = re.compile(r"(?P<from>[^=]+)=\s*(?P<to>\S+)(?P<label>\s+.*)?\Z", re.DOTALL)


@dataclass(frozen=True)
class _Rule:
    """One rule: which values, what they become, and the label of that."""

    spans: tuple[tuple[float, float], ...]
    words: frozenset[str]
    to: float | None
    label: str


@command("recode")
def recode(session: Session, call: CommandCall) -> None:
    """`recode varlist (rule) … [if] [in] [, generate() prefix() label()]`."""
    names, rules = _read(session, call.head)
    mask = selected(session, call)
    targets = _targets(call, names)
    for target in targets:
        if target not in names:
            session.data.check_new(target)
    parts = [
        _recoded(session, call, (name, target), rules, mask)
        for name, target in zip(names, targets, strict=True)
    ]
    changes = all_affected(session, parts, whole=False)
    cases_note(session, changes, "change made", "changes made", "recode", nobody=False)


def _read(session: Session, text: str) -> tuple[list[str], list[_Rule]]:
    """The variables and the rules, in brackets or not."""
    at = text.find("(")
    if at >= 0:
        listed, parts = text[:at], _bracketed(text[at:])
    else:
        match = re.match(r"(?P<vars>.*?)\s+(?P<rules>[^\s=]+(?:\s*=|\s[^=]*=).*)\Z", text)
        words = text.split()
        first = next((at for at, word in enumerate(words) if _RULE_WORD.match(word)), None)
        if not match or first is None:
            raise DoError("invalid syntax of recode", code=198)
        listed = " ".join(words[:first])
        parts = _bare(" ".join(words[first:]))
    names = session.data.listed(listed)
    DoError.when(not names or not parts, "invalid syntax of recode", code=198)
    for name in names:
        DoError.when(session.data.variables[name].is_text, f"{name} is a string variable", code=107)
    return names, [_rule(part) for part in parts]


def _bracketed(text: str) -> list[str]:
    parts = re.findall(r"\(((?:[^()\"]|\"[^\"]*\")*)\)", text)
    left = re.sub(r"\((?:[^()\"]|\"[^\"]*\")*\)", "", text)
    DoError.when(left.strip(), "invalid syntax of recode", code=198)
    return parts


_RULE_WORD = re.compile(r"[-\d.]|min\b|max\b|missing\b|nonmissing\b|else\b|\*=|\*\Z")


def _bare(text: str) -> list[str]:
    """Rules without brackets: `1=2 3/5=6 else=.`."""
    joined = re.sub(r"\s*=\s*", "=", text)
    parts, held = [], []
    for word in joined.split():
        held.append(word)
        if "=" in word:
            parts.append(" ".join(held))
            held = []
    DoError.when(held, "invalid syntax of recode", code=198)
    return parts


def _rule(text: str) -> _Rule:
    match = required(_RULE.match(text.strip()), "invalid syntax of recode", code=198)
    label = words_of(match["label"] or "")
    to = match["to"]
    DoError.when('"' in to, "invalid syntax of recode", code=198)
    spans, special = [], []
    for word in re.sub(r"\s*/\s*", "/", match["from"]).split():
        if word in ("missing", "mis", "miss", "nonmissing", "nonm", "nonmis", "else", "*"):
            special.append("missing" if word.startswith("mis") else
                           "nonmissing" if word.startswith("nonm") else "else")  # fmt: skip
            continue
        first, sign, last = word.partition("/")
        spans.append((_number(first), _number(last if sign else first)))
    value = None if to in ("=", "copy") else _number(to)
    if label and value is not None and value < MISSING and value != np.trunc(value):
        raise DoError("only whole numbers can be labelled", code=198)
    return _Rule(tuple(spans), frozenset(special), value, " ".join(label[:1]))


def _number(text: str) -> float:
    if text in ("min", "max"):
        return -np.inf if text == "min" else np.nextafter(MISSING, 0)
    return present(number_or_code(text), "invalid syntax of recode", code=198)


def _targets(call: CommandCall, names: list[str]) -> list[str]:
    new, prefix = call.argument("generate"), call.argument("prefix")
    if new is not None:
        targets = new.split()
        if len(targets) != len(names):
            raise DoError("generate() needs as many names as there are variables", code=198)
        return targets
    if prefix is not None:
        return [f"{prefix.strip()}{name}" for name in names]
    return names


def _recoded(
    session: Session, call: CommandCall, names: tuple[str, str], rules: list[_Rule], mask: BoolArray
) -> BoolArray:
    """One variable recoded; which values differ."""
    name, target = names
    variable = session.data.variables[name]
    old = np.asarray(variable.values, dtype=np.float64)
    new, done = old.copy(), ~mask
    for rule in rules:
        hit = ~done & _chosen(rule, old)
        if rule.to is not None:
            new[hit] = rule.to
        done |= hit
    if target == name:
        kept, kind = stored(new, variable.kind)
        session.data.put(name, replace(variable, values=kept, kind=kind))
        return np.asarray(kept != old, dtype=np.bool_)
    if not call.has("copyrest"):
        new = np.where(mask, new, MISSING)
    kind = smallest_type(new) if variable.kind in ("byte", "int", "long") else variable.kind
    kept, kind = stored(new, kind)
    label = f"RECODE of {name}" + (f" ({variable.label})" if variable.label else "")
    labels = {rule.to: rule.label for rule in rules if rule.label and rule.to is not None}
    value_label = ""
    if labels:
        value_label = (call.argument("label") or target).strip()
        session.data.value_labels[value_label] = labels
    session.put(target, DataVariable(kept, kind, "", label, value_label), [name])
    return np.asarray(kept != old, dtype=np.bool_)


def _chosen(rule: _Rule, values: FloatArray) -> BoolArray:
    mask = np.zeros(len(values), dtype=np.bool_)
    for first, last in rule.spans:
        mask |= (values >= first) & (values <= last)
    if "missing" in rule.words:
        mask |= values >= MISSING
    if "nonmissing" in rule.words:
        mask |= values < MISSING
    if "else" in rule.words:
        mask[:] = True
    return mask


@command("mvdecode")
def to_missing(session: Session, call: CommandCall) -> None:
    r"""`mvdecode varlist [if] [in], mv(9 99)` or `mv(9=.a \ 99=.b)`."""
    mask = selected(session, call)
    pairs: list[tuple[float, float]] = []
    for part in (call.argument("mv") or "").split("\\"):
        numbers, sign, code = part.partition("=")
        value = present(code_of(code.strip()) if sign else MISSING, "invalid option mv()", code=198)
        pairs.extend((number, value) for number in numbers_of(numbers))
    DoError.when(not pairs, "invalid option mv()", code=198)
    for name in session.data.listed(call.head):
        variable = session.data.variables[name]
        if variable.is_text:
            continue
        old = np.asarray(variable.values, dtype=np.float64)
        new = old.copy()
        for number, value in pairs:
            new[mask & (old == number)] = value
        session.data.put(name, replace(variable, values=new))
        _mv_note(session, name, new != old, "generated", call.name)


@command("mvencode")
def from_missing(session: Session, call: CommandCall) -> None:
    r"""`mvencode varlist [if] [in], mv(#|.a=# \ else=#) [override]`."""
    mask = selected(session, call)
    pairs: list[tuple[float | None, float]] = []
    for part in (call.argument("mv") or "").split("\\"):
        code, sign, number = part.partition("=")
        which = code_of(code.strip()) if sign and code.strip() != "else" else None
        codes = numbers_of(number if sign else code)
        DoError.when(len(codes) != 1, "invalid option mv()", code=198)
        pairs.append((which, codes[0]))
    names = [one for one in session.data.listed(call.head)
             if not session.data.variables[one].is_text]  # fmt: skip
    for name in names if not call.has("override") else ():
        old = np.asarray(session.data.variables[name].values, dtype=np.float64)
        there = mask & np.isin(old, [number for _, number in pairs])
        message = f"{name} already holds such a number; use the option override"
        stop_where(session, there, message, code=9)
    for name in names:
        variable = session.data.variables[name]
        old = np.asarray(variable.values, dtype=np.float64)
        new, done = old.copy(), ~mask | (old < MISSING)
        for which, value in pairs:
            hit = ~done & ((old == which) if which is not None else True)
            new[hit] = value
            done |= hit
        kept, kind = stored(new, variable.kind)
        session.data.put(name, replace(variable, values=kept, kind=kind))
        _mv_note(session, name, kept != old, "recoded", call.name)


def _mv_note(session: Session, name: str, rows: BoolArray, done: str, command_name: str) -> None:
    if session.trace.touched:
        return
    affected = all_affected(session, [rows], whole=False)
    if count_text(session, affected) not in ("0", "."):
        cases_note(session, affected, f"missing value {done} in {name}",
                   f"missing values {done} in {name}", command_name)  # fmt: skip


@command("clonevar")
def clone(session: Session, call: CommandCall) -> None:
    """`clonevar new = old [if] [in]`."""
    name, source = call.head.strip(), session.data.full((call.expression or "").strip())
    session.data.check_new(name)
    mask = selected(session, call)
    variable = session.data.variables[source]
    values: Any = np.where(mask, variable.values, variable.nothing(session.data.rows))
    values = values.astype(object) if variable.is_text else values
    session.put(name, replace(variable, values=values), [source])


@command("separate")
def separate(session: Session, call: CommandCall) -> None:
    """`separate x [if] [in], by(groups or expression)`; `sequential` numbers them from 1."""
    if call.argument("by") is None:
        raise DoError("option by() required", code=198)
    data = session.data
    source = data.full(call.head.strip())
    variable, by = data.variables[source], (call.argument("by") or "").strip()
    mask = selected(session, call)
    if by not in data.variables:
        codes: Any = truth(by, scope_of(session)).astype(np.float64)
        values = [0.0, 1.0]
    else:
        group = data.variables[by]
        UnsupportedError.when(group.is_text, "separate by a string variable")
        codes = group.values
        values = [float(one) for one in np.unique(codes[mask]) if one < MISSING]
    stub = (call.argument("generate") or source).strip()
    for number, value in enumerate(values, 1):
        if not call.has("sequential") and (value < 0 or value != int(value)):
            error = UnsupportedError("separate by numbers that are not whole")
            error.redacted = few(session, mask & (codes == value))
            raise error
        name = f"{stub}{number if call.has('sequential') else int(value)}"
        check_made(session, name, mask & (codes >= value))
        kept = np.where(mask & (codes == value), variable.values, MISSING)
        label = f"{by} == {value:g}" if by in data.variables else by if value else f"!({by})"
        label = label if call.has("shortlabel") else f"{source}, {label}"
        session.put(name, replace(variable, values=kept, label=label), [source, by])
