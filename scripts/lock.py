"""Pin every package that running, testing and measuring discreet installs.

In: the requirements of pyproject.toml. Out: a constraints file with one exact
version per package, the newest that pip finds and that take the very first
release of the oldest Python supported, such as 3.11.0.

    python scripts/lock.py constraints.txt
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

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


def resolve(requirements: Sequence[str], refused: Sequence[str]) -> list[dict[str, Any]]:
    """What pip would install for `requirements`, without installing it."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
        constraints.write("".join(f"{line}\n" for line in refused))
        constraints.flush()
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
        command += ["--ignore-installed", "--report", "-", "--constraint", constraints.name]
        command += requirements
        report = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [entry["metadata"] for entry in json.loads(report)["install"]]


def resolve_for(python: str, requirements: Sequence[str]) -> dict[str, str]:
    """Versions that `python` can install, even if the Python at hand is a newer one."""
    refused: list[str] = []
    while True:
        found = resolve(requirements, refused)
        newer = [
            f"{each['name']}!={each['version']}"
            for each in found
            if not SpecifierSet(each.get("requires_python", "")).contains(python)
        ]
        if not newer:
            return {canonical(each["name"]): str(each["version"]) for each in found}
        refused += newer


def canonical(name: str) -> str:
    """A package name as indexes spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main(arguments: Sequence[str]) -> int:
    """Write the constraints file named in `arguments`."""
    (target,) = arguments
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    oldest = project["project"]["requires-python"].removeprefix(">=")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if here != oldest:
        print(f"lock with Python {oldest}, not {here}: pins must fit the oldest Python")
        return 2
    pins = resolve_for(f"{oldest}.0", wanted(project))
    lines = [f"{name}=={version}\n" for name, version in sorted(pins.items())]
    Path(target).write_text(HEADER + "".join(lines), encoding="utf-8")
    print(f"{len(lines)} packages pinned in {target}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
