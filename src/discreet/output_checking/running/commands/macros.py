"""Macros, scalars, temporary names, and what programs take and return.

In: calls whose text these commands read themselves. Out: macros and scalars of the session.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from discreet.output_checking.running.calls import options_of, split_outside
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.extended import extended_function, words_of
from discreet.output_checking.running.macros import counted_number
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.session import Result
from discreet.output_checking.running.single import macro_text, one_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

_MACRO = re.compile(r"(?P<name>\+\+\w+|--\w+|\w+\+\+|\w+--|\w+)(?P<rest>.*)\Z", re.DOTALL)


def _set(session: Session, text: str, put: Callable[[str, str], None], old: dict[str, str]) -> None:
    found = _MACRO.match(text)
    if not found:
        raise DoError("invalid syntax of a macro", code=198)
    name, rest = found["name"], found["rest"].strip()
    if name.startswith(("++", "--")) or name.endswith(("++", "--")):
        bare = name.strip("+-")
        number = counted_number(old.get(bare, "0")) + (1 if "++" in name else -1)
        put(bare, macro_text(number))
    elif rest.startswith("="):
        put(name, macro_text(one_value(session, rest[1:])))
    elif rest.startswith(":"):
        put(name, extended_function(session, rest[1:].strip()))
    else:
        put(name, _unquoted(rest))


def _unquoted(text: str) -> str:
    if text.startswith('`"') and text.endswith("\"'") and text.find("\"'") == len(text) - 2:
        return text[2:-2]
    if text.startswith('"') and text.endswith('"') and text.count('"') == 2:
        return text[1:-1]
    return text


@command("local", summary="set a local macro", raw=True, group="program")
def local(session: Session, call: Call) -> None:
    """`local name text`, `= exp`, `: function`, `++name`."""
    _set(session, call.text, session.set_local, session.macros().local)


@command("global", summary="set a global macro", raw=True, group="program")
def shared(session: Session, call: Call) -> None:
    """`global name …`."""
    _set(session, call.text, session.set_global, session.macros().shared)


@command("macro", summary="drop macros", raw=True, group="program")
def macro(session: Session, call: Call) -> None:
    """`macro drop`; listing is not supported: macros may hold values of the data."""
    words = call.text.split()
    if words[:1] == ["shift"]:
        seen, before = session.macros().local, session.trace.touched
        for at in range(1, 1 + len(session.local)):
            session.trace.touched = before
            session.set_local(str(at), seen.get(str(at + 1), ""))
        session.trace.touched = before
        return
    if not words or words[0] != "drop":
        raise UnsupportedError("macro, but for drop and shift")
    for name in words[1:]:
        if name == "_all":
            session.shared.clear()
        session.shared.pop(name, None)
        session.local.pop(name.removeprefix("_"), None)


@command("scalar", summary="set a scalar", raw=True, group="program")
def scalar(session: Session, call: Call) -> None:
    """`scalar [define] name = exp`, `scalar drop`."""
    words = call.text.split(None, 1)
    if words and words[0] in ("list", "li", "l", "dir", "di"):
        session.withhold("scalar list", "single-value", "scalars may hold single values")
        return
    if words and words[0] == "drop":
        for name in " ".join(words[1:]).split():
            session.scalars.pop(name, None)
        return
    text = re.sub(r"\Adef(?:ine|in|i)?\s+", "", call.text.strip())
    name, sign, expression = text.partition("=")
    if not sign or not re.fullmatch(r"\w+", name.strip()):
        raise DoError("invalid syntax of scalar", code=198)
    session.set_scalar(name.strip(), one_value(session, expression))


@command("tempvar tempname tempfile", summary="names for temporary use", raw=True, group="program")
def temporary(session: Session, call: Call) -> None:
    """`tempvar`, `tempname` and `tempfile`."""
    for name in call.text.split():
        session.set_local(name, session.temporary_name())


@command("args", summary="name the words that a program is given", raw=True, group="program")
def args(session: Session, call: Call) -> None:
    """`args a b c`."""
    for number, name in enumerate(call.text.split(), 1):
        seen, before = session.macros().local, session.trace.touched
        session.set_local(name, seen.get(str(number), ""))
        session.trace.touched = before


@command("tokenize", summary="split a text into numbered macros", raw=True, group="program")
def tokenize(session: Session, call: Call) -> None:
    """`tokenize "text" [, parse("signs")]`; numbered macros beyond the last are emptied."""
    before, *options = split_outside(call.text, ",")
    given = options_of(",".join(options))
    if not given.keys() <= {"parse", "p"}:
        raise UnsupportedError("an option of tokenize")
    text = _unquoted(before.strip())
    signs = _unquoted((given.get("parse") or given.get("p") or '" "').strip())
    words = words_of(text) if signs == " " else _cut(text, signs)
    for name in [one for one in session.local if one.isdigit() and int(one) > len(words)]:
        del session.local[name]
    for number, word in enumerate(words, 1):
        session.set_local(str(number), word)


def _cut(text: str, signs: str) -> list[str]:
    """Parts between signs; each sign but a blank is a part itself."""
    pieces = re.findall(rf"[{re.escape(signs)}]|[^{re.escape(signs)}]+", text)
    return [piece for piece in pieces if piece != " "]


@command("return", summary="give results back from a program", raw=True, group="program")
def returned(session: Session, call: Call) -> None:
    """`return scalar name = exp`, `return local name text`, `return add`, `return clear`."""
    words = call.text.split(None, 1)
    if not words or words[0] in ("list", "li"):
        session.withhold("return list", "single-value", "stored results may be single values")
        return
    kind, rest = words[0], (words[1] if len(words) > 1 else "")
    if kind in ("scalar", "sca"):
        name, _, expression = rest.partition("=")
        value = one_value(session, expression)
        session.returned[name.strip()] = Result(value, safe=not session.trace.touched)
    elif kind in ("local", "loc"):
        texts: dict[str, str] = {}
        _set(session, rest, texts.__setitem__, {})
        for name, text in texts.items():
            session.returned[name] = Result(text, safe=not session.trace.touched)
    elif kind == "clear":
        session.returned.clear()
    elif kind == "add":
        session.returned.update(session.stored["r"])
    else:
        raise UnsupportedError(f"return {kind}")
