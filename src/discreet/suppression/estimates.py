"""How closely contributors of a cell can estimate each other, given what is published.

In: tables with their largest contributions, the highest value that an attacker finds
possible for each hidden cell. Out: per cell, by how many percent of the truth the largest
contribution, and the second one, are overestimated at best. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.suppression.members import Members
from discreet.suppression.problem import SuppressionProblem
from discreet.tables import Contributions, Table

__all__ = ["Estimates", "estimates_of"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Estimates:
    """Best estimates of contributions by other contributors of the same cell (confidential).

    Args:
        cells: Numbers of the problem cells that have at least two contributors.
        of_largest: By how many percent those next in size, together, overestimate the
            largest contribution.
        of_second: By how many percent the largest contributor overestimates the second;
            infinite where the second contributes 0.
    """

    cells: IntArray
    of_largest: FloatArray
    of_second: FloatArray

    @property
    def closest(self) -> float | None:
        """The smallest of all these percentages: the p that a p% rule keeps; None if empty."""
        both = np.concatenate([self.of_largest, self.of_second])
        return float(both.min()) if both.size else None

    def __repr__(self) -> str:
        return f"<Estimates (confidential): {len(self.cells):,} cells>"


def estimates_of(
    problem: SuppressionProblem,
    members: Members,
    tables: Sequence[Table],
    value: str,
    high: FloatArray,
    cells: BoolArray,
    *,
    most: int = 1,
) -> Estimates | None:
    """Work out the estimates of all cells asked for.

    A contributor takes the highest possible value of the cell and subtracts what he knows:
    his own contribution, and those of his coalition.

    Args:
        problem: The problem; values are in its units.
        members: Which of its cells the cells of the tables are.
        tables: The true tables.
        value: The value column.
        high: The highest value of each problem cell that attackers find possible, in units.
        cells: Which problem cells to look at.
        most: How many contributors put together what they know.

    Returns:
        None if the tables do not hold the contributions needed: `most` + 1 unweighted ones.
    """
    largest, second = np.full(len(problem), np.inf), np.full(len(problem), np.inf)
    several = np.zeros(len(problem), dtype=np.bool_)
    for place, table in zip(members.cells, tables, strict=True):
        known = table.contributions.get(value)
        if known is None or known.k <= most or known.top_weight is not None:
            return None
        mine = (place >= 0) & (known.count > 1)
        mine[mine] = cells[place[mine]]
        units = 10.0**problem.decimals
        first, other = _percent(known, mine, high[place[mine]] / units, most)
        np.minimum.at(largest, place[mine], first)
        np.minimum.at(second, place[mine], other)
        several[place[mine]] = True
    found = np.flatnonzero(several)
    return Estimates(cells=found, of_largest=largest[found], of_second=second[found])


def _percent(
    known: Contributions, mine: BoolArray, high: FloatArray, most: int
) -> tuple[FloatArray, FloatArray]:
    """By how many percent the largest and the second contribution are overestimated."""
    top = np.abs(np.nan_to_num(known.top[mine]))
    size = np.maximum(high, 0.0)
    by_next = size - top[:, 1 : 1 + most].sum(axis=1) - top[:, 0]
    by_first = size - top[:, 0] - top[:, 1]
    percents = []
    for beyond, truth in ((by_next, top[:, 0]), (by_first, top[:, 1])):
        share = np.divide(beyond, truth, out=np.full(len(truth), np.inf), where=truth > 0)
        percents.append(100.0 * share)
    return percents[0], percents[1]
