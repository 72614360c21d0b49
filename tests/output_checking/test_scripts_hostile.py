"""Many short leaks in each language, and honest scripts that must stay usable.

A leak counts as seen if it is refused, or goes to review, by more than the name of a module. The
files are never run or imported.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from discreet.output_checking.findings import Severity
from discreet.output_checking.policy_rules import Action
from discreet.output_checking.rewriting import Rewriting
from discreet.output_checking.scripts.python_scripts import rewrite_python
from discreet.output_checking.scripts.r_scripts import rewrite_r
from discreet.output_checking.scripts.r_tree import parse_r

FOLDER = Path(__file__).parent / "scripts"
HOSTILE = sorted((FOLDER / "hostile").iterdir())
HONEST = sorted((FOLDER / "honest").glob("*/*"))
#: How many places of an honest script go to review; none where it is not named.
REVIEWS = {"03_logit.py.txt": 1, "07_functions.py.txt": 2, "03_logit.R": 1}


def rewritten(name: str, text: str) -> Rewriting:
    return rewrite_python(text) if ".py" in name else rewrite_r(text)


def whole(name: str, block: str) -> str:
    head = "import pandas as pd\ndf = pd.read_csv('a.csv')\n"
    return (head if ".py" in name else "d <- read.csv('a.csv')\n") + block


def is_seen(name: str, block: str) -> bool:
    done = rewritten(name, whole(name, block))
    return any(
        each.severity.rank > Severity.REVIEW.rank
        or (each.severity is Severity.REVIEW and each.rule != "import")
        for each in done.findings
    )


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.name)
def test_no_leak_passes_in_silence(path: Path) -> None:
    blocks = path.read_text("utf-8").split("#---\n")
    assert len(blocks) > 50
    silent = [block for block in blocks if not is_seen(path.name, block)]
    assert not silent, "\n---\n".join(silent)


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.name)
def test_what_is_written_is_a_program_and_can_be_taken_back(path: Path) -> None:
    for block in path.read_text("utf-8").split("#---\n"):
        text = whole(path.name, block)
        done = rewritten(path.name, text)
        if done.refused:
            continue
        (ast.parse if ".py" in path.name else parse_r)(done.text)
        back = done.text
        for edit in done.edits:
            start = edit.start
            assert back[start : start + len(edit.after)] == edit.after, block
            back = back[:start] + edit.before + back[start + len(edit.after) :]
        assert back == text, block


def test_there_are_ten_honest_scripts_of_each() -> None:
    assert [sum(path.suffix == end for path in HONEST) for end in (".txt", ".R")] == [10, 10]


@pytest.mark.parametrize("path", HONEST, ids=lambda path: path.name)
def test_honest_scripts_run_with_safe_functions_and_few_findings(path: Path) -> None:
    text = path.read_text("utf-8")
    done = rewritten(path.name, text)
    grave = [each for each in done.findings if each.severity.rank > Severity.REVIEW.rank]
    assert not grave, [str(each) for each in grave]
    reviews = [str(each) for each in done.findings if each.severity is Severity.REVIEW]
    assert len(reviews) == REVIEWS.get(path.name, 0), reviews
    assert all(edit.action is Action.WRAPPED for edit in done.edits)
    assert done.edits or "import safe" in text
