"""The probabilities that assessments are made over: of the noise, and of the counts.

In: a perturbation table; a confidential table, a list of counts, or a mapping. Out: exact
numbers of keys per row and noise, SECRET; counts and their weights, checked, CONFIDENTIAL.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import FloatArray, IntArray
from discreet.confidential import SecretValues
from discreet.errors import PerturbationError, Problem
from discreet.protection.noise import PerturbationTable
from discreet.tables import Table


@dataclass(frozen=True, repr=False, eq=False)
class NoiseChances(SecretValues):
    """Rows 0 … n_max × noise values: how many of the `scale` keys carry which noise."""

    noise: IntArray  # the noise values, ascending, without gaps
    units: IntArray  # number of keys per row and noise value; each row sums to the scale
    scale: int  # number of keys in all
    beyond: tuple[int, int]  # first row and length of the block that larger counts use

    @classmethod
    def of(cls, ptable: PerturbationTable) -> NoiseChances:
        """The chances of a table."""
        content = ptable.content
        noise = np.arange(int(content.noise.min()), int(content.noise.max()) + 1, dtype=np.int64)
        units = np.zeros((content.n_max + 1, len(noise)), dtype=np.int64)
        np.add.at(units, (content.row_of, content.noise - noise[0]), content.widths)
        beyond = (content.n_max, 1) if content.beyond == "last" else content.beyond
        return cls(noise, units, content.scale, beyond)

    @property
    def n_max(self) -> int:
        """The last row."""
        return len(self.units) - 1

    @cached_property
    def share(self) -> FloatArray:
        """The probabilities."""
        return np.asarray(self.units / self.scale, dtype=np.float64)

    @cached_property
    def last_alike(self) -> int | None:
        """The first row from which on all counts have the same noise; None if there is none.

        Tables that repeat their last row many times, or a block of equal rows, are no
        larger than what is different in them.
        """
        start, _ = self.beyond
        if np.any(self.units[start:] != self.units[-1]):
            return None
        other = np.flatnonzero((self.units != self.units[-1]).any(axis=1))
        return int(other[-1]) + 1 if other.size else 0

    def rows_of(self, count: IntArray) -> IntArray:
        """The row that each count uses."""
        start, length = self.beyond
        return np.where(count <= self.n_max, count, start + (count - start) % length)

    def units_where(self, wanted: npt.NDArray[np.bool_]) -> IntArray:
        """Per row, the keys of the noise values that are `wanted`."""
        return np.asarray(self.units[:, wanted].sum(axis=1), dtype=np.int64)


def exact_sum(values: npt.NDArray[np.integer]) -> int:
    """The sum of whole numbers as a Python number, which cannot overflow."""
    return sum(values.tolist())


def distribution(counts: Any) -> tuple[IntArray, FloatArray]:
    """Different counts, ascending, and the number of cells (or weight) of each.

    >>> distribution([3, 1, 3])
    (array([1, 3]), array([1., 2.]))
    >>> distribution({2: 0.5, 1: 0.5})
    (array([1, 2]), array([0.5, 0.5]))
    """
    if isinstance(counts, Table):
        values, cells = np.unique(counts.count, return_counts=True)
        weight = cells.astype(np.float64)
    elif isinstance(counts, Mapping):

        def order(pair: tuple[Any, Any]) -> float:
            return float(pair[0]) if isinstance(pair[0], int | np.integer) else math.inf

        pairs = sorted(counts.items(), key=order)
        values, weights = _whole([key for key, _ in pairs]), [cells for _, cells in pairs]
        if not all(isinstance(w, int | float | np.number) and 0 <= w < math.inf for w in weights):
            raise _wrong("the number of cells of a count must be at least 0")
        weight = np.array(weights, dtype=np.float64)
        values, weight = values[weight > 0], weight[weight > 0]
    else:
        values, cells = np.unique(_whole(counts), return_counts=True)
        weight = cells.astype(np.float64)
    if not values.size:
        raise _wrong("no counts given")
    if values[0] < 0:
        raise _wrong("counts must not be negative")
    return values.astype(np.int64), weight


def _whole(values: Any) -> IntArray:
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    try:
        numbers = np.asarray(values)
    except ValueError:
        raise _wrong("not counts") from None
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise _wrong("give counts as a list of whole numbers")
    return numbers.astype(np.int64)


def _wrong(message: str) -> PerturbationError:
    hint = "give a Table, a list of counts, or a mapping from count to number of cells"
    problem = Problem(message, "counts", hint)
    return PerturbationError(message, code="counts", where="counts", hint=hint, problems=[problem])
