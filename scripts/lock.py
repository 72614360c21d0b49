"""Pin every package that running, testing and measuring discreet installs.

In: the requirements of pyproject.toml. Out: a constraints file with one exact
version per package, as pip resolves them today on the oldest supported Python.

    python scripts/lock.py constraints.txt
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

HEADER = """\
# Exact versions of everything that running, testing and measuring discreet needs.
# Made by `make lock`; do not edit.
"""


def wanted(project: dict[str, Any]) -> list[str]:
    """All requirements of a pyproject.toml: its own, its extras', its groups'."""
    lists = [
        project["project"]["dependencies"],
        *project["project"].get("optional-dependencies", {}).values(),
        *project.get("dependency-groups", {}).values(),
    ]
    return sorted({requirement for each in lists for requirement in each})


def resolve(requirements: Sequence[str]) -> dict[str, str]:
    """The versions pip would install for `requirements`, without installing them."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
    command += ["--ignore-installed", "--report", "-", *requirements]
    report = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = (entry["metadata"] for entry in json.loads(report)["install"])
    return {canonical(entry["name"]): str(entry["version"]) for entry in found}


def canonical(name: str) -> str:
    """A package name as indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main(arguments: Sequence[str]) -> int:
    """Write the constraints file named in `arguments`."""
    (target,) = arguments
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    supported = oldest["project"]["requires-python"].removeprefix(">=")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if here != supported:
        print(f"lock with Python {supported}, not {here}: pins must fit the oldest Python")
        return 2
    pins = resolve(wanted(oldest))
    lines = [f"{name}=={version}\n" for name, version in sorted(pins.items())]
    Path(target).write_text(HEADER + "".join(lines), encoding="utf-8")
    print(f"{len(lines)} packages pinned in {target}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
