"""`count_ingredient`: a protected count with what key figures need to know. CONFIDENTIAL.

In: a confidential `Table` and a secret perturbation table, as for `perturb`. Out: an
`Ingredient`, of which only `.protected` may be published.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.errors import PerturbationError
from discreet.perturbation.counts import protect_counts
from discreet.perturbation.deviations import count_deviations
from discreet.perturbation.ingredient import Ingredient
from discreet.perturbation.table import PerturbationTable
from discreet.tables import Table

__all__ = ["count_ingredient"]


def count_ingredient(table: Table, ptable: PerturbationTable, **options: Any) -> Ingredient:
    """Protect counts as `perturb` does, and keep what key figures need (confidential).

    Args:
        table: The table, with cell keys.
        ptable: The perturbation table.
        options: Those of `perturb`, but for `found_codes`: codes without a figure can
            be left out of what is made of the ingredients, not before.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [3, 2, 1], "key": [0.8, 0.7, 0.1]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> count_ingredient(table, ptable).value.tolist()
    [4.0, 2.0, 0.0]
    """
    if options.pop("found_codes", "list") != "list":
        raise PerturbationError(
            "an ingredient keeps all of its codes",
            code="found-codes",
            where=table.name,
            hint="leave found codes out of the finished table",
        )
    made = protect_counts(table, ptable, **options)
    cells = made.cells
    deviation = count_deviations(ptable.content, made.number) * cells.mean_weight()
    fixed = cells.official
    if options.get("zeros", "keep") == "keep":
        fixed = fixed | (cells.count == 0)
    return Ingredient(
        protected=made.protected,
        index=cells.index,
        value=np.where(made.suppressed, 0, made.value).astype(np.float64),
        original=cells.true_value().astype(np.float64),
        deviation=np.where(fixed, 0.0, deviation),
        suppressed=made.suppressed,
    )
