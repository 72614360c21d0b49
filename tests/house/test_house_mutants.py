"""`make mutate` on a small repository: what is noticed, what survives, when there is no score."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.places import ROOT

CODE = '''"""Shares."""

import os


def share(part: int, whole: int) -> float:
    """A part of a whole."""
    if whole <= 0:
        raise ValueError("no whole")
    return part / whole


def check(kind: str) -> None:
    """End at once for what cannot be."""
    if kind not in ("part", "whole"):
        os.abort()
'''
TESTS = """
import pytest
from small.shares import check, share

def test_halves():
    assert share(1, 2) == 0.5

def test_no_whole():
    with pytest.raises(ValueError):
        share(0, 0)

def test_kinds():
    check("part")
"""
LISTED = """
[[target]]
modules = ["src/small/shares.py"]
tests = ["tests"]
"""
SETTINGS = """
[tool.pytest.ini_options]
addopts = "--import-mode=importlib --strict-markers"
markers = ["exhaustive: long", "spark: Java", "r: R", "postgresql: a server", "browser: Chromium"]
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A repository of one module and three tests."""
    files = {
        "src/small/__init__.py": "",
        "src/small/shares.py": CODE,
        "tests/test_shares.py": TESTS,
        "scripts/mutants.toml": LISTED,
        "pyproject.toml": SETTINGS,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in ("mutate.py", "mutant_tests.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    return tmp_path


def mutate(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(root / "scripts" / "mutate.py"), "--jobs", "1", *options],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ""},
    )  # fmt: skip


@pytest.mark.exhaustive
def test_the_score_counts_what_tests_notice(small: Path) -> None:
    """A bound that no test tries survives; a crash is noticed, as a failing test is."""
    done = mutate(small, "--seed", "1")
    assert done.returncode == 1, done.stderr
    assert "3 tests without any change" in done.stdout
    survivors = [line for line in done.stdout.splitlines() if "SURVIVED" in line]
    assert len(survivors) == 1
    assert "src/small/shares.py:8 (share)\n    0\n    (1)\n" in done.stdout
    assert "shares.py:15 by tests/test_shares.py::test_kinds" in done.stdout
    assert done.stdout.endswith("seed 1: 5 of 6 changes noticed: 83.3%\n")
    more = TESTS + "\ndef test_the_whole():\n    assert share(1, 1) == 1\n"
    (small / "tests" / "test_shares.py").write_text(more)
    done = mutate(small, "--seed", "1", "2", "--number", "2")
    assert done.returncode == 0, done.stderr
    last = "seed 1: 2 of 2 changes noticed: 100.0%", "seed 2: 2 of 2 changes noticed: 100.0%"
    assert [line for line in done.stdout.splitlines() if line.startswith("seed")] == list(last)
    seeds = {re.search(r"^seed (\d+): 1 of 1", mutate(small, "--number", "1").stdout, re.M)[1]
             for _ in range(2)}  # fmt: skip
    assert len(seeds) == 2


@pytest.mark.exhaustive
def test_there_is_no_score_where_tests_fail_without_any_change(small: Path) -> None:
    (small / "tests" / "test_shares.py").write_text(TESTS + "\ndef test_odd():\n    assert not 1\n")
    done = mutate(small)
    assert done.returncode == 2
    assert "fails without any change: tests/test_shares.py::test_odd" in done.stdout
    assert "noticed" not in done.stdout


@pytest.mark.parametrize(
    ("listed", "options", "said"),
    [
        (LISTED, ["--only", "nowhere"], "there is nothing to change"),
        (LISTED, ["--function", "nothing"], "there is nothing to change"),
        (LISTED, ["--number", "0"], "there is nothing to change"),
        (LISTED.replace('"tests"', '"src"'), [], "names no tests for src/small/shares.py"),
        (LISTED.replace('"tests"', '"gone"'), [], "names what is not there: gone"),
        (LISTED + LISTED, [], "twice: src/small/shares.py"),
    ],
)
def test_there_is_no_score_of_nothing(
    small: Path, listed: str, options: list[str], said: str
) -> None:
    (small / "scripts" / "mutants.toml").write_text(listed)
    done = mutate(small, *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert "%" not in done.stdout


@pytest.mark.exhaustive
def test_tests_that_run_none_give_no_score(small: Path) -> None:
    (small / "tests" / "test_shares.py").write_text("LATER = True\n")
    done = mutate(small)
    assert done.returncode == 2
    assert "%" not in done.stdout


def test_the_list_names_what_is_there() -> None:
    """Modules, tests and equivalent changes of the real list are those of the code."""
    read = (
        "import sys; sys.path.insert(0, 'scripts'); import mutate; mutate.equivalent("
        "[change for one in mutate.targets('')"
        " for change in mutate.mutants(mutate.ROOT / one.module)])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", read], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
