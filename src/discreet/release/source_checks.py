"""What is wrong with the sources of a programme: their files, their keys, who inherits from whom.

In: a `Programme`. Out: problems with their keys. Nothing here has seen data.
"""

from __future__ import annotations

import os

from discreet.release.finding import Found, at, file_there, reported
from discreet.release.programme import Programme, nearest
from discreet.release.source import MAIN, Source, key_line

__all__ = ["check_sources"]

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
            yield from _records(programme, source)
        if not source.main:
            yield from _keys(programme, source)
        elif document.keys is not None:
            yield from _main_keys(programme, source)
    main = programme.main.name
    if main in document.sources:
        what = f"the main source is called {main!r}"
        hint = "choose another name" + (", or give [data] a name" if main == MAIN else "")
        yield at(programme, ("sources", main), what, hint)
    for name, table in document.tables.items():
        known = table.source is None or table.source in programme.sources
        if not known and not reported(programme, ("sources", table.source or "")):
            what = f"there is no source {table.source!r}"
            hint = nearest(table.source or "", list(programme.sources))
            yield at(programme, ("tables", name, "from"), what, hint)


def _records(programme: Programme, source: Source) -> Found:
    path, records = source.path, source.records
    if (records.source is None) == (records.database is None):
        what = "source and database exclude each other" if records.source else "source is missing"
        hint = 'name a file: source = "persons.parquet", or database = "x.duckdb" with table = …'
        yield at(programme, (*path, "source"), what, hint)
    if records.database is not None and (records.table is None) == (records.query is None):
        hint = "a database needs exactly one of table = … and query = …"
        yield at(programme, (*path, "database"), "what to read is not clear", hint)
    if records.source is not None and (records.table or records.query):
        key = "table" if records.table else "query"
        yield at(programme, (*path, key), "this is for databases only", "use database = …")
    if records.database is not None and records.text:
        yield at(programme, (*path, "text"), "this is for text files only", "cast in the query")
    for key in ("source", "database"):
        if (name := getattr(records, key)) is not None and not _is_pattern(name):
            yield from file_there(programme, (*path, key), name, folder=key == "source")


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _main_keys(programme: Programme, source: Source) -> Found:
    keys = source.keys
    made = keys.id is not None or keys.secret_file is not None or keys.secret_env is not None
    if keys.column is None and not made:
        yield at(programme, ("keys", "column"), "no record keys are named", _MAIN_HINT)
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
    else:
        yield from _secret_there(programme, source)


def _secret_there(programme: Programme, source: Source) -> Found:
    keys, place = source.keys, source.secret_place
    if keys.secret_file is not None:
        yield from file_there(programme, place, keys.secret_file)
    elif keys.secret_env is not None and not os.environ.get(keys.secret_env):
        what = f"the environment variable {keys.secret_env} is not set"
        yield at(programme, place, what)


def _keys(programme: Programme, source: Source) -> Found:
    """The keys of a source besides the main one."""
    path, keys = source.keys_path, source.keys
    if any(reported(programme, (*path, key)) for key in (*_WAYS, "by")):
        return
    given = [way for way in _WAYS if getattr(keys, way) is not None]
    if not given:
        if _needs_keys(programme, source.name):
            yield at(programme, path, "no record keys are named", _HINT)
        return
    if len(given) > 1:
        what = f"{' and '.join(given)} exclude each other"
        yield at(programme, (*path, given[1]), what, _HINT)
        return
    for key in ("by", "orphans"):
        if getattr(keys, key) is not None and keys.inherit is None:
            yield at(programme, (*path, key), "this goes with inherit only")
    yield from _secret(programme, source)
    if keys.inherit is not None:
        yield from _inherited(programme, source, keys.inherit)


def _needs_keys(programme: Programme, name: str) -> bool:
    """Whether records need keys: for noise, or to hand them on. Hiding cells needs none."""
    users = [table for table in programme.tables if programme.source_of(table).name == name]
    handed_on = any(other.keys.inherit == name for other in programme.sources.values())
    return handed_on or not users or any(table in programme.noisy for table in users)


def _secret(programme: Programme, source: Source) -> Found:
    """A secret for keys made of identifiers, and for units that have no parts."""
    path, keys, main = source.keys_path, source.keys, programme.main.keys
    own = [key for key in ("secret_file", "secret_env") if getattr(keys, key) is not None]
    if own and keys.column is not None:
        yield at(programme, (*path, own[0]), "keys that are in the data need no secret")
        return
    if len(own) > 1:
        yield at(programme, (*path, own[1]), "secret_file and secret_env exclude each other")
        return
    yield from _secret_there(programme, source)
    shared = main.secret_file or main.secret_env or programme.document.parameters
    if keys.id is not None and not own and not shared:
        what = "there is no secret to make keys with"
        hint = "name secret_file here: [keys] has none"
        yield at(programme, (*path, "id"), what, hint)


def _inherited(programme: Programme, source: Source, parts: str) -> Found:
    path = source.keys_path
    if source.keys.by is None:
        hint = 'name the column of the unit: by = "household_id"'
        yield at(programme, (*path, "by"), "by is missing", hint)
    if parts not in programme.sources:
        if not reported(programme, ("sources", parts)):
            others = [name for name in programme.sources if name != source.name]
            what = f"there is no source {parts!r}"
            yield at(programme, (*path, "inherit"), what, nearest(parts, others))
        return
    line = key_line(programme.sources, source.name)
    if line[-1] == source.name:  # else the circle is reported where it closes
        what = f"keys go round in a circle: {' ← '.join(line)}"
        hint = "one of these sources needs keys of its own: column or id"
        yield at(programme, (*path, "inherit"), what, hint)
