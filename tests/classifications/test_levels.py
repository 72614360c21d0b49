"""Classifications from level columns of the data, and from prefixes of codes."""

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.classifications import Classification
from discreet.errors import ClassificationError, DiscreetWarning
from tests.helpers.engines import ENGINES
from tests.helpers.rows import for_all_rows

PLACES = pl.DataFrame(
    {
        "state": ["02", "01", "01", "01", "01"],
        "district": ["02", "01002", "01001", "01002", "01001"],
        "place": ["02", "01002b", "01001a", "01002a", "01001a"],
    }
)
COLUMNS = ["state", "district", "place"]
CODES = ("Total", "01", "01001", "01001a", "01002", "01002a", "01002b", "02")


@for_all_rows("kind", ENGINES)
def test_levels_of_any_frame_give_one_tree_in_natural_order(kind):
    tree = Classification.from_levels(ENGINES[kind](PLACES), columns=COLUMNS, name="region")
    assert tree.codes == CODES
    assert tree.level_names == ("state", "district", "place")
    assert tree.source == "place"


@given(st.permutations(range(PLACES.height)))
def test_the_order_of_rows_does_not_matter(order):
    tree = Classification.from_levels(PLACES[list(order)], columns=COLUMNS)
    assert tree.codes == CODES
    assert tree.name == "place"


def test_a_code_that_repeats_its_parent_is_folded():
    tree = Classification.from_levels(PLACES, columns=COLUMNS)
    assert tree.parent("02") == "Total"
    assert "02" in tree.leaves


def test_missing_levels_make_uneven_depth_and_say_which_columns_hold_the_leaf():
    uneven = pl.DataFrame({"state": ["A", "B", "C", None], "district": ["A1", None, None, None]})
    tree = Classification.from_levels(uneven, columns=["state", "district"])
    assert tree.codes == ("Total", "A", "A1", "B", "C")
    assert tree.leaves == ("A1", "B", "C")
    assert tree.level_columns == ("state", "district")
    with pytest.raises(
        ClassificationError, match="some rows lack a code in the finest column 'district'"
    ):
        _ = tree.source
    named = Classification.from_levels(uneven, columns=["state", "district"], column="leaf")
    assert named.source == "leaf"
    even = Classification.from_levels(uneven.head(1), columns=["state", "district"])
    assert even.level_columns == ()
    assert even.source == "district"


def test_a_level_left_out_in_the_middle_is_skipped():
    frame = pl.DataFrame({"a": ["A", "B"], "b": [None, "B1"], "c": ["A11", "B11"]})
    tree = Classification.from_levels(frame, columns=["a", "b", "c"])
    assert tree.parent("A11") == "A"
    assert tree.parent("B11") == "B1"


def test_a_level_that_never_adds_a_code_is_not_named():
    frame = pl.DataFrame({"a": ["A", "A"], "b": ["A", "A"], "c": ["A1", "A2"]})
    assert Classification.from_levels(frame, columns=["a", "b", "c"]).level_names == ("a", "c")


@pytest.mark.parametrize(
    "codes",
    [
        pl.Series([10, 9, None]),
        pl.Series([10.0, 9.0, None]),
        pl.Series(["10", "9", None], dtype=pl.Categorical),
        pl.Series(["10", "9", None], dtype=pl.Enum(["10", "9"])),
    ],
    ids=str,
)
def test_whole_numbers_and_categories_serve_as_codes(codes):
    tree = Classification.from_levels(pl.DataFrame({"c": codes}), columns=["c"])
    assert tree.codes == ("Total", "9", "10")


@for_all_rows(
    ("frame", "columns", "message"),
    [
        (
            pl.DataFrame({"a": ["A", "B"], "b": ["x", "x"]}),
            ["a", "b"],
            "code 'x' has two parents, 'A' and",
        ),
        (pl.DataFrame({"a": ["A", "B"], "b": ["B", "B1"]}), ["a", "b"], "code 'B' has two parents"),
        (pl.DataFrame({"a": ["Total"]}), ["a"], "'Total' clashes with the total"),
        (pl.DataFrame({"a": ["A", ""]}), ["a"], "v, column a: a code is empty"),
        (
            pl.DataFrame({"a": [1.5]}),
            ["a"],
            "numbers with decimals cannot be codes",
        ),
        (
            pl.DataFrame({"a": [float("inf")]}),
            ["a"],
            "numbers with decimals cannot be codes",
        ),
        (pl.DataFrame({"a": [[1]]}), ["a"], "cannot hold codes"),
        (pl.DataFrame({"a": ["A"]}), ["a", "b", "c"], "2 columns not found"),
        (pl.DataFrame({"a": ["A"]}), [], "coarsest first"),
        (pl.DataFrame({"a": ["A"]}), "a", "coarsest first"),
        (pl.DataFrame({"a": ["A"]}), ["a", "a"], "coarsest first"),
    ],
)
def test_what_does_not_nest_is_an_error_that_names_code_and_column(frame, columns, message):
    with pytest.raises(ClassificationError, match=message):
        Classification.from_levels(frame, columns=columns, name="v")


def test_missing_values_of_pandas_are_missing_levels():
    frame = pd.DataFrame({"a": ["A", "B"], "b": ["A1", None]}, dtype=object)
    tree = Classification.from_levels(frame, columns=["a", "b"])
    assert tree.leaves == ("A1", "B")


# -- prefixes -----------------------------------------------------------------


def test_prefixes_of_municipality_codes_are_states_and_districts():
    codes = ["01002001", "01001002", "01001001", "11000000"]
    tree = Classification.from_prefixes("region", codes, lengths=[2, 5, 8])
    assert tree.codes == (
        *("Total", "01", "01001", "01001001", "01001002", "01002", "01002001"),
        *("11", "11000", "11000000"),
    )
    assert tree.leaves == ("01001001", "01001002", "01002001", "11000000")


def test_a_code_shorter_than_a_length_ends_there():
    tree = Classification.from_prefixes("region", ["01001001", "11", "020"], lengths=[2, 5, 8])
    assert tree.leaves == ("01001001", "020", "11")
    assert tree.parent("11") == "Total"
    assert tree.parent("020") == "02"


@pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")  # codes that all end early
@given(st.lists(st.text("0123456789ab", min_size=1, max_size=6), min_size=1))
def test_every_code_stands_below_its_own_prefixes(codes):
    tree = Classification.from_prefixes("v", codes, lengths=[1, 3, 6])
    assert set(tree.leaves) <= set(codes) <= set(tree.codes)
    for code in tree.codes[1:]:
        parent = tree.parent(code)
        assert parent == "Total" or (code.startswith(parent) and code != parent)
    assert tree == Classification.from_prefixes("v", reversed(codes), lengths=[1, 3, 6])


@for_all_rows(
    ("codes", "lengths", "message"),
    [
        (["0100"], [2], "'0100' is longer than the last length, 2"),
        (["01", None], [2], "code None is empty or not a text"),
        (["01", ""], [2], "code '' is empty or not a text"),
        (["01"], [], "must be increasing whole numbers"),
        (["01"], [2, 2], "must be increasing whole numbers"),
        (["01"], [5, 2], "must be increasing whole numbers"),
        (["01"], [0, 2], "must be increasing whole numbers"),
    ],
)
def test_codes_that_do_not_fit_the_lengths_are_refused(codes, lengths, message):
    with pytest.raises(ClassificationError, match=message):
        Classification.from_prefixes("v", codes, lengths=lengths)


def test_a_warning_tells_of_lengths_of_prefixes_beyond_all_codes() -> None:
    with pytest.warns(DiscreetWarning, match="the last prefix length is 9"):
        Classification.from_prefixes("region", ["01", "02"], [9])
