"""CSV, Parquet and JSON: one row per cell."""

import csv
import json

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication import FILE_COMPLETE_LIMIT, write
from discreet.publication.cells import cell_chunks
from discreet.tables import CellStatus
from tests.helpers.protected_tables import protected_table

SHOWN = CellStatus.published


def rows_of(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_csv_lists_every_cell_with_its_sign(mixed, tmp_path):
    rows = rows_of(write(mixed, tmp_path / "T7.csv", language="de", csv="comma"))
    assert len(rows) == 15
    assert list(rows[0]) == ["region", "region_label", "sex", "sex_label", *LAST]
    by_code = {(row["region"], row["sex"]): row for row in rows}
    assert by_code["Total", "Total"]["symbol"] == "12345*"
    assert by_code["N", "m"] == {
        "region": "N",
        "region_label": "Nord",
        "sex": "m",
        "sex_label": "m",
        "value": "",
        "status": "suppressed",
        "symbol": ".",
    }
    assert by_code["N1", "Total"]["symbol"] == "(880)"
    assert by_code["N1", "w"]["symbol"] == "–"
    assert by_code["N1", "w"]["value"] == "0"


LAST = ["value", "status", "symbol"]


def test_csv_is_that_of_rfc_4180(mixed, tmp_path):
    raw = write(mixed, tmp_path / "T7.csv").read_bytes()
    assert raw.startswith(b"region,region_label,")
    assert raw.endswith(b"\r\n")
    assert raw.count(b"\n") == raw.count(b"\r\n") == 16
    assert b"=1+1 <b>&" in raw  # texts are left as they are


def test_german_csv_opens_in_german_spreadsheets(make_table, sex, tmp_path):
    table = make_table([sex], {("Total",): (3.5, SHOWN), ("m",): (1234.25, SHOWN)}, decimals=2)
    german = write(table, tmp_path / "T.de.csv", language="de").read_text("utf-8").splitlines()
    assert german[0] == "sex;sex_label;value;status;symbol"
    assert german[1:3] == [
        "Total;Insgesamt;3,5;published;3,50",
        "m;m;1234,25;published;1234,25",
    ]
    english = write(table, tmp_path / "T.csv").read_bytes()
    assert b",1234.25,published,1234.25\r\n" in english
    both = write(table, tmp_path / "B.csv", language="de", csv="comma").read_bytes()
    assert both == english.replace(b",Total,3.5", b",Insgesamt,3.5")
    same = pl.read_csv(tmp_path / "T.de.csv", separator=";", decimal_comma=True)
    assert same["value"].to_list() == pl.read_csv(tmp_path / "T.csv")["value"].to_list()
    with pytest.raises(PublicationError, match="has no separators"):
        write(table, tmp_path / "T.json", csv="comma")
    with pytest.raises(PublicationError, match="unknown form of CSV"):
        write(table, tmp_path / "T.csv", csv="tab")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json"])
def test_sparse_files_never_list_a_zero(mixed, tmp_path, suffix):
    path = write(mixed, tmp_path / f"T7.{suffix}", complete=False)
    if suffix == "csv":
        values = [row["value"] for row in rows_of(path)]
    elif suffix == "parquet":
        values = pl.read_parquet(path)["value"].to_list()
    else:
        values = json.loads(path.read_text())["cells"]["value"]
    assert len(values) == 7
    assert not {0, "0"} & set(values)


def test_a_zero_that_someone_marked_is_not_listed_either(make_table, sex, tmp_path):
    cells = {
        ("Total",): (4, SHOWN),
        ("m",): (0, CellStatus.bracketed),
        ("w",): (0, CellStatus.official),
    }
    table = make_table([sex], cells)
    assert len(rows_of(write(table, tmp_path / "a.csv", complete=False))) == 1
    complete = rows_of(write(table, tmp_path / "b.csv"))
    assert {row["status"] for row in complete[1:]} == {"zero_or_changed_to_zero"}


def test_weighted_figures_keep_their_digits(make_table, sex, tmp_path):
    cells = {("Total",): (1234.5678901, SHOWN), ("m",): (1e-7, SHOWN), ("w",): (3.0, SHOWN)}
    rows = rows_of(write(make_table([sex], cells, decimals=1), tmp_path / "w.csv"))
    assert [row["value"] for row in rows] == ["1234.5678901", "0.0000001", "3.0"]
    assert [row["symbol"] for row in rows] == ["1234.6", "0.0", "3.0"]


def test_parquet_has_coded_columns_and_describes_itself(mixed, tmp_path):
    path = write(mixed, tmp_path / "T7.parquet", language="de")
    read = pq.read_table(path)
    assert all(
        str(field.type).startswith("dictionary<") for field in read.schema if field.name != "value"
    )
    assert read.column_names == ["region", "sex", "value", "status"]
    frame = pl.read_parquet(path)
    codes = [pl.col("region", "sex", "status").cast(pl.String), pl.col("value")]
    assert frame.select(codes).equals(mixed.to_polars().select(codes))
    said = {key.decode(): value.decode() for key, value in pq.read_metadata(path).metadata.items()}
    assert said["title"] == "Personen <b> & mehr"
    assert json.loads(said["notes"])[0]["text"] == "Eine Bemerkung."
    assert json.loads(said["provenance"])["method"] == "cell-key"
    assert json.loads(said["variables"])[0]["parents"] == [None, "Total", "N", "N", "Total"]


def test_json_is_one_object_with_cells_as_columns(mixed, tmp_path):
    found = json.loads(write(mixed, tmp_path / "T7.json").read_text(encoding="utf-8"))
    assert found["title"] == "Persons <b> & more"
    assert found["universe"] == "Adults"
    assert found["complete"] is True
    assert found["variables"][0]["labels"][:2] == ["Total", "North"]
    assert found["variables"][0]["levels"] == [0, 1, 2, 2, 1]
    assert found["legend"][0] == {"symbol": "–", "meaning": "exactly zero or changed to zero"}
    frame = pl.DataFrame(found["cells"])
    assert frame.equals(mixed.to_polars())


def test_an_empty_table_has_its_heading_and_nothing_else(make_table, sex, tmp_path):
    table = make_table([sex], {("m",): (0, SHOWN)})
    assert rows_of(write(table, tmp_path / "e.csv", complete=False)) == []
    assert (tmp_path / "e.csv").read_text() == "sex,sex_label,value,status,symbol\r\n".replace(
        "\r\n", "\n"
    )
    assert json.loads(write(table, tmp_path / "e.json", complete=False).read_text())["cells"] == {
        "sex": [],
        "value": [],
        "status": [],
    }
    assert pl.read_parquet(write(table, tmp_path / "e.parquet", complete=False)).height == 0


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.integers(1, 40),
    st.randoms(use_true_random=False),
)
def test_chunks_of_any_size_make_up_the_grid(sizes, size, random):
    trees = [
        Classification.flat(f"v{k}", [f"{k}{c}" for c in range(n)]) for k, n in enumerate(sizes)
    ]
    shape = [n + 1 for n in sizes]
    index = np.indices(shape).reshape(len(shape), -1).astype(np.int32)
    value = np.array([random.choice([0, 0, 3, 8]) for _ in range(index.shape[1])])
    status = np.array([random.choice([0, 0, 2]) for _ in value], dtype=np.int8)
    table = protected_table(trees, value, status=status)
    for complete in (True, False):
        whole = table.cells(complete)
        chunks = list(cell_chunks(table, complete, size=size))
        assert all(len(chunk) <= size for chunk in chunks)
        for k in range(len(trees)):
            joined = np.concatenate([chunk.index[k] for chunk in chunks])
            assert np.array_equal(joined, whole[0][k])
        assert np.array_equal(np.concatenate([c.value for c in chunks]), whole[1])
        assert np.array_equal(np.concatenate([c.status for c in chunks]), whole[2])


@pytest.mark.parametrize(("width", "listed"), [(99, 100), (100, 1)])
def test_files_list_the_grid_up_to_a_limit(make_table, tmp_path, monkeypatch, width, listed):
    assert FILE_COMPLETE_LIMIT == 100_000
    monkeypatch.setattr("discreet.publication.cells.FILE_COMPLETE_LIMIT", 100)
    tree = Classification.flat("place", [f"p{k}" for k in range(width)])
    table = make_table([tree], {("Total",): (7, SHOWN)})
    assert len(rows_of(write(table, tmp_path / "a.csv"))) == listed
    assert pq.read_metadata(write(table, tmp_path / "a.parquet")).num_rows == listed
    read = json.loads(write(table, tmp_path / "a.json").read_text("utf-8"))
    assert len(read["cells"]["value"]) == listed
    assert read["complete"] is (listed > 1)
    other = write(table, tmp_path / "b.csv", complete=listed == 1)
    assert len(rows_of(other)) == (width + 1 if listed == 1 else 1)


def test_a_grid_beyond_all_numbers_can_only_be_written_sparse(make_table, tmp_path):
    trees = [Classification.flat(f"v{k}", [f"{k}-{c}" for c in range(2_000)]) for k in range(6)]
    cells = {("Total",) * 6: (7, SHOWN)}
    table = make_table(trees, cells)
    assert len(rows_of(write(table, tmp_path / "a.csv"))) == 1
    with pytest.raises(PublicationError, match="the complete table has too many cells"):
        write(table, tmp_path / "b.csv", complete=True)
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.parametrize("name", ["value", "status", "symbol", "sex_label"])
def test_variables_cannot_share_their_name_with_a_figure(make_table, sex, tmp_path, name):
    other = Classification.flat(name, ["a"])
    table = make_table([sex, other], {("m", "a"): (3, SHOWN)})
    with pytest.raises(PublicationError, match=f"two columns would have the name '{name}'"):
        write(table, tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []
