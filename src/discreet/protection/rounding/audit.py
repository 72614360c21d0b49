"""`audit_rounding`: what rounded tables still tell. CONFIDENTIAL, though it shows no true value.

In: true tables and the rounded figures published of them. Out: which counts anyone can work out
exactly: every figure leaves an interval, and the sums of true counts narrow it. Attackers are
taken to know method and base, all tables, and which combinations are empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure import DisclosureVerdict, Gap, Judged
from discreet.errors import CountRoundingError
from discreet.protection.rounding.bases import Rounding, inner_cells
from discreet.protection.rounding.small_counts import counts_refused
from discreet.protection.suppression import (
    CellState,
    Certificate,
    LinkedTable,
    SuppressionProblem,
    TableCells,
    attack_intervals,
    build_problem,
    certify,
    figures_shown,
    held_in_joint_cubes,
    linked_cells,
)
from discreet.tables import ProtectedTable, Table

_SHOWN = 20


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RoundingAudit(Judged):
    """Audit of rounded tables: intervals that readers can compute (confidential).

    Args:
        problem: All their cells as one system, with the interval that each figure leaves.
        hidden: Which of these are not published as they are.
        sensitive: Which of these nobody must work out.
        certificate: A verdict for each of them.
        gaps: What was not examined.
    """

    problem: SuppressionProblem
    hidden: BoolArray
    sensitive: BoolArray
    certificate: Certificate
    gaps: tuple[Gap, ...] = ()

    @property
    def judgement(self) -> DisclosureVerdict:
        """The verdict: every count is proven to stay uncertain."""
        return DisclosureVerdict.of(self.unprotected, self.gaps)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Names of the cells whose counts can be worked out."""
        return tuple(self.problem.name(int(at)) for at in self.certificate.unprotected)

    def intervals(self) -> tuple[IntArray, IntArray]:
        """The smallest and largest count that anyone finds possible for each sensitive cell."""
        low, high = attack_intervals(self.problem, self.hidden, self.sensitive)
        whole = (np.ceil(low - 1e-6), np.floor(high + 1e-6))
        return (
            whole[0][self.sensitive].astype(np.int64),
            whole[1][self.sensitive].astype(np.int64),
        )

    def described(self) -> dict[str, Any]:
        """The verdict as plain values, for JSON."""
        return {
            **self.judgement.described(),
            "cells": len(self.problem),
            "sensitive": int(self.sensitive.sum()),
            "unprotected": list(self.unprotected),
            "digest": "",
        }

    def text(self) -> str:
        """The verdict in words."""
        number, open_cells = int(self.sensitive.sum()), self.unprotected
        head = f"  {number - len(open_cells):,} of {number:,} rounded counts stay uncertain"
        more = self.judgement.lines()
        if not open_cells:
            return "\n".join([head, *more])
        lines = [f"    {name}" for name in open_cells[:_SHOWN]]
        lines += [f"    … {len(open_cells) - _SHOWN:,} more"] if len(open_cells) > _SHOWN else []
        return "\n".join([f"{head}; these can be computed from sums:", *lines, *more])


def audit_rounding(
    published: Sequence[ProtectedTable],
    tables: Sequence[Table],
    rounding: Rounding | Sequence[Rounding],
    records: Any = None,
) -> RoundingAudit:
    """Find out which counts rounded tables still tell exactly.

    Args:
        published: The rounded tables.
        tables: The true ones, in the same order.
        rounding: How they were rounded; or how each was, to bases of its own.
        records: The records behind the tables; without them, cells of several tables are compared
            by name, and what names do not say is not examined.

    >>> import polars as pl
    >>> from discreet.protection.rounding import round_linked
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [8, 4, 4]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> how = Rounding(base=3, method="conventional")
    >>> audit_rounding(round_linked([table], how), [table], how).unprotected
    ('total', 'sex=m', 'sex=w')
    """
    if any(table.weight is not None for table in tables):
        message = "estimates from samples are not audited, because sample membership is unknown"
        raise CountRoundingError(message, code="audit")
    hows = [rounding] * len(tables) if isinstance(rounding, Rounding) else list(rounding)
    with counts_refused():
        problem, members = build_problem(
            [(table, None) for table in tables], records=records, title="rounded tables"
        )
    value, wanted = problem.value, members.listed(len(problem))
    low, high = np.where(wanted, 1, 0), value + 4 * 10**6  # no sum of parts says more
    for table, safe, cells, how in zip(tables, published, members.cells, hows, strict=True):
        least, most = _interval(_figures(safe, table), table, how)
        known = cells >= 0
        np.maximum.at(low, cells[known], least[known])
        np.minimum.at(high, cells[known], most[known])
    if any(how.method == "small-counts" for how in hows):
        wanted &= (value < max(how.base for how in hows)) & _inner(tables, members, len(problem))
    problem = replace(
        problem,
        state=np.where(wanted, CellState.primary, CellState.free).astype(np.int8),
        low=low,
        high=high,
        sliding=wanted.astype(np.int64),
    )
    problem.check()
    hidden = wanted | (low < value) | (value < high)
    shown = map(LinkedTable, tables, members.cells, repeat(None), members.partitions)
    certificate, gaps = held_in_joint_cubes(problem, hidden, certify(problem, hidden), [*shown])
    return RoundingAudit(
        problem=problem,
        hidden=hidden,
        sensitive=wanted,
        certificate=certificate,
        gaps=(*members.unexamined, *gaps),
    )


def _inner(tables: Sequence[Table], members: TableCells, size: int) -> BoolArray:
    """Which cells of the problem are totals in no table that has them."""
    linked = linked_cells(tables)
    inner = np.ones(linked.number, dtype=np.bool_)
    for table, cells in zip(tables, linked.cells, strict=True):
        inner[cells[~inner_cells(table)]] = False
    return members.gathered([inner[cells] for cells in linked.cells], size)


def _figures(safe: ProtectedTable, table: Table) -> IntArray:
    """The published figure of each cell of the true table; what is not stored is zero."""
    if [own.name for own in safe.dimensions] != [own.name for own in table.dimensions]:
        raise CountRoundingError("published and true table differ", code="audit", where=table.name)
    return figures_shown(safe, table, 0)[1]


def _interval(value: IntArray, table: Table, rounding: Rounding) -> tuple[IntArray, IntArray]:
    """The counts that the figures of a table leave possible; totals may miss by further steps."""
    base, inner, count = rounding.bases(table), inner_cells(table), table.count
    if rounding.method != "small-counts":
        missed = np.abs(value - count) // base if rounding.additive else np.zeros_like(base)
        steps = np.where(inner, missed[inner].max(initial=0), missed[~inner].max(initial=0))
        low, high = rounding.interval(value, base, steps)
        wrong = (count > 0) & ((count < low) | (count > high))
        if wrong.any():
            message = f"{int(wrong.sum()):,} values differ from the data"
            raise CountRoundingError(message, code="audit", where=table.name)
        return low, high
    open_end = np.iinfo(np.int64).max // 4
    low = np.where(inner & (value > base), value, 1)
    high = np.where(inner & (value > base), value, np.where(value == 0, base - 1, base))
    return low, np.where(inner, high, open_end)
