"""Statistics of variables: `summarize`, `tabstat`, `mean`, `centile`, `codebook`, `count` …

In: calls. Out: safe results in the log; true ones in `r()` for the program's own use.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.output_checking import safe
from discreet.output_checking.running.blocks import numbers_of
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.extended import words_of
from discreet.output_checking.running.isolating import cases
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.samples import (
    INSIDE,
    Chosen,
    choose,
    numeric,
    quoted,
    safely,
    show,
)
from discreet.output_checking.running.selecting import selected
from discreet.output_checking.running.single import macro_text
from discreet.output_checking.running.truths import summary
from discreet.output_checking.running.values import MISSING, Floats
from discreet.output_checking.safe.layout import closed
from discreet.output_checking.safe.results import Check, SafeResult, Verdict

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

_STATISTICS = {"N": "n", "Var": "variance", "v": "variance", "me": "mean", "range": "range"}


def variables(session: Session, call: Call, *, every: bool = False) -> list[str]:
    """The variables of a call; all of them if none is named and that is meant."""
    text = call.head or ("_all" if every else "")
    if not text:
        raise DoError("varlist required", code=100)
    found = list(dict.fromkeys(session.data.listed(text)))
    if not found:
        raise DoError("no variables defined", code=111)
    return found


def true_values(session: Session, name: str, chosen: Chosen) -> Floats:
    """The values of a variable for the chosen observations."""
    return np.asarray(session.data.variables[name].values[chosen.mask], dtype=np.float64)


@command(
    "summarize",
    summary="number of cases, mean, standard deviation; with detail percentiles",
    options="Detail Meanonly",
    layout="Format SEParator()",
    by=True,
    weights="aweight fweight",
    group="output",
)
def summarize(session: Session, call: Call) -> None:
    """`[by …:] summarize [varlist] [if] [in] [weight] [, detail meanonly]`."""
    names = variables(session, call, every=True)
    if not call.head:
        names = [name for name in names if not session.data.variables[name].is_text]
        if not names:
            raise DoError("there are no numeric variables", code=111)
    numeric(session, names)
    by = list(call.by)
    chosen = choose(session, call, [*names, *by], groups=by, default="aweight")
    detail = call.has("detail")
    result = None
    if not call.has("meanonly"):
        result = safely(
            session,
            "summarize",
            lambda: safe.summarize(
                chosen.frame,
                names,
                limits=session.limits,
                by=by or None,
                detail=detail,
                **chosen.options,
            ),
        )
    if result is not None:
        show(session, result, chosen, [*names, *by])
    _store_summary(session, call, names[-1], chosen, result)


def _store_summary(
    session: Session, call: Call, name: str, chosen: Chosen, result: SafeResult | None
) -> None:
    values = true_values(session, name, chosen)
    weights = chosen.weight
    if call.groups is not None and session.data.rows:
        last = np.zeros(session.data.rows, dtype=np.bool_)
        last[call.groups.starts[-2] :] = True
        inside = last[chosen.mask]
        values, weights = values[inside], None if weights is None else weights[inside]
    frequency = call.weight is not None and call.weight.kind == "fweight"
    true = summary(values, weights, frequency=frequency, detail=call.has("detail"))
    if call.has("meanonly"):
        true = {
            one: true[one] for one in ("N", "sum_w", "sum", "mean", "min", "max") if one in true
        }
    shown = result is not None and call.groups is None and name not in session.trace.variables
    session.store("r", true, safe=result.stored if shown and result is not None else None)


@command(
    "tabstat",
    summary="a table of statistics, by groups and in total",
    options="Statistics() stats() by() Missing",
    layout="Columns() LAbelwidth() VArwidth() noTotal Format()? LOngstub SAVE noSEParator",
    weights="aweight fweight",
    group="output",
)
def tabstat(session: Session, call: Call) -> None:
    """`tabstat varlist [, statistics(…) by(var)]`."""
    names = numeric(session, variables(session, call))
    by = session.data.listed(call.argument("by") or "")
    if len(by) > 1:
        raise DoError("too many variables in by()", code=103)
    words = (call.argument("statistics") or call.argument("stats") or "mean").split()
    chosen = choose(session, call, [*names, *by], groups=by, default="aweight")
    result = safely(
        session,
        "tabstat",
        lambda: safe.tabstat(
            chosen.frame,
            names,
            statistics=[_STATISTICS.get(word, word) for word in words],
            by=by[0] if by else None,
            limits=session.limits,
            missing=call.has("missing"),
            **chosen.options,
        ),
    )
    if result is not None and show(session, result, chosen, [*names, *by]):
        session.store("r", {}, safe=result.stored)


@command(
    "mean",
    summary="means with standard errors, also over groups",
    options="over()",
    layout="Level()",
    weights="aweight fweight",
    group="output",
)
def mean(session: Session, call: Call) -> None:
    """`mean varlist [, over(var)]`: number of cases, mean, standard error, deviation."""
    names = numeric(session, variables(session, call))
    over = session.data.listed(call.argument("over") or "")
    if len(over) > 1:
        raise UnsupportedError("mean over several variables")
    chosen = choose(session, call, [*names, *over], groups=over)
    result = safely(
        session,
        "mean",
        lambda: safe.tabstat(
            chosen.frame,
            names,
            statistics="n mean semean sd",
            by=over[0] if over else None,
            limits=session.limits,
            **chosen.options,
        ),
    )
    if result is not None:
        show(session, replace(result, command=f"mean {' '.join(names)}"), chosen, [*names, *over])


@command(
    "centile",
    summary="percentiles with confidence intervals",
    options="Centile() Level() CCi",
    group="output",
)
def centile(session: Session, call: Call) -> None:
    """Percentiles with intervals, which are always those of the option `cci`."""
    names = numeric(session, variables(session, call))
    if quoted(session, call, "centile", "level"):
        return
    wanted = numbers_of(call.argument("centile") or "50")
    chosen = choose(session, call, names)
    level = call.number("level", 95.0)
    result = safely(
        session,
        "centile",
        lambda: safe.centile(
            chosen.frame,
            names,
            centiles=wanted,
            level=level,
            limits=session.limits,
            **chosen.options,
        ),
    )
    shown = result is not None and show(session, result, chosen, names)
    if shown and not call.has("cci"):
        session.write("(intervals are conservative, as with the option cci)")
    values = true_values(session, names[-1], chosen)
    x = np.sort(values[values < MISSING])
    true = {"N": float(len(x))}
    if len(x):
        for at, percent in enumerate(wanted, 1):
            true[f"c_{at}"] = _centile(x, percent)
    session.store("r", true, safe=result.stored if shown and result is not None else None)


def _centile(ordered: Floats, percent: float) -> float:
    place = (len(ordered) + 1) * percent / 100
    below = int(place)
    if below < 1 or below >= len(ordered):
        return float(ordered[0 if below < 1 else -1])
    low, high = float(ordered[below - 1]), float(ordered[below])
    return low + (place - below) * (high - low)


@command(
    "codebook",
    summary="kind of values, missing ones, frequencies or percentiles",
    layout="Compact Notes Tabulate() Header Mv",
    group="output",
)
def codebook(session: Session, call: Call) -> None:
    """`codebook [varlist]`; ranges, distinct values and examples are withheld."""
    names = variables(session, call, every=True)
    chosen = choose(session, call, names, groups=[])
    result = safely(
        session,
        "codebook",
        lambda: safe.codebook(chosen.frame, names, limits=session.limits, **chosen.options),
    )
    if result is not None:
        show(session, result, chosen, names)


@command("count", summary="number of observations", by=True, group="output")
def count(session: Session, call: Call) -> None:
    """`count [if] [in]`; withheld where few are counted, or all but few."""
    if call.head:
        raise DoError("varlist not allowed", code=101)
    if call.by:
        _count_groups(session, call)
        return
    rows = selected(session, call)
    true = {"N": float(rows.sum())}
    nobody = bool(session.data.variables) and not session.data.rows
    chosen_few = not session.trace.plain and cases(session, rows) < session.limits.minimum
    if nobody or chosen_few:
        check = Check(rule="minimum", verdict=Verdict.fail, reason="too few cases")
        text = closed(["  ."], True, session.limits.language)
        session.show(SafeResult(command="count", shown=text, checks=[check]))
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
    result = safely(
        session,
        "count",
        lambda: safe.count(
            frame,
            where=f"{name} == 1" if call.condition or call.rows else None,
            limits=session.limits,
            **chosen.options,
        ),
    )
    if result is None:
        session.store("r", true)
        return
    result = replace(result, command="count if …" if call.condition else "count")
    show(session, result, chosen, [])
    session.store("r", true, safe=result.stored)


def _count_groups(session: Session, call: Call) -> None:
    """`by …: count`: the groups together, so that one does not give another away."""
    by = list(call.by)
    chosen = choose(session, call, by, groups=by)
    result = safely(
        session,
        "count",
        lambda: safe.table(chosen.frame, by, limits=session.limits, **chosen.options),
    )
    if result is not None:
        show(session, result, chosen, by)
    session.store("r", {"N": float(selected(session, call).sum())})


@command(
    "levelsof",
    summary="values of a variable; the program's own list has all of them",
    options="Clean Local() Separate() MIssing",
    group="output",
)
def levelsof(session: Session, call: Call) -> None:
    """`levelsof var [, local(name) clean]`: shown are values of enough cases."""
    names = variables(session, call)
    if len(names) != 1:
        raise DoError("levelsof takes one variable", code=103)
    name = names[0]
    variable = session.data.variables[name]
    chosen = choose(session, call, names)
    values = variable.values[chosen.mask]
    if not call.has("missing"):
        values = values[values != ""] if variable.is_text else values[values < MISSING]
    sign = (call.argument("separate") or " ").removeprefix('"').removesuffix('"') or " "
    if variable.is_text:
        found = sorted(set(values), key=str.encode)
        texts = found if call.has("clean") else [f'`"{text}"\'' for text in found]
    else:
        texts = [macro_text(float(one)) for one in np.unique(values)]
    result = safely(
        session,
        "levelsof",
        lambda: safe.levelsof(chosen.frame, name, limits=session.limits, **chosen.options),
    )
    shown = result is not None and show(session, result, chosen, names)
    full = shown and result is not None and result.verdict == "pass"
    session.store("r", {"levels": sign.join(texts), "r": float(len(texts))})
    target = call.argument("local")
    if target:
        before = session.trace.touched
        session.trace.touched = before or not full
        session.set_local(target, sign.join(texts))
        session.trace.touched = before
        if shown and not full and result is not None and result.frame is not None:
            known = frozenset(words_of(" ".join(result.frame[name].to_list())))
            session.trace.levels[len(session.locals), target] = known


def panel_of(session: Session) -> tuple[str, str]:
    """The panel and the time variable."""
    panel, time = session.data.panel
    if not panel:
        raise DoError("panel variable not set; use xtset", code=459)
    return panel, time


__all__ = ["panel_of", "true_values", "variables"]
