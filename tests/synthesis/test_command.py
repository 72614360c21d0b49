"""`discreet synthesise`: what is written, what is said, and what is refused."""

import json
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.demo import generate
from tests.helpers.command import run

NAMES = "age,sex,marital_status,education,district"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    generate(persons=1_000, seed=3).persons.write_csv("persons.csv")
    Path("secret.key").write_text("a long and secret sentence")
    Path("secret.key").chmod(0o600)
    return tmp_path


LINE = ("synthesise", "persons.csv", "--id", "person_id", "--secret-file", "secret.key", "--out",
        "made.parquet", "--variables", NAMES)  # fmt: skip


def test_records_and_report_are_written_together(place: Path) -> None:
    done = run(*LINE, "--limit", "1", "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.output)
    assert report["verdict"] == "not_examined"
    assert pl.read_parquet("made.parquet").columns == NAMES.split(",")
    written = json.loads((place / "made-report.json").read_text())
    assert written == {key: report[key] for key in written}
    assert "not examined" in (place / "made-report.txt").read_text()
    german = run(*LINE, "--limit", "1", "--language", "de")
    assert "nicht untersucht" in german.output


def test_leaves_that_are_too_small_leave_a_report_only(place: Path) -> None:
    done = run(*LINE, "--leaf", "3", "--limit", "0.01")
    assert done.exit_code != 0
    assert "do not publish these records" in done.output
    assert not (place / "made.parquet").exists()
    assert (place / "made-report.txt").exists()


def test_a_release_folder_is_enough(place: Path) -> None:
    dc.design_perturbation(max_noise=5, variance=3).write("ptable.json")
    line = ("protect", "persons.csv", "--by", "sex,marital_status", "--id", "person_id")
    keys = ("--secret", "secret.key", "--ptable", "ptable.json")
    assert run(*line, *keys, "--out", "table.csv", "--save-programme", "own.toml").exit_code == 0
    assert run("protect", "own.toml", "--out", "release").exit_code == 0
    (place / "persons.csv").unlink()  # no record is needed
    line = ("synthesise", "release", "--method", "tables", "--secret-file", "secret.key")
    done = run(*line, "--out", "made.csv")
    assert done.exit_code == 0, done.output
    assert "No record was used" in done.output
    made = pl.read_csv("made.csv")
    assert made.columns == ["sex", "marital_status"]
    assert abs(made.height - 1_000) < 40


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--id", "person_id"), "add --secret-file FILE"),
        (("--secret-file", "secret.key"), "add --id COLUMN"),
        (("--secret-file", "secret.key", "--method", "tables"), "column of counts not found"),
        (("--secret-file", "secret.key", "--id", "person_id", "--leaf", "1"), "--leaf: must be"),
        (("--secret-file", "secret.key", "--id", "age"), "repeated identifier"),
    ],
)
def test_mistakes_are_named(place: Path, words: tuple[str, ...], named: str) -> None:
    done = run("synthesise", "persons.csv", "--out", "made.csv", *words)
    assert done.exit_code == 2
    assert named in done.output
    assert not (place / "made.csv").exists()
