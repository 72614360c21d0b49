"""The R package: data frames in, the tables of the command line out, to the last digit."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.microdata import Secret
from tests.helpers.places import ROOT

pytestmark = pytest.mark.r

PACKAGE = ROOT / "R" / "discreet"
CUMULATIVE = [[0, 0, 1, 1, 1], [0, 0.3, 0.6, 0.9, 1], [0.1, 0.3, 0.7, 0.9, 1]]
KEYS = 'id = "person", secret = "secret.key"'
#: What every script begins with: records whose codes have zeros in front, odd numbers and texts.
BEGIN = """
library(discreet)
persons <- read.csv("persons.csv", colClasses = c(region = "character"), encoding = "UTF-8")
"""
Script = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def script(library: Path, tmp_path: Path) -> Script:
    """Runs R in a folder of 300 persons, a secret and a perturbation table."""
    draw, size = np.random.default_rng(11), 300
    frame = pl.DataFrame(
        {
            "person": draw.permutation(10 * size)[:size],
            "region": draw.choice(["011", "012", "021"], size).tolist(),
            "age": draw.integers(0, 90, size),
            "job": draw.choice(['say "no"', "Bäcker, klein", "x"], size).tolist(),
            "income": (draw.lognormal(7, 1, size) / 3).tolist(),
        }
    )
    frame.write_csv(tmp_path / "persons.csv")
    Secret.generate().write(tmp_path / "secret.key")
    table = dc.PerturbationTable.from_cumulative(CUMULATIVE, noise=range(-2, 3))
    table.write(tmp_path / "ptable.json")
    command = tmp_path / "discreet"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m discreet "$@"\n')
    command.chmod(0o755)
    source = str(ROOT / "src")
    settings = {**os.environ, "R_LIBS": str(library), "DISCREET_COMMAND": str(command)}
    settings |= {"PYTHONPATH": source, "LC_ALL": "C.UTF-8", "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()

    def run(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "script.R").write_text(BEGIN + text, "utf-8")
        words = ["Rscript", "--vanilla", "script.R"]
        return subprocess.run(
            words, cwd=tmp_path, env=settings, capture_output=True, text=True, check=False
        )

    return run


def read(path: Path) -> list[dict[str, str]]:
    return pl.read_csv(path, infer_schema=False).to_dicts()


WRITE = 'write.csv(found, "found.csv", row.names = FALSE, na = "")\n'


def test_a_protected_table_is_that_of_the_package(script: Script, tmp_path: Path) -> None:
    by = 'c("region", "age", "job")'
    options = "prefixes = list(region = c(2, 3)), intervals = list(age = c(0, 18, 65))"
    done = script(
        f'found <- dc_protect(persons, {by}, "ptable.json", {KEYS}, {options}, '
        f'where = "age >= 5")\n{WRITE}'
    )
    assert done.returncode == 0, done.stderr
    assert "come from the data" in done.stderr  # warnings of the command are warnings in R
    persons = dc.read_microdata(tmp_path / "persons.csv", text=["region"])
    keyed = dc.with_record_keys(persons, id="person", secret=tmp_path / "secret.key")
    spanning = [
        dc.Classification.from_prefixes("region", ["011", "012", "021"], [2, 3]),
        dc.Classification.from_intervals("age", [0, 18, 65]),
        "job",
    ]
    table = dc.tabulate(keyed, spanning, record_key="record_key", where="age >= 5")
    safe = dc.perturb(table, dc.PerturbationTable.read(tmp_path / "ptable.json"))
    rows = read(tmp_path / "found.csv")
    assert len(rows) > 60
    for row in rows:
        assert safe.get(row["region"], row["age"], row["job"]) == int(row["value"])


def test_counting_and_perturbing_one_after_another(script: Script, tmp_path: Path) -> None:
    persons = dc.read_microdata(tmp_path / "persons.csv", text=["region"])
    keyed = dc.with_record_keys(persons, id="person", secret=tmp_path / "secret.key")
    keyed.collect().write_parquet(tmp_path / "keyed.parquet")
    done = script(
        'by <- c("region", "job")\n'
        'cells <- dc_tabulate("keyed.parquet", by, record_key = "record_key")\n'
        'found <- dc_perturb(cells, by, "count", "cell_key", "ptable.json")\n'
        f'whole <- dc_protect(persons, by, "ptable.json", {KEYS})\n'
        "stopifnot(identical(found, whole), is.character(found$region), is.numeric(found$value))\n"
        f"{WRITE}"
    )
    assert done.returncode == 0, done.stderr
    assert {row["region"] for row in read(tmp_path / "found.csv")} == {"Total", "011", "012", "021"}


def test_numbers_keep_all_their_digits(script: Script, tmp_path: Path) -> None:
    done = script(
        "odd <- data.frame(b = rep(c('x', 'y'), 6),\n"
        "  v = c(0.1, 0.375, 123456789.123, 1e9 + 1, 3, 2.5, 7, 11, 1e-3, 5, 6, 8))\n"
        'found <- dc_suppress(odd, "b", "n=2", value = "v", decimals = 3, method = "fast")\n'
        f"{WRITE}"
        "cat(sprintf('%.17g', sum(odd$v)))\n"
    )
    assert done.returncode == 0, done.stderr
    total = next(row["value"] for row in read(tmp_path / "found.csv") if row["b"] == "Total")
    assert float(total) == round(float(done.stdout), 3)


def test_hidden_cells_are_missing(script: Script, tmp_path: Path) -> None:
    done = script(
        'found <- dc_suppress(persons, c("region", "job"), c("n=4", "p=20"), value = "income",\n'
        '  where = "age > 82", method = "fast")\n'
        "stopifnot(anyNA(found$value), all(is.na(found$value) == (found$status == 'suppressed')))\n"
        f"{WRITE}"
    )
    assert done.returncode == 0, done.stderr
    rows = read(tmp_path / "found.csv")
    assert any(row["value"] is None for row in rows)


def test_what_the_command_refuses_is_an_error_in_its_words(script: Script) -> None:
    done = script(
        "said <- tryCatch(\n"
        f'  dc_protect(persons, "nothing", "ptable.json", {KEYS}),\n'
        "  discreet_error = function(error) conditionMessage(error))\n"
        "cat(said)\n"
        'said <- tryCatch(dc_protect(persons, "job", "ptable.json"), error = conditionMessage)\n'
        "cat(said)\n"
    )
    assert done.returncode == 0, done.stderr
    assert "no variable or column 'nothing'" in done.stdout
    assert "--record-key" in done.stdout
    assert "│" not in done.stdout


WRONG_CALLS = [
    ('dc_protect(1, "a", "p")', "a data frame, or the name of a file"),
    ('dc_protect("no.csv", "a", "p")', "file no.csv not found"),
    ('dc_protect(data.frame(a = I(list(1, 2))), "a", "p")', "not so: a"),
    ('dc_protect(persons, "job", "ptable.json", "person", "secret.key", NULL, 3)', "by name"),
    ('{options(discreet.command = ""); Sys.setenv(DISCREET_COMMAND = "", PATH = "");'
     ' dc_command()}', "pip install discreet"),
]  # fmt: skip


def test_wrong_calls_say_what_is_wrong(script: Script) -> None:
    done = script(
        "".join(
            f"cat(tryCatch({{ {call}; 'no error' }}, error = conditionMessage), '\\n---\\n')\n"
            for call, _ in WRONG_CALLS
        )
    )
    told = done.stdout.split("---\n")
    assert all(said in part for part, (_, said) in zip(told, WRONG_CALLS, strict=False)), (
        done.stderr
    )
    assert len(told) == len(WRONG_CALLS) + 1


def test_no_records_are_left_behind(script: Script, tmp_path: Path) -> None:
    done = script(
        f'found <- dc_protect(persons, "job", "ptable.json", {KEYS})\n'
        "left <- list.files(tempdir(), recursive = TRUE, all.files = TRUE)\n"
        "cat(length(left))\n"
    )
    assert done.stdout == "0", done.stdout + done.stderr
    assert not list((tmp_path / "tmp").iterdir())


def test_the_folder_of_records_is_for_its_owner_only(script: Script) -> None:
    done = script(
        "hold <- function() { folder <- discreet:::private_folder()\n"
        "  cat(format(file.mode(folder)), folder, sep = '\\n'); invisible(folder) }\n"
        "gone <- hold()\n"
        "cat('', dir.exists(gone))\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "700"
    assert done.stdout.split()[-1] == "FALSE"


@pytest.mark.exhaustive
def test_the_package_passes_the_check_of_r(r: str, tmp_path: Path) -> None:
    settings = {**os.environ, "_R_CHECK_FORCE_SUGGESTS_": "false", "LC_ALL": "C.UTF-8"}
    for words in (["build", str(PACKAGE)], ["check", "--no-manual", "discreet_0.1.0.tar.gz"]):
        done = subprocess.run(
            [r, "CMD", *words], cwd=tmp_path, env=settings, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
    log = (tmp_path / "discreet.Rcheck" / "00check.log").read_text("utf-8")
    assert "ERROR" not in log
    assert "WARNING" not in log
    exported = (PACKAGE / "NAMESPACE").read_text("utf-8")
    pages = [page.read_text("utf-8") for page in (PACKAGE / "man").glob("*.Rd")]
    told = {alias for page in pages for alias in re.findall(r"^\\alias\{(.*)\}", page, re.M)}
    named = {
        n for words in re.findall(r"^export\((.*)\)", exported, re.M) for n in words.split(", ")
    }
    assert told == named, json.dumps(sorted(told ^ named))
