"""Controlled rounding: the optima of the lecture table, what is infeasible, what is unbiased."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import CountRoundingError
from discreet.protection.rounding import Rounding, audit_rounding, round_linked
from discreet.protection.rounding.small_counts import JointCounts, nearest_multiples

BY = ["school", "religion"]


def cube(counts: np.ndarray) -> dc.Table:
    """A table with all of its margins."""
    whole = counts
    for axis in range(counts.ndim):
        whole = np.concatenate([whole.sum(axis=axis, keepdims=True), whole], axis=axis)
    codes = [["Total", *map(str, range(1, size))] for size in whole.shape]
    rows = [(*place, int(n)) for place, n in zip(product(*codes), whole.ravel(), strict=True)]
    names = [f"v{axis}" for axis in range(counts.ndim)]
    frame = pl.DataFrame(rows, schema=[*names, "n"], orient="row").filter(pl.col("n") > 0)
    return dc.Table.from_cells(frame, by=names, count="n")


def shown(safe: dc.ProtectedTable, table: dc.Table) -> np.ndarray:
    """The figures beside the true cells."""
    places = table.to_polars().drop("count", "cell_key", strict=False).rows()
    return np.array([safe.get(*codes) for codes in places])


def additive(safe: dc.ProtectedTable, table: dc.Table) -> bool:
    """Whether every total is the sum of its parts, as published."""
    linked = JointCounts.of([table])
    value = np.zeros(len(linked.count), dtype=np.int64)
    value[linked.cells[0]] = shown(safe, table)
    return not linked.relations.residuals(value).any()


@pytest.mark.parametrize(("base", "total", "most"), [(3, 28, 2), (5, 50, 3), (10, 100, 8)])
def test_the_optima_of_the_lecture_table(reference: Path, base: int, total: int, most: int) -> None:
    cells = pl.read_csv(reference / "lecture" / "religion_by_school.csv")
    table = dc.Table.from_cells(cells, by=BY, count="count")
    safe = dc.round_counts(table, base, "controlled")
    missed = np.abs(shown(safe, table) - table.count)
    assert int(missed.sum()) == total  # the optimum is unique, the pattern is not
    assert int(missed.max()) <= max(most, base - 1)
    assert (shown(safe, table) % base == 0).all()
    assert additive(safe, table)
    how = Rounding(base=base, method="controlled")
    assert audit_rounding([safe], [table], how).safe
    kept = table.count % base == 0
    assert (shown(safe, table)[kept] == table.count[kept]).all()


def test_the_smallest_table_without_a_rounding_takes_a_step() -> None:
    table = cube(np.array([[[1, 1], [1, 1]], [[0, 1], [1, 0]]]))
    linked = JointCounts.of([table])
    assert nearest_multiples(linked.relations, linked.count, 2, 0) is None
    with pytest.raises(CountRoundingError, match="within 0 steps"):
        dc.round_counts(table, 2, "controlled", steps=0)
    safe = dc.round_counts(table, 2, "controlled")
    assert additive(safe, table)
    assert int(np.abs(shown(safe, table) - table.count).max()) == 2


@given(st.lists(st.integers(0, 30), min_size=12, max_size=12), st.integers(2, 12))
def test_two_way_tables_are_always_rounded_next_to_the_truth(counts: list[int], base: int) -> None:
    if not any(counts):
        return
    table = cube(np.array(counts).reshape(3, 4))
    safe = dc.round_counts(table, base, "controlled", steps=0)
    value = shown(safe, table)
    assert additive(safe, table)
    assert (value % base == 0).all()
    assert (np.abs(value - table.count) < base).all()


def test_two_variables_with_levels_may_have_no_rounding() -> None:
    """Subtotals of both variables: no network, unlike subtotals of one."""
    counts = np.array([[2, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 1], [1, 1, 0, 1]])
    codes = ["11", "12", "21", "22"]
    places = [
        place for place, n in zip(product(codes, codes), counts.flat, strict=True) for _ in range(n)
    ]
    people = pl.DataFrame(places, schema=["a", "b"], orient="row")
    a, b = (
        dc.Classification.from_parents(name, {"1": None, "2": None} | {at: at[0] for at in codes})
        for name in "ab"
    )
    table = dc.tabulate(people, by=[a, b])
    with pytest.raises(CountRoundingError, match="within 0 steps"):
        dc.round_counts(table, 2, "controlled", steps=0)
    assert additive(dc.round_counts(table, 2, "controlled"), table)
    one = dc.tabulate(people, by=[a, "b"])
    assert additive(dc.round_counts(one, 2, "controlled", steps=0), one)


def test_tables_that_share_cells_share_figures_and_hierarchies_add_up() -> None:
    draw = np.random.default_rng(2)
    people = pl.DataFrame(
        {
            "area": draw.choice(["11", "12", "21", "22", "23"], 700),
            "sex": draw.choice(["m", "w"], 700),
            "age": draw.integers(0, 30, 700),
        }
    )
    tree = {code: code[0] for code in ("11", "12", "21", "22", "23")}
    area = dc.Classification.from_parents(
        "area", {"Total": None, "1": "Total", "2": "Total"} | tree
    )
    tables = [dc.tabulate(people, by=by) for by in ([area, "sex"], [area, "age"], ["sex", "age"])]
    how = Rounding(base=5, method="controlled")
    safe = round_linked(tables, how)
    for table, one in zip(tables, safe, strict=True):
        assert additive(one, table)
    assert safe[0].get("1", "Total") == safe[1].get("1", "Total")
    assert safe[0].get("Total", "m") == safe[2].get("m", "Total")
    assert audit_rounding(safe, tables, how).safe


@pytest.mark.exhaustive
def test_random_controlled_rounding_is_right_on_average(reference: Path) -> None:
    cells = pl.read_csv(reference / "lecture" / "religion_by_school.csv")
    table = dc.Table.from_cells(cells, by=BY, count="count")
    number, total = 300, np.zeros(len(table))
    for seed in range(number):
        how = Rounding(base=5, method="controlled", unbiased=True, seed=seed)
        (safe,) = round_linked([table], how)
        value = shown(safe, table)
        assert (np.abs(value - table.count) < 5).all()
        total += value
        if seed < 5:
            assert additive(safe, table)
    rest = table.count % 5
    error = np.sqrt(rest * (5 - rest) / number)
    assert (np.abs(total / number - table.count) <= 4 * error + 1e-9).all()


def test_cell_keys_stand_for_a_seed_and_what_is_no_network_is_refused() -> None:
    draw = np.random.default_rng(4)
    people = pl.DataFrame(
        {
            "a": draw.choice(["1", "2", "3"], 200),
            "b": draw.choice(["1", "2"], 200),
            "c": draw.choice(["1", "2"], 200),
            "record_key": draw.integers(0, 10**15, 200),
        }
    )
    table = dc.tabulate(people, by=["a", "b"], record_key="record_key")
    options = {"method": "controlled", "unbiased": True}
    first = dc.round_counts(table, 5, **options)
    turned = dc.tabulate(people.reverse(), by=["a", "b"], record_key="record_key")
    assert (
        shown(first, table).tolist() == shown(dc.round_counts(turned, 5, **options), table).tolist()
    )
    with pytest.raises(CountRoundingError, match="one or two variables"):
        dc.round_counts(dc.tabulate(people, by=["a", "b", "c"]), 5, seed=1, **options)
    with pytest.raises(CountRoundingError, match="needs cell keys or a seed"):
        dc.round_counts(dc.tabulate(people, by=["a", "b"]), 5, **options)


def test_three_variables_are_searched_slice_by_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(7)
    table = cube(draw.negative_binomial(1, 0.1, (5, 6, 7)))
    best = np.abs(shown(dc.round_counts(table, 5, "controlled"), table) - table.count)
    monkeypatch.setattr("discreet.protection.rounding.small_counts._SEARCHED", 100)
    safe = dc.round_counts(table, 5, "controlled")
    missed = np.abs(shown(safe, table) - table.count)
    assert additive(safe, table)
    assert int(missed.max()) < 5
    assert int(best.max()) < 5
    assert missed.sum() <= 1.25 * best.sum()


def test_large_tables_are_rounded_from_their_inner_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.protection.rounding.small_counts.MOST_SOLVED", 100)
    draw = np.random.default_rng(9)
    table = cube(draw.negative_binomial(1, 0.1, (8, 9, 10)))
    safe = dc.round_counts(table, 5, "controlled")
    value = shown(safe, table)
    missed = np.abs(value - table.count)
    totals = pl.any_horizontal(pl.col("v0", "v1", "v2") == "Total")
    inner = ~table.to_polars().select(totals.alias("total"))["total"].to_numpy()
    assert additive(safe, table)
    assert (value % 5 == 0).all()
    assert (missed[inner] < 5).all()
    assert missed[~inner].mean() < 3


@pytest.mark.parametrize("method", ["controlled", "small-counts"])
def test_margins_of_many_small_counts_stay_near(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """The nearest multiple of most cells is 0: sums of these are far off, and stay so."""
    monkeypatch.setattr("discreet.protection.rounding.small_counts.MOST_SOLVED", 0)
    small = "discreet.protection.rounding.small_counts"
    for name, limit in (("_WORK", 0), ("_LOOKS", 1), ("_PAIRED", 50)):  # as in a million cells
        monkeypatch.setattr(f"{small}.{name}", limit)
    table = cube(np.random.default_rng(1).poisson(1, (8, 8, 8)))
    value = shown(dc.round_counts(table, 5, method), table)
    assert value.tolist() == shown(dc.round_counts(table, 5, method), table).tolist()
    missed = np.abs(value - table.count)
    level = (np.stack(table.index) > 0).sum(axis=0)
    assert additive(dc.round_counts(table, 5, method), table)
    assert missed[level == 0].max() <= 10
    assert missed[level == 1].mean() < 5
    assert missed[level == 3].max() < 5


def test_tables_that_contradict_each_other_are_refused() -> None:
    frame = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [9, 4, 4]})
    table = dc.Table.from_cells(frame, by=["sex"], count="n")
    with pytest.raises(CountRoundingError, match="do not add up to the total"):
        dc.round_counts(table, 5, "controlled")
    other = dc.Table.from_cells(frame.with_columns(n=pl.Series([8, 4, 4])), by=["sex"], count="n")
    with pytest.raises(CountRoundingError, match="different values"):
        round_linked([other, table], Rounding(base=5, method="controlled"))
