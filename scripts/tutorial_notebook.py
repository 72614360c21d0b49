"""Write the tutorial as a notebook: docs/tutorial/first-release.ipynb, from the page beside it.

    python scripts/tutorial_notebook.py

In: the page. Out: its text as Markdown cells and its code as cells that run.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tutorial" / "first-release.md"
FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: The first line of a cell, by language. Commands end the cell where one of them fails.
FIRST = {"python": "", "sh": "%%sh -e\n", "toml": "%%writefile {}\n"}


def notebook(page: str) -> str:
    """The notebook of a page, as JSON."""
    page = re.sub(r" *\[The same as a notebook\]\([^)]*\)\.", "", page)
    cells: list[dict[str, Any]] = []
    start = 0
    for block in FENCE.finditer(page):
        language, title, code = block.groups()
        cells.append(_cell("markdown", page[start : block.start()], len(cells)))
        cells.append(_cell("code", FIRST[language].format(title) + code, len(cells)))
        start = block.end()
    cells.append(_cell("markdown", page[start:], len(cells)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4}
    return json.dumps({**content, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str, number: int) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return {**cell, "source": text.strip("\n").splitlines(keepends=True)}


if __name__ == "__main__":
    PAGE.with_suffix(".ipynb").write_text(notebook(PAGE.read_text("utf-8")), encoding="utf-8")
