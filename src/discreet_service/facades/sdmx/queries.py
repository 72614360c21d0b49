"""Queries of SDMX REST 2: keys and filters as the cells that they mean. Public. Hidden cells are
observations without a value; cells that a table does not have are none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from discreet.arrays import BoolArray
from discreet.errors import Problem, nearest
from discreet.publication import ListedCells, WriteOptions, observations
from discreet_service.facades.sdmx.structures import AGENCY, ATTRIBUTES, VERSION, SdmxTable
from discreet_service.problems import ServiceError, refuse
from discreet_service.releases import Selection

_OPERATION = re.compile(r"(eq|ne|sw|ew|co|nc):(.*)", re.DOTALL)
_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "eq": str.__eq__,
    "ne": str.__ne__,
    "sw": str.startswith,
    "ew": str.endswith,
    "co": str.__contains__,
    "nc": lambda code, text: text not in code,
}
#: Stands for all dimensions: observations are no series.
ALL_DIMENSIONS = "AllDimensions"
_MOST_TOLD = 50


@dataclass(frozen=True, kw_only=True)
class SdmxQuery:
    """Query of a dataflow."""

    # Codes of all dimensions, with points between and commas between several; * for all
    key: str = "*"
    # Component → what it must be
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    first: int | None = None  # Observations of each series from its beginning; None for all
    last: int | None = None  # Observations of each series from its end; None for all
    at_observation: str = ""  # The dimension along which a series runs; empty for the last variable
    offset: int = 0  # Observations to leave out
    limit: int | None = None  # Observations to give; None for all
    attributes: str = "dsd"  # Which attributes are wanted
    measures: str = "all"  # Which measures are wanted
    csv: str = "2.0"  # Version of SDMX-CSV


def _codes_of(table: SdmxTable, at: int) -> Sequence[str]:
    spanning = table.table.spanning
    if at < len(spanning):
        return spanning[at].codes
    return [figure.name for figure in table.table.figures]


def _filtered(given: str, codes: Sequence[str], where: str, problems: list[Problem]) -> set[str]:
    known = set(codes)
    if given in known:
        return {given}
    listed = given.split(",")
    if all(item in known for item in listed):
        return set(listed)
    passing = set(known)
    for part in given.split("+"):
        match = _OPERATION.fullmatch(part)
        if match is None:
            lost = [item for item in part.split(",") if item not in known]
            message = f"{len(lost)} codes of {where} not found" if lost[1:] else "unknown code"
            problems.append(Problem(message, where, nearest(lost[0][:60], codes) if lost else ""))
            return set()
        test = _TESTS[match[1]]
        texts = match[2].split(",")
        keep = any if match[1] not in ("ne", "nc") else all
        passing &= {code for code in known if keep(test(code, text) for text in texts)}
    return passing


def _keys(query: SdmxQuery, table: SdmxTable, problems: list[Problem]) -> list[list[str]]:
    if query.key in ("", "*", "all"):
        return []
    keys = []
    width = len(table.dimensions)
    for key in query.key.split(","):
        parts = key.split(".")
        if parts == ["*"]:
            return []
        if len(parts) != width:
            message = f"a key needs {width} parts, got {len(parts)}"
            hint = f"{'.'.join(table.dimensions)}; for codes with a point: c[DIMENSION]=CODE"
            problems.append(Problem(message, "key", hint))
            return []
        keys.append(["" if part == "*" else part for part in parts])
    return keys


def wanted_cells(query: SdmxQuery, table: SdmxTable, *, most: int) -> ListedCells:
    """The observations that a query means, in the order of the table."""
    # The keys, if keys and filters are about dimensions that there are.
    problems: list[Problem] = []
    keys = _keys(query, table, problems)
    known = {*table.dimensions, *ATTRIBUTES, "OBS_VALUE"}
    unknown = [name for name in query.filters if name not in known]
    problems += [Problem(f"unknown component {n!r}", "c", nearest(n, list(known))) for n in unknown]
    beside = [name for name in query.filters if name in known and name not in table.dimensions]
    problems += [Problem("only dimensions can be filters", f"c[{name}]") for name in beside]
    refuse(problems, "query", "invalid-query", _MOST_TOLD)
    passing = _passing(query, table, keys)
    size = math.prod(map(len, passing))
    if size > most:
        message = f"too many observations: {size:,}; the limit is {most:,}"
        hint = "request fewer, with a key or c[DIMENSION]=…"
        raise ServiceError(message, "too-many-cells", limit=most, actual=size, hint=hint)
    if size == 0:
        raise ServiceError("observations not found", "not-found")
    whole = table.table
    positions = tuple(np.asarray(item, dtype=np.int32) for item in passing)
    positions = positions[: len(whole.dimensions)]  # a single figure is no dimension
    selection = Selection(table=whole, positions=positions, kept=(True,) * len(positions))
    index, (value, status) = selection.index, selection.cells
    if not whole.dimensions:
        index = ()
    wanted = whole.known(index, len(value))
    if len(keys) > 1:
        # Which cells one of several keys means.
        every = [list(_codes_of(table, at)) for at in range(len(positions))]
        mask = np.zeros(selection.size, dtype=np.bool_)
        for key in keys:
            fits = np.ones(selection.size, dtype=np.bool_)
            for part, codes, code in zip(selection.index, every, key, strict=False):
                fits &= not code or part == codes.index(code)
            mask |= fits
        wanted &= mask
    rows = np.flatnonzero(wanted)
    rows = _of_series(query, table, [part[rows] for part in index], rows)
    rows = rows[query.offset :][: query.limit]
    if not len(rows):
        raise ServiceError("observations not found", "not-found")
    return ListedCells(tuple(part[rows] for part in index), value[rows], status[rows])


def _passing(query: SdmxQuery, table: SdmxTable, keys: list[list[str]]) -> list[list[int]]:
    problems: list[Problem] = []
    passing: list[list[int]] = []
    for at, name in enumerate(table.dimensions):
        codes = _codes_of(table, at)
        found = set(codes)
        for item in query.filters.get(name, ()):
            found &= _filtered(item, codes, name, problems)
        asked = {key[at] for key in keys}
        lost = [code for code in asked if code and code not in set(codes)]
        problems += [
            Problem(f"unknown code in {name}", "key", nearest(c[:60], codes)) for c in lost
        ]
        if keys and "" not in asked:
            found &= asked
        passing.append([k for k, code in enumerate(codes) if code in found])
    refuse(problems, "query", "unknown-code", _MOST_TOLD)
    return passing


def _of_series(
    query: SdmxQuery, table: SdmxTable, index: list[np.ndarray], rows: np.ndarray
) -> np.ndarray:
    """The first or last observations of each series, or both; all if neither is asked for."""
    if query.first is None and query.last is None:
        return rows
    along = query.at_observation
    names = list(table.dimensions[: len(index)])
    if along and along not in (*table.dimensions, ALL_DIMENSIONS):
        hint = nearest(along, [*table.dimensions, ALL_DIMENSIONS])
        message = "unknown dimension"
        raise ServiceError(message, "invalid-query", "dimensionAtObservation", hint)
    columns = {"": np.zeros(len(rows), dtype=np.int8)}
    if along != ALL_DIMENSIONS:
        at = names.index(along) if along in names else len(table.table.spanning) - 1
        columns |= {name: index[k] for k, name in enumerate(names) if k != at}
    place = pl.int_range(pl.len()).over([*columns])
    left = pl.len().over([*columns]).cast(pl.Int64) - place
    kept = (place < (query.first or 0)) | (left <= (query.last or 0))
    mask: BoolArray = pl.DataFrame(columns).select(kept).to_series().to_numpy()
    return rows[mask]


def wanted_columns(
    query: SdmxQuery, table: SdmxTable, cells: ListedCells, language: str
) -> pl.DataFrame:
    """Observations with the measures and attributes that were asked for, as SDMX-CSV has them."""
    structure = f"{AGENCY}:{table.flow}({VERSION})"
    options = WriteOptions(
        language=language, sdmx="1.0" if query.csv == "1.0" else "2.0", **table.conditions
    )
    frame = observations(table.table, cells, structure, options)
    dropped = set(ATTRIBUTES) - wanted_attributes(query.attributes)
    if query.measures == "none":
        dropped.add("OBS_VALUE")
    elif query.measures not in ("all", "OBS_VALUE"):
        message, hint = "unknown measure", "known: all, none, OBS_VALUE"
        raise ServiceError(message, "invalid-query", "measures", hint)
    return frame.select(name for name in frame.columns if name not in dropped)


def wanted_attributes(given: str) -> set[str]:
    """The attributes that are meant.

    >>> sorted(wanted_attributes("OBS_STATUS,CONF_STATUS")), wanted_attributes("none")
    (['CONF_STATUS', 'OBS_STATUS'], set())
    """
    found: set[str] = set()
    for part in given.split(","):
        if part in ("dsd", "obs", "all"):
            found |= set(ATTRIBUTES)
        elif part in ATTRIBUTES:
            found.add(part)
        elif part not in ("none", "dataset", "series", "msd"):
            hint = nearest(part[:60], ["dsd", "obs", "all", "none", *ATTRIBUTES])
            raise ServiceError("unknown attribute", "invalid-query", "attributes", hint)
    return found
