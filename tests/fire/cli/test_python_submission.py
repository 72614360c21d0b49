"""A Python script as researcher and officer handle it: by commands, from hand-in to release."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from discreet.cli.commands import app
from discreet_fire.runners.registry import VARIABLE

DRAWN = np.random.default_rng(5)
FRAME = pl.DataFrame({"pid": range(200), "wage": (1000 + 2000 * DRAWN.random(200)).round(2)})
PROGRAM = """\
import colorsys
import numpy as np
import pandas as pd
d = pd.read_csv("d.csv")
colorsys.hls_to_rgb(1, 1, 1)
print("Wages")
print(d[["wage"]].describe())
d["logged"] = np.log(d.wage)
print(d[["logged"]].describe())
print(d.wage.max())
"""


def invoke(*words: str | Path | int) -> Any:
    return CliRunner().invoke(app, ["fire", *map(str, words)])


def done(*words: str | Path | int) -> dict[str, Any]:
    """What a command says to programs."""
    result = invoke(*words, "--json")
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


@pytest.fixture
def place(tmp_path: Path) -> Path:
    FRAME.write_csv(tmp_path / "d.csv")
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "wages.py").write_text(PROGRAM)
    done("queue", "init", tmp_path / "q", "--person", "Anna", "--person", "Ben", "--rate", 0)
    return tmp_path


def submitted(place: Path, *more: str | int) -> tuple[str | Path | int, ...]:
    words = ("--data", place / "d.csv", "--entity", "pid", "--queue", place / "q")
    return ("submit", place / "program" / "wages.py", *words, "--researcher", "Weber", *more)


@pytest.mark.exhaustive
def test_a_python_script_goes_the_whole_way(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = place / "runners.toml"
    settings.write_text(f'[python]\nexecutable = "{sys.executable}"\n')
    monkeypatch.setenv(VARIABLE, str(settings))
    at = ("--queue", place / "q", "--person", "Anna", "--reason", "read it")

    waits = done(*submitted(place))
    assert "not-run" in {one["rule"] for one in waits["findings"]}
    assert waits["outputs"] == []
    first = waits["submission"]
    done("queue", "permit", first, *at, "--version", waits["version"])
    ran = done(*submitted(place, "--replaces", first))
    number = ran["submission"]
    found = {one["rule"]: one["severity"] for one in ran["findings"]}
    assert "not-run" not in found
    assert (found["own-columns"] if "own-columns" in found else found["records"]) == "review"
    assert "few-sources" not in found
    early = invoke("queue", "release", number, *at, "--version", ran["version"])
    assert early.exit_code != 0
    decided = done("queue", "decide", number, *at, "--accept-rest", "--version", ran["version"])
    version = decided["version"]
    for person in ("Anna", "Ben"):
        words = ("--queue", place / "q", "--person", person, "--reason", "safe")
        approved = done("queue", "approve", number, *words, "--version", version)
        version = approved["version"]
        if approved["state"] == "approved":
            break
    folder = Path(done("queue", "release", number, *at, "--version", version)["released"])
    log = (folder / "wages.log").read_text()
    assert "| Wages" in log
    assert f"{FRAME['wage'].mean():.7g}" in log
    assert f"{FRAME['wage'].log().mean():.7g}" in log
    assert f"{FRAME['wage'].max()}" not in log


def test_without_a_runner_it_is_said_what_is_missing(place: Path) -> None:
    """It was said that not a do-file."""
    result = invoke(*submitted(place))
    assert result.exit_code != 0
    said = " ".join(result.output.split())
    assert "no runner for .py programs" in said
    assert "[python]" in said
    assert VARIABLE in said
