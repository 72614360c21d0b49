"""Tests: of coefficients (`test`, `testparm`, `lincom`) and of means (`ttest`).

In: calls. Out: statistics worked out from numbers that may be shown themselves.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray
from discreet_fire.runners.builtin.commands.models import noted
from discreet_fire.runners.builtin.fitted_models import FittedModel
from discreet_fire.runners.builtin.language.calls import CommandCall, split_outside
from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError, required
from discreet_fire.runners.builtin.registry import command
from discreet_fire.runners.builtin.samples import (
    choose,
    numeric,
    quotes_single_values,
    run_statistic,
    show,
)
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.statistics import (
    Grid,
    chi2_tail,
    f_tail,
    fixed,
    general,
    normal_two_sided,
    t_quantile,
    t_two_sided,
    z_quantile,
)

_NUMBER = r"\d*\.?\d+(?:[eE][+-]?\d+)?"
_LABEL = r"(?:_b\[)?(?P<label>[\w.#]*[A-Za-z_][\w.#]*)\]?"
_TERM = re.compile(
    rf"(?P<sign>[+-])\s*(?:(?P<factor>{_NUMBER})\s*\*\s*)?{_LABEL}"
    rf"(?:\s*(?P<operator>[*/])\s*(?P<more>{_NUMBER}))?\s*(?=[+-]|\Z)"
)
#: The return code of Stata for groups that are not two.
_TWO_GROUPS = 420
_PLAIN = re.compile(rf"(?P<sign>[+-])\s*(?P<number>{_NUMBER})\s*(?=[+-]|\Z)")


def last_model(session: Session) -> FittedModel:
    """The last model."""
    model: FittedModel = required(session.results.model, "last estimates not found", code=301)
    model.fitted()
    return model


def combination(model: FittedModel, text: str) -> tuple[FloatArray, float]:
    """A linear combination of coefficients: weights, and what is added."""
    weights, added = np.zeros(len(model.labels)), 0.0
    rest = text.strip()
    rest = rest if rest.startswith(("+", "-")) else f"+{rest}"
    at = 0
    while at < len(rest):
        match = _PLAIN.match(rest, at)
        if match:
            added += float(match["number"]) * (1 if match["sign"] == "+" else -1)
        else:
            match = _TERM.match(rest, at)
            if not match:
                raise UnsupportedError("an expression that is not a sum of coefficients")
            factor = float(match["factor"] or 1) * (1 if match["sign"] == "+" else -1)
            if match["more"]:
                more = float(match["more"])
                if match["operator"] == "/" and not more:
                    raise DoError("a coefficient is divided by zero", code=198)
                factor = factor * more if match["operator"] == "*" else factor / more
            place = model.place(match["label"])
            if place is not None:
                weights[place] += factor
        at = match.end()
    return weights, added


@command("test")
def test(session: Session, call: CommandCall) -> None:
    """`test x z`, `test x = z`, `test (a = b) (c = 1)`."""
    if quotes_single_values(session, call, always=True):
        return
    model = last_model(session)
    text, *options = split_outside(call.text, ",")
    UnsupportedError.when(options, "options of test")
    groups = re.findall(r"\(([^()]*)\)", text) if text.strip().startswith("(") else [text]
    rows = []
    for group in groups:
        if "=" in group:
            first, *others = group.split("=")
            left = combination(model, first)
            for other in others:
                right = combination(model, other)
                rows.append((left[0] - right[0], left[1] - right[1]))
        else:
            rows += [combination(model, label) for label in group.split()]
    _joint(session, model, rows, "test")


@command("testparm")
def testparm(session: Session, call: CommandCall) -> None:
    """`testparm i.region x`."""
    model = last_model(session)
    wanted: list[str] = []
    for word in call.head.split():
        pieces = sorted(re.sub(r"\A(?:i|c|ib\w*)\.", "", one) for one in word.split("#"))
        for label in model.labels:
            names = sorted(one.rpartition(".")[2] for one in label.split("#"))
            if names == pieces:
                wanted.append(label)
    DoError.when(not wanted, "no such coefficients", code=111)
    _joint(session, model, [combination(model, label) for label in wanted], "testparm")


def _joint(
    session: Session, model: FittedModel, rows: list[tuple[FloatArray, float]], name: str
) -> None:
    """The Wald test that combinations are zero."""
    DoError.when(not rows, "nothing to test", code=198)
    values, covariance = model.fitted()
    design = np.array([weights for weights, _ in rows])
    distance = design @ values + np.array([added for _, added in rows])
    middle = design @ covariance @ design.T
    rank = int(np.linalg.matrix_rank(middle, hermitian=True))
    DoError.when(not rank, "the constraints involve no coefficient", code=131)
    wald = float(distance @ np.linalg.pinv(middle, hermitian=True) @ distance)
    named = [
        f" ({at})  {_named(model, weights)} = {general(-added, 9)}"
        for at, (weights, added) in enumerate(rows, 1)
    ]
    if model.df is None:
        p = chi2_tail(wald, rank)
        lines = [f"           chi2({rank:>3}) ={wald:9.2f}", f"         Prob > chi2 ={p:10.4f}"]
        stored = {"chi2": wald, "df": float(rank), "p": p}
    else:
        f = wald / rank
        p = f_tail(f, rank, int(model.df))
        lines = [
            f"       F({rank:>3},{int(model.df):>6}) ={f:9.2f}",
            f"            Prob > F ={p:10.4f}",
        ]
        stored = {"F": f, "df": float(rank), "df_r": model.df, "p": p}
    session.show(noted(name, "\n".join(["", *named, "", *lines]), stored))
    session.store("r", {}, safe=stored)


def _named(model: FittedModel, weights: FloatArray) -> str:
    parts = []
    for label, weight in zip(model.labels, weights.tolist(), strict=True):
        if weight:
            factor = "" if abs(weight) == 1 else f"{general(abs(weight), 9)}*"
            parts.append(f"{'-' if weight < 0 else '+'} {factor}{label}")
    return " ".join(parts).removeprefix("+ ") or "0"


@command("lincom")
def lincom(session: Session, call: CommandCall) -> None:
    """`lincom x + 2*z`."""
    if quotes_single_values(session, call, always=True):
        return
    model = last_model(session)
    values, covariance = model.fitted()
    weights, added = combination(model, call.head)
    estimate = float(weights @ values) + added
    error = math.sqrt(max(float(weights @ covariance @ weights), 0.0))
    DoError.when(not error, "the combination has no standard error", code=498)
    level = call.number("level", 95.0) / 100
    DoError.when(not 0.1 <= level < 1, "the level is a number from 10 to 99.99", code=198)
    t = estimate / error
    if model.df is None:
        p, factor = normal_two_sided(t), z_quantile(level)
    else:
        p, factor = t_two_sided(t, model.df), t_quantile(level, model.df)
    ends = [estimate - factor * error, estimate + factor * error]
    heads = ["Coef.", "Std. err.", "t" if model.df else "z", "P", "[conf.", "interval]"]
    cells = [general(estimate), general(error), fixed(t), fixed(p, 3), *map(general, ends)]
    named = f" ( 1)  {_named(model, weights)} = 0"
    text = f"{named}\n\n{Grid(stub=model.outcome, heads=heads, blocks=[[('(1)', cells)]])}"
    stored = {"estimate": estimate, "se": error, "p": p, "lb": ends[0], "ub": ends[1]}
    stored |= {"level": 100 * level, "z" if model.df is None else "t": t}
    stored |= {} if model.df is None else {"df": float(model.df)}
    session.show(noted("lincom", text, stored))
    session.store("r", {}, safe=stored)


@command("ttest")
def ttest(session: Session, call: CommandCall) -> None:
    """`ttest x, by(g) [unequal welch]`, `ttest x == 5`, `ttest x == y [, unpaired]`."""
    left, sign, right = call.head.partition("==")
    if quotes_single_values(session, call, "level", always="=" in call.head):
        return
    if not sign:
        left, sign, right = call.head.partition("=")
    name, others = _one_variable(session, left), []
    by = session.data.listed(call.argument("by") or "")
    UnsupportedError.when(bool(by) == bool(sign), "ttest, but for by(), x == number and x == y")
    UnsupportedError.when(len(by) > 1, "by() with several variables")
    how: dict[str, Any] = {"by": by[0] if by else None, "level": call.number("level", 95.0)}
    how |= {word: call.has(word) for word in ("unpaired", "unequal", "welch")}
    if sign and re.fullmatch(rf"\s*[+-]?\s*{_NUMBER}\s*", right):
        how["mean"] = float(right.replace(" ", ""))
    elif sign:
        others = [how.setdefault("other", _one_variable(session, right))]
    DoError.when(how["unpaired"] and not others, "unpaired takes two variables", code=198)
    chosen = choose(session, call, [name, *others, *by], groups=by)
    if others and not how["unpaired"]:
        # Only pairs are counted, and held against other tables.
        known = pl.all_horizontal(pl.col(name, *others).is_not_null())
        pairs = pl.when(known).then(pl.col(name, *others))
        chosen = replace(chosen, frame=chosen.frame.with_columns(pairs))
    try:
        result = run_statistic(session, "ttest", chosen.frame, name, **how, **chosen.options)
    except DoError as error:
        if error.rc == _TWO_GROUPS:
            error.redacted = not chosen.mask.all() or by[0] in session.trace.made
        raise
    if result is not None and others and how["unpaired"]:
        # Each variable is described by its own records, as `tabstat` does.
        result = replace(result, command=f"tabstat {name} {others[0]}")
    if show(session, result, chosen, [name, *others, *by]) is not None and result is not None:
        session.store("r", {}, safe=result.stored)


def _one_variable(session: Session, text: str) -> str:
    names = numeric(session, session.data.listed(text))
    DoError.when(len(names) != 1, "ttest takes one variable on each side", code=198)
    return names[0]
