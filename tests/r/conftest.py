"""The R package, installed once."""

import subprocess
from pathlib import Path

import pytest

from tests.helpers.places import ROOT


@pytest.fixture(scope="session")
def library(r: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package is installed."""
    folder = tmp_path_factory.mktemp("library")
    package = str(ROOT / "R" / "discreet")
    command = [r, "CMD", "INSTALL", "--no-test-load", f"--library={folder}", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder
