"""What is wrong with a programme before any data are opened.

In: a `Programme`. Out: every problem found: keys that are missing or exclude
each other, files that are not there, filters that cannot be parsed, names that
cannot become file names. Nothing here has seen data.
"""

from __future__ import annotations

import re
from itertools import pairwise

from discreet.errors import Problem
from discreet.release.document import VariableEntry
from discreet.release.figure_checks import check_figures
from discreet.release.finding import Found, at, file_there, filter_parsed, reported, twice
from discreet.release.lines import KeyPath
from discreet.release.parameter_checks import check_parameters
from discreet.release.programme import Programme, nearest
from discreet.release.source_checks import check_sources
from discreet.release.suppression_checks import check_suppression

__all__ = ["check_programme"]

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_RESERVED = {"count", "cell_key", "weight", "value", "status", "symbol"}
_OWN_NAMES = {"index", "release", "quality", "decisions", "suppression"}
_RENAME = 'add [variables.NEW] with column = "…" and use its name'
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))}


def check_programme(programme: Programme) -> list[Problem]:
    """Every problem that can be seen without the data."""
    found = [
        *_sections(programme),
        *check_sources(programme),
        *check_parameters(programme),
        *_variables(programme),
        *_table_names(programme),
        *_tables(programme),
        *check_figures(programme),
        *check_suppression(programme),
    ]
    return [problem for path, problem in found if not reported(programme, path)]


def _sections(programme: Programme) -> Found:
    document = programme.document
    for name, entry in (
        ("data", document.data),
        ("keys", document.keys),
        ("perturbation", document.perturbation or document.parameters),
    ):
        hiding = name != "data" and programme.suppressed and not programme.noisy
        if entry is None and not hiding and not reported(programme, (name,)):
            yield at(programme, (name,), f"the section [{name}] is missing")
    if not document.tables:
        yield at(programme, ("tables",), "no table is asked for", "add a section [tables.T1]")
    for language in twice(document.languages):
        yield at(programme, ("languages",), f"language {language!r} is named twice")


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
        if table.weight and not table.suppressed and programme.perturbation.zeros == "table":
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
                yield from _filter(programme, name, path, getattr(table, key) or "")
            checked.add(path)


def _filter(programme: Programme, table: str, path: KeyPath, text: str) -> Found:
    columns, wrong = filter_parsed(programme, path, text)
    yield from wrong
    if path[-1] != "official":
        return
    known = programme.spanning(programme.source_of(table).name)
    for column in sorted(columns):
        if column.removesuffix(".level") not in known:
            yield at(
                programme,
                path,
                f"no table is spanned by {column!r}",
                nearest(column, sorted(known)),
            )
