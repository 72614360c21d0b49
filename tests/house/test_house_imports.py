"""`import discreet` is light, and modules import only what lies below them."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.places import ROOT

HEAVY = (
    "cryptography", "duckdb", "narwhals", "numba", "numpy", "openpyxl", "pandas",
    "polars", "pyarrow", "pydantic", "pyspark", "rich", "typer",
)  # fmt: skip

# Processor time, not wall time: other work on the machine must not fail the test.
MEASURE = """
import sys, time
start = time.process_time()
import discreet
print(time.process_time() - start)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def fresh(code: str) -> list[str]:
    """The lines that `code` prints in an interpreter of its own."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_import_takes_less_than_150_milliseconds() -> None:
    times = [float(fresh(MEASURE)[0]) for _ in range(5)]
    assert statistics.median(times) < 0.150


def test_import_loads_no_engine() -> None:
    loaded = set(fresh(MEASURE)[1].split())
    assert "discreet" in loaded
    assert loaded & set(HEAVY) == set()


def test_a_first_use_loads_what_it_needs() -> None:
    lines = fresh("import sys, discreet; discreet.Table; print('numpy' in sys.modules)")
    assert lines == ["True"]


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    """Hold the contracts of pyproject.toml against the package under `root`."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )


def test_the_layers_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("tables/cells.py", "import discreet.protection.noise", "Upper layers"),
        ("keygrid.py", "import discreet.files", "Upper layers"),
        ("publication/__init__.py", "import discreet.tabulation", "Publication"),
        ("tables/dimension.py", "import discreet.tables.table", "No import cycles"),
        ("stray.py", "", "- discreet.stray"),
    ],
)
def test_a_breach_of_the_layers_is_found(
    tmp_path: Path, module: str, line: str, contract: str
) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    changed = tmp_path / "src" / "discreet" / module
    before = changed.read_text("utf-8") if changed.exists() else ""
    changed.write_text(f"{before}\n{line}\n", encoding="utf-8")
    done = lint(tmp_path)
    assert done.returncode != 0
    broken = [text for text in (done.stdout + done.stderr).splitlines() if contract in text]
    assert any("KEPT" not in text for text in broken), done.stdout + done.stderr
