"""Swapping: risks and levels as published, pairs as they should be, keys that stay."""

from __future__ import annotations

import gzip
import json
import warnings

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetWarning, MicrodataError
from discreet.pretabular.changed_records import HeldRecords
from discreet.pretabular.swapping import swap_risk

SECRET = "a long and secret sentence"
AREAS = ["nuts1", "nuts2", "nuts3"]
RISK = ["ageGroup", "national"]


@pytest.fixture(scope="module")
def persons(reference) -> pl.DataFrame:
    return pl.read_csv(reference / "sdcmicro" / "swap_input.csv.gz", infer_schema=False)


def swapped(frame, **given):
    asked = {
        "household": "hid",
        "areas": AREAS,
        "risk": RISK,
        "similar": ["hsize"],
        "k": 3,
        "rate": 0.05,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return dc.pretabular.swap(frame, secret=SECRET, **(asked | given))


@pytest.mark.parametrize("case", ["s01", "s05", "s06", "s11", "s14"])
def test_risks_and_levels_are_the_published_ones(reference, persons, case) -> None:
    folder = reference / "sdcmicro"
    runs = json.loads(gzip.decompress((folder / "manifest.json.gz").read_bytes()))
    asked = next(one["args"] for one in runs if one["id"] == case)
    areas, k = asked["hierarchy"], asked["k_anonymity"]
    found = swap_risk(HeldRecords(persons, {}), "hid", areas, asked["risk_variables"], k)
    stated = pl.read_csv(folder / f"{case}_risk_levels.csv.gz", infer_schema=False)
    assert stated["hid"].equals(persons["hid"])
    assert found.level[found.household].tolist() == stated["level"].cast(int).to_list()
    for at, name in enumerate(areas):
        risks = stated[f"risk_{name}"].cast(float).to_numpy()
        assert found.risks[found.household, at] == pytest.approx(risks, rel=1e-12)


@pytest.mark.parametrize(("rate", "number"), [(0.05, 100), (0.1, 200), (0.25, 500)])
def test_as_many_as_the_rate_says(persons, rate, number) -> None:
    assert swapped(persons, k=1, rate=rate).measures["swapped"] == number


@pytest.mark.parametrize("similar", [["hsize"], [["hsize", "htype"], "hsize"]])
def test_pairs_are_alike_elsewhere_and_each_once(persons, similar) -> None:
    made = swapped(persons, similar=similar, carry_along=["lau2"])
    first = persons.unique("hid", keep="first", maintain_order=True)
    now = made.records.unique("hid", keep="first", maintain_order=True)
    log = made.changes.drop_nulls("partner")
    assert log["hid"].n_unique() == log.height == made.measures["swapped"] > 1_700
    both = log.join(first, on="hid").join(first, left_on="partner", right_on="hid", suffix="_p")
    assert (both["hsize"] == both["hsize_p"]).all()
    for level, name in enumerate(AREAS, 1):
        there = both.filter(pl.col("level") == level)
        assert (there[name] != there[f"{name}_p"]).all() or level > 1
        prefix, prefix_p = (pl.concat_str([n + end for n in AREAS[:level]]) for end in ("", "_p"))
        assert there.select((prefix != prefix_p).all()).item()
    moved = log.join(now, on="hid").join(first, left_on="partner", right_on="hid", suffix="_p")
    assert all((moved[name] == moved[f"{name}_p"]).all() for name in [*AREAS, "lau2"])
    rest = [name for name in persons.columns if name not in {*AREAS, "lau2"}]
    assert made.records.select(rest).equals(persons.select(rest))
    by = ["lau2", "hsize"]
    counts = [frame.group_by(by).len().sort(by) for frame in (first, now)]
    assert counts[0].equals(counts[1])


def test_order_and_engines_do_not_matter(persons) -> None:
    plain = swapped(persons).records.sort(persons.columns)
    mixed = swapped(persons.sample(fraction=1, shuffle=True, seed=2)).records
    assert mixed.sort(persons.columns).equals(plain)
    pandas = swapped(persons.to_pandas()).records
    assert pl.from_pandas(pandas).sort(persons.columns).equals(plain)


def test_record_keys_stay_and_buildings_inherit_anew(persons) -> None:
    people = persons.with_row_index("pid").with_columns(lau2=pl.col("nuts3"))
    keyed = dc.with_record_keys(people, id="pid", secret=SECRET)
    made = swapped(keyed, carry_along=["lau2"]).records
    assert made["record_key"].equals(keyed["record_key"])
    whole = dc.tabulate(made, by=["hsize"], record_key="record_key").to_polars()
    assert whole.equals(dc.tabulate(keyed, by=["hsize"], record_key="record_key").to_polars())
    before, after = (dc.inherit_record_keys(one, by="lau2").sort("lau2") for one in (keyed, made))
    assert before["lau2"].equals(after["lau2"])
    assert not before["record_key"].equals(after["record_key"])


def test_a_warning_where_k_asks_for_more_than_the_rate(persons) -> None:
    with pytest.warns(DiscreetWarning, match="more households are swapped"):
        dc.pretabular.swap(
            persons, household="hid", areas=AREAS, risk=RISK, similar=["hsize"], k=3, rate=0,
            secret=SECRET,
        )  # fmt: skip


def test_who_finds_no_partner_is_reported() -> None:
    data = pl.DataFrame(
        {"h": range(9), "area": [0] * 4 + [1] * 5, "age": range(9), "size": [1] * 8 + [2]}
    )
    made = swapped(data, household="h", areas=["area"], risk=["age"], similar=["size"], k=2)
    assert made.measures["without_partner"] == {"area": 1}
    assert made.changes.filter(pl.col("partner").is_null())["h"].to_list() == [8]
    assert made.records["area"].to_list() == [1] * 4 + [0] * 4 + [1]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"similar": ["gender"]}, "persons of one household differ"),
        ({"rate": 2}, "share"),
        ({"k": -1}, "number of persons"),
        ({"risk": ["nuts1"]}, "nothing else"),
        ({"household": "none"}, "missing"),
    ],
)
def test_wrong_input_is_refused(persons, given, word) -> None:
    with pytest.raises(MicrodataError, match=word):
        swapped(persons, **given)


def test_a_share_of_every_area_is_swapped(persons) -> None:
    made = swapped(persons, k=0, rate=0.25, areas=["nuts1"])
    moved = made.changes.select("hid").join(persons.unique("hid"), on="hid")["nuts1"].value_counts()
    whole = persons.unique("hid")["nuts1"].value_counts(name="all")
    shares = moved.join(whole, on="nuts1").select(pl.col("count") / pl.col("all")).to_series()
    assert np.abs(shares.to_numpy() - 0.25).max() < 0.15
