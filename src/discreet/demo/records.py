"""The records of one block: households, persons, dwellings and buildings, as polars frames.

In: the map and a block with its random bits. Out: persons, households, dwellings and
buildings, linked by their numbers. Codes are dictionary-encoded, so that columns are cheap to
keep and read. All of it is invented; nothing is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from discreet.arrays import AnyArray, IntArray
from discreet.demo.chances import NO_OCCUPATION, DrawChances, chances
from discreet.demo.classifications import CODED, codes_of, finest_codes
from discreet.demo.draws import Stream
from discreet.demo.geography import Geography, SettlementBlock
from discreet.record_batches import coded

SINGLE, COUPLE, FAMILY, LONE_PARENT, SHARED = range(len(codes_of("household_type")))
_STATUS = {code.code: at for at, code in enumerate(codes_of("marital_status"))}
_UNMARRIED = 255


@dataclass(frozen=True, kw_only=True, eq=False)
class Households:
    """One entry per household, in order of settlement."""

    settlement: IntArray
    kind: AnyArray
    size: IntArray
    first: IntArray

    @property
    def number(self) -> int:
        """Number of households."""
        return len(self.size)


@dataclass(frozen=True, kw_only=True, eq=False)
class Persons:
    """One entry per person, household by household."""

    household: IntArray
    sex: AnyArray
    age: AnyArray
    nationality: AnyArray
    marital_status: AnyArray
    education: AnyArray
    occupation: AnyArray


def make_households(
    stream: Stream, chances: DrawChances, population: IntArray, kind: IntArray
) -> Households:
    """Households that take in exactly the population of each settlement."""
    # As many candidates as persons; those that begin beyond the last person are dropped.
    persons = int(population.sum())
    before = np.cumsum(population) - population
    settlement = np.repeat(np.arange(len(population)), population)
    drawn = chances.household.pick(stream.draw(persons), kind[settlement])
    kinds, sizes = chances.household_kind[drawn], chances.household_size[drawn]
    begin = np.cumsum(sizes) - sizes
    begin -= begin[before][settlement]
    kept = np.flatnonzero(begin < population[settlement])
    settlement, kinds = settlement[kept], kinds[kept]
    first = begin[kept] + before[settlement]
    size = np.diff(first, append=persons)
    # The last household of a settlement may have lost members.
    kinds[size == 1] = SINGLE
    kinds[(size == 2) & (kinds == FAMILY)] = COUPLE
    return Households(settlement=settlement, kind=kinds, size=size, first=first)


def fill_households(
    stream: Stream, chances: DrawChances, homes: Households, kind: IntArray
) -> Persons:
    """The persons of the households; `kind` is the kind of settlement of each household."""
    persons = int(homes.size.sum())
    household = np.repeat(np.arange(homes.number), homes.size)
    position = np.arange(persons) - homes.first[household]
    couple = (homes.kind == COUPLE) | (homes.kind == FAMILY)
    head_age = chances.head_age.pick(stream.draw(homes.number), homes.kind)

    role = chances.role[homes.kind[household], np.minimum(position, 2)]
    partner = homes.first[couple] + 1
    age = chances.age.pick(stream.draw(persons), role * chances.ages + head_age[household])
    age[homes.first] = head_age

    same_sex = stream.draw(homes.number) < chances.same_sex
    sex = (stream.draw(persons) >= chances.male[role * chances.ages + age]).astype(np.uint8)
    sex[partner] = sex[homes.first[couple]] ^ ~same_sex[couple]

    marital = chances.alone_status.pick(stream.draw(persons), age)
    wed = chances.couple_status.pick(stream.draw(homes.number), head_age)
    wed = np.where(same_sex & (wed == _STATUS["married"]), _STATUS["partnership"], wed)
    bound = couple & (wed != _UNMARRIED)
    marital[homes.first[bound]] = wed[bound]
    marital[homes.first[bound] + 1] = wed[bound]

    education = chances.education.pick(stream.draw(persons), chances.school_band[age])
    work = education.astype(np.int64) * chances.work_bands + chances.work_band[age]
    return Persons(
        household=household,
        sex=sex,
        age=age,
        nationality=_nationality(stream, chances, household, kind),
        marital_status=marital,
        education=education,
        occupation=chances.occupation.pick(stream.draw(persons), work),
    )


def _nationality(
    stream: Stream, chances: DrawChances, household: IntArray, kind: IntArray
) -> AnyArray:
    """Most members of a household have its nationality, the others one of their own."""
    common = chances.nationality.pick(stream.draw(len(kind)), kind)
    own = chances.nationality.pick(stream.draw(len(household)), kind[household])
    alike = stream.draw(len(household)) < chances.alike
    return np.where(alike, common[household], own)


#: What stands for dwellings that are not rented out; becomes a missing value.
NO_RENT = -1

_OWNED, _RENTED, _VACANT = range(len(codes_of("tenure")))


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
    stream: Stream, chances: DrawChances, homes: Households, place: Geography, first: int, last: int
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
    stream: Stream, chances: DrawChances, settlement: IntArray, kind: IntArray
) -> tuple[IntArray, IntArray]:
    """First dwelling and number of dwellings of each building; none spans two settlements."""
    dwellings = len(settlement)
    counts = np.bincount(settlement, minlength=len(kind))
    before = np.cumsum(counts) - counts
    size = chances.dwellings.pick(stream.draw(dwellings), kind[settlement]).astype(np.int64)
    begin = np.cumsum(size) - size
    begin -= begin[before][settlement]
    kept = np.flatnonzero(begin < counts[settlement])
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
    chances: DrawChances,
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


#: The kinds of units, from the smallest to the largest.
UNITS = ("persons", "households", "dwellings", "buildings")

#: Code lists shorter than this are enumerations, in the order of the list.
_SHORT = 128
_CELL_BASE = 100_000
_CELL_PATTERN = b"100mN00000E00000"


@dataclass(frozen=True, eq=False)
class CodeLists:
    """The code lists as coded columns, made once for all blocks."""

    place: Geography
    lists: Mapping[str, pl.Series] = field(init=False)

    def __post_init__(self) -> None:
        codes = {name: [code.code for code in finest_codes(name)] for name in CODED}
        codes["state"] = list(self.place.states)
        codes["district"] = list(self.place.districts)
        codes["municipality"] = list(self.place.municipalities)
        lists = {
            name: coded(column) if len(column) < _SHORT else _texts(column)
            for name, column in codes.items()
        }
        object.__setattr__(self, "lists", lists)

    def column(self, name: str, positions: AnyArray, missing: int | None = None) -> pl.Series:
        """A column of codes from their positions in the list."""
        at = pl.Series(positions.astype(np.uint32))
        if missing is not None:
            at = at.set(pl.Series(positions == missing), None)
        return self.lists[name].gather(at)

    def regions(self, settlement: IntArray) -> dict[str, pl.Series]:
        """The region columns, from the settlement of each record."""
        municipality = self.place.settlement_municipality[settlement]
        district = self.place.municipality_district[municipality]
        return {
            "state": self.column("state", self.place.district_state[district]),
            "district": self.column("district", district),
            "municipality": self.column("municipality", municipality),
        }


def _texts(codes: Sequence[str]) -> pl.Series:
    return pl.Series(codes, dtype=pl.String).cast(pl.Categorical)


def block_records(lists: CodeLists, block: SettlementBlock) -> dict[str, pl.DataFrame]:
    """The records of one block, by kind of unit.

    Numbers of households, dwellings and buildings are unique but leave gaps, so that no
    block need know how many of them the blocks before it hold.
    """
    place, tables = lists.place, chances()
    stream = Stream(place.seed, block.number)
    kind = place.settlement_kind[block.first : block.last]
    homes = make_households(
        stream, tables, place.settlement_population[block.first : block.last], kind
    )
    people = fill_households(stream, tables, homes, kind[homes.settlement])
    buildings, of_household, settlement = build(
        stream, tables, homes, place, block.first, block.last
    )
    dwellings = furnish(stream, tables, buildings, of_household, settlement, kind)
    number = _Numbers(block, len(people.age), homes, dwellings, buildings)
    cells = _GridCells(buildings)
    return {
        "persons": _persons(lists, number, people, cells),
        "households": _households(lists, number, homes),
        "dwellings": _dwellings(lists, number, dwellings),
        "buildings": _buildings(lists, number, buildings, cells),
    }


class _Numbers:
    """Numbers of units and how they link up."""

    def __init__(
        self,
        block: SettlementBlock,
        persons: int,
        homes: Households,
        dwellings: Dwellings,
        buildings: Buildings,
    ) -> None:
        # A household has a person of its own, and at most one vacant dwelling beside it.
        self.person = block.before + 1 + np.arange(persons)
        self.household = block.before + 1 + np.arange(homes.number)
        self.dwelling = 2 * block.before + 1 + np.arange(len(dwellings.building))
        self.building = 2 * block.before + 1 + np.arange(len(buildings.settlement))
        self.dwelling_of_household = dwellings.of_household
        self.building_of_dwelling = dwellings.building
        self.settlement = block.first + homes.settlement
        self.settlement_of_dwelling = block.first + dwellings.settlement
        self.settlement_of_building = block.first + buildings.settlement


class _GridCells:
    """Grid cells of buildings."""

    def __init__(self, buildings: Buildings) -> None:
        packed = buildings.north * _CELL_BASE + buildings.east
        cells, position = np.unique(packed, return_inverse=True)
        self._position = position.astype(np.uint32)
        self._codes = _cell_codes(*np.divmod(cells, _CELL_BASE))

    def of(self, building: IntArray) -> pl.Series:
        """The code of the grid cell that each of the buildings stands in."""
        return self._codes.gather(self._position[building])


def _cell_codes(north: IntArray, east: IntArray) -> pl.Series:
    """The code of each grid cell, digit by digit."""
    width = len(_CELL_PATTERN)
    letters = np.tile(np.frombuffer(_CELL_PATTERN, dtype=np.uint8), (len(north), 1))
    for first, number in ((_CELL_PATTERN.index(b"N") + 1, north), (width - 5, east)):
        for place in range(5):
            letters[:, first + place] += (number // 10 ** (4 - place) % 10).astype(np.uint8)
    return _texts(letters.view(f"S{width}").ravel().astype(str).tolist())


def _persons(
    lists: CodeLists, number: _Numbers, people: Persons, cells: _GridCells
) -> pl.DataFrame:
    household = people.household
    dwelling = number.dwelling_of_household[household]
    building = number.building_of_dwelling[dwelling]
    return pl.DataFrame(
        {
            "person_id": number.person,
            "household_id": number.household[household],
            "dwelling_id": number.dwelling[dwelling],
            "building_id": number.building[building],
            **lists.regions(number.settlement[household]),
            "grid_cell": cells.of(building),
            "sex": lists.column("sex", people.sex),
            "age": people.age,
            "nationality": lists.column("nationality", people.nationality),
            "marital_status": lists.column("marital_status", people.marital_status),
            "education": lists.column("education", people.education),
            "occupation": lists.column("occupation", people.occupation, NO_OCCUPATION),
        }
    )


def _households(lists: CodeLists, number: _Numbers, homes: Households) -> pl.DataFrame:
    dwelling = number.dwelling_of_household
    return pl.DataFrame(
        {
            "household_id": number.household,
            "dwelling_id": number.dwelling[dwelling],
            "building_id": number.building[number.building_of_dwelling[dwelling]],
            **lists.regions(number.settlement),
            "household_type": lists.column("household_type", homes.kind),
            "household_size": homes.size.astype(np.uint8),
        }
    )


def _dwellings(lists: CodeLists, number: _Numbers, dwellings: Dwellings) -> pl.DataFrame:
    rent = pl.Series(dwellings.rent.astype(np.int32))
    return pl.DataFrame(
        {
            "dwelling_id": number.dwelling,
            "building_id": number.building[number.building_of_dwelling],
            **lists.regions(number.settlement_of_dwelling),
            "tenure": lists.column("tenure", dwellings.tenure),
            "area": dwellings.area.astype(np.int32),
            "rent": rent.set(rent == NO_RENT, None),
        }
    )


def _buildings(
    lists: CodeLists, number: _Numbers, buildings: Buildings, cells: _GridCells
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "building_id": number.building,
            **lists.regions(number.settlement_of_building),
            "grid_cell": cells.of(np.arange(len(number.building))),
            "building_type": lists.column("building_type", buildings.kind),
            "construction": lists.column("construction", buildings.construction),
            "dwellings": buildings.dwellings.astype(np.uint8),
        }
    )
