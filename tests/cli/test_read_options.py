"""A newcomer with the files of an office: one command, one protected workbook."""

import datetime
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

import discreet as dc
from discreet.demo import example_perturbation_table
from discreet.microdata import Secret
from tests.helpers.command import run
from tests.helpers.sas_files import write_sas7bdat

PEOPLE = pl.DataFrame(
    {
        "id": range(1, 61),
        "Gemeinde": [f"{1 + at % 4:02}" for at in range(60)],
        "Geschlecht": ["m", "w"] * 30,
        "Einkommen": [None if at % 10 == 3 else 1000.25 * at for at in range(60)],
    }
)


def call(*words: str | Path) -> str:
    done = run(*words)
    assert done.exit_code == 0, done.output + done.stderr
    return done.output


def german(number: float | None) -> str:
    if number is None:
        return "NA"
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def office_csv(folder: Path) -> Path:
    """Semicolons, decimal commas, blanks, "NA", leading zeros, a title, Latin-1."""
    lines = ["Statistisches Amt für Beispiele;;;", "id;Gemeinde;Geschlecht;Einkommen"]
    for id_, place, sex, income in PEOPLE.rows():
        lines.append(f"{id_};{place}; {sex} ;{german(income)}")
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="latin-1")
    return folder / "people.csv"


def office_xlsx(folder: Path) -> Path:
    """A title, a merged header, numbers stored as text, codes by their format, dates."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Personen des Jahres 2026"])
    sheet.append(["id", "Gemeinde", "Geschlecht", "Einkommen", "Geburt"])
    sheet.merge_cells("A1:E1")
    for row, (id_, place, sex, income) in enumerate(PEOPLE.rows(), 3):
        shown = str(id_) if row % 2 else id_
        sheet.append([shown, int(place), sex, income, datetime.date(2000, 1, 1)])
        sheet.cell(row, 2).number_format = "00"
    book.save(folder / "people.xlsx")
    return folder / "people.xlsx"


def office_sas(folder: Path) -> Path:
    columns = {name: PEOPLE[name].to_list() for name in PEOPLE.columns}
    return write_sas7bdat(folder / "people.sas7bdat", columns)


OFFICES: dict[str, Callable[[Path], Path]] = {
    "csv": office_csv, "xlsx": office_xlsx, "sas": office_sas
}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    example_perturbation_table().write("ptable.json")
    Secret.generate().write("secret.key")
    return tmp_path


def cells(path: Path) -> list[tuple[Any, ...]]:
    return list(openpyxl.load_workbook(path).worksheets[0].iter_rows(values_only=True))


LINE = ("--by", "Gemeinde,Geschlecht", "--ptable", "ptable.json", "--id", "id", "--secret",
        "secret.key")  # fmt: skip


@pytest.mark.parametrize("kind", OFFICES)
def test_one_command_from_the_file_to_the_workbook(kind: str, desk: Path) -> None:
    PEOPLE.write_parquet("clean.parquet")
    call("protect", "clean.parquet", *LINE, "--out", "clean.xlsx", "--title", "T")
    file = OFFICES[kind](desk)
    more = ("--out", "table.xlsx", "--title", "T", "--save-programme", "programme.toml")
    call("protect", file, *LINE, "--read", "auto", *more)
    assert cells(desk / "table.xlsx") == cells(desk / "clean.xlsx")
    assert any("01" in row for row in cells(desk / "table.xlsx"))
    call("protect", "programme.toml", "--out", "release")
    assert cells(next((desk / "release").glob("*.xlsx"))) == cells(desk / "clean.xlsx")


@pytest.mark.parametrize("kind", OFFICES)
def test_what_is_found_out_can_be_pasted(kind: str, desk: Path) -> None:
    file = OFFICES[kind](desk)
    text = call("detect", file)
    said = tomllib.loads(text)["data"]
    assert said["source"] == file.name
    (desk / "reading.toml").write_text(text, encoding="utf-8")
    words = ("suppress", file, "--by", "Gemeinde", "--value", "Einkommen", "--rule", "n=3")
    call(*words, "--read", "reading.toml", "--out", "one.csv")
    call(*words, "--read", "auto", "--out", "two.csv")
    assert (desk / "one.csv").read_bytes() == (desk / "two.csv").read_bytes()
    total = pl.read_csv(desk / "one.csv", infer_schema=False).row(0)
    assert f"{round(sum(PEOPLE['Einkommen'].drop_nulls())):d}" in total


def test_every_command_that_reads_records_takes_the_words(desk: Path) -> None:
    file = office_csv(desk)
    words = ("--read", "auto")
    call("keys", "add", file, "--id", "id", "--secret-file", "secret.key", "--out", "k.parquet",
         *words)  # fmt: skip
    assert pl.read_parquet("k.parquet")["Gemeinde"][0] == "01"
    call("tabulate", file, "--by", "Gemeinde", "--out", "c.csv", "--confidential", *words)
    renamed = ("--read", "separator=;", "--read", "skip=1", "--read", "encoding=latin-1")
    more = ("--read", "rename.Gemeinde=region", "--read", "recode.region.01=north")
    call("tabulate", file, "--by", "region", "--out", "d.csv", "--confidential", *renamed, *more)
    assert "north" in (desk / "d.csv").read_text()


def test_values_are_shown_on_demand_only(desk: Path) -> None:
    (desk / "a.csv").write_text("id,income\n1,secret 77\n")
    words = ["tabulate", "a.csv", "--by", "id", "--out", "c.csv", "--confidential"]
    words += ["--read", "types.income=number"]
    done = run(*words)
    assert done.exit_code == 2
    assert "line 2, column 'income'" in done.stderr
    assert "secret" not in done.stderr
    shown = run(*words, "--show-values")
    assert "the first is 'secret 77'" in shown.stderr


def test_files_that_can_be_read_in_two_ways_are_a_failure(desk: Path) -> None:
    (desk / "a.csv").write_text("id;a\n1;1.234\n")
    done = run("detect", "a.csv")
    assert done.exit_code == 1
    assert "NOT CLEAR" in done.output
    assert run("detect", "a.csv", "--read", "decimal=.").exit_code == 0


@pytest.mark.parametrize(
    "word", ["nothing.toml", "decimal.x=,", "recode.a=1", "decimal=;", "tabel=a", "trim=perhaps"]
)
def test_wrong_words_are_refused(word: str, desk: Path) -> None:
    (desk / "a.csv").write_text("id,a\n1,2\n")
    words = ["tabulate", "a.csv", "--by", "id", "--out", "c.csv", "--confidential"]
    assert run(*words, "--read", word).exit_code == 2
    assert not (desk / "c.csv").exists()


def test_python_reads_what_the_command_reads(desk: Path) -> None:
    frame = dc.read_microdata(office_csv(desk), detect=True).lazy().collect("polars").to_native()
    assert frame.with_columns(pl.col("Geschlecht").str.strip_chars()).equals(PEOPLE)
