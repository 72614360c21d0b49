"""What maps are drawn of: outlines in whole units, classes of figures, colours, texts.

In: a level of areas with its figures; how classes are made. Out: paths as SVG writes them, the
class of each area, its text with the signs of notation. Public. Classes are made of the
figures that are printed, rounded as they are printed: nothing hidden has a part in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, SmallIntArray, TextArray
from discreet.errors import PublicationError
from discreet.publication.area_figures import MapLevel, areas_of
from discreet.publication.boundaries import Boundaries
from discreet.publication.formats import Breaks, WriteOptions
from discreet.publication.notation import number_text, rounded, symbol
from discreet.publication.vocabulary import has_total, labels_at, words
from discreet.tables import CellStatus, ProtectedTable

#: A picture holds at most so many areas.
MOST_AREAS = 250_000
#: The longer side of a map in units, to which all points are moved.
_UNITS = 4_000

#: Where degrees are drawn in the projection of the European grid: west, south, east, north.
_EUROPE = (-32.0, 27.0, 45.0, 82.0)

#: From light to dark, told apart by lightness alone; classes take them at equal distances.
_SCALE = ("#f6edb8", "#a9d3a5", "#5fb0a8", "#2f86a6", "#225a94", "#1b2a5e")
#: The colour of zeros.
BLANK = "#fcfcfa"

#: What an area shows besides its classes: these stand before the first class.
ZERO, HIDDEN, INAPPLICABLE = -1, -2, -3


@dataclass(frozen=True)
class DrawnAreas:
    """The outlines of areas."""

    #: The outline of each area as SVG writes it, in whole units from the north-west
    paths: list[str]
    width: int  # how many units wide the map is
    height: int  # how many units high
    boxes: IntArray  # west, north, east and south of each area


def drawn(level: MapLevel) -> DrawnAreas:
    """The outlines of all areas of a level; codes that are no place have none.

    Points are moved to whole units: what neighbours share, they share then, too.
    """
    if len(level.places) > MOST_AREAS:
        message = f"a picture holds at most {MOST_AREAS:,} areas, not {len(level.places):,}"
        hint = "draw a coarser level, or write geojson or geo.parquet"
        raise PublicationError(message, code="too-large", where=level.name, hint=hint)
    at = np.flatnonzero(level.places >= 0)
    areas = _plane(level.shapes.select(level.places[at]))
    west, south, east, north = areas.box
    unit = _unit(areas, max(east - west, north - south))
    points = np.rint((areas.points - (west, north)) * (1 / unit, -1 / unit)).astype(np.int64)
    width, height = math.ceil((east - west) / unit), math.ceil((north - south) / unit)
    paths, boxes = [""] * len(level.places), np.zeros((len(level.places), 4), dtype=np.int64)
    first = areas.rings[areas.polygons[areas.areas]]
    boxes[at, :2] = np.minimum.reduceat(points, first[:-1])
    boxes[at, 2:] = np.maximum.reduceat(points, first[:-1])
    rings = _ring_paths(points, areas.rings)
    for k, row in enumerate(at.tolist()):
        mine = slice(areas.polygons[areas.areas[k]], areas.polygons[areas.areas[k + 1]])
        x, y = boxes[row, :2].tolist()
        paths[row] = "".join(rings[mine]) or f"M{x} {y}h1v1h-1z"
    return DrawnAreas(paths, width, height, boxes)


def _plane(areas: Boundaries) -> Boundaries:
    """The same on a plane: metres in Europe, else degrees, east drawn together."""
    low_east, low_north, high_east, high_north = _EUROPE
    if areas.coordinates == "EPSG:3035":
        return areas
    west, south, east, north = areas.box
    if low_east <= west and low_north <= south and east <= high_east and north <= high_north:
        return areas.metres()
    shrunk = areas.points * (math.cos(math.radians((south + north) / 2)), 1.0)
    return replace(areas, points=shrunk)


def _unit(areas: Boundaries, extent: float) -> float:
    """How long a unit is; squares are whole units wide."""
    unit = extent / _UNITS or 1.0
    alone = areas.coordinates == "EPSG:3035" and len(areas.rings) == len(areas) + 1
    if alone and bool((np.diff(areas.rings) == 5).all()):
        side = float(np.ptp(areas.points.reshape(-1, 5, 2), axis=1).min())
        return side / max(1, int(side / unit))
    return unit


def _ring_paths(points: IntArray, rings: IntArray) -> list[str]:
    """Each ring, steps from point to point; empty if nothing of it is left."""
    steps = np.diff(points, axis=0, prepend=points[:1])
    moved = (steps != 0).any(axis=1)
    moved[rings[:-1]] = False
    ring_paths = []
    starts = points[rings[:-1]].tolist()
    for (first, end), (x, y) in zip(pairwise(rings.tolist()), starts, strict=True):
        own = steps[first:end][moved[first:end]][:-1]
        if len(own) < 2:
            ring_paths.append("")
            continue
        text = " ".join(map(str, own.ravel().tolist())).replace(" -", "-")
        ring_paths.append(f"M{x} {y}l{text}z")
    return ring_paths


@dataclass(frozen=True)
class MapClasses:
    """Classes of figures: below the first cut, between cuts, from the last cut on.

    >>> MapClasses((10.0, 20.0), 0).texts("en")
    ['under 10', '10 to under 20', '20 and more']
    """

    cuts: tuple[float, ...]
    decimals: int

    @classmethod
    def of(cls, values: FloatArray, breaks: Breaks, number: int, decimals: int) -> MapClasses:
        """Classes of figures that are printed and not zero.

        >>> MapClasses.of(np.arange(1.0, 9.0), "quantiles", 4, 0).cuts
        (3.0, 5.0, 7.0)
        """
        if not isinstance(breaks, str):
            return cls(tuple(float(item) for item in breaks), decimals)
        if not len(values):
            return cls((), decimals)
        ordered = np.sort(values)
        if breaks == "equal":
            cuts = np.linspace(ordered[0], ordered[-1], number + 1)[1:-1].round(decimals)
        else:
            places = np.arange(1, number) * len(ordered) // number
            cuts = ordered[places]
        return cls(tuple(np.unique(cuts[cuts > ordered[0]]).tolist()), decimals)

    def find(self, values: FloatArray) -> IntArray:
        """The class of each figure."""
        return np.searchsorted(self.cuts, values, side="right").astype(np.int64)

    def __len__(self) -> int:
        return len(self.cuts) + 1

    def texts(self, language: str) -> list[str]:
        """What stands beside each class in the legend."""
        said = words(language)
        cuts = [self._text(cut, language) for cut in self.cuts]
        if not cuts:
            return [said.published]
        return [
            said.map_under.format(high=cuts[0]),
            *(said.map_between.format(low=low, high=high) for low, high in pairwise(cuts)),
            said.map_from.format(low=cuts[-1]),
        ]

    def _text(self, cut: float, language: str) -> str:
        whole = self.decimals == 0 and cut.is_integer()
        return number_text(int(cut) if whole else cut, self.decimals or 1, language)

    @property
    def colours(self) -> list[str]:
        """A colour for each class, light to dark."""
        return colours(len(self))


def colours(number: int) -> list[str]:
    """So many colours from light to dark.

    >>> colours(2)
    ['#a9d3a5', '#225a94']
    """
    # Few classes leave out the ends, which differ more than is needed.
    ends = {1: (0.4, 0.4), 2: (0.2, 0.8), 3: (0.1, 0.9)}.get(number, (0.0, 1.0))
    channels = np.array([[int(item[k : k + 2], 16) for k in (1, 3, 5)] for item in _SCALE])
    places = np.linspace(*ends, number) * (len(_SCALE) - 1)
    mixed = [np.interp(places, np.arange(len(_SCALE)), part) for part in channels.T]
    return [
        "#" + "".join(f"{round(float(part)):02x}" for part in item)
        for item in zip(*mixed, strict=True)
    ]


@dataclass(frozen=True)
class MapFigures:
    """One figure of each area, as it is printed."""

    texts: TextArray  # the figures with their signs
    value: FloatArray  # the figures, rounded as printed; 0 where there is none
    status: SmallIntArray  # their status; one that is rounded to zero is not zero
    decimals: int  # digits after the decimal point

    @property
    def counted(self) -> FloatArray:
        """The figures of which classes are made: printed and not zero."""
        found: FloatArray = self.value[np.isin(self.status, _COUNTED)]
        return found

    @property
    def limited(self) -> BoolArray:
        """The areas whose figure stands in parentheses."""
        mask: BoolArray = self.status == CellStatus.bracketed
        return mask

    def classes(self, made: MapClasses) -> IntArray:
        """The class of each area; `ZERO`, `HIDDEN` or `INAPPLICABLE` for those without one."""
        found = made.find(self.value)
        found[self.status == CellStatus.zero_or_changed_to_zero] = ZERO
        found[self.status == CellStatus.suppressed] = HIDDEN
        without = (CellStatus.not_applicable, CellStatus.imprecise)
        found[np.isin(self.status, without)] = INAPPLICABLE
        return found


#: The states of figures that are shown and not zero.
_COUNTED = (CellStatus.published, CellStatus.bracketed, CellStatus.official)


def map_figures(level: MapLevel, language: str) -> list[MapFigures]:
    """The figures of a level, one column after the other."""
    (body,) = level.layout.blocks(max(1, level.layout.shape[0]))
    shown = body.texts(lambda value, status, places: symbol(value, status, places, language))
    for at, between in body.intervals(language):
        shown.flat[at] = between
    values = body.texts(_as_printed).astype(np.float64)
    decimals = np.broadcast_to(body.decimals, body.value.shape)
    return [
        MapFigures(shown[:, k], values[:, k], body.status[:, k], int(decimals[0, k]))
        for k in range(body.value.shape[1])
    ]


def _as_printed(value: int | float, status: int, decimals: int) -> str:
    """A figure with the digits that are printed; 0 where there is none."""
    return str(rounded(value, decimals)) if status in _COUNTED else "0"


def pictured_level(table: ProtectedTable, options: WriteOptions) -> MapLevel:
    """The level of a picture, with one figure: the other variables at their totals, or as asked."""
    finest = areas_of(table, replace(options, complete=None))[-1]
    others = [dimension for dimension in table.dimensions if dimension is not finest.variable]
    at = {other.name: other.codes[0] for other in others} | dict(options.at)
    own = replace(options, at=at, level=finest.name, geo=[finest.variable.name])
    (level,) = areas_of(table, own)
    return level


def shown_codes(level: MapLevel, column: int, language: str) -> Sequence[str]:
    """What the figure of a column is of: labels of codes of other variables, but for totals."""
    layout = level.layout
    return [
        labels_at(layout.table, at, language)[code]
        for at, code in zip(layout.columns, layout.column_codes[column].tolist(), strict=True)
        if code or not has_total(layout.table, at)
    ]
