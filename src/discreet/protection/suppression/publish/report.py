"""The report on a suppression: how much is hidden where, at what cost, with what proof.

In: a `Suppression`. Out: numbers and values hidden by table part, cost, bound, gap, digest
of the proof – as text, as plain values, as a frame. CONFIDENTIAL: for use in the house.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.protection.parts import levels_of, name_of_part, named_level
from discreet.protection.suppression.proof.certificate import Pattern
from discreet.protection.suppression.publish.suppression import Suppression
from discreet.rules import CellLookup, Reason
from discreet.tables import Table, level_numbers

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class PartHidden:
    """What is hidden on one part of a table (confidential)."""

    table: str  # name of the table
    part: str  # name of the part, in English
    cells: int  # cells that are not empty
    primary: int  # sensitive cells among them
    secondary: int  # cells hidden to protect others
    value: int  # sum of all absolute values, in units of the last decimal
    hidden_value: int  # sum of those hidden


@dataclass(frozen=True, kw_only=True, repr=False)
class SuppressionReport:
    """What a suppression did (confidential).

    Args:
        pattern: The pattern as plain values; see `described_pattern`.
        parts: What is hidden, by table part.
        reasons: Number of sensitive cells by code of the reason.
        notes: What users should know.
        waived: Cells that would be sensitive, had nobody consented to be shown: the log.
    """

    pattern: Mapping[str, Any]
    parts: tuple[PartHidden, ...]
    reasons: Mapping[str, int]
    notes: tuple[str, ...]
    waived: tuple[str, ...]

    def described(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        parts = [dict(vars(part)) for part in self.parts]
        fields = {"reasons": dict(self.reasons), "parts": parts, "notes": list(self.notes)}
        return {**self.pattern, **fields, "waived": list(self.waived)}

    def to_polars(self) -> pl.DataFrame:
        """The parts as a frame."""
        import polars as pl

        return pl.DataFrame([dict(vars(part)) for part in self.parts])

    def text(self) -> str:
        """The report in words."""
        reasons = ", ".join(f"{code} {number:,}" for code, number in self.reasons.items())
        lines = [*pattern_lines(self.pattern), f"Reasons: {reasons or 'none'}."]
        for part in self.parts:
            if part.primary or part.secondary:
                share = part.hidden_value / part.value if part.value else 0.0
                lines.append(
                    f"  {part.table}, {part.part}: {part.primary:,} + {part.secondary:,} "
                    f"of {part.cells:,} cells hidden, {share:.1%} of the value"
                )
        if self.waived:
            lines.append(f"Not sensitive because units have consented: {len(self.waived):,} cells.")
            lines += [f"  {cell}" for cell in self.waived]
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])

    def __repr__(self) -> str:
        return f"<SuppressionReport (confidential): {len(self.parts)} table parts>"


def described_pattern(pattern: Pattern) -> dict[str, Any]:
    """A pattern as plain values: method, numbers, cost, bound, gap, digest of the proof."""
    return {
        "method": pattern.method,
        "cells": len(pattern.hidden),
        "primaries": int(pattern.hidden.sum()) - pattern.secondaries,
        "secondaries": pattern.secondaries,
        "unprotected": len(pattern.certificate.unprotected),
        "cost": pattern.cost,
        "bound": pattern.bound,
        "gap": pattern.gap,
        "nearness": pattern.nearness(),
        "optimal": pattern.optimal,
        "complete": pattern.complete,
        "seconds": round(pattern.seconds, 3),
        "proof": pattern.digest(),
        "warnings": list(pattern.warnings),
    }


def pattern_lines(told: Mapping[str, Any]) -> list[str]:
    """The same in words."""
    lines = [
        f"{told['primaries']:,} sensitive cells and {told['secondaries']:,} others of "
        f"{told['cells']:,} are hidden by the method {told['method']}.",
        f"Unprotected: {told['unprotected']:,}. Cost {told['cost']:,}; {told['nearness']}.",
        f"Proof {told['proof'][:16]}, {told['seconds']:.1f} seconds.",
    ]
    if not told["complete"]:
        lines.insert(1, "Stopped by the time limit: the best audited pattern until then.")
    return [*lines, *(f"Warning: {warning}." for warning in told["warnings"])]


#: So many intervals are listed for people.
_LISTED = 100


def interval_lines(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Intervals of hidden cells in words, the first ones of many."""
    lines = []
    for row in rows[:_LISTED]:
        low, high = (
            "no bound" if row[name] is None else f"{row[name]:,.15g}" for name in ("low", "high")
        )
        lines.append(f"  {', '.join(str(row[name]) for name in names)}: {low} to {high}")
    more = len(rows) - len(lines)
    return [*lines, f"  … and {more:,} more: --json lists all"] if more else lines


def report_on(suppression: Suppression) -> SuppressionReport:
    """Report on a suppression.

    Args:
        suppression: What `Suppression.of` did.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> done = Suppression.of((table, table.count < 3), method="fast")
    >>> print(report_on(done).text())
    1 sensitive cells and 1 others of 4 are hidden by the method fast.
    Unprotected: 0. Cost 7; no cheaper pattern is safe.
    ...
      table, sex: 1 + 1 of 3 cells hidden, 50.0% of the value
    ...
    """
    hidden = suppression.pattern.hidden[: len(suppression.reason)]
    parts: list[PartHidden] = []
    for at, (table, _) in enumerate(suppression.sources):
        members = suppression.members
        blank = members.hidden(hidden, at)
        sensitive = members.hidden(hidden & (suppression.reason > 0), at)
        parts += _parts(table, members.cells[at] >= 0, blank, sensitive, members.values[at])
    counts = np.unique(suppression.reason[suppression.reason > 0], return_counts=True)
    reasons = {Reason(code).code: int(count) for code, count in zip(*counts, strict=True)}
    return SuppressionReport(
        pattern=described_pattern(suppression.pattern),
        parts=tuple(parts),
        reasons=reasons,
        notes=suppression.notes,
        waived=tuple(_waived(suppression)),
    )


def _waived(suppression: Suppression) -> Iterator[str]:
    """The cells that are not sensitive because units have consented to be shown."""
    for table, primary in suppression.sources:
        for cell in np.flatnonzero(getattr(primary, "waived", False)).tolist():
            yield f"{table.name}: {CellLookup(table).name(cell)}"


def _parts(
    table: Table, there: BoolArray, blank: BoolArray, sensitive: BoolArray, value: IntArray
) -> list[PartHidden]:
    numbers = [
        level_numbers(dimension)[part]
        for dimension, part in zip(table.dimensions, table.index, strict=True)
    ]
    if not numbers:
        numbers = [np.zeros(len(table), dtype=np.int64)]
    distinct, which = np.unique(np.stack(numbers), axis=1, return_inverse=True)
    which = which.reshape(-1)

    def count(mask: BoolArray) -> list[int]:
        return list(np.bincount(which[mask], minlength=distinct.shape[1]).tolist())

    def total(mask: BoolArray) -> list[int]:
        sums = np.zeros(distinct.shape[1], dtype=np.int64)
        np.add.at(sums, which[mask], np.abs(value[mask]))
        return list(sums.tolist())

    names = [_name(table, levels) for levels in distinct.T.tolist()]
    counts = (count(there), count(sensitive), count(blank & ~sensitive))
    rows = zip(names, *counts, total(there), total(blank), strict=True)
    return [PartHidden(table.name, *row) for row in rows]


def _name(table: Table, numbers: Sequence[int]) -> str:
    levels = [
        named_level(dimension, levels_of(dimension)[number])
        for dimension, number in zip(table.dimensions, numbers, strict=False)
    ]
    return name_of_part(levels, "en")
