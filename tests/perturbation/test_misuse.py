"""Slips in the use of perturbation tables: refused, since each could publish true values."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from discreet import PerturbationTable, Table, perturb
from discreet.errors import FilterError, PerturbationError

PTABLE = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: "0.5", 1: "0.5"}})


@pytest.fixture
def cells() -> Table:
    frame = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [3, 2, 1], "key": [0.9, 0.8, 0.1]})
    return Table.from_cells(frame, ["sex"], count="n", cell_key="key")


@pytest.mark.parametrize("text", ["sx == 'Total'", "Sex == 'Total'", "sexx.level == 0"])
def test_a_misspelt_variable_does_not_make_every_cell_official(cells: Table, text: str) -> None:
    with pytest.raises(PerturbationError, match="no variable"):
        perturb(cells, PTABLE, official=text)


def test_another_variable_of_a_like_name_is_named_with_its_total(cells: Table) -> None:
    safe = perturb(cells, PTABLE, official="sexx == 'Total'", totals={"sexx": "Total"})
    assert set(safe.to_polars()["status"]) == {"official"}
    safe = perturb(cells, PTABLE, official="sexx == 'Total' and sex == 'Total'")
    assert safe.get("Total") == 3


@pytest.mark.parametrize("text", ["sex > age.level", "sex.level == sex"])
def test_codes_are_not_compared_to_levels(cells: Table, text: str) -> None:
    with pytest.raises(FilterError):
        perturb(cells, PTABLE, official=text)


def test_table_and_perturbation_table_are_what_they_should_be(cells: Table) -> None:
    wrong: Any
    for wrong in (None, "ptable.csv", pl.DataFrame()):
        with pytest.raises(PerturbationError, match="needed"):
            perturb(cells, wrong)
        with pytest.raises(PerturbationError, match="needed"):
            perturb(wrong, PTABLE)


@pytest.mark.parametrize("wrong", [None, 5, [1, 2], {0: None}])
def test_probabilities_have_the_form_of_a_table(wrong: Any) -> None:
    make: Any
    for make in (PerturbationTable.from_rows, PerturbationTable.from_transition):
        with pytest.raises(PerturbationError):
            make(wrong)
    with pytest.raises(PerturbationError):
        PerturbationTable.from_cumulative(wrong, noise=[0])
    with pytest.raises(PerturbationError):
        PerturbationTable.from_cumulative([[1]], noise=wrong and [wrong])


@pytest.mark.parametrize("beyond", ["x", None, 5, (1,), ("a", "b")])
def test_the_rule_for_large_counts_is_one_of_two(beyond: Any) -> None:
    with pytest.raises(PerturbationError, match="last"):
        PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}}, beyond=beyond)


def test_intervals_are_closed_left_or_right() -> None:
    wrong: Any = "middle"
    with pytest.raises(PerturbationError, match="left"):
        PTABLE.with_closed(wrong)
