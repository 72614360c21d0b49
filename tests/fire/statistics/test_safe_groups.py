"""What groups records, and what is shown of groups: odd values, rare dates, digits."""

import datetime

import numpy as np
import polars as pl
import pytest
import scipy.stats

from discreet.errors import OutputCheckError
from discreet_fire import statistics
from tests.helpers.rows import for_all_rows


@for_all_rows(
    "command",
    [
        lambda frame: statistics.tabulate(frame, "g"),
        lambda frame: statistics.tabulate(frame, "h", "g"),
        lambda frame: statistics.table(frame, "g"),
        lambda frame: statistics.tabstat(frame, "x", by="g"),
        lambda frame: statistics.levelsof(frame, "g"),
        lambda frame: statistics.codebook(frame),
    ],
)
def test_infinite_values_do_not_group(command):
    frame = pl.DataFrame({"g": [1.0, 2.0, float("inf")] * 5, "h": [1] * 15, "x": range(15)})
    with pytest.raises(OutputCheckError, match="infinite"):
        command(frame)


def test_a_rare_date_is_no_label():
    days = [datetime.date(2020, 1, day) for day in range(1, 9) for _ in range(1 if day == 4 else 6)]
    frame = pl.DataFrame({"day": days})
    for kind in (pl.Date, pl.Datetime):
        labels = statistics.tabulate(frame.cast({"day": kind}), "day").frame["day"].to_list()
        assert labels[-1] == "(other)"
        assert not [label for label in labels if label.startswith("2020-01-04")]


def test_the_chance_of_a_large_table_is_not_lost():
    """With 1,600 degrees of freedom, sums of exponentials are smaller than any number."""
    counts = np.random.default_rng(5).poisson(40, (41, 41))
    places = np.argwhere(counts > 0).repeat(counts[counts > 0], axis=0)
    stored = statistics.tabulate(
        pl.DataFrame(places, schema=["a", "b"]), "a", "b", chi2=True
    ).stored
    wanted = scipy.stats.chi2_contingency(counts, correction=False)
    assert stored["chi2"] == pytest.approx(wanted.statistic, rel=1e-6)
    assert stored["p"] == pytest.approx(wanted.pvalue, rel=1e-6)
    assert wanted.pvalue > 0.01
    assert wanted.statistic > 1500


def test_shares_have_as_many_digits_as_said():
    draw = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"a": draw.integers(1, 4, 200), "b": draw.integers(1, 3, 200), "w": draw.uniform(1, 2, 200)}
    )
    one = statistics.tabulate(frame, "a", weights="w").frame
    two = statistics.tabulate(frame, "a", "b", weights="w", percent=["row", "cell"]).frame
    by = statistics.tabstat(frame, "w", statistics="sum_w mean", by="a", weights="w").frame
    for column, digits in (
        *((one[name], 7) for name in ("percent", "cumulated")),
        *((two[name], 7) for name in ("row_percent", "cell_percent")),
        *((some, 12) for some in (one["n"], two["n"], by["sum_w"])),
    ):
        assert all(x == float(f"{x:.{digits - 1}e}") for x in column)
