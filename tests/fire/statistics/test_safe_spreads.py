"""Deviations that one case makes up: mean and deviation together would tell its value."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet_fire import statistics
from discreet_fire.statistics import SafeLimits
from discreet_fire.statistics.disclosure_rules import Facts
from discreet_fire.statistics.grouped_values import GroupedValues
from discreet_fire.statistics.suppression import is_lonely

SPREADS = ("sd", "variance", "cv", "semean", "skewness", "kurtosis")


def far(value: float = 300.0, others: int = 50) -> list[float]:
    """One value far from many that lie close together."""
    return [*(100 + 0.01 * (at % 7) for at in range(others)), value]


def shown(frame: pl.DataFrame, **options: Any) -> list[dict[str, Any]]:
    found = statistics.tabstat(frame, "x", statistics=["n", "mean", *SPREADS], **options)
    assert found.frame is not None
    return found.frame.to_dicts()


def test_the_deviation_of_one_outlier_is_withheld_and_the_mean_shown() -> None:
    (row,) = shown(pl.DataFrame({"x": far()}))
    assert row["n"] == 51
    assert row["mean"] is not None
    assert [row[name] for name in SPREADS] == [None] * len(SPREADS)
    result = statistics.summarize(pl.DataFrame({"x": far()}), "x", detail=True)
    assert {"sd", "Var", "skewness", "kurtosis"}.isdisjoint(result.stored)
    assert "leverage" in {check.rule for check in result.checks if check.verdict == "fail"}


def lonely(values: list[float]) -> bool:
    """Whether one of these values makes up their deviation."""
    whole = GroupedValues.of(np.array(values), None, 1)
    return is_lonely(whole.total(SafeLimits()), SafeLimits())


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_unit_of_values_does_not_matter(unit: float) -> None:
    """One case far from all others gives itself away in thousands and in billionths."""
    assert lonely([unit * value for value in far()])
    assert not lonely([unit * value for value in range(50)])


def test_each_of_two_cases_knows_the_other_by_the_deviation() -> None:
    """Mean and deviation of two cases are both their values."""
    assert lonely([1.0, 3.0])
    assert not lonely([1.0, 2.0, 3.0])


def test_one_case_and_equal_ones_have_no_deviation_to_withhold() -> None:
    """Not even where rounding leaves a little of it."""
    assert not lonely([7.0] * 5)
    one = Facts(n=1, cases=1, weight=0.1, low=7.0, high=7.0, mean=7.000000000000001, squares=1e-31)
    assert not is_lonely(one, SafeLimits())


def test_the_records_of_an_entity_count_together() -> None:
    """Its gains and losses cancel out in the sum, and not in the deviation."""
    values = [1000.0, -999.0, 1000.0, -999.0, *(1 + 0.01 * (at % 9) for at in range(40))]
    frame = pl.DataFrame({"x": values, "e": [0] * 4 + [*range(1, 41)], "w": [1.0] * 44})
    assert "sd" in statistics.summarize(frame, "x").stored
    assert "sd" not in statistics.summarize(frame, "x", entity="e").stored
    assert "sd" not in statistics.summarize(frame, "x", entity="e", weights="w").stored
    # Who has most of it need not have the value that is farthest off.
    values = [*(1.0, -1.0) * 500, 1.1, *(0.001 * at for at in range(40))]
    frame = pl.DataFrame({"x": values, "e": [0] * 1000 + [*range(1, 42)]})
    assert "sd" in statistics.summarize(frame, "x").stored
    assert "sd" not in statistics.summarize(frame, "x", entity="e").stored


def test_another_group_is_withheld_with_it() -> None:
    """The deviation of the total less those of the other groups would be that of the group."""
    rng = np.random.default_rng(5)
    wide = rng.normal(0, 500, 80)
    frame = pl.DataFrame(
        {
            "x": [*far(), *rng.normal(100, 300, 40), *wide],
            "g": ["far"] * 51 + ["near"] * 40 + ["wide"] * 80,
        }
    )
    rows = {row["g"]: row for row in shown(frame, by="g")}
    assert all(row["mean"] is not None for row in rows.values())
    assert [name for name, row in rows.items() if row["sd"] is None] == ["far", "near"]
    # By itself a group has no total it could be worked out from.
    alone = statistics.summarize(frame, "x", by="g").frame
    assert alone is not None
    assert alone["sd"].is_null().to_list() == [True, True, False]


def test_the_other_groups_must_hide_it() -> None:
    """Groups that hardly vary would not: then the total goes too."""
    frame = pl.DataFrame({"x": [*far(), *([5.0, 6.0] * 30)], "g": ["far"] * 51 + ["near"] * 60})
    rows = {row["g"]: row for row in shown(frame, by="g")}
    assert [name for name, row in rows.items() if row["sd"] is None] == ["far", "near", "Total"]


@pytest.mark.parametrize("asked", ["sd", "mean sd", "kurtosis"])
def test_a_lonely_cell_of_a_table_does_not_follow_from_its_margins(asked: str) -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "x": [*far(), *rng.normal(100, 40, 149)],
            "a": ["p"] * 51 + ["q"] * 75 + ["p"] * 74,
            "b": ["u"] * 51 + ["u"] * 30 + ["v"] * 119,
        }
    )
    table = statistics.table(frame, ["a", "b"], "x", statistics=asked).frame
    assert table is not None
    word = f"{asked.split()[-1]} x"
    inside = (pl.col("a") != "Total") & (pl.col("b") != "Total")
    assert table.filter(inside)[word].is_null().all()
    assert not table.filter(~inside)[word].is_null().any()
    if "mean" in asked:
        assert not table["mean x"].is_null().any()
    frame = frame.with_columns(x=pl.Series(rng.normal(100, 40, 200)))
    usual = statistics.table(frame, ["a", "b"], "x", statistics=asked).frame
    assert usual is not None
    assert not usual[word].is_null().any()


def trios(sizes: dict[str, int]) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    groups = [name for name, size in sizes.items() for _ in range(size)]
    return pl.DataFrame({"g": groups, "x": rng.normal(50, 9, len(groups))})


@pytest.mark.parametrize("command", ["tabstat", "table"])
def test_the_deviation_of_three_cases_does_not_follow_from_the_total(command: str) -> None:
    """With it, one of the three could solve mean and deviation for the other two."""
    frame = trios({"a": 3, "b": 10, "c": 12})
    if command == "tabstat":
        found = statistics.tabstat(frame, "x", statistics="n mean sd", by="g").frame
    else:
        found = statistics.table(frame, "g", "x", statistics="n mean sd").frame
    assert found is not None
    word = "sd" if command == "tabstat" else "sd x"
    withheld = dict(zip(found["g"], found[word].is_null(), strict=True))
    assert withheld == {"a": True, "b": True, "c": False, "Total": False}


def test_the_same_holds_for_skewness_and_more_cases() -> None:
    frame = trios({"a": 4, "b": 10, "c": 12})
    sd = statistics.tabstat(frame, "x", statistics="mean sd", by="g").frame
    both = statistics.tabstat(frame, "x", statistics="mean sd skewness", by="g").frame
    assert sd is not None
    assert both is not None
    assert sd["sd"].null_count() == 0
    assert both["skewness"].is_null().to_list() == [True, True, False, False]
    assert both["sd"].is_null().to_list() == [True, True, False, False]


def test_panels_too() -> None:
    rng = np.random.default_rng(4)
    who = np.repeat(np.arange(30), 4)
    level = np.where(who == 0, 500.0, 100 + 0.01 * who)
    frame = pl.DataFrame({"x": level + rng.normal(0, 0.01, who.size), "id": who})
    stored = statistics.xtsum(frame, "x", entity="id").stored
    assert {"mean", "sd_w"} <= set(stored)
    assert {"sd", "sd_b"}.isdisjoint(stored)


def test_one_residual_does_not_stand_for_all() -> None:
    rng = np.random.default_rng(9)
    x = rng.normal(0, 1, 200)
    y = 2 * x + rng.normal(0, 0.1, 200)
    usual = pl.DataFrame({"x": x, "y": y, "e": [0, 0, *range(1, 199)]})
    assert statistics.regress(usual, "y", "x").verdict == "pass"
    odd = usual.with_columns(y=pl.Series([y[0] + 500, *y[1:]]))
    for terms in ("x", ""):
        model = statistics.regress(odd, "y", terms)
        assert not model.stored
        assert ("residuals", "fail") in {(one.rule, one.verdict.value) for one in model.checks}
    # Two residuals of one person count together, those of two persons do not.
    pair = usual.with_columns(y=pl.Series([y[0] + 500, y[1] - 500, *y[2:]]))
    assert statistics.regress(pair, "y", "x").stored
    assert not statistics.regress(pair, "y", "x", entity="e").stored
