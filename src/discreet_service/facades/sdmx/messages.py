"""Data messages of SDMX-JSON 2.0: observations of a released table. Public.

In: a query and the observations it means. Out: a message in which codes are numbered; flat, or in
series along the dimension that the query names. Observations that were hidden are there without a
value, with their status, as in SDMX-CSV.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from discreet.publication.cells import ListedCells
from discreet_service.facades.sdmx.queries import ALL_DIMENSIONS, SdmxQuery, wanted_columns
from discreet_service.facades.sdmx.structures import (
    ATTRIBUTES,
    STATUS,
    SdmxTable,
    message,
    named,
    urn,
)
from discreet_service.problems import ServiceError

_SCHEMA = (
    "https://raw.githubusercontent.com/sdmx-twg/sdmx-json/master/"
    "data-message/tools/schemas/2.0.0/sdmx-json-data-schema.json"
)


def data_message(
    query: SdmxQuery, table: SdmxTable, cells: ListedCells, language: str, prepared: str
) -> dict[str, Any]:
    """Observations as a message of SDMX-JSON.

    Args:
        query: The query.
        table: The table.
        cells: The observations.
        language: Language of names, comments and units.
        prepared: When it was made: the date of the release.
    """
    frame = wanted_columns(query, table, cells, language)
    along = query.at_observation
    if along and along not in (*table.dimensions, ALL_DIMENSIONS):
        what = "there is no such dimension"
        raise ServiceError(what, code="invalid-query", where="dimensionAtObservation")
    inner = [along] if along in table.dimensions else list(table.dimensions)
    outer = [name for name in table.dimensions if name not in inner]
    columns = {name: _dimension(table, frame, at, language)
               for at, name in enumerate(table.dimensions)}  # fmt: skip
    attributes = {
        name: _attribute(frame, name, language) for name in ATTRIBUTES if name in frame.columns
    }
    structure = {
        "links": [{"rel": "dataflow", "urn": urn("Dataflow", table.flow)}],
        "dimensions": {
            "dataSet": [],
            "series": [columns[name][0] for name in outer],
            "observation": [columns[name][0] for name in inner],
        },
        "measures": {"observation": _measures(frame, language)},
        "attributes": {
            "dataSet": [],
            "series": [],
            "observation": [each[0] for each in attributes.values()],
        },
        "dataSets": [0],
    }
    told = _told(frame, [places for _, places in attributes.values()])
    numbers = {name: places for name, (_, places) in columns.items()}
    content = {"structures": [structure], "dataSets": [_data_set(outer, inner, numbers, told)]}
    return message(content, language, prepared, schema=_SCHEMA)


def _dimension(
    table: SdmxTable, frame: pl.DataFrame, at: int, language: str
) -> tuple[dict[str, Any], list[int]]:
    """A dimension with the codes that occur, and the number of each observation's code."""
    name = table.dimensions[at]
    given = frame[name].to_list()
    there = set(given)
    codes = [each for each in table.codes(at, language) if each["id"] in there]
    place = {each["id"]: k for k, each in enumerate(codes)}
    told = {"id": name, **named(table.titles(at), language), "keyPosition": at, "values": codes}
    return told, [place[code] for code in given]


def _attribute(
    frame: pl.DataFrame, name: str, language: str
) -> tuple[dict[str, Any], list[int | None]]:
    """An attribute with the values that occur, and the number of each observation's value."""
    texts, codelist = ATTRIBUTES[name]
    given = frame[name].to_list()
    values = list(dict.fromkeys(each for each in given if each is not None))
    place = {each: k for k, each in enumerate(values)}
    known: Mapping[str, Any] = STATUS[codelist] if codelist else {}
    shown = [
        {"id": each, **named(known[each], language)} if codelist else {"value": each}
        for each in values
    ]
    told = {"id": name, **named(texts, language), "values": shown}
    return told, [None if each is None else place[each] for each in given]


def _measures(frame: pl.DataFrame, language: str) -> list[dict[str, Any]]:
    if "OBS_VALUE" not in frame.columns:
        return []
    return [{"id": "OBS_VALUE", **named({"en": "Value", "de": "Wert"}, language)}]


def _told(frame: pl.DataFrame, attributes: Sequence[Sequence[int | None]]) -> list[list[Any]]:
    """What is told of each observation: its value, and the numbers of its attributes."""
    values = []
    if "OBS_VALUE" in frame.columns:
        values = [[_number(each) for each in frame["OBS_VALUE"].to_list()]]
    lines = [*values, *attributes]
    return [list(each) for each in zip(*lines, strict=True)] if lines else [[]] * frame.height


def _number(value: Any) -> Any:
    """A value as JSON has it, with the digits that are published."""
    if value is None or isinstance(value, int):
        return value
    found = float(value)
    return int(found) if found.is_integer() and "." not in str(value) else found


def _data_set(
    outer: Sequence[str],
    inner: Sequence[str],
    numbers: Mapping[str, Sequence[int]],
    told: Sequence[list[Any]],
) -> dict[str, Any]:
    """The observations under their keys; in series where some dimensions stand outside."""

    def keys(names: Sequence[str]) -> list[str]:
        return [":".join(map(str, each)) for each in zip(*(numbers[n] for n in names), strict=True)]

    observed = dict.fromkeys(("structure",), 0) | {"action": "Information"}
    if not outer:
        return {**observed, "observations": dict(zip(keys(inner), told, strict=True))}
    series: dict[str, dict[str, Any]] = {}
    for key, own, each in zip(keys(outer), keys(inner), told, strict=True):
        series.setdefault(key, {"observations": {}})["observations"][own] = each
    return {**observed, "series": series}
