"""The test for a U shape of Lind and Mehlum (2010), without the ends of the data."""

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

from discreet.errors import OutputCheckError
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models import utest
from discreet_fire.statistics.results import CheckVerdict
from tests.helpers.rows import for_all_rows

LOW, HIGH = 1.2345, 98.7654


def people(n: int = 300) -> pl.DataFrame:
    draw = np.random.default_rng(4)
    x = draw.uniform(20, 60, n)
    x[:2] = LOW, HIGH
    y = (x - 38) ** 2 / 50 + draw.normal(size=n)
    return pl.DataFrame({"x": x, "y": y, "sex": draw.integers(0, 2, n)})


def test_the_numbers_are_those_of_the_formulas() -> None:
    """Lind and Mehlum: slopes at the ends, the larger of two one-sided probabilities."""
    frame = people()
    exact = SafeLimits(digits=12)
    result = utest(frame, "y", "x", "i.sex", interval=(25, 41), limits=exact)
    x = frame["x"].to_numpy()
    columns = np.column_stack([x, x**2, frame["sex"].to_numpy(), np.ones(300)])
    fit = sm.OLS(frame["y"].to_numpy(), columns).fit()
    tests = [fit.t_test([1, 2 * end, 0, 0]) for end in (25, 41)]
    assert result.frame is not None
    for place, test in enumerate(tests):
        row = result.frame.row(place, named=True)
        assert row["slope"] == pytest.approx(test.effect.item(), rel=1e-7)
        assert row["statistic"] == pytest.approx(test.tvalue.item(), rel=1e-7)
        assert row["p"] == pytest.approx(test.pvalue.item() / 2, rel=1e-6)
    assert result.stored["p"] == pytest.approx(max(t.pvalue.item() for t in tests) / 2, rel=1e-6)
    assert result.stored["extreme"] == pytest.approx(-fit.params[0] / fit.params[1] / 2, rel=1e-8)
    assert "H1: U shape" in result.shown


def test_an_inverse_shape_and_none() -> None:
    frame = people()
    inverse = utest(frame.with_columns(y=-pl.col("y")), "y", "x")
    assert "vs. H0: Monotone or U shape" in inverse.shown
    assert inverse.evidence["p"] == pytest.approx(utest(frame, "y", "x").evidence["p"])
    beyond = utest(frame, "y", "x", interval=(45, 60))
    assert "Extreme point outside the interval: H0 is not rejected" in beyond.shown
    assert "p" not in beyond.stored


def original(frame: pl.DataFrame) -> tuple[float, list[float]]:
    """The original's p at the ends of the data, with those of both ends."""
    x = frame["x"].to_numpy()
    fit = sm.OLS(frame["y"].to_numpy(), np.column_stack([x, x**2, np.ones(len(x))])).fit()
    tests = [fit.t_test([1, 2 * end, 0]) for end in (x.min(), x.max())]
    shares = [test.pvalue.item() / 2 for test in tests]
    return max(shares), [test.tvalue.item() for test in tests]


def test_the_smallest_and_largest_value_are_not_shown() -> None:
    frame = people()
    result = utest(frame, "y", "x")
    chance, values = original(frame)
    numbers = [frame["x"].min(), frame["x"].max(), *values]
    text = result.shown + str(result.to_dict())
    for number in numbers:
        assert f"{abs(number):.4g}" not in text
    assert result.frame is not None
    assert (
        result.frame.select("interval", "slope", "statistic", "p").null_count().row(0) == (2,) * 4
    )
    assert {"t", "p"}.isdisjoint(result.stored)
    # It is the original's interval all the same: the evidence has it, and the class is of its p.
    assert result.evidence["interval"] == [frame["x"].min(), frame["x"].max()]
    assert max(result.evidence["p"]) == pytest.approx(chance, rel=1e-6)
    assert chance < 0.01
    assert "     P>|t|   < 0.01\n" in result.shown
    assert ("ends", CheckVerdict.fail) in {(one.rule, one.verdict) for one in result.checks}


@for_all_rows("noise", [1.0, 40.0, 80.0, 160.0, 300.0])
def test_classes_are_of_the_p_of_the_original(noise: float) -> None:
    frame = people().with_columns(y=pl.col("y") + np.random.default_rng(1).normal(0, noise, 300))
    chance, values = original(frame)
    shown = utest(frame, "y", "x").shown
    bounds = [bound for bound in (0.01, 0.05, 0.1) if chance < bound]
    if values[0] * values[1] > 0:
        assert "outside the interval" in shown
    else:
        assert f"     P>|t|   {f'< {bounds[0]}' if bounds else '>= 0.1'}\n" in shown


def test_ends_that_enough_cases_have_are_withheld_and_their_tests_shown() -> None:
    frame = people().with_columns(x=pl.col("x").round())
    frame = frame.with_columns(
        x=pl.when(pl.int_range(300) < 3).then(10.0).when(pl.int_range(300) < 6).then(70.0)
        .otherwise(pl.col("x")),
        firm=pl.int_range(300) // 2,
    )  # fmt: skip
    chance, _ = original(frame)
    result = utest(frame, "y", "x")
    assert result.stored["p"] == pytest.approx(chance, rel=1e-5)
    assert result.frame is not None
    assert result.frame["interval"].null_count() == 2
    assert result.frame["p"].null_count() == 0
    assert "p" not in utest(frame, "y", "x", entity="firm").stored  # three cases of two firms
    assert "p" not in utest(frame, "y", "x", limits=SafeLimits(minimum=4)).stored


def test_an_end_that_is_given_and_one_that_is_not() -> None:
    frame = people()
    result = utest(frame, "y", "x", interval=(25, None))
    exact = utest(frame, "y", "x", interval=(25, 41))
    assert result.frame is not None
    assert exact.frame is not None
    assert result.frame.row(0) == exact.frame.row(0)
    assert result.frame.row(1) == ("upper", None, None, None, None)


def test_the_fieller_interval_is_where_the_slope_may_be_nought() -> None:
    frame = people()
    result = utest(frame, "y", "x", fieller=True, level=90, limits=SafeLimits(digits=12))
    x = frame["x"].to_numpy()
    fit = sm.OLS(frame["y"].to_numpy(), np.column_stack([x, x**2, np.ones(300)])).fit()
    for name in ("fieller_low", "fieller_high"):
        test = fit.t_test([1, 2 * result.stored[name], 0])
        assert test.pvalue.item() == pytest.approx(0.1, rel=1e-6)
    assert result.stored["fieller_low"] < result.stored["extreme"] < result.stored["fieller_high"]
    assert "90% Fieller interval for extreme point: [" in result.shown
    straight = frame.with_columns(y=pl.col("x") + np.random.default_rng(2).normal(size=300))
    open_one = utest(straight, "y", "x", fieller=True)
    assert "[unbounded]" in open_one.shown
    assert "fieller_low" not in open_one.stored


def test_a_model_that_breaks_a_rule_has_no_test() -> None:
    frame = people().with_columns(chief=(pl.int_range(300) == 5).cast(pl.Int8))
    result = utest(frame, "y", "x", "chief", interval=(25, 41))
    assert result.verdict is CheckVerdict.fail
    assert "withheld for confidentiality" in result.shown
    assert not any(c.isdigit() for c in result.shown.replace("x^2", ""))
    two = utest(people().with_columns(x=pl.col("sex").cast(pl.Float64)), "y", "x")
    assert ("u-shape", "x") in {(check.rule, check.where) for check in two.checks}


@for_all_rows("interval", [(2, 1), (1, 1), (1,), (float("nan"), 2), ("a", "b"), 5])
def test_wrong_intervals(interval: object) -> None:
    with pytest.raises(OutputCheckError, match="two numbers, the smaller first"):
        utest(people(), "y", "x", interval=interval)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("error")
def test_a_straight_line_has_no_extreme() -> None:
    """Of numbers around 0 and their cubes, the coefficient of the square is exactly 0."""
    x = [float(number) for number in range(-10, 11)] * 6
    result = utest(pl.DataFrame({"x": x, "y": [v**3 for v in x]}), "y", "x", interval=(-5, 5))
    assert result.stored["b2"] == 0
    assert "extreme" not in result.stored
    assert "Extreme point:  .\n" in result.shown
