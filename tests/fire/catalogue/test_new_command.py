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
[[command]]
names = "spans"
kind = "description"
summary = "means, in a form of its own"
takes = { syntax = "usual", by = false, weights = "" }
options = "Detail"
layout = ""
idle = ""
[command.shows]
statistic = "spans.spans"
called = "variables"
sample = "checked"
universes = "each"
groups = "variables"
remote = true
"""
#: Where the lists of its facts begin.
ROW_ALIKE = [
    '"r()" = """\n', 'r = """\n', 'each = "', 'variables = "', 'usual = """\n',
    'variables = "centile ',
    '[facts."reads.counts"]\ntrue = """\n', '[facts."shows.remote"]\ntrue = "',
]  # fmt: skip
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
spans x, wrong
"""
SCRIPT = """
import runpy
import sys
from pathlib import Path
import polars as pl
from discreet_fire.catalogue.policy import Policy
from discreet_fire.logs.safe_outputs import _FORMS
from discreet_fire.extras.remote_analysis.queries import COMMANDS
from discreet_fire.rewriting.do_files import rewrite
from discreet_fire.runners.builtin.data.dataset import DataSet
from discreet_fire.runners.builtin.disclosure.units import number_microdata
from discreet_fire.runners.builtin.interpreter import Interpreter
from discreet_fire.runners.builtin.language.steps import steps_of
from discreet_fire.runners.builtin.state.session import Session
from discreet_fire.stata.parser import parse_do
from discreet_fire.statistics.limits import SafeLimits

markdown = runpy.run_path(sys.argv[1])["markdown"]
text = Path("program.do").read_text()
print(rewrite(text).text)
print(Policy.default().verdict("spans").safe, *_FORMS["fdzspans"], "spans" in COMMANDS)
print([line for line in markdown().splitlines() if "`spans`" in line][0])
log = []
session = Session(Path("."), SafeLimits(), tell=log.append)
session.data = DataSet.of(pl.DataFrame({"x": [1.0, 2.0, 4.0] * 20, "g": [1] * 2 + [2] * 58}))
number_microdata(session, session.data)
try:
    Interpreter(session).steps(steps_of(parse_do(text)))
except Exception as error:
    log.append(repr(error))
print("\\n".join(log))
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
    catalogue = package / "catalogue"
    add(catalogue / "commands.toml", 'users = """\n', 'users = """\nspans fdzspans\n')
    add(catalogue / "commands.toml", "[forms]\n", "[forms]\nfdzspans = ['spans: <n>']\n")
    add(
        catalogue / "policy.toml", 'commands = ["summarize", ', 'commands = ["spans", "summarize", '
    )
    add(catalogue / "policy.toml", '"fdzsummarize", ', '"fdzspans", "fdzsummarize", ')
    add(catalogue / "execution.toml", "\n[[command]]\n", f"{ROW}\n[[command]]\n")
    add(catalogue / "commands.toml", "[facts.forms]\n", '[facts.forms]\n1 = "fdzspans"\n')
    for alike in ROW_ALIKE:
        add(catalogue / "execution.toml", alike, f"{alike}spans ")
    (package / "statistics" / "spans.py").write_text(STATISTIC)
    (root / "stata" / "fdzspans.ado").write_text(ADO)
    (root / "program.do").write_text(PROGRAM)
    return root


def run(root: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROOT / "scripts" / "runner_reference.py")],
        cwd=root, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_new_safe_command_touches_its_row_its_statistic_and_its_ado_file(checkout: Path) -> None:
    done = run(checkout)
    assert done.returncode == 0, done.stderr
    rewritten, told = done.stdout.split("fdzspans re.compile")
    assert rewritten.split() == PROGRAM.replace("spans", "fdzspans").split()
    assert "True" in told.splitlines()[0]
    assert "| `spans` | means, in a form of its own | `Detail` |" in told
    assert "withheld" in told  # of two records
    assert "2.33" in told
    assert "option wrong of spans" in told


@pytest.mark.parametrize("left_out", ["commands.toml", "policy.toml", "execution.toml"])
def test_without_a_part_of_its_row_it_is_an_error(
    checkout: Path, tmp_path: Path, left_out: str
) -> None:
    root = tmp_path / "less"
    shutil.copytree(checkout, root, symlinks=True)
    place = Path("src") / "discreet_fire" / "catalogue" / left_out
    shutil.copy(ROOT / place, root / place)
    done = run(root)
    assert (done.returncode != 0) or "UnsupportedError" in done.stdout
    assert "2.33" not in done.stdout
