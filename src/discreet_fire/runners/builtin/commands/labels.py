"""Labels, formats, storage types: `label`, `format`, `describe`, `ds`, `compress`, `recast` …

In: calls. Out: labels and formats of the session's data; names, types and labels in the log, not
values; the number of observations is withheld where it is small. CONFIDENTIAL.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from textwrap import wrap
from typing import Any

import numpy as np

from discreet_fire.runners.builtin.data.dataset import DataVariable, missing_values, text_kind
from discreet_fire.runners.builtin.disclosure.record_counts import (
    AffectedRecords,
    affected,
    all_records,
    count_text,
    show_counts,
    tell_counts,
)
from discreet_fire.runners.builtin.language.calls import CommandCall
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.values import (
    MISSING,
    NUMBER_TYPES,
    WHOLE,
    code_of,
    is_format,
    limited,
    number_of_text,
    shortened,
    smallest_type,
    text_column,
    text_width,
)
from discreet_fire.runners.builtin.macro_expansion import words_of
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import selected
from discreet_fire.runners.builtin.state.parts import StoredResult
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.statistics import CheckVerdict

_OPTIONS = re.compile(r",\s*(?:(?:add|modify|replace|nofix)\s*)+\Z")


@command("label")
def label(session: Session, call: CommandCall) -> None:
    """`label variable x "…"`, `label define name 1 "…" …`, `label values x name`."""
    word, _, rest = call.text.strip().partition(" ")
    kinds = (one for one, (least, _) in _DO.items() if len(word) >= least and one.startswith(word))
    kind = next(kinds, None)
    if kind is None:
        raise UnsupportedError(f"label {word}")
    if session.trace.touched and kind in ("variable", "define", "data"):
        raise DoError("a label may not hold single values of the data", code=198)
    _DO[kind][1](session, rest.strip())


def _variable(session: Session, text: str) -> None:
    name, _, label_text = text.partition(" ")
    full = session.data.full(name)
    words = words_of(label_text)
    DoError.when(len(words) > 1, "invalid syntax of label variable", code=198)
    variable = session.data.variables[full]
    session.data.variables[full] = replace(variable, label=words[0] if words else "")


def _define(session: Session, text: str) -> None:
    before, _, options = text.rpartition(",") if _OPTIONS.search(text) else (text, "", "")
    stated = set(options.split())
    if not stated <= {"add", "modify", "replace", "nofix"}:
        raise UnsupportedError("an option of label define")
    words = words_of(before)
    DoError.when(len(words) < 3 or len(words) % 2 == 0, "invalid syntax of label define", code=198)
    name = words[0]
    texts = {_number(number): one for number, one in zip(words[1::2], words[2::2], strict=True)}
    known = session.data.value_labels.get(name)
    if known is not None and not stated & {"add", "modify", "replace"}:
        raise DoError(f"label {name} already defined", code=110)
    if known is not None and "add" in stated and set(texts) & set(known):
        raise DoError("a value is labelled already", code=180)
    base = {} if known is None or "replace" in stated else known
    session.data.value_labels[name] = {**base, **texts}


def _number(text: str) -> float:
    code = code_of(text)
    if code is not None:
        return code
    number, (low, high) = number_of_text(text), WHOLE["long"]
    if number is None or not low <= number <= high or number != int(number):
        raise DoError("invalid syntax of label define", code=198)
    return number


def _values(session: Session, text: str) -> None:
    words = text.split(",")[0].split()
    DoError.when(not words, "invalid syntax of label values", code=198)
    if len(words) == 1:
        # One name alone takes the label off.
        words = [*words, "."]
    *names, label_name = words
    for name in session.data.listed(" ".join(names)):
        variable = session.data.variables[name]
        DoError.when(variable.is_text, "may not label strings", code=181)
        kept = "" if label_name == "." else label_name
        session.data.variables[name] = replace(variable, value_label=kept)


def _data(session: Session, text: str) -> None:
    words = words_of(text)
    session.data.label = words[0] if words else ""


def _drop(session: Session, text: str) -> None:
    names = list(session.data.value_labels) if text.strip() == "_all" else text.split()
    for name in names:
        if name not in session.data.value_labels:
            raise DoError(f"value label {name} not found", code=111)
        del session.data.value_labels[name]


def _list(session: Session, text: str) -> None:
    """Labels that the do-file or the data define are no values of records."""
    session.trace.touch("shape" in session.trace.whole)
    if session.trace.touched:
        reason = "single values of the data decided which labels there are"
        session.withhold("label list", "single-value", reason)
        return
    for name in text.split() or sorted(session.data.value_labels):
        texts = session.data.value_labels.get(name)
        if texts is None:
            raise DoError(f"value label {name} not found", code=111)
        if name in session.trace.labels:
            session.withhold("label list", "single-value", "the labels are texts of the data")
            continue
        session.write(f"{name}:")
        for number, label_text in sorted(texts.items()):
            session.write(f"{number:>12g} {label_text}")


def _copy(session: Session, text: str) -> None:
    before, _, options = text.partition(",")
    words = before.split()
    known = session.data.value_labels
    if len(words) != 2 or options.strip() not in ("", "replace", "modify"):
        raise DoError("invalid syntax of label copy", code=198)
    DoError.when(words[0] not in known, f"value label {words[0]} not found", code=111)
    if words[1] in known and not options.strip():
        raise DoError(f"label {words[1]} already defined", code=110)
    base = known.get(words[1], {}) if options.strip() == "modify" else {}
    known[words[1]] = {**base, **known[words[0]]}
    if words[0] in session.trace.labels:
        session.trace.labels.add(words[1])


@command("numlabel")
def number_labels(session: Session, call: CommandCall) -> None:
    """`numlabel [names], add` or `remove`."""
    DoError.when(call.has("add") == call.has("remove"), "give one of add and remove", code=198)
    known = session.data.value_labels
    for name in call.head.split() or list(known):
        DoError.when(name not in known, f"value label {name} not found", code=111)
        if call.has("add"):
            known[name] = {value: f"{value:g}. {text}" if value < MISSING else text
                           for value, text in known[name].items()}  # fmt: skip
        else:
            known[name] = {value: text.removeprefix(f"{value:g}. ")
                           for value, text in known[name].items()}  # fmt: skip


#: Forms of `label`: the fewest letters of each, and what it does.
_DO: dict[str, tuple[int, Callable[[Session, str], None]]] = {
    "variable": (3, _variable),
    "define": (3, _define),
    "values": (3, _values),
    "data": (2, _data),
    "drop": (4, _drop),
    "copy": (4, _copy),
    "list": (1, _list),
    "dir": (3, _list),
}


@command("format")
def layout(session: Session, call: CommandCall) -> None:
    """`format varlist %fmt`."""
    words = call.text.split()
    formats = [word for word in words if word.startswith("%")]
    if len(formats) != 1 or not (is_format(formats[0]) or re.match(r"%-?\d+s\Z", formats[0])):
        raise DoError("invalid display format", code=120)
    names = session.data.listed(" ".join(word for word in words if not word.startswith("%")))
    for name in names:
        variable = session.data.variables[name]
        if variable.is_text != formats[0].endswith("s"):
            raise DoError("invalid display format", code=120)
        session.data.variables[name] = replace(variable, layout=formats[0])


_WIDTH = 78


@command("describe")
def describe(session: Session, call: CommandCall) -> None:
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
    verdict = CheckVerdict.fail if small else CheckVerdict.passed
    reason = "the number of observations is too small" if small else "names and labels"
    session.flag("describe", "minimum", verdict, reason, shown="\n".join(lines))
    if count != "." and not call.head and not call.has("simple") and data.variables:
        tell_counts(session, "describe", [affected(session, slice(None))])
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
    return wrap("  ".join(names), _WIDTH, break_long_words=False, break_on_hyphens=False)


@command("ds")
def names_only(session: Session, call: CommandCall) -> None:
    """`ds [varlist] [, has(type numeric) not(type string) not]`; stores r(varlist)."""
    data = session.data
    names = data.listed(call.head) if call.head else list(data.variables)
    case = not call.has("insensitive")
    if call.has("has"):
        feature = str(call.argument("has"))
        names = [one for one in names if _has(session, one, feature, case=case)]
    if call.argument("not") is not None:
        feature = str(call.argument("not"))
        names = [one for one in names if not _has(session, one, feature, case=case)]
    elif call.has("not"):
        names = [one for one in data.variables if one not in names]
    if call.has("alpha"):
        names.sort()
    session.write("\n".join(_filled(names)))
    _store_names(session, names)


def _store_names(session: Session, names: list[str]) -> None:
    session.results.stored["r"] = {"varlist": StoredResult(" ".join(names), safe=True)}


def _has(session: Session, name: str, text: str, *, case: bool) -> bool:
    """Whether a variable has what is asked for: a type, label, format."""
    kind, _, wanted = text.strip().partition(" ")
    variable, words = session.data.variables[name], words_of(wanted) or ["*"]
    session.trace.touch(name in session.trace.sized)
    if kind.startswith("t"):
        kinds = {variable.kind, "string" if variable.is_text else "numeric"}
        return not kinds.isdisjoint(words)
    held = {"varl": variable.label, "vall": variable.value_label, "form": variable.format}
    value = next((known for least, known in held.items() if kind.startswith(least)), None)
    if value is None:
        raise UnsupportedError(f"ds with has({kind})")
    if not case:
        value, words = value.lower(), [word.lower() for word in words]
    return bool(value) and any(fnmatchcase(value, word) for word in words)


@command("lookfor")
def look_for(session: Session, call: CommandCall) -> None:
    """`lookfor word …`."""
    words = [word.lower() for word in re.findall(r'"([^"]*)"|(\S+)', call.text) for word in word]
    words = [word for word in words if word]
    names = [
        name
        for name, one in session.data.variables.items()
        if any(word in name.lower() or word in one.label.lower() for word in words)
    ]
    if names:
        session.write("\n".join(_table(session, names)))
    _store_names(session, names)


@command("compress")
def compress(session: Session, call: CommandCall) -> None:
    """`compress [varlist]`."""
    data = session.data
    for name in data.listed(call.head) if call.head else list(data.variables):
        one = data.variables[name]
        kind = text_kind(one.values) if one.is_text else _smaller(one)
        if kind != one.kind:
            data.variables[name] = replace(one, kind=kind)
    session.write("  (types are as small as the values allow; which, is not shown)")


def _smaller(one: DataVariable) -> str:
    """The smallest type of the same precision; doubles become floats never."""
    kinds = NUMBER_TYPES
    kind = smallest_type(np.asarray(one.values, dtype=np.float64))
    if kind == "float" and one.kind != "float":
        return one.kind
    return kind if kinds.index(kind) < kinds.index(one.kind) else one.kind


@command("recast")
def recast(session: Session, call: CommandCall) -> None:
    """`recast type varlist [, force]`; without force nothing is lost."""
    kind, _, listed = call.head.partition(" ")
    for name in session.data.listed(listed):
        one = session.data.variables[name]
        DoError.when(one.is_text != kind.startswith("str"), "type mismatch", code=109)
        values: Any
        if one.is_text:
            width = text_width(kind)
            DoError.when(width is None, "invalid type", code=198)
            values = text_column(shortened(text, width) for text in one.values)
        else:
            DoError.when(kind not in NUMBER_TYPES, "invalid type", code=198)
            values = limited(np.asarray(one.values, dtype=np.float64), kind)
        session.trace.sized.add(name)
        if call.has("force") or not (values != one.values).any():
            session.data.put(name, replace(one, values=values, kind=kind))
    if not call.has("force"):
        session.write("  (recast where no value changes)")


@command("note")
def note(session: Session, call: CommandCall) -> None:
    """`note: text`: has no effect."""


@command("misstable")
def missing_table(session: Session, call: CommandCall) -> None:
    """`misstable summarize [varlist] [if] [in]`: missing values of numeric variables."""
    kind, _, rest = call.head.partition(" ")
    if not (len(kind) >= 3 and "summarize".startswith(kind)):
        raise UnsupportedError(f"misstable {kind}")
    data, mask = session.data, selected(session, call)
    names = data.listed(rest) if rest.strip() else list(data.variables)
    lines = [f"{'Variable':<20} {'Missing':>12} {'Known':>12}", "-" * 46]
    small = False
    counts: list[AffectedRecords] = []
    for name in names:
        if data.variables[name].is_text:
            continue
        missing = missing_values(data.variables[name])
        gone, known = affected(session, mask & missing), affected(session, mask & ~missing)
        texts = [count_text(session, one) for one in (gone, known)]
        hidden = "." in texts or not (session.trace.plain or gone.records)
        if hidden or gone.records or call.has("all"):
            small |= hidden
            counts += [] if hidden else [gone, known]
            texts = [".", "."] if hidden else texts
            lines.append(f"{name:<20} {texts[0]:>12} {texts[1]:>12}")
    show_counts(session, "misstable", lines, hidden=small, counts=counts)
