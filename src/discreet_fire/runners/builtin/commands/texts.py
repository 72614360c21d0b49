"""`encode`, `decode`, `destring`, `tostring`, `split`: texts to numbers and back.

In: calls. Out: variables of the session. Value labels that `encode` makes hold texts of the
data and are never listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from discreet_fire.runners.builtin.data.data_files import numbers_or_texts
from discreet_fire.runners.builtin.data.dataset import DataVariable, text_variable
from discreet_fire.runners.builtin.disclosure.record_counts import check_made, failure
from discreet_fire.runners.builtin.language.calls import CommandCall, split_outside
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from discreet_fire.runners.builtin.language.values import (
    MISSING,
    code_of,
    is_format,
    limited,
    shortened,
    shown,
    smallest_type,
)
from discreet_fire.runners.builtin.macro_expansion import words_of
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import selected
from discreet_fire.runners.builtin.state.session import Session


@command("encode")
def encode(session: Session, call: CommandCall) -> None:
    """`encode s [if] [in], generate(name) [label(name) noextend]`."""
    data = session.data
    source = data.full(call.head.strip())
    variable = data.variables[source]
    DoError.when(not variable.is_text, "not possible with a numeric variable", code=107)
    name = (call.argument("generate") or "").strip()
    data.check_new(name)
    mask = selected(session, call) & (variable.values != "")
    label_name = (call.argument("label") or name).strip()
    known = {text: number for number, text in data.value_labels.get(label_name, {}).items()}
    fresh = sorted(set(variable.values[mask]) - set(known), key=str.encode)
    if fresh and call.has("noextend"):
        unknown = mask & np.isin(variable.values, fresh)
        raise failure(session, unknown, "not all texts have a label", code=180)
    start = max([0.0, *(number for number in known.values() if number < MISSING)])
    known.update({text: start + at for at, text in enumerate(fresh, 1)})
    values = np.array(
        [known[text] if held else MISSING
         for text, held in zip(variable.values, mask, strict=True)], dtype=np.float64)  # fmt: skip
    data.value_labels[label_name] = {number: text for text, number in known.items()}
    if fresh:
        session.trace.labels.add(label_name)
    kind = "long" if smallest_type(values) != "double" else "double"
    session.put(name, DataVariable(values, kind, "", variable.label, label_name), [source])


@command("decode")
def decode(session: Session, call: CommandCall) -> None:
    """`decode x [if] [in], generate(name) [maxlength(#)]`."""
    data = session.data
    source = data.full(call.head.strip())
    variable = data.variables[source]
    texts = data.value_labels.get(variable.value_label)
    if variable.is_text or texts is None:
        raise DoError("the variable has no value label", code=182)
    name = (call.argument("generate") or "").strip()
    data.check_new(name)
    mask = selected(session, call)
    most = call.whole("maxlength", 32_000)
    decoded = text_variable(
        shortened(texts.get(float(value), ""), most) if held else ""
        for value, held in zip(variable.values, mask, strict=True)
    )
    session.put(name, replace(decoded, label=variable.label), [source])


@command("destring")
def destring(session: Session, call: CommandCall) -> None:
    """`destring [varlist], generate(names)|replace [ignore("chars") force percent dpcomma]`."""
    names = session.data.listed(call.head) if call.head else list(session.data.variables)
    listed = _converted(
        session, call, names, lambda one: _as_numbers(one.values, call), to_text=False
    )
    if listed:
        session.write(f"  (now numeric, unless there are nonnumeric characters: {listed})")


def _converted(
    session: Session,
    call: CommandCall,
    names: list[str],
    convert: Callable[[DataVariable], DataVariable | None],
    *,
    to_text: bool,
) -> str:
    """Variables converted unless that loses something, which is not told; names of all of them."""
    converted: list[str] = []
    for name, target in zip(names, _new_names(session, call, names), strict=True):
        variable = session.data.variables[name]
        if variable.is_text == to_text:
            message = "replace" if call.has("replace") or not to_text else "generate"
            session.write(f"{name} already {'string' if to_text else 'numeric'}; no {message}")
            continue
        converted.append(name)
        new = convert(variable)
        if new is None:
            session.trace.sized.add(name)
        else:
            session.put(target, replace(new, label=variable.label), [name])
    return " ".join(converted)


def _as_numbers(texts: Iterable[str], call: CommandCall) -> DataVariable | None:
    """Numbers from texts, as the options say; None if one is none and that is not forced.

    Whole numbers get the smallest type; others are double, or float if that is wanted.
    """
    numbers = []
    for text in texts:
        cleaned = _cleaned(text, call).strip()
        number = MISSING
        if cleaned:
            code = code_of(cleaned)
            converted = numbers_or_texts([cleaned])
            if code is not None:
                number = code
            elif not converted.is_text:
                number = float(cleaned.lower().replace("d", "e"))
            elif not call.has("force"):
                return None
        numbers.append(number)
    values = np.array(numbers, dtype=np.float64)
    values = np.where(np.abs(values) < MISSING, values, np.maximum(values, MISSING))
    if call.has("percent"):
        values = np.where(values >= MISSING, values, values / 100)
    kind = smallest_type(values)
    if kind in ("float", "double"):
        kind = "float" if call.has("float") else "double"
    return DataVariable(limited(values, kind), kind)


def _new_names(session: Session, call: CommandCall, names: list[str]) -> list[str]:
    argument = call.argument("generate")
    if (argument is None) == (not call.has("replace")):
        raise DoError("give one of generate() and replace", code=198)
    if argument is None:
        return names
    targets = argument.split()
    if len(targets) != len(names):
        raise DoError("generate() needs as many names as there are variables", code=198)
    for target in targets:
        session.data.check_new(target)
    return targets


def _cleaned(text: str, call: CommandCall) -> str:
    """A text without the characters to ignore."""
    ignored = call.argument("ignore")
    if ignored is not None:
        # The last comma outside quotes begins further options, which are not known.
        signs, *others = split_outside(ignored, ",") if '"' in ignored else [ignored]
        UnsupportedError.when(others, "options of ignore()")
        for sign in "".join(words_of(signs)):
            text = text.replace(sign, "")
    if call.has("percent"):
        text = text.replace("%", "")
    if call.has("dpcomma"):
        text = text.replace(".", "").replace(",", ".")
    return text


@command("tostring")
def tostring(session: Session, call: CommandCall) -> None:
    """`tostring varlist, generate(names)|replace [format() usedisplayformat force]`."""

    def made(variable: DataVariable) -> DataVariable | None:
        layout = (call.argument("format") or "").strip('" ')
        layout = variable.format if call.has("usedisplayformat") else layout or "%12.0g"
        DoError.when(not is_format(layout), "invalid display format", code=120)
        texts = [shown(float(value), layout).strip() for value in variable.values]
        loses = not call.has("force") and _loses(variable, texts)
        return None if loses else text_variable(texts)

    names = _converted(session, call, session.data.listed(call.head), made, to_text=True)
    if names:
        session.write(f"  (now texts, unless they cannot be converted reversibly: {names})")


def _loses(variable: DataVariable, texts: list[str]) -> bool:
    """Whether a text is not the number again that it was made from."""
    for value, text in zip(variable.values, texts, strict=True):
        numbers = numbers_or_texts([text])
        if float(value) < MISSING and (numbers.is_text or float(text) != float(value)):
            return True
    return False


@command("split")
def split(session: Session, call: CommandCall) -> None:
    """`split s [if] [in] [, parse(signs) generate(stub) limit(#) notrim destring]`."""
    data = session.data
    source = data.full(call.head.strip())
    variable = data.variables[source]
    DoError.when(not variable.is_text, "not possible with a numeric variable", code=107)
    mask = selected(session, call)
    signs = words_of(call.argument("parse") or '" "') or [" "]
    signs = [" "] if signs == [""] else signs
    limit = call.whole("limit", 0)
    rows = [
        _parts(text, signs, trim=not call.has("notrim")) if held else []
        for text, held in zip(variable.values, mask, strict=True)
    ]
    count = max(map(len, rows), default=0)
    count = min(count, limit) if limit else count
    stub = (call.argument("generate") or source).strip()
    names = [f"{stub}{number}" for number in range(1, count + 1)]
    longer = np.array([len(row) for row in rows], dtype=np.int64)
    for at, name in enumerate(names):
        check_made(session, name, longer > at)
    for at, name in enumerate(names):
        part = text_variable(row[at] if at < len(row) else "" for row in rows)
        if call.has("destring"):
            part = _as_numbers(part.values, call) or part
        session.put(name, part, [source])
    session.write(f"  (variables made: {stub}1, …)")


def _parts(text: str, signs: list[str], *, trim: bool) -> list[str]:
    """The parts of a text between any of the signs; the sign found first counts."""
    if signs == [" "]:
        return text.split()
    if not text:
        return []
    pattern = "|".join(re.escape(one) for one in signs if one)
    parts = re.split(pattern, text) if pattern else [text]
    return [part.strip() for part in parts] if trim else parts
