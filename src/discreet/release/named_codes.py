"""Codes that a programme names: in remarks about cells, as the base of an index.

In: a programme and the classifications that need no data. Out: a problem for every code
that does not exist. Codes that only the data tell are not questioned here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from discreet.classifications import MISSING, Classification
from discreet.errors import Problem
from discreet.release.lines import KeyPath
from discreet.release.programme import Programme, nearest

__all__ = ["check_codes"]


def check_codes(programme: Programme, trees: Mapping[str, Classification]) -> list[Problem]:
    """Every code that a variable does not have.

    Args:
        programme: The programme.
        trees: The classifications that need no data.
    """
    problems = []
    for path, variable, code in _named(programme):
        known = _codes(programme, variable, trees)
        if known is not None and code not in known:
            what = f"{variable} has no code {code!r}"
            problems.append(programme.problem(path, what, nearest(code, known)))
    return problems


def _named(programme: Programme) -> Iterator[tuple[KeyPath, str, str]]:
    """Where a code is named, its variable and the code."""
    for name, table in programme.tables.items():
        spanning = table.by or []
        for figure, entry in table.figures.items():
            for variable, code in (entry.base or {}).items():
                if variable in spanning:
                    yield ("tables", name, "figures", figure, "base", variable), variable, code
        for number, note in enumerate(table.notes):
            for variable, code in note.cells.items():
                if variable in spanning:
                    yield ("tables", name, "notes", number, "cells", variable), variable, code


def _codes(
    programme: Programme, variable: str, trees: Mapping[str, Classification]
) -> list[str] | None:
    """The codes of a variable; None where the data decide."""
    entry = programme.variables.get(variable)
    names = (entry.alternatives if entry is not None else None) or [variable]
    if any(name not in trees for name in names):
        return None
    found = [trees[name] for name in names]
    return [code for tree in found for code in (*tree.codes, tree.missing or MISSING)]
