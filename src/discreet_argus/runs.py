"""Suppression and audit of files, one by one or by a batch file (`.arb`).

In: a `.jj` file, a `.tab` file with its `.rda`, or a batch that names records or cells, rules,
methods, outputs. Out: a `.jj` file with the pattern (CONFIDENTIAL), or published tables. What a
batch asks for and is not done here is refused at once; nothing is written unless every sensitive
cell is proven to be protected.
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.errors import DiscreetWarning, SuppressionError
from discreet.files import check_writable, write_text
from discreet.protection.suppression import (
    Audit,
    CellState,
    Method,
    Progress,
    Suppression,
    audit_problem,
    build_problem,
    described_pattern,
    find_pattern,
    interval_lines,
    pattern_lines,
)
from discreet.publication import check_place, format_of, place_of, write
from discreet.rules import Reason
from discreet.tables import CellStatus, ProtectedTable, Table
from discreet_argus.batch import Batch, read_batch
from discreet_argus.batch_tables import judged_tables
from discreet_argus.cells import CellFile, read_tab, write_tab
from discreet_argus.jj import read_jj, repaired_problem, write_differences, write_jj
from discreet_argus.metadata import read_rda

#: Writes a protected table; handed in, so that formats are looked up by the caller.
TableWriter: TypeAlias = Callable[[ProtectedTable, Path], Any]


def run_batch(
    path: str | os.PathLike[str],
    *,
    write: TableWriter | None = None,
    progress: Progress | None = None,
) -> list[Suppression]:
    """Carry out a batch.

    Args:
        path: The batch file; paths in it are meant from its folder.
        write: Writes outputs of form 3; the suffix of the file chooses the format. Without,
            they are not written. Other forms have the layout of τ-ARGUS, whatever the suffix.
        progress: Is told what is being done.

    Returns:
        One suppression for each method asked for, in their order.
    """
    plan = read_batch(path)
    judged = judged_tables(plan)
    # Tables of one response share cells, at least their total: apart they can open each other.
    apart = sorted({step.table for step in plan.protections} - {0})
    if len({plan.tables[number - 1].response for number in apart}) < len(apart):
        message = (
            f"tables {', '.join(map(str, apart))} are protected separately and may disclose each "
            "other: use table 0 for all"
        )
        warnings.warn(message, DiscreetWarning, stacklevel=2)
    done, last = [], {}
    for step in plan.protections:
        chosen = range(len(judged)) if step.table == 0 else [step.table - 1]
        result = Suppression.of(
            [(judged[at].table, judged[at].primary) for at in chosen],
            method=cast(Method, step.method),
            value=judged[chosen[0]].primary.value,
            decimals=judged[chosen[0]].decimals,
            cost=plan.tables[chosen[0]].cost,
            time_limit=None if step.minutes is None else 60 * step.minutes,
            progress=progress,
        )
        done.append(result)
        last.update({at: (result, number) for number, at in enumerate(chosen)})
    _write(plan, last, write)
    return done


def _write(
    plan: Batch, last: Mapping[int, tuple[Suppression, int]], write: TableWriter | None
) -> None:
    """The outputs, each from the last method that protected its table."""
    for output in plan.outputs:
        done, number = last[output.table - 1]
        target = plan.file(output.path)
        if output.form == "jj":
            write_jj(done.problem.with_hidden(done.pattern.hidden), target)
        elif output.form != "codes":
            rules = plan.tables[output.table - 1].rules
            tops = max((int(rule.numbers[0]) for rule in rules if rule.name == "NK"), default=0)
            how: dict[str, Any] = {"form": output.form, "options": output.options}
            write_form(done, number, target, **how, dominance=tops)
        elif write is not None:
            write(done.tables[number], target)


#: Names that batches give to files of text; they are written as CSV.
_TEXTS = (".txt", ".asc", ".dat", ".tab")


def carry_out_batch(
    path: Path, *, language: str, progress: Progress | None = None
) -> tuple[str, dict[str, Any]]:
    """Carry out a batch for people: what was done in words, and plain values for JSON."""
    plan = read_batch(path)
    outputs = [(output.form, plan.file(output.path)) for output in plan.outputs]
    for form, place in outputs:
        check_place(place)
        if form == "codes" and place.suffix.lower() not in _TEXTS:
            format_of(place_of(place))

    def publish(safe: ProtectedTable, place: Path) -> None:
        kind = "csv" if place.suffix.lower() in _TEXTS else None
        write(safe, place, format=kind, language=language)

    done = run_batch(path, write=publish, progress=progress)
    notes = list(dict.fromkeys(note for result in done for note in result.notes))
    if not done:
        notes.append("the batch has no <SUPPRESS>")
    if not outputs:
        notes.append("the batch has no <WRITETABLE>: nothing is written")
    described: dict[str, Any] = {
        "batch": path.name,
        "steps": [{"method": one.pattern.method, "tables": len(one.tables)} for one in done],
        "notes": notes,
        "out": [str(place) for _, place in outputs],
    }
    lines = [f"{path} is done.", *(f"Note: {note}." for note in notes)]
    for form, place in outputs:
        secret = " (CONFIDENTIAL: true values)" if form in CONFIDENTIAL_FORMS else ""
        lines.append(f"Written: {place}{secret}")
    return "\n".join(lines), described


def suppress_file(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    metadata: str | os.PathLike[str] | None = None,
    method: Method = "auto",
    time_limit: float | None = None,
    repair: bool = False,
    differences: str | os.PathLike[str] | None = None,
    anew: bool = False,
    progress: Progress | None = None,
    publish: TableWriter | None = None,
) -> tuple[str, dict[str, Any]]:
    """Hide cells of a file."""
    begin = time.monotonic()
    place, target = Path(source), Path(out)
    check_writable(target.parent)
    changed = 0
    search: dict[str, Any] = {"time_limit": time_limit, "progress": progress}
    if not _is_jj(place) and (differences is not None or anew):
        message = "only problems (.jj) have differences and secondary suppressions"
        hint = "remove --differences and --anew"
        raise SuppressionError(message, code="option", where=str(place), hint=hint)
    if _is_jj(place) and (not _is_jj(target) or target.suffix == ".gz"):
        message = "a problem has no codes: write its suppression pattern as a .jj file"
        hint = "use the suffix .jj"
        raise SuppressionError(message, code="output-file", where=str(target), hint=hint)
    if _is_jj(place):
        problem = read_jj(place)
        if anew:
            problem = problem.with_hidden(problem.state == CellState.primary)
        if differences is not None:
            write_differences(problem, differences)
        if repair:
            problem, differing = repaired_problem(problem)
            changed = int(np.count_nonzero(differing))
        _warn_of_nothing(place, problem.state == CellState.primary)
        pattern = find_pattern(problem, method, begin=begin, **search)
        write_jj(problem.with_hidden(pattern.hidden), target)
        told_notes = pattern.notes
    else:
        cells = _cells(place, metadata)
        assert cells.primary is not None  # refused above
        _warn_of_nothing(place, cells.primary.sensitive)
        options: dict[str, Any] = {"decimals": cells.decimals, "value": cells.value}
        options |= {"repair": repair, **search}
        done = Suppression.of((cells.table, cells.primary), method=method, **options)
        pattern = done.pattern
        if _is_jj(target):
            write_jj(done.problem.with_hidden(pattern.hidden), target)
        elif publish is not None:
            publish(done.tables[0], target)
        told_notes = done.notes
    told = described_pattern(pattern)
    told["notes"] = list(told_notes)
    lines = [*pattern_lines(told), *(f"Note: {note}." for note in told_notes)]
    lines.append(f"Written: {target}")
    if changed:
        told["repaired"] = changed
        lines.insert(0, f"{changed:,} totals were recalculated.")
    return "\n".join(lines), {"table": place.name, **told, "out": str(target)}


def _warn_of_nothing(place: Path, sensitive: BoolArray) -> None:
    if not sensitive.any():
        message = f"no cell of {place.name} is sensitive; no cell is suppressed"
        warnings.warn(message, DiscreetWarning, stacklevel=3)


def audit_file(
    source: str | os.PathLike[str],
    *,
    metadata: str | os.PathLike[str] | None = None,
    intervals: bool = False,
) -> tuple[str, dict[str, Any]]:
    """Audit a file with hidden cells."""
    place = Path(source)
    if _is_jj(place):
        problem = read_jj(place)
    else:
        cells = _cells(place, metadata)
        asked = (cells.table, cells.primary)
        problem, _ = build_problem(asked, value=cells.value, decimals=cells.decimals)
    problem.check()
    audit: Audit = audit_problem(problem, problem.hidden, intervals=intervals)
    described = {**audit.described(), "table": place.name}
    text = audit.text()
    if intervals:
        described["intervals"] = audit.intervals().drop("value").to_dicts()
        text = "\n".join([text, *interval_lines(described["intervals"], ["cell"])])
    return text, described


def _is_jj(place: Path) -> bool:
    return place.name.lower().removesuffix(".gz").endswith(".jj")


def _cells(place: Path, metadata: str | os.PathLike[str] | None) -> CellFile:
    if metadata is None:
        message = ".tab files require --metadata FILE.rda"
        hint = "add --metadata FILE.rda, or use a .jj file"
        raise SuppressionError(message, code="metadata", where=str(place), hint=hint)
    cells = read_tab(place, read_rda(metadata, of="cells"))
    if cells.primary is None:
        message = "the file does not mark sensitive cells"
        hint = "describe its column of status with <STATUS>"
        raise SuppressionError(message, code="status", where=str(place), hint=hint)
    return cells


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
    """Write one table in a form of τ-ARGUS, whatever the suffix of the file."""
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
        status, place = self._status().tolist(), self._places()
        reasons = self.done.reason[np.maximum(self._numbers, 0)]
        flags = {_SAFE: "V", _PROTECTED: "V", _NO_RECORDS: _EMPTY, _RULE: "F", **_FLAGS}
        values, decimals = self.done.members.values[self.number], self.done.problem.decimals
        for at, codes in enumerate(place):
            empty = self.table.count[at] == 0
            if empty and "SE" in self.options:
                continue
            level = self.table.dimensions[0].levels[self.table.index[0][at]]
            head = [str(level)] if "HL" in self.options else []
            head += [_quoted(code) if "QU" in self.options else code for code in codes]
            value = f"{values[at] / 10**decimals:.{decimals}f}"
            flag = flags[status[at]]
            if status[at] == _RULE and Reason(int(reasons[at])).name == "dominance":
                flag = "B" if self.dominance == 1 else "C"
            yield [*head, value, str(self.table.count[at]), flag]

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
        for item in np.unique(reason[reason > 0]).tolist():
            status[reason == item] = _OF_REASONS.get(Reason(item).name, _RULE)
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
