"""CSV columns get a type only if no spelling is lost, and no line is dropped."""

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import MicrodataError
from discreet.microdata.csv_files import scan_csv
from discreet.microdata.reading_options import ReadingOptions


def read(folder: Path, content: str | bytes, **options: list[str]) -> pl.DataFrame:
    file = folder / "people.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return scan_csv(file, ReadingOptions.of(options)).collect()


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (["1", "-20", "", "0"], pl.Int64),
        (["9223372036854775807"], pl.Int64),
        (["9223372036854775808"], pl.String),
        (["1", "01"], pl.String),
        (["+1"], pl.String),
        ([" 1"], pl.String),
        (["-0"], pl.Float64),
        (["1.5", "2"], pl.Float64),
        (["1.0", "2.55"], pl.Float64),
        (["1.50", "2.25"], pl.Float64),
        (["1e-05", "0.3"], pl.Float64),
        (["0.30000000000000004"], pl.Float64),
        (["0.1234567890123456789"], pl.String),
        (["1e999"], pl.String),
        (["9007199254740993", "1.5"], pl.String),
        (["1.1", "1.10"], pl.String),
        (["1", "1.0"], pl.String),
        (["01.5"], pl.String),
        ([".5"], pl.String),
        (["1,5"], pl.String),
        (["1", "x"], pl.String),
        (["nan"], pl.String),
        (["NA", "1"], pl.String),
        (["true"], pl.String),
        (["2011-05-09"], pl.String),
        (["", ""], pl.String),
    ],
)
def test_types_lose_nothing(tmp_path: Path, fields: list[str], kind: type[pl.DataType]) -> None:
    lines = "".join(f"{field};x\n" for field in fields)
    column = read(tmp_path, f"a;b\n{lines}")["a"]
    assert column.dtype == kind
    if kind == pl.String:
        assert column.to_list() == [field or None for field in fields]
    else:
        number = int if kind == pl.Int64 else float
        assert column.to_list() == [number(field) if field else None for field in fields]


def test_the_last_line_decides_as_much_as_the_first(tmp_path: Path) -> None:
    content = "code\n" + "1\n" * 200_000 + "01\n"
    read_back = read(tmp_path, content)["code"]
    assert read_back.dtype == pl.String
    assert read_back[-1] == "01"


def test_columns_named_as_text_stay_text(tmp_path: Path) -> None:
    frame = read(tmp_path, "id,age\n1,2\n", text=["id"])
    assert frame.rows() == [("1", 2)]
    with pytest.raises(MicrodataError) as caught:
        read(tmp_path, "id,age\n1,2\n", text=["ID", "sex"])
    assert [problem.where for problem in caught.value.problems] == ["ID", "sex"]


def test_empty_fields_are_missing_values(tmp_path: Path) -> None:
    frame = read(tmp_path, 'a,b,c\n,"",x\n1,y,\n')
    assert frame.rows() == [(None, None, "x"), (1, "y", None)]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"\xef\xbb\xbfa;b\r\n1;x\r\n2;y\r\n", [(1, "x"), (2, "y")]),
        (b'"a,x"\tb\n1\t"p\tq"\n', [(1, "p\tq")]),
        (b"a\n1\n\n3\n", [(1,), (None,), (3,)]),
        (b'a,b\n1,"two\nlines"\n2,"say ""hi"""\n', [(1, "two\nlines"), (2, 'say "hi"')]),
        (b'"a\nb",c\n1,2\n', [(1, 2)]),
        (b"a,b\n1,2", [(1, 2)]),
        (b"a,b\n", []),
    ],
)
def test_usual_spellings_of_csv(tmp_path: Path, content: bytes, rows: list[tuple[object]]) -> None:
    assert read(tmp_path, content).rows() == rows


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("a,b\n1,2\n3\n", [3]),
        ("a,b\n1,2,3\n4,5\n6\n", [2, 4]),
        ("a,b\n1,2\n\n3,4\n", [3]),
        ("a,b\n1,2\n\n", [3]),
        ('a,b\n1,"x\ny"\n3\n', [4]),
    ],
)
def test_ragged_lines_are_named(tmp_path: Path, content: str, lines: list[int]) -> None:
    with pytest.raises(MicrodataError) as caught:
        read(tmp_path, content)
    assert caught.value.code == "csv-ragged"
    places = [problem.where.rpartition("line ")[2] for problem in caught.value.problems]
    assert places == [str(line) for line in lines]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("a,b,a\n1,2,3\n", "duplicate-columns"),
        ("a,,b\n1,2,3\n", "csv-header"),
        ("\n1\n", "csv-header"),
        ("a,b;c\n1,2\n", "csv-separator"),
        ('a,b\n1,"open\n', "csv"),
        ('a,b\n1,"x" y\n', "csv"),
        (b"a,b\n" + "1,ä\n".encode("latin-1"), "file-content"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, content: str | bytes, code: str) -> None:
    with pytest.raises(MicrodataError) as caught:
        read(tmp_path, content)
    assert caught.value.code == code


def test_errors_do_not_quote_records(tmp_path: Path) -> None:
    for content in ('a,b\n1,"confidential\n', "a,b\nconfidential\n", 'a,b\n1,"x" confidential\n'):
        with pytest.raises(MicrodataError) as caught:
            read(tmp_path, content)
        assert "confidential" not in str(caught.value)


FIELD = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=8),
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(str),
    st.sampled_from(["01", "1.10", "1.1", "1e3", "-0", '"', ",", "\n"]),
)


@given(st.lists(st.lists(FIELD, min_size=3, max_size=3), min_size=1, max_size=6))
def test_different_fields_stay_different(tmp_path: Path, rows: list[list[str]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerows([["a", "b", "c"], *rows])
    frame = read(tmp_path, text.getvalue())
    assert frame.height == len(rows)
    for at, name in enumerate(frame.columns):
        written = [row[at] or None for row in rows]
        if frame[name].dtype == pl.String:
            assert frame[name].to_list() == written
        else:
            assert [None if field is None else float(field) for field in written] == frame[
                name
            ].to_list()
