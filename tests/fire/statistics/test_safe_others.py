"""`codebook`, `centile`, `histogram`, `correlate`, `xtsum`, `xtdescribe`, `count`, …"""

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import OutputCheckError
from discreet_fire import statistics
from discreet_fire.statistics import CheckVerdict, SafeLimits
from tests.helpers.rows import for_all_rows


def rules(result, verdict=CheckVerdict.fail):
    return {check.rule for check in result.checks if check.verdict is verdict}


# count, levelsof, inspect


@for_all_rows(
    ("where", "shown"),
    [
        ("x < 0", 0),
        ("x < 2", None),
        ("x < 3", 3),
        ("x < 98", None),
        ("x < 97", 97),
        ("x < 100", 100),
    ],
)
def test_few_are_not_counted_and_all_but_few_neither(where, shown):
    result = statistics.count(pl.DataFrame({"x": range(100)}), where=where)
    assert result.stored.get("N") == shown


def test_who_is_left_out_is_counted_in_people():
    frame = pl.DataFrame({"pid": [*range(50), *[50] * 30], "x": [1] * 50 + [0] * 30})
    assert statistics.count(frame, where="x == 1").stored["N"] == 50
    result = statistics.count(frame, where="x == 1", entity="pid")
    assert rules(result) == {"few-others"}


def test_levels_of_few_cases_are_not_listed():
    frame = pl.DataFrame({"job": ["baker"] * 5 + ["smith"] * 4 + ["astronaut"]})
    result = statistics.levelsof(frame, "job")
    assert result.frame["job"].to_list() == ['`"baker"\'', '`"smith"\'']
    assert "astronaut" not in json.dumps(result.to_dict())
    with pytest.raises(OutputCheckError):
        statistics.levelsof(pl.DataFrame({"income": np.arange(1000, 1300)}), "income")


def test_inspect_is_refused_in_both_languages():
    assert "not permitted" in statistics.inspect(None, "x").shown
    german = statistics.inspect(None, "x", limits=SafeLimits(language="de"))
    assert "nicht zulässig" in german.shown
    assert german.verdict is CheckVerdict.fail


# codebook


def test_codebook_shows_no_range_no_distinct_values_no_examples():
    frame = pl.DataFrame(
        {
            "name": [f"person {n}" for n in range(40)],
            "income": np.linspace(1234.5, 9876.5, 40),
            "sex": ["m", "w"] * 20,
        }
    )
    result = statistics.codebook(frame)
    text = json.dumps(result.to_dict())
    assert not any(secret in text for secret in ("person", "1234", "9876", "40 "))
    assert "20  m" in result.shown


@pytest.mark.parametrize(("missing", "shown"), [(0, True), (2, False), (3, True), (38, False)])
def test_few_missing_values_are_not_counted(missing, shown):
    frame = pl.DataFrame({"x": [None] * missing + [float(v) for v in range(40 - missing)]})
    result = statistics.codebook(frame, "x")
    assert (f"{missing}/40" in result.shown) is shown
    assert ("missing" in rules(result)) is not shown


# centile


def test_ends_of_intervals_are_values_too():
    # The interval of the median of 8 runs from the first to the eighth value.
    frame = pl.DataFrame({"x": [10.0, 20, 30, 40, 50, 60, 70, 80]})
    line = statistics.centile(frame, "x").frame.row(0, named=True)
    assert (line["centile"], line["low"], line["high"]) == (45, None, None)
    enough = statistics.centile(pl.DataFrame({"x": np.arange(1.0, 31)}), "x").frame.row(
        0, named=True
    )
    # Exact binomial interval of the median of 30: ranks 10 and 21.
    assert (enough["centile"], enough["low"], enough["high"]) == (15.5, 10, 21)


def test_centiles_near_the_ends_are_withheld():
    frame = pl.DataFrame({"x": np.arange(1.0, 300)})
    assert statistics.centile(frame, "x", centiles=[1]).frame["centile"].to_list() == [None]
    frame = pl.DataFrame({"x": np.arange(1.0, 301)})
    assert statistics.centile(frame, "x", centiles=[1]).frame["centile"].to_list() == [3.01]
    for wrong in ([0], [100], [], [-5]):
        with pytest.raises(OutputCheckError):
            statistics.centile(frame, "x", centiles=wrong)


# histogram


@given(
    st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=12, max_size=200),
    st.integers(3, 12),
)
def test_no_class_of_few_cases(values, fewest):
    frame = pl.DataFrame({"x": values})
    quartiles = statistics.tabstat(frame, "x", statistics="p25 p75").frame.row(0)[1:]
    if quartiles[0] is not None and quartiles[0] == quartiles[1]:
        with pytest.raises(OutputCheckError, match="quartiles"):
            statistics.histogram(frame, "x")
        return
    result = statistics.histogram(frame, "x", limits=SafeLimits(bin_cases=fewest))
    if result.frame is None:
        return
    sizes = result.frame["n"].to_list()
    assert sum(sizes) == len(values)
    assert all(size == 0 or size >= min(fewest, len(values)) for size in sizes)
    assert sizes[0] > 0
    assert sizes[-1] > 0


def test_edges_do_not_follow_the_extremes():
    middle = np.linspace(100, 200, 500)
    edges = [
        statistics.histogram(pl.DataFrame({"x": [*middle, *ends]}), "x").frame["from"].to_list()
        for ends in ([90.0, 210.0], [-5_000.0, 40_000.0])
    ]
    assert edges[0] == edges[1]
    assert all(edge % 1 == 0 for edge in edges[0][1:])


def test_one_person_does_not_fill_a_class():
    frame = pl.DataFrame({"x": [*range(30), *[500] * 20], "pid": [*range(30), *[7] * 20]})
    alone = statistics.histogram(frame, "x", edges=[10, 20, 100])
    assert alone.frame["n"].to_list() == [10, 10, 10, 20]
    assert statistics.histogram(frame, "x", edges=[10, 20, 100], entity="pid").frame[
        "n"
    ].to_list() == [
        10,
        10,
        30,
    ]


@pytest.mark.parametrize(
    "wrong", [{"edges": []}, {"edges": [3, 2]}, {"edges": [1, math.inf]}, {"width": -1}]
)
def test_wrong_edges_are_refused(wrong):
    with pytest.raises(OutputCheckError):
        statistics.histogram(pl.DataFrame({"x": np.arange(100.0)}), "x", **wrong)


# correlate


def test_correlations_agree_with_numpy():
    rng = np.random.default_rng(2)
    x = rng.normal(0, 1, 200)
    frame = pl.DataFrame({"x": x, "y": x + rng.normal(0, 1, 200), "z": rng.lognormal(0, 1, 200)})
    names = ["x", "y", "z"]
    expected = np.corrcoef(frame.to_numpy().T)
    result = statistics.correlate(frame, names)
    for line in result.frame.to_dicts():
        at = names.index(line["variable"]), names.index(line["with"])
        assert line["correlation"] == pytest.approx(expected[at], abs=1e-6)
    spread = statistics.correlate(frame, names, covariance=True).frame["covariance"]
    assert spread[1] == pytest.approx(np.cov(frame.to_numpy().T)[0, 1], rel=1e-6)
    assert result.stored["N"] == 200


def test_a_correlation_needs_degrees_of_freedom():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"x": rng.normal(0, 1, 12), "y": rng.normal(0, 1, 12)})
    assert "rho" in statistics.correlate(frame, ["x", "y"]).stored
    assert rules(statistics.correlate(frame.head(11), ["x", "y"])) == {"freedom"}


def test_one_case_that_makes_up_the_spread():
    rng = np.random.default_rng(4)
    x = [*rng.normal(0, 1, 50), 1e6]
    frame = pl.DataFrame({"x": x, "y": rng.normal(0, 1, 51), "z": [0] * 49 + [1, 1]})
    result = statistics.correlate(frame, ["x", "y", "z"])
    assert {"leverage", "alike"} <= rules(result)
    shown = result.frame.filter(pl.col("correlation").is_not_null())
    assert shown["variable"].to_list() == ["y"]


def test_samples_that_differ_by_few_are_looked_at():
    rng = np.random.default_rng(5)
    y = [None, *rng.normal(0, 1, 49)]
    frame = pl.DataFrame({"x": rng.normal(0, 1, 50), "y": y, "z": rng.normal(0, 1, 50)})
    assert rules(statistics.pwcorr(frame, ["x", "y", "z"]), CheckVerdict.review) == {"samples"}
    double = frame.with_columns(w=pl.col("x") * 2)
    assert "exact" in rules(statistics.correlate(double, ["x", "w"]), CheckVerdict.review)
    with pytest.raises(OutputCheckError):
        statistics.correlate(frame, ["x"])


# xtsum and xtdescribe


def panel(values):
    rows = [(who, t, x) for who, line in enumerate(values) for t, x in enumerate(line)]
    return pl.DataFrame(rows, schema=["id", "t", "x"], orient="row")


def test_deviations_between_and_within_add_up():
    rng = np.random.default_rng(6)
    values = rng.normal(10, 3, (20, 1)) + rng.normal(0, 1, (20, 5))
    stored = statistics.xtsum(panel(values), "x", entity="id").stored
    means = values.mean(axis=1)
    assert stored["sd"] == pytest.approx(values.std(ddof=1), rel=1e-6)
    assert stored["sd_b"] == pytest.approx(means.std(ddof=1), rel=1e-6)
    within = values - means[:, None]
    assert stored["sd_w"] == pytest.approx(math.sqrt((within**2).sum() / 99), rel=1e-6)
    assert (stored["N"], stored["n"], stored["Tbar"]) == (100, 20, 5)


def test_one_who_changes_takes_the_overall_deviation_along():
    # Between and overall deviation would give the deviation within away.
    values = np.repeat(np.arange(10.0)[:, None], 4, axis=1)
    values[3, 2] = 17
    result = statistics.xtsum(panel(values), "x", entity="id")
    assert "within" in rules(result)
    assert {"sd_w", "sd"}.isdisjoint(result.stored)
    assert "sd_b" in result.stored
    constant = statistics.xtsum(
        panel(np.repeat(np.arange(10.0)[:, None], 4, axis=1)), "x", entity="id"
    )
    assert rules(constant, CheckVerdict.review) == {"constant"}
    assert constant.stored["sd_w"] == 0


def test_few_entities_have_no_xtsum():
    result = statistics.xtsum(panel(np.arange(20.0).reshape(2, 10)), "x", entity="id")
    assert not result.stored
    three = statistics.xtsum(panel(np.array([[1.0, 2], [2, 4], [3, 5]])), "x", entity="id")
    assert {"sd", "sd_b", "sd_w"}.isdisjoint(three.stored)


def test_no_identifier_and_no_rare_pattern():
    rows = [(100_000 + who, t) for who in range(12) for t in (2001, 2002, 2003) if who or t != 2002]
    rows += [(200_001, 2003), (200_002, 2003), (200_003, 2003)]
    frame = pl.DataFrame(rows, schema=["id", "year"], orient="row")
    result = statistics.xtdescribe(frame, entity="id", time="year")
    assert "100" not in result.shown.replace("100.00", "")
    assert "2000" not in result.shown
    assert result.frame.rows() == [("111", 11), ("(other patterns)", 4)]
    assert sum(result.frame["n"]) == result.stored["N"] == 15
    with pytest.raises(OutputCheckError):
        statistics.xtdescribe(frame, entity="id", time="year", patterns=0)


def test_a_time_of_few_entities_is_not_listed():
    rows = [(who, t) for who in range(20) for t in (1, 2)] + [(0, 77)]
    frame = pl.DataFrame(rows, schema=["id", "t"], orient="row")
    result = statistics.xtdescribe(frame, entity="id", time="t")
    assert "77" not in result.shown
    assert "minimum" in rules(result)


def test_no_panel():
    frame = pl.DataFrame(
        {"id": [], "t": [], "x": []}, schema={"id": pl.Int64, "t": pl.Int64, "x": pl.Float64}
    )
    assert "no observations" in statistics.xtdescribe(frame, entity="id", time="t").shown
    assert statistics.xtsum(frame, "x", entity="id").stored["N"] == 0


@pytest.mark.parametrize("options", [{"width": 1e-320}, {"width": 1, "start": math.nan}])
def test_classes_that_no_number_can_hold_are_refused(options):
    frame = pl.DataFrame({"x": [float(x) for x in range(40)]})
    with pytest.raises(OutputCheckError, match="do not fit"):
        statistics.histogram(frame, "x", **options)
