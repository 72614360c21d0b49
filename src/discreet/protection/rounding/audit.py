"""`audit_rounding`: what rounded tables still tell. CONFIDENTIAL, though it shows no true value.

In: true tables and the rounded figures published of them. Out: which counts anyone can work out
exactly: every figure leaves an interval, and the sums of true counts narrow it. Attackers are
taken to know method and base, all tables, and which combinations are empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure import DisclosureVerdict, Gap, Judged
from discreet.errors import CountRoundingError
from discreet.protection.rounding.bases import Rounding, inner_cells
from discreet.protection.rounding.linked_counts import LinkedCounts
from discreet.protection.suppression import (
    CellState,
    Certificate,
    LinkedTable,
    SuppressionProblem,
    attack_intervals,
    certify,
    held_in_joint_cubes,
    rows_across,
    with_rows,
)
from discreet.tables import ProtectedTable, Table

_SHOWN = 20


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class RoundingAudit(Judged):
    """What rounded tables still tell (confidential).

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
        return "\n".join([f"{head}; these can be worked out from sums:", *lines, *more])


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
        message = "estimates from samples are not audited: nobody knows who is in the sample"
        raise CountRoundingError(message, code="audit")
    hows = [rounding] * len(tables) if isinstance(rounding, Rounding) else list(rounding)
    rows, unexamined = rows_across(tables, records)
    nobody = [] if rows is None else rows.nobody
    linked = LinkedCounts.of([*tables, *nobody])
    numbers, relations = linked.cells[: len(tables)], linked.relations
    between = np.ones(len(linked.count), dtype=np.bool_)
    for cells in numbers:
        between[cells] = False
    if rows is not None:
        there = [*(table.count > 0 for table in tables), *(one.count >= 0 for one in nobody)]
        relations = with_rows(relations, rows, linked.cells, there, linked.count)
    low = np.where((linked.count > 0) & ~between, 1, 0)
    high = np.full(len(linked.count), np.iinfo(np.int64).max // 4)
    high[(linked.count == 0) & ~between] = 0
    for table, safe, cells, how in zip(tables, published, numbers, hows, strict=True):
        value = _figures(safe, table)
        least, most = _interval(value, table, how)
        known = table.count > 0
        np.maximum.at(low, cells[known], least[known])
        np.minimum.at(high, cells[known], most[known])
    widest = linked.count + 4 * 10**6  # no sum of parts says more
    high = np.minimum(high, widest)
    changed = (low < linked.count) | (linked.count < high)
    wanted = (linked.count > 0) & ~between
    if any(how.method == "small-counts" for how in hows):
        wanted &= (linked.count < max(how.base for how in hows)) & linked.inner
    state = np.where(wanted, CellState.primary, CellState.free).astype(np.int8)
    nothing = np.zeros(len(linked.count), dtype=np.int64)
    problem = SuppressionProblem(
        value=linked.count,
        cost=nothing,
        state=state,
        low=low,
        high=high,
        lower=nothing,
        upper=nothing,
        sliding=wanted.astype(np.int64),
        relations=relations,
        name=linked.name,
        title="rounded tables",
    )
    problem.check()
    hidden = changed | wanted
    shown = [
        LinkedTable(table, numbers[at], None, None if rows is None else rows.records_of(at))
        for at, table in enumerate(tables)
    ]
    certificate, gaps = held_in_joint_cubes(problem, hidden, certify(problem, hidden), shown)
    return RoundingAudit(
        problem=problem,
        hidden=hidden,
        sensitive=wanted,
        certificate=certificate,
        gaps=(*unexamined, *gaps),
    )


def _figures(safe: ProtectedTable, table: Table) -> IntArray:
    """The published figure of each cell of the true table."""
    from discreet.arrays import CellIndex

    names = [dimension.name for dimension in table.dimensions]
    if [dimension.name for dimension in safe.dimensions] != names:
        raise CountRoundingError("published and true table differ", code="audit", where=table.name)
    places = []
    for own, shown, part in zip(table.dimensions, safe.dimensions, safe.index, strict=True):
        numbers = np.array([own.index[code] for code in shown.codes], dtype=np.int32)
        places.append(numbers[part])
    at = CellIndex.of(table.dimensions).find(places, table.index, (safe.stored, len(table)))
    stored = np.append(safe.value, 0)  # where nothing is stored, everything was rounded to zero
    return stored[np.where(at >= 0, at, len(stored) - 1)].astype(np.int64)


def _interval(value: IntArray, table: Table, rounding: Rounding) -> tuple[IntArray, IntArray]:
    """The counts that the figures of a table leave possible; totals may miss by further steps."""
    base, inner, count = rounding.bases(table), inner_cells(table), table.count
    if rounding.method != "small-counts":
        missed = np.abs(value - count) // base if rounding.additive else np.zeros_like(base)
        steps = np.where(inner, missed[inner].max(initial=0), missed[~inner].max(initial=0))
        low, high = rounding.interval(value, base, steps)
        wrong = (count > 0) & ((count < low) | (count > high))
        if wrong.any():
            message = f"{int(wrong.sum()):,} figures are not those of the data"
            raise CountRoundingError(message, code="audit", where=table.name)
        return low, high
    open_end = np.iinfo(np.int64).max // 4
    low = np.where(inner & (value > base), value, 1)
    high = np.where(inner & (value > base), value, np.where(value == 0, base - 1, base))
    return low, np.where(inner, high, open_end)
