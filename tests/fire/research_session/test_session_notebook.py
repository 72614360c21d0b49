"""The notebook of the documentation runs in a kernel of Jupyter, and shows what a reader sees."""

import os
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from discreet_fire.research_session.submission_folder import read_folder
from discreet_fire.rewriting.submission import rewrite_files
from tests.helpers.places import ROOT

NOTEBOOK = ROOT / "docs" / "how-to" / "notebook-session.ipynb"


def _executed(notebook: nbformat.NotebookNode, folder: Path) -> list[str]:
    """What stands below each cell with code; no setting of this person's Jupyter plays a part."""
    homes = {name: str(folder / "home") for name in ("JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    paths = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, kernel_name="python3", timeout=600, resources=paths)
    client.execute(env={**os.environ, **homes})
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return ["".join(map(_html, cell.outputs)) for cell in cells]


def _html(output: nbformat.NotebookNode) -> str:
    data = output.get("data", {})
    return data.get("text/html", data.get("text/plain", output.get("text", "")))


@pytest.mark.exhaustive
def test_the_notebook_runs(tmp_path: Path) -> None:
    written = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(written)
    assert all(cell.get("outputs", []) == [] for cell in written.cells)
    shown = _executed(written, tmp_path)
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


def test_a_session_is_handed_in_and_not_rewritten(tmp_path: Path) -> None:
    """Scripts that are rewritten may not import sessions: their outputs are handed in instead."""
    copy = tmp_path / "session.ipynb"
    copy.write_bytes(NOTEBOOK.read_bytes())
    (done,) = rewrite_files([copy])
    refused = "discreet_fire: only discreet_fire.statistics may be used"
    assert refused in {one.what for one in done.findings}
