"""The base cube - the finest cells that occur - and its roll-up to all margins and levels.

In: whole-number measures per finest cell, from a kernel or a data engine, and lists of
the largest contributions. Out: `Cube`, and the measures of every cell that occurs on any
combination of levels (confidential). Measures are 64-bit integers that only ever are
added, and lists merge by a total order, so that cubes made by different engines are
equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import CellIndex, IntArray
from discreet.tabulation.measures import Largest, MeasureLayout

if TYPE_CHECKING:
    from discreet.tables import Dimension
    from discreet.tabulation.query import CubeAxis


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Cube:
    """The finest cells that occur (confidential)."""

    axes: tuple[CubeAxis, ...]  # what spans the cube
    codes: tuple[npt.NDArray[np.int32], ...]  # per axis, each cell's position in `values`
    values: tuple[pl.Series, ...]  # per axis, the values as texts; null stands for missing
    measures: IntArray  # one row per measure, one column per cell
    layout: MeasureLayout  # what the rows of `measures` are
    #: Per column of contributions, the lists of the cells
    largest: Mapping[str, Largest] = field(default_factory=dict)

    @cached_property
    def place(self) -> dict[CubeAxis, int]:
        """Position of each axis."""
        return {axis: at for at, axis in enumerate(self.axes)}

    def __len__(self) -> int:
        return int(self.measures.shape[1])

    def __repr__(self) -> str:
        return f"<Cube (confidential): {len(self.axes)} axes, {len(self):,} cells>"


def join_cubes(cubes: Sequence[Cube], axes: Sequence[CubeAxis] | None = None) -> Cube:
    """One cube of the records of several that span the same axes."""
    first = cubes[0]
    if len(cubes) == 1 and axes is None:
        return first
    shares = dict.fromkeys(share for cube in cubes for share in cube.layout.shares)
    layout = first.layout.with_shares(tuple(shares))
    values, codes = [], []
    spanning = first.axes if axes is None else tuple(axes)
    for at in (first.place[axis] for axis in spanning):
        joint = pl.concat([cube.values[at] for cube in cubes]).unique(maintain_order=True)
        joint = joint if axes is None else joint.sort(nulls_last=True)
        values.append(joint)
        recoded = [places_among(cube.values[at], joint)[cube.codes[at]] for cube in cubes]
        codes.append(np.concatenate(recoded))
    parts = [cube.layout.select(cube.measures, layout) for cube in cubes]
    sizes = [max(len(value), 1) for value in values]
    positions, places = _distinct(codes, sizes, sum(part.shape[1] for part in parts))
    joined = _added(parts, places, distinct=axes is None)
    return Cube(
        axes=spanning,
        codes=tuple(positions),
        values=tuple(values),
        measures=joined,
        layout=layout,
        largest={name: _joined(cubes, name, places, joined.shape[1]) for name in first.largest},
    )


def places_among(values: pl.Series, distinct: pl.Series) -> npt.NDArray[np.int32]:
    """The position of each value among distinct ones; null is a value, too."""
    known = pl.DataFrame({"value": distinct, "at": np.arange(len(distinct), dtype=np.int32)})
    mine = values.to_frame("value")
    frame = mine.join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
    return frame["at"].to_numpy()


def _distinct(
    codes: Sequence[Any], sizes: Sequence[int], count: int
) -> tuple[list[npt.NDArray[np.int32]], IntArray]:
    """The cells that occur, in order, and for each part of a cell its place among them."""
    if not codes:
        return [], np.zeros(count, dtype=np.int64)
    numbers, size = CellIndex(tuple(sizes)).joined(codes)
    if size <= max(_SMALL, _DENSE_SHARE * count):
        occupied = np.zeros(size, dtype=np.bool_)
        occupied[numbers] = True
        places = (np.cumsum(occupied) - 1)[numbers]
        first = np.empty(int(occupied.sum()), dtype=np.int64)
        first[places] = np.arange(count)
    else:
        _, first, places = np.unique(numbers, return_index=True, return_inverse=True)
    return [part[first].astype(np.int32) for part in codes], places.astype(np.int64).ravel()


def _added(parts: Sequence[IntArray], places: IntArray, *, distinct: bool) -> IntArray:
    """The measures of all parts, added up at the places of their cells."""
    joined = np.zeros((len(parts[0]), int(places.max(initial=-1)) + 1), dtype=np.int64)
    if distinct:
        start = 0
        for part in parts:
            joined[:, places[start : start + part.shape[1]]] += part
            start += part.shape[1]
    elif len(places):
        order = np.argsort(places, kind="stable")
        starts = np.flatnonzero(np.diff(places[order], prepend=-1))
        joined = np.add.reduceat(np.concatenate(parts, axis=1)[:, order], starts, axis=1)
    return joined


def _joined(cubes: Sequence[Cube], name: str, places: IntArray, size: int) -> Largest:
    """The lists of one column, merged."""
    model = cubes[0].largest[name]
    joint = Largest.empty(size, model.k, weighted=model.weighted)
    start = 0
    for cube in cubes:
        stop = start + len(cube)
        joint.add_lists(places[start:stop], cube.largest[name])
        start = stop
    return joint


_DENSE_SHARE = 8
_ROOM, _GAPS = 2**25, 64
_SMALL = 2**16


def roll_up(
    trees: Sequence[Dimension],
    positions: Sequence[npt.NDArray[np.int32]],
    measures: IntArray,
    largest: Mapping[str, Largest],
) -> tuple[list[npt.NDArray[np.int32]], IntArray, dict[str, Largest]]:
    """Every cell on every combination of levels, in order."""
    cells = CellIndex.of(trees)
    size, finest = cells.size, cells.numbers(positions, measures.shape[1])
    # Adding up slices takes a fraction of grouping, even where few of the cells occur.
    if size <= _SMALL or (size * len(measures) <= _ROOM and size <= _GAPS * len(finest)):
        flat, measures = _dense(trees, size, finest, measures)
    else:
        flat, measures = _sparse(trees, finest, measures)
    lists = _roll_up_largest(trees, finest, flat, largest) if largest else {}
    return cells.positions(flat), measures, lists


def _dense(
    trees: Sequence[Dimension], size: int, flat: IntArray, measures: IntArray
) -> tuple[IntArray, IntArray]:
    """On the complete grid: add whole slices of children to their parents."""
    steps, before = [], 1
    for tree in trees:
        steps += [((before, len(tree), -1), *step) for step in tree.generations]
        before *= len(tree)
    grid, occupied, sums = np.zeros(size, dtype=np.int64), flat, list[IntArray]()
    for number, measure in enumerate(measures):  # one at a time: their room is used again
        if number:
            grid.fill(0)
        np.add.at(grid, flat, measure)
        for shape, children, parents, starts in steps:
            view = grid.reshape(shape)
            if len(parents) == 1:
                # Faster than its sum.
                view[:, parents[0]] += np.einsum("ijk->ik", view[:, children])
            else:
                view[:, parents] += np.add.reduceat(view[:, children], starts, axis=1)
        if not number:
            occupied = np.flatnonzero(grid != 0)
        sums.append(grid.take(occupied))
    return occupied, np.vstack(sums)


def _sparse(
    trees: Sequence[Dimension], flat: IntArray, measures: IntArray
) -> tuple[IntArray, IntArray]:
    """On the cells that occur: one grouping per level of each variable."""
    names = [f"m{k}" for k in range(len(measures))]
    cells = pl.DataFrame({"flat": flat, **dict(zip(names, measures, strict=True))})
    if not bool(np.all(flat[1:] > flat[:-1])):
        cells = cells.group_by("flat").sum()
    for tree, step in zip(trees, CellIndex.of(trees).strides, strict=True):
        parts = [cells]
        fresh = cells
        position = (pl.col("flat") // step) % len(tree)
        up = pl.Series((tree.parents - np.arange(len(tree))).astype(np.int64))
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


def _roll_up_largest(
    trees: Sequence[Dimension], finest: IntArray, cells: IntArray, largest: Mapping[str, Largest]
) -> dict[str, Largest]:
    """Lists of every cell: those of children merged into their parent's, level by level."""
    places = np.searchsorted(cells, finest)
    lists = {}
    for name, own in largest.items():
        lists[name] = Largest.empty(len(cells), own.k, weighted=own.weighted)
        lists[name].add_lists(places, own)
    filled = np.zeros(len(cells), dtype=np.bool_)
    filled[places] = True
    for tree, step in zip(trees, CellIndex.of(trees).strides, strict=True):
        position = (cells // step) % len(tree)
        level_of = tree.levels[position]
        up = (tree.parents[position].astype(np.int64) - position) * step
        for level in range(int(tree.levels.max()), 0, -1):
            here = np.flatnonzero(filled & (level_of == level))
            parents = np.searchsorted(cells, cells[here] + up[here])
            for part in lists.values():
                part.add_lists(parents, part.of_cells(here))
            filled[parents] = True
    return lists
