"""Logit and probit: published coefficients, perfect prediction, separation."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models import logit, probit
from discreet_fire.statistics.models.fits import LINKS
from discreet_fire.statistics.results import CheckVerdict, SafeResult

EXACT = SafeLimits(digits=12)
BOTH = [(logit, sm.Logit), (probit, sm.Probit)]


def columns(result: SafeResult, name: str) -> list[float]:
    assert result.frame is not None
    return result.frame.filter(pl.col("state") == "estimated")[name].to_list()


def broken(result: SafeResult) -> set[tuple[str, str]]:
    return {(c.rule, c.where) for c in result.checks if c.verdict is CheckVerdict.fail}


def people(n: int = 500, seed: int = 5) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    x, sex = draw.normal(size=n), draw.integers(0, 2, n)
    return pl.DataFrame(
        {
            "x": x,
            "sex": sex,
            "region": draw.integers(1, 5, n),
            "y": (0.8 * x + 0.5 * sex + draw.logistic(size=n) > 0.4).astype(int),
            "w": draw.integers(1, 5, n),
            "family": draw.integers(0, 50, n),
            "person": np.arange(n),
        }
    )


def test_spector_has_the_published_coefficients() -> None:
    """Spector and Mazzeo (1980); the coefficients as in Greene, Econometric Analysis."""
    data = sm.datasets.spector.load_pandas().data
    result = logit(data, "GRADE", "GPA TUCE PSI")
    assert [round(b, 3) for b in columns(result, "coefficient")] == [2.826, 0.095, 2.379, -13.021]
    assert [round(b, 3) for b in columns(result, "std_err")] == [1.263, 0.142, 1.065, 4.931]
    result = probit(data, "GRADE", "GPA TUCE PSI")
    assert [round(b, 3) for b in columns(result, "coefficient")] == [1.626, 0.052, 1.426, -7.452]
    assert result.stored["ll"] == pytest.approx(-12.8188, abs=1e-4)
    assert "Probit regression                                     Number of obs =" in result.shown


@pytest.mark.parametrize(("ours", "theirs"), BOTH)
@pytest.mark.parametrize("robust", [False, True])
def test_all_is_as_in_statsmodels(ours: Any, theirs: Any, robust: bool) -> None:
    frame = people()
    regions = [frame["region"] == region for region in (2, 3, 4)]
    x = np.column_stack([frame["x"], frame["sex"], *regions, np.ones(500)]).astype(float)
    kind = {"cov_type": "HC0"} if robust else {}
    other = theirs(frame["y"].to_numpy(), x).fit(disp=0, tol=1e-14, maxiter=100, **kind)
    result = ours(frame, "y", "x i.sex i.region", robust=robust, limits=EXACT)
    factor = np.sqrt(500 / 499) if robust else 1.0
    assert columns(result, "coefficient") == pytest.approx(list(other.params), rel=1e-8)
    assert columns(result, "std_err") == pytest.approx(list(other.bse * factor), rel=1e-8)
    assert result.stored["ll"] == pytest.approx(other.llf, rel=1e-11)
    assert result.stored["ll_0"] == pytest.approx(other.llnull, rel=1e-8)
    assert result.stored["r2_p"] == pytest.approx(other.prsquared, rel=1e-6)
    if not robust:
        assert result.stored["chi2"] == pytest.approx(other.llr, rel=1e-6)
        assert result.stored["p"] == pytest.approx(other.llr_pvalue, rel=1e-5)


@pytest.mark.parametrize("ours", [logit, probit])
def test_frequency_weights_are_repeated_rows(ours: Any) -> None:
    frame = people()
    repeated = frame.select(pl.all().repeat_by("w")).explode(pl.all())
    for robust in (False, True):
        one = ours(frame, "y", "x i.sex", weights="w", weight_kind="fweight", robust=robust,
                   limits=EXACT)  # fmt: skip
        two = ours(repeated, "y", "x i.sex", robust=robust, limits=EXACT)
        assert dict(one.stored) == pytest.approx(dict(two.stored), rel=1e-9)
        for name in ("coefficient", "std_err"):
            assert columns(one, name) == pytest.approx(columns(two, name), rel=1e-8)


@pytest.mark.parametrize("ours", [logit, probit])
def test_the_order_of_rows_changes_no_bit(ours: Any) -> None:
    frame = people()
    mixed = frame.sample(fraction=1, shuffle=True, seed=9)
    for option in ({}, {"robust": True}, {"cluster": "family"}, {"weights": "w"}):
        one, two = (ours(f, "y", "x i.sex##i.region", **option) for f in (frame, mixed))
        assert one.verdict is not CheckVerdict.fail
        assert one.to_dict() == two.to_dict()


def test_a_group_with_one_outcome_is_left_out_as_stata_does() -> None:
    frame = people().with_columns(y=pl.when(pl.col("region") == 3).then(0).otherwise(pl.col("y")))
    result = logit(frame, "y", "x i.region")
    number = frame.filter(region=3).height
    note = f"note: 3.region != 0 predicts failure perfectly; 3.region omitted and {number} obs"
    assert note in result.shown
    assert result.verdict is CheckVerdict.review
    rest = logit(frame.filter(pl.col("region") != 3), "y", "x i.region")
    assert columns(result, "coefficient") == columns(rest, "coefficient")
    assert result.stored["N"] == 500 - number


@pytest.mark.parametrize("size", [1, 2])
def test_the_note_of_few_cases_is_withheld(size: int) -> None:
    """That one person is left out says what the outcome of this person is."""
    frame = people().with_columns(few=(pl.col("person") < size).cast(pl.Int8))
    frame = frame.with_columns(y=pl.when(pl.col("few") == 1).then(1).otherwise(pl.col("y")))
    for terms in ("x few", "x i.few"):
        result = logit(frame, "y", terms)
        assert result.verdict is CheckVerdict.fail
        assert "perfectly" not in result.shown
        assert not result.stored


@pytest.mark.parametrize("ours", [logit, probit])
def test_separated_outcomes_have_no_table(ours: Any) -> None:
    frame = people().with_columns(y=(pl.col("x") > 0.25).cast(pl.Int8))
    result = ours(frame, "y", "x i.sex")
    assert ("separation", "") in broken(result)
    assert "0.25" not in result.shown
    # Apart in part only: all above a value have the outcome.
    partly = people().with_columns(
        z=pl.when(pl.col("x") > 1).then(pl.col("x")).otherwise(0.0), v=pl.col("x").abs()
    )
    partly = partly.with_columns(y=pl.when(pl.col("z") > 0).then(1).otherwise(pl.col("y")))
    assert ours(partly, "y", "z sex").verdict is CheckVerdict.fail


def test_an_outcome_that_few_have() -> None:
    frame = people().with_columns(y=(pl.col("person") < 2).cast(pl.Int8))
    assert ("minimum-cases", "the outcome") in broken(logit(frame, "y", "x"))
    none = people().with_columns(y=pl.lit(0))
    assert ("same-outcome", "y") in broken(logit(none, "y", "x"))


def test_shares_of_groups_are_a_table() -> None:
    """With levels alone the coefficients give the cells: one of them has two cases."""
    frame = people().with_columns(
        y=pl.when(pl.col("region") == 2).then((pl.col("person") < 6).cast(pl.Int64))
        .otherwise(pl.col("y"))
    )  # fmt: skip
    few = frame.filter(pl.col("region") == 2)["y"].sum()
    assert 0 < few < 3
    p = frame.filter(pl.col("region") == 2)["y"].mean()
    plain = sm.Logit(
        frame["y"].to_numpy(), sm.add_constant((frame["region"] == 2).to_numpy().astype(float))
    ).fit(disp=0)
    assert 1 / (1 + np.exp(-plain.params.sum())) == pytest.approx(p)

    assert ("few-outcomes", "i.region") in broken(logit(frame, "y", "i.region"))
    with_x = logit(frame, "y", "x i.region")
    assert not broken(with_x)
    assert "few-outcomes" in {c.rule for c in with_x.checks if c.verdict is CheckVerdict.review}


def test_a_single_case_in_a_direction_is_found() -> None:
    frame = people().with_columns(other=pl.col("x") + 0.01 * (pl.col("person") == 3))
    assert logit(frame, "y", "x other").verdict is CheckVerdict.fail


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_derivatives_are_those_of_the_logarithm(link: str) -> None:
    """Central differences, also where the normal distribution function is almost 0."""
    slope = LINKS[link]
    at = np.array([-60.0, -30.0, -25.5, -24.5, -8.0, -1.0, 0.0, 2.0, 5.0, 12.0])
    for outcome in (np.zeros(len(at)), np.ones(len(at))):
        step = 1e-4
        high, middle, low = (slope(at + d, outcome) for d in (step, 0.0, -step))
        first = (high.log - low.log) / (2 * step)
        assert middle.first == pytest.approx(first, rel=1e-6, abs=1e-9)
        second = -(high.first - low.first) / (2 * step)
        assert middle.second == pytest.approx(second, rel=1e-4, abs=1e-7)
