"""What `discreet` offers: sorted, complete, documented, with examples that run."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re

import pytest

import discreet
from discreet import _HOMES
from tests.helpers.places import ROOT

NAMES = [name for name in discreet.__all__ if not name.startswith("__")]


def modules() -> list[str]:
    walk = pkgutil.walk_packages(discreet.__path__, "discreet.")
    return [module.name for module in walk if module.name != "discreet.__main__"]


def test_the_names_are_sorted_and_complete() -> None:
    assert discreet.__all__ == sorted(discreet.__all__)
    assert set(discreet.__all__) == {*_HOMES, "__version__"}
    assert dir(discreet) == discreet.__all__


def test_type_checkers_see_the_names_that_programs_get() -> None:
    tree = ast.parse((ROOT / "src" / "discreet" / "__init__.py").read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: f"{node.module}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {name: f"discreet.{home}" for name, home in _HOMES.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_can_be_used_and_is_public_where_it_lives(name: str) -> None:
    home = importlib.import_module(f"discreet.{_HOMES[name]}")
    assert getattr(discreet, name) is getattr(home, name)
    assert name in home.__all__


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_an_example_that_runs(name: str) -> None:
    thing = getattr(discreet, name)
    found = doctest.DocTestFinder(recurse=True).find(thing, name)
    assert [test.name for test in found if test.examples], "no example in its docstrings"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_in_the_reference(name: str) -> None:
    reference = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
    assert re.search(rf"^::: discreet\.{_HOMES[name]}(\.\w+)*\.{name}$", reference, re.MULTILINE)


def test_the_map_of_the_package_names_everything() -> None:
    text = discreet.__doc__ or ""
    aside = {"CellStatus", "KeyGrid", "tabulate_many"}
    assert [name for name in NAMES if name not in aside and f"`{name}" not in text] == []


@pytest.mark.parametrize("module", modules())
def test_a_module_says_what_it_is_and_offers_what_it_lists(module: str) -> None:
    loaded = importlib.import_module(module)
    assert loaded.__doc__
    offered = getattr(loaded, "__all__", [])
    assert [name for name in offered if not hasattr(loaded, name)] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tabluate'"):
        discreet.tabluate  # noqa: B018
