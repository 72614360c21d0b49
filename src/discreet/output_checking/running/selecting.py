"""Which observations a command is about: `if` and `in`.

In: a session and a call. Out: a mask over the observations. CONFIDENTIAL.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from discreet.output_checking.running.depending import hangs_on_few
from discreet.output_checking.running.errors import DoError, UnsupportedError
from discreet.output_checking.running.evaluating import evaluate, is_text, truth, whole_column
from discreet.output_checking.running.failing import failure
from discreet.output_checking.running.isolating import asks_by_function, cases, plain
from discreet.output_checking.running.values import MISSING, Floats, Mask

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.scope import Scope
    from discreet.output_checking.running.session import Session

__all__ = ["selected", "weights_of"]

_PLACE = re.compile(r"(-?\d+|f|l)(?:/(-?\d+|f|l))?\Z", re.IGNORECASE)


def selected(session: Session, call: Call, scope: Scope | None = None) -> Mask:
    """Observations for which `if` holds and that are in the range of `in`.

    Args:
        session: The session.
        call: The call.
        scope: Where the expression of the command is evaluated afterwards: it may refer to
            what a pattern of `if` has matched.
    """
    rows = session.data.rows
    mask = np.ones(rows, dtype=np.bool_)
    if call.condition is not None:
        scope = scope or session.scope(call.groups)
        held = truth(call.condition, scope)
        session.trace.few |= hangs_on_few(session, call.condition, scope, held, held=True)
        mask &= held
        if session.trace.few or _close(session, held):
            session.trace.plain &= plain(session, call.condition)
        if not session.trace.plain and (held.all() or not held.any()):
            session.trace.few |= asks_by_function(call.condition)
    if call.rows is not None:
        if call.groups is not None:
            raise DoError("in may not be combined with by", code=190)
        first, last = _range(call.rows, rows)
        session.trace.plain = False
        session.trace.ordered()
        inside = np.zeros(rows, dtype=np.bool_)
        inside[first - 1 : last] = True
        mask &= inside
    return mask


def _close(session: Session, held: Mask) -> bool:
    """Whether a condition holds for few or nobody, or for all or all but a few."""
    least = session.limits.minimum
    return cases(session, held) < least or cases(session, ~held) < least


def _range(text: str, rows: int) -> tuple[int, int]:
    found = _PLACE.match(text.replace(" ", ""))
    if not found:
        raise DoError("invalid range of observations", code=198)
    places = [_place(part, rows) for part in (found[1], found[2] or found[1])]
    if not (1 <= places[0] <= places[1] <= rows):
        raise DoError("observation numbers out of range", code=198)
    return places[0], places[1]


def _place(text: str, rows: int) -> int:
    if text.lower() == "f":
        return 1
    if text.lower() == "l":
        return rows
    number = int(text)
    return number if number > 0 else rows + number + 1


def weights_of(session: Session, call: Call, mask: Mask, default: str = "") -> Floats | None:
    """The weights of the chosen observations, or None if there are none.

    Missing and zero weights leave an observation out: `mask` is changed.

    Args:
        session: The session.
        call: The call; its weight's kind is settled here where it was left open.
        mask: The chosen observations.
        default: What `[weight=…]` means for the command.
    """
    if call.weight is None:
        return None
    kind = call.weight.kind if call.weight.kind != "weight" else default
    if not kind:
        raise UnsupportedError("[weight=…] without its kind")
    scope = session.scope()
    value = evaluate(call.weight.expression, scope)
    session.trace.touch(hangs_on_few(session, call.weight.expression, scope, value, mask))
    if is_text(value):
        raise DoError("weights must be numeric", code=109)
    weight = np.asarray(whole_column(value, session.data.rows), dtype=np.float64)
    chosen = weight[mask & (weight < MISSING)]
    if kind != "iweight" and chosen.size and chosen.min() < 0:
        wrong = mask & (weight < 0)
        raise failure(session, wrong, "negative weights encountered", code=402)
    if kind == "fweight" and not (chosen == np.trunc(chosen)).all():
        wrong = mask & (weight < MISSING) & (weight != np.trunc(weight))
        raise failure(session, wrong, "may not use noninteger frequency weights", code=401)
    mask &= (weight < MISSING) & (weight != 0)
    return weight
