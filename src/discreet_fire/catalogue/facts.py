"""Facts of the catalogue: read strictly, and each told twice.

In: documents of the catalogue. Out: rows of which no field is left out, unknown, or of a value
that it may not have; and an error where a row and the lists of those that share a fact differ.
Nothing here is confidential.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import is_dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args, get_origin, get_type_hints

#: What no list needs to say again: the policy does, or nothing hangs on it.
_ONCE = ("flow.shows", "flow.uses", "origin", "section")


_hints: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


def document(name: str) -> dict[str, Any]:
    """A document of the catalogue."""
    return tomllib.loads(files("discreet_fire.catalogue").joinpath(name).read_text("utf-8"))


def check_keys(where: str, given: Mapping[str, Any], wanted: Set[str]) -> None:
    """Nothing may be missing, and nothing be there besides.

    Raises:
        ValueError: Something is.
    """
    if missing := wanted - given.keys():
        raise ValueError(f"{where}: {', '.join(sorted(missing))} is missing")
    if unknown := given.keys() - wanted:
        raise ValueError(f"{where}: {', '.join(sorted(unknown))} is not known")


def row_of(where: str, of: type, given: Mapping[str, Any]) -> Any:
    """A row, or a part of one, of which each field has a value that it may have.

    Raises:
        ValueError: A field is missing, or not understood.
    """
    check_keys(where, given, _hints(of).keys())
    fields = {}
    for key, kind in _hints(of).items():
        value = fields[key] = given[key]
        if isinstance(kind, type) and is_dataclass(kind) and not isinstance(value, kind):
            if not isinstance(value, dict):
                raise ValueError(f"{where}: {key} has parts")
            fields[key] = row_of(f"{where}: {key}", kind, value)
        elif not _may_be(kind, value):
            raise ValueError(f"{where}: {key} may not be {value!r}")
    return of(**fields)


def _may_be(kind: Any, value: Any) -> bool:
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    return isinstance(value, get_origin(kind) or kind)


def leaves(rows: Mapping[str, Any]) -> dict[str, dict[str, set[str]]]:
    """The fields of some rows that take one of several values: for each value the commands."""
    fields: dict[str, dict[str, set[str]]] = {}
    alike: dict[int, tuple[Any, list[str]]] = {}
    for name, row in rows.items():
        alike.setdefault(id(row), (row, []))[1].append(name)
    for row, names in alike.values():
        for field, value in _choices_made(row, ""):
            if field not in _ONCE:
                fields.setdefault(field, {}).setdefault(value, set()).update(names)
    return fields


def _choices_made(part: Any, before: str) -> Iterator[tuple[str, str]]:
    """The values of such fields of one row."""
    for key, kind in _hints(type(part)).items():
        value = getattr(part, key)
        if is_dataclass(value):
            yield from _choices_made(value, f"{before}{key}.")
        elif kind == tuple[str, ...]:
            yield f"{before}{key}", " ".join(value)
        elif kind is bool or get_origin(kind) is Literal:
            yield f"{before}{key}", str(value).lower() if kind is bool else value


def check_facts(
    found: Mapping[str, Mapping[str, Set[str]]], told: Mapping[str, Mapping[str, str]]
) -> None:
    """Each fact must be told twice: in the row of its command, and in a list of all that share it.

    So a wrong field is an error and opens nothing. Of each field one value, that of all the
    other commands, is not listed.

    Raises:
        ValueError: They differ.
    """
    for field in found.keys() | told.keys():
        rows, lists = found.get(field, {}), told.get(field, {})
        if len(rows.keys() - lists.keys()) > 1:
            raise ValueError(f"{field}: more than one value is not listed")
        for value, names in lists.items():
            if differ := set(names.split()) ^ rows.get(value, set()):
                message = f"{field} = {value}: rows and lists differ in"
                raise ValueError(f"{message} {', '.join(sorted(differ))}")
