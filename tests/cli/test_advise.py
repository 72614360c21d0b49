"""From a file of records to a method, its price, and commands that run on that file."""

import itertools
import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.release import open_question
from tests.helpers.command import run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Firms as an office has them: semicolons, codes with leading zeros, decimal commas."""
    draw, size = np.random.default_rng(3), 400
    records = pl.DataFrame(
        {
            "firm_id": [f"f{at}" for at in range(size)],
            "state": draw.choice(["01", "02", "03"], size),
            "branch": draw.choice(["A1", "A2", "B1"], size),
            "employees": draw.integers(1, 500, size),
            "turnover": [f"{value:.1f}".replace(".", ",") for value in draw.uniform(10, 900, size)],
        }
    )
    records.write_csv(tmp_path / "firms.csv", separator=";")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def complete_answers(answers: dict[str, str]) -> Iterator[dict[str, str]]:
    """Every way to answer all questions."""
    question = open_question(answers)
    if question is None:
        yield answers
        return
    for answer in question.answers:
        yield from complete_answers({**answers, question.name: answer})


def test_every_way_to_answer_leads_to_one_method() -> None:
    methods = [dc.advise("firms.csv", detect=True, answers=answers, publish=publish).method
               for answers in complete_answers({})
               for publish in (answers.pop("publish"),)]  # fmt: skip
    assert len(methods) == 16
    assert set(methods) == {
        *("cell-key", "controlled-rounding", "suppression", "multiplicative-noise"),
        *("local-suppression", "safe", "output-checking"),
    }


METHODS = {
    "cell-key": "--publish counts --readers repeatedly",
    "controlled-rounding": "--publish counts --readers once --answer additive=yes",
    "suppression": "--publish sums --readers once --answer blanks=yes",
    "multiplicative-noise": "--publish sums --readers anyone",
    "local-suppression": "--publish records --readers once",
    "safe": "--publish records --readers anyone --by state,branch",
    "output-checking": "--publish research",
}


@pytest.mark.parametrize("method", METHODS)
def test_the_commands_run_as_they_are(folder: Path, method: str) -> None:
    done = run("advise", "firms.csv", *METHODS[method].split(), "--json")
    assert done.exit_code == 0, done.output
    advice = json.loads(done.output)
    assert advice["method"] == method
    before = set(folder.rglob("*"))
    for step in advice["steps"]:
        program, *words = shlex.split(step)
        assert program == "discreet"
        done = run(*words)
        assert done.exit_code == 0, f"{step}\n{done.output}"
    assert set(folder.rglob("*")) > before


def test_files_that_exist_are_not_made_again(folder: Path) -> None:
    Path("secret.key").write_text("")
    done = run("advise", "firms.csv", *METHODS["cell-key"].split())
    assert "keys secret" not in done.output
    assert "ptable design" in done.output


def test_german_names_the_same_commands() -> None:
    words = ["advise", "firms.csv", *METHODS["suppression"].split()]
    english, german = run(*words).output, run(*words, "--language", "de").output
    assert "Method: cell suppression" in english
    assert "Verfahren: Zellsperrung" in german
    assert english.splitlines()[-1] == german.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "add --publish: counts, sums, records, research"),
        ("--publish counts --readers once", "add --answer additive=ANSWER: yes, no"),
        ("--publish counts --readers once --answer additive=perhaps", "unknown answer"),
        ("--publish research --answer colour=red", "unknown question"),
        ("--publish research --id nobody", "column 'nobody' not found"),
    ],
)
def test_missing_and_wrong_answers_name_the_option(words: str, message: str) -> None:
    done = run("advise", "firms.csv", "--read", "auto", *words.split())
    assert done.exit_code == 2
    assert message in " ".join(itertools.chain(done.output.replace("│", " ").split())).strip()


def test_a_file_without_a_fitting_column_is_an_error() -> None:
    pl.DataFrame({"state": ["a", "b"] * 20, "sex": ["m", "w"] * 20}).write_csv("plain.csv")
    done = run("advise", "plain.csv", "--publish", "counts", "--readers", "anyone")
    assert done.exit_code == 2
    assert "--id" in done.output
