"""The sign of a balance with a figure that is printed as zero: docs/methods/key-figures.md."""

import polars as pl

from discreet import PerturbationTable, Table
from discreet.derived import balance
from discreet.protection.noise import count_ingredient
from discreet.tables.ingredient import Ingredient

#: Two becomes none or four; nothing else changes.
NOISE = PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}, 2: {-2: 0.5, 2: 0.5}, 3: {0: 1}})


def counted(number: int) -> Ingredient:
    cells = pl.DataFrame({"cell": ["x"], "n": [number], "key": [10]})
    table = Table.from_cells(cells, by=["cell"], count="n", cell_key="key")
    return count_ingredient(table, NOISE)


def test_a_figure_printed_as_zero_counts_as_an_original_zero() -> None:
    """2 printed as 0, and 1: by the original signs this were a 0 that no original zero gives."""
    changed, other = counted(2), counted(1)
    assert changed.protected.get("x") == 0
    assert balance(changed, other, bracket_above=None).get("x") == -1
    assert balance(counted(0), other, bracket_above=None).get("x") == -1
    assert balance(other, changed, bracket_above=None).get("x") == 1
