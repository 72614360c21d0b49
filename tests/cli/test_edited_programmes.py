"""Programmes that grow by commands, from invented records without a line of Python."""

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from discreet.demo import example_perturbation_table
from discreet.errors import DiscreetError
from discreet.microdata import Secret
from discreet.release import set_keys
from tests.helpers.command import run

PROGRAMME = """\
# Mine
title = "People"  # of all ages

[data]
source = "persons.parquet"

[keys]
id = "person_id"
secret_file = "secret.key"

[perturbation]
table = "ptable.json"
found_codes = "hide"

# Ages
[variables.age]
intervals = [
  0,
  18,  # of age
]

[tables.age]
by = ["age"]
title.en = "People by age"
"""


def done(*words: str | Path) -> str:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Secret.generate().write("secret.key")
    example_perturbation_table().write("ptable.json")
    Path("programme.toml").write_text(PROGRAMME, "utf-8")
    return tmp_path


def text() -> str:
    return Path("programme.toml").read_text("utf-8")


def stated() -> dict[str, Any]:
    return tomllib.loads(text())


def test_keys_are_set_and_all_other_lines_stay() -> None:
    pl.DataFrame({"person_id": [1]}).write_parquet("persons.parquet")
    done(
        "programme", "set", "programme.toml", "languages=en,de", "title.de=Menschen",
        "variables.age.intervals=0,65", "tables.age.title.de=Menschen, nach Alter",
        "tables.age.where=age in (1, 2)", "perturbation.suppress_below=3",
        "variables.sex.labels.m.de=männlich", "date=2026-11-21",
    )  # fmt: skip
    found = stated()
    assert found["languages"] == ["en", "de"]
    assert found["title"] == {"en": "People", "de": "Menschen"}
    assert found["variables"]["age"] == {"intervals": [0, 65]}
    assert found["tables"]["age"] == {
        "by": ["age"],
        "title": {"en": "People by age", "de": "Menschen, nach Alter"},
        "where": "age in (1, 2)",
    }
    assert found["perturbation"]["suppress_below"] == 3
    assert found["variables"]["sex"] == {"labels": {"m": {"de": "männlich"}}}
    assert found["date"] == "2026-11-21"
    left = [line for line in PROGRAMME.splitlines() if line in text().splitlines()]
    assert len(left) == len(PROGRAMME.splitlines()) - 6  # title, title.en and the four intervals


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("tables.age.bye=age", "unknown key"),
        ("perturbation.suppress_below=many", "perturbation.suppress_below"),
        ("tables.age.by.first=age", "tables.age.by"),
        ("variables.sex.hierarchy=sex.csv", "sex.csv"),
        ("tables.age.rules=business", "this needs protect"),
        ("title", "SECTION.NAME.KEY=VALUE"),
        ("a b=1", "not a dotted key"),
        ("tables.age=1", "tables.age"),
    ],
)
def test_what_a_programme_cannot_have_is_not_written(word: str, message: str) -> None:
    pl.DataFrame({"person_id": [1]}).write_parquet("persons.parquet")
    result = run("programme", "set", "programme.toml", word)
    assert result.exit_code == 2
    assert message in result.output
    assert "internal" not in result.output
    assert text() == PROGRAMME


def test_a_key_in_a_section_of_its_own_is_left_to_people() -> None:
    pl.DataFrame({"person_id": [1]}).write_parquet("persons.parquet")
    own = PROGRAMME + '\n[variables.sex.labels]\nm = "male"\n'
    Path("programme.toml").write_text(own, "utf-8")
    with pytest.raises(DiscreetError, match="sections of their own"):
        set_keys("programme.toml", {"variables.sex.labels.w": "female"})
    assert text() == own


def test_a_programme_with_rules_is_for_its_owner() -> None:
    pl.DataFrame({"person_id": [1]}).write_parquet("persons.parquet")
    done("programme", "set", "programme.toml", "rules.business.minimum_frequency=3")
    assert Path("programme.toml").stat().st_mode & 0o077 == 0


def test_tables_from_variables_and_from_a_list() -> None:
    done("demo", "--records", "--persons", "300", "--out", ".")
    add = ("programme", "add-tables", "programme.toml")
    done(
        "programme", "set", "programme.toml", "languages=en,de", "variables.sex.hierarchy=sex.csv",
        "variables.sex.label.en=Sex", "variables.sex.label.de=Geschlecht",
        "sources.households.source=households.parquet", "sources.households.keys.inherit=persons",
        "sources.households.keys.by=household_id", "data.name=persons", "defaults.formats=html",
    )  # fmt: skip
    title = ("--title", "en=Persons by {by}", "--title", "de=Personen nach {by}")
    done(*add, "--cross", "sex,marital_status", "--up-to", "2", "--by", "state", *title)
    Path("tables.csv").write_text(
        "name;from;by;where;title.en\n"
        "homes;households;state,household_type;;Homes\n"
        "old;;sex;age >= 65;Old, by sex\n",
        "utf-8-sig",
    )
    done(*add, "--list", "tables.csv")
    tables = stated()["tables"]
    assert list(tables) == [
        *("age", "state-sex", "state-marital_status", "state-sex-marital_status", "homes", "old")
    ]
    assert tables["state-sex-marital_status"] == {
        "by": ["state", "sex", "marital_status"],
        "title": {
            "en": "Persons by state, sex and marital status",
            "de": "Personen nach state, Geschlecht und marital status",
        },
    }
    assert tables["homes"] == {
        "from": "households", "by": ["state", "household_type"], "title": {"en": "Homes"},
    }  # fmt: skip
    assert tables["old"]["title"] == {"en": "Old, by sex"}
    done("protect", "programme.toml", "--out", "release")
    assert Path("release", "state-sex-marital_status.de.html").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("by\nage\n", "columns"),
        ("name,by\nT1,age\nT1,age\n", "listed twice"),
        ("name,by\nT1\n", "1 fields for 2 columns"),
        ("name,by\n,age\n", "no name"),
        ("name,by\n", "no tables"),
        ("name,by\nage,age\n", "already"),
        ("name,by,colour\nT1,age,red\n", "unknown key"),
        ("", "columns"),
    ],
)
def test_wrong_lists_of_tables(content: str, message: str) -> None:
    pl.DataFrame({"person_id": [1]}).write_parquet("persons.parquet")
    Path("tables.csv").write_text(content, "utf-8")
    result = run("programme", "add-tables", "programme.toml", "--list", "tables.csv")
    assert result.exit_code == 2
    assert message in result.output
    assert text() == PROGRAMME


def test_options_that_contradict_each_other() -> None:
    add = ("programme", "add-tables", "programme.toml")
    assert run(*add).exit_code == 2
    assert run(*add, "--cross", "age", "--list", "tables.csv").exit_code == 2
    assert run(*add, "--list", "tables.csv", "--by", "sex").exit_code == 2
    assert run("demo", "--records", "--products").exit_code == 2
    assert text() == PROGRAMME
