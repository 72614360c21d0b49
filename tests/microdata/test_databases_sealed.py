"""A database opened here sees its own tables and nothing else."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

import discreet as dc
from discreet.errors import MicrodataError
from discreet.microdata import read_microdata


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "private.csv").write_text("name\nvery private\n")
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table people as select range as id, 'm' as sex from range(5)")
        connection.execute(f"create view leak as select * from read_csv('{tmp_path}/private.csv')")
    return path


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_text('{}/private.csv')",
        "select * from read_csv('{}/private.csv')",
        "select * from '{}/private.csv'",
        "select * from glob('{}/*')",
        "select * from people where sex = (select content from read_text('{}/private.csv'))",
        "select * from leak",
    ],
)
def test_no_query_reads_another_file(base: Path, query: str) -> None:
    with pytest.raises(MicrodataError) as refusal:
        dc.tabulate(read_microdata(base, query=query.format(base.parent)), [])
    assert refusal.value.code == "database"
    assert "very private" not in str(refusal.value)


def test_no_view_reads_another_file(base: Path) -> None:
    with pytest.raises(MicrodataError, match="other files"):
        dc.tabulate(read_microdata(base, table="leak"), [])


@pytest.mark.parametrize(
    "setting", ["enable_external_access = true", "lock_configuration = false", "threads = 2"]
)
def test_nothing_turns_access_on_again(base: Path, setting: str) -> None:
    from discreet.microdata.databases import open_database

    with pytest.raises(duckdb.Error):
        open_database(base).execute(f"set {setting}")


def test_variables_of_the_program_are_not_seen(base: Path) -> None:
    persons = pl.DataFrame({"name": ["very private"]})
    assert persons.height
    with pytest.raises(MicrodataError):
        read_microdata(base, query="select * from persons")


def test_tables_and_keys_are_made_as_before(base: Path) -> None:
    records = read_microdata(base, table="people")
    keyed = dc.with_record_keys(records, id="id", secret="a long and secret sentence")
    table = dc.tabulate(keyed, ["sex"], record_key="record_key")
    assert table.to_polars()["count"].to_list() == [5, 5]


def test_a_database_may_be_opened_twice_and_by_its_owner_too(base: Path) -> None:
    with duckdb.connect(str(base), read_only=True) as own:
        one, two = (read_microdata(base, table="people") for _ in range(2))
        assert dc.tabulate(one, ["sex"]).to_polars().equals(dc.tabulate(two, ["sex"]).to_polars())
        assert own.execute("select content from read_text(?)", [f"{base.parent}/private.csv"])


@pytest.mark.parametrize("name", ["o'brien.duckdb", "memory.duckdb", 'a"b.duckdb', "temp.db"])
def test_any_name_will_do(base: Path, name: str) -> None:
    other = base.rename(base.with_name(name))
    assert dc.tabulate(read_microdata(other, table="people"), []).to_polars()["count"][0] == 5
