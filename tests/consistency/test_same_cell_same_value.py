"""The same group of records has the same published value everywhere, for ever.

A cell is found again in every table that contains it, on every engine, under
any order, partitioning and number of threads: over a million comparisons of
published values, no difference.
"""

from itertools import combinations

import duckdb
import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.tabulation import memory

PERSONS = 150_000
NAMES = ("region", "age", "sex", "marital", "work")
MATRIX = {0: {0: 1}, 1: {-1: 0.6, 2: 0.4}, 2: {-2: 0.4, 1: 0.6}, 3: {-3: 0.1, 0: 0.6, 1: 0.3}}


@pytest.fixture(scope="module")
def persons() -> pl.DataFrame:
    rng = np.random.default_rng(2026)
    size = rng.zipf(1.6, PERSONS) % 100
    return pl.DataFrame(
        {
            "region": [f"{code // 10}{code:02d}" for code in size],
            "age": rng.integers(0, 100, PERSONS, dtype=np.int8),
            "sex": rng.choice(["m", "w"], PERSONS).tolist(),
            "marital": rng.integers(1, 6, PERSONS),
            "work": [("yes", "no", None)[k] for k in rng.integers(0, 3, PERSONS)],
            "record_key": rng.integers(0, 10**15, PERSONS),
        }
    )


@pytest.fixture(scope="module")
def ptable() -> dc.PerturbationTable:
    return dc.PerturbationTable.from_rows(MATRIX)


@pytest.fixture(scope="module")
def variables() -> dict[str, object]:
    codes = sorted({f"{code // 10}{code:02d}" for code in range(100)})
    region = dc.Classification.from_prefixes("region", codes, lengths=[1, 3])
    fine, coarse = list(range(0, 90, 5)), [0, 15, 30, 65]
    age = dc.Classification.from_intervals("age", bounds=fine, parents=[coarse])
    return {"region": region, "age": age, "sex": "sex", "marital": "marital", "work": "work"}


def published(frame, names, variables, ptable) -> pl.DataFrame:
    """The protected table over some variables, every cell of its grid."""
    by = [variables[name] for name in names]
    safe = dc.perturb(dc.tabulate(frame, by, record_key="record_key"), ptable)
    return safe.to_polars(complete=True)


def differences(found: pl.DataFrame, expected: pl.DataFrame, names) -> tuple[int, int]:
    """Cells compared, and cells that differ."""
    absent = [name for name in NAMES if name not in names]
    part = expected.filter(pl.col(name) == "Total" for name in absent) if absent else expected
    joined = found.join(part, on=list(names), how="full", suffix="_expected")
    same = (pl.col("value") == pl.col("value_expected")).fill_null(False)
    return joined.height, joined.height - int(joined.select(same.sum()).item())


@pytest.mark.exhaustive
def test_a_million_cells_agree(persons, ptable, variables, monkeypatch):
    everything = published(persons, NAMES, variables, ptable)
    compared = wrong = 0

    def add(frame, names):
        nonlocal compared, wrong
        cells, different = differences(
            published(frame, names, variables, ptable), everything, names
        )
        compared, wrong = compared + cells, wrong + different

    # every table of fewer variables, in mixed orders of the variables
    for size in range(1, len(NAMES)):
        for names in combinations(NAMES, size):
            add(persons, names if size % 2 else tuple(reversed(names)))
    # the widest table on every engine, in other orders, pieces and threads
    shuffled = persons.sample(fraction=1, shuffle=True, seed=7)
    pieces = pl.concat([shuffled[:1], shuffled[1:77_777], shuffled[77_777:]], rechunk=False)
    add(persons.lazy(), NAMES)
    add(duckdb.from_arrow(shuffled.to_arrow()), NAMES)
    add(shuffled.to_pandas(), NAMES)
    add(pieces, NAMES)
    monkeypatch.setattr(memory, "_compiled_pays", lambda records: True)
    for threads in (1, 5):
        monkeypatch.setattr(memory.os, "cpu_count", lambda threads=threads: threads)
        add(shuffled.to_arrow(), NAMES)
    monkeypatch.setattr(memory, "_DENSE_LIMIT", 1)
    add(shuffled, NAMES)
    assert compared >= 1_000_000
    assert wrong == 0


def test_filtering_down_to_a_cell_gives_the_cell(persons, ptable, variables):
    """A cell of a table equals the total of a table of those records alone."""
    wide = dc.perturb(dc.tabulate(persons, ["sex", "work"], record_key="record_key"), ptable)
    for sex, work, text in [
        ("m", "yes", "sex == 'm' and work == 'yes'"),
        ("w", "Total", "sex == 'w'"),
        ("Total", "Missing", "work is null"),
    ]:
        alone = dc.tabulate(persons, [], record_key="record_key", where=text)
        assert dc.perturb(alone, ptable).value[0] == wide.get(sex, work)


def test_the_noise_is_there(persons, ptable, variables):
    """The comparison above is not one of unperturbed tables: most small cells change."""
    by = [variables[name] for name in NAMES]
    table = dc.tabulate(persons, by, record_key="record_key")
    truth = table.to_polars().select(*NAMES, "count")
    both = truth.join(dc.perturb(table, ptable).to_polars(complete=True), on=list(NAMES))
    small = both.filter(pl.col("count") == 1)
    assert small.height > 1_000
    assert small.filter(pl.col("value") == 1).height == 0
