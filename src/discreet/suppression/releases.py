"""`check_releases`: whether tables published apart open each other.

In: releases – tables with their patterns – that anyone can lay side by side. Out: which
hidden cells of one the others show or let work out. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.suppression.building import build_problem
from discreet.suppression.certificate import Certificate, certify
from discreet.suppression.demands import Demands, Earlier
from discreet.suppression.knowledge import Knowledge
from discreet.suppression.linking import Code
from discreet.suppression.problem import CellState, SuppressionProblem

__all__ = ["ReleaseCheck", "check_releases"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReleaseCheck:
    """What several releases tell together (confidential).

    Args:
        problem: All their cells as one system.
        hidden: Cells that no release shows.
        shown: Cells that one release hides and another shows.
        certificate: Verdicts on the sensitive cells that no release shows; on all
            hidden cells, which must not be known exactly, where no release names any.
    """

    problem: SuppressionProblem
    hidden: BoolArray
    shown: IntArray
    certificate: Certificate

    @property
    def safe(self) -> bool:
        """Whether no sensitive cell is opened."""
        sensitive = self.problem.state == CellState.primary
        return not sensitive[self.shown].any() and not len(self.certificate.unprotected)

    @property
    def opened(self) -> tuple[str, ...]:
        """Names of the cells that are opened."""
        sensitive = self.problem.state == CellState.primary
        cells = np.union1d(self.shown[sensitive[self.shown]], self.certificate.unprotected)
        return tuple(self.problem.name(int(at)) for at in cells)

    def __repr__(self) -> str:
        return f"<ReleaseCheck (confidential): {'safe' if self.safe else 'NOT safe'}>"


def check_releases(
    releases: Sequence[Earlier],
    *,
    value: str | None = None,
    decimals: int = 0,
    knowledge: Knowledge | None = None,
    same: Mapping[Code, Code] | None = None,
) -> ReleaseCheck:
    """Say what tables that were protected apart tell together.

    Args:
        releases: Tables with what each of them hides, and its sensitive cells if known;
            without, every cell that one of them hides counts as sensitive.
        value: The value column that was published; None for counts.
        decimals: Digits that were published.
        knowledge: What attackers know beforehand.
        same: Codes that mean the same as a code of another variable.

    >>> import polars as pl
    >>> from discreet import Table
    >>> def counts(**codes):
    ...     return Table.from_cells(pl.DataFrame(codes), by=[next(iter(codes))], count="n")
    >>> old = counts(region=["Total", "N", "S", "W"], n=[9, 2, 3, 4])
    >>> new = counts(region=["Total", "N", "S", "W"], n=[9, 2, 3, 4])
    >>> first = Earlier(table=old, hidden=np.array([False, True, True, False]))
    >>> second = Earlier(table=new, hidden=np.array([False, True, False, True]))
    >>> check_releases([first, second]).opened
    ('region=N', 'region=S', 'region=W')
    """
    tables = [(release.table, None) for release in releases]
    problem, members = build_problem(
        tables, value=value, decimals=decimals, knowledge=knowledge, same=same, cost="unity"
    )
    demands = [Demands.before(release, 10**decimals) for release in releases]
    masks = {
        name: members.gathered(tuple(getattr(demand, name) for demand in demands), len(problem))
        for name in ("sensitive", "fixed", "secondary")
    }
    named = any(release.primary is not None for release in releases)
    sensitive = masks["sensitive"] if named else masks["secondary"]
    hidden = masks["secondary"] & ~masks["fixed"]
    problem = _judged(problem, members.cells, demands, sensitive)
    return ReleaseCheck(
        problem=problem,
        hidden=hidden,
        shown=np.flatnonzero(masks["secondary"] & masks["fixed"]).astype(np.int64),
        certificate=certify(problem, hidden, sensitive & hidden),
    )


def _judged(
    problem: SuppressionProblem,
    cells: Sequence[IntArray],
    demands: Sequence[Demands],
    sensitive: BoolArray,
) -> SuppressionProblem:
    """The problem with the levels of the sensitive cells, and bounds that hold them."""
    levels: dict[str, Any] = {
        name: np.zeros(len(problem), np.int64) for name in ("lower", "upper", "sliding")
    }
    for place, demand in zip(cells, demands, strict=True):
        mine = demand.sensitive & (place >= 0)
        for name, level in levels.items():
            np.maximum.at(level, place[mine], getattr(demand, name)[mine])
    if not (problem.value < 0).any():
        levels["lower"] = np.minimum(levels["lower"], problem.value)
    state = np.full(len(problem), CellState.free, dtype=np.int8)
    state[sensitive] = CellState.primary
    low = np.minimum(problem.low, problem.value - levels["lower"])
    high = np.maximum(problem.high, problem.value + levels["upper"])
    high = np.maximum(high, low + levels["sliding"])
    return replace(problem, state=state, low=low, high=high, **levels)
