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

from discreet.arrays import CellIndex, IntArray
from discreet.assessment.attacks.bounds import NoiseRange
from discreet.disclosure import LayerKey, PublishedCells
from discreet.errors import PerturbationError
from discreet.solver import column_values, is_optimal, quiet_solver

#: More combinations are not searched.
_MOST = 5_000


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
    place, others, equations = _figures(system, variable, code, known)
    sizes = [len(system.axes[axis].cuts[-1]) for axis in others]
    number = math.prod(sizes)
    if not equations or number > _MOST:
        message = (
            f"too many combinations: {number:,}"
            if equations
            else "no published value concerns this code"
        )
        raise PerturbationError(
            f"the records cannot be reconstructed: {message}",
            code="attack",
            where=f"{place}={code}",
        )
    solver = _program(number, equations)
    nearest = np.rint(_solved(solver, number)).astype(np.int64)
    low, high = np.zeros(number, dtype=np.int64), np.zeros(number, dtype=np.int64)
    if bounds:
        low, high = _ends(number, equations)
    return Reconstruction(
        variables=tuple(system.axes[axis].variable for axis in others),
        codes=tuple(tuple(system.axes[axis].codes()) for axis in others),
        low=low,
        high=high,
        nearest=nearest,
    )


_Equation = tuple[IntArray, int, int, int]


def _figures(
    system: PublishedCells, variable: str, code: str, known: NoiseRange
) -> tuple[str, list[int], list[_Equation]]:
    """Each figure about the code: the combinations it sums, its bounds, and what it shows."""
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
    if grid.size > _MOST:
        return variable, others, [(np.zeros(0, np.int64), 0, 0, 0)]
    every = grid.every()
    equations: list[_Equation] = []
    for key in keys:
        equations += _of_layer(system, key, homes, code, others, every, known)
    return variable, others, equations


def _of_layer(
    system: PublishedCells, key: LayerKey, homes: list[tuple[int, int]], code: str,
    others: list[int], every: list[Any], known: NoiseRange,
) -> list[_Equation]:  # fmt: skip
    layer, size = replace(system.layers[key]), len(every[0]) if every else 1
    places = [
        np.full(size, system.axes[axis].codes(cut).index(code))
        if (axis, cut) in homes
        else system.axes[axis].up(-1, cut)[every[others.index(axis)]]
        for axis, cut in key
    ]
    ids, back = np.unique(layer.grid.numbers(places, size), return_inverse=True)
    layer.extend(ids)
    low, high = known.of(layer)
    sums = np.split(np.argsort(back, kind="stable"), np.cumsum(np.bincount(back))[:-1])
    return [
        (cells, int(low[at]), int(high[at]), int(layer.value[at]))
        for cells, at in zip(sums, layer.at(ids).tolist(), strict=True)
        if layer.shown[at]
    ]


def _program(number: int, equations: list[_Equation]) -> Any:
    """The whole-number program: least sum of distances between figures and counts."""
    solver = quiet_solver(mip_rel_gap=0.0, mip_max_nodes=2_000)
    _columns(solver, number, whole=True)
    for at, (cells, low, high, shown) in enumerate(equations):
        solver.addCol(1.0, 0.0, float(2**31), 0, np.zeros(0, np.int32), np.zeros(0))
        own = np.append(cells, number + at).astype(np.int32)
        ones = np.ones(len(cells))
        solver.addRow(float(low), float(high), len(cells), cells.astype(np.int32), ones)
        solver.addRow(-float(2**31), float(shown), len(own), own, np.append(ones, -1.0))
        solver.addRow(float(shown), float(2**31), len(own), own, np.append(ones, 1.0))
    return solver


def _columns(solver: Any, number: int, *, whole: bool) -> None:
    import highspy

    solver.addVars(number, np.zeros(number), np.full(number, float(2**31)))
    if whole:
        kinds = np.full(number, highspy.HighsVarType.kInteger)
        solver.changeColsIntegrality(number, np.arange(number, dtype=np.int32), kinds)


def _solved(solver: Any, number: int) -> Any:
    solver.run()
    if not is_optimal(solver):
        raise PerturbationError(
            "no record counts fit the published values: the noise is larger than assumed, or "
            "the values come from different records",
            code="attack",
            where="reconstruct",
        )
    return column_values(solver)[:number]


def _ends(number: int, equations: list[_Equation]) -> tuple[IntArray, IntArray]:
    """The smallest and largest number of each combination, with fractions: never too narrow."""
    import highspy

    solver = quiet_solver()
    _columns(solver, number, whole=False)
    for cells, low, high, _ in equations:
        solver.addRow(
            float(low), float(high), len(cells), cells.astype(np.int32), np.ones(len(cells))
        )
    ends = np.zeros((2, number), dtype=np.int64)
    for side, sense in enumerate((highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize)):
        solver.changeObjectiveSense(sense)
        for at in range(number):
            solver.changeColCost(at, 1.0)
            bound = float(_solved(solver, number)[at])
            ends[side, at] = math.ceil(bound - 1e-6) if side == 0 else math.floor(bound + 1e-6)
            solver.changeColCost(at, 0.0)
    return ends[0], ends[1]
