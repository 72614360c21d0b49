"""Rules that cannot be, and a log that gives nothing away."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import PartRules, Table, check_parts
from discreet.errors import SuppressionError
from discreet.protection.parts import PartDecisions, measure_parts
from tests.helpers.rows import for_all_rows

CELLS = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [7013, 7012, 1]})
EVERY = {
    "max_share_small": 0.4321,
    "max_share_unique": 0.0,
    "max_share_grouped": 0.4321,
    "max_share_empty": 0.4321,
    "min_average_size": 4321,
    "max_relative_error": 0.4321,
}


def table(**options: Any) -> Table:
    return Table.from_cells(CELLS, by=["sex"], count="n", name="people", **options)


@for_all_rows(
    ("given", "problem"),
    [
        ({}, "no threshold given"),
        ({"small_up_to": 3}, "no threshold given"),
        ({"max_share_small": 50}, "max_share_small: must be at most 1"),
        ({"max_share_empty": -0.1}, "must be at least 0"),
        ({"max_share_unique": float("nan")}, "must be a number"),
        ({"max_relative_error": float("inf")}, "must be a number"),
        ({"min_average_size": "3"}, "must be a number"),
        ({"max_share_grouped": True}, "must be a number"),
        ({"max_share_small": 0.5, "small_up_to": 0}, "must be at least 1"),
        ({"max_share_small": 0.5, "min_cells": 2.5}, "must be a whole number"),
    ],
)
def test_rules_that_make_no_sense_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(SuppressionError, match=problem):
        PartRules(**given)


def test_all_mistakes_are_told_at_once_and_no_threshold() -> None:
    with pytest.raises(SuppressionError) as caught:
        PartRules(max_share_small=4.321, max_share_empty=-4.321, min_cells=0)
    assert len(caught.value.problems) == 3
    assert "4.321" not in str(caught.value)


def test_rules_are_never_printed() -> None:
    rules = PartRules(**EVERY)
    assert repr(rules) == str(rules) == "<PartRules: secret>"
    assert rules.to_dict() == {**EVERY, "small_up_to": 2, "min_cells": 1}


def test_a_threshold_may_be_reached_but_not_passed() -> None:
    assert check_parts(table(), PartRules(max_share_small=0.5)).outcome == "complete"
    assert check_parts(table(), PartRules(max_share_small=0.49)).outcome == "thinned"
    assert check_parts(table(), PartRules(min_average_size=3506.5)).outcome == "complete"
    assert check_parts(table(), PartRules(min_average_size=3507)).outcome == "thinned"


@for_all_rows("name", [name for name in EVERY if name != "max_share_empty"])
def test_each_rule_is_applied_on_its_own(name: str) -> None:
    """One cell of thousands and one of a single record, which break every rule but one."""
    limit = {"max_share_small": 0.4, "max_share_unique": 1e-5, "max_share_grouped": 0.0}
    limit |= {"min_average_size": 5000, "max_relative_error": 0.4}
    cells = CELLS if name != "max_share_grouped" else CELLS.with_columns(n=pl.Series([7, 7, 0]))
    of = Table.from_cells(cells, by=["sex"], count="n")
    decisions = check_parts(of, PartRules(**{name: limit[name]}), deviation=np.sqrt)
    (reason,) = decisions.parts[0].reasons
    expected = {
        "max_share_small": "small-cells",
        "max_share_unique": "unique-units",
        "max_share_grouped": "group-disclosure",
        "min_average_size": "average-size",
        "max_relative_error": "relative-error",
    }
    assert reason.code == expected[name]
    assert reason.text("de") != reason.text("en") != ""


def test_empty_cells_break_their_rule() -> None:
    cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [9, 9, 0]})
    decisions = check_parts(
        Table.from_cells(cells, by=["sex"], count="n"), PartRules(max_share_empty=0.4)
    )
    assert [reason.code for reason in decisions.parts[0].reasons] == ["empty-cells"]


def test_parts_with_few_cells_are_not_judged() -> None:
    assert check_parts(table(), PartRules(max_share_small=0, min_cells=3)).outcome == "complete"
    assert check_parts(table(), PartRules(max_share_small=0, min_cells=2)).outcome == "thinned"


# -- what a log tells ---------------------------------------------------------------------


def log() -> PartDecisions:
    return check_parts(table(), PartRules(**EVERY), deviation=np.sqrt)


def test_a_log_has_no_true_values_and_no_thresholds() -> None:
    told = log().to_json() + log().text() + log().text("de") + repr(log())
    numbers = set(map(float, re.findall(r"\d+(?:\.\d+)?", told)))
    assert numbers <= {0, 1, 2}


def test_a_log_is_read_back_as_it_was_written() -> None:
    data = json.loads(log().to_json())
    again = PartDecisions.from_dict(data)
    assert again == log()
    assert again.to_json() == log().to_json()
    assert data["parts"][0]["reasons"][0]["code"] == "small-cells"
    assert data["parts"][0]["text"]["de"].startswith("sex: gesperrt")


@pytest.mark.parametrize("data", [{}, {"form": 2}, [], {"form": 1, "table": "t"}])
def test_a_damaged_log_is_refused(data: Any) -> None:
    with pytest.raises(SuppressionError, match="log of subtables"):
        PartDecisions.from_dict(data)


def test_a_log_speaks_english_and_german_only() -> None:
    with pytest.raises(SuppressionError, match="use en or de"):
        log().text("fr")


def test_measures_and_cells_are_never_printed() -> None:
    from discreet.protection.parts.measures import part_cells

    cells = part_cells(table(), 2)
    assert "7013" not in repr(cells) + repr(cells.measure((1,)))


# -- what does not fit ----------------------------------------------------------------------


def test_arguments_of_another_kind_are_refused() -> None:
    rules = PartRules(max_share_small=0.5)
    with pytest.raises(SuppressionError, match="expected a Table, got a DataFrame"):
        check_parts(CELLS, rules)  # type: ignore[arg-type]
    with pytest.raises(SuppressionError, match="expected a PartRules, got a dict"):
        check_parts(table(), {"max_share_small": 0.5})  # type: ignore[arg-type]


def test_the_relative_error_needs_the_deviation_of_the_noise() -> None:
    with pytest.raises(SuppressionError, match="needs the standard deviation"):
        check_parts(table(), PartRules(max_relative_error=0.1))


@for_all_rows(
    "deviation", [[1.0], [1.0, -1.0, 1.0], [1.0, float("nan"), 1.0], "much", lambda counts: 1.0]
)
def test_deviations_that_fit_no_cell_are_refused(deviation: Any) -> None:
    with pytest.raises(
        SuppressionError, match="every cell needs a standard deviation of at least 0"
    ):
        check_parts(table(), PartRules(max_relative_error=0.1), deviation=deviation)
    with pytest.raises(
        SuppressionError, match="every cell needs a standard deviation of at least 0"
    ):
        measure_parts(table(), deviation=deviation)
