"""What is wrong with a programme before any data are opened.

In: a `Programme`. Out: every problem found: keys that are missing or exclude each other,
files that are not there, filters that cannot be parsed, names that cannot become file
names, sources without keys. Nothing here has seen data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from discreet.errors import Problem, nearest
from discreet.microdata import ReadingOptions, is_url
from discreet.protection.problems import (
    Found,
    file_problems,
    filter_parsed,
    missing_keys,
    named_files,
    named_twice,
    stated_secret_problems,
    unset_variable,
)
from discreet.protection.protocol import COUNT, OWN_REPORTS, Protection
from discreet.protection.registry import DEFAULT, clash, protection, protections
from discreet.release.programme.file import MAIN, Programme, ProgrammeFile, RecordSource, key_line
from discreet.release.programme.parameter_checks import (
    FROM_PACKAGE,
    check_figures,
    check_parameters,
)
from discreet.release.programme.relations import check_relations
from discreet.release.programme.schema import VariableEntry
from discreet.release.programme.toml_lines import KeyPath
from discreet.release.programme.variables import used_variables

_WAYS = ("column", "id", "inherit")
_MAIN_HINT = 'column = "record_key", or id = "person_id" with secret_file = "secret.key"'
_HINT = (
    'keys = { column = "record_key" }, { id = "dwelling_id" } '
    'or { inherit = "persons", by = "household_id" }'
)


def check_sources(programme: Programme) -> Found:
    """Everything about [data], [keys], [sources.*] and the `from` of tables."""
    document = programme.document
    for source in programme.sources.values():
        if not source.main or document.data is not None:
            yield from check_records(programme, source)
        if source.keys.allow_unsuitable and source.keys.column is None:
            message = "this is said of keys in the data only; others are made as they should be"
            yield programme.at((*source.keys_path, "allow_unsuitable"), message)
        if not source.main:
            yield from _keys(programme, source)
        elif document.keys is not None:
            yield from _main_keys(programme, source)
    main = programme.main.name
    if main in document.sources:
        message = f"the main source is called {main!r}"
        hint = "choose another name" + (", or give [data] a name" if main == MAIN else "")
        yield programme.at(("sources", main), message, hint)
    for name, table in document.tables.items():
        known = table.source is None or table.source in programme.sources
        if not known and not programme.reported(("sources", table.source or "")):
            message = f"there is no source {table.source!r}"
            hint = nearest(table.source or "", list(programme.sources))
            yield programme.at(("tables", name, "from"), message, hint)


def check_records(programme: ProgrammeFile, source: RecordSource) -> Found:
    """Whether it is clear where the records of a source are, and how they are read."""
    path, records = source.path, source.records
    places = ("source", "database", "database_env", "cubes", "store", "spark")
    ways = [key for key in places if getattr(records, key)]
    if len(ways) != 1:
        message = f"{' and '.join(ways)} exclude each other" if ways else "source is missing"
        hint = 'name a file: source = "persons.parquet", or database = "x.duckdb" with table = …'
        yield programme.at((*path, "source"), message, hint)
    database = records.database is not None or records.database_env is not None
    if database and (records.table is None) == (records.query is None):
        hint = "a database needs exactly one of table = … and query = …"
        yield programme.at((*path, "database"), "what to read is not clear", hint)
    if records.source is not None and (records.table or records.query):
        key = "table" if records.table else "query"
        yield programme.at((*path, key), "this is for databases only", "use database = …")
    by_url = records.database_env is not None or is_url(records.database or "")
    if records.database is not None and records.text and not by_url:
        yield programme.at((*path, "text"), "this is for text files only", "cast in the query")
    if records.source is not None and is_url(records.source):
        yield programme.at((*path, "source"), "this is no file", 'use database = "KIND://…"')
        return
    yield from unset_variable(programme, (*path, "database_env"), records.database_env)
    yield from _spark_problems(programme, source)
    for problem in ReadingOptions(**records.stated).problems():
        yield programme.at((*path, problem.where), problem.what, problem.hint)
    if records.metadata is not None:
        yield from file_problems(programme, (*path, "metadata"), records.metadata)
    for number, name in enumerate(records.cubes or []):
        if not _is_pattern(name):
            yield from file_problems(programme, (*path, "cubes", number), name)
    for key in ("source", "database", "store"):
        if (name := getattr(records, key)) is not None and not _is_pattern(name) and not by_url:
            yield from file_problems(programme, (*path, key), name, folder=key != "database")


def _spark_problems(programme: ProgrammeFile, source: RecordSource) -> Found:
    """What cannot be said of tables of Spark."""
    records = source.records
    keys = [key for key in ("table", "query", "format", *records.stated) if getattr(records, key)]
    if records.spark is not None and keys:
        what, hint = "tables of Spark have types of their own", "convert columns in Spark"
        yield programme.at((*source.path, keys[0]), what, hint)


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _main_keys(programme: Programme, source: RecordSource) -> Found:
    keys = source.keys
    made = keys.id is not None or keys.secret_file is not None or keys.secret_env is not None
    if keys.column is None and not made:
        yield programme.at(("keys", "column"), "no record keys are named", _MAIN_HINT)
    if keys.column is not None and made:
        hint = "keys are either in the data (column) or made here (id and a secret)"
        yield programme.at(("keys", "column"), "column and id or secret exclude each other", hint)
        return
    if made:
        hint = "name the column of the identifier"
        yield from missing_keys(programme, ("keys",), keys, id=hint)
    handed_on = keys.secret_file is None and programme.document.parameters is not None
    if handed_on and keys.secret_env is None:
        return  # a package may hold the secret
    if made and (keys.secret_file is None) == (keys.secret_env is None):
        message = "exactly one of secret_file and secret_env is needed"
        yield programme.at(("keys", "secret_file"), message, "make one with: discreet keys secret")
    else:
        yield from stated_secret_problems(programme, source.keys_path, keys)


def _keys(programme: Programme, source: RecordSource) -> Found:
    """The keys of a source besides the main one."""
    path, keys = source.keys_path, source.keys
    if any(programme.reported((*path, key)) for key in (*_WAYS, "by")):
        return
    given = [way for way in _WAYS if getattr(keys, way) is not None]
    if not given:
        if _needs_keys(programme, source.name):
            yield programme.at(path, "no record keys are named", _HINT)
        return
    if len(given) > 1:
        message = f"{' and '.join(given)} exclude each other"
        yield programme.at((*path, given[1]), message, _HINT)
        return
    for key in ("by", "orphans", "unit", "inheritance"):
        if getattr(keys, key) is not None and keys.inherit is None:
            yield programme.at((*path, key), "this goes with inherit only")
    yield from _secret(programme, source)
    if keys.unit is not None and keys.inheritance is not None:
        hint = "keys are derived for a kind of unit, or they are the plain sums"
        yield programme.at((*path, "unit"), "unit and inheritance exclude each other", hint)
    if keys.inherit is not None:
        yield from _inherited(programme, source, keys.inherit)


def _needs_keys(programme: Programme, name: str) -> bool:
    """Whether records need keys: for cell keys, or to hand them on."""
    users = [table for table in programme.tables if programme.source_of(table).name == name]
    handed_on = any(other.keys.inherit == name for other in programme.sources.values())
    return handed_on or not users or any(programme.method(name).record_keys for name in users)


def _secret(programme: Programme, source: RecordSource) -> Found:
    """A secret for keys made of identifiers, and for units that have no parts."""
    path, keys, main = source.keys_path, source.keys, programme.main.keys
    own = [key for key in ("secret_file", "secret_env") if getattr(keys, key) is not None]
    if own and keys.column is not None:
        yield programme.at((*path, own[0]), "keys that are in the data need no secret")
        return
    yield from stated_secret_problems(programme, path, keys)
    shared = main.secret_file or main.secret_env or programme.document.parameters
    if keys.id is not None and not own and not shared:
        message = "there is no secret to make keys with"
        hint = "name secret_file here: [keys] has none"
        yield programme.at((*path, "id"), message, hint)


def _inherited(programme: Programme, source: RecordSource, parts: str) -> Found:
    path = source.keys_path
    hint = 'name the column of the unit: by = "household_id"'
    yield from missing_keys(programme, path, source.keys, by=hint)
    if parts not in programme.sources:
        if not programme.reported(("sources", parts)):
            others = [name for name in programme.sources if name != source.name]
            message = f"there is no source {parts!r}"
            yield programme.at((*path, "inherit"), message, nearest(parts, others))
        return
    line = key_line(programme.sources, source.name)
    if line[-1] == source.name:  # else the circle is reported where it closes
        message = f"keys go round in a circle: {' ← '.join(line)}"
        hint = "one of these sources needs keys of its own: column or id"
        yield programme.at((*path, "inherit"), message, hint)


_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
#: What files call their columns; no variable is called so.
RESERVED = {"count", "cell_key", "weight", "value", "status", "symbol"}
_RENAME = 'add [variables.NEW] with column = "…" and use its name'
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))}


def check_programme(programme: Programme) -> list[Problem]:
    """Every problem that can be seen without the data."""
    found = [
        *_sections(programme),
        *check_sources(programme),
        *_period(programme),
        *check_parameters(programme),
        *_variables(programme),
        *_slivers(programme),
        *_table_names(programme),
        *_tables(programme),
        *check_figures(programme),
        *check_protection(programme),
        *check_relations(programme),
    ]
    return [problem for path, problem in found if not programme.reported(path)]


def needed_sections(programme: Programme) -> tuple[str, ...]:
    """The sections that the tables of a programme cannot do without."""
    methods = programme.methods or (protection(DEFAULT),)
    keys = ["keys"] if any(method.record_keys for method in methods) else []
    named = [each for method in methods for each in method.sections]
    return tuple(dict.fromkeys(["data", *keys, *named]))


def _sections(programme: Programme) -> Found:
    document = programme.document
    for name in needed_sections(programme):
        handed_on = name in FROM_PACKAGE and document.parameters is not None
        if getattr(document, name) is None and not handed_on:
            yield programme.at((name,), f"the section [{name}] is missing")
    if not document.tables:
        yield programme.at(("tables",), "no table is asked for", "add a section [tables.T1]")
    for language in named_twice(document.languages):
        yield programme.at(("languages",), f"language {language!r} is named twice")


def _period(programme: Programme) -> Found:
    """Whether the keys can be those that the period states, and earlier releases are there."""
    period = programme.document.period
    if period is None:
        return
    if period.keys != "same" and programme.keys.column is None:
        message = f"keys of the option {period.keys!r} are in the data"
        hint = "make them with discreet keys period, and name their column in [keys]"
        yield programme.at(("period", "keys"), message, hint)
    for number, name in enumerate(period.earlier):
        yield from file_problems(programme, ("period", "earlier", number), name, folder=True)
    if period.revision and not period.earlier:
        hint = "name the release that is revised"
        yield programme.at(("period", "earlier"), "a revision is of an earlier release", hint)


def _variables(programme: Programme) -> Found:
    for name, entry in programme.variables.items():
        path: KeyPath = ("variables", name)
        if len(entry.kinds) > 1:
            message = f"{' and '.join(entry.kinds)} exclude each other"
            yield programme.at((*path, entry.kinds[1]), message, "name one kind of classification")
        for key in ("prefixes", "intervals"):
            numbers = getattr(entry, key) or []
            if any(later <= earlier for earlier, later in pairwise(numbers)):
                yield programme.at((*path, key), "the numbers must increase")
        yield from _squares(programme, path, entry)
        for key in ("levels", "codes", "alternatives"):
            names = getattr(entry, key) or []
            for doubled in named_twice(names):
                yield programme.at((*path, key), f"{doubled!r} is named twice")
        yield from named_files(programme, path, entry, "hierarchy", "codelist")
        for number, file in enumerate(entry.boundaries or []):
            yield from file_problems(programme, (*path, "boundaries", number), file)
        pairs = (
            ("codelist", "hierarchy"),
            ("coarser", "intervals"),
            ("east", "squares"),
            ("north", "squares"),
            ("boundary_key", "boundaries"),
        )
        for key, kind in pairs:
            if getattr(entry, key) is not None and getattr(entry, kind) is None:
                yield programme.at((*path, key), f"this goes with {kind} only")
        if name in RESERVED:
            yield programme.at(path, f"a variable cannot be called {name!r}", "rename it")
        yield from _alternatives(programme, name, entry)


def _slivers(programme: Programme) -> Found:
    entry = programme.document.slivers
    named = entry.areas if entry is not None else []
    for doubled in named_twice(named):
        yield programme.at(("slivers", "areas"), f"{doubled!r} is named twice")
    used = {
        variable
        for table in programme.tables
        for variable in (*(programme.tables[table].by or []), *used_variables(programme, table))
    }
    for number, name in enumerate(named):
        variable = programme.variables.get(name)
        path: KeyPath = ("slivers", "areas", number)
        if name not in used:
            yield programme.at(path, f"no table is made of {name!r}", nearest(name, sorted(used)))
        elif variable is not None and (variable.alternatives or variable.intervals):
            yield programme.at(path, f"{name!r} has no areas", "name variables with codes of areas")


def _squares(programme: Programme, path: KeyPath, entry: VariableEntry) -> Found:
    sides = entry.squares or []
    if (entry.east is None) != (entry.north is None):
        yield programme.at((*path, "squares"), "squares are made of east and north")
    if entry.east is not None and entry.column is not None:
        yield programme.at((*path, "column"), "squares are in a column, or made of coordinates")
    if any(coarse <= fine or coarse % fine for coarse, fine in pairwise(sides)):
        message = "sides are listed coarsest first, each a multiple of the next"
        yield programme.at((*path, "squares"), message, "squares = [100000, 10000, 1000, 100]")


def _alternatives(programme: Programme, name: str, entry: VariableEntry) -> Found:
    for key in ("column", "labels", "total", "missing") if entry.alternatives else ():
        if getattr(entry, key):
            message = "this belongs to the alternatives themselves"
            yield programme.at(("variables", name, key), message)
    for number, other in enumerate(entry.alternatives or []):
        path: KeyPath = ("variables", name, "alternatives", number)
        if other == name:
            yield programme.at(path, "a variable cannot be its own alternative")
        elif other not in programme.variables:
            if not programme.reported(("variables", other)):
                hint = nearest(other, list(programme.variables))
                yield programme.at(path, f"there is no variable {other!r}", hint)
        elif programme.variables[other].alternatives:
            yield programme.at(path, f"{other!r} has alternatives itself", "name its own ones here")


def _table_names(programme: Programme) -> Found:
    seen: dict[str, str] = {}
    reports = {file.partition(".")[0] for each in protections() for file in each.reports}
    for name in programme.document.tables:
        path: KeyPath = ("tables", name)
        if not _FILE_NAME.fullmatch(name):
            hint = "use letters, digits, _ and - : the name becomes a file name"
            yield programme.at(path, f"{name!r} cannot be a file name", hint)
        elif name.lower() in OWN_REPORTS | _DEVICES | reports:
            yield programme.at(path, f"the name {name!r} is taken", "choose another name")
        if name.lower() in seen:
            message = f"{name!r} and {seen[name.lower()]!r} would be one file"
            yield programme.at(path, message, "names must differ in more than upper and lower case")
        seen.setdefault(name.lower(), name)
    stem = (programme.document.atlas or "").removesuffix(".html")
    if stem and (not _FILE_NAME.fullmatch(stem) or stem.lower() in {*seen, *OWN_REPORTS}):
        hint = 'a name without folders that no table has, such as atlas = "atlas.html"'
        yield programme.at(("atlas",), f"{stem!r} cannot be the name of an atlas", hint)


def _tables(programme: Programme) -> Found:
    checked: set[KeyPath] = set()
    for name, table in programme.tables.items():
        if not table.by:
            hint = 'name the spanning variables: by = ["region", "sex"]'
            yield programme.at(("tables", name, "by"), "by is missing", hint)
        for doubled in named_twice(table.by or []):
            message = f"variable {doubled!r} spans the table twice"
            yield programme.at(("tables", name, "by"), message)
        for number, variable in enumerate(table.by or []):
            if variable in RESERVED and variable not in programme.variables:
                place: KeyPath = ("tables", name, "by", number)
                yield programme.at(place, f"a variable cannot be called {variable!r}", _RENAME)
        for doubled in named_twice(table.formats or []):
            yield programme.at(programme.setting(name, "formats"), f"{doubled!r} is named twice")
        if not table.formats and not programme.reported(programme.setting(name, "formats")):
            hint = 'formats = ["csv", "html"] here or in [defaults]'
            yield programme.at(("tables", name, "formats"), "formats is missing", hint)
        yield from _areas(programme, name)
        for key in ("where", "official"):
            path = programme.setting(name, key)
            if path not in checked:
                yield from _filter(programme, name, path, getattr(table, key) or "")
            checked.add(path)


def _areas(programme: Programme, name: str) -> Found:
    """Areas that have tables of their own, or are decided on one by one."""
    entry = programme.tables[name]
    by = entry.by or []
    if (areas := entry.areas) is not None:
        path: KeyPath = ("tables", name, "areas")
        hints = {"variable": 'variable = "region"', "level": 'level = "municipality", or a number'}
        yield from missing_keys(programme, path, areas, **hints)
        if areas.variable and areas.variable not in by:
            message = f"the table is not spanned by {areas.variable!r}"
            yield programme.at((*path, "variable"), message, nearest(areas.variable, by))
        elif len(by) == 1:
            message = "a table for each area needs another variable besides"
            yield programme.at((*path, "variable"), message, "name it in by")
    every = {each for table in programme.tables.values() for each in table.by or []}
    own: KeyPath = ("tables", name, "parts", "per")
    stated = [(own, entry.parts, by)]
    if name == next(iter(programme.tables)):
        stated.append((("parts", "per"), programme.document.parts, sorted(every)))
    for place, parts, known in stated:
        if parts is not None and parts.per and parts.per not in known:
            message = f"no table here is spanned by {parts.per!r}"
            yield programme.at(place, message, nearest(parts.per, known))
    together = {programme.part_areas(part) for part in programme.parts_with(name)} - {None}
    if len(together) > 1:
        message = "areas of two variables are decided on in tables of the same records"
        hint = f"name one of {', '.join(sorted(map(str, together)))} in per"
        yield programme.at(("tables", name, "by"), message, hint)


def _filter(programme: Programme, table: str, path: KeyPath, text: str) -> Found:
    columns, wrong = filter_parsed(programme, path, text)
    yield from wrong
    if path[-1] != "official":
        return
    known = programme.spanning(programme.source_of(table).name)
    for column in sorted(columns):
        if column.removesuffix(".level") not in known:
            message = f"no table is spanned by {column!r}"
            yield programme.at(path, message, nearest(column, sorted(known)))


def check_protection(programme: Programme) -> Found:
    """What the methods of protection find wrong, each with its tables, and all together."""
    for method in protections():
        if programme.understood(method):
            yield from method.check(programme, programme.protected[method.name])
    for name, table in programme.tables.items():
        own = programme.method(name)
        known = dict.fromkeys(key for other in protections() for key in other.table_keys)
        for key in known:
            if key in own.table_keys:
                continue
            place: KeyPath = ("tables", name, key)
            # Nothing is official, nothing rounded: that holds under every method.
            idle = {"official": not table.official, "round_to": (table.round_to or 1) == 1}
            idle["additive"] = not table.additive
            if idle.get(key, False):
                continue
            if place in programme.index.lines:
                users = [f'"{item.name}"' for item in protections() if key in item.table_keys]
                *others, last = users
                told = f"{', '.join(others)} or {last}" if others else last
                message = f"this goes with protect = {told} only"
                yield programme.at(place, message, own.hints.get(key, ""))
            elif key == "round_to":
                message = f"the figures of {name!r} are not rounded by protect = {own.name!r}"
                hint = "write round_to = 1 in this table"
                yield programme.at(programme.setting(name, key), message, hint)
    yield from _additive(programme)
    yield from _mixtures(programme)


def _additive(programme: Programme) -> Found:
    """Figures that cannot be made to add up."""
    for name, table in programme.tables.items():
        if not programme.additive_with(name):
            continue
        path = programme.setting(name, "additive")
        kinds = [figure.kind for figure in table.figures.values()]
        if len(kinds) > 1 or set(kinds) - {"count", "sum"}:
            message = "only counts and sums add up, one figure in each table"
            yield programme.at(path, message, "make one table for each figure")
        if programme.thresholds(name) is not None:
            message = "parts that are suppressed do not add up"
            hint = "leave thresholds out of this table: parts.enabled = false"
            yield programme.at(path, message, hint)


def _mixtures(programme: Programme) -> Found:
    """Values of the same records that are published by two methods.

    Noise without bias around a hidden value is an estimate of it, narrower than its
    protection levels; a true value beside a noisy one tells the noise.
    """
    places = programme.places
    every = protections()
    for name in programme.tables:
        own = programme.method(name)
        for other in every[: every.index(own)]:
            clashing = {
                item: both
                for item in programme.protected[other.name]
                if places[name] == places[item]
                and (both := set(programme.tells(name)) & set(programme.tells(item)))
            }
            if clashing:
                yield _mixture(programme, name, other, clashing)


def _mixture(
    programme: Programme,
    name: str,
    other: Protection,
    clashing: Mapping[str, set[str]],
) -> tuple[KeyPath, Problem]:
    """A table that tells of values which other tables publish by another method."""
    own = programme.method(name)
    told = sorted(
        {
            f"{value!r}" if value != COUNT else "the number of records"
            for both in clashing.values()
            for value in both
        }
    )
    message = (
        f"{' and '.join(told)} would be published with {other.manner} ({', '.join(clashing)}) "
        f"and with {own.manner}"
    )
    hint = (
        f"{', and '.join(clash(other.name, own.name))}: protect "
        "all tables of the same records and values in one way"
    )
    return programme.at(programme.setting(name, "protect"), message, hint)
