"""Hold files to the size that one can read in one go: ``check_sizes.py [FILE …]``.

In: the Python files of the repository. Out: one line per file that is too long, and exit
code 1 if there is any. A function is as long as its method reads from top to bottom.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FOLDERS = ("src", "tests", "scripts", "bench")
FILE_LINES = 800


def main(arguments: Sequence[str]) -> int:
    """Check the files named in `arguments`, or all of the repository."""
    files = [Path(name) for name in arguments]
    files = files or [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(files)}
    long = {path: lines for path, lines in sizes.items() if lines > FILE_LINES}
    for path, lines in long.items():
        print(f"{path}:1: {lines} lines, at most {FILE_LINES} are allowed")
    print(f"{len(files)} files, {len(long)} too long")
    return 1 if long else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
