"""What constructors of classifications are given by mistake."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from discreet import Classification
from discreet.errors import ClassificationError
from tests.helpers.rows import for_all_rows

WRONG: dict[str, Callable[[Any], object]] = {
    "flat": lambda wrong: Classification.flat("v", wrong),
    "parents": lambda wrong: Classification.from_parents("v", wrong),
    "bounds": lambda wrong: Classification.from_intervals("v", wrong),
    "prefixes": lambda wrong: Classification.from_prefixes("v", wrong, [1, 2]),
    "lengths": lambda wrong: Classification.from_prefixes("v", ["01"], wrong),
    "levels": lambda wrong: Classification.from_levels(wrong, ["v"]),
}


@for_all_rows("constructor", WRONG)
@for_all_rows("wrong", [None, 5, "12"])
def test_what_is_not_a_list_is_refused(constructor: str, wrong: Any) -> None:
    with pytest.raises(ClassificationError):
        WRONG[constructor](wrong)


def test_level_columns_of_mixed_types_are_not_shown() -> None:
    frame = pd.DataFrame({"state": [1, "very private"], "place": ["a", "b"]})
    with pytest.raises(ClassificationError) as refusal:
        Classification.from_levels(frame, ["state", "place"])
    assert "private" not in str(refusal.value)
    assert refusal.value.__suppress_context__


@for_all_rows("wrong", [None, 3, "", b"v", ["v"]])
def test_the_name_is_a_text(wrong: Any) -> None:
    for make in (
        lambda: Classification.flat(wrong, ["a"]),
        lambda: Classification.from_parents(wrong, {"a": None}),
        lambda: Classification.from_prefixes(wrong, ["01"], [1, 2]),
        lambda: Classification.from_intervals(wrong, [0, 5]),
    ):
        with pytest.raises(
            ClassificationError, match="the name of a classification must be a text"
        ):
            make()


@pytest.mark.parametrize("wrong", [None, 3, "", "Total"])
def test_records_without_a_value_are_not_put_into_the_total(wrong: Any) -> None:
    with pytest.raises(ClassificationError, match="for missing values"):
        Classification.flat("v", ["a"], missing=wrong)
    with pytest.raises(ClassificationError, match="for missing values"):
        Classification.flat("v", ["a"]).replace(missing=wrong)


def test_records_without_a_value_do_not_get_an_inner_code() -> None:
    tree = {"a": None, "a1": "a", "b": None}
    with pytest.raises(ClassificationError, match="has codes below it"):
        Classification.from_parents("v", tree, missing="a")
    assert Classification.from_parents("v", tree, missing="b").with_missing().codes[-1] == "b"


def test_a_total_called_missing_leaves_no_room_for_missing_values() -> None:
    tree = Classification.flat("v", ["a"], total="Missing")
    with pytest.raises(ClassificationError, match="for missing values equals the total"):
        tree.with_missing()
    assert tree.replace(missing="none").with_missing().codes == ("Missing", "a", "none")


@pytest.mark.parametrize("wrong", [None, 3, b"region.hrc"])
def test_files_are_named_by_paths(wrong: Any) -> None:
    with pytest.raises(ClassificationError, match="expected the path of a file, got a"):
        Classification.read(wrong)
