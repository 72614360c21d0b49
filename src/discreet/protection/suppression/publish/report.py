"""The report on a suppression: how much is hidden where, at what cost, with what proof.

CONFIDENTIAL: for use in the house.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.confidential import Confidential
from discreet.errors import SuppressionError
from discreet.protection.parts import levels_of, name_of_part, named_level
from discreet.protection.suppression.methods.registry import find_pattern
from discreet.protection.suppression.proof.certificate import Pattern
from discreet.protection.suppression.publish.suppression import Suppression
from discreet.protection.suppression.settings import InsiderAim, Method, share_of
from discreet.rules import CellLookup, Reason
from discreet.tables import Table, level_numbers

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class PartHidden:
    """Hidden cells on one part of a table (confidential)."""

    table: str  # name of the table
    part: str  # name of the part, in English
    cells: int  # cells that are not empty
    primary: int  # sensitive cells among them
    secondary: int  # cells hidden to protect others
    value: int  # sum of all absolute values, in units of the last decimal
    hidden_value: int  # sum of those hidden


@dataclass(frozen=True)
class InsiderPrice:
    """Cost of an aim against contributors (confidential)."""

    insiders: InsiderAim
    secondaries: int | None  # cells hidden to protect others; None if no pattern does it
    cost: int | None  # what they cost

    def line(self) -> str:
        """As text."""
        named = f'"{self.insiders}"' if isinstance(self.insiders, str) else f"{self.insiders:g}"
        if self.cost is None:
            return f"  insiders = {named}: no suppression pattern protects all cells"
        return f"  insiders = {named}: {self.secondaries:,} secondary cells, cost {self.cost:,}"


#: The aims whose prices are worked out.
_PRICED: tuple[InsiderAim, ...] = ("off", "exact", 0.25, "levels")


def _prices(suppression: Suppression) -> Iterator[InsiderPrice]:
    """What each aim against contributors costs for these tables, by the same method."""
    own, method = suppression.insiders, cast(Method, suppression.pattern.method)
    if own is None:
        return
    for aim in _PRICED:
        insiders = None if aim == "off" else replace(own, share=share_of(aim))
        try:
            pattern = find_pattern(suppression.problem, method, insiders=insiders)
            yield InsiderPrice(aim, pattern.secondaries, pattern.cost)
        except SuppressionError:
            yield InsiderPrice(aim, None, None)


@dataclass(frozen=True, kw_only=True, repr=False)
class SuppressionReport(Confidential):
    """Report on a suppression (confidential).

    Args:
        pattern: The pattern as plain values; see `described_pattern`.
        parts: What is hidden, by table part.
        reasons: Number of sensitive cells by code of the reason.
        notes: What users should know.
        waived: Cells that would be sensitive, had nobody consented to be shown: the log.
        prices: What each aim against contributors costs; empty unless asked for.
    """

    pattern: Mapping[str, Any]
    parts: tuple[PartHidden, ...]
    reasons: Mapping[str, int]
    notes: tuple[str, ...]
    waived: tuple[str, ...]
    prices: tuple[InsiderPrice, ...] = ()

    def described(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        parts = [dict(vars(part)) for part in self.parts]
        fields: dict[str, Any] = {
            "reasons": dict(self.reasons),
            "parts": parts,
            "notes": list(self.notes),
        }
        if self.prices:
            fields["prices"] = [dict(vars(price)) for price in self.prices]
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
                    f"  {part.table}, {part.part}: {part.primary:,} + {part.secondary:,} of "
                    f"{part.cells:,} cells suppressed, {share:.1%} of the value"
                )
        if self.prices:
            lines.append("Cost of the protection against contributors:")
            lines += [price.line() for price in self.prices]
        if self.waived:
            lines.append(f"Not sensitive because of waivers: {len(self.waived):,} cells.")
            lines += [f"  {cell}" for cell in self.waived]
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])


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
    """As text."""
    lines = [
        f"Method {told['method']}: {told['primaries']:,} sensitive and "
        f"{told['secondaries']:,} other of {told['cells']:,} cells are suppressed.",
        f"Unprotected: {told['unprotected']:,}. Cost {told['cost']:,}; {told['nearness']}.",
        f"Proof {told['proof'][:16]}, {told['seconds']:.1f} seconds.",
    ]
    if not told["complete"]:
        lines.insert(
            1, "The time limit ended the search; this is the best audited suppression pattern."
        )
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


def report_on(suppression: Suppression, *, prices: bool = False) -> SuppressionReport:
    """Report on a suppression.

    Args:
        suppression: What `Suppression.of` did.
        prices: Work out what each aim against contributors would cost: a search for each.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> done = Suppression.of((table, table.count < 3), method="fast")
    >>> print(report_on(done).text())  # doctest: +ELLIPSIS
    Method fast: 1 sensitive and 1 other of 4 cells are suppressed.
    Unprotected: 0. Cost 7; no cheaper suppression pattern is safe.
    Proof f8fa9a679d20cf1b, ... seconds.
    Reasons: manual 1.
    table, sex: 1 + 1 of 3 cells suppressed, 50.0% of the value
    Note: readers are assumed to know of each value that it lies from 0 to 2 times the true value.
    Note: readers can infer that suppressed cells are not zero: zeros are shown.
    """
    hidden = suppression.pattern.hidden[: len(suppression.reason)]
    listed = suppression.members.listed(len(hidden))  # others stand between the tables
    primaries = int((hidden & listed & (suppression.reason > 0)).sum())
    numbers = {
        "cells": int(listed.sum()),
        "primaries": primaries,
        "secondaries": int((hidden & listed).sum()) - primaries,
    }
    members, parts = suppression.members, list[PartHidden]()
    for at, (table, _) in enumerate(suppression.sources):
        blank = members.hidden(hidden, at)
        sensitive = members.hidden(hidden & (suppression.reason > 0), at)
        parts += _parts(table, members.cells[at] >= 0, blank, sensitive, members.values[at])
    waived = [
        f"{table.name}: {CellLookup(table).name(cell)}"
        for table, primary in suppression.sources
        for cell in np.flatnonzero(getattr(primary, "waived", False)).tolist()
    ]
    counts = np.unique(suppression.reason[suppression.reason > 0], return_counts=True)
    reasons = {Reason(code).code: int(count) for code, count in zip(*counts, strict=True)}
    return SuppressionReport(
        pattern={**described_pattern(suppression.pattern), **numbers},
        parts=tuple(parts),
        reasons=reasons,
        notes=suppression.notes,
        waived=tuple(waived),
        prices=tuple(_prices(suppression)) if prices else (),
    )


def _parts(
    table: Table, there: BoolArray, blank: BoolArray, sensitive: BoolArray, value: IntArray
) -> list[PartHidden]:
    numbers = [
        level_numbers(dimension)[part]
        for dimension, part in zip(table.dimensions, table.index, strict=True)
    ] or [np.zeros(len(table), dtype=np.int64)]
    distinct, which = np.unique(np.stack(numbers), axis=1, return_inverse=True)
    which, size = which.reshape(-1), np.abs(value)

    def total(mask: BoolArray, column: Any = 1) -> list[int]:
        sums = np.zeros(distinct.shape[1], dtype=np.int64)
        np.add.at(sums, which[mask], np.broadcast_to(column, len(mask))[mask])
        return list(sums.tolist())

    names = []
    for levels in distinct.T.tolist():
        pairs = zip(table.dimensions, levels, strict=False)
        named = [named_level(own, levels_of(own)[number]) for own, number in pairs]
        names.append(name_of_part(named, "en"))
    counts = total(there), total(sensitive), total(blank & ~sensitive)
    rows = zip(names, *counts, total(there, size), total(blank, size), strict=True)
    return [PartHidden(table.name, *row) for row in rows]
