"""The figures of areas: one row per area, beside it whatever else spans the table.

In: `ProtectedTable`, and the boundaries of its areas unless they are squares. Out: the levels of
areas that can be drawn, and rows of areas, block by block, with their polygons. Public. Only
what the table publishes is here: a hidden cell has no value, a zero is a zero whatever it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, IntArray
from discreet.classifications import Classification
from discreet.errors import Problem, PublicationError, raise_all
from discreet.publication.boundaries import Boundaries, GridAreas, squares_of
from discreet.publication.cells import ListedCells, has_number
from discreet.publication.formats import WriteOptions
from discreet.publication.layout import BodyRows, PageLayout, footnotes, lay_out
from discreet.publication.vocabulary import labels_of
from discreet.tables import CellStatus, Dimension, ProtectedTable

#: So many areas are written at a time.
BLOCK = 50_000
#: An area has at most so many figures in one file.
_MOST_FIGURES = 1_000
#: So many missing areas are named in an error.
_NAMED = 10

_STATUS = [status.name for status in CellStatus]


@dataclass(frozen=True, eq=False)
class MapLevel:
    """A level of areas, with its figures."""

    name: str  # what the level is called
    at: int  # position of the variable whose codes are areas
    layout: PageLayout  # the areas down, all else across
    shapes: Boundaries | GridAreas  # where their polygons are
    places: IntArray  # for each area, its number among these; -1 for codes that are no place

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
        codes, labels = self.codes, self.labels(language)
        for body in self.layout.blocks(BLOCK):
            rows = slice(body.first, body.first + len(body.value))
            about = {"code": codes[rows], "label": labels[rows]}
            frame = pl.DataFrame(about, schema=dict.fromkeys(about, pl.String))
            frame = frame.with_columns(level=pl.lit(self.name, pl.String))
            yield (
                self.places[rows],
                pl.concat([frame, self._figures(body, language)], how="horizontal"),
            )

    def _figures(self, body: BodyRows, language: str) -> pl.DataFrame:
        """The figures of some areas: value, status and what is said of each."""
        table, width = self.layout.table, self.layout.shape[1]
        index, _ = self.layout.places(body.first, body.first + len(body.value))
        cells = ListedCells(tuple(index), body.value.ravel(), body.status.ravel())
        shown = has_number(cells.status)
        flat: dict[str, pl.Series] = {
            "value": pl.Series(cells.value).set(pl.Series(~shown), None),
            "status": pl.Series(_STATUS, dtype=pl.Enum(_STATUS)).gather(cells.status),
        }
        if table.withheld is not None:
            flat |= table.withheld.beside(table.dimensions, cells.index, shown)
        remarks = footnotes(table)
        if remarks.remarks:
            marks = remarks.of_cells(cells)
            texts = [text or None for text in remarks.texts(marks, language)]
            flat["note"] = pl.Series(texts, dtype=pl.String).gather(marks.which)
        return pl.DataFrame(
            [
                part.gather_every(width, k).alias(f"{name}_{own}" if own else name)
                for k, own in enumerate(figure_names(self.layout))
                for name, part in flat.items()
            ]
        )


def figure_names(layout: PageLayout) -> list[str]:
    """What tells the figures of an area apart: codes of the other variables; "" for only one."""
    names = [layout.dimension(at).codes for at in layout.columns]
    return [
        "_".join(own[k] for own, k in zip(names, codes, strict=True))
        for codes in layout.column_codes.tolist()
    ]


def areas_of(table: ProtectedTable, options: WriteOptions) -> list[MapLevel]:
    """The levels of areas of a table that can be drawn, coarsest first, with their figures."""
    at = _variable(table, options)
    keep = _kept(table, options, at)
    dimension = table.dimensions[at]
    across = [item.name for item in table.dimensions if item is not dimension]
    found = []
    for name, areas in _levels(dimension, options.level):
        if options.complete is False and not table.suppressed_parts:
            areas = areas[np.isin(areas, table.index[at])]
        placed = _placed(dimension, areas, options.boundaries)
        if placed is not None and len(areas):
            keep[at] = np.isin(np.arange(len(dimension)), areas)
            layout = lay_out(table, rows=[dimension.name], columns=across, keep=keep)
            found.append(MapLevel(name, at, layout, *placed))
    if not found:
        message = f"no level of {dimension.name} has boundaries for its codes"
        hint = f"levels: {', '.join(_level_names(dimension))}; give boundaries= with such codes"
        raise PublicationError(message, code="areas", where=table.name, hint=hint)
    _check_figures(found[0].layout)
    return found


def check_boundaries(tree: Classification, boundaries: Boundaries) -> None:
    """Raise an error unless some level has boundaries, and each for all of its codes or none."""
    dimension = Dimension(classifications=(tree,))
    levels = _levels(dimension, "")
    placed = [_placed(dimension, areas, boundaries) for _, areas in levels]
    if not any(item is not None for item in placed):
        message = f"no level of {tree.name} has boundaries for its codes"
        hint = "name the property with the codes: boundary_key = …"
        raise PublicationError(message, code="boundaries", where=tree.name, hint=hint)


def _check_figures(layout: PageLayout) -> None:
    names, table = figure_names(layout), layout.table
    hint = "choose codes of the other variables: at={…}"
    if len(names) > _MOST_FIGURES:
        message = f"an area has at most {_MOST_FIGURES:,} figures in one file, not {len(names):,}"
        raise PublicationError(message, code="too-large", where=table.name, hint=hint)
    if len(set(names)) < len(names):
        message = "two figures of an area would have one name"
        raise PublicationError(message, code="column-names", where=table.name, hint=hint)


def _variable(table: ProtectedTable, options: WriteOptions) -> int:
    """The variable whose codes are areas: the one named, or the only one with polygons."""
    names = [dimension.name for dimension in table.spanning]
    if options.geo:
        if len(options.geo) > 1:
            message = "a map has the areas of one variable"
            raise PublicationError(message, code="areas", where=table.name, hint="geo=[…]")
        return names.index(options.geo[0])
    known = set() if options.boundaries is None else set(options.boundaries.codes)
    # Other codes may look like some of areas: a variable with a whole level of them comes first.
    whole = [k for k, each in enumerate(table.spanning) if _has_level(each, known)]
    some = [k for k, each in enumerate(table.spanning) if not known.isdisjoint(each.codes[1:])]
    found = whole or some
    if len(found) == 1:
        return found[0]
    message = "several variables have areas" if found else "no variable of the table has areas"
    hint = "name it: geo=[…]" if found else "give the boundaries of its codes: boundaries="
    raise PublicationError(message, code="areas", where=table.name, hint=hint)


def _has_level(dimension: Dimension, known: set[str]) -> bool:
    """Whether a level has boundaries for all of its codes, or squares."""
    nowhere = {tree.missing for tree in dimension.classifications}
    for _, areas in _levels(dimension, ""):
        codes = [dimension.codes[k] for k in areas.tolist() if dimension.codes[k] not in nowhere]
        if codes and (known.issuperset(codes) or squares_of(codes[:1]) is not None):
            return True
    return False


def _kept(table: ProtectedTable, options: WriteOptions, at: int) -> list[BoolArray]:
    """Per variable, which codes are wanted beside the areas."""
    others = {each.name: each for k, each in enumerate(table.dimensions) if k != at}
    problems = []
    for name, code in options.at.items():
        if name not in others:
            hint = f"variables: {', '.join(others)}"
            problems.append(Problem(f"there is no variable {name!r} beside areas", "at", hint))
        elif code not in others[name].index:
            hint = f"codes: {', '.join(others[name].codes[:10])}"
            problems.append(Problem(f"{name} has no code {code!r}", "at", hint))
    raise_all(PublicationError, problems, code="areas")
    return [
        np.array([code == options.at.get(dimension.name, code) for code in dimension.codes])
        for dimension in table.dimensions
    ]


def _level_names(dimension: Dimension) -> list[str]:
    return [name for name, _ in _levels(dimension, "")]


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
        hint = f"levels: {', '.join(filter(None, _level_names(dimension)))}"
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
            message = f"{len(lost):,} areas of {dimension.name} have no boundary: {named}"
            hint = "add them to the file, or name another level"
            raise PublicationError(message, code="boundaries", where=dimension.name, hint=hint)
        return boundaries, np.array([numbers.get(code, -1) for code in codes], dtype=np.int64)
    squares = squares_of(listed)
    return None if squares is None else (squares, places)
