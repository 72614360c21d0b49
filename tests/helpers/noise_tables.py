"""A small perturbation table, tables for it, and the cells of other tools to compare with."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from discreet import Classification, PerturbationTable, Table, tabulate
from discreet.keygrid import KeyGrid, grid_keys

_QUARTERS = {-1: 0.25, 0: 0.5, 1: 0.25}
#: Noise −1, 0, +1 with probabilities ¼, ½, ¼ from count 1 on.
ptable = PerturbationTable.from_rows({0: {0: 1}, 1: _QUARTERS, 2: _QUARTERS}, name="quarters")


def keyed(
    records: pl.DataFrame, column: str = "record_key", digits: int | None = None
) -> pl.DataFrame:
    """Take decimal record keys of a text frame to the 10^15 grid, as column "record_key".

    Where a tool wrote doubles with 17 digits, `digits` says how many the keys have.
    """
    stated = records[column]
    if digits is not None:
        stated = stated.cast(pl.Float64).round(digits)
    return records.with_columns(record_key=grid_keys(stated, KeyGrid(), column=column))


def noisy_cells(table: Table, perturbation: PerturbationTable) -> pl.DataFrame:
    """The cells of a confidential table with their noise."""
    assert table.cell_key is not None
    assert table.grid is not None
    noise = perturbation.lookup(table.count, table.cell_key, table.grid)
    return table.to_polars().with_columns(noise=noise)


def single_cells(count: Sequence[int], key: Sequence[object]) -> Table:
    """A table of single cells c0, c1, … with the counts and cell keys given."""
    names = [f"c{at}" for at in range(len(count))]
    cells = pl.DataFrame({"cell": names, "n": np.array(count), "key": pl.Series(list(key))})
    return Table.from_cells(cells, by=["cell"], count="n", cell_key="key")


def magnitude_table(
    records: pl.DataFrame,
    by: Sequence[str | Classification],
    values: Sequence[str],
    k: int = 1,
    weight: str | None = None,
) -> Table:
    """A table with the largest contributions to values, by keys in the column "record_key"."""
    options: dict[str, Any] = {"record_key": "record_key", "contributions": k, "weight": weight}
    return replace(tabulate(records, by, values=list(values), **options), sums={})
