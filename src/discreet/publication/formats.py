"""Output formats: one row for each, and what holds for all of them.

In: a format and the shape of a table; a path; whatever is to be published. Out: the row of
the format; nothing, or an error with a hint. Nothing but a `ProtectedTable` passes. Public.
A new format is its writer and its row in `FORMATS`; programmes, commands and the checks
before a release know it from there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from discreet.errors import PublicationError
from discreet.files import check_writable
from discreet.tables import ProtectedTable

if TYPE_CHECKING:
    from discreet.publication.boundaries import Boundaries, Coordinates

#: Classes of a map (svg, atlas.html): as many areas in each, as wide each, each bound the same
#: multiple of the one before, as alike within as can be; or their bounds.
NamedBreaks = Literal["quantiles", "equal", "geometric", "natural"]
NAMED_BREAKS: tuple[str, ...] = get_args(NamedBreaks)
Breaks = NamedBreaks | Sequence[float]

#: How a map shows figures (svg, atlas.html): by the colour of areas or the size of symbols, or
#: their number per square kilometre by colour. "auto" takes symbols for counts and sums of areas
#: of unequal size: coloured, a large area would look like a large number.
Shown = Literal["auto", "areas", "symbols", "density"]

#: How files of CSV separate fields and write decimals: with "comma" and point, or with "semicolon"
#: and comma, as spreadsheets of some countries expect; "language" takes semicolons in German.
CsvForm = Literal["language", "comma", "semicolon"]

#: How files name a structure: agency, name and version.
REFERENCE = re.compile(
    r"([A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*):([\w@$-]+)\((\d+(?:\.\d+)*)\)", re.ASCII
)

#: Pages and workbooks hold at most this many cells.
CELL_LIMIT = 5_000_000

#: Files list the complete grid of tables of at most so many cells, unless asked otherwise.
FILE_COMPLETE_LIMIT = 100_000

_HINT = "write csv or parquet instead, or publish fewer codes"


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteOptions:
    """Options to write a table."""

    language: str = "en"
    complete: bool | None = None  # whether the whole grid is listed; None leaves it to its size
    labels: bool = True  # labels beside codes, or in their place
    rows: Sequence[str] | None = None  # variables that go down a page
    columns: Sequence[str] | None = None  # variables that go across
    geo: Sequence[str] = ()  # variables whose codes are regions
    structure: str = ""  # the dataflow of SDMX, as "AGENCY:ID(1.0)"
    sdmx: Literal["2.0", "1.0"] = "2.0"
    csv: CsvForm = "language"
    embargo: str = ""  # from when on the table is public (SDMX)
    redistribution: str = ""  # to whom it may be passed on (SDMX)
    formulas: bool = False  # leave texts as they are that a spreadsheet would run
    boundaries: Boundaries | None = None  # boundaries of regions; squares of the grid need none
    #: The level of areas to draw; all that have boundaries if empty, the finest in a picture
    level: str = ""
    #: The codes to show of other variables; all if empty, their totals in a picture
    at: Mapping[str, str] = field(default_factory=dict)
    breaks: Breaks = "quantiles"
    classes: int = 5  # number of classes (svg, atlas.html)
    show: Shown = "auto"
    coordinates: Coordinates = "EPSG:4326"  # "EPSG:3035" for metres of the grid (geo.parquet)


@dataclass(frozen=True, kw_only=True, slots=True)
class CellColumns:
    """The columns of a format with a line per cell, besides those of the variables."""

    own: tuple[str, ...]  # columns that are always there
    labels: bool  # whether each variable may have a column of labels, too
    notes: bool  # whether notes about cells stand in a column
    reasons: bool  # whether what is said about hidden cells stands in columns


@dataclass(frozen=True, kw_only=True, slots=True)
class PageLimits:
    """Limits of a format with pages or sheets."""

    cells: int  # how many cells
    rows: int | None  # how many rows of a sheet, headings included; None for any number
    columns: int | None  # how many columns of a sheet, headings included; None for any number
    headroom: int  # rows to keep free for titles and headings
    whole_grid: bool  # whether the complete grid is always written


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputFormat:
    """Facts about a format. No field has a default, so that none is forgotten."""

    name: str  # what users call it
    #: What names of files end with; new files get the first. Names as well
    suffixes: tuple[str, ...]
    writer: str  # "module:function" that writes one table: (table, path, `WriteOptions`)
    #: "module:function" that writes many tables to one file; None if it holds one
    workbook: str | None
    columns: CellColumns | None  # its columns; None where variables are no columns
    page: PageLimits | None  # what it holds; None for tables of any size
    dataflow: bool  # whether a file names the dataflow of its table


_WRITERS = "discreet.publication.writers"
_SDMX = (
    *("STRUCTURE", "STRUCTURE_ID", "ACTION", "DATAFLOW", "MEASURE", "OBS_VALUE", "OBS_STATUS"),
    *("CONF_STATUS", "DECIMALS", "UNIT_MEASURE", "COMMENT_OBS"),
)
_LAID_OUT = PageLimits(cells=CELL_LIMIT, rows=None, columns=None, headroom=0, whole_grid=False)
_SHEET = PageLimits(
    cells=CELL_LIMIT, rows=1_048_576, columns=16_384, headroom=100, whole_grid=False
)

# fmt: off
_ROWS = (
    OutputFormat(
        name="csv", suffixes=("csv",), writer=f"{_WRITERS}.csv:write_file", workbook=None,
        columns=CellColumns(
            own=("value", "status", "symbol"), labels=True, notes=True, reasons=True
        ),
        page=None, dataflow=False,
    ),
    OutputFormat(
        name="parquet", suffixes=("parquet",), writer=f"{_WRITERS}.parquet:write_file",
        columns=CellColumns(own=("value", "status"), labels=False, notes=True, reasons=True),
        workbook=None, page=None, dataflow=False,
    ),
    OutputFormat(
        name="json", suffixes=("json",), writer=f"{_WRITERS}.json:write_file", workbook=None,
        columns=CellColumns(own=("value", "status"), labels=False, notes=False, reasons=True),
        page=None, dataflow=False,
    ),
    OutputFormat(
        name="xlsx", suffixes=("xlsx",), writer=f"{_WRITERS}.xlsx:write_file",
        workbook=f"{_WRITERS}.xlsx:write_many", columns=None, page=_SHEET,
        dataflow=False,
    ),
    OutputFormat(
        name="html", suffixes=("html", "htm"), writer=f"{_WRITERS}.html:write_file",
        workbook=None, columns=None, page=_LAID_OUT, dataflow=False,
    ),
    OutputFormat(
        name="px", suffixes=("px",), writer=f"{_WRITERS}.px:write_file", workbook=None,
        columns=None, page=replace(_LAID_OUT, whole_grid=True), dataflow=False,
    ),
    OutputFormat(
        name="json-stat", suffixes=("jsonstat.json", "jsonstat"),
        writer=f"{_WRITERS}.json:write_stat", workbook=None,
        columns=None, page=None, dataflow=False,
    ),
    OutputFormat(
        name="sdmx-csv", suffixes=("sdmx.csv",), writer=f"{_WRITERS}.sdmx:write_sdmx",
        columns=CellColumns(own=_SDMX, labels=False, notes=False, reasons=False),
        workbook=None, page=None, dataflow=True,
    ),
    OutputFormat(
        name="exact", suffixes=("exact.parquet",),
        writer="discreet.publication.exact_tables:write_file",
        workbook=None, columns=None, page=None, dataflow=False,
    ),
)

_MAP_ROWS = (
    OutputFormat(
        name="geojson", suffixes=("geojson",), writer=f"{_WRITERS}.map_files:write_geojson",
        workbook=None, columns=None, page=None, dataflow=False,
    ),
    OutputFormat(
        name="geoparquet", suffixes=("geo.parquet", "geoparquet"),
        writer=f"{_WRITERS}.map_files:write_geoparquet",
        workbook=None, columns=None, page=None, dataflow=False,
    ),
    OutputFormat(
        name="map", suffixes=("svg",), writer=f"{_WRITERS}.map_picture:write_file",
        workbook=None, columns=None, page=None, dataflow=False,
    ),
    OutputFormat(
        name="atlas", suffixes=("atlas.html",), writer=f"{_WRITERS}.atlas:write_file",
        workbook=f"{_WRITERS}.atlas:write_many", columns=None, page=None, dataflow=False,
    ),
)
# fmt: on

#: Formats that tables can be written in, by name.
FORMATS = {row.name: row for row in _ROWS}

#: Formats of tables in which one variable has areas as its codes.
MAPS = {row.name: row for row in _MAP_ROWS}


def row_of(format: str) -> OutputFormat:  # noqa: A002 - the word users know
    """The row of a format, be it one of any tables or of maps."""
    return FORMATS.get(format) or MAPS[format]


def format_of(path: Path, format: str | None = None) -> str:  # noqa: A002 - the word users know
    """The format named, or that of the path's suffix.

    >>> format_of(Path("T1.HTM")), format_of(Path("T1.sdmx.csv"))
    ('html', 'sdmx-csv')
    """
    every = FORMATS | MAPS
    known = {word: name for name, row in every.items() for word in (name, *row.suffixes)}
    double = "".join(path.suffixes[-2:]).lower().removeprefix(".")
    suffix = double if double in known else path.suffix.removeprefix(".")
    named = (suffix if format is None else format).lower()
    if named not in known:
        message = f"unknown format {named!r}" if named else "the file name lacks a suffix"
        hint = f"formats: {', '.join(every)}"
        raise PublicationError(message, code="format", where=str(path), hint=hint)
    return known[named]


def suffix_of(format: str) -> str:  # noqa: A002
    """File suffix of a format.

    >>> [suffix_of(name) for name in ("csv", "px", "json-stat", "sdmx-csv")]
    ['.csv', '.px', '.jsonstat.json', '.sdmx.csv']
    """
    return f".{row_of(format_of(Path('table'), format)).suffixes[0]}"


def check_shape(format: str, rows: int, columns: int, *, where: str = "") -> None:  # noqa: A002
    """Raise an error if a format cannot hold so many rows and columns.

    >>> check_shape("parquet", 10**9, 5)
    >>> check_shape("xlsx", 2_000_000, 2)
    Traceback (most recent call last):
        ...
    discreet.errors.PublicationError: [too-large] a sheet holds at most 1,048,576 rows; ...
    """
    page = row_of(format).page
    if page is None:
        return
    message = ""
    if rows * columns > page.cells:
        message = f"{format} holds at most {page.cells:,} cells; this table has {rows * columns:,}"
    if page.columns is not None and columns > page.columns:
        message = f"a sheet holds at most {page.columns:,} columns; this table has {columns:,}"
    if page.rows is not None and rows > page.rows:
        message = f"a sheet holds at most {page.rows:,} rows; this table has {rows:,}"
    if message:
        raise PublicationError(message, code="too-large", where=where, hint=_HINT)


def check_protected(table: object) -> None:
    """Raise an error unless this is a protected table."""
    if isinstance(table, ProtectedTable):
        return
    message = f"a {type(table).__name__} cannot be published, only a ProtectedTable"
    hint = "a Table is confidential; protect it first, for example with discreet.perturb"
    raise PublicationError(message, code="not-protected", hint=hint)


def place_of(path: Any) -> Path:
    """Place of the file to write."""
    if not isinstance(path, str | os.PathLike):
        message = f"expected the name of a file, got a {type(path).__name__}"
        raise PublicationError(message, code="output-file", where="path")
    return Path(path)


def check_place(target: Path) -> None:
    """Raise an error unless a file can be written there."""
    check_writable(target.parent)
    if target.is_dir():
        message = "not a file but a folder"
        raise PublicationError(
            message, code="output-file", where=str(target), hint="give the name of a file"
        )
