"""Statistics of variables: `summarize`, `tabstat`, `codebook`, `count`, `xtsum`, `correlate` …

In: calls. Out: safe results in the log; true ones in `r()` for the program's own use. What is
safe for a panel is safe for the panel unit; where others are protected too, an officer looks
at it. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray
from discreet_fire.catalogue import execution_rows
from discreet_fire.runners.builtin.data.dataset import missing_values
from discreet_fire.runners.builtin.data.true_statistics import true_summary
from discreet_fire.runners.builtin.disclosure.units import OWNER, cases, hidden_column
from discreet_fire.runners.builtin.interpreter import numbers_of
from discreet_fire.runners.builtin.language.calls import CommandCall
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.language.values import MISSING
from discreet_fire.runners.builtin.macro_expansion import words_of
from discreet_fire.runners.builtin.names import macro_text
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import (
    INSIDE,
    ChosenRecords,
    choose,
    numeric,
    quotes_single_values,
    run_statistic,
    selected,
    show,
    show_statistic,
)
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.statistics import Check, CheckVerdict, SafeResult, closed, number_text

_STATISTICS = {"N": "n", "Var": "variance", "v": "variance", "me": "mean", "range": "range"}


def variables(session: Session, call: CommandCall, *, every: bool = False) -> list[str]:
    """The variables of a call; all of them if none is named and that is meant."""
    text = required(call.head or ("_all" if every else ""))
    names = list(dict.fromkeys(session.data.listed(text)))
    DoError.when(not names, "no variables defined", code=111)
    return names


def true_values(session: Session, name: str, chosen: ChosenRecords) -> FloatArray:
    """The values of a variable for the chosen observations."""
    return np.asarray(session.data.variables[name].values[chosen.mask], dtype=np.float64)


@command("summarize")
def summarize(session: Session, call: CommandCall) -> None:
    """`[by …:] summarize [varlist] [if] [in] [weight] [, detail meanonly]`."""
    names = variables(session, call, every=True)
    if not call.head:
        names = [name for name in names if not session.data.variables[name].is_text]
        DoError.when(not names, "there are no numeric variables", code=111)
    numeric(session, names)
    by = list(call.by)
    chosen = choose(session, call, [*names, *by], groups=by, default="aweight")
    detail = call.has("detail")
    shown, about = None, [*names, *by]
    if not call.has("meanonly"):
        shown = show_statistic(
            session, "summarize", chosen, about, names, by=by or None, detail=detail
        )
    _store_summary(session, call, names[-1], chosen, shown)


def _store_summary(
    session: Session, call: CommandCall, name: str, chosen: ChosenRecords, shown: SafeResult | None
) -> None:
    values = true_values(session, name, chosen)
    weights = chosen.weight
    if call.groups is not None and session.data.rows:
        last = np.zeros(session.data.rows, dtype=np.bool_)
        last[call.groups.starts[-2] :] = True
        inside = last[chosen.mask]
        values, weights = values[inside], None if weights is None else weights[inside]
    frequency = call.weight is not None and call.weight.kind == "fweight"
    true = true_summary(values, weights, frequency=frequency, detail=call.has("detail"))
    if call.has("meanonly"):
        kept = ("N", "sum_w", "sum", "mean", "min", "max")
        true = {one: true[one] for one in kept if one in true}
    public = call.groups is None and name not in session.trace.variables
    session.store("r", true, safe=shown if public else None)


@command("tabstat")
def tabstat(session: Session, call: CommandCall) -> None:
    """`[by …:] tabstat varlist [, statistics(…) by(var)]`; groups stand in one table."""
    names = numeric(session, variables(session, call))
    own = session.data.listed(call.argument("by") or "")
    DoError.when(len(own) > 1, "too many variables in by()", code=103)
    words = (call.argument("statistics") or call.argument("stats") or "mean").split()
    by = list(dict.fromkeys([*call.by, *own]))
    chosen = choose(session, call, [*names, *by], groups=by, default="aweight")
    chosen, group = _one_group(chosen, by, whole=call.has("missing") or not own)
    how: dict[str, Any] = {"by": group, "missing": call.has("missing") or bool(call.by)}
    how["statistics"] = [_STATISTICS.get(word, word) for word in words]
    shown = show_statistic(session, "tabstat", chosen, [*names, *by], names, **how)
    if shown is not None:
        session.store("r", {}, safe=shown)


def _one_group(
    chosen: ChosenRecords, by: Sequence[str], *, whole: bool
) -> tuple[ChosenRecords, str | None]:
    """The records with one column for the groups of some variables, and its name.

    A record whose last variable is missing is in no group, unless they are to be whole.
    """
    if len(by) < 2:
        return chosen, by[0] if by else None
    name, frame = " ".join(by), chosen.frame
    labels = [pl.col(one).cast(pl.String) for one in by]
    if all(kind.is_float() for kind in map(frame.schema.__getitem__, by)):
        labels = [pl.col(one).map_elements(number_text, return_dtype=pl.String) for one in by]
    filled = [one.fill_null(".") for one in labels]
    last = filled[-1] if whole else labels[-1]
    group = pl.concat_str([*filled[:-1], last], separator=" ").alias(name)
    return replace(chosen, frame=frame.with_columns(group)), name


@command("mean")
def mean(session: Session, call: CommandCall) -> None:
    """`mean varlist [, over(var)]`: number of cases, mean, standard error, deviation."""
    names = numeric(session, variables(session, call))
    over = session.data.listed(call.argument("over") or "")
    UnsupportedError.when(len(over) > 1, "mean over several variables")
    chosen = choose(session, call, [*names, *over], groups=over)
    how = {"statistics": "n mean semean sd", "by": over[0] if over else None, **chosen.options}
    result = run_statistic(session, "mean", chosen.frame, names, **how)
    if result is not None:
        show(session, replace(result, command=f"mean {' '.join(names)}"), chosen, [*names, *over])


@command("centile")
def centile(session: Session, call: CommandCall) -> None:
    """Percentiles with intervals, which are always those of the option `cci`."""
    names = numeric(session, variables(session, call))
    if quotes_single_values(session, call, "centile", "level"):
        return
    wanted = numbers_of(call.argument("centile") or "50")
    chosen = choose(session, call, names)
    level = call.number("level", 95.0)
    shown = show_statistic(session, "centile", chosen, names, names, centiles=wanted, level=level)
    if shown is not None and not call.has("cci"):
        session.write("(intervals are conservative, as with the option cci)")
    values = true_values(session, names[-1], chosen)
    x = np.sort(values[values < MISSING])
    true = {"N": float(len(x))}
    if len(x):
        for at, percent in enumerate(wanted, 1):
            true[f"c_{at}"] = _centile(x, percent)
    session.store("r", true, safe=shown)


def _centile(ordered: FloatArray, percent: float) -> float:
    place = (len(ordered) + 1) * percent / 100
    below = int(place)
    if below < 1 or below >= len(ordered):
        return float(ordered[0 if below < 1 else -1])
    low, high = float(ordered[below - 1]), float(ordered[below])
    return low + (place - below) * (high - low)


_OF_VARIABLES = [name for name, row in execution_rows().items() if row.shows.called == "variables"]


@command(" ".join(_OF_VARIABLES))
def of_variables(session: Session, call: CommandCall) -> None:
    """Commands of which the catalogue says all: the statistic of the variables named, or all."""
    names = variables(session, call, every=True)
    chosen = choose(session, call, names, groups=[])
    show_statistic(session, call.name, chosen, names, names)


@command("count")
def count(session: Session, call: CommandCall) -> None:
    """`count [if] [in]`; withheld where few are counted, or all but few."""
    DoError.when(call.head, "varlist not allowed", code=101)
    if call.by:
        # The groups together, so that one does not give another away.
        by = list(call.by)
        chosen = choose(session, call, by, groups=by)
        show_statistic(session, "count", chosen, by, by, of="table")
        session.store("r", {"N": float(selected(session, call).sum())})
        return
    rows = selected(session, call)
    true = {"N": float(rows.sum())}
    nobody = bool(session.data.variables) and not session.data.rows
    chosen_few = not session.trace.plain and cases(session, rows) < session.limits.minimum
    if nobody or chosen_few:
        text = closed(["  ."], True, session.limits.language)
        session.flag("count", "minimum", CheckVerdict.fail, "too few cases", shown=text)
        session.store("r", true)
        return
    everyone = np.ones(session.data.rows, dtype=np.bool_)
    flag = {INSIDE: rows.astype(np.float64)}
    chosen = choose(session, call, [], more=flag, mask=everyone)
    if not session.data.rows:
        session.write("  0")
        session.store("r", true, safe=true)
        return
    name = "counted"
    frame = chosen.frame.rename({INSIDE: name})
    where = f"{name} == 1" if call.condition or call.rows else None
    result = run_statistic(session, "count", frame, where=where, **chosen.options)
    if result is None:
        session.store("r", true)
        return
    result = replace(result, command="count if …" if call.condition else "count")
    session.store("r", true, safe=show(session, result, chosen, []))


@command("levelsof")
def levelsof(session: Session, call: CommandCall) -> None:
    """`levelsof var [, local(name) clean]`: shown are values of enough cases."""
    names = variables(session, call)
    DoError.when(len(names) != 1, "levelsof takes one variable", code=103)
    name = names[0]
    variable = session.data.variables[name]
    chosen = choose(session, call, names)
    used = chosen.mask if call.has("missing") else chosen.mask & ~missing_values(variable)
    values = variable.values[used]
    sign = (call.argument("separate") or " ").removeprefix('"').removesuffix('"') or " "
    if variable.is_text:
        levels = sorted(set(values), key=str.encode)
        texts = levels if call.has("clean") else [f'`"{text}"\'' for text in levels]
    else:
        texts = [macro_text(float(one)) for one in np.unique(values)]
    shown = show_statistic(session, "levelsof", chosen, names, name)
    full = shown is not None and shown.verdict == "pass"
    session.store("r", {"levels": sign.join(texts), "r": float(len(texts))})
    target = call.argument("local")
    if target:
        session.set_local(target, sign.join(texts), held=session.trace.touched or not full)
        if shown is not None and shown.frame is not None and not full:
            known = frozenset(words_of(" ".join(shown.frame[name].to_list())))
            session.trace.levels[session.macros.depth, target] = known


def panel_of(session: Session) -> tuple[str, str]:
    """The panel and the time variable."""
    panel, time = session.data.panel
    DoError.when(not panel, "panel variable not set; use xtset", code=459)
    return panel, time


@command("xtsum")
def xtsum(session: Session, call: CommandCall) -> None:
    """`[by …:] xtsum varlist`."""
    named = session.data.listed(call.argument("i") or "")
    DoError.when(len(named) > 1, "i() takes one variable", code=198)
    panel = named[0] if named else panel_of(session)[0]
    names = numeric(session, variables(session, call, every=True))
    names = [name for name in names if name != panel and name not in call.by]
    if call.by:
        _xtsum_by(session, call, panel, names)
        return
    chosen = choose(session, call, [panel, *names])
    result = run_statistic(session, "xtsum", chosen.frame, names, entity=panel)
    if result is not None:
        shown = show(session, _other_units(session, panel, result), chosen, names)
        session.store("r", {}, safe=shown)


def _xtsum_by(session: Session, call: CommandCall, panel: str, names: list[str]) -> None:
    """One output for each group that a table of means and deviations of all would show."""
    by = list(call.by)
    together, group = _one_group(
        choose(session, call, [panel, *names, *by], groups=by), by, whole=True
    )
    how: dict[str, Any] = {"by": group, "missing": True, "statistics": ["n", "mean", "sd"]}
    table = run_statistic(session, "tabstat", together.frame, names, entity=panel, **how)
    if table is None or table.frame is None or group is None:
        return
    known = table.frame.filter(pl.all_horizontal(pl.col("n", "mean", "sd").is_not_null()))
    shown = [one for (one,), part in known.group_by(group, maintain_order=True)
             if part.height == len(names)]  # fmt: skip
    labels = [number_text("." if one is None else one) for one in together.frame[group].to_list()]
    groups = list(dict.fromkeys(labels))
    if not set(groups) <= set(shown):
        session.write("\n-> groups of few")
        session.withhold("xtsum", "minimum", "groups are of too few cases, or hide such groups")
    for label in [one for one in shown if one in groups]:
        rows = together.mask.copy()
        rows[rows] = np.array([one == label for one in labels])
        chosen = choose(session, call, [panel, *names], mask=rows)
        result = run_statistic(session, "xtsum", chosen.frame, names, entity=panel)
        session.write(f"\n-> {' '.join(by)} = {label}")
        if result is not None:
            show(session, _other_units(session, panel, result), chosen, names)


@command("xtdescribe")
def xtdescribe(session: Session, call: CommandCall) -> None:
    """`xtdescribe [, patterns(#)]`."""
    panel, time = panel_of(session)
    chosen = choose(session, call, [panel, time])
    how: dict[str, Any] = {"entity": panel, "time": time, "patterns": call.whole("patterns", 9)}
    result = run_statistic(session, "xtdescribe", chosen.frame, **how)
    if result is not None:
        show(session, _other_units(session, panel, result), chosen, [])


def _other_units(session: Session, panel: str, result: SafeResult) -> SafeResult:
    """The result, to be looked at where cases are not the units of the panel."""
    kept = hidden_column(session.data, OWNER)
    if session.entity is None or panel == session.entity:
        return result
    if kept is not None and np.array_equal(kept.values, session.data.variables[panel].values):
        return result
    reason = "cases are counted as units of the panel, which are not those that are protected"
    check = Check(rule="entity", verdict=CheckVerdict.review, reason=reason, where=panel)
    return replace(result, checks=[*result.checks, check])


@command("correlate pwcorr")
def correlate(session: Session, call: CommandCall) -> None:
    """`correlate varlist [, covariance]`, `pwcorr varlist [, obs]`."""
    names = numeric(session, variables(session, call, every=True))
    chosen = choose(session, call, names)
    option = "covariance" if call.name == "correlate" else "obs"
    how: dict[str, Any] = {option: call.has(option)}
    shown = show_statistic(session, call.name, chosen, names, names, **how)
    _store_correlation(session, names, chosen, shown, covariance=call.has("covariance"))


def _store_correlation(
    session: Session,
    names: Sequence[str],
    chosen: ChosenRecords,
    shown: SafeResult | None,
    *,
    covariance: bool,
) -> None:
    columns = [true_values(session, name, chosen) for name in names[:2]]
    known = (columns[0] < MISSING) & (columns[1] < MISSING)
    true = {"N": float(known.sum())}
    if known.sum() > 1:
        first, second = (column[known] for column in columns)
        if first.std() and second.std():
            true["rho"] = float(np.corrcoef(first, second)[0, 1])
        if covariance:
            (one, both), (_, other) = np.cov(first, second).tolist()
            true |= {"cov_12": both, "Var_1": one, "Var_2": other}
    session.store("r", true, safe=shown)


@command("histogram kdensity")
def histogram(session: Session, call: CommandCall) -> None:
    """`histogram var [, width(#) start(#)]`."""
    names = numeric(session, variables(session, call))
    DoError.when(len(names) != 1, f"{call.name} takes one variable", code=103)
    if quotes_single_values(session, call, "width", "start"):
        return
    chosen = choose(session, call, names)
    width = call.number("width", 0.0) if call.has("width") else None
    start = call.number("start", 0.0) if call.has("start") else None
    show_statistic(session, call.name, chosen, names, names[0], width=width, start=start)
