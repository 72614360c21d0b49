"""Functions of `egen` across the variables of one observation. CONFIDENTIAL.

In: chosen observations. Out: one number or text per observation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.output_checking.running.blocks import numbers_of
from discreet.output_checking.running.combining import missing_values
from discreet.output_checking.running.dataset import Variable
from discreet.output_checking.running.egen_work import Result, Work, percent_of
from discreet.output_checking.running.errors import DoError
from discreet.output_checking.running.formats import shown_default
from discreet.output_checking.running.statistics import percentile
from discreet.output_checking.running.values import MISSING

__all__ = ["ROW_FUNCTIONS"]


def _across(reduce: Callable[[Any, Any], Any]) -> Callable[[Work], Result]:
    """A function across variables of one observation: of values and whether each is known."""

    def work(given: Work) -> Result:
        table = np.column_stack(given.columns())
        known = table < MISSING
        with np.errstate(all="ignore"):
            return reduce(np.where(known, table, 0.0), known), "float"

    return work


def _row_extreme(choose: Any, nothing: float) -> Callable[[Any, Any], Any]:
    def reduce(table: Any, known: Any) -> Any:
        best = choose(np.where(known, table, nothing), axis=1)
        return np.where(known.any(axis=1), best, MISSING)

    return reduce


def _row_mean(table: Any, known: Any) -> Any:
    number = known.sum(axis=1)
    return np.where(number > 0, table.sum(axis=1) / np.maximum(number, 1), MISSING)


def _row_deviation(table: Any, known: Any) -> Any:
    number = known.sum(axis=1)
    mean = table.sum(axis=1) / np.maximum(number, 1)
    squares = np.where(known, (table - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return np.where(number > 1, np.sqrt(squares / np.maximum(number - 1, 1)), MISSING)


def _row_total(given: Work) -> Result:
    table = np.column_stack(given.columns())
    known = table < MISSING
    total = np.where(known, table, 0.0).sum(axis=1)
    if given.call.has("missing"):
        total = np.where(known.any(axis=1), total, MISSING)
    return total, "float"


def _concat(given: Work) -> Result:
    """Values one after the other; numbers as `string()` writes them."""
    data, sign = given.session.data, (given.call.argument("punct") or "").strip('"')
    columns = [data.variables[name] for name in given.names()]
    texts = np.empty(data.rows, dtype=object)
    texts[:] = [
        sign.join(one if isinstance(one, str) else shown_default(float(one), 9) for one in row)
        for row in zip(*(column.values for column in columns), strict=True)
    ]
    texts[~given.mask] = ""
    width = max((len(one.encode()) for one in texts), default=1)
    return Variable(texts, f"str{max(width, 1)}"), ""


def _any_count(given: Work) -> Result:
    wanted = np.array(numbers_of(given.call.argument("values") or ""))
    table = np.column_stack(given.columns())
    return np.isin(table, wanted).sum(axis=1).astype(np.float64), "byte"


def _row_known(given: Work) -> Result:
    """How many variables are known; texts count too with the option strok."""
    known = _known_cells(given)
    return known.sum(axis=1).astype(np.float64), "float"


def _row_missing(given: Work) -> Result:
    return (~_known_cells(given, texts=True)).sum(axis=1).astype(np.float64), "float"


def _known_cells(given: Work, *, texts: bool = False) -> Any:
    variables = [given.session.data.variables[name] for name in given.names()]
    if not variables:
        raise DoError("varlist required", code=100)
    texts = texts or given.call.has("strok")
    if any(one.is_text for one in variables) and not texts:
        raise DoError("type mismatch", code=109)
    return np.column_stack([~missing_values(one) for one in variables])


def _any_match(given: Work) -> Result:
    count, kind = _any_count(given)
    return (count > 0).astype(np.float64), kind


def _any_value(given: Work) -> Result:
    """Values of a variable that are in a list; others are missing."""
    wanted = np.array(numbers_of(given.call.argument("values") or ""))
    values = given.values()
    return np.where(np.isin(values, wanted), values, MISSING), "float"


def _differ(given: Work) -> Result:
    """1 where the variables are not all equal."""
    data = given.session.data
    columns = [data.variables[name].values for name in given.names()]
    different = np.zeros(data.rows, dtype=np.bool_)
    for one in columns[1:]:
        different |= np.asarray(one != columns[0], dtype=np.bool_)
    return different.astype(np.float64), "byte"


def _row_percentile(share: float | None) -> Callable[[Work], Result]:
    def work(given: Work) -> Result:
        wanted = percent_of(given) if share is None else share
        table = np.column_stack(given.columns())
        found = [percentile(row[row < MISSING], wanted) for row in table]
        return np.array(found, dtype=np.float64), "float"

    return work


def _row_end(*, last: bool) -> Callable[[Any, Any], Any]:
    def reduce(table: Any, known: Any) -> Any:
        place = known[:, ::-1].argmax(axis=1) if last else known.argmax(axis=1)
        place = known.shape[1] - 1 - place if last else place
        return np.where(known.any(axis=1), table[np.arange(len(table)), place], MISSING)

    return reduce


ROW_FUNCTIONS: dict[str, Callable[[Work], Result]] = {
    "rowmean": _across(_row_mean),
    "rowsd": _across(_row_deviation),
    "rowmin": _across(_row_extreme(np.min, np.inf)),
    "rowmax": _across(_row_extreme(np.max, -np.inf)),
    "rowmedian": _row_percentile(0.5),
    "rowpctile": _row_percentile(None),
    "rowfirst": _across(_row_end(last=False)),
    "rowlast": _across(_row_end(last=True)),
    "rownonmiss": _row_known,
    "rowmiss": _row_missing,
    "rowtotal": _row_total,
    "concat": _concat,
    "diff": _differ,
    "anycount": _any_count,
    "anymatch": _any_match,
    "anyvalue": _any_value,
}
