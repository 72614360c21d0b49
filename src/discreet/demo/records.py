"""The records of one block as Arrow tables.

In: the map and a block. Out: persons, households, dwellings and buildings, linked by
their numbers. Codes are dictionary-encoded, so that columns are cheap to keep and read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import polars as pl
import pyarrow as pa

from discreet.demo.chances import NO_OCCUPATION, chances
from discreet.demo.codes import (
    BUILDING_TYPE,
    CONSTRUCTION,
    EDUCATION,
    HOUSEHOLD_TYPE,
    MARITAL_STATUS,
    NATIONALITY,
    OCCUPATION,
    SEX,
    TENURE,
    Code,
)
from discreet.demo.draws import AnyArray, IntArray, Stream
from discreet.demo.geography import Block, Geography
from discreet.demo.housing import NO_RENT, Buildings, Dwellings, build, furnish
from discreet.demo.population import Households, Persons, fill_households, make_households

__all__ = ["UNITS", "CodeLists", "block_records"]

#: The kinds of units, from the smallest to the largest.
UNITS = ("persons", "households", "dwellings", "buildings")

_CELL_BASE = 100_000
_CELL_PATTERN = b"100mN00000E00000"


@dataclass(frozen=True, eq=False)
class CodeLists:
    """The code lists as Arrow dictionaries, made once for all blocks."""

    place: Geography
    lists: Mapping[str, pa.Array] = field(init=False)

    def __post_init__(self) -> None:
        entries: dict[str, Iterable[Code]] = {
            "sex": SEX,
            "nationality": chain.from_iterable(NATIONALITY.values()),
            "marital_status": MARITAL_STATUS,
            "education": chain.from_iterable(EDUCATION.values()),
            "occupation": OCCUPATION,
            "household_type": HOUSEHOLD_TYPE,
            "tenure": TENURE,
            "building_type": BUILDING_TYPE,
            "construction": CONSTRUCTION,
        }
        lists = {name: _texts(code.code for code in codes) for name, codes in entries.items()}
        lists["state"] = _texts(self.place.states)
        lists["district"] = _texts(self.place.districts)
        lists["municipality"] = _texts(self.place.municipalities)
        object.__setattr__(self, "lists", lists)

    def column(
        self, name: str, positions: AnyArray, missing: int | None = None
    ) -> pa.DictionaryArray:
        """A column of codes from their positions in the list."""
        small = np.int8 if len(self.lists[name]) < 128 else np.int16
        mask = None if missing is None else positions == missing
        return pa.DictionaryArray.from_arrays(
            _array(positions.astype(small), mask), self.lists[name]
        )

    def regions(self, settlement: IntArray) -> dict[str, pa.DictionaryArray]:
        """The region columns, from the settlement of each record."""
        municipality = self.place.settlement_municipality[settlement]
        district = self.place.municipality_district[municipality]
        return {
            "state": self.column("state", self.place.district_state[district]),
            "district": self.column("district", district),
            "municipality": self.column("municipality", municipality),
        }


def _array(values: AnyArray, missing: AnyArray | None = None) -> pa.Array:
    """A numpy array of whole numbers as an Arrow array, without copying."""
    # Not by pa.array: it imports pandas, if installed, just to see what it is given.
    valid = None
    if missing is not None:
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    buffers = [valid, pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def _texts(codes: Iterable[str]) -> pa.Array:
    return pl.Series(list(codes), dtype=pl.String).to_arrow().cast(pa.string())


def _table(columns: Mapping[str, AnyArray | pa.Array]) -> pa.Table:
    arrays = [
        _array(column) if isinstance(column, np.ndarray) else column for column in columns.values()
    ]
    return pa.Table.from_arrays(arrays, names=list(columns))


def block_records(lists: CodeLists, block: Block) -> dict[str, pa.Table]:
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
    cells = _Cells(buildings)
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
        block: Block,
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


class _Cells:
    """Grid cells of buildings."""

    def __init__(self, buildings: Buildings) -> None:
        packed = buildings.north * _CELL_BASE + buildings.east
        cells, position = np.unique(packed, return_inverse=True)
        self._position = position.astype(np.int32)
        self._codes = _cell_codes(*np.divmod(cells, _CELL_BASE))

    def of(self, building: IntArray) -> pa.DictionaryArray:
        """The code of the grid cell that each of the buildings stands in."""
        return pa.DictionaryArray.from_arrays(_array(self._position[building]), self._codes)


def _cell_codes(north: IntArray, east: IntArray) -> pa.Array:
    """The code of each grid cell, digit by digit."""
    width = len(_CELL_PATTERN)
    letters = np.tile(np.frombuffer(_CELL_PATTERN, dtype=np.uint8), (len(north), 1))
    for first, number in ((_CELL_PATTERN.index(b"N") + 1, north), (width - 5, east)):
        for place in range(5):
            letters[:, first + place] += (number // 10 ** (4 - place) % 10).astype(np.uint8)
    offsets = np.arange(0, width * len(north) + 1, width, dtype=np.int32)
    return pa.StringArray.from_buffers(len(north), pa.py_buffer(offsets), pa.py_buffer(letters))


def _persons(lists: CodeLists, number: _Numbers, people: Persons, cells: _Cells) -> pa.Table:
    household = people.household
    dwelling = number.dwelling_of_household[household]
    building = number.building_of_dwelling[dwelling]
    return _table(
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


def _households(lists: CodeLists, number: _Numbers, homes: Households) -> pa.Table:
    dwelling = number.dwelling_of_household
    return _table(
        {
            "household_id": number.household,
            "dwelling_id": number.dwelling[dwelling],
            "building_id": number.building[number.building_of_dwelling[dwelling]],
            **lists.regions(number.settlement),
            "household_type": lists.column("household_type", homes.kind),
            "household_size": homes.size.astype(np.uint8),
        }
    )


def _dwellings(lists: CodeLists, number: _Numbers, dwellings: Dwellings) -> pa.Table:
    return _table(
        {
            "dwelling_id": number.dwelling,
            "building_id": number.building[number.building_of_dwelling],
            **lists.regions(number.settlement_of_dwelling),
            "tenure": lists.column("tenure", dwellings.tenure),
            "area": dwellings.area.astype(np.int32),
            "rent": _array(dwellings.rent.astype(np.int32), dwellings.rent == NO_RENT),
        }
    )


def _buildings(lists: CodeLists, number: _Numbers, buildings: Buildings, cells: _Cells) -> pa.Table:
    return _table(
        {
            "building_id": number.building,
            **lists.regions(number.settlement_of_building),
            "grid_cell": cells.of(np.arange(len(number.building))),
            "building_type": lists.column("building_type", buildings.kind),
            "construction": lists.column("construction", buildings.construction),
            "dwellings": buildings.dwellings.astype(np.uint8),
        }
    )
