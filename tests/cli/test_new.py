"""From a file of records to a first programme that runs as it is."""

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.demo import example_perturbation_table
from discreet.microdata import Secret
from discreet.release.drafted_programmes import drafted
from tests.helpers.command import run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file as an office has it: semicolons, codes with zeros in front, decimal commas."""
    draw, size = np.random.default_rng(3), 300
    place = draw.choice(["01001", "01002", "02001", "02002"], size)
    lines = ["lfdnr;Gemeinde;Geschlecht;Alter;Beruf;Einkommen"] + [
        f"{at + 7};{place[at]};{'mw'[at % 2]};{draw.integers(0, 99)};b{draw.integers(0, 9)};"
        f"{draw.integers(500, 4000)},{draw.integers(10, 99)}"
        for at in range(size)
    ]
    (tmp_path / "personen.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stated(path: str = "programme.toml") -> dict[str, Any]:
    return tomllib.loads(Path(path).read_text("utf-8"))


def test_the_draft_runs_as_it_is(folder: Path) -> None:
    done = run("new", "personen.csv", "--id", "lfdnr", "--yes")
    assert done.exit_code == 0, done.output
    found = stated()
    assert found["tables"] == {
        "Gemeinde-Alter-Geschlecht": {"by": ["Gemeinde", "Alter", "Geschlecht"]}
    }
    assert found["variables"]["Gemeinde"] == {"prefixes": [2, 5]}
    assert found["variables"]["Alter"]["intervals"][0] == 0
    assert "Gemeinde" in found["data"]["text"]
    Secret.generate().write("secret.key")
    example_perturbation_table().write("ptable.json")
    assert run("protect", "programme.toml", "--check").exit_code == 0
    done = run("protect", "programme.toml", "--out", "release")
    assert done.exit_code == 0, done.output
    assert (folder / "release" / "Gemeinde-Alter-Geschlecht.xlsx").exists()


def test_what_to_do_next_is_told_until_it_is_done(folder: Path) -> None:
    first = json.loads(run("new", "personen.csv", "--id", "lfdnr", "--json").stdout)
    assert [step.split()[1] for step in first["next"]] == ["keys", "ptable", "protect", "protect"]
    for step in first["next"][:2]:
        assert run(*step.split()[1:]).exit_code == 0
    words = ("--id", "lfdnr", "--json", "--out", "again.toml")
    again = json.loads(run("new", "personen.csv", *words).stdout)
    assert [step.split()[1] for step in again["next"]] == ["protect", "protect"]


def test_questions_come_with_what_was_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.cli.programmes._asks", lambda: True)
    done = run("new", "personen.csv", input="Geschlecht, Beruf\nlfdnr\nPersonen 2026\n")
    assert done.exit_code == 0, done.output
    assert "Gemeinde,Alter,Geschlecht" in done.output
    found = stated()
    assert found["title"] == "Personen 2026"
    assert found["keys"] == {"id": "lfdnr", "secret_file": "secret.key"}
    assert found["tables"] == {"Geschlecht-Beruf": {"by": ["Geschlecht", "Beruf"]}}


def test_the_programme_may_stand_elsewhere(folder: Path) -> None:
    (folder / "own").mkdir()
    run("new", "personen.csv", "--id", "lfdnr", "--yes", "--out", "own/first.toml")
    found = stated("own/first.toml")
    assert found["data"]["source"] == "../personen.csv"
    assert found["keys"]["secret_file"] == "../secret.key"


def test_no_code_and_no_value_stands_in_the_draft(folder: Path) -> None:
    assert run("new", "personen.csv", "--id", "lfdnr", "--yes").exit_code == 0
    text = Path("programme.toml").read_text("utf-8")
    assert not any(code in text for code in ("01001", "02002", '"m"', "b3"))
    assert "2002" not in repr(drafted("personen.csv", detect=True).variables(["Gemeinde"]))


def test_record_keys_are_known_by_their_name(folder: Path) -> None:
    frame = pl.read_csv("personen.csv", separator=";", infer_schema=False)
    secret = Secret.generate()
    keyed = dc.with_record_keys(frame, id="lfdnr", secret=secret)
    keyed.write_parquet("keyed.parquet")
    assert run("new", "keyed.parquet", "--yes").exit_code == 0
    assert stated()["keys"] == {"column": "record_key"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no.csv",), "no.csv"),
        (("personen.csv", "--id", "lfdnr", "--by", "Wohnort"), "column 'Wohnort' not found"),
        (("personen.csv", "--id", "lfdnr", "--out", "no/p.toml"), "output folder does not exist"),
        (
            ("personen.csv", "--id", "lfdnr", "--out", "personen.csv"),
            "the file exists already; programmes are never replaced",
        ),
    ],
)
def test_wrong_words(folder: Path, words: tuple[str, ...], said: str) -> None:
    before = {each.name for each in folder.iterdir()}
    done = run("new", *words, "--yes")
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert {each.name for each in folder.iterdir()} == before


def test_a_file_without_an_identifier_needs_one(folder: Path) -> None:
    (folder / "few.csv").write_text("sex,age\nm,3\nw,3\nm,4\n" * 40)
    done = run("new", "few.csv", "--yes")
    assert done.exit_code == 2
    assert "--id" in done.output


def test_codes_of_categories_are_looked_at_as_texts() -> None:
    frame = pl.DataFrame(
        {"id": range(90), "region": [f"{at % 3}{at % 9}" for at in range(90)]},
        schema_overrides={"region": pl.Categorical},
    )
    frame.write_parquet("coded.parquet")
    assert drafted("coded.parquet").variables(["region"]) == {"region": {"prefixes": [1, 2]}}


def test_nobody_is_asked_where_nobody_sits(folder: Path) -> None:
    done = run("new", "personen.csv", "--id", "lfdnr")
    assert done.exit_code == 0
    assert "What spans" not in done.output


def test_a_record_in_place_of_the_header_is_not_quoted(folder: Path) -> None:
    (folder / "bare.csv").write_text("Meier;4711;4711;m\nMüller;12;13;w\n" * 30)
    done = run("new", "bare.csv", "--yes")
    assert done.exit_code == 2
    with pytest.raises(dc.DiscreetError, match="line of column names") as caught:
        dc.read_microdata("bare.csv", separator=";")
    for said in (done.output, str(caught.value)):
        assert not any(word in said for word in ("Meier", "4711"))


def test_words_of_one_length_have_no_levels(folder: Path) -> None:
    sexes = pl.DataFrame({
        "id": range(60), "sex": ["männlich", "weiblich"] * 30, "colour": ["rot", "rar", "tot"] * 20,
    })  # fmt: skip
    sexes.write_csv("words.csv")
    draft = drafted("words.csv")
    assert set(draft.by) == {"sex", "colour"}
    assert draft.variables(draft.by) == {}


def test_value_labels_of_spss_stand_in_the_draft(folder: Path) -> None:
    import pyreadstat

    people = pl.DataFrame({"id": range(100), "sex": [1, 2] * 50, "job": [1, 2, 3, 4] * 25})
    labels = {"sex": {1: "male", 2: "female", 9: "unknown"}, "job": {1.0: "farmer"}}
    pyreadstat.write_sav(people.to_pandas(), "people.sav", variable_value_labels=labels)
    assert run("new", "people.sav", "--id", "id", "--yes").exit_code == 0
    found = stated()["variables"]
    assert found == {"sex": {"labels": {"1": "male", "2": "female"}},
                     "job": {"labels": {"1": "farmer"}}}  # fmt: skip
