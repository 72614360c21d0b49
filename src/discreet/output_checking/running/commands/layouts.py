"""`describe`, `ds`, `lookfor`, `compress`, `recast`, `note`: variables, not their values.

In: calls. Out: names, types, formats and labels in the log; the number of observations is
withheld where it is small.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.combining import missing_values
from discreet.output_checking.running.dataset import Variable
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.extended import words_of
from discreet.output_checking.running.reading import text_kind
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.reporting import affected, all_records, count_text
from discreet.output_checking.running.values import (
    WHOLE,
    Floats,
    limited,
    smallest_type,
    text_width,
)
from discreet.output_checking.safe.results import Check, SafeResult, Verdict

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

_WIDTH = 78


@command("describe", summary="names, types, formats and labels",
         options="Short Simple", layout="Fullnames Numbers Detail", idle="VARList",
         group="output")  # fmt: skip
def describe(session: Session, call: Call) -> None:
    """`describe [varlist] [, short simple]`."""
    if call.using is not None:
        raise UnsupportedError("describe using")
    data = session.data
    names = data.listed(call.head) if call.head else list(data.variables)
    count = all_records(session)
    lines: list[str] = []
    if call.has("simple"):
        lines = _filled(names)
    else:
        if not call.head:
            title = f"{' ':>4}{data.label}" if data.label else ""
            lines = ["Contains data", f"{'Observations:':<14}{count:>12}{title}",
                     f"{'Variables:':<14}{len(data.variables):>12}"]  # fmt: skip
        if not call.has("short"):
            lines += _table(session, names)
        lines.append(f"Sorted by: {' '.join(data.sorted_by)}")
    small = count == "." and not call.head
    check = Check(
        rule="minimum",
        verdict=Verdict.fail if small else Verdict.passed,
        reason="the number of observations is too small" if small else "names and labels",
    )
    session.show(SafeResult(command="describe", shown="\n".join(lines), checks=[check]))
    safe = {"k": float(len(data.variables))}
    if count != ".":
        safe["N"] = float(data.rows)
    session.store("r", {"N": float(data.rows), "varlist": " ".join(names)}, safe=safe)


def _table(session: Session, names: list[str]) -> list[str]:
    rule = "-" * _WIDTH
    heads = ("Variable", "Storage", "Display", "Value", ""), (
        "name", "type", "format", "label", "Variable label")  # fmt: skip
    lines = [rule, *("{:<16}{:<10}{:<12}{:<14}{}".format(*one).rstrip() for one in heads), rule]
    for name in names:
        one = session.data.variables[name]
        sized = name in session.trace.sized
        kind, layout = (".", one.layout or ".") if sized else (one.kind, one.format)
        lines.append(f"{name:<16}{kind:<10}{layout:<12}{one.value_label:<14}{one.label}".rstrip())
    return [*lines, rule]


def _filled(names: list[str]) -> list[str]:
    """Names in lines."""
    lines, line = [], ""
    for name in names:
        if line and len(line) + len(name) + 2 > _WIDTH:
            lines.append(line)
            line = ""
        line = f"{line}  {name}" if line else name
    return [*lines, line] if line else lines


@command("ds", summary="names of variables, also by type or label",
         options="has() not()? Alpha INSEnsitive", layout="Detail Varwidth() Skip() Indent()",
         group="output")  # fmt: skip
def names_only(session: Session, call: Call) -> None:
    """`ds [varlist] [, has(type numeric) not(type string) not]`; stores r(varlist)."""
    data = session.data
    names = data.listed(call.head) if call.head else list(data.variables)
    case = not call.has("insensitive")
    if call.has("has"):
        given = str(call.argument("has"))
        names = [one for one in names if _has(session, one, given, case=case)]
    if call.argument("not") is not None:
        given = str(call.argument("not"))
        names = [one for one in names if not _has(session, one, given, case=case)]
    elif call.has("not"):
        names = [one for one in data.variables if one not in names]
    if call.has("alpha"):
        names.sort()
    session.write("\n".join(_filled(names)))
    _store_names(session, names)


def _store_names(session: Session, names: list[str]) -> None:
    from discreet.output_checking.running.session import Result

    session.stored["r"] = {"varlist": Result(" ".join(names), safe=True)}


def _has(session: Session, name: str, text: str, *, case: bool) -> bool:
    """Whether a variable has what is asked for: a type, label, format."""
    kind, _, wanted = text.strip().partition(" ")
    variable, words = session.data.variables[name], words_of(wanted) or ["*"]
    session.trace.touch(name in session.trace.sized)
    if kind.startswith("t"):
        return any(_is_type(variable, word) for word in words)
    held = {"varl": variable.label, "vall": variable.value_label, "form": variable.format}
    value = next((known for least, known in held.items() if kind.startswith(least)), None)
    if value is None:
        raise UnsupportedError(f"ds with has({kind})")
    if not case:
        value, words = value.lower(), [word.lower() for word in words]
    return bool(value) and any(fnmatchcase(value, word) for word in words)


def _is_type(variable: Variable, word: str) -> bool:
    if word == "numeric":
        return not variable.is_text
    if word == "string":
        return variable.is_text
    return variable.kind == word


@command("lookfor", summary="variables whose name or label holds a word", raw=True,
         group="output")  # fmt: skip
def look_for(session: Session, call: Call) -> None:
    """`lookfor word …`."""
    words = [word.lower() for word in re.findall(r'"([^"]*)"|(\S+)', call.text) for word in word]
    words = [word for word in words if word]
    found = [
        name
        for name, one in session.data.variables.items()
        if any(word in name.lower() or word in one.label.lower() for word in words)
    ]
    if found:
        session.write("\n".join(_table(session, found)))
    _store_names(session, found)


@command("compress", summary="the smallest storage types", idle="noCoalesce")
def compress(session: Session, call: Call) -> None:
    """`compress [varlist]`."""
    data = session.data
    for name in data.listed(call.head) if call.head else list(data.variables):
        one = data.variables[name]
        kind = text_kind(one.values) if one.is_text else _smaller(one)
        if kind != one.kind:
            data.variables[name] = replace(one, kind=kind)
    session.write("  (types are as small as the values allow; which, is not shown)")


def _smaller(one: Variable) -> str:
    """The smallest type of the same precision; doubles become floats never."""
    kinds = [*WHOLE, "float", "double"]
    kind = smallest_type(np.asarray(one.values, dtype=np.float64))
    if kind == "float" and one.kind != "float":
        return one.kind
    return kind if kinds.index(kind) < kinds.index(one.kind) else one.kind


@command("recast", summary="another storage type", options="force")
def recast(session: Session, call: Call) -> None:
    """`recast type varlist [, force]`; without force nothing is lost."""
    kind, _, listed = call.head.partition(" ")
    for name in session.data.listed(listed):
        one = session.data.variables[name]
        if one.is_text != kind.startswith("str"):
            raise DoError("type mismatch", code=109)
        if one.is_text:
            values, lost = _recast_text(one, kind)
        else:
            if kind not in (*WHOLE, "float", "double"):
                raise DoError("invalid type", code=198)
            values, lost = _recast_number(one, kind)
        if lost and not call.has("force"):
            session.trace.sized.add(name)
            continue
        session.data.put(name, replace(one, values=values, kind=kind))
        session.trace.sized.add(name)
    if not call.has("force"):
        session.write("  (recast where no value changes)")


def _recast_text(one: Variable, kind: str) -> tuple[Any, bool]:
    width = text_width(kind)
    if width is None:
        raise DoError("invalid type", code=198)
    values = one.values.copy()
    values[:] = [text.encode()[:width].decode("utf-8", "ignore") for text in one.values]
    return values, bool((values != one.values).any())


def _recast_number(one: Variable, kind: str) -> tuple[Floats, bool]:
    old = np.asarray(one.values, dtype=np.float64)
    values = limited(old, kind)
    return values, bool((values != old).any())


@command("note", summary="notes are not kept", raw=True)
def note(session: Session, call: Call) -> None:
    """`note: text`: has no effect."""


@command("misstable", summary="numbers of missing values", options="all", group="output")
def missing_table(session: Session, call: Call) -> None:
    """`misstable summarize [varlist] [if] [in]`: missing values of numeric variables."""
    from discreet.output_checking.running.selecting import selected

    kind, _, rest = call.head.partition(" ")
    if not (len(kind) >= 3 and "summarize".startswith(kind)):
        raise UnsupportedError(f"misstable {kind}")
    data, mask = session.data, selected(session, call)
    names = data.listed(rest) if rest.strip() else list(data.variables)
    lines = [f"{'Variable':<20} {'Missing':>12} {'Known':>12}", "-" * 46]
    small = False
    for name in names:
        if data.variables[name].is_text:
            continue
        missing = missing_values(data.variables[name])
        gone = affected(session, mask & missing)
        texts = [count_text(session, one) for one in (gone, affected(session, mask & ~missing))]
        hidden = "." in texts or not (session.trace.plain or gone.records)
        if hidden or gone.records or call.has("all"):
            small |= hidden
            texts = [".", "."] if hidden else texts
            lines.append(f"{name:<20} {texts[0]:>12} {texts[1]:>12}")
    verdict = Verdict.fail if small else Verdict.passed
    reason = "numbers of cases are too small" if small else "numbers of cases"
    check = Check(rule="minimum", verdict=verdict, reason=reason)
    session.show(SafeResult(command="misstable", shown="\n".join(lines), checks=[check]))
