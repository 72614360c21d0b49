"""What is wrong with the parameters a programme names: files, packages, noise of magnitudes.

In: a `Programme`. Out: problems with their keys. Nothing here has seen data.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath

from discreet.release.figure_entries import MagnitudeEntry, StrengthEntry
from discreet.release.finding import Found, at, file_there, reported
from discreet.release.lines import KeyPath
from discreet.release.programme import Programme

__all__ = ["check_parameters"]

#: What each kind of strength is described by.
_STRENGTHS: Mapping[str, tuple[str, ...]] = {
    "flex": ("point", "small", "large", "exponent"),
    "simple": ("share",),
}
_FROM_PACKAGE = ("perturbation", "magnitudes", "figures", "parts")


def check_parameters(programme: Programme) -> Found:
    """Everything about [parameters], [perturbation], [magnitudes.*], [quality] and workbook."""
    if programme.document.parameters is not None:
        yield from _package(programme)
    yield from _perturbation(programme)
    for column, entry in programme.magnitudes.items():
        yield from _magnitude(programme, column, entry)
    yield from _workbook(programme)


def _package(programme: Programme) -> Found:
    entry = programme.parameters
    if entry.package is None:
        if not reported(programme, ("parameters", "package")):
            hint = 'name the file: package = "census-2026.dcparams"'
            yield at(programme, ("parameters", "package"), "package is missing", hint)
    else:
        yield from file_there(programme, ("parameters", "package"), entry.package)
    keys = ("key_file", "passphrase_file", "passphrase_env")
    given = [key for key in keys if getattr(entry, key) is not None]
    if len(given) != 1 and not any(reported(programme, ("parameters", key)) for key in keys):
        what = f"exactly one of {', '.join(keys)} is needed"
        yield at(programme, ("parameters", (given or keys)[0]), what)
    for key in ("key_file", "passphrase_file", "verify_key"):
        if (name := getattr(entry, key)) is not None:
            yield from file_there(programme, ("parameters", key), name)
    if entry.passphrase_env is not None and not os.environ.get(entry.passphrase_env):
        what = f"the environment variable {entry.passphrase_env} is not set"
        yield at(programme, ("parameters", "passphrase_env"), what)
    for section in _FROM_PACKAGE:
        if (section,) in programme.index.lines:
            what = f"[{section}] and [parameters] exclude each other: the package says all of this"
            yield at(programme, (section,), what, "leave one of the two out")


def _perturbation(programme: Programme) -> Found:
    if programme.document.perturbation is None:
        return
    name = programme.perturbation.table
    if name is None:
        hint = 'name the file: table = "ptable.csv"'
        yield at(programme, ("perturbation", "table"), "table is missing", hint)
    else:
        yield from file_there(programme, ("perturbation", "table"), name)


def _magnitude(programme: Programme, column: str, entry: MagnitudeEntry) -> Found:
    path: KeyPath = ("magnitudes", column)
    if entry.table is None:
        hint = 'name the file: table = "rent-ptable.csv"'
        yield at(programme, (*path, "table"), "table is missing", hint)
    for key in ("table", "small_table"):
        if (name := getattr(entry, key)) is not None:
            yield from file_there(programme, (*path, key), name)
            counts = programme.perturbation.table
            if counts is not None and programme.file(name) == programme.file(counts):
                what = f"{name!r} is the perturbation table of the counts"
                hint = "magnitudes need a table of their own"
                yield at(programme, (*path, key), what, hint)
    if entry.strength is None:
        hint = 'strength = { kind = "simple", share = 0.1 }, or kind = "flex"'
        yield at(programme, (*path, "strength"), "strength is missing", hint)
    else:
        yield from _strength(programme, (*path, "strength"), entry.strength)
    yield from _contributions(programme, path, entry)


def _strength(programme: Programme, path: KeyPath, entry: StrengthEntry) -> Found:
    if entry.kind is None:
        if not reported(programme, (*path, "kind")):
            yield at(programme, (*path, "kind"), "kind is missing", "known: flex, simple")
        return
    for kind, keys in _STRENGTHS.items():
        for key in keys:
            given = getattr(entry, key) is not None
            if kind == entry.kind and not given and not reported(programme, (*path, key)):
                hint = f"{kind} needs {', '.join(keys)}"
                yield at(programme, (*path, key), f"{key} is missing", hint)
            if kind != entry.kind and given:
                yield at(programme, (*path, key), f"this goes with {kind} only")


def _contributions(programme: Programme, path: KeyPath, entry: MagnitudeEntry) -> Found:
    if any(reported(programme, (*path, key)) for key in ("of", "top", "epsilon")):
        return
    wanted = entry.top if entry.of == "top" else 1
    if entry.of != "top" and entry.top > 1:
        what = 'this goes with of = "top" only'
        yield at(programme, (*path, "top"), what)
    elif len(entry.epsilon or [1]) != wanted:
        what = f"{wanted} numbers are needed, one per contribution"
        yield at(programme, (*path, "epsilon"), what, "such as epsilon = [1, 0.5] for top = 2")


def _workbook(programme: Programme) -> Found:
    name = programme.document.workbook
    if name is None:
        return
    if PurePath(name).name != name or name[:1] == "." or not name.endswith(".xlsx"):
        hint = 'a name without folders, such as workbook = "tables.xlsx"'
        yield at(programme, ("workbook",), f"{name!r} cannot be the name of a workbook", hint)
    stems = {table.lower() for table in programme.document.tables}
    if name.lower().removesuffix(".xlsx").partition(".")[0] in stems:
        yield at(programme, ("workbook",), "a table has this name", "choose another name")
    if programme.tables and all(entry.workbook is False for entry in programme.tables.values()):
        what = "no table stands in the workbook"
        yield at(programme, ("workbook",), what, "leave it out, or workbook = false of a table")
