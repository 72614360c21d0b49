"""`recode`, `mvdecode`, `mvencode`, `clonevar`, `separate`: values from other values.

In: calls. Out: variables of the session changed; numbers of changes in the log are withheld
where small.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.blocks import numbers_of
from discreet.output_checking.running.dataset import Variable
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.evaluating import truth
from discreet.output_checking.running.extended import words_of
from discreet.output_checking.running.failing import check_made, failure
from discreet.output_checking.running.isolating import few
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.reporting import all_affected, cases_note, count_text
from discreet.output_checking.running.selecting import selected
from discreet.output_checking.running.values import (
    MISSING,
    code_of,
    number_of_text,
    smallest_type,
    stored,
)

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session
    from discreet.output_checking.running.values import Floats, Mask

_RULE = re.compile(r"(?P<from>[^=]+)=\s*(?P<to>\S+)(?P<label>\s+.*)?\Z", re.DOTALL)


@dataclass(frozen=True)
class _Rule:
    """One rule: which values, what they become, and the label of that."""

    spans: tuple[tuple[float, float], ...]
    words: frozenset[str]
    to: float | None
    label: str


@command("recode", summary="change values by rules",
         options="GENerate() PREfix() LABel() COPYrest", layout="Test")  # fmt: skip
def recode(session: Session, call: Call) -> None:
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
        found = re.match(r"(?P<vars>.*?)\s+(?P<rules>[^\s=]+(?:\s*=|\s[^=]*=).*)\Z", text)
        words = text.split()
        first = next((at for at, word in enumerate(words) if _is_rule_word(word)), None)
        if not found or first is None:
            raise DoError("invalid syntax of recode", code=198)
        listed = " ".join(words[:first])
        parts = _bare(" ".join(words[first:]))
    names = session.data.listed(listed)
    if not names or not parts:
        raise DoError("invalid syntax of recode", code=198)
    for name in names:
        if session.data.variables[name].is_text:
            raise DoError(f"{name} is a string variable", code=107)
    return names, [_rule(part) for part in parts]


def _bracketed(text: str) -> list[str]:
    parts = re.findall(r"\(((?:[^()\"]|\"[^\"]*\")*)\)", text)
    left = re.sub(r"\((?:[^()\"]|\"[^\"]*\")*\)", "", text)
    if left.strip():
        raise DoError("invalid syntax of recode", code=198)
    return parts


def _is_rule_word(word: str) -> bool:
    return bool(re.match(r"[-\d.]|min\b|max\b|missing\b|nonmissing\b|else\b|\*=|\*\Z", word))


def _bare(text: str) -> list[str]:
    """Rules without brackets: `1=2 3/5=6 else=.`."""
    joined = re.sub(r"\s*=\s*", "=", text)
    parts, held = [], []
    for word in joined.split():
        held.append(word)
        if "=" in word:
            parts.append(" ".join(held))
            held = []
    if held:
        raise DoError("invalid syntax of recode", code=198)
    return parts


def _rule(text: str) -> _Rule:
    found = _RULE.match(text.strip())
    if not found:
        raise DoError("invalid syntax of recode", code=198)
    label = words_of(found["label"] or "")
    to = found["to"]
    if '"' in to:
        raise DoError("invalid syntax of recode", code=198)
    spans, special = [], []
    for word in re.sub(r"\s*/\s*", "/", found["from"]).split():
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
    code = code_of(text)
    if code is not None:
        return code
    if text in ("min", "max"):
        return -np.inf if text == "min" else np.nextafter(MISSING, 0)
    number = number_of_text(text)
    if number is None:
        raise DoError("invalid syntax of recode", code=198)
    return number


def _targets(call: Call, names: list[str]) -> list[str]:
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
    session: Session, call: Call, names: tuple[str, str], rules: list[_Rule], mask: Mask
) -> Mask:
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
    session.data.put(target, Variable(kept, kind, "", label, value_label))
    session.derive(target, [name])
    return np.asarray(kept != old, dtype=np.bool_)


def _chosen(rule: _Rule, values: Floats) -> Mask:
    found = np.zeros(len(values), dtype=np.bool_)
    for first, last in rule.spans:
        found |= (values >= first) & (values <= last)
    if "missing" in rule.words:
        found |= values >= MISSING
    if "nonmissing" in rule.words:
        found |= values < MISSING
    if "else" in rule.words:
        found[:] = True
    return found


@command("mvdecode", summary="numbers become missing", options="mv()")
def to_missing(session: Session, call: Call) -> None:
    r"""`mvdecode varlist [if] [in], mv(9 99)` or `mv(9=.a \ 99=.b)`."""
    mask = selected(session, call)
    pairs: list[tuple[float, float]] = []
    for part in (call.argument("mv") or "").split("\\"):
        numbers, sign, code = part.partition("=")
        value = code_of(code.strip()) if sign else MISSING
        if value is None:
            raise DoError("invalid option mv()", code=198)
        pairs.extend((number, value) for number in numbers_of(numbers))
    if not pairs:
        raise DoError("invalid option mv()", code=198)
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


@command("mvencode", summary="missing values become numbers", options="mv() Override")
def from_missing(session: Session, call: Call) -> None:
    r"""`mvencode varlist [if] [in], mv(#|.a=# \ else=#) [override]`."""
    mask = selected(session, call)
    pairs: list[tuple[float | None, float]] = []
    for part in (call.argument("mv") or "").split("\\"):
        code, sign, number = part.partition("=")
        which = code_of(code.strip()) if sign and code.strip() != "else" else None
        given = numbers_of(number if sign else code)
        if len(given) != 1:
            raise DoError("invalid option mv()", code=198)
        pairs.append((which, given[0]))
    names = [one for one in session.data.listed(call.head)
             if not session.data.variables[one].is_text]  # fmt: skip
    for name in names if not call.has("override") else ():
        old = np.asarray(session.data.variables[name].values, dtype=np.float64)
        there = mask & np.isin(old, [number for _, number in pairs])
        if there.any():
            what = f"{name} already holds such a number; use the option override"
            raise failure(session, there, what, code=9)
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


def _mv_note(session: Session, name: str, rows: Mask, done: str, command_name: str) -> None:
    if session.trace.touched:
        return
    found = all_affected(session, [rows], whole=False)
    if count_text(session, found) not in ("0", "."):
        cases_note(session, found, f"missing value {done} in {name}",
                   f"missing values {done} in {name}", command_name)  # fmt: skip


@command("clonevar", summary="a copy of a variable with its labels", expression=True)
def clone(session: Session, call: Call) -> None:
    """`clonevar new = old [if] [in]`."""
    name, source = call.head.strip(), session.data.full((call.expression or "").strip())
    session.data.check_new(name)
    mask = selected(session, call)
    variable = session.data.variables[source]
    values: Any = np.where(mask, variable.values, variable.nothing(session.data.rows))
    values = values.astype(object) if variable.is_text else values
    session.data.put(name, replace(variable, values=values))
    session.derive(name, [source])


@command("separate", summary="one variable per group",
         options="by() Generate() Shortlabel Sequential")  # fmt: skip
def separate(session: Session, call: Call) -> None:
    """`separate x [if] [in], by(groups or expression)`; `sequential` numbers them from 1."""
    if call.argument("by") is None:
        raise DoError("option by() required", code=198)
    data = session.data
    source = data.full(call.head.strip())
    variable, by = data.variables[source], (call.argument("by") or "").strip()
    mask = selected(session, call)
    if by not in data.variables:
        codes: Any = truth(by, session.scope()).astype(np.float64)
        values = [0.0, 1.0]
    else:
        group = data.variables[by]
        if group.is_text:
            raise UnsupportedError("separate by a string variable")
        codes = group.values
        values = [float(one) for one in np.unique(codes[mask]) if one < MISSING]
    stub = (call.argument("generate") or source).strip()
    for number, value in enumerate(values, 1):
        if not call.has("sequential") and (value < 0 or value != int(value)):
            error = UnsupportedError("separate by numbers that are not whole")
            error.untold = few(session, mask & (codes == value))
            raise error
        name = f"{stub}{number if call.has('sequential') else int(value)}"
        check_made(session, name, mask & (codes >= value))
        kept = np.where(mask & (codes == value), variable.values, MISSING)
        label = f"{by} == {value:g}" if by in data.variables else by if value else f"!({by})"
        label = label if call.has("shortlabel") else f"{source}, {label}"
        data.put(name, replace(variable, values=kept, label=label))
        session.derive(name, [source, by])
