"""All margins and hierarchy levels from the base cube, level by level.

In: measures of the finest cells. Out: measures of every cell that occurs on any
combination of levels (confidential). Measures are whole numbers and only added; lists
of the largest contributions are merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.errors import TableError
from discreet.tables.table import IntArray
from discreet.tabulation.largest import Largest

__all__ = ["Tree", "merge_cells", "roll_up"]

_FLAT_LIMIT = 2**62
_DENSE_LIMIT = 2**23
_DENSE_SHARE = 8
_SMALL = 2**16


@dataclass(frozen=True)
class Tree:
    """The code tree of one spanning variable, by position.

    Args:
        parents: Position of each code's parent, -1 for the total.
        levels: Level of each code.
    """

    parents: npt.NDArray[np.int32]
    levels: npt.NDArray[np.int32]

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.parents)


def merge_cells(flat: IntArray, measures: IntArray) -> tuple[IntArray, IntArray]:
    """Add up the measures of cells with the same number; sorted by number."""
    if flat.size and bool(np.all(flat[1:] > flat[:-1])):
        return flat, measures
    names = [f"m{k}" for k in range(len(measures))]
    frame = pl.DataFrame({"flat": flat, **dict(zip(names, measures, strict=True))})
    grouped = frame.group_by("flat").sum().sort("flat")
    merged = np.vstack([grouped[name].to_numpy() for name in names])
    return grouped["flat"].to_numpy(), merged


def roll_up(
    trees: Sequence[Tree],
    positions: Sequence[npt.NDArray[np.int32]],
    measures: IntArray,
    largest: Mapping[str, Largest],
) -> tuple[list[npt.NDArray[np.int32]], IntArray, dict[str, Largest]]:
    """Every cell on every combination of levels.

    Args:
        trees: One per spanning variable.
        positions: Per spanning variable, the position of each finest cell's leaf.
        measures: One row per measure, one column per finest cell.
        largest: Lists of the largest contributions of the finest cells.
    """
    size = 1
    for tree in trees:
        size *= tree.size
    if size >= _FLAT_LIMIT:
        raise TableError(
            "the grid of this table has more than 2^62 cells",
            code="table-size",
            hint="use fewer spanning variables",
        )
    flat = np.zeros(measures.shape[1], dtype=np.int64)
    for tree, part in zip(trees, positions, strict=True):
        flat = flat * tree.size + part
    finest = flat
    flat, measures = merge_cells(flat, measures)
    dense = size <= _SMALL or (size <= _DENSE_LIMIT and size <= _DENSE_SHARE * len(flat))
    if dense:
        flat, measures = _dense(trees, size, flat, measures)
    else:
        flat, measures = _sparse(trees, flat, measures)
    lists = _roll_up_largest(trees, finest, flat, largest) if largest else {}
    parts: list[Any] = []
    for tree in reversed(trees):
        flat, part = np.divmod(flat, tree.size)
        parts.append(part.astype(np.int32))
    return parts[::-1], measures, lists


def _dense(
    trees: Sequence[Tree], size: int, flat: IntArray, measures: IntArray
) -> tuple[IntArray, IntArray]:
    """On the complete grid: add whole slices of children to their parents."""
    rows = len(measures)
    grid = np.zeros((rows, size), dtype=np.int64)
    grid[:, flat] = measures
    after = size
    before = 1
    for tree in trees:
        after //= tree.size
        view = grid.reshape(rows * before, tree.size, after)
        for level in range(int(tree.levels.max()), 0, -1):
            nodes = np.flatnonzero(tree.levels == level)
            nodes = nodes[np.argsort(tree.parents[nodes], kind="stable")]
            parents, starts = np.unique(tree.parents[nodes], return_index=True)
            view[:, parents] += np.add.reduceat(view[:, nodes], starts, axis=1)
        before *= tree.size
    occupied = np.flatnonzero(grid[0])
    return occupied, grid[:, occupied]


def _sparse(trees: Sequence[Tree], flat: IntArray, measures: IntArray) -> tuple[IntArray, IntArray]:
    """On the cells that occur: one grouping per level of each variable."""
    names = [f"m{k}" for k in range(len(measures))]
    cells = pl.DataFrame({"flat": flat, **dict(zip(names, measures, strict=True))})
    for tree, step in zip(trees, _strides(trees), strict=True):
        parts = [cells]
        fresh = cells
        position = (pl.col("flat") // step) % tree.size
        up = pl.Series((tree.parents - np.arange(tree.size)).astype(np.int64))
        levels = pl.Series(tree.levels)
        for level in range(int(tree.levels.max()), 0, -1):
            pool = cells if fresh is cells else pl.concat([cells, fresh])
            at = pool.select(position).to_series()
            here = pool.filter(levels.gather(at) == level)
            shift = up.gather(here.select(position).to_series()) * step
            fresh = here.with_columns(flat=here["flat"] + shift).group_by("flat").sum()
            parts.append(fresh)
        cells = pl.concat(parts)
    cells = cells.sort("flat")
    return cells["flat"].to_numpy(), np.vstack([cells[name].to_numpy() for name in names])


def _strides(trees: Sequence[Tree]) -> list[int]:
    """How far apart the numbers of neighbours on each variable are."""
    strides, step = [], 1
    for tree in reversed(trees):
        strides.append(step)
        step *= tree.size
    return strides[::-1]


def _roll_up_largest(
    trees: Sequence[Tree], finest: IntArray, cells: IntArray, largest: Mapping[str, Largest]
) -> dict[str, Largest]:
    """Lists of every cell: those of children merged into their parent's, level by level.

    Args:
        trees: One per spanning variable.
        finest: Numbers of the finest cells; a number may occur more than once.
        cells: Numbers of all cells, sorted.
        largest: Lists of the finest cells.
    """
    places = np.searchsorted(cells, finest)
    lists = {}
    for name, given in largest.items():
        lists[name] = Largest.empty(len(cells), given.k, weighted=given.weighted)
        lists[name].add_lists(places, given)
    made = np.zeros(len(cells), dtype=np.bool_)
    made[places] = True
    for tree, step in zip(trees, _strides(trees), strict=True):
        position = (cells // step) % tree.size
        level_of = tree.levels[position]
        up = (tree.parents[position].astype(np.int64) - position) * step
        for level in range(int(tree.levels.max()), 0, -1):
            here = np.flatnonzero(made & (level_of == level))
            parents = np.searchsorted(cells, cells[here] + up[here])
            for part in lists.values():
                part.add_lists(parents, part.of_cells(here))
            made[parents] = True
    return lists
