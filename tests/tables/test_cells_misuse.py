"""Cells made elsewhere that do not form a table are refused, and nothing of them is shown."""

from typing import Any

import pandas as pd
import polars as pl
import pytest

from discreet import Classification, Table
from discreet.errors import TableError
from tests.helpers.rows import for_all_rows

CELLS = pl.DataFrame({"sex": ["m", "w"], "n": [2, 1]})


@for_all_rows("cells", [None, [1], {"sex": ["m"]}, "cells.csv", 5])
def test_cells_are_a_frame(cells: Any) -> None:
    with pytest.raises(TableError, match="frame"):
        Table.from_cells(cells, ["sex"], count="n")


def test_a_column_of_mixed_types_is_not_shown() -> None:
    cells = pd.DataFrame({"sex": [1, "very private"], "n": [2, 1]})
    with pytest.raises(TableError) as refusal:
        Table.from_cells(cells, ["sex"], count="n")
    assert "private" not in str(refusal.value)
    assert refusal.value.__suppress_context__


@for_all_rows("by", ["sex", 5, None, [5], [["sex"]], [[]], ["sex", "sex"]])
def test_by_is_a_list_of_different_variables(by: Any) -> None:
    with pytest.raises(TableError) as refusal:
        Table.from_cells(CELLS, by, count="n")
    assert refusal.value.code == "by"


def test_a_variable_cannot_have_the_name_of_a_column_of_the_table() -> None:
    with pytest.raises(TableError, match="'count'"):
        Table.from_cells(CELLS.rename({"sex": "count"}), ["count"], count="n")


@pytest.mark.parametrize("codes", [[float("nan"), None], ["Missing", None]])
def test_a_category_of_missing_values_occurs_once(codes: list[Any]) -> None:
    """Two spellings of one cell would be published as two figures."""
    tree = Classification.flat("sex", ["m"]).with_missing()
    for spanning in ("sex", tree):
        with pytest.raises(TableError, match="more than once"):
            Table.from_cells(pl.DataFrame({"sex": codes, "n": [1, 2]}), [spanning], count="n")


def test_counts_that_are_texts_are_named_as_such() -> None:
    with pytest.raises(TableError, match="String"):
        Table.from_cells(CELLS.cast({"n": pl.String}), ["sex"], count="n")
