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
from discreet.publication.boundaries import geojson_texts
from discreet.publication.description import describe
from discreet.publication.formats import WriteOptions
from discreet.publication.notation import exact_text
from discreet.tables import ProtectedTable


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
        texts = texts.scatter(at, geojson_texts(level.shapes.select(places[at]).degrees()))
    return texts
