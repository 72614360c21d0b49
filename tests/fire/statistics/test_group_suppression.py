"""Groups that add up to a known total: what is withheld, held against an attacker who subtracts."""

import itertools
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet_fire.statistics.disclosure_rules import counts_to_hide
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.suppression import (
    HiddenSpreads,
    hide_groups,
    is_lonely,
    spreads_to_hide,
)
from discreet_fire.statistics.variables import tabstat
from tests.helpers.rows import for_all_rows


def follows(cases: tuple[int, ...], hidden: frozenset[int], least: int) -> bool:
    """Whether the sum of withheld counts says that one of them is small, or what it is.

    Groups without a case are shown as such, so each withheld one is known to have one.
    """
    there = [cases[at] for at in hidden if cases[at]]
    if not there:
        return False
    most = sum(there) - (len(there) - 1)  # what one may be if the others have one case each
    return len(there) == 1 or most < least


@pytest.mark.parametrize("least", [1, 2, 3, 5])
def test_withheld_counts_do_not_follow_from_the_total(least: int) -> None:
    """For every table of four groups of up to seven; and no more are withheld than needed."""
    limits = SafeLimits(minimum=least, bin_cases=max(least, 3))
    for cases in itertools.product((0, 1, 2, 3, 4, 7), repeat=4):
        hidden, total = counts_to_hide(cases, frozenset(), sum(cases), limits)
        small = {at for at, size in enumerate(cases) if 0 < size < least}
        assert small <= hidden
        assert all(cases[at] for at in hidden)
        there = {at for at, size in enumerate(cases) if size}
        assert total == (0 < sum(cases) < least or follows(cases, hidden, least))
        if follows(cases, hidden, least):
            assert hidden == there, "only where no group is left to protect them"
        added = sorted(hidden - small, key=lambda at: (cases[at], at))
        if added:
            assert follows(cases, hidden - {added[-1]}, least), "one too many"
            assert all(
                (cases[added[-1]], added[-1]) < (cases[at], at) for at in there - set(hidden)
            ), "the smallest ones"


def test_groups_withheld_for_other_reasons_take_another_with_them() -> None:
    """Else the total less the others would be their count."""
    hidden, total = counts_to_hide([9, 8, 7], frozenset({0}), 24, SafeLimits())
    assert hidden == {0, 2}
    assert not total


def held(values: Any, sizes: list[int], weights: Any = None) -> GroupedValues:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return GroupedValues.of(np.asarray(values, dtype=float), codes, len(sizes), weights=weights)


@for_all_rows(
    ("sizes", "withheld"),
    [([1, 1], True), ([2, 1], True), ([2, 2], False), ([5, 6], False), ([2, 9], False)],
)
def test_the_number_of_all_cases_is_withheld_where_it_tells_a_small_count(
    sizes: list[int], withheld: bool
) -> None:
    """Two withheld groups of three cases are one case and two."""
    holding = held(10.0 + np.arange(sum(sizes)), sizes)
    found = hide_groups(holding, holding.facts(SafeLimits()), SafeLimits())
    assert found.total_count is withheld


def test_the_union_of_withheld_groups_needs_one_case_more_than_a_group() -> None:
    """Its mean and deviation follow together: three cases would be solved."""
    values = [10.0, 11.0, 12.0, *range(20, 26), *range(30, 38)]
    holding = held(values, [2, 1, 6, 8])
    found = hide_groups(holding, holding.facts(SafeLimits()), SafeLimits())
    assert found.value == {0, 1, 2}
    holding = held([10.0, 11.0, 12.0, 13.0, *range(20, 26)], [2, 2, 6])
    assert hide_groups(holding, holding.facts(SafeLimits()), SafeLimits()).value == {0, 1}


def test_the_total_goes_where_no_group_is_left() -> None:
    holding = held([10.0, 11.0, *range(20, 26)], [2, 6])
    found = hide_groups(holding, holding.facts(SafeLimits()), SafeLimits())
    assert found.value == {0, 1}
    assert not found.total_value
    alike = held([10.0, 11.0, *(5.0,) * 6], [2, 6])
    assert hide_groups(alike, alike.facts(SafeLimits()), SafeLimits()).total_value
    heavy = held([1.0, 2.0, *(5.0,) * 5, 10_000.0], [2, 6])
    found = hide_groups(heavy, heavy.facts(SafeLimits()), SafeLimits())
    assert found.value == {0, 1}
    assert found.total_value


# -- deviations -------------------------------------------------------------------


def spreads(
    sizes: list[int], values: Any, *, hidden: frozenset[int] = frozenset(), **options: Any
) -> HiddenSpreads:
    """What is withheld of deviations, with a total unless said otherwise."""
    holding = held(values, sizes)
    limits = SafeLimits()
    return spreads_to_hide(
        holding.facts(limits),
        limits,
        union=lambda groups: holding.union(groups, limits),
        hidden=hidden,
        total=options.pop("total", holding.total(limits)),
        **options,
    )


def drawn(sizes: list[int]) -> Any:
    return np.random.default_rng(3).normal(50, 9, sum(sizes))


def lonely_first(others: int) -> list[float]:
    """A group of 60 of which one case has nearly all of the deviation, and usual ones."""
    rng = np.random.default_rng(1)
    return [*rng.normal(0, 0.001, 59), 9.0, *rng.normal(0, 9, others)]


def test_groups_withheld_anyhow_are_looked_at_together() -> None:
    """Mean and deviation of all of them follow; one that another one outweighs needs no more."""
    sizes = [60, 40, 40]
    assert spreads(sizes, lonely_first(80)).groups == {0: "leverage", 1: "secondary"}
    alone = spreads(sizes, lonely_first(80), hidden=frozenset({0}))
    assert alone == HiddenSpreads(groups={1: "secondary"})
    assert spreads(sizes, lonely_first(80), hidden=frozenset({0, 1})) == HiddenSpreads()


def test_without_a_total_nothing_follows_from_it() -> None:
    assert spreads([60, 40, 40], lonely_first(80), total=None).groups == {0: "leverage"}


def test_withheld_means_count_as_equations_too() -> None:
    """Four values, one of them known, and three equations: another group has to go."""
    sizes = [3, 1, 10, 12]
    found = spreads(sizes, drawn(sizes), hidden=frozenset({1}))
    assert found == HiddenSpreads(groups={0: "equations", 2: "secondary"})
    # Of five values, one known, two are left open.
    sizes = [3, 2, 10, 12]
    found = spreads(sizes, drawn(sizes), hidden=frozenset({1}))
    assert found == HiddenSpreads(groups={0: "equations"})


def test_the_smallest_other_group_goes_and_the_first_of_equal_ones() -> None:
    sizes = [3, 12, 9, 9]
    assert set(spreads(sizes, drawn(sizes)).groups) == {0, 2}


def test_the_deviation_of_the_total_goes_where_nothing_else_is_left() -> None:
    sizes = [3, 3]
    found = spreads(sizes, [1.0, 2.0, 4.0, 8.0, 9.0, 11.0])
    assert found.total == ""
    sizes = [3]
    assert spreads(sizes, [1.0, 2.0, 4.0]).total == "secondary"
    sizes = [60, 5]
    found = spreads(sizes, [*lonely_first(0), *(0.001 * at for at in range(5))])
    assert found.total == "leverage"


def test_a_total_that_one_case_makes_up_is_not_the_sum_of_shown_groups() -> None:
    """Between and within groups: if all were shown, the withheld one would follow."""
    far = 1000.0
    values = [*np.arange(5.0), *np.arange(5.0), *(far + 0.001 * np.arange(40.0))]
    found = spreads([5, 5, 40], values)
    assert found == HiddenSpreads()
    # No group is lonely by itself: half of the total's deviation lies in the second.
    few = [*(0.0, 0.1, 0.2, 0.3), *(0.0, 0.1, 0.2, 900.0), *(0.0, 0.1) * 100]
    holding = held(few, [4, 4, 200])
    limits = SafeLimits(leverage=0.99)
    assert is_lonely(holding.total(limits), limits)
    found = spreads([4, 4, 200], few)
    assert found.total == "leverage"
    assert 1 in found.groups


# -- one case that makes up a deviation -----------------------------------------------


def share(values: Any, who: Any = None, weights: Any = None) -> float:
    """Of the squared deviations, the share of the case with the largest one; and its leverage."""
    values = np.asarray(values, dtype=float)
    weights = np.ones(values.size) if weights is None else np.asarray(weights, dtype=float)
    who = np.arange(values.size) if who is None else np.asarray(who)
    squares = weights * (values - np.average(values, weights=weights)) ** 2
    own = max(squares[who == one].sum() for one in set(who.tolist()))
    return float(1 / values.size + own / squares.sum())


RNG = np.random.default_rng(17)
PLACES = {
    "alone above": ([*RNG.normal(0, 1, 30), 60.0], None, None),
    "alone below": ([*RNG.normal(0, 1, 30), -60.0], None, None),
    "firms": ([*RNG.normal(0, 1, 60), 12.0, -13.0], [*range(60), 60, 60], None),
    "weights": ([*RNG.normal(0, 1, 30), 9.0], None, [*(1.0,) * 30, 50.0]),
    "firms with weights": (
        [*RNG.normal(0, 1, 60), 6.0, -7.0],
        [*range(60), 60, 60],
        [*(1.0,) * 60, 4.0, 5.0],
    ),
}


@for_all_rows("place", PLACES)
def test_the_share_of_one_case_is_held_against_the_limit(place: str) -> None:
    """Just above its share a deviation may be shown, and just below not."""
    values, who, weights = PLACES[place]
    whole = GroupedValues.of(
        np.array(values),
        None,
        1,
        entities=None if who is None else np.array(who),
        weights=None if weights is None else np.array(weights),
    )
    own = share(values, who, weights)
    assert own < 1
    for limit, lonely in ((own + 1e-6, False), (own - 1e-6, True)):
        limits = SafeLimits(leverage=limit)
        assert is_lonely(whole.total(SafeLimits()), limits) is lonely


@for_all_rows("size", [1.0, 1000.0])
@for_all_rows("made", ["sum", "multiple", "difference"])
def test_a_variable_made_of_others_gives_back_nothing_withheld(made: str, size: float) -> None:
    """b of one group is withheld, as one has nearly all of it; c less a had given it back."""
    draw = np.random.default_rng(5)
    g, a = np.arange(200) % 4, 1000 + size * 100 * draw.random(200)
    b = np.where(np.arange(200) == 6, 500.0, 1 + draw.random(200))
    made_of = {"sum": a + b, "multiple": 2 * b - 1, "difference": a - b / 2}
    frame = pl.DataFrame({"g": g, "a": a, "b": b, "c": made_of[made], "d": draw.random(200)})

    def hidden(names: str) -> dict[str, set[str]]:
        found = tabstat(frame, names.split(), by="g", statistics="sum").frame
        assert found is not None
        gone = found.filter(pl.col("sum").is_null())
        return {one: set(gone.filter(variable=one)["g"]) for one in names.split()}

    alone, together = hidden("a b d"), hidden("a b c d")
    assert alone["b"]
    assert alone["a"] == alone["d"] == together["d"] == set()
    assert together["b"] == together["c"] == alone["b"]
    assert together["a"] == (alone["b"] if made != "multiple" else set())
