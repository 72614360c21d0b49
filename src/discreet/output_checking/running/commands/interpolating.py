"""`ipolate`: values between known ones.

In: a call. Out: a variable that lies on straight lines between the known values. CONFIDENTIAL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.dataset import Variable
from discreet.output_checking.running.egen_work import codes_of
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.reporting import missing_made
from discreet.output_checking.running.selecting import selected
from discreet.output_checking.running.values import MISSING, Floats, limited

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session


@command("ipolate", summary="values on straight lines between known ones", by=True,
         options="Generate() by() Epolate")  # fmt: skip
def interpolate(session: Session, call: Call) -> None:
    """`ipolate y x [if] [in], generate(name) [epolate by(varlist)]`."""
    data = session.data
    names = data.listed(call.head)
    if len(names) != 2 or any(data.variables[name].is_text for name in names):
        raise DoError("invalid syntax of ipolate", code=198)
    name = (call.argument("generate") or "").strip()
    data.check_new(name)
    y, x = (np.asarray(data.variables[one].values, dtype=np.float64) for one in names)
    mask = selected(session, call) & (x < MISSING)
    codes, count = codes_of(session, list(call.by) or data.listed(call.argument("by") or ""))
    result = np.full(data.rows, MISSING)
    for group in range(count):
        rows = np.flatnonzero(mask & (codes == group))
        result[rows] = _on_lines(y[rows], x[rows], beyond=call.has("epolate"))
    data.put(name, Variable(limited(result, "float"), "float"))
    session.derive(name, names)
    missing_made(session, result >= MISSING)


def _on_lines(y: Floats, x: Floats, *, beyond: bool) -> Any:
    known = y < MISSING
    places, at = np.unique(x[known], return_inverse=True)
    if len(places) < 2:
        return y
    heights = np.bincount(at, y[known]) / np.bincount(at)
    found = np.interp(x, places, heights, left=MISSING, right=MISSING)
    if beyond:
        for outside, one, other in ((x < places[0], 0, 1), (x > places[-1], -1, -2)):
            slope = (heights[other] - heights[one]) / (places[other] - places[one])
            found = np.where(outside, heights[one] + slope * (x - places[one]), found)
    return np.where(known, y, found)
