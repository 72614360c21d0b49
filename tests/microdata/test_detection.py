"""What is found out about a file can be pasted, reads it, and is never a guess."""

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.errors import MicrodataError
from tests.helpers.engines import rows

OFFICE = (
    "Statistisches Amt\n\n"
    "id;Gemeinde; Straße ;Einkommen;Geburt;sex\n"
    "1;01; Ring;1.234,50;31.12.1990;m\n"
    "2;02;Weg ;NA;01.02.2000;w\n"
    "3;02;Weg;-3,5;01.02.2000;NA\n"
)


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    (folder / "people.csv").write_bytes(text.encode(encoding))
    return folder / "people.csv"


def test_the_file_of_an_office_is_understood(tmp_path: Path) -> None:
    path = written(tmp_path, OFFICE, "latin-1")
    found = dc.detect_reading(path)
    assert not found.problems
    said = tomllib.loads(found.toml())["data"]
    assert said == {
        "source": "people.csv",
        "null_values": {"Einkommen": ["NA"]},
        "decimal": ",",
        "thousands": ".",
        "encoding": "latin-1",
        "separator": ";",
        "trim": True,
        "skip": 2,
        "text": ["Gemeinde"],
        "types": {"Einkommen": "number"},
    }
    assert found.columns["Gemeinde"] == "text; leading zeros kept"
    assert found.columns["Geburt"] == "text; dates"
    assert any("'NA' is read as a code" in text for text in found.remarks)
    del said["source"]
    assert rows(path, **said).equals(rows(path, detect=True))
    assert rows(path, **said)["Einkommen"].to_list() == [1234.5, None, -3.5]


def test_a_clean_file_needs_no_word(tmp_path: Path) -> None:
    found = dc.detect_reading(written(tmp_path, "id,sex,income\n1,m,1.5\n2,w,2.25\n"))
    assert found.toml() == '[data]\nsource = "people.csv"\n'


def test_no_value_is_shown(tmp_path: Path) -> None:
    path = written(tmp_path, "id;name;a\n77001;Zacharias;1.234\n77002;Yvonne;2.345\n")
    found = dc.detect_reading(path)
    for text in (found.text(), str(found.described()), *map(str, found.problems)):
        assert not any(value in text for value in ("77001", "Zacharias", "1.234", "2.345"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id;a\n1;1.234\n2;5.678\n", "thousands or decimals"),
        ("id;a\n1;1,234\n2;5,678\n", "thousands or decimals"),
        ("id;a;b\n1;1,5;1.5\n", "decimals have a comma in a and a point in b"),
        ("id;a;b\n1;1,5;1.234\n", "thousands or decimals"),
        (
            "id;a\n1;10.1\n2;10.10\n",
            "the number of decimals varies, as in codes such as 1.1 and 1.10",
        ),
        ("id;a\n1;1 234\n2;1'234\n", "several thousands separators occur"),
        ("1;2;3\n4;5;6\n", "numbers; it may not be a header"),
        ("a,b;c\n1,2;3\n", "the separator may be"),
    ],
)
def test_what_can_be_read_in_two_ways_is_asked(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    found = dc.detect_reading(path)
    assert any(words in str(problem) for problem in found.problems), found.problems
    assert all(problem.hint for problem in found.problems)
    assert "NOT CLEAR" in found.text()
    with pytest.raises(MicrodataError):
        dc.read_microdata(path, detect=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id;a\n1;1.234\n2;5.678\n", {"decimal": "."}),
        ("id;a\n1;1.234\n2;5.678\n", {"decimal": ",", "thousands": "."}),
        ("id;a;b\n1;1,5;1.234\n", {"text": ["b"]}),
        ("id;a\n1;10.1\n2;10.10\n", {"types": {"a": "number"}}),
        ("1;2;3\n4;5;6\n", {"header": 0, "columns": ["a", "b", "c"]}),
        ("a,b;c\n1,2;3\n", {"separator": ";"}),
    ],
)
def test_what_is_stated_is_not_asked(tmp_path: Path, text: str, said: dict[str, Any]) -> None:
    assert not dc.detect_reading(written(tmp_path, text), **said).problems


@pytest.mark.parametrize(
    ("encoding", "found"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("latin-1", "latin-1"), ("utf-16", "utf-16")],
)
def test_encodings(tmp_path: Path, encoding: str, found: str) -> None:
    path = written(tmp_path, "id;größe\n1;ä\n", encoding)
    assert dc.detect_reading(path).options.encoding == found
    assert rows(path, detect=True)["größe"].to_list() == ["ä"]


def test_euro_and_dashes_are_of_windows(tmp_path: Path) -> None:
    path = written(tmp_path, "id;currency\n1;€\n", "cp1252")
    assert dc.detect_reading(path).options.encoding == "cp1252"


def test_other_formats_say_their_types(tmp_path: Path) -> None:
    pl.DataFrame({"id": [1, 2], "a": ["1", "22"], "z": ["01", None]}).write_parquet(
        tmp_path / "a.parquet"
    )
    found = dc.detect_reading(tmp_path / "a.parquet")
    assert dict(found.columns) == {
        "id": "whole numbers", "a": "text", "z": "text; leading zeros kept; 1 empty"
    }  # fmt: skip
    assert found.remarks == ('a: numbers stored as text; types = { a = "number" }',)


@pytest.mark.parametrize(
    ("source", "said"), [("file", {"options": {"separator": ";"}}), (None, {}), (5, {})]
)
def test_what_are_no_options_and_no_file_is_named(tmp_path, source, said) -> None:
    file = tmp_path / "a.csv"
    file.write_text("id;x\n1;2\n")
    with pytest.raises(MicrodataError):
        dc.detect_reading(file if source == "file" else source, **said)


def test_a_tick_in_a_box_is_a_code(tmp_path: Path) -> None:
    """A column of marks alone says yes; beside numbers the same mark says that one is missing."""
    file = tmp_path / "boxes.csv"
    file.write_text("id,ticked,income,unknown\n1,x,100,NA\n2,,x,\n3,x,300,NA\n")
    found = dc.detect_reading(file)
    assert found.options.null_values == {"income": ("x",), "unknown": ("NA",)}
    read = dc.read_microdata(file, detect=True).lazy().collect().to_native()
    assert read["ticked"].to_list() == ["x", None, "x"]
    assert read["income"].to_list() == [100, None, 300]
