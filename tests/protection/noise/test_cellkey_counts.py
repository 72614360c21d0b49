"""Counts as the R packages cellKey and ptable compute them, cell for cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from discreet import Classification, PerturbationTable, Table, perturb, tabulate
from discreet.errors import RecordKeyError

#: That tool keeps all digits of weighted figures.
pytestmark = pytest.mark.filterwarnings("ignore:decimals of:discreet.errors.DisclosureWarning")

Cells = Callable[[Table, PerturbationTable], pl.DataFrame]
Tree = Callable[[Path, str], Classification]
Keyed = Callable[..., pl.DataFrame]


def folder(reference: Path) -> Path:
    return reference / "cellkey"


def expected_cells(reference: Path, case: str, variable: str) -> pl.DataFrame:
    """Another tool's cells; its floating-point cell keys taken to 8 digits, all they carry."""
    cells = pl.read_csv(
        folder(reference) / f"{case}_cells_{variable}.csv.gz", schema_overrides={"g": pl.String}
    )
    strip = {name: name.removesuffix(f"_{variable}") for name in cells.columns}
    return cells.rename(strip)


def assert_same_cells(
    expected: pl.DataFrame, cells: pl.DataFrame, published: pl.DataFrame, by: Sequence[str]
) -> None:
    """Counts, cell keys, noise and unweighted figures equal; weighted ones within 1e-9."""
    joined = expected.join(cells, on=list(by), how="left", maintain_order="left")
    joined = joined.join(published, on=list(by), how="left", maintain_order="left")
    assert joined.height == expected.height
    joined = joined.with_columns(
        pl.col("count", "cell_key", "noise").fill_null(0), pl.col("value").fill_null(0)
    )
    assert joined["count"].to_list() == joined["uwc"].to_list()
    assert joined["noise"].to_list() == joined["pert"].to_list()
    units = (joined["ck"] * 10**8).round().cast(pl.Int64) % 10**8
    occurs = joined["uwc"] > 0
    assert (joined["cell_key"] // 10**7).filter(occurs).equals(units.filter(occurs))
    assert (joined["cell_key"] % 10**7 == 0).all()
    wrong = (joined["value"] - joined["pwc"]).abs() > 1e-9 * joined["pwc"].abs()
    assert not wrong.any()


def compare(
    records: pl.DataFrame,
    by: Sequence[Classification],
    expected: pl.DataFrame,
    ptable: PerturbationTable,
    cells_of: Cells,
    **options: str,
) -> Table:
    table = tabulate(records, by, record_key="record_key", **options)  # type: ignore[arg-type]
    safe = perturb(table, ptable, decimals=None).to_polars(complete=True)
    assert_same_cells(expected, cells_of(table, ptable), safe, [tree.name for tree in by])
    return table


def numeric(records: pl.DataFrame, *columns: str) -> pl.DataFrame:
    return records.with_columns(pl.col(column).cast(pl.Int64) for column in columns)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("variable", ["total", "cnt_males", "cnt_highincome"])
def test_a1_two_way_with_five_digit_keys(
    reference: Path,
    keyed: Keyed,
    levels_tree: Tree,
    cells_of: Cells,
    weighted: bool,
    variable: str,
) -> None:
    """Sub-counts are 0/1 columns: their cell key sums the keys of records with value 1."""
    records = pl.read_csv(folder(reference) / "A1_microdata.csv.gz", infer_schema=False)
    records = numeric(keyed(records, "rec_key"), "sampling_weight", "cnt_males", "cnt_highincome")
    by = [levels_tree(folder(reference) / f"A1_hier_{v}.csv.gz", v) for v in ("sex", "age")]
    options = {"weight": "sampling_weight"} if weighted else {}
    if variable != "total":
        options["where"] = f"{variable} == 1"
    expected = expected_cells(reference, "A1w" if weighted else "A1u", variable)
    ptable = PerturbationTable.read(folder(reference) / "A1_ptable.csv.gz")
    table = compare(records, by, expected, ptable, cells_of, **options)
    if not weighted:
        assert perturb(table, ptable).value.dtype.kind == "i"


@pytest.mark.parametrize("variable", ["total", "cnt_males", "cnt_females", "cnt_highincome"])
def test_a2_single_children_and_tables_by_variable(
    reference: Path, keyed: Keyed, levels_tree: Tree, cells_of: Cells, variable: str
) -> None:
    """A code and its only child are the same records, so they have the same figure."""
    by = [levels_tree(folder(reference) / f"A2_hier_{v}.csv.gz", v) for v in ("sex", "age")]
    records = pl.read_csv(folder(reference) / "A2_microdata.csv.gz", infer_schema=False)
    records = numeric(
        keyed(records, "rkey", digits=8),
        "sampling_weight",
        "cnt_males",
        "cnt_females",
        "cnt_highincome",
    ).with_columns(pl.col(tree.name).replace(only_children(tree)) for tree in by)
    kind = "total" if variable == "total" else "countvars"
    ptable = PerturbationTable.read(folder(reference) / f"A2_ptable_{kind}.csv.gz")
    options = {"weight": "sampling_weight"}
    if variable != "total":
        options["where"] = f"{variable} == 1"
    expected = expected_cells(reference, "A2", variable)
    compare(records, by, expected, ptable, cells_of, **options)


def only_children(tree: Classification) -> Mapping[str, str]:
    """Codes with one child → that child: the records of the files carry the parent."""
    return {code: tree.children(code)[0] for code in tree.codes if len(tree.children(code)) == 1}


@pytest.mark.parametrize("case", ["p1", "p2"])
@pytest.mark.parametrize("variable", ["total", "cnt_hi"])
def test_a3_four_way_with_8019_cells(
    reference: Path,
    keyed: Keyed,
    levels_tree: Tree,
    cells_of: Cells,
    case: str,
    variable: str,
) -> None:
    records = pl.read_csv(folder(reference) / "A3_microdata.csv.gz", infer_schema=False)
    records = numeric(keyed(records, "rkey", digits=8), "sampling_weight", "cnt_hi")
    by = [
        levels_tree(folder(reference) / f"A3_hier_{v}.csv.gz", v)
        for v in ("a1", "sexc", "wat", "ur")
    ]
    options = {"weight": "sampling_weight"}
    if variable != "total":
        options["where"] = f"{variable} == 1"
    expected = expected_cells(reference, f"A3{case}", variable)
    assert expected.height == 8019
    ptable = PerturbationTable.read(folder(reference) / f"A3_ptable_{case}.csv.gz")
    compare(records, by, expected, ptable, cells_of, **options)


def test_a4_keys_on_the_bounds(reference: Path, keyed: Keyed) -> None:
    """The row is the first whose upper bound is greater than the key.

    That tool takes a key of exactly 1 as 0, and a double of 17 digits as it is. Ours
    refuses both as off the grid, so the caller has to say what they mean.
    """
    records = pl.read_csv(folder(reference) / "A4_microdata.csv.gz", infer_schema=False)
    with pytest.raises(RecordKeyError, match="1 of 12"):
        keyed(records, "rkey")
    meant = {"1": "0", "0.30000000000000004": "0.3"}
    said = records.with_columns(pl.col("rkey").replace(meant))
    table = tabulate(keyed(said, "rkey"), ["g"], record_key="record_key")
    ptable = PerturbationTable.read(reference / "ptable" / "c06_ptable.csv")
    safe = perturb(table, ptable, decimals=None)
    expected = expected_cells(reference, "A4", "total")
    assert expected.height == 13
    assert [safe.get(code) for code in expected["g"]] == expected["puwc"].to_list()
