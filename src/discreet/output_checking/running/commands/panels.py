"""Panels: `xtsum`, `xtdescribe`.

In: calls. Out: safe results in the log. What is safe is safe for the panel unit; where
others are protected too, an officer looks at it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.output_checking import safe
from discreet.output_checking.running.commands.describing import panel_of, variables
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.samples import choose, numeric, safely, show
from discreet.output_checking.safe.results import Check, Verdict

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session
    from discreet.output_checking.safe.results import SafeResult


@command(
    "xtsum",
    summary="deviations overall, between panel units, within them",
    options="i()",
    group="output",
)
def xtsum(session: Session, call: Call) -> None:
    """`xtsum varlist`."""
    given = session.data.listed(call.argument("i") or "")
    if len(given) > 1:
        raise DoError("i() takes one variable", code=198)
    panel = given[0] if given else panel_of(session)[0]
    names = numeric(session, variables(session, call, every=True))
    names = [name for name in names if name != panel]
    chosen = choose(session, call, [panel, *names])
    result = safely(
        session,
        "xtsum",
        lambda: safe.xtsum(chosen.frame, names, entity=panel, limits=session.limits),
    )
    if result is not None:
        result = _other_units(session, panel, result)
        shown = show(session, result, chosen, names)
        session.store("r", {}, safe=result.stored if shown else None)


@command(
    "xtdescribe",
    summary="patterns of participation in a panel",
    options="Patterns()",
    layout="Width()",
    group="output",
)
def xtdescribe(session: Session, call: Call) -> None:
    """`xtdescribe [, patterns(#)]`."""
    panel, time = panel_of(session)
    chosen = choose(session, call, [panel, time])
    result = safely(
        session,
        "xtdescribe",
        lambda: safe.xtdescribe(
            chosen.frame,
            entity=panel,
            time=time,
            patterns=call.whole("patterns", 9),
            limits=session.limits,
        ),
    )
    if result is not None:
        show(session, _other_units(session, panel, result), chosen, [])


def _other_units(session: Session, panel: str, result: SafeResult) -> SafeResult:
    """The result, to be looked at where cases are not the units of the panel."""
    kept = session.data.hidden.get("entity")
    if session.entity is None or panel == session.entity:
        return result
    if kept is not None and np.array_equal(kept.values, session.data.variables[panel].values):
        return result
    reason = "cases are counted as units of the panel, which are not those that are protected"
    check = Check(rule="entity", verdict=Verdict.review, reason=reason, where=panel)
    return replace(result, checks=[*result.checks, check])
