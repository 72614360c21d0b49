"""Counts as the R packages cellKey and ptable compute them, cell for cell."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from discreet import Classification, PerturbationTable, perturb, tabulate
from discreet.errors import RecordKeyError
from tests.helpers.noise_tables import keyed, noisy_cells

#: That tool keeps all digits of weighted figures.
pytestmark = pytest.mark.filterwarnings("ignore:decimals of:discreet.errors.DisclosureWarning")


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


#: Per case: the variables, the columns that are counted and the digits of the record keys.
CASES: dict[str, tuple[tuple[str, ...], tuple[str, ...], int | None]] = {
    "A1": (("sex", "age"), ("total", "cnt_males", "cnt_highincome"), None),
    "A2": (("sex", "age"), ("total", "cnt_males", "cnt_females", "cnt_highincome"), 8),
    "A3": (("a1", "sexc", "wat", "ur"), ("total", "cnt_hi"), 8),
}
#: Cells of a case, its name and its perturbation table: by variable, or two of them.
TABLES = [("A1u", ""), ("A1w", ""), ("A2", "_{}"), ("A3p1", "_p1"), ("A3p2", "_p2")]


@pytest.mark.parametrize(
    ("case", "named", "variable"),
    [(case, named, v) for case, named in TABLES for v in CASES[case[:2]][1]],
)
def test_every_cell_is_that_of_the_other_tool(
    reference: Path, case: str, named: str, variable: str
) -> None:
    """Sub-counts are 0/1 columns: their cell key sums the keys of records with value 1.

    A code and its only child are the same records, so they have the same figure.
    """
    own = case[:2]
    names, columns, digits = CASES[own]
    records = pl.read_csv(folder(reference) / f"{own}_microdata.csv.gz", infer_schema=False)
    by = [
        Classification.read(folder(reference) / f"{own}_hier_{name}.csv.gz", name=name)
        for name in names
    ]
    records = keyed(records, "rec_key" if own == "A1" else "rkey", digits=digits).with_columns(
        *(pl.col(column).cast(pl.Int64) for column in ("sampling_weight", *columns[1:])),
        *(pl.col(tree.name).replace(only_children(tree)) for tree in by),
    )
    kind = named.format("total" if variable == "total" else "countvars")
    ptable = PerturbationTable.read(folder(reference) / f"{own}_ptable{kind}.csv.gz")
    weight = None if case == "A1u" else "sampling_weight"
    where = None if variable == "total" else f"{variable} == 1"
    table = tabulate(records, by, record_key="record_key", weight=weight, where=where)
    expected, safe = (
        expected_cells(reference, case, variable),
        perturb(table, ptable, decimals=None),
    )
    assert_same_cells(expected, noisy_cells(table, ptable), safe.to_polars(complete=True), names)
    assert expected.height == 8019 or own != "A3"
    assert safe.value.dtype.kind == ("i" if weight is None else "f")


def only_children(tree: Classification) -> Mapping[str, str]:
    """Codes with one child → that child: the records of the files carry the parent."""
    return {code: tree.children(code)[0] for code in tree.codes if len(tree.children(code)) == 1}


def test_a4_keys_on_the_bounds(reference: Path) -> None:
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
