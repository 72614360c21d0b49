"""Small counts rounded as SmallCountRounding 1.2.5 does: 28 published cases, measures as good."""

from __future__ import annotations

import gzip
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.arrays import IntArray, starts
from discreet.errors import CountRoundingError
from discreet.protection.rounding.small_counts import InnerCells, rounded_small

#: Variable → coarser ones that stand in the same place of a published row.
COARSER = {"region": ("fylke", "kostragr"), "geo": ("eu",), "mnd": ("mnd2",)}
DATA = {"e6": "e6", "z2": "z2", "z2m": "z2m", "z3": "z3", "exPSD": "exPSD", "ex1": "example1"}
CASES = [f"r{number:02}" for number in range(1, 29)]
LONG = ("r12", "r13", "r14", "r15", "r22")
#: Cases in which the utility is lower by so much, while differences are smaller on average.
TRADED: dict[str, float] = dict.fromkeys(("r10", "r11"), 0.0087)


def read(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_csv(folder / f"{name}.csv.gz", infer_schema=False)


def case(folder: Path, name: str) -> tuple[InnerCells, IntArray, dict[str, Any]]:
    """Inner cells, the counts published of them, and what R made of these."""
    listed = json.loads(gzip.decompress((folder / "manifest.json.gz").read_bytes()))
    (about,) = [each for each in listed if each["id"] == name]
    inner, shown = read(folder, f"{name}_inner"), read(folder, f"{name}_publish")
    data = about["call"].partition("(")[2].partition(",")[0].partition("[")[0]
    frame = read(folder, f"data_{DATA.get(data, 'sosialFiktiv')}")
    variables = inner.columns[:-3]
    labels: list[dict[str, set[str]]] = []
    for variable in variables:
        also = [each for each in COARSER.get(variable, ()) if each in frame.columns]
        rows = frame.select(variable, *also).unique().rows()
        labels.append({row[0]: {"Total", *row} for row in rows})
    shown = shown.unique(variables, maintain_order=True)
    places = {row: at for at, row in enumerate(shown.select(variables).rows())}
    members = [
        sorted(
            places[row]
            for row in product(*(known[code] for known, code in zip(labels, codes, strict=True)))
            if row in places
        )
        for codes in inner.select(variables).rows()
    ]
    cells = InnerCells(
        count=inner["original"].cast(pl.Int64).to_numpy(),
        start=starts([len(each) for each in members]),
        member=np.array([each for row in members for each in row], dtype=np.int64),
        published=shown.height,
    )
    return cells, shown["original"].cast(pl.Int64).to_numpy(), about["metrics"]


def measures(truth: IntArray, rounded: IntArray) -> dict[str, float]:
    missed = rounded - truth
    distance = np.sqrt(((np.sqrt(truth) - np.sqrt(rounded)) ** 2).sum() / 2)
    return {
        "maxdiff": float(np.abs(missed).max()),
        "meanAbsDiff": float(np.abs(missed).mean()),
        "rootMeanSquare": float(np.sqrt((missed**2).mean())),
        "HDutility": float(1 - distance / np.sqrt(truth.sum())),
    }


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.exhaustive if n in LONG else ()) for n in CASES]
)
def test_the_measures_of_a_published_case(reference: Path, name: str) -> None:
    cells, truth, told = case(reference / "smallcountrounding", name)
    assert cells.sums(cells.count).tolist() == truth.tolist()
    found = rounded_small(cells, told["roundBase"], told["maxRound"])
    assert not (found % told["roundBase"])[found != cells.count].any()
    reached = measures(truth, cells.sums(found))
    for measure in ("maxdiff", "meanAbsDiff", "rootMeanSquare"):
        assert reached[measure] <= told[measure] + 1e-9, measure
    assert reached["HDutility"] >= told["HDutility"] - TRADED.get(name, 1e-9)


def test_utility_is_measured_as_published(reference: Path) -> None:
    for name in ("r01", "r13", "r26"):
        shown = read(reference / "smallcountrounding", f"{name}_publish")
        pair = [shown[each].cast(pl.Int64).to_numpy() for each in ("original", "rounded")]
        expected = {"r01": 0.911734, "r13": 0.976534, "r26": 0.985504}[name]
        assert measures(*pair)["HDutility"] == pytest.approx(expected, abs=1e-6)


@given(
    st.lists(st.integers(0, 12), min_size=12, max_size=12),
    st.sampled_from([3, 5, 10]),
)
def test_only_small_counts_change_and_totals_are_sums(counts: list[int], base: int) -> None:
    rows = [(f"{at % 3}", f"{at // 3}", n) for at, n in enumerate(counts)]
    frame = pl.DataFrame(rows, schema=["a", "b", "n"], orient="row")
    people = frame.select(pl.col("a", "b").repeat_by("n").explode()).drop_nulls()
    if not people.height:
        return
    safe = dc.round_counts(dc.tabulate(people, by=["a", "b"]), base, "small-counts")
    shown = {(a, b): safe.get(a=a, b=b) for a, b in people.unique().rows()}
    for a, b, n in rows:
        if n:
            assert shown[a, b] in ((0, base) if n < base else (n,))
    for a in {a for a, _ in shown}:
        assert safe.get(a=a) == sum(value for (own, _), value in shown.items() if own == a)
    assert safe.get("Total", "Total") == sum(shown.values())


def test_totals_of_different_inner_cells_are_refused() -> None:
    frame = pl.DataFrame({"a": ["1", "2", "1"], "b": ["1", "1", "2"], "c": ["1", "2", "2"]})
    tables = [dc.tabulate(frame, by=by) for by in (["a", "b"], ["a", "c"])]
    how = dc.protection.rounding.Rounding(base=3, method="small-counts")
    with pytest.raises(
        CountRoundingError, match="totals are sums of different interior cells and cannot be"
    ):
        dc.protection.rounding.round_linked(tables, how)
