"""One line from records to a protected table, and the programme that does the same."""

import json
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.microdata import Secret
from discreet.release.first_programmes import toml_text
from tests.helpers.command import run

CUMULATIVE = [[0, 0, 1, 1, 1], [0, 0.3, 0.6, 0.9, 1], [0.1, 0.3, 0.7, 0.9, 1]]
KEYS = ("--id", "person", "--secret", "secret.key", "--ptable", "ptable.json")
LINE = ("protect", "persons.csv", "--by", "region,age,sex", "--intervals", "age=0,18,65", *KEYS)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """400 persons, a secret and a perturbation table, in the working folder."""
    draw, size = np.random.default_rng(7), 400
    frame = pl.DataFrame(
        {
            "person": draw.permutation(10 * size)[:size],
            "region": draw.choice(["011", "012", "021"], size).tolist(),
            "age": draw.integers(0, 90, size),
            "sex": draw.choice(["m", "w"], size).tolist(),
        }
    )
    frame.write_csv(tmp_path / "persons.csv")
    monkeypatch.chdir(tmp_path)
    Secret.generate().write("secret.key")
    table = dc.PerturbationTable.from_cumulative(CUMULATIVE, noise=range(-2, 3))
    table.write("ptable.json")
    return tmp_path


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_a_line_does_what_the_package_does(folder: Path) -> None:
    words = ("--prefixes", "region=2,3", "--codes", "sex=m,w", "--out", "table.csv")
    done = run(*LINE, *words, "--where", "age >= 18")
    assert done.exit_code == 0, done.output
    assert "table.csv" in done.output
    persons = dc.read_microdata("persons.csv", text=["region"])
    keyed = dc.with_record_keys(persons, id="person", secret=folder / "secret.key")
    by = [
        dc.Classification.from_prefixes("region", ["011", "012", "021"], [2, 3]),
        dc.Classification.from_intervals("age", [0, 18, 65]),
        "sex",
    ]
    table = dc.tabulate(keyed, by, record_key="record_key", where="age >= 18")
    safe = dc.perturb(table, dc.PerturbationTable.read("ptable.json"))
    written = pl.read_csv("table.csv", infer_schema=False)
    assert len(written) > 20
    for region, age, sex, value in written.select("region", "age", "sex", "value").rows():
        assert safe.get(region, age, sex) == int(value)


@pytest.mark.parametrize("out", ["table.xlsx", "people.html", "t.jsonstat.json"])
def test_the_programme_it_saves_makes_the_same_file(folder: Path, out: str) -> None:
    done = run(*LINE, "--out", out, "--save-programme", "own/programme.toml")
    assert done.exit_code == 2  # no such folder, and nothing is written
    assert not (folder / out).exists()
    (folder / "own").mkdir()
    done = run(*LINE, "--out", out, "--save-programme", "own/programme.toml")
    assert done.exit_code == 0, done.output
    stated = tomllib.loads((folder / "own/programme.toml").read_text("utf-8"))
    assert stated["data"]["source"] == "../persons.csv"
    assert run("protect", "own/programme.toml", "--out", "release").exit_code == 0
    assert (folder / "release" / out).read_bytes() == (folder / out).read_bytes()


def test_nothing_else_is_left_behind(folder: Path) -> None:
    before = names(folder)
    assert run(*LINE, "--out", "table.xlsx").exit_code == 0
    assert names(folder) == before | {"table.xlsx"}
    assert run(*LINE, "--check").exit_code == 0
    assert run(*LINE, "--save-programme", "p.toml").exit_code == 0
    assert names(folder) == before | {"table.xlsx", "p.toml"}
    before = names(folder)
    assert run(*LINE, "--out", "wrong.xlsx", "--where", "nothing > 1").exit_code == 2
    assert names(folder) == before


def test_a_folder_gets_pages_too(folder: Path) -> None:
    assert run(*LINE, "--out", "release").exit_code == 0
    assert {"table.csv", "table.xlsx", "table.html", "index.html"} <= names(folder / "release")


def test_a_programme_is_never_replaced(folder: Path) -> None:
    (folder / "p.toml").write_text("mine")
    done = run(*LINE, "--out", "table.csv", "--save-programme", "p.toml")
    assert done.exit_code == 2
    assert "[exists] p.toml" in done.output
    assert (folder / "p.toml").read_text() == "mine"
    assert not (folder / "table.csv").exists()


def test_keys_made_before(folder: Path) -> None:
    frame = dc.read_microdata("persons.csv")
    keyed = dc.with_record_keys(frame, id="person", secret=folder / "secret.key")
    keyed.drop("person").collect().write_parquet("keyed.parquet")
    words = ("--by", "sex", "--ptable", "ptable.json", "--out", "b.csv")
    done = run("protect", "keyed.parquet", "--record-key", "record_key", *words)
    assert done.exit_code == 0, done.output
    assert run("protect", "persons.csv", "--by", "sex", *KEYS, "--out", "a.csv").exit_code == 0
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


def test_mistakes_are_told_by_their_words(folder: Path) -> None:
    words = ("--by", "sex,agex", "--id", "persn", "--secret", "no.key", "--ptable", "no.json")
    done = run("protect", "persons.csv", *words, "--where", "foo > 1", "--out", "t.csv", "--json")
    assert done.exit_code == 2
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "line"
    places = {each["where"] for each in error["problems"]}
    assert places == {"--by", "--id", "--secret", "--ptable", "--where"}
    assert "discreet-tmp" not in done.stdout


def test_a_table_without_noise_is_told(folder: Path) -> None:
    still = dc.PerturbationTable.from_cumulative([[1], [1]], noise=[0])
    still.write("still.json")
    words = ("--by", "sex", "--codes", "sex=m,w", *KEYS[:-1], "still.json", "--out", "t.csv")
    done = run("protect", "persons.csv", *words)
    assert done.exit_code == 0, done.output
    assert "the perturbation table changes no count: the published counts" in done.output


def test_a_name_that_is_taken_is_the_fault_of_out() -> None:
    done = run(*LINE, "--out", "index.csv")
    assert "[line] --out: the name 'index' is already in use" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("persons.csv",), "spanning variables"),
        (("persons.csv", "--by", "sex"), "--out"),
        (("persons.csv", "--by", "sex", "--out", "t.csv"), "--ptable"),
        (("persons.csv", "--by", "sex", "--ptable", "p", "--out", "t.csv"), "--record-key"),
        (
            ("persons.csv", "--by", "sex", "--ptable", "p", "--id", "person", "--out", "t.csv"),
            "--secret",
        ),
        ((*LINE[1:], "--record-key", "k", "--out", "t.csv"), "--record-key"),
        ((*LINE[1:], "--no-resume", "--out", "t.csv"), "--no-resume"),
        ((*LINE[1:], "--internal", "inside", "--out", "t.csv"), "--internal"),
        ((*LINE[1:], "--codes", "size=a", "--out", "t.csv"), "has a hierarchy but is not in --by"),
        ((*LINE[1:], "--codes", "age=a", "--out", "t.csv"), "has two hierarchies; choose one"),
        ((*LINE[1:], "--prefixes", "sex=a,b", "--out", "t.csv"), "is not a number"),
        (
            ("p.toml", "--by", "sex", "--out", "t.csv", *KEYS),
            "--by does not apply to a programme; name its tables there",
        ),
        (("p.toml", "--where", "x > 1", "--out", "t"), "--where does not apply to"),
        (("p.toml", "--sparse", "--out", "t"), "--sparse does not apply to"),
    ],
)
def test_wrong_words_are_told_before_anything_is_read(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    before = names(folder)
    done = run("protect", *words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.replace("│", " ").split())
    assert names(folder) == before


@pytest.mark.parametrize(("out", "code"), [("t.docx", "format"), ("no/t.csv", "output-folder")])
def test_a_place_where_nothing_can_go(folder: Path, out: str, code: str) -> None:
    done = run(*LINE, "--out", out)
    assert done.exit_code == 2
    assert f"[{code}]" in done.output


def test_any_names_survive_being_written_as_toml() -> None:
    document = {
        "title": 'say "hello" \\ \n\t\x7f',
        "data": {"source": "a b/ü.csv", "null_values": ["NA", ""], "types": {"a.b": "number"}},
        "variables": {"größe in m²": {"intervals": [0, 1.5, float("inf")]}, "": {"codes": ["x"]}},
        "tables": {"t": {"by": ["größe in m²"], "complete": False}},
    }
    assert tomllib.loads(toml_text(document)) == document


def test_help_shows_no_types_of_words_without_a_value() -> None:
    assert "<bool>" not in run("protect", "--help").output
    assert "<bool>" not in run("--help").output
    assert "--install-completion" in run("--help").output
