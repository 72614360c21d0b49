"""The noise of sums, cell by cell: the steps of the cell-key method for magnitudes.

In: true cell values, their contributions and keys, and the secret noise. Out: each step
and the perturbed values. CONFIDENTIAL throughout. Every cell is computed on its own,
with the same operations in the same order, so the result does not depend on where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.keygrid import KeyGrid
from discreet.perturbation.lookup import look_up
from discreet.perturbation.magnitude_files import Kind, Part
from discreet.perturbation.magnitude_keys import noise_keys
from discreet.perturbation.magnitude_noise import MagnitudeNoise
from discreet.tables import Contributions

__all__ = [
    "MagnitudeCells",
    "MagnitudeStep",
    "between",
    "cells_of",
    "kinds_of",
    "perturbed",
    "units_of_noise",
]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MagnitudeCells:
    """What the noise of each cell depends on. CONFIDENTIAL.

    Args:
        value: True cell values.
        contributions: What the noise is taken from, cells × number; NaN where a cell
            has fewer.
        keys: One key per contribution.
        odd: Cells with an odd number of records.
        sensitive: Cells marked for more protection.
    """

    value: FloatArray
    contributions: FloatArray
    keys: Sequence[IntArray]
    odd: BoolArray
    sensitive: BoolArray


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class MagnitudeStep:
    """One contribution's noise in each cell. CONFIDENTIAL.

    Args:
        ratio: Cell value / unit of noise: where the perturbation table is looked at.
        table_noise: What it says there, interpolated between its rows.
        noise: What is added to the cell.
    """

    ratio: FloatArray
    table_noise: FloatArray
    noise: FloatArray


def cells_of(
    contributions: Contributions, noise: MagnitudeNoise, grid: KeyGrid, sensitive: BoolArray
) -> MagnitudeCells:
    """Take from a value column what its noise depends on."""
    made = contributions
    key = made.key if noise.zeros_in_key else made.nonzero_key
    assert key is not None  # tables with a grid have both
    return MagnitudeCells(
        value=made.total,
        contributions=_taken(made, noise),
        keys=noise_keys(key, grid, noise.top, same_key=noise.same_key),
        odd=made.count % 2 == 1,
        sensitive=sensitive,
    )


def _taken(made: Contributions, noise: MagnitudeNoise) -> FloatArray:
    """What a unit of noise is a share of, cells × number."""
    if noise.of == "top":
        top = made.top[:, : noise.top]
        return top if made.top_weight is None else top * made.top_weight[:, : noise.top]
    if noise.of == "sum":
        taken = made.total
    elif noise.of == "mean":
        size = made.count.astype(np.float64) if made.weight is None else made.weight
        taken = np.zeros(len(made), dtype=np.float64)
        np.divide(made.total, size, out=taken, where=size != 0)
    else:
        # Values that are all equal have no range; without noise they would be shown.
        taken = np.where(made.high == made.low, made.high, made.high - made.low)
    return taken[:, np.newaxis]


def units_of_noise(cells: MagnitudeCells, noise: MagnitudeNoise, epsilon: Any = None) -> FloatArray:
    """What one unit of table noise is worth, cells × contributions; at most the cell value.

    Args:
        cells: The cells.
        noise: The noise.
        epsilon: Weights to use instead of those of the noise, one each.
    """
    weights = np.asarray(noise.epsilon if epsilon is None else epsilon, dtype=np.float64)
    size = np.where(np.isnan(cells.contributions), 0.0, np.abs(cells.contributions))
    units = size * noise.strength.multipliers(size) * weights
    small = _small(cells, noise)
    if small.any():  # a single noise of fixed variance
        units[small] = 0.0
        units[small, 0] = 1.0
    return np.asarray(np.minimum(units, np.abs(cells.value)[:, np.newaxis]))


def _small(cells: MagnitudeCells, noise: MagnitudeNoise) -> BoolArray:
    return np.asarray(np.abs(cells.contributions[:, 0]) < noise.separation)


def kinds_of(cells: MagnitudeCells, noise: MagnitudeNoise) -> list[tuple[Kind, BoolArray]]:
    """Which cells use which part of the perturbation table."""
    small = _small(cells, noise)
    ordinary: list[tuple[Kind, BoolArray]] = [("all", ~small)]
    if noise.parity:
        ordinary = [("even", ~small & ~cells.odd), ("odd", ~small & cells.odd)]
    return [*ordinary, ("small", small)] if noise.separation else ordinary


def perturbed(
    cells: MagnitudeCells, noise: MagnitudeNoise, grid: KeyGrid, units: FloatArray | None = None
) -> tuple[FloatArray, list[MagnitudeStep]]:
    """Perturbed cell values, and how they came about.

    Args:
        cells: The cells.
        noise: The noise.
        grid: Grid of the keys.
        units: Units of noise to use, as `units_of_noise` makes them.
    """
    if units is None:
        units = units_of_noise(cells, noise)
    groups = [(noise.part(kind), np.flatnonzero(which)) for kind, which in kinds_of(cells, noise)]
    value, steps = cells.value.astype(np.float64), []
    for number, key in enumerate(cells.keys):
        unit, size = units[:, number], np.abs(value)
        ratio = np.zeros(len(value), dtype=np.float64)
        np.divide(size, unit, out=ratio, where=unit > 0)
        found = np.zeros(len(value), dtype=np.float64)
        for part, which in groups:
            found[which] = _table_noise(part, ratio[which], key[which], grid)
        away = np.where(found < 0, found - noise.mu_c, found + noise.mu_c)
        strong = np.where(cells.sensitive & (unit > 0) & (size > 0), away, found)
        # Noise moves a value towards zero or away from it, and never beyond zero.
        added = np.sign(value) * np.maximum(unit * strong, -size)
        value = value + added
        steps.append(MagnitudeStep(ratio=ratio, table_noise=found, noise=added))
    return value, steps


def between(part: Part, ratio: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The rows below and above each ratio, and how far it lies on the way between them."""
    classes = np.asarray(part.classes, dtype=np.int64)
    below = np.searchsorted(classes, ratio, side="right") - 1
    above = np.minimum(below + 1, len(classes) - 1)
    width = np.maximum(classes[above] - classes[below], 1)
    way = np.where(above > below, (ratio - classes[below]) / width, 0.0)
    return below.astype(np.int64), above.astype(np.int64), way


def _table_noise(part: Part, ratio: FloatArray, key: IntArray, grid: KeyGrid) -> FloatArray:
    below, above, way = between(part, ratio)
    lower = look_up(part.content, below, key, grid) / part.step
    inner = np.flatnonzero(way > 0)
    if not inner.size:
        return lower
    upper = look_up(part.content, above[inner], key[inner], grid) / part.step
    share = way[inner]
    lower[inner] = (1 - share) * lower[inner] + share * upper
    return lower
