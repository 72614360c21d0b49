"""Swapping: risks and levels as published, pairs as they should be, keys and values that stay."""

import gzip
import json
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetWarning, MicrodataError
from discreet.pretabular.changed_records import InputRecords
from discreet.pretabular.swapping import swap_risk
from tests.helpers.rows import for_all_rows

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


@for_all_rows("case", ["s01", "s05", "s06", "s11", "s14"])
def test_risks_and_levels_are_the_published_ones(reference, persons, case) -> None:
    folder = reference / "sdcmicro"
    runs = json.loads(gzip.decompress((folder / "manifest.json.gz").read_bytes()))
    asked = next(one["args"] for one in runs if one["id"] == case)
    areas, k = asked["hierarchy"], asked["k_anonymity"]
    found = swap_risk(InputRecords(persons, {}), "hid", areas, asked["risk_variables"], k)
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


def test_order_does_not_matter(persons) -> None:
    plain = swapped(persons).records.sort(persons.columns)
    mixed = swapped(persons.sample(fraction=1, shuffle=True, seed=2)).records
    assert mixed.sort(persons.columns).equals(plain)


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
    with pytest.warns(DiscreetWarning, match="rare households exceed the swapping rate"):
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


def test_a_rare_household_that_only_moves_within_its_area_counts_as_staying() -> None:
    """Household 1 is rare in its state and alike with nobody elsewhere; 2 takes it as a donor."""
    data = pl.DataFrame(
        {"h": [1, 2, 3, 4, 5], "state": [0, 0, 0, 1, 1], "district": [0, 1, 0, 2, 3],
         "age": [1, 7, 7, 2, 2], "size": [1, 1, 3, 2, 2]}
    )  # fmt: skip
    made = swapped(
        data,
        household="h",
        areas=["state", "district"],
        risk=["age"],
        similar=["size"],
        k=2,
        rate=0,
    )
    log = made.changes.sort("h")
    assert log.rows() == [
        (1, 2, 2, True), (2, 1, 2, False), (3, None, 0, True), (4, 5, 2, False), (5, 4, 2, False)
    ]  # fmt: skip
    assert made.measures["rare"] == {"state": 1, "district": 4}
    assert made.measures["without_partner"] == {"state": 1, "district": 1}


@for_all_rows(
    ("given", "word"),
    [
        ({"similar": ["gender"]}, "persons of one household have different values"),
        ({"rate": 2}, "at most 1"),
        ({"k": -1}, "at least 0"),
        ({"risk": ["nuts1"]}, "name each area variable exactly once"),
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


def incomes(count: int = 500, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    income = np.where(rng.random(count) < 0.1, np.nan, rng.lognormal(7, 1, count).round(-1))
    return pl.DataFrame(
        {"id": np.arange(count), "area": rng.integers(0, 3, count), "income": income}
    ).with_columns(pl.col("income").fill_nan(None), job=pl.Series(rng.integers(0, 9, count)))


@given(
    count=st.integers(1, 60),
    window=st.floats(0.001, 1),
    seed=st.integers(0, 9),
    strata=st.sampled_from([(), ("area",)]),
)
def test_ranks_move_within_the_window_and_values_stay(count, window, seed, strata) -> None:
    frame = incomes(count, seed)
    made = dc.pretabular.rank_swap(
        frame, "income", id="id", window=window, strata=strata, secret=SECRET
    )
    both = frame.with_columns(after=made.records["income"])
    for (_,), part in both.group_by([*strata] or pl.lit(0)):
        assert part["income"].sort().equals(part["after"].sort(), null_equal=True)
        known = part["income"].drop_nulls()
        most = max(1, int(window * len(known)))
        assert part["income"].is_null().equals(part["after"].is_null())
        ends = part.drop_nulls("income").select(  # the nearest places that two values have
            pl.min_horizontal("income", "after").alias("low"),
            pl.max_horizontal("income", "after").alias("high"),
        )
        for low, high in ends.rows():
            assert ((known > low) & (known < high)).sum() < most


@given(count=st.integers(2, 40), window=st.floats(0.001, 1), seed=st.integers(0, 99))
def test_no_two_are_left_alone_that_could_exchange(count, window, seed) -> None:
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame({"id": np.arange(count), "income": draw.permutation(count)})
    made = dc.pretabular.rank_swap(frame, "income", id="id", window=window, secret=SECRET)
    alone = frame["income"].filter(made.records["income"] == frame["income"]).sort()
    assert (alone.diff().drop_nulls() > max(1, int(window * count))).all()


def test_nearly_everyone_finds_a_partner_by_rank() -> None:
    frame = incomes(2_000)
    made = dc.pretabular.rank_swap(frame, "income", id="id", window=0.05, secret=SECRET)
    known = frame["income"].drop_nulls()
    assert made.measures["income"]["moved"] > 0.95 * len(known)
    assert made.changes.height == made.measures["income"]["moved"]
    assert 0.6 < made.measures["income"]["correlation"] < 1


def test_values_that_are_permuted_keep_their_tables() -> None:
    frame = incomes(3_000)
    asked = {"id": "id", "share": 0.3, "within": ["area"], "secret": SECRET}
    made = dc.pretabular.permute(frame, ["job", "income"], **asked)
    by = ["area", "job", "income"]
    counts = made.records.group_by(by).len().sort(by)
    assert counts.equals(frame.group_by(by).len().sort(by), null_equal=True)
    # A share of 0.3 of 3,000: 900, give or take five standard deviations of 25.
    assert abs(made.measures["taking part"] - 900) < 125
    moved = (made.records["income"].ne_missing(frame["income"])).sum()
    assert moved <= made.measures["taking part"]
    assert moved > 0.8 * made.measures["taking part"]


def test_exchanges_know_no_order() -> None:
    frame = incomes(300)
    other = frame.sample(fraction=1.0, shuffle=True, seed=1)
    for function, asked in (
        (dc.pretabular.rank_swap, {"window": 0.1, "strata": ["area"]}),
        (dc.pretabular.permute, {"share": 0.5, "within": ["area"]}),
    ):
        first = function(frame, "income", id="id", secret=SECRET, **asked).records
        again = function(other, "income", id="id", secret=SECRET, **asked).records
        assert again.sort("id").equals(first.sort("id"), null_equal=True)


@for_all_rows(
    ("method", "asked", "said"),
    [
        ("rank_swap", {"variables": "income", "window": 0.0}, "must be above 0"),
        ("rank_swap", {"variables": "income", "window": float("nan")}, "must be at most 1"),
        ("rank_swap", {"variables": "name", "window": 0.1}, "has no order"),
        ("rank_swap", {"variables": "id", "window": 0.1}, "cannot be an identifier"),
        ("permute", {"variables": ["income"], "share": 1.5}, "at most 1"),
        ("permute", {"variables": ["job"], "share": 0.5, "within": ["job"]}, "or a stratum"),
        ("permute", {"variables": ["work"], "share": 0.5}, "work"),
    ],
)
def test_exchanges_refuse_what_makes_no_sense(method, asked, said) -> None:
    frame = incomes(20).with_columns(name=pl.lit("x"))
    with pytest.raises(MicrodataError, match=said):
        getattr(dc.pretabular, method)(frame, id="id", secret=SECRET, **asked)
    twice = pl.concat([frame, frame])
    with pytest.raises(MicrodataError, match="have a repeated identifier"):
        dc.pretabular.rank_swap(twice, "income", id="id", window=0.1, secret=SECRET)
