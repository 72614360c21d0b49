"""`egen`: variables from whole groups and across variables.

In: a call. Out: a new variable. Groups are those of `by` or `by()`; missing values are left
out as each function asks for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.dataset import Variable
from discreet.output_checking.running.depending import rows_hang_on_few
from discreet.output_checking.running.egen_groups import GROUP_FUNCTIONS
from discreet.output_checking.running.egen_rows import ROW_FUNCTIONS
from discreet.output_checking.running.egen_work import Work, codes_of
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.reporting import missing_made
from discreet.output_checking.running.selecting import selected
from discreet.output_checking.running.spreading import hands_over
from discreet.output_checking.running.values import MISSING, limited

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session

__all__ = ["EGEN_OPTIONS", "FUNCTIONS", "NO_GROUPS"]

_HEAD = re.compile(r"(?:(?P<type>byte|int|long|float|double|str\d*)\s+)?(?P<name>\S+)\Z")
FUNCTIONS = {**GROUP_FUNCTIONS, **ROW_FUNCTIONS}
_CALLED = re.compile(r"(?P<function>\w+)\s*\((?P<inside>.*)\)\s*\Z", re.DOTALL)


@command(
    "egen",
    summary="variables from groups and across variables",
    by=True,
    expression=True,
    options="by() Missing Punct() p() at() icodes Values() Label field track "
    "unique From() To() Block() mean() std() sd() prop minmode maxmode group() strok",
)
def egen(session: Session, call: Call) -> None:
    """`egen [type] name = function(…) [if] [in] [, by() …]`."""
    found, called = _HEAD.match(call.head), _CALLED.match(call.expression or "")
    if not found or not called:
        raise DoError("invalid syntax of egen", code=198)
    name, kind = found["name"], found["type"]
    session.data.check_new(name)
    function = FUNCTIONS.get(called["function"])
    if function is None:
        raise UnsupportedError(f"egen function {called['function']}()")
    _check_options(called["function"], call)
    mask = selected(session, call)
    group, groups = _groups(session, call)
    work = Work(session, called["inside"].strip(), mask, group, groups, call, name)
    session.trace.few = session.trace.rest = False
    if called["function"] in ("seq", "tag") or call.has("unique"):
        session.trace.ordered()
    result, default = function(work)
    session.trace.touch(session.trace.few or session.trace.rest)
    if called["function"] in ROW_FUNCTIONS and not isinstance(result, Variable):
        session.trace.touch(rows_hang_on_few(session, work, function, result))
    if hands_over(called["function"], work):
        session.trace.touched = True
    if isinstance(result, Variable):
        session.data.put(name, result)
        session.derive(name, ())
        return
    numbers = np.where(mask, result, MISSING)
    kept = kind or (session.settings.get("type", "float") if default == "float" else default)
    variable = Variable(limited(numbers, kept), kept)
    session.data.put(name, variable)
    session.derive(name, ())
    missing_made(session, variable.values >= MISSING)


#: Options of each function, where it has any.
EGEN_OPTIONS = {
    "anycount": {"values"}, "anymatch": {"values"}, "anyvalue": {"values"}, "concat": {"punct"},
    "cut": {"at", "group", "icodes", "label"}, "group": {"missing", "label"}, "tag": {"missing"},
    "mode": {"minmode", "maxmode"}, "pc": {"prop"}, "pctile": {"p"}, "rowpctile": {"p"},
    "rank": {"field", "track", "unique"}, "rownonmiss": {"strok"}, "rowtotal": {"missing"},
    "seq": {"from", "to", "block"}, "std": {"mean", "std", "sd"}, "total": {"missing"},
    "sum": {"missing"},
}  # fmt: skip
#: Functions that look at one observation, or make groups of their own.
NO_GROUPS = frozenset(ROW_FUNCTIONS) | {"cut", "group", "tag"}


def _check_options(function: str, call: Call) -> None:
    """Stop at an option that the function does not have."""
    if function == "concat" and "p" in call.options:
        call.options["punct"] = call.options.pop("p")
    for option in call.options:
        if option != "by" and option not in EGEN_OPTIONS.get(function, ()):
            raise UnsupportedError(f"option {option} of egen {function}()")
    if function in NO_GROUPS and (call.by or call.has("by")):
        raise DoError(f"egen {function}() may not be combined with by", code=190)
    if len(call.options.keys() & {"field", "track", "unique"}) > 1:
        raise DoError("give one of field, track and unique", code=198)


def _groups(session: Session, call: Call) -> tuple[Any, int]:
    """The group of each observation: of the prefix, or of the option by()."""
    data = session.data
    option = call.argument("by")
    if option is not None and call.by:
        raise DoError("by and by() may not be combined", code=190)
    names = list(call.by) or (data.listed(option) if option else [])
    session.trace.touch(not session.trace.variables.isdisjoint(names))
    return codes_of(session, names)
