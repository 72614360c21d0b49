"""Rows, columns and headings of tables on a page."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.publication.examples import census_example
from discreet.publication.layout import Heading, arrange, headings, lay_out
from discreet.tables import CellStatus, ProtectedTable
from tests.helpers.protected_tables import protected_table
from tests.helpers.rows import for_all_rows

SHOWN = CellStatus.published


def body(layout) -> list[list[float]]:
    return np.concatenate([block.value for block in layout.blocks(rows=2)]).tolist()


def test_the_last_variable_goes_across():
    layout = lay_out(census_example())
    assert layout.shape == (3, 6)
    assert body(layout)[1] == [175, 20, 31, 32, 40, 50]


def test_rows_and_columns_can_be_named():
    layout = lay_out(census_example(), rows=["age"])
    assert layout.shape == (6, 3)
    assert body(layout)[0] == [371, 175, 197]
    assert lay_out(census_example(), columns=["sex", "age"]).shape == (1, 18)
    assert lay_out(census_example(), columns=[]).shape == (18, 1)


def test_a_single_variable_goes_down(make_table, sex):
    layout = lay_out(make_table([sex], {("m",): (4, SHOWN)}))
    assert body(layout) == [[0], [4], [0]]
    assert headings(layout, "de") == [[Heading("Wert", 0, 1, 1)]]


def test_a_table_without_variables_is_one_cell(make_table):
    layout = lay_out(make_table([], {(): (4, SHOWN)}))
    assert body(layout) == [[4]]


def test_a_sparse_layout_shows_totals_and_what_is_not_zero(mixed):
    layout = lay_out(mixed, complete=False)
    region = mixed.dimensions[0]
    assert [region.codes[at] for at in layout.row_codes[:, 0]] == ["Total", "N", "N1", "S"]
    assert body(layout)[2] == [880, 0, 0]


def test_headings_stand_over_what_belongs_to_them(mixed):
    layout = lay_out(mixed, rows=["sex"])
    assert headings(layout) == [
        [Heading("Region", 0, 5, 1)],
        [Heading("Total", 0, 1, 2), Heading("North", 1, 3, 1), Heading("S", 4, 1, 2)],
        [Heading("Total", 1, 1, 1), Heading("=1+1 <b>&", 2, 1, 1), Heading("N2", 3, 1, 1)],
    ]


def test_headings_of_two_variables_repeat_the_second():
    rows = headings(lay_out(census_example(), columns=["sex", "age"]))
    assert rows[0] == [Heading("Sex / Age class", 0, 18, 1)]
    assert [heading.text for heading in rows[1]] == ["Total", "male", "female"]
    assert [heading.width for heading in rows[1]] == [6, 6, 6]
    assert len(rows[2]) == 18


@given(st.data())
def test_headings_cover_every_column_exactly_once(data):
    parents = [-1] + [data.draw(st.integers(0, k)) for k in range(data.draw(st.integers(1, 9)))]
    order = tree_order(parents)
    tree = Classification(
        name="t",
        codes=tuple(f"c{at}" for at in order),
        parents=tuple(order.index(parents[at]) if at else -1 for at in order),
    )
    layout = lay_out(one_cell(tree), columns=["t"])
    rows = headings(layout)
    covered = np.zeros((len(rows), len(order)), dtype=int)
    for number, row in enumerate(rows):
        for heading in row:
            down = slice(number, number + heading.height)
            covered[down, heading.column : heading.column + heading.width] += 1
    assert (covered == 1).all()


def one_cell(tree: Classification) -> ProtectedTable:
    return protected_table([tree], np.ones(1, np.int64))


def tree_order(parents: list[int]) -> list[int]:
    order, stack = [], [0]
    while stack:
        at = stack.pop()
        order.append(at)
        stack += [k for k in range(len(parents) - 1, 0, -1) if parents[k] == at]
    return order


@for_all_rows(
    ("rows", "columns", "message"),
    [
        (["colour"], None, "variable 'colour' not found"),
        (None, ["sex", "sex"], "placed twice"),
        (["sex"], ["sex", "age"], "placed twice"),
        (["sex"], [], "variable 'age' is missing in the layout"),
        ("sex", None, "a list of names"),
    ],
)
def test_layouts_that_do_not_fit(rows, columns, message):
    with pytest.raises(PublicationError, match=message):
        arrange(census_example(), rows, columns)


def test_all_mistakes_are_listed():
    with pytest.raises(PublicationError) as error:
        arrange(census_example(), ["colour"], ["size"])
    assert len(error.value.problems) == 2
