"""Dwellings and buildings of one block.

In: the households of a block and its random bits. Out: arrays with one entry per
dwelling and per building; attributes are positions in the lists of `discreet.demo.codes`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.demo.chances import Chances
from discreet.demo.codes import TENURE, codes_of
from discreet.demo.draws import AnyArray, IntArray, Stream
from discreet.demo.geography import Geography
from discreet.demo.population import Households

__all__ = ["NO_RENT", "Buildings", "Dwellings", "build", "furnish"]

#: What stands for dwellings that are not rented out; becomes a missing value.
NO_RENT = -1

_OWNED, _RENTED, _VACANT = range(len(codes_of(TENURE)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Buildings:
    """One entry per building, in order of settlement."""

    settlement: IntArray
    dwellings: IntArray
    kind: AnyArray
    construction: AnyArray
    north: IntArray
    east: IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Dwellings:
    """One entry per dwelling, building by building; `of_household` points into them."""

    building: IntArray
    settlement: IntArray
    tenure: AnyArray
    area: IntArray
    rent: IntArray
    of_household: IntArray


def build(
    stream: Stream, chances: Chances, homes: Households, place: Geography, first: int, last: int
) -> tuple[Buildings, IntArray, AnyArray]:
    """Buildings with room for all households and some vacant dwellings.

    Returns:
        The buildings, the dwelling of each household, the settlement of each dwelling.
    """
    kind = place.settlement_kind[first:last]
    vacant = stream.draw(homes.number) < chances.vacant[kind[homes.settlement]]
    of_household = np.arange(homes.number) + np.cumsum(vacant)
    settlement = np.repeat(homes.settlement, 1 + vacant)
    starts, size = _cut(stream, chances, settlement, kind)
    where = settlement[starts]
    number = len(starts)
    large = np.where(size > 2, 2, size - 1)
    north, east = _cells(stream, place, first + where)
    buildings = Buildings(
        settlement=where,
        dwellings=size,
        kind=chances.building_type.pick(stream.draw(number), large),
        construction=chances.construction.pick(stream.draw(number), kind[where]),
        north=north,
        east=east,
    )
    return buildings, of_household, settlement


def _cut(
    stream: Stream, chances: Chances, settlement: IntArray, kind: IntArray
) -> tuple[IntArray, IntArray]:
    """First dwelling and number of dwellings of each building; none spans two settlements."""
    dwellings = len(settlement)
    each = np.bincount(settlement, minlength=len(kind))
    before = np.cumsum(each) - each
    size = chances.dwellings.pick(stream.draw(dwellings), kind[settlement]).astype(np.int64)
    begin = np.cumsum(size) - size
    begin -= begin[before][settlement]
    kept = np.flatnonzero(begin < each[settlement])
    starts = begin[kept] + before[settlement[kept]]
    return starts, np.diff(starts, append=dwellings)


def _cells(stream: Stream, place: Geography, settlement: IntArray) -> tuple[IntArray, IntArray]:
    """Grid cells of buildings: dense in the middle of a settlement, sparse at its edge."""
    number = len(settlement)
    extent = place.settlement_extent[settlement]
    pair = [
        ((stream.draw(number).astype(np.int64) + stream.draw(number)) * extent) >> 17
        for _ in range(2)
    ]
    return place.settlement_north[settlement] + pair[0], place.settlement_east[settlement] + pair[1]


def furnish(
    stream: Stream,
    chances: Chances,
    buildings: Buildings,
    of_household: IntArray,
    settlement: IntArray,
    kind: IntArray,
) -> Dwellings:
    """Tenure, floor area and rent of dwellings; `kind` is the kind of each settlement."""
    number = len(settlement)
    building = np.repeat(np.arange(len(buildings.dwellings)), buildings.dwellings)
    size = buildings.dwellings[building]
    large = np.where(size > 2, 2, size - 1)
    owned = stream.draw(number) < chances.owned[large]
    tenure = np.full(number, _VACANT, dtype=np.int8)
    tenure[of_household] = np.where(owned, _OWNED, _RENTED)[of_household]
    area = chances.area.pick(stream.draw(number), large)
    rent = area * chances.price.pick(stream.draw(number), kind[settlement]) // 100
    return Dwellings(
        building=building,
        settlement=settlement,
        tenure=tenure,
        area=area,
        rent=np.where(tenure == _RENTED, rent, NO_RENT),
        of_household=of_household,
    )
