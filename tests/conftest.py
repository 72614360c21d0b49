"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def reference_folder() -> Path | None:
    """Where the published reference data are: DISCREET_REFERENCE, or beside the repository."""
    named = os.environ.get("DISCREET_REFERENCE")
    folder = Path(named) if named else ROOT.parent / "shared" / "reference"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of published examples and results of other tools."""
    folder = reference_folder()
    if folder is None:
        reason = "no reference data: set DISCREET_REFERENCE to their folder"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder
