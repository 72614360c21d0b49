"""Forty wrong inputs: each message says what is wrong, where, and what to do.

The table is kept in docs/reference/wrong-inputs.md; DISCREET_WRITE=1 writes it anew.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.release import check_release
from tests.helpers.places import ROOT

PAGE = ROOT / "docs" / "reference" / "wrong-inputs.md"
SECRET = "77001"

Case = Callable[[], Any]


def csv(text: str | bytes, **said: Any) -> Case:
    def read() -> None:
        Path("firms.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        dc.read_microdata("firms.csv", **said)

    return read


def detect(text: str, **said: Any) -> Case:
    def read() -> None:
        Path("firms.csv").write_text(text, encoding="utf-8")
        dc.detect_reading("firms.csv", **said).stated()

    return read


def named(name: str, content: bytes, **said: Any) -> Case:
    def read() -> None:
        Path(name).write_bytes(content)
        dc.read_microdata(name, **said)

    return read


def sheet(rows: list[list[Any]], *merged: str, other: bool = False, **said: Any) -> Case:
    def read() -> None:
        book = openpyxl.Workbook()
        page = book.active
        assert page is not None
        for row in rows:
            page.append(row)
        for area in merged:
            page.merge_cells(area)
        if other:
            book.create_sheet("Notes").append(["a"])
        book.save("firms.xlsx")
        dc.read_microdata("firms.xlsx", **said)

    return read


def fixed(text: str, described: str | None) -> Case:
    def read() -> None:
        Path("firms.asc").write_text(text, encoding="utf-8")
        Path("firms.rda").unlink(missing_ok=True)
        if described is not None:
            Path("firms.rda").write_text(described, encoding="utf-8")
        dc.read_microdata("firms.asc")

    return read


PROGRAMME = """\
[data]
source = "firms.parquet"
{said}
[suppression]
[rules.all]
minimum_frequency = 3
[variables.region]
codes = ["01", "02"]
[variables.size]
intervals = [0, 10, 50]
[tables.T1]
by = ["region", "size"]
protect = "suppress"
rules = "all"
value = "turnover"
weight = "weight"
formats = ["csv"]
"""


def checked(said: str = "", **columns: list[Any]) -> Case:
    def check() -> None:
        whole = {
            "region": ["01", "02"], "size": [3, 20], "turnover": [1.0, 2.0], "weight": [1.0, 1.0]
        }  # fmt: skip
        pl.DataFrame(whole | columns, strict=False).write_parquet("firms.parquet")
        Path("programme.toml").write_text(PROGRAMME.format(said=said), encoding="utf-8")
        check_release("programme.toml")

    return check


N = {"types": {"turnover": "number"}}
WRONG: dict[str, Case] = {
    "text in a column of numbers": csv(f"id;turnover\n1;5\n2;x{SECRET}\n", **N),
    "decimal commas that nobody mentioned": csv(f"id;turnover\n1;{SECRET},5\n", **N),
    "German thousands": csv("id;turnover\n1;1.234,50\n", **N),
    "blanks around numbers": csv("id;turnover\n1; 5 \n", **N),
    "a word for missing values": csv("id;turnover\n1;5\n2;NA\n", **N),
    "1.234 under decimal commas": csv("id;a\n1;1.234\n", decimal=","),
    "a date in another order": csv("id;born\n1;2001-02-03\n2;31.12.2000\n", types={"born": "date"}),
    "a day that there is not": csv("id;born\n1;31.02.2000\n", types={"born": "date:%d.%m.%Y"}),
    "a whole number with decimals": csv("id;n\n1;1.5\n", types={"n": "integer"}),
    "too many digits for a number: read it as text, or round it": csv(
        "id;turnover\n1;0.123456789012345678901\n", **N
    ),
    "Latin-1 that nobody mentioned": csv("id;größe\n1;2\n".encode("latin-1")),
    "an encoding that it is not": csv("id;größe\n1;2\n".encode("latin-1"), encoding="ascii"),
    "UTF-8 said to be Latin-1": csv("id;größe\n1;2\n", encoding="latin-1"),
    "an encoding that there is not": csv("id;a\n1;2\n", encoding="uft-8"),
    "UTF-16 that nobody mentioned": csv("id;a\n1;2\n".encode("utf-16")),
    "a title above the header": csv("Firms 2026\nid;a\n1;2\n"),
    "a source below the records": csv("id;a\n1;2\nSource: office\n"),
    "cannot read a field as CSV; a quotation mark may be open": csv('id;a\n1;"x\n2;y\n'),
    "a column without a name": csv("id;;b\n1;2;3\n"),
    "two columns of one name": csv("id;a;a\n1;2;3\n"),
    "a header with two separators": csv("id,a;b\n1,2;3\n"),
    "an unknown key": csv("id;a\n1;2\n", seperator=";"),
    "the same mark twice": csv("id;a\n1;2\n", decimal=",", thousands=","),
    "an unknown type": csv("id;a\n1;2\n", types={"a": "float"}),
    "a column that is not there": csv("id;turnover\n1;2\n", types={"turnovr": "number"}),
    "the old name after renaming": csv(
        "id;UMS\n1;2\n", rename={"UMS": "turnover"}, types={"UMS": "number"}
    ),
    "codes for a number": csv(
        "id;turnover\n1;2\n", recode={"turnover": {"1": "2"}}, types={"turnover": "number"}
    ),
    "a sheet for a CSV file": csv("id;a\n1;2\n", sheet="Firms"),
    "a file that is not there": lambda: dc.read_microdata("firm.csv"),
    "an empty file": named("firms.csv", b""),
    "a workbook called CSV": named("firms.csv", b"PK\x03\x04"),
    "an old workbook": named("firms.xlsx", b"\xd0\xcf\x11\xe0"),
    "a page called workbook": named("firms.xlsx", b"<html><table></table></html>"),
    "a file of an unknown kind": named("firms.xyz", b"abc"),
    "a title in a sheet": sheet([["Firms", None], ["id", "a"], [1, 2]]),
    "merged cells among records": sheet([["id", "a"], [1, 2], [2, None]], "B2:B3"),
    "a formula never calculated": sheet([["id", "a"], [1, "=1+1"]]),
    "two sheets": sheet([["id"], [1]], other=True),
    "a sheet that is not there": sheet([["id"], [1]], sheet="Firm"),
    "text in a sheet's column of numbers": sheet([["id", "turnover"], [1, f"x{SECRET}"]], **N),
    "a file of fixed width by itself": fixed("01 12\n", None),
    "a record that is too short": fixed("01 12\n0\n", "region 1 2\nsize 4 2\n  <NUMERIC>\n"),
    "a database that is not there": lambda: dc.read_microdata("sqlite:///none.db"),
    "decimals of two kinds": detect("id;a;b\n1;1,5;1.5\n"),
    "a header that is none": detect("1;2;3\n4;5;6\n"),
    "a region that is not declared": checked(region=["01", "99"]),
    "a size below zero": checked(size=[-1, 20]),
    "a negative weight": checked(weight=[1.0, -float(SECRET)]),
    "a turnover beyond any": checked(turnover=[1e15, 2.0]),
    "a decimal mark that is none": checked(said="decimal = ';'"),
    "a list where a text belongs": checked(said="encoding = ['utf-8']"),
}


def messages(folder: Path) -> dict[str, DiscreetError]:
    """The error of each wrong input."""
    found = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        for name, case in WRONG.items():
            with pytest.raises(DiscreetError) as caught:
                case()
            found[name] = caught.value
    finally:
        os.chdir(before)
    return found


def table(found: dict[str, DiscreetError]) -> str:
    lines = ["| input | where | what | hint |", "|---|---|---|---|"]
    for name, error in found.items():
        for problem in error.problems:
            cells = [problem.where or error.where, problem.what, problem.hint or error.hint]
            told = " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
            lines.append(f"| {name} | {told} |")
    return "\n".join(lines) + "\n"


def test_each_says_what_where_and_what_to_do(tmp_path: Path) -> None:
    assert len(WRONG) >= 40
    found = messages(tmp_path)
    for name, error in found.items():
        for problem in error.problems:
            assert len(problem.what) > 10, name
            assert problem.where or error.where, name
            assert problem.hint or error.hint, (name, str(error))
        assert SECRET not in str(error), name
    made = table(found).replace(str(tmp_path), "…")
    head = PAGE.read_text("utf-8").partition("| input |")[0]
    if os.environ.get("DISCREET_WRITE"):
        PAGE.write_text(head + made, encoding="utf-8")
    assert PAGE.read_text("utf-8") == head + made
