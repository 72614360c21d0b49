"""The records of one block: households, persons, dwellings and buildings, as polars frames.

In: the map and a block with its random bits. Out: persons, households, dwellings and
buildings, linked by their numbers. Codes are dictionary-encoded, so that columns are cheap to
keep and read. All of it is invented; nothing is confidential.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from discreet.arrays import AnyArray, IntArray
from discreet.demo.chances import NO_OCCUPATION, chances
from discreet.demo.classifications import CODED, codes_of, finest_codes
from discreet.demo.draws import Stream
from discreet.demo.geography import Geography, SettlementBlock
from discreet.record_batches import coded

#: The kinds of units, from the smallest to the largest.
UNITS = ("persons", "households", "dwellings", "buildings")

SINGLE, COUPLE, FAMILY, LONE_PARENT, SHARED = range(len(codes_of("household_type")))
_STATUS = {code.code: at for at, code in enumerate(codes_of("marital_status"))}
_UNMARRIED = 255
_OWNED, _RENTED, _VACANT = range(len(codes_of("tenure")))
#: Code lists shorter than this are enumerations, in the order of the list.
_SHORT = 128
_CELL_BASE = 100_000
_CELL_PATTERN = b"100mN00000E00000"


class CodeLists:
    """The code lists as coded columns, made once for all blocks."""

    def __init__(self, place: Geography) -> None:
        self.place = place
        codes = {name: [code.code for code in finest_codes(name)] for name in CODED}
        codes["state"] = list(place.states)
        codes["district"] = list(place.districts)
        codes["municipality"] = list(place.municipalities)
        self._lists = {
            name: coded(column) if len(column) < _SHORT else _texts(column)
            for name, column in codes.items()
        }

    def column(self, name: str, positions: AnyArray, missing: int | None = None) -> pl.Series:
        """A column of codes from their positions in the list."""
        at = pl.Series(positions.astype(np.uint32))
        if missing is not None:
            at = at.set(pl.Series(positions == missing), None)
        return self._lists[name].gather(at)

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
    block need know how many of them the blocks before it hold: a household has a person of its
    own, and at most one vacant dwelling beside it.
    """
    place = lists.place
    stream = Stream(place.seed, block.number)
    kind = place.settlement_kind[block.first : block.last]
    population = place.settlement_population[block.first : block.last]
    home_settlement, home_kind, home_size, first = _households(stream, population, kind)
    household = np.repeat(np.arange(len(first)), home_size)
    people = _persons(stream, home_kind, first, household, kind[home_settlement])
    homes = _housing(stream, home_settlement, kind)
    of_household, of_building = homes["of_household"], homes["building"]
    north, east = _places(stream, place, block.first + homes["building_settlement"])
    number = len(north)
    large = np.where(homes["dwellings"] > 2, 2, homes["dwellings"] - 1)
    building_type = chances().building_type.pick(stream.draw(number), large)
    construction = chances().construction.pick(
        stream.draw(number), kind[homes["building_settlement"]]
    )
    tenure, area, rent = _rooms(stream, large[of_building], of_household, kind[homes["settlement"]])
    income = chances().income.pick(stream.draw(len(household)), people["income_group"])

    person_id = block.before + 1 + np.arange(len(household))
    household_id = block.before + 1 + np.arange(len(first))
    dwelling_id = 2 * block.before + 1 + np.arange(len(of_building))
    building_id = 2 * block.before + 1 + np.arange(number)
    cells, cell = np.unique(north * _CELL_BASE + east, return_inverse=True)
    grid_cell = _cell_codes(*np.divmod(cells, _CELL_BASE)).gather(cell.astype(np.uint32))
    dwelling = of_household[household]
    rents = pl.Series(rent.astype(np.int32))
    works = pl.Series(people["occupation"] != NO_OCCUPATION)
    frames = {
        "persons": {
            "person_id": person_id,
            "household_id": household_id[household],
            "dwelling_id": dwelling_id[dwelling],
            "building_id": building_id[of_building[dwelling]],
            **lists.regions(block.first + home_settlement[household]),
            "grid_cell": grid_cell.gather(of_building[dwelling]),
            "sex": lists.column("sex", people["sex"]),
            "age": people["age"],
            "nationality": lists.column("nationality", people["nationality"]),
            "marital_status": lists.column("marital_status", people["marital_status"]),
            "education": lists.column("education", people["education"]),
            "occupation": lists.column("occupation", people["occupation"], NO_OCCUPATION),
            "income": pl.Series(income.astype(np.int32)).set(~works, None),
        },
        "households": {
            "household_id": household_id,
            "dwelling_id": dwelling_id[of_household],
            "building_id": building_id[of_building[of_household]],
            **lists.regions(block.first + home_settlement),
            "household_type": lists.column("household_type", home_kind),
            "household_size": home_size.astype(np.uint8),
        },
        "dwellings": {
            "dwelling_id": dwelling_id,
            "building_id": building_id[of_building],
            **lists.regions(block.first + homes["settlement"]),
            "tenure": lists.column("tenure", tenure),
            "area": area.astype(np.int32),
            "rent": rents.set(pl.Series(tenure != _RENTED), None),
        },
        "buildings": {
            "building_id": building_id,
            **lists.regions(block.first + homes["building_settlement"]),
            "grid_cell": grid_cell,
            "building_type": lists.column("building_type", building_type),
            "construction": lists.column("construction", construction),
            "dwellings": homes["dwellings"].astype(np.uint8),
        },
    }
    return {unit: pl.DataFrame(columns) for unit, columns in frames.items()}


def _cut(
    sizes: IntArray, settlement: IntArray, counts: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Units of these sizes one after the other, none across settlements: which there is room for.

    There are as many candidates as members; those that begin beyond the last one are dropped.
    """
    before = np.cumsum(counts) - counts
    begin = np.cumsum(sizes) - sizes
    begin -= begin[before][settlement]
    kept = np.flatnonzero(begin < counts[settlement])
    first = begin[kept] + before[settlement[kept]]
    return kept, first, np.diff(first, append=len(settlement))


def _households(
    stream: Stream, population: IntArray, kind: IntArray
) -> tuple[IntArray, AnyArray, IntArray, IntArray]:
    """Settlement, type, size and first person of households that take in all persons."""
    settlement = np.repeat(np.arange(len(population)), population)
    drawn = chances().household.pick(stream.draw(len(settlement)), kind[settlement])
    kept, first, size = _cut(chances().household_size[drawn], settlement, population)
    kinds = chances().household_kind[drawn][kept]
    # The last household of a settlement may have lost members.
    kinds[size == 1] = SINGLE
    kinds[(size == 2) & (kinds == FAMILY)] = COUPLE
    return settlement[kept], kinds, size, first


def _persons(
    stream: Stream, kinds: AnyArray, first: IntArray, household: IntArray, settled: IntArray
) -> dict[str, AnyArray]:
    """The persons of households of these kinds, in settlements of these kinds."""
    table, draw, persons, number = chances(), stream.draw, len(household), len(first)
    position = np.arange(persons) - first[household]
    couple = (kinds == COUPLE) | (kinds == FAMILY)
    head_age = table.head_age.pick(draw(number), kinds)

    role = table.role[kinds[household], np.minimum(position, 2)]
    age = table.age.pick(draw(persons), role * table.ages + head_age[household])
    age[first] = head_age

    same_sex = draw(number) < table.same_sex
    sex = (draw(persons) >= table.male[role * table.ages + age]).astype(np.uint8)
    sex[first[couple] + 1] = sex[first[couple]] ^ ~same_sex[couple]

    marital = table.alone_status.pick(draw(persons), age)
    wed = table.couple_status.pick(draw(number), head_age)
    wed = np.where(same_sex & (wed == _STATUS["married"]), _STATUS["partnership"], wed)
    bound = couple & (wed != _UNMARRIED)
    marital[first[bound]] = wed[bound]
    marital[first[bound] + 1] = wed[bound]

    education = table.education.pick(draw(persons), table.school_band[age])
    # Most members of a household have its nationality, the others one of their own.
    common = table.nationality.pick(draw(number), settled)
    own = table.nationality.pick(draw(persons), settled[household])
    alike = draw(persons) < table.alike
    work = education.astype(np.int64) * table.work_bands + table.work_band[age]
    occupation = table.occupation.pick(draw(persons), work)
    return {
        "sex": sex,
        "age": age,
        "nationality": np.where(alike, common[household], own),
        "marital_status": marital,
        "education": education,
        "occupation": occupation,
        "income_group": table.income_group[occupation],
    }


def _housing(stream: Stream, homes: IntArray, kind: IntArray) -> dict[str, IntArray]:
    """Buildings with room for households in these settlements, and some vacant dwellings."""
    vacant = stream.draw(len(homes)) < chances().vacant[kind[homes]]
    settlement = np.repeat(homes, 1 + vacant)
    sizes = chances().dwellings.pick(stream.draw(len(settlement)), kind[settlement])
    counts = np.bincount(settlement, minlength=len(kind))
    _, first, dwellings = _cut(sizes.astype(np.int64), settlement, counts)
    return {
        "of_household": np.arange(len(homes)) + np.cumsum(vacant),  # the dwelling of each
        "settlement": settlement,  # of each dwelling
        "building": np.repeat(np.arange(len(first)), dwellings),  # of each dwelling
        "building_settlement": settlement[first],
        "dwellings": dwellings,  # of each building
    }


def _places(stream: Stream, place: Geography, settlement: IntArray) -> tuple[IntArray, IntArray]:
    """Grid cells of buildings: dense in the middle of a settlement, sparse at its edge."""
    number, extent = len(settlement), place.settlement_extent[settlement]
    north, east = (
        ((stream.draw(number).astype(np.int64) + stream.draw(number)) * extent) >> 17
        for _ in range(2)
    )
    return place.settlement_north[settlement] + north, place.settlement_east[settlement] + east


def _rooms(
    stream: Stream, large: IntArray, of_household: IntArray, kind: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Tenure, floor area and rent of dwellings, by sizes of buildings and kinds of settlements."""
    number = len(large)
    owned = stream.draw(number) < chances().owned[large]
    tenure = np.full(number, _VACANT, dtype=np.int64)
    tenure[of_household] = np.where(owned, _OWNED, _RENTED)[of_household]
    area = chances().area.pick(stream.draw(number), large)
    return tenure, area, area * chances().price.pick(stream.draw(number), kind) // 100


def _cell_codes(north: IntArray, east: IntArray) -> pl.Series:
    """The code of each grid cell, digit by digit."""
    width = len(_CELL_PATTERN)
    letters = np.tile(np.frombuffer(_CELL_PATTERN, dtype=np.uint8), (len(north), 1))
    for first, number in ((_CELL_PATTERN.index(b"N") + 1, north), (width - 5, east)):
        for place in range(5):
            letters[:, first + place] += (number // 10 ** (4 - place) % 10).astype(np.uint8)
    return _texts(letters.view(f"S{width}").ravel().astype(str).tolist())
