"""Any SQL database by URL; tried with SQLite, which every Python has."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import MicrodataError
from discreet.microdata import sql_databases
from tests.helpers.engines import rows


@pytest.fixture
def url(tmp_path: Path) -> str:
    with sqlite3.connect(tmp_path / "census.db") as connection:
        connection.execute("create table people (id integer, region text, income real)")
        rows = [(1, "01", 1.5), (2, "02", None), (3, "NA", 2.0)]
        connection.executemany("insert into people values (?, ?, ?)", rows)
        connection.execute("create table mixed (a)")
        connection.executemany("insert into mixed values (?)", [(1,), ("secret",)])
    connection.close()
    return f"sqlite:///{tmp_path}/census.db"


def test_tables_and_queries(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rows(url, table="people")
    assert whole.rows() == [(1, "01", 1.5), (2, "02", None), (3, "NA", 2.0)]
    monkeypatch.setattr(sql_databases, "_BATCH", 1)
    assert rows(url, table="people").equals(whole)
    query = "select region, '12:30' as at from people where id > 1"
    assert rows(url, query=query).rows() == [("02", "12:30"), ("NA", "12:30")]
    assert rows(url, table="people", null_values=["NA"], rename={"region": "r"})["r"][2] is None
    assert rows(url, query="select * from people where id > 9").columns == whole.columns


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "give either a table or a query"),
        ({"table": "none"}, "table 'none' not found"),
        ({"table": 'people"; drop table people; --'}, "not found"),
        ({"query": "delete from people"}, "the query must be one SELECT statement"),
        ({"query": "select 1; select 2"}, "the query must be one SELECT statement"),
        ({"query": "select nothing from people"}, "the query failed"),
        ({"table": "mixed"}, "values of different types"),
        ({"table": "people", "decimal": ","}, "do not apply"),
        ({"table": "people", "types": {"region": "integer"}}, "record 3, column 'region'"),
    ],
)
def test_what_cannot_be_read(url: str, said: dict[str, Any], words: str) -> None:
    with pytest.raises(MicrodataError) as caught:
        rows(url, **said)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_missing_database_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(MicrodataError, match="file not found"):
        rows(f"sqlite:///{tmp_path}/none.db", table="people")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "bad",
    [
        "postgresql://me:pass77word@host.invalid/census",
        "nonsense://me:pass77word@host/census",
        "postgresql://me:pass77word@host:port/census",
        "sqlite://me:pass77word@/x",
    ],
)
def test_no_message_shows_a_password(bad: str) -> None:
    with pytest.raises(MicrodataError) as caught:
        rows(bad, table="people")
    said = f"{caught.value!r} {caught.value} {caught.value.problems}"
    assert "pass77word" not in said
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_programme_reads_a_database(url: str, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "programme.toml").write_text(
        '[data]\ndatabase_env = "CENSUS"\ntable = "people"\n[suppression]\n[rules.all]\n'
        "minimum_frequency = 2\n[tables.T1]\nby = ['region']\nprotect = 'suppress'\n"
        "rules = 'all'\nvalue = 'count'\nformats = ['csv']\n"
    )
    with pytest.raises(dc.errors.ProgrammeError, match="CENSUS is not set"):
        dc.protect(tmp_path / "programme.toml", out=tmp_path / "release")
    monkeypatch.setenv("CENSUS", url)
    first = dc.protect(tmp_path / "programme.toml", out=tmp_path / "release")
    assert [table.fresh for table in first.tables] == [True]
    again = dc.protect(tmp_path / "programme.toml", out=tmp_path / "release")
    assert [table.fresh for table in again.tables] == [False]
    text = (tmp_path / "programme.toml").read_text()
    place = text.replace('database_env = "CENSUS"', 'database = "sqlite:///census.db"')
    (tmp_path / "programme.toml").write_text(place)
    kept = dc.protect(tmp_path / "programme.toml", out=tmp_path / "release")
    assert [table.fresh for table in kept.tables] == [False]
    said = "".join(p.read_text("utf-8") for p in (tmp_path / "release").glob("*.json"))
    assert "census.db" not in said
