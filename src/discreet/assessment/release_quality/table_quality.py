"""`TableQuality`: what protection did to one table, in whole numbers. CONFIDENTIAL.

In: a true and a protected table. Out: tallies that can be added up over a release, kept
for a later run, and turned into statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.assessment.release_quality.additivity import differences
from discreet.assessment.release_quality.counts import CountStatistics, count_statistics
from discreet.assessment.release_quality.key_figures import key_figure_pairs
from discreet.assessment.release_quality.one_pass import one_pass
from discreet.assessment.release_quality.pairs import Pairs
from discreet.assessment.release_quality.part_grid import IntArray, PartGrid, finest_level
from discreet.assessment.release_quality.values import deviations, states
from discreet.derived import KeyFigure
from discreet.errors import TableError
from discreet.perturbation.ingredient import Ingredient
from discreet.tables import CellStatus, ProtectedTable, Table

__all__ = ["Part", "Shown", "TableQuality", "table_quality"]

Shown = Literal["complete", "thinned", "blocked"]


@dataclass(frozen=True, slots=True)
class Part:
    """One table part. Public.

    Args:
        levels: Level of each variable in words.
        depth: Number of variables that are not at their total.
        cells: Number of cells of the complete grid, per figure.
        suppressed: Whether it is suppressed as a whole.
    """

    levels: tuple[str, ...]
    depth: int
    cells: int
    suppressed: bool


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TableQuality:
    """Tallies about one table (confidential).

    Args:
        variables: Name of each spanning variable → its finest level.
        parts: The table parts there are, numbered in this order; `None` where the table
            lacks one.
        figures: Name → kind of each figure.
        states: Rows (figure, part, status, stored cells).
        counts: The noise of its counts.
        deviations: Name of a figure that is no count → rows (part, class, cells).
        sums: Rows (variable, totals compared, that differ, sum of |difference|, largest).
        reasons: Reason for which parts were suppressed → number of parts.
    """

    variables: Mapping[str, str]
    parts: tuple[Part | None, ...]
    figures: Mapping[str, str]
    states: IntArray
    counts: CountStatistics
    deviations: Mapping[str, IntArray]
    sums: IntArray
    reasons: Mapping[str, int]

    @property
    def shown(self) -> Shown:
        """Whether all parts are published, some, or none."""
        hidden = [part.suppressed for part in self.parts if part is not None]
        if not any(hidden):
            return "complete"
        return "blocked" if all(hidden) else "thinned"

    @property
    def grid_cells(self) -> int:
        """Number of cells of all parts and figures."""
        one = sum(part.cells for part in self.parts if part is not None)
        return one * max(1, len(self.figures))

    def cells_in(self, status: CellStatus) -> int:
        """Number of cells in a state; zeros and inapplicable cells only where stored."""
        rows = self.states[self.states[:, 2] == status]
        return int(rows[:, 3].sum()) + (self._hidden_cells if status == status.suppressed else 0)

    @property
    def _hidden_cells(self) -> int:
        """Cells of suppressed parts, which are not stored."""
        one = sum(part.cells for part in self.parts if part is not None and part.suppressed)
        return one * max(1, len(self.figures))

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON takes it."""
        return {
            "variables": dict(self.variables),
            "parts": [
                None if p is None else [list(p.levels), p.depth, p.cells, p.suppressed]
                for p in self.parts
            ],
            "figures": dict(self.figures),
            "states": self.states.tolist(),
            "noise": self.counts.noise.tolist(),
            "others": self.counts.others.tolist(),
            "zeros_changed": self.counts.zeros_changed,
            "deviations": {name: rows.tolist() for name, rows in self.deviations.items()},
            "sums": self.sums.tolist(),
            "reasons": dict(self.reasons),
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> TableQuality:
        """The tallies that were written by `to_dict`."""
        return cls(
            variables=dict(entry["variables"]),
            parts=tuple(None if p is None else Part(tuple(p[0]), *p[1:]) for p in entry["parts"]),
            figures=dict(entry["figures"]),
            states=_rows(entry["states"], 4),
            counts=CountStatistics(
                noise=_rows(entry["noise"], 4),
                others=_rows(entry["others"], 6),
                zeros_changed=int(entry["zeros_changed"]),
            ),
            deviations={name: _rows(rows, 3) for name, rows in entry["deviations"].items()},
            sums=_rows(entry["sums"], 5),
            reasons=dict(entry["reasons"]),
        )

    def __repr__(self) -> str:
        return "<TableQuality: confidential>"


def _rows(listed: Any, width: int) -> IntArray:
    return np.array(listed, dtype=np.int64).reshape(-1, width)


def table_quality(
    table: Table | None,
    protected: ProtectedTable,
    ingredients: Mapping[str, Ingredient],
    figures: Sequence[KeyFigure],
    reasons: Mapping[str, int],
) -> TableQuality:
    """Assess one table.

    Args:
        table: The true table of counts; not needed where there are ingredients.
        protected: The table as published.
        ingredients: What it was made of, with originals; none for plain counts.
        figures: The key figures made of the ingredients; if there are none, the
            ingredients are the figures.
        reasons: Why parts were suppressed.
    """
    grid = PartGrid.of(protected.spanning)
    hidden, unknown = grid.suppressed(protected), grid.unknown(protected)
    plain = None if ingredients or figures else table
    tallies = one_pass(plain, protected, grid, hidden=hidden, unknown=unknown)
    counts, off = CountStatistics.none() if tallies is None else tallies.counts, {}
    if tallies is None:
        for name, pairs in _pairs(table, protected, ingredients, figures, grid).items():
            if pairs.whole:
                counts += count_statistics(pairs)
            else:
                off[name] = deviations(pairs)
    every = zip(grid.names(), grid.broken_down(), grid.sizes(), hidden, unknown, strict=True)
    return TableQuality(
        variables={d.name: finest_level(d) for d in grid.dimensions},
        parts=tuple(
            None if absent else Part(names, depth, cells, bool(secret))
            for names, depth, cells, secret, absent in every
        ),
        figures={figure.name: figure.kind for figure in protected.figures} or {"count": "count"},
        states=states(protected, grid) if tallies is None else tallies.states,
        counts=counts,
        deviations=off,
        sums=differences(protected, grid) if tallies is None else tallies.sums,
        reasons=dict(sorted(reasons.items())),
    )


def _pairs(
    table: Table | None,
    protected: ProtectedTable,
    ingredients: Mapping[str, Ingredient],
    figures: Sequence[KeyFigure],
    grid: PartGrid,
) -> dict[str, Pairs]:
    """Per figure, originals beside what is published."""
    if figures:
        return key_figure_pairs(ingredients, figures, protected, grid)
    if ingredients:
        return {
            name: Pairs.of_ingredient(ingredient, protected, grid)
            for name, ingredient in ingredients.items()
        }
    plain = not protected.figures or (
        not protected.several_figures and protected.figures[0].kind == "count"
    )
    if table is None or not plain:
        raise TableError(
            "figures other than counts are assessed by their ingredients",
            code="quality",
            where=protected.name,
            hint='give ingredients={"name": ingredient}',
        )
    return {"count": Pairs.of_table(table, protected, grid)}
