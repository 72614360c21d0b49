"""What must hold of the rules for any contributions, and rules on who contributes."""

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet import rules

VALUES = st.lists(st.integers(-50, 1_000), min_size=1, max_size=8)
POSITIVE = st.lists(st.integers(0, 1_000), min_size=1, max_size=8)


def cell(values: list[Any], weights: list[float] | None = None) -> dc.Table:
    frame = pl.DataFrame({"x": values, "w": weights or [1.0] * len(values)})
    weight = "w" if weights else None
    return dc.tabulate(frame, by=[], values=["x"], weight=weight, contributions=8)


def marked(table: dc.Table, rule: rules.Rule, **options: Any) -> bool:
    return bool(dc.primary(table, [rule], value="x", **options).sensitive[0])


@given(values=POSITIVE, k=st.integers(20, 95))
def test_what_p_percent_marks_the_two_k_rule_of_the_same_strength_marks_too(
    values: list[int], k: int
) -> None:
    table = cell(values)
    p = 100 * (100 - k) / k
    if marked(table, rules.PPercent(p)):
        assert marked(table, rules.Dominance(n=2, k=k))
    if not marked(table, rules.Dominance(n=2, k=k)):
        first, second = [*sorted(values, reverse=True), 0][:2]
        upper_estimate = sum(values) - second
        assert upper_estimate - first >= (p / 100) * first * (1 - 1e-12)


def test_the_two_k_rule_of_eighty_five_percent_is_a_rule_of_seventeen_point_six() -> None:
    assert round(100 * (100 - 85) / 85, 1) == 17.6
    largest_beside_many_small = [85_000] + [1] * 15_001
    assert not marked(cell(largest_beside_many_small), rules.PPercent(17.6))
    assert not marked(cell(largest_beside_many_small), rules.Dominance(n=2, k=85.01))
    beyond = [85_000] + [1] * 14_900
    assert marked(cell(beyond), rules.PPercent(17.6))
    assert marked(cell(beyond), rules.Dominance(n=2, k=85))


@given(values=VALUES, n=st.integers(1, 3), k=st.integers(20, 99))
def test_dominance_decides_as_exact_arithmetic(values: list[int], n: int, k: int) -> None:
    sizes = sorted((abs(value) for value in values), reverse=True)
    top, total = sum(sizes[:n]), sum(sizes)
    exact = Fraction(100 * top) > k * total
    assert marked(cell(values), rules.Dominance(n=n, k=k)) == exact
    inclusive = top > 0 and Fraction(100 * top) >= k * total
    assert marked(cell(values), rules.Dominance(n=n, k=k, ties="sensitive")) == inclusive


@given(
    values=st.lists(st.integers(0, 10**6), min_size=1, max_size=8),
    p=st.integers(1, 60),
    n=st.integers(1, 3),
)
def test_p_percent_decides_as_exact_arithmetic_in_cents(values: list[int], p: int, n: int) -> None:
    sizes = sorted(values, reverse=True)
    rest = sum(sizes[n + 1 :])
    exact = 100 * rest < p * sizes[0]
    assert marked(cell([value / 100 for value in values]), rules.PPercent(p, n=n)) == exact


@given(values=POSITIVE, p=st.integers(1, 60))
def test_a_cell_whose_total_reaches_the_upper_level_is_safe(values: list[int], p: int) -> None:
    table = cell(values)
    primary = dc.primary(table, [rules.PPercent(p)], value="x", unit=1e-9)
    if primary.sensitive[0]:
        first, second = [*sorted(values, reverse=True), 0][:2]
        estimate = sum(values) + primary.upper[0] - second
        assert estimate == pytest.approx(first * (1 + p / 100))


@given(values=POSITIVE, repeats=st.lists(st.integers(1, 4), min_size=8, max_size=8))
def test_a_record_of_weight_w_is_w_contributors(values: list[int], repeats: list[int]) -> None:
    weights = repeats[: len(values)]
    heavy = cell(values, [float(weight) for weight in weights])
    many = cell([value for value, times in zip(values, weights, strict=True) for _ in range(times)])
    for rule in (rules.PPercent(15), rules.Dominance(n=3, k=60), rules.PQ(10, 40, n=2)):
        one = dc.primary(heavy, [rule], value="x")
        other = dc.primary(many, [rule], value="x")
        assert one.sensitive.tolist() == other.sensitive.tolist()
        assert np.allclose(one.upper, other.upper)


@given(values=VALUES)
def test_signs_do_not_matter(values: list[int]) -> None:
    for rule in (rules.PPercent(15), rules.Dominance(n=2, k=70)):
        assert marked(cell(values), rule) == marked(cell([abs(value) for value in values]), rule)


def test_levels_are_the_largest_and_the_reason_the_first() -> None:
    table = cell([90, 8, 2])
    listed: list[rules.Rule] = [rules.PPercent(10), rules.Dominance(n=1, k=50)]
    both = dc.primary(table, listed, value="x")
    alone = [dc.primary(table, [rule], value="x") for rule in listed]
    assert both.upper[0] == max(single.upper[0] for single in alone)
    assert both.numbers() == {"p-percent": 1}
    assert both.rules.tolist() == [[True], [True]]


def test_a_sliding_level_is_as_wide_as_both_levels() -> None:
    table = cell([90, 8, 2])
    asked = [
        dc.primary(table, [rules.PPercent(10)], value="x", levels=style)
        for style in ("symmetric", "upper", "sliding")
    ]
    assert [each.lower[0] for each in asked] == [7, 0, 0]
    assert [each.upper[0] for each in asked] == [7, 7, 0]
    assert [each.sliding[0] for each in asked] == [0, 0, 14]


def test_rows_in_another_order_give_the_same_primaries() -> None:
    frame = pl.DataFrame({"g": ["a", "b", "a", "b"] * 5, "x": [0.1 * at for at in range(20)]})
    listed = [rules.PPercent(30), rules.Dominance(2, 20)]
    results = []
    for rows in (frame, frame.reverse(), frame.sample(fraction=1, shuffle=True, seed=4)):
        table = dc.tabulate(rows, by=["g"], values=["x"], contributions=3)
        results.append(dc.primary(table, listed, value="x"))
    for other in results[1:]:
        assert other.upper.tobytes() == results[0].upper.tobytes()
        assert other.rules.tolist() == results[0].rules.tolist()


def firms() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "region": ["N", "N", "N", "S", "S", None],
            "turnover": [0.0, 0.0, None, 50.0, 40.0, 7.0],
            "staff": [5, 5, 5, 1, 99, 1],
            "weight": [1.0, 1.5, 2.0, 4.0, 4.0, 1.0],
        }
    )


def hidden(table: dc.Table, primary: rules.Primary) -> list[str]:
    codes = table.to_polars()[table.dimensions[0].name]
    return codes.filter(pl.Series(primary.sensitive)).to_list()


@pytest.mark.parametrize(
    ("of", "n", "cells"),
    [
        ("records", 3, ["S", "unknown"]),
        ("values", 3, ["N", "S", "unknown"]),
        ("nonzero", 2, ["unknown"]),
        ("weights", 4.6, ["N", "unknown"]),
    ],
)
def test_what_minimum_frequency_counts(of: str, n: float, cells: list[str]) -> None:
    table = dc.tabulate(
        firms(), by=["region"], values=["turnover"], weight="weight", contributions=1
    )
    missing = table.dimensions[0].classifications[0].missing
    primary = dc.primary(table, [rules.MinimumFrequency(n, of=of)], value="turnover")
    assert hidden(table, primary) == [missing if code == "unknown" else code for code in cells]


def test_the_levels_of_a_minimum_frequency_are_a_share_but_at_least_one_unit() -> None:
    people = pl.DataFrame({"region": ["N"] * 2 + ["S"] * 8 + ["W"] * 20})
    table = dc.tabulate(people, by=["region"])
    primary = dc.primary(table, [rules.MinimumFrequency(10, safety_range=30)])
    assert primary.upper.tolist() == [0, 1, 2.4, 0]
    assert primary.lower.tolist() == primary.upper.tolist()


def test_zeros_of_respondents_tell_about_them() -> None:
    table = dc.tabulate(firms(), by=["region"], values=["turnover"], contributions=1)
    primary = dc.primary(table, [rules.ZeroUnsafe(10)], value="turnover")
    assert hidden(table, primary) == ["N"]
    assert (primary.lower[1], primary.upper[1]) == (0, 10)
    assert primary.numbers() == {"zero": 1}


def test_values_that_cancel_out_are_no_zeros_of_respondents() -> None:
    frame = pl.DataFrame({"x": [5, -5]})
    table = dc.tabulate(frame, by=[], values=["x"], contributions=1)
    assert not dc.primary(table, [rules.ZeroUnsafe(10)], value="x").sensitive.any()


def test_missing_categories_can_be_let_go_but_not_what_is_marked_by_hand() -> None:
    table = dc.tabulate(firms(), by=["region"])
    missing = table.dimensions[0].classifications[0].missing
    listed = [rules.MissingSafe(), rules.MinimumFrequency(3)]
    assert hidden(table, dc.primary(table, listed)) == ["S"]
    mark = rules.Mark(cells={"region": missing}, status="unsafe")
    assert hidden(table, dc.primary(table, listed, marks=[mark])) == ["S", missing]


def test_the_marginal_rule_looks_at_the_next_margin_of_every_variable() -> None:
    people = pl.DataFrame(
        {"state": ["N"] * 10 + ["S"] * 10, "town": ["n1"] * 9 + ["n2"] + ["s1"] * 5 + ["s2"] * 5}
    )
    place = dc.Classification.from_levels(people, name="place", columns=["state", "town"])
    table = dc.tabulate(people, by=[place])
    assert hidden(table, dc.primary(table, [rules.MarginalRule(1)])) == ["n1"]
    assert hidden(table, dc.primary(table, [rules.MarginalRule(0)])) == []
    assert hidden(table, dc.primary(table, [rules.MarginalRule(5)])) == ["n1", "s1", "s2"]


def test_an_only_child_is_its_parent_and_says_nothing_about_it() -> None:
    place = dc.Classification.from_parents("place", {"N": None, "n1": "N", "S": None, "s1": "S"})
    people = pl.DataFrame({"place": ["n1"] * 10 + ["s1"] * 10})
    table = dc.tabulate(people, by=[place])
    assert not dc.primary(table, [rules.MarginalRule(1)]).sensitive.any()


def test_who_asked_for_protection_gets_it_where_large() -> None:
    trade = pl.DataFrame(
        {
            "good": ["a", "a", "b", "b", "c", "c", "c"],
            "value": [80, 20, 80, 20, 40, 30, 30],
            "asked": ["no", "yes", "yes", "no", "yes", "no", "no"],
        }
    )
    options = {"by": ["good"], "values": ["value"], "contributions": 1}
    table = dc.tabulate(trade, **options)
    asked = dc.tabulate(trade, where="asked == 'yes'", **options)
    rule = rules.Request(percent=70, asked=asked)
    primary = dc.primary(table, [rule], value="value")
    assert hidden(table, primary) == ["b"]
    assert primary.upper[2] == 20
    few = rules.Request(percent=70, asked=asked, minimum=3)
    assert hidden(table, dc.primary(table, [few], value="value")) == ["a", "b"]
    some = dc.tabulate(trade, where="good == 'b' and asked == 'yes'", **options)
    limit = rules.Request(percent=80, asked=some, ties="sensitive")
    assert hidden(table, dc.primary(table, [limit], value="value")) == ["b"]


def test_rules_can_look_at_a_shadow_and_levels_follow_in_proportion() -> None:
    table = dc.tabulate(
        firms(), by=["region"], values=["turnover", "staff"], contributions={"staff": 2}
    )
    primary = dc.primary(
        table, [rules.Dominance(n=1, k=90), rules.MissingSafe()], value="turnover", shadow="staff"
    )
    assert hidden(table, primary) == ["S"]
    south = primary.upper[primary.sensitive][0]
    assert south == pytest.approx((100 * 99 / 90 - 100) / 100 * 90)


def test_a_table_of_several_parts_of_a_variable_knows_its_parents() -> None:
    state = dc.Classification.from_parents("place", {"N": None, "S": None})
    zone = dc.Classification.flat("zone", ["z1", "z2"])
    frame = pl.DataFrame({"place": ["N"] * 6 + ["S"] * 6, "zone": ["z1"] * 11 + ["z2"]})
    table = dc.tabulate(frame, by=[[state, zone]])
    assert hidden(table, dc.primary(table, [rules.MarginalRule(1)])) == ["z1"]


def test_a_table_without_variables_has_one_cell() -> None:
    table = dc.tabulate(firms(), by=[])
    primary = dc.primary(table, [rules.MinimumFrequency(7), rules.MarginalRule(3)])
    assert primary.numbers() == {"minimum-frequency": 1}


def test_a_table_without_cells_has_no_primaries() -> None:
    table = dc.tabulate(firms().clear(), by=["region"], values=["turnover"], contributions=2)
    listed = [rules.MinimumFrequency(3), rules.MarginalRule(), rules.PPercent(10)]
    assert len(dc.primary(table, listed, value="turnover")) == len(table) == 0


def test_primaries_as_a_frame_and_their_reasons_in_words() -> None:
    table = dc.tabulate(firms(), by=["region"])
    primary = dc.primary(table, [rules.MinimumFrequency(3)])
    frame = primary.to_polars(table)
    assert frame.filter(pl.col("region") == "S").rows() == [
        ("S", "sensitive", "minimum-frequency", 1.0, 1.0, 0.0)
    ]
    assert rules.Reason(1).text("de") == "Mindestfallzahl"
    assert "" not in {each.text() for each in rules.Reason.all()}


@pytest.mark.parametrize(("rest", "found"), [(10**9 - 1, True), (10**9, False)])
def test_the_last_unit_decides_on_large_amounts(rest: int, found: bool) -> None:
    """What counts as a tie is as narrow as the arithmetic allows."""
    frame = pl.DataFrame({"firm": ["A", "B"], "turnover": [10.0**9, float(rest)]})
    table = dc.tabulate(frame, by=[], values=["turnover"], contributions=2)
    primary = dc.primary(table, [dc.rules.Dominance(n=1, k=50)], value="turnover")
    assert primary.sensitive.tolist() == [found]
