"""Notebooks are rewritten in their cells, lose what they showed, and can be restored."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OutputCheckError
from discreet_fire.rewriting.results import undo
from discreet_fire.rewriting.submission import rewrite_files
from discreet_fire.scripts.documents import in_json, read_notebook
from tests.helpers.rows import for_all_rows

PYTHON = {"kernelspec": {"language": "python", "name": "python3"}}


def _cell(source: str | list[str], **more: Any) -> dict[str, Any]:
    base = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    return {**base, "source": source, **more}


def _notebook(*cells: dict[str, Any], metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    about = PYTHON if metadata is None else metadata
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": about, "cells": list(cells)}


def _rewritten(path: Path, plain: dict[str, Any], **style: Any) -> dict[str, Any]:
    path.write_text(json.dumps(plain, **style), encoding="utf-8")
    (done,) = rewrite_files([path])
    assert done.output is not None, done.findings
    return json.loads(done.output.read_text(encoding="utf-8"))


@pytest.mark.parametrize("style", [{"indent": 1}, {}, {"ensure_ascii": False, "indent": 4}])
def test_cells_are_rewritten_and_outputs_are_gone(tmp_path: Path, style: dict[str, Any]) -> None:
    shown = [{"output_type": "stream", "name": "stdout", "text": ["wage 987654\n"]}]
    plain = _notebook(
        {"cell_type": "markdown", "metadata": {}, "source": ['# Löhne 😀 "x"\n', "text"]},
        _cell(
            ["import pandas as pd\n", "df = pd.read_csv('a.csv')  # ü 😀\n", "df.describe()"],
            outputs=shown,
            execution_count=7,
        ),
        _cell("print(\n    df.describe()\n)\ndf.to_csv('b.csv')"),
        _cell([]),
        metadata={**PYTHON, "widgets": {"state": {"value": 987654}}},
    )
    path = tmp_path / "a.ipynb"
    found = _rewritten(path, plain, **style)
    text = json.dumps(found)
    assert "987654" not in text
    codes = ["".join(cell["source"]) for cell in found["cells"]]
    assert codes[0] == '# Löhne 😀 "x"\ntext'
    assert codes[1].splitlines()[-1] == "print(fdz_safe.describe(df))"
    assert "# ü 😀" in codes[1]
    assert codes[2].startswith("print(\n    fdz_safe.describe(df)\n)\npass  # FDZ")
    assert found["cells"][1]["execution_count"] is None
    before = path.read_bytes()
    path.unlink()
    assert undo(tmp_path / "a_FiRe.ipynb.json").read_bytes() == before


def test_notebooks_in_r(tmp_path: Path) -> None:
    plain = _notebook(
        _cell("d <- read.csv('a')\nsummary(d)\nd"),
        metadata={"kernelspec": {"language": "R", "name": "ir"}, "language_info": {"name": "R"}},
    )
    found = _rewritten(tmp_path / "a.ipynb", plain)
    assert "".join(found["cells"][0]["source"]).endswith("fdz_summary(d)\ninvisible(d)")


def test_findings_stand_at_their_place_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(_notebook(_cell(["x = 1\n", "import nothing_known\n"])), indent=1))
    (done,) = rewrite_files([path])
    lines = path.read_text().splitlines()
    places = [one for one in done.findings if one.severity.value == "review"]
    assert places
    assert all("nothing_known" in lines[one.line - 1] for one in places)


@pytest.mark.parametrize(
    ("plain", "what"),
    [
        ({}, "nbformat 4"),
        ({"nbformat": 3, "worksheets": []}, "nbformat 4"),
        (_notebook(_cell("1"), metadata={}), "Python or R"),
        (_notebook(_cell("1"), metadata={"kernelspec": {"language": "julia"}}), "Python or R"),
        (
            _notebook(
                _cell("1"),
                metadata={"kernelspec": {"language": "R"}, "language_info": {"name": "python"}},
            ),
            "Python or R",
        ),
        (_notebook(_cell([1])), "not a text"),
    ],
)
def test_other_notebooks_are_refused(tmp_path: Path, plain: dict[str, Any], what: str) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(plain))
    with pytest.raises(OutputCheckError, match=what):
        rewrite_files([tmp_path / "a.ipynb"])
    assert [path.name for path in tmp_path.iterdir()] == ["a.ipynb"]


@for_all_rows(
    "text",
    ["", "{", "[1,]", '{"a": 1 "b": 2}', '{"cells": [], "cells": []}', "[" * 10_000, '{"a": tru}'],
)
def test_broken_json_is_refused(text: str) -> None:
    with pytest.raises(OutputCheckError, match="JSON cannot be read"):
        read_notebook(text, "a.ipynb")


def test_magics_are_errors(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(_notebook(_cell("%run other.py\nx = 1"))))
    (done,) = rewrite_files([tmp_path / "a.ipynb"])
    assert done.output is None
    assert any("magics" in one.hint for one in done.findings)


@given(
    st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=12), max_size=5),
    st.booleans(),
    st.data(),
)
def test_places_are_those_of_the_file(
    pieces: list[str], ascii_only: bool, data: st.DataObject
) -> None:
    text = json.dumps(_notebook(_cell(pieces)), ensure_ascii=ascii_only)
    found = read_notebook(text, "a.ipynb")
    code = "".join(pieces)
    assert found.code == f"# %%\n{code}\n"
    start = data.draw(st.integers(5, 5 + len(code)))
    end = data.draw(st.integers(start, 5 + len(code)))
    span = found.span(start, end)
    if span is None:
        assert not code  # there is nothing in the file
        return
    new = data.draw(st.text(st.characters(exclude_categories=("Cs",)), max_size=6))
    changed = json.loads(text[: span[0]] + in_json(new) + text[span[1] :])
    assert "".join(changed["cells"][0]["source"]) == code[: start - 5] + new + code[end - 5 :]
