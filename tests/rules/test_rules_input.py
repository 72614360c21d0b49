"""Rules refuse what they cannot work with, and tell no parameter and no value."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet import rules
from discreet.errors import SuppressionError
from tests.helpers.rows import for_all_rows

FIRMS = pl.DataFrame({"region": ["N", "N", "S"], "x": [4_711.0, 815.0, 99.0], "w": [1.5, 1.0, 0.2]})


def table(**options: Any) -> dc.Table:
    return dc.tabulate(FIRMS, by=["region"], **options)


@for_all_rows(
    ("make", "number"),
    [
        (lambda: rules.MinimumFrequency(0), 1),
        (lambda: rules.MinimumFrequency(2.5), 1),
        (lambda: rules.MinimumFrequency(3, of="firms", safety_range=-1), 2),
        (lambda: rules.MarginalRule(-1, per="group"), 2),
        (lambda: rules.Dominance(n=0, k=100, ties="open"), 3),
        (lambda: rules.Dominance(n=17, k=85), 1),
        (lambda: rules.Dominance(n=True, k=85), 1),
        (lambda: rules.PPercent(0), 1),
        (lambda: rules.PPercent("10"), 1),
        (lambda: rules.PPercent(float("inf"), n=16), 2),
        (lambda: rules.PQ(p=50, q=50), 1),
        (lambda: rules.PQ(p=50, q=101), 1),
        (lambda: rules.PQ(p=10, q=50, n=16), 1),
        (lambda: rules.ZeroUnsafe(0), 1),
        (lambda: rules.Request(percent=70, asked=None, minimum=-1), 2),
    ],
)
def test_all_wrong_parameters_are_listed(make: Callable[[], object], number: int) -> None:
    with pytest.raises(SuppressionError) as caught:
        make()
    assert caught.value.code == "rule"
    assert len(caught.value.problems) == number


def test_messages_and_reprs_do_not_tell_parameters() -> None:
    listed = [
        rules.MinimumFrequency(4711),
        rules.MarginalRule(4711),
        rules.Dominance(n=2, k=47.11),
        rules.PPercent(47.11),
        rules.PQ(p=47.11, q=50),
        rules.ZeroUnsafe(4711),
        rules.Request(percent=47.11, asked=table()),
    ]
    assert not any("47" in f"{rule!r} {rule!s}" for rule in listed)
    with pytest.raises(SuppressionError) as caught:
        rules.Dominance(n=2, k=4711)
    assert "4711" not in str(caught.value)
    primary = dc.primary(table(), [rules.MinimumFrequency(3)])
    assert repr(primary) == "<Primary table (confidential): 3 cells>"


@for_all_rows(
    ("made", "rule", "options", "message"),
    [
        ({}, rules.PPercent(10), {}, "applies to values, but the table has counts only"),
        ({}, rules.PPercent(10), {"value": "x"}, "no values of 'x'"),
        ({"values": ["x"]}, rules.PPercent(10), {"value": "x"}, "needs the largest contributions"),
        (
            {"values": ["x"], "contributions": 1},
            rules.PPercent(10),
            {"value": "x"},
            "needs more of the largest contributions",
        ),
        (
            {"values": ["x"], "contributions": 1, "weight": "w"},
            rules.Dominance(n=2, k=60),
            {"value": "x"},
            "needs more of the largest contributions",
        ),
        (
            {"values": ["x"]},
            rules.ZeroUnsafe(1),
            {"value": "x"},
            "needs counts that the table lacks",
        ),
        ({}, rules.MinimumFrequency(3, of="weights"), {}, "needs counts that the table lacks"),
        ({}, rules.MinimumFrequency(3), {"shadow": "x"}, "shadow"),
        ({}, rules.MinimumFrequency(3), {"unit": 0}, "unit must be a number above 0"),
        ({}, rules.MinimumFrequency(3), {"levels": "both"}, "levels must be one of"),
        ({}, rules.MinimumFrequency, {}, "number 1 of the rules"),
        ({}, "p%", {}, "number 1 of the rules"),
    ],
)
def test_what_a_rule_needs_is_said(
    made: dict[str, Any], rule: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(SuppressionError, match=message):
        dc.primary(table(**made), [rule], **options)


def test_rules_come_as_a_list() -> None:
    with pytest.raises(SuppressionError, match="rules must be a list"):
        dc.primary(table(), rules.MinimumFrequency(3))


def test_negative_values_are_not_taken_without_their_weights() -> None:
    frame = pl.DataFrame({"x": [5.0, -4.0], "w": [1.0, 2.0]})
    weighted = dc.tabulate(frame, by=[], values=["x"], weight="w", contributions=2)
    with pytest.raises(SuppressionError, match="negative values"):
        dc.primary(weighted, [rules.PPercent(10)], value="x", weighted=False)


def test_who_asked_must_be_tabulated_alike() -> None:
    made = table(values=["x"], contributions=2)
    bare = rules.Request(percent=70, asked=table())
    with pytest.raises(SuppressionError, match="lacks the largest contributions"):
        dc.primary(made, [bare], value="x")
    other = dc.tabulate(FIRMS, by=[], values=["x"], contributions=1)
    with pytest.raises(SuppressionError, match="other spanning variables"):
        dc.primary(made, [rules.Request(percent=70, asked=other)], value="x")
