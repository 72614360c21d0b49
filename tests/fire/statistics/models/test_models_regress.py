"""Linear regression: certified values, other kinds of variance, weights, factor variables."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models import regress
from discreet_fire.statistics.results import CheckVerdict, SafeResult

LONGLEY = "GNPDEFL GNP UNEMP ARMED POP YEAR"
EXACT = SafeLimits(residual_df=9, digits=12)


@pytest.fixture(scope="module")
def longley() -> Any:
    """Longley, J. W. (1967), J. Amer. Statist. Assoc. 62, 819-841."""
    return sm.datasets.longley.load_pandas().data


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    draw = np.random.default_rng(2026)
    n = 600
    x, z = draw.normal(40, 12, n), draw.normal(size=n)
    sex, region = draw.integers(0, 2, n), draw.integers(1, 5, n)
    y = 10 + 0.3 * x - 0.002 * x**2 + 2 * sex + region + draw.normal(size=n) * (1 + sex)
    return pl.DataFrame(
        {
            "y": y,
            "x": x,
            "z": z,
            "sex": sex,
            "region": region,
            "w": draw.integers(1, 6, n),
            "family": draw.integers(0, 60, n),
        }
    )


def columns(result: SafeResult, name: str) -> list[float]:
    assert result.frame is not None
    return result.frame.filter(pl.col("state") == "estimated")[name].to_list()


def design(people: pl.DataFrame) -> np.ndarray:
    """Columns of `x i.sex c.z#c.z i.region`, the constant last."""
    region = people["region"].to_numpy()
    parts = [people["x"], people["sex"], people["z"] ** 2, *(region == r for r in (2, 3, 4))]
    return np.column_stack([*parts, np.ones(len(people))]).astype(float)


TERMS = "x i.sex c.z#c.z i.region"


def agrees(result: SafeResult, other: Any) -> None:
    assert columns(result, "coefficient") == pytest.approx(list(other.params), rel=1e-9)
    assert columns(result, "std_err") == pytest.approx(list(other.bse), rel=1e-9)
    assert columns(result, "p") == pytest.approx(list(other.pvalues), rel=1e-6, abs=1e-12)


def test_longley_has_the_certified_values(longley: Any) -> None:
    """NIST Statistical Reference Datasets, Longley: certified to 15 digits."""
    result = regress(longley, "TOTEMP", LONGLEY, limits=EXACT)
    assert result.verdict is CheckVerdict.review  # some years have a large leverage
    certified = [
        15.0618722713733, -0.0358191792925910, -2.02022980381683,
        -1.03322686717359, -0.0511041056535807, 1829.15146461355, -3482258.63459582,
    ]  # fmt: skip
    errors = [
        84.9149257747669, 0.0334910077722432, 0.488399681651699,
        0.214274163161675, 0.226073200069370, 455.478499142212, 890420.383607373,
    ]  # fmt: skip
    assert columns(result, "coefficient") == pytest.approx(certified, rel=1e-11)
    assert columns(result, "std_err") == pytest.approx(errors, rel=1e-11)
    assert result.stored["rmse"] == pytest.approx(304.854073561965, rel=1e-11)
    assert result.stored["r2"] == pytest.approx(0.995479004577296, rel=1e-11)
    assert result.stored["F"] == pytest.approx(330.285339234588, rel=1e-11)


def test_nine_degrees_of_freedom_are_too_few_and_ten_are_enough(longley: Any) -> None:
    nine = regress(longley, "TOTEMP", LONGLEY)
    assert nine.verdict is CheckVerdict.fail
    assert not nine.stored
    assert set(columns_withheld(nine)) == {None}
    ten = regress(longley, "TOTEMP", LONGLEY.replace("GNP ", ""))
    assert ten.verdict is not CheckVerdict.fail
    assert ten.stored["df_r"] == 10


def columns_withheld(result: SafeResult) -> list[float | None]:
    assert result.frame is not None
    return [value for row in result.frame.rows() for value in row[2:]]


def test_the_table_looks_like_that_of_stata(longley: Any) -> None:
    shown = regress(longley, "TOTEMP", LONGLEY, limits=SafeLimits(residual_df=9)).shown
    lines = shown.splitlines()
    assert lines[0] == (
        "      Source |       SS           df       MS      Number of obs   =        16"
    )
    assert lines[2].startswith("       Model |   184172400         6    30695400   Prob > F")
    assert "        YEAR |   1829.151   455.4785     4.02   0.003     798.7875    2859.515" in lines


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, {}),
        ({"robust": True}, {"cov_type": "HC1"}),
        ({"cluster": "family"}, {"cov_type": "cluster"}),
        ({"weights": "w"}, {}),
        ({"weights": "w", "weight_kind": "pweight"}, {"cov_type": "HC1"}),
        ({"constant": False}, {}),
    ],
)
def test_the_numbers_are_those_of_statsmodels(
    people: pl.DataFrame, options: dict[str, Any], kind: dict[str, Any]
) -> None:
    y, x, terms = people["y"].to_numpy(), design(people), TERMS
    if not options.get("constant", True):
        x, terms = people.select("x", "z").to_numpy(), "x z"
    if "cluster" in options:
        kind = kind | {"cov_kwds": {"groups": people["family"].to_numpy()}}
    weights = people["w"].to_numpy() if "weights" in options else 1.0
    other = sm.WLS(y, x, weights=weights).fit(**kind, use_t=True)
    result = regress(people, "y", terms, limits=EXACT, **options)
    agrees(result, other)
    assert result.stored["r2"] == pytest.approx(other.rsquared, rel=1e-9)
    if "cluster" in options:
        assert result.stored["N_clust"] == 60
        assert "(Std. err. adjusted for 60 clusters in family)" in result.shown
    else:
        assert result.stored["F"] == pytest.approx(float(other.fvalue), rel=1e-8)
    assert ("Robust" in result.shown) is bool(kind)


def test_frequency_weights_are_repeated_rows(people: pl.DataFrame) -> None:
    weighted = regress(people, "y", TERMS, weights="w", weight_kind="fweight", limits=EXACT)
    repeated = people.select(pl.all().repeat_by("w")).explode(pl.all())
    plain = regress(repeated, "y", TERMS, limits=EXACT)
    assert dict(weighted.stored) == pytest.approx(dict(plain.stored), rel=1e-9)
    for name in ("coefficient", "std_err", "p"):
        assert columns(weighted, name) == pytest.approx(columns(plain, name), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_changes_no_bit(people: pl.DataFrame, seed: int) -> None:
    options: list[dict[str, Any]] = [
        {},
        {"robust": True},
        {"cluster": "family"},
        {"weights": "w"},
        {"entity": "family"},
    ]
    terms = "c.x##c.x i.sex##i.region z"
    for option in options:
        one = regress(people, "y", terms, limits=EXACT, **option)
        two = regress(people.sample(fraction=1, shuffle=True, seed=seed), "y", terms,
                      limits=EXACT, **option)  # fmt: skip
        assert one.to_dict() == two.to_dict()
        assert one.evidence["sample"].apart(two.evidence["sample"]) == 0


def test_columns_that_follow_from_others_are_omitted(people: pl.DataFrame) -> None:
    frame = people.with_columns(twice=2 * pl.col("x") + pl.col("z"), same=pl.lit(7))
    result = regress(frame, "y", "x z twice same", limits=EXACT)
    assert result.frame is not None
    states = dict(result.frame.select("term", "state").rows())
    assert states == {
        "x": "estimated", "z": "estimated", "twice": "omitted", "same": "omitted",
        "_cons": "estimated",
    }  # fmt: skip
    assert "note: twice omitted because of collinearity." in result.shown
    assert columns(result, "coefficient") == columns(
        regress(frame, "y", "x z", limits=EXACT), "coefficient"
    )


def test_factor_variables_span_the_same_as_all_cells(people: pl.DataFrame) -> None:
    """Main effects with products, products alone, and any base give one fit."""
    spellings = ["i.sex##i.region", "i.sex#i.region", "ib1.sex##ib(last).region", "sex#region"]
    fits = [regress(people, "y", terms, limits=EXACT) for terms in spellings]
    for fit in fits:
        assert fit.stored["df_m"] == 7
        assert fit.stored["rss"] == pytest.approx(fits[0].stored["rss"], rel=1e-10)


def test_a_base_level_is_chosen_as_asked(people: pl.DataFrame) -> None:
    def base(terms: str) -> list[str]:
        result = regress(people, "y", terms)
        assert result.frame is not None
        return result.frame.filter(pl.col("state") == "base")["term"].to_list()

    commonest = people["region"].mode().sort()[0]
    assert base("i.region") == ["1.region"]
    assert base("ib3.region") == ["3.region"]
    assert base("ib(last).region") == ["4.region"]
    assert base("ib(freq).region") == [f"{commonest}.region"]
    assert base("i3.region") == []


def test_a_far_away_variable_loses_no_digits(people: pl.DataFrame) -> None:
    """Dates of birth as days, outcomes far from 0: the same slopes to 11 digits."""
    far = people.with_columns(pl.col("x") * 1024 + 2.0**31, pl.col("y") + 2.0**20)
    one, two = (regress(f, "y", "x z", limits=EXACT) for f in (people, far))
    assert columns(two, "coefficient")[0] * 1024 == pytest.approx(
        columns(one, "coefficient")[0], rel=1e-8
    )
    assert columns(two, "std_err")[1] == pytest.approx(columns(one, "std_err")[1], rel=1e-8)


def test_text_and_categories_are_levels(people: pl.DataFrame) -> None:
    names = {1: "north", 2: "east", 3: "south", 4: "west"}
    frame = people.with_columns(place=pl.col("region").replace_strict(names))
    one = regress(frame, "y", "i.place")
    two = regress(frame.with_columns(pl.col("place").cast(pl.Categorical)), "y", "i.place")
    assert one.shown == two.shown
    assert "       north |" in one.shown


def test_digits_limit_the_text_as_well(people: pl.DataFrame) -> None:
    result = regress(people, "y", "x z", limits=SafeLimits(digits=3))
    assert result.frame is not None
    for name in ("coefficient", "std_err", "low", "high"):
        for value in columns(result, name):
            assert float(f"{value:.2e}") == value
    assert all(math.isfinite(value) for value in result.stored.values())
    assert f"{result.stored['rmse']}" in result.shown
