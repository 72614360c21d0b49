"""How much noise is safe: the curve of maximum noise and largest safe variance."""

from __future__ import annotations

import pytest

from discreet.assessment import disclosure_risk, trade_off
from discreet.assessment.risk import large_risk
from discreet.errors import PerturbationError
from discreet.protection.noise import PerturbationTable
from discreet.protection.noise.design import design_perturbation
from tests.helpers.rows import for_all_rows


@for_all_rows("terms", [2, 3])
@for_all_rows(("max_noise", "variance"), [(1, 0.5), (2, 1), (3, 1), (4, 2.5)])
def test_the_risk_of_large_parts_is_that_of_the_whole_computation(
    max_noise: int, variance: float, terms: int
) -> None:
    ptable = design_perturbation(max_noise, variance)
    whole = disclosure_risk(ptable, terms)
    assert large_risk(ptable, terms) == pytest.approx(whole.large, rel=1e-9)


def test_noise_to_one_side_never_gives_large_parts_away() -> None:
    """With the maximum known only: ends that noise does not reach cannot be met."""
    ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {0: "0.7", 1: "0.3"}})
    assert large_risk(ptable) == disclosure_risk(ptable).large == 0


@pytest.mark.parametrize("terms", [2, 3])
def test_the_variance_is_the_largest_that_is_safe(terms: int) -> None:
    curve = trade_off([2, 3, 5], limit=1e-5, terms=terms, step="0.05")
    assert curve["variance"].is_sorted()
    for row in curve.to_dicts():
        reach, variance = row["max_noise"], row["variance"]
        assert large_risk(design_perturbation(reach, variance), terms) == row["risk"] <= 1e-5
        uniform = reach * (reach + 1) / 3
        if variance + 0.05 < uniform:
            assert large_risk(design_perturbation(reach, variance + 0.05), terms) > 1e-5


def test_where_even_uniform_noise_is_safe_the_variance_is_its_own() -> None:
    """-5 … 5, each once in 11: variance 10, risk 2 / 11^3; more variance cannot be had."""
    row = trade_off([5], limit=0.01).row(0, named=True)
    assert row["variance"] == pytest.approx(10, abs=0.0101)
    assert row["risk"] == pytest.approx(2 / 11**3, rel=1e-9)


def test_values_never_published_need_a_variance_that_may_not_be_safe() -> None:
    """1 and 2 forbidden: row 1 needs a variance of 2, more than is safe with noise up to 2."""
    curve = trade_off([2, 5], limit=1e-6, forbidden=(1, 2))
    assert curve.row(0) == (2, *[None] * 7)
    assert curve["variance"][1] >= 2


def test_a_fixed_share_that_stays_counts() -> None:
    free, half = (trade_off([4], limit=1e-6, stay=stay).row(0, named=True) for stay in (None, 0.5))
    assert half["stay"] == 0.5
    assert free["stay"] != half["stay"]
    assert half["risk"] <= 1e-6


@for_all_rows(
    ("change", "message"),
    [
        ({"limit": 0}, "the limit must be a probability between 0 and 1"),
        ({"limit": 1}, "the limit must be a probability between 0 and 1"),
        ({"limit": "x"}, "the limit must be a probability between 0 and 1"),
        ({"terms": 4}, "the number of parts of a sum must be 2 or 3"),
        ({"step": 0}, "the step must be at least"),
        ({"step": "x"}, "the step must be at least"),
        ({"step": "nan"}, "the step must be at least"),
        ({"max_noise": [0]}, "."),
        ({"max_noise": [3], "forbidden": [0]}, "."),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    wanted: dict[str, object] = {"max_noise": [3], "limit": 1e-5, **change}
    with pytest.raises(PerturbationError, match=message):
        trade_off(**wanted)  # type: ignore[arg-type]


def test_all_that_is_wrong_is_listed() -> None:
    with pytest.raises(PerturbationError) as caught:
        trade_off([3], limit=2, terms=1, step="-1")
    assert len(caught.value.problems) == 3
