"""Uploads: files as people have them are read as the command line reads them; nothing is kept."""

import importlib
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import polars as pl
import pytest

from discreet import tabulate, with_record_keys
from discreet.errors import DiscreetError
from discreet.operations import OPERATIONS
from discreet_service.cells import LAYOUTS, RowLimit, read_upload
from tests.helpers.rows import for_all_rows

CELLS = pl.DataFrame(
    {"sex": ["m", "w", "Total"], "age": ["01", "02", "Total"], "v": [1.5, 2.25, 1234.75]}
)
ROWS = [("m", "01", "1.5"), ("w", "02", "2.25"), ("Total", "Total", "1234.75")]
LIMIT = RowLimit(100)


def _workbook(cells: pl.DataFrame) -> bytes:
    book, content = openpyxl.Workbook(), io.BytesIO()
    for row in [("Table 1",), cells.columns, *cells.rows()]:
        book.active.append(list(row))
    book.save(content)
    return content.getvalue()


def _written(suffix: str, folder: Path) -> bytes:
    """The cells as a file of another program."""
    if suffix == "csv":
        text = CELLS.write_csv(separator=";", decimal_comma=True)
        return text.replace("1234", "1.234").encode("cp1252")
    if suffix == "xlsx":
        return _workbook(CELLS)
    path = folder / f"cells.{suffix}"
    if suffix == "parquet":
        CELLS.write_parquet(path)
    else:
        pyreadstat: Any = importlib.import_module("pyreadstat")
        write = {"dta": "dta", "sav": "sav", "xpt": "xport"}[suffix]
        getattr(pyreadstat, f"write_{write}")(CELLS.to_pandas(), str(path))
    return path.read_bytes()


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet", "dta", "sav", "xpt"])
def test_files_of_all_programs_have_the_same_rows(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, place = _written(suffix, tmp_path), tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    found = read_upload(content, f"Cells.{suffix.upper()}", "", LIMIT)
    assert (found.columns, found.rows()) == (CELLS.columns, ROWS)
    assert set(found.dtypes) == {pl.String}
    assert list(place.iterdir()) == []


@for_all_rows(
    ("content", "name", "reading", "code", "told"),
    [
        (b"x", "a.exe", "", "unsupported-media-type", "unknown file type"),
        (b"PK\x03\x04 no workbook", "a.xlsx", "", "invalid-body", "a.xlsx: the file cannot"),
        (b"$FL2 no file of SPSS", "a.sav", "", "invalid-body", "a.sav: the file cannot"),
        (b"PAR1 no file PAR1", "a.parquet", "", "invalid-body", "not valid parquet"),
        (b"s,n\nm,1.234\nw,2\n", "a.csv", "", "invalid-body", 'add decimal = "."'),
        (b"s,n\nm,1\n", "a.csv", 'show_values = true', "invalid-input", "unknown option"),
        (b"s,n\nm,1\n", "a.csv", "show_values", "invalid-input", "not valid TOML"),
        (b"s,n\n" + b"m,1\n" * 101, "a.csv", "", "too-many-cells", "too many cells"),
        (",".join(f"c{at}" for at in range(101)).encode() + b"\n" + b"1," * 100 + b"1\n",
         "a.csv", "", "invalid-body", "more than 100 columns"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said(
    content: bytes, name: str, reading: str, code: str, told: str
) -> None:
    with pytest.raises(DiscreetError) as wrong:
        read_upload(content, name, reading, LIMIT)
    assert wrong.value.code == code
    assert told in str(wrong.value)
    assert tempfile.gettempdir() not in str(wrong.value)


def test_what_cannot_be_detected_is_stated() -> None:
    content = "s,n\nm,1.234\nw,2.5\n".encode("utf-16")
    assert read_upload(content, "a.csv", "", LIMIT)["n"].to_list() == ["1.234", "2.5"]
    assert read_upload(b"s,n\nm,1.234\n", "a.csv", 'decimal = ","\nthousands = "."', LIMIT)[
        "n"
    ].to_list() == ["1234"]


def test_totals_of_cells_are_those_of_the_records() -> None:
    """Counts, weights, sums, largest contributions and keys of computed totals, and of records."""
    draw = np.random.default_rng(4)
    records = pl.DataFrame(
        {
            "id": range(400),
            "area": draw.choice(["a", "b", "c"], 400),
            "sex": draw.choice(["m", "w"], 400),
            "pay": draw.integers(1, 900, 400),
        }
    )
    keyed: Any = with_record_keys(records, id="id", secret="totals of an example")
    true = tabulate(
        keyed, ["area", "sex"], record_key="record_key", values=["pay"], contributions=2
    )
    whole = true.to_polars()
    top = true.contributions["pay"].top
    cells = whole.with_columns(first=top[:, 0], second=top[:, 1])
    inner = cells.filter(pl.col("area") != "Total", pl.col("sex") != "Total")
    operation = OPERATIONS["magnitudes"]
    settings = operation.begin.model_copy(update={"top": 2})
    columns: dict[str, Any] = {
        "by": ["area", "sex"], "cell_key": "cell_key", "count": "count", "value": "pay",
    }  # fmt: skip
    layout: Any = LAYOUTS[operation.takes]
    added = layout(**columns, largest=["first", "second"], add_totals=True)
    table = added.source(inner, operation, settings).table
    order = ["area", "sex"]
    assert table.to_polars().sort(order).equals(whole.sort(order).cast(table.to_polars().schema))
    rows = zip(*(whole[name] for name in order), top.tolist(), strict=True)
    expected = {(area, sex): values for area, sex, values in rows}
    places = table.to_polars().select(order).rows()
    assert dict(zip(places, table.contributions["pay"].top.tolist(), strict=True)) == expected
    counted = layout(**{**columns, "cell_key": "record_key"}, records=True)
    again = counted.source(keyed, operation, settings).table
    assert again.to_polars().sort(order).equals(table.to_polars().sort(order))
