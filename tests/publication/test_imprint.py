"""The imprint stands in every format that has a place for it; digests stand in metadata."""

import dataclasses
import json
from zipfile import ZipFile

import polars as pl
import pytest
from openpyxl import load_workbook

from discreet.publication import read_exact, write, write_report, write_workbook
from discreet.publication.examples import census_example, square_example
from discreet.tables import Imprint

DIGEST = "d1" * 32
IMPRINT = Imprint(
    publisher={"en": "Office of Numbers", "de": "Zahlenamt"},
    source={"en": "Census 2022"},
    reference_date={"en": "2022-05-15"},
    next_update={"en": "2032-01-31"},
    licence={"en": "CC BY 4.0"},
    contact={"en": "census@example.org"},
    disclaimer={"en": "No liability & no warranty."},
)


def stated(table):
    """A table with an imprint and a digest."""
    origin = dataclasses.replace(table.provenance, digests={"data": DIGEST}, time="2026-03-01")
    return dataclasses.replace(table, imprint=IMPRINT, provenance=origin)


def visible(text: str) -> str:
    """A page without its head and its metadata."""
    return text[max(text.find("<body>"), text.rfind("</metadata>")) :]


@pytest.mark.parametrize("name", ["t.html", "t.svg", "t.atlas.html", "index.html"])
def test_pages_and_pictures_print_the_imprint_but_no_digest(name, tmp_path):
    table = stated(square_example() if name in ("t.svg", "t.atlas.html") else census_example())
    if name == "index.html":
        path = write_report([table], tmp_path / name, title="x", language="de")
    else:
        path = write(table, tmp_path / name, language="de")
    text = path.read_text("utf-8")
    shown = (
        "Zahlenamt",
        "Census 2022",
        "15. Mai 2022",
        "31. Januar 2032",
        "CC BY 4.0",
        "census@example.org",
        "No liability &amp; no warranty.",
        "1. März 2026",
    )
    assert [part for part in shown if part not in text] == []
    assert DIGEST not in visible(text)
    assert (DIGEST in text) is (name in ("t.html", "t.svg"))


def test_formats_for_programs_hold_the_imprint(tmp_path):
    table = stated(census_example())
    whole = json.loads(write(table, tmp_path / "t.json").read_text("utf-8"))
    assert whole["imprint"]["publisher"] == "Office of Numbers"
    assert whole["imprint"]["reference_date"] == "2022-05-15"
    stat = json.loads(write(table, tmp_path / "t.jsonstat.json").read_text("utf-8"))
    assert stat["source"] == "Census 2022"
    assert stat["extension"]["imprint"]["licence"] == "CC BY 4.0"
    metadata = pl.read_parquet_metadata(write(table, tmp_path / "t.parquet"))
    assert json.loads(metadata["imprint"])["contact"] == "census@example.org"
    assert read_exact(write(table, tmp_path / "t.exact.parquet")).imprint == IMPRINT
    assert read_exact(write(census_example(), tmp_path / "u.exact.parquet")).imprint is None


def test_px_has_its_own_keywords(tmp_path):
    text = write(stated(census_example()), tmp_path / "t.px").read_text("utf-8")
    for line in ('NEXT-UPDATE="20320131 00:00";', 'CONTACT="census@example.org";',
                 'REFPERIOD="2022-05-15";', f'INFO="data {DIGEST}";'):  # fmt: skip
        assert line in text
    source = text[text.index("SOURCE=") : text.index("INFO=")]
    assert "Office of Numbers" in source
    assert DIGEST not in source


def test_workbooks_have_digests_in_their_properties(tmp_path):
    table = stated(census_example())
    path = write(table, tmp_path / "t.xlsx")
    book = load_workbook(path)
    cells = [str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row]
    assert {"Publisher", "Office of Numbers", "15 May 2022"} <= set(cells)
    assert not any(DIGEST in cell for cell in cells)
    assert [(item.name, item.value) for item in book.custom_doc_props.props] == [
        ("digest data", DIGEST)
    ]
    assert path.read_bytes() == write(table, tmp_path / "u.xlsx").read_bytes()
    many = write_workbook([table], tmp_path / "all.xlsx", title="x")
    assert b"Office of Numbers" in b"".join(map(ZipFile(many).read, ZipFile(many).namelist()))
