"""The page on the architecture, the picture, the names of modules and classes."""

import ast
import collections
import importlib
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.rows import for_all_rows

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
MODULES = sorted((ROOT / "src").rglob("*.py"))
#: Words of the field that end like a verb.
NOUNS = {"holdings", "renderings", "findings", "listings", "settings", "second_readings",
         "rounding", "rewriting", "recoding", "swapping"}  # fmt: skip


@pytest.mark.exhaustive  # `make check` says it, too
def test_the_picture_is_that_of_the_code() -> None:
    command = [sys.executable, "scripts/architecture_picture.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@for_all_rows("module", sorted(set(re.findall(r"`(discreet(?:_fire)?\.[\w.]+)`", PAGE))))
def test_each_step_names_a_module_that_exists(module: str) -> None:
    assert importlib.util.find_spec(module) is not None


def classes() -> Iterator[tuple[str, Path]]:
    for path in MODULES:
        for name in re.findall(r"^class (\w+)", path.read_text("utf-8"), re.MULTILINE):
            yield name, path


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, list[Path]] = collections.defaultdict(list)
    for name, path in classes():
        places[name].append(path.relative_to(ROOT))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_modules_are_nouns() -> None:
    odd = [p for p in MODULES if re.search(r"ings?$", p.stem) and p.stem not in NOUNS]
    assert odd == []


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 matches `(...)*+` wrongly (gh-106052): `(?>(...)*)` means the same."""
    sources = ((path, path.read_text("utf-8")) for path in MODULES)
    parsed = (
        (path, node.value)
        for path, source in sources
        if re.search(r"[*+?]\+", source)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    # What stands in a class of characters, or behind a backslash, repeats nothing.
    plain = ((path, re.sub(r"\\.|\[\^?\]?[^\]]*\]", "x", text)) for path, text in parsed)
    assert {path.name for path, text in plain if re.search(r"\)[*+?]\+", text)} == set()
