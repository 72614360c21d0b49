"""Commands of the program itself: macros, settings, `display`, `assert`, what is refused.

In: calls. Out: macros and scalars, temporary names, what programs take and return; the number
of observations, the seed, the default type; a text in the log, or a note that it is withheld; a
line and a finding for commands that are not permitted and for pictures; an error of `assert`,
`isid`, `confirm`, which never says how many or which observations it is about. A setting that
would change results and is not known stops the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from discreet_fire.catalogue import Action, Policy, execution_rows
from discreet_fire.runners.builtin.data.dataset import NAME, missing_values
from discreet_fire.runners.builtin.disclosure.record_counts import failure, repeated
from discreet_fire.runners.builtin.language.calls import CommandCall, options_of, split_outside
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.language.expressions import truth
from discreet_fire.runners.builtin.language.macros import counted_number
from discreet_fire.runners.builtin.language.values import MISSING, NUMBER_TYPES, number_of_text
from discreet_fire.runners.builtin.macro_expansion import (
    display_text,
    extended_function,
    macros_of,
    words_of,
)
from discreet_fire.runners.builtin.names import macro_text, one_value, scope_of
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import codes_of, selected
from discreet_fire.runners.builtin.state.parts import StoredResult
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.statistics import CheckVerdict

_MACRO = re.compile(r"(?P<name>\+\+\w+|--\w+|\w+\+\+|\w+--|\w+)(?P<rest>.*)\Z", re.DOTALL)


def _set(session: Session, text: str, put: Callable[[str, str], None], old: dict[str, str]) -> None:
    match = required(_MACRO.match(text), "invalid syntax of a macro", code=198)
    name, rest = match["name"], match["rest"].strip()
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


@command("local global")
def defined(session: Session, call: CommandCall) -> None:
    """`local name text`, `= exp`, `: function`, `++name`; the same for `global`."""
    macros = macros_of(session)
    if call.name == "local":
        _set(session, call.text, session.set_local, macros.local)
    else:
        _set(session, call.text, session.set_global, macros.shared)


@command("macro")
def macro(session: Session, call: CommandCall) -> None:
    """`macro drop`; listing is not supported: macros may hold values of the data."""
    words = call.text.split()
    if words[:1] == ["shift"]:
        seen = macros_of(session).local
        for at in range(1, 1 + len(session.macros.local)):
            with session.trace.apart():
                session.set_local(str(at), seen.get(str(at + 1), ""))
        return
    UnsupportedError.when(not words or words[0] != "drop", "macro, but for drop and shift")
    for name in words[1:]:
        if name == "_all":
            session.macros.shared.clear()
        session.macros.shared.pop(name, None)
        session.macros.local.pop(name.removeprefix("_"), None)


@command("scalar")
def scalar(session: Session, call: CommandCall) -> None:
    """`scalar [define] name = exp`, `scalar drop`."""
    words = call.text.split(None, 1)
    if words and words[0] in ("list", "li", "l", "dir", "di"):
        session.withhold("scalar list", "single-value", "scalars may hold single values")
        return
    if words and words[0] == "drop":
        for name in " ".join(words[1:]).split():
            session.results.scalars.pop(name, None)
        return
    text = re.sub(r"\Adef(?:ine|in|i)?\s+", "", call.text.strip())
    name, sign, expression = text.partition("=")
    if not sign or not re.fullmatch(r"\w+", name.strip()):
        raise DoError("invalid syntax of scalar", code=198)
    session.set_scalar(name.strip(), one_value(session, expression))


@command("tempvar tempname tempfile")
def temporary(session: Session, call: CommandCall) -> None:
    """`tempvar`, `tempname` and `tempfile`."""
    for name in call.text.split():
        session.set_local(name, session.macros.temporary_name())


@command("args")
def args(session: Session, call: CommandCall) -> None:
    """`args a b c`."""
    for number, name in enumerate(call.text.split(), 1):
        with session.trace.apart():
            session.set_local(name, macros_of(session).local.get(str(number), ""))


@command("tokenize")
def tokenize(session: Session, call: CommandCall) -> None:
    """`tokenize "text" [, parse("signs")]`; numbered macros beyond the last are emptied."""
    before, *options = split_outside(call.text, ",")
    signs_of = options_of(",".join(options))
    UnsupportedError.when(not signs_of.keys() <= {"parse", "p"}, "an option of tokenize")
    text = _unquoted(before.strip())
    signs = _unquoted((signs_of.get("parse") or signs_of.get("p") or '" "').strip())
    words = words_of(text) if signs == " " else _cut(text, signs)
    for name in [one for one in session.macros.local if one.isdigit() and int(one) > len(words)]:
        del session.macros.local[name]
    for number, word in enumerate(words, 1):
        session.set_local(str(number), word)


def _cut(text: str, signs: str) -> list[str]:
    """Parts between signs; each sign but a blank is a part itself."""
    pieces = re.findall(rf"[{re.escape(signs)}]|[^{re.escape(signs)}]+", text)
    return [piece for piece in pieces if piece != " "]


@command("return")
def give_back(session: Session, call: CommandCall) -> None:
    """`return scalar name = exp`, `return local name text`, `return add`, `return clear`."""
    words = call.text.split(None, 1)
    if not words or words[0] in ("list", "li"):
        session.withhold("return list", "single-value", "stored results may be single values")
        return
    kind, rest = words[0], (words[1] if len(words) > 1 else "")
    returned = session.macros.frame.returned
    if kind in ("scalar", "sca"):
        name, _, expression = rest.partition("=")
        value = one_value(session, expression)
        returned[name.strip()] = StoredResult(value, safe=not session.trace.touched)
    elif kind in ("local", "loc"):
        texts: dict[str, str] = {}
        _set(session, rest, texts.__setitem__, {})
        for name, text in texts.items():
            returned[name] = StoredResult(text, safe=not session.trace.touched)
    elif kind == "clear":
        returned.clear()
    elif kind == "add":
        returned.update(session.results.stored["r"])
    else:
        raise UnsupportedError(f"return {kind}")


@command("set")
def setting(session: Session, call: CommandCall) -> None:
    """`set obs #`, `set seed #`, `set type kind`, `set more off` …"""
    words = call.text.replace(",", " , ").split()
    DoError.when(not words, "invalid syntax of set", code=198)
    name, rest = words[0], " ".join(words[1:]).split(",")[0].strip()
    if name in ("obs", "ob"):
        _set_obs(session, rest)
    elif name in ("seed", "see"):
        _set_seed(session, rest)
    elif name in ("type", "typ", "ty"):
        DoError.when(rest not in NUMBER_TYPES, "invalid type", code=198)
        session.options.values["type"] = rest
    elif not any(one.matches(name) for one in execution_rows()["set"].options):
        raise UnsupportedError(f"set {name}")


def _set_obs(session: Session, text: str) -> None:
    data = session.data
    value = one_value(session, text)
    if session.trace.touched or session.trace.rests(()):
        raise DoError("the number of observations may not be a value of the data", code=198)
    if isinstance(value, str) or value >= MISSING or value != int(value):
        raise DoError("invalid number of observations", code=198)
    more = int(value) - data.rows
    DoError.when(more < 0, "the number of observations may not become smaller", code=198)
    data.grow(more)


def _set_seed(session: Session, text: str) -> None:
    value = one_value(session, text)
    DoError.when(session.trace.touched, "a seed may not be a value of the data", code=198)
    DoError.when(isinstance(value, str) or not 0 <= value < 2**31, "invalid seed", code=198)
    session.options.draw = np.random.default_rng(int(value))


@command(
    "version log cmdlog more about adopath discard sysdir memory "
    "update which timer sleep pause mark notes query window beep"
)
def harmless(session: Session, call: CommandCall) -> None:
    """`version 17`, `log using …`, `log close`, `timer on 1` …: no effect on results."""


@command("ssc net adoupdate export outsheet outfile xmlsave")
def not_run(session: Session, call: CommandCall) -> None:
    """A run loads nothing from elsewhere, and data do not leave the centre this way."""
    installs = call.name in ("ssc", "net", "adoupdate")
    reason = "nothing is installed in a run" if installs else "commands that write data"
    session.refuse(call.name, reason)


@command("display")
def display(session: Session, call: CommandCall) -> None:
    """`display [directive] …`; what rests on single values of the data is withheld."""
    text = display_text(session, call.text)
    if session.trace.touched:
        session.withhold("display", "single-value", "it rests on single values of the data")
    else:
        session.write(text)


@command(
    " ".join(
        name
        for name, row in execution_rows().items()
        if row.section == "refused" and Policy.default().verdict(name).action is Action.REFUSED
    )
)
def refused(session: Session, call: CommandCall) -> None:
    """Note that a command is not permitted."""
    reason = Policy.default().verdict(call.name).reason or "it shows single records"
    session.refuse(call.name, reason)


@command("graph twoway")
def pictures(session: Session, call: CommandCall) -> None:
    """Note that a picture is not drawn."""
    session.note(f"(pictures are not drawn by the runner: {call.name})")
    reason = "pictures are not drawn; use histogram, which shows classes of enough cases"
    session.flag(call.name, "picture", CheckVerdict.review, reason, shown=None)


@command("assert")
def assertion(session: Session, call: CommandCall) -> None:
    """`assert exp [if] [in]`."""
    mask = selected(session, call)
    held = truth(call.head, scope_of(session, call.groups))
    if session.data.rows == 0:
        held = np.asarray([one_value(session, call.head) != 0])
        mask = np.ones(1, dtype=np.bool_)
    if session.trace.touched:
        raise DoError("an assertion may not rest on single values of the data", code=198)
    if not held[mask].all() and not call.has("rc0"):
        DoError.when(not session.data.rows, "assertion is false", code=9)
        raise failure(session, mask & ~held, "assertion is false", code=9)


@command("isid")
def is_id(session: Session, call: CommandCall) -> None:
    """`isid varlist [, sort missok]`."""
    data = session.data
    names = required(data.listed(call.head))
    gaps = np.logical_or.reduce([missing_values(data.variables[one]) for one in names])
    if gaps.any() and not call.has("missok"):
        raise failure(session, gaps, "an identifier should never be missing", code=459)
    codes, count = codes_of(session, names)
    if count < data.rows:
        words = "variable" if len(names) == 1 else "variables"
        message = f"{words} {' '.join(names)} should identify each observation uniquely"
        raise failure(session, repeated(codes), message, code=459)
    if call.has("sort"):
        data.take(data.order_of(names))
        data.sorted_by = tuple(names)


@command("confirm")
def confirm(session: Session, call: CommandCall) -> None:
    """`confirm [new|numeric|string] variable x`, `confirm number 3`, `confirm file f` …"""
    before, _, options = call.text.partition(",")
    exact = "exact" in options
    session.trace.touch("shape" in session.trace.whole)
    words = words_of(before)
    kinds = [one for one in words[:2] if re.fullmatch(_KINDS, one)]
    rest = words[len(kinds) :]
    DoError.when(not kinds, "invalid syntax of confirm", code=198)
    last = kinds[-1]
    if last.startswith("v"):
        for name in rest or [""]:
            _variable(session, name, kinds[0] if len(kinds) > 1 else "", exact=exact)
    elif last == "file":
        path, new = session.path_of(" ".join(rest)), kinds[0] == "new"
        if (path.exists() or path in session.memory.files) == new:
            message, code = ("file already exists", 602) if new else ("file not found", 601)
            raise DoError(message, code=code)
    elif last.startswith("n"):
        _number(rest, whole=kinds[0].startswith("int"))
    elif last.startswith("exi"):
        DoError.when(not rest, "nothing found where something expected", code=6)
    elif last.startswith("sca"):
        if not rest or rest[0] not in session.results.scalars:
            raise DoError("scalar not found", code=111)
    else:
        raise UnsupportedError(f"confirm {last}")


_KINDS = (
    r"new|num(eric)?|str(ing)?|v(a(r(i(a(b(le?)?)?)?)?)?)?|file|integer|number|exi(stence)?|"
    r"scalar|existing"
)


def _variable(session: Session, name: str, kind: str, *, exact: bool) -> None:
    if kind == "new":
        session.data.check_new(name)
        return
    DoError.when(not name, "varlist required", code=7)
    if exact and name not in session.data.variables:
        raise DoError(f"variable {name} not found", code=111)
    if not exact and not any(sign in name for sign in "*?~-") and not NAME.match(name):
        raise DoError(f"{name} invalid name", code=7)
    for one in session.data.listed(name):
        session.trace.touch(bool(kind) and one in session.trace.sized)
        text = session.data.variables[one].is_text
        if (kind.startswith("num") and text) or (kind.startswith("str") and not text):
            raise DoError(f"{one} is of another type", code=7)


def _number(words: list[str], *, whole: bool) -> None:
    value = number_of_text(words[0]) if len(words) == 1 else None
    if value is None or (whole and value != int(value)):
        raise DoError("a number was expected", code=7)
