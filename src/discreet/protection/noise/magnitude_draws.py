"""The noise that sums and means could get, key by key: for the errors of key figures.

In: the perturbed sums of a value column, and their noise. Out: for any place on the key grid,
the noise that each cell would have with it; and what follows for the deviation of figures
that carry the noise of a sum and that of a count. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import FloatArray, IntArray, quotient
from discreet.keygrid import KeyGrid
from discreet.protection.noise.counts import ProtectedCounts, drawn_counts
from discreet.protection.noise.intervals import count_deviations
from discreet.protection.noise.magnitude_cells import (
    MagnitudeCells,
    kinds_of,
    table_noise,
    units_of_noise,
)
from discreet.protection.noise.magnitude_noise import MagnitudeNoise
from discreet.protection.noise.table import PerturbationTable
from discreet.tables import CELL_KEY, Draw, correlation


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SumDraws:
    """What the noise of a value column's sums and counts could be. CONFIDENTIAL."""

    column: str  # the value column
    noise: MagnitudeNoise
    grid: KeyGrid  # the key grid
    cells: MagnitudeCells  # the table's own cells
    own: IntArray  # where those are among all cells
    total: FloatArray  # True sums of all cells
    number: FloatArray  # their true (weighted) number of records with a value
    counts: ProtectedCounts | None  # the protected counts of these; None if they are not known
    ptable: PerturbationTable | None  # the perturbation table of these

    def of_sums(self, factor: FloatArray) -> dict[str, Draw]:
        """The noise of sums, times a factor, by the names of its keys."""
        units, draws = units_of_noise(self.cells, self.noise), {}
        for number in range(units.shape[1]):
            name = self.noise.purpose(self.column, number + 1)
            if self.noise.keys == "shared":
                step = number + (0 if self.noise.same_key else 1)
                name = f"{CELL_KEY}, step {step}" if step else CELL_KEY
            draws[name] = self._contribution(units[:, number], number, factor)
        return draws

    def first(self, at: IntArray, factor: FloatArray) -> Draw:
        """The noise that the first contribution brings to some of the table's cells."""
        cells = replace(
            self.cells,
            value=self.cells.value[at],
            contributions=self.cells.contributions[at],
            keys=(),
            odd=self.cells.odd[at],
            sensitive=self.cells.sensitive[at],
        )
        chosen = replace(self, cells=cells, own=np.arange(len(at)), total=cells.value)
        return chosen._contribution(units_of_noise(cells, self.noise)[:, 0], 0, factor)

    def _contribution(self, unit: FloatArray, number: int, factor: FloatArray) -> Draw:
        cells, noise = self.cells, self.noise
        ratio = quotient(np.abs(cells.value), unit)
        groups = [
            (noise.part(kind), np.flatnonzero(which)) for kind, which in kinds_of(cells, noise)
        ]
        more = np.where(cells.sensitive & (unit > 0), noise.more(number), 0.0)

        def drawn(at: float) -> FloatArray:
            keys = np.full(len(unit), int(at * self.grid.size), dtype=np.int64)
            value = np.zeros(len(unit), dtype=np.float64)
            for part, which in groups:
                value[which] = table_noise(part, ratio[which], keys[which], self.grid)
            value = np.where(value < 0, value - more, value + more)
            every = np.zeros(len(self.total), dtype=np.float64)
            every[self.own] = np.sign(cells.value) * unit * value
            return every * factor

        return drawn

    def counted(self) -> FloatArray:
        """The standard deviations of the counts' noise."""
        assert self.counts is not None
        assert self.ptable is not None
        cells = self.counts.cells
        spread = count_deviations(self.ptable.content, self.counts.number) * cells.mean_weight()
        return np.asarray(np.where(cells.official | (cells.count == 0), 0.0, spread))

    def of_counts(self, factor: FloatArray) -> dict[str, Draw]:
        """The noise of counts of records with a value, times a factor."""
        counts, ptable = self.counts, self.ptable
        assert counts is not None
        assert ptable is not None
        weight = np.where(self.counted() > 0, counts.cells.mean_weight(), 0.0)

        def drawn(at: float) -> FloatArray:
            return drawn_counts(ptable, counts.number, at, self.grid) * weight * factor

        # Keys without the records of value zero may be others.
        name = CELL_KEY if self.noise.zeros_in_key else f"{CELL_KEY} of the values of {self.column}"
        return {name: drawn}

    def with_counts(self, spread: FloatArray, sign: int) -> FloatArray:
        """The deviation of sums that carry the noise of the count, too.

        The relative error of the count adds to that of the sum as the delta method has it.
        Both noises are independent, unless they are drawn by one key of the same records.
        """
        follows = self.total * quotient(self.counted(), self.number)
        square = spread * spread + follows * follows
        if self.noise.same_key and self.noise.zeros_in_key:
            one = np.ones(len(self.total), dtype=np.float64)
            at = np.arange(len(self.total), dtype=np.int64)
            together = correlation(self.of_sums(one), self.of_counts(one), (at, at))
            square += sign * 2.0 * together * spread * follows
        return np.asarray(np.sqrt(np.maximum(square, 0.0)), dtype=np.float64)


def added(one: dict[str, Draw], other: dict[str, Draw]) -> dict[str, Draw]:
    """The noise of a figure that carries both."""

    def both(name: str) -> Callable[[float], FloatArray]:
        draws = [draws[name] for draws in (one, other) if name in draws]
        return draws[0] if len(draws) == 1 else lambda at: draws[0](at) + draws[1](at)

    return {name: both(name) for name in {**one, **other}}
