"""`Pairs`: each true figure beside what was made of it. CONFIDENTIAL.

In: a `Table` and its `ProtectedTable`, or an `Ingredient`. Out: original, value,
status and table part, cell by cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.assessment.release_quality.part_grid import IntArray, PartGrid
from discreet.errors import TableError
from discreet.perturbation.ingredient import Ingredient
from discreet.tables import CellStatus, Dimension, ProtectedTable, Table
from discreet.tables.dimension import IndexArray
from discreet.tables.table import grid_size

__all__ = ["Pairs", "flat_places", "places_in", "published_at"]

#: Where the grid has at most so many cells per stored one, a whole grid is the quickest index.
_DENSE = 16


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Pairs:
    """Original and published figure of the cells that have records (confidential).

    Args:
        original: True values.
        value: Values as published; 0 where there is none.
        status: What is published.
        part: The number of the table part.
        beside: Number of other cells that are published, although they have no records.
    """

    original: npt.NDArray[Any]
    value: npt.NDArray[Any]
    status: npt.NDArray[np.int8]
    part: IntArray
    beside: int = 0

    @classmethod
    def of_table(cls, table: Table, protected: ProtectedTable, grid: PartGrid) -> Pairs:
        """The cells of a table and what became of them."""
        listed, places = places_in(table.dimensions, table.index, grid.dimensions, table.name)
        value, status = published_at(protected, places, len(table))
        if listed is not None:
            gone = ~listed  # a code left out has nothing but zeros
            value = np.where(gone, 0, value)
            status[gone] = CellStatus.zero_or_changed_to_zero
        return cls(
            original=table.count if table.weight is None else table.weight,
            value=value,
            status=status,
            part=_part(table.dimensions, table.index, grid, listed, places),
            beside=_shown(protected.value, protected.status) - _shown(value, status),
        )

    @classmethod
    def of_ingredient(
        cls, ingredient: Ingredient, protected: ProtectedTable, grid: PartGrid
    ) -> Pairs:
        """The cells of an ingredient, as published in `protected`."""
        own, name = ingredient.protected, protected.name
        listed, places = places_in(ingredient.dimensions, ingredient.index, grid.dimensions, name)
        status = np.full(len(ingredient), CellStatus.published, dtype=np.int8)
        if bool((own.status == CellStatus.official).any()):
            _, status = published_at(own, ingredient.index, len(ingredient))
        status[ingredient.suppressed] = CellStatus.suppressed
        part = _part(ingredient.dimensions, ingredient.index, grid, listed, places)
        status[grid.suppressed(protected)[part]] = CellStatus.suppressed
        value, original = ingredient.value, ingredient.original
        if own.value.dtype.kind == "i":
            value, original = value.astype(np.int64), original.astype(np.int64)
        return cls(original=original, value=value, status=status, part=part)

    @property
    def whole(self) -> bool:
        """Whether these are counts."""
        return self.original.dtype.kind == "i" and self.value.dtype.kind == "i"

    def __len__(self) -> int:
        return len(self.original)

    def __repr__(self) -> str:
        return f"<Pairs (confidential): {len(self):,} cells>"


def _shown(value: npt.NDArray[Any], status: npt.NDArray[np.int8]) -> int:
    """Number of cells that show a perturbed number."""
    return int(np.count_nonzero((value != 0) & (status != CellStatus.official)))


def places_in(
    ours: Sequence[Dimension],
    index: Sequence[IndexArray],
    theirs: Sequence[Dimension],
    where: str,
) -> tuple[npt.NDArray[np.bool_] | None, tuple[IndexArray, ...]]:
    """Where our cells stand in their variables, and which do; None if all do."""
    same = len(ours) == len(theirs) and all(
        a.name == b.name and not set(b.index) - set(a.index)
        for a, b in zip(ours, theirs, strict=True)
        if a is not b
    )
    if not same:
        raise TableError(
            "the two tables differ in their spanning variables or codes",
            code="quality",
            where=where,
            hint="give a table and what was made of it",
        )
    listed: npt.NDArray[np.bool_] | None = None
    places = []
    for a, b, part in zip(ours, theirs, index, strict=True):
        if a is b or a.codes == b.codes:
            places.append(part)
            continue
        to = np.array([b.index.get(code, -1) for code in a.codes], dtype=np.int32)[part]
        here = to >= 0
        listed = here if listed is None else listed & here
        places.append(np.maximum(to, 0))
    return listed, tuple(places)


def _part(
    ours: Sequence[Dimension],
    index: Sequence[IndexArray],
    grid: PartGrid,
    listed: npt.NDArray[np.bool_] | None,
    places: tuple[IndexArray, ...],
) -> IntArray:
    """The part of each cell; codes that left the table count to their former level."""
    length = len(index[0]) if index else 1
    part = grid.part(places, length)
    if listed is None or bool(listed.all()):
        return part
    former = np.zeros(length, dtype=np.int64)
    pairs = zip(ours, index, PartGrid.of(ours).rank, grid.numbers, grid.strides, strict=True)
    for dimension, at, rank, numbers, stride in pairs:
        own = PartGrid.of([dimension]).numbers[0]
        known = [numbers.index(n) if n in numbers else len(numbers) - 1 for n in own]
        former += np.array(known, dtype=np.int64)[rank[at]] * stride
    return np.where(listed, part, former)


def published_at(
    table: ProtectedTable, places: tuple[IndexArray, ...], length: int
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int8]]:
    """Value and status of cells as published."""
    if table.suppressed_parts or table.figures:
        status = table.absent(places, length)
    else:
        status = np.full(length, CellStatus.zero_or_changed_to_zero, dtype=np.int8)
    if not table.stored:
        return np.zeros(length, dtype=table.value.dtype), status
    stored, wanted = flat_places(table.dimensions, table.index, places)
    size = grid_size(table.dimensions)
    if size <= _DENSE * len(stored):
        whole = np.zeros(size, dtype=table.value.dtype)
        whole[stored] = table.value
        value = whole.take(wanted)
        if bool(table.status.any()) or table.suppressed_parts:
            states = np.full(size, -1, dtype=np.int8)
            states[stored] = table.status
            known = states.take(wanted)
            return value, np.where(known >= 0, known, status).astype(np.int8)
        status[value != 0] = CellStatus.published
        return value, status
    at = _positions(stored, wanted)
    found = at >= 0
    value = np.where(found, table.value[at], 0)
    return value, np.where(found, table.status[at], status).astype(np.int8)


def _positions(stored: IntArray, wanted: IntArray) -> IntArray:
    """Where each wanted number stands among the stored ones; -1 if nowhere."""
    order = np.argsort(stored, kind="stable")
    near = np.minimum(np.searchsorted(stored[order], wanted), len(stored) - 1)
    nearest = order[near]
    return np.where(stored[nearest] == wanted, nearest, -1)


def flat_places(
    dimensions: Sequence[Dimension], *indexes: Sequence[IndexArray]
) -> tuple[IntArray, ...]:
    """One number per cell, the same for the same place in all of the `indexes`.

    The number is the place in the grid, unless that is too large for such numbers.
    """
    if not dimensions:
        return tuple(np.zeros(1, dtype=np.int64) for _ in indexes)
    if grid_size(dimensions) < 2**63:
        flats = []
        for index in indexes:
            flat = index[0].astype(np.int64)
            for dimension, part in zip(dimensions[1:], index[1:], strict=True):
                flat *= len(dimension)
                flat += part
            flats.append(flat)
        return tuple(flats)
    lengths = [len(index[0]) for index in indexes]
    every = [np.concatenate(parts) for parts in zip(*indexes, strict=True)]
    _, number = np.unique(np.stack(every), axis=1, return_inverse=True)
    return tuple(np.split(number.astype(np.int64).ravel(), np.cumsum(lengths)[:-1]))
