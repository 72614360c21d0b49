"""Tables of a batch in the layouts of τ-ARGUS: its output forms 1, 2, 4 and 5.

In: a `Suppression`, the number of its table, and the form with its options. Out: a file. Forms 1
(rows and columns) and 2 (a line per cell) may be published: `x` stands for a suppressed value,
`-` for an empty cell. Forms 4 (SBS) and 5 (cells with status and metadata) hold true values:
CONFIDENTIAL, readable by their owner only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.files import write_text
from discreet.protection.suppression.publish.suppression import Suppression
from discreet.rules import Reason
from discreet.tables import CellStatus, ProtectedTable, Table
from discreet_argus.cells import write_tab

#: Forms that hold true values.
CONFIDENTIAL_FORMS = ("sbs", "cells", "jj")
_SUPPRESSED, _EMPTY = "x", "-"
#: Numbers of statuses: of cells that are shown, hidden by a rule, and for others.
_SAFE, _RULE, _PROTECTED, _SECONDARY, _SECONDARY_MANUAL, _NO_RECORDS = 1, 3, 10, 11, 12, 14
_OF_REASONS = {"request": 4, "minimum_frequency": 5, "zero": 6, "manual": 9}
#: Letters of the SBS form, by the number of the status; F for the p% rule.
_FLAGS = {4: "B", 5: "A", 6: "B", 9: "B", 11: "D", 12: "D"}


def write_form(
    done: Suppression, number: int, target: Path, *, form: str, options: str, dominance: int = 0
) -> None:
    """Write one table in a form of τ-ARGUS, whatever the suffix of the file.

    Args:
        done: The tables with hidden cells.
        number: Which of them.
        target: The file.
        form: "csv", "pivot", "sbs" or "cells".
        options: Two letters with a sign each, such as "AS+QU-".
        dominance: How many contributors the dominance rule looks at; the SBS form says so.
    """
    chosen = {
        name for name in ("AS", "SE", "SO", "FL", "QU", "HL") if f"{name}+" in options.upper()
    }
    written = _WrittenTable(done, number, frozenset(chosen), dominance)
    if form == "cells":
        written.write_cells(target)
        return
    lines = {"csv": written.crossed, "pivot": written.listed, "sbs": written.flagged}[form]()
    text = "".join(f"{','.join(line)}\n" for line in lines)
    write_text(target, text, private=form in CONFIDENTIAL_FORMS)


@dataclass(frozen=True, repr=False)
class _WrittenTable:
    """A table on its way to a file. CONFIDENTIAL."""

    done: Suppression
    number: int
    options: frozenset[str]
    dominance: int

    @property
    def safe(self) -> ProtectedTable:
        return self.done.tables[self.number]

    @property
    def table(self) -> Table:
        return self.done.sources[self.number][0]

    def crossed(self) -> Iterator[list[str]]:
        """Form 1: the second variable across, a block for each code of the others."""
        values = {codes: text for codes, text, _ in self._cells()}
        listed = [list(dict.fromkeys(codes[at] for codes in values)) for at in range(self._width)]
        names = self._names()
        columns = listed[1] if self._width > 1 else [""]
        for at, layer in enumerate(itertools.product(*listed[2:])):
            if at:
                yield []
            yield from ([_quoted(n), _quoted(c)] for n, c in zip(names[2:], layer, strict=True))
            yield ["", *map(_quoted, columns if self._width > 1 else [self._measure])]
            for row in listed[0]:
                cells = ((row, column, *layer)[: self._width] for column in columns)
                yield [_quoted(row), *(values.get(codes, _EMPTY) for codes in cells)]

    def listed(self) -> Iterator[list[str]]:
        """Form 2: a line per cell."""
        status = "AS" in self.options or "SO" in self.options
        if "FL" in self.options:
            names = [*self._names(), *([] if "SO" in self.options else [self._measure])]
            yield [_quoted(name) for name in (*names, *(["Status"] if status else []))]
        numbers = self._public_status() if status else {}
        for codes, text, empty in self._cells():
            if empty and "SE" in self.options:
                continue
            own = [] if "SO" in self.options else [text]
            own += [str(numbers.get(codes, _NO_RECORDS))] if status else []
            yield [*map(_quoted, codes), *own]

    def flagged(self) -> Iterator[list[str]]:
        """Form 4: true values with a flag that says why a cell is hidden. CONFIDENTIAL."""
        status, place = self._status(), self._places()
        values, decimals = self.done.members.values[self.number], self.done.problem.decimals
        for at, codes in enumerate(place):
            empty = self.table.count[at] == 0
            if empty and "SE" in self.options:
                continue
            level = self.table.dimensions[0].levels[self.table.index[0][at]]
            head = [str(level)] if "HL" in self.options else []
            head += [_quoted(code) if "QU" in self.options else code for code in codes]
            value = f"{values[at] / 10**decimals:.{decimals}f}"
            yield [*head, value, str(self.table.count[at]), self._flag(at, int(status[at]))]

    def _flag(self, at: int, status: int) -> str:
        if status in (_SAFE, _PROTECTED):
            return "V"
        if status == _NO_RECORDS:
            return _EMPTY
        if status != _RULE:
            return _FLAGS[status]
        dominated = Reason(int(self.done.reason[self._numbers[at]])).name == "dominance"
        return ("B" if self.dominance == 1 else "C") if dominated else "F"

    def write_cells(self, target: Path) -> None:
        """Form 5: cells with status and levels, their metadata and hierarchies. CONFIDENTIAL."""
        asked: Any = self.done.sources[self.number][1]
        value = asked.value
        secondary = self._hidden & ~np.asarray(asked.sensitive)
        decimals = self.done.problem.decimals
        write_tab(
            self.table, target, value=value, primary=asked, decimals=decimals, secondary=secondary
        )

    # What cells are --------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        return len(self.safe.spanning)

    @property
    def _measure(self) -> str:
        return self.safe.figures[0].name if self.safe.figures else "Freq"

    def _names(self) -> list[str]:
        return [dimension.name for dimension in self.safe.spanning]

    def _cells(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        """Codes, the published value as text, and whether the cell is empty."""
        decimals, names = self.safe.figure_decimals(), self._names()
        records = set(itertools.compress(self._places(), (self.table.count != 0).tolist()))
        for row in self.safe.to_polars(complete=True, labels=False).iter_rows(named=True):
            codes = tuple(str(row[name]) for name in names)
            if row["status"] == CellStatus.suppressed.name:
                yield codes, _SUPPRESSED, False
            elif codes not in records:
                yield codes, _EMPTY, True
            else:
                yield codes, f"{row['value']:.{decimals}f}", False

    @property
    def _numbers(self) -> IntArray:
        """The number of each cell in the problem; -1 for cells that take no part."""
        return self.done.members.cells[self.number]

    @property
    def _hidden(self) -> BoolArray:
        hidden: BoolArray = self.done.members.hidden(self.done.pattern.hidden, self.number)
        return hidden

    def _places(self) -> list[tuple[str, ...]]:
        """The codes of each cell of the true table."""
        pairs = zip(self.table.dimensions, self.table.index, strict=True)
        return list(zip(*([own.codes[at] for at in part] for own, part in pairs), strict=True))

    def _status(self) -> IntArray:
        """The number of the status of each cell of the true table."""
        asked, size = self.done.sources[self.number][1], len(self.table)
        marked = getattr(asked, "secondary", np.zeros(size, dtype=np.bool_))
        fixed = getattr(asked, "fixed", np.zeros(size, dtype=np.bool_))
        status = np.where(fixed, _PROTECTED, _SAFE)
        status[self.table.count == 0] = _NO_RECORDS
        status[self._hidden] = np.where(marked, _SECONDARY_MANUAL, _SECONDARY)[self._hidden]
        number = np.maximum(self._numbers, 0)
        reason = np.where(self._hidden, self.done.reason[number], 0)
        for each in np.unique(reason[reason > 0]).tolist():
            status[reason == each] = _OF_REASONS.get(Reason(each).name, _RULE)
        return status.astype(np.int64)

    def _public_status(self) -> Mapping[tuple[str, ...], int]:
        """The status that may be published: as much of the reasons as readers may know."""
        status: Any = self._status()
        rule = self._hidden & (status < _SECONDARY)
        if self.done.reasons != "rule":
            status[rule] = _RULE if self.done.reasons == "kind" else _SECONDARY
            status[self._hidden & (status == _SECONDARY_MANUAL)] = _SECONDARY
        return dict(zip(self._places(), status.tolist(), strict=True))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
