"""Quantiles: functions of protected counts, withheld where few stand behind them."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import TableError
from discreet.publication import legend
from discreet.tables import CellStatus, Dimension, ProtectedTable, Provenance

BREAKS = [0, 300, 400, 500, 600, 800, 1000, 1500]
RENT = dc.Classification.from_intervals("rent", BREAKS)
BOUNDS = [*BREAKS, float("inf")]
PTABLE = dc.design_perturbation(max_noise=4, variance=2.25, forbidden=(1, 2))


def counts_of(rows: dict[str, list[int]], status: Any = None, **fields: Any) -> ProtectedTable:
    """A table of regions by classes of rent; -1 is a hidden cell."""
    region = dc.Classification.flat("region", list(rows))
    cells = np.array(list(rows.values()))
    places = [np.repeat(np.arange(1, len(rows) + 1), 8), np.tile(np.arange(1, 9), len(rows))]
    return ProtectedTable(
        dimensions=(Dimension(classifications=(region,)), Dimension(classifications=(RENT,))),
        index=tuple(each.astype(np.int32) for each in places),
        value=np.maximum(cells.ravel(), 0),
        status=np.where(cells.ravel() < 0, CellStatus.suppressed, 0).astype(np.int8),
        provenance=Provenance(version="0", method="cell-key"),
        **fields,
    )


def people(regions: int, each: int, seed: int) -> pl.DataFrame:
    """Flats with a rent, in regions of about `each`."""
    draw, number = np.random.default_rng(seed), regions * each
    return pl.DataFrame(
        {
            "region": draw.integers(0, regions, number).astype(str),
            "sex": draw.choice(["m", "w"], number),
            "rent": draw.lognormal(6.3, 0.4, number),
            "key": draw.integers(0, 10**15, number),
        }
    )


def protected(frame: pl.DataFrame, *by: str, where: str | None = None) -> ProtectedTable:
    return dc.perturb(dc.tabulate(frame, [*by, RENT], record_key="key", where=where), PTABLE)


def true_quantile(values: np.ndarray[Any, Any], share: float) -> float:
    return float(np.quantile(values, share, method="hazen"))


def test_a_quantile_lies_in_its_class_in_proportion() -> None:
    table = counts_of({"a": [10, 20, 40, 30, 0, 0, 0, 0]})
    found = dc.quantiles(table, "rent", [0.25, 0.5], decimals=1)
    assert found.get(region="a", figure="median") == 450.0
    assert found.get(region="a", figure="q25") == round(300 + 100 * 15 / 20, 1)
    assert [figure.titles["de"] for figure in found.figures] == ["25-%-Quantil", "Median"]
    assert "at least 10 protected counts" in found.notes[0].text()


def test_few_counts_hidden_classes_and_open_ones_have_signs() -> None:
    rows = {
        "few": [0, 4, 6, 9, 0, 0, 0, 0],
        "hidden": [10, 20, -1, 30, 20, 0, 0, 0],
        "open": [0, 0, 0, 0, 0, 5, 5, 40],
        "none": [0] * 8,
    }
    found = dc.quantiles(counts_of(rows), "rent", [0.5])
    states = dict(found.to_polars(complete=True).select("region", "status").rows())
    assert states == {
        "Total": "not_applicable",
        "few": "imprecise",
        "hidden": "suppressed",
        "open": "imprecise",
        "none": "not_applicable",
    }
    assert found.withheld is not None
    assert (found.withheld.low, found.withheld.high) == ([1500.0], [np.inf])
    assert ("≥ a", "in an open class, whose bound is shown") in [
        (sign.symbol, sign.meaning) for sign in legend(found)
    ]
    assert dc.quantiles(counts_of(rows), "rent", [0.5], minimum=9).get(region="few") == 492


def test_hidden_parts_of_classes_are_hidden_parts_of_quantiles() -> None:
    table = counts_of({"a": [10] * 8, "b": [10] * 8}, suppressed_parts=frozenset({(0, 0)}))
    found = dc.quantiles(table, "rent", [0.25, 0.5])
    assert set(found.to_polars(complete=True).filter(region="a")["status"]) == {"suppressed"}
    without = counts_of({"a": [10] * 8}, parts=frozenset({(0, 1), (1, 0)}))
    assert dc.quantiles(without, "rent").parts == frozenset({(1,)})


def test_noise_puts_unsure_quantiles_in_parentheses() -> None:
    table = counts_of({"a": [0, 300, 1, 0, 0, 0, 0, 300], "b": [20, 40, 90, 40, 20, 0, 0, 0]})
    found = dc.quantiles(table, "rent", deviation=lambda counts: np.where(counts > 0, 1.5, 0.0))
    assert [CellStatus(at).name for at in found.status] == ["bracketed", "published"]
    # The spread of the place in the class, by drawing the noise.
    counts = np.array([20, 40, 90, 40, 20, 0, 0, 0])
    draw = np.random.default_rng(5).normal(0, 1.5, (20_000, 8)) * (counts > 0)
    upto = (counts + draw).cumsum(axis=1)
    place = (upto[:, -1] / 2 - upto[:, 1]) / (upto[:, 2] - upto[:, 1])
    limit = float(100 * place.std() / (400 + 100 * place.mean()))  # of region b
    for above, state in ((limit * 1.05, "published"), (limit * 0.95, "bracketed")):
        found = dc.quantiles(
            table, "rent", deviation=lambda counts: np.where(counts > 0, 1.5, 0.0),
            bracket_above=above,
        )  # fmt: skip
        assert CellStatus(found.status[1]).name == state


def test_the_same_records_have_the_same_quantile_in_every_table() -> None:
    frame = people(5, 400, seed=1)
    wide = dc.quantiles(protected(frame, "region", "sex"), "rent", [0.1, 0.5])
    narrow = dc.quantiles(protected(frame, "region", where="sex == 'w'"), "rent", [0.1, 0.5])
    for region in map(str, range(5)):
        for name in ("q10", "median"):
            same = narrow.get(region=region, figure=name)
            assert wide.get(region=region, sex="w", figure=name) == same


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_values_within_classes_change_nothing(seed: int) -> None:
    """Every value may be any other of its class: no quantile tells which."""
    frame = people(4, 60, seed)
    lower = np.array(BREAKS)[np.searchsorted(BREAKS, frame["rent"].to_numpy(), side="right") - 1]
    shares = [at / 20 for at in range(1, 20)]
    tables = [
        dc.quantiles(protected(each, "region"), "rent", shares, minimum=1).to_polars()
        for each in (frame, frame.with_columns(rent=pl.Series(lower.astype(float))))
    ]
    assert tables[0].equals(tables[1])


def read_from_quantiles(found: ProtectedTable, region: str, total: int) -> list[float] | None:
    """The attacker: counts of classes, from all quantiles of a cell. Written apart.

    Where he knows of a class the quantiles at two shares, its density is the difference of the
    shares by that of the values; the bounds of classes are known.
    """
    rows = found.to_polars().filter(pl.col("region") == region, pl.col("value").is_not_null())
    points = [
        (float(name[1:]) / 100 if name != "median" else 0.5, value)
        for name, value in rows.select("figure", "value").rows()
    ]
    counts = []
    for low, high in pairwise(BREAKS):
        inside = [(share, value) for share, value in points if low < value < high]
        if len(inside) < 2:
            return None
        (first, below), (last, above) = inside[0], inside[-1]
        counts.append(total * (last - first) / (above - below) * (high - low))
    return counts


def test_all_quantiles_of_many_cells_tell_no_more_than_protected_counts() -> None:
    frame = people(60, 2000, seed=2)
    counted = dc.tabulate(frame, ["region", RENT], record_key="key")
    truth = {
        row[:2]: row[2] for row in counted.to_polars().select("region", "rent", "count").rows()
    }
    table = dc.perturb(counted, PTABLE)
    shares = [at / 100 for at in range(1, 100)]
    found = dc.quantiles(table, "rent", shares, decimals=9)
    hits = printed = cells = 0
    for region in map(str, range(60)):
        rows = [table.get(region=region, rent=code) or 0 for code in RENT.leaves]
        read = read_from_quantiles(found, region, int(sum(rows)))
        assert read is not None
        # He finds the protected counts, and nothing else: not the true ones behind them.
        assert np.allclose(read, rows[:-1], atol=1e-3)
        true = [truth.get((region, code), 0) for code in RENT.leaves[:-1]]
        hits += sum(round(one) == other for one, other in zip(read, true, strict=True))
        printed += sum(one == other for one, other in zip(rows, true, strict=False))
        cells += len(true)
    assert hits == printed < 0.6 * cells


def test_one_or_two_persons_have_no_quantile() -> None:
    frame = people(3000, 1, seed=4)
    found = dc.quantiles(protected(frame, "region"), "rent", [0.1, 0.5, 0.9])
    shown = set(found.to_polars().filter(pl.col("value").is_not_null())["region"])
    small = frame.group_by("region").len().filter(pl.col("len") <= 2)
    assert len(small) > 1500
    assert shown == {"Total"}
    assert found.withheld is None


@pytest.mark.parametrize(("size", "most"), [(100, 0.15), (1000, 0.06)])
def test_true_error_is_a_small_part_of_a_class(size: int, most: float) -> None:
    frame = people(40, size, seed=6)
    found = dc.quantiles(protected(frame, "region"), "rent", [0.25, 0.5, 0.75], decimals=3)
    errors = []
    for region in map(str, range(40)):
        rents = frame.filter(region=region)["rent"].to_numpy()
        for name, share in (("q25", 0.25), ("median", 0.5), ("q75", 0.75)):
            value = found.get(region=region, figure=name)
            assert value is not None
            at = int(np.searchsorted(BOUNDS, value, side="right"))
            true = true_quantile(rents, share)
            errors.append(abs(value - true) / (BOUNDS[at] - BOUNDS[at - 1]))
    assert np.median(errors) < most


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"of": "age"}, "of"),
        ({"of": "region"}, "of"),
        ({"breaks": [0, 1, 2]}, "breaks"),
        ({"breaks": [0, 3, 2, 4, 5, 6, 7, 8]}, "breaks"),
        ({"shares": [0.5, 0.5]}, "shares"),
        ({"shares": 1.0}, "shares"),
        ({"minimum": 0}, "minimum"),
        ({"fewest": 3}, "fewest"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], where: str) -> None:
    with pytest.raises(TableError) as caught:
        dc.quantiles(counts_of({"a": [9] * 8}), **{"of": "rent", **change})
    assert caught.value.problems[0].where == where
