"""GeoJSON and GeoParquet 1.1: the figures of areas with their polygons, for geographic programs.

In: `ProtectedTable`, and the boundaries of its areas unless they are squares. Out: a collection
of features as RFC 7946 says, in longitude and latitude (WGS 84); or a row per area, with
geometries in well-known binary and the metadata that GeoParquet prescribes. Public. Areas have
code, label, level, and value, status and notes of each figure. Codes that are no place, such as
that of missing values, have no geometry.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.publication.area_figures import BLOCK, MapLevel, areas_of
from discreet.publication.boundaries import (
    Boundaries,
    Coordinates,
    geojson_texts,
    well_known_binary,
)
from discreet.publication.description import describe, metadata_of
from discreet.publication.formats import WriteOptions
from discreet.publication.notation import exact_text
from discreet.publication.vocabulary import page_part
from discreet.record_batches import streamed_plan
from discreet.tables import ProtectedTable

#: The column of polygons.
GEOMETRY = "geometry"


def write_geojson(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the features, some areas at a time."""
    levels = areas_of(table, options)
    about = describe(table, options.language, but=levels[0].variable.name)
    head = {"type": "FeatureCollection", "name": table.name, "table": about}
    opening = json.dumps(head, ensure_ascii=False).removesuffix("}")
    before = ""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'{opening}, "features": [\n')
        for level in levels:
            for places, frame in level.blocks(options.language):
                shapes = pl.Series("shape", ["null"] * len(places), dtype=pl.String)
                at = np.flatnonzero(places >= 0)
                if len(at):
                    areas = level.shapes.select(places[at]).degrees()
                    shapes = shapes.scatter(at, geojson_texts(areas))
                parts = [pl.lit('{"type": "Feature", "id": '), _member(frame["code"])]
                parts += [pl.lit(', "geometry": '), pl.lit(shapes), pl.lit(', "properties": {')]
                for number, name in enumerate(frame.columns):
                    key = json.dumps(name, ensure_ascii=False)
                    parts += [pl.lit(f"{', ' if number else ''}{key}: "), _member(frame[name])]
                joined = pl.select(pl.concat_str([*parts, pl.lit("}}")])).to_series()
                file.write(before + ",\n".join(joined.to_list()))
                before = ",\n"
        file.write("\n]}\n")


def _member(column: pl.Series) -> pl.Expr:
    """The values of a column as JSON."""
    if column.dtype.is_float():
        texts = [None if value is None else exact_text(value) for value in column.to_list()]
        column = pl.Series(texts, dtype=pl.String)
    elif column.dtype.is_integer():
        column = column.cast(pl.String)
    else:
        distinct = column.cast(pl.String).unique()
        written = [json.dumps(text, ensure_ascii=False) for text in distinct.to_list()]
        column = column.cast(pl.String).replace_strict(
            distinct, pl.Series(written, dtype=pl.String)
        )
    return pl.lit(column).fill_null("null")


def write_geoparquet(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the areas block by block."""
    levels = areas_of(table, options)
    about = metadata_of(describe(table, options.language, but=levels[0].variable.name))
    about["geo"] = json.dumps(_geo(levels, options.coordinates))

    def frames() -> Iterator[pl.DataFrame]:
        for level in levels:
            for places, frame in level.blocks(options.language):
                shapes: list[bytes | None] = [None] * len(places)
                at = np.flatnonzero(places >= 0)
                if len(at):
                    areas = level.shapes.select(places[at]).within(options.coordinates)
                    for row, shape in zip(at.tolist(), well_known_binary(areas), strict=True):
                        shapes[row] = shape
                yield frame.with_columns(pl.Series(GEOMETRY, shapes, dtype=pl.Binary))

    streamed_plan(frames()).sink_parquet(path, row_group_size=BLOCK, metadata=about)


def _geo(levels: Sequence[MapLevel], coordinates: Coordinates) -> dict[str, Any]:
    """The metadata that GeoParquet prescribes."""
    boxes, kinds = [], set[str]()
    for level in levels:
        known = level.places[level.places >= 0]
        if not len(known):
            continue
        shapes = level.shapes
        outline = shapes.select(known) if isinstance(shapes, Boundaries) else shapes.hull(known)
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
        low, high = np.array(boxes).min(axis=0), np.array(boxes).max(axis=0)
        column["bbox"] = [*low[:2].tolist(), *high[2:].tolist()]
    if coordinates == "EPSG:3035":
        column["crs"] = tomllib.loads(page_part("epsg-3035.toml"))
    return {"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}}
