"""Hold files and functions to the size that one can read in one go.

In: the Python files of the repository. Out: one line per file or function that
is too long, and exit code 1 if there is any.

    python scripts/check_sizes.py [FILE …]
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FOLDERS = ("src", "tests", "scripts", "bench")
FILE_LINES = 800
FUNCTION_LINES = 60


def python_files() -> Iterator[Path]:
    """The Python files of the repository."""
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*.py"))


def too_long(path: Path) -> list[str]:
    """What is too long in one file; documentation strings count."""
    text = path.read_text(encoding="utf-8")
    found = []
    if (lines := len(text.splitlines())) > FILE_LINES:
        found.append(f"{path}:1: {lines} lines, at most {FILE_LINES} are allowed")
    for node in ast.walk(ast.parse(text, filename=str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                place = f"{path}:{node.lineno}: function {node.name}"
                found.append(f"{place} has {lines} lines, at most {FUNCTION_LINES} are allowed")
    return found


def main(arguments: Sequence[str]) -> int:
    """Check the files named in `arguments`, or all of the repository."""
    files = [Path(name) for name in arguments] or list(python_files())
    found = [line for path in files for line in too_long(path)]
    print("\n".join(found) if found else f"{len(files)} files, none too long")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
