"""A safe command comes from its row in the catalogue, its statistic and its ado file alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.places import ROOT

ROW = """
[statistics]
spans.statistic = "spans.spans"
spans.sample = "checked"
spans.universes = "each"
spans.groups = "variables"
spans.remote = false
"""
STATISTIC = '''\
"""Means of variables."""

from dataclasses import replace

from discreet_fire.statistics.summarize import summarize


def spans(frame, names, *, limits, entity=None, weights=None):
    """Means of variables, as `summarize` gives them."""
    found = summarize(frame, names, limits=limits, entity=entity, weights=weights)
    return replace(found, command="spans")
'''
ADO = """\
*! fdzspans: means of variables
program fdzspans, rclass
    version 14
    syntax [varlist] [if] [in] [, Detail CRItical(string)]
    fdzsummarize `varlist' `if' `in', critical(`critical')
end
"""
PROGRAM = """\
spans x if g == 1
spans x
"""
SCRIPT = """
from pathlib import Path
import polars as pl
from discreet_fire.catalogue import Policy, statistic_row
from discreet_fire.logs.stata_tables import _SAFE_FORMS
from discreet_fire.rewriting.do_files import rewrite
from discreet_fire.statistics import safe_statistic

print(rewrite(Path("program.do").read_text()).text)
print(Policy.default().verdict("spans").safe, *_SAFE_FORMS["fdzspans"])
frame = pl.DataFrame({"x": [1.0, 2.0, 4.0] * 20})
print(safe_statistic(statistic_row("spans").statistic)(frame, "x", limits=None).shown)
"""


def add(path: Path, before: str, after: str) -> None:
    """Put a piece into a data file."""
    text = path.read_text("utf-8")
    assert text.count(before) >= 1
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with one more command: in the catalogue, in `statistics`, in `stata`."""
    root = tmp_path_factory.mktemp("checkout")
    package = root / "src" / "discreet_fire"
    shutil.copytree(ROOT / "src" / "discreet_fire", package)
    (root / "src" / "discreet").symlink_to(ROOT / "src" / "discreet")
    shutil.copytree(ROOT / "stata", root / "stata")
    catalogue = package / "catalogue" / "stata.toml"
    for before, after in (
        ('users = """\n', "spans fdzspans "),
        ("[forms]\n", "fdzspans = ['spans: <n>']\n"),
        ('"summarize", "tabstat", ', '"spans", '),
        ('"fdzestimate", ', '"fdzspans", '),
    ):
        add(catalogue, before, before + after)
    add(catalogue, "\n[statistics]\n", ROW)
    (package / "statistics" / "spans.py").write_text(STATISTIC)
    (root / "stata" / "fdzspans.ado").write_text(ADO)
    (root / "program.do").write_text(PROGRAM)
    return root


def run(root: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=root, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.exhaustive
def test_a_new_safe_command_touches_its_row_its_statistic_and_its_ado_file(checkout: Path) -> None:
    done = run(checkout)
    assert done.returncode == 0, done.stderr
    rewritten, told = done.stdout.split("fdzspans re.compile")
    assert rewritten.split() == PROGRAM.replace("spans", "fdzspans").split()
    assert "2.33" in told
