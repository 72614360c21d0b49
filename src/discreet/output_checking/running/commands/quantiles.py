"""`xtile`, `pctile` and `_pctile`: classes by percentiles, and the percentiles as data.

In: calls. Out: new variables, or r(r1), r(r2), … for the program's own use. Percentiles are
single values of the data: what holds them is never shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.output_checking.running.blocks import numbers_of
from discreet.output_checking.running.dataset import Variable
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.evaluating import evaluate, is_text, whole_column
from discreet.output_checking.running.registry import command
from discreet.output_checking.running.selecting import selected, weights_of
from discreet.output_checking.running.statistics import percentile
from discreet.output_checking.running.values import MISSING, WHOLE, Floats, limited, smallest_type

if TYPE_CHECKING:
    from discreet.output_checking.running.calls import Call
    from discreet.output_checking.running.session import Session


#: So many classes are made at most.
_PARTS = 10_000


def _known(session: Session, call: Call, expression: str) -> tuple[Any, Any, Any]:
    """All values, which of them count, and the weights."""
    mask = selected(session, call)
    weights = weights_of(session, call, mask, default="aweight")
    value = evaluate(expression, session.scope())
    if is_text(value):
        raise DoError("type mismatch", code=109)
    values = np.asarray(whole_column(value, session.data.rows), dtype=np.float64)
    return values, mask & (values < MISSING), weights


def _shares(call: Call) -> list[float]:
    given = call.argument("percentiles")
    if given is not None:
        percents = numbers_of(given)
        if not percents or not all(0 < one < 100 for one in percents):
            raise DoError("percentiles() are between 0 and 100", code=198)
        return [percent / 100 for percent in percents]
    parts = call.whole("nquantiles", 2)
    if not 2 <= parts <= _PARTS:
        raise DoError(f"nquantiles() is from 2 to {_PARTS}", code=198)
    return [at / parts for at in range(1, parts)]


def _cuts(values: Floats, weights: Floats | None, shares: list[float]) -> Floats:
    return np.array([percentile(values, share, weights) for share in shares])


@command("xtile", summary="classes by percentiles", expression=True,
         options="Nquantiles() Cutpoints()", weights="fweight aweight pweight")  # fmt: skip
def xtile(session: Session, call: Call) -> None:
    """`xtile new = exp [if] [in] [weight] [, nquantiles(#) cutpoints(variable)]`."""
    name = call.head.strip()
    session.data.check_new(name)
    values, known, weights = _known(session, call, call.expression or "")
    cutpoints = call.argument("cutpoints")
    if cutpoints is not None:
        given = session.data.full(cutpoints.strip())
        if session.data.variables[given].is_text:
            raise DoError("type mismatch", code=109)
        session.trace.touch(session.trace.rests([given]))
        column = np.asarray(session.data.variables[given].values, dtype=np.float64)
        cuts = np.sort(column[column < MISSING])
    else:
        chosen = None if weights is None else weights[known]
        cuts = _cuts(values[known], chosen, _shares(call))
    place = np.searchsorted(cuts, values, side="left") + 1.0
    result = np.where(known, place, MISSING)
    kind = smallest_type(result)
    session.data.put(name, Variable(result, kind))
    if session.trace.touched:
        session.trace.variables.add(name)


@command("pctile", summary="percentiles as a variable", expression=True,
         options="Nquantiles() Genp()", weights="fweight aweight pweight")  # fmt: skip
def pctile(session: Session, call: Call) -> None:
    """`pctile [type] new = exp [if] [in] [weight] [, nquantiles(#) genp(name)]`."""
    *kind, name = call.head.split() or [""]
    if kind not in ([], *([one] for one in (*WHOLE, "float", "double"))):
        raise DoError("invalid syntax of pctile", code=198)
    session.data.check_new(name)
    values, known, weights = _known(session, call, call.expression or "")
    shares = _shares(call)
    if len(shares) > session.data.rows:
        raise DoError("nquantiles() is larger than the number of observations", code=198)
    cuts = _cuts(values[known], None if weights is None else weights[known], shares)
    session.store("r", {f"r{at}": float(cut) for at, cut in enumerate(cuts, 1)})
    stored = kind[0] if kind else "float"
    _put(session, name, cuts, stored)
    session.trace.variables.add(name)
    shown = (call.argument("genp") or "").strip()
    if shown:
        session.data.check_new(shown)
        _put(session, shown, np.array(shares) * 100, "float")


def _put(session: Session, name: str, numbers: Floats, kind: str) -> None:
    column = np.full(session.data.rows, MISSING)
    column[: len(numbers)] = numbers
    session.data.put(name, Variable(limited(column, kind), kind))


@command("_pctile", summary="percentiles for the program's own use",
         options="Nquantiles() Percentiles()", weights="fweight aweight pweight")  # fmt: skip
def stored_percentiles(session: Session, call: Call) -> None:
    """`_pctile x [if] [in] [weight], percentiles(numlist)|nquantiles(#)`."""
    values, known, weights = _known(session, call, call.head)
    chosen = None if weights is None else weights[known]
    cuts = _cuts(values[known], chosen, _shares(call))
    session.store("r", {f"r{at}": float(cut) for at, cut in enumerate(cuts, 1)})
