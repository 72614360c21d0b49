"""What is said of a file holds, alike on every engine; nothing else is changed or dropped."""

import datetime
import gzip
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import polars as pl
import pytest

import discreet as dc
from discreet.errors import MicrodataError
from discreet.microdata.reading_options import APPLIES, ReadingOptions
from discreet.microdata.sql_databases import is_url, shown_url
from discreet.release.programme.sources import RecordsEntry
from tests.helpers.engines import rows
from tests.helpers.rows import for_all_rows

OFFICE = (
    "Statistisches Amt;;;;\n"
    "id; Gemeinde ;Einkommen;Geburt;GESCHL\n"
    "1;01; 1.234,50 ;31.12.1990;1\n"
    "2;02;NA;1.2.2000;2\n"
    "3; Größe ;-3,5;01.02.2000;9\n"
    "4;;0;;1\n"
)
SAID: dict[str, Any] = {
    "encoding": "cp1252",
    "separator": ";",
    "skip": 1,
    "trim": True,
    "decimal": ",",
    "thousands": ".",
    "null_values": {"income": ["NA"], "sex": ["9"]},
    "rename": {"Gemeinde": "region", "Einkommen": "income", "Geburt": "born", "GESCHL": "sex"},
    "types": {"income": "number", "born": "date:%d.%m.%Y"},
    "recode": {"sex": {"1": "m", "2": "w"}},
}
MEANT = pl.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "region": ["01", "02", "Größe", None],
        "income": [1234.5, None, -3.5, 0.0],
        "born": [
            datetime.date(1990, 12, 31), datetime.date(2000, 2, 1), datetime.date(2000, 2, 1), None
        ],
        "sex": ["m", "w", None, "m"],
    }
)  # fmt: skip


def written(folder: Path, text: str, encoding: str = "utf-8", name: str = "people.csv") -> Path:
    (folder / name).write_bytes(text.encode(encoding))
    return folder / name


def test_a_file_of_an_office_is_read_as_it_is_meant(tmp_path: Path) -> None:
    file = written(tmp_path, OFFICE, "cp1252")
    assert rows(file, **SAID).equals(MEANT)
    packed = tmp_path / "people.csv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert rows(packed, **SAID).equals(MEANT)


def test_without_a_word_nothing_is_changed(tmp_path: Path) -> None:
    file = written(tmp_path, "a;b;c\n 1;NA;1,5\n2;x;2\n")
    assert rows(file).rows() == [(" 1", "NA", "1,5"), ("2", "x", "2")]


@pytest.mark.parametrize(
    "encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "cp850", "utf-16-le"]
)
def test_every_encoding_that_is_stated(tmp_path: Path, encoding: str) -> None:
    file = written(tmp_path, "größe;b\nä;1\n", encoding)
    assert rows(file, encoding=encoding).rows(named=True) == [{"größe": "ä", "b": 1}]


@pytest.mark.parametrize(
    ("said", "fields", "kind", "values"),
    [
        ({"decimal": ","}, ["1,5", "2"], pl.Float64, [1.5, 2.0]),
        ({"decimal": ","}, ["1,10", "1,1"], pl.String, ["1,10", "1,1"]),
        ({"decimal": ","}, ["1.5", "2"], pl.String, ["1.5", "2"]),
        ({"decimal": ","}, ["01.234"], pl.String, ["01.234"]),
        ({"decimal": ",", "thousands": "."}, ["1.234", "12"], pl.Int64, [1234, 12]),
        ({"decimal": ",", "thousands": "."}, ["1.23"], pl.String, ["1.23"]),
        ({"decimal": ",", "thousands": "."}, ["1.234,5"], pl.Float64, [1234.5]),
        ({"thousands": "'"}, ["1'234.5", "-1"], pl.Float64, [1234.5, -1.0]),
        ({"thousands": "\u00a0"}, ["1\u00a0234"], pl.Int64, [1234]),
        ({"types": {"a": "number"}}, ["+.5", "1.", "007", "1e3"], pl.Float64, [0.5, 1.0, 7.0, 1e3]),
        ({"types": {"a": "integer"}}, ["007", "+3", "-0"], pl.Int64, [7, 3, 0]),
        ({"types": {"a": "text"}}, ["1", "2"], pl.String, ["1", "2"]),
        ({"trim": True}, [" 1", "2 ", "  "], pl.Int64, [1, 2, None]),
        ({"null_values": ["NA", "."]}, ["NA", ".", "3"], pl.Int64, [None, None, 3]),
        ({"recode": {"a": {"1": "x", "9": ""}}}, ["1", "9", "2"], pl.String, ["x", None, "2"]),
        ({"types": {"a": "date"}}, ["2024-02-29"], pl.Date, [datetime.date(2024, 2, 29)]),
    ],
)
def test_each_option(
    tmp_path: Path, said: dict[str, Any], fields: list[str], kind: Any, values: list[Any]
) -> None:
    file = written(tmp_path, "a;b\n" + "".join(f"{field};x\n" for field in fields))
    column = rows(file, separator=";", **said)["a"]
    assert column.dtype == kind
    assert column.to_list() == values


def test_files_without_header_and_with_two_lines_of_it(tmp_path: Path) -> None:
    bare = written(tmp_path, "1,m\n2,w\n")
    assert rows(bare, header=0, columns=["id", "sex"]).rows() == [(1, "m"), (2, "w")]
    double = written(tmp_path, "Person,,Region\nid,sex,\n1,m,01\n")
    assert rows(double, header=2).columns == ["Person id", "sex", "Region"]


@pytest.mark.parametrize(
    ("text", "said", "place", "number"),
    [
        ("a;b\n1;2\n1;x\n1;y\n", {"types": {"b": "integer"}}, "line 3, column 'b'", "2 values are"),
        ("t\n\na;b\n1;x\n", {"types": {"b": "number"}, "skip": 2}, "line 4, column 'b'", "1 value"),
        ('a;b\n"x\ny";1\n1;z\n', {"types": {"b": "number"}}, "record 2, column 'b'", "1 value is"),
        ("a;b\n1;2024-02-30\n", {"types": {"b": "date"}}, "line 2, column 'b'", "no date"),
        ("a;b\n1;99999999999999999999\n", {"types": {"b": "integer"}}, "line 2", "no whole"),
        ("a;b\n1;0.12345678901234567890\n", {"types": {"b": "number"}}, "line 2", "no number"),
        ("a;b\n1;01.01.00\n", {"types": {"b": "date:%d.%m.%Y"}}, "line 2, column 'b'", "no date"),
        ("a;b\n1;9007199254740993\n", {"types": {"b": "number"}}, "line 2", "no number"),
        ("a;b\n1;nan\n", {"types": {"b": "number"}}, "line 2, column 'b'", "no number"),
    ],
)
def test_errors_name_row_and_column_and_no_value(
    tmp_path: Path, text: str, said: dict[str, Any], place: str, number: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(MicrodataError) as caught:
        dc.read_microdata(file, separator=";", **said)
    assert caught.value.code == "value-type"
    assert caught.value.where == f"{file}, {place}" or place in caught.value.where
    assert number in str(caught.value)
    shown = "shows it; the first is"
    assert shown not in str(caught.value)
    with pytest.raises(MicrodataError, match="the first is '"):
        dc.read_microdata(file, separator=";", show_values=True, **said)


def test_no_content_of_a_column_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, "id;income\n1;secret qx\n2;5\n")
    with pytest.raises(MicrodataError) as caught:
        dc.read_microdata(file, types={"income": "number"})
    assert "secret" not in str(caught.value)
    assert "qx" not in str(caught.value)


def test_a_point_under_decimal_commas_is_asked_about(tmp_path: Path) -> None:
    file = written(tmp_path, "id;a\n1;12\n2;1.234\n3;5,5\n")
    with pytest.raises(MicrodataError, match="line 3, column 'a'") as caught:
        dc.read_microdata(file, decimal=",")
    assert caught.value.code == "ambiguous-number"
    assert rows(file, decimal=",", thousands=".")["a"].to_list() == [12.0, 1234.0, 5.5]
    assert rows(file, decimal=",", text=["a"])["a"].to_list() == ["12", "1.234", "5,5"]


def test_hints_say_what_is_missing(tmp_path: Path) -> None:
    for field, hint in [("1,5", 'decimal = ","'), (" 1.5 ", "trim = true"),
                        ("1.234,5", 'decimal = ",", thousands = "."'),
                        ("none", "null_values = { a =")]:  # fmt: skip
        file = written(tmp_path, f"id;a\n1;{field}\n")
        with pytest.raises(MicrodataError) as caught:
            dc.read_microdata(file, types={"a": "number"}, separator=";")
        assert hint in caught.value.hint


@for_all_rows(
    ("said", "where"),
    [
        ({"decimal": ";"}, "decimal"),
        ({"decimal": ",", "thousands": ","}, "thousands"),
        ({"thousands": "x"}, "thousands"),
        ({"encoding": "klingon"}, "encoding"),
        ({"encoding": "base64"}, "encoding"),
        ({"separator": ";;"}, "separator"),
        ({"separator": '"'}, "separator"),
        ({"skip": -1}, "skip"),
        ({"header": 0}, "columns"),
        ({"columns": ["a"]}, "columns"),
        ({"types": {"a": "numeric"}}, "types"),
        ({"types": {"a": "date:%d.%m"}}, "types"),
        ({"types": {"a": "number"}, "text": ["a"]}, "types"),
        ({"rename": {"a": "c", "b": "c"}}, "rename"),
        ({"recode": {"a": {"1": "x"}}, "types": {"a": "number"}}, "recode"),
        ({"text": "a"}, "text"),
        ({"trim": "yes"}, "trim"),
        ({"null_values": [9]}, "null_values"),
        ({"encodign": "utf-8"}, "encodign"),
    ],
)
def test_options_that_cannot_be_are_refused_by_key(said: dict[str, Any], where: str) -> None:
    with pytest.raises(MicrodataError) as caught:
        ReadingOptions.of(said)
    assert (caught.value.code, caught.value.where) == ("option", where)
    assert caught.value.hint or where == "skip"


@pytest.mark.parametrize("key", ["rename", "types", "recode", "text", "null_values"])
def test_columns_that_are_not_there_are_all_named(tmp_path: Path, key: str) -> None:
    file = written(tmp_path, "a;b\n1;2\n")
    said: Any = {"rename": {"q": "c"}, "types": {"q": "text"}, "recode": {"q": {"1": "2"}},
                 "text": ["q"], "null_values": {"q": ["1"]}}  # fmt: skip
    with pytest.raises(MicrodataError) as caught:
        dc.read_microdata(file, trim=True, **{key: said[key]})
    assert caught.value.code == "missing-column"
    assert "'q'" in str(caught.value)


def test_after_renaming_names_are_the_new_ones(tmp_path: Path) -> None:
    file = written(tmp_path, "a;b\n1;2\n")
    with pytest.raises(MicrodataError, match="its name is 'c' after renaming"):
        dc.read_microdata(file, rename={"a": "c"}, types={"a": "text"})
    with pytest.raises(MicrodataError, match="after renaming, two columns have the name 'b'"):
        dc.read_microdata(file, rename={"a": "b"})


SOURCE = pl.DataFrame(
    {
        "GESCHL": [" 1", "2\u00a0", "9", None, "x"],
        "size": [1, 99, 3, 4, 99],
        "income": [1.5, -1.0, 2.0, None, 7.25],
    }
)
EVERYWHERE: dict[str, Any] = {
    "rename": {"GESCHL": "sex"},
    "trim": True,
    "null_values": {"sex": ["9"], "size": ["99"], "income": ["-1.0"]},
    "recode": {"sex": {"1": "m", "2": "w", "x": ""}},
}


def _engines(folder: Path) -> dict[str, Any]:
    SOURCE.write_parquet(folder / "a.parquet")
    SOURCE.write_ipc(folder / "a.arrow")
    SOURCE.write_csv(folder / "a.csv")
    connection = duckdb.connect(str(folder / "a.duckdb"))
    connection.register("given", SOURCE.to_arrow())
    connection.execute("create table people as select * from given")
    connection.close()
    return {
        "polars": SOURCE, "plan": SOURCE.lazy(), "pandas": SOURCE.to_pandas(),
        "pyarrow": SOURCE.to_arrow(), "parquet": folder / "a.parquet",
        "arrow": folder / "a.arrow", "csv": folder / "a.csv", "duckdb": folder / "a.duckdb",
    }  # fmt: skip


def test_what_is_said_acts_the_same_on_every_engine(tmp_path: Path) -> None:
    tables = {}
    for engine, source in _engines(tmp_path).items():
        more = {"table": "people"} if engine == "duckdb" else {}
        read = dc.read_microdata(source, **EVERYWHERE, **more)
        tables[engine] = dc.tabulate(read, by=["sex", "size"], values=["income"]).to_polars()
    first = tables.pop("polars")
    assert set(first["sex"]) == {"Total", "m", "w", "Missing"}
    assert [engine for engine, table in tables.items() if not table.equals(first)] == []


def test_types_are_for_files_and_kinds_of_frames_stay(tmp_path: Path) -> None:
    read = dc.read_microdata(SOURCE.to_pandas(), trim=True)
    assert nw.to_native(read).__class__.__module__.startswith("pandas")
    with pytest.raises(
        MicrodataError, match="convert other columns in the query, or before"
    ) as caught:
        dc.read_microdata(SOURCE, types={"size": "text"}, decimal=",")
    assert [problem.where for problem in caught.value.problems] == ["decimal", "types"]
    assert rows(_engines(tmp_path)["parquet"], types={"size": "text"})["size"][0] == "1"


def test_text_in_parquet_can_be_said_to_be_numbers(tmp_path: Path) -> None:
    pl.DataFrame({"a": ["01", "2"], "b": [1.0, 2.0]}).write_parquet(tmp_path / "a.parquet")
    frame = rows(tmp_path / "a.parquet", types={"a": "integer", "b": "text"})
    assert frame.rows() == [(1, "1"), (2, "2")]
    with pytest.raises(MicrodataError, match=r"a\.parquet, record 1, column 'a'"):
        dc.read_microdata(tmp_path / "a.parquet", types={"a": "date"})


def test_programmes_and_python_have_the_same_keys() -> None:
    known = set(ReadingOptions.known())
    assert known <= set(RecordsEntry.model_fields)
    assert set().union(*APPLIES.values()) == known


def test_urls_show_neither_user_nor_password() -> None:
    for url in ("postgresql://me:p@ss@host:5432/census", "mssql+pyodbc://me:pass@host/census?p=x"):
        assert is_url(url)
        assert "pass" not in shown_url(url)
        assert "me" not in shown_url(url)
        assert shown_url(url).endswith(("host:5432/census", "host/census"))
    for url in ("pg://me:a?pass@host/db", "pg://host/db?password=a@pass", "pg://me:a#pass@host/db"):
        assert shown_url(url) == "pg://…"
