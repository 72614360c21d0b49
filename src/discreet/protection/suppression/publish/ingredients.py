"""Means and ratios of values with hidden cells, through what they are made of. Public.

In: a `ProtectedTable` with hidden cells. Out: its figures as ingredients of key figures. What
is worked out from what is shown tells nothing more; where an ingredient is hidden, so is every
figure made of it, for else the others would give the hidden one away.
"""

from __future__ import annotations

import numpy as np

from discreet.protection.suppression.publish.protected_tables import figure_of
from discreet.tables import CellStatus, Ingredient, ProtectedTable


def ingredient_of(table: ProtectedTable, figure: int | str = 0) -> Ingredient:
    """A figure of a table with hidden cells, as `discreet.derive` takes it.

    Args:
        table: The table as it is published: nothing else enters key figures.
        figure: The number of the figure, or its name.

    >>> import polars as pl
    >>> from discreet import KeyFigure, derive, primary, rules, suppress, tabulate
    >>> firms = pl.DataFrame({"branch": [*"aaabbbccc"], "sales": [3, 5, 7, 9, 9, 9, 1, 1, 40]})
    >>> found = tabulate(firms, ["branch"], values=["sales"], contributions=2)
    >>> judged = [primary(found, [rules.PPercent(15)], value=v) for v in ("sales",)]
    >>> judged += [primary(found, [rules.NothingSensitive()])]
    >>> safe = suppress(found, judged, method="fast")
    >>> parts = {name: ingredient_of(safe, name) for name in ("sales", "count")}
    >>> mean = KeyFigure(name="mean", kind="mean", part="sales", whole="count")
    >>> shown = derive(parts, [mean], bracket_above=None)
    >>> [shown.get(code) for code in ("Total", "b", "c")]
    [9.33, 9.0, None]
    """
    own = figure_of(table, figure)
    hidden = own.status == CellStatus.suppressed
    value = np.where(hidden, 0, own.value).astype(np.float64)
    return Ingredient(
        protected=own,
        index=own.index,
        value=value,
        original=value,
        deviation=np.zeros(len(value)),
        suppressed=hidden,
    )
