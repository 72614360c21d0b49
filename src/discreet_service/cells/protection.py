"""Protection of cells that callers counted: parameters (SECRET) and cells (CONFIDENTIAL) in,
protected cells out. All figures are made by the functions of the library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from discreet.arrays import BoolArray, IntArray
from discreet.assessment import published_at
from discreet.classifications import Classification
from discreet.errors import PerturbationError, Problem
from discreet.keygrid import KeyGrid
from discreet.protection.noise import CountCells, perturb_magnitudes, perturbed_cells
from discreet.release import CellProgramme, Parameters, protect_by_programme
from discreet.settings import Settings, refused
from discreet.tables import Dimension, ProtectedTable, Table, ValueColumns, parts_of, read_values
from discreet_service.cells.bodies import as_numbers
from discreet_service.cells.columns import HandedColumns, refuse_cells
from discreet_service.cells.results import ProtectedCells, cells_output, table_output
from discreet_service.jobs import JobOutput
from discreet_service.problems import ServiceError

#: What cells are handed in for: the end of the address.
Purpose = Literal["counts", "values", "figures", "parts"]

_Text = Annotated[str, Field(max_length=200)]
_Name = Annotated[str, Field(min_length=1, max_length=200)]
#: Cells of values that are worked on at once.
_PIECE = 100_000
_TABLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class TreeLayout(Settings):
    """The code tree of a variable, as a caller states it."""

    #: Each code with the one above it; null below the total
    codes: Annotated[dict[str, str | None], Field(min_length=1, max_length=100_000)]
    total: str = "Total"  # code of the total
    labels: dict[str, dict[str, str]] = Field(default_factory=dict)  # code → language → label

    def classification(self, name: str) -> Classification:
        """The tree of a variable."""
        return Classification.from_parents(name, self.codes, total=self.total, labels=self.labels)


class ParameterRequest(Settings):
    """Request besides the cells, if a parameter set defines the protection."""

    parameter_set: _Name  # the statistic of the parameters
    version: _Text | None = None  # their version; None for the one in use
    format: _Text | None = None  # format of the result; that of the header Accept if None
    language: Literal["en", "de"] = "en"  # "en" or "de", for notes and legend
    name: _Text = "table"  # name of the table
    #: Variables of a table of counts in the columns n and key
    by: Annotated[list[_Name], Field(max_length=50)] = Field(default_factory=list)
    #: What the columns of a table are, as [cells] in a programme for cells
    layout: dict[str, Any] | None = None
    #: Code trees of some of its variables
    classifications: dict[str, TreeLayout] = Field(default_factory=dict)
    value: _Text = ""  # the value column of the parameters
    figure: Literal["sum", "mean"] | None = None  # sums or means; what is accurate if None

    @model_validator(mode="after")
    def _check_layout(self) -> ParameterRequest:
        if self.by and self.layout is not None:
            raise refused("already part of the layout", where="by")
        return self

    def is_table(self, purpose: Purpose) -> bool:
        """Whether the cells are a table, and no list."""
        table = bool(self.by) or self.layout is not None
        return purpose in ("figures", "parts") or (purpose == "counts" and table)


#: Counts and keys of a call, for the watch over odd patterns. CONFIDENTIAL.
WatchedCells = tuple[IntArray, IntArray]


def protect_cells(
    parameters: Parameters,
    frame: pl.DataFrame,
    request: ParameterRequest,
    purpose: Purpose,
    form: str,
) -> tuple[JobOutput, WatchedCells]:
    """Protect cells, and write them in a format; with the counts and keys to be watched."""
    if request.is_table(purpose):
        table, cells = _protected_table(parameters, frame, request, purpose)
        return table_output(table, form, request.language), cells
    if purpose == "values":
        protected, cells = _protected_values(parameters, frame, request)
    else:
        protected, cells = _protected_counts(parameters, frame)
    return cells_output(protected, form, request.language), cells


def _protected_counts(
    parameters: Parameters, frame: pl.DataFrame
) -> tuple[ProtectedCells, WatchedCells]:
    """Counts: columns n and key, and where there are such, weight and official."""
    columns, rules = HandedColumns(frame), parameters.rules
    columns.check_names(("n", "key", "weight", "official"), ("n", "key"))
    count = columns.whole("n")
    key = columns.whole("key", parameters.grid.size)
    weight = columns.decimal("weight") if "weight" in frame.columns else None
    official = _official(columns, parameters)
    if weight is not None and rules.zeros == "table":
        columns.note("zeros of weighted cells cannot be perturbed", "weight")
    if weight is not None and np.any((count == 0) & (weight > 0)):
        columns.note("weights without records", "weight")
    columns.check_keys(count, key, parameters.grid)
    _, value, status = perturbed_cells(CountCells((), count, key, weight, official),
                                       parameters.perturbation_table, parameters.grid,
                                       zeros=rules.zeros, below=rules.suppress_below,
                                       decimals=rules.decimals)  # fmt: skip
    decimals = 0 if weight is None else rules.decimals
    protected = ProtectedCells(value=value, status=status, decimals=decimals)
    return protected, (count, key)


def _official(columns: HandedColumns, parameters: Parameters) -> BoolArray:
    there = "official" in columns.frame.columns
    marked = columns.yes_or_no("official")
    if parameters.official is not None and not there:
        hint = (
            "add a column of true and false: --official COLUMN on the command line, official= "
            "in Python and R; or send the variables with by"
        )
        columns.note("the statistic has exempt cells: mark them", "official", hint)
    if parameters.official is None and marked.any():
        columns.note("the statistic has no exempt cells", "official")
    return marked


def _protected_values(
    parameters: Parameters, frame: pl.DataFrame, request: ParameterRequest
) -> tuple[ProtectedCells, WatchedCells]:
    """Sums or means: columns total, largest_1 …, count and key of each cell.

    Further columns are nonzero and nonzero_key, smallest, and official.
    """
    value, rules, grid = request.value, parameters.rules, parameters.grid
    magnitude, given = parameters.magnitudes.get(value), {*frame.columns}
    if magnitude is None:
        message, hint = "value not found in the parameter set", "ask its author"
        raise ServiceError(message, "invalid-input", "value", hint)
    columns = HandedColumns(frame)
    largest = [f"largest_{rank}" for rank in range(1, magnitude.contributions + 1)]
    further = ["nonzero", "nonzero_key"] if given & {"nonzero", "nonzero_key"} else []
    further += ["smallest"] if magnitude.entry.of == "range" or "smallest" in given else []
    needed = ["total", *largest, "count", "key", *further]
    columns.check_names([*needed, "nonzero", "nonzero_key", "smallest", "official"], needed)
    columns.decimal("total")
    if "nonzero" in further:
        columns.whole("nonzero")
        columns.whole("nonzero_key", grid.size)
    names = ValueColumns(
        total="total",
        largest=largest,
        count="count",
        cell_key="key",
        **{name: name for name in further},
    )
    official = _official(columns, parameters)
    count = columns.whole("count")
    key = columns.whole("key", grid.size)
    columns.check_keys(count, key, grid)
    numbers = frame.with_columns(as_numbers(column) for column in frame.get_columns())
    pieces = []
    for start in range(0, max(frame.height, 1), _PIECE):
        part = slice(start, start + _PIECE)
        rows = numbers[part]
        index = (np.arange(1, rows.height + 1, dtype=np.int32),)
        table = Table(
            dimensions=(_rows(),),
            index=index,
            count=count[part],
            cell_key=key[part],
            grid=grid,
            parts=parts_of((_rows(),), index, rows.height),
            **read_values(
                rows, {value: names}, {"cell_key": key[part], "weight": None}, grid, "exact"
            ),
        )
        safe = perturb_magnitudes(
            table,
            magnitude.noise(),
            value,
            figure=request.figure or ("mean" if magnitude.entry.publish == "means" else "sum"),
            **magnitude.treatment(table, value),
            ptable=parameters.perturbation_table,
            suppress_below=rules.suppress_below,
            official=official[part],
            count_decimals=rules.decimals,
        )
        pieces.append((safe, *published_at(safe, index, rows.height)))
    tables, figures, status = zip(*pieces, strict=True)
    decimals, notes = tables[0].figure_decimals(), tables[0].notes
    protected = ProtectedCells(value=np.concatenate(figures), status=np.concatenate(status),
                               decimals=decimals, notes=notes)  # fmt: skip
    return protected, (count, key)


@lru_cache(maxsize=1)
def _rows() -> Dimension:
    """A variable with a code for each cell of a piece: cells do not depend on each other."""
    codes = [str(number) for number in range(1, _PIECE + 1)]
    return Dimension(classifications=(Classification.flat("cell", codes),))


def _protected_table(
    parameters: Parameters, frame: pl.DataFrame, request: ParameterRequest, purpose: Purpose
) -> tuple[ProtectedTable, WatchedCells]:
    """A table of cells with variables: counts, key figures with brackets, table parts."""
    layout: Mapping[str, Any] | None = request.layout
    if layout is None:
        weight = {"weight": "weight"} if "weight" in frame.columns else {}
        layout = {"by": list(request.by), "count": "n", "cell_key": "key", **weight}
    if not _TABLE_NAME.fullmatch(request.name):
        message, hint = "a name can have up to 64 letters, digits, - and _", 'such as "T1"'
        raise ServiceError(message, "invalid-input", "name", hint)
    trees = {name: tree.classification(name) for name, tree in request.classifications.items()}
    stated = {"key_grid": str(parameters.grid.size), **layout}
    plan = CellProgramme.of(stated, parameters, name=request.name, trees=trees)
    entry, problems = plan.cells, list[Problem]()
    if purpose == "counts" and entry.figures:
        problems.append(
            Problem("not counts but key figures", "layout.figures", "use protect/figures")
        )
    if purpose == "figures" and not entry.figures:
        problems.append(Problem("no figure given", "layout.figures"))
    if purpose == "parts" and not parameters.thresholds:
        problems.append(
            Problem("the parameter set has no thresholds for subtables", "parameter_set")
        )
    if KeyGrid.of(entry.key_grid) != parameters.grid:
        hint = f"the parameter set has key grid {parameters.grid}"
        problems.append(
            Problem("the key grid differs from that of the parameter set", "layout.key_grid", hint)
        )
    refuse_cells(problems)
    columns = HandedColumns(frame)
    counted: list[Any] = [entry, *entry.counts.values(), *entry.values.values()]
    pairs = [(str(one.count), str(one.cell_key)) for one in counted]
    used = [*(entry.by or ()), *chain.from_iterable(pairs), *filter(None, [entry.weight])]
    for value in entry.values.values():
        used += ValueColumns(**value.model_dump(exclude_none=True)).columns
    columns.check_names(list(dict.fromkeys(used)), list(dict.fromkeys(used)))
    watched = [_watched(columns, parameters, *pair) for pair in dict.fromkeys(pairs)]
    for name, tree in trees.items():
        if name in frame.columns:
            codes = frame[name].cast(pl.String).drop_nulls()
            # They are counted, not listed: they may be of another column.
            if unknown := int((~codes.is_in(tree.codes)).sum()):
                columns.note(f"{unknown:,} cells have codes that are not in the hierarchy", name)
    columns.refuse()
    texts = set(entry.by or ())
    numbers = frame.with_columns(
        as_numbers(column) for column in frame.get_columns() if column.name not in texts
    )
    try:
        return protect_by_programme(numbers, plan), watched[0]
    except PerturbationError as error:
        if error.code != "official":
            raise
        # What it says of the filter is a parameter.
        message = "these variables do not identify the exempt cells of the statistic"
        hint = "send the variables and codes of the statistic, and the totals of the others"
        raise ServiceError(message, "invalid-cells", "layout.by", hint) from None


def _watched(columns: HandedColumns, parameters: Parameters, n: str, cell_key: str) -> WatchedCells:
    """A count and its keys; keys of other forms are left to the library."""
    count, before = columns.whole(n), len(columns.problems)
    key = np.zeros(len(count), dtype=np.int64)
    known = cell_key in columns.frame.columns
    if known and as_numbers(columns.frame[cell_key]).dtype.is_integer():
        key = columns.whole(cell_key, parameters.grid.size)
        if len(columns.problems) == before:
            columns.contradictions(count, key, parameters.grid, cell_key)
    return (count, key)
