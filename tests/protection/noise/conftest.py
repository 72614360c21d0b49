"""Small perturbation tables and ways to read the published results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet import Classification, PerturbationTable, Table, tabulate
from discreet.keygrid import KeyGrid, grid_keys


@pytest.fixture
def ptable() -> PerturbationTable:
    """Noise −1, 0, +1 with probabilities ¼, ½, ¼ from count 1 on."""
    noise = {-1: 0.25, 0: 0.5, 1: 0.25}
    return PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: noise}, name="quarters")


@pytest.fixture
def keyed() -> Callable[..., pl.DataFrame]:
    """Take decimal record keys of a text frame to the 10^15 grid, as column "record_key".

    Where a tool wrote doubles with 17 digits, `digits` says how many the keys have.
    """

    def take(
        records: pl.DataFrame, column: str = "record_key", digits: int | None = None
    ) -> pl.DataFrame:
        stated = records[column]
        if digits is not None:
            stated = stated.cast(pl.Float64).round(digits)
        keys = grid_keys(stated, KeyGrid(), column=column)
        return records.with_columns(record_key=keys)

    return take


@pytest.fixture
def cells_of() -> Callable[..., pl.DataFrame]:
    """The cells of a confidential table with their noise, for comparison with other tools."""

    def list_cells(table: Table, ptable: PerturbationTable) -> pl.DataFrame:
        assert table.cell_key is not None
        assert table.grid is not None
        noise = ptable.lookup(table.count, table.cell_key, table.grid)
        return table.to_polars().with_columns(noise=noise)

    return list_cells


@pytest.fixture
def levels_tree() -> Callable[[Path, str], Classification]:
    """Read a tree given as rows of (level as @, @@, …; code)."""

    def read(path: Path, name: str) -> Classification:
        lines = pl.read_csv(path, infer_schema=False)
        codes: list[str] = []
        parents: list[int] = []
        above: dict[int, int] = {}
        for at, (marks, code) in enumerate(lines.select("level", "name").iter_rows()):
            level = len(marks)
            codes.append(code)
            parents.append(above.get(level - 1, -1))
            above[level] = at
        return Classification(name=name, codes=tuple(codes), parents=tuple(parents))

    return read


@pytest.fixture
def one_cell() -> Callable[..., Table]:
    """A table of single cells c0, c1, … with the counts and cell keys given."""

    def make(count: Sequence[int], key: Sequence[object], **options: object) -> Table:
        cells = pl.DataFrame(
            {
                "cell": [f"c{at}" for at in range(len(count))],
                "n": np.array(count, dtype=np.int64),
                "key": pl.Series(list(key)),
            }
        )
        return Table.from_cells(cells, by=["cell"], count="n", cell_key="key", **options)  # type: ignore[arg-type]

    return make


@pytest.fixture
def magnitude_table() -> Callable[..., Table]:
    """A table with the largest contributions to values, by keys in the column "record_key"."""

    def make(
        records: pl.DataFrame,
        by: Sequence[str | Classification],
        values: Sequence[str],
        k: int = 1,
        weight: str | None = None,
    ) -> Table:
        options = {"record_key": "record_key", "weight": weight, "contributions": k}
        return replace(tabulate(records, by, values=list(values), **options), sums={})  # type: ignore[arg-type]

    return make
