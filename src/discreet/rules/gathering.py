"""From a table to the evidence that rules look at. CONFIDENTIAL.

In: a confidential `Table`, of records or of holdings. Out: `Evidence`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.rules.evidence import Evidence, FloatArray
from discreet.rules.holdings import aligned
from discreet.rules.places import Places, places_in
from discreet.tables import Contributions, Table

__all__ = ["gather", "gather_holdings"]


def gather(places: Places, *, value: str | None, shadow: str | None, weighted: bool) -> Evidence:
    """The evidence of the records of a table.

    Args:
        places: The cells of the table.
        value: The value column; None for counts.
        shadow: The column that rules look at instead.
        weighted: Whether a record counts as often as its weight says.
    """
    table = places.table
    if value is None:
        if shadow is not None:
            raise SuppressionError(
                "a shadow variable stands in for a value, and no value is named",
                code="rule-value",
                where="shadow",
                hint='name the value column: value="turnover"',
            )
        published = table.count.astype(np.float64) if table.weight is None else table.weight
        return Evidence(places=places, counts=_counts(table, None), published=published)
    for column in (value, shadow):
        if column is not None and column not in table.sums:
            found = ", ".join(table.sums) or "none"
            raise SuppressionError(
                f"the table has no values of {column!r}",
                code="missing-column",
                where=table.name,
                hint=f"columns found: {found}",
            )
    published = table.sums[value]
    contributions = table.contributions.get(shadow or value)
    absolute = None if contributions is None else _absolute(contributions, weighted)
    apart = shadow is not None or (not weighted and table.weight is not None)
    return Evidence(
        places=places,
        counts=_counts(table, contributions),
        published=published,
        absolute=absolute,
        contributions=contributions,
        weighted=weighted,
        scale=_scale(published, absolute) if apart and absolute is not None else None,
        value=value,
    )


def gather_holdings(records: Evidence, holdings: Table, column: str | None) -> Evidence:
    """The evidence of the holdings of the same cells.

    Args:
        records: The evidence of the records.
        holdings: Table made by `count_holdings`.
        column: The value column that rules look at; None for counts.
    """
    table = records.places.table
    if table.weight is not None:
        raise SuppressionError(
            "rules per holding cannot be applied to weighted tables",
            code="holdings",
            where=table.name,
            hint="a weighted record stands for others, whose holdings nobody knows",
        )
    place = places_in(table, holdings, "holdings")
    if bool((place < 0).any()):
        raise SuppressionError(
            "the table of holdings lacks cells that the table has",
            code="other-table",
            where=table.name,
            hint="make both of the same records, classifications and filter",
        )
    found = None if column is None else holdings.contributions.get(column)
    contributions = None if found is None else aligned(found, place)
    counts = {name: count[place] for name, count in _counts(holdings, found).items()}
    absolute = None if contributions is None else contributions.absolute
    scale = None
    if records.scale is not None and absolute is not None:
        scale = _scale(records.published, absolute)
    return replace(
        records,
        counts=counts,
        contributions=contributions,
        absolute=absolute,
        scale=scale,
        per="holding",
        _sums={},
    )


def _counts(table: Table, contributions: Contributions | None) -> dict[str, FloatArray]:
    counts = {"records": table.count.astype(np.float64)}
    if table.weight is not None:
        counts["weights"] = table.weight
    if contributions is not None:
        counts["values"] = contributions.count.astype(np.float64)
        counts["nonzero"] = contributions.nonzero.astype(np.float64)
    return counts


def _absolute(contributions: Contributions, weighted: bool) -> npt.NDArray[np.float64]:
    """Sum of the absolute contributions, with or without weights."""
    if weighted or contributions.top_weight is None:
        return contributions.absolute
    if bool((contributions.low < 0).any()):
        raise SuppressionError(
            "there are negative values, whose absolute sum is known with weights only",
            code="rule-weights",
            where=contributions.column,
            hint="leave weighted=True, or tabulate without weights",
        )
    return contributions.plain


def _scale(published: FloatArray, absolute: FloatArray) -> FloatArray:
    """What one unit of a contribution is worth in the published value."""
    scale = np.zeros(len(published))
    np.divide(np.abs(published), absolute, out=scale, where=absolute > 0)
    return scale
