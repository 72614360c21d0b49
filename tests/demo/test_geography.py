"""The fictional country: levels, codes, sizes, land."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.demo.geography import LEAST_PERSONS, Geography
from discreet.demo.outlines import outlines_of
from discreet.errors import MicrodataError


@pytest.fixture(scope="module")
def full() -> Geography:
    return Geography.of(83_000_000, seed=2026)


def test_the_full_country_has_16_states_400_districts_11000_municipalities(full):
    assert [len(full.states), len(full.districts), len(full.municipalities)] == [16, 400, 11_000]
    assert full.population.sum() == 83_000_000


def test_many_places_are_tiny_and_few_are_big(full):
    assert 0.15 < (full.population < 500).mean() < 0.35
    assert full.population.max() > 1_000_000
    assert (full.population > 100_000).mean() < 0.02


def test_codes_carry_the_codes_above_as_prefixes(full):
    assert full.states[0] == "01"
    assert {len(code) for code in full.districts} == {5}
    assert {len(code) for code in full.municipalities} == {8}
    for at in range(0, 11_000, 97):
        district = full.municipality_district[at]
        assert full.municipalities[at][:5] == full.districts[district]
        assert full.districts[district][:2] == full.states[full.district_state[district]]
    assert len(set(full.municipalities)) == 11_000
    assert list(full.municipalities) == sorted(full.municipalities)


def test_names_are_different(full):
    assert len(set(full.municipality_names) | set(full.state_names)) == 11_016


def test_settlements_share_no_land(full):
    pitch = full.settlement_extent.max() + 2
    corners = {*zip(full.settlement_north.tolist(), full.settlement_east.tolist(), strict=True)}
    assert len(corners) == len(full.settlement_north)
    assert not ((full.settlement_north - 10_000) % pitch).any()
    assert (full.settlement_north + full.settlement_extent).max() < 100_000  # five digits
    assert (full.settlement_east + full.settlement_extent).max() < 100_000


def test_blocks_are_of_limited_size(full):
    assert max(block.persons for block in full.blocks) <= 100_000


@settings(max_examples=8)
@given(st.integers(LEAST_PERSONS, 400_000), st.integers(0, 2**64 - 1))
def test_every_map_adds_up(persons, seed):
    place = Geography.of(persons, seed)
    assert place.population.sum() == persons
    assert place.population.min() >= 1
    by_settlement = np.bincount(place.settlement_municipality, place.settlement_population)
    assert (by_settlement == place.population).all()
    assert sum(block.persons for block in place.blocks) == persons
    assert [block.first for block in place.blocks[1:]] == [b.last for b in place.blocks[:-1]]
    assert set(place.municipality_district.tolist()) == set(range(len(place.districts)))
    assert set(place.district_state.tolist()) == set(range(len(place.states)))


def test_another_seed_is_another_country():
    assert Geography.of(5_000, 1).municipality_names != Geography.of(5_000, 2).municipality_names


@pytest.mark.parametrize("persons", [-1, 0, 99, 10**9])
def test_sizes_out_of_range_are_refused(persons):
    with pytest.raises(MicrodataError) as caught:
        Geography.of(persons, 1)
    assert caught.value.code == "demo-size"


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_out_of_range_are_refused(seed):
    with pytest.raises(MicrodataError) as caught:
        Geography.of(1_000, seed)
    assert caught.value.code == "demo-seed"


@pytest.mark.parametrize(("persons", "seed"), [(1_000, 1), (20_000, 2026), (400_000, 5)])
def test_borders_leave_no_gap_and_no_overlap(persons, seed):
    """Every edge of a municipality is that of one neighbour the other way round, or the coast.

    What is left when these are taken off is the border of the country, on every level the same.
    """
    place = Geography.of(persons, seed)
    outlines = outlines_of(place)
    coasts = []
    for codes in (place.states, place.districts, place.municipalities):
        own = outlines.select(np.array([outlines.numbers[code] for code in codes]))
        points = [tuple(point) for point in own.points.tolist()]
        inner = set(range(len(points) - 1)) - set((own.rings[1:] - 1).tolist())
        edges = {(points[k], points[k + 1]) for k in inner}
        assert len(edges) == len(inner)
        coasts.append({edge for edge in edges if edge[::-1] not in edges})
    assert coasts[0] == coasts[1] == coasts[2]
