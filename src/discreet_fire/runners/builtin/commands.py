"""The commands of the small Stata, one row each: those that change data, and those that show.

In: calls. Out: the session's data changed, safe results in its log. Everything that has no row
stops the run. CONFIDENTIAL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet_fire.catalogue import SAFE, Action, Policy, canonical
from discreet_fire.runners.builtin.data import DataSet, DataVariable, joined, paired_rows
from discreet_fire.runners.builtin.expressions import Scope, evaluate, whole_column
from discreet_fire.runners.builtin.session import (
    INSIDE,
    LastModel,
    Session,
    cases,
    choose,
    depends_on_few,
    failure,
    few,
    judge,
    note_few_sources,
    selected,
    settle,
    show_statistic,
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
from discreet_fire.statistics import Check, CheckVerdict, SafeLimits, SafeResult, closed

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


# --- data -------------------------------------------------------------------------------------


@command("use", "clear")
def use(session: Session, call: CommandCall) -> None:
    """`use file [, clear]`, `use varlist [if] using file`: load data."""
    DoError.when(not (call.using or call.head), "invalid file specification")
    data = session.file(_one_file(call.using or call.head))
    session.data = data
    wanted = data.listed(call.head) if call.using and call.head else list(data.variables)
    if call.condition is not None:
        _keep_if(session, call)
    data.drop(data.variables.keys() - wanted)


def _keep_if(session: Session, call: CommandCall, *, holds: bool = True) -> None:
    """Keep the records for which `if` holds, or does not."""
    mask = selected(session, call) == holds
    trimmed(session, call.condition or "", ~mask, holds_for_few=session.few)
    session.data.take(mask)
    session.data.doubted |= session.touched


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
    _keep_if(session, call, holds=kept)


@command("sort")
def sort(session: Session, call: CommandCall) -> None:
    """`sort varlist`: sort the records."""
    DoError.when(not call.head, "varlist required", 100)
    sort_by(session, tuple(session.data.listed(call.head)))


def sort_by(session: Session, names: tuple[str, ...]) -> None:
    """Sort the records; equal ones stay in their order."""
    if session.data.sorted_by[: len(names)] != names:
        order = session.data.keys(names).select(pl.arg_sort_by(names, maintain_order=True))
        session.data.take(order.to_series().to_numpy())
        session.data.sorted_by = names


def _worked_out(session: Session, call: CommandCall) -> tuple[Any, BoolArray, bool, bool, bool]:
    """The values of `= exp` and the records that get them; whether `if` chose a few, whether the
    values rest on few or single ones, and whether on no data at all.
    """
    expression = required(call.expression, f"invalid syntax of {call.name}")
    chosen, scope = Scope(session.data), Scope(session.data)
    mask = selected(session, call, chosen)
    by_few, value = session.few, evaluate(expression, scope)
    touched = judge(session, scope) | session.touched
    touched |= depends_on_few(session, expression, scope, value, mask)
    return value, mask, by_few, touched, not (scope.columns or chosen.columns)


_TYPED = re.compile(r"(?:(?P<type>byte|int|long|float|double|str\d*|strL)\s+)?(?P<name>\S+)\Z")


@command("generate")
def generate(session: Session, call: CommandCall) -> None:
    """`generate [type] name = exp [if]`: make a variable."""
    match = required(_TYPED.match(call.head), "invalid syntax of generate")
    data, name, kind = session.data, match["name"], match["type"]
    data.check_new(name)
    value, mask, _, touched, free = _worked_out(session, call)
    touched |= session.few or few(session, mask)
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
    data.put(name, replace(variable, free=free))
    settle(session, before, touched=touched)


@command("replace")
def replace_values(session: Session, call: CommandCall) -> None:
    """`replace name = exp [if]`: change values."""
    data = session.data
    name = data.full(call.head)
    old = data.variables[name]
    value, mask, chosen_by_few, touched, free = _worked_out(session, call)
    DoError.when(is_text(value) != old.is_text, "type mismatch", 109)
    isolated = chosen_by_few or few(session, mask) or few(session, ~mask)
    varying = isinstance(value, np.ndarray) or old.free
    unlike = np.asarray(old.values != value, dtype=np.bool_)
    touched |= (varying and isolated) or few(session, ~mask & unlike)
    touched |= chosen_by_few and bool(mask.all())
    if isolated and call.condition is not None:
        trimmed(session, call.condition, mask, holds_for_few=chosen_by_few)
    touched |= session.touched
    column: Any = np.where(mask, whole_column(value, data.rows), old.values)
    if old.is_text:
        column = text_column(column)
        kind = text_kind(column) if old.kind != "strL" else old.kind
    else:
        kind = wide_kind(old)
        column = limited(np.asarray(column, dtype=np.float64), kind)
    before = dict(data.variables)
    data.put(name, replace(old, values=column, kind=kind, free=old.free and free))
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


# --- what is shown --------------------------------------------------------------------------------


def _named(session: Session, call: CommandCall, *, every: bool = False) -> list[str]:
    """The variables of a call; all of them if none is named and that is meant."""
    DoError.when(not call.head and not every, "varlist required", 100)
    return session.data.listed(call.head or "_all")


def _numeric(session: Session, names: Sequence[str]) -> list[str]:
    """The same names; an error if one is a text."""
    for name in names:
        DoError.when(session.data.variables[name].is_text, f"{name} is a string variable", 109)
    return list(names)


def critical_limits(session: Session, call: CommandCall) -> SafeLimits:
    """The rules for one call: those of the session, with the p of its option `critical()`."""
    if "critical" not in call.options:
        return session.limits
    p = call.number("critical", 0.0)
    DoError.when(not 0 < p <= 100, "critical() takes a number above 0, up to 100")
    return session.limits.critical(p)


@command("summarize", "Detail CRItical()", by=True)
def summarize(session: Session, call: CommandCall) -> None:
    """`summarize [varlist] [if] [, detail]`: cases, mean, standard deviation; percentiles."""
    names, by = _named(session, call, every=True), list(call.by)
    if not call.head:
        names = [name for name in names if not session.data.variables[name].is_text]
    DoError.when(not names, "no numeric variables", 111)
    chosen = choose(session, call, [*_numeric(session, names), *by], groups=by)
    detail = "detail" in call.options
    show_statistic(session, "summarize", chosen, names, by=by or None, detail=detail)


_STATISTICS = {"N": "n", "Var": "variance", "v": "variance", "me": "mean"}


@command("tabstat", "Statistics() by() Missing CRItical()", by=True)
def tabstat(session: Session, call: CommandCall) -> None:
    """`tabstat varlist [if] [, statistics() by()]`: statistics by groups, in one table."""
    names = _numeric(session, _named(session, call))
    own = session.data.listed(call.options.get("by") or "")
    by = list(dict.fromkeys([*call.by, *own]))
    UnsupportedError.when(len(by) > 1, "tabstat by several variables")
    chosen = choose(session, call, [*names, *by], groups=by)
    words = (call.options.get("statistics") or "mean").split()
    how: dict[str, Any] = {"by": by[0] if by else None}
    how["missing"] = chosen.missing or bool(call.by)
    how["statistics"] = [_STATISTICS.get(word, word) for word in words]
    show_statistic(session, "tabstat", chosen, names, **how)


@command("tabulate", "Missing noLabel Row COlumn CEll CHi2 CRItical()", by=True)
def tabulate(session: Session, call: CommandCall) -> None:
    """`tabulate a [b] [if] [, missing row column cell chi2]`: frequencies."""
    names = _named(session, call)
    DoError.when(len(names) > 2, "too many variables specified", 103)
    percent = [word for word in ("row", "column", "cell") if word in call.options]
    chi2 = "chi2" in call.options
    alone = len(names) == 1 and (percent or chi2)
    DoError.when(alone, "row, column, cell and chi2 are for two variables")
    if call.by:
        wanted = list(dict.fromkeys([*call.by, *names]))
        UnsupportedError.when(len(wanted) > 3, "by with so large a table")
        session.write(f"(by {' '.join(call.by)}: one table for all groups)")
        chosen = choose(session, call, wanted, groups=wanted)
        show_statistic(session, "table", chosen, wanted, missing=chosen.missing)
        return
    chosen = choose(session, call, names, groups=[] if "nolabel" in call.options else names)
    how: dict[str, Any] = {"missing": chosen.missing, "percent": percent, "chi2": chi2}
    show_statistic(session, "tabulate", chosen, *names, **how)


@command("count", by=True)
def count(session: Session, call: CommandCall) -> None:
    """`count [if]`: the number of records; withheld where it is of few, or of all but few."""
    DoError.when(call.head, "varlist not allowed", 101)
    if call.by:  # the groups together, so that one does not give another away
        chosen = choose(session, call, call.by, groups=call.by)
        show_statistic(session, "table", chosen, list(call.by))
        return
    rows = selected(session, call)
    certain = not session.touched and not session.data.doubted
    asks_few = not session.plain and cases(session, rows) < session.limits.minimum
    if certain and (not session.data.rows or asks_few):
        check = Check(rule="minimum", verdict=CheckVerdict.fail, reason="too few cases")
        text = closed(["  ."], True, session.limits.language)
        session.show(SafeResult(command="count", shown=text, checks=[check]))
        return
    chosen = choose(session, replace(call, condition=None), [])
    inside = pl.Series(INSIDE, rows.astype(np.float64))
    chosen = replace(chosen, frame=chosen.frame.with_columns(inside))
    how: dict[str, Any] = {"shown_as": "count"}
    if call.condition:
        how = {"shown_as": "count if …", "where": f"{INSIDE} == 1"}
    show_statistic(session, "count", chosen, **how)


@command("codebook", "CRItical()")
def codebook(session: Session, call: CommandCall) -> None:
    """`codebook [varlist] [if]`: kind of values, missing ones, frequencies or percentiles."""
    names = _named(session, call, every=True)
    show_statistic(session, "codebook", choose(session, call, names), names)


@command("xtsum", "CRItical()", reads_all=True)
def xtsum(session: Session, call: CommandCall) -> None:
    """`xtsum [varlist] [if]`: deviations overall, between panel units, within them."""
    panel = session.data.panel[0]
    DoError.when(not panel, "panel variable not set; use xtset", 459)
    names = [one for one in _named(session, call, every=True) if one != panel]
    chosen = choose(session, call, [panel, *_numeric(session, names)])
    show_statistic(session, "xtsum", chosen, names, entity=panel)


@command("xtdescribe", "Patterns() CRItical()", reads_all=True)
def xtdescribe(session: Session, call: CommandCall) -> None:
    """`xtdescribe [if] [, patterns()]`: patterns of participation in a panel."""
    panel, time = session.data.panel
    DoError.when(not (panel and time), "panel and time variable not set; use xtset", 459)
    how = {"entity": panel, "time": time, "patterns": int(call.number("patterns", 9))}
    show_statistic(session, "xtdescribe", choose(session, call, [panel, time]), **how)


@command("regress", "Robust CLuster() vce() noConstant Level() CRItical()")
def regress(session: Session, call: CommandCall) -> None:
    """`regress y [terms] [if] [, robust vce(cluster x) noconstant]`: linear regression."""
    terms, names = _terms(session, call.head)
    DoError.when(not terms or "." in terms[0] or "#" in terms[0], "invalid outcome")
    kind, _, clusters = (call.options.get("vce") or "").partition(" ")
    UnsupportedError.when(kind not in ("", "ols", "robust", "cluster"), f"vce({kind})")
    by = session.data.listed(clusters if kind == "cluster" else call.options.get("cluster") or "")
    DoError.when(len(by) > 1, "one variable makes clusters")
    robust = "robust" in call.options or kind == "robust"
    session.model = None
    chosen = choose(session, call, [*names, *by])
    options: dict[str, Any] = {"robust": robust, "earlier": session.fitted[-50:]}
    options["constant"] = "noconstant" not in call.options
    options["level"] = call.number("level", 95.0)
    options["cluster"] = by[0] if by else None
    shown = show_statistic(session, "regress", chosen, terms[0], terms[1:], **options)
    if shown is not None:
        sample = chosen.mask.copy()
        for name in names:
            sample &= ~session.data.variables[name].missing
        units, plain = session.data.units, not (robust or by)
        session.model = LastModel(tuple(terms), tuple(names), sample, units, plain)


def _terms(session: Session, text: str) -> tuple[list[str], list[str]]:
    """The terms of a model, with full names, and the variables in them."""
    terms, names = list[str](), list[str]()
    for word in re.findall(r"(?:\([^()]*\)|[^\s()])+", text):
        if "." not in word and "#" not in word:
            listed = _numeric(session, session.data.listed(word))
            terms += listed
            names += listed
            continue
        pieces = re.split(r"(#+)", word)
        for at in range(0, len(pieces), 2):
            prefix, dot, name = pieces[at].rpartition(".")
            UnsupportedError.when(
                re.fullmatch(r"(?:c\.)?(?:[LFDSlfds]\d*)+", prefix), f"the operator {prefix}."
            )
            full = session.data.full(name)
            names.append(full)
            pieces[at] = f"{prefix}{dot}{full}"
        terms.append("".join(pieces))
    return terms, list(dict.fromkeys(names))


@command("utest", "MIN() MAX() Fieller Level() CRItical()", reads_all=True)
def utest(session: Session, call: CommandCall) -> None:
    """`utest x x2`, after `regress y x x2 …`: test for a U shape."""
    names, model = session.data.listed(call.head), session.model
    refuse_single(session.data, [*names, *(() if model is None else model.names)], "utest")
    model = required(model, "utest needs the results of regress", 301)
    DoError.when(model.units is not session.data.units, "the data changed since regress", 301)
    DoError.when(len(names) != 2, "utest takes a variable and its square", 102)
    UnsupportedError.when(not model.plain, "utest after other standard errors")
    first, second = (session.data.variables[one].values[model.sample] for one in names)
    unlike = model.sample.copy()
    unlike[unlike] = ~np.isclose(second, first * first, rtol=1e-6)
    if unlike.any() and not few(session, unlike):  # it takes the square of the first itself
        raise UnsupportedError("utest with a second variable that is not the square of the first")
    outcome, *others = model.terms
    controls = [word for word in others if word not in names]
    chosen = choose(session, call, model.names, mask=model.sample)
    ends = tuple(call.number(end, 0.0) if end in call.options else None for end in ("min", "max"))
    how: dict[str, Any] = {"interval": ends, "fieller": "fieller" in call.options}
    how["level"] = call.number("level", 95.0)
    show_statistic(session, "utest", chosen, outcome, names[0], controls, **how)


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
