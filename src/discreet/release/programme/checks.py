"""What is wrong with a programme before any data are opened.

In: a `Programme`. Out: every problem found. Sections say themselves what is wrong with them; here
is what concerns several: sections that are missing, names that nothing has, names that cannot
become file names, sources without keys, values that two methods publish. Nothing here has seen
data.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from discreet.errors import DiscreetError, Problem, nearest
from discreet.microdata import is_url
from discreet.protection.problems import (
    Found,
    file_problems,
    filter_parsed,
    named_twice,
    unset_variable,
)
from discreet.protection.protocol import COUNT, OWN_REPORTS
from discreet.protection.registry import DEFAULT, clash, protection, protections
from discreet.release.programme.file import (
    MAIN,
    Programme,
    ProgrammeFile,
    RecordSource,
    key_line,
)
from discreet.release.programme.schema import FROM_PACKAGE
from discreet.release.programme.sources import KEYS_HINT
from discreet.release.programme.toml_lines import KeyPath
from discreet.release.programme.values import Key, ProgrammeEntry
from discreet.release.programme.variables import used_variables
from discreet.tables import ValueRelation

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
#: What files call their columns; no variable is called so.
RESERVED = {"count", "cell_key", "weight", "value", "status", "symbol"}
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))}


def check_programme(programme: Programme) -> list[Problem]:
    """Every problem that can be seen without the data."""
    every = [
        *_sections(programme),
        *check_sections(programme, programme.document),
        *_sources(programme),
        *check_magnitudes(programme),
        *_variables(programme),
        *_slivers(programme),
        *_names(programme),
        *_tables(programme),
        *_areas(programme),
        *_quantiles(programme),
        *([] if programme.document.parameters else check_parts(programme)),
        *check_methods(programme),
        *_methods(programme),
        *_additive(programme),
        *_mixtures(programme),
        *check_relations(programme),
    ]
    return [problem for path, problem in every if not programme.reported(path)]


# -- sections by themselves -------------------------------------------------------


def check_sections(programme: ProgrammeFile, value: Any, path: KeyPath = ()) -> Found:
    """Problems of single sections, of lists and of named sections."""
    inner: dict[Any, Any] = value if isinstance(value, dict) else {}
    if isinstance(value, list):
        inner = dict(enumerate(value))
    if isinstance(value, ProgrammeEntry):
        for mistake in value.mistakes():
            place, *others = (
                (*path, *(key if isinstance(key, tuple) else (key,)))
                for key in (mistake.key, *mistake.about)
            )
            if not any(map(programme.reported, (place, *others))):
                yield programme.at(place, mistake.what, mistake.hint)
        for name, field in type(value).model_fields.items():
            key = field.alias or name
            inner[key] = getattr(value, name)
            for rule in field.metadata if not programme.reported((*path, key)) else ():
                if isinstance(rule, Key):
                    yield from _check_key(programme, (*path, key), rule, value, inner[key])
    for key, section in inner.items():
        yield from check_sections(programme, section, (*path, key))


def _check_key(
    programme: ProgrammeFile, path: KeyPath, rule: Key, entry: ProgrammeEntry, value: Any
) -> Found:
    if value is None and rule.needed is not None:
        yield programme.at(path, f"{path[-1]} is missing", rule.needed)
    if not value:
        return
    if rule.beside and not getattr(entry, rule.beside):
        yield programme.at(path, f"this needs {rule.beside}")
    if rule.once:
        for doubled in named_twice(value):
            yield programme.at(path, f"{doubled!r} is named twice")
    if rule.variable:
        yield from unset_variable(programme, path, value)
    if rule.filter:
        yield from filter_parsed(programme, path, value)[1]
    if not (rule.file or rule.folder):
        return
    for number, name in enumerate([value] if isinstance(value, str) else value):
        place = path if isinstance(value, str) else (*path, number)
        elsewhere = rule.pattern and (is_url(name) or any(sign in name for sign in "*?["))
        if not elsewhere:
            yield from file_problems(programme, place, name, folder=rule.folder)


def _sections(programme: Programme) -> Found:
    """The sections that the tables cannot do without."""
    document, methods = programme.document, programme.methods or (protection(DEFAULT),)
    keys = ["keys"] if any(method.record_keys for method in methods) else []
    named = [section for method in methods for section in method.sections]
    for name in dict.fromkeys(["data", *keys, *named]):
        handed_on = name in FROM_PACKAGE and document.parameters is not None
        if getattr(document, name) is None and not handed_on:
            yield programme.at((name,), f"the section [{name}] is missing")
    if not document.tables:
        yield programme.at(("tables",), "the programme has no tables", "add a section [tables.T1]")


# -- records and their keys -------------------------------------------------------


def _sources(programme: Programme) -> Found:
    """Sources by their names, and keys that come from other sections."""
    document, main = programme.document, programme.main
    if main.name in document.sources:
        message = f"the main source has the name {main.name!r}"
        hint = "choose another name" + (", or add name = … to [data]" if main.name == MAIN else "")
        yield programme.at(("sources", main.name), message, hint)
    for name, table in document.tables.items():
        yield from _known_source(programme, ("tables", name, "from"), table.source)
    if document.keys is not None:
        keys = document.keys
        secrets = keys.filled("secret_file", "secret_env")
        made = keys.column is None and (keys.id is not None or secrets)
        if made and len(secrets) != 1 and not (document.parameters is not None and not secrets):
            message = "exactly one of secret_file and secret_env is required"
            hint = "create one with: discreet keys secret"
            yield programme.at(("keys", "secret_file"), message, hint)
    if document.period is not None and document.period.keys != "same" and main.keys.column is None:
        message = f"keys of the option {document.period.keys!r} must be in the data"
        hint = "create them with discreet keys period, and add their column to [keys]"
        yield programme.at(("period", "keys"), message, hint)
    period, ids = document.period, main.keys.id or []
    if period is not None and period.first is not None and not period.unit and len(ids) != 1:
        hint = 'add the column that identifies a unit in both files, such as unit = "person_id"'
        yield programme.at(("period", "unit"), "unit is missing", hint)
    for source in programme.sources.values():
        if not source.main:
            yield from _keys(programme, source)


def _known_source(
    programme: Programme, path: KeyPath, name: str | None, but: str | None = None
) -> Found:
    if name and name not in programme.sources and not programme.reported(("sources", name)):
        hint = nearest(name, [other for other in programme.sources if other != but])
        yield programme.at(path, f"unknown source {name!r}", hint)


def _keys(programme: Programme, source: RecordSource) -> Found:
    """What the units of a source besides the main one consist of, and their keys."""
    path, keys, main = source.keys_path, source.keys, programme.main.keys
    if (stated := programme.document.sources[source.name].consists_of) is not None:
        place = (*source.path, "consists_of", "source")
        yield from _known_source(programme, place, stated.source, source.name)
        if stated.source == source.name:
            yield programme.at(place, "units cannot consist of themselves", "name their parts")
    if any(programme.reported((*path, key)) for key in ("column", "id", "inherit", "by")):
        return
    users = [table for table in programme.tables if programme.source_of(table) is source]
    handed_on = any(other.keys.inherit == source.name for other in programme.sources.values())
    keyed = handed_on or not users or any(programme.method(name).record_keys for name in users)
    if not keys.ways and keyed:
        yield programme.at(path, "no record keys given", KEYS_HINT)
    if len(keys.ways) != 1:
        return
    secrets = [keys.secret_file, keys.secret_env, main.secret_file, main.secret_env]
    if keys.id is not None and not any(secrets) and programme.document.parameters is None:
        hint = "add secret_file here: [keys] has none"
        yield programme.at((*path, "id"), "no secret for record keys", hint)
    yield from _known_source(programme, (*path, "inherit"), keys.inherit, source.name)
    line = key_line(programme.sources, source.name)
    if keys.inherit in programme.sources and line[-1] == source.name:
        message = f"the inheritance of keys has a circle: {' ← '.join(line)}"
        hint = "one of these sources needs separate keys: column or id"
        yield programme.at((*path, "inherit"), message, hint)


def check_magnitudes(programme: Programme) -> Found:
    """Perturbation tables of magnitudes that are that of the counts."""
    counts = programme.perturbation.table
    for column, entry in programme.magnitudes.items():
        for key in ("table", "small_table"):
            name = getattr(entry, key)
            if counts and name and programme.file(name) == programme.file(counts):
                message = f"{name!r} is the perturbation table of the counts"
                hint = "use a separate table for magnitudes"
                yield programme.at(("magnitudes", column, key), message, hint)


# -- variables --------------------------------------------------------------------


def _variables(programme: Programme) -> Found:
    for name, entry in programme.variables.items():
        if name in RESERVED:
            message = f"a variable cannot be called {name!r}"
            yield programme.at(("variables", name), message, "rename it")
        for number, other in enumerate(entry.alternatives or []):
            path: KeyPath = ("variables", name, "alternatives", number)
            if other == name:
                yield programme.at(path, "a variable cannot be its own alternative")
            elif other not in programme.variables:
                if not programme.reported(("variables", other)):
                    hint = nearest(other, list(programme.variables))
                    yield programme.at(path, f"unknown variable {other!r}", hint)
            elif programme.variables[other].alternatives:
                message = f"{other!r} has alternatives"
                yield programme.at(path, message, f"name the alternatives of {other} here")
    for table in programme.tables:
        merged = [n for n in used_variables(programme, table) if programme.variables[n].at_least]
        if merged and programme.method(table).name != DEFAULT:
            message = f"grid cells of {merged[0]!r} are aggregated by counts with noise"
            hint = f'protect = "{DEFAULT}", or a variable without at_least'
            yield programme.at(programme.setting(table, "protect"), message, hint)


def _slivers(programme: Programme) -> Found:
    entry = programme.document.slivers
    used = {
        variable
        for name, table in programme.tables.items()
        for variable in (*(table.by or []), *used_variables(programme, name))
    }
    for number, name in enumerate(entry.areas if entry is not None else []):
        variable = programme.variables.get(name)
        path: KeyPath = ("slivers", "areas", number)
        if name not in used:
            yield programme.at(
                path, f"{name!r} cannot be used in tables", nearest(name, sorted(used))
            )
        elif variable is not None and (variable.alternatives or variable.intervals):
            yield programme.at(path, f"{name!r} has no areas", "name variables with codes of areas")


# -- tables -----------------------------------------------------------------------


def _names(programme: Programme) -> Found:
    """Names of tables, workbook and atlas become names of files."""
    document = programme.document
    seen: dict[str, str] = {}
    reports = {file.partition(".")[0] for method in protections() for file in method.reports}
    for name in document.tables:
        path: KeyPath = ("tables", name)
        if not _FILE_NAME.fullmatch(name):
            hint = "use letters, digits, _ and - : the name becomes a file name"
            yield programme.at(path, f"{name!r} cannot be a file name", hint)
        elif name.lower() in OWN_REPORTS | _DEVICES | reports:
            yield programme.at(path, f"the name {name!r} is already in use", "choose another name")
        if name.lower() in seen:
            message = f"{name!r} and {seen[name.lower()]!r} would be the same file"
            yield programme.at(
                path, message, "use names that differ not only in upper and lower case"
            )
        seen.setdefault(name.lower(), name)
    stem = (document.atlas or "").removesuffix(".html")
    if stem and (not _FILE_NAME.fullmatch(stem) or stem.lower() in {*seen, *OWN_REPORTS}):
        hint = 'use an unused name without folders, such as atlas = "atlas.html"'
        yield programme.at(("atlas",), f"{stem!r} cannot be the name of an atlas", hint)
    if (book := document.workbook) is None:
        return
    if PurePath(book).name != book or book[:1] == "." or not book.endswith(".xlsx"):
        hint = 'use a name without folders, such as workbook = "tables.xlsx"'
        yield programme.at(("workbook",), f"{book!r} cannot be the name of a workbook", hint)
    if book.lower().removesuffix(".xlsx").partition(".")[0] in seen:
        yield programme.at(("workbook",), "a table has this name", "choose another name")
    if programme.tables and all(entry.workbook is False for entry in programme.tables.values()):
        hint = "remove it, or workbook = false of a table"
        yield programme.at(("workbook",), "the workbook has no table", hint)


def _tables(programme: Programme) -> Found:
    """What tables name: variables, columns with noise, languages, official figures."""
    noisy = list(programme.magnitudes)
    for name, table in programme.tables.items():
        path: KeyPath = ("tables", name)
        for number, variable in enumerate(table.by or []):
            if variable in RESERVED and variable not in programme.variables:
                hint = 'add [variables.NEW] with column = "…" and use the new name'
                message = f"a variable cannot be called {variable!r}"
                yield programme.at((*path, "by", number), message, hint)
        if not table.formats and not programme.reported(programme.setting(name, "formats")):
            hint = 'add formats = ["csv", "html"] here or to [defaults]'
            yield programme.at((*path, "formats"), "formats is missing", hint)
        for number, note in enumerate(table.notes):
            if note.text and "en" not in note.text and set(programme.languages) - set(note.text):
                message = "the text in English is missing"
                yield programme.at((*path, "notes", number, "text"), message)
        stated = programme.document.parameters is None and not programme.method(name).estimates
        for figure, entry in table.figures.items() if stated else ():
            column = entry.of or ""
            if column and column not in noisy and not programme.reported(("magnitudes", column)):
                hint = nearest(column, noisy) or f"add a section [magnitudes.{column}]"
                place = (*path, "figures", figure, "of")
                yield programme.at(place, f"no noise for {column!r}", hint)
    official = {
        programme.setting(name, "official"): (name, table.official)
        for name, table in programme.tables.items()
    }
    for place, (name, rule) in official.items():
        known = {*programme.spanning(programme.source_of(name).name), *programme.variables}
        for column in sorted(filter_parsed(programme, place, rule or "")[0]):
            if column.removesuffix(".level") not in known:
                hint = nearest(column, sorted(known)) or f"add a section [variables.{column}]"
                yield programme.at(place, f"unknown variable {column!r}", hint)


def _areas(programme: Programme) -> Found:
    """An area variable that no table has."""
    parts = programme.document.parts
    every = sorted({name for table in programme.tables.values() for name in table.by or []})
    if parts is not None and parts.per and programme.tables and parts.per not in every:
        message = f"no table has the spanning variable {parts.per!r}"
        yield programme.at(("parts", "per"), message, nearest(parts.per, every))


def check_methods(programme: Programme) -> Found:
    """What methods find wrong with their tables."""
    for method in protections():
        if programme.understood(method):
            yield from method.check(programme, programme.protected[method.name])


def check_parts(programme: Programme) -> Found:
    """Problems of thresholds for table parts, its own or those of a package, table by table."""
    for name in programme.tables:
        together = {programme.part_areas(part) for part in programme.parts_with(name)} - {None}
        if len(together) > 1:
            message = "tables of the same records decide on areas of two variables"
            hint = f"set per to one of {', '.join(sorted(map(str, together)))}"
            yield programme.at(("tables", name, "by"), message, hint)
        thresholds = programme.thresholds(name)
        if thresholds is None:
            continue
        if programme.additive_with(name):
            hint = "turn off thresholds for this table: parts.enabled = false"
            message = "suppressed subtables are not additive"
            yield programme.at(programme.setting(name, "additive"), message, hint)
        from discreet.protection.parts import PartRules

        try:
            PartRules(**thresholds)
        except DiscreetError as error:
            for problem in error.problems:
                key = [problem.where] if problem.where in thresholds else []
                own: KeyPath = ("tables", name, "parts", *key)
                place = own if own in programme.index.lines else ("parts", *key)
                yield programme.at(place, problem.what, problem.hint)


# -- methods ----------------------------------------------------------------------


def _methods(programme: Programme) -> Found:
    """Keys that go with other methods."""
    known = dict.fromkeys(key for method in protections() for key in method.table_keys)
    for name, table in programme.tables.items():
        own = programme.method(name)
        # Nothing is official, nothing rounded: that holds under every method.
        idle = {
            "official": not table.official,
            "round_to": (table.round_to or 1) == 1,
            "additive": not table.additive,
        }
        for key in known:
            if key in own.table_keys or idle.get(key, False):
                continue
            place: KeyPath = ("tables", name, key)
            if place in programme.index.lines:
                users = [f'"{item.name}"' for item in protections() if key in item.table_keys]
                *others, last = users
                listed = f"{', '.join(others)} or {last}" if others else last
                message = f"this needs protect = {listed}"
                yield programme.at(place, message, own.hints.get(key, ""))
            elif key == "round_to":
                message = f"protect = {own.name!r} does not round the values of {name!r}"
                hint = "write round_to = 1 in this table"
                yield programme.at(programme.setting(name, key), message, hint)


def _quantiles(programme: Programme) -> Found:
    """Quantiles of variables that are no classes of a number."""
    for name, entry in programme.tables.items():
        for variable in entry.quantiles if entry.by else ():
            stated = programme.variables.get(variable)
            if variable in (entry.by or ()) and (stated is None or stated.intervals is None):
                message = f"{variable!r} has no classes of a number"
                hint = f"add intervals to [variables.{variable}]"
                yield programme.at(("tables", name, "quantiles", variable), message, hint)


def _additive(programme: Programme) -> Found:
    """Figures that cannot be made to add up."""
    for name in filter(programme.additive_with, programme.tables):
        path = programme.setting(name, "additive")
        kinds = [figure.kind for figure in programme.tables[name].figures.values()]
        if len(kinds) > 1 or set(kinds) - {"count", "sum"}:
            message = "only tables with one figure, a count or a sum, can be additive"
            yield programme.at(path, message, "use one table per figure")


def _mixtures(programme: Programme) -> Found:
    """Values of the same records that are published by two methods.

    Noise without bias around a hidden value is an estimate of it, narrower than its
    protection levels; a true value beside a noisy one tells the noise. Units tell of their
    parts: persons in households of two are twice these households.
    """
    every = protections()
    places = {name: programme.parts_of(programme.source_of(name).name) for name in programme.tables}
    for name in programme.tables:
        own = programme.method(name)
        for other in every[: every.index(own)]:
            clashing = {
                item: both
                for item in programme.protected[other.name]
                if places[name] == places[item]
                and (both := set(programme.tells(name)) & set(programme.tells(item)))
            }
            values = sorted(
                f"{value!r}" if value != COUNT else "the number of records"
                for value in set().union(*clashing.values())
            )
            if clashing:
                message = (
                    f"{' and '.join(values)} would be published with {other.manner} "
                    f"({', '.join(clashing)}) and with {own.manner}"
                )
                hint = (
                    f"{', and '.join(clash(other.name, own.name))}: use the same protection for "
                    "all tables of the same records and values"
                )
                yield programme.at(programme.setting(name, "protect"), message, hint)


def check_relations(programme: Programme) -> Found:
    """Relations that cannot be read."""
    for key, text in programme.document.relations.items():
        try:
            ValueRelation.stated(key, text)
        except DiscreetError as error:
            hint = 'total = "home + foreign", or any name with "assets = debts + equity"'
            yield programme.at(("relations", key), error.what, hint)
    yield from related_mixtures(programme)


def related_mixtures(programme: Programme) -> Found:
    """Values that add up and are published by two methods: each is worked out from the others."""
    methods = [method for method in protections() if programme.protected[method.name]]
    if len(methods) < 2:
        return
    for each, names in programme.linked_by_relations(list(programme.tables)):
        values = {value for name in names for value in programme.tells(name)}
        first = programme.method(names[0]).name
        other = next((n for n in names if programme.method(n).name != first), None)
        if other is None or not set(each.values) <= values:
            continue
        second = programme.method(other).name
        message = f"{each.text}: additive values would be published by {first} and by {second}"
        hint = f"{clash(first, second)[0]}: use the same protection for all of them"
        yield programme.at(programme.setting(other, "protect"), message, hint)
