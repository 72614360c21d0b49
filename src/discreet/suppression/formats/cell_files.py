"""Files of cells (`.tab`) with the metadata that describe them.

In: one cell a line – codes, value, and as described frequency, largest contributions,
status, protection levels. Out: a `Table` and what is said about its cells.
CONFIDENTIAL.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem, SuppressionError
from discreet.rules import Primary, Reason, Verdict
from discreet.suppression.formats.metadata import ArgusVariable, Metadata
from discreet.suppression.formats.summing import summed_up
from discreet.suppression.formats.tokens import (
    Text,
    fields,
    number,
    open_text,
    refuse_lines,
    without_comment,
)
from discreet.tables import Contributions, Dimension, Table
from discreet.tables.parts import parts_of
from discreet.tables.table import sort_cells

__all__ = ["EMPTY", "SECONDARY", "CellFile", "read_tab"]

IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]

#: Letters of empty cells and of secondary suppressions.
EMPTY = "E"
SECONDARY = "M"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CellFile:
    """What a file of cells holds (confidential).

    Args:
        table: The cells. Without a frequency in the file each cell that is not empty
            counts as one record.
        value: Name of the value column in `table.sums`.
        decimals: Its digits after the decimal point.
        primary: What the file says about its cells; None if it has no status.
        shadow: Name of the column that rules look at; that of the value if there is none.
        cost: Name of the column of costs, or empty.
    """

    table: Table
    value: str
    decimals: int
    primary: Primary | None
    shadow: str
    cost: str

    def __repr__(self) -> str:
        return f"<CellFile (confidential): {len(self.table):,} cells>"


def read_tab(
    path: str | os.PathLike[str],
    metadata: Metadata,
    *,
    totals: Literal["given", "add"] = "given",
    encoding: str = "utf-8",
) -> CellFile:
    r"""Read a file of cells.

    Args:
        path: The file.
        metadata: Its description, `read_rda(…, of="cells")`.
        totals: Whether totals are as given, or are added up from the finest cells; the
            status of those given stays.
        encoding: Encoding of the file.

    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "some.tab"
    >>> _ = file.write_text("Total;7;3\nm;3;1\nw;4;2")
    >>> sex = ArgusVariable(name="sex", coded=True)
    >>> turnover = ArgusVariable(name="turnover", numeric=True)
    >>> count = ArgusVariable(name="n", role="frequency")
    >>> described = Metadata(form="table", separator=";", variables=(sex, turnover, count))
    >>> read_tab(file, described).table
    <Table some (confidential): sex, 3 cells>
    """
    text = open_text(path, encoding)
    spanning, response = _described(text, metadata)
    rows, columns = _columns(text, metadata)
    dimensions, index = [], []
    problems: list[Problem] = []
    for variable in spanning:
        codes = columns[variable.name]
        dimension = Dimension(classifications=(metadata.classification(variable.name, codes),))
        place = np.array([dimension.index.get(code, -1) for code in codes], dtype=np.int32)
        what = "code {!r} of " + variable.name + " is not in its classification"
        problems += [
            Problem(what.format(codes[at]), text.place(rows[at]))
            for at in np.flatnonzero(place < 0).tolist()
        ]
        dimensions.append(dimension)
        index.append(place)
    numbers = _numbers(text, metadata, rows, columns, problems)
    status = _status(text, metadata, rows, columns, problems)
    refuse_lines(text, problems)
    _refuse_doubled(text, rows, dimensions, index)
    order = sort_cells(dimensions, index)
    index = [part[order] for part in index]
    numbers = {name: column[order] for name, column in numbers.items()}
    status = None if status is None else status[order]
    if totals == "add":
        index, numbers, status = summed_up(dimensions, index, numbers, status, metadata)
    return _cell_file(metadata, response, dimensions, index, numbers, status, text)


def _described(text: Text, metadata: Metadata) -> tuple[list[ArgusVariable], ArgusVariable]:
    """The spanning variables and the value column."""
    problems = []
    spanning = [variable for variable in metadata.variables if variable.coded]
    plain = [v for v in metadata.variables if v.numeric and not v.role and not v.coded]
    if metadata.form != "table":
        problems.append(Problem("the metadata describe records, not cells", str(text.path)))
    if not spanning:
        problems.append(Problem("no variable spans the table", str(text.path), "<RECODEABLE>"))
    if len(plain) != 1:
        what = f"a file of cells has one value column, {len(plain)} are described"
        problems.append(Problem(what, str(text.path), "<NUMERIC> without another role"))
    refuse_lines(text, problems)
    return spanning, plain[0]


def _columns(text: Text, metadata: Metadata) -> tuple[list[int], dict[str, list[str]]]:
    """The fields by variable, and the line of each cell."""
    rows, lines, problems = [], [], []
    width = len(metadata.variables)
    for at, line in text.lines:
        bare = without_comment(line)
        if not bare.strip():
            continue
        row = fields(bare, metadata.separator)
        if len(row) != width:
            problems.append(Problem(f"{len(row)} fields, {width} are described", text.place(at)))
        rows.append(row)
        lines.append(at)
    refuse_lines(text, problems)
    names = [variable.name for variable in metadata.variables]
    return lines, {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _numbers(
    text: Text,
    metadata: Metadata,
    rows: Sequence[int],
    columns: dict[str, list[str]],
    problems: list[Problem],
) -> dict[str, FloatArray]:
    found = {}
    for variable in metadata.variables:
        if variable.coded or variable.role == "status":
            continue
        values = [number(field) for field in columns[variable.name]]
        what = f"{variable.name} is not a number"
        problems += [
            Problem(what, text.place(row))
            for row, value in zip(rows, values, strict=True)
            if value is None
        ]
        column = np.array([np.nan if value is None else value for value in values])
        whole = variable.role == "frequency"
        if whole and ((column < 0) | (column != np.floor(column))).any():
            what = f"{variable.name} is a whole number of at least 0"
            bad = np.flatnonzero((column < 0) | (column != np.floor(column))).tolist()
            problems += [
                Problem(what, text.place(rows[at])) for at in bad if values[at] is not None
            ]
        found[variable.name] = column
    return found


def _status(
    text: Text,
    metadata: Metadata,
    rows: Sequence[int],
    columns: dict[str, list[str]],
    problems: list[Problem],
) -> npt.NDArray[np.int8] | None:
    """The verdict on each cell; -1 for empty ones."""
    listed = metadata.role("status")
    if not listed:
        return None
    safe, unsafe, protected = metadata.letters
    meaning = {
        safe: Verdict.free,
        unsafe: Verdict.sensitive,
        protected: Verdict.fixed,
        SECONDARY: Verdict.secondary,
        EMPTY: -1,
        "": Verdict.free,
    }
    letters = columns[listed[0].name]
    known = ", ".join(letter for letter in meaning if letter)
    problems += [
        Problem(f"the status {letter!r} is not known", text.place(row), f"known: {known}")
        for row, letter in zip(rows, letters, strict=True)
        if letter not in meaning
    ]
    return np.array([meaning.get(letter, Verdict.free) for letter in letters], dtype=np.int8)


def _refuse_doubled(
    text: Text, rows: Sequence[int], dimensions: Sequence[Dimension], index: Sequence[CodeArray]
) -> None:
    order = np.lexsort(tuple(reversed(index)))
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for part in index:
        same &= part[order][1:] == part[order][:-1]
    again = np.sort(order[1:][same]).tolist()
    names = ", ".join(dimension.name for dimension in dimensions)
    what = f"a cell with the same codes of {names} stands above"
    refuse_lines(text, [Problem(what, text.place(rows[at])) for at in again])


def _cell_file(
    metadata: Metadata,
    response: ArgusVariable,
    dimensions: Sequence[Dimension],
    index: Sequence[CodeArray],
    numbers: dict[str, FloatArray],
    status: npt.NDArray[np.int8] | None,
    text: Text,
) -> CellFile:
    value = numbers[response.name]
    frequency = metadata.role("frequency")
    empty = np.zeros(len(value), np.bool_) if status is None else status == -1
    if (empty & (value != 0)).any():
        raise SuppressionError(
            f"{int((empty & (value != 0)).sum()):,} cells are called empty and have a value",
            code="argus-file",
            where=text.path.name,
        )
    count = numbers[frequency[0].name] if frequency else np.where(empty, 0, 1)
    roles = {role: metadata.role(role) for role in ("shadow", "cost", "top", "lower", "upper")}
    shadow = roles["shadow"][0].name if roles["shadow"] else response.name
    cost = roles["cost"][0].name if roles["cost"] else ""
    sums = {name: numbers[name] for name in dict.fromkeys((response.name, shadow, cost)) if name}
    whole = count.astype(np.int64)
    table = Table(
        dimensions=tuple(dimensions),
        index=tuple(index),
        count=whole,
        sums=sums,
        contributions=_contributions(shadow, numbers, roles["top"], whole),
        name=text.path.name.split(".")[0],
        parts=parts_of(dimensions, index, len(whole)) if len(whole) else None,
    )
    primary = None
    if status is not None:
        primary = _primary(table, response.name, status, numbers, roles)
    return CellFile(
        table=table,
        value=response.name,
        decimals=response.decimals,
        primary=primary,
        shadow=shadow,
        cost=cost,
    )


def _contributions(
    shadow: str, numbers: dict[str, FloatArray], tops: Sequence[ArgusVariable], count: IntArray
) -> dict[str, Contributions]:
    """The largest contributions that the file has, for rules to look at."""
    if not tops:
        return {}
    top = np.stack([numbers[variable.name] for variable in tops], axis=1)
    beyond = np.arange(len(tops))[None, :] >= count[:, None]
    total, unknown = numbers[shadow], np.full(len(count), np.nan)
    return {
        shadow: Contributions(
            column=shadow,
            top=np.where(beyond, np.nan, top),
            count=count,
            nonzero=count,
            total=total,
            plain=total,
            absolute=np.abs(total),
            low=unknown,
            high=unknown,
        )
    }


def _primary(
    table: Table,
    value: str,
    status: npt.NDArray[np.int8],
    numbers: dict[str, FloatArray],
    roles: dict[str, list[ArgusVariable]],
) -> Primary:
    verdict = np.maximum(status, 0).astype(np.int8)
    sensitive = verdict == Verdict.sensitive
    nothing = np.zeros(len(table))
    levels = {
        role: np.where(sensitive, numbers[roles[role][0].name], 0.0) if roles[role] else nothing
        for role in ("lower", "upper")
    }
    unknown = np.full(len(table), np.nan)
    return Primary(
        table=table.name,
        value=value,
        verdict=verdict,
        reason=np.where(sensitive, Reason.manual, Reason.none).astype(np.int8),
        rules=np.zeros((0, len(table)), dtype=np.bool_),
        lower=levels["lower"],
        upper=levels["upper"],
        sliding=nothing,
        cost=unknown,
        low=unknown,
        high=unknown,
    )
