"""The labels of variables and figures, put together once for all files that print them.

In: a table or a spanning variable, and a language. Out: a label and a level for each
code; the heading of a figure with its unit. Public.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from discreet.tables import Dimension, ProtectedTable
from discreet.tables.figures import Figure

__all__ = ["figure_line", "figure_text", "is_figure", "labels_at", "labels_of", "levels_at"]

_KNOWN: MutableMapping[Dimension, dict[str, tuple[str, ...]]] = WeakKeyDictionary()


def labels_of(dimension: Dimension, language: str) -> tuple[str, ...]:
    """The label of each code in a language.

    >>> from discreet.publication.examples import census_example
    >>> labels_of(census_example().dimensions[0], "de")
    ('Insgesamt', 'männlich', 'weiblich')
    """
    known = _KNOWN.setdefault(dimension, {})
    if language not in known:
        known[language] = dimension.labels(language)
    return known[language]


def is_figure(table: ProtectedTable, at: int) -> bool:
    """Whether the dimension at a position is that of the figures."""
    return table.several_figures and at == len(table.dimensions) - 1


def figure_text(figure: Figure, language: str) -> str:
    """What stands over a figure: its title and its unit.

    >>> figure_text(Figure(name="rent", titles={"en": "Rent"}, unit={"en": "EUR"}), "en")
    'Rent (EUR)'
    """
    unit = figure.unit_text(language)
    return f"{figure.title(language)} ({unit})" if unit else figure.title(language)


def figure_line(table: ProtectedTable, language: str) -> str:
    """What the only figure of a table is; empty for counts and for several figures."""
    return figure_text(table.figures[0], language) if len(table.figures) == 1 else ""


def labels_at(table: ProtectedTable, at: int, language: str) -> tuple[str, ...]:
    """The label of each code of the dimension at a position; figures with their units."""
    if is_figure(table, at):
        return tuple(figure_text(figure, language) for figure in table.figures)
    return labels_of(table.dimensions[at], language)


def levels_at(table: ProtectedTable, at: int) -> npt.NDArray[np.int32]:
    """The level of each code as printed: all figures stand on one, the first."""
    levels = table.dimensions[at].levels
    return np.zeros_like(levels) if is_figure(table, at) else levels
