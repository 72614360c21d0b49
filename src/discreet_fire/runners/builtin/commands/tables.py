"""Tables: `tabulate`, `tab1`, `tab2`, `table`, `proportion`.

In: calls. Out: safe tables in the log. Value labels stand for values, in their order.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import BoolArray
from discreet_fire.runners.builtin.commands.descriptive import variables
from discreet_fire.runners.builtin.data.dataset import DataVariable, missing_values
from discreet_fire.runners.builtin.disclosure.record_counts import check_made
from discreet_fire.runners.builtin.language.calls import CommandCall, split_outside
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.language.values import MISSING
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import (
    WEIGHT,
    ChosenRecords,
    choose,
    numeric,
    selected,
    show_statistic,
)
from discreet_fire.runners.builtin.state.session import Session

_STATISTIC = re.compile(r"\bstat(?:i|is|ist|isti|istic)?\s*\(([^()]*)\)")
_FREQUENCY = frozenset(("freq", "frequency", "count"))


@command("tabulate")
def tabulate(session: Session, call: CommandCall) -> None:
    """`tabulate a [b] [if] [in] [weight] [, missing row column cell chi2 generate() …]`."""
    names = variables(session, call)
    DoError.when(len(names) > 2, "too many variables specified", code=103)
    if call.has("summarize"):
        _summarized(session, call, names)
    elif call.by:
        _by_groups(session, call, names)
    else:
        _tabulated(session, call, names)
    if call.has("generate"):
        _dummies(session, call, names)


def _tabulated(session: Session, call: CommandCall, names: Sequence[str]) -> None:
    groups = [] if call.has("nolabel") else names
    chosen = choose(session, call, names, groups=groups, default="fweight", repeat=False)
    missing = call.has("missing")
    percent = [word for word in ("row", "column", "cell") if call.has(word)]
    if len(names) == 1 and (percent or call.has("chi2")):
        raise DoError("row, column, cell and chi2 are for two variables", code=198)
    if call.weight is not None and call.weight.kind == "aweight":
        chosen = _to_number(session, chosen, names, missing=missing)
    more: dict[str, Any] = {"missing": missing, "percent": percent, "chi2": call.has("chi2")}
    shown = show_statistic(session, "tabulate", chosen, names, *names, **more)
    session.store("r", _counts(session, chosen, names, missing=missing), safe=shown)


def _to_number(
    session: Session, chosen: ChosenRecords, names: Sequence[str], *, missing: bool
) -> ChosenRecords:
    """Analytic weights that add up to the number of observations of the table."""
    assert chosen.weight is not None
    used = _used(chosen.frame, names, missing=missing)
    total = float(chosen.weight[used].sum())
    factor = float(used.sum()) / total if total else 1.0
    column = chosen.frame[WEIGHT] * factor
    return replace(chosen, frame=chosen.frame.with_columns(column))


def _used(frame: pl.DataFrame, names: Sequence[str], *, missing: bool) -> BoolArray:
    """The observations of a table: all, or those whose values are known."""
    used = np.ones(frame.height, dtype=np.bool_)
    for name in [] if missing else names:
        used &= ~frame[name].is_null().to_numpy()
    return used


def _counts(
    session: Session, chosen: ChosenRecords, names: Sequence[str], *, missing: bool
) -> dict[str, float]:
    """`r(N)`, `r(r)` and `r(c)`."""
    frame = session.data.frame(list(names), chosen.mask)
    known = frame if missing else frame.drop_nulls()
    numbers = {"N": float(known.height)}
    if chosen.weight is not None:
        numbers["N"] = float(chosen.weight[_used(frame, names, missing=missing)].sum())
    return numbers | {
        letter: float(known[name].n_unique()) for letter, name in zip("rc", names, strict=False)
    }


def _by_groups(session: Session, call: CommandCall, names: Sequence[str]) -> None:
    """`by …: tabulate`: all groups in one table, so that none gives another away."""
    wanted = [*call.by, *names]
    if len(set(wanted)) > 3 or call.weight is not None:
        raise UnsupportedError("by with tabulate of so many variables, or with weights")
    session.note(f"(by {' '.join(call.by)}: one table for all groups)")
    chosen = choose(session, call, wanted, groups=wanted)
    missing = call.has("missing")
    show_statistic(session, "tabulate", chosen, wanted, wanted, of="table", missing=missing)


def _summarized(session: Session, call: CommandCall, names: Sequence[str]) -> None:
    """`tabulate a [b], summarize(x)`."""
    if call.by or (call.weight is not None and call.weight.kind == "iweight"):
        raise UnsupportedError("by or importance weights with tabulate, summarize()")
    of = numeric(session, session.data.listed(call.argument("summarize") or ""))
    DoError.when(len(of) != 1, "summarize() takes one variable", code=103)
    _shown_table(session, call, names, of, ["mean", "sd", "n"])


def _shown_table(
    session: Session, call: CommandCall, by: Sequence[str], of: Sequence[str], words: Sequence[str]
) -> None:
    names = [*by, *of]
    chosen = choose(session, call, names, groups=by, default="fweight")
    how: dict[str, Any] = {"statistics": list(words) or "n", "missing": call.has("missing")}
    columns = list(by), list(of) or None
    show_statistic(session, call.name, chosen, names, *columns, **how, of="table")


def _dummies(session: Session, call: CommandCall, names: Sequence[str]) -> None:
    """`generate(stub)`: a variable of 0 and 1 for each value."""
    DoError.when(len(names) != 1, "generate() is for one variable", code=198)
    stub = (call.argument("generate") or "").strip()
    variable = session.data.variables[names[0]]
    rows = selected(session, call)
    values = variable.values
    known = rows if call.has("missing") else rows & ~missing_values(variable)
    levels = sorted(set(values[known])) if variable.is_text else np.unique(values[known]).tolist()
    later = known.copy()
    for number, level in enumerate(levels, 1):
        check_made(session, f"{stub}{number}", later)
        later &= np.asarray(values != level, dtype=np.bool_)
    for number, level in enumerate(levels, 1):
        column = np.where(known, (values == level).astype(np.float64), MISSING)
        name = f"{stub}{number}"
        session.put(name, DataVariable(column.astype(np.float64), "byte"), names)


@command("tab1 proportion")
def one_way(session: Session, call: CommandCall) -> None:
    """`tab1 varlist`; `proportion varlist` is shown as frequencies and percentages, too."""
    for name in variables(session, call):
        if call.name == "tab1":
            session.write(f"-> tabulation of {name}")
        _tabulated(session, call, [name])


@command("tab2")
def two_way(session: Session, call: CommandCall) -> None:
    """`tab2 varlist`."""
    for first, second in itertools.combinations(variables(session, call), 2):
        session.write(f"-> tabulation of {first} by {second}")
        _tabulated(session, call, [first, second])


@command("table")
def table(session: Session, call: CommandCall) -> None:
    """`table rows [columns [layers]] [, contents(mean x …)]`, `table (r) (c), statistic(…)`."""
    by = required(list(dict.fromkeys(session.data.listed(re.sub(r"[()]", " ", call.head)))))
    UnsupportedError.when(len(by) > 3, "table of more than three variables")
    wanted = _wanted(session, call)
    for words, of in wanted or [((), ())]:
        _shown_table(session, call, by, numeric(session, of), words)


def _wanted(session: Session, call: CommandCall) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Statistics with the variables they are of; the same statistics go together."""
    by_variable: dict[str, list[str]] = {}
    frequencies = False
    for statistic, name in _pairs(call):
        if not name and statistic in _FREQUENCY:
            frequencies = True
            continue
        UnsupportedError.when(not name, f"statistic {statistic} of table")
        for one in session.data.listed(name):
            by_variable.setdefault(one, []).append("n" if statistic in _FREQUENCY else statistic)
    by_words: dict[tuple[str, ...], list[str]] = {}
    for name, words in by_variable.items():
        by_words.setdefault(tuple(dict.fromkeys(words)), []).append(name)
    tables = [(words, tuple(names)) for words, names in by_words.items()]
    return [((), ()), *tables] if frequencies and tables else tables


def _pairs(call: CommandCall) -> list[tuple[str, str]]:
    """`(statistic, variable)`, with an empty variable for frequencies."""
    contents = call.argument("contents")
    if contents is not None:
        pairs, words = [], contents.split()
        while words:
            word = words.pop(0)
            pairs.append((word, "" if word in ("freq",) or not words else words.pop(0)))
        return pairs
    pairs = []
    _, *after = split_outside(call.text, ",") if call.has("statistic") else [""]
    for inside in _STATISTIC.findall(",".join(after)):
        statistic, *names = inside.split()
        pairs.append((statistic, " ".join(names)))
    return pairs
