"""What a classification knows about its codes."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.classifications import Classification, natural_order
from discreet.errors import ClassificationError
from tests.helpers.rows import for_all_rows

REGION = Classification.from_parents(
    "region", {"N": None, "N1": "N", "N2": "N", "S": None}, labels={"N": {"en": "North"}}
)


def test_codes_stand_in_tree_order_below_their_parents():
    assert REGION.codes == ("Total", "N", "N1", "N2", "S")
    assert REGION.parents == (-1, 0, 1, 1, 0)
    assert REGION.levels.tolist() == [0, 1, 2, 2, 1]
    assert REGION.depth == 2
    assert REGION.leaves == ("N1", "N2", "S")
    assert REGION.children("Total") == ("N", "S")
    assert REGION.children("S") == ()
    assert REGION.parent("N2") == "N"
    assert REGION.parent("Total") is None


def test_a_label_is_given_in_the_language_asked_for_or_else_in_any_or_else_the_code():
    sex = Classification.flat("sex", ["m", "w"], labels={"m": {"de": "männlich"}})
    assert sex.label("m", "de") == "männlich"
    assert sex.label("m", "en") == "männlich"
    assert sex.label("w", "en") == "w"
    assert sex.label("Total", "de") == "Insgesamt"
    assert sex.with_missing().label("Missing", "de") == "Ohne Angabe"


def test_a_code_with_one_child_is_a_note_not_an_error():
    assert REGION.notes == ()
    single = Classification.from_parents("region", {"N": None, "N1": "N", "S": None})
    assert len(single.notes) == 1
    assert "'N'" in single.notes[0]


def test_another_total_keeps_its_labels():
    tree = Classification.flat("sex", ["m"], labels={"Total": {"en": "All"}}).with_total("T")
    assert tree.codes == ("T", "m")
    assert tree.label("T") == "All"
    with pytest.raises(ClassificationError, match="'m' clashes with the total"):
        tree.with_total("m")


@pytest.mark.parametrize("through", [copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_copies_and_pickles_are_equal(through):
    again = through(REGION)
    assert again == REGION
    assert hash(again) == hash(REGION)
    assert type(again) is Classification


@for_all_rows(
    ("fields", "message"),
    [
        ({"codes": ("T", "a", "a"), "parents": (-1, 0, 0)}, "'a' occurs 2 times"),
        ({"codes": ("T", "a", "T"), "parents": (-1, 0, 0)}, "'T' clashes with the total"),
        ({"codes": ("T", ""), "parents": (-1, 0)}, "code '' is empty or not a text"),
        (
            {"codes": ("T", "a", "b"), "parents": (-1, 2, 0)},
            "code 'a' is not listed after its parent",
        ),
        ({"codes": ("T",), "parents": (0,)}, "'T' cannot have a parent"),
        ({"codes": (), "parents": ()}, "no codes given"),
        (
            {"codes": ("T", "m"), "parents": (-1, 0), "labels": {"m": "male"}},
            "label of 'm' has no language",
        ),
        (
            {"codes": ("T", "m"), "parents": (-1, 0), "labels": {"m": {"en": ""}}},
            "label of 'm' in 'en' is empty",
        ),
        (
            {"codes": ("T", "m"), "parents": (-1, 0), "titles": {"en": 3}},
            "title of 'v' has no language",
        ),
        ({"codes": ("T", "a"), "parents": (-1, 0), "bounds": (0, 1, 2)}, "2 intervals for 1 codes"),
        ({"codes": ("T", "a"), "parents": (-1, 0), "bounds": (2, 1)}, "bound 1 does not exceed 2"),
        (
            {"codes": ("T", "a"), "parents": (-1, 0), "bounds": (0, float("nan"))},
            "bounds must be numbers",
        ),
    ],
)
def test_what_is_not_a_tree_is_refused(fields, message):
    with pytest.raises(ClassificationError, match=message):
        Classification(name="v", **fields)


def test_all_problems_are_listed_at_once():
    with pytest.raises(ClassificationError) as error:
        Classification(name="v", codes=("T", "a", "a", "b", "b"), parents=(-1, 0, 0, 0, 0))
    assert len(error.value.problems) == 2


# -- codes of the data --------------------------------------------------------

MONTHS = Classification.from_parents("month", {"Q1": None, "01": "Q1", "02": "Q1", "jUN": None})


def test_leaf_codes_and_missing_values_pass_the_check():
    MONTHS.check(["01", "jUN", None, "01"])
    assert MONTHS.unknown(["01", "Q1", "x"]) == ["Q1", "x"]


@for_all_rows(
    ("code", "what", "hint"),
    [
        ("1", "is not in the classification", "closest match: '01'"),
        (" 01", "is not in the classification", "closest match: '01'"),
        ("002", "is not in the classification", "closest match: '02'"),
        ("JUN", "is not in the classification", "closest match: 'jUN'"),
        ("Q1", "has codes below it", "records need codes of the finest level"),
        ("Total", "is the total", "records need codes of the finest level"),
        (1, "is not in the classification", "write the code as text: '1'"),
        ("99", "is not in the classification", "add it to the classification, or recode it"),
    ],
)
def test_an_unknown_code_is_named_with_what_may_be_meant(code, what, hint):
    with pytest.raises(ClassificationError) as error:
        MONTHS.check([code])
    assert error.value.code == "unknown-code"
    assert f"{code!r} {what}" in str(error.value)
    assert error.value.hint == hint
    assert error.value.where == "month"


def test_of_many_unknown_codes_ten_are_shown_and_all_counted():
    with pytest.raises(
        ClassificationError, match="1,234 codes are not on the finest level of the classification"
    ) as error:
        MONTHS.check([f"x{number}" for number in range(1234)] * 2, where="persons.csv")
    assert len(error.value.problems) == 11
    assert error.value.problems[-1].what == "and 1,224 more"
    assert error.value.where == "persons.csv"


# -- order --------------------------------------------------------------------


def test_whole_numbers_stand_in_the_order_of_their_values():
    assert natural_order(["10", "9", "-2"]) == ["-2", "9", "10"]
    assert natural_order(["10", "9", "a"]) == ["10", "9", "a"]
    assert natural_order(["--5", "1"]) == ["--5", "1"]


@given(st.lists(st.text(max_size=4)))
def test_the_order_does_not_depend_on_the_order_given(codes):
    assert natural_order(codes) == natural_order(reversed(codes))
