"""The cell-key method with keys modulo 256 or 4096, as another office's package computes it.

Its counts are those of the inner cells, without margins. Four of its cases we
decide differently on purpose; the tests of those say so.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import PerturbationTable, Table, perturb, tabulate
from discreet.errors import PerturbationError, RecordKeyError
from tests.helpers.rows import for_all_rows

THRESHOLD = 10


def folder(reference: Path) -> Path:
    return reference / "ons"


def records_of(reference: Path, name: str) -> pl.DataFrame:
    """Categories as texts, keys as numbers."""
    records = pl.read_csv(folder(reference) / name, infer_schema=False)
    return records.with_columns(pl.col("record_key").cast(pl.Float64).cast(pl.Int64))


def case_of(reference: Path, name: str) -> dict[str, Any]:
    cases = json.loads((folder(reference) / "cases.json").read_text())
    case: dict[str, Any] = cases[name]
    return case


def expected_cells(reference: Path, name: str) -> tuple[pl.DataFrame, list[str]]:
    case = case_of(reference, name)
    by = [*case["geog"], *case["tab_vars"]]
    cells = pl.read_csv(
        folder(reference) / f"{name}.csv.gz",
        schema_overrides=dict.fromkeys(by, pl.String),
    )
    return cells.with_columns(pl.col("count").cast(pl.Float64)), by


def settings(case: dict[str, Any]) -> dict[str, Any]:
    threshold = case["options"].get("threshold", THRESHOLD)
    return {"suppress_below": threshold, "zeros": "keep"}


Opened = tuple[pl.DataFrame, list[str], pl.DataFrame, PerturbationTable]


def opened(reference: Path, name: str) -> Opened:
    """The cells of a case with what spans them, its records and perturbation table."""
    case = case_of(reference, name)
    ptable = PerturbationTable.read(folder(reference) / case["ptable"])
    return *expected_cells(reference, name), records_of(reference, case["microdata"]), ptable


def assert_same_cells(
    expected: pl.DataFrame,
    by: Sequence[str],
    table: Table,
    ptable: PerturbationTable,
    **options: Any,
) -> None:
    """Count, cell key, noise and published figure (none where suppressed) of every cell."""
    published = perturb(table, ptable, **options).to_polars(complete=True)
    joined = expected.join(table.to_polars(), on=list(by), how="left", suffix="_ours")
    joined = joined.join(published, on=list(by), how="left", suffix="_published")
    assert joined.height == expected.height > 0
    count = joined["count_ours"].fill_null(0)
    key = joined["cell_key"].fill_null(0)
    assert count.to_list() == joined["pre_sdc_count"].to_list()
    assert key.to_list() == joined["ckey"].to_list()
    occurs = (count > 0) if options.get("zeros") == "keep" else count >= 0
    noise = pl.Series(ptable.lookup(count.to_numpy(), key.to_numpy(), table.grid or 0))
    assert noise.filter(occurs).to_list() == joined["pvalue"].filter(occurs).to_list()
    assert joined["status"].is_not_null().all()
    assert joined["value"].cast(pl.Float64).to_list() == joined["count"].to_list()


@for_all_rows(
    "name",
    [
        "01_default_geog1_2vars",
        "02_nogeog_3vars",
        "03_threshold0",
        "04_geog_only",
        "05_noise_thr0",
        "06_noise_thr3",
    ],
)
def test_all_cells_are_equal(reference: Path, name: str) -> None:
    expected, by, records, ptable = opened(reference, name)
    table = tabulate(records, by, record_key="record_key", key_grid=256)
    assert_same_cells(expected, by, table, ptable, **settings(case_of(reference, name)))


def noise_on_4096_keys() -> pl.DataFrame:
    """The table of case 09, which is given by its formula."""
    pcv, ckey = np.meshgrid(np.arange(1, 751), np.arange(4096), indexing="ij")
    u = ((ckey * 2654435761 + pcv * 40503) % 2**32) / 2**32
    noise = np.searchsorted([0.05, 0.15, 0.85, 0.95], u, side="right") - 2
    noise = np.maximum(noise, -pcv)
    columns = {"pcv": pcv, "ckey": ckey, "pvalue": noise}
    return pl.DataFrame({name: values.ravel() for name, values in columns.items()})


@pytest.mark.exhaustive
def test_09_keys_from_an_identifier_modulo_4096(reference: Path, tmp_path: Path) -> None:
    """There, identifiers that are no numbers count as key 0; ours has to be told so."""
    name = "09_onsid_4096"
    case = case_of(reference, name)
    expected, by = expected_cells(reference, name)
    noise_on_4096_keys().write_csv(tmp_path / "ptable.csv")
    ptable = PerturbationTable.read(tmp_path / "ptable.csv")
    assert ptable.key_grid is not None
    assert ptable.key_grid.size == 4096
    records = records_of(reference, case["microdata"])
    own = pl.col("ons_id").cast(pl.Int64, strict=False) % 4096
    with pytest.raises(RecordKeyError):
        tabulate(records.with_columns(key=own), by, record_key="key", key_grid=4096)
    keyed = records.with_columns(key=own.fill_null(0))
    table = tabulate(keyed, by, record_key="key", key_grid=4096)
    assert_same_cells(expected, by, table, ptable, **settings(case))


def test_11_row_0_of_the_table_changes_zeros(reference: Path) -> None:
    expected, by, records, ptable = opened(reference, "11_zero_rows_in_ptable_thr0")
    table = tabulate(records, by, record_key="record_key", key_grid=256)
    assert ptable.changes_zeros
    assert_same_cells(expected, by, table, ptable, zeros="table", suppress_below=0)


def test_12_a_missing_category_has_its_real_key(reference: Path) -> None:
    """There, cells of a missing category get key 0. Ours sums the keys of their records."""
    expected, by, records, ptable = opened(reference, "12_nan_category")
    table = tabulate(records, by, record_key="record_key", key_grid=256)
    stated = expected.filter(pl.col("var5").is_not_null())
    assert_same_cells(stated, by, table, ptable, suppress_below=0)
    missing = expected.filter(pl.col("var5").is_null())
    ours = table.to_polars().filter(pl.col("var1") != "Total", pl.col("var5") == "Missing")
    sums = (
        records.filter(pl.col("var5").is_null())
        .group_by("var1")
        .agg(pl.len(), (pl.col("record_key").sum() % 256).alias("key"))
    )
    assert set(ours.select("var1", "count").iter_rows()) == set(
        missing.select("var1", "pre_sdc_count").iter_rows()
    )
    assert set(ours.select("var1", "count", "cell_key").iter_rows()) == set(sums.iter_rows())
    assert set(missing["ckey"]) == {0}
    assert set(ours["cell_key"]) != {0}


def test_13_records_without_a_key_are_refused(reference: Path) -> None:
    """There, they are skipped in the sum of keys. Ours has to be told so."""
    expected, by, records, ptable = opened(reference, "13_nan_record_keys")
    without = records["record_key"].null_count()
    with pytest.raises(RecordKeyError, match=rf"{without}\b.*records"):
        tabulate(records, by, record_key="record_key", key_grid=256)
    said = records.with_columns(pl.col("record_key").fill_null(0))
    with pytest.raises(RecordKeyError, match="fill the grid"):
        tabulate(said, by, record_key="record_key", key_grid=256)
    table = tabulate(said, by, record_key="record_key", key_grid=256, allow_unsuitable_keys=True)
    assert_same_cells(expected, by, table, ptable, suppress_below=0)


def test_14_categories_that_never_occur_are_not_invented(reference: Path) -> None:
    """There, an unused level of a categorical column becomes cells of count 0."""
    expected, by, records, ptable = opened(reference, "14_categorical_unused_level")
    invented = expected.filter(pl.col("var8") == "E")
    assert invented["count"].to_list() == [0] * 5
    levels = pl.Enum(["A", "B", "C", "D", "E"])
    table = tabulate(
        records.with_columns(pl.col("var8").cast(levels)), by, record_key="record_key", key_grid=256
    )
    assert "E" not in table.dimensions[1].codes
    stated = expected.filter(pl.col("var8") != "E")
    assert_same_cells(stated, by, table, ptable, suppress_below=0)


def test_15_keys_off_the_grid_of_the_table_are_refused(reference: Path) -> None:
    """There, keys 0 … 4095 are summed modulo 256 for a table of 256 keys, unasked."""
    expected, by, records, ptable = opened(reference, "15_key_range_mismatch")
    with pytest.raises(RecordKeyError):
        tabulate(records, by, record_key="record_key", key_grid=256)
    wide = tabulate(records, by, record_key="record_key", key_grid=4096)
    with pytest.raises(PerturbationError, match="256 keys"):
        perturb(wide, ptable)
    said = records.with_columns(pl.col("record_key") % 256)
    table = tabulate(said, by, record_key="record_key", key_grid=256)
    assert_same_cells(expected, by, table, ptable, suppress_below=0)


def test_large_counts_use_the_repeating_block(reference: Path) -> None:
    """Row n up to 750, then (n − 1) mod 250 + 501."""
    ptable = PerturbationTable.read(folder(reference) / "ptable_noise_D2_256.csv.gz")
    count = np.arange(1, 5000)
    row = np.where(count <= 750, count, (count - 1) % 250 + 501)
    key = count * 7 % 256
    assert np.array_equal(ptable.lookup(count, key, 256), ptable.lookup(row, key, 256))
    large = ptable.lookup(count, key, 256)[750:]
    assert len(set(large.tolist())) > 1


@pytest.mark.parametrize("kind", ["intervals", "cumulative", "argus"])
def test_a_repeating_block_is_the_reason_and_not_the_number_of_keys(
    tmp_path: Path, kind: Any
) -> None:
    """A table on the grid of 10^15 was refused for its keys; "ons" was named as the way out."""
    rows = {0: {0: 1}, 1: {-1: 0.5, 1: 0.5}, 2: {-1: 0.25, 0: 0.5, 1: 0.25}}
    closed = "right" if kind == "argus" else "left"
    table = PerturbationTable.from_rows(rows, beyond=(1, 2)).with_closed(closed)
    with pytest.raises(
        PerturbationError, match="cannot store the repeated block for counts beyond the table"
    ) as caught:
        table.write(tmp_path / "p.csv", format=kind)
    assert caught.value.hint == 'format="json" holds any table'
    table.write(tmp_path / "p.json")
    assert PerturbationTable.read(tmp_path / "p.json").content.beyond == (1, 2)
    with pytest.raises(PerturbationError, match="256 and 4096"):
        table.write(tmp_path / "p.csv", format="ons")
