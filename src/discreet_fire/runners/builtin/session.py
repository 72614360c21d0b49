"""What a running do-file can see and change, and what its log shows. CONFIDENTIAL.

Values of records are in the data alone: there are no stored results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet_fire.runners.builtin.data import FIRST_RECORD, DataSet, DataVariable, read_data
from discreet_fire.runners.builtin.values import DoError
from discreet_fire.runners.protocol import WITHHELD, ShownOutput, Witness
from discreet_fire.statistics import Check, CheckVerdict, SafeLimits, SafeResult, refused_line


@dataclass(frozen=True, repr=False)
class LastModel:
    """The last regression (confidential): what `utest` asks for."""

    terms: tuple[str, ...]  # the outcome first
    names: tuple[str, ...]  # its variables
    sample: BoolArray
    units: IntArray  # those of the data that it was fitted to
    plain: bool  # whether it has the usual standard errors


@dataclass(repr=False)
class UnitHistory:
    """Whom records are about, and what was asked and shown about them (confidential)."""

    owners: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # of each record
    files: dict[Path, tuple[int, int]] = field(
        default_factory=dict
    )  # their first record, their rows
    persons: dict[Any, int] = field(default_factory=dict)  # the number of each value of the entity
    key: bytes = b""  # of all microdata that were read: it blurs how near a bound may come
    trims: set[str] = field(default_factory=set)  # conditions that took away what a few have
    values: list[Any] = field(default_factory=list)  # of outputs: marks of a variable, by record
    sets: list[Any] = field(default_factory=list)  # of outputs: which records there were
    close: int = 0  # so many outputs were about sets that differ from earlier ones by a few


@dataclass(repr=False)
class Session:
    """A run (confidential): the rules, whom a record belongs to, the data, results."""

    folder: Path
    limits: SafeLimits
    entity: str | None = None
    tell: Callable[[str], None] = lambda line: None
    witness: Witness | None = None
    given: Mapping[str, Path] = field(default_factory=dict)  # data files by their names
    data: DataSet = field(default_factory=DataSet)
    model: LastModel | None = None
    fitted: list[SafeResult] = field(default_factory=list)  # later models are compared with them
    history: UnitHistory = field(default_factory=UnitHistory)
    outputs: list[ShownOutput] = field(default_factory=list)
    quiet: bool = False  # whether it runs quietly
    line: int = 0
    touched: bool = False  # whether the command rests on single values of the data
    few: bool = False  # whether a comparison in the command holds for a few only
    plain: bool = True  # whether it may be said that the condition chose nobody
    copied: frozenset[str] = frozenset()  # variables with copied values that the command reads

    def __repr__(self) -> str:
        return "<Session (confidential)>"

    # --- what is shown ---------------------------------------------------------------

    def write(self, text: str) -> None:
        """Write public text to the log, unless the program runs quietly."""
        if not self.quiet:
            for line in text.split("\n"):
                self.tell(line)

    def show(self, result: SafeResult) -> None:
        """Show a safe result and remember it with its checks."""
        if not self.quiet:
            self.outputs.append(ShownOutput(self.line, result.command, result))
            if result.shown:
                self.write(result.shown)

    def withhold(self, command: str, rule: str, reason: str) -> None:
        """Say that something is not shown, and remember it."""
        check = Check(rule=rule, verdict=CheckVerdict.fail, reason=reason)
        self.show(SafeResult(command=command, shown=WITHHELD, checks=[check]))

    def refuse(self, command: str, reason: str) -> None:
        """Say that a command is never run, also where the program runs quietly."""
        self.tell(f"{refused_line(self.limits.language)}: {command}")
        check = Check(rule="refused", verdict=CheckVerdict.fail, reason=reason)
        result = SafeResult(command=command, shown="", checks=[check])
        self.outputs.append(ShownOutput(self.line, command, result))

    # --- data --------------------------------------------------------------------------

    def file(self, name: str) -> DataSet:
        """The microdata of a file: given to the run, or in the folder of the program."""
        text = name.strip().strip('"').replace("\\", "/")
        text += "" if Path(text).suffix else ".dta"
        path = self.given.get(text.rsplit("/", 1)[-1])
        if path is None:
            outside = "files outside the folder of the program are not opened"
            DoError.when(
                "://" in text or text.startswith(("~", "//")) or "\0" in text, outside, 603
            )
            path = (self.folder.resolve() / text).resolve()
            DoError.when(not path.is_relative_to(self.folder.resolve()), outside, 603)
        return self.numbered(read_data(path), path.resolve())

    def numbered(self, data: DataSet, path: Path) -> DataSet:
        """Number the records of microdata; those of a file that was read before keep theirs."""
        history = self.history
        start = len(history.owners)
        first, rows = history.files.get(path, (start, data.rows))
        first = first if rows == data.rows else start
        history.files.setdefault(path, (first, data.rows))
        data.records = np.arange(first, first + data.rows, dtype=np.int64)
        data.units = data.records + FIRST_RECORD
        entity = data.variables.get(self.entity or "")
        data.named = entity is not None
        if entity is not None:
            data.units = self._persons(entity)
        history.owners = np.concatenate(
            [history.owners[:first], data.whose, history.owners[first + data.rows :]]
        )
        history.key = hashlib.sha256(history.key + _digest(data)).digest()
        return data

    def _persons(self, entity: DataVariable) -> IntArray:
        """The number of whom each record is about, the same in all data; -1 where it is missing."""
        values = entity.values.astype(str) if entity.is_text else entity.values
        kinds, codes = np.unique(values, return_inverse=True)
        persons = self.history.persons
        numbers = [persons.setdefault(one, len(persons)) for one in kinds.tolist()]
        units = np.array(numbers, dtype=np.int64).reshape(-1)[codes]
        return np.where(entity.missing, -1, units)

    def named_units(self, rows: Any) -> list[Any] | None:
        """Whom some records are about, by the values of the entity; None if nothing says so."""
        if not self.data.named:
            return None
        names = list(self.history.persons)
        return [names[one] if one >= 0 else None for one in self.data.units[rows].tolist()]


def _digest(data: DataSet) -> bytes:
    """A digest of all numbers, the same in any order of the records."""
    sums = []
    for one in data.variables.values():
        if not one.is_text:
            bits = np.ascontiguousarray(one.values, dtype=np.float64).view(np.uint64)
            mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
            sums.append(int((mixed ^ (mixed >> np.uint64(32))).sum(dtype=np.uint64)))
    return repr(sums).encode()
