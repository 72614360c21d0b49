"""`display`: texts and numbers, but no single values of the data.

In: a call. Out: its text in the log, or a note that it is withheld.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.output_checking.running.displaying import displayed
from discreet.output_checking.running.registry import command

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session


@command("display", summary="show texts and numbers", raw=True, group="output")
def display(session: Session, call: Call) -> None:
    """`display [directive] …`; what rests on single values of the data is withheld."""
    text = displayed(session, call.text)
    if session.trace.touched:
        session.withhold("display", "single-value", "it rests on single values of the data")
    else:
        session.write(text)
