"""`summarize`, `tabstat` and `table`: each rule by a worked example."""

import json
import math
import statistics as plain

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire import statistics
from discreet_fire.statistics import CheckVerdict, SafeLimits
from tests.helpers.rows import for_all_rows


def rules(result, verdict=CheckVerdict.fail):
    return {check.rule for check in result.checks if check.verdict is verdict}


def row(result, at=0):
    return result.frame.row(at, named=True)


# Percentiles: n · min(q, 1 − q) of at least 3, so 300 cases for p1.


@for_all_rows(
    ("name", "enough"),
    [("p1", 300), ("p99", 300), ("p5", 60), ("p10", 30), ("p25", 12), ("p50", 6)],
)
def test_percentiles_need_cases_beyond_them(name, enough):
    for n, shown in ((enough, True), (enough - 1, False)):
        frame = pl.DataFrame({"x": np.arange(1.0, n + 1) ** 1.5})
        result = statistics.tabstat(frame, "x", statistics=name)
        assert (row(result)[name] is not None) is shown
        assert (f"{name}_x" in result.stored) is shown
        assert ("percentile" in rules(result)) is not shown


def test_percentiles_are_those_of_summarize_detail():
    # Definition of Stata's summarize, detail: the mean of two values where n·q is whole.
    frame = pl.DataFrame({"x": np.arange(1.0, 301.0)})
    result = statistics.summarize(frame, "x", detail=True)
    assert result.stored["p1"] == 3.5
    assert result.stored["p50"] == 150.5
    assert statistics.summarize(frame.head(299), "x", detail=True).stored["p50"] == 150


def test_the_tail_counts_people_not_their_records():
    # 400 people; one of them has all of the highest thousand records.
    values = [*np.linspace(1, 100, 400), *np.linspace(500, 600, 1000)]
    frame = pl.DataFrame({"x": values, "pid": [*range(400), *[399] * 1000]})
    asked = ["p25", "p75"]
    alone = statistics.tabstat(frame, "x", statistics=asked)
    by_person = statistics.tabstat(frame, "x", statistics=asked, entity="pid")
    assert row(alone)["p75"] is not None
    assert row(by_person)["p75"] is None
    assert row(by_person)["p25"] is not None


# Dominance and p%: three firms.


def test_three_firms():
    # 435,000 of 460,000 belong to two; the third knows his 25,000 and so the largest to 6 %.
    firms = pl.DataFrame({"turnover": [25_000.0, 400_000.0, 35_000.0]})
    result = statistics.summarize(firms, "turnover")
    assert dict(result.stored) == {"N": 3, "sum_w": 3}
    assert "dominance" in rules(result)
    assert "460" not in result.shown
    even = pl.DataFrame({"turnover": [250_000.0, 200_000.0, 235_000.0]})
    assert "mean" in statistics.summarize(even, "turnover").stored


def test_limits_of_dominance_are_exact():
    frame = pl.DataFrame({"x": [50.0, 35.0, 8.0, 7.0]})  # two largest: 85 of 100
    assert "mean" in statistics.summarize(frame, "x", limits=SafeLimits(k=85, p=5)).stored
    assert "mean" not in statistics.summarize(frame, "x", limits=SafeLimits(k=84.9, p=5)).stored
    # 15 are left: 30 % of the largest.
    assert "mean" in statistics.summarize(frame, "x", limits=SafeLimits(k=99, p=30)).stored
    assert "mean" not in statistics.summarize(frame, "x", limits=SafeLimits(k=99, p=30.1)).stored


def test_a_pair_of_opposite_sign_dominates():
    # The sum is small, but two contributions of a million make it up.
    frame = pl.DataFrame({"x": [1_000_000.0, -1_000_000.0, 5.0, 7.0, -3.0, 4.0]})
    result = statistics.tabstat(frame, "x", statistics="n sum mean")
    assert "dominance" in rules(result)
    assert row(result) == {"variable": "x", "n": 6, "sum": None, "mean": None}


def test_branches_of_one_firm_are_one_contribution():
    frame = pl.DataFrame({"x": [100.0] * 10 + [30.0, 40.0, 50.0], "firm": [1] * 10 + [2, 3, 4]})
    assert "mean" in statistics.summarize(frame, "x").stored
    assert "mean" not in statistics.summarize(frame, "x", entity="firm").stored


def test_weights_can_single_out_a_case():
    frame = pl.DataFrame({"x": [3.0, 4, 5, 6, 7, 9], "w": [1e6, 1, 1, 1, 1, 1]})
    assert "mean" in statistics.summarize(frame, "x").stored
    result = statistics.summarize(frame, "x", weights="w")
    assert "mean" not in result.stored
    assert rules(result) & {"weights", "dominance"}


# Minimum cases.


def test_few_values_in_a_large_cell():
    # A hundred records in the group, but only two of them have a value.
    x = [None] * 98 + [1500.0, 1700.0] + [float(v) for v in range(1000, 1100)]
    frame = pl.DataFrame({"g": [1] * 100 + [2] * 100, "x": x})
    result = statistics.tabstat(frame, "x", statistics="n mean", by="g")
    assert row(result, 0) == {"variable": "x", "g": "1", "n": None, "mean": None}
    # And group 2 with the total would give it away.
    assert row(result, 1)["mean"] is None
    assert row(result, 1)["n"] is None


def test_many_records_of_one_person():
    frame = pl.DataFrame({"pid": [1] * 500 + [2] * 500, "x": np.linspace(1, 2, 1000)})
    assert "mean" in statistics.summarize(frame, "x").stored
    result = statistics.summarize(frame, "x", entity="pid")
    assert not result.stored
    assert rules(result) == {"minimum"}


# Values that follow from statistics.


def test_mean_and_deviation_of_three_are_not_shown_together():
    frame = pl.DataFrame({"x": [40.0, 50.0, 45.0]})
    result = statistics.summarize(frame, "x")
    assert set(result.stored) == {"N", "sum_w", "sum", "mean"}
    assert "equations" in rules(result)
    # Who is the first solves mean and deviation for the other two.
    mean, sd = plain.mean([40, 50, 45]), plain.stdev([40, 50, 45])
    total, squares = 3 * mean - 40, sd**2 * 2 + 3 * mean**2 - 40**2
    apart = math.sqrt(2 * squares - total**2)
    assert ((total - apart) / 2, (total + apart) / 2) == pytest.approx((45, 50))


def test_never_more_statistics_than_leave_two_unknown():
    asked = "mean sd skewness kurtosis p50 p25 p75 p10 p90"
    for n in range(3, 40):
        frame = pl.DataFrame({"x": np.linspace(10, 20, n) ** 1.1})
        numbers = row(statistics.tabstat(frame, "x", statistics=asked))
        shown = sum(numbers[name] is not None for name in asked.split())
        assert shown <= n - 2


def test_all_the_same_and_all_but_few_the_same():
    same = pl.DataFrame({"x": [7.0] * 50})
    result = statistics.summarize(same, "x", detail=True)
    assert set(result.stored) == {"N", "sum_w"}
    assert rules(result) == {"same"}
    # 48 of 50 have 7: the mean gives away what the other two have.
    nearly = pl.DataFrame({"x": [7.0] * 48 + [9.0, 12.0]})
    result = statistics.summarize(nearly, "x")
    assert "alike" in rules(result)
    assert "mean" not in result.stored
    enough = pl.DataFrame({"x": [7.0] * 40 + [9.0] * 10})
    assert "mean" in statistics.summarize(enough, "x").stored


def test_minimum_and_maximum_never_show():
    values = [float(v) for v in range(1000, 1400)] + [7777.0, 3.0]
    frame = pl.DataFrame({"x": values})
    for result in (
        statistics.summarize(frame, "x"),
        statistics.summarize(frame, "x", detail=True),
        statistics.tabstat(frame, "x", statistics="min max range mean"),
        statistics.codebook(frame, "x"),
        statistics.histogram(frame, "x"),
        statistics.centile(frame, "x", centiles=[1, 50, 99]),
    ):
        text = json.dumps(result.to_dict())
        assert "7777" not in text
        assert not {"min", "max", "range"} & set(result.stored)
    assert "extremes" in rules(statistics.tabstat(frame, "x", statistics="min"))


# One table tells about another number of the same table.


def test_a_withheld_group_takes_a_second_one_along():
    frame = pl.DataFrame({"g": ["a"] * 20 + ["b"] * 10 + ["c"] * 2, "x": np.linspace(100, 200, 32)})
    result = statistics.tabstat(frame, "x", statistics="n mean", by="g")
    shown = {r["g"]: r["n"] for r in result.frame.to_dicts()}
    assert shown == {"a": 20, "b": None, "c": None, "Total": 32}
    assert rules(result) == {"minimum", "secondary"}


def test_a_second_group_that_does_not_hide_the_first_takes_a_third_along():
    # Group c has one giant; b is next to nothing, so b and c together would still give it away.
    x = [100.0 + i for i in range(20)] + [1.0, 2, 3, 2, 1] + [5000.0, 10.0, 12.0]
    frame = pl.DataFrame({"g": ["a"] * 20 + ["b"] * 5 + ["c"] * 3, "x": x})
    result = statistics.tabstat(frame, "x", statistics="n mean", by="g")
    means = {r["g"]: r["mean"] for r in result.frame.to_dicts()}
    assert means == {"a": None, "b": None, "c": None, "Total": 257.8929}


def test_counts_are_withheld_alike_for_all_variables():
    x = [float(v) for v in range(30)]
    y = [None if v in (20, 21, 22) else float(v * v % 17) for v in range(30)]
    frame = pl.DataFrame({"g": ["a"] * 15 + ["b"] * 13 + ["c"] * 2, "x": x, "y": y})
    result = statistics.tabstat(frame, ["x", "y"], statistics="n", by="g")
    hidden = {
        name: {r["g"] for r in result.frame.to_dicts() if r["variable"] == name and r["n"] is None}
        for name in ("x", "y")
    }
    assert hidden["x"] == hidden["y"] == {"b", "c"}


# Grouping variables.


def test_a_measurement_does_not_group():
    income = np.round(np.random.default_rng(1).lognormal(8, 1, 500), 2)
    frame = pl.DataFrame({"income": income, "x": np.arange(500.0)})
    with pytest.raises(OutputCheckError, match="group"):
        statistics.tabstat(frame, "x", by="income")
    with pytest.raises(OutputCheckError, match="group of its own"):
        statistics.tabulate(frame.head(12), "income")


def test_float_coded_groups_that_differ_by_rounding_are_refused():
    # In float storage 0.1 + 0.2 and 0.3 print alike and are two groups.
    frame = pl.DataFrame({"g": [0.3] * 40 + [0.1 + 0.2] * 2 + [0.5] * 40, "x": np.arange(82.0)})
    with pytest.raises(OutputCheckError, match="rounding"):
        statistics.tabstat(frame, "x", by="g")


def test_float_coded_groups_of_enough_cases_are_shown_and_looked_at():
    frame = pl.DataFrame({"g": [0.5] * 20 + [1.5] * 20, "x": np.arange(40.0)})
    result = statistics.tabstat(frame, "x", by="g")
    assert "grouping" in rules(result, CheckVerdict.review)
    whole = statistics.tabstat(frame.with_columns(pl.col("g") * 2), "x", by="g")
    assert not rules(whole, CheckVerdict.review)


# Layout, engines, order, wrong input.


def _everything(frame):
    return [
        statistics.summarize(frame, ["x", "y"], detail=True, by="g").to_dict(),
        statistics.tabstat(frame, "x", statistics="n mean sd p50", by="g", entity="pid").to_dict(),
        statistics.summarize(frame, "x", weights="w", where="y > 0").to_dict(),
        statistics.table(frame, ["g", "h"], "x", statistics="mean sd").to_dict(),
        statistics.tabulate(frame, "g", "h", percent=["row"], chi2=True).to_dict(),
        statistics.correlate(frame, ["x", "y"]).to_dict(),
        statistics.centile(frame, "x", centiles=[25, 50]).to_dict(),
        statistics.xtsum(frame, "x", entity="pid").to_dict(),
        statistics.codebook(frame, ["x", "h"]).to_dict(),
    ]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    n = 400
    return pl.DataFrame(
        {
            "pid": rng.integers(0, 90, n),
            "g": rng.integers(1, 5, n),
            "h": rng.choice(["a", "b", "c"], n, p=[0.6, 0.37, 0.03]),
            "x": rng.lognormal(7, 1, n),
            "y": rng.normal(0, 1, n),
            "w": rng.uniform(0.5, 2, n),
        }
    )


def test_the_order_of_records_changes_nothing(people):
    first = json.dumps(_everything(people))
    assert json.dumps(_everything(people.sample(fraction=1, shuffle=True, seed=3))) == first


def test_every_engine_gives_the_same(people):
    first = json.dumps(_everything(people))
    lazy, arrow = people.lazy(), people.to_arrow()
    for frame in (lazy, arrow, people.to_pandas(), duckdb.table("arrow"), nw.from_native(people)):
        assert json.dumps(_everything(frame)) == first


def test_statistics_agree_with_polars(people):
    numbers = row(statistics.tabstat(people, "x", statistics="n mean sd sum cv semean variance"))
    x = people["x"]
    expected = {
        "n": len(x),
        "mean": x.mean(),
        "sd": x.std(),
        "sum": x.sum(),
        "cv": x.std() / x.mean(),
        "semean": x.std() / math.sqrt(len(x)),
        "variance": x.var(),
    }
    for name, value in expected.items():
        assert numbers[name] == pytest.approx(value, rel=1e-6)


def test_weighted_moments_are_those_of_analytic_weights():
    # Weights are scaled to add up to n; the variance divides by n − 1.
    x, w = np.array([1.0, 2, 4, 5, 7]), np.array([1.0, 2, 1, 3, 1])
    frame = pl.DataFrame({"x": x, "w": w})
    stored = statistics.summarize(frame, "x", weights="w", limits=SafeLimits(k=99, p=1)).stored
    scaled = w * 5 / w.sum()
    mean = (scaled * x).sum() / 5
    assert stored["mean"] == pytest.approx(mean, rel=1e-6)
    assert stored["Var"] == pytest.approx((scaled * (x - mean) ** 2).sum() / 4, rel=1e-6)
    assert stored["sum_w"] == 8


@for_all_rows(
    "ask",
    [
        lambda f: statistics.summarize(f, "nothing"),
        lambda f: statistics.summarize(f, []),
        lambda f: statistics.summarize(f, "text"),
        lambda f: statistics.summarize("no frame", "x"),
        lambda f: statistics.summarize(f, "x", where="x >"),
        lambda f: statistics.summarize(f, "x", where="nothing > 1"),
        lambda f: statistics.summarize(f, "x", weights="negative"),
        lambda f: statistics.summarize(f, "infinite"),
        lambda f: statistics.summarize(f, "x", entity="hole"),
        lambda f: statistics.tabstat(f, "x", statistics="mode"),
        lambda f: statistics.tabstat(f, "x", statistics=""),
        lambda f: statistics.tabstat(f, "x", by="lists"),
        lambda f: statistics.table(f, ["text", "x", "negative", "infinite"]),
        lambda f: statistics.table(f, "text", "x", statistics="p0"),
    ],
)
def test_wrong_input_is_refused_in_words(ask):
    frame = pl.DataFrame(
        {
            "x": [1.0, 2, 3, 4],
            "text": ["a", "b", "a", "b"],
            "negative": [1.0, -1, 1, 1],
            "infinite": [1.0, math.inf, 2, 3],
            "hole": [1, None, 2, 3],
            "lists": [[1], [2], [1], [2]],
        }
    )
    with pytest.raises(DiscreetError) as caught:
        ask(frame)
    assert caught.value.code


def test_no_records_and_all_missing():
    frame = pl.DataFrame({"x": [None, None], "g": [1, 2]}, schema={"x": pl.Float64, "g": pl.Int64})
    assert statistics.summarize(frame, "x").stored["N"] == 0
    assert statistics.summarize(frame, "x", where="g > 5").stored["N"] == 0
    assert statistics.tabstat(frame, "x", by="g").frame["mean"].to_list() == [None] * 3
    empty = statistics.tabulate(frame, "x")
    assert "no observations" in empty.shown
    assert [str(one.verdict) for one in empty.checks] == ["pass"]
