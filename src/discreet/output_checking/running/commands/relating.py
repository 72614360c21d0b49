"""Correlations and classes: `correlate`, `pwcorr`, `histogram`, `kdensity`.

In: calls. Out: safe results in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.output_checking import safe
from discreet.output_checking.running.commands.describing import true_values, variables
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.samples import Chosen, choose, numeric, quoted, safely, show
from discreet.output_checking.running.values import MISSING

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session
    from discreet.output_checking.safe.results import SafeResult


@command(
    "correlate",
    summary="correlations, or covariances, of complete observations",
    options="Covariance",
    layout="noFormat",
    group="output",
)
def correlate(session: Session, call: Call) -> None:
    """`correlate varlist [, covariance]`."""
    names = numeric(session, variables(session, call, every=True))
    chosen = choose(session, call, names)
    result = safely(
        session,
        "correlate",
        lambda: safe.correlate(
            chosen.frame,
            names,
            covariance=call.has("covariance"),
            limits=session.limits,
            **chosen.options,
        ),
    )
    _stored_correlation(session, names, chosen, result, covariance=call.has("covariance"))


@command(
    "pwcorr",
    summary="correlations of each pair of variables",
    options="Obs",
    group="output",
)
def pwcorr(session: Session, call: Call) -> None:
    """`pwcorr varlist [, obs]`."""
    names = numeric(session, variables(session, call, every=True))
    chosen = choose(session, call, names)
    result = safely(
        session,
        "pwcorr",
        lambda: safe.pwcorr(
            chosen.frame, names, obs=call.has("obs"), limits=session.limits, **chosen.options
        ),
    )
    _stored_correlation(session, names, chosen, result)


def _stored_correlation(
    session: Session,
    names: Sequence[str],
    chosen: Chosen,
    result: SafeResult | None,
    *,
    covariance: bool = False,
) -> None:
    shown = result is not None and show(session, result, chosen, names)
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
    session.store("r", true, safe=result.stored if shown and result is not None else None)


@command(
    "histogram kdensity",
    summary="frequencies in classes of enough cases, as text; no picture is drawn",
    options="Width() STart()",
    layout="Bin() DISCrete DENsity FRACtion FREQuency percent normal n() BWidth() kernel() nograph "
    "title() subtitle() note() caption() xtitle() ytitle() xlabel() ylabel() xline() yline() "
    "legend() name() saving() scheme() graphregion() plotregion() color() fcolor() lcolor()",
    weights="fweight",
    group="output",
)
def histogram(session: Session, call: Call) -> None:
    """`histogram var [, width(#) start(#)]`."""
    names = numeric(session, variables(session, call))
    if len(names) != 1:
        raise DoError(f"{call.name} takes one variable", code=103)
    if quoted(session, call, "width", "start"):
        return
    chosen = choose(session, call, names)
    width = call.number("width", 0.0) if call.has("width") else None
    start = call.number("start", 0.0) if call.has("start") else None
    result = safely(
        session,
        call.name,
        lambda: safe.histogram(
            chosen.frame,
            names[0],
            width=width,
            start=start,
            limits=session.limits,
            **chosen.options,
        ),
    )
    if result is not None:
        show(session, result, chosen, names)
