"""What a release will consist of: its files, a digest per table, and whether formats hold it.

In: the inputs of a release. Out: file names, and keyed digests of everything that determines
the bytes of a table, so that nothing is made twice; one error that names every file that could not
hold its table. Digests are public; what goes into them, from the programme and from methods of
protection, is SECRET before it is keyed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet._version import __version__
from discreet.errors import DiscreetError, Problem, PublicationError, raise_all
from discreet.files import file_digest
from discreet.release.inputs import Inputs
from discreet.release.programme.file import Programme
from discreet.release.report.summary import MANIFEST
from discreet.release.state.memory import ReleaseState

if TYPE_CHECKING:
    from discreet.classifications import Classification

#: Under this name a release remembers what is said about it as a whole.
RELEASE = "release"

#: The file of decisions about table parts.
DECISIONS = "decisions.json"

#: The file of the cells that a revision changes.
CHANGES = "changes.csv"

#: The format of workbooks.
WORKBOOK = "xlsx"

#: Counts up when a release remembers its tables in another way.
_FORMAT = 2


class OutputFile(NamedTuple):
    """One file of a release."""

    file: str
    kind: str
    language: str


def outputs(name: str, formats: Sequence[str], languages: Sequence[str]) -> list[OutputFile]:
    """The files of a table: without a mark in the main language, else with it.

    >>> [output.file for output in outputs("T1", ["csv"], ["en", "de"])]
    ['T1.csv', 'T1.de.csv']
    """
    from discreet.publication import suffix_of

    found = []
    for kind in formats:
        for language in languages:
            middle = "" if language == languages[0] else f".{language}"
            found.append(OutputFile(f"{name}{middle}{suffix_of(kind)}", kind, language))
    return found


def table_outputs(programme: Programme, name: str) -> list[OutputFile]:
    """The files of one table of a programme, besides those of single areas."""
    areas = programme.tables[name].areas
    if areas is not None and not areas.whole:
        return []
    return outputs(name, programme.tables[name].formats or [], programme.languages)


def quantile_outputs(programme: Programme, name: str) -> dict[str, list[OutputFile]]:
    """The files of the quantiles of a table, by the variable whose classes they are made of."""
    from discreet.publication import MAPS

    entry = programme.tables[name]
    formats = [kind for kind in entry.formats or [] if kind not in MAPS]
    return {
        variable: outputs(f"{name}.{variable}", formats, programme.languages)
        for variable in entry.quantiles
    }


def _in_languages(programme: Programme, name: str | None, kind: str) -> list[str]:
    """A file in each language of a programme; none without a name."""
    if name is None:
        return []
    every = outputs(name.removesuffix(f".{kind}"), [kind], programme.languages)
    return [output.file for output in every]


def report_files(programme: Programme) -> list[str]:
    """The pages about the release, one per language."""
    return _in_languages(programme, "index", "html")


def workbook_files(programme: Programme) -> list[str]:
    """The workbooks with all tables, one per language; none if none is asked for."""
    return _in_languages(programme, programme.document.workbook, WORKBOOK)


def workbook_tables(programme: Programme) -> list[str]:
    """The tables of the workbook: all that do not say otherwise."""
    if programme.document.workbook is None:
        return []
    return [name for name, entry in programme.tables.items() if entry.workbook is not False]


def atlas_files(programme: Programme) -> list[str]:
    """The atlas of all tables with boundaries, one per language; none if none is asked for."""
    return _in_languages(programme, programme.document.atlas, "html")


def atlas_tables(inputs: Inputs) -> list[str]:
    """The tables of the atlas: all with boundaries or maps that do not say otherwise."""
    from discreet.publication import MAPS

    tables = inputs.programme.tables.items() if inputs.programme.document.atlas else ()
    return [
        name
        for name, entry in tables
        if entry.map.atlas and (inputs.mapped(name) or MAPS.keys() & set(entry.formats or ()))
    ]


def map_digests(inputs: Inputs, name: str) -> list[Any]:
    """Digests of the figures of maps and their boundaries."""
    programme = inputs.programme
    files = [
        [variable, file_digest(programme.file(file)), entry.boundary_key]
        for variable, entry in programme.variables.items()
        for file in (entry.boundaries or [] if variable in inputs.boundaries else [])
    ]
    return ["maps", programme.tables[name].map.model_dump(), files]


def quality_files(programme: Programme) -> list[str]:
    """The public report on quality: pages, and the same for programs."""
    assessed = any(method.assessed for method in programme.methods)
    if not programme.document.quality.enabled or not assessed:
        return []
    return [*_in_languages(programme, "quality", "html"), "quality.json"]


def decision_files(inputs: Inputs) -> list[str]:
    """The list of decisions about table parts, if there are rules for them."""
    ruled = any(inputs.programme.thresholds(name) is not None for name in inputs.programme.tables)
    return [DECISIONS] if ruled else []


def catalogue_files(programme: Programme) -> list[str]:
    """The entry of data catalogues; none without a publisher."""
    named = programme.document.publication.publisher
    return ["catalogue.jsonld", "catalogue.rdf"] if named else []


def about_files(inputs: Inputs) -> list[str]:
    """Everything that is said about the release as a whole, but for the list of files."""
    programme, period = inputs.programme, inputs.programme.document.period
    return [
        *report_files(programme),
        *workbook_files(programme),
        *atlas_files(programme),
        *decision_files(inputs),
        *quality_files(programme),
        *catalogue_files(programme),
        *([CHANGES] if period is not None and period.revision else []),
        *(file for method in programme.methods for file in method.reports),
    ]


def release_files(inputs: Inputs) -> list[str]:
    """Everything that will stand in the release folder."""
    programme = inputs.programme
    tables = [each.file for name in programme.tables for each in table_outputs(programme, name)]
    beside = [
        each.file
        for name in programme.tables
        for files in quantile_outputs(programme, name).values()
        for each in files
    ]
    return [*tables, *beside, *about_files(inputs), MANIFEST]


def full_count(programme: Programme, name: str) -> bool:
    """Whether it is to be said that a table counts all units, as others are estimates."""
    estimated = any(method.estimates for method in programme.methods)
    return estimated and not programme.method(name).estimates


def table_digests(inputs: Inputs) -> dict[str, str]:
    """Per table, a digest of everything that determines its bytes.

    Where files are is left out: what they hold is part of the digests. Each is keyed with
    the data of its own source, so that new records of other units change nothing.
    """
    from discreet.publication import MAPS

    programme, period = inputs.programme, inputs.programme.document.period
    found: dict[str, str] = {}
    determined = {
        name: each
        for method in programme.methods
        for name, each in method.determinants(inputs, programme.protected[method.name]).items()
    }
    if unsaid := [name for name in programme.tables if name not in determined]:
        message = f"the method does not declare the inputs of {', '.join(unsaid)}"
        raise PublicationError(message, code="protection", where="protect")
    for source, key in inputs.release_keys.items():
        shared: dict[str, Any] = {
            "format": _FORMAT,
            "version": __version__,
            "data": programme.sources[source].records.content(),
            "keys": _keys(inputs, source),
            "languages": programme.languages,
            "date": programme.document.date,
        }
        if programme.document.publication.model_fields_set:
            stated_there = programme.document.publication
            about = stated_there.model_dump(exclude={"embargo", "redistribution"})
            shared["publication"] = about | stated_there.conditions
        own = [name for name in programme.tables if programme.source_of(name).name == source]
        for name in own:
            by = determined[name]
            stated = [] if by.whole else _stated(inputs, name)
            stated += [] if period is None else [["period", period.name, period.keys]]
            beside = {*programme.additive_with(name), *programme.parts_with(name)}
            for followed in programme.method(name).follows(programme, name):
                beside |= {followed, *programme.parts_with(followed)}
            if full_count(programme, name):
                stated += ["full count"]
            stated += [
                [table, determined[table].own] for table in programme.tables if table in beside
            ]
            areas = [
                [n, part_areas]
                for n in sorted({name, *beside})
                if (part_areas := inputs.programme.part_areas(n))
            ]
            stated += [areas] if areas else []
            if stated_quantiles := programme.tables[name].quantiles:
                stated += [["quantiles", {v: q.model_dump() for v, q in stated_quantiles.items()}]]
            for kind in programme.tables[name].filled("flows", "available"):
                stated += [[kind, getattr(programme.tables[name], kind).model_dump()]]
            mapped = MAPS.keys() & set(programme.tables[name].formats or ())
            stated += [map_digests(inputs, name)] if mapped else []
            found[name] = key.digest([{**shared, **by.shared}, name, [*by.own, *stated]])
    return {name: found[name] for name in programme.tables}


def _stated(inputs: Inputs, name: str) -> list[Any]:
    """All that the programme says of a table, for methods that do not choose from it."""
    programme, official = inputs.programme, inputs.official(name)
    settings = programme.settings(programme.method(name).name)
    return [
        programme.tables[name].model_dump(
            exclude={"source", "workbook", "areas", "map", "quantiles", "flows", "available"}
        ),
        inputs.described_variables(name),
        [official, inputs.totals] if official else [],
        [inputs.programme.thresholds(name), inputs.programme.held_against_all(name)],
        None if settings is None else settings.model_dump(),
        [before.entry for before in inputs.earlier],
    ]


def _keys(inputs: Inputs, source: str) -> list[Any]:
    """How the records of a source get their keys."""
    keys = inputs.programme.sources[source].keys
    if keys.inherit is None:
        return [keys.column, keys.id, inputs.grid.size]
    unit = [] if keys.unit is None else [keys.unit]
    return [keys.by, keys.orphans or "error", *unit, _keys(inputs, keys.inherit)]


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
    from discreet.publication import MAPS

    problems: list[Problem] = []
    drawn = atlas_tables(inputs)
    if inputs.programme.document.atlas is not None and not drawn:
        hint = "add boundaries to a variable, or remove the atlas"
        problems.append(inputs.programme.problem(("atlas",), "no table has areas", hint))
    for name, entry in inputs.programme.tables.items():
        if MAPS.keys().isdisjoint(entry.formats or []) and name not in drawn:
            continue
        from discreet.publication import WriteOptions, areas_of

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
    message, hint = f"{len(problems)} files are too small for their tables", problems[0].hint
    raise PublicationError(message, code="too-large", where="formats", hint=hint, problems=problems)
