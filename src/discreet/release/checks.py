"""What is wrong with a programme before any data are opened.

In: a `Programme`. Out: every problem found: keys that are missing or exclude
each other, files that are not there, filters that cannot be parsed, names that
cannot become file names. Nothing here has seen data.
"""

from __future__ import annotations

import os
import re
from itertools import pairwise

from discreet.errors import Problem
from discreet.release.document import VariableEntry
from discreet.release.figure_checks import check_figures
from discreet.release.finding import Found, at, file_there, filter_parsed, reported, twice
from discreet.release.lines import KeyPath
from discreet.release.parameter_checks import check_parameters
from discreet.release.programme import Programme, nearest

__all__ = ["check_programme"]

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_RESERVED = {"count", "cell_key", "weight", "value", "status", "symbol"}
_OWN_NAMES = {"index", "release", "quality", "decisions"}
_RENAME = 'add [variables.NEW] with column = "…" and use its name'
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))}


def check_programme(programme: Programme) -> list[Problem]:
    """Every problem that can be seen without the data."""
    found = [
        *_sections(programme),
        *_data(programme),
        *_keys(programme),
        *check_parameters(programme),
        *_variables(programme),
        *_table_names(programme),
        *_tables(programme),
        *check_figures(programme),
    ]
    return [problem for path, problem in found if not reported(programme, path)]


def _sections(programme: Programme) -> Found:
    document = programme.document
    for name, entry in (
        ("data", document.data),
        ("keys", document.keys),
        ("perturbation", document.perturbation or document.parameters),
    ):
        if entry is None:
            yield at(programme, (name,), f"the section [{name}] is missing")
    if not document.tables:
        yield at(programme, ("tables",), "no table is asked for", "add a section [tables.T1]")
    for language in twice(document.languages):
        yield at(programme, ("languages",), f"language {language!r} is named twice")


def _data(programme: Programme) -> Found:
    data = programme.data
    if programme.document.data is None:
        return
    if (data.source is None) == (data.database is None):
        what = "source and database exclude each other" if data.source else "source is missing"
        hint = 'name a file: source = "persons.parquet", or database = "x.duckdb" with table = …'
        yield at(programme, ("data", "source"), what, hint)
    if data.database is not None and (data.table is None) == (data.query is None):
        hint = "a database needs exactly one of table = … and query = …"
        yield at(programme, ("data", "database"), "what to read is not clear", hint)
    if data.source is not None and (data.table or data.query):
        key = "table" if data.table else "query"
        yield at(programme, ("data", key), "this is for databases only", "use database = …")
    if data.database is not None and data.text:
        yield at(programme, ("data", "text"), "this is for text files only", "cast in the query")
    for key in ("source", "database"):
        if (name := getattr(data, key)) is not None and not _is_pattern(name):
            yield from file_there(programme, ("data", key), name, folder=key == "source")


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _keys(programme: Programme) -> Found:
    keys = programme.keys
    if programme.document.keys is None:
        return
    made = keys.id is not None or keys.secret_file is not None or keys.secret_env is not None
    if keys.column is None and not made:
        hint = 'column = "record_key", or id = "person_id" with secret_file = "secret.key"'
        yield at(programme, ("keys", "column"), "no record keys are named", hint)
    if keys.column is not None and made:
        hint = "keys are either in the data (column) or made here (id and a secret)"
        yield at(programme, ("keys", "column"), "column and id or secret exclude each other", hint)
        return
    if made and keys.id is None:
        yield at(programme, ("keys", "id"), "id is missing", "name the column of the identifier")
    handed_on = keys.secret_file is None and programme.document.parameters is not None
    if handed_on and keys.secret_env is None:
        return  # a package may hold the secret
    if made and (keys.secret_file is None) == (keys.secret_env is None):
        what = "exactly one of secret_file and secret_env is needed"
        yield at(programme, ("keys", "secret_file"), what, "make one with: discreet keys secret")
    elif keys.secret_file is not None:
        yield from file_there(programme, ("keys", "secret_file"), keys.secret_file)
    elif keys.secret_env is not None and not os.environ.get(keys.secret_env):
        what = f"the environment variable {keys.secret_env} is not set"
        yield at(programme, ("keys", "secret_env"), what)


def _variables(programme: Programme) -> Found:
    for name, entry in programme.variables.items():
        path: KeyPath = ("variables", name)
        if len(entry.kinds) > 1:
            what = f"{' and '.join(entry.kinds)} exclude each other"
            yield at(programme, (*path, entry.kinds[1]), what, "name one kind of classification")
        for key in ("prefixes", "intervals"):
            numbers = getattr(entry, key) or []
            if any(later <= earlier for earlier, later in pairwise(numbers)):
                yield at(programme, (*path, key), "the numbers must increase")
        for key in ("levels", "codes", "alternatives"):
            names = getattr(entry, key) or []
            for doubled in twice(names):
                yield at(programme, (*path, key), f"{doubled!r} is named twice")
        if entry.hierarchy is not None:
            yield from file_there(programme, (*path, "hierarchy"), entry.hierarchy)
        if entry.codelist is not None:
            yield from file_there(programme, (*path, "codelist"), entry.codelist)
        for key, kind in (("codelist", "hierarchy"), ("coarser", "intervals")):
            if getattr(entry, key) is not None and getattr(entry, kind) is None:
                yield at(programme, (*path, key), f"this goes with {kind} only")
        if name in _RESERVED:
            yield at(programme, path, f"a variable cannot be called {name!r}", "rename it")
        yield from _alternatives(programme, name, entry)


def _alternatives(programme: Programme, name: str, entry: VariableEntry) -> Found:
    for key in ("column", "labels", "total", "missing") if entry.alternatives else ():
        if getattr(entry, key):
            what = "this belongs to the alternatives themselves"
            yield at(programme, ("variables", name, key), what)
    for number, other in enumerate(entry.alternatives or []):
        path: KeyPath = ("variables", name, "alternatives", number)
        if other == name:
            yield at(programme, path, "a variable cannot be its own alternative")
        elif other not in programme.variables:
            if not reported(programme, ("variables", other)):
                hint = nearest(other, list(programme.variables))
                yield at(programme, path, f"there is no variable {other!r}", hint)
        elif programme.variables[other].alternatives:
            yield at(
                programme, path, f"{other!r} has alternatives itself", "name its own ones here"
            )


def _table_names(programme: Programme) -> Found:
    seen: dict[str, str] = {}
    for name in programme.document.tables:
        path: KeyPath = ("tables", name)
        if not _FILE_NAME.fullmatch(name):
            hint = "use letters, digits, _ and - : the name becomes a file name"
            yield at(programme, path, f"{name!r} cannot be a file name", hint)
        elif name.lower() in _OWN_NAMES | _DEVICES:
            yield at(programme, path, f"the name {name!r} is taken", "choose another name")
        if name.lower() in seen:
            what = f"{name!r} and {seen[name.lower()]!r} would be one file"
            yield at(programme, path, what, "names must differ in more than upper and lower case")
        seen.setdefault(name.lower(), name)


def _tables(programme: Programme) -> Found:
    checked: set[KeyPath] = set()
    for name, table in programme.tables.items():
        if not table.by:
            hint = 'name the spanning variables: by = ["region", "sex"]'
            yield at(programme, ("tables", name, "by"), "by is missing", hint)
        for doubled in twice(table.by or []):
            what = f"variable {doubled!r} spans the table twice"
            yield at(programme, ("tables", name, "by"), what)
        for number, variable in enumerate(table.by or []):
            if variable in _RESERVED and variable not in programme.variables:
                place: KeyPath = ("tables", name, "by", number)
                yield at(programme, place, f"a variable cannot be called {variable!r}", _RENAME)
        if table.weight and programme.perturbation.zeros == "table":
            what = "zeros of a weighted table cannot be perturbed: they have no mean weight"
            yield at(programme, programme.setting(name, "weight"), what, 'use zeros = "keep"')
        for doubled in twice(table.formats or []):
            yield at(programme, programme.setting(name, "formats"), f"{doubled!r} is named twice")
        if not table.formats and not reported(programme, programme.setting(name, "formats")):
            hint = 'formats = ["csv", "html"] here or in [defaults]'
            yield at(programme, ("tables", name, "formats"), "formats is missing", hint)
        for key in ("where", "official"):
            path = programme.setting(name, key)
            if path not in checked:
                yield from _filter(programme, path, getattr(table, key) or "")
            checked.add(path)


def _filter(programme: Programme, path: KeyPath, text: str) -> Found:
    columns, wrong = filter_parsed(programme, path, text)
    yield from wrong
    if path[-1] != "official":
        return
    known = _spanning_names(programme)
    for column in sorted(columns):
        if column.removesuffix(".level") not in known:
            yield at(
                programme,
                path,
                f"no table is spanned by {column!r}",
                nearest(column, sorted(known)),
            )


def _spanning_names(programme: Programme) -> set[str]:
    return {name for table in programme.tables.values() for name in table.by or []}
