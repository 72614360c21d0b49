"""Whether the files of a release can hold its tables.

In: shapes of tables. Out: one error that names every file that could not hold its table,
before anything is counted or written. Nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import Problem, PublicationError
from discreet.release.plan import workbook_tables
from discreet.release.programme import Programme

if TYPE_CHECKING:
    from discreet.classifications import Classification
    from discreet.release.shelf import Shelf

__all__ = ["check_formats", "check_grids"]

#: Room for title, headings and row labels when the size of a sheet is checked.
_HEADROOM = 100

#: Every format holds tables of so few cells.
_ALWAYS_FITS = 16_000


def check_grids(
    programme: Programme, names: Sequence[str], spanning: Mapping[str, Mapping[str, Any]]
) -> None:
    """Refuse complete grids that a format cannot hold before anything is counted.

    Args:
        programme: The programme.
        names: The tables.
        spanning: Per source and name in a table's `by`, what spans the table.
    """
    problems: list[Problem] = []
    for name in names:
        entry = programme.tables[name]
        if not entry.complete:
            continue
        of_source = spanning[programme.source_of(name).name]
        sizes = [_size(of_source[variable]) for variable in entry.by or []]
        shown = [figure for figure in entry.figures.values() if not figure.hidden]
        several = len(entry.values) if entry.suppressed else len(shown)
        sizes += [several] if several > 1 else []
        rows, columns = 1, sizes[-1] if len(sizes) > 1 else 1
        for size in sizes[:-1] or sizes:
            rows *= size
        problems += _too_large(programme, name, rows, columns)
    _raise(problems)


def check_formats(programme: Programme, shelf: Shelf) -> None:
    """Refuse formats that cannot hold a table before any file is written."""
    from discreet.publication import CELL_LIMIT
    from discreet.publication.layout import lay_out

    problems: list[Problem] = []
    for name, entry in programme.tables.items():
        outline = shelf.outline(name)
        laid_out = {"xlsx", "html"} & set(_kinds(programme, name))
        if not laid_out or outline.grid_size <= _ALWAYS_FITS:
            continue
        if entry.complete and outline.grid_size > CELL_LIMIT:
            rows, columns = outline.grid_size, 1
        else:
            table = shelf.table(name)
            rows, columns = lay_out(table, complete=entry.complete).shape
        problems += _too_large(programme, name, rows, columns)
    _raise(problems)


def _size(spanning: Any) -> int:
    """Number of codes; 1 at least where the data decide."""
    if isinstance(spanning, str):
        return 1
    trees: Sequence[Classification] = spanning if isinstance(spanning, list) else [spanning]
    return 1 + sum(len(tree) - 1 for tree in trees)


def _kinds(programme: Programme, name: str) -> list[str]:
    """The formats of a table, and that of the workbook it stands in."""
    also = ["xlsx"] if name in workbook_tables(programme) else []
    return list(dict.fromkeys([*(programme.tables[name].formats or []), *also]))


def _too_large(programme: Programme, name: str, rows: int, columns: int) -> Iterator[Problem]:
    from discreet.publication import check_shape

    for kind in _kinds(programme, name):
        room = _HEADROOM if kind == "xlsx" else 0
        try:
            check_shape(kind, rows, columns, where=name)
            if rows > columns:
                check_shape(kind, rows + room, 1, where=name)
        except PublicationError as error:
            yield Problem(error.what, name, error.hint)


def _raise(problems: Sequence[Problem]) -> None:
    if problems:
        raise PublicationError(
            f"{len(problems)} files could not hold their tables",
            code="too-large",
            where="formats",
            hint=problems[0].hint,
            problems=problems,
        )
