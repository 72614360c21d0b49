"""Layouts: what the columns of cells are (CONFIDENTIAL), and the table that they make, with what is
sensitive in it. Everything that is wrong is told at once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field, NonNegativeInt

from discreet._version import __version__
from discreet.confidential import without_values
from discreet.errors import DiscreetError, Problem
from discreet.keygrid import KeyGrid
from discreet.microdata import NumberSpelling, Secret, as_type, types_of
from discreet.operations import (
    AnonymisationSettings,
    ChangedSource,
    CountSource,
    HiddenSource,
    MagnitudeSource,
    MicrodataSource,
    Operation,
    ProtectedSource,
    ReleaseSource,
    SensitiveSource,
    Source,
    UnitSource,
)
from discreet.pretabular import record_chain
from discreet.release import checked_rules, spanning_of_cells, with_missing_totals
from discreet.rules import Mark, RuleSet
from discreet.settings import Settings
from discreet.tables import CellStatus, Figure, ProtectedTable, Provenance, Table, ValueColumns
from discreet.tabulation import tabulate
from discreet_service.cells.bodies import as_numbers
from discreet_service.cells.columns import HandedColumns
from discreet_service.cells.protection import TreeLayout
from discreet_service.permissions import Permission
from discreet_service.problems import refuse

_Text = Annotated[str, Field(max_length=200)]
_Name = Annotated[str, Field(min_length=1, max_length=200)]
#: A column that the library wants and suppression does not look at.
_KEY = "\0key"


class Layout(Settings):
    """Layout of the input, and format of the result."""

    rows: ClassVar[str]  # what a row is called: "cells" or "records"
    permission: ClassVar[Permission]  # what who hands them in must be allowed to do

    #: Name of the table or file
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$")] = "table"
    format: _Text | None = None  # format of the result
    language: Literal["en", "de"] = "en"  # "en" or "de"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: secret>"

    __str__ = __repr__

    def size(self, frame: pl.DataFrame) -> int:
        """Number of rows."""
        return frame.height

    @abstractmethod
    def source(self, frame: pl.DataFrame, operation: Operation, settings: Settings) -> Source:
        """Input of the operation. CONFIDENTIAL."""


class CellLayout(Layout):
    """Columns of a table of cells, and format of the result."""

    rows: ClassVar[str] = "cells"
    permission: ClassVar[Permission] = Permission.tables_protect

    by: Annotated[list[_Name], Field(min_length=1, max_length=20)]  # the spanning variables
    #: Code trees of some of them, each code with the one above it
    classifications: dict[_Name, TreeLayout] = Field(default_factory=dict)
    #: Codes of the totals of others; "Total" unless named
    totals: dict[_Name, _Text] = Field(default_factory=dict)
    title: dict[Literal["en", "de"], _Text] = Field(default_factory=dict)  # language → heading

    @property
    def titles(self) -> dict[str, str]:
        """Headings by language."""
        return {str(language): each for language, each in self.title.items()}

    def size(self, frame: pl.DataFrame) -> int:
        """Number of rows; of records that are counted, of the interior cells that contain them."""
        of_records = getattr(self, "records", isinstance(self, UnitLayout))
        known = of_records and {*self.by} <= {*frame.columns}
        return frame.select(self.by).n_unique() if known else frame.height

    def codes(self, columns: HandedColumns) -> dict[str, pl.Series]:
        """The columns of codes; a problem where one has gaps."""
        codes = {name: columns.frame[name].cast(pl.String) for name in self.by}
        for name, series in codes.items():
            if missing := series.null_count():
                columns.note(f"{missing:,} cells lack a code", name, "the total needs a code")
        return codes

    def whole_cells(self, frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
        """Codes and columns of whole numbers. CONFIDENTIAL."""
        columns = HandedColumns(frame)
        series = self.codes(columns)
        series |= {name: pl.Series(name, columns.whole(name)) for name in names}
        columns.refuse()
        return pl.DataFrame(series)

    def spanning(self, frame: pl.DataFrame) -> Any:
        """The spanning variables, with their trees."""
        trees = {name: tree.classification(name) for name, tree in self.classifications.items()}
        return spanning_of_cells(frame, self.by, trees, self.totals)

    def column_problems(self, named: Mapping[str, str], frame: pl.DataFrame) -> list[Problem]:
        """Columns that are missing or named twice, and variables that are none."""
        columns = {f"by[{at}]": name for at, name in enumerate(self.by)} | dict(named)
        problems = [
            Problem("column not found", where)
            for where, name in columns.items()
            if name not in frame.columns
        ]
        if len(set(columns.values())) < len(columns):
            problems.append(Problem("a column is used for two purposes", "by"))
        for key, names in (("classifications", self.classifications), ("totals", self.totals)):
            if set(names) - set(self.by):
                problems.append(Problem("a variable is not in by", key))
        if set(self.classifications) & set(self.totals):
            problems.append(Problem("a classification has its own total", "totals"))
        return problems


class CountedLayout(CellLayout):
    """A table whose cells are counted, or records that are to be."""

    records: bool = False  # whether the rows are records, to be tabulated; cells if not
    count: _Name = "n"  # column of the number of records or contributors; of cells only


class KeyedLayout(CountedLayout):
    """A table of counts, perhaps with cell keys."""

    cell_key: _Name | None = None  # column of cell or record keys, where these decide
    key_grid: NonNegativeInt | Annotated[str, Field(max_length=30)] = 10**15  # size of their grid
    add_totals: bool = False  # whether totals that the cells lack are computed

    def _table(
        self,
        frame: pl.DataFrame,
        keys: str,
        *,
        contributions: int = 0,
        weight: str | None = None,
        further: Mapping[str, str | None] = MappingProxyType({}),
        values: Mapping[str, ValueColumns] = MappingProxyType({}),
        unfit: Iterable[Problem] = (),
    ) -> Table:
        """The table, of further columns with these values; `unfit` are options that do not fit."""
        named = {"weight": weight, "cell_key": self.cell_key, **further}
        named |= {} if self.records else {"count": self.count}
        stated = {where: name for where, name in named.items() if name is not None}
        problems = [*self.column_problems(stated, frame), *unfit]
        if keys == "needed" and self.cell_key is None:
            hint = "add the column of cell keys, or choose another method"
            problems.append(Problem("the method needs cell keys", "cell_key", hint))
        if keys == "unused" and self.cell_key is not None:
            problems.append(Problem("the method does not use cell keys", "cell_key"))
        try:
            grid = KeyGrid.of(self.key_grid)
        except DiscreetError as error:
            problems += [
                Problem(problem.what, "key_grid", problem.hint) for problem in error.problems
            ]
        refuse(problems)
        columns = HandedColumns(frame)
        trees = self.codes(columns)
        if not self.records:
            trees[self.count] = pl.Series(self.count, columns.whole(self.count))
        if weight is not None:
            trees[weight] = pl.Series(weight, columns.decimal(weight))
        if self.cell_key is not None:
            trees[self.cell_key] = pl.Series(self.cell_key, columns.whole(self.cell_key, grid.size))
        trees |= {
            name: as_numbers(frame[name])
            for name in further.values()
            if name is not None and name not in trees
        }
        columns.refuse()
        cells = pl.DataFrame(trees)
        by, value = self.spanning(cells), further.get("value")
        if self.records:
            return tabulate(cells, by, record_key=self.cell_key, key_grid=self.key_grid,
                            weight=weight, values=[value] if value else (), name=self.name,
                            contributions=contributions)  # fmt: skip
        if self.add_totals:
            # Keys of totals are sums of keys on their grid; sums of many need more than 64 bits.
            key = [] if self.cell_key is None else [self.cell_key]
            sums = [self.count, weight, *key, value, further.get("value_count")]
            wide = cells.with_columns(pl.col(key).cast(pl.Int128))
            cells = with_missing_totals(
                wide, by, sums=[*filter(None, sums)], largest=getattr(self, "largest", ())
            ).with_columns((pl.col(key) % grid.size).cast(pl.Int64))
        return Table.from_cells(cells, by=by, count=self.count, weight=weight,
                                cell_key=self.cell_key, key_grid=self.key_grid, values=values,
                                name=self.name)  # fmt: skip


class CountLayout(KeyedLayout):
    """A table of counts, and perhaps of estimates."""

    weight: _Name | None = None  # column of sums of weights, if estimates are published

    @without_values
    def source(self, frame: pl.DataFrame, operation: Operation, settings: Any) -> CountSource:
        """The table of some cells. CONFIDENTIAL."""
        table = self._table(frame, operation.keys(settings), weight=self.weight)
        return CountSource(table=table, titles=self.titles)


class MagnitudeLayout(KeyedLayout):
    """A table of counts and of a value with its largest contributions."""

    value: _Name  # column of the sums of a value
    #: Columns of its largest contributions, the largest first; of cells only
    largest: Annotated[list[_Name], Field(max_length=16)] = Field(default_factory=list)
    smallest: _Name | None = None  # column of its smallest contribution, for noise of the range
    value_count: _Name | None = None  # column of the number of records with a value
    value_key: _Name | None = None  # column of the cell keys of those

    @without_values
    def source(self, frame: pl.DataFrame, operation: Operation, settings: Any) -> MagnitudeSource:
        """The table of some cells. CONFIDENTIAL."""
        largest = {f"largest[{at}]": name for at, name in enumerate(self.largest)}
        beside = {name: getattr(self, name) for name in ("smallest", "value_count", "value_key")}
        problems = []
        if self.records:
            message = "the option needs cells, but the rows are records"
            of_cells = {"largest": self.largest, **beside}
            problems = [Problem(message, name) for name, stated in of_cells.items() if stated]
        elif not self.largest:
            hint = "add columns with the largest contributions, largest first"
            problems.append(Problem("the method needs contributions", "largest", hint))
        if not self.records and self.add_totals and (self.smallest or self.value_key):
            hint = "add the totals to the cells, or send records"
            message = "smallest contributions and keys of values of totals cannot be computed"
            problems.append(Problem(message, "add_totals", hint))
        count, key = self.value_count or self.count, self.value_key or str(self.cell_key)
        own = {} if not self.largest else {
            self.value: ValueColumns(total=self.value, largest=self.largest, count=count,
                                     cell_key=key, smallest=self.smallest)
        }  # fmt: skip
        table = self._table(frame, operation.keys(settings), values=own, unfit=problems,
                            contributions=getattr(settings, "top", 0),
                            further={"value": self.value, **largest, **beside})  # fmt: skip
        return MagnitudeSource(table=table, titles=self.titles, value=self.value)


class ProtectedLayout(CellLayout):
    """A table whose figures are protected already, totals among its cells."""

    value: _Name = "value"  # column of the figures

    @without_values
    def source(self, frame: pl.DataFrame, operation: Operation, settings: Any) -> ProtectedSource:
        """The protected table."""
        refuse(self.column_problems({"value": self.value}, frame))
        cells = self.whole_cells(frame, [self.value])
        by = self.spanning(cells)
        table = Table.from_cells(cells, by=by, count=self.value, name=self.name)
        return ProtectedSource(table=table, titles=self.titles)


class ReleaseLayout(CellLayout):
    """A published table of counts, perhaps beside the true ones; gaps are hidden cells."""

    value: _Name = "value"  # column of the figures
    truth: _Name | None = None  # column of the true counts

    @without_values
    def source(self, frame: pl.DataFrame, operation: Operation, settings: Any) -> ReleaseSource:
        """The protected table, and the true one. CONFIDENTIAL."""
        named = {"value": self.value} | ({} if self.truth is None else {"truth": self.truth})
        refuse(self.column_problems(named, frame))
        value = as_numbers(frame[self.value])
        hidden = value.is_null().to_numpy()
        cells = self.whole_cells(frame.with_columns(value.fill_null(0)), named.values())
        by = self.spanning(cells)
        shown, *true = (
            Table.from_cells(cells, by=by, count=name, name=self.name) for name in named.values()
        )
        release = ProtectedTable(
            dimensions=shown.dimensions,
            index=shown.index,
            value=shown.count,
            status=np.where(hidden, CellStatus.suppressed, CellStatus.published).astype(np.int8),
            provenance=Provenance(version=__version__, method="made elsewhere"),
            parts=shown.parts,
            name=self.name,
        )
        return ReleaseSource(release=release, truth={"": true} if true else None, beside=())


class UnitLayout(CellLayout):
    """Records of units, of which a value is to be summed."""

    value: _Name  # column of the values
    decimals: Annotated[int, Field(ge=0, le=9)] = 0  # digits that are published

    @without_values
    def source(self, frame: pl.DataFrame, operation: Operation, settings: Any) -> UnitSource:
        """The records. CONFIDENTIAL."""
        named = {"value": self.value, f"{operation.section}.unit": settings.unit}
        problems = self.column_problems(named, frame)
        problems += [
            Problem("column not found", f"{operation.section}.balance")
            for name in settings.balance
            if name not in frame.columns
        ]
        refuse(problems)
        columns = HandedColumns(frame)
        codes = self.codes(columns)
        value = columns.number(self.value, gaps=True)
        columns.refuse()
        records = frame.with_columns(*codes.values(), value)
        return UnitSource(records=records, by=self.spanning(records), value=self.value, where=None,
                          decimals=self.decimals, name=self.name, titles=self.titles)  # fmt: skip


class CellMark(Settings):
    """Decision about a cell, or about all cells with some codes. CONFIDENTIAL."""

    #: Code per variable; a variable that is left out stands for all its codes
    cells: Annotated[dict[_Name, _Text], Field(max_length=20)]
    #: "unsafe" is sensitive, "safe" is not, whatever the rules say; "protected" must be published,
    #: "secondary" is hidden already
    status: Literal["unsafe", "safe", "protected", "secondary"] | None = None
    cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None  # what hiding it costs

    def __repr__(self) -> str:
        return "<CellMark: confidential>"

    __str__ = __repr__


class SensitiveLayout(CountedLayout):
    """A table of counts or of a value, and which of its cells are sensitive."""

    value: _Name | None = None  # column of the values; None to publish the counts
    #: Columns of the largest contributions to them, the largest first
    largest: Annotated[list[_Name], Field(max_length=20)] = Field(default_factory=list)
    #: What is sensitive: the keys of [rules.NAME] of a programme. SECRET
    rules: Annotated[dict[str, Any], Field(min_length=1)]
    #: What was decided about single cells: consent, costs
    marks: Annotated[list[CellMark], Field(max_length=1_000)] = Field(default_factory=list)
    #: Digits after the decimal point that are published
    decimals: Annotated[int, Field(ge=0, le=9)] = 0

    @without_values
    def source(self, frame: pl.DataFrame, operation: Operation, settings: Any) -> SensitiveSource:
        """The table of some cells, and what is sensitive in it. CONFIDENTIAL."""
        named = {} if self.records else {"count": self.count}
        named |= {} if self.value is None else {"value": self.value}
        named |= {f"largest[{at}]": name for at, name in enumerate(self.largest)}
        problems = self.column_problems(named | self._further(), frame)
        if self.value is None and (self.largest or self.decimals):
            problems.append(Problem("the option needs a value", "value"))
        if self.records and (self.largest or self._further()):
            problems.append(Problem("the option needs cells, but the rows are records", "records"))
        if self.value is not None and not self.largest and not self.records:
            hint = "add columns with the largest contributions, largest first"
            problems.append(Problem("the rules need contributions", "largest", hint))
        rules = self._rules(problems)
        refuse(problems)
        assert rules is not None
        columns = HandedColumns(frame)
        series = self.codes(columns)
        if not self.records:
            series[self.count] = pl.Series(self.count, columns.whole(self.count))
        amounts = [] if self.value is None else [columns.number(self.value)]
        amounts += [columns.number(name, gaps=True) for name in self.largest]
        series |= {own.name: own.cast(pl.Float64, strict=False) for own in amounts}
        series[_KEY] = pl.Series(_KEY, np.zeros(frame.height, dtype=np.int64))
        columns.refuse()
        table = self._table(pl.DataFrame(series), rules.contributions)
        unit = 10.0**-self.decimals if self.value is not None else 1.0
        marks = [Mark(**mark.model_dump()) for mark in self.marks]
        return SensitiveSource(
            table=table,
            titles=self.titles,
            primary=rules.judged({"": table}, value=self.value, unit=unit, marks=marks),
            value=self.value,
            decimals=self.decimals,
            computed=0 if self.records else len(table) - frame.height,
        )

    def _further(self) -> dict[str, str]:
        return {}

    def _rules(self, problems: list[Problem]) -> RuleSet | None:
        try:
            rules = checked_rules(self.rules, "rules")
        except DiscreetError as error:
            for problem in error.problems:
                where = problem.where if problem.where == "rules" else f"rules.{problem.where}"
                problems.append(Problem(problem.what, where, problem.hint))
            return None
        if rules.filters or rules.withheld:
            message, hint = "the option needs records, not cells", "use a programme"
            problems.append(Problem(message, "rules", hint))
        if rules.holdings:
            problems.append(Problem("cells have no holdings", "rules"))
        if not rules.judges(counts=self.value is None):
            hint = "add a value column, or a rule such as minimum_frequency"
            problems.append(Problem("none of these rules applies to counts", "rules", hint))
        if self.value is not None and rules.contributions > len(self.largest) > 0:
            message = "the rules need more columns of largest contributions"
            problems.append(Problem(message, "largest"))
        return rules

    def _table(self, cells: pl.DataFrame, contributions: int) -> Table:
        by, values = self.spanning(cells), [] if self.value is None else [self.value]
        if self.records:
            top = contributions if values else 0
            return tabulate(cells, by, values=values, contributions=top, name=self.name)
        whole = with_missing_totals(
            cells, by, sums=[self.count, _KEY, *values], largest=self.largest
        )
        columns = {
            name: ValueColumns(total=name, largest=self.largest, count=self.count, cell_key=_KEY)
            for name in values
        }
        return Table.from_cells(
            whole, by, count=self.count, cell_key=_KEY, values=columns, name=self.name
        )


class HiddenLayout(SensitiveLayout):
    """Layout of a table with hidden cells."""

    hidden: _Name  # column that says which cells are hidden

    @without_values
    def source(self, frame: pl.DataFrame, operation: Operation, settings: Any) -> HiddenSource:
        """The table of some cells, and the same as it is published. CONFIDENTIAL."""
        source = super().source(frame, operation, settings)
        columns = HandedColumns(frame)
        hidden = frame.filter(columns.yes_or_no(self.hidden))
        columns.refuse()
        known = {one.name: getattr(source, one.name) for one in fields(source)}
        return HiddenSource(**known, published=self._published(source.table, hidden))

    def _further(self) -> dict[str, str]:
        return {"hidden": self.hidden}

    def _published(self, table: Table, hidden: pl.DataFrame) -> ProtectedTable:
        """The table as it is published, hidden empty cells among its cells."""
        names = [str(at) for at in range(len(table.dimensions))]
        codes = hidden.select(pl.col(self.by).cast(pl.String))
        places = {
            at: codes[name].cast(pl.Enum(own.codes)).to_physical().cast(pl.Int32)
            for at, name, own in zip(names, self.by, table.dimensions, strict=True)
        }
        blanks = pl.DataFrame(places).with_columns(hidden=pl.lit(True))
        truth = table.count if self.value is None else table.sums[self.value]
        cells = pl.DataFrame({**dict(zip(names, table.index, strict=True)), "value": truth})
        both = cells.join(blanks, on=names, how="full", coalesce=True)
        blank = both["hidden"].fill_null(False).to_numpy()
        value = np.where(blank, 0, both["value"].fill_null(0).to_numpy())
        figures: tuple[Figure, ...] = ()
        if self.value is not None:
            value = np.round(value, self.decimals)
            figures = (Figure(name=self.value, kind="sum", decimals=self.decimals),)
        return ProtectedTable(
            dimensions=table.dimensions,
            index=tuple(both[name].to_numpy() for name in names),
            value=value,
            status=np.where(blank, CellStatus.suppressed, CellStatus.published).astype(np.int8),
            provenance=Provenance(version=__version__, method="cell suppression"),
            name=table.name,
            decimals=self.decimals,
            parts=table.parts,
            figures=figures,
        )


class RecordLayout(Layout):
    """Records, and what identifies one."""

    rows: ClassVar[str] = "records"
    permission: ClassVar[Permission] = Permission.records_protect

    #: Columns that identify a record
    id: Annotated[list[_Name], Field(max_length=5)] = Field(default_factory=list)
    #: Name of the file; draws of another name are others
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$")] = "records"
    format: Literal["csv", "parquet"] = "csv"  # format of the file

    @without_values
    def source(
        self, frame: pl.DataFrame, operation: Operation, settings: Settings
    ) -> MicrodataSource:
        """The records. CONFIDENTIAL."""
        return MicrodataSource(records=typed_columns(frame), id=self.id, files=False)


class ChangedLayout(RecordLayout):
    """Records that are changed, what goes out, and what is looked at."""

    #: Columns that are left out of the file
    drop: Annotated[list[_Name], Field(max_length=100)] = Field(default_factory=list)
    #: Columns that identify a record and stay on purpose
    keep: Annotated[list[_Name], Field(max_length=100)] = Field(default_factory=list)
    #: What others know of somebody: risk is assessed by these
    keys: Annotated[list[_Name], Field(max_length=10)] = Field(default_factory=list)
    #: For a study: the variables of each table that is compared
    tables: Annotated[
        list[Annotated[list[_Name], Field(min_length=1, max_length=3)]], Field(max_length=10)
    ] = Field(default_factory=list)

    @without_values
    def source(
        self, frame: pl.DataFrame, operation: Operation, settings: Settings
    ) -> ChangedSource:
        """The records, after steps were looked at. CONFIDENTIAL."""
        typed = typed_columns(frame)
        if isinstance(settings, AnonymisationSettings):
            known: dict[str, Any] = {"id": self.id, "drop": self.drop, "keep": self.keep}
            secret = Secret.generate()
            record_chain(typed, settings.steps, secret=secret, **known)
        looked = {name: getattr(self, name) for name in ("id", "drop", "keep", "keys", "tables")}
        return ChangedSource(records=typed, files=False, **looked)


def typed_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Records whose texts have the types that they have in a file of text. CONFIDENTIAL.

    >>> typed_columns(pl.DataFrame({"age": ["7", "31"], "code": ["01", "2"]})).rows()
    [(7, '01'), (31, '2')]
    """
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    spelling = NumberSpelling()
    types = types_of(frame.lazy(), texts, spelling)
    return frame.with_columns(as_type(pl.col(name), types[name], spelling) for name in texts)


#: What the columns are of what an operation takes.
LAYOUTS: Mapping[type[Source], type[Layout]] = {
    CountSource: CountLayout,
    MagnitudeSource: MagnitudeLayout,
    ProtectedSource: ProtectedLayout,
    ReleaseSource: ReleaseLayout,
    UnitSource: UnitLayout,
    SensitiveSource: SensitiveLayout,
    HiddenSource: HiddenLayout,
    MicrodataSource: RecordLayout,
    ChangedSource: ChangedLayout,
}
