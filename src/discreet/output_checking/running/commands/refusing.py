"""Commands that are not permitted, and pictures: a line says so, and the run goes on.

In: calls. Out: a line in the log and a finding. Nothing of the data is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.output_checking.policy import Policy
from discreet.output_checking.running.registry import command
from discreet.output_checking.safe.results import Check, SafeResult, Verdict
from discreet.output_checking.safe.words import refused_line

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

_REFUSED = (
    "list browse edit inspect stem dotplot shell dataex lv scatter line "
    "rvfplot rvpplot avplot avplots lvr2plot stripplot spikeplot cdfplot qnorm pnorm quantile "
    "xtline"
)
_PICTURES = "graph twoway"


@command(_REFUSED, summary="not permitted; noted, and the run goes on", raw=True, group="refused")
def refused(session: Session, call: Call) -> None:
    """Note that a command is not permitted."""
    reason = Policy.default().verdict(call.name).reason or "it shows single records"
    session.note(f"{refused_line(session.limits.language)}: {call.name}")
    check = Check(rule="refused", verdict=Verdict.fail, reason=reason)
    session.remember(SafeResult(command=call.name, shown="", checks=[check]))


@command(_PICTURES, summary="pictures are not drawn; noted", raw=True, group="refused")
def pictures(session: Session, call: Call) -> None:
    """Note that a picture is not drawn."""
    session.note(f"(pictures are not drawn by the runner: {call.name})")
    reason = "pictures are not drawn; use histogram, which shows classes of enough cases"
    check = Check(rule="picture", verdict=Verdict.review, reason=reason)
    session.remember(SafeResult(command=call.name, shown="", checks=[check]))
