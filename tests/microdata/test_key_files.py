"""From a file of records to a file of records with keys."""

import stat
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.microdata import add_keys_to_file

SECRET = "the secret of these tests"
PEOPLE = pl.DataFrame({"id": [f"p{at:03}" for at in range(500)], "age": [30] * 500})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    PEOPLE.write_parquet(tmp_path / "people.parquet", row_group_size=100)
    return tmp_path / "people.parquet"


def test_the_file_holds_the_keys_of_the_frame(source: Path, tmp_path: Path) -> None:
    expected = dc.with_record_keys(PEOPLE, id="id", secret=SECRET)
    target = add_keys_to_file(source, tmp_path / "keyed.parquet", id="id", secret=SECRET)
    assert pl.read_parquet(target).equals(expected)
    PEOPLE.write_csv(tmp_path / "people.csv")
    add_keys_to_file(tmp_path / "people.csv", target, id="id", secret=SECRET)
    assert pl.read_parquet(target).equals(expected)
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.register("given", PEOPLE.to_arrow())
        connection.execute("create table people as select * from given")
    add_keys_to_file(tmp_path / "people.duckdb", target, id="id", secret=SECRET, table="people")
    assert pl.read_parquet(target).sort("id").equals(expected)


def test_the_same_input_gives_the_same_bytes(source: Path, tmp_path: Path) -> None:
    one, two = (
        add_keys_to_file(source, tmp_path / name, id="id", secret=SECRET)
        for name in ("one.parquet", "two.parquet")
    )
    assert one.read_bytes() == two.read_bytes()


def test_only_the_owner_can_read_it(source: Path, tmp_path: Path) -> None:
    target = add_keys_to_file(source, tmp_path / "keyed.parquet", id="id", secret=SECRET)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"target": "keyed.csv"}, "format"),
        ({"target": "people.parquet"}, "file"),
        ({"target": "none/keyed.parquet"}, "output-folder"),
        ({"source": "none.parquet"}, "file-missing"),
        ({"id": "age"}, "identifiers"),
        ({"id": "person"}, "missing-column"),
        ({"secret": "short"}, "secret-short"),
        ({"column": "age"}, "existing-column"),
    ],
)
def test_bad_input_writes_nothing(
    source: Path, tmp_path: Path, options: dict[str, Any], code: str
) -> None:
    before = source.read_bytes()
    request: dict[str, Any] = {"id": "id", "secret": SECRET, **options}
    start = tmp_path / request.pop("source", source.name)
    target = tmp_path / request.pop("target", "keyed.parquet")
    with pytest.raises(DiscreetError) as caught:
        add_keys_to_file(start, target, **request)
    assert caught.value.code == code
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
    assert source.read_bytes() == before
