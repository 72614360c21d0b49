"""Measures of utility against other programs, and against what chance gives."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

from discreet.synthesis.columns import columns_of
from discreet.synthesis.measures import SynthesisMeasure, utility


def sample(size: int, seed: int, slope: float = 0.5) -> pl.DataFrame:
    drawn = np.random.default_rng(seed)
    group = drawn.choice(["a", "b", "c"], size, p=[0.5, 0.3, 0.2])
    x = drawn.normal(0, 10, size).round(1)
    y = (slope * x + 3 * (group == "b") + drawn.normal(0, 5, size)).round(1)
    free = drawn.random(size) < 1 / (1 + np.exp(-x / 10))
    return pl.DataFrame({"group": group, "x": x, "y": y, "free": free})


def compared(one: pl.DataFrame, other: pl.DataFrame) -> dict[str, SynthesisMeasure]:
    """Measures where the first is the original."""
    models = [["y", "x", "group"], ["free", "x"]]
    both = columns_of(pl.concat([one, other]), one.columns, [], 3)
    rows = np.arange(len(one))
    columns = [replace(own, places=own.places[rows]) for own in both]
    measures = utility(columns, rows, [own.places[len(one) :] for own in both], models)
    return {f"{each.name}{each.numbers.get('size', 0):.0f}": each for each in measures}


def test_distances_are_those_of_the_counted_tables() -> None:
    one, other = sample(3_000, 1), sample(2_000, 2)
    told = compared(one, other)

    def shares(frame: pl.DataFrame, name: str) -> np.ndarray:
        values = frame[name].to_numpy()
        if values.dtype == float:
            tens = np.unique(np.sort(one[name].to_numpy())[np.arange(1, 10) * 300])
            values = np.searchsorted(tens, values, side="right")
        return np.array([(values == each).mean() for each in sorted({*values})])

    far = [np.abs(shares(one, name) - shares(other, name)).sum() / 2 for name in one.columns]
    assert told["tables1"].numbers["mean"] == pytest.approx(np.mean(far), abs=6e-5)
    assert told["tables1"].numbers["worst"] == pytest.approx(max(far), abs=6e-5)
    assert told["tables1"].about == one.columns[int(np.argmax(far))]
    assert told["tables1"].numbers["tables"] == 4
    assert told["tables2"].numbers["tables"] == 6
    assert told["tables3"].numbers["tables"] == 4


def test_samples_of_one_population_are_good_and_others_bad() -> None:
    alike, apart = compared(sample(4_000, 1), sample(4_000, 2)), sample(4_000, 3, slope=-0.5)
    assert {name: each.verdict for name, each in alike.items() if each.verdict == "bad"} == {}
    assert all(each.verdict == "good" for name, each in alike.items() if name != "models0")
    told = compared(sample(4_000, 1), apart)
    assert told["tables2"].verdict != "good"
    assert told["tables2"].about == "x × y"
    assert told["pmse0"].verdict == "bad"
    assert told["models0"].verdict != "good"


def test_the_propensity_error_is_that_of_chance_on_average() -> None:
    """Records drawn from the original itself: the ratio is near 1 (Snoke and others 2018)."""
    ratios = []
    for at in range(12):
        one = sample(1_000, 10 + at)
        drawn = one.sample(1_000, with_replacement=True, seed=at)
        ratios.append(compared(one, drawn)["pmse0"].numbers["ratio"])
    assert 0.85 < np.mean(ratios) < 1.2


def test_overlaps_are_those_of_another_program() -> None:
    one, other = sample(3_000, 1), sample(3_000, 2)
    overlaps = []
    intervals = []
    for frame in (one, other):
        x = frame["x"].to_numpy()
        groups = [(frame["group"] == name).to_numpy().astype(float) for name in ("b", "c")]
        line = sm.OLS(frame["y"].to_numpy(), sm.add_constant(np.column_stack([x, *groups]))).fit()
        free = sm.Logit(frame["free"].to_numpy().astype(float), sm.add_constant(x)).fit(disp=0)
        intervals.append([
            np.column_stack([fit.params - 1.96 * fit.bse, fit.params + 1.96 * fit.bse])[1:]
            for fit in (line, free)
        ])  # fmt: skip
    for first, second in zip(*intervals, strict=True):
        common = np.minimum(first[:, 1], second[:, 1]) - np.maximum(first[:, 0], second[:, 0])
        share = (common / np.diff(first).ravel() + common / np.diff(second).ravel()) / 2
        overlaps.append(np.maximum(share, 0).mean())
    told = compared(one, other)["models0"].numbers
    assert told["mean"] == pytest.approx(np.mean(overlaps), abs=2e-4)
    assert told["worst"] == pytest.approx(min(overlaps), abs=2e-4)
