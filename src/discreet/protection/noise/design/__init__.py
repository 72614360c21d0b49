"""Designing perturbation tables: the noise of largest entropy under the constraints stated.

In: largest noise, variance, forbidden figures, stay probabilities. Out: a
`PerturbationTable`, or the rows with their residuals. SECRET.
"""

from collections.abc import Collection

from discreet.protection.noise.design.discretisation import RoundingError, discretised
from discreet.protection.noise.design.permutation import permuted
from discreet.protection.noise.design.tables import (
    PRESETS,
    Design,
    DesignedRow,
    design_magnitude_perturbation,
    design_perturbation,
    design_rows,
    preset,
)
from discreet.protection.noise.table import PerturbationTable

__all__ = [
    "PRESETS",
    "Design",
    "DesignedRow",
    "RoundingError",
    "design_magnitude_perturbation",
    "design_perturbation",
    "design_rows",
    "discretised",
    "permuted",
    "preset",
    "with_stay",
]


def with_stay(
    ptable: PerturbationTable, p0: float, rows: Collection[int] | None = None
) -> PerturbationTable:
    """Mix a table with "unchanged", as `PerturbationTable.with_stay` does.

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> with_stay(ptable, 0.5).transition_matrix()[1]
    array([0.25, 0.5 , 0.25])
    """
    return ptable.with_stay(p0, rows)
