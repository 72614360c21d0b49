"""Commands that need the solver print nothing of its own, on neither output of their process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Stands in each banner and report of the solver.
WORDS = ("highs", "simplex", "presolv", "mip ", "copyright", "iterations", "bnb", "nanobind")


def printed(folder: Path, *words: str) -> str:
    """What a process prints on its two outputs, to the last byte."""
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *words], cwd=folder, capture_output=True, check=True
    )
    return (done.stdout + done.stderr).decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, reference: Path) -> Path:
    place = tmp_path_factory.mktemp("solver")
    source = reference / "suppression" / "tau_SizeReg_P10.jj.gz"
    (place / "p.jj.gz").write_bytes(source.read_bytes())
    return place


@pytest.mark.parametrize("method", ["fast", "optimal", "modular", "hypercube"])
def test_suppression_prints_nothing_of_the_solver(folder: Path, method: str) -> None:
    words = ("suppress", "p.jj.gz", "--anew", "--method", method, "--out", f"{method}.jj")
    text = printed(folder, *words) + printed(folder, "audit", f"{method}.jj")
    assert text.count("Unprotected: 0") == 2
    assert [word for word in WORDS if word in text.lower()] == []
