"""The probabilities in a perturbation table, as arrays.

In: a perturbation table. Out: exact numbers of keys per row and noise. SECRET.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from discreet.perturbation import PerturbationTable

__all__ = ["Chances", "FloatArray", "IntArray", "exact_sum"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class Chances:
    """Rows 0 … n_max × noise values: how many of the `scale` keys carry which noise.

    Args:
        noise: The noise values, ascending, without gaps.
        units: Number of keys per row and noise value; each row sums to the scale.
        scale: Number of keys in all.
        beyond: First row and length of the block that larger counts use.
    """

    noise: IntArray
    units: IntArray
    scale: int
    beyond: tuple[int, int]

    @classmethod
    def of(cls, ptable: PerturbationTable) -> Chances:
        """The chances of a table."""
        content = ptable.content
        noise = np.arange(int(content.noise.min()), int(content.noise.max()) + 1, dtype=np.int64)
        units = np.zeros((content.n_max + 1, len(noise)), dtype=np.int64)
        np.add.at(units, (content.row_of, content.noise - noise[0]), content.widths)
        last = content.n_max
        return cls(
            noise, units, content.scale, (last, 1) if content.beyond == "last" else content.beyond
        )

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

    def __repr__(self) -> str:
        return "<Chances: secret>"


def exact_sum(values: npt.NDArray[np.integer]) -> int:
    """The sum of whole numbers as a Python number, which cannot overflow."""
    return sum(values.tolist())
