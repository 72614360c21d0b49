"""What is wrong with the key figures, notes and part thresholds of a programme.

In: a `Programme`. Out: problems with their keys: figures that name others there are not,
keys that a kind of figure needs or has no use for. Nothing here has seen data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from discreet.errors import DiscreetError
from discreet.release.document import TableEntry
from discreet.release.figure_entries import FigureEntry, PartsEntry
from discreet.release.finding import Found, at, filter_parsed, reported
from discreet.release.lines import KeyPath
from discreet.release.programme import Programme, nearest
from discreet.tables.figures import FIGURE

__all__ = ["check_figures", "check_thresholds"]


@dataclass(frozen=True)
class _Form:
    """The keys that a kind of figure needs, those of which it needs some, and those it may have."""

    needs: tuple[str, ...] = ()
    some_of: tuple[str, ...] = ()
    may: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        return (*self.needs, *self.some_of, *self.may)


_PAIR = ("part", "whole")
_FORMS: Mapping[str, _Form] = {
    "count": _Form(may=("where",)),
    "sum": _Form(("of",), may=("where",)),
    "mean": _Form(("of",), may=("where",)),
    "share": _Form(("part",), ("whole", "over")),
    "ratio": _Form(_PAIR, may=("factor",)),
    "per_thousand": _Form(_PAIR, may=("factor",)),
    "change": _Form(("part",), ("whole", "base")),
    "balance": _Form(_PAIR),
    "index": _Form(("part",), ("whole", "base")),
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
        yield at(programme, path, "all figures are hidden", "one figure at least is published")
    if len(shown) > 1 and FIGURE in (table.by or []):
        what = f"a table with several figures has no variable called {FIGURE!r}"
        yield at(programme, ("tables", name, "by"), what, "rename the variable")


def _keys(programme: Programme, path: KeyPath, entry: FigureEntry) -> Found:
    """The keys that the kind of figure needs, and those that do not go with it."""
    if entry.kind is None:
        if not reported(programme, (*path, "kind")):
            known = ", ".join(_FORMS)
            yield at(programme, (*path, "kind"), "kind is missing", f"known: {known}")
        return
    form = _FORMS[entry.kind]
    given = [key for key in _SPECIAL if getattr(entry, key) is not None]
    for key in form.needs:
        if key not in given and not reported(programme, (*path, key)):
            yield at(programme, (*path, key), f"{key} is missing", f"{entry.kind} needs {key}")
    lost = any(reported(programme, (*path, key)) for key in form.some_of)
    if form.some_of and not lost and not any(key in given for key in form.some_of):
        what = f"{entry.kind} needs {' or '.join(form.some_of)}"
        yield at(programme, (*path, form.some_of[0]), what)
    for key in given:
        if key not in form.known:
            what = f"this does not go with kind = {entry.kind!r}"
            yield at(programme, (*path, key), what, f"known: {', '.join(form.known)}")


def _references(
    programme: Programme, path: KeyPath, entry: FigureEntry, table: TableEntry
) -> Found:
    counted = [name for name, other in table.figures.items() if other.counted]
    for key in _PAIR:
        name = getattr(entry, key)
        if name is None or name in counted or reported(programme, (*path[:-1], name)):
            continue
        if name in table.figures:
            if table.figures[name].kind is not None:
                what = f"{name!r} is itself made of other figures"
                hint = f"name counts, sums or means: {', '.join(counted)}"
                yield at(programme, (*path, key), what, hint)
        else:
            what = f"the table has no figure {name!r}"
            yield at(programme, (*path, key), what, nearest(name, counted))
    yield from _variables(programme, (*path, "over"), entry.over or [], table)
    yield from _variables(programme, (*path, "base"), list(entry.base or {}), table)
    if entry.of is not None and programme.document.parameters is None:
        yield from _noise(programme, path, entry.of)


def _noise(programme: Programme, path: KeyPath, column: str) -> Found:
    known = list(programme.magnitudes)
    if column not in known and not reported(programme, ("magnitudes", column)):
        what = f"there is no noise for {column!r}"
        hint = nearest(column, known) or f"add a section [magnitudes.{column}]"
        yield at(programme, (*path, "of"), what, hint)


def _variables(
    programme: Programme, path: KeyPath, names: Sequence[str], table: TableEntry
) -> Found:
    for name in names:
        if name not in (table.by or []):
            what = f"the table is not spanned by {name!r}"
            yield at(programme, path, what, nearest(name, table.by or []))


def _notes(programme: Programme, name: str, table: TableEntry) -> Found:
    shown = [figure for figure, entry in table.figures.items() if not entry.hidden]
    known = [*(table.by or []), *([FIGURE] if len(shown) > 1 else [])]
    for number, note in enumerate(table.notes):
        path: KeyPath = ("tables", name, "notes", number)
        if not note.text:
            yield at(programme, (*path, "text"), "text is missing")
        elif "en" not in note.text and set(programme.languages) - set(note.text):
            yield at(programme, (*path, "text"), "the text in English is missing")
        for variable, code in note.cells.items():
            place: KeyPath = (*path, "cells", variable)
            if variable not in known:
                what = f"the table is not spanned by {variable!r}"
                yield at(programme, place, what, nearest(variable, known))
            elif variable == FIGURE and code not in shown:
                yield at(
                    programme, place, f"the table has no figure {code!r}", nearest(code, shown)
                )


def check_thresholds(programme: Programme, shared: PartsEntry | None = None) -> Found:
    """What the rules for table parts find wrong with their thresholds, table by table.

    Args:
        programme: The programme.
        shared: The rules of a package.
    """
    from discreet.suppression import PartRules

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
                yield at(programme, place, problem.what, problem.hint)


def _unknown(
    programme: Programme, path: KeyPath, entry: PartsEntry | None, known: Sequence[str]
) -> Found:
    for key in entry.thresholds if entry is not None else ():
        if key not in known:
            every = [*known, *PartsEntry.model_fields]
            yield at(programme, (*path, key), "there is no such key", nearest(key, every))
