"""Key figures as they would be without noise, beside those published. CONFIDENTIAL.

In: the ingredients of a table, its key figures, and the table. Out: `Pairs` per figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from discreet.assessment.release_quality.pairs import Pairs, places_in, published_at
from discreet.assessment.release_quality.part_grid import PartGrid
from discreet.derived import KeyFigure, derive
from discreet.errors import TableError
from discreet.perturbation.ingredient import Ingredient
from discreet.tables import CellStatus, ProtectedTable

__all__ = ["key_figure_pairs"]


def key_figure_pairs(
    ingredients: Mapping[str, Ingredient],
    figures: Sequence[KeyFigure],
    protected: ProtectedTable,
    grid: PartGrid,
) -> dict[str, Pairs]:
    """Per figure that is shown, originals beside what is published.

    Counts are compared as they are. Other figures are made of true ingredients as they
    were of protected ones, and rounded alike.

    Args:
        ingredients: What the figures are made of.
        figures: The key figures of the table.
        protected: The table as published.
        grid: Its table parts.
    """
    shown = [figure for figure in figures if not figure.hidden]
    if {figure.name for figure in shown} != {figure.name for figure in protected.figures}:
        raise TableError(
            "these are not the figures of the table",
            code="quality",
            where=protected.name,
            hint="give the key figures that it was derived with",
        )
    counts = [figure for figure in shown if figure.kind == "count"]
    found = {
        figure.name: Pairs.of_ingredient(ingredients[figure.shown], protected, grid)
        for figure in counts
    }
    others = [figure for figure in shown if figure.kind != "count"]
    if others:
        true = derive(
            {name: _without_noise(ingredient) for name, ingredient in ingredients.items()},
            figures,
            bracket_above=None,
        )
        found |= {figure.name: _pairs(figure.name, true, protected, grid) for figure in others}
    return found


def _without_noise(ingredient: Ingredient) -> Ingredient:
    """An ingredient that is published as it is: exists here only, to be compared."""
    status = np.full(len(ingredient), CellStatus.published, dtype=np.int8)
    status[ingredient.suppressed] = CellStatus.suppressed
    exact = replace(
        ingredient.protected,
        index=ingredient.index,
        value=np.where(ingredient.suppressed, 0, ingredient.original),
        status=status,
    )
    return replace(
        ingredient,
        protected=exact,
        value=np.where(ingredient.suppressed, 0, ingredient.original),
        deviation=np.zeros(len(ingredient)),
    )


def _pairs(name: str, true: ProtectedTable, protected: ProtectedTable, grid: PartGrid) -> Pairs:
    """One figure of both tables, wherever the true one is not 0."""
    here = np.ones(true.stored, dtype=np.bool_)
    if true.several_figures:
        here = true.index[-1] == true.dimensions[-1].index[name]
    index = tuple(part[here] for part in true.index)
    length = int(np.count_nonzero(here))
    listed, places = places_in(true.dimensions, index, protected.dimensions, protected.name)
    value, status = published_at(protected, places, length)
    if listed is not None:
        status[~listed] = CellStatus.not_applicable
    spanning = places[: len(grid.dimensions)]
    return Pairs(
        original=true.value[here].astype(np.float64),
        value=value.astype(np.float64),
        status=status,
        part=grid.part(spanning, length),
    )
