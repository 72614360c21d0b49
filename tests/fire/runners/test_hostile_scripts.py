"""Hostile scripts that rewriting lets pass show nothing of single persons where they run.

All of one language run as one program, each by itself and with the texts that it may print. What
one shows is withheld, left out, or goes to a person as a figure that nobody checked.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet_fire.runners.protocol import RunResult, run_program
from discreet_fire.runners.script_run import PythonRunner, RRunner, literals_of
from discreet_fire.scripts import parse_r
from discreet_fire.statistics import CheckVerdict, SafeLimits
from tests.helpers.closed_runs import engine_of
from tests.helpers.hostile import rewritten, silent, whole

PERSONS = 72
#: One person is far above all others: whatever hangs on the largest value is about this one.
TOP = 2000
_DRAWN = np.random.default_rng(5)
FRAME = pl.DataFrame(
    {
        "id": range(PERSONS),
        "x": [TOP if at == 17 else at % 4 for at in range(PERSONS)],
        "y": _DRAWN.random(PERSONS).round(3),
        "wage": (20 + 80 * _DRAWN.random(PERSONS)).round(2),
        "noise": _DRAWN.random(PERSONS).round(3),
        "k": _DRAWN.integers(0, 3, PERSONS),
        "g": _DRAWN.choice(["a", "b"], PERSONS),
        "name": [f"p{at}" for at in range(PERSONS)],
    }
)
#: Marks between them that fall to a line before them.
FEW = 4
_MARK = re.compile(r"trap n(\d+)")


def own_texts(at: int, block: str) -> str:
    """With a text of its own in place of one that many of them print."""
    return re.sub(r"(?<=[\"'])one(?=\W)", f"one of {at}", block)


def python_program(blocks: list[tuple[str, str]]) -> str:
    """All of them in one program."""
    lines, texts = ["import sys"], list[str]()
    for at, (name, block) in enumerate(blocks):
        text = rewritten(name, whole(name, own_texts(at, block))).text
        texts += [*literals_of(text).elements(), f"trap n{at}", f"stopped n{at}"]
        lines += [
            f"print('\\ntrap ' + 'n{at}')",
            f"try: exec({text!r}, {{'__name__': '__main__'}})",
            f"except BaseException: print('stopped ' + 'n{at}')",
        ]
    return "\n".join([*lines, f"texts = {texts!r}", ""])


def r_program(blocks: list[tuple[str, str]]) -> str:
    """The same in R."""
    lines, texts = list[str](), list[str]()
    for at, (name, block) in enumerate(blocks):
        text = rewritten(name, whole(name, own_texts(at, block))).text
        texts += [
            line.strip()
            for top in parse_r(text) for node in top.walk() if node.kind == "string"
            for line in node.value.split("\n") if line.strip()
        ]  # fmt: skip
        texts += [f"trap n{at}", f"stopped n{at}"]
        code = f"textConnection({json.dumps(text)})"
        lines += [
            f'cat(paste("\\ntrap", "n{at}"), "\\n")',
            f"tryCatch(source({code}, local = list2env(list(quit = stop, q = stop)),"
            " print.eval = TRUE),"
            f' error = function(e) cat(paste("stopped", "n{at}"), "\\n"))',
            'cat("\\n")',
        ]
    return "\n".join([*lines, f"texts <- c({', '.join(map(json.dumps, texts))})", ""])


def run(place: Path, program: str, runner: PythonRunner | RRunner) -> RunResult:
    FRAME.write_csv(place / "a.csv")
    (place / "program").mkdir()
    file = place / "program" / ("a.py" if isinstance(runner, PythonRunner) else "a.R")
    file.write_text(program)
    return run_program(runner, file, data=[place / "a.csv"], limits=SafeLimits(), entity="id",
                       seed=0, seconds=300.0, witness=None)  # fmt: skip


def passed(result: RunResult) -> Iterator[tuple[int, str]]:
    """What passes as checked, with the trap that shows it; not where a figure beside it is for a
    person.
    """
    trap, shown, unchecked = -1, dict[int, list[str]](), set[int]()
    known = iter(
        [line for one in result.outputs if one.command == "text" and one.line == 0
         for line in one.result.shown.split("\n")]
    )  # fmt: skip
    outputs = iter([one for one in result.outputs if one.command != "text"])
    upcoming = next(known, None)
    for line in result.log.splitlines():
        if line.startswith(". ") and not line.startswith(". *"):
            one = next(outputs, None)
            if one is not None and one.result.verdict is CheckVerdict.passed:
                shown.setdefault(trap, []).append(line)
        elif line.startswith("| "):
            if line[2:] != upcoming:
                unchecked.add(trap)
                continue
            upcoming = next(known, None)
            if mark := _MARK.fullmatch(line[2:]):
                trap = int(mark[1])
            elif not line.startswith("| stopped"):
                shown.setdefault(trap, []).append(line)
    return ((at, line) for at in shown.keys() - unchecked for line in shown[at])


@pytest.mark.exhaustive
def test_what_python_shows_of_hostile_scripts_goes_to_a_person(tmp_path: Path) -> None:
    blocks = silent(".py")[::5]  # each runs some twenty times
    result = run(tmp_path, python_program(blocks), engine_of("python"))
    assert result.error is None, result.error
    assert result.log.count("\n| trap ") >= len(blocks) - FEW
    assert {blocks[at][1]: line for at, line in passed(result)} == {}


@pytest.mark.r
def test_what_r_shows_of_hostile_scripts_goes_to_a_person(tmp_path: Path) -> None:
    blocks = silent(".R")[::3]
    result = run(tmp_path, r_program(blocks), engine_of("r"))
    assert result.error is None, result.error
    assert result.log.count("\n| trap ") >= len(blocks) - FEW
    assert {blocks[at][1]: line for at, line in passed(result)} == {}
