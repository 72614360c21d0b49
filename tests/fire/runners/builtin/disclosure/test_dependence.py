"""What hangs on single persons or firms: sums of groups, values handed on, first records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet_fire.runners.builtin.disclosure.dependence import (
    altered,
    copied_to_many,
    dominated,
    groups_of_enough,
    rests_on_one_unit,
)
from discreet_fire.runners.builtin.language.values import MISSING
from discreet_fire.statistics.disclosure_rules import concentrated
from tests.helpers.run_data import Run

EVEN, HEAVY, FEW = [10.0, 11.0, 12.0, 13.0], [1.0, 2.0, 900.0, 3.0], [1000.0, 1.0]


def session_of(*groups: list[float]) -> tuple[Any, Any, Any]:
    """A session with a person for each value, the values and their groups."""
    values = np.array([value for one in groups for value in one])
    group = np.repeat(np.arange(len(groups)), [len(one) for one in groups])
    run = Run("", {"pid": list(range(values.size)), "x": values.tolist()}, entity="pid")
    return run.session, values, group


@pytest.mark.parametrize("place", range(3))
def test_a_dominated_group_is_found_wherever_it_stands(place: int) -> None:
    """The first and the last one too."""
    groups = [EVEN, EVEN, EVEN]
    session, values, group = session_of(*groups)
    assert not dominated(session, values, group)
    groups[place] = HEAVY
    session, values, group = session_of(*groups)
    assert dominated(session, values, group)
    assert not dominated(session, values, np.where(group == place, -1, group))
    assert dominated(session, -values, group)


def test_who_has_most_is_told_by_the_sum_of_all_his_records() -> None:
    """Amounts in missing records and in other groups do not count."""
    data = {"pid": [0, 0, 0, 1, 2, 3], "x": [30.0, 30.0, 30.0, 3.0, 3.0, 3.0]}
    session = Run("", data, entity="pid").session
    values, group = np.array(data["x"]), np.zeros(6, dtype=np.int64)
    assert dominated(session, values, group)
    assert not dominated(Run("", data).session, values, group)
    values[1:3] = MISSING
    values[3:] = 20.0
    assert not dominated(session, values, group)
    assert not dominated(session, np.zeros(6), group)


def test_domination_is_that_of_the_rule_in_every_group() -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(60):
        who, group = rng.integers(0, 9, 40), rng.integers(0, 4, 40)
        values = np.round(rng.lognormal(1, 1.5, 40), 2)
        session = Run("", {"pid": who.tolist(), "x": values.tolist()}, entity="pid").session
        wanted = False
        for one in range(4):
            sums = np.sort(np.bincount(who[group == one], values[group == one], minlength=2))[::-1]
            wanted |= concentrated(sums[0], sums[1], sums.sum(), session.limits)
        assert dominated(session, values, group) == wanted
        found.append(wanted)
    assert any(found)
    assert not all(found)


@pytest.mark.parametrize(
    ("statistic", "groups", "rests"),
    [
        ("sum", [EVEN, EVEN], False),
        ("sum", [HEAVY, EVEN], True),
        ("sum", [EVEN, HEAVY], True),
        ("sum", [EVEN, FEW], False),  # a group of two is not shown in any case
        ("sum", [FEW], False),
        ("max", [EVEN], True),
        ("max", [FEW], False),
        ("max", [FEW, EVEN[:3]], True),
        ("count", [HEAVY], False),
    ],
)
def test_a_figure_of_several_may_be_the_value_of_one(
    statistic: str, groups: list[list[float]], rests: bool
) -> None:
    session, values, group = session_of(*groups)
    assert rests_on_one_unit(session, statistic, group, lambda: values) is rests
    nobody = np.full(group.size, -1)
    assert rests_on_one_unit(session, statistic, nobody, lambda: values) is False


def test_a_value_taken_by_several_others_is_a_copy() -> None:
    """One's own value, or one taken by two others, is not handed to many."""
    session, _, _ = session_of([1.0, 2.0, 3.0, 4.0, 5.0])
    every = np.ones(5, dtype=np.bool_)
    assert not copied_to_many(session, np.arange(5), every)
    assert copied_to_many(session, 0, every)
    assert not copied_to_many(session, np.array([0, 0, 0, 3, 4]), every)
    assert copied_to_many(session, np.array([0, 0, 0, 0, 4]), every)
    assert not copied_to_many(session, 0, np.array([True, True, True, False, False]))
    own = Run("", {"pid": [1, 1, 1, 1, 2], "x": [1, 2, 3, 4, 5]}, entity="pid").session
    assert not copied_to_many(own, 0, every), "four of them are his own"


def test_groups_of_enough_and_their_first_records() -> None:
    """The third person of a group makes it one of enough, with the records before."""
    data = {"pid": [1, 1, 2, 3, 4, 1, 2, 5, 5, 6], "x": list(range(10))}
    session = Run("", data, entity="pid").session
    group = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 2])
    whole, first = groups_of_enough(session, group)
    assert whole.tolist() == [0] * 5 + [-1] * 5
    assert first.tolist() == [0, 0, 0, 0, -1] + [-1] * 5
    none = np.zeros(0, dtype=np.int64)
    assert [one.tolist() for one in groups_of_enough(Run("").session, none)] == [[], []]


def test_altered_values_differ_from_all_that_are_known() -> None:
    numbers = np.array([0.0, 1.0, -3.5, MISSING])
    seen = [one.tolist() for one in altered(numbers)]
    assert len(seen) > 1
    for one in seen:
        assert all(new != old for new, old in zip(one[:3], numbers[:3], strict=True))
        assert one[3] == MISSING
    texts = np.array(["ab", "", "ä"], dtype=object)
    other = [one.tolist() for one in altered(texts)]
    assert len(other) == len(seen), "as many ways as for numbers"
    assert all(one[0] != "ab" and one[1] == "" and one[2] != "ä" for one in other)
