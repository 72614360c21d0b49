"""`Batch`: what a batch file (`.arb`) asks for, as a plan. It runs nothing.

In: what `read_batch` found. Out: files, tables, rules, methods and outputs by name; commands
about windows, solvers and licences are kept as not needed. SECRET: it holds rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from discreet.rules import PQ, Dominance, MinimumFrequency, PPercent, Rule, ZeroUnsafe
from discreet.suppression.costs import Cost

__all__ = ["Batch", "BatchApriori", "BatchRule", "BatchTable", "Output", "Protection"]


@dataclass(frozen=True, kw_only=True, repr=False)
class BatchRule:
    """One rule as written: its name, its numbers, and whose contributions it is about."""

    name: str
    numbers: tuple[float, ...]
    per: Literal["record", "holding"] = "record"

    def rule(self) -> Rule | None:
        """The rule of `discreet.rules`; None for settings and for rules off (all 0)."""
        numbers = self.numbers
        if not any(numbers):
            return None
        if self.name == "P" and len(numbers) < 3:
            return PPercent(numbers[0], n=int(numbers[1]) if len(numbers) > 1 else 1, per=self.per)
        if self.name == "P":
            return PQ(numbers[0], numbers[1], n=int(numbers[2]), per=self.per)
        if self.name == "NK":
            return Dominance(n=int(numbers[0]), k=numbers[1], per=self.per)
        if self.name == "FREQ":
            fewest = int(numbers[0]) if numbers[0].is_integer() else numbers[0]
            return MinimumFrequency(fewest, safety_range=numbers[1], per=self.per)
        if self.name == "ZERO":
            return ZeroUnsafe(numbers[0])
        return None

    def __repr__(self) -> str:
        return f"<BatchRule {self.name} (secret)>"


@dataclass(frozen=True, kw_only=True)
class BatchApriori:
    """A file of marks for a table."""

    path: str
    separator: str
    ignore_errors: bool = False
    expand: bool = True


@dataclass(frozen=True, kw_only=True)
class BatchTable:
    """One table of a batch.

    Args:
        variables: The spanning variables.
        response: The value column; None for a frequency table.
        shadow: The column that rules look at; that of the value unless named.
        cost: What hiding a cell costs.
        rules: The rules, as written.
        apriori: Files of marks.
        recodes: Variable with a file or a level to recode it by.
    """

    variables: tuple[str, ...]
    response: str | None
    shadow: str
    cost: Cost
    rules: tuple[BatchRule, ...] = ()
    apriori: tuple[BatchApriori, ...] = ()
    recodes: tuple[tuple[str, str], ...] = ()

    @property
    def primary_rules(self) -> list[Rule]:
        """The rules for `primary`; settings (MAN, MIS, WGT) and requests are not among them."""
        made = [rule.rule() for rule in self.rules]
        return [rule for rule in made if rule is not None]

    def setting(self, name: str, default: float) -> float:
        """The number of a setting: MAN (safety range), MIS, WGT (0 or 1)."""
        for rule in self.rules:
            if rule.name == name and rule.numbers:
                return rule.numbers[0]
        return default

    @property
    def requests(self) -> tuple[BatchRule, ...]:
        """Request rules; they need the records of those who asked."""
        return tuple(rule for rule in self.rules if rule.name == "REQ" and any(rule.numbers))


@dataclass(frozen=True, kw_only=True)
class Protection:
    """A method to be run on a table, from 1; on all tables together if 0."""

    method: str
    table: int
    numbers: tuple[float, ...] = ()

    @property
    def minutes(self) -> float | None:
        """The time limit of modular and optimal."""
        limited = self.method in ("modular", "optimal") and self.numbers
        return self.numbers[0] if limited and self.numbers[0] > 0 else None


@dataclass(frozen=True, kw_only=True)
class Output:
    """A table to be written."""

    table: int
    form: str
    options: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What a batch file asks for.

    Args:
        data: The file of records or cells.
        of: Which of both it is.
        metadata: Its description.
        tables: The tables; steps number them from 1.
        totals: For files of cells: "given" (must be additive), "add" or "unchecked".
        keep_status: Whether the status of totals given stays when they are added up.
        protections: Methods to be run, in their order.
        outputs: Files to be written.
        not_needed: Commands that mean nothing here, as written.
        folder: Where the batch stands; its paths are meant from there.
    """

    data: str
    of: Literal["records", "cells"]
    metadata: str
    tables: tuple[BatchTable, ...]
    totals: Literal["given", "add", "unchecked"] = "given"
    keep_status: bool = True
    protections: tuple[Protection, ...] = ()
    outputs: tuple[Output, ...] = ()
    not_needed: tuple[str, ...] = ()
    folder: Path = field(default=Path(), compare=False)

    def file(self, name: str) -> Path:
        """A file of the batch."""
        return self.folder / name.replace("\\", "/")
