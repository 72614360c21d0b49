"""Squares of the European grid for records with coordinates.

In: records with easting and northing in metres (ETRS89-LAEA), CONFIDENTIAL. Out: the same with a
column of codes of squares. Degrees are taken to metres by `grid_coordinates` before.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw

from discreet.classifications import EXTENT
from discreet.confidential import without_values
from discreet.errors import MicrodataError, Problem, raise_all
from discreet.microdata.frames import (
    NarwhalsFrame,
    like,
    only_row,
    open_frame,
    require_columns,
    require_new,
)

_HALF = "only one coordinate"


@without_values
def with_squares(
    frame: Any, *, east: str = "east", north: str = "north", size: int = 100, column: str = "square"
) -> Any:
    """Add the code of the grid square in which each record lies.

    Records with neither coordinate have no square (they count as missing). A square holds its
    south and west edges. Coordinates are cut to whole metres first, so that the same place has
    the same square on every engine. Plans are run once, to check the coordinates.

    Args:
        frame: Records: polars, pandas, pyarrow, DuckDB or PySpark.
        east: Column of the easting in metres.
        north: Column of the northing in metres.
        size: Side of the squares in metres.
        column: Name of the new column.

    >>> import polars as pl
    >>> homes = pl.DataFrame({"east": [4334150.5, None], "north": [2684399.9, None]})
    >>> with_squares(homes, size=1000)["square"].to_list()
    ['CRS3035RES1000mN2684000E4334000', None]
    """
    if not isinstance(size, int) or isinstance(size, bool) or not 0 < size <= EXTENT:
        message, hint = (
            "the side of a grid cell must be a whole number of metres",
            "such as size=1000",
        )
        raise MicrodataError(message, code="square-size", where="size", hint=hint)
    records = open_frame(frame)
    require_columns(records, [east, north])
    require_new(records, column)
    _check_coordinates(records, east, north)

    # Whole numbers of pandas have no missing values: these get some place, then none.
    def edge(name: str) -> nw.Expr:
        metres = nw.col(name).cast(nw.Float64).fill_null(0.0).floor().cast(nw.Int64)
        return ((metres // size) * size).cast(nw.String)

    code = nw.concat_str([nw.lit(f"CRS3035RES{size}mN"), edge(north), nw.lit("E"), edge(east)])
    code = nw.when(~nw.col(east).is_null()).then(code)
    return like(records.with_columns(code.alias(column)), frame)


def _check_coordinates(records: NarwhalsFrame, east: str, north: str) -> None:
    """Raise unless all coordinates are numbers within the grid, both or none of them missing."""
    types = records.collect_schema()
    problems = [
        Problem(f"{name} is not a numeric column", hint="convert it, or use another column")
        for name in (east, north)
        if not types[name].is_numeric()
    ]
    raise_all(MicrodataError, problems, code="coordinates")
    wrong: dict[str, nw.Expr] = {_HALF: nw.col(east).is_null() != nw.col(north).is_null()}
    for name in (east, north):
        value = nw.col(name).cast(nw.Float64)
        # What is not a number is outside, but for pandas, where that is a missing value.
        wrong[name] = ~((value >= 0) & (value < EXTENT)) & ~nw.col(name).is_null()
    row = only_row(
        records.select(
            test.fill_null(value=False).cast(nw.Int64).sum().alias(name)
            for name, test in wrong.items()
        )
    )
    for name, number in row.items():
        if number and name == _HALF:
            message = f"{number:,} records have only one coordinate"
            hint = "complete both, or remove both"
            problems.append(Problem(message, f"{east}, {north}", hint))
        elif number:
            message = f"{number:,} records are outside the European grid"
            hint = "use ETRS89-LAEA in metres (EPSG:3035); grid_coordinates converts degrees"
            problems.append(Problem(message, name, hint))
    raise_all(MicrodataError, problems, code="coordinates")
