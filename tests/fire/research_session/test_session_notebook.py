"""The notebook of the documentation runs cell by cell, and shows what a notebook would show.

Jupyter is no dependency: cells are run by `exec`, and the last expression of each is shown by its
``_repr_html_``, as a notebook does.
"""

from __future__ import annotations

import ast
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from discreet_fire.research_session.submission_folder import read_folder
from discreet_fire.rewriting.script_files import prepared_scripts
from tests.helpers.places import ROOT

NOTEBOOK = ROOT / "docs" / "how-to" / "notebook-session.ipynb"


def _shown(source: str, names: dict[str, Any]) -> str:
    """What a notebook shows below a cell."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)
    if not isinstance(last, ast.Expr):
        return ""
    value = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


def test_the_notebook_runs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    shown = [_shown(code, names) for code in codes]
    for html in shown:
        HTMLParser().feed(html)
    by_county, by_region, protected = shown[1:4]
    assert "<b style" in by_county
    assert ">fail</b>" in by_county
    assert "<i>hidden</i>" in by_county
    assert "follows from" in by_region
    assert "<i>hidden</i>" in protected
    assert ">pass</b>" in shown[5]  # the model
    assert "<svg" in shown[6]
    assert "<svg" in shown[7]
    handed = read_folder(tmp_path / "handed-in")
    assert handed.outputs[0].name == "women by county"
    assert all(cell.get("outputs", []) == [] for cell in cells)


def test_a_session_is_handed_in_and_not_rewritten(tmp_path: Path) -> None:
    """Scripts that are rewritten may not import sessions: their outputs are handed in instead."""
    copy = tmp_path / "session.ipynb"
    copy.write_bytes(NOTEBOOK.read_bytes())
    (done,) = prepared_scripts([copy])()
    refused = "discreet_fire: only discreet_fire.statistics may be used"
    assert refused in {one.what for one in done.findings}
