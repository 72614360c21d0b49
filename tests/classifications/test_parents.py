"""Classifications from tables of codes and their parents."""

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.classifications import Classification
from discreet.errors import ClassificationError
from tests.helpers.rows import for_all_rows

PAIRS = [("N1", "N"), ("N", None), ("S", None), ("N2", "N")]
CODES = ("Total", "N", "N1", "N2", "S")


def frame(pairs=PAIRS):
    return pl.DataFrame(pairs, schema=["child", "parent"], orient="row")


@for_all_rows(
    "source",
    [
        PAIRS,
        dict(PAIRS),
        [(child, parent or "Total") for child, parent in PAIRS],
        [("Total", None), *PAIRS],
        frame(),
        frame().lazy(),
        frame().to_arrow(),
        pd.DataFrame(PAIRS, columns=["child", "parent"]),
        pd.DataFrame(PAIRS, columns=["child", "parent"], dtype=object),
    ],
    ids=[
        "pairs",
        "mapping",
        "total",
        "listed total",
        "polars",
        "lazy",
        "arrow",
        "pandas",
        "object",
    ],
)
def test_children_stand_in_the_order_of_first_appearance(source):
    assert Classification.from_parents("region", source).codes == CODES


def test_labels_come_from_the_columns_of_a_frame_and_given_ones_win():
    source = frame().with_columns(
        label_en=pl.Series(["North 1", "North", None, None]),
        label_de=pl.Series(["Nord 1", "Nord", None, ""]),
    )
    tree = Classification.from_parents("region", source, labels={"N": {"en": "The North"}})
    assert tree.labels["N1"] == {"en": "North 1", "de": "Nord 1"}
    assert tree.labels["N"] == {"en": "The North"}
    assert "S" not in tree.labels
    assert "N2" not in tree.labels


def test_columns_may_have_other_names_and_whole_numbers():
    source = pl.DataFrame({"code": [11, 1], "above": [1, None]})
    tree = Classification.from_parents("c", source, child="code", parent="above")
    assert tree.codes == ("Total", "1", "11")


def test_details_are_taken_by_every_way_of_making_one():
    tree = Classification.from_parents(
        "region", PAIRS, total="DE", column="place", missing="?", titles={"en": "Region"}
    )
    assert (tree.total, tree.source, tree.missing, tree.title()) == ("DE", "place", "?", "Region")


@for_all_rows(
    ("pairs", "message"),
    [
        ([("N1", "N")], "parent 'N' of code 'N1' not found among the codes"),
        ([("n", None), ("n1", "N")], "closest match: 'n'"),
        ([("A", "B"), ("B", "C"), ("C", "A")], "the hierarchy has a circle"),
        ([("A", "A")], "the hierarchy has a circle"),
        ([("A", None), ("B", None), ("A", None)], r"'A' is listed twice \(first in v, pair 1\)"),
        (
            [("A", None), ("B", None), ("C", "A"), ("C", "B")],
            "code 'C' has two parents, 'A' and 'B'",
        ),
        ([("Total", "A"), ("A", None)], "'Total' clashes with the total"),
        ([("", None)], "v, pair 1: a code is empty"),
        ([(1, None)], "code 1 is not a text\n  Hint: write the code as text: '1'"),
        ([("A",)], "write pairs such as"),
        ("AB", "not a pair of code and parent"),
        ([("Total", None), ("Total", None), ("A", None)], "'Total' is listed twice"),
    ],
)
def test_what_is_not_a_tree_is_an_error_that_names_the_code(pairs, message):
    with pytest.raises(ClassificationError, match=message):
        Classification.from_parents("v", pairs)


def test_each_circle_is_reported_once_and_codes_below_it_are_not_blamed():
    with pytest.raises(ClassificationError) as error:
        Classification.from_parents(
            "v", {"A": "B", "B": "A", "under": "A", "C": "D", "D": "C", "fine": None}
        )
    assert [problem.what for problem in error.value.problems] == [
        "the hierarchy has a circle: 'A' → 'B' → 'A'",
        "the hierarchy has a circle: 'C' → 'D' → 'C'",
    ]


def test_a_frame_without_the_columns_says_which_there_are():
    with pytest.raises(ClassificationError, match="column 'parent' not found") as error:
        Classification.from_parents("v", pl.DataFrame({"child": ["a"], "up": ["b"]}))
    assert error.value.hint == "columns: child, up"


def test_an_object_that_is_no_frame_is_refused():
    with pytest.raises(ClassificationError, match="type int is not a table of codes"):
        Classification.from_parents("v", 3)


@for_all_rows("codes", [["a", "a"], ["a", "Total"], ["a", ""], ["a", None], [1], "mw"])
def test_flat_codes_are_checked(codes):
    with pytest.raises(ClassificationError):
        Classification.flat("v", codes)


@st.composite
def forests(draw):
    """Parents of codes 0 … n-1; a code's parent is an earlier one or the total."""
    size = draw(st.integers(1, 30))
    above = [draw(st.integers(-1, at - 1)) for at in range(size)]
    return {f"c{at}": None if up < 0 else f"c{up}" for at, up in enumerate(above)}


@given(forests(), st.randoms())
def test_any_order_of_rows_gives_a_tree_with_the_same_parents(parents, random):
    rows = list(parents.items())
    random.shuffle(rows)
    tree = Classification.from_parents("v", rows)
    assert len(tree) == len(parents) + 1
    for code, parent in parents.items():
        assert tree.parent(code) == (parent or "Total")
    assert all(up < at for at, up in enumerate(tree.parents))
    for code in tree.codes:
        assert tree.children(code) == tuple(c for c in tree.codes[1:] if tree.parent(c) == code)
    shown = [code for code, _ in rows if parents[code] is None]
    assert list(tree.children("Total")) == shown
