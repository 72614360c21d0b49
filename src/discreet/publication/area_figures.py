"""The figures of areas, and what maps are drawn of: outlines in whole units, classes, colours.

In: `ProtectedTable`, and the boundaries of its areas unless they are squares. Out: levels of areas
with rows of figures and polygons; paths as SVG writes them, the class of each area, its text with
the signs of notation. Public. A hidden cell has no value, a zero is a zero whatever it was, and
classes are made of figures rounded as they are printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray, SmallIntArray, TextArray
from discreet.classifications import Classification
from discreet.errors import Problem, PublicationError, raise_all
from discreet.publication.boundaries import Boundaries, GridAreas, squares_of
from discreet.publication.cells import ListedCells, published_columns
from discreet.publication.formats import Breaks, Shown, WriteOptions
from discreet.publication.layout import PageLayout, footnotes, lay_out
from discreet.publication.notation import number_text, rounded
from discreet.publication.vocabulary import has_total, labels_at, labels_of, words
from discreet.tables import FIGURE, CellStatus, Dimension, ProtectedTable

#: So many areas are written at a time.
BLOCK = 50_000
#: An area has at most so many figures in one file.
_MOST_FIGURES = 1_000
#: So many missing areas are named in an error.
_NAMED = 10


@dataclass(frozen=True, eq=False)
class MapLevel:
    """A level of areas, with its figures."""

    name: str  # what the level is called
    at: int  # position of the variable whose codes are areas
    layout: PageLayout  # the areas down, all else across
    shapes: Boundaries | GridAreas  # where their polygons are
    places: IntArray  # for each area, its number among these; -1 for codes that are no place
    above: Boundaries | None = None  # the areas of the level above, if they have polygons

    @property
    def variable(self) -> Dimension:
        """The variable whose codes are areas."""
        return self.layout.dimension(self.at)

    @property
    def codes(self) -> list[str]:
        """The code of each area."""
        return [self.variable.codes[k] for k in self.layout.row_codes[:, 0].tolist()]

    def labels(self, language: str) -> list[str]:
        """The label of each area."""
        every = labels_of(self.variable, language)
        return [every[k] for k in self.layout.row_codes[:, 0].tolist()]

    def blocks(self, language: str) -> Iterator[tuple[IntArray, pl.DataFrame]]:
        """Areas: the place of each; code, label and figures as columns."""
        codes, labels, table = self.codes, self.labels(language), self.layout.table
        for body in self.layout.blocks(BLOCK):
            rows = slice(body.first, body.first + len(body.value))
            about = {"code": codes[rows], "label": labels[rows]}
            frame = pl.DataFrame(about, schema=dict.fromkeys(about, pl.String))
            frame = frame.with_columns(level=pl.lit(self.name, pl.String))
            index, _ = self.layout.places(rows.start, rows.stop)
            cells = ListedCells(tuple(index), body.value.ravel(), body.status.ravel())
            flat = published_columns(table, cells) | footnotes(table).column(cells, language)
            figures = [
                part.gather_every(self.layout.shape[1], k).alias(f"{name}_{own}" if own else name)
                for k, own in enumerate(_figure_names(self.layout))
                for name, part in flat.items()
            ]
            yield self.places[rows], frame.with_columns(figures)


def _figure_names(layout: PageLayout) -> list[str]:
    """What tells the figures of an area apart: codes of the other variables; "" for only one."""
    names = [layout.dimension(at).codes for at in layout.columns]
    return [
        "_".join(own[k] for own, k in zip(names, codes, strict=True))
        for codes in layout.column_codes.tolist()
    ]


def areas_of(table: ProtectedTable, options: WriteOptions) -> list[MapLevel]:
    """The levels of areas of a table that can be drawn, coarsest first, with their figures."""
    at = _variable(table, options)
    dimension = table.dimensions[at]
    others = {item.name: item for item in table.dimensions if item is not dimension}
    problems = []
    for name, code in options.at.items():
        if name not in others:
            hint = f"variables: {', '.join(others)}"
            problems.append(
                Problem(f"variable {name!r} not found among the other variables", "at", hint)
            )
        elif code not in others[name].index:
            hint = f"codes: {', '.join(others[name].codes[:10])}"
            problems.append(Problem(f"{name} has no code {code!r}", "at", hint))
    raise_all(PublicationError, problems, code="areas")
    keep = [
        np.array([code == options.at.get(item.name, code) for code in item.codes])
        for item in table.dimensions
    ]
    levels = []
    above = _above(dimension, options.boundaries)
    for name, areas in _levels(dimension, options.level):
        if options.complete is False and not table.suppressed_parts:
            areas = areas[np.isin(areas, table.index[at])]
        placed = _placed(dimension, areas, options.boundaries)
        if placed is not None and len(areas):
            keep[at] = np.isin(np.arange(len(dimension)), areas)
            layout = lay_out(table, rows=[dimension.name], columns=list(others), keep=keep)
            levels.append(MapLevel(name, at, layout, *placed, above.get(name)))
    if not levels:
        message = f"no level of {dimension.name} has boundaries for its codes"
        known = ", ".join(name for name, _ in _levels(dimension, ""))
        hint = f"levels: {known}; give boundaries= with codes of one level"
        raise PublicationError(message, code="areas", where=table.name, hint=hint)
    names = _figure_names(levels[0].layout)
    hint = "choose codes of the other variables with at={…}"
    if len(names) > _MOST_FIGURES:
        message = f"a file can have at most {_MOST_FIGURES:,} figures per area, not {len(names):,}"
        raise PublicationError(message, code="too-large", where=table.name, hint=hint)
    if len(set(names)) < len(names):
        message = "two figures of an area would have the same name"
        raise PublicationError(message, code="column-names", where=table.name, hint=hint)
    return levels


def _above(dimension: Dimension, boundaries: Boundaries | None) -> dict[str, Boundaries]:
    """Level → the polygons of the level above it, where a file has them."""
    polygons, above = None, {}
    for name, areas in _levels(dimension, "") if boundaries is not None else ():
        if polygons is not None and name:
            above[name] = polygons
        codes = {dimension.codes[k] for k in areas.tolist()}
        numbers = boundaries.numbers if boundaries is not None else {}
        own = np.array([numbers[code] for code in sorted(codes & set(numbers))], dtype=np.int64)
        polygons = boundaries.select(own) if boundaries is not None and len(own) else None
    return above


def check_boundaries(tree: Classification, boundaries: Boundaries) -> None:
    """Raise an error unless some level has boundaries, and each for all of its codes or none."""
    dimension = Dimension(classifications=(tree,))
    placed = [_placed(dimension, areas, boundaries) for _, areas in _levels(dimension, "")]
    if all(item is None for item in placed):
        message = f"no level of {tree.name} has boundaries for its codes"
        hint = "state the property with the codes: boundary_key = …"
        raise PublicationError(message, code="boundaries", where=tree.name, hint=hint)


def _variable(table: ProtectedTable, options: WriteOptions) -> int:
    """The variable whose codes are areas: the one named, or the only one with polygons."""
    names = [dimension.name for dimension in table.spanning]
    if options.geo:
        if len(options.geo) > 1:
            message = "a map can show the areas of one variable only"
            raise PublicationError(message, code="areas", where=table.name, hint="geo=[…]")
        return names.index(options.geo[0])
    known = set() if options.boundaries is None else set(options.boundaries.codes)
    # Other codes may look like some of areas: a variable with a whole level of them comes first.
    whole = []
    for k, item in enumerate(table.spanning):
        nowhere = {tree.missing for tree in item.classifications}
        for _, areas in _levels(item, ""):
            codes = [item.codes[at] for at in areas.tolist() if item.codes[at] not in nowhere]
            if codes and (known.issuperset(codes) or squares_of(codes[:1]) is not None):
                whole.append(k)
                break
    some = [k for k, item in enumerate(table.spanning) if not known.isdisjoint(item.codes[1:])]
    places = whole or some
    if len(places) == 1:
        return places[0]
    message = "several variables have areas" if places else "no variable of the table has areas"
    hint = "choose one with geo=[…]" if places else "add the boundaries of its codes: boundaries="
    raise PublicationError(message, code="areas", where=table.name, hint=hint)


def _levels(dimension: Dimension, wanted: str) -> list[tuple[str, IntArray]]:
    """The levels of a variable and the positions of their codes; the one wanted, with branches
    that end above it, or all of them.
    """
    levels: list[tuple[str, IntArray]] = [("", np.array([0]))] if not wanted else []
    depths = dimension.levels
    for tree, classification in enumerate(dimension.classifications):
        own = (dimension.breakdown == tree) & (depths > 0)
        for level in range(1, classification.depth + 1):
            name = "".join(classification.level_names[level - 1 : level]) or str(level)
            here = own & (depths == level)
            if wanted == name:
                here |= own & dimension.is_leaf & (depths < level)
            if not wanted or wanted == name:
                levels.append((name, np.flatnonzero(here)))
    if not levels:
        hint = f"levels: {', '.join(name for name, _ in _levels(dimension, '') if name)}"
        message = f"{dimension.name} has no level {wanted!r}"
        raise PublicationError(message, code="areas", where="level", hint=hint)
    return levels


def _placed(
    dimension: Dimension, areas: IntArray, boundaries: Boundaries | None
) -> tuple[Boundaries | GridAreas, IntArray] | None:
    """Where the polygons of codes are, and which; None if none of them has one."""
    nowhere = {tree.missing for tree in dimension.classifications}
    codes = [dimension.codes[k] for k in areas.tolist()]
    real = [code not in nowhere for code in codes]
    listed = [code for code, known in zip(codes, real, strict=True) if known]
    places = np.cumsum(real) - 1
    places[~np.array(real, dtype=np.bool_)] = -1
    numbers = {} if boundaries is None else boundaries.numbers
    lost = [code for code in listed if code not in numbers]
    if boundaries is not None and len(lost) < len(listed):
        if lost:
            named = ", ".join(lost[:_NAMED]) + (", …" if len(lost) > _NAMED else "")
            message = f"{len(lost):,} areas of {dimension.name} lack a boundary: {named}"
            hint = "add them to the file, or name another level"
            raise PublicationError(message, code="boundaries", where=dimension.name, hint=hint)
        return boundaries, np.array([numbers.get(code, -1) for code in codes], dtype=np.int64)
    squares = squares_of(listed)
    return None if squares is None else (squares, places)


#: A picture holds at most so many areas.
MOST_AREAS = 250_000
#: The longer side of a map in units, to which all points are moved.
_UNITS = 4_000

#: Where degrees are drawn in the projection of the European grid: west, south, east, north.
_EUROPE = (-32.0, 27.0, 45.0, 82.0)
#: Metres of a degree of latitude.
_DEGREE = 111_195.0

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
    centres: IntArray  # where a symbol of each area stands
    square_km: FloatArray  # how large each area is; 0 for codes that are no place
    metres: float  # how long a unit is
    borders: str  # the outlines of the level above; empty if it has none of its own

    @property
    def alike(self) -> bool:
        """Whether all areas are equally large, as grid cells are."""
        sizes = self.square_km[self.square_km > 0]
        return len(sizes) == 0 or bool(sizes.max() <= 1.001 * sizes.min())

    def scale_bar(self, most: float) -> tuple[float, str]:
        """The length of a scale bar in units, at most so many, and what it says.

        >>> none = np.zeros(0, dtype=np.int64)
        >>> DrawnAreas([], 9, 9, none, none, none.astype(float), 70.0, "").scale_bar(40)
        (28.571428571428573, '2 km')
        """
        longest = max(most, 1.0) * self.metres
        power = 10.0 ** math.floor(math.log10(longest))
        metres = next((k * power for k in (5, 2, 1) if k * power <= longest), power / 2)
        text = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
        return metres / self.metres, text


def drawn(level: MapLevel) -> DrawnAreas:
    """The outlines of all areas of a level; codes that are no place have none.

    Points are moved to whole units: what neighbours share, they share then, too.
    """
    if len(level.places) > MOST_AREAS:
        message = f"a picture can have at most {MOST_AREAS:,} areas, not {len(level.places):,}"
        hint = "draw a coarser level, or write geojson or geo.parquet"
        raise PublicationError(message, code="too-large", where=level.name, hint=hint)
    at = np.flatnonzero(level.places >= 0)
    areas, above = level.shapes.select(level.places[at]), level.above
    west, south, east, north = areas.box
    metres = 1.0
    if areas.coordinates == "EPSG:4326":  # on a plane: metres in Europe, else east drawn together
        low_east, low_north, high_east, high_north = _EUROPE
        if low_east <= west and low_north <= south and east <= high_east and north <= high_north:
            areas, above = areas.within("EPSG:3035"), above and above.within("EPSG:3035")
        else:
            metres, shrunk = _DEGREE, (math.cos(math.radians((south + north) / 2)), 1.0)
            areas = replace(areas, points=areas.points * shrunk)
            above = above and replace(above, points=above.points * shrunk)
        west, south, east, north = areas.box
    unit = max(east - west, north - south) / _UNITS or 1.0
    alone = areas.coordinates == "EPSG:3035" and len(areas.rings) == len(areas) + 1
    if alone and bool((np.diff(areas.rings) == 5).all()):  # squares are whole units wide
        side = float(np.ptp(areas.points.reshape(-1, 5, 2), axis=1).min())
        unit = side / max(1, int(side / unit))

    def in_units(points: FloatArray) -> IntArray:
        moved = (points - (west, north)) * (1 / unit, -1 / unit)
        return np.asarray(np.rint(moved), dtype=np.int64)

    points = in_units(areas.points)
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
    centres, square_km = np.zeros((len(paths), 2), np.int64), np.zeros(len(paths))
    middles, sizes = _middles(areas)
    centres[at], square_km[at] = in_units(middles), sizes * (metres / 1000) ** 2
    borders = "" if above is None else "".join(_ring_paths(in_units(above.points), above.rings))
    return DrawnAreas(paths, width, height, boxes, centres, square_km, unit * metres, borders)


def _ring_paths(points: IntArray, rings: IntArray) -> list[str]:
    """Each ring as steps from point to point; empty if nothing of it is left."""
    steps = np.diff(points, axis=0, prepend=points[:1])
    moved = (steps != 0).any(axis=1)
    moved[rings[:-1]] = False
    paths = []
    corners = points[rings[:-1]].tolist()
    for (begin, end), (x, y) in zip(pairwise(rings.tolist()), corners, strict=True):
        own = steps[begin:end][moved[begin:end]][:-1]
        text = " ".join(map(str, own.ravel().tolist())).replace(" -", "-")
        paths.append(f"M{x} {y}l{text}z" if len(own) > 1 else "")
    return paths


def _middles(areas: Boundaries) -> tuple[FloatArray, FloatArray]:
    """The centre of gravity of the largest polygon of each area, and how large areas are."""
    starts = areas.rings[:-1]
    local = areas.points - np.repeat(areas.points[starts], np.diff(areas.rings), axis=0)
    onward = np.roll(local, -1, axis=0)  # the last point of a ring is its first: nothing is added
    onward[areas.rings[1:] - 1] = local[areas.rings[1:] - 1]
    cross = local[:, 0] * onward[:, 1] - onward[:, 0] * local[:, 1]
    twice = np.add.reduceat(cross, starts)
    moments = np.add.reduceat((local + onward) * cross[:, None], starts)
    flat = np.where(twice == 0, 1.0, 3 * twice)[:, None]
    middles = areas.points[starts] + np.where(twice[:, None] == 0, 0.0, moments / flat)
    # The first ring of a polygon is its outline, the others are holes.
    outlines, rings = areas.polygons[:-1], np.abs(twice) / 2
    sizes = 2 * rings[outlines] - np.add.reduceat(rings, outlines)
    first = areas.areas[:-1]
    owner = np.repeat(np.arange(len(first)), np.diff(areas.areas))
    largest = np.lexsort((np.arange(len(owner)), -rings[outlines], owner))[first]
    return middles[outlines[largest]], np.add.reduceat(sizes, first)


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
        elif breaks == "geometric":
            if ordered[0] <= 0:
                message = "geometric classes need figures above zero"
                raise PublicationError(message, code="breaks", hint='use breaks = "natural"')
            cuts = np.geomspace(ordered[0], ordered[-1], number + 1)[1:-1].round(decimals)
        elif breaks == "natural":
            cuts = _natural_cuts(ordered, number)
        else:
            places = np.arange(1, number) * len(ordered) // number
            cuts = ordered[places]
        return cls(tuple(np.unique(cuts[cuts > ordered[0]]).tolist()), decimals)

    def texts(self, language: str) -> list[str]:
        """Text of each class in the legend."""
        text = words(language)
        cuts = [
            number_text(
                int(cut) if self.decimals == 0 and cut.is_integer() else cut,
                self.decimals or 1,
                language,
            )
            for cut in self.cuts
        ]
        if not cuts:
            return [text.published]
        return [
            text.map_under.format(high=cuts[0]),
            *(text.map_between.format(low=low, high=high) for low, high in pairwise(cuts)),
            text.map_from.format(low=cuts[-1]),
        ]

    @property
    def colours(self) -> list[str]:
        """A colour for each class, light to dark."""
        return colours(len(self.cuts) + 1)


def _natural_cuts(ordered: FloatArray, number: int) -> FloatArray:
    """Where classes begin whose figures differ least from the mean of their class.

    Of many figures, groups of neighbours stay together (Fisher 1958).

    >>> _natural_cuts(np.array([1.0, 2, 3, 11, 12, 40]), 3).tolist()
    [11.0, 40.0]
    """
    edges = np.unique(np.linspace(0, len(ordered), min(len(ordered), 400) + 1).astype(np.int64))
    whole = np.concatenate([[0.0], np.cumsum(ordered)])[edges]
    squares = np.concatenate([[0.0], np.cumsum(ordered**2)])[edges]
    size = len(edges)
    count = np.maximum(edges[None, :] - edges[:, None], 1)
    spread = squares[None, :] - squares[:, None] - (whole[None, :] - whole[:, None]) ** 2 / count
    spread[np.tril_indices(size)] = np.inf  # a class has at least one group
    best, starts = spread[0], []
    for _ in range(min(number, size - 1) - 1):
        reached = best[:, None] + spread
        starts.append(reached.argmin(axis=0))
        best = reached.min(axis=0)
    end, cuts = size - 1, []
    for start in reversed(starts):
        end = int(start[end])
        cuts.append(ordered[edges[end]])
    return np.array(cuts[::-1])


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
    symbols: bool  # whether symbols show them, not the colour of areas

    @property
    def counted(self) -> FloatArray:
        """The figures of which classes are made: printed and not zero."""
        return self.value[np.isin(self.status, _COUNTED)]

    @property
    def limited(self) -> BoolArray:
        """The areas whose figure stands in parentheses."""
        mask: BoolArray = self.status == CellStatus.bracketed
        return mask

    def classes(self, cuts: Sequence[float]) -> IntArray:
        """The class of each area; `ZERO`, `HIDDEN` or `INAPPLICABLE` for those without one."""
        classes = np.searchsorted(cuts, self.value, side="right").astype(np.int64)
        classes[self.status == CellStatus.zero_or_changed_to_zero] = ZERO
        classes[self.status == CellStatus.suppressed] = HIDDEN
        without = (CellStatus.not_applicable, CellStatus.imprecise)
        classes[np.isin(self.status, without)] = INAPPLICABLE
        return classes


#: Kinds of figures that are larger where an area is.
_ABSOLUTE = ("count", "sum", "balance")
#: The states of figures that are shown and not zero.
_COUNTED = (CellStatus.published, CellStatus.bracketed, CellStatus.official)


#: Digits of figures per square kilometre.
_DENSITY_DECIMALS = 1


def map_figures(
    level: MapLevel, outlines: DrawnAreas, show: Shown, language: str
) -> list[MapFigures]:
    """The figures of a level, one column after the other."""

    def as_printed(value: int | float, status: int, decimals: int) -> str:
        return str(rounded(value, decimals)) if status in _COUNTED else "0"

    (body,) = level.layout.blocks(max(1, level.layout.shape[0]))
    texts = body.symbols(language)
    values = body.texts(as_printed).astype(np.float64)
    decimals = np.broadcast_to(body.decimals, body.value.shape)
    columns = []
    for k, kind in enumerate(_kinds(level.layout)):
        own = MapFigures(
            texts=texts[:, k],
            value=values[:, k],
            status=body.status[:, k],
            decimals=int(decimals[0, k]),
            symbols=show == "symbols"
            or (show == "auto" and kind in _ABSOLUTE and not outlines.alike),
        )
        columns.append(_per_square_km(own, outlines, language) if show == "density" else own)
    return columns


def _kinds(layout: PageLayout) -> list[str]:
    """What kind of figure stands in each column."""
    table = layout.table
    kinds = [figure.kind for figure in table.figures] or ["count"]
    names = [layout.dimension(at).name for at in layout.columns]
    if FIGURE not in names:
        return [kinds[0]] * len(layout.column_codes)
    return [kinds[code] for code in layout.column_codes[:, names.index(FIGURE)].tolist()]


def _per_square_km(figures: MapFigures, outlines: DrawnAreas, language: str) -> MapFigures:
    """Printed figures divided by the size of their areas; signs stay as they are."""
    shown = np.isin(figures.status, _COUNTED) & (outlines.square_km > 0)
    values = np.where(shown, figures.value, 0.0)
    values[shown] = (values[shown] / outlines.square_km[shown]).round(_DENSITY_DECIMALS)
    texts = figures.texts.astype(object)
    for k in np.flatnonzero(shown).tolist():
        number = number_text(float(values[k]), _DENSITY_DECIMALS, language)
        texts[k] = f"({number})" if figures.limited[k] else number
    return replace(figures, texts=texts, value=values, decimals=_DENSITY_DECIMALS)


def pictured_level(table: ProtectedTable, options: WriteOptions) -> MapLevel:
    """The level of a picture, with one figure: the other variables at their totals, or as asked."""
    finest = areas_of(table, replace(options, complete=None))[-1]
    others = [dimension for dimension in table.dimensions if dimension is not finest.variable]
    at = {other.name: other.codes[0] for other in others} | dict(options.at)
    own = replace(options, at=at, level=finest.name, geo=[finest.variable.name])
    (level,) = areas_of(table, own)
    return level


def shown_codes(level: MapLevel, column: int, language: str) -> Sequence[str]:
    """Labels of codes of other variables for the figure of a column, without totals."""
    layout = level.layout
    return [
        labels_at(layout.table, at, language)[code]
        for at, code in zip(layout.columns, layout.column_codes[column].tolist(), strict=True)
        if code or not has_total(layout.table, at)
    ]
