"""Calibrated weights: other programs' weights, bounds, order, and totals that do not fit."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.demo import generate
from discreet.errors import DiscreetError
from discreet.pretabular import calibrate
from tests.helpers.command import run

SECRET = "a long and secret sentence"
AGE = pl.DataFrame({"age": ["0", "1", "2"], "value": [400.0, 350.0, 250.0]})
SEX = pl.DataFrame({"sex": ["m", "f"], "value": [480.0, 520.0]})
BOTH = pl.concat([AGE, SEX], how="diagonal")


def sample(number: int = 300, seed: int = 3) -> pl.DataFrame:
    drawn = np.random.default_rng(seed)
    return pl.DataFrame({
        "sex": drawn.choice(["m", "f"], number, p=[0.4, 0.6]),
        "age": drawn.integers(0, 3, number),
        "w": drawn.integers(1, 40, number) / 7,
        "w_1": drawn.integers(0, 40, number) / 7,
    })  # fmt: skip


def sums(frame: pl.DataFrame, by: str, weight: str = "w") -> dict[str, float]:
    return dict(frame.group_by(pl.col(by).cast(pl.String)).agg(pl.col(weight).sum()).iter_rows())


def test_raking_is_iterative_proportional_fitting() -> None:
    before = sample()
    made = calibrate(before, BOTH, weight="w", least=0, most=100).records
    expected = before["w"].to_numpy()
    for _ in range(200):
        for name, totals in (("age", AGE), ("sex", SEX)):
            now = sums(before.with_columns(w=pl.Series(expected)), name)
            factor = {code: total / now[code] for code, total in totals.iter_rows()}
            expected = expected * [factor[str(code)] for code in before[name]]
    assert np.allclose(made["w"], expected, rtol=1e-8)


def test_linear_weights_are_those_of_the_regression_estimator() -> None:
    before = sample()
    made = calibrate(before, BOTH, weight="w", distance="linear", least=0, most=100).records
    x = np.column_stack([before["age"].to_numpy() == at for at in range(3)]
                        + [before["sex"].to_numpy() == "m"]).astype(float)  # fmt: skip
    d = before["w"].to_numpy() * 1000 / before["w"].sum()
    lam = np.linalg.solve(x.T @ (x * d[:, None]), np.array([400, 350, 250, 480]) - x.T @ d)
    assert np.allclose(made["w"], d * (1 + x @ lam), rtol=1e-8)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), distance=st.sampled_from(["raking", "linear"]))
def test_totals_are_met_within_bounds_in_any_order(seed: int, distance: str) -> None:
    before = sample(seed=seed).with_row_index("at")
    options: dict[str, Any] = {"weight": "w*", "distance": distance, "least": 0.3, "most": 3}
    made = calibrate(before, BOTH, **options)
    for weight in ("w", "w_1"):
        for name, totals in (("age", AGE), ("sex", SEX)):
            now = sums(made.records, name, weight)
            assert all(abs(now[code] - total) < 1e-6 for code, total in totals.iter_rows())
        factor = made.records[weight] / before[weight] / (1000 / before[weight].sum())
        assert factor.fill_nan(1).is_between(0.3 - 1e-9, 3 + 1e-9).all()
        assert made.measures[weight]["least"] <= made.measures[weight]["most"] <= 3
    mixed = calibrate(before.sample(fraction=1, shuffle=True, seed=seed), BOTH, **options).records
    assert mixed.sort("at").equals(made.records)


@pytest.mark.parametrize(
    ("totals", "options", "named"),
    [
        (AGE[:2], {}, "totals: age: records have codes without a total: 2"),
        (AGE.vstack(pl.DataFrame({"age": ["9"], "value": [3.0]})), {}, "totals without records"),
        (AGE.with_columns(value=pl.Series([400.0, 0.0, 3.0])), {}, "records where the total is 0"),
        (AGE.rename({"age": "ages"}), {}, "column 'ages' of the totals not found"),
        (BOTH.with_columns(pl.col("value").replace(480.0, 470.0)), {}, "contradicts"),
        (AGE, {"weight": ["x"]}, "column 'x' not found"),
        (AGE, {"weight": ["sex"]}, "weights must be numbers of 0 or more"),
        (AGE.rename({"value": "n"}), {}, "column of counts not found"),
        (AGE, {"least": 0.9, "most": 1.05}, "no factors from 0.9 to 1.05 meet all totals"),
        (AGE, {"least": 1}, "least: must be below 1"),
        ("no-such-file.csv", {}, "the file cannot be read"),
    ],
)  # fmt: skip
def test_totals_that_do_not_fit_are_refused(
    totals: Any, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(DiscreetError) as caught:
        calibrate(sample(), totals, **{"weight": "w", **options})
    assert named in str(caught.value)


def test_missing_codes_and_new_names_are_told() -> None:
    gaps = sample().with_columns(age=pl.when(pl.col("age") > 0).then("age"))
    with pytest.raises(DiscreetError, match=r"age: \d+ records have no value"):
        calibrate(gaps, AGE, weight="w")
    with pytest.raises(DiscreetError, match="the records have a column of this name"):
        calibrate(sample().rename({"w": "weight"}), AGE)
    assert calibrate(sample(), AGE).records["weight"].sum() == pytest.approx(1000)


def test_published_tables_with_noise_serve_as_totals(tmp_path: Path) -> None:
    """Tables that do not add up exactly: finer ones follow coarser ones, within the tolerance."""
    persons = generate(persons=4_000, seed=2).persons
    keyed = dc.with_record_keys(persons, id="person_id", secret=SECRET)
    ptable = dc.design_perturbation(max_noise=5, variance=3)
    tables = [
        dc.perturb(dc.tabulate(keyed, by=by, record_key="record_key", name="-".join(by)), ptable)
        for by in (["district", "sex"], ["sex"], ["sex", "education"])
    ]
    drawn = persons.filter(pl.col("person_id") % 4 == 1)
    with pytest.raises(DiscreetError, match="contradicts"):
        calibrate(drawn, tables)
    made = calibrate(drawn, tables, tolerance=0.02).records
    for code, total in sums(made, "sex", "weight").items():
        assert total == pytest.approx(tables[1].get(code))
    districts = {code: tables[0].get(code, "Total") for code in persons["district"].unique()}
    for code, total in sums(made, "district", "weight").items():
        assert total == pytest.approx(districts[code], abs=10)
    # The same from a written table, with its labels and remarks.
    tables[1].write(tmp_path / "sex.csv")
    again = calibrate(drawn, tmp_path / "sex.csv").records
    assert sums(again, "sex", "weight") == pytest.approx(sums(made, "sex", "weight"))


def test_the_command_writes_weights_and_tells_how_far_they_moved(tmp_path: Path) -> None:
    sample().write_csv(tmp_path / "sample.csv")
    BOTH.write_csv(tmp_path / "totals.csv", separator=";")
    words = ["records", "calibrate", tmp_path / "sample.csv", "--weight", "w,w_1"]
    words += ["--totals", tmp_path / "totals.csv", "--out", tmp_path / "calibrated.csv"]
    done = run(*words)
    assert "Weights were calibrated to published totals of age; sex" in done.output
    assert "  w_1: least 0." in done.output
    made = pl.read_csv(tmp_path / "calibrated.csv")
    assert sums(made, "sex", "w_1") == pytest.approx({"m": 480, "f": 520})
