"""What is wrong with the parameters and key figures of a programme.

In: a `Programme`. Out: problems with their keys: perturbation tables, packages and noise of
magnitudes; figures that name others there are not, keys that a kind of figure needs or has
no use for, notes, thresholds of table parts. Nothing here has seen data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePath

from discreet.errors import DiscreetError, nearest
from discreet.protection.problems import (
    Found,
    filter_parsed,
    missing_keys,
    named_files,
    stated_secret_problems,
    unset_variable,
)
from discreet.release.programme.file import Programme
from discreet.release.programme.schema import (
    FigureEntry,
    MagnitudeEntry,
    ParametersEntry,
    PartsEntry,
    StrengthEntry,
    TableEntry,
)
from discreet.release.programme.toml_lines import KeyPath
from discreet.tables import FIGURE

#: What each kind of strength is described by.
_STRENGTHS: Mapping[str, tuple[str, ...]] = {
    "flex": ("point", "small", "large", "exponent"),
    "simple": ("share",),
}
#: Sections that a package of parameters stands for.
FROM_PACKAGE = ("perturbation", "magnitudes", "figures", "parts")


def check_parameters(programme: Programme) -> Found:
    """Everything about [parameters], [perturbation], [magnitudes.*], [quality] and workbook."""
    if (package := programme.document.parameters) is not None:
        yield from _package(programme, package)
    if (entry := programme.document.perturbation) is not None:
        hint = 'name the file: table = "ptable.csv"'
        yield from missing_keys(programme, ("perturbation",), entry, table=hint)
        yield from named_files(programme, ("perturbation",), entry, "table")
    for column, magnitude in programme.magnitudes.items():
        yield from _magnitude(programme, column, magnitude)
    yield from named_files(programme, ("release",), programme.document.release, "sign")
    yield from stated_secret_problems(programme, ("release",), programme.document.release)
    yield from _workbook(programme)


def _package(programme: Programme, entry: ParametersEntry) -> Found:
    path = ("parameters",)
    yield from missing_keys(
        programme, path, entry, package='name the file: package = "census-2026.dcparams"'
    )
    keys = ("key_file", "passphrase_file", "passphrase_env")
    given = [key for key in keys if getattr(entry, key) is not None]
    if len(given) != 1 and not any(programme.reported((*path, key)) for key in keys):
        message = f"exactly one of {', '.join(keys)} is needed"
        yield programme.at((*path, (given or keys)[0]), message)
    files = ("package", "key_file", "passphrase_file", "verify_key")
    yield from named_files(programme, path, entry, *files)
    yield from unset_variable(programme, (*path, "passphrase_env"), entry.passphrase_env)
    if entry.allow_unsigned and (entry.verify_key or entry.signer):
        message = "whoever must have signed is named: an unsigned package cannot be used"
        yield programme.at((*path, "allow_unsigned"), message, "leave one of the two out")
    for section in FROM_PACKAGE:
        if (section,) in programme.index.lines:
            message = (
                f"[{section}] and [parameters] exclude each other: the package says all of this"
            )
            yield programme.at((section,), message, "leave one of the two out")


def _magnitude(programme: Programme, column: str, entry: MagnitudeEntry) -> Found:
    path: KeyPath = ("magnitudes", column)
    yield from missing_keys(
        programme,
        path,
        entry,
        table='name the file: table = "rent-ptable.csv"',
        strength='strength = { kind = "simple", share = 0.1 }, or kind = "flex"',
    )
    yield from named_files(programme, path, entry, "table", "small_table")
    counts = programme.perturbation.table
    for key in ("table", "small_table"):
        name = getattr(entry, key)
        if counts and name and programme.file(name) == programme.file(counts):
            message = f"{name!r} is the perturbation table of the counts"
            yield programme.at((*path, key), message, "magnitudes need a table of their own")
    if entry.strength is not None:
        yield from _strength(programme, (*path, "strength"), entry.strength)
    yield from _contributions(programme, path, entry)


def _strength(programme: Programme, path: KeyPath, entry: StrengthEntry) -> Found:
    yield from missing_keys(programme, path, entry, kind="known: flex, simple")
    for kind, keys in _STRENGTHS.items() if entry.kind is not None else ():
        if kind == entry.kind:
            needed = dict.fromkeys(keys, f"{kind} needs {', '.join(keys)}")
            yield from missing_keys(programme, path, entry, **needed)
            continue
        for key in keys:
            if getattr(entry, key) is not None:
                yield programme.at((*path, key), f"this goes with {kind} only")


def _contributions(programme: Programme, path: KeyPath, entry: MagnitudeEntry) -> Found:
    if any(programme.reported((*path, key)) for key in ("of", "top", "epsilon")):
        return
    wanted = entry.top if entry.of == "top" else 1
    if entry.of != "top" and entry.top > 1:
        message = 'this goes with of = "top" only'
        yield programme.at((*path, "top"), message)
    elif len(entry.epsilon or [1]) != wanted:
        message = f"{wanted} numbers are needed, one per contribution"
        yield programme.at((*path, "epsilon"), message, "such as epsilon = [1, 0.5] for top = 2")


def _workbook(programme: Programme) -> Found:
    name = programme.document.workbook
    if name is None:
        return
    if PurePath(name).name != name or name[:1] == "." or not name.endswith(".xlsx"):
        hint = 'a name without folders, such as workbook = "tables.xlsx"'
        yield programme.at(("workbook",), f"{name!r} cannot be the name of a workbook", hint)
    stems = {table.lower() for table in programme.document.tables}
    if name.lower().removesuffix(".xlsx").partition(".")[0] in stems:
        yield programme.at(("workbook",), "a table has this name", "choose another name")
    if programme.tables and all(entry.workbook is False for entry in programme.tables.values()):
        message = "no table stands in the workbook"
        yield programme.at(("workbook",), message, "leave it out, or workbook = false of a table")


@dataclass(frozen=True)
class _FigureForm:
    """The keys that a kind of figure needs, those of which it needs some, and those it may have."""

    needs: tuple[str, ...] = ()
    some_of: tuple[str, ...] = ()
    may: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        return (*self.needs, *self.some_of, *self.may)


_PAIR = ("part", "whole")
_FIGURE_FORMS: Mapping[str, _FigureForm] = {
    "count": _FigureForm(may=("where",)),
    "sum": _FigureForm(("of",), may=("where",)),
    "mean": _FigureForm(("of",), may=("where",)),
    "share": _FigureForm(("part",), ("whole", "over")),
    "ratio": _FigureForm(_PAIR, may=("factor",)),
    "per_thousand": _FigureForm(_PAIR, may=("factor",)),
    "change": _FigureForm(("part",), ("whole", "base")),
    "balance": _FigureForm(_PAIR),
    "index": _FigureForm(("part",), ("whole", "base")),
}
_SPECIAL = ("of", "where", "part", "whole", "over", "base", "factor")


def check_figures(programme: Programme) -> Found:
    """Everything about figures, notes and thresholds of table parts."""
    if programme.document.parameters is None:
        yield from check_thresholds(programme)
    for name, table in programme.tables.items():
        yield from _notes(programme, name, table)
        for figure, entry in table.figures.items():
            path: KeyPath = ("tables", name, "figures", figure)
            yield from _keys(programme, path, entry)
            yield from _references(programme, path, entry, table)
            _, wrong = filter_parsed(programme, (*path, "where"), entry.where or "")
            yield from wrong
        yield from _together(programme, name, table)


def _together(programme: Programme, name: str, table: TableEntry) -> Found:
    path: KeyPath = ("tables", name, "figures")
    shown = [figure for figure, entry in table.figures.items() if not entry.hidden]
    if table.figures and not shown:
        yield programme.at(path, "all figures are hidden", "one figure at least is published")
    if len(shown) > 1 and FIGURE in (table.by or []):
        message = f"a table with several figures has no variable called {FIGURE!r}"
        yield programme.at(("tables", name, "by"), message, "rename the variable")


def _keys(programme: Programme, path: KeyPath, entry: FigureEntry) -> Found:
    """The keys that the kind of figure needs, and those that do not go with it."""
    yield from missing_keys(programme, path, entry, kind=f"known: {', '.join(_FIGURE_FORMS)}")
    if entry.kind is None:
        return
    form = _FIGURE_FORMS[entry.kind]
    keys = [key for key in _SPECIAL if getattr(entry, key) is not None]
    needed = {key: f"{entry.kind} needs {key}" for key in form.needs}
    yield from missing_keys(programme, path, entry, **needed)
    lost = any(programme.reported((*path, key)) for key in form.some_of)
    if form.some_of and not lost and not any(key in keys for key in form.some_of):
        message = f"{entry.kind} needs {' or '.join(form.some_of)}"
        yield programme.at((*path, form.some_of[0]), message)
    for key in keys:
        if key not in form.known:
            message = f"this does not go with kind = {entry.kind!r}"
            yield programme.at((*path, key), message, f"known: {', '.join(form.known)}")


def _references(
    programme: Programme, path: KeyPath, entry: FigureEntry, table: TableEntry
) -> Found:
    counted = [name for name, other in table.figures.items() if other.counted]
    for key in _PAIR:
        name = getattr(entry, key)
        if name is None or name in counted or programme.reported((*path[:-1], name)):
            continue
        if name in table.figures:
            if table.figures[name].kind is not None:
                message = f"{name!r} is itself made of other figures"
                hint = f"name counts, sums or means: {', '.join(counted)}"
                yield programme.at((*path, key), message, hint)
        else:
            message = f"the table has no figure {name!r}"
            yield programme.at((*path, key), message, nearest(name, counted))
    yield from _variables(programme, (*path, "over"), entry.over or [], table)
    yield from _variables(programme, (*path, "base"), list(entry.base or {}), table)
    estimated = programme.method(str(path[1])).estimates
    if entry.of is not None and programme.document.parameters is None and not estimated:
        yield from _noise(programme, path, entry.of)


def _noise(programme: Programme, path: KeyPath, column: str) -> Found:
    known = list(programme.magnitudes)
    if column not in known and not programme.reported(("magnitudes", column)):
        message = f"there is no noise for {column!r}"
        hint = nearest(column, known) or f"add a section [magnitudes.{column}]"
        yield programme.at((*path, "of"), message, hint)


def _variables(
    programme: Programme, path: KeyPath, names: Sequence[str], table: TableEntry
) -> Found:
    for name in names:
        if name not in (table.by or []):
            message = f"the table is not spanned by {name!r}"
            yield programme.at(path, message, nearest(name, table.by or []))


def _notes(programme: Programme, name: str, table: TableEntry) -> Found:
    shown = [figure for figure, entry in table.figures.items() if not entry.hidden]
    known = [*(table.by or []), *([FIGURE] if len(shown) > 1 else [])]
    for number, note in enumerate(table.notes):
        path: KeyPath = ("tables", name, "notes", number)
        if not note.text:
            yield programme.at((*path, "text"), "text is missing")
        elif "en" not in note.text and set(programme.languages) - set(note.text):
            yield programme.at((*path, "text"), "the text in English is missing")
        for variable, code in note.cells.items():
            place: KeyPath = (*path, "cells", variable)
            bare = variable.removesuffix(".level")
            if bare not in known or (variable != bare and bare in (FIGURE, *note.cells)):
                message = f"the table is not spanned by {variable!r}"
                yield programme.at(place, message, nearest(variable, known))
            elif variable == FIGURE and code not in shown:
                yield programme.at(place, f"the table has no figure {code!r}", nearest(code, shown))


def check_thresholds(programme: Programme, shared: PartsEntry | None = None) -> Found:
    """What the rules for table parts find wrong with their thresholds, table by table."""
    from discreet.protection.parts import PartRules

    known = [field.name for field in fields(PartRules)]
    yield from _unknown(programme, ("parts",), programme.document.parts, known)
    for name, table in programme.tables.items():
        own: KeyPath = ("tables", name, "parts")
        yield from _unknown(programme, own, table.parts, known)
        thresholds = programme.thresholds(name, shared)
        if thresholds is None:
            continue
        try:
            PartRules(**{key: value for key, value in thresholds.items() if key in known})
        except DiscreetError as error:
            for problem in error.problems:
                section = own if table.parts is not None else ("parts",)
                stated = (*own, problem.where) in programme.index.lines
                section = section if stated or problem.where not in known else ("parts",)
                place = (*section, problem.where) if problem.where in known else section
                yield programme.at(place, problem.what, problem.hint)


def _unknown(
    programme: Programme, path: KeyPath, entry: PartsEntry | None, known: Sequence[str]
) -> Found:
    for key in entry.thresholds if entry is not None else ():
        if key not in known:
            every = [*known, *PartsEntry.model_fields]
            yield programme.at((*path, key), "there is no such key", nearest(key, every))
