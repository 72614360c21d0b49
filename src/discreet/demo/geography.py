"""The map of the fictional country: regions, settlements and the blocks work is cut into.

In: a number of persons and a seed. Out: a `Geography` with the population of every place,
whose invented name may be like a real one by chance. It is made in one go, before any person
is; blocks are then filled one by one, in any order. Nothing here is confidential.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import IntArray
from discreet.demo.draws import Stream, apportion
from discreet.errors import MicrodataError

_FIRST = """
    Ald Bel Bor Bra Cal Cor Dal Der Dro Eld Far Fen Gal Gor Hal Har Hol Ill Jor Kal Kel Kor Lam
    Lor Lun Mar Mel Mor Nal Nor Oll Orm Pel Por Quil Ras Rov Sal Ser Sol Tal Tar Tor Ul Val Ver
    Vol Wel Wil Yar Zel
"""
_MIDDLE = "a ada ami ane ari avo e edo elo emi eri evo i ila imo ine o oda olu ona u uli una y"
_LAST = """
    bar bek dan dor dra fall gard gen grav holm kai land lin lo mere mira mond nau nes nor quay
    ra rin ros sund tal thal vall var vik wyn zell
"""


def place_names(stream: Stream, number: int) -> list[str]:
    """Different names, in random order.

    >>> names = place_names(Stream(2026, 0), 500)
    >>> len(set(names)), all(name.isalpha() for name in names)
    (500, True)
    """
    # Parts may join to the same name in two ways: draw from the set of all names.
    every = sorted(
        {a + b + c for a in _FIRST.split() for b in _MIDDLE.split() for c in _LAST.split()}
    )
    chosen = stream.order(len(every))[:number]
    return np.array(every)[chosen].tolist()  # type: ignore[no-any-return]


LEAST_PERSONS = 100
MOST_PERSONS = 200_000_000

#: Kinds of settlement; behaviour differs between them.
VILLAGE, TOWN, CITY = 0, 1, 2

_FULL_SIZE = 83_000_000
_FULL = {"states": 16, "districts": 400, "municipalities": 11_000}
_SHRINK = {"states": 0.2, "districts": 0.4, "municipalities": 0.6}
_SIZE_SPREAD = 1.73  # log-normal: mean 4.5 times the median, a quarter of places tiny
_LEAST_INHABITANTS = 5
_CITY_DISTRICTS = 0.25
_SETTLEMENT_PERSONS = 40_000
_BLOCK_PERSONS = 100_000
_MAP_STREAM = 2**64 - 1
_NORTH, _EAST = 10_000, 20_000  # invented origin of the grid, in units of 100 m


@dataclass(frozen=True, slots=True)
class SettlementBlock:
    """A run of settlements that is generated in one piece."""

    number: int  # number of the block
    first: int  # first settlement
    last: int  # first settlement of the next block
    before: int  # number of persons in all blocks before it
    persons: int  # number of persons in it


@dataclass(frozen=True, kw_only=True, eq=False)
class Geography:
    """Regions on three levels below the country, and settlements within municipalities.

    Municipalities stand in order of their codes; settlements in order of theirs.
    """

    persons: int
    seed: int
    states: tuple[str, ...]
    districts: tuple[str, ...]
    municipalities: tuple[str, ...]
    state_names: tuple[str, ...]
    municipality_names: tuple[str, ...]
    district_state: IntArray
    municipality_district: IntArray
    population: IntArray
    settlement_municipality: IntArray
    settlement_population: IntArray
    settlement_kind: IntArray
    settlement_extent: IntArray
    settlement_north: IntArray
    settlement_east: IntArray
    blocks: tuple[SettlementBlock, ...]

    @classmethod
    def of(cls, persons: int, seed: int) -> Geography:
        """The map for a number of persons.

        >>> country = Geography.of(20_000, seed=2026)
        >>> len(country.states), len(country.districts), len(country.municipalities)
        (3, 14, 74)
        >>> int(country.population.sum())
        20000
        """
        _check(persons, seed)
        stream = Stream(seed, _MAP_STREAM)
        number = {level: _number(level, persons) for level in _FULL}
        sizes = _sizes(number["municipalities"], persons)
        district_state = _grouped(stream, number["districts"], number["states"])
        district = _districts(stream, sizes, number["districts"])
        order = np.lexsort((stream.words(len(sizes)), district))
        population, district = sizes[order], district[order]
        names = place_names(stream, number["states"] + number["municipalities"])
        states = tuple(f"{k + 1:02d}" for k in range(number["states"]))
        districts = _numbered(states, district_state)
        return cls(
            persons=persons,
            seed=seed,
            states=states,
            districts=districts,
            municipalities=_numbered(districts, district),
            state_names=tuple(f"{name}ia" for name in names[: number["states"]]),
            municipality_names=tuple(names[number["states"] :]),
            district_state=district_state,
            municipality_district=district,
            population=population,
            **_settlements(population),
        )

    @property
    def municipality_state(self) -> IntArray:
        """The state of each municipality."""
        return self.district_state[self.municipality_district]


def _check(persons: int, seed: int) -> None:
    if not LEAST_PERSONS <= persons <= MOST_PERSONS:
        message = f"the number of persons must be {LEAST_PERSONS:,} to {MOST_PERSONS:,}"
        hint = "83,000,000 is the full size; 20,000 makes a quick demonstration"
        raise MicrodataError(message, code="demo-size", where="persons", hint=hint)
    if not 0 <= seed < 2**64:
        message = "the seed must be a whole number from 0 to 2^64-1"
        raise MicrodataError(message, code="demo-seed", where="seed")


def _number(level: str, persons: int) -> int:
    share = float(min(1.0, persons / _FULL_SIZE) ** _SHRINK[level])
    return max(2, round(_FULL[level] * share))


def _sizes(number: int, persons: int) -> IntArray:
    """Sizes of municipalities, smallest first: few big cities, many small places."""
    normal = NormalDist()
    points = np.array([normal.inv_cdf((k + 0.5) / number) for k in range(number)])
    spare = persons - number * _LEAST_INHABITANTS
    return _LEAST_INHABITANTS + apportion(np.exp(_SIZE_SPREAD * points), spare)


def _grouped(stream: Stream, members: int, groups: int) -> IntArray:
    """The group of each member, in order; every group has one, some have many."""
    weights = np.cumsum(0.3 + stream.unit(groups) ** 2)
    drawn = np.searchsorted(weights, stream.unit(members - groups) * weights[-1], side="right")
    return np.sort(np.concatenate([np.arange(groups), drawn]))


def _districts(stream: Stream, sizes: IntArray, number: int) -> IntArray:
    """The district of each municipality: the biggest are districts of their own."""
    cities = round(number * _CITY_DISTRICTS)
    rest = _grouped(stream, len(sizes) - cities, number - cities)
    shuffled = rest[stream.order(len(rest))]
    place = stream.order(number)  # city districts stand anywhere among the others
    rank = np.concatenate([shuffled, np.arange(number - cities, number)])
    return np.asarray(place[rank], dtype=np.int64)


def _numbered(groups: tuple[str, ...], member_group: IntArray) -> tuple[str, ...]:
    """Codes of members: the code of their group and a running number of three digits."""
    first = np.searchsorted(member_group, np.arange(len(groups)))
    running = np.arange(len(member_group)) - first[member_group] + 1
    return tuple(f"{groups[g]}{k:03d}" for g, k in zip(member_group, running, strict=True))


def _settlements(population: IntArray) -> dict[str, Any]:
    """Municipalities cut into settlements of limited size, each on its own piece of land."""
    parts = -(-population // _SETTLEMENT_PERSONS)
    of = np.repeat(np.arange(len(population)), parts)
    part = np.arange(len(of)) - np.repeat(np.cumsum(parts) - parts, parts)
    share, more = np.divmod(population, parts)
    size = share[of] + (part < more[of])
    mean = population.mean()
    kind = np.where(population > 5 * mean, CITY, np.where(population > mean, TOWN, VILLAGE))[of]
    crowding = np.array([9, 11, 14])[kind]
    extent = np.sqrt(size / crowding).astype(np.int64) + 1
    north, east = _on_map(len(of), int(extent.max()) + 2)
    return {
        "settlement_municipality": of,
        "settlement_population": size,
        "settlement_kind": kind,
        "settlement_extent": extent,
        "settlement_north": north,
        "settlement_east": east,
        "blocks": _blocks(size),
    }


def _on_map(number: int, pitch: int) -> tuple[IntArray, IntArray]:
    """South-west corners on a square lattice, along a curve that keeps neighbours together."""
    at = np.arange(number)
    row = np.zeros(number, dtype=np.int64)
    column = np.zeros(number, dtype=np.int64)
    for bit in range(16):
        column |= ((at >> (2 * bit)) & 1) << bit
        row |= ((at >> (2 * bit + 1)) & 1) << bit
    return _NORTH + row * pitch, _EAST + column * pitch


def _blocks(size: npt.NDArray[np.int64]) -> tuple[SettlementBlock, ...]:
    blocks: list[SettlementBlock] = []
    first = before = persons = 0
    for at, more in enumerate(size.tolist()):
        if persons and persons + more > _BLOCK_PERSONS:
            blocks.append(SettlementBlock(len(blocks), first, at, before, persons))
            first, before, persons = at, before + persons, 0
        persons += more
    blocks.append(SettlementBlock(len(blocks), first, len(size), before, persons))
    return tuple(blocks)
