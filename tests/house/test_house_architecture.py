"""The page on the architecture, the picture, the names of modules and classes, former paths."""

from __future__ import annotations

import ast
import collections
import importlib
import importlib.util
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.former_names import FORMER

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
MODULES = sorted((ROOT / "src").rglob("*.py"))
#: Words of the field that end like a verb.
NOUNS = {"holdings", "findings", "listings", "settings", "second_readings", "python_bindings",
         "rounding", "rewriting", "recoding", "swapping"}  # fmt: skip


@pytest.mark.exhaustive  # `make check` says it, too
def test_the_picture_is_that_of_the_code() -> None:
    command = [sys.executable, "scripts/architecture_picture.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", sorted(set(re.findall(r"`(discreet(?:_fire)?\.[\w.]+)`", PAGE))))
def test_each_step_names_a_module_that_exists(module: str) -> None:
    assert importlib.util.find_spec(module) is not None
    assert module not in FORMER


def classes() -> Iterator[tuple[str, Path]]:
    for path in MODULES:
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                yield node.name, path


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, list[Path]] = collections.defaultdict(list)
    for name, path in classes():
        places[name].append(path.relative_to(ROOT))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_modules_are_nouns() -> None:
    odd = [p for p in MODULES if re.search(r"ings?$", p.stem) and p.stem not in NOUNS]
    assert odd == []


@pytest.mark.parametrize("former", sorted(FORMER))
def test_a_former_path_works_and_warns(former: str) -> None:
    for name in [name for name in sys.modules if name.startswith("discreet.") and name in FORMER]:
        del sys.modules[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = importlib.import_module(former)
    said = [str(one.message) for one in caught if one.category is DeprecationWarning]
    assert any(text.startswith(former + " is now ") for text in said)
    with pytest.raises(AttributeError, match="nonsense"):
        module.nonsense  # noqa: B018


def test_former_paths_hand_on_what_the_documentation_named() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from discreet.output_checking import safe
        from discreet.perturbation.design import preset
        from discreet.release.quality import write_quality
        from discreet.rules.judging import primary
        from discreet.suppression import PartRules, read_jj, suppress
        from discreet.suppression.batches import run_batch

    import discreet as dc
    import discreet_fire.statistics

    assert (suppress, PartRules, primary) == (dc.suppress, dc.PartRules, dc.primary)
    assert safe.tabulate is discreet_fire.statistics.tabulate
    for handed_on in (preset, write_quality, read_jj, run_batch):
        assert callable(handed_on)
