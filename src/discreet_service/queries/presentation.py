"""What is shown of a protected table: some levels and codes, in some order, with the same figures,
status and notes. Public on both sides.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from discreet.arrays import CellIndex, PositionArray
from discreet.assessment import published_at
from discreet.protection.parts import SUPPRESSED_PARTS
from discreet.tables import (
    CellNote,
    CellStatus,
    Dimension,
    Parts,
    ProtectedTable,
    figure_dimension,
    level_numbers,
    within,
)
from discreet_service.datasets import CatalogueUnit
from discreet_service.queries.canonical import AskedOrder, CanonicalQuery

_LANGUAGES = ("en", "de")
_BY = {"en": " by ", "de": " nach "}
_MORE = {"en": "and {} more", "de": "und {} weitere"}
_SHOWN = 5


def said_in(texts: Mapping[str, str], language: str, otherwise: str = "") -> str:
    """A text in a language, else in another one, else what is said otherwise.

    >>> said_in({"en": "Persons"}, "de")
    'Persons'
    """
    return texts.get(language) or next(iter(texts.values()), otherwise)


def title_of(query: CanonicalQuery, unit: CatalogueUnit) -> dict[str, str]:
    """The heading of an answer."""
    found = {}
    for language in _LANGUAGES:
        names = [unit.variables[one.variable].tree.title(language) for one in query.by]
        counted = said_in(unit.label, language, unit.name)
        found[language] = counted + (_BY[language] + ", ".join(names) if names else "")
    return found


def universe_of(
    query: CanonicalQuery, unit: CatalogueUnit, usual: Mapping[str, str]
) -> dict[str, str]:
    """Whom an answer counts; nothing for everybody."""
    if not query.where:
        return dict(usual)
    universe = {}
    for language in _LANGUAGES:
        parts = [said_in(usual, language)] if usual else []
        for one in query.where:
            tree = unit.variables[one.variable].tree
            labels = [tree.label(code, language) for code in one.codes[:_SHOWN]]
            if len(one.codes) > _SHOWN:
                labels.append(_MORE[language].format(len(one.codes) - _SHOWN))
            parts.append(f"{tree.title(language)}: {', '.join(labels)}")
        universe[language] = "; ".join(parts)
    return universe


def selected(table: ProtectedTable, query: CanonicalQuery, unit: CatalogueUnit) -> ProtectedTable:
    """The codes of a table that a query shows."""
    shown = []
    for one in query.by:
        variable = unit.variables[one.variable]
        index = variable.tree.index
        shown.append(
            variable.on_levels(one.levels)
            if one.codes is None
            else variable.of_codes([index[code] for code in one.codes])
        )
    figures = [table.dimensions[-1]] if table.several_figures else []
    dimensions = (*shown, *figures)
    parts = _parts(dimensions, [one.total for one in query.by])
    grid = CellIndex.of(dimensions).require(table.name)
    every: Sequence[PositionArray] = grid.every()
    places, length = [*every], grid.size
    if parts is not None:
        known = within(dimensions, every, grid.size, parts)
        places, length = [part[known] for part in every], int(known.sum())
    before = [
        np.array([whole.index[code] for code in own.codes], dtype=np.int32)[part]
        for own, whole, part in zip(shown, table.spanning, places, strict=False)
    ]
    before += [places[-1]] if figures else []
    value, status = published_at(table, tuple(before), length)
    return dataclasses.replace(
        table,
        dimensions=dimensions,
        index=tuple(places),
        value=value,
        status=status,
        parts=parts,
        suppressed_parts=frozenset(),
        notes=tuple(
            note
            for note in table.notes
            if note.kind != SUPPRESSED_PARTS or bool((status == CellStatus.suppressed).any())
        ),
        cell_notes=tuple(
            note
            for note in table.cell_notes
            for pairs in [zip(note.codes, dimensions, strict=True)]
            if all(code is None or code in own.index for code, own in pairs)
        ),
    )


def every_cell(table: ProtectedTable) -> tuple[tuple[PositionArray, ...], np.ndarray, np.ndarray]:
    """Positions, values and status of all cells that a table shows, with those that it omits."""
    grid = CellIndex.of(table.dimensions).require(table.name)
    every: Sequence[PositionArray] = grid.every()
    known = table.known(every, grid.size)
    index = tuple(part[known] for part in every)
    return (index, *published_at(table, index, int(known.sum())))


def _parts(dimensions: Sequence[Dimension], totals: Sequence[bool]) -> Parts | None:
    if all(totals):
        return None
    levels = []
    for at, dimension in enumerate(dimensions):
        numbers = np.unique(level_numbers(dimension)).tolist()
        shown = at >= len(totals) or totals[at]
        levels.append([number for number in numbers if shown or number != _TOTAL])
    return frozenset(product(*levels))


#: The number of the level of totals.
_TOTAL = 1


def in_order(table: ProtectedTable, order: AskedOrder) -> ProtectedTable:
    """A table in the order in which somebody asked for it."""
    names = [dimension.name for dimension in table.spanning]
    at = [names.index(name) for name in order.by]
    if table.several_figures:
        table = _figures_in_order(table, [measure.name for measure in order.measures])
        at.append(len(names))
    if at == sorted(at):
        return table
    return dataclasses.replace(
        table,
        dimensions=tuple(table.dimensions[k] for k in at),
        index=tuple(table.index[k] for k in at),
        parts=None
        if table.parts is None
        else frozenset(tuple(part[k] for k in at) for part in table.parts),
        cell_notes=tuple(
            CellNote(tuple(note.codes[k] for k in at), note.note) for note in table.cell_notes
        ),
    )


def _figures_in_order(table: ProtectedTable, names: Sequence[str]) -> ProtectedTable:
    known = {figure.name: k for k, figure in enumerate(table.figures)}
    order = [known[name] for name in names]
    if order == sorted(order):
        return table
    figures = tuple(table.figures[k] for k in order)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return dataclasses.replace(
        table,
        figures=figures,
        dimensions=(*table.spanning, figure_dimension(figures)),
        index=(*table.index[:-1], place[table.index[-1]]),
    )
