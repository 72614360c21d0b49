"""Whether output formats can hold the tables of a programme.

In: a programme and what spans its tables; or the tables a release remembers. Out: one error
that names every file that could not hold its table, before anything is counted or written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, Problem, PublicationError, raise_all
from discreet.release.inputs import Inputs
from discreet.release.programme.file import Programme
from discreet.release.run.plan import WORKBOOK, atlas_tables, workbook_tables
from discreet.release.state.memory import ReleaseState

if TYPE_CHECKING:
    from discreet.classifications import Classification

#: Every format holds tables of so few cells.
_ALWAYS_FITS = 16_000


def check_grids(
    programme: Programme, names: Sequence[str], spanning: Mapping[str, Mapping[str, Any]]
) -> None:
    """Refuse complete grids that a format cannot hold before anything is counted."""
    problems: list[Problem] = []
    for name in names:
        entry = programme.tables[name]
        kinds = [kind for kind in _kinds(programme, name) if entry.complete or _whole(kind)]
        if not kinds:
            continue
        of_source = spanning[programme.source_of(name).name]
        sizes = [_size(of_source[variable]) for variable in entry.by or []]
        shown = [figure for figure in entry.figures.values() if not figure.hidden]
        several = max(len(entry.values), len(shown))
        sizes += [several] if several > 1 else []
        rows, columns = 1, sizes[-1] if len(sizes) > 1 else 1
        for size in sizes[:-1] or sizes:
            rows *= size
        problems += _too_large(name, kinds, rows, columns, grid=rows * columns)
    _raise(problems)


def check_formats(programme: Programme, shelf: ReleaseState) -> None:
    """Refuse formats that cannot hold a table before any file is written."""
    from discreet.publication import CELL_LIMIT, lay_out, row_of

    problems: list[Problem] = []
    for name, entry in programme.tables.items():
        outline = shelf.outline(name)
        kinds = [kind for kind in _kinds(programme, name) if row_of(kind).page is not None]
        if not kinds or outline.grid_size <= _ALWAYS_FITS:
            continue
        if entry.complete and outline.grid_size > CELL_LIMIT:
            rows, columns = outline.grid_size, 1
        else:
            table = shelf.table(name)
            rows, columns = lay_out(table, complete=entry.complete).shape
        problems += _too_large(name, kinds, rows, columns, grid=outline.grid_size)
    _raise(problems)


def check_maps(inputs: Inputs, shelf: ReleaseState) -> None:
    """Refuse maps of tables without areas before any file is written."""
    from discreet.publication import MAPS, WriteOptions, areas_of

    problems: list[Problem] = []
    drawn = atlas_tables(inputs)
    if inputs.programme.document.atlas is not None and not drawn:
        hint = "add boundaries to a variable, or remove the atlas"
        problems.append(inputs.programme.problem(("atlas",), "no table has areas", hint))
    for name, entry in inputs.programme.tables.items():
        if MAPS.keys().isdisjoint(entry.formats or []) and name not in drawn:
            continue
        options = WriteOptions(
            geo=inputs.mapped(name), complete=entry.complete, **inputs.maps(name)
        )
        try:
            areas_of(shelf.table(name), options)
        except DiscreetError as error:
            place = ("tables", name, "formats")
            problems.append(inputs.programme.problem(place, error.what, error.hint))
    many = "{} tables cannot be drawn as maps"
    raise_all(PublicationError, problems, code="areas", many=many, where="formats")


def _size(spanning: Any) -> int:
    """Number of codes; 1 at least where the data decide."""
    if isinstance(spanning, str):
        return 1
    trees: Sequence[Classification] = spanning if isinstance(spanning, list) else [spanning]
    return 1 + sum(len(tree) - 1 for tree in trees)


def _kinds(programme: Programme, name: str) -> list[str]:
    """The formats of a table, and that of the workbook it stands in."""
    also = [WORKBOOK] if name in workbook_tables(programme) else []
    return list(dict.fromkeys([*(programme.tables[name].formats or []), *also]))


def _whole(kind: str) -> bool:
    """Whether a format always holds the complete grid."""
    from discreet.publication import row_of

    page = row_of(kind).page
    return page is not None and page.whole_grid


def _too_large(
    name: str, kinds: Sequence[str], rows: int, columns: int, *, grid: int
) -> Iterator[Problem]:
    from discreet.publication import check_shape, row_of

    for kind in kinds:
        page = row_of(kind).page
        if page is None:
            continue
        shape = (grid, 1) if _whole(kind) else (rows, columns)
        try:
            check_shape(kind, *shape, where=name)
            if shape[0] > shape[1]:
                check_shape(kind, shape[0] + page.headroom, 1, where=name)
        except PublicationError as error:
            yield Problem(error.what, name, error.hint)


def _raise(problems: Sequence[Problem]) -> None:
    if not problems:
        return
    what, hint = f"{len(problems)} files are too small for their tables", problems[0].hint
    raise PublicationError(what, code="too-large", where="formats", hint=hint, problems=problems)
