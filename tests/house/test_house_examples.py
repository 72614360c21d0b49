"""The examples of the how-to pages, the methods and README run as they are printed.

A block below the comment ``<!-- not run -->`` is only read. A command with the remark
``# refused`` fails with exit code 2. What a page takes for granted (files of records, a
perturbation table, a table) is made beforehand; large examples run with fewer persons.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.demo import example_perturbation_table, generate
from discreet.microdata import Secret
from tests.helpers.places import ROOT

PAGES = sorted(
    page
    for page in [*(ROOT / "docs/how-to").glob("*.md"), *(ROOT / "docs/methods").glob("*.md")]
    if "```python" in page.read_text("utf-8") or "```sh" in page.read_text("utf-8")
)
FENCE = re.compile(r"^(<!-- not run -->\n)?```(python|sh|toml)\n(.*?)^```$", re.M | re.S)
FEWER = {"2_000_000": "1_000", "20_000": "1_000", "10_000": "1_000"}


class Example(NamedTuple):
    """One block of a page."""

    shown_only: bool
    language: str
    text: str


def examples(page: Path) -> list[Example]:
    found = FENCE.findall(page.read_text("utf-8"))
    return [Example(bool(mark), language, text) for mark, language, text in found]


@pytest.fixture(scope="module")
def census() -> Any:
    return generate(persons=1_000, seed=2026)


@pytest.fixture
def desk(census: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The folder of a reader with the files, and the names, that pages start from."""
    monkeypatch.chdir(tmp_path)
    for folder in ("census", "release"):
        Path(folder).mkdir()
    census.persons.write_parquet("persons.parquet")
    census.persons.write_csv("persons.csv")
    keys = {"rkey": [0.5] * 1_000, "key_4096": [4_095] * 1_000}
    census.persons.with_columns(
        **{name: pl.Series(key) for name, key in keys.items()}
    ).write_parquet("register.parquet")
    census.dwellings.write_parquet("dwellings.parquet")
    Secret.generate().write("dwellings.key")
    ptable = example_perturbation_table()
    ptable.write("ptable.csv")
    people = dc.with_record_keys(census.persons, id="person_id", secret="an example, no secret")
    ages = dc.Classification.from_intervals("age", [0, 18, 65])
    region = census.classifications["region"]
    table = dc.tabulate(people, by=[region, "sex", ages], record_key="record_key")
    safe = dc.perturb(table, ptable)
    return {
        "dc": dc,
        "ptable": ptable,
        "table": table,
        "safe": safe,
        "first": safe,
        "second": safe,
        "counts": np.array([0, 1, 2]),
        "cell_keys": np.array([0, 10**14, 9 * 10**14]),
    }


def run_python(example: Example, names: dict[str, Any]) -> None:
    text = example.text
    for many, few in FEWER.items():
        text = re.sub(rf"\b{many}\b", few, text)
    exec(compile(text, "example", "exec"), names)


def run_commands(example: Example, names: dict[str, Any]) -> None:
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for line in example.text.splitlines():
        done = subprocess.run(
            ["sh", "-c", line],
            env={**os.environ, "PATH": tools},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (2 if line.endswith("# refused") else 0), line + done.stderr


def write_programme(example: Example, names: dict[str, Any]) -> None:
    Path("programme.toml").write_text(example.text, encoding="utf-8")


RUN: dict[str, Callable[[Example, dict[str, Any]], None]] = {
    "python": run_python,
    "sh": run_commands,
    "toml": write_programme,
}


#: Pages whose examples take many seconds.
LONG = ("cell-suppression", "choose-parameters", "parameter-packages", "programmes", "review-queue")
MARKED = [
    pytest.param(page, marks=pytest.mark.exhaustive) if page.stem in LONG else page
    for page in PAGES
]


@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.stem)
def test_a_page_runs_as_printed(page: Path, desk: dict[str, Any]) -> None:
    listing = [example for example in examples(page) if not example.shown_only]
    assert listing
    for example in listing:
        RUN[example.language](example, desk)


def test_hardly_an_example_is_only_shown() -> None:
    listing = [example for page in PAGES for example in examples(page)]
    runnable = [example for example in listing if example.language != "toml"]
    assert len(runnable) >= 28
    assert sum(example.shown_only for example in runnable) <= 2


def test_no_example_escapes() -> None:
    """Every block of Python is one that is found above, on whatever page it stands."""
    for page in [*PAGES, ROOT / "README.md"]:
        text = page.read_text("utf-8")
        listed = [example for example in examples(page) if example.language in ("python", "sh")]
        assert len(listed) == len(re.findall(r"^\s*```(?:python|sh)\b", text, re.M)), page.name
