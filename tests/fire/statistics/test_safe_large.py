"""Many records: every group has the facts that it has alone, and that numpy finds."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from discreet.errors import OutputCheckError
from discreet_fire import statistics
from discreet_fire.statistics.disclosure_rules import MANY, Facts, concentrated
from discreet_fire.statistics.grouped_values import (
    EntityNumbers,
    GroupedValues,
    exact_sum,
    exact_sums,
    percentile,
)
from discreet_fire.statistics.limits import SafeLimits
from discreet_fire.statistics.models import regress
from discreet_fire.statistics.records import coded, count_of, group, take
from discreet_fire.statistics.results import CheckVerdict
from discreet_fire.statistics.tables import weights_by_group
from tests.helpers.rows import for_all_rows

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


@pytest.mark.parametrize(
    ("entity", "weights"), [(None, "weight"), ("wide", None), ("name", "weight")]
)
def test_the_order_of_records_never_matters(frame, entity, weights):
    several = "n mean sd sum p25 p50 p75 skewness"

    def results(data):
        more = {"entity": entity, "weights": weights}
        yield statistics.tabstat(data, "income", statistics=several, by="region", **more)
        yield statistics.tabstat(data, "income", statistics=several, by="size", **more)
        yield statistics.summarize(data, "income", detail=True, **more)
        yield statistics.tabulate(data, "region", **more)
        yield statistics.tabulate(data, "region", "size", **more)

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
        shown = statistics.tabstat(some, "x", statistics="mean sd", by="g").frame
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
        shown = statistics.tabstat(frame, "x", statistics="mean", by="g", entity=entity)
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
        assert len(records.numbering.start) - 1 == frame["person"].n_unique()


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


def test_weights_that_one_person_has_hide_the_group(frame):
    one = frame["person"] == frame["person"][0]
    heavy = frame.with_columns(weight=pl.when(one).then(1e9).otherwise(pl.col("weight")))
    region = heavy["region"][0]
    result = statistics.tabulate(heavy, "region", weights="weight", entity="person")
    assert result.frame is not None
    assert result.frame.filter(pl.col("region") == region)["n"].to_list() == [None]


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
        records = take(rows, ["region"], entity=entity, weights="weight").weighted()
        axis = group(records, "region", limits)
        weighing = weights_by_group(records, axis)
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
        gaps = take(known, ["region"], entity=entity, weights="weight")
        same = weights_by_group(gaps, group(gaps, "region", limits))
        assert _heavy(same, limits) == heavy
        names = {axis.values[at] for at in heavy}
        assert names >= {"insel", "süd"} & set(rows["region"])
        assert ("west" in names) is (entity is not None) or rows.height < ROWS
        assert len(heavy) < len(axis)
        total = statistics.tabulate(rows, "region", entity=entity, weights="weight").evidence["n"]
        assert total.tolist() == amounts.tolist()


@pytest.mark.parametrize("others", [1.0, None, 0.0])
def test_a_negative_weight_is_refused_among_many(frame, others):
    weight = pl.when(pl.int_range(pl.len()) == 7).then(-1e-300).otherwise(pl.lit(others))
    data = frame.with_columns(weight=weight)
    with pytest.raises(OutputCheckError, match="negative"):
        statistics.tabulate(data, "region", weights="weight")


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


def test_keys_get_dense_numbers():
    rng = np.random.default_rng(2)
    for keys in (
        rng.integers(-5, 90_000, ROWS),
        rng.integers(-(2**63), 2**63 - 1, ROWS // 2).repeat(2),
        np.arange(ROWS) * 2**40,
    ):
        entities = EntityNumbers.of(keys)
        who, many = entities.who, len(entities.start) - 1
        assert who.min() >= 0
        assert who.max() < many
        pairs = set(zip(keys.tolist(), who.tolist(), strict=True))
        assert len(pairs) == np.unique(keys).size == np.unique(who).size
        assert (np.diff(who[entities.order]) >= 0).all()
        assert entities.start[0] == 0
        assert entities.start[-1] == keys.size


def test_texts_are_coded_in_order(frame):
    column = frame["region"]
    values, codes = coded(column, "region")
    assert values == ["nord", "ost", "süd", "west"]
    back = [None if code < 0 else values[code] for code in codes.tolist()]
    assert back == column.to_list()


@for_all_rows(("longest", "many"), [(0, 5), (3, 5), (11, 9_000), (12, 5), (13, 5), (40, 9_000)])
def test_texts_of_any_length_are_coded(longest, many):
    rng = np.random.default_rng(longest)
    known = ["", "ä" * (longest // 2)]
    for at, size in enumerate(rng.integers(0, longest + 1, many).tolist()):
        # Texts of one beginning or of one end, short ones padded with real zeros too.
        known += [f"{at:0{longest}d}"[:size], "x" * (size - 4) + f"{at % 1000:03d}"]
        known += ["\0" * size, "x" * longest]
    known = [text for text in known if len(text.encode()) <= longest]
    column = pl.Series(known, dtype=pl.String)[rng.integers(0, len(known), ROWS)]
    column = pl.select(pl.when(pl.Series(rng.random(ROWS) < 0.9)).then(column)).to_series()
    columns = [column, column.slice(3), column.drop_nulls(), pl.concat([column, column[:99]])]
    for one in columns:
        values, codes = coded(one, "x")
        assert values == sorted(set(one) - {None})
        assert [None if code < 0 else values[code] for code in codes.tolist()] == one.to_list()


def test_percentiles_are_those_of_sorted_values():
    rng = np.random.default_rng(3)
    for values in (rng.normal(size=1001), rng.integers(0, 3, 500).astype(float), np.ones(7)):
        known, frame = np.sort(values), pl.DataFrame({"x": values})
        for share in (0.01, 0.25, 0.5, 0.9):
            shown = statistics.tabstat(frame, "x", statistics=f"p{round(100 * share)}").stored
            for number in shown.values():
                assert number == pytest.approx(percentile(known, share), rel=1e-6)


def test_exact_sums_of_groups_are_those_of_each_alone():
    rng = np.random.default_rng(4)
    values = rng.normal(size=ROWS) * 10.0 ** rng.integers(-200, 100, ROWS)
    codes = rng.integers(0, 9, ROWS)
    found = exact_sums(values, codes, 9)
    assert found.tolist() == [exact_sum(values[codes == at]) for at in range(9)]
    back = exact_sums(values[::-1], codes[::-1], 9)
    assert back.tolist() == found.tolist()


@pytest.mark.parametrize("lowest", [-1, 0])
def test_records_are_counted(lowest):
    codes = np.random.default_rng(6).integers(lowest, 70, ROWS)
    expected = np.bincount(codes[codes >= 0], minlength=75)
    assert (count_of(codes, 75) == expected).all()
    assert (count_of(codes[::2], 75) == np.bincount(codes[::2] + 1, minlength=76)[1:]).all()


def test_cases_are_counted_alike_with_few_and_with_many_groups():
    rng = np.random.default_rng(5)
    size = 60_000
    who, few = rng.integers(0, size // 3, size), rng.integers(-1, 70, size)
    many = rng.integers(-1, 5_000, size)
    for codes, groups in ((few, 70), (many, 5_000)):
        pairs = {pair for pair in zip(codes.tolist(), who.tolist(), strict=True) if pair[0] >= 0}
        expected = np.bincount([code for code, _ in pairs], minlength=groups)
        entities = EntityNumbers.of(who)
        assert (entities.cases(entities.gathered(codes), groups) == expected).all()


def test_few_that_differ_are_found_in_large_data():
    size = np.arange(ROWS) % 70
    for apart, rows in (([5], 2), ([5, 6, 7], 3)):
        odd = np.ones(ROWS)
        odd[apart] = [2.0, 3.0, 4.0][: len(apart)]
        known = pl.DataFrame({"odd": odd, "income": size * 1.5 + np.arange(ROWS) % 3})
        rules = {
            check.rule
            for check in regress(known, "income", "odd").checks
            if check.verdict is CheckVerdict.fail
        }
        assert ("minimum-cases" in rules) is (rows < 3)
