"""Slips in the use of perturbation tables: refused, since each could publish true values."""

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import PerturbationTable, Table, perturb
from discreet.errors import FilterError, PerturbationError, TableError
from tests.helpers.rows import for_all_rows

PTABLE = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: "0.5", 1: "0.5"}})


@pytest.fixture
def cells() -> Table:
    frame = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [3, 2, 1], "key": [0.9, 0.8, 0.1]})
    return Table.from_cells(frame, ["sex"], count="n", cell_key="key")


@pytest.mark.parametrize("text", ["sx == 'Total'", "Sex == 'Total'", "sexx.level == 0"])
def test_a_misspelt_variable_does_not_make_every_cell_official(cells: Table, text: str) -> None:
    with pytest.raises(PerturbationError, match="closest match: 'sex'"):
        perturb(cells, PTABLE, official=text)


def test_no_variable_is_taken_to_be_at_its_total_unasked(cells: Table) -> None:
    """Every cell would be official, and every true value published."""
    for text in ("zz == 'Total'", "zz.level == 0", "sex == 'Total' and zz == 'Total'"):
        with pytest.raises(
            PerturbationError, match="variable 'zz' not found in the table"
        ) as caught:
            perturb(cells, PTABLE, official=text)
        assert "totals={'zz'" in caught.value.hint
    with pytest.raises(PerturbationError, match="2 variables") as caught:
        perturb(cells, PTABLE, official="yy == 'Total' or zz == 'Total'", totals={"y": "Total"})
    assert len(caught.value.problems) == 2


def test_another_variable_of_a_like_name_is_named_with_its_total(cells: Table) -> None:
    safe = perturb(cells, PTABLE, official="sexx == 'Total'", totals={"sexx": "Total"})
    assert set(safe.to_polars()["status"]) == {"official"}
    text = "sexx == 'Total' and sex == 'Total'"
    safe = perturb(cells, PTABLE, official=text, totals={"sexx": "Total"})
    assert safe.get("Total") == 3
    assert safe.get("m") != 2


@pytest.mark.parametrize(
    ("option", "wrong"),
    [
        ("totals", ["zz"]),
        ("totals", {"zz": 1}),
        ("totals", "zz"),
        ("decimals", "2"),
        ("decimals", -1),
        ("decimals", 16),
        ("decimals", True),
        ("decimals", 1.5),
        ("found_codes", "show"),
        ("found_codes", None),
        ("suppress_below", "3"),
        ("suppress_below", True),
        ("suppress_below", np.bool_(True)),
        ("suppress_below", float("nan")),
        ("suppress_below", -1),
        ("zeros", None),
    ],
)
def test_options_that_are_not_what_they_should_be(cells: Table, option: str, wrong: Any) -> None:
    options: dict[str, Any] = {option: wrong}
    with pytest.raises(PerturbationError) as caught:
        perturb(cells, PTABLE, **options)
    assert caught.value.code == option.replace("_", "-")


@pytest.mark.parametrize("kind", [int, float, np.int64, np.int8, np.float32, Fraction])
def test_numbers_of_any_kind_are_thresholds(cells: Table, kind: Any) -> None:
    safe = perturb(cells, PTABLE, suppress_below=kind(3), decimals=np.int64(0))  # type: ignore[arg-type]
    assert safe.get("w") is None
    assert safe.to_polars().equals(perturb(cells, PTABLE, suppress_below=3).to_polars())


@for_all_rows("wrong", [None, 3, b"ptable.csv", [], True])
def test_a_perturbation_table_is_read_from_a_path(wrong: Any) -> None:
    with pytest.raises(PerturbationError, match="expected the path of a file, got a"):
        PerturbationTable.read(wrong)


@pytest.mark.parametrize(
    "text", ["sex ==", "sex == 3", "import os", "sex > age.level", "sex.level == sex"]
)
def test_filters_that_cannot_be_understood(cells: Table, text: str) -> None:
    with pytest.raises(FilterError):
        perturb(cells, PTABLE, official=text, totals={"age": "Total"})


def test_table_and_perturbation_table_are_what_they_should_be(cells: Table) -> None:
    wrong: Any
    for wrong in (None, "ptable.csv", pl.DataFrame()):
        with pytest.raises(PerturbationError, match="expected a"):
            perturb(cells, wrong)
        with pytest.raises(PerturbationError, match="expected a"):
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


@for_all_rows("beyond", ["x", None, 5, (1,), ("a", "b")])
def test_the_rule_for_large_counts_is_one_of_two(beyond: Any) -> None:
    with pytest.raises(PerturbationError, match="last"):
        PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}}, beyond=beyond)


def test_intervals_are_closed_left_or_right() -> None:
    wrong: Any = "middle"
    with pytest.raises(PerturbationError, match="left"):
        PTABLE.with_closed(wrong)


@pytest.mark.parametrize("name", ["titles", "universe", "digests"])
@pytest.mark.parametrize("wrong", ["Dwellings", ["Dwellings"], {"en": 3}, {3: "Dwellings"}])
def test_texts_have_a_language(cells: Table, name: str, wrong: Any) -> None:
    with pytest.raises(TableError) as refused:
        perturb(cells, PTABLE, **{name: wrong})
    assert refused.value.where == name
