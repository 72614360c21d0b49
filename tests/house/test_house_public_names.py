"""What `discreet` offers: sorted, complete, documented, with examples that run."""

import doctest
import importlib
import pkgutil
import re
from types import ModuleType

import pytest

import discreet
from tests.helpers.places import ROOT

NAMES = [name for name in discreet.__all__ if not isinstance(getattr(discreet, name), ModuleType)]
NAMES.remove("__version__")


def modules() -> list[str]:
    walk = pkgutil.walk_packages(discreet.__path__, "discreet.")
    return [module.name for module in walk if module.name != "discreet.__main__"]


def test_the_names_are_sorted() -> None:
    assert dir(discreet) == discreet.__all__ == sorted(discreet.__all__)


def test_every_name_of_a_face_is_there() -> None:
    for module in modules():
        face = importlib.import_module(module)
        assert face.__doc__, module
        assert [name for name in dir(face) if not hasattr(face, name)] == [], module


def test_a_module_does_not_take_the_place_of_a_function_of_its_name() -> None:
    module = importlib.import_module("discreet.pretabular.safe")
    assert discreet.pretabular.safe is module.safe


def test_names_have_examples_and_a_place_in_the_reference() -> None:
    reference = (ROOT / "docs" / "reference" / "api.md").read_text("utf-8")
    for name in NAMES:
        found = doctest.DocTestFinder(recurse=True).find(getattr(discreet, name), name)
        assert [test.name for test in found if test.examples], name
        assert re.search(rf"^::: discreet(\.\w+)*\.{name}$", reference, re.MULTILINE), name


def test_the_map_of_the_package_names_everything() -> None:
    text = discreet.__doc__ or ""
    aside = {"CellStatus", "KeyGrid", "tabulate_many"}
    assert [name for name in NAMES if name not in aside and f"`{name}" not in text] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tabluate'"):
        discreet.tabluate  # noqa: B018
