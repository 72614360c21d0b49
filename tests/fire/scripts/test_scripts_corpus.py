"""Twenty scripts in each language with leaks of every kind, each marked on its line.

What is marked RUN stays, since it shows nothing of few persons where it runs. The names of those in
Python end in `.txt`, so that nothing ever imports them.
"""

import ast
import re
from pathlib import Path

from discreet_fire.findings import Severity
from discreet_fire.rewriting.do_files import Rewriting
from discreet_fire.rewriting.submission import rewrite_python, rewrite_r
from discreet_fire.scripts.tree import parse_r
from tests.helpers.places import FIRE_DATA
from tests.helpers.rows import for_all_rows

FOLDER = FIRE_DATA / "scripts"
PYTHON = sorted((FOLDER / "py").glob("*.py.txt"))
R = sorted((FOLDER / "r").glob("*.R"))
MARK = re.compile(r"\b(LEAK|SAFE|REVIEW)\b")


def rewritten(path: Path) -> Rewriting:
    text = path.read_text("utf-8")
    return rewrite_python(text) if path.parent.name == "py" else rewrite_r(text)


def lines_of(done: Rewriting, severity: Severity) -> set[int]:
    return {each.line for each in done.findings if each.severity is severity}


def test_there_are_twenty_of_each() -> None:
    assert (len(PYTHON), len(R)) == (20, 20)


@for_all_rows("path", [*PYTHON, *R], ids=lambda path: path.name)
def test_each_leak_is_stopped_and_nothing_else(path: Path) -> None:
    text = path.read_text("utf-8")
    done = rewritten(path)
    wanted: dict[str, set[int]] = {"LEAK": set(), "SAFE": set(), "REVIEW": set()}
    for number, line in enumerate(text.splitlines(), 1):
        for found in MARK.finditer(line):
            wanted[found.group(1)].add(number)
    refused = lines_of(done, Severity.REFUSED)
    edited = {edit.line for edit in done.edits}
    assert not lines_of(done, Severity.ERROR), [str(each) for each in done.findings]
    assert refused == wanted["LEAK"], (refused - wanted["LEAK"], wanted["LEAK"] - refused)
    assert wanted["LEAK"] <= edited, wanted["LEAK"] - edited
    wrapped = {e.line for e in done.edits if e.rule == "command"}
    assert wrapped == wanted["SAFE"], (wrapped, wanted["SAFE"])
    assert wanted["REVIEW"] <= lines_of(done, Severity.REVIEW)
    assert ast.parse(done.text) if path.parent.name == "py" else parse_r(done.text)
