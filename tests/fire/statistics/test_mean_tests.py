"""t tests of means: by the numbers of scipy, and never more than tables of the groups show."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire.statistics import SafeLimits, tabstat, ttest
from tests.helpers.rows import for_all_rows

_DRAW = np.random.default_rng(3)
FRAME = pl.DataFrame(
    {
        "g": ["a"] * 20 + ["b"] * 30,
        "few": ["a"] * 2 + ["b"] * 48,
        "x": _DRAW.normal(50, 5, 50),
        "y": [None, *_DRAW.normal(52, 9, 49)],
        "most": [99.0] * 50,
    }
)
X = FRAME["x"].to_numpy()
PAIRS = FRAME.drop_nulls("y")
WITHHELD = {"t", "p", "p_l", "p_u", "se", "df_t"}


@for_all_rows(
    ("options", "wanted"),
    [
        ({"by": "g"}, stats.ttest_ind(X[:20], X[20:])),
        ({"by": "g", "unequal": True}, stats.ttest_ind(X[:20], X[20:], equal_var=False)),
        ({"mean": 49.0}, stats.ttest_1samp(X, 49)),
        ({"other": "y"}, stats.ttest_rel(PAIRS["x"], PAIRS["y"])),
        ({"other": "y", "unpaired": True}, stats.ttest_ind(X, PAIRS["y"])),
    ],
)
def test_the_numbers_are_those_of_scipy(options, wanted):
    found = ttest(FRAME, "x", level=90, **options)
    assert found.stored["t"] == pytest.approx(wanted.statistic, rel=1e-5)
    assert found.stored["p"] == pytest.approx(wanted.pvalue, rel=1e-4)
    assert found.stored["df_t"] == pytest.approx(wanted.df, rel=1e-5)
    line = next(line for line in reversed(found.shown.splitlines()) if line[12:16] == " |  ")
    low, high = wanted.confidence_interval(0.9)
    assert [float(word) for word in line.split()[-2:]] == pytest.approx(
        [low, high], rel=1e-3, abs=1e-3
    )


def test_degrees_of_freedom_as_welch_counts_them():
    """Variances of 2.5 each: 1 / (2 * .25 / 6) - 2 = 10."""
    frame = pl.DataFrame({"g": ["a"] * 5 + ["b"] * 5, "x": [3, 5, 4, 6, 2, 5, 7, 8, 6, 9]})
    assert ttest(frame, "x", by="g", welch=True).stored["df_t"] == pytest.approx(10, rel=1e-6)


def test_a_small_group_is_withheld_with_the_other_one_and_the_difference():
    found = ttest(FRAME, "x", by="few")
    assert not WITHHELD & found.stored.keys()
    assert not {"mu_1", "mu_2", "sd_1", "sd_2", "N_1", "N_2"} & found.stored.keys()
    for values in (X[:2], X[2:]):
        assert f"{values.mean():.3f}" not in found.shown
    assert "diff |                   ." in found.shown
    # What stands in the combined row is the total that tabstat shows.
    table = tabstat(FRAME, "x", statistics="n mean sd", by="few").frame
    assert found.frame is not None
    assert found.frame.equals(table)


def test_one_case_missing_groups_and_other_numbers_of_groups():
    frame = FRAME.with_columns(
        one=pl.when(pl.int_range(50) == 16).then(pl.lit("a")).otherwise(pl.lit("b")),
        gaps=pl.when(pl.int_range(50) < 25).then(pl.col("g")),
        three=pl.Series([str(at % 3) for at in range(50)]),
    )
    assert not WITHHELD & ttest(frame, "x", by="one").stored.keys()
    gaps = ttest(frame, "x", by="gaps").stored
    assert (gaps["N_1"], gaps["N_2"]) == (20, 5)
    with pytest.raises(OutputCheckError, match="two groups"):
        ttest(frame, "x", by="three")


def test_a_difference_never_gives_back_a_withheld_mean():
    """A constant is withheld, as all alike; its pair and their difference would tell it."""
    paired = ttest(FRAME, "x", other="most")
    assert paired.stored == {"N_1": 50, "N_2": 50, "level": 95}
    stacked = ttest(FRAME, "x", other="most", unpaired=True)
    assert not {"mu_1", "mu_2", "t"} & stacked.stored.keys()
    assert "99" not in paired.shown
    assert "99" not in stacked.shown


def test_pairs_that_differ_by_one_case_are_withheld():
    frame = FRAME.with_columns(
        z=pl.when(pl.int_range(50) == 16).then(0.0).otherwise(pl.col("x")),
    )
    assert ttest(frame, "x", other="z").stored.keys() == {"N_1", "N_2", "level"}


def test_one_who_has_most_of_a_sum_is_withheld():
    rich = FRAME.with_columns(x=pl.when(pl.int_range(50) == 3).then(1e6).otherwise(pl.col("x")))
    for options in ({"by": "g"}, {"mean": 5.0}, {"other": "y"}):
        found = ttest(rich, "x", **options)
        assert not {"mu_1", "t", "sd_1"} & found.stored.keys()


def test_cases_are_entities():
    frame = FRAME.with_columns(who=pl.int_range(50) // 20)
    assert "mu_1" in ttest(frame, "x", mean=5).stored
    assert "mu_1" not in ttest(frame.head(40), "x", mean=5, entity="who").stored
    assert "t" not in ttest(frame.head(40), "x", other="y", unpaired=True, entity="who").stored


def test_three_cases_have_a_mean_without_a_deviation():
    found = ttest(pl.DataFrame({"x": [10.0, 20.0, 31.0]}), "x", limits=SafeLimits(minimum=3))
    assert "mu_1" in found.stored
    assert not {"sd_1", "t", "se"} & found.stored.keys()


TEXTS = [{"other": "g"}, {"other": "g", "unpaired": True}]


@for_all_rows("options", [{"level": 5}, {"by": "g", "other": "y"}, {"by": "nosuch"}, *TEXTS])
def test_bad_input_is_an_error(options):
    with pytest.raises(DiscreetError, match=r"level|by\(\)|nosuch|numbers"):
        ttest(FRAME, "x", **options)
