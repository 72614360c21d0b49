"""The base cube: the finest cells that occur, with measures that any order leaves alone.

In: whole-number measures per finest cell, from a kernel or a data engine, and lists
of the largest contributions. Out: `Cube` (confidential). Every measure is a 64-bit
integer that only ever is added, and lists merge by a total order, so that cubes
made by different engines are equal bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.tables.table import IntArray
from discreet.tabulation.largest import Largest
from discreet.tabulation.layout import Layout

if TYPE_CHECKING:
    from discreet.tabulation.query import Axis

__all__ = ["Cube", "join_cubes"]

_FLAT_LIMIT = 2**62


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Cube:
    """The finest cells that occur (confidential).

    Args:
        axes: What spans the cube.
        codes: Per axis, each cell's position in `values`.
        values: Per axis, the values as texts; null stands for missing.
        measures: One row per measure, one column per cell.
        layout: What the rows of `measures` are.
        largest: Per column of contributions, the lists of the cells.
    """

    axes: tuple[Axis, ...]
    codes: tuple[npt.NDArray[np.int32], ...]
    values: tuple[pl.Series, ...]
    measures: IntArray
    layout: Layout
    largest: Mapping[str, Largest] = field(default_factory=dict)

    @cached_property
    def place(self) -> dict[Axis, int]:
        """Position of each axis."""
        return {axis: at for at, axis in enumerate(self.axes)}

    def __len__(self) -> int:
        return int(self.measures.shape[1])

    def __repr__(self) -> str:
        return f"<Cube (confidential): {len(self.axes)} axes, {len(self):,} cells>"


def join_cubes(cubes: Sequence[Cube]) -> Cube:
    """One cube of the records of several that span the same axes."""
    first = cubes[0]
    if len(cubes) == 1:
        return first
    shares = dict.fromkeys(share for cube in cubes for share in cube.layout.shares)
    layout = first.layout.with_shares(tuple(shares))
    values, codes = [], []
    for at in range(len(first.axes)):
        joint = pl.concat([cube.values[at] for cube in cubes]).unique(maintain_order=True)
        values.append(joint)
        codes.append(np.concatenate([_recoded(cube, at, joint) for cube in cubes]))
    measures = np.concatenate([cube.layout.select(cube.measures, layout) for cube in cubes], axis=1)
    positions, places = _distinct(codes, [max(len(part), 1) for part in values], len(measures[0]))
    joined = np.zeros((len(measures), int(places.max(initial=-1)) + 1), dtype=np.int64)
    order = np.argsort(places, kind="stable")
    if len(order):
        starts = np.flatnonzero(np.diff(places[order], prepend=-1))
        joined = np.add.reduceat(measures[:, order], starts, axis=1)
    return Cube(
        axes=first.axes,
        codes=tuple(positions),
        values=tuple(values),
        measures=joined,
        layout=layout,
        largest={name: _joined(cubes, name, places, joined.shape[1]) for name in first.largest},
    )


def _recoded(cube: Cube, at: int, joint: pl.Series) -> Any:
    """The codes of one axis as positions in the joint values."""
    known = pl.DataFrame({"value": joint, "place": np.arange(len(joint), dtype=np.int32)})
    mine = cube.values[at].to_frame("value")
    found = mine.join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
    return found["place"].to_numpy()[cube.codes[at]]


def _distinct(
    codes: Sequence[Any], sizes: Sequence[int], count: int
) -> tuple[list[npt.NDArray[np.int32]], IntArray]:
    """The cells that occur, and for each part of a cell its place among them."""
    if not codes:
        return [], np.zeros(count, dtype=np.int64)
    if math.prod(sizes) < _FLAT_LIMIT:
        flat = np.zeros(count, dtype=np.int64)
        for size, part in zip(sizes, codes, strict=True):
            flat = flat * size + part
        _, first, places = np.unique(flat, return_index=True, return_inverse=True)
    else:
        _, first, places = np.unique(
            np.vstack(codes), axis=1, return_index=True, return_inverse=True
        )
    return [part[first].astype(np.int32) for part in codes], places.astype(np.int64).ravel()


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
