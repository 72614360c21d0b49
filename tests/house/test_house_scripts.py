"""The scripts behind `make`: choosing a Python, pinning versions, showing examples."""

import doctest
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.helpers.places import ROOT


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- find_python.sh ---------------------------------------------------------


def find_python(*named: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    shell = shutil.which("sh") or "/bin/sh"
    command = [shell, str(ROOT / "scripts" / "find_python.sh"), *named]
    environment = {**os.environ, **({"PATH": str(path)} if path else {})}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def fake_python(path: Path, version: str, *, venv: bool) -> str:
    """A stand-in for an interpreter: it answers the three questions that are asked."""
    old = version.startswith(("2.", "3.8"))
    path.write_text(
        f'#!/bin/sh\ncase "$2" in *print*) echo {version};;'
        f" *exit*) exit {int(old)};; *venv*) exit {int(not venv)};; esac\n"
    )
    path.chmod(0o755)
    return str(path)


def test_a_python_that_will_do_is_found() -> None:
    done = find_python(sys.executable)
    assert (done.returncode, done.stdout.strip()) == (0, sys.executable)


def test_a_newer_python_is_found_beside_an_old_one(tmp_path: Path) -> None:
    fake_python(tmp_path / "python3", "3.8", venv=True)
    fake_python(tmp_path / "python3.12", "3.12", venv=True)
    done = find_python(path=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "python3.12")


@pytest.mark.parametrize(
    ("version", "venv", "complaint"),
    [("3.8", True, "version 3.8 is too old"), ("3.12", False, "has no venv module")],
)
def test_a_python_that_will_not_do_is_explained(
    tmp_path: Path, version: str, venv: bool, complaint: str
) -> None:
    python = fake_python(tmp_path / "python3", version, venv=venv)
    done = find_python(python)
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"{python}: " in done.stderr
    assert complaint in done.stderr


def test_a_machine_without_python_is_told_what_is_needed(tmp_path: Path) -> None:
    done = find_python(path=tmp_path)
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    named = find_python("/no/such/python", path=tmp_path)
    assert "/no/such/python: cannot be run" in named.stderr


# -- lock.py ----------------------------------------------------------------


def test_versions_that_the_oldest_python_cannot_take_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A package may need 3.11.5 while the machine at hand has 3.11.9."""
    lock = script("lock")

    def index(requirements: list[str], refused: list[str]) -> list[dict[str, Any]]:
        if "Sorted_Things!=2.0" in refused:
            return [{"name": "Sorted_Things", "version": "1.9", "requires_python": ">=3.8"}]
        return [{"name": "Sorted_Things", "version": "2.0", "requires_python": ">=3.11.5"}]

    monkeypatch.setattr(lock, "resolve", index)
    assert lock.resolve_for("3.11.0", ["sorted-things"]) == {"sorted-things": "1.9"}
    assert lock.resolve_for("3.11.5", ["sorted-things"]) == {"sorted-things": "2.0"}


def test_all_extras_and_groups_are_pinned() -> None:
    project = {
        "project": {"dependencies": ["a>=1"], "optional-dependencies": {"x": ["b", "a>=1"]}},
        "dependency-groups": {"dev": ["c"]},
    }
    assert script("lock").wanted(project) == ["a>=1", "b", "c"]


# -- example_sections.py ----------------------------------------------------


def test_the_examples_of_a_docstring_become_a_section() -> None:
    sections = script("example_sections")
    assert doctest.testmod(sections) == (0, 1)
    text = "Args:\n    a: One.\n\n>>> f()\n1\n\n>>> g()\n2"
    assert sections.with_section(text).endswith(
        "Examples:\n    >>> f()\n    1\n\n    >>> g()\n    2"
    )
    assert sections.with_section("No example.\n\n    >>> indented") == (
        "No example.\n\n    >>> indented"
    )
