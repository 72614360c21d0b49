"""Files of at most 800 lines, functions of at most 60."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.places import ROOT

SCRIPT = ROOT / "scripts" / "check_sizes.py"


def check(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def function(lines: int) -> str:
    return "def f():\n" + "    pass\n" * (lines - 1)


@pytest.mark.exhaustive  # `make check` says it, too
def test_nothing_in_the_repository_is_too_long() -> None:
    done = check()
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("text", [function(60), "x = 1\n" * 800, "async " + function(60)])
def test_what_can_be_read_in_one_go_passes(tmp_path: Path, text: str) -> None:
    (tmp_path / "module.py").write_text(text)
    assert check(tmp_path / "module.py").returncode == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (function(61), "module.py:1: function f has 61 lines"),
        ("async " + function(61), "module.py:1: function f has 61 lines"),
        ("x = 1\n" * 801, "module.py:1: 801 lines"),
    ],
)
def test_what_is_too_long_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "module.py").write_text(text)
    done = check(tmp_path / "module.py")
    assert done.returncode == 1
    assert complaint in done.stdout
