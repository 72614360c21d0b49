"""Writing protected tables to files: one table, or many as a workbook.

In: `ProtectedTable`s and a path, whose suffix chooses the format. Out: the file, complete or
not at all. This is the line: anything but a `ProtectedTable` is refused. The writer of a
format is loaded when it is first called.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

from discreet.errors import Problem, PublicationError, raise_all
from discreet.files import atomic_path, told_if_full
from discreet.publication.cells import MARGINS
from discreet.publication.formats import (
    FORMATS,
    MAPS,
    NAMED_BREAKS,
    REFERENCE,
    CellColumns,
    CsvForm,
    OutputFormat,
    Shown,
    WriteOptions,
    check_place,
    check_protected,
    format_of,
    place_of,
    row_of,
)
from discreet.publication.layout import arrange, footnotes
from discreet.publication.notation import check_values
from discreet.publication.vocabulary import title_in, words
from discreet.tables import FIGURE, ProtectedTable

_MOST_CLASSES = 7
#: The options of maps; other files know none of them.
_OF_MAPS = ("boundaries", "level", "at", "breaks", "classes", "show", "coordinates")


def write(
    table: ProtectedTable,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word users know
    at_once: bool = False,
    **options: Any,
) -> Path:
    """Write a protected table; the same table always gives the same bytes.

    Args:
        table: The table.
        path: The file; its suffix chooses the format.
        format: The name of the format, for other suffixes.
        at_once: Whether the file may be there before it is whole, as nobody looks for it.
        options: Fields of `WriteOptions`, such as `language`, `complete`, `labels`, `rows`.

    >>> import tempfile
    >>> from discreet.publication.examples import census_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write(census_example(), Path(folder) / "a.csv", labels=False).read_text()[:58])
    sex,age,value,status,symbol
    Total,Total,371,published,371
    """
    check_protected(table)
    target, row = place_of(path), row_of(format_of(place_of(path), format))
    chosen = WriteOptions(**options)
    words(chosen.language)
    arrange(table, chosen.rows, chosen.columns)
    check_values(table)
    _check_columns(table, row.columns, labels=chosen.labels)
    # Texts for lists, words for yes and no: what would be taken for something else.
    stated: Any = chosen
    wrong = []
    if not isinstance(stated.complete, bool | None):
        wrong.append(Problem("complete must be True, False or None", "complete"))
    if not isinstance(stated.labels, bool):
        wrong.append(Problem("labels must be True or False", "labels"))
    if isinstance(stated.geo, str) or not isinstance(stated.geo, Sequence):
        wrong.append(Problem("expected a list of names", "geo", 'such as ["region"]'))
    if not isinstance(stated.structure, str):
        wrong.append(Problem("structure must be a text", "structure", "write it as AGENCY:ID(1.0)"))
    raise_all(PublicationError, wrong, code="options")
    problems = [*_option_problems(table, row, chosen), *_map_problems(row, chosen)]
    raise_all(PublicationError, problems, code="options")
    if at_once:
        with told_if_full(target):
            _loaded(row.writer)(table, target, chosen)
        return target
    check_place(target)
    with atomic_path(target) as temporary:
        _loaded(row.writer)(table, temporary, chosen)
    return target


def _loaded(writer: str) -> Callable[..., Any]:
    """The function that is named; what it needs is loaded now."""
    module, _, name = writer.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def _check_columns(table: ProtectedTable, columns: CellColumns | None, *, labels: bool) -> None:
    """Column names must differ: those of the variables, their labels and the figures."""
    names = [dimension.name for dimension in table.dimensions]
    every = list(names)
    if columns is not None:
        every += columns.own
        every += ["note"] if columns.notes and footnotes(table).remarks else []
        every += table.withheld.columns if columns.reasons and table.withheld is not None else []
        every += MARGINS if columns.reasons and table.margin is not None else []
        every += [f"{name}_label" for name in names] if labels and columns.labels else []
    every += [FIGURE] if len(table.figures) == 1 else []
    problems = [
        Problem(f"two columns would have the name {name!r}", table.name, "rename the variable")
        for name in dict.fromkeys(every)
        if every.count(name) > 1
    ]
    raise_all(PublicationError, problems, code="column-names", where=table.name)


def _option_problems(
    table: ProtectedTable, form: OutputFormat, options: WriteOptions
) -> Iterator[Problem]:
    """Regions, structures and versions that there are not."""
    names = [dimension.name for dimension in table.spanning]
    for name in options.geo:
        if name not in names:
            variables = f"variables: {', '.join(names)}"
            yield Problem(f"variable {name!r} not found", "geo", variables)
    structure = options.structure
    if structure and not REFERENCE.fullmatch(structure):
        message = f"{structure!r} does not name a dataflow"
        yield Problem(message, "structure", "write it as AGENCY:ID(1.0)")
    elif structure and not form.dataflow:
        message = f"format {form.name} has no dataflow"
        naming = ", ".join(item.name for item in FORMATS.values() if item.dataflow)
        yield Problem(message, "structure", f"remove it, or write {naming}")
    if options.csv not in get_args(CsvForm):
        yield Problem("unknown form of CSV", "csv", f"use {', '.join(get_args(CsvForm))}")
    elif options.csv != "language" and form.name != "csv":
        yield Problem(f"format {form.name} has no separators", "csv", "write csv")
    if options.sdmx not in ("2.0", "1.0"):
        yield Problem("unknown version of SDMX-CSV", "sdmx", "versions: 2.0, 1.0")


def _map_problems(form: OutputFormat, options: Any) -> Iterator[Problem]:
    """Wrong options of a map, and those of maps for files that are none."""
    plain = WriteOptions()
    chosen = [name for name in _OF_MAPS if getattr(options, name) != getattr(plain, name)]
    if chosen and form.name not in MAPS:
        hint = f"write {', '.join(MAPS)}"
        yield Problem(f"format {form.name} has no maps", chosen[0], hint)
    if options.boundaries is not None and not hasattr(options.boundaries, "polygons"):
        message = "boundaries must be discreet.Boundaries"
        yield Problem(message, "boundaries", 'such as dc.Boundaries.read("areas.geojson")')
    if not isinstance(options.at, Mapping):
        yield Problem("at must be a mapping of variables to codes", "at", 'such as {"sex": "w"}')
    if not isinstance(options.breaks, str):
        bounds: list[Any] = list(options.breaks)
        ordered = all(isinstance(bound, int | float) for bound in bounds) and all(
            low < high for low, high in pairwise(bounds)
        )
        if not ordered or not 1 <= len(bounds) <= _MOST_CLASSES + 1:
            hint = f"such as [0, 100, 1000]; at most {_MOST_CLASSES} classes"
            yield Problem("bounds must be increasing numbers", "breaks", hint)
    elif options.breaks not in NAMED_BREAKS:
        yield Problem("unknown classes", "breaks", f"use {', '.join(NAMED_BREAKS)} or bounds")
    if options.show not in get_args(Shown):
        yield Problem("unknown kind of map", "show", f"use {', '.join(get_args(Shown))}")
    if isinstance(options.classes, bool) or options.classes not in range(2, _MOST_CLASSES + 1):
        yield Problem(f"a map needs 2 to {_MOST_CLASSES} classes", "classes")
    if options.coordinates not in ("EPSG:4326", "EPSG:3035"):
        yield Problem("coordinates must be EPSG:4326 or EPSG:3035", "coordinates")
    elif options.coordinates != "EPSG:4326" and form.name != "geoparquet":
        yield Problem(
            f"{form.name} needs longitude and latitude", "coordinates", "write geoparquet"
        )


def write_workbook(
    tables: Iterable[ProtectedTable],
    path: str | os.PathLike[str],
    *,
    title: str | Mapping[str, str],
    language: str = "en",
    complete: bool | None = None,
    labels: bool = True,
) -> Path:
    """Write many tables to one workbook: an index, a sheet for each, their legend.

    >>> import tempfile
    >>> from discreet.publication.examples import census_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     book = write_workbook([census_example()], Path(folder) / "all.xlsx", title="Census")
    ...     book.name
    'all.xlsx'
    """
    target = place_of(path)
    row = row_of(format_of(target))
    if row.workbook is None or row.name in MAPS:
        names = [name for name, item in FORMATS.items() if item.workbook is not None]
        message = f"a workbook needs the suffix {' or '.join(names)}"
        hint = f"use a name such as tables.{names[0]}"
        raise PublicationError(message, code="format", where=target.name, hint=hint)
    listed = _listed(tables, language)
    check_place(target)
    heading = title_in(title, language)
    _loaded(row.workbook)(listed, target, heading, language, complete=complete, labels=labels)
    return target


def write_atlas(
    tables: Iterable[ProtectedTable],
    path: str | os.PathLike[str],
    *,
    title: str | Mapping[str, str],
    language: str = "en",
    **maps: Any,
) -> Path:
    """Write one page with maps of several tables, which needs no other file.

    >>> import tempfile
    >>> from discreet.publication.examples import square_example
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atlas([square_example()], Path(folder) / "atlas.html", title="Squares").name
    'atlas.html'
    """
    target, row = place_of(path), MAPS["atlas"]
    listed = _listed(tables, language)
    if not listed:
        raise PublicationError("an atlas needs a table", code="workbook", where="tables")
    options = WriteOptions(language=language, **maps)
    raise_all(PublicationError, _map_problems(row, options), code="options")
    check_place(target)
    with atomic_path(target) as temporary:
        heading, several = title_in(title, language), [options] * len(listed)
        _loaded(row.workbook or "")(listed, temporary, heading, several)
    return target


def _listed(tables: Iterable[ProtectedTable], language: str) -> list[ProtectedTable]:
    """Several tables, each fit to be written."""
    if isinstance(tables, ProtectedTable) or not isinstance(tables, Iterable):
        message = "expected a list of protected tables"
        hint = "for a single table use table.write(…)"
        raise PublicationError(message, code="workbook", where="tables", hint=hint)
    listed = list(tables)
    words(language)
    for table in listed:
        check_protected(table)
        check_values(table)
    return listed
