"""GeoJSON: one feature per area, as RFC 7946 says, for geographic programs and the web.

In: `ProtectedTable`, and the boundaries of its areas unless they are squares. Out: a
collection of features in longitude and latitude (WGS 84); properties are code, label, level,
and value, status and notes of each figure. Public. Codes that are no place, such as that of
missing values, have no geometry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet.publication.area_figures import MapLevel, areas_of
from discreet.publication.boundaries import Boundaries
from discreet.publication.description import describe
from discreet.publication.formats import WriteOptions
from discreet.publication.notation import exact_text
from discreet.tables import ProtectedTable

#: Digits of degrees: a tenth of a metre.
DIGITS = 6


def write_file(table: ProtectedTable, path: Path, options: WriteOptions) -> None:
    """Write the features, some areas at a time."""
    levels = areas_of(table, options)
    about = describe(table, options.language, but=levels[0].variable.name)
    head = {"type": "FeatureCollection", "name": table.name, "table": about}
    opening = json.dumps(head, ensure_ascii=False).removesuffix("}")
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'{opening}, "features": [\n')
        for number, text in enumerate(_texts(levels, options.language)):
            file.write(",\n" if number else "")
            file.write(text)
        file.write("\n]}\n")


def _texts(levels: list[MapLevel], language: str) -> Iterator[str]:
    """The features of some areas each time, as text."""
    for level in levels:
        for places, frame in level.blocks(language):
            parts = [
                pl.lit('{"type": "Feature", "id": '),
                _member(frame["code"]),
                pl.lit(', "geometry": '),
                pl.lit(_geometries(level, places)),
                pl.lit(', "properties": {'),
            ]
            for number, name in enumerate(frame.columns):
                key = json.dumps(name, ensure_ascii=False)
                parts += [pl.lit(f"{', ' if number else ''}{key}: "), _member(frame[name])]
            joined = pl.select(pl.concat_str([*parts, pl.lit("}}")])).to_series()
            yield ",\n".join(joined.to_list())


def _member(column: pl.Series) -> pl.Expr:
    """The values of a column as JSON."""
    kind = column.dtype
    if kind.is_float():
        texts = [None if value is None else exact_text(value) for value in column.to_list()]
        column = pl.Series(texts, dtype=pl.String)
    elif kind.is_integer():
        column = column.cast(pl.String)
    else:
        distinct = column.cast(pl.String).unique()
        written = [json.dumps(text, ensure_ascii=False) for text in distinct.to_list()]
        column = column.cast(pl.String).replace_strict(
            distinct, pl.Series(written, dtype=pl.String)
        )
    return pl.lit(column).fill_null("null")


def _geometries(level: MapLevel, places: IntArray) -> pl.Series:
    """The geometry of each area; null for codes that are no place."""
    texts = pl.Series("shape", ["null"] * len(places), dtype=pl.String)
    at = np.flatnonzero(places >= 0)
    if len(at):
        texts = texts.scatter(at, polygon_texts(level.shapes.select(places[at]).degrees()))
    return texts


def polygon_texts(areas: Boundaries) -> pl.Series:
    """The geometry of each area as JSON.

    >>> polygon_texts(Boundaries.of_squares(["100kmN26E43"]).degrees())[0][:40]
    '{"type":"Polygon","coordinates":[[[9.726'
    """
    # Before each point stands what closes the rings, polygons and areas before it.
    before = np.full(len(areas.points), 0, dtype=np.int64)
    before[areas.rings[:-1]] = 1
    before[areas.rings[areas.polygons[:-1]]] = 2
    before[areas.rings[areas.polygons[areas.areas[:-1]]]] = 3
    signs = pl.Series([",", "],[", "]],[[", ""])
    of = np.repeat(np.arange(len(areas)), np.diff(areas.rings[areas.polygons[areas.areas]]))
    points = pl.DataFrame({"area": of, "sign": signs.gather(before)})
    for name, values in zip("xy", areas.points.T, strict=True):
        points = points.with_columns(pl.Series(name, values.round(DIGITS)))
    joined = points.group_by("area", maintain_order=True).agg(
        pl.concat_str("sign", pl.lit("["), "x", pl.lit(","), "y", pl.lit("]")).str.join("")
    )["sign"]
    kinds = pl.Series(np.diff(areas.areas) > 1).cast(pl.Int8)
    heads = pl.Series(['"Polygon","coordinates":[[', '"MultiPolygon","coordinates":[[['])
    tails = pl.Series(["]]}", "]]]}"])
    whole = (pl.lit('{"type":'), heads.gather(kinds), joined, tails.gather(kinds))
    return pl.select(
        pl.concat_str(*(pl.lit(part) if isinstance(part, pl.Series) else part for part in whole))
    ).to_series()
