"""Rows of functions: none may be left out, and a function without a row gets the strictest."""

from __future__ import annotations

import copy
import tomllib
from importlib.resources import files
from typing import Any

import pytest

from discreet_fire.catalogue.functions import (
    check_function_names,
    function_table,
    read_functions,
    statistic_facts,
)
from discreet_fire.runners.builtin.language.functions import function_names
from tests.helpers.run_data import Run

DOCUMENT: dict[str, Any] = tomllib.loads(
    files("discreet_fire.catalogue").joinpath("functions.toml").read_text("utf-8")
)


def test_a_field_that_is_left_out_or_not_understood_is_an_error() -> None:
    document = copy.deepcopy(DOCUMENT)
    for part in (document, document["expressions"], *document["statistics"].values()):
        for key in list(part):
            value = part.pop(key)
            with pytest.raises(ValueError):
                read_functions(document)
            if not isinstance(value, str | dict):
                part[key] = "so so"
                with pytest.raises(ValueError):
                    read_functions(document)
            part[key] = value
    assert read_functions(document) == function_table()


def test_a_row_that_is_left_out_is_an_error() -> None:
    statistics = function_table().statistics
    for name in statistics:
        with pytest.raises(ValueError, match=name):
            check_function_names(statistics.keys() - {name}, statistics)
    for name in function_names():
        with pytest.raises(ValueError, match=name):
            check_function_names(set(function_names()) - {name}, function_names())


def test_a_function_of_expressions_stands_once() -> None:
    twice = {**DOCUMENT["expressions"], "plain": f"{DOCUMENT['expressions']['plain']} inlist"}
    with pytest.raises(ValueError, match="twice"):
        read_functions({**DOCUMENT, "expressions": twice})


def test_what_has_no_row_is_taken_for_the_value_of_one_record() -> None:
    facts = statistic_facts("nosuchfunction")
    assert (facts.copies, facts.ordered, facts.groups, facts.options) == ("one", True, False, "")
    assert (facts.gives, facts.without) == ("number", "aweight fweight iweight pweight")


@pytest.mark.parametrize("function", ["strpos", "strrpos", "ustrpos", "ustrrpos"])
def test_a_condition_may_not_ask_for_the_text_of_one_record(function: str) -> None:
    names = ["Anna", "Ben"] * 20
    done = Run(f'summarize x if {function}(name, "Zoe") == 0', {"x": range(40), "name": names})
    found = "\n".join(done.log)
    plain = Run("summarize x", {"x": range(40), "name": names})
    assert "19.5" in "\n".join(plain.log)
    assert "19.5" not in found
