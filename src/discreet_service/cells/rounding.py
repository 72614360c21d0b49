"""Rounding: counts that callers counted become multiples of a base; and what these still tell.

In: cells of one table of counts (CONFIDENTIAL), base and method; where figures are drawn, a seed of
the service (SECRET). Out: a protected table, as `round_counts` of the library makes it; and for
whoever handed the cells in a study: true beside published figures, and an audit. CONFIDENTIAL.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from discreet.assessment import TableComparison
from discreet.assessment.release_quality.pairs import published_at
from discreet.classifications import Classification
from discreet.confidential import without_values
from discreet.errors import DiscreetError, Problem
from discreet.keygrid import KeyGrid
from discreet.microdata import Secret
from discreet.protection.rounding import Rounding, audit_rounding, round_linked
from discreet.protection.rounding.bases import ADDITIVE, LARGEST_BASE, MOST_STEPS, Method
from discreet.protection.suppression.problem.table_relations import table_relations
from discreet.release.record_tables import spanning_of_cells
from discreet.tables import ProtectedTable, Table
from discreet_service.cells.columns import HandedColumns
from discreet_service.cells.protection import TreeLayout
from discreet_service.cells.requests import refused_call, unpacked
from discreet_service.cells.results import table_output
from discreet_service.jobs.context import JobContext
from discreet_service.jobs.outputs import JobOutput

_Text = Annotated[str, Field(max_length=200)]
_Name = Annotated[str, Field(min_length=1, max_length=200)]
_Base = Annotated[int, Field(ge=2, le=LARGEST_BASE)]
#: Cells that are rounded together while somebody waits; rounded one by one there may be more.
MOST_TOGETHER = 500


class RoundingSettings(BaseModel):
    """How counts are rounded: what [protection.rounding] of a programme says, without a seed.

    Args:
        base: Figures become multiples of this.
        method: How; see `discreet.round_counts`.
        margins: Another base for totals.
        ties: Where a count halfway between goes.
        unbiased: Controlled rounding at random, right on average.
        steps: By how many further multiples controlled rounding may miss where it has to.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    base: _Base = 5
    method: Method = "keyed"
    margins: _Base | None = None
    ties: Literal["up", "even"] = "up"
    unbiased: bool = False
    steps: Annotated[int, Field(ge=0, le=MOST_STEPS)] = 3


class RoundingRequest(BaseModel):
    """What is to be rounded.

    Args:
        by: The spanning variables.
        classifications: Code trees of some of them, each code with the one above it.
        totals: Codes of the totals of others; "Total" unless named.
        count: Column of the counts.
        weight: Column of sums of weights, if estimates are rounded.
        cell_key: Column of cell keys, where these decide.
        key_grid: Size of their grid.
        rounding: How counts are rounded.
        name: Name of the table; draws of another name are others.
        title: language → heading.
        format: Format of the result.
        language: "en" or "de".
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    by: Annotated[list[_Name], Field(min_length=1, max_length=20)]
    classifications: dict[_Name, TreeLayout] = Field(default_factory=dict)
    totals: dict[_Name, _Text] = Field(default_factory=dict)
    count: _Name = "n"
    weight: _Name | None = None
    cell_key: _Name | None = None
    key_grid: NonNegativeInt | Annotated[str, Field(max_length=30)] = 10**15
    rounding: RoundingSettings
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$")] = "table"
    title: dict[Literal["en", "de"], _Text] = Field(default_factory=dict)
    format: _Text | None = None
    language: Literal["en", "de"] = "en"

    def __repr__(self) -> str:
        return "<RoundingRequest>"

    __str__ = __repr__

    @property
    def draws(self) -> bool:
        """Whether figures are drawn from a seed of the service: no cell keys decide."""
        how = self.rounding
        return how.method == "random" or (how.unbiased and self.cell_key is None)

    @property
    def together(self) -> bool:
        """Whether all figures are rounded together, which takes its time."""
        return self.rounding.method in ADDITIVE


def seed_of_table(key: bytes, owner: str, name: str) -> Secret:
    """The seed from which figures of a table are drawn. SECRET.

    The same person and name of a table have the same seed: a table that is rounded again has the
    same figures, and one corrected count changes no other. Nobody else can try out its draws.

    Args:
        key: The service's key for this purpose.
        owner: Who rounds.
        name: Name of the table.
    """
    said = "\0".join(("rounding 1", owner, name)).encode()
    return Secret(hmac.new(key, said, hashlib.sha256).digest())


@without_values
def counted_table(frame: pl.DataFrame, request: RoundingRequest) -> Table:
    """The table of some cells. CONFIDENTIAL.

    Args:
        frame: The cells, totals among them.
        request: What they are.
    """
    problems = _problems(frame, request)
    if problems:
        raise refused_call(problems)
    columns = HandedColumns(frame)
    made = {name: frame[name].cast(pl.String) for name in request.by}
    for name, series in made.items():
        if missing := series.null_count():
            columns.note(f"{missing:,} cells have no code", name, "the total has a code, too")
    made[request.count] = pl.Series(request.count, columns.whole(request.count))
    if request.weight is not None:
        made[request.weight] = pl.Series(request.weight, columns.decimal(request.weight))
    if request.cell_key is not None:
        size = KeyGrid.of(request.key_grid).size
        made[request.cell_key] = pl.Series(request.cell_key, columns.whole(request.cell_key, size))
    columns.refuse()
    cells = pl.DataFrame(made)
    trees = {
        name: Classification.from_parents(name, tree.codes, total=tree.total, labels=tree.labels)
        for name, tree in request.classifications.items()
    }
    by: Any = spanning_of_cells(cells, request.by, trees, request.totals)
    return Table.from_cells(
        cells,
        by=by,
        count=request.count,
        weight=request.weight,
        cell_key=request.cell_key,
        key_grid=request.key_grid,
        name=request.name,
    )


def _problems(frame: pl.DataFrame, request: RoundingRequest) -> list[Problem]:
    """Columns that are missing or named twice, and what does not go together."""
    named = {f"by[{at}]": name for at, name in enumerate(request.by)} | {"count": request.count}
    named |= {"weight": request.weight} if request.weight is not None else {}
    named |= {"cell_key": request.cell_key} if request.cell_key is not None else {}
    problems = [
        Problem("there is no such column", where)
        for where, name in named.items()
        if name not in frame.columns
    ]
    if len(set(named.values())) < len(named):
        problems.append(Problem("a column is named for two purposes", "by"))
    for key, names in (("classifications", request.classifications), ("totals", request.totals)):
        if set(names) - set(request.by):
            problems.append(Problem("a variable is none of those under by", key))
    if set(request.classifications) & set(request.totals):
        problems.append(Problem("a classification has a total of its own", "totals"))
    how = request.rounding
    if how.method == "keyed" and request.cell_key is None:
        hint = "name the column of cell keys, or choose another method"
        problems.append(Problem("this method rounds by cell keys", "cell_key", hint))
    if request.cell_key is not None and how.method != "keyed" and not how.unbiased:
        problems.append(Problem("this method does not look at cell keys", "cell_key"))
    try:
        KeyGrid.of(request.key_grid)
        stated_rounding(request, None)
    except DiscreetError as error:
        known = RoundingSettings.model_fields
        problems += [
            Problem(
                each.what,
                f"rounding.{each.where}" if each.where in known else "key_grid",
                each.hint,
            )
            for each in error.problems
        ]
    return problems


def stated_rounding(request: RoundingRequest, seed: Secret | None) -> Rounding:
    """The rounding that is asked for. SECRET with its seed.

    Args:
        request: What is asked.
        seed: What figures are drawn from; None where nothing is drawn yet.
    """
    drawn = (seed or "none yet") if request.draws else None
    return Rounding(**request.rounding.model_dump(), seed=drawn)


@without_values
def rounded_cells(table: Table, request: RoundingRequest, seed: Secret) -> ProtectedTable:
    """The rounded table.

    Args:
        table: The table.
        request: How it is rounded.
        seed: What figures are drawn from, where they are. SECRET.
    """
    how = stated_rounding(request, seed)
    titles = {str(language): each for language, each in request.title.items()}
    return round_linked([table], how, titles=titles)[0]


# What came of it --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class RoundingStudy:
    """What became of a table, and what that still tells. CONFIDENTIAL.

    Args:
        table: What may be published.
        compared: True and published figures side by side.
        sums: How many totals with parts there are; None if true totals are no sums.
        missed: Of these, how many are published as something else than the sum of their parts.
        audited: How many counts were audited; None where there is no audit.
        told: Names of the counts that anyone can work out.
        unaudited: Why there is no audit.
    """

    table: ProtectedTable
    compared: TableComparison
    sums: int | None
    missed: int
    audited: int | None
    told: Sequence[str]
    unaudited: str

    def described(self) -> dict[str, Any]:
        """Measures as plain values, for JSON. CONFIDENTIAL."""
        return {
            "table": self.table.name,
            "measures": {name: float(each) for name, each in self.compared.measures().items()},
            "sums": self.sums,
            "sums_missed": self.missed,
            "audited": self.audited,
            "can_be_worked_out": list(self.told),
            "not_audited": self.unaudited,
        }

    def __repr__(self) -> str:
        return "<RoundingStudy: confidential>"


@without_values
def studied_rounding(table: Table, request: RoundingRequest, seed: Secret) -> RoundingStudy:
    """Round a table, and find out what rounded figures cost and still tell.

    Args:
        table: The table.
        request: How it is rounded.
        seed: What figures are drawn from, where they are. SECRET.
    """
    safe = rounded_cells(table, request, seed)
    sums: int | None = None
    missed = 0
    # Cells without records stand in no relation, and are published as zero.
    filled = np.flatnonzero(table.count > 0)
    relations = table_relations(table, table.count > 0)[0]
    if not relations.residuals(table.count[filled]).any():
        sums = len(relations)
        value = published_at(safe, table.index, len(table))[0][filled].astype(np.int64)
        missed = int(np.count_nonzero(relations.residuals(value)))
    audited: int | None = None
    told: tuple[str, ...] = ()
    unaudited = ""
    try:
        found = audit_rounding([safe], [table], stated_rounding(request, seed))
        audited, told = int(found.sensitive.sum()), found.unprotected
    except DiscreetError as error:  # totals of cells made elsewhere need not be sums
        unaudited = error.what
    return RoundingStudy(
        table=safe,
        compared=TableComparison(table, safe),
        sums=sums,
        missed=missed,
        audited=audited,
        told=told,
        unaudited=unaudited,
    )


def run_rounding(context: JobContext) -> JobOutput:
    """Round cells: the function of jobs of the kind "round".

    Args:
        context: The job; its request names its input.
    """
    service, job = context.service, context.job
    frame, request = unpacked(service.job_inputs.get(job.asked()["input"]), RoundingRequest)
    context.report(5, "reading")
    table = counted_table(frame, request)
    context.report(10, "rounding")
    safe = rounded_cells(
        table, request, seed_of_table(service.key_for("rounding"), job.owner, request.name)
    )
    context.report(90, "writing")
    return table_output(safe, request.format, request.language)
