"""A study of suppression: which cells are hidden, why, what they still tell, and what it costs.

In: cells (CONFIDENTIAL) and rules (SECRET). Out: a protected table and, for whoever handed the
cells in, a row per hidden cell: its reason, and the interval that anyone can compute. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.confidential import without_values
from discreet.protection.suppression import Suppression, audit
from discreet.rules import Primary
from discreet.rules.protocol import Reason
from discreet.tables import ProtectedTable, Table
from discreet_service.cells.suppression import SuppressionRequest, judged_cells, search_options

#: The word of a cell that is hidden to protect others.
SECONDARY = "secondary"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class HiddenCell:
    """A hidden cell. CONFIDENTIAL.

    Args:
        codes: Its code of each variable.
        primary: Whether a rule or a mark makes it sensitive; hidden for others if not.
        reason: language → why it is hidden; empty where it is hidden for others.
        low: The lowest value that anyone finds possible.
        high: The highest.
    """

    codes: tuple[str, ...]
    primary: bool
    reason: Mapping[str, str]
    low: float
    high: float

    def __repr__(self) -> str:
        return "<HiddenCell: confidential>"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SuppressionStudy:
    """What became of a table, and what is known about it. CONFIDENTIAL.

    Args:
        table: What may be published.
        hidden: Its hidden cells, in the order of the table.
        cost: What the cells cost that are hidden for others.
        bound: No pattern that protects all sensitive cells costs less; None if unknown.
        nearness: language → how near the cost is to the lowest possible.
        complete: Whether the search came to its end.
        cells: How many interior cells it has, and
        totals: how many totals, the proof is about all of them.
        computed: How many of these totals were computed, because the cells lacked them.
        safe: Whether it is proven that nobody computes a sensitive cell.
        notes: What users should know, in words.
    """

    table: ProtectedTable
    hidden: Sequence[HiddenCell]
    cost: int
    bound: int | None
    nearness: Mapping[str, str]
    complete: bool
    cells: int
    totals: int
    computed: int
    safe: bool
    notes: tuple[str, ...]

    @property
    def primaries(self) -> int:
        """How many cells are hidden by a rule."""
        return sum(each.primary for each in self.hidden)

    @property
    def secondaries(self) -> int:
        """How many cells are hidden to protect others."""
        return len(self.hidden) - self.primaries

    def __repr__(self) -> str:
        return f"<SuppressionStudy (confidential): {len(self.hidden):,} hidden cells>"


@without_values
def studied_cells(frame: pl.DataFrame, request: SuppressionRequest) -> SuppressionStudy:
    """Hide cells, and find out what hidden cells still tell.

    Args:
        frame: The cells, or records.
        request: What they are, and how they are hidden.
    """
    table, found = judged_cells(frame, request)
    done = Suppression.of((table, found), **search_options(request))
    safe = done.tables[0]
    audited = audit(safe, table, found, intervals=True, decimals=request.decimals)
    bounds = {name: (low, high) for name, _, _, low, high in audited.intervals().iter_rows()}
    unit = 10.0**-done.problem.decimals if request.value is not None else 1.0
    interior = np.ones(len(table), dtype=np.bool_)
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        interior &= dimension.is_leaf[part]
    return SuppressionStudy(
        table=safe,
        hidden=_hidden_cells(table, found, done, bounds),
        cost=round(done.pattern.cost * _cost_unit(request, unit)),
        bound=None
        if done.pattern.bound is None
        else round(done.pattern.bound * _cost_unit(request, unit)),
        nearness={language: done.pattern.nearness(language) for language in ("en", "de")},
        complete=done.pattern.complete,
        cells=int(interior.sum()),
        totals=int((~interior).sum()),
        computed=0 if request.records else len(table) - frame.height,
        safe=audited.safe,
        notes=tuple(dict.fromkeys((*done.notes, *done.pattern.notes, *audited.notes))),
    )


def _cost_unit(request: SuppressionRequest, unit: float) -> float:
    """Costs that are values are counted in the unit of the last decimal."""
    return unit if request.suppression.cost == "value" else 1.0


def _hidden_cells(
    table: Table,
    found: Primary,
    done: Suppression,
    bounds: Mapping[str, tuple[float, float]],
) -> list[HiddenCell]:
    place = done.members.cells[0]
    hidden = np.flatnonzero((place >= 0) & done.pattern.hidden[place])
    codes = [dimension.codes for dimension in table.dimensions]
    listed = []
    for at in hidden.tolist():
        low, high = bounds[done.problem.name(int(place[at]))]
        primary = bool(found.sensitive[at])
        reason = Reason(int(found.reason[at])) if primary else None
        listed.append(
            HiddenCell(
                codes=tuple(own[part[at]] for own, part in zip(codes, table.index, strict=True)),
                primary=primary,
                reason={} if reason is None else dict(reason.texts),
                low=low,
                high=high,
            )
        )
    return listed
