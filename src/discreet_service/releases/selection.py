"""Selections: some codes of each variable of a released table, and the cells they span. Public.
Nothing is added up: a variable that is left out stands at its published total.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import BoolArray, CellIndex, PositionArray
from discreet.assessment import published_at
from discreet.classifications import Classification
from discreet.publication import (
    FIGURES,
    LANGUAGES,
    decimals_of,
    has_number,
    labels_of,
    printed_notes,
)
from discreet.tables import (
    FIGURE,
    CellStatus,
    Dimension,
    Figure,
    ProtectedTable,
    Withheld,
    figure_dimension,
)
from discreet_service.problems import ServiceError


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Some codes of each variable of a table."""

    table: ProtectedTable
    # Per dimension, the positions of its codes, in the order wanted
    positions: tuple[PositionArray, ...]
    # Per dimension, whether it is shown; those that are not have one code, the total
    kept: tuple[bool, ...]

    @property
    def shown(self) -> tuple[int, ...]:
        """Which dimensions are shown."""
        return tuple(at for at, kept in enumerate(self.kept) if kept)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(map(len, self.positions))

    @cached_property
    def whole(self) -> bool:
        """Whether it is the table as it is."""
        return all(self.kept) and all(
            np.array_equal(part, np.arange(len(dimension)))
            for part, dimension in zip(self.positions, self.table.dimensions, strict=True)
        )

    def codes(self, at: int) -> list[str]:
        """The codes of a dimension."""
        every = self.table.dimensions[at].codes
        return [every[code] for code in self.positions[at].tolist()]

    def labels(self, at: int, language: str) -> list[str]:
        """The labels of its codes."""
        every = labels_of(self.table.dimensions[at], language)
        return [every[code] for code in self.positions[at].tolist()]

    @cached_property
    def index(self) -> tuple[PositionArray, ...]:
        """Per dimension of the table, the position of each cell's code; the last goes fastest."""
        grid = np.meshgrid(*self.positions, indexing="ij")
        return tuple(part.ravel().astype(np.int32) for part in grid)

    @cached_property
    def cells(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.int8]]:
        """Values and states of the cells. What a table does not say is not known, thus hidden."""
        value, status = published_at(self.table, self.index, self.size)
        status[~self.table.known(self.index, self.size)] = CellStatus.suppressed
        value[~has_number(status)] = 0
        return value, status

    @cached_property
    def numbered(self) -> BoolArray:
        """Which cells show a number."""
        return has_number(self.cells[1])

    def numbers(self) -> list[Any]:
        """The values as JSON takes them; None for cells without a number."""
        values: Any = self.cells[0].astype(object)
        values[~self.numbered] = None
        return list(values)

    def decimals(self) -> list[int]:
        """Digits after the decimal point of each cell."""
        places: list[int] = np.broadcast_to(decimals_of(self.table, self.index), self.size).tolist()
        return places

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The figures that are shown."""
        table = self.table
        if not table.several_figures:
            return table.figures
        return tuple(table.figures[at] for at in self.positions[-1].tolist())

    def as_table(self) -> ProtectedTable:
        """The selection as a table for writers; the table itself if everything is selected."""
        if self.whole:
            return self.table
        table = self.table
        value, status = self.cells
        spanning = [at for at in self.shown if at < len(table.spanning)]
        dimensions = [self._dimension(at) for at in spanning]
        if len(self.figures) > 1:
            dimensions.append(figure_dimension(self.figures))
        grid = CellIndex.of(dimensions)
        # The notes of the whole table, which hold for its cells wherever they are shown.
        kinds = {FIGURES: f"{FIGURES}-of-table"}
        return ProtectedTable(
            dimensions=tuple(dimensions),
            index=tuple(grid.every()) if dimensions else (),
            value=value,
            status=status,
            provenance=table.provenance,
            notes=tuple(
                replace(note, kind=kinds.get(note.kind, note.kind))
                for note in printed_notes(self.table)
            ),
            name=table.name,
            titles=table.titles or {item: table.title(item) for item in LANGUAGES},
            universe=table.universe,
            decimals=table.decimals,
            figures=self.figures,
            cell_notes=self._cell_notes(spanning),
            withheld=self._withheld(dimensions),
        )

    def _withheld(self, dimensions: Sequence[Dimension]) -> Withheld | None:
        """What is said of hidden cells that are shown here, at their places here."""
        table, said = self.table, self.table.withheld
        if said is None:
            return None
        at = CellIndex.of(table.dimensions).find(said.index, self.index, (len(said), self.size))
        here, there = np.flatnonzero(at >= 0), at[at >= 0]
        index = CellIndex.of(dimensions).every() if dimensions else []
        return replace(
            said,
            index=tuple(part[here] for part in index),
            reason=said.reason[there],
            low=None if said.low is None else said.low[there],
            high=None if said.high is None else said.high[there],
        )

    def _dimension(self, at: int) -> Dimension:
        """The codes of a dimension side by side."""
        dimension = self.table.dimensions[at]
        codes = tuple(self.codes(at))
        spoken = {item: self.labels(at, item) for item in LANGUAGES}
        tree = Classification(
            name=dimension.name,
            codes=codes,
            parents=(-1,) + (0,) * (len(codes) - 1),
            labels={
                code: {item: spoken[item][k] for item in LANGUAGES} for k, code in enumerate(codes)
            },
            titles={item: dimension.title(item) for item in LANGUAGES},
        )
        return Dimension(classifications=(tree,), chosen=True)

    def _cell_notes(self, spanning: Sequence[int]) -> tuple[Any, ...]:
        table = self.table
        found = []
        for remark in table.cell_notes:
            codes = [*remark.codes, *[None] * (len(table.dimensions) - len(remark.codes))]
            if all(code is None for code in codes):
                continue  # it is printed with the notes of the table
            if all(each is None or each in self.codes(at) for at, each in enumerate(codes)):
                shown = [codes[at] for at in spanning]
                shown += codes[-1:] if len(self.figures) > 1 else []
                found.append(replace(remark, codes=tuple(shown)))
        return tuple(found)


def select(
    table: ProtectedTable, wanted: Mapping[str, Sequence[int] | None], *, most: int
) -> Selection:
    """Select codes of a table.

    >>> from discreet.publication.examples import census_example
    >>> some = select(census_example(), {"sex": [2, 1]}, most=10)
    >>> some.codes(0), some.size
    (['w', 'm'], 2)
    """
    positions, kept = [], []
    for dimension in table.dimensions:
        part = wanted.get(dimension.name)
        kept.append(part is not None)
        if part is None and dimension.name == FIGURE and table.several_figures:
            raise ServiceError("select the values", "invalid-selection", FIGURE)
        positions.append(np.asarray([0] if part is None else list(part), dtype=np.int32))
    size = math.prod(map(len, positions))
    if size > most:
        message = f"too many cells: {size:,}; the limit is {most:,}"
        hint = "select fewer codes, or send several requests"
        raise ServiceError(message, "too-many-selected", limit=most, actual=size, hint=hint)
    return Selection(table=table, positions=tuple(positions), kept=tuple(kept))
