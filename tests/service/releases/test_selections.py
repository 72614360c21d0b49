"""Selections: codes in the order asked for, nothing added up, nothing lost of hidden cells."""

import numpy as np
import pytest

from discreet.classifications import Classification
from discreet.publication import non_additivity
from discreet.tables import (
    CellNote,
    CellStatus,
    Dimension,
    Note,
    ProtectedTable,
    Provenance,
    Withheld,
)
from discreet_service.facades.pxweb.queries import chosen_positions, split_values
from discreet_service.problems import ServiceError
from discreet_service.releases.selection import select


@pytest.fixture
def table():
    sex = Classification.flat("sex", ["m", "w"])
    age = Classification.flat("age", ["0-17", "18-66", "67+", "65,5"])
    hidden = Note("secondary", {"en": "second", "de": "Gegensperrung"})
    return ProtectedTable(
        dimensions=(Dimension(classifications=(sex,)), Dimension(classifications=(age,))),
        index=(np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 1, 2])),
        value=np.array([20, 9, 4, 0, 7]),
        status=np.array([0, 0, 0, CellStatus.suppressed, CellStatus.bracketed], dtype=np.int8),
        provenance=Provenance(version="1", method="cell-suppression"),
        cell_notes=(
            CellNote(("w", None), Note("cells", {"en": "women"})),
            CellNote(("m", "67+"), Note("cells", {"en": "old men"})),
        ),
        withheld=Withheld(
            index=(np.array([2]), np.array([1])),
            reason=np.array([1], dtype=np.int8),
            reasons=(hidden,),
            low=np.array([2.0]),
            high=np.array([8.0]),
        ),
        parts=frozenset({(0, 0), (1, 0), (1, 1)}),
    )


def test_codes_stand_in_the_order_asked_for(table):
    some = select(table, {"sex": [2, 0], "age": [1]}, most=10)
    assert some.numbers() == [None, 9]
    made = some.as_table()
    assert made.get("w", "0-17") is None
    assert made.get("Total", "0-17") == 9
    assert made.dimensions[0].codes == ("w", "Total")
    assert non_additivity(made) is None
    told = made.withheld.beside(made.dimensions, made.index, made.status == 0)
    assert (told["reason"].to_list(), told["low"].to_list()) == (["secondary", None], [2.0, None])
    assert [note.note.text() for note in made.cell_notes] == ["women"]


def test_what_a_table_does_not_have_is_unknown_not_zero(table):
    some = select(table, {"sex": [1], "age": [0, 3]}, most=10)
    assert some.numbers() == [None, 0]


def test_a_variable_that_is_left_out_stands_at_its_total(table):
    some = select(table, {"age": [0, 1]}, most=10)
    assert some.size == 2
    assert some.numbers() == [20, 9]
    assert [each.name for each in some.as_table().dimensions] == ["age"]
    assert select(table, {}, most=1).numbers() == [20]


def test_too_many_cells_are_refused_with_their_number(table):
    with pytest.raises(ServiceError) as error:
        select(table, {"sex": [0, 1], "age": [0, 1]}, most=3)
    assert (error.value.limit, error.value.actual) == (3, 4)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("*", ["Total", "0-17", "18-66", "67+", "65,5"]),
        ("67+", ["67+"]),
        ("[65,5]", ["65,5"]),
        ("range(0-17,67+),Total", ["Total", "0-17", "18-66", "67+"]),
        ("from([65,5])", ["65,5"]),
        ("to(0-17)", ["Total", "0-17"]),
        ("TOP(2)", ["Total", "0-17"]),
        ("top(1,1),bottom(1)", ["0-17", "65,5"]),
        ("??+", ["67+"]),
        ("*6*", ["18-66", "67+", "65,5"]),
        ("67+,67+", ["67+"]),
    ],
)
def test_value_expressions(table, asked, found):
    dimension, problems = table.dimensions[1], []
    places = chosen_positions(split_values(asked), dimension.index, "age", problems)
    assert not problems
    assert [dimension.codes[at] for at in places] == found


@pytest.mark.parametrize(
    "asked",
    ["x", "top()", "top(-1)", "top(1,2,3)", "range(0-17)", "from(x)", "x*y", "\x00", "*" * 30],
)
def test_expressions_that_mean_nothing_are_told(table, asked):
    problems = []
    assert chosen_positions([asked], table.dimensions[1].index, "age", problems) == []
    assert len(problems) == 1
    assert problems[0].what.isprintable()
