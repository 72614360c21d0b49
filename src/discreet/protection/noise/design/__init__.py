"""Designing perturbation tables: the noise of largest entropy under the constraints stated.

In: largest noise, variance, forbidden figures, stay probabilities. Out: a
`PerturbationTable`, or the rows with their residuals. SECRET.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from discreet.faces import lazy_face
from discreet.protection.noise.table import PerturbationTable

if TYPE_CHECKING:
    from .discretisation import discretised as discretised
    from .permutation import permuted as permuted
    from .tables import PRESETS as PRESETS
    from .tables import Design as Design
    from .tables import DesignedRow as DesignedRow
    from .tables import design_perturbation as design_perturbation
    from .tables import design_rows as design_rows
    from .tables import preset as preset

lazy_face(__name__)


def with_stay(
    ptable: PerturbationTable, p0: float, rows: Collection[int] | None = None
) -> PerturbationTable:
    """Mix a table with "unchanged", as `PerturbationTable.with_stay` does.

    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> with_stay(ptable, 0.5).transition_matrix()[1]
    array([0.25, 0.5 , 0.25])
    """
    return ptable.with_stay(p0, rows)
