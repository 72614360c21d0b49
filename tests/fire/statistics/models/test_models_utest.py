"""The test for a U shape of Lind and Mehlum (2010), without the ends of the data."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

from discreet.errors import OutputCheckError
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models import utest
from discreet_fire.statistics.results import CheckVerdict

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
    assert inverse.stored["p"] == utest(frame, "y", "x").stored["p"]
    beyond = utest(frame, "y", "x", interval=(45, 60))
    assert "Extreme point outside the interval: H0 is not rejected" in beyond.shown
    assert "p" not in beyond.stored


def test_the_smallest_and_largest_value_are_not_shown() -> None:
    frame = people()
    result = utest(frame, "y", "x")
    text = result.shown + str(result.to_dict())
    for end in (frame["x"].min(), frame["x"].max()):
        assert f"{end:.7g}" not in text
    # 300 cases allow the first and last percentile, 299 do not, 59 not the fifth.
    assert result.evidence["percentile"] == 1
    assert utest(frame[:299], "y", "x").evidence["percentile"] == 5
    assert utest(frame[:60], "y", "x").evidence["percentile"] == 5
    assert utest(frame[:59], "y", "x").evidence["percentile"] == 10


def test_percentiles_count_entities() -> None:
    frame = people().with_columns(firm=pl.int_range(300) // 6)
    assert utest(frame, "y", "x", entity="firm").evidence["percentile"] == 10
    # Half of the rows are of one firm: beyond no percentile are three firms.
    lonely = frame.sort("x").with_columns(
        firm=pl.when(pl.int_range(300) < 150).then(0).otherwise(pl.int_range(300))
    )
    result = utest(lonely, "y", "x", entity="firm")
    assert result.verdict is CheckVerdict.fail
    assert not result.stored


def test_a_model_that_breaks_a_rule_has_no_test() -> None:
    frame = people().with_columns(chief=(pl.int_range(300) == 5).cast(pl.Int8))
    result = utest(frame, "y", "x", "chief", interval=(25, 41))
    assert result.verdict is CheckVerdict.fail
    assert "withheld for confidentiality" in result.shown
    assert not any(c.isdigit() for c in result.shown.replace("x^2", ""))
    two = utest(people().with_columns(x=pl.col("sex").cast(pl.Float64)), "y", "x")
    assert ("u-shape", "x") in {(check.rule, check.where) for check in two.checks}


@pytest.mark.parametrize("interval", [(2, 1), (1, 1), (1,), (float("nan"), 2), ("a", "b"), 5])
def test_wrong_intervals(interval: object) -> None:
    with pytest.raises(OutputCheckError, match="two numbers, the smaller first"):
        utest(people(), "y", "x", interval=interval)  # type: ignore[arg-type]


def test_a_model_without_constant_or_with_clusters() -> None:
    frame = people().with_columns(firm=pl.int_range(300) % 40)
    x = frame["x"].to_numpy()
    fit = sm.OLS(frame["y"].to_numpy(), np.column_stack([x, x**2, np.ones(300)])).fit(
        cov_type="cluster", cov_kwds={"groups": frame["firm"].to_numpy()}, use_t=True
    )
    result = utest(frame, "y", "x", interval=(25, 50), cluster="firm", limits=SafeLimits(digits=12))
    test = fit.t_test([1, 50, 0])
    assert result.frame is not None
    assert result.frame["statistic"][0] == pytest.approx(test.tvalue.item(), rel=1e-7)


@pytest.mark.filterwarnings("error")
def test_a_straight_line_has_no_extreme() -> None:
    """Of numbers around 0 and their cubes, the coefficient of the square is exactly 0."""
    x = [float(number) for number in range(-10, 11)] * 6
    result = utest(pl.DataFrame({"x": x, "y": [v**3 for v in x]}), "y", "x", interval=(-5, 5))
    assert result.stored["b2"] == 0
    assert "extreme" not in result.stored
    assert "Extreme point:  .\n" in result.shown
