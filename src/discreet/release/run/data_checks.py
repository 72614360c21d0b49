"""What is wrong with the data of a programme: everything that would stop a run, at once.

In: the opened `Inputs`, of which columns and types are known to fit. Out: problems at the keys
of the programme: codes and numbers that a classification lacks, identifiers and keys that are
missing, repeated or off their grid, weights and values that cannot be summed, units without
parts, tables that a format cannot hold. Each says how many records are concerned. Codes of
declared classifications are named, numbers on request only, other contents never. And whether
geographies, or the figures of a revision, differ by few records. CONFIDENTIAL records are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from discreet.classifications import MISSING
from discreet.confidential import without_values
from discreet.errors import Problem, ProgrammeError, raise_all
from discreet.microdata import KeyedBefore, distant_records
from discreet.protection.problems import Opener, not_yet_known
from discreet.record_batches import collected
from discreet.release.inputs import Inputs
from discreet.release.programme.file import Programme, RecordSource, key_line, raise_problems
from discreet.release.programme.toml_lines import KeyPath
from discreet.release.programme.variables import check_codes, spanning_variables, used_variables
from discreet.release.run.area_files import area_level_problems
from discreet.release.run.counts import KeyedRecords, counts_of
from discreet.release.run.inputs import OtherData, open_inputs
from discreet.release.run.plan import check_grids

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl

    from discreet.assessment import RevisedCells
    from discreet.classifications import Classification

_SHOWN = 5


def check_release(path: str | os.PathLike[str], *, show_values: bool = False) -> Programme:
    """Check a programme, everything it names and all of its data, and do nothing else.

    Raises:
        ProgrammeError: Lists every mistake with its line and key.
    """
    return checked_inputs(path, show_values=show_values).programme


@without_values
def checked_inputs(
    path: str | os.PathLike[str],
    *,
    show_values: bool = False,
    data: OtherData | None = None,
    master: str | None = None,
) -> Inputs:
    """Everything a programme names, opened, with data that a run can use."""
    inputs = open_inputs(path, show_values=show_values, data=data, master=master)
    raise_problems(str(path), data_problems(inputs, show_values=show_values))
    return inputs


def data_problems(inputs: Inputs, *, show_values: bool = False) -> list[Problem]:
    """Everything in the data that would stop a run; reads all records."""
    opener = Opener(inputs.programme, [])
    keyed = KeyedRecords(inputs)
    spanning: dict[str, dict[str, Any]] = {}
    for source in inputs.programme.sources.values():
        checks = _SourceChecks(inputs, source, opener, show_values)
        spanning[source.name] = checks.spanning
        if isinstance(distant_records(checks.records), KeyedBefore):
            continue  # such records were checked before they were added up, or stored
        checks.codes()
        checks.numbers()
        if checks.tables:  # those of others are made when they are handed on
            way = next((key for key in ("inherit", "id") if getattr(source.keys, key)), "column")
            with opener.placed(*source.keys_path, way):
                keyed.of(source.name)
    found = [tree for every in spanning.values() for tree in every.values()]
    trees = {item.name: item for item in found if not isinstance(item, str | list)}
    named = check_codes(inputs.programme, {**trees, **inputs.trees})
    # A remark on a code that does not occur is left out; a base that does not occur is none.
    figures = [problem for problem in named if ".figures." in problem.where]
    opener.problems += not_yet_known(opener.problems, figures)
    known = [  # the tables of which all variables are known
        name
        for name, table in inputs.programme.tables.items()
        if set(table.by or []) <= set(spanning[inputs.programme.source_of(name).name])
    ]
    opener.problems += area_level_problems(inputs.programme, known, spanning)
    with opener.placed("defaults", "formats"):
        check_grids(inputs.programme, known, spanning)
    with opener.placed("slivers", "areas"):
        opener.problems += _sliver_problems(inputs)
    with opener.placed("period", "first"):
        check_period_revision(inputs)
    return opener.problems


class _SourceChecks:
    """The checks of one source. CONFIDENTIAL."""

    def __init__(
        self, inputs: Inputs, source: RecordSource, opener: Opener[Programme], show_values: bool
    ) -> None:
        self.inputs, self.source, self.opener = inputs, source, opener
        self.show_values = show_values
        programme = inputs.programme
        self.programme = programme
        self.records: nw.LazyFrame[Any] = inputs.records[source.name].lazy()
        self.schema = self.records.collect_schema()
        self.tables = [
            name for name in programme.tables if programme.source_of(name).name == source.name
        ]
        self.counts = {name: counts_of(inputs, name) for name in self.tables}
        self.seen: dict[tuple[str, str | None, str | None, str | None], bool] = {}
        self.spanning = self._spanning()

    def _spanning(self) -> dict[str, Any]:
        """What spans the tables, as far as the data have it."""
        found: dict[str, Any] = {}
        names = [name for table in self.tables for name in self.programme.tables[table].by or []]
        for name in dict.fromkeys(names):
            entry = self.programme.variables.get(name)
            path: KeyPath = ("variables", name)
            if entry is not None and entry.kinds:
                path = (*path, entry.kinds[0])
            if entry is None:
                path = self._first_use(name)
            records = self.inputs.records[self.source.name]
            with self.opener.placed(*path):
                found |= spanning_variables(self.programme, [name], self.inputs.trees, records)
        return found

    def _first_use(self, name: str) -> KeyPath:
        for table in self.tables:
            if name in (by := self.programme.tables[table].by or []):
                return ("tables", table, "by", by.index(name))
        return ("tables",)

    @cached_property
    def filters(self) -> dict[str, list[str]]:
        """Each filter with the tables whose counts it limits."""
        found: dict[str, list[str]] = {}
        for name, counts in self.counts.items():
            for count in counts:
                if name not in found.setdefault(count.where, []):
                    found[count.where].append(name)
        return found

    def filtered(self, where: str) -> nw.LazyFrame[Any]:
        """The records that pass a filter."""
        from discreet.tabulation import Query

        condition = Query(by=[], where=where or None).condition(self.schema)
        return self.records if condition is None else self.records.filter(condition)

    def codes(self) -> None:
        """Codes that classifications lack, and columns that hold no codes."""
        import narwhals as nw

        from discreet.tables import code_texts
        from discreet.tabulation import refusals

        for where, tables in sorted(self.filters.items(), key=lambda each: bool(each[0])):
            used = dict.fromkeys(
                variable for table in tables for variable in self.programme.tables[table].by or []
            )
            held: dict[str, pl.DataFrame] = {}  # how often each value of a column occurs
            for path, tree, column in (each for variable in used for each in self._trees(variable)):
                with self.opener.placed(*path):
                    if column not in held:
                        with refusals(filtered=bool(where)):
                            plan = self.filtered(where).select(column).group_by(column)
                            held[column] = collected(plan.agg(nw.len().alias("n")))
                    found = held[column]
                    if tree is not None and tree.bounds is not None:
                        wrong = self._outside(tree, column, found)
                    else:
                        texts = code_texts(found.get_column(column), column).to_list()
                        numbers = dict(zip(texts, found["n"].to_list(), strict=True))
                        wrong = list(_unknown(tree, column, numbers))
                    raise_all(ProgrammeError, wrong, code="programme")

    def _trees(self, variable: str) -> Iterator[tuple[KeyPath, Classification | None, str]]:
        """The trees of a variable with their columns; None where the column alone decides."""
        if variable not in self.programme.variables:
            yield self._first_use(variable), None, variable
            return
        made = self.spanning.get(variable)
        parts = self.programme.variables[variable].alternatives or [variable]
        # The first of several carries the name of the variable.
        for name, tree in zip(parts, made if isinstance(made, list) else [made], strict=False):
            if tree is None or isinstance(tree, str):
                continue
            entry = self.programme.variables[name]
            if entry.levels is not None:
                continue  # such trees are made of the records themselves
            (*_, (path, column)) = self.programme.columns_of(name) or [(("variables", name), name)]
            kind = entry.kinds[0] if entry.kinds else ""
            yield (("variables", name, kind) if kind else path), tree, column

    def _outside(self, tree: Classification, column: str, found: pl.DataFrame) -> list[Problem]:
        """Numbers that no interval holds, named on request: they may be incomes."""
        import numpy as np
        import polars as pl

        from discreet.tabulation import bin_codes

        bounds = np.asarray(tree.bounds, dtype=np.float64)
        values = found.get_column(column)
        floats = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        missed = (bin_codes(floats, bounds) == len(bounds) - 1) & ~np.isnan(floats)
        if not bool(missed.any()):
            return []
        number = int(found["n"].filter(pl.Series(missed)).sum())
        below = "" if np.isinf(bounds[0]) else f"{bounds[0]:g} ≤ "
        above = "" if np.isinf(bounds[-1]) else f" < {bounds[-1]:g}"
        message = f"{_records(number)} outside all intervals, {below}{column}{above}"
        if self.show_values:
            outside = sorted(values.filter(pl.Series(missed)).to_list())
            message += f": {_examples(outside)}"
        hint = "widen the first or last interval, or declare missing values with null_values"
        return [Problem(message, "", hint)]

    def numbers(self) -> None:
        """Keys, weights and values that cannot be added up."""
        origin = self.programme.sources[key_line(self.programme.sources, self.source.name)[-1]]
        own = origin.name == self.source.name and self.source.keys.column is not None
        key = self.source.keys.column if own else None
        for name, counts in self.counts.items():
            for count in counts:
                checked = partial(self._summable, count.where)
                if key is not None:
                    checked((*self.source.keys_path, "column"), key=key)
                weight = count.weight
                if weight and not checked(self.programme.setting(name, "weight"), weight=weight):
                    weight = None
                figures = reversed(self.programme.tables[name].figures.items())
                places = {entry.of: ("figures", figure, "of") for figure, entry in figures}
                for column, _ in count.values:
                    place = places.get(column, ("value",))
                    checked(("tables", name, *place), value=column, weight=weight)

    def _summable(
        self,
        where: str,
        path: KeyPath,
        key: str | None = None,
        weight: str | None = None,
        value: str | None = None,
    ) -> bool:
        """Whether nothing is wrong; what is wrong is said once."""
        from discreet.tabulation import MeasureLayout, Pass, Query, raise_flaws, refusals

        columns = (where, key, weight, value)
        if columns not in self.seen:
            self.seen[columns] = False
            layout = MeasureLayout(
                keyed=key is not None, weight=weight, values=() if value is None else (value,)
            )
            condition = Query(by=[], where=where or None).condition(self.schema)
            with self.opener.placed(*path), refusals(filtered=condition is not None):
                one = Pass(axes=(), where=condition, layout=layout)
                raise_flaws(self.records, one, key, self.inputs.grid)
                self.seen[columns] = True
        return self.seen[columns]


def _unknown(
    tree: Classification | None, column: str, numbers: Mapping[str | None, int]
) -> Iterator[Problem]:
    """Codes that a classification lacks, or a code that stands for missing values as well."""
    missing = MISSING if tree is None else tree.missing or MISSING
    if tree is None:
        if None in numbers and missing in numbers:
            message = f"code {missing!r} occurs together with missing values"
            hint = f'add missing = "…" to [variables.{column}] to give them another code'
            yield Problem(message, "", hint)
        return
    leaves = {*tree.leaves, *([missing] if None in numbers else [])}
    unknown = {code: n for code, n in numbers.items() if code is not None and code not in leaves}
    if not unknown:
        return
    inner = [code for code in unknown if code in tree.index]
    often = sorted(unknown, key=lambda code: (-unknown[code], code))
    message = (
        f"{_records(sum(unknown.values()))} of codes that are not in the classification: "
        f"{_examples(often)}"
    )
    hint = f"add them to the classification, or correct column {column!r}"
    if inner:
        hint = f"records need codes of the finest level; {inner[0]!r} has codes below it"
    yield Problem(message, "", hint)


def _records(number: int) -> str:
    return f"{number:,} record is" if number == 1 else f"{number:,} records are"


def _examples(codes: Sequence[Any]) -> str:
    shown = ", ".join(repr(code) for code in codes[:_SHOWN])
    more = f" and {len(codes) - _SHOWN:,} more" if len(codes) > _SHOWN else ""
    return shown + more


_RECORDS = "number of records"


def check_slivers(inputs: Inputs) -> None:
    """Raise an error if unions of areas differ by fewer records than the programme states."""
    raise_problems(inputs.programme.place, list(_sliver_problems(inputs)))


def _sliver_problems(inputs: Inputs) -> Iterator[Problem]:
    programme = inputs.programme
    stated = programme.document.slivers
    if stated is None:
        return
    from discreet.assessment import find_slivers

    for (source, where), areas in _compared(programme, stated.areas).items():
        if len(areas) < 2:
            continue
        if isinstance(distant_records(inputs.records[source]), KeyedBefore):
            message = "geographic differencing needs records, not a store or partial aggregates"
            hint = "run discreet find-slivers before building them; remove [slivers]"
            yield programme.problem(("slivers", "areas"), message, hint)
            continue
        counts = _counts(inputs, source, where, dict(areas))
        for pair in combinations(areas, 2):
            report = find_slivers(
                counts, *pair, least=stated.least, count=_RECORDS, effort=stated.effort
            )
            both = f"{' and '.join(pair)}{f', where {where}' if where else ''}"
            if report.slivers:
                number = len(report.slivers)
                counted = f"{number:,} difference{'s' if number > 1 else ''} of areas"
                message = f"{counted} with fewer than {stated.least} records"
                hint = "to list them and merge areas, run: discreet find-slivers"
                yield programme.problem(("slivers", "least"), f"{message} between {both}", hint)
            if not report.complete and not stated.partly:
                message = (
                    f"not all unions of more than {report.searched} areas were examined: {both}"
                )
                hint = "raise effort, or accept it with partly = true"
                yield programme.problem(("slivers", "effort"), message, hint)


def _compared(
    programme: Programme, geographies: Sequence[str]
) -> dict[tuple[str, str], dict[str, str]]:
    """Per source and filter the geographies of its tables, with their columns."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for name, table in programme.tables.items():
        used = {*(table.by or []), *used_variables(programme, name)}
        areas = found.setdefault((programme.source_of(name).name, table.where or ""), {})
        for area in geographies:
            if area in used:
                columns = programme.columns_of(area) if area in programme.variables else []
                areas[area] = columns[-1][1] if columns else area
    return found


def _counts(inputs: Inputs, source: str, where: str, areas: dict[str, str]) -> Any:
    """How many records lie in each combination of areas."""
    import narwhals as nw

    from discreet.tabulation import Query

    records: nw.LazyFrame[Any] = inputs.records[source].lazy()
    condition = Query(by=[], where=where or None).condition(records.collect_schema())
    records = records if condition is None else records.filter(condition)
    parts = [nw.col(column).cast(nw.String).alias(area) for area, column in areas.items()]
    grouped = records.select(parts).group_by(list(areas), drop_null_keys=False)
    return collected(grouped.agg(nw.len().alias(_RECORDS)))


@dataclass(frozen=True, kw_only=True)
class RevisionCheck:
    """Check of a revision: disclosure by its differences."""

    tables: list[RevisedCells]  # per table of the source
    left_out: list[str]  # tables of other sources, which were not looked at

    @property
    def few(self) -> int:
        """Number of cells that differ by few units."""
        return sum(table.few for table in self.tables)

    def text(self) -> str:
        """Findings and remedies, without naming a cell."""
        lines = [table.text() for table in self.tables]
        if self.left_out:
            lines.append(f"Not examined, because of other records: {', '.join(self.left_out)}.")
        if self.few:
            lines.append(
                "The values of both publications disclose these few units. Collect more "
                "corrections, correct the next period only, or omit these tables."
            )
        return "\n".join(lines)

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        tables = [table.described() for table in self.tables]
        return {"few": self.few, "tables": tables, "left_out": self.left_out}


def check_revision(
    programme: str | os.PathLike[str],
    first: str | os.PathLike[str],
    *,
    id: str,  # noqa: A002 - the word users know
    source: str | None = None,
    least: int = 3,
    show_values: bool = False,
) -> RevisionCheck:
    """Hold the corrected records of a programme against those that were first published.

    A revision keeps record keys, so figures of cells without corrections stay as they are. Where
    few units were corrected, the two figures of a cell tell of them.

    Args:
        programme: The programme, with the corrected records.
        first: The file of the records of the first publication.
        id: The column that identifies a unit.
        source: The source that was corrected; the main one if None.
        least: By how many units a cell must differ, if it does.
        show_values: Whether errors may quote the first wrong value of a column.
    """
    inputs = open_inputs(programme, show_values=show_values)
    name = inputs.programme.known_source(source)
    before = open_inputs(programme, show_values=show_values, data={name: first})
    return _revised(inputs, before, name, id, least)


def check_period_revision(inputs: Inputs) -> RevisionCheck | None:
    """Refuse a revision of the period that shows corrections of few units; None without records.

    Raises:
        ProgrammeError: If more cells differ by few units than the programme accepts.
    """
    programme, period = inputs.programme, inputs.programme.document.period
    if period is None or period.first is None:
        return None
    name, unit = programme.main.name, period.unit or (programme.main.keys.id or [""])[0]
    before = open_inputs(programme.path, data={name: programme.file(period.first)})
    least = period.least or 3
    check = _revised(inputs, before, name, unit, least)
    if check.few > (period.few or 0):
        message = f"{check.few:,} cells differ by fewer than {least} units from the first release"
        hint = "collect more corrections, or omit tables; to accept these cells: few"
        raise_problems(programme.place, [programme.problem(("period", "first"), message, hint)])
    return check


def _revised(inputs: Inputs, before: Inputs, name: str, unit: str, least: int) -> RevisionCheck:
    """The tables of a source, held against the records as first published."""
    from discreet.assessment import revised_cells

    records, found, left_out = inputs.records[name], [], []
    for table, entry in inputs.programme.tables.items():
        if inputs.programme.source_of(table).name != name:
            left_out.append(table)
            continue
        spanning = spanning_variables(inputs.programme, entry.by or [], inputs.trees, records)
        found.append(
            revised_cells(
                before.records[name],
                records,
                list(spanning.values()),
                id=unit,
                least=least,
                where=entry.where or None,
                name=table,
            )
        )
    return RevisionCheck(tables=found, left_out=left_out)
