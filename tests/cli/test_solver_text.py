"""Commands that need the solver print nothing of its own, on neither output of their process."""

import json
import subprocess
import sys
from pathlib import Path

#: Stands in each banner and report of the solver.
WORDS = ("highs", "simplex", "presolv", "mip ", "copyright", "iterations", "bnb", "nanobind")
#: The program, with one command after the other.
PROGRAM = """\
import json, sys
from discreet.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as end:
        assert not end.code, words
"""


def test_suppression_prints_nothing_of_the_solver(tmp_path: Path, reference: Path) -> None:
    source = reference / "suppression" / "tau_SizeReg_P10.jj.gz"
    (tmp_path / "p.jj.gz").write_bytes(source.read_bytes())
    commands = []
    for method in ("fast", "optimal"):
        out = f"{method}.jj"
        commands.append(["suppress", "p.jj.gz", "--anew", "--method", method, "--out", out])
        commands.append(["audit", out])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        cwd=tmp_path, capture_output=True, check=True,
    )  # fmt: skip
    text = (done.stdout + done.stderr).decode()  # to the last byte
    assert text.count("Unprotected: 0") == len(commands)
    assert [word for word in WORDS if word in text.lower()] == []
