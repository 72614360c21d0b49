"""Margins hold, give no parameter away, and stand beside each count."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DiscreetError
from discreet.publication import CountMargin, read_exact, write
from discreet.publication.examples import census_example
from discreet.tables import CellStatus


@st.composite
def noise_tables(draw: st.DrawFn) -> dc.PerturbationTable:
    """Tables of random noise; small counts stay non-negative."""
    rows = {0: {0: 1.0}}
    for count in range(1, draw(st.integers(2, 6))):
        noise = draw(st.lists(st.integers(-count, 40), min_size=1, max_size=6, unique=True))
        weights = draw(st.lists(st.integers(1, 50), min_size=len(noise), max_size=len(noise)))
        rows[count] = {n: w / sum(weights) for n, w in zip(noise, weights, strict=True)}
    return dc.PerturbationTable.from_rows(rows)


@given(noise_tables())
def test_95_of_100_keys_change_a_count_by_no_more(ptable):
    margin = ptable.margin()
    keys = np.arange(2000, dtype=np.int64) * 10**15 // 2000
    for count in range(1, 8):
        changed = np.abs(ptable.lookup(np.full(2000, count), keys, grid=10**15))
        assert (changed <= margin).mean() >= 0.949
    assert ptable.margin(round_to=20) >= margin


def test_tables_of_other_noise_share_a_margin():
    """A reader of the margin cannot tell 3 from 5, nor where the noise ends."""
    rows = [{-width: 0.2, 0: 0.6, width: 0.2} for width in (3, 4, 5)]
    made = [
        dc.PerturbationTable.from_rows(
            {0: {0: 1}, **{count: {0: 1} for count in range(1, 6)}, 6: row}
        )
        for row in rows
    ]
    assert {ptable.margin() for ptable in made} == {5}


def test_noise_of_zeros_counts_for_the_margin():
    rows = {0: {0: 0.5, 8: 0.5}, 1: {-1: 0.5, 1: 0.5}}
    assert dc.PerturbationTable.from_rows(rows, zeros=True).margin() == 10


def test_ranges_of_derived_figures_hold():
    """Independent noise of the margin: shares, totals, differences and ranks, 20,000 times."""
    generator = np.random.default_rng(1)
    noise = generator.choice([-4, -2, 0, 2, 4], p=[0.02, 0.25, 0.46, 0.25, 0.02], size=(20_000, 3))
    margin, true = CountMargin(4), np.array([60, 64, 400])
    part, other, whole = (true + noise).T.tolist()
    held = {"share": 0, "total": 0, "difference": 0, "rate": 0, "ranks": 0}
    for a, b, c in zip(part, other, whole, strict=True):
        ranges = {
            "share": (margin.share(a, c), 60 / 400),
            "total": (margin.total([a, b, c]), 524),
            "difference": (margin.difference(a, b), -4),
            "rate": (margin.rate(a, c), 150),
        }
        for name, ((low, high), figure) in ranges.items():
            held[name] += low <= figure <= high
        ranks = zip(margin.ranks([a, b, c]), (3, 2, 1), strict=True)
        held["ranks"] += all(best <= rank <= worst for (best, worst), rank in ranks)
    assert {name: times >= 19_000 for name, times in held.items()} == dict.fromkeys(held, True)


def test_files_for_programs_have_the_interval_of_each_count(tmp_path):
    table = dataclasses.replace(census_example(), margin=5)
    csv = pl.read_csv(write(table, tmp_path / "t.csv"))
    parquet = pl.read_parquet(write(table, tmp_path / "t.parquet"))
    cells = json.loads(write(table, tmp_path / "t.json").read_text())["cells"]
    for low, high, value, status in zip(
        csv["low"], csv["high"], csv["value"], csv["status"], strict=True
    ):
        if status == "suppressed":
            assert (low, high) == (None, None)
        else:  # from what is published, and from nothing else
            within = 0 if status == CellStatus.official.name else 5
            assert (low, high) == (max(0, value - within), value + within)
    for name in ("low", "high"):
        assert parquet[name].to_list() == csv[name].to_list() == cells[name]
    assert read_exact(write(table, tmp_path / "t.exact.parquet")).margin == 5
    assert "low" not in pl.read_csv(write(census_example(), tmp_path / "u.csv")).columns


def test_intervals_of_cells_and_totals_together_determine_no_count():
    """Everyone can subtract intervals of parts from those of totals: nothing becomes known."""
    generator = np.random.default_rng(7)
    people = pl.DataFrame(
        {
            "place": generator.integers(0, 300, 4_000).astype(str),
            "sex": generator.choice(["m", "w"], 4_000),
            "record_key": generator.integers(0, 10**15, 4_000),
        }
    )
    table = dc.tabulate(people, ["place", "sex"], record_key="record_key")
    ptable = dc.design_perturbation(max_noise=5, variance=2, forbidden=[1, 2])
    shown, margin = dc.perturb(table, ptable), CountMargin(ptable.margin())
    true = people.group_by("place", "sex").len()
    narrowed, wrong = [], 0
    for place, sex, count in true.iter_rows():
        other = "w" if sex == "m" else "m"
        low, high = margin.count(shown.get(place, sex))
        least, most = margin.count(shown.get(place, "Total"))
        first, last = margin.count(shown.get(place, other))
        low, high = max(low, least - last), min(high, most - first)
        narrowed.append(high - low)
        wrong += not low <= count <= high
    assert len(narrowed) > 500
    assert min(narrowed) >= margin.within  # five counts or more remain possible
    assert wrong / len(narrowed) < 0.05


@pytest.mark.parametrize("within", [-1, 2.5, True, "5"])
def test_margins_are_whole_numbers(within):
    with pytest.raises(DiscreetError, match="whole number"):
        CountMargin(within)
