"""Boundaries of areas: polygons out of a file of the office, squares out of their codes.

In: GeoJSON or GeoParquet with a code for each area; codes of squares. Out: `Boundaries`, whose
rings are closed and turn as RFC 7946 wants: outer ones against the clock, holes with it. Public:
nothing here knows a figure.
"""

from __future__ import annotations

import json
import os
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.classifications import geographic, grid_coordinates, read_squares
from discreet.errors import ClassificationError, Problem, PublicationError, raise_all
from discreet.files import write_text

#: Longitude and latitude, or metres of the European grid.
Coordinates = Literal["EPSG:4326", "EPSG:3035"]

#: Names of coordinate systems that differ by less than a metre from one of the two.
_KNOWN: Mapping[str, Coordinates] = {
    "OGC:CRS84": "EPSG:4326",
    "EPSG:4326": "EPSG:4326",
    "EPSG:4258": "EPSG:4326",
    "EPSG:3035": "EPSG:3035",
}
_MEND = "repair it, for example with ogr2ogr -makevalid"
#: So many edges are held against their neighbours at a time.
_EDGES = 20_000
_KEY = "state the property with the codes: key=…, one of {}"
_CONVERT = "convert it: ogr2ogr -t_srs EPSG:4326 NEW OLD"
#: The central meridian of the grid, east of its origin: parallels bend away from the pole there.
_MERIDIAN = 4_321_000
#: Coordinates of squares are smaller.
_WIDE = 2**24

#: Digits of degrees in GeoJSON: a tenth of a metre.
_DIGITS = 6

_Polygons = list[list[FloatArray]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Boundaries:
    """The polygons of areas.

    Args:
        codes: A code for each area; all different.
        points: The points of all rings, east and north; the last of a ring is its first.
        rings: The first point of each ring, and the number of points.
        polygons: The first ring of each polygon, and the number of rings.
        areas: The first polygon of each area, and the number of polygons.
        coordinates: What the points are.

    >>> square = Boundaries.of_squares(["1kmN2684E4334"])
    >>> square.points[0].tolist(), square.degrees().points[0].round(6).tolist()
    ([4334000.0, 2684000.0], [10.171662, 47.26945])
    """

    codes: tuple[str, ...]
    points: FloatArray
    rings: IntArray
    polygons: IntArray
    areas: IntArray
    coordinates: Coordinates

    @classmethod
    def read(cls, *paths: str | os.PathLike[str], key: str = "code") -> Self:
        """Read the areas of GeoJSON or GeoParquet files, such as one for each level.

        Args:
            paths: The files; the suffix chooses the format.
            key: The property, or column, with the code of each area.
        """
        parts = [cls.of_polygons(*_read(Path(path), key), where=os.fspath(path)) for path in paths]
        if len(parts) == 1:
            return parts[0]
        codes = [code for part in parts for code in part.codes]
        twice = [code for code, number in Counter(codes).items() if number > 1]
        if twice or not parts:
            message = f"area {twice[0]!r} occurs in two files" if twice else "no file given"
            raise _wrong("boundaries", message)
        sizes = {
            name: _starts([n for part in parts for n in np.diff(getattr(part, name)).tolist()])
            for name in ("rings", "polygons", "areas")
        }
        points = np.concatenate([part.degrees().points for part in parts])
        return cls(codes=tuple(codes), points=points, coordinates="EPSG:4326", **sizes)

    @classmethod
    def of_squares(cls, codes: Sequence[str]) -> Self:
        """Squares of the European grid, in metres."""
        return cls(codes=tuple(codes), **_corners(*read_squares(codes)))

    @classmethod
    def of_polygons(
        cls,
        areas: Iterable[tuple[Any, _Polygons | str]],
        coordinates: Coordinates,
        *,
        where: str = "boundaries",
    ) -> Self:
        """Areas of given polygons, checked.

        Args:
            areas: The code of each area, and its polygons: rings of points, the outer one first.
            coordinates: What the points are.
            where: What to name in errors.
        """
        codes, kept, problems = dict[str, None](), list[_Polygons](), list[Problem]()
        for number, (code, outline) in enumerate(areas, 1):
            wrong = _fault(code, outline, coordinates, codes)
            if wrong:
                problems.append(Problem(wrong[0], f"area {number}", wrong[1]))
            else:
                codes[code] = None
                kept.append(outline)  # type: ignore[arg-type]
        many = "{} areas of the file are not valid"
        raise_all(PublicationError, problems, code="boundaries", many=many, where=where)
        if not codes:
            raise _wrong(where, "the file contains no areas")
        every = [ring for polygons in kept for polygon in polygons for ring in polygon]
        points, names = np.concatenate(every), tuple(codes)
        rings = _starts([len(ring) for ring in every])
        polygons = _starts([len(polygon) for own in kept for polygon in own])
        first = _starts([len(own) for own in kept])
        crossed = rings[_crossed(points, rings)]
        area = np.searchsorted(rings[polygons[first]], crossed, "right") - 1
        problems = [
            Problem(f"a ring of {names[k]!r} crosses itself", f"area {k + 1}", _MEND)
            for k in np.unique(area).tolist()
        ]
        many = "rings of {} areas cross themselves"
        raise_all(PublicationError, problems, code="boundaries", many=many, where=where)
        # Outer rings turn against the clock and holes with it.
        outer = np.zeros(len(rings) - 1, dtype=np.bool_)
        outer[polygons[:-1]] = True
        for ring in np.flatnonzero((_sizes(points, rings) > 0) != outer).tolist():
            part = slice(rings[ring], rings[ring + 1])
            points[part] = points[part][::-1].copy()
        return cls(
            codes=names,
            points=points,
            rings=rings,
            polygons=polygons,
            areas=first,
            coordinates=coordinates,
        )

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each area."""
        return {code: number for number, code in enumerate(self.codes)}

    def select(self, numbers: IntArray) -> Boundaries:
        """Some areas, in this order."""
        polygons, areas = _gathered(self.areas, numbers)
        rings, starts = _gathered(self.polygons, polygons)
        points, firsts = _gathered(self.rings, rings)
        return Boundaries(
            codes=tuple(self.codes[k] for k in numbers.tolist()),
            points=self.points[points],
            rings=firsts,
            polygons=starts,
            areas=areas,
            coordinates=self.coordinates,
        )

    def degrees(self) -> Boundaries:
        """A copy in degrees; corners that squares share are computed once."""
        if self.coordinates == "EPSG:4326":
            return self
        east, north = self.points.T
        _, first, back = np.unique(east + 1j * north, return_index=True, return_inverse=True)
        corners = np.stack(geographic(east[first], north[first]), axis=1)
        return replace(self, points=corners[back], coordinates="EPSG:4326")

    def within(self, coordinates: Coordinates) -> Boundaries:
        """A copy in these coordinates."""
        if coordinates == "EPSG:4326":
            return self.degrees()
        if self.coordinates == "EPSG:3035":
            return self
        points = np.stack(grid_coordinates(*self.points.T), axis=1)
        return replace(self, points=points, coordinates="EPSG:3035")

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the areas as GeoJSON, each with its code."""
        target = Path(path)
        texts = zip(self.codes, geojson_texts(self.degrees()).to_list(), strict=True)
        features = (
            f'{{"type": "Feature", "geometry": {text}, "properties": {json.dumps({"code": code})}}}'
            for code, text in texts
        )
        joined = ",\n".join(features)
        write_text(target, f'{{"type": "FeatureCollection", "features": [\n{joined}\n]}}\n')
        return target

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The least east and north, and the largest."""
        (west, south), (east, north) = self.points.min(axis=0), self.points.max(axis=0)
        return float(west), float(south), float(east), float(north)

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"<Boundaries: {len(self):,} areas, {len(self.points):,} points>"


@dataclass(frozen=True, eq=False)
class GridAreas:
    """Many squares, whose corners are made when they are needed.

    >>> squares = GridAreas(("1kmN2684E4334", "1kmN2685E4334"), *read_squares(["1kmN2684E4334"]*2))
    >>> squares.select(np.array([0])).points.shape
    (5, 2)
    """

    codes: tuple[str, ...]
    size: IntArray
    north: IntArray
    east: IntArray

    def select(self, numbers: IntArray) -> Boundaries:
        """Some squares, in this order."""
        corners = _corners(self.size[numbers], self.north[numbers], self.east[numbers])
        return Boundaries(codes=tuple(self.codes[k] for k in numbers.tolist()), **corners)

    def hull(self, numbers: IntArray) -> Boundaries:
        """Squares as large as each row of some squares: what is needed to know where all end."""
        size, north, east = (item[numbers] for item in (self.size, self.north, self.east))
        rows, which = np.unique(size * _WIDE + north, return_inverse=True)
        west, far = np.full(len(rows), np.iinfo(np.int64).max), np.zeros(len(rows), np.int64)
        np.minimum.at(west, which, east)
        np.maximum.at(far, which, east)
        middle = np.clip(_MERIDIAN, west, far)
        side, south = (np.tile(part, 3) for part in np.divmod(rows, _WIDE))
        corners = _corners(side, south, np.concatenate([west, middle, far]))
        return Boundaries(codes=(), **corners)


def squares_of(codes: Sequence[str]) -> GridAreas | None:
    """The squares of codes; None if not all of them are squares of the grid."""
    try:
        return GridAreas(tuple(codes), *read_squares(codes)) if codes else None
    except ClassificationError:
        return None


def _corners(size: IntArray, north: IntArray, east: IntArray) -> dict[str, Any]:
    """Squares as rings of five points, against the clock from the south-west one."""
    points = np.empty((len(size), 5, 2), dtype=np.float64)
    points[:, :, 0] = east[:, np.newaxis] + size[:, np.newaxis] * np.array([0, 1, 1, 0, 0])
    points[:, :, 1] = north[:, np.newaxis] + size[:, np.newaxis] * np.array([0, 0, 1, 1, 0])
    one = np.arange(len(size) + 1)
    return {
        "points": points.reshape(-1, 2),
        "rings": 5 * one,
        "polygons": one,
        "areas": one,
        "coordinates": "EPSG:3035",
    }


def _starts(lengths: Sequence[int]) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _gathered(starts: IntArray, numbers: IntArray) -> tuple[IntArray, IntArray]:
    """The members of some groups, one group after the other, and where each then starts."""
    firsts = _starts((starts[numbers + 1] - starts[numbers]).tolist())
    shift = np.repeat(starts[numbers] - firsts[:-1], np.diff(firsts))
    return np.arange(firsts[-1]) + shift, firsts


def _sizes(points: FloatArray, rings: IntArray) -> FloatArray:
    """Twice the area of each ring; negative if it turns with the clock."""
    # Seen from its own first point, a ring far from the origin keeps its digits.
    own = points - np.repeat(points[rings[:-1]], np.diff(rings), axis=0)
    cross = own[:-1, 0] * own[1:, 1] - own[1:, 0] * own[:-1, 1]
    cross = np.append(cross, 0.0)
    cross[rings[1:] - 1] = 0.0  # from one ring to the next
    sizes: FloatArray = np.add.reduceat(cross, rings[:-1])
    return sizes


def _crossed(points: FloatArray, rings: IntArray) -> IntArray:
    """The rings of which two edges cross."""
    last = np.zeros(len(points), dtype=np.bool_)
    last[rings[1:] - 1] = True
    start = np.flatnonzero(~last)
    ring = np.repeat(np.arange(len(rings) - 1), np.diff(rings) - 1)
    a, b = points[start], points[start + 1]
    low, high = np.minimum(a, b), np.maximum(a, b)
    # Edges of a ring from west to east: only those that begin before another ends can cross it.
    width = float(np.ptp(points[:, 0])) + 1
    order = np.argsort(ring * width + low[:, 0], kind="stable")
    a, b, low, high, ring = a[order], b[order], low[order], high[order], ring[order]
    west = points[:, 0].min()
    ends = np.searchsorted(
        ring * width + (low[:, 0] - west), ring * width + (high[:, 0] - west), "right"
    )
    crossed = []
    for first in range(0, len(ring), _EDGES):
        here = np.arange(first, min(first + _EDGES, len(ring)))
        many = np.maximum(ends[here] - here - 1, 0)
        one = np.repeat(here, many)
        two = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(many) - many, many)
        near = (low[one, 1] < high[two, 1]) & (low[two, 1] < high[one, 1])
        one, two = one[near], two[near]
        cross = np.ones(len(one), dtype=np.bool_)
        for line, other in ((one, two), (two, one)):
            # The ends of the other edge lie on two sides of the line.
            (x, y), (u, v), (s, r) = ((c - a[line]).T for c in (b[line], a[other], b[other]))
            cross &= np.sign(x * v - y * u) * np.sign(x * r - y * s) < 0
        crossed.append(ring[one[cross]])
    return np.unique(np.concatenate(crossed))


def _wrong(place: Path | str, message: str, hint: str = "") -> PublicationError:
    return PublicationError(message, code="boundaries", where=str(place), hint=hint)


def _fault(
    code: Any, polygons: _Polygons | str, coordinates: Coordinates, before: Mapping[str, None]
) -> tuple[str, str] | None:
    """What is wrong with an area, and what helps."""
    if not isinstance(code, str) or not code:
        return "its code is not text", "write codes as text, because numbers lose leading zeros"
    if code in before:
        return f"the code {code!r} occurs twice", "combine the polygons of an area in one feature"
    if isinstance(polygons, str):
        return f"{code!r} {polygons}", ""
    if not polygons or not all(polygons):
        return f"{code!r} has no polygon", ""
    for ring in (ring for polygon in polygons for ring in polygon):
        if len(ring) < 4 or not bool((ring[0] == ring[-1]).all()):
            return f"a ring of {code!r} is not closed, or has fewer than four points", ""
        if not bool(np.isfinite(ring).all()):
            return f"a ring of {code!r} has a coordinate that is not a number", ""
        if coordinates == "EPSG:4326" and bool((np.abs(ring) > (180, 90)).any()):
            return f"a ring of {code!r} has coordinates that are not degrees", _CONVERT
        if float(_sizes(ring, np.array([0, len(ring)]))[0]) == 0:
            return f"a ring of {code!r} encloses no area", ""
    return None


def _system(place: Path, name: str) -> Coordinates:
    """The coordinates of a name such as "EPSG:4326" or "urn:ogc:def:crs:EPSG::3035"."""
    match = re.fullmatch(r"(?:.*[:/])?(EPSG|OGC)[:/](?:[\d.]*[:/])?(\w+)", name)
    short = ":".join(match.groups()) if match else ""
    if short not in _KNOWN:
        raise _wrong(place, f"the coordinates are {name!r}, not longitude and latitude", _CONVERT)
    return _KNOWN[short]


def _read(place: Path, key: str) -> tuple[Iterator[tuple[Any, _Polygons | str]], Coordinates]:
    """The areas of a file and their coordinates."""
    try:
        if place.suffix.lower() in (".geojson", ".json"):
            return _geojson(place, key)
        if place.suffix.lower() in (".parquet", ".geoparquet"):
            return _geoparquet(place, key)
    except OSError as error:
        message = f"the boundaries cannot be read ({error.strerror})"
        raise _wrong(place, message, "give the path of a file") from None
    raise _wrong(place, "unknown suffix of a boundary file", "use .geojson or .parquet")


# -- GeoJSON ----------------------------------------------------------------------


def _geojson(place: Path, key: str) -> tuple[Iterator[tuple[Any, _Polygons | str]], Coordinates]:
    try:
        document = json.loads(place.read_bytes())
        kind, features, named = document["type"], document["features"], document.get("crs")
        system = "OGC:CRS84" if named is None else str(named["properties"]["name"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        kind, features, system = "", None, ""
    if kind != "FeatureCollection" or not isinstance(features, list):
        raise _wrong(place, "not a GeoJSON FeatureCollection")
    if features and not any(key in _properties(feature) for feature in features):
        names = sorted({name for each in features[:100] for name in _properties(each)})
        message = f"no feature has a property {key!r}"
        raise _wrong(place, message, _KEY.format(", ".join(names)))
    pairs = ((_properties(feature).get(key), _polygons(feature)) for feature in features)
    return pairs, _system(place, system)


def _properties(feature: Any) -> dict[str, Any]:
    own = feature.get("properties") if isinstance(feature, dict) else None
    return own if isinstance(own, dict) else {}


def _polygons(feature: Any) -> _Polygons | str:
    """The polygons of a feature, or what is wrong with it."""
    geometry: Any = feature.get("geometry") if isinstance(feature, dict) else None
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if kind not in ("Polygon", "MultiPolygon"):
        return "is not a polygon"
    nested = geometry.get("coordinates")

    def points(ring: Any) -> FloatArray:
        return np.array([point[:2] for point in ring], dtype=np.float64).reshape(-1, 2)

    try:
        polygons = [nested] if kind == "Polygon" else nested
        return [[points(ring) for ring in polygon] for polygon in polygons]
    except (TypeError, ValueError):
        return "has coordinates that are not numbers"


def geojson_texts(areas: Boundaries) -> pl.Series:
    """The geometry of each area as JSON.

    >>> geojson_texts(Boundaries.of_squares(["100kmN26E43"]).degrees())[0][:40]
    '{"type":"Polygon","coordinates":[[[9.726'
    """
    # Before each point stands what closes the rings, polygons and areas before it.
    before = np.zeros(len(areas.points), dtype=np.int64)
    before[areas.rings[:-1]] = 1
    before[areas.rings[areas.polygons[:-1]]] = 2
    before[areas.rings[areas.polygons[areas.areas[:-1]]]] = 3
    signs = pl.Series([",", "],[", "]],[[", ""])
    of = np.repeat(np.arange(len(areas)), np.diff(areas.rings[areas.polygons[areas.areas]]))
    points = pl.DataFrame({"area": of, "sign": signs.gather(before)})
    x, y = areas.points.round(_DIGITS).T
    points = points.with_columns(x=x, y=y)
    joined = points.group_by("area", maintain_order=True).agg(
        pl.concat_str("sign", pl.lit("["), "x", pl.lit(","), "y", pl.lit("]")).str.join("")
    )["sign"]
    kinds = pl.Series(np.diff(areas.areas) > 1).cast(pl.Int8)
    heads = pl.Series(['"Polygon","coordinates":[[', '"MultiPolygon","coordinates":[[['])
    tails = pl.Series(["]]}", "]]]}"])
    whole = ('{"type":', heads.gather(kinds), joined, tails.gather(kinds))
    return pl.select(pl.concat_str(*map(pl.lit, whole))).to_series()


# -- GeoParquet, with geometries in well-known binary -----------------------------


def _geoparquet(place: Path, key: str) -> tuple[Iterator[tuple[Any, _Polygons | str]], Coordinates]:
    try:
        about = json.loads(pl.read_parquet_metadata(place)["geo"])
        column = about["primary_column"]
        stated = about["columns"][column]
        names = list(pl.read_parquet_schema(place))
    except (pl.exceptions.PolarsError, ValueError, KeyError, TypeError):
        raise _wrong(place, "not a GeoParquet file") from None
    if stated.get("encoding") != "WKB":
        raise _wrong(place, "its geometries are not in well-known binary (WKB)")
    if key not in names:
        message = f"column {key!r} not found in the file"
        raise _wrong(place, message, _KEY.format(", ".join(names)))
    named = stated.get("crs", {"id": {"authority": "OGC", "code": "CRS84"}})
    own = (named or {}).get("id", {}) if isinstance(named, dict | None) else {}
    coordinates = _system(place, f"{own.get('authority', '?')}:{own.get('code', '?')}")
    frame = pl.read_parquet(place, columns=[key, column])

    def polygons(blob: bytes) -> _Polygons | str:
        try:
            polygons, end = _wkb_polygons(blob, 0)
        except (struct.error, ValueError):
            return "is not a polygon in well-known binary"
        return polygons if end == len(blob) else "has extra bytes after its polygons"

    pairs = zip(frame[key].to_list(), frame[column].to_list(), strict=True)
    return ((code, polygons(blob or b"")) for code, blob in pairs), coordinates


_POLYGON, _MULTIPOLYGON = 3, 6


def _wkb_polygons(blob: bytes, at: int) -> tuple[_Polygons, int]:
    order = "<" if blob[at : at + 1] == b"\x01" else ">"
    (kind,) = struct.unpack_from(f"{order}I", blob, at + 1)
    # ISO: thousands tell of heights (1), measures (2), both (3).
    more, kind = divmod(kind, 1000)
    if kind not in (_POLYGON, _MULTIPOLYGON) or more > 3:
        raise ValueError
    width = (2, 3, 3, 4)[more]
    (number,) = struct.unpack_from(f"{order}I", blob, at + 5)
    at += 9
    polygons: _Polygons = [] if kind == _MULTIPOLYGON else [[]]
    for _ in range(number):
        if kind == _MULTIPOLYGON:
            inner, at = _wkb_polygons(blob, at)
            polygons += inner
            continue
        (length,) = struct.unpack_from(f"{order}I", blob, at)
        values = np.frombuffer(blob, f"{order}f8", length * width, at + 4)
        polygons[0].append(values.reshape(-1, width)[:, :2].astype(np.float64))
        at += 4 + 8 * length * width
    return polygons, at


def well_known_binary(areas: Boundaries) -> list[bytes]:
    """The geometry of each area, little-endian.

    >>> shapes = well_known_binary(Boundaries.of_squares(["1kmN2684E4334"]))
    >>> len(shapes[0]), shapes[0][:9].hex()
    (93, '010300000001000000')
    """
    points = areas.points.astype("<f8").tobytes()
    rings = [
        struct.pack("<I", end - first) + points[16 * first : 16 * end]
        for first, end in pairwise(areas.rings.tolist())
    ]
    parts = [
        struct.pack("<BII", 1, _POLYGON, end - first) + b"".join(rings[first:end])
        for first, end in pairwise(areas.polygons.tolist())
    ]
    return [
        parts[first]
        if end - first == 1
        else struct.pack("<BII", 1, _MULTIPOLYGON, end - first) + b"".join(parts[first:end])
        for first, end in pairwise(areas.areas.tolist())
    ]
