"""Files of every kind are read lazily, and are what their names say."""

import gzip
from pathlib import Path

import duckdb
import narwhals as nw
import polars as pl
import pytest

import discreet as dc
from discreet.errors import MicrodataError
from tests.helpers.rows import for_all_rows

PEOPLE = pl.DataFrame({"region": ["01", "02", None], "age": [3, None, 99], "rent": [1.5, 2.0, 0.1]})


def rows(frame: nw.DataFrame | nw.LazyFrame) -> pl.DataFrame:  # type: ignore[type-arg]
    assert isinstance(frame, nw.LazyFrame)
    return frame.collect("polars").to_native()


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Path]:
    files = {
        name: tmp_path / f"people.{name}"
        for name in ("parquet", "csv", "tsv", "csv.gz", "arrow", "feather", "duckdb")
    }
    PEOPLE.write_parquet(files["parquet"])
    PEOPLE.write_csv(files["csv"], separator=";")
    PEOPLE.write_csv(files["tsv"], separator="\t")
    files["csv.gz"].write_bytes(gzip.compress(PEOPLE.write_csv().encode()))
    PEOPLE.write_ipc(files["arrow"])
    PEOPLE.write_ipc(files["feather"], compression="lz4")
    with duckdb.connect(str(files["duckdb"])) as connection:
        connection.register("given", PEOPLE.to_arrow())
        connection.execute("create table people as select * from given")
    return files


@for_all_rows("kind", ["parquet", "csv", "tsv", "csv.gz", "arrow", "feather"])
def test_every_format_gives_the_same_records(written: dict[str, Path], kind: str) -> None:
    assert rows(dc.read_microdata(written[kind])).equals(PEOPLE)
    assert rows(dc.read_microdata(str(written[kind]))).equals(PEOPLE)


def test_a_format_can_be_named(written: dict[str, Path]) -> None:
    odd = written["parquet"].rename(written["parquet"].with_name("people.data"))
    with pytest.raises(MicrodataError, match="unknown file type"):
        dc.read_microdata(odd)
    assert rows(dc.read_microdata(odd, format="parquet")).equals(PEOPLE)
    with pytest.raises(MicrodataError, match="unknown format 'xls'"):
        dc.read_microdata(odd, format="xls")


@for_all_rows("content", ["parquet", "csv", "csv.gz", "arrow", "duckdb"])
@for_all_rows("name", ["parquet", "csv", "arrow", "duckdb", "dta", "sav"])
def test_a_file_that_is_not_what_its_name_says(
    written: dict[str, Path], tmp_path: Path, content: str, name: str
) -> None:
    if content.split(".", maxsplit=1)[0] == name:
        return
    wrong = tmp_path / f"wrong.{name}"
    wrong.write_bytes(written[content].read_bytes())
    with pytest.raises(MicrodataError, match="looks like") as caught:
        dc.read_microdata(wrong)
    assert caught.value.code == "file-content"


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"PK\x03\x04workbook", 'format = "excel"'),
        ("sex;age\n1;2".encode("utf-16"), 'encoding = "utf-16"'),
        ("straße;alter\n1;2".encode("latin-1"), 'encoding = "cp1252"'),
        (b"SQLite format 3\0", "sqlite:///"),
        (b"\xff\xff\xff\xff\0\0", "Arrow file"),
    ],
)
def test_usual_mistakes_have_a_hint(tmp_path: Path, content: bytes, hint: str) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(content)
    with pytest.raises(MicrodataError, match=hint):
        dc.read_microdata(file)


def test_missing_empty_and_cut_files(written: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(MicrodataError, match="file not found"):
        dc.read_microdata(tmp_path / "none.csv")
    (tmp_path / "empty.csv").touch()
    with pytest.raises(MicrodataError, match="is empty"):
        dc.read_microdata(tmp_path / "empty.csv")
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(written["parquet"].read_bytes()[:-20])
    with pytest.raises(MicrodataError, match="the Parquet file is truncated"):
        dc.read_microdata(cut)
    cut.write_bytes(b"PAR1 nothing of the kind PAR1")
    with pytest.raises(MicrodataError, match="cannot be read"):
        dc.read_microdata(cut)
    packed = tmp_path / "cut.csv.gz"
    packed.write_bytes(written["csv.gz"].read_bytes()[:-12])
    with pytest.raises(MicrodataError) as caught:
        dc.read_microdata(packed)
    assert caught.value.code == "file-content"


def test_folders_and_patterns_of_parquet_parts(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    with pytest.raises(MicrodataError, match="no Parquet files"):
        dc.read_microdata(folder)
    for at in (2, 0, 1):
        PEOPLE.slice(at, 1).write_parquet(folder / f"part-{at}.parquet")
    (folder / "_SUCCESS").touch()
    assert rows(dc.read_microdata(folder)).equals(PEOPLE)
    assert rows(dc.read_microdata(folder / "part-[01].parquet")).equals(PEOPLE.head(2))
    with pytest.raises(MicrodataError, match="no Parquet files"):
        dc.read_microdata(folder / "*.pqt")
    (folder / "part-3.parquet").write_text("a,b")
    with pytest.raises(MicrodataError, match=r"part-3\.parquet"):
        dc.read_microdata(folder)
    PEOPLE.write_csv(tmp_path / "a.csv")
    with pytest.raises(MicrodataError, match="several parts"):
        dc.read_microdata(tmp_path / "*.csv")


def test_values_in_folder_names_stay_texts(tmp_path: Path) -> None:
    for code in ("01", "02"):
        folder = tmp_path / "people" / f"region={code}"
        folder.mkdir(parents=True)
        pl.DataFrame({"age": [int(code)]}).write_parquet(folder / "0.parquet")
    read = rows(dc.read_microdata(tmp_path / "people")).sort("age")
    assert read.to_dict(as_series=False) == {"age": [1, 2], "region": ["01", "02"]}


def test_parts_with_other_columns_are_an_error(tmp_path: Path) -> None:
    PEOPLE.write_parquet(tmp_path / "0.parquet")
    PEOPLE.drop("rent").write_parquet(tmp_path / "1.parquet")
    with pytest.raises(MicrodataError, match=r"1\.parquet: its columns"):
        dc.read_microdata(tmp_path)


def test_brackets_in_a_file_name_are_no_pattern(tmp_path: Path) -> None:
    for name in ("people[1].parquet", "people[1].csv"):
        PEOPLE.write_parquet(tmp_path / name) if name.endswith("t") else PEOPLE.write_csv(
            tmp_path / name
        )
        assert rows(dc.read_microdata(tmp_path / name)).equals(PEOPLE)


def test_frames_pass_through_and_take_no_options() -> None:
    assert dc.read_microdata(PEOPLE).to_native() is PEOPLE
    for options in ({"format": "csv"}, {"table": "t"}, {"query": "q"}, {"text": ["age"]}):
        with pytest.raises(MicrodataError, match="do not apply"):
            dc.read_microdata(PEOPLE, **options)  # type: ignore[arg-type]
    with pytest.raises(MicrodataError, match="not a data frame of records"):
        dc.read_microdata(17)


def test_database_tables_and_queries(written: dict[str, Path]) -> None:
    file = written["duckdb"]
    assert rows(dc.read_microdata(file, table="people")).equals(PEOPLE)
    query = "select age from people where age > 10"
    assert rows(dc.read_microdata(file, query=query)).rows() == [(99,)]
    for options, message in [
        ({}, "tables: people"),
        ({"table": "people", "query": query}, "either a table or a query"),
        ({"table": "persons"}, "tables: people"),
        ({"table": "people; drop table people"}, "not found"),
        ({"query": "select nothing from people"}, "the query is not valid"),
        ({"query": "select 1; select 2"}, "the query must be one SELECT statement"),
        ({"query": "drop table people"}, "the query must be one SELECT statement"),
        ({"table": "people", "text": ["age"]}, "do not apply"),
    ]:
        with pytest.raises(MicrodataError, match=message):
            dc.read_microdata(file, **options)  # type: ignore[arg-type]
    with pytest.raises(MicrodataError, match="do not apply"):
        dc.read_microdata(written["csv"], table="people")


def test_an_open_connection_is_a_source(written: dict[str, Path]) -> None:
    with duckdb.connect() as connection:
        connection.execute('create schema s; create table s."a.b" as select 1 as x')
        read = dc.read_microdata(connection, table="s.a.b")
        assert rows(read).rows() == [(1,)]


def test_a_damaged_database(tmp_path: Path) -> None:
    file = tmp_path / "x.duckdb"
    file.write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 5000)
    with pytest.raises(MicrodataError, match="cannot be opened"):
        dc.read_microdata(file, table="t")
