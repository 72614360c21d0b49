"""GeoParquet 1.1: one row per area with its polygons, for geographic programs and analysis.

In: `ProtectedTable`, and the boundaries of its areas unless they are squares. Out: columns of
code, label, level, value, status and notes, and of geometries in well-known binary; the
metadata of the file hold what `geo` prescribes and the description of the table. Public.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.publication.area_figures import BLOCK, MapLevel, areas_of
from discreet.publication.boundaries import Boundaries, Coordinates, well_known_binary
from discreet.publication.description import describe
from discreet.publication.formats import WriteOptions
from discreet.record_batches import streamed_plan
from discreet.tables import ProtectedTable

#: The column of polygons.
GEOMETRY = "geometry"


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the areas block by block."""
    levels = areas_of(table, options)
    about = describe(table, options.language, but=levels[0].variable.name)
    noted = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in about.items()
    }
    geo = json.dumps(_geo(levels, options.coordinates))
    plan = streamed_plan(_frames(levels, options))
    plan.sink_parquet(path, row_group_size=BLOCK, metadata={**noted, "geo": geo})


def _frames(levels: Sequence[MapLevel], options: WriteOptions) -> Iterator[pl.DataFrame]:
    for level in levels:
        for places, frame in level.blocks(options.language):
            shapes: list[bytes | None] = [None] * len(places)
            at = np.flatnonzero(places >= 0)
            if len(at):
                found = level.shapes.select(places[at]).within(options.coordinates)
                for row, shape in zip(at.tolist(), well_known_binary(found), strict=True):
                    shapes[row] = shape
            yield frame.with_columns(pl.Series(GEOMETRY, shapes, dtype=pl.Binary))


def _geo(levels: Sequence[MapLevel], coordinates: Coordinates) -> dict[str, Any]:
    """The metadata that GeoParquet prescribes."""
    boxes, kinds = [], set[str]()
    for level in levels:
        known = level.places[level.places >= 0]
        if not len(known):
            continue
        outline = (
            level.shapes.select(known)
            if isinstance(level.shapes, Boundaries)
            else level.shapes.hull(known)
        )
        boxes.append(outline.within(coordinates).box)
        several = np.diff(outline.areas) > 1
        kinds |= {"MultiPolygon"} if several.any() else set()
        kinds |= set() if several.all() else {"Polygon"}
    column: dict[str, Any] = {
        "encoding": "WKB",
        "geometry_types": sorted(kinds, reverse=True),
        "orientation": "counterclockwise",
        "edges": "planar",
    }
    if boxes:
        west, south, east, north = np.array(boxes).T
        column["bbox"] = [
            float(item) for item in (west.min(), south.min(), east.max(), north.max())
        ]
    if coordinates == "EPSG:3035":
        column["crs"] = tomllib.loads(
            files("discreet.publication").joinpath("epsg-3035.toml").read_text("utf-8")
        )
    return {"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}}
