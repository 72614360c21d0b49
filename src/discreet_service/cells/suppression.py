"""Suppression: cells that callers counted, with hidden cells; and what hidden cells still tell.

In: cells of one table, the largest contributions to their values (CONFIDENTIAL), and rules
(SECRET). Out: a protected table, or an audit of hidden cells without true values: `primary`,
`suppress` and `audit` of the library, with the settings that [suppression] of a programme has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from discreet._version import __version__
from discreet.arrays import BoolArray
from discreet.classifications import Classification
from discreet.confidential import without_values
from discreet.errors import DiscreetError, Problem
from discreet.protection.suppression import audit, suppress
from discreet.release.cell_totals import with_missing_totals
from discreet.release.programme.rules import RuleSet
from discreet.release.record_tables import checked_rules, spanning_of_cells
from discreet.rules import Mark, Primary
from discreet.tables import CellStatus, Figure, ProtectedTable, Provenance, Table, ValueColumns
from discreet.tabulation import tabulate
from discreet_service.cells.bodies import as_numbers
from discreet_service.cells.protection import TreeLayout
from discreet_service.cells.requests import refused_call
from discreet_service.problems import ServiceError

_Text = Annotated[str, Field(max_length=200)]
_Name = Annotated[str, Field(min_length=1, max_length=200)]
#: Seconds that a search may take, at most.
_LONGEST_SEARCH = 3 * 3_600
#: A column that the library wants and suppression does not look at.
_KEY = "\0key"


class SearchSettings(BaseModel):
    """How cells are hidden: what [suppression] of a programme says of one table.

    Args:
        method: How a pattern is searched for.
        time_limit: Seconds that it may take; what is found until then is proven, too.
        seed: The same seed gives the same pattern.
        cost: What hiding a cell costs.
        zero_cells: Whether zeros may be hidden to protect others; "auto": only where no
            pattern protects every cell otherwise.
        singletons: Whether nobody who stands alone may open cells of others.
        intervals: Whether the bounds of hidden cells are published.
        reasons: What is told of why a cell is hidden.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    method: Literal["auto", "fast", "optimal", "modular", "hypercube"] = "auto"
    time_limit: Annotated[float, Field(gt=0, le=_LONGEST_SEARCH)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    cost: Literal["value", "count", "unity", "distance"] = "value"
    zero_cells: Literal["auto", "fixed", "partners"] = "auto"
    singletons: bool | None = None
    intervals: bool | Literal["instead"] = False
    reasons: Literal["rule", "kind", "none"] | None = None


class CellMark(BaseModel):
    """What somebody decided about a cell, or about all cells with some codes. CONFIDENTIAL.

    Args:
        cells: Code per variable; a variable that is left out stands for all its codes.
        status: "unsafe" is sensitive, "safe" is not, whatever the rules say; "protected" must be
            published, "secondary" is hidden already.
        cost: What hiding it costs.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    cells: Annotated[dict[_Name, _Text], Field(max_length=20)]
    status: Literal["unsafe", "safe", "protected", "secondary"] | None = None
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    def __repr__(self) -> str:
        return "<CellMark: confidential>"

    __str__ = __repr__


class SuppressionRequest(BaseModel):
    """What is to be hidden in a table of cells, or was.

    Args:
        by: The spanning variables.
        classifications: Code trees of some of them, each code with the one above it.
        totals: Codes of the totals of others; "Total" unless named.
        records: Whether the rows are records, to be tabulated; cells if not.
        count: Column of the number of contributors; of cells only.
        value: Column of the values; None to publish the counts.
        largest: Columns of the largest contributions to them, the largest first.
        rules: What is sensitive: the keys of [rules.NAME] of a programme. SECRET.
        marks: What was decided about single cells: consent, costs.
        suppression: How cells are hidden.
        decimals: Digits after the decimal point that are published.
        name: Name of the table.
        title: language → heading.
        format: Format of the result.
        language: "en" or "de".
        hidden: For an audit: column that says which cells are hidden.
        bounds: For an audit: whether the bounds of each hidden cell are worked out.
        coalition: For an audit: how many contributors act together.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    by: Annotated[list[_Name], Field(min_length=1, max_length=20)]
    classifications: dict[_Name, TreeLayout] = Field(default_factory=dict)
    totals: dict[_Name, _Text] = Field(default_factory=dict)
    records: bool = False
    count: _Name = "n"
    value: _Name | None = None
    largest: Annotated[list[_Name], Field(max_length=20)] = Field(default_factory=list)
    rules: Annotated[dict[str, Any], Field(min_length=1)]
    marks: Annotated[list[CellMark], Field(max_length=1_000)] = Field(default_factory=list)
    suppression: SearchSettings = SearchSettings()
    decimals: Annotated[int, Field(ge=0, le=9)] = 0
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$")] = "table"
    title: dict[Literal["en", "de"], _Text] = Field(default_factory=dict)
    format: _Text | None = None
    language: Literal["en", "de"] = "en"
    hidden: _Name | None = None
    bounds: bool = False
    coalition: Annotated[int, Field(ge=0, le=10)] | None = None

    def __repr__(self) -> str:
        return "<SuppressionRequest: secret>"

    __str__ = __repr__


@without_values
def judged_cells(frame: pl.DataFrame, request: SuppressionRequest) -> tuple[Table, Primary]:
    """The table of some cells, and what is sensitive in it. CONFIDENTIAL.

    Args:
        frame: The cells; totals that they lack are computed.
        request: What they are.
    """
    problems = _column_problems(frame, request)
    rules = _rules(request, problems)
    if problems or rules is None:
        raise refused_call(problems)
    made = _numbered(frame, request, problems)
    if problems:
        raise refused_call(problems)
    if request.records:
        table = _tabulated(made, request, rules.contributions)
    else:
        table = _table(made, request, request.count, _values(request))
    unit = 10.0**-request.decimals if request.value is not None else 1.0
    marks = [Mark(**each.model_dump()) for each in request.marks]
    return table, rules.judged({"": table}, value=request.value, unit=unit, marks=marks)


@without_values
def suppressed_cells(table: Table, found: Primary, request: SuppressionRequest) -> ProtectedTable:
    """The table with hidden cells.

    Args:
        table: The table.
        found: What is sensitive in it.
        request: How cells are hidden.
    """
    return suppress(table, found, **search_options(request))


def search_options(request: SuppressionRequest) -> dict[str, Any]:
    """What `suppress` and `Suppression.of` are told of how cells are hidden.

    Args:
        request: How cells are hidden.
    """
    return {
        **request.suppression.model_dump(exclude_none=True),
        "decimals": request.decimals,
        "titles": {str(language): each for language, each in request.title.items()},
    }


@without_values
def audited_cells(
    frame: pl.DataFrame, table: Table, found: Primary, request: SuppressionRequest
) -> dict[str, Any]:
    """What hidden cells still tell, without true values.

    Args:
        frame: The cells, with the column that says which are hidden.
        table: Their table.
        found: What is sensitive in it.
        request: What they are.
    """
    hidden = _hidden(frame, request)
    safe = _published(table, _hidden_index(frame, table, hidden, request), request)
    options: dict[str, Any] = {"intervals": request.bounds, "decimals": request.decimals}
    if request.coalition is not None:
        options["coalition"] = request.coalition
    if request.suppression.zero_cells == "partners":
        options["zero_cells"] = "partners"
    done = audit(safe, table, found, **options)
    # How long it took, and what hiding costs, are the sum of hidden values and of no use here.
    told = {key: each for key, each in done.described().items() if key not in ("cost", "seconds")}
    told |= {"table": request.name, "notes": list(done.notes)}
    if len(table) > frame.height:
        what = "totals that the cells lack are taken as published"
        told["notes"].append(f"{len(table) - frame.height:,} {what}")
    if request.bounds:
        told["bounds"] = done.intervals().drop("value").to_dicts()
    return told


# What is handed in ------------------------------------------------------------------------------


def _column_problems(frame: pl.DataFrame, request: SuppressionRequest) -> list[Problem]:
    """Columns that are missing or named twice, and what does not go together."""
    values = [*([request.value] if request.value is not None else []), *request.largest]
    named = {f"by[{at}]": name for at, name in enumerate(request.by)}
    named |= {} if request.records else {"count": request.count}
    named |= {"value": request.value} if request.value is not None else {}
    named |= {f"largest[{at}]": name for at, name in enumerate(request.largest)}
    named |= {"hidden": request.hidden} if request.hidden is not None else {}
    problems = [
        Problem("there is no such column", where)
        for where, name in named.items()
        if name not in frame.columns
    ]
    if len(set(named.values())) < len(named):
        problems.append(Problem("a column is named for two purposes", "by"))
    if request.value is None and (request.largest or request.decimals):
        problems.append(Problem("this belongs to a value, and none is named", "value"))
    if request.records and (request.largest or request.hidden is not None):
        problems.append(Problem("this belongs to cells, and the rows are records", "records"))
    if request.value is not None and len(values) < 2 and not request.records:
        hint = "name columns with the largest contributions, the largest first"
        problems.append(Problem("rules look at contributions", "largest", hint))
    for key, names in (("classifications", request.classifications), ("totals", request.totals)):
        if set(names) - set(request.by):
            problems.append(Problem("a variable is none of those under by", key))
    if set(request.classifications) & set(request.totals):
        problems.append(Problem("a classification has a total of its own", "totals"))
    return problems


def _rules(request: SuppressionRequest, problems: list[Problem]) -> RuleSet | None:
    try:
        rules = checked_rules(request.rules, "rules")
    except DiscreetError as error:
        problems += [
            Problem(
                each.what, each.where if each.where == "rules" else f"rules.{each.where}", each.hint
            )
            for each in error.problems
        ]
        return None
    if rules.filters or rules.withheld:
        what, hint = "this looks at records, and only cells are here", "use a programme"
        problems.append(Problem(what, "rules", hint))
    if rules.holdings:
        problems.append(Problem("holdings are not known of cells", "rules"))
    if not rules.judges(counts=request.value is None):
        hint = "name a value column, or a rule such as minimum_frequency"
        problems.append(Problem("none of these rules looks at counts", "rules", hint))
    if request.value is not None and rules.contributions > len(request.largest) > 0:
        what = "the rules look at more of the largest contributions than there are columns"
        problems.append(Problem(what, "largest"))
    return rules


def _numbered(
    frame: pl.DataFrame, request: SuppressionRequest, problems: list[Problem]
) -> pl.DataFrame:
    """The cells with codes as texts and numbers as numbers."""
    columns = {name: frame[name].cast(pl.String) for name in request.by}
    wanted = {} if request.records else {"count": request.count}
    wanted |= {"value": request.value} if request.value else {}
    wanted |= {f"largest[{at}]": name for at, name in enumerate(request.largest)}
    for where, name in wanted.items():
        found = as_numbers(frame[name])
        whole = where == "count"
        if not (found.dtype.is_integer() if whole else found.dtype.is_numeric()):
            kind = "whole numbers" if whole else "numbers"
            problems.append(Problem(f"this column does not hold {kind} only", where))
            continue
        if not where.startswith("largest") and found.null_count():
            problems.append(Problem("there are gaps in this column", where))
        columns[name] = found.cast(pl.Int64 if whole else pl.Float64)
    problems += [
        Problem("a row has no code", f"by[{at}]", "the total has a code, too")
        for at, name in enumerate(request.by)
        if columns[name].null_count()
    ]
    key = pl.Series(_KEY, np.zeros(frame.height, dtype=np.int64))
    return pl.DataFrame({**columns, _KEY: key})


def _values(request: SuppressionRequest) -> dict[str, ValueColumns]:
    if request.value is None:
        return {}
    return {
        request.value: ValueColumns(
            total=request.value, largest=request.largest, count=request.count, cell_key=_KEY
        )
    }


def _tabulated(frame: pl.DataFrame, request: SuppressionRequest, contributions: int) -> Table:
    """The cells of records, all totals among them."""
    by: Any = spanning_of_cells(frame, request.by, _trees(request), request.totals)
    values = [] if request.value is None else [request.value]
    return tabulate(
        frame, by, values=values, contributions=contributions if values else 0, name=request.name
    )


def _trees(request: SuppressionRequest) -> dict[str, Classification]:
    return {
        name: Classification.from_parents(name, tree.codes, total=tree.total, labels=tree.labels)
        for name, tree in request.classifications.items()
    }


def _table(
    frame: pl.DataFrame,
    request: SuppressionRequest,
    count: str,
    values: Mapping[str, ValueColumns],
) -> Table:
    by: Any = spanning_of_cells(frame, request.by, _trees(request), request.totals)
    sums = [count, _KEY, *values]
    whole = with_missing_totals(frame, by, sums=sums, largest=request.largest)
    return Table.from_cells(whole, by, count=count, cell_key=_KEY, values=values, name=request.name)


# What was hidden ----------------------------------------------------------------------------------


def _hidden(frame: pl.DataFrame, request: SuppressionRequest) -> BoolArray:
    """Per row, whether it is hidden."""
    if request.hidden is None:
        what, hint = "say which cells are hidden", "a column of true and false"
        raise ServiceError(what, code="invalid-input", where="hidden", hint=hint)
    column = frame[request.hidden]
    if column.dtype == pl.String:
        texts = column.str.strip_chars().str.to_lowercase()
        column = texts.replace_strict({"true": True, "1": True, "false": False, "0": False},
                                      default=None, return_dtype=pl.Boolean)  # fmt: skip
    elif column.dtype.is_integer() and column.is_in([0, 1]).all():
        column = column.cast(pl.Boolean)
    if column.dtype != pl.Boolean or column.null_count():
        what = "this column holds something else than true and false"
        raise ServiceError(what, code="invalid-input", where="hidden")
    return np.asarray(column.to_numpy(), dtype=np.bool_)


def _hidden_index(
    frame: pl.DataFrame, table: Table, hidden: BoolArray, request: SuppressionRequest
) -> pl.DataFrame:
    """The positions of the codes of hidden cells."""
    own = frame.filter(pl.Series(hidden))
    return pl.DataFrame(
        {
            str(at): pl.Series(
                [dimension.codes.index(code) for code in own[name].cast(pl.String)], dtype=pl.Int64
            )
            for at, (name, dimension) in enumerate(zip(request.by, table.dimensions, strict=True))
        }
    )


def _published(table: Table, hidden: pl.DataFrame, request: SuppressionRequest) -> ProtectedTable:
    """The table as it is published, hidden empty cells among its cells."""
    names = [str(at) for at in range(len(table.dimensions))]
    cells = pl.DataFrame(
        {name: np.asarray(part, np.int64) for name, part in zip(names, table.index, strict=True)}
    ).with_columns(
        value=pl.Series(table.count if request.value is None else table.sums[request.value])
    )
    both = cells.join(hidden.with_columns(hidden=pl.lit(True)), on=names, how="full", coalesce=True)
    blank = both["hidden"].fill_null(False).to_numpy()
    value = np.where(blank, 0, both["value"].fill_null(0).to_numpy())
    figures: tuple[Figure, ...] = ()
    if request.value is not None:
        value = np.round(value, request.decimals)
        figures = (Figure(name=request.value, kind="sum", decimals=request.decimals),)
    return ProtectedTable(
        dimensions=table.dimensions,
        index=tuple(both[name].to_numpy().astype(np.int32) for name in names),
        value=value,
        status=np.where(blank, CellStatus.suppressed, CellStatus.published).astype(np.int8),
        provenance=Provenance(version=__version__, method="cell suppression"),
        name=table.name,
        decimals=request.decimals,
        parts=table.parts,
        figures=figures,
    )
