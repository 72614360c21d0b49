"""Whom records are about: cases are counted, and never more of them than there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet_fire.runners.builtin.data.dataset import DataVariable
from discreet_fire.runners.builtin.disclosure.units import (
    OWNER,
    RECORD,
    _blur,
    _marks,
    all_but_few,
    asks_by_function,
    cases,
    cases_by_value,
    conflicts_with_earlier,
    distinct,
    few,
    few_differ,
    few_in,
    has_copies,
    near,
    owners,
    plain,
    trimmed,
)
from discreet_fire.runners.builtin.language.values import MISSING
from tests.helpers.run_data import Run

FOUR = np.ones(4, dtype=np.bool_)


def test_records_are_looked_at_again_once_data_say_whom_they_are_about() -> None:
    """Four records count for four only until they turn out to be about one person."""
    run = Run("", {"x": [1, 2, 3, 4]}, entity="pid")
    assert cases(run.session, FOUR) == 4
    run.more("generate pid = 1")
    assert cases(run.session, FOUR) == 1
    del run.session.data.hidden[OWNER]
    assert cases(run.session, FOUR) == 4


def test_records_are_looked_at_again_once_some_of_them_are_made_up() -> None:
    """A made-up record counts for nobody, whatever person it names."""
    run = Run("", {"pid": [1, 2, 3, 4]}, entity="pid")
    assert cases(run.session, FOUR) == 4
    made_up = np.array([0.0, MISSING, MISSING, 3.0])
    run.session.data.hidden[RECORD] = DataVariable(made_up, "double")
    assert owners(run.session)[1:3].tolist() == [-1, -1]


def test_what_is_known_of_records_is_worked_out_once() -> None:
    run = Run("", {"pid": [1, 2, 3, 4]}, entity="pid")
    assert owners(run.session) is owners(run.session)


@pytest.mark.parametrize("pid", [[1, None, None, 4], ["a", "", "", "d"]])
def test_records_that_name_nobody_are_about_nobody_that_is_known(pid: list[object]) -> None:
    run = Run("", {"pid": pid}, entity="pid")
    assert owners(run.session)[1:3].tolist() == [-1, -1]
    assert cases(run.session, FOUR) == 2


WHO = {"pid": [7, 7, 8, 9, 9, 10], "x": [1, 2, 3, 4, 5, 6]}


def marked(*rows: int, of: int = 6) -> Any:
    mask = np.zeros(of, dtype=np.bool_)
    mask[list(rows)] = True
    return mask


def test_few_are_fewer_persons_than_needed_but_some() -> None:
    """Two records of one person and one of another are two; nobody is not a few."""
    run = Run("", WHO, entity="pid").session
    assert [cases(run, marked(*rows)) for rows in ([], [0, 1], [0, 1, 2], [0, 2, 3])] == [
        0,
        1,
        2,
        3,
    ]
    assert not few(run, marked())
    assert few(run, marked(0, 1, 2))
    assert not few(run, marked(0, 2, 3))
    assert few_in(run, run.data, marked(5))
    assert not few_in(run, run.data)


def test_all_but_few_leaves_some_out_and_some_in() -> None:
    run = Run("", WHO, entity="pid").session
    assert all_but_few(run, marked(2, 3, 4, 5)), "person 7 is left out"
    assert not all_but_few(run, marked(0, 1, 2, 3, 4, 5))
    assert not all_but_few(run, marked(0))
    alone = Run("", {"pid": [1, 2], "x": [1, 2]}, entity="pid").session
    assert not all_but_few(alone, marked(of=2)), "nobody is chosen"


@pytest.mark.parametrize("size", [150, 201, 20_001])
def test_the_last_record_counts_however_many_there_are(size: int) -> None:
    """The search looks at some records first; a third person may come last."""
    who = np.zeros(size, dtype=np.int64)
    who[size // 2], who[-1] = 5, 6
    assert distinct(who, 3) == 3
    assert distinct(who[:-1], 3) == 2
    assert distinct(np.where(who == 6, -1, who), 3) == 2
    assert distinct(np.zeros(0, dtype=np.int64), 3) == 0


def test_copies_and_records_made_up_are_known() -> None:
    plain = Run("", WHO, entity="pid")
    assert not has_copies(plain.session)
    assert has_copies(Run("expand 2", WHO, entity="pid").session)
    assert has_copies(Run("set obs 8", WHO, entity="pid").session)
    assert not has_copies(Run("drop in 2", WHO, entity="pid").session)
    del plain.session.data.hidden[RECORD]
    assert not has_copies(plain.session)


def test_a_few_that_differ_from_the_commonest_value() -> None:
    run = Run("", {"pid": list(range(8)), "x": list(range(8))}, entity="pid").session
    every = marked(*range(8), of=8)
    assert few_differ(run, np.array([1, 1, 1, 1, 1, 1, 2, 3]), every)
    assert not few_differ(run, np.array([1, 1, 1, 1, 1, 4, 2, 3]), every)
    assert not few_differ(run, np.ones(8), every)
    assert not few_differ(run, np.ones(8), marked(of=8))
    # Only the chosen ones are compared.
    assert not few_differ(run, np.array([1, 1, 1, 1, 1, 1, 2, 3]), marked(*range(6), of=8))
    assert few_differ(run, np.array([5, 1, 1, 1, 1, 2, 2, 2]), marked(0, 1, 2, 3, of=8))


def test_a_bound_is_near_by_the_spread_of_the_gaps() -> None:
    """However near: a factor from a half to one and a half that nobody knows."""
    run = Run("", {"pid": list(range(40)), "x": list(range(40))}, entity="pid").session
    far = np.linspace(100, 200, 40)
    spread = far.std()
    assert near(run, np.append(far[1:] - far[1] + 0.4 * spread, np.nan)[:40])
    assert not near(run, far - far[0] + 1.6 * spread)
    assert not near(run, np.full(40, np.inf))
    many = far - far[0]
    many[:5] = 0.0
    assert not near(run, many), "five have the nearest value"
    for spread in (1e-9, 1.0, 3.0, 1e12):
        assert 0.5 <= _blur(run, spread) < 1.5
    assert _blur(run, 4.0) == _blur(run, 7.9), "the same within a factor of two"
    assert _blur(run, 4.0) != _blur(run, 8.1)
    other = Run("", {"pid": list(range(40)), "x": list(range(1, 41))}, entity="pid").session
    assert _blur(other, 4.0) != _blur(run, 4.0)


@pytest.mark.parametrize(
    ("condition", "asks_nothing"),
    [
        ("sex == 1", True),
        ("sex == 1 & region != 2", True),
        ("!(sex == 1 | region == 2)", True),
        ("inlist(region, 1, 2)", True),
        ("inlist(wage, 1, 2)", False),
        ("missing(wage)", True),
        ("wage == .", True),
        ("wage < .", True),
        ("wage > 5", False),
        ("sex == 1 & wage > 5", False),
        ("wage > 5 | sex == 1", False),
        ("sex == wage", False),
        ("sex + 1 == 2", False),
        ("sqrt(sex) == 1", False),
        ('name == ""', True),
        ('name == "Q"', False),
        ("nowhere == 1", False),
    ],
)
def test_conditions_on_categories_and_missing_values_ask_about_nobody(
    condition: str, asks_nothing: bool
) -> None:
    """That nobody meets them may be told; of a wage it would be a bound."""
    data = {
        "pid": list(range(12)),
        "sex": [1, 2] * 6,
        "region": [1, 2, 3] * 4,
        "wage": [100 + at for at in range(12)],
        "name": [f"N{at}" for at in range(12)],
    }
    run = Run("", data, entity="pid").session
    assert plain(run, condition) is asks_nothing
    assert plain(run, None)


def test_categories_are_those_of_enough_persons() -> None:
    rare = Run("", {"pid": [1, 1, 1, 2, 3, 4], "g": [1, 1, 1, 2, 2, 2]}, entity="pid").session
    assert not plain(rare, "g == 2"), "value 1 is that of one person"
    table = cases_by_value(pl.Series([1, 1, 2, 2]), np.array([0, -1, 0, 1]))
    assert dict(table.sort("value").iter_rows()) == {1: 1, 2: 2}


@pytest.mark.parametrize(
    ("condition", "asks"),
    [
        ("inlist(wage, 1, 2)", True),
        ('x > 1 & strpos(name, "Q")', True),
        ("x > 1", False),
        ('name == "Q"', True),
        ('"Q" != name', True),
        ('name < "Q"', False),
        ("-inrange(x, 1, 2)", True),
        ("x == 1 | x == 2", False),
    ],
)
def test_functions_and_texts_ask_without_a_bound(condition: str, asks: bool) -> None:
    assert asks_by_function(condition) is asks


def outputs(entity: str | None, sets: list[list[int]], *, drop: bool = False) -> list[bool]:
    """Whether outputs of the same variable on one set of records after the other conflict."""
    size = 40
    data = {"pid": [at // 2 for at in range(size)], "x": list(range(100, 100 + size))}
    run = Run("drop pid" if drop else "", data, entity=entity).session
    if drop:
        run.data.hidden.pop(OWNER, None)
    return [conflicts_with_earlier(run, marked(*rows, of=size), ["x"]) for rows in sets]


def test_an_output_without_a_few_is_known_by_the_earlier_one() -> None:
    """What both have in common can be taken away: what is left is that of a few."""
    every = list(range(40))
    assert outputs("pid", [every, every]) == [False, False]
    assert outputs("pid", [every, every[:36]]) == [False, True], "two persons"
    assert outputs("pid", [every, every[:34]]) == [False, False], "three persons"
    assert outputs(None, [every, every[:37]]) == [False, False], "three records"
    assert outputs(None, [every, every[:38]]) == [False, True]
    assert outputs("pid", [every[:36], every]) == [False, True], "in any order"


def test_records_whose_person_is_not_known_count_one_by_one() -> None:
    """Else no output would be far from another, and all after the first would be withheld."""
    every = list(range(40))
    assert outputs("pid", [every, every[:37], every[:39]], drop=True) == [False, False, True]


def test_sets_that_differ_by_a_few_are_shown_some_times_only() -> None:
    """Another variable each time gives nothing away by itself; a search would go on."""
    size = 60
    run = Run("", {"x": list(range(size)), **{f"v{at}": [at] * size for at in range(12)}}).session
    told = []
    for at in range(12):
        mask = np.ones(size, dtype=np.bool_)
        mask[at] = False
        told.append(conflicts_with_earlier(run, mask, [f"v{at}"]))
    assert told == [False] * 6 + [True] * 6


def test_other_values_in_as_many_records_are_another_output() -> None:
    size = 20
    run = Run("", {"x": [1] * size, "y": [1] * 18 + [5, 6], "z": list(range(size))}).session
    every = np.ones(size, dtype=np.bool_)
    assert not conflicts_with_earlier(run, every, ["x"])
    assert not conflicts_with_earlier(run, every, ["x"])
    assert conflicts_with_earlier(run, every, ["y"]), "it differs from x in two records"
    assert not conflicts_with_earlier(run, every, ["z"])


@pytest.mark.parametrize(
    ("values", "text"),
    [(np.array([1.0, 2.0, 1.0, MISSING, -0.0, 0.0]), False),
     (np.array(["a", "b", "a", "", "0", "0"], dtype=object), True)],
)  # fmt: skip
def test_marks_are_equal_where_values_are_and_none_where_they_miss(values: Any, text: bool) -> None:
    first, second, again, missing, low, high = _marks(values, text=text).tolist()
    assert first == again != second
    assert missing == 0
    assert low == high
    assert all((first, second, low))


def test_a_condition_that_trims_too_often_is_marked() -> None:
    """Outliers may be dropped; who tries bounds one after the other finds the largest value."""
    run = Run("", {"pid": list(range(20)), "x": list(range(20))}, entity="pid").session
    few_rows, many = marked(0, of=20), marked(*range(9), of=20)
    trimmed(run, "g == 1", few_rows, few_told=True)
    assert not run.history.trims, "a category is no bound"
    run.trace.plain = False
    for condition, mask, told in (
        (None, few_rows, True), ("x > 1", many, False),
        ("x > 1", few_rows, False), ("x > 1", few_rows, True), ("x > 2", many, True),
        ("x > 3", few_rows, False),
    ):  # fmt: skip
        trimmed(run, condition, mask, few_told=told)
        assert not run.trace.touched
    assert len(run.history.trims) == 3
    trimmed(run, "x > 4", few_rows, few_told=False)
    assert run.trace.touched
