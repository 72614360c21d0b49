"""How far published totals and the sums of their parts differ."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.assessment.release_quality import QualityLog
from discreet.assessment.release_quality.pairs import PartGrid, total_differences
from discreet.protection.noise import PerturbationTable, perturb
from discreet.publication.examples import census_example
from discreet.tables import (
    CellStatus,
    Dimension,
    Figure,
    ProtectedTable,
    Provenance,
    Table,
    figure_dimension,
    level_numbers,
)

ROW = [0.1, 0.3, 0.7, 0.9, 1.0]
PTABLE = PerturbationTable.from_cumulative(
    [[0, 0, 1, 1, 1], [0, 0.3, 0.7, 1, 1], ROW], noise=range(-2, 3)
)
REGION = dc.Classification.from_parents(
    "region", {"N": None, "N1": "N", "N2": "N", "S": None, "S1": "S", "S2": "S", "S3": "S"}
)


def records(size: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "region": random.choice(REGION.leaves, size),
            "age": random.choice([str(age) for age in range(10)], size),
            "rk": random.integers(0, 10**15, size),
        }
    )


def test_the_published_example_of_sex_by_age() -> None:
    """Row totals 47 56 71 86 109 and 371; columns add to 372 and 369."""
    table = census_example()
    rows = {
        row[0]: row[1:] for row in total_differences(table, PartGrid.of(table.spanning)).tolist()
    }
    names = [dimension.name for dimension in table.dimensions]
    assert rows[names.index("sex")] == [6, 5, 6, 2]
    assert rows[names.index("age")] == [3, 3, 6, 2]


def plain_differences(table: ProtectedTable) -> list[list[int]]:
    """The same by looking at each total, one after another."""
    hidden = table.suppressed_parts
    every = list(itertools.product(*(range(len(d)) for d in table.dimensions)))
    values = {}
    for place in every:
        index = [np.array([at], dtype=np.int32) for at in place]
        values[place] = table.get(
            *(d.codes[at] for d, at in zip(table.dimensions, place, strict=True))
        )
        if table.absent(index, 1)[0] == CellStatus.suppressed:
            assert values[place] is None or not hidden
    rows = []
    for axis, dimension in enumerate(table.dimensions):
        found = []
        for place in every:
            below = [
                (*place[:axis], at, *place[axis + 1 :])
                for at in range(len(dimension))
                if dimension.parents[at] == place[axis]
            ]
            parts = [values[one] for one in below]
            if not below or values[place] is None or None in parts:
                continue
            if values[place] or any(parts):
                found.append(abs(values[place] - sum(parts)))
        rows.append(
            [axis, len(found), sum(d > 0 for d in found), sum(found), max(found, default=0)]
        )
    return rows


@given(
    seed=st.integers(0, 1000),
    below=st.sampled_from([None, 3]),
    hide=st.sets(st.sampled_from([(0, 0), (0, 1), (2, 0), (2, 1), (1, 0), (1, 1)])),
)
def test_differences_are_those_a_reader_finds(
    seed: int, below: int | None, hide: set[tuple[int, int]]
) -> None:
    table = dc.tabulate(records(40, seed), [REGION, "age"], record_key="rk")
    protected = perturb(table, PTABLE, suppress_below=below)
    protected = replace(protected, suppressed_parts=frozenset(hide))
    assert total_differences(
        protected, PartGrid.of(protected.spanning)
    ).tolist() == plain_differences(protected)


@pytest.mark.filterwarnings("ignore:the perturbation table changes no count")
def test_differences_in_a_grid_too_large_for_numbers() -> None:
    """Sixteen variables of 20 codes: places do not fit 64 bits."""
    random = np.random.default_rng(5)
    data = {f"v{at}": random.integers(0, 19, 30).astype(str) for at in range(16)}
    cells = pl.DataFrame({**data, "n": random.integers(1, 9, 30)})
    every = [
        dc.Classification.flat(f"v{at}", [str(code) for code in range(19)]) for at in range(16)
    ]
    margin = cells.with_columns(pl.lit("Total").alias("v0")).group_by(
        [f"v{at}" for at in range(16)]
    )
    both = pl.concat([cells, margin.agg(pl.col("n").sum()).select(cells.columns)])
    table = Table.from_cells(both.with_columns(key=pl.lit(5)), every, count="n", cell_key="key")
    unchanged = PerturbationTable.from_rows({0: {0: 1}})
    protected = perturb(table, unchanged)
    log = QualityLog()
    log.add("T", table, protected)
    quality = log.tables["T"]
    assert quality.sums.tolist()[0] == [0, 30, 0, 0, 0]
    assert quality.counts.noise[:, 2].tolist() == [0] * len(quality.counts.noise)


def test_a_part_that_one_figure_lacks_is_complete_in_the_other() -> None:
    """Whether all cells of a total are published is a question of cells, not of parts by name."""
    region = dc.Classification.from_parents("region", {"N": None, "N1": "N", "N2": "N", "S": None})
    figures = (Figure(name="persons"), Figure(name="workers"))
    dimensions = (Dimension(classifications=(region,)), figure_dimension(figures))
    values = {"Total": [9, 6], "N": [5, 4], "N1": [3, 3], "N2": [1, 1], "S": [4, 2]}
    cells = [(code, at, both[at]) for code, both in values.items() for at in (0, 1)]
    numbers = dict(zip(region.codes, level_numbers(dimensions[0]).tolist(), strict=True))
    table = ProtectedTable(
        dimensions=dimensions,
        index=(
            np.array([region.index[code] for code, _, _ in cells], dtype=np.int32),
            np.array([at for _, at, _ in cells], dtype=np.int32),
        ),
        value=np.array([value for _, _, value in cells], dtype=float),
        status=np.zeros(len(cells), dtype=np.int8),
        provenance=Provenance(version="1", method="cell-key"),
        figures=figures,
        suppressed_parts=frozenset({(numbers["N"], 0)}),  # of the second figure
    )
    # Persons: the total of N and S, and N itself. Workers: neither, as N is hidden.
    assert total_differences(table, PartGrid.of(table.spanning)).tolist() == [[0, 2, 1, 1, 1]]
