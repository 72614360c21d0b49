"""Protection: cells that callers counted, protected as the library protects its own.

In: opened parameters (SECRET) and cells (CONFIDENTIAL). Out: protected cells in the same order, or
a protected table; here the confidentiality line is crossed. The service adds nothing to the
figures: all are made by the functions of the library, so that they are the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.classifications import Classification
from discreet.errors import PerturbationError, Problem
from discreet.keygrid import KeyGrid
from discreet.protection.noise import (
    NON_ADDITIVITY,
    CountCells,
    perturb_magnitudes,
    perturbed_cells,
)
from discreet.release import CellProgramme, Magnitude, Parameters, protect_by_programme
from discreet.tables import (
    Dimension,
    Note,
    ProtectedTable,
    Table,
    ValueColumns,
    parts_of,
    read_values,
)
from discreet_service.cells.bodies import as_numbers
from discreet_service.cells.columns import HandedColumns, refuse
from discreet_service.problems import ServiceError

Shown = Literal["sum", "mean"]
#: What a table is made for: which of its figures and parts must be stated.
Purpose = Literal["counts", "figures", "parts"]

#: Cells of values that are worked on at once.
_PIECE = 100_000
_TABLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ProtectedCells:
    """Protected cells, in the order in which they were handed in. Public."""

    value: IntArray | FloatArray  # their figures; 0 where none is published
    status: npt.NDArray[np.int8]  # `CellStatus` of each
    decimals: int  # digits with which figures are printed
    notes: tuple[Note, ...] = (NON_ADDITIVITY,)  # what readers are told

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"<ProtectedCells: {len(self):,} cells>"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class WatchedCells:
    """What was asked about, for the watch over odd patterns. CONFIDENTIAL."""

    count: IntArray
    key: IntArray


class TreeLayout(BaseModel):
    """The code tree of a variable, as a caller states it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    #: Each code with the one above it; null below the total
    codes: Annotated[dict[str, str | None], Field(min_length=1, max_length=100_000)]
    total: str = "Total"  # code of the total
    labels: dict[str, dict[str, str]] = Field(default_factory=dict)  # code → language → label


def protect_counts(
    parameters: Parameters, frame: pl.DataFrame
) -> tuple[ProtectedCells, WatchedCells]:
    """Protect counts: columns n and key, and where there are such, weight and official.

    >>> from discreet import PerturbationTable
    >>> from discreet.release.packages import parameters_of
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.5, 1: 0.5}})
    >>> cells = pl.DataFrame({"n": [1, 0, 1], "key": [9 * 10**14, 0, 1]})
    >>> protect_counts(parameters_of({}, ptable), cells)[0].value.tolist()
    [2, 0, 0]
    """
    columns, rules = HandedColumns(frame), parameters.rules
    columns.check_names(("n", "key", "weight", "official"), ("n", "key"))
    count = columns.whole("n")
    key = columns.whole("key", parameters.grid.size)
    weight = columns.decimal("weight") if "weight" in frame.columns else None
    official = _official(columns, parameters)
    if weight is not None and rules.zeros == "table":
        columns.note("zeros of weighted cells cannot be perturbed", "weight")
    if weight is not None and np.any((count == 0) & (weight > 0)):
        columns.note("there are weights without records", "weight")
    if not columns.problems:
        columns.contradictions(count, key, parameters.grid, "key")
    columns.refuse()
    cells = CountCells((), count, key, weight, official)
    _, value, status = perturbed_cells(
        cells,
        parameters.perturbation_table,
        parameters.grid,
        zeros=rules.zeros,
        below=rules.suppress_below,
        decimals=rules.decimals,
    )
    decimals = 0 if weight is None else rules.decimals
    made = ProtectedCells(value=value, status=status, decimals=decimals)
    return made, WatchedCells(count=count, key=key)


def _official(columns: HandedColumns, parameters: Parameters) -> BoolArray:
    """Which cells are published as they are; the statistic says whether there are any."""
    there = "official" in columns.frame.columns
    marked = columns.yes_or_no("official")
    if parameters.official is not None and not there:
        hint = (
            "name a column of true and false: --official COLUMN on the command line, "
            "official= in Python and R; or send the variables with by"
        )
        columns.note("the statistic has official figures; which are they?", "official", hint)
    if parameters.official is None and marked.any():
        columns.note("the statistic has no official figures", "official")
    return marked


def protect_values(
    parameters: Parameters, frame: pl.DataFrame, value: str, shown: Shown | None = None
) -> tuple[ProtectedCells, WatchedCells]:
    """Protect sums or means: columns total, largest_1 …, count and key of each cell.

    Further columns are nonzero and nonzero_key, smallest, and official.
    """
    magnitude = parameters.magnitudes.get(value)
    if magnitude is None:
        what, hint = "the parameter set has no such value", "ask whoever made it"
        raise ServiceError(what, code="invalid-input", where="value", hint=hint)
    shown = shown or ("mean" if magnitude.entry.publish == "means" else "sum")
    columns, names, official = _value_columns(parameters, frame, magnitude)
    count = columns.whole("count")
    key = columns.whole("key", parameters.grid.size)
    if not columns.problems:
        columns.contradictions(count, key, parameters.grid, "key")
    columns.refuse()
    numbers = frame.with_columns(as_numbers(column) for column in frame.get_columns())
    made = [
        _piece(
            parameters, magnitude, (value, shown), names, numbers[at : at + _PIECE], official[at:]
        )
        for at in range(0, max(frame.height, 1), _PIECE)
    ]
    figures: list[FloatArray] = [item.value.astype(np.float64) for item in made]
    protected = ProtectedCells(
        value=np.concatenate(figures),
        status=np.concatenate([item.status for item in made]),
        decimals=made[0].decimals,
        notes=made[0].notes,
    )
    return protected, WatchedCells(count=count, key=key)


def _value_columns(
    parameters: Parameters, frame: pl.DataFrame, magnitude: Magnitude
) -> tuple[HandedColumns, ValueColumns, BoolArray]:
    columns = HandedColumns(frame)
    largest = [f"largest_{rank}" for rank in range(1, magnitude.contributions + 1)]
    needed = ["total", *largest, "count", "key"]
    nonzero = "nonzero" in frame.columns or "nonzero_key" in frame.columns
    lowest = magnitude.entry.of == "range" or "smallest" in frame.columns
    needed += ["nonzero", "nonzero_key"] if nonzero else []
    needed += ["smallest"] if lowest else []
    columns.check_names([*needed, "nonzero", "nonzero_key", "smallest", "official"], needed)
    columns.decimal("total")
    if nonzero:
        columns.whole("nonzero")
        columns.whole("nonzero_key", parameters.grid.size)
    names = ValueColumns(
        total="total",
        largest=largest,
        count="count",
        cell_key="key",
        nonzero="nonzero" if nonzero else None,
        nonzero_key="nonzero_key" if nonzero else None,
        smallest="smallest" if lowest else None,
    )
    return columns, names, _official(columns, parameters)


@lru_cache(maxsize=1)
def _rows() -> Dimension:
    """A variable with a code for each cell of a piece: cells do not depend on each other."""
    codes = [str(number) for number in range(1, _PIECE + 1)]
    return Dimension(classifications=(Classification.flat("cell", codes),))


def _piece(
    parameters: Parameters,
    magnitude: Magnitude,
    what: tuple[str, Shown],
    names: ValueColumns,
    frame: pl.DataFrame,
    official: BoolArray,
) -> ProtectedCells:
    (value, shown), size = what, frame.height
    index = (np.arange(1, size + 1, dtype=np.int32),)
    count = frame["count"].cast(pl.Int64).to_numpy()
    key = frame["key"].cast(pl.Int64).to_numpy()
    fields: dict[str, Any] = {"cell_key": key, "weight": None}
    table = Table(
        dimensions=(_rows(),),
        index=index,
        count=count,
        cell_key=key,
        grid=parameters.grid,
        parts=parts_of((_rows(),), index, size),
        **read_values(frame, {value: names}, fields, parameters.grid, "exact"),
    )
    rules = parameters.rules
    safe = perturb_magnitudes(
        table,
        magnitude.noise(),
        value,
        figure=shown,
        **magnitude.treatment(table, value),
        ptable=parameters.perturbation_table,
        suppress_below=rules.suppress_below,
        official=official[:size],
        count_decimals=rules.decimals,
    )
    status = safe.absent((*index, *(np.zeros(size, np.int32) for _ in safe.index[1:])), size)
    figures: Any = np.zeros(size, dtype=safe.value.dtype)
    at = safe.index[0] - 1
    inside = (at >= 0) & (at < size)
    figures[at[inside]], status[at[inside]] = safe.value[inside], safe.status[inside]
    return ProtectedCells(
        value=figures, status=status, decimals=safe.figure_decimals(), notes=safe.notes
    )


def protect_table(
    parameters: Parameters,
    frame: pl.DataFrame,
    layout: Mapping[str, Any],
    *,
    purpose: Purpose,
    name: str = "table",
    trees: Mapping[str, Any] | None = None,
) -> tuple[ProtectedTable, WatchedCells]:
    """Protect a table of cells with variables: counts, key figures with brackets, table parts."""
    if not _TABLE_NAME.fullmatch(name):
        what, hint = "a name has up to 64 letters, digits, - and _", 'such as "T1"'
        raise ServiceError(what, code="invalid-input", where="name", hint=hint)
    stated = {"key_grid": str(parameters.grid.size), **layout}
    plan = CellProgramme.of(stated, parameters, name=name, trees=_trees(trees or {}))
    _check_purpose(plan, purpose)
    columns = HandedColumns(frame)
    entry, pairs = plan.cells, [(str(plan.cells.count), str(plan.cells.cell_key))]
    pairs += [(str(count.count), str(count.cell_key)) for count in entry.counts.values()]
    pairs += [(str(value.count), str(value.cell_key)) for value in entry.values.values()]
    used = [*(entry.by or ()), *(name for pair in pairs for name in pair)]
    used += [*([entry.weight] if entry.weight else [])]
    used += [n for each in entry.values.values() for n in _named(each.model_dump())]
    columns.check_names(list(dict.fromkeys(used)), list(dict.fromkeys(used)))
    asked = [_pair(columns, parameters, pair) for pair in dict.fromkeys(pairs)]
    _check_codes(columns, plan)
    columns.refuse()
    texts = set(entry.by or ())
    numbers = frame.with_columns(
        as_numbers(column) for column in frame.get_columns() if column.name not in texts
    )
    try:
        return protect_by_programme(numbers, plan), asked[0]
    except PerturbationError as error:
        if error.code != "official":
            raise
        # What it says of the filter is a parameter.
        what = "the official figures of the statistic cannot be told from these variables"
        hint = "hand in the variables and codes of the statistic; name the totals of the others"
        raise ServiceError(what, code="invalid-cells", where="layout.by", hint=hint) from None


def _check_codes(columns: HandedColumns, plan: CellProgramme) -> None:
    """Codes that a tree lacks are counted, not listed: they may be of another column."""
    for name, tree in plan.trees.items():
        if name in columns.frame.columns:
            texts = columns.frame[name].cast(pl.String)
            unknown = int((~texts.drop_nulls().is_in(tree.codes)).sum())
            if unknown:
                columns.note(f"{unknown:,} cells have codes that are not in the code tree", name)


def _named(columns: Mapping[str, Any]) -> list[str]:
    """The names of columns that an entry has."""
    found: list[str] = []
    for column in columns.values():
        found += column if isinstance(column, list) else [column] if column is not None else []
    return found


def _pair(columns: HandedColumns, parameters: Parameters, pair: tuple[str, str]) -> WatchedCells:
    """A count and its keys; keys of other forms are left to the library."""
    count, before = columns.whole(pair[0]), len(columns.problems)
    key = np.zeros(len(count), dtype=np.int64)
    known = pair[1] in columns.frame.columns
    if known and as_numbers(columns.frame[pair[1]]).dtype.is_integer():
        key = columns.whole(pair[1], parameters.grid.size)
        if len(columns.problems) == before:
            columns.contradictions(count, key, parameters.grid, pair[1])
    return WatchedCells(count=count, key=key)


def _check_purpose(plan: CellProgramme, purpose: Purpose) -> None:
    problems = []
    if purpose == "counts" and plan.cells.figures:
        problems.append(Problem("these are key figures", "layout.figures", "use protect/figures"))
    if purpose == "figures" and not plan.cells.figures:
        problems.append(Problem("no figure is stated", "layout.figures"))
    if purpose == "parts" and not plan.parameters.thresholds:
        problems.append(Problem("the parameter set has no thresholds for parts", "parameter_set"))
    if KeyGrid.of(plan.cells.key_grid) != plan.parameters.grid:
        hint = f"that of the parameter set is {plan.parameters.grid}"
        problems.append(Problem("this is another key grid", "layout.key_grid", hint))
    refuse(problems)


def _trees(given: Mapping[str, Any]) -> dict[str, Classification]:
    trees, problems = {}, []
    for at, (name, stated) in enumerate(given.items()):
        try:
            tree = TreeLayout.model_validate(stated)
        except ValidationError as error:
            told = error.errors(include_input=False, include_url=False)[:5]
            problems += [Problem(item["msg"], f"classifications[{at}]") for item in told]
            continue
        trees[name] = Classification.from_parents(
            name, tree.codes, total=tree.total, labels=tree.labels
        )
    refuse(problems)
    return trees
