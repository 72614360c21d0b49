"""What models give away: attacks that work on plain output, and not on ours."""

import json
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm

from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models import regress
from discreet_fire.statistics.results import CheckVerdict, SafeResult

SECRET = 81_234.5


def people(n: int = 200, seed: int = 7) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "person": np.arange(n),
            "wage": draw.normal(30_000, 5_000, n),
            "age": draw.integers(20, 65, n),
            "hours": draw.normal(38, 4, n),
            "sex": draw.integers(0, 2, n),
            "job": draw.integers(1, 6, n),
        }
    )


def with_outlier(frame: pl.DataFrame, **values: Any) -> pl.DataFrame:
    """The first person has these values."""
    first = pl.int_range(pl.len()) == 0
    return frame.with_columns(
        pl.when(first).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
        for name, value in values.items()
    )


def broken(result: SafeResult) -> set[tuple[str, str]]:
    return {(c.rule, c.where) for c in result.checks if c.verdict is CheckVerdict.fail}


def reviewed(result: SafeResult) -> set[str]:
    return {check.rule for check in result.checks if check.verdict is CheckVerdict.review}


def withheld(result: SafeResult) -> None:
    """No digit of a coefficient is left anywhere."""
    assert result.verdict is CheckVerdict.fail
    assert result.frame is not None
    assert all(value is None for row in result.frame.rows() for value in row[2:])
    assert not result.stored
    body = result.shown.split("-+-")[1]
    assert not any(character.isdigit() for character in body.replace("c.age#c.age", ""))
    assert "withheld for confidentiality" in result.shown


def test_a_dummy_of_one_person_gives_the_wage_away_in_plain_output() -> None:
    frame = with_outlier(people(), wage=SECRET).with_columns(
        chief=(pl.col("person") == 0).cast(pl.Int8)
    )
    plain = sm.OLS(
        frame["wage"].to_numpy(),
        np.column_stack([np.ones(200), frame["age"], frame["chief"]]),
    ).fit()
    constant, slope, chief = plain.params
    # Who knows the age of the chief has the wage to the last digit.
    assert constant + slope * frame["age"][0] + chief == pytest.approx(SECRET, abs=1e-6)

    result = regress(frame, "wage", "age chief")
    withheld(result)
    assert {("minimum-cases", "chief"), ("leverage", "")} <= broken(result)
    assert str(SECRET) not in json.dumps(result.to_dict())


def test_the_same_dummy_under_other_names_is_caught() -> None:
    frame = with_outlier(people(), job=9).with_columns(
        lonely=pl.when(pl.col("person") == 0).then(3.25).otherwise(11.5),
        code=pl.when(pl.col("job") == 9).then(pl.lit("chief")).otherwise(pl.lit("other")),
    )
    for terms in ("age i.job", "age ib9.job", "age lonely", "age i.code", "age i9.job",
                  "age c.lonely#c.age", "age i.job#c.age"):  # fmt: skip
        result = regress(frame, "wage", terms)
        withheld(result)
        assert "minimum-cases" in {rule for rule, _ in broken(result)}


PERSON = pl.col("person")


def dummy(**columns: pl.Expr) -> pl.DataFrame:
    """400 people in firms of 20, with other columns."""
    frame = people(400).with_columns(
        firm=PERSON // 20, thousand=pl.lit(1_000), noise=pl.col("hours") * 3
    )
    return frame.with_columns(**columns)


DRAW = np.random.default_rng(1)
TRADES = pl.DataFrame(
    {
        "turnover": [25_000.0, 400_000.0, 35_000.0, *DRAW.uniform(1e5, 2e5, 200)],
        "trade": [1] * 3 + [2] * 200,
        "staff": DRAW.normal(50, 10, 203),
    }
)
PROFITS = pl.DataFrame(
    {"profit": [-900.0, 890.0, 5.0, -5.0, *DRAW.uniform(50, 60, 100)], "g": [1] * 4 + [2] * 100}
)
THOUSAND = {"weights": "thousand", "weight_kind": "fweight"}
#: Records, outcome, terms, options, and the rules that the model breaks.
MODELS = {
    "two share a dummy": (
        dummy(few=(PERSON < 2).cast(pl.Int8)), "wage", "age few", {},
        {("minimum-cases", "few"), ("leverage", "")},
    ),
    "three do": (dummy(few=(PERSON < 3).cast(pl.Int8)), "wage", "age few", {}, set()),
    "four share a dummy that two columns hide, where five are required": (
        dummy(mixed=pl.col("hours") * 3 + 50.0 * (PERSON < 4)), "wage", "age noise mixed",
        {"limits": SafeLimits(minimum=5)}, {("leverage", "")},
    ),
    "and where four are": (
        dummy(mixed=pl.col("hours") * 3 + 50.0 * (PERSON < 4)), "wage", "age noise mixed",
        {"limits": SafeLimits(minimum=4)}, set(),
    ),
    "many rows of many": (dummy(few=(PERSON < 20).cast(pl.Int8)), "wage", "age few", {}, set()),
    "many rows of one": (
        dummy(few=(PERSON < 20).cast(pl.Int8)), "wage", "age few", {"entity": "firm"},
        {("minimum-cases", "few"), ("leverage", "")},
    ),
    "two firms with many rows": (
        dummy(pair=pl.col("hours") + 0.5 * (PERSON < 40)), "wage", "hours pair",
        {"entity": "firm"}, {("leverage", "")},
    ),
    "weights make no cases": (
        with_outlier(dummy(), job=9), "wage", "age i.job", THOUSAND,
        {("minimum-cases", "i.job"), ("leverage", "")},
    ),
    "few records": (dummy().head(11), "wage", "age", {}, {("residual-df", "")}),
    "few records with weights": (
        dummy().head(11), "wage", "age", THOUSAND, {("residual-df", "")}
    ),
    "nearly all the weight": (
        dummy(w=pl.when(PERSON == 0).then(1e9).otherwise(1.0)), "wage", "", {"weights": "w"},
        {("leverage", ""), ("dominance", "_cons")},
    ),
    "three firms, of which one makes up nearly all": (
        TRADES, "turnover", "i.trade", {}, {("dominance", "i.trade")}
    ),
    "signed outcomes are compared by size": (
        PROFITS, "profit", "i.g", {}, {("dominance", "i.g")}
    ),
    "a group of equal outcomes": (
        dummy(sick=((pl.col("job") == 2) | (pl.col("age") > 60)).cast(pl.Int8)), "sick", "i.job",
        {}, {("same-outcome", "i.job")},
    ),
    "few clusters": (
        dummy(half=PERSON % 2), "wage", "age", {"cluster": "half"}, {("clusters", "")}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MODELS)
def test_what_gives_few_away_breaks_a_rule(case: str) -> None:
    frame, outcome, terms, options, rules = MODELS[case]
    result = regress(frame, outcome, terms, **options)
    assert broken(result) == rules
    if ("leverage", "") in rules and not options:
        assert result.evidence["leverage"] == pytest.approx(1.0, abs=1e-6)


def test_a_failed_table_does_not_name_the_level() -> None:
    result = regress(with_outlier(people(), job=987), "wage", "age i.job")
    assert "987" not in json.dumps(result.to_dict())


def test_what_a_person_has_to_look_at() -> None:
    # With other variables the total follows only for those who know their means.
    assert "dominance" in reviewed(regress(TRADES, "turnover", "staff i.trade"))
    streets = dummy(street=PERSON % 60)
    assert "many-levels" in reviewed(regress(streets, "wage", "age i.street"))
    for left_out, few in ((2, True), (9, False), (0, False)):
        frame = dummy(hours=pl.when(left_out <= PERSON).then(pl.col("hours")))
        assert ("left-out" in reviewed(regress(frame, "wage", "age hours"))) is few


def test_two_columns_that_differ_for_one_person_are_found_by_leverage() -> None:
    frame = people().with_columns(other=pl.col("hours") + 0.001 * (pl.col("person") == 5))
    result = regress(frame, "wage", "hours other")
    assert broken(result) == {("leverage", "")}
    model = sm.OLS(frame["wage"].to_numpy(), sm.add_constant(
        frame.select("hours", "other").to_numpy())).fit()  # fmt: skip
    assert model.predict()[5] == pytest.approx(frame["wage"][5], rel=1e-6)


def test_an_interaction_cell_of_one_person() -> None:
    frame = people().filter((pl.col("sex") == 0) | (pl.col("job") != 3))
    frame = pl.concat([frame, people(1).with_columns(sex=pl.lit(1, pl.Int64),
                                                     job=pl.lit(3, pl.Int64))])  # fmt: skip
    assert not broken(regress(frame, "wage", "age i.sex i.job"))
    for terms in ("age i.sex##i.job", "age i.sex#i.job", "age i.job##i.sex"):
        result = regress(frame, "wage", terms)
        withheld(result)
        assert "minimum-cases" in {rule for rule, _ in broken(result)}


def test_a_saturated_model_and_an_exact_one() -> None:
    frame = people(12).with_columns(pl.col("person").alias("each"))
    saturated = regress(frame, "wage", "i.each")
    withheld(saturated)
    assert {("residual-df", ""), ("leverage", "")} <= broken(saturated)
    frame = people().with_columns(sum=pl.col("wage") * 2 + pl.col("age"))
    exact = regress(frame, "sum", "wage age")
    withheld(exact)
    assert broken(exact) == {("exact-fit", "")}


def test_a_model_with_a_constant_alone_is_a_mean() -> None:
    firms = pl.DataFrame({"turnover": [1.0] * 20 + [25_000.0, 400_000.0]})
    result = regress(firms, "turnover")
    withheld(result)
    assert ("dominance", "_cons") in broken(result)
    even = regress(people(), "wage")
    assert even.verdict is CheckVerdict.review
    assert reviewed(even) == {"group-means"}
    assert even.stored["N"] == 200


def test_an_outcome_that_is_a_dummy_of_one_person() -> None:
    """The coefficients are then the values of that person, multiplied by a known matrix."""
    frame = people().with_columns(me=(pl.col("person") == 11).cast(pl.Int8))
    x = sm.add_constant(frame.select("age", "hours").to_numpy().astype(float))
    params = sm.OLS(frame["me"].to_numpy(), x).fit().params
    assert (x.T @ x) @ params == pytest.approx(x[11], rel=1e-9)
    result = regress(frame, "me", "age hours")
    withheld(result)
    assert ("minimum-cases", "the outcome") in broken(result)


def test_two_models_that_differ_by_one_person_can_be_solved_and_are_marked() -> None:
    frame = people().sample(fraction=1, shuffle=True, seed=3)
    less = frame.filter(pl.col("person") != 17)
    # N times the mean of the outcome, twice: the difference is the wage.
    one, two = (part["wage"].mean() * len(part) for part in (frame, less))  # type: ignore[operator]
    assert one - two == pytest.approx(frame.filter(person=17)["wage"][0], rel=1e-9)

    first = regress(frame, "wage", "age")
    assert "differencing" in reviewed(regress(less, "wage", "age", earlier=[first]))
    other = regress(less, "wage", "age hours", earlier=[first])
    assert "differencing" in reviewed(other)
    far = regress(frame.filter(pl.col("person") > 20), "wage", "age", earlier=[first])
    assert "differencing" not in reviewed(far)
    again = regress(frame.sort("age"), "wage", "age", earlier=[first])
    assert "differencing" not in reviewed(again)


def test_swapped_people_are_told_apart_by_their_entity() -> None:
    frame = people()
    first = regress(frame.filter(pl.col("person") != 3), "wage", "age", entity="person")
    second = regress(
        frame.filter(pl.col("person") != 4), "wage", "hours", entity="person", earlier=[first]
    )
    assert "differencing" in reviewed(second)


def test_nothing_confidential_can_be_printed_or_stored() -> None:
    frame = with_outlier(people(), wage=SECRET, job=9)
    for limits in (SafeLimits(k=73.25, minimum=1), SafeLimits(k=73.25)):
        result = regress(frame, "wage", "age i.job", limits=limits)
        texts = [repr(result), str(result), repr(result.evidence), json.dumps(result.to_dict()),
                 repr(result.checks), repr(result.evidence["sample"])]  # fmt: skip
        for text in texts:
            assert str(SECRET) not in text
            assert "73.25" not in text
        with pytest.raises(TypeError, match="confidential"):
            pickle.dumps(result.evidence)


def test_levels_of_leverage_follow_the_limits() -> None:
    frame = with_outlier(people(), age=400)
    share = regress(frame, "wage", "age").evidence["leverage"]
    assert 0.5 < share < 0.9
    assert "leverage" in reviewed(regress(frame, "wage", "age"))
    strict = SafeLimits(leverage=share - 0.01)
    assert broken(regress(frame, "wage", "age", limits=strict)) == {("leverage", "")}


def test_hat_values_are_those_of_statsmodels() -> None:
    from discreet_fire.statistics.models.commands import request_of
    from discreet_fire.statistics.models.disclosure_checks import HatValues
    from discreet_fire.statistics.models.fits import solve

    frame = people().with_columns(w=pl.col("job") * 1.0)
    request = request_of("regress", "wage", "age hours i.job", {"weights": "w"})
    sample = request.sample(frame)
    design = request.design(sample)
    found = HatValues(
        sample, design, solve(design, sample.outcome, sample.weights), sample.weights
    ).values
    jobs = [frame["job"].to_numpy() == job for job in (2, 3, 4, 5)]
    x = np.column_stack([np.ones(200), frame["age"], frame["hours"], *jobs]).astype(float)
    fitted = sm.WLS(frame["wage"].to_numpy(), x, weights=frame["w"].to_numpy()).fit()
    root = np.sqrt(frame["w"].to_numpy())[:, None] * x
    direct = np.diag(root @ np.linalg.inv(root.T @ root) @ root.T)
    assert np.sort(found) == pytest.approx(np.sort(direct), rel=1e-9)
    assert found.sum() == pytest.approx(fitted.df_model + 1)
