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
from discreet.tables import Contributions, Dimension


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
    """A table with contributions made straight from the records, without the tabulation's.

    Values, record keys (column "record_key") and weights have to be whole numbers.
    """

    def make(
        records: pl.DataFrame,
        by: Sequence[str | Classification],
        values: Sequence[str],
        k: int = 1,
        weight: str | None = None,
    ) -> Table:
        table = tabulate(records, by, record_key="record_key", weight=weight)
        places = [f"at{number}" for number in range(len(by))]
        spread = records
        for dimension, place in zip(table.dimensions, places, strict=True):
            spread = spread.join(_ancestors(dimension, place), on=dimension.name)
        cells = pl.DataFrame(dict(zip(places, table.index, strict=True)))
        made = {value: _contributions(spread, cells, places, value, k, weight) for value in values}
        return replace(table, contributions=made)

    return make


def _ancestors(dimension: Dimension, place: str) -> pl.DataFrame:
    """Each code of the records with the positions of all the codes it counts for."""
    pairs = []
    for position, code in enumerate(dimension.codes):
        at = position
        while at >= 0:
            pairs.append((code, at))
            at = int(dimension.parents[at])
    schema = {dimension.name: pl.String, place: pl.Int32}
    return pl.DataFrame(pairs, schema=schema, orient="row")


def _contributions(
    spread: pl.DataFrame,
    cells: pl.DataFrame,
    places: list[str],
    value: str,
    k: int,
    weight: str | None,
) -> Contributions:
    v, w, key = pl.col("v"), pl.col("w"), pl.col("record_key")
    w_of = pl.lit(1) if weight is None else pl.col(weight)
    nonzero = v != 0
    grouped = (
        spread.with_columns(v=pl.col(value), w=w_of)
        .drop_nulls("v")
        .sort(v.abs(), w, v, descending=True)
        .group_by(places, maintain_order=True)
        .agg(
            n=pl.len(),
            nonzero=nonzero.sum(),
            key=key.sum() % 10**15,
            nonzero_key=key.filter(nonzero).sum() % 10**15,
            weight=w.sum(),
            total=(v * w).sum(),
            plain=v.sum(),
            absolute=(v.abs() * w).sum(),
            low=v.min(),
            high=v.max(),
            top=v.head(k),
            top_weight=w.head(k),
        )
    )
    found = cells.join(grouped, on=places, how="left", maintain_order="left")

    def column(name: str, dtype: type = np.float64) -> np.ndarray:
        return found[name].fill_null(0).to_numpy().astype(dtype)

    def padded(name: str) -> np.ndarray:
        rows = [list(row or []) for row in found[name].to_list()]
        return np.array([row + [np.nan] * (k - len(row)) for row in rows], dtype=np.float64)

    return Contributions(
        column=value,
        top=padded("top"),
        top_weight=None if weight is None else padded("top_weight"),
        count=column("n", np.int64),
        nonzero=column("nonzero", np.int64),
        key=column("key", np.int64),
        nonzero_key=column("nonzero_key", np.int64),
        weight=None if weight is None else column("weight"),
        total=column("total"),
        plain=column("plain"),
        absolute=column("absolute"),
        low=found["low"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        high=found["high"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
    )
