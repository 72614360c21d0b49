"""Sums that single respondents could undo, as far as they can be protected at all.

In: a problem and how many respondents its cells have. Out: the problem with those sums as
further sensitive cells. Sums that no pattern can protect are left out, and counted: they
must not keep the table from being published. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.suppression.certificate import certify
from discreet.suppression.members import Members
from discreet.suppression.problem import CellState, SuppressionProblem
from discreet.suppression.propagation import outer_bounds
from discreet.suppression.relations import Relations
from discreet.suppression.respondents import guard_respondents
from discreet.suppression.unknowns import unknowns_of
from discreet.tables import Table

__all__ = ["guarded", "respondents_of"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

#: With more cells than these, bounds alone decide which sums can be protected.
_EXACT_LIMIT = 30_000


def respondents_of(members: Members, tables: Sequence[Table], size: int) -> IntArray:
    """How many records each problem cell has."""
    respondents = np.zeros(size, dtype=np.int64)
    for cells, table in zip(members.cells, tables, strict=True):
        there = cells >= 0
        np.maximum.at(respondents, cells[there], table.count[there])
    return respondents


def guarded(problem: SuppressionProblem, respondents: IntArray) -> tuple[SuppressionProblem, int]:
    """The problem with the sums that a single respondent could undo.

    Args:
        problem: The problem.
        respondents: How many respondents each cell has.

    Returns:
        The problem, and how many sums were left out because nothing can protect them.
    """
    grown, added = guard_respondents(problem, respondents)
    if not len(added):
        return problem, 0
    lost = _hopeless(grown, added)
    return (_without(grown, lost), len(lost)) if len(lost) else (grown, 0)


def _hopeless(problem: SuppressionProblem, added: IntArray) -> IntArray:
    """Those of the sums that stay open even if every cell that may be hidden is hidden."""
    all_hidden: BoolArray = problem.state != CellState.fixed
    wanted = np.zeros(len(problem), dtype=np.bool_)
    wanted[added] = True
    if int(all_hidden.sum()) <= _EXACT_LIMIT:
        return certify(problem, all_hidden, wanted).unprotected
    known = unknowns_of(problem, all_hidden, wanted)
    open_cells = known.sensitive & ~known.protected(*outer_bounds(known))
    return known.cells[open_cells]


def _without(problem: SuppressionProblem, cells: IntArray) -> SuppressionProblem:
    """The problem without some of the cells and the relations that these stand in."""
    keep = np.ones(len(problem), dtype=np.bool_)
    keep[cells] = False
    links = problem.relations
    rows = np.ones(len(links), dtype=np.bool_)
    rows[links.row[~keep[links.cell]]] = False
    entries = rows[links.row]
    number = np.cumsum(keep) - 1
    relations = Relations(
        cells=int(keep.sum()),
        start=np.concatenate([[0], np.cumsum(np.diff(links.start)[rows])]).astype(np.int64),
        cell=number[links.cell[entries]].astype(np.int32),
        coef=links.coef[entries],
        rhs=links.rhs[rows],
    )
    names = ("value", "cost", "state", "low", "high", "lower", "upper", "sliding")
    columns: dict[str, Any] = {name: getattr(problem, name)[keep] for name in names}
    old, named = np.flatnonzero(keep), problem.name
    return replace(problem, relations=relations, name=lambda at: named(int(old[at])), **columns)
