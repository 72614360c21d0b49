"""Reconstruction: the records of a small area, from all figures about it.

In: published cells, a code, and what is known of the noise. Out: `Reconstruction`: for each
combination of the other variables between which numbers its records lie in every solution, and
the solution nearest to the figures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import CellIndex, FloatArray, IntArray, starts
from discreet.assessment.attacks.bounds import NoiseRange
from discreet.disclosure import PublishedCells, make_whole
from discreet.errors import PerturbationError
from discreet.solver import column_values, is_optimal, loaded_solver

#: More combinations are not searched; none has more records.
_MOST, _LARGEST = 5_000, float(2**31)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Reconstruction:
    """Reconstructed records of an area. CONFIDENTIAL if they are real."""

    variables: tuple[str, ...]  # the variables of the combinations
    codes: tuple[tuple[str, ...], ...]  # per variable, the codes of its finest cut
    low: IntArray  # per combination, the smallest number of records in any solution
    high: IntArray  # the largest
    nearest: IntArray  # the numbers that fit the figures best

    @property
    def certain(self) -> int:
        """Number of records that are in every solution."""
        return int(self.low.sum())

    def right(self, true: IntArray) -> float:
        """The share of records that the nearest solution has right. CONFIDENTIAL."""
        return float(np.minimum(self.nearest, true).sum() / max(int(true.sum()), 1))

    def __repr__(self) -> str:
        return f"<Reconstruction of {', '.join(self.variables)}>"


def reconstruct(
    system: PublishedCells, variable: str, code: str, known: NoiseRange, *, bounds: bool = True
) -> Reconstruction:
    """Reconstruct the records with a code, such as those of a small area.

    Args:
        system: The publication.
        variable: The variable of the area.
        code: Its code.
        known: What is known of the noise.
        bounds: Whether to work out what is in every solution, too: two programs for each
            combination.
    """
    homes = [
        (number, cut)
        for number, axis in enumerate(system.axes)
        if axis.variable == variable and code in axis.tree.codes
        for cut in range(1, len(axis.cuts))
        if code in axis.codes(cut)
    ]
    keys = [key for key in system.layers if any(home in key for home in homes)]
    others = sorted({axis for key in keys for axis, _ in key} - {axis for axis, _ in homes})
    grid = CellIndex(tuple(len(system.axes[axis].cuts[-1]) for axis in others))
    # Each figure about the code: the combinations it sums, its bounds, and what it shows.
    figures: list[tuple[IntArray, int, int, int]] = []
    every = grid.every() if grid.size <= _MOST else []
    for key in keys if grid.size <= _MOST else ():
        layer = replace(system.layers[key])
        places = [
            np.full(grid.size, system.axes[axis].codes(cut).index(code))
            if (axis, cut) in homes
            else system.axes[axis].up(-1, cut)[every[others.index(axis)]]
            for axis, cut in key
        ]
        ids, back = np.unique(layer.grid.numbers(places, grid.size), return_inverse=True)
        layer.extend(ids)
        low, high = known.of(layer)
        sums = np.split(np.argsort(back, kind="stable"), np.cumsum(np.bincount(back))[:-1])
        figures += [
            (cells, int(low[at]), int(high[at]), int(layer.value[at]))
            for cells, at in zip(sums, layer.at(ids).tolist(), strict=True)
            if layer.shown[at]
        ]
    if grid.size > _MOST or not figures:
        message = f"too many combinations: {grid.size:,}"
        if grid.size <= _MOST:
            message = "no published value concerns this code"
        raise PerturbationError(
            f"the records cannot be reconstructed: {message}",
            code="attack",
            where=f"{variable}={code}",
        )
    cells = [own for own, *_ in figures]
    low, high, shown = np.array([own for _, *own in figures], dtype=np.float64).T
    nearest = _nearest(grid.size, cells, low, high, shown)
    ends = np.zeros((2, grid.size), dtype=np.int64)
    if bounds:
        ends = _ends(grid.size, cells, low, high)
    return Reconstruction(
        variables=tuple(system.axes[axis].variable for axis in others),
        codes=tuple(tuple(system.axes[axis].codes()) for axis in others),
        low=ends[0],
        high=ends[1],
        nearest=nearest,
    )


def _nearest(
    number: int, cells: list[IntArray], low: FloatArray, high: FloatArray, shown: FloatArray
) -> IntArray:
    """Whole numbers with the least sum of distances between figures and counts."""
    # Of each figure the sum, and the sum less and plus the distance to what it shows.
    far = np.arange(number, number + len(cells)).reshape(-1, 1)
    entries = [(own, own, at, own, at) for own, at in zip(cells, far, strict=True)]
    ones = [np.ones(len(own)) for own in cells]
    coefs = [np.concatenate([one, one, [-1.0], one, [1.0]]) for one in ones]
    none = np.full(len(cells), _LARGEST)
    solver = loaded_solver(
        (
            starts(np.array([(len(own), len(own) + 1, len(own) + 1) for own in cells]).ravel()),
            np.concatenate([np.concatenate(own) for own in entries]),
            np.concatenate(coefs),
        ),
        np.zeros(number + len(cells)),
        np.full(number + len(cells), _LARGEST),
        cost=np.repeat([0.0, 1.0], [number, len(cells)]),
        rows=(np.stack([low, -none, shown], 1).ravel(), np.stack([high, shown, none], 1).ravel()),
        mip_rel_gap=0.0,
        mip_max_nodes=2_000,
    )
    solver.setOptionValue("presolve", "choose")
    make_whole(solver, np.arange(number))
    return np.rint(_solved(solver)[:number]).astype(np.int64)


def _ends(number: int, cells: list[IntArray], low: FloatArray, high: FloatArray) -> IntArray:
    """The smallest and largest number of each combination, with fractions: never too narrow."""
    flat = np.concatenate(cells)
    matrix = starts(list(map(len, cells))), flat, np.ones(len(flat))
    most = np.full(number, _LARGEST)
    solver = loaded_solver(matrix, np.zeros(number), most, rows=(low, high))
    ends = np.zeros((2, number), dtype=np.int64)
    for side, sense in enumerate((1.0, -1.0)):
        for at in range(number):
            solver.changeColCost(at, sense)
            bound = float(_solved(solver)[at])
            ends[side, at] = math.floor(bound + 1e-6) if side else math.ceil(bound - 1e-6)
            solver.changeColCost(at, 0.0)
    return ends


def _solved(solver: Any) -> FloatArray:
    solver.run()
    if not is_optimal(solver):
        raise PerturbationError(
            "no record counts fit the published values: the noise is larger than assumed, or "
            "the values come from different records",
            code="attack",
            where="reconstruct",
        )
    return column_values(solver)
