"""Files of cells (`.tab`) with the metadata that describe them. CONFIDENTIAL.

In: one cell a line – codes, value, and as described frequency, largest contributions,
status, protection levels; or a `Table` and its sensitive cells. Out: a `Table` and what is
said about its cells, totals that the file lacks added up from its finest cells; or files
with metadata (`.rda`) and hierarchies (`.hrc`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.arrays import BoolArray, CellIndex, FloatArray, PositionArray, SmallIntArray
from discreet.errors import Problem, SuppressionError
from discreet.files import write_text
from discreet.rules import CellVerdict, NothingSensitive, Primary, Reason, primary
from discreet.tables import Contributions, Dimension, Table, parts_of, sort_cells
from discreet_argus.metadata import ArgusMetadata, ArgusVariable, write_rda
from discreet_argus.texts import (
    ArgusText,
    open_text,
    parsed_number,
    refuse_lines,
    split_rows,
    without_comment,
)


def _with_all_totals(
    dimensions: Sequence[Dimension],
    index: Sequence[PositionArray],
    numbers: dict[str, FloatArray],
    status: SmallIntArray | None,
    metadata: ArgusMetadata,
) -> tuple[list[PositionArray], dict[str, FloatArray], SmallIntArray | None]:
    """All cells above the finest ones given; totals given keep their status, not their numbers."""
    import polars as pl

    from discreet.release import with_missing_totals

    finest = np.ones(len(index[0]), dtype=np.bool_)
    for dimension, part in zip(dimensions, index, strict=True):
        finest &= dimension.is_leaf[part]
    roles = {variable.name: variable.role for variable in metadata.variables}
    tops = [name for name in numbers if roles[name] == "top"]
    units = {
        name: 10.0 ** metadata.variable(name).decimals
        for name in numbers
        if roles[name] not in ("lower", "upper", "top")
    }
    columns: dict[str, Any] = {
        dimension.name: pl.Series(dimension.codes).gather(part[finest])
        for dimension, part in zip(dimensions, index, strict=True)
    }
    columns |= {
        name: np.rint(numbers[name][finest] * unit).astype(np.int64) for name, unit in units.items()
    }
    columns |= {name: numbers[name][finest] for name in tops}
    trees = [dimension.classifications[0] for dimension in dimensions]
    whole = with_missing_totals(pl.DataFrame(columns), trees, sums=list(units), largest=tops)
    parts = [
        np.array([dimension.index[code] for code in whole[dimension.name]], dtype=np.int32)
        for dimension in dimensions
    ]
    order = sort_cells(dimensions, parts)
    cells = [part[order] for part in parts]
    summed = {name: whole[name].to_numpy()[order] / unit for name, unit in units.items()}
    summed |= {name: whole[name].fill_null(0.0).to_numpy()[order] for name in tops}
    places = CellIndex.of(dimensions).find(cells, index)
    if lost := int((places < 0).sum()):
        hint = 'add their parts, or use totals="given"'
        raise SuppressionError(f"{lost:,} totals lack interior cells", code="additivity", hint=hint)
    for level in (*metadata.role("lower"), *metadata.role("upper")):
        summed[level.name] = np.zeros(len(order))
        summed[level.name][places] = numbers[level.name]
    if status is None:
        return cells, summed, None
    kept = np.zeros(len(order), dtype=np.int8)
    kept[places] = status
    return cells, summed, kept


#: Letters of empty cells and of secondary suppressions.
EMPTY_STATUS = "E"
SECONDARY_STATUS = "M"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class CellFile:
    """Content of a file of cells (confidential)."""

    #: The cells. Without a frequency in the file each cell that is not empty counts as one record
    table: Table
    value: str  # name of the value column in `table.sums`
    decimals: int  # its digits after the decimal point
    primary: Primary | None  # what the file says about its cells; None if it has no status
    shadow: str  # name of the column that rules look at; that of the value if there is none
    cost: str  # name of the column of costs, or empty

    def __repr__(self) -> str:
        return f"<CellFile (confidential): {len(self.table):,} cells>"


def read_tab(
    path: str | os.PathLike[str],
    metadata: ArgusMetadata,
    *,
    totals: Literal["given", "add"] = "given",
    encoding: str = "utf-8",
) -> CellFile:
    r"""Read a file of cells.

    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "some.tab"
    >>> _ = file.write_text("Total;7;3\nm;3;1\nw;4;2")
    >>> sex = ArgusVariable(name="sex", coded=True)
    >>> turnover = ArgusVariable(name="turnover", numeric=True)
    >>> count = ArgusVariable(name="n", role="frequency")
    >>> described = ArgusMetadata(form="table", separator=";", variables=(sex, turnover, count))
    >>> read_tab(file, described).table
    <Table some (confidential): sex, 3 cells>
    """
    text = open_text(path, encoding)
    spanning, response = _described(text, metadata)
    lines = _CellLines(text, metadata)
    placed = [lines.codes(variable) for variable in spanning]
    dimensions, index = [dimension for dimension, _ in placed], [part for _, part in placed]
    numbers, status = lines.numbers(), lines.status()
    refuse_lines(text, lines.problems)
    lines.refuse_doubled(dimensions, index)
    order = sort_cells(dimensions, index)
    index = [part[order] for part in index]
    numbers = {name: column[order] for name, column in numbers.items()}
    status = None if status is None else status[order]
    if totals == "add":
        index, numbers, status = _with_all_totals(dimensions, index, numbers, status, metadata)
    value = numbers[response.name]
    frequency = metadata.role("frequency")
    empty = np.zeros(len(value), np.bool_) if status is None else status == -1
    if (empty & (value != 0)).any():
        message = (
            f"{int((empty & (value != 0)).sum()):,} cells are marked as empty but have a value"
        )
        raise SuppressionError(message, code="argus-file", where=text.path.name)
    count = numbers[frequency[0].name] if frequency else np.where(empty, 0, 1)
    roles = {role: metadata.role(role) for role in ("shadow", "cost", "top", "lower", "upper")}
    shadow = roles["shadow"][0].name if roles["shadow"] else response.name
    cost = roles["cost"][0].name if roles["cost"] else ""
    sums = {name: numbers[name] for name in dict.fromkeys((response.name, shadow, cost)) if name}
    whole = count.astype(np.int64)
    contributions = {}
    if roles["top"]:  # the largest contributions that the file has, for rules to look at
        top = np.stack([numbers[variable.name] for variable in roles["top"]], axis=1)
        beyond = np.arange(top.shape[1])[None, :] >= whole[:, None]
        total, unknown = numbers[shadow], np.full(len(whole), np.nan)
        contributions[shadow] = Contributions(
            column=shadow,
            top=np.where(beyond, np.nan, top),
            count=whole,
            nonzero=whole,
            total=total,
            plain=total,
            absolute=np.abs(total),
            low=unknown,
            high=unknown,
        )
    table = Table(
        dimensions=tuple(dimensions),
        index=tuple(index),
        count=whole,
        sums=sums,
        contributions=contributions,
        name=text.path.name.split(".")[0],
        parts=parts_of(dimensions, index, len(whole)) if len(whole) else None,
    )
    found = None
    if status is not None:
        verdict = np.maximum(status, 0).astype(np.int8)
        sensitive = verdict == CellVerdict.sensitive
        levels: dict[str, Any] = {
            role: np.where(sensitive, numbers[roles[role][0].name], 0.0)
            for role in ("lower", "upper")
            if roles[role]
        }
        reason = np.where(sensitive, Reason.manual, Reason.none).astype(np.int8)
        blank = primary(table, [NothingSensitive()], value=response.name)
        found = replace(blank, verdict=verdict, reason=reason, **levels)
    return CellFile(
        table=table,
        value=response.name,
        decimals=response.decimals,
        primary=found,
        shadow=shadow,
        cost=cost,
    )


def _described(
    text: ArgusText, metadata: ArgusMetadata
) -> tuple[list[ArgusVariable], ArgusVariable]:
    """The spanning variables and the value column."""
    problems = []
    spanning = [variable for variable in metadata.variables if variable.coded]
    plain = [v for v in metadata.variables if v.numeric and not v.role and not v.coded]
    if metadata.form != "table":
        problems.append(Problem("the metadata describe records, not cells", str(text.path)))
    if not spanning:
        problems.append(Problem("no spanning variable", str(text.path), "<RECODEABLE>"))
    if len(plain) != 1:
        message = f"a file of cells needs one value column, got {len(plain)}"
        problems.append(Problem(message, str(text.path), "<NUMERIC> without another role"))
    refuse_lines(text, problems)
    return spanning, plain[0]


class _CellLines:
    """The fields by variable, and the line of each cell; problems are kept."""

    def __init__(self, text: ArgusText, metadata: ArgusMetadata) -> None:
        lines = [(at, without_comment(line)) for at, line in text.lines]
        lines = [(at, line) for at, line in lines if line.strip()]
        names = [variable.name for variable in metadata.variables]
        self.columns = split_rows(text, lines, metadata.separator, names)
        self.metadata = metadata
        self.problems: list[Problem] = []
        self._rows = [at for at, _ in lines]
        self._text = text

    def _wrong(self, bad: BoolArray, what: str) -> None:
        rows = (self._rows[at] for at in np.flatnonzero(bad))
        self.problems += [Problem(what, self._text.place(row)) for row in rows]

    def codes(self, variable: ArgusVariable) -> tuple[Dimension, PositionArray]:
        """A spanning variable, and the position of the code of each cell."""
        codes = self.columns[variable.name]
        tree = self.metadata.classification(variable.name, codes)
        dimension = Dimension(classifications=(tree,))
        place = np.array([dimension.index.get(code, -1) for code in codes], dtype=np.int32)
        self.problems += [
            Problem(
                f"code {codes[at]!r} of {variable.name} is not in its classification",
                self._text.place(self._rows[at]),
            )
            for at in np.flatnonzero(place < 0).tolist()
        ]
        return dimension, place

    def numbers(self) -> dict[str, FloatArray]:
        """The numbers of all variables that hold some."""
        found = {}
        for variable in self.metadata.variables:
            if variable.coded or variable.role == "status":
                continue
            values = [parsed_number(field) for field in self.columns[variable.name]]
            column = np.array([np.nan if value is None else value for value in values])
            self._wrong(np.isnan(column), f"{variable.name} is not a number")
            if variable.role == "frequency":
                bad = (column < 0) | ((column != np.floor(column)) & ~np.isnan(column))
                self._wrong(bad, f"{variable.name} must be a whole number of at least 0")
            found[variable.name] = column
        return found

    def status(self) -> SmallIntArray | None:
        """The verdict on each cell; -1 for empty ones."""
        listed = self.metadata.role("status")
        if not listed:
            return None
        safe, unsafe, protected = self.metadata.letters
        meaning = {
            safe: CellVerdict.free,
            unsafe: CellVerdict.sensitive,
            protected: CellVerdict.fixed,
            SECONDARY_STATUS: CellVerdict.secondary,
            EMPTY_STATUS: -1,
            "": CellVerdict.free,
        }
        letters = self.columns[listed[0].name]
        known = ", ".join(letter for letter in meaning if letter)
        self.problems += [
            Problem(f"unknown status {letter!r}", self._text.place(row), f"known: {known}")
            for row, letter in zip(self._rows, letters, strict=True)
            if letter not in meaning
        ]
        return np.array([meaning.get(letter, CellVerdict.free) for letter in letters], np.int8)

    def refuse_doubled(
        self, dimensions: Sequence[Dimension], index: Sequence[PositionArray]
    ) -> None:
        """Raise an error that names the cells that stand twice."""
        numbers, _ = CellIndex.of(dimensions).joined(index)
        again = np.ones(len(numbers), dtype=np.bool_)
        again[np.unique(numbers, return_index=True)[1]] = False
        names = ", ".join(dimension.name for dimension in dimensions)
        self._wrong(again, f"a cell with the same codes of {names} precedes it")
        refuse_lines(self._text, self.problems)


def write_tab(
    table: Table,
    path: str | os.PathLike[str],
    *,
    value: str | None = None,
    primary: Primary | None = None,
    decimals: int = 0,
    secondary: BoolArray | None = None,
) -> ArgusMetadata:
    """Write the cells of a table, its metadata (`.rda`) and hierarchies (`.hrc`) beside it.

    All files are readable by their owner only, but for the hierarchies.
    """
    place = Path(path)
    if any(len(dimension.classifications) > 1 for dimension in table.dimensions):
        message = "the format needs nested classifications"
        hint = "write a table for each"
        raise SuppressionError(message, code="argus-file", where=table.name, hint=hint)
    variables = [
        ArgusVariable(
            name=dimension.name,
            coded=True,
            total=dimension.total,
            hierarchy="" if dimension.is_leaf[1:].all() else f"{place.stem}_{dimension.name}.hrc",
        )
        for dimension in table.dimensions
    ]
    columns: list[Any] = []
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        wrong = [code for code in dimension.codes if '"' in code or "\n" in code]
        if wrong:
            message = f"code {wrong[0]!r} has a quote or a line break"
            raise SuppressionError(message, code="argus-file", where=dimension.name)
        columns.append([f'"{dimension.codes[at]}"' for at in part.tolist()])
    measure = value or "count"
    variables.append(ArgusVariable(name=measure, numeric=True, decimals=decimals if value else 0))
    variables.append(ArgusVariable(name="frequency", role="frequency"))
    amounts = table.count.tolist() if value is None else table.sums[value].tolist()
    columns.append([f"{amount:.{decimals if value else 0}f}" for amount in amounts])
    columns.append([str(count) for count in table.count.tolist()])
    held = None if value is None or secondary is None else table.contributions.get(value)
    tops = np.zeros((len(table), 0)) if held is None else np.nan_to_num(held.top)
    variables += [
        ArgusVariable(name=f"top{at}", numeric=True, role="top", decimals=decimals)
        for at in range(1, tops.shape[1] + 1)
    ]
    columns += [[f"{amount:.{decimals}f}" for amount in top] for top in tops.T.tolist()]
    if primary is not None:
        variables.append(ArgusVariable(name="status", role="status"))
        variables += [
            ArgusVariable(name=role, numeric=True, role=role, decimals=decimals)
            for role in ("lower", "upper")
        ]
        hidden = np.zeros(len(table), dtype=np.bool_) if secondary is None else secondary
        letters = np.where(primary.fixed, "P", "S")
        letters[table.count == 0] = EMPTY_STATUS
        letters[primary.secondary | hidden] = SECONDARY_STATUS
        letters[primary.sensitive] = "U"
        columns.append(letters.tolist())
        columns += [
            [f"{amount:.{decimals}f}" for amount in level.tolist()]
            for level in (primary.lower, primary.upper)
        ]
    metadata = ArgusMetadata(
        form="table", separator=";", variables=tuple(variables), folder=place.parent
    )
    lines = (";".join(row) for row in zip(*columns, strict=True))
    write_text(place, "".join(f"{line}\n" for line in lines), private=True)
    for dimension, variable in zip(table.dimensions, variables, strict=False):
        if variable.hierarchy:
            dimension.classifications[0].write(place.parent / variable.hierarchy)
    write_rda(metadata, place.with_suffix(".rda"))
    return metadata
