"""Many records: every group has the facts that it has alone, and that numpy finds."""

import dataclasses
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from discreet_fire import statistics
from discreet_fire.statistics.disclosure_rules import MANY, Facts, concentrated
from discreet_fire.statistics.grouped_values import (
    GroupedValues,
    exact_sum,
    exact_sums,
)
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.records import group, take

ROWS = 21_000
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


def _expected(values, who, weights) -> dict[str, float]:
    """The facts of one group, worked out with numpy alone."""
    weights = np.ones(values.size) if weights is None else weights
    who = np.arange(values.size) if who is None else who
    names, inverse = np.unique(who, return_inverse=True)
    net = np.sort(np.abs(np.bincount(inverse, values * weights)))
    mean = np.average(values, weights=weights)
    distinct, count = np.unique(values, return_counts=True)
    common = distinct[np.argmax(count)]
    return {
        "n": values.size, "cases": names.size, "weight": weights.sum(), "low": values.min(),
        "high": values.max(), "mean": mean, "squares": (weights * (values - mean) ** 2).sum(),
        "size": net.sum(), "first": net[-1], "second": net[-2] if net.size > 1 else 0.0,
        "differing": np.unique(who[values != common]).size,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("entity", "weighted"), [(None, False), (None, True), ("person", True), ("wide", False)]
)
def test_facts_are_those_of_each_group_alone(frame, entity, weighted):
    limits = SafeLimits()
    who = None if entity is None else frame[entity].to_numpy()
    weights = frame["weight"].to_numpy() if weighted else None
    values, codes = frame["income"].to_numpy(), frame["size"].to_numpy()
    holding = GroupedValues.of(values, codes, 12, who, weights)
    together = [*holding.facts(limits), holding.total(limits)]
    groups = [[at] for at in range(12)] + [range(12)]
    for some, facts in zip(groups, together, strict=True):
        alone = holding.part(some).total(limits)
        inside = np.isin(codes, list(some))
        expected = _expected(
            *(None if one is None else one[inside] for one in (values, who, weights))
        )
        clear = alone.second == 0 and alone.differing == MANY  # not looked at
        for name, number in expected.items():
            if name == "differing" and facts.differing == MANY:
                assert number >= limits.minimum
            elif name != "second" or not clear:
                assert getattr(facts, name) == pytest.approx(number, rel=1e-9, abs=1e-9), name
        for name in [field.name for field in dataclasses.fields(Facts)]:
            if name not in ("second", "differing", "held"):
                assert getattr(facts, name) == getattr(alone, name), name


def test_small_values_beside_huge_ones_keep_their_digits():
    rng = np.random.default_rng(1)
    small = rng.integers(1, 10, ROWS // 2) / 10
    huge = rng.uniform(1e15, 1e16, ROWS // 2)
    frame = pl.DataFrame(
        {"g": ["a"] * small.size + ["b"] * huge.size, "x": np.concatenate([small, huge])}
    )
    for some in (frame, pl.concat([frame.head(200), frame.tail(200)])):
        shown = statistics.tabstat(some, "x", statistics="mean sd", by="g").frame
        part = some.filter(pl.col("g") == "a")["x"]
        assert shown is not None
        assert shown["mean"][0] == pytest.approx(part.mean(), rel=1e-6)
        assert shown["sd"][0] == pytest.approx(part.std(), rel=1e-6)


def test_a_table_across_counts_entities_in_cells_and_margins(frame):
    letter = pl.col("size").replace_strict(list(range(12)), list(LETTERS))
    frame = frame.with_columns(letter=letter.cast(pl.Enum(list(LETTERS))))
    known = frame.drop_nulls("region")
    regions = sorted(known["region"].unique())
    for data in (frame, known):
        counts = statistics.tabulate(data, "region", "letter", entity="person").evidence["cases"]
        inside = known.group_by("region", "letter").agg(pl.col("person").n_unique())
        for region, letter, n in inside.iter_rows():
            assert counts[regions.index(region), LETTERS.index(letter)] == n
        across = known.group_by("letter").agg(pl.col("person").n_unique()).sort("letter")
        assert counts[-1, :-1].tolist() == across["person"].to_list()
        down = known.group_by("region").agg(pl.col("person").n_unique()).sort("region")
        assert counts[:-1, -1].tolist() == down["person"].to_list()
        assert counts[-1, -1] == known["person"].n_unique()


def _weights(frame: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Weights of a kind. One record is a region of its own, another has most of the south, and
    one person has most of the west in many records."""
    rng = np.random.default_rng(9)
    weight = 10.0 ** rng.uniform(0, 4, ROWS)
    if kind == "ties":
        weight = rng.integers(1, 4, ROWS) / 8
    weight[((frame["person"] == 1) & (frame["region"] == "west")).fill_null(False)] *= 1e6
    largest = frame["region"].index_of("süd") or 0
    weight[largest] = 1e10
    odd = rng.random(ROWS) < 0.02
    odd[[largest, ROWS - 1]] = False
    weight = np.where(odd, {"missing": np.nan, "zero": 0.0}.get(kind, weight), weight)
    alone = pl.int_range(pl.len()) == ROWS - 1
    known = pl.when(pl.col("size") < 11).then(pl.col("region").fill_null("nord"))
    region = pl.when(alone).then(pl.lit("insel")).otherwise(known.otherwise("region"))
    return frame.with_columns(region=region, weight=pl.Series(weight).fill_nan(None))


def _heavy(weights: GroupedValues, limits: SafeLimits) -> set[int]:
    facts = enumerate(weights.facts(limits))
    return {at for at, one in facts if concentrated(one.first, one.second, one.size, limits)}


@pytest.mark.parametrize(
    ("kind", "entity"), [("all", None), ("missing", "person"), ("zero", "name"), ("ties", "name")]
)
def test_weights_of_groups_are_those_of_each_alone(frame, entity, kind):
    data, limits = _weights(frame, kind), SafeLimits()
    for rows in (data, data.sample(fraction=1.0, shuffle=True, seed=6), data.head(900)):
        records = take(rows, ["region"], "weight", entity=entity).weighted()
        axis = group(records, "region")
        weighing = GroupedValues.of(records.weights, axis.codes, len(axis), records.entities)
        amounts, heavy = exact_sums(weighing.values, weighing.codes, len(axis)), set()
        for at, region in enumerate(axis.values):
            part = rows.filter(pl.col("region") == region, pl.col("weight") > 0)
            exact = exact_sum(part["weight"].to_numpy())
            assert amounts[at] == exact
            loads = part if entity is None else part.group_by(entity).agg(pl.col("weight").sum())
            first, second, *_ = [*loads["weight"].sort(descending=True), 0.0, 0.0]
            heavy |= {at} if concentrated(first, second, exact, limits) else set()
        assert _heavy(weighing, limits) == heavy
        known = rows.drop_nulls("region")
        gaps = take(known, ["region"], "weight", entity=entity)
        axis_of_gaps = group(gaps, "region")
        same = GroupedValues.of(gaps.weights, axis_of_gaps.codes, len(axis_of_gaps), gaps.entities)
        assert _heavy(same, limits) == heavy
        names = {axis.values[at] for at in heavy}
        assert names >= {"insel", "süd"} & set(rows["region"])
        assert ("west" in names) is (entity is not None) or rows.height < ROWS
        assert len(heavy) < len(axis)
        total = statistics.tabulate(rows, "region", entity=entity, weights="weight").evidence["n"]
        assert total.tolist() == amounts.tolist()


def test_records_without_weights_make_an_empty_table(frame):
    data = frame.with_columns(weight=pl.lit(None, dtype=pl.Float64))
    assert statistics.tabulate(data, "region", weights="weight").stored == {"N": 0}


def test_cases_that_differ_from_the_commonest_value_are_counted():
    for values in ([3.0], [1, 2, 2, 3, 3], [5, 5, 5], [-0.0, 0.0, 1], [1, 2, 3]):
        seen, count = np.unique(values, return_counts=True)
        differing = len(values) - int(count.max())
        held = len(values) - differing if seen.size > 2 else MANY
        holding = GroupedValues.of(np.array(values, dtype=float), None, 1)
        facts = holding.total(SafeLimits(minimum=6))
        assert (facts.differing, facts.held) == (differing, held)


@pytest.mark.parametrize(
    ("entity", "left"), [(None, [*range(1, 10)]), ("person", [1, 2, 3, 5, 6, 7, 8, 9])]
)
def test_classes_hold_what_lies_between_their_edges(frame, entity, left):
    tenth = np.random.default_rng(10).integers(0, 100, ROWS) / 10  # many lie on an edge
    inside = (tenth >= 3) & (tenth < 4)
    person = np.where(inside, 1, frame["person"].to_numpy())
    data = pl.DataFrame({"x": tenth, "person": person})
    result = statistics.histogram(data, "x", edges=[0, *range(1, 10), 9.95], entity=entity)
    ends = [-np.inf, *left, np.inf]
    assert result.frame is not None
    assert result.frame["from"].to_list() == [None, *left]
    assert result.frame["n"].to_list() == [
        int(((tenth >= low) & (tenth < high)).sum()) for low, high in pairwise(ends)
    ]


def test_exact_sums_of_groups_are_those_of_each_alone():
    rng = np.random.default_rng(4)
    values = rng.normal(size=ROWS) * 10.0 ** rng.integers(-200, 100, ROWS)
    codes = rng.integers(0, 9, ROWS)
    found = exact_sums(values, codes, 9)
    assert found.tolist() == [exact_sum(values[codes == at]) for at in range(9)]
    back = exact_sums(values[::-1], codes[::-1], 9)
    assert back.tolist() == found.tolist()
