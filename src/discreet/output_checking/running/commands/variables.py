"""`generate` and `replace`: new variables and new values.

In: a call. Out: variables of the session changed; the counts that Stata prints are given as
safe results, small ones withheld.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from discreet.output_checking.running.dataset import Variable
from discreet.output_checking.running.depending import hangs_on_few
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.evaluating import evaluate, is_text, whole_column
from discreet.output_checking.running.isolating import few, trimmed
from discreet.output_checking.running.reading import text_kind
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.reporting import changed, missing_made
from discreet.output_checking.running.selecting import selected
from discreet.output_checking.running.values import MISSING, WHOLE, limited, stored, text_width

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.scope import Scope, Value
    from discreet.output_checking.running.session import Session
    from discreet.output_checking.running.values import Mask

_TYPED = re.compile(
    r"(?:(?P<type>byte|int|long|float|double|str\d*|strL)\s+)?(?P<name>[^\s:]+)(?::(?P<label>\w+))?\Z"
)


@command("generate", summary="make a variable", by=True, expression=True,
         options="Before() After()")  # fmt: skip
def generate(session: Session, call: Call) -> None:
    """`generate [type] name[:label] = exp [if] [in]`."""
    found = _TYPED.match(call.head)
    if not found or call.expression is None:
        raise DoError("invalid syntax of generate", code=198)
    name, kind = found["name"], found["type"]
    session.data.check_new(name)
    scope = session.scope(call.groups)
    mask = selected(session, call, scope)
    session.trace.touch(session.trace.few)
    session.trace.few = session.trace.rest = False
    scope.names.columns.clear()
    value = evaluate(call.expression, scope)
    session.trace.touch(hangs_on_few(session, call.expression, scope, value, mask))
    told_apart(session, mask)
    if scope.names.used:
        session.trace.own.discard(name)
    else:
        session.trace.own.add(name)
    if is_text(value) != (kind or "").startswith("str") and (kind or is_text(value)):
        if kind:
            raise DoError("type mismatch", code=109)
        kind = ""
    default = "" if is_text(value) else session.settings.get("type")
    variable = _made(value, kind or default, mask, session.data.rows)
    touched = session.trace.touched
    session.data.put(
        name, Variable(variable.values, variable.kind, value_label=found["label"] or "")
    )
    if touched:
        session.trace.variables.add(name)
    else:
        session.trace.variables.discard(name)
    _place(session, call, name)
    if not variable.is_text:
        missing_made(session, variable.values >= MISSING)


def told_apart(session: Session, mask: Mask) -> None:
    """Note that a new variable has other values for a few than for the others."""
    trace = session.trace
    trace.touch(trace.few or trace.rest or few(session, mask))


def _made(value: Value, kind: str | None, mask: Mask, rows: int) -> Variable:
    column = whole_column(value, rows)
    if is_text(value):
        texts = np.where(mask, column, "").astype(object)
        width = text_width(kind) if kind and kind != "str" else None
        if width is not None and kind != "strL":
            texts[:] = [one.encode()[:width].decode("utf-8", "ignore") for one in texts]
        return Variable(texts, kind if kind and kind != "str" else text_kind(texts))
    kept = kind or "float"
    numbers = np.where(mask, np.asarray(column, dtype=np.float64), MISSING)
    return Variable(limited(numbers, kept), kept)


def _place(session: Session, call: Call, name: str) -> None:
    """Options before() and after()."""
    for option in ("before", "after"):
        other = call.argument(option)
        if other is None:
            continue
        names = [one for one in session.data.variables if one != name]
        at = names.index(session.data.full(other.strip())) + (option == "after")
        names.insert(at, name)
        session.data.variables = {one: session.data.variables[one] for one in names}


@command("replace", summary="change values of a variable", by=True, expression=True,
         options="nopromote")  # fmt: skip
def replace(session: Session, call: Call) -> None:
    """`replace name = exp [if] [in]`; earlier observations are changed before later ones."""
    if call.expression is None:
        raise DoError("invalid syntax of replace", code=198)
    name = session.data.full(call.head.strip())
    old = session.data.variables[name]
    scope = session.scope(call.groups)
    mask = selected(session, call, scope)
    isolated = session.trace.few or few(session, mask) or few(session, ~mask)
    session.trace.few = session.trace.rest = False
    scope.names.used = False
    scope.names.columns.clear()
    value = _settled(call.expression, scope, name, old, mask)
    varying = isinstance(value, np.ndarray) or name in session.trace.own
    session.trace.touch((varying and isolated) or few(session, ~mask & (old.values != value)))
    if isolated:
        trimmed(session, call.condition, mask)
    session.trace.touch(hangs_on_few(session, call.expression, scope, value, mask))
    session.trace.touch(session.trace.few or session.trace.rest)
    if scope.names.used and not few(session, mask):
        session.trace.own.discard(name)
    if is_text(value) != old.is_text:
        raise DoError("type mismatch", code=109)
    column = whole_column(value, session.data.rows)
    touched = session.trace.touched
    if old.is_text:
        texts = np.where(mask, column, old.values).astype(object)
        longer = max((len(one.encode()) for one in texts), default=1)
        width = text_width(old.kind) or 1
        fresh = Variable(texts, old.kind if longer <= width else text_kind(texts))
    else:
        numbers = np.where(mask, np.asarray(column, dtype=np.float64), old.values)
        default = session.settings.get("type", "float")
        fresh = _kept(numbers, old, default, promote=not call.has("nopromote"))
    count = np.asarray(fresh.values != old.values, dtype=np.bool_)
    to_missing = np.zeros(session.data.rows, dtype=np.bool_)
    if not old.is_text:
        before = np.asarray(old.values, dtype=np.float64)
        to_missing = (fresh.values >= MISSING) & (before < MISSING)
    session.data.put(
        name, Variable(fresh.values, fresh.kind, old.layout, old.label, old.value_label)
    )
    if touched:
        session.trace.variables.add(name)
    changed(session, count, to_missing)


def _kept(numbers: object, old: Variable, default: str, *, promote: bool) -> Variable:
    values = np.asarray(numbers, dtype=np.float64)
    if promote or old.kind not in WHOLE:
        kept, kind = stored(values, old.kind, default)
        return Variable(kept, kind)
    return Variable(limited(values, old.kind), old.kind)


def _settled(expression: str, scope: Scope, name: str, old: Variable, mask: Mask) -> Value:
    """The value of an expression that may refer to values it has just changed itself.

    Where it does, it is worked out again until nothing changes: after k rounds the first k
    observations are final.
    """
    scope.sequential, scope.renewed = name, old.values
    value = evaluate(expression, scope)
    if not re.search(rf"\b{re.escape(name)}\s*\[", expression):
        return value
    while True:
        column = whole_column(value, scope.rows)
        renewed = np.where(mask, column, old.values)
        if old.is_text:
            renewed = renewed.astype(object)
        if np.array_equal(renewed, scope.renewed):
            return value
        scope.renewed = renewed
        value = evaluate(expression, scope)
