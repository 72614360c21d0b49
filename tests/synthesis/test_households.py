"""Synthetic households: composition, order, and attackers who see whole households."""

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.demo import generate
from discreet.errors import DiscreetError
from discreet.microdata import Secret
from discreet.pretabular import draws
from discreet.synthesis import SyntheticRecords, synthesise

SECRET = "a long and secret sentence"
NAMES = ["state", "sex", "age", "marital_status"]
PERSONS = generate(persons=2_500, seed=4).persons.select("person_id", "household_id", *NAMES)
ALONE: dict[str, Any] = {"structural_zeros": [], "keys": [], "sensitive": []}
RULE = "age < 15 and marital_status != 'single'"


def synthetic(persons: pl.DataFrame = PERSONS, **options: Any) -> SyntheticRecords:
    wanted = {"household": "household_id", "variables": NAMES, "structural_zeros": [RULE],
              "keys": ["sex", "age"], "sensitive": ["marital_status"], **options}  # fmt: skip
    return synthesise(persons, id="person_id", secret=SECRET, **wanted)


@cache
def usual() -> SyntheticRecords:
    return synthetic()


def households(frame: pl.DataFrame) -> pl.DataFrame:
    """One row each: size, and the ages of all members in their order."""
    ordered = frame.sort("household_id", maintain_order=True)
    return ordered.group_by("household_id", maintain_order=True).agg(
        pl.col("state").n_unique().alias("states"), pl.len().alias("size"),
        pl.col("age").cast(pl.Int64), pl.col("sex").cast(pl.String),
    )  # fmt: skip


def test_households_keep_their_composition() -> None:
    true, made = households(PERSONS.sort("person_id")), households(usual().described.frame)
    assert made["household_id"].to_list() == list(range(1, len(true) + 1))
    assert made["states"].max() == 1
    shares = [one["size"].value_counts(normalize=True).sort("size") for one in (true, made)]
    both = shares[0].join(shares[1], on="size", how="full").fill_null(0)
    assert (both["proportion"] - both["proportion_right"]).abs().sum() / 2 < 0.04
    couples = [one.filter(pl.col("size") == 2)["age"].list.to_array(2).to_numpy() for one in
               (true, made)]  # fmt: skip
    assert abs(np.subtract(*(np.corrcoef(one.T)[0, 1] for one in couples))) < 0.1
    third = [one.filter(pl.col("size") > 2)["age"].list.get(2).mean() for one in (true, made)]
    assert abs(third[0] - third[1]) < 2.5
    alike = [one.filter(pl.col("size") == 2)["sex"].list.n_unique().eq(1).mean() for one in
             (true, made)]  # fmt: skip
    assert abs(alike[0] - alike[1]) < 0.05
    young = usual().described.frame.filter(pl.col("age") < 15)
    assert len(young)
    assert (young["marital_status"] == "single").all()


def test_the_order_of_records_changes_no_byte() -> None:
    few = PERSONS.filter(pl.col("household_id") <= 300)
    one, mixed = synthetic(few), synthetic(few.sample(fraction=1, shuffle=True, seed=3))
    assert mixed.described.frame.equals(one.described.frame)
    assert mixed.report.described() == one.report.described()


def test_measures_are_of_persons_and_of_households() -> None:
    told = Counter((one.name, "households" in one.about) for one in usual().report.measures)
    assert {"tables", "pmse", "attribute", "membership", "closest", "repeated"} == {
        name for name, of_households in told if of_households
    }
    assert told["membership", False] == told["membership", True] == 1
    pairs = [one for one in usual().report.measures if "second member" in one.about]
    assert pairs
    assert all(one.verdict == "good" for one in pairs)
    assert "reference person" in usual().statement["en"]


def _repeated(frame: pl.DataFrame) -> tuple[float, float]:
    """Shares of unique households, of those learned from and of others, that stand in a file."""

    def whole(people: pl.DataFrame) -> dict[int, Any]:
        rows = people.select("household_id", *(pl.col(name).cast(pl.String) for name in NAMES))
        found: dict[int, list[Any]] = {}
        for number, *values in rows.iter_rows():
            found.setdefault(number, []).append(tuple(values))
        return {number: (*own[:2], len(own)) for number, own in found.items()}

    true, made = whole(PERSONS.sort("person_id")), set(whole(frame).values())
    counts = Counter(true.values())
    ids = sorted(true)
    drawn = draws(pl.DataFrame({"household_id": ids}), Secret.of(SECRET), "synthesise; holdout")
    out = {ids[at] for at in np.argsort(drawn, kind="stable")[: round(len(ids) * 0.2)]}
    unique = [number for number in true if counts[true[number]] == 1]
    inside, outside = ([true[number] in made for number in unique if (number in out) == side]
                       for side in (False, True))  # fmt: skip
    return float(np.mean(inside)), float(np.mean(outside))


@pytest.mark.parametrize("leaf", [100, 3])
def test_an_attacker_who_sees_whole_households_finds_what_the_report_says(
    leaf: int,
) -> None:
    made = usual() if leaf == 100 else synthetic(leaf=leaf, threshold=3)
    reports = {one.name: one.numbers for one in made.report.measures if "households" in one.about}
    inside, outside = _repeated(made.described.frame)
    assert reports["repeated"]["members"] == pytest.approx(inside, abs=1e-4)
    assert reports["repeated"]["others"] == pytest.approx(outside, abs=1e-4)
    assert reports["repeated"]["excess"] <= 0.1 or made.report.verdict == "exceeded"
    assert (inside - outside > 0.15) == (leaf == 3)


@pytest.mark.parametrize(
    ("frame", "options", "named"),
    [
        (PERSONS, {"household": "home"}, "no column 'home'"),
        (PERSONS, {"household": None, "order": "age"}, "order needs household"),
        (PERSONS, {"variables": ["household_id", *NAMES]}, "the household cannot be a variable"),
        (PERSONS, {"variables": ["state"], **ALONE}, "no variable differs"),
        (PERSONS[:60], {}, "fewer than 50 households to learn from"),
        (PERSONS.with_columns(pl.col("household_id").replace(1, None)), {}, "have no household"),
        (PERSONS, {"method": "tables", **ALONE}, "household: needs records"),
    ],
)  # fmt: skip
def test_files_without_households_are_refused(
    frame: pl.DataFrame, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(DiscreetError) as caught:
        synthetic(frame, **options)
    assert named in str(caught.value)
