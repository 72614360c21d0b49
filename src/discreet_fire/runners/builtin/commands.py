"""The commands of the small Stata, one row each, and those that change data.

In: functions marked with `command`. Out: `find`, which gives the command of a word; the session's
data changed. Everything that has no row stops the run. CONFIDENTIAL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet_fire.catalogue import SAFE, Action, Policy, canonical
from discreet_fire.runners.builtin.data import DataSet, DataVariable, joined, paired_rows
from discreet_fire.runners.builtin.expressions import (
    Scope,
    evaluate,
    truth,
    whole_column,
)
from discreet_fire.runners.builtin.session import (
    Session,
    cases,
    depends_on_few,
    failure,
    few,
    judge,
    judge_condition,
    note_few_sources,
    settle,
    trimmed,
)
from discreet_fire.runners.builtin.syntax import (
    MISSING,
    CommandCall,
    DoError,
    UnsupportedError,
    is_text,
    limited,
    number_or_code,
    required,
    text_column,
    text_kind,
    words_of,
)

_Run = Callable[[Session, CommandCall], None]


@dataclass(frozen=True)
class Command:
    """A command: its full name, what runs it, how it is written."""

    name: str
    run: _Run
    options: dict[str, tuple[int, bool]]  # of each, letters of its shortest form; has it brackets
    by: bool  # whether `by` may stand before it; it then sees all groups at once
    reads_all: bool  # whether it reads more than its text names
    own: bool  # whether it reads its text itself

    @property
    def summary(self) -> str:
        """One line on what the command does."""
        return (self.run.__doc__ or "").partition("\n")[0]


COMMANDS: dict[str, Command] = {}


def command(
    names: str,
    options: str = "",
    *,
    by: bool = False,
    reads_all: bool = False,
    own: bool = False,
) -> Callable[[_Run], _Run]:
    """Mark a function as what runs commands; capitals of an option are its shortest form."""
    rows = {}
    for word in options.split():
        name = word.removesuffix("()")
        least = max([at for at, sign in enumerate(name, 1) if sign.isupper()], default=len(name))
        rows[name.lower()] = (least, word.endswith("()"))

    def mark(run: _Run) -> _Run:
        for name in names.split():
            COMMANDS[name] = Command(name, run, rows, by, reads_all, own)
        return run

    return mark


def find(word: str) -> Command:
    """The command of a word: its full name, a legal abbreviation, or the name of its safe form."""
    name = word.removeprefix(SAFE)
    known = COMMANDS.get(canonical(name) or name)
    if known is None:
        raise UnsupportedError(f"the command {word}")
    return known


def settle_options(known: Command, call: CommandCall) -> None:
    """Give the options of a call their full names; stop at one that is not known."""
    settled: dict[str, str | None] = {}
    for word, argument in call.options.items():
        matches = [
            name for name, (least, _) in known.options.items()
            if len(word) >= least and name.startswith(word)
        ]  # fmt: skip
        if not matches:
            raise UnsupportedError(f"the option {word} of {known.name}")
        name = word if word in matches else matches[0]
        if known.options[name][1] != (argument is not None):
            raise DoError(f"option {name}: brackets are wrong")
        settled[name] = argument
    call.options = settled
    unread = "using" if call.using else "= …" if call.expression else ""
    takes = {"using": ("use", "merge", "append"), "= …": ("generate", "replace", "recode")}
    if unread and known.name not in takes[unread]:
        raise DoError(f"invalid syntax: {known.name} takes no {unread}")


# --- conditions -----------------------------------------------------------------------------


def scope_of(session: Session) -> Scope:
    """Scope for expressions over the records."""
    return Scope(session.data)


def selected(session: Session, call: CommandCall, scope: Scope | None = None) -> BoolArray:
    """The records for which `if` holds."""
    if call.condition is None:
        return np.ones(session.data.rows, dtype=np.bool_)
    scope = scope or scope_of(session)
    holds = truth(call.condition, scope)
    judge_condition(session, call.condition, scope, holds)
    return holds


# --- data -------------------------------------------------------------------------------------


@command("use", "clear")
def use(session: Session, call: CommandCall) -> None:
    """`use file [, clear]`, `use varlist [if] using file`: load data."""
    DoError.when(not (call.using or call.head), "invalid file specification")
    data = session.file(_one_file(call.using or call.head))
    before, session.data = session.data, data
    try:
        wanted = data.listed(call.head) if call.using and call.head else list(data.variables)
        if call.condition is not None:
            mask = selected(session, call)
            trimmed(session, call.condition, ~mask, holds_for_few=session.few)
            data.take(mask)
            data.doubted |= session.touched
    except DoError:
        session.data = before
        raise
    data.drop(data.variables.keys() - wanted)


def _one_file(text: str) -> str:
    words = words_of(text)
    DoError.when(len(words) != 1, "invalid file specification")
    return words[0]


@command("keep drop")
def keep(session: Session, call: CommandCall) -> None:
    """`keep|drop varlist`, `keep|drop if exp`: keep or drop variables or records."""
    data, kept = session.data, call.name == "keep"
    if bool(call.head) == (call.condition is not None):
        raise DoError("invalid syntax: give variables, or if")
    if call.condition is None:
        names = set(data.listed(call.head))
        data.drop([name for name in data.variables if (name in names) != kept])
        return
    mask = selected(session, call)
    mask = mask if kept else ~mask
    trimmed(session, call.condition, ~mask, holds_for_few=session.few)
    data.take(mask)
    data.doubted |= session.touched


@command("sort")
def sort(session: Session, call: CommandCall) -> None:
    """`sort varlist`: sort the records."""
    DoError.when(not call.head, "varlist required", 100)
    sort_by(session, tuple(session.data.listed(call.head)))


def sort_by(session: Session, names: tuple[str, ...]) -> None:
    """Sort the records; equal ones stay in their order."""
    if session.data.sorted_by[: len(names)] != names:
        session.data.take(session.data.order_of(names))
        session.data.sorted_by = names


_TYPED = re.compile(r"(?:(?P<type>byte|int|long|float|double|str\d*|strL)\s+)?(?P<name>\S+)\Z")


@command("generate")
def generate(session: Session, call: CommandCall) -> None:
    """`generate [type] name = exp [if]`: make a variable."""
    match = required(_TYPED.match(call.head), "invalid syntax of generate")
    expression = required(call.expression, "invalid syntax of generate")
    data, name, kind = session.data, match["name"], match["type"]
    data.check_new(name)
    scope = scope_of(session)
    mask = selected(session, call, scope)
    asked, touched = bool(scope.columns), session.few
    scope = scope_of(session)
    value = evaluate(expression, scope)
    holds_for_few, holds_for_most = judge(session, scope)
    touched |= session.touched or holds_for_few or holds_for_most or few(session, mask)
    touched |= depends_on_few(session, expression, scope, value, mask)
    DoError.when(kind and is_text(value) != kind.startswith("str"), "type mismatch", 109)
    column: Any = whole_column(value, data.rows)
    if is_text(value):
        texts = text_column(np.where(mask, column, ""))
        if kind and kind[3:].isdigit():
            cut = int(kind[3:])
            texts = text_column(one.encode()[:cut].decode("utf-8", "ignore") for one in texts)
        variable = DataVariable(texts, text_kind(texts))
    else:
        kind = kind or "float"
        numbers = np.where(mask, np.asarray(column, dtype=np.float64), MISSING)
        variable = DataVariable(limited(numbers, kind), kind)
    before = dict(data.variables)
    data.put(name, replace(variable, free=not (scope.columns or asked)))
    settle(session, before, touched=touched)


@command("replace")
def replace_values(session: Session, call: CommandCall) -> None:
    """`replace name = exp [if]`: change values."""
    expression = required(call.expression, "invalid syntax of replace")
    data = session.data
    name = data.full(call.head)
    old = data.variables[name]
    scope = scope_of(session)
    mask = selected(session, call, scope)
    asked, chosen_by_few = bool(scope.columns), session.few
    isolated = chosen_by_few or few(session, mask) or few(session, ~mask)
    scope = scope_of(session)
    value = evaluate(expression, scope)
    DoError.when(is_text(value) != old.is_text, "type mismatch", 109)
    holds_for_few, holds_for_most = judge(session, scope)
    varying = isinstance(value, np.ndarray) or old.free
    unlike = np.asarray(old.values != value, dtype=np.bool_)
    touched = session.touched or holds_for_few or holds_for_most
    touched |= (varying and isolated) or few(session, ~mask & unlike)
    touched |= chosen_by_few and bool(mask.all())
    if isolated and call.condition is not None:
        trimmed(session, call.condition, mask, holds_for_few=chosen_by_few)
    touched |= session.touched or depends_on_few(session, expression, scope, value, mask)
    column: Any = np.where(mask, whole_column(value, data.rows), old.values)
    if old.is_text:
        column = text_column(column)
        kind = text_kind(column) if old.kind != "strL" else old.kind
    else:
        kind = wide_kind(old)
        column = limited(np.asarray(column, dtype=np.float64), kind)
    free = old.free and not (scope.columns or asked)
    before = dict(data.variables)
    data.put(name, replace(old, values=column, kind=kind, free=free))
    settle(session, before, touched=touched)


def wide_kind(variable: DataVariable) -> str:
    """The storage type of a changed variable of numbers, which holds all of them."""
    return "float" if variable.kind == "float" else "double"


_RULE = re.compile(r"(?P<values>[^=]+)=\s*(?P<to>\S+)(?P<label>\s+.*)?\Z", re.DOTALL)


@command("recode", "Generate()")
def recode(session: Session, call: CommandCall) -> None:
    """`recode varlist (values = value "label") … [if] [, generate()]`: change codes."""
    data = session.data
    listed, _, bracketed = call.head.partition("(")
    names = data.listed(listed)
    rules = re.findall(r"\(((?:[^()\"]|\"[^\"]*\")*)\)", f"({bracketed}")
    DoError.when(not names or not rules, "invalid syntax of recode: write (1 2 = 3)")
    targets = (call.options.get("generate") or "").split() or names
    DoError.when(len(targets) != len(names), "generate() needs as many names")
    for name, target in zip(names, targets, strict=True):
        DoError.when(data.variables[name].is_text, f"{name} is a string variable", 107)
        if target != name:
            data.check_new(target)
    mask = selected(session, call)
    session.touched |= session.few or any(data.variables[name].single for name in names)
    before = dict(data.variables)
    for name, target in zip(names, targets, strict=True):
        variable = data.variables[name]
        old = np.asarray(variable.values, dtype=np.float64)
        (new, labels), kind = _recoded(rules, old, mask), wide_kind(variable)
        if target != name:
            new = np.where(mask, new, MISSING)
            variable = DataVariable(limited(new, kind), kind, label=f"RECODE of {name}")
            if labels:
                data.value_labels[target] = labels
                variable = replace(variable, value_label=target)
        else:
            variable = replace(variable, values=limited(new, kind), kind=kind, free=False)
        data.put(target, variable)
    settle(session, before, touched=session.touched)


def _recoded(
    rules: list[str], old: FloatArray, mask: BoolArray
) -> tuple[FloatArray, dict[float, str]]:
    """The values by rules such as `1 2/5 = 3 "label"`, and the labels."""
    new, done, labels = old.copy(), ~mask, dict[float, str]()
    wrong = "invalid syntax of recode: write (1 2/5 = 3)"
    ends = {"min": -np.inf, "max": float(np.nextafter(MISSING, 0))}
    for rule in rules:
        match = required(_RULE.match(rule.strip()), wrong)
        hit = np.zeros(len(old), dtype=np.bool_)
        for word in re.sub(r"\s*/\s*", "/", match["values"]).split():
            if word in ("missing", "nonmissing", "else", "*"):
                hit |= word in ("else", "*") or (old >= MISSING) == (word == "missing")
                continue
            first, sign, last = word.partition("/")
            low, high = (
                ends[end] if end in ends else required(number_or_code(end), wrong)
                for end in (first, last if sign else first)
            )
            hit |= (old >= low) & (old <= high)
        hit &= ~done
        if match["to"] not in ("=", "copy"):
            value = required(number_or_code(match["to"]), wrong)
            new[hit] = value
            labels.update((value, text) for text in words_of(match["label"] or "")[:1])
        done = done | hit
    return new, labels


_RESULTS = {1.0: "Master only (1)", 2.0: "Using only (2)", 3.0: "Matched (3)"}
_KEPT = {"1": 1, "master": 1, "2": 2, "using": 2, "3": 3, "match": 3, "matched": 3}


@command("merge", "KEEP() KEEPUSing() NOGENerate GENerate()")
def merge(session: Session, call: CommandCall) -> None:
    """`merge 1:1|m:1|1:m varlist using file`: add variables; tabulate _merge to see the result."""
    kind, _, rest = call.head.partition(" ")
    if kind not in ("1:1", "m:1", "1:m") or call.using is None:
        raise UnsupportedError("merge other than 1:1, m:1 and 1:m")
    master, using = session.data, session.file(_one_file(call.using))
    result_name = (call.options.get("generate") or "_merge").strip()
    named = "nogenerate" not in call.options
    if named:
        master.check_new(result_name)
    keys = master.listed(rest)
    DoError.when(not keys, "varlist required", 100)
    using.listed(" ".join(keys))
    refuse_single(master, keys, "merge")
    codes, others_codes, rows, others = paired_rows(master, using, keys)
    sides = (("master", master, codes), ("using", using, others_codes))
    for side, (place, data, numbers) in zip(kind.split(":"), sides, strict=True):
        again = _repeated(numbers)
        if side == "1" and again.any():
            message = f"the keys do not uniquely identify observations in the {place} data"
            raise failure(session, again, message, 459, data)
    chosen = call.options.get("keepusing")
    names = list(using.variables) if chosen is None else [*keys, *using.listed(chosen)]
    result = joined(master, using, rows, others, names)
    matches = np.where(rows < 0, 2.0, np.where(others < 0, 1.0, 3.0))
    wanted = (call.options.get("keep") or "1 2 3").split()
    DoError.when(not set(wanted) <= _KEPT.keys(), "invalid result of merge")
    mask = np.isin(matches, [_KEPT[word] for word in wanted])
    if named:
        result.variables[result_name] = DataVariable(
            matches, "byte", value_label="_merge", derived=True
        )
        result.value_labels = {**result.value_labels, "_merge": dict(_RESULTS)}
    result.take(mask)
    doubt_few(session, result)
    result.sorted_by = tuple(keys) if not (rows < 0)[mask].any() else ()
    session.data = result
    note_few_sources(session)


def refuse_single(data: DataSet, names: Iterable[str], use: str) -> None:
    """Stop where variables rest on single values: whether a command fails would tell of them."""
    if data.doubted or any(data.variables[name].single for name in names):
        raise UnsupportedError(f"{use} by variables that rest on single values of the data")


def doubt_few(session: Session, result: DataSet) -> None:
    """Note that a program chose a few, or nobody, and put them beside all others: records that are
    there twice would tell whether there was anybody.
    """
    data = session.data
    few_left = cases(session, np.ones(data.rows, dtype=np.bool_), data) < session.limits.minimum
    result.doubted |= bool(data.variables) and few_left


def _repeated(codes: IntArray) -> BoolArray:
    """Which records have a code that others have, too."""
    _, at, number = np.unique(codes, return_inverse=True, return_counts=True)
    return np.asarray(number[at] > 1, dtype=np.bool_)


@command("append")
def append(session: Session, call: CommandCall) -> None:
    """`append using file …`: add records."""
    DoError.when(call.using is None or call.head, "using required", 100)
    for word in words_of(call.using or ""):
        master, using = session.data, session.file(word)
        rows = np.r_[np.arange(master.rows), np.full(using.rows, -1)]
        others = np.r_[np.full(master.rows, -1), np.arange(using.rows)]
        result = joined(master, using, rows, others, list(using.variables))
        if few(session, np.ones(using.rows, dtype=np.bool_), using):
            for name, one in list(result.variables.items()):
                if one.derived:  # what the program made could stand around those of a few
                    result.variables[name] = replace(one, single=True)
        doubt_few(session, result)
        session.data = result
        note_few_sources(session)


@command("xtset")
def panel_set(session: Session, call: CommandCall) -> None:
    """`xtset panel [time]`: say what the panel is; the data are sorted."""
    data = session.data
    names = data.listed(call.head)
    DoError.when(not 1 <= len(names) <= 2, "give the panel variable and the time variable")
    DoError.when(any(data.variables[one].is_text for one in names), "string variable", 109)
    refuse_single(data, names, "xtset")
    panel, time = (*names, "")[:2]
    if time:
        times = np.asarray(data.variables[time].values, dtype=np.float64)
        known = times < MISSING
        parts = known & (times != np.trunc(times))
        if parts.any():
            message = f"time variable {time} must hold whole numbers"
            raise failure(session, parts, message, 451)
        codes = paired_rows(data, data, names)[0]
        again = _repeated(np.where(known, codes, -1 - np.arange(data.rows)))
        if again.any():
            raise failure(session, again, "repeated time values within panel", 451)
    data.panel = (panel, time)
    sort_by(session, tuple(names))
    for title, name in (("Panel variable", panel), ("Time variable", time)):
        if name:
            session.write(f"{title:>14}: {name}")


# --- settings ---------------------------------------------------------------------------------


@command("version log set more", own=True)
def passed(session: Session, call: CommandCall) -> None:
    """`version 17`, `log using …`, `set more off`: passed over; no other `set`."""
    settings = ("more", "linesize", "varabbrev", "rmsg")
    wrong = call.name == "set" and (call.text.split() or [""])[0] not in settings
    UnsupportedError.when(wrong, f"set {call.text}")


def refused(name: str) -> str:
    """Why a command is never run though the run goes on; empty if it is none of these."""
    verdict = Policy.default().verdict(canonical(name) or name)
    if verdict.action is not Action.REFUSED:
        return ""
    return verdict.reason or "it shows single records"
