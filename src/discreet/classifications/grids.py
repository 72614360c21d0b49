"""Squares of the European grid (ETRS89-LAEA, EPSG:3035): codes, nesting, geographic coordinates.

In: codes of squares, or coordinates. Out: `GridSquare`, trees of squares of several sizes, and
longitude and latitude of corners. Squares are told by size and south-west corner, written as
INSPIRE does (`CRS3035RES1000mN2684000E4334000`) or short (`1kmN2684E4334`); both are read. Which
squares occur tells where people live: a tree of these is made of codes found in data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.classifications.tree import CodeTree, Found, raise_problems
from discreet.errors import ClassificationError, Problem

#: Sides of squares in metres, coarsest first.
SIZES = (100_000, 10_000, 1_000, 100)
#: Coordinates lie from 0 up to, but not with, this many metres.
EXTENT = 10_000_000

_LONG = r"^CRS3035RES(\d{1,8})mN(\d{1,7})E(\d{1,7})$"
_SHORT = r"^(\d{1,5})(k?m)N(\d{1,7})E(\d{1,7})$"
_FORMS = "such as CRS3035RES1000mN2684000E4334000 or 1kmN2684E4334"


class GridSquare(NamedTuple):
    """A square by the length of its side and its south-west corner, in metres.

    >>> square = GridSquare.read("1kmN2684E4334")
    >>> square, square.code
    (GridSquare(size=1000, north=2684000, east=4334000), 'CRS3035RES1000mN2684000E4334000')
    >>> square.within(100_000).short
    '100kmN26E43'
    """

    size: int
    north: int
    east: int

    @classmethod
    def read(cls, code: str) -> Self:
        """The square of a code."""
        sizes, norths, easts = read_squares([code])
        return cls(int(sizes[0]), int(norths[0]), int(easts[0]))

    @property
    def code(self) -> str:
        """The code as INSPIRE writes it."""
        return f"CRS3035RES{self.size}mN{self.north}E{self.east}"

    @property
    def short(self) -> str:
        """The short code: corners are cut by as many digits as the side has zeros."""
        zeros = 10 ** (len(str(self.size)) - len(str(self.size).rstrip("0")))
        side = f"{self.size // 1000}km" if self.size % 1000 == 0 else f"{self.size}m"
        return f"{side}N{self.north // zeros}E{self.east // zeros}"

    def within(self, size: int) -> GridSquare:
        """The square of a larger side that holds this one."""
        return GridSquare(size, self.north // size * size, self.east // size * size)

    def corners(self) -> list[tuple[float, float]]:
        """Longitude and latitude of the corners, against the clock from the south-west one.

        >>> GridSquare.read("100kmN26E43").corners()[0]
        (9.726649, 46.51295)
        """
        norths = self.north + self.size * np.array([0, 0, 1, 1])
        easts = self.east + self.size * np.array([0, 1, 1, 0])
        longitude, latitude = geographic(easts, norths)
        return [
            (round(x, 6), round(y, 6))
            for x, y in zip(longitude.tolist(), latitude.tolist(), strict=True)
        ]


def read_squares(codes: Iterable[str]) -> tuple[IntArray, IntArray, IntArray]:
    """Sizes, northings and eastings of many codes; one error for all that are no squares.

    >>> [array.tolist() for array in read_squares(["100mN26841E43340", "10kmN268E433"])]
    [[100, 10000], [2684100, 2680000], [4334000, 4330000]]
    """
    texts = pl.Series("code", list(codes), dtype=pl.String)
    short = texts.str.extract_groups(_SHORT).struct
    long = texts.str.extract_groups(_LONG).struct
    table = pl.DataFrame(
        {
            "long": long.field("1").cast(pl.Int64),
            "side": short.field("1").cast(pl.Int64),
            "unit": short.field("2"),
            "long_north": long.field("2").cast(pl.Int64),
            "long_east": long.field("3").cast(pl.Int64),
            "north": short.field("3").cast(pl.Int64),
            "east": short.field("4").cast(pl.Int64),
        }
    )
    side = pl.col("side") * pl.when(pl.col("unit") == "km").then(1000).otherwise(1)
    table = table.with_columns(size=pl.coalesce("long", side))
    # As many zeros of the corner are left out as the side has.
    zeros = pl.col("size").cast(pl.String).str.extract("(0*)$").str.len_chars()
    table = table.with_columns(zeros=pl.lit(10).pow(zeros).cast(pl.Int64)).select(
        "size",
        north=pl.coalesce("long_north", pl.col("north") * pl.col("zeros")),
        east=pl.coalesce("long_east", pl.col("east") * pl.col("zeros")),
    )
    # A product beyond 2^63 would come out negative.
    fits = pl.all_horizontal(
        pl.col("size") > 0, *(pl.col(name).is_between(0, EXTENT - 1) for name in ("north", "east"))
    )
    cut = (pl.col("north") % pl.col("size") == 0) & (pl.col("east") % pl.col("size") == 0)
    good = table.select((fits & cut).fill_null(value=False)).to_series()
    if not good.all():
        wrong = texts.filter(~good)
        problems = [Problem(f"{code!r} is not a grid cell", hint=_FORMS) for code in wrong[:10]]
        raise_problems("", problems, total=len(wrong), what="{} codes are not grid cells")
    size, north, east = (table[name].to_numpy() for name in ("size", "north", "east"))
    return size, north, east


def square_codes(size: int, north: IntArray, east: IntArray, *, short: bool = False) -> list[str]:
    """The codes of squares of one size, long or short.

    >>> square_codes(1000, np.array([2684000]), np.array([4334000]))
    ['CRS3035RES1000mN2684000E4334000']
    >>> square_codes(1000, np.array([2684000]), np.array([4334000]), short=True)
    ['1kmN2684E4334']
    """
    cut = 10 ** (len(str(size)) - len(str(size).rstrip("0"))) if short else 1
    frame = pl.DataFrame({"north": north // cut, "east": east // cut})
    side = _side(size).replace(" ", "") if short else f"CRS3035RES{size}m"
    text = pl.format(f"{side}N{{}}E{{}}", "north", "east")
    return frame.select(text).to_series().to_list()


def coarser_squares(codes: Iterable[str], size: int) -> dict[str, str]:
    """The square of a larger side in which each of these lies, in the form that they have.

    >>> coarser_squares(["100mN26841E43340"], 1000)
    {'100mN26841E43340': '1kmN2684E4334'}
    """
    listed = list(codes)
    _, north, east = read_squares(listed)
    short = not any(code.startswith("CRS") for code in listed)
    larger = square_codes(size, north // size * size, east // size * size, short=short)
    return dict(zip(listed, larger, strict=True))


def tree_of_squares(
    name: str,
    codes: Iterable[str],
    *,
    sizes: Sequence[int],
    total: str,
    found: Found = "none",
    short: bool = False,
) -> CodeTree:
    """The tree of squares: those given, and the larger ones that hold them."""
    _check_sizes(name, sizes)
    value: object = codes
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise_problems(name, [Problem("give the codes of grid cells as a list", name, _FORMS)])
    size, north, east = read_squares(codes)
    if (size != sizes[-1]).any():
        number = int((size != sizes[-1]).sum())
        message = f"{number:,} codes are grid cells of another size than {sizes[-1]} m"
        hint = "list the size of the codes as the last one; in a programme, level cuts it off"
        raise ClassificationError(message, code="classification", where=name, hint=hint)
    corners = [(north // side * side, east // side * side) for side in sizes]
    # By the outermost square first, so that each stands before those that it holds.
    order = np.lexsort([part for pair in reversed(corners) for part in reversed(pair)])
    tiers: list[tuple[int, list[str], IntArray]] = []
    below, places = np.zeros(len(order), dtype=np.int64), []
    for side, (norths, easts) in zip(sizes, corners, strict=True):
        norths, easts = norths[order], easts[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (np.diff(norths) != 0) | (np.diff(easts) != 0)
        named = square_codes(side, norths[new], easts[new], short=short)
        tiers.append((side, named, np.flatnonzero(new)))
        places.append(np.cumsum(new) - 1)
    return _tree(name, total, tiers, places, below, found)


def _tree(
    name: str,
    total: str,
    tiers: Sequence[tuple[int, list[str], IntArray]],
    places: Sequence[IntArray],
    none: IntArray,
    found: Found,
) -> CodeTree:
    """One tree of tiers of squares; `places` has the number of each record's square in a tier."""
    first = np.concatenate([rows for *_, rows in tiers])
    depth = np.concatenate([np.full(len(rows), k) for k, (*_, rows) in enumerate(tiers)])
    order = np.lexsort([depth, first])  # before what it holds, behind what came before
    at = np.empty(len(order), dtype=np.int64)
    at[order] = np.arange(1, len(order) + 1)
    starts = np.cumsum([0, *(len(rows) for *_, rows in tiers)])
    above = [none[: len(tiers[0][2])]]
    above += [at[starts[k] + places[k][tiers[k + 1][2]]] for k in range(len(tiers) - 1)]
    codes = [code for _, named, _ in tiers for code in named]
    parents = np.concatenate(above)[order]
    return CodeTree(
        name=name,
        codes=(total, *(codes[k] for k in order.tolist())),
        parents=(-1, *parents.tolist()),
        level_names=tuple(_side(side) for side, *_ in tiers),
        found=found,
    )


def _side(size: int) -> str:
    """A side as people write it.

    >>> _side(100), _side(10_000)
    ('100 m', '10 km')
    """
    return f"{size // 1000} km" if size % 1000 == 0 else f"{size} m"


def _check_sizes(name: str, sizes: Sequence[int]) -> None:
    value: object = sizes
    whole = isinstance(value, Sequence) and all(
        isinstance(size, int) and not isinstance(size, bool) and size > 0 for size in sizes
    )
    nested = whole and all(coarse > fine and coarse % fine == 0 for coarse, fine in pairwise(sizes))
    if not sizes or not nested:
        message = "sizes must be whole metres, coarsest first, each a multiple of the next"
        hint = "such as sizes=[100_000, 10_000, 1_000, 100]"
        raise ClassificationError(message, code="classification", where=name, hint=hint)


# Lambert's azimuthal projection of equal areas (Snyder 1987, pp. 187-190; EPSG method 9820).
_AXIS, _FLAT = 6_378_137.0, 1 / 298.257222101  # GRS 1980
_ECC = math.sqrt(_FLAT * (2 - _FLAT))
_LATITUDE, _LONGITUDE = math.radians(52), math.radians(10)
_EAST, _NORTH = 4_321_000.0, 3_210_000.0


def _authalic(sine: FloatArray) -> FloatArray:
    """Snyder's q, by which areas between parallels grow."""
    part = _ECC * sine
    swollen: FloatArray = (1 - _ECC**2) * (sine / (1 - part**2) + np.arctanh(part) / _ECC)
    return swollen


_POLE = float(_authalic(np.array(1.0)))
_BETA = math.asin(float(_authalic(np.array(math.sin(_LATITUDE)))) / _POLE)
_RADIUS = _AXIS * math.sqrt(_POLE / 2)
_SCALE = (
    _AXIS
    * math.cos(_LATITUDE)
    / math.sqrt(1 - (_ECC * math.sin(_LATITUDE)) ** 2)
    / (_RADIUS * math.cos(_BETA))
)


def grid_coordinates(
    longitude: Sequence[float] | FloatArray, latitude: Sequence[float] | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Easting and northing in metres of places given in degrees (ETRS89, or WGS 84).

    >>> east, north = grid_coordinates([5.0], [50.0])  # the example of IOGP 373-7-2
    >>> float(east[0].round(2)), float(north[0].round(2))
    (3962799.45, 2999718.85)
    """
    turn = np.radians(np.asarray(longitude, dtype=np.float64)) - _LONGITUDE
    beta = np.arcsin(
        np.clip(
            _authalic(np.sin(np.radians(np.asarray(latitude, dtype=np.float64)))) / _POLE, -1, 1
        )
    )
    toward = np.cos(beta) * np.cos(turn)
    reach = _RADIUS * np.sqrt(2 / (1 + math.sin(_BETA) * np.sin(beta) + math.cos(_BETA) * toward))
    east = _EAST + reach * _SCALE * np.cos(beta) * np.sin(turn)
    north = _NORTH + reach / _SCALE * (math.cos(_BETA) * np.sin(beta) - math.sin(_BETA) * toward)
    return east, north


def geographic(
    east: IntArray | FloatArray, north: IntArray | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Longitude and latitude in degrees of eastings and northings in metres.

    >>> longitude, latitude = geographic(np.array([3962799.45]), np.array([2999718.85]))
    >>> float(longitude[0].round(6)), float(latitude[0].round(6))
    (5.0, 50.0)
    """
    x = (np.asarray(east, dtype=np.float64) - _EAST) / _SCALE
    y = (np.asarray(north, dtype=np.float64) - _NORTH) * _SCALE
    far = np.hypot(x, y)
    angle = 2 * np.arcsin(np.clip(far / (2 * _RADIUS), 0, 1))
    sine, cosine = np.sin(angle), np.cos(angle)
    with np.errstate(invalid="ignore"):
        share = np.where(far > 0, y * sine / far, 0.0)
    beta = np.arcsin(np.clip(cosine * math.sin(_BETA) + share * math.cos(_BETA), -1, 1))
    longitude = _LONGITUDE + np.arctan2(
        x * sine, far * math.cos(_BETA) * cosine - y * math.sin(_BETA) * sine
    )
    wanted, latitude = _POLE * np.sin(beta), beta
    for _ in range(20):  # Snyder 3-16; converges to a millimetre within four rounds
        sines = np.sin(latitude)
        step = (
            (1 - (_ECC * sines) ** 2) ** 2
            / (2 * np.cos(latitude))
            * (wanted - _authalic(sines))
            / (1 - _ECC**2)
        )
        latitude = latitude + step
        if np.abs(step).max(initial=0.0) < 1e-12:
            break
    return np.degrees(longitude), np.degrees(latitude)
