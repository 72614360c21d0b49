"""A small census and a programme over it, for the tests of releases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.perturbation import PerturbationTable

PROGRAMME = """\
title = { en = "Small census", de = "Kleiner Zensus" }
languages = ["en", "de"]
date = "2026-11-21"

[data]
source = "persons.parquet"

[keys]
column = "record_key"

[perturbation]
table = "ptable.json"

[variables.region]
column = "municipality"
prefixes = [1, 2]
label = { en = "Region", de = "Region" }

[variables.ages]
column = "age"
intervals = [0, 18, 65]

[variables.sex]
codes = ["m", "w"]
labels.m = { en = "male", de = "männlich" }
labels.w = { en = "female", de = "weiblich" }

[defaults]
formats = ["csv", "html"]

[tables.T1]
by = ["region", "sex"]
title = { en = "Population by region and sex", de = "Bevölkerung" }

[tables.T2]
by = ["ages", "sex"]
where = "age >= 18"

[tables.T3]
by = ["nationality"]
"""


def persons(number: int = 500) -> pl.DataFrame:
    """Persons with keys, the same ones every time."""
    draw = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "person_id": np.arange(number),
            "municipality": draw.choice(["11", "12", "13", "21", "22"], number),
            "sex": draw.choice(["m", "w"], number),
            "age": draw.integers(0, 99, number),
            "nationality": draw.choice(["a", "b", None], number, p=[0.8, 0.1, 0.1]),
            "weight": draw.uniform(0.5, 2, number),
            "record_key": draw.integers(0, 10**15, number),
        }
    )


def perturbation_table() -> PerturbationTable:
    """Noise of −1, 0 and 1."""
    noise = {-1: 0.25, 0: 0.5, 1: 0.25}
    return PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: noise, 3: noise})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with data, perturbation table and programme."""
    persons().write_parquet(tmp_path / "persons.parquet")
    perturbation_table().write(tmp_path / "ptable.json")
    (tmp_path / "programme.toml").write_text(PROGRAMME, encoding="utf-8")
    return tmp_path


@pytest.fixture
def programme(folder: Path) -> Path:
    """The programme file."""
    return folder / "programme.toml"


@pytest.fixture
def edited(programme: Path) -> Callable[..., Path]:
    """Replace texts in the programme: edited(("old", "new"), …) gives its path."""

    def edit(*changes: tuple[str, str]) -> Path:
        text = programme.read_text("utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        programme.write_text(text, encoding="utf-8")
        return programme

    return edit
