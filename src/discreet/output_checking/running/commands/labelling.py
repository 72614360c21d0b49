"""Labels of variables, values and data; display formats.

In: calls. Out: the labels of the session's data.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.extended import words_of
from discreet.output_checking.running.formats import is_format
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.values import MISSING, WHOLE, code_of, number_of_text

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

_KINDS = {
    "variable": 3,
    "define": 3,
    "values": 3,
    "data": 2,
    "drop": 4,
    "copy": 4,
    "list": 1,
    "dir": 3,
}


@command("label", summary="label variable, define, values, data, copy, drop, list", raw=True)
def label(session: Session, call: Call) -> None:
    """`label variable x "…"`, `label define name 1 "…" …`, `label values x name`."""
    word, _, rest = call.text.strip().partition(" ")
    kind = next((one for one, least in _KINDS.items() if _short(word, one, least)), None)
    if kind is None:
        raise UnsupportedError(f"label {word}")
    if session.trace.touched and kind in ("variable", "define", "data"):
        raise DoError("a label may not hold single values of the data", code=198)
    if kind in ("list", "dir"):
        _list(session, rest)
    else:
        _DO[kind](session, rest.strip())


def _short(word: str, full: str, least: int) -> bool:
    return len(word) >= least and full.startswith(word)


def _variable(session: Session, text: str) -> None:
    name, _, label_text = text.partition(" ")
    full = session.data.full(name)
    words = words_of(label_text)
    if len(words) > 1:
        raise DoError("invalid syntax of label variable", code=198)
    variable = session.data.variables[full]
    session.data.variables[full] = replace(variable, label=words[0] if words else "")


def _define(session: Session, text: str) -> None:
    before, _, options = text.rpartition(",") if _has_options(text) else (text, "", "")
    given = set(options.split())
    if not given <= {"add", "modify", "replace", "nofix"}:
        raise UnsupportedError("an option of label define")
    words = words_of(before)
    if len(words) < 3 or len(words) % 2 == 0:
        raise DoError("invalid syntax of label define", code=198)
    name, texts = words[0], {}
    for number, label_text in zip(words[1::2], words[2::2], strict=True):
        texts[_number(number)] = label_text
    known = session.data.value_labels.get(name)
    if known is not None and not given & {"add", "modify", "replace"}:
        raise DoError(f"label {name} already defined", code=110)
    if known is not None and "add" in given and set(texts) & set(known):
        raise DoError("a value is labelled already", code=180)
    base = {} if known is None or "replace" in given else known
    session.data.value_labels[name] = {**base, **texts}


def _has_options(text: str) -> bool:
    return bool(re.search(r",\s*(?:(?:add|modify|replace|nofix)\s*)+\Z", text))


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
    if not words:
        raise DoError("invalid syntax of label values", code=198)
    if len(words) == 1:
        # One name alone takes the label off.
        words = [*words, "."]
    *names, label_name = words
    for name in session.data.listed(" ".join(names)):
        variable = session.data.variables[name]
        if variable.is_text:
            raise DoError("may not label strings", code=181)
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
    if words[0] not in known:
        raise DoError(f"value label {words[0]} not found", code=111)
    if words[1] in known and not options.strip():
        raise DoError(f"label {words[1]} already defined", code=110)
    base = known.get(words[1], {}) if options.strip() == "modify" else {}
    known[words[1]] = {**base, **known[words[0]]}
    if words[0] in session.trace.labels:
        session.trace.labels.add(words[1])


@command("numlabel", summary="put numbers before the texts of value labels",
         options="Add Remove", layout="force")  # fmt: skip
def number_labels(session: Session, call: Call) -> None:
    """`numlabel [names], add` or `remove`."""
    if call.has("add") == call.has("remove"):
        raise DoError("give one of add and remove", code=198)
    known = session.data.value_labels
    for name in call.head.split() or list(known):
        if name not in known:
            raise DoError(f"value label {name} not found", code=111)
        if call.has("add"):
            known[name] = {value: f"{value:g}. {text}" if value < MISSING else text
                           for value, text in known[name].items()}  # fmt: skip
        else:
            known[name] = {value: text.removeprefix(f"{value:g}. ")
                           for value, text in known[name].items()}  # fmt: skip


_DO = {
    "variable": _variable,
    "define": _define,
    "values": _values,
    "data": _data,
    "drop": _drop,
    "copy": _copy,
}


@command("format", summary="display format of variables", raw=True)
def layout(session: Session, call: Call) -> None:
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
