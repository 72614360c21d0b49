"""What must hold of the rules for any contributions."""

from __future__ import annotations

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
