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


def test_names_are_public_where_they_live_and_have_examples_and_a_place_in_the_reference() -> None:
    reference = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
    for name in NAMES:
        home, thing = importlib.import_module(f"discreet.{_HOMES[name]}"), getattr(discreet, name)
        assert thing is getattr(home, name)
        assert name in home.__all__
        found = doctest.DocTestFinder(recurse=True).find(thing, name)
        assert [test.name for test in found if test.examples], name
        place = rf"^::: discreet\.{_HOMES[name]}(\.\w+)*\.{name}$"
        assert re.search(place, reference, re.MULTILINE), name


def test_the_map_of_the_package_names_everything() -> None:
    text = discreet.__doc__ or ""
    aside = {"CellStatus", "KeyGrid", "tabulate_many"}
    assert [name for name in NAMES if name not in aside and f"`{name}" not in text] == []


def test_modules_say_what_they_are_and_offer_what_they_list() -> None:
    for module in modules():
        loaded = importlib.import_module(module)
        assert loaded.__doc__, module
        offered = getattr(loaded, "__all__", [])
        assert [name for name in offered if not hasattr(loaded, name)] == [], module


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tabluate'"):
        discreet.tabluate  # noqa: B018
