"""Large data take compiled passes over all groups: with the same results as small data."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest

from discreet.output_checking import safe
from discreet.output_checking.safe import sums
from discreet.output_checking.safe.coding import coded, numbered_texts
from discreet.output_checking.safe.contributions import Numbering, dense
from discreet.output_checking.safe.facts import MANY, Facts
from discreet.output_checking.safe.groups import group
from discreet.output_checking.safe.holding import Holding
from discreet.output_checking.safe.large_sums import exact_sums
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.percentiles import percentile, ranked
from discreet.output_checking.safe.records import take

ROWS = sums.SMALL + 7000
WIDE = 10**12
LETTERS = "abcdefghijkl"


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Persons with some records each, in groups of all kinds."""
    rng = np.random.default_rng(20)
    person = rng.integers(0, ROWS // 3, ROWS)
    size = rng.integers(0, 12, ROWS)
    income = rng.lognormal(8, 1.5, ROWS)
    income[size == 3] = 7.0  # all alike
    income[size == 4] = (np.flatnonzero(size == 4) < 40).astype(float)  # nearly all alike
    person[size == 5] = 1  # one person
    income[np.flatnonzero(size == 6)[0]] = 1e12  # dominated
    income[size == 7] *= 1e-13
    region = np.array(["süd", "nord", "ost", "west", ""])[rng.integers(0, 5, ROWS)]
    return pl.DataFrame(
        {
            "size": size,
            "region": pl.Series(region).replace("", None),
            "income": income,
            "weight": rng.lognormal(0, 1, ROWS),
            "person": person,
            "wide": person * WIDE + 7,
            "name": pl.Series(person).cast(pl.String),
        }
    )


@pytest.mark.parametrize("entity", [None, "person", "wide"])
@pytest.mark.parametrize("weighted", [False, True])
def test_facts_are_those_of_each_group_alone(frame, entity, weighted):
    limits = SafeLimits()
    who = None if entity is None else frame[entity].to_numpy()
    weights = frame["weight"].to_numpy() if weighted else None
    holding = Holding.of(frame["income"].to_numpy(), frame["size"].to_numpy(), 12, who, weights)
    found = [*holding.facts(limits), holding.total(limits)]
    exact = [holding.part([at]).whole for at in range(12)] + [holding.part(range(12)).whole]
    if entity is None and not weighted:
        names = ["n", "cases", "low", "high", "mean", "squares"]
    else:
        names = [field.name for field in dataclasses.fields(Facts)]
    for one, other in zip(found, exact, strict=True):
        for name in names:
            if name in ("differing", "held") and one.differing == MANY:
                assert other.differing >= limits.minimum
            else:
                assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize("entity", [None, "person", "wide", "name"])
@pytest.mark.parametrize("weights", [None, "weight"])
def test_the_order_of_records_never_matters(frame, entity, weights):
    several = "n mean sd sum p25 p50 p75 skewness"

    def results(data):
        more = {"entity": entity, "weights": weights}
        yield safe.tabstat(data, "income", statistics=several, by="region", **more)
        yield safe.tabstat(data, "income", statistics=several, by="size", **more)
        yield safe.summarize(data, "income", detail=True, **more)
        yield safe.tabulate(data, "region", **more)
        yield safe.tabulate(data, "region", "size", **more)

    mixed = frame.sample(fraction=1.0, shuffle=True, seed=4)
    for one, other in zip(results(frame), results(mixed), strict=True):
        assert one.to_dict() == other.to_dict()


def test_small_values_beside_huge_ones_keep_their_digits():
    rng = np.random.default_rng(1)
    small = rng.integers(1, 10, ROWS // 2) / 10
    huge = rng.uniform(1e15, 1e16, ROWS // 2)
    frame = pl.DataFrame(
        {"g": ["a"] * small.size + ["b"] * huge.size, "x": np.concatenate([small, huge])}
    )
    for some in (frame, pl.concat([frame.head(200), frame.tail(200)])):
        shown = safe.tabstat(some, "x", statistics="mean sd", by="g").frame
        part = some.filter(pl.col("g") == "a")["x"]
        assert shown is not None
        assert shown["mean"][0] == pytest.approx(part.mean(), rel=1e-6)
        assert shown["sd"][0] == pytest.approx(part.std(), rel=1e-6)


def test_a_group_that_is_nearly_alike_is_found_among_many_records():
    value = np.zeros(ROWS)
    group = np.arange(ROWS) % 2
    value[:ROWS:1000] = 1.0
    value[1::2] = 0.0
    value[1] = 5.0
    value[3] = 6.0
    frame = pl.DataFrame({"g": group, "x": value, "who": np.arange(ROWS) // 4})
    for entity in (None, "who"):
        shown = safe.tabstat(frame, "x", statistics="mean", by="g", entity=entity)
        assert shown.frame is not None
        assert shown.frame["mean"][1] is None
        assert any(check.rule == "alike" for check in shown.checks)


def test_cases_are_distinct_entities(frame):
    for entity in ("person", "wide", "name"):
        records = take(frame, ["region", "size"], entity=entity)
        axis = group(records, "region", SafeLimits(), missing=True)
        cases = records.cases(axis.codes, len(axis))
        counted = frame.group_by("region").agg(pl.col("person").n_unique())
        known = dict(counted.iter_rows())
        assert cases.tolist() == [known[value] for value in axis.values]
        assert records.everyone == frame["person"].n_unique()


def test_a_table_across_counts_entities_in_cells_and_margins(frame):
    letter = pl.col("size").replace_strict(list(range(12)), list(LETTERS))
    frame = frame.with_columns(letter=letter.cast(pl.Enum(list(LETTERS))))
    known = frame.drop_nulls("region")
    regions = sorted(known["region"].unique())
    for data in (frame, known):
        counts = safe.tabulate(data, "region", "letter", entity="person").evidence["cases"]
        inside = known.group_by("region", "letter").agg(pl.col("person").n_unique())
        for region, letter, n in inside.iter_rows():
            assert counts[regions.index(region), LETTERS.index(letter)] == n
        across = known.group_by("letter").agg(pl.col("person").n_unique()).sort("letter")
        assert counts[-1, :-1].tolist() == across["person"].to_list()
        down = known.group_by("region").agg(pl.col("person").n_unique()).sort("region")
        assert counts[:-1, -1].tolist() == down["person"].to_list()
        assert counts[-1, -1] == known["person"].n_unique()


def test_weights_that_one_person_has_hide_the_group(frame):
    one = frame["person"] == frame["person"][0]
    heavy = frame.with_columns(weight=pl.when(one).then(1e9).otherwise(pl.col("weight")))
    region = heavy["region"][0]
    result = safe.tabulate(heavy, "region", weights="weight", entity="person")
    assert result.frame is not None
    assert result.frame.filter(pl.col("region") == region)["n"].to_list() == [None]


def test_keys_get_dense_numbers():
    rng = np.random.default_rng(2)
    for keys in (
        rng.integers(-5, 90_000, ROWS),
        rng.integers(-(2**63), 2**63 - 1, ROWS // 2).repeat(2),
        np.arange(ROWS) * 2**40,
    ):
        who, many = dense(keys)
        assert who.min() >= 0
        assert who.max() < many
        pairs = set(zip(keys.tolist(), who.tolist(), strict=True))
        assert len(pairs) == np.unique(keys).size == np.unique(who).size
        sorting = Numbering.of(keys).sorting
        assert (np.diff(who[sorting.order]) >= 0).all()
        assert sorting.start[0] == 0
        assert sorting.start[-1] == keys.size


def test_texts_are_coded_in_order(frame):
    column = frame["region"]
    values, codes = coded(column, "region")
    assert values == ["nord", "ost", "süd", "west"]
    back = [None if code < 0 else values[code] for code in codes.tolist()]
    assert back == column.to_list()
    numbers, texts = numbered_texts(column)
    assert texts.gather(numbers).equals(column)


def test_texts_of_the_same_hash_stay_apart(frame, monkeypatch):
    column = frame["region"]
    same = pl.Series(np.zeros(len(column), dtype=np.uint64))
    monkeypatch.setattr(pl.Series, "hash", lambda *_: same)
    values, codes = coded(column, "region")
    assert [None if code < 0 else values[code] for code in codes.tolist()] == column.to_list()


def test_ranks_are_those_of_sorted_values():
    rng = np.random.default_rng(3)
    for values in (rng.normal(size=1001), rng.integers(0, 3, 500).astype(float), np.ones(7)):
        ranks = sorted({0, 1, 2, values.size // 2, values.size - 2, values.size - 1})
        known = np.sort(values)
        assert ranked(values, ranks) == {at: known[at] for at in ranks}
        for share in (0.01, 0.25, 0.5, 0.9):
            frame = pl.DataFrame({"x": values})
            shown = safe.tabstat(frame, "x", statistics=f"p{round(100 * share)}").stored
            for number in shown.values():
                assert number == pytest.approx(percentile(known, share), rel=1e-6)


def test_exact_sums_of_groups_are_those_of_each_alone():
    rng = np.random.default_rng(4)
    values = rng.normal(size=ROWS) * 10.0 ** rng.integers(-200, 100, ROWS)
    codes = rng.integers(0, 9, ROWS)
    found = exact_sums(values, codes, 9)
    assert found.tolist() == [sums.exact_sum(values[codes == at]) for at in range(9)]
    back = exact_sums(values[::-1], codes[::-1], 9)
    assert back.tolist() == found.tolist()
