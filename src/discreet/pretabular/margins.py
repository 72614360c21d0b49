"""Interiors of published tables: the counts that weights and models are fitted to.

In: protected tables of counts, or their cells as rows. Public. Out: the finest cells of each table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray
from discreet.errors import Problem, TableError, nearest, raise_all
from discreet.tables import WITHOUT_NUMBER, CellStatus, ProtectedTable

#: Rounds in which tables are made to add up, and the share of the total at which that ends.
_ROUNDS, _STILL = 500, 1e-12
_TOTAL = "Total"


@dataclass(frozen=True, kw_only=True, slots=True)
class Margin:
    """The interior of a table. Public."""

    name: str
    variables: tuple[str, ...]
    counts: Any  # one axis per variable
    codes: tuple[tuple[str, ...], ...]  # of each axis


def margins_of(source: Any, count: str, chosen: Sequence[str]) -> list[Margin]:
    """The interiors of tables: protected ones, or rows of cells with a column of counts."""
    tables, problems = list[Margin](), list[Problem]()
    if isinstance(source, pl.DataFrame):
        tables += _of_rows(source, count)
    else:
        published = [source] if isinstance(source, ProtectedTable) else source
        names = [table.name for table in published]
        problems += [Problem("table not found", f"tables: {name}", nearest(name, names))
                     for name in chosen if name not in names]  # fmt: skip
        for table in published:
            if not chosen or table.name in chosen:
                try:
                    tables.append(_interior(table))
                except TableError as error:
                    problems += error.problems
        raise_all(TableError, problems, code="margins")
    codes: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for name, own in zip(table.variables, table.codes, strict=True):
            if codes.setdefault(name, own) != own:
                hint = "choose tables with the same codes, of one level"
                problems.append(Problem(f"{name} has other codes in {table.name}", "tables", hint))
    if not tables:
        problems.append(Problem("no table of counts", "tables"))
    raise_all(TableError, problems, code="margins")
    return tables


def _interior(table: ProtectedTable) -> Margin:
    """The finest cells of a table, all of them."""
    hint = "name the tables to use (tables)"
    if table.figures or any(len(one.classifications) > 1 or one.chosen for one in table.dimensions):
        message = "not a plain table of counts"
        raise TableError(message, code="margins", where=table.name, hint=hint)
    index, value, status = table.cells(complete=True)
    leaves = [np.setdiff1d(np.arange(1, len(one.codes)), one.parents) for one in table.dimensions]
    inside = np.all([np.isin(part, own) for part, own in zip(index, leaves, strict=True)], axis=0)
    counts = np.zeros(tuple(map(len, leaves)))
    if inside.sum() != counts.size or np.isin(status[inside], WITHOUT_NUMBER).any():
        message = "some interior cells are not published"
        raise TableError(message, code="margins", where=table.name, hint=hint)
    at = tuple(np.searchsorted(own, part[inside]) for own, part in zip(leaves, index, strict=True))
    counts[at] = value[inside]
    # In the order of their texts: the same in all tables.
    both = zip(table.dimensions, leaves, strict=True)
    codes = [[one.codes[at] for at in own] for one, own in both]
    order = np.ix_(*(np.argsort(own, kind="stable") for own in codes))
    return Margin(
        name=table.name,
        variables=tuple(one.name for one in table.dimensions),
        codes=tuple(tuple(sorted(own)) for own in codes),
        counts=counts[order],
    )


def _of_rows(cells: pl.DataFrame, count: str) -> Iterator[Margin]:
    """Tables of rows: a table has the variables that are neither empty nor the total."""
    if count not in cells.columns:
        raise TableError("column of counts not found", code="margins", where=f"count: {count}")
    kinds = {member.name for member in CellStatus}
    variables = [name for name in cells.columns if name != count]
    if any(set(cells[name].cast(pl.String).unique()) <= kinds for name in variables):
        # A table as discreet writes it: after the value come its status and remarks.
        variables = [name for name in cells.columns[: cells.columns.index(count)]
                     if not name.endswith("_label")]  # fmt: skip
    texts = cells.select(pl.col(variables).cast(pl.String))
    counts = cells[count].cast(pl.Float64, strict=False)
    if counts.null_count() or not (counts.is_finite() & (counts >= 0)).all():
        message, hint = "some cells have no count", "use tables without suppressed cells"
        raise TableError(message, code="margins", where=f"count: {count}", hint=hint)
    inner = texts.select((pl.all().is_not_null() & (pl.all() != _TOTAL)).fill_null(False))
    shape = inner.select(pl.concat_str(pl.all().cast(pl.Int8))).to_series()
    for pattern in sorted(shape.unique(), reverse=True):
        names = [name for name, mark in zip(variables, pattern, strict=True) if mark == "1"]
        if not names:
            continue
        own = texts.filter(shape == pattern).select(names)
        name = " × ".join(names)
        if own.is_duplicated().any():
            raise TableError("a cell occurs twice", code="margins", where=name)
        codes = [sorted(texts[one].filter(inner[one]).unique()) for one in names]
        array = np.zeros(tuple(map(len, codes)))
        at = tuple(np.searchsorted(np.array(codes[place]), own[one].to_numpy().astype(str))
                   for place, one in enumerate(names))  # fmt: skip
        array[at] = counts.filter(shape == pattern).to_numpy()
        yield Margin(name=name, variables=tuple(names), counts=array,
                     codes=tuple(map(tuple, codes)))  # fmt: skip


def summed(table: Margin, names: Sequence[str]) -> FloatArray:
    """The sums of a table by some of its variables, in the order of these."""
    others = tuple(at for at, name in enumerate(table.variables) if name not in names)
    kept = [name for name in table.variables if name in names]
    sums: FloatArray = np.asarray(table.counts.sum(axis=others))
    return sums.transpose([kept.index(name) for name in names])


def check_agreement(tables: Sequence[Margin], tolerance: float) -> float:
    """The total of all tables; an error where they contradict each other."""
    problems = [
        Problem("the table is empty or has negative counts", table.name)
        for table in tables
        if table.counts.sum() <= 0 or table.counts.min() < 0
    ]
    raise_all(TableError, problems, code="margins")
    totals = [float(table.counts.sum()) for table in tables]
    for (one, first), (two, second) in combinations(zip(tables, totals, strict=True), 2):
        common = [name for name in one.variables if name in two.variables]
        apart = np.abs(summed(one, common) / first - summed(two, common) / second).sum() / 2
        if max(apart, abs(first - second) / max(first, second)) > tolerance + _STILL:
            what = f"contradicts {two.name} in {', '.join(common) or 'the total'}"
            hint = "use tables of the same population, or raise the tolerance"
            problems.append(Problem(what, one.name, hint))
    raise_all(TableError, problems, code="margins")
    return float(np.mean(totals))


def agreed(tables: Sequence[Margin], tolerance: float) -> list[Margin]:
    """The tables with all of them adding up: those of more variables follow those of fewer."""
    check_agreement(tables, tolerance)
    fitted: list[Margin] = []
    for table in sorted(tables, key=lambda one: len(one.variables)):
        for _ in range(_ROUNDS):
            before = table.counts
            for other in fitted:
                common = [name for name in table.variables if name in other.variables]
                wanted, sums = summed(other, common), summed(table, common)
                ratio = np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)
                away = [at for at, name in enumerate(table.variables) if name not in common]
                table = replace(table, counts=table.counts * np.expand_dims(ratio, away))
            if np.abs(table.counts - before).max() <= _STILL * before.sum():
                break
        fitted.append(table)
    return fitted
