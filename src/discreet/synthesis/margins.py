"""A log-linear model of protected tables: nothing of a record goes in.

In: protected tables of counts, or their cells as rows. Public. Out: the cells of the model that is
fitted to all of them by iterative proportional fitting (IPF), and records drawn from it. Tables
that contradict each other are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.errors import Problem, TableError, nearest, raise_all
from discreet.microdata import Secret
from discreet.pretabular import DRAWS, draws, impossible
from discreet.synthesis.measures import SynthesisMeasure, Verdict, distances, measure
from discreet.tables import WITHOUT_NUMBER, CellStatus, ProtectedTable

#: Cells of the model, rounds of fitting, and the change at which it ends.
_MOST_CELLS, _ROUNDS, _STILL = 5_000_000, 500, 1e-9
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
        raise_all(TableError, problems, code="synthesise")
    codes: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for name, own in zip(table.variables, table.codes, strict=True):
            if codes.setdefault(name, own) != own:
                hint = "choose tables with the same codes, of one level"
                problems.append(Problem(f"{name} has other codes in {table.name}", "tables", hint))
    if not tables:
        problems.append(Problem("no table of counts", "tables"))
    if np.prod([float(len(own)) for own in codes.values()]) > _MOST_CELLS:
        hint = "choose tables with fewer variables, or coarser codes"
        problems.append(Problem(f"more than {_MOST_CELLS:,} combinations of codes", "tables", hint))
    raise_all(TableError, problems, code="synthesise")
    return tables


def _interior(table: ProtectedTable) -> Margin:
    """The finest cells of a table, all of them."""
    hint = "name the tables to use (tables)"
    if table.figures or any(len(one.classifications) > 1 or one.chosen for one in table.dimensions):
        message = "not a plain table of counts"
        raise TableError(message, code="synthesise", where=table.name, hint=hint)
    index, value, status = table.cells(complete=True)
    leaves = [np.setdiff1d(np.arange(1, len(one.codes)), one.parents) for one in table.dimensions]
    inside = np.all([np.isin(part, own) for part, own in zip(index, leaves, strict=True)], axis=0)
    counts = np.zeros(tuple(map(len, leaves)))
    if inside.sum() != counts.size or np.isin(status[inside], WITHOUT_NUMBER).any():
        message = "some interior cells are not published"
        raise TableError(message, code="synthesise", where=table.name, hint=hint)
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
        raise TableError("column of counts not found", code="synthesise", where=f"count: {count}")
    kinds = {member.name for member in CellStatus}  # a column that tables of discreet have besides
    variables = [name for name in cells.columns if name != count
                 and not set(cells[name].cast(pl.String).unique()) <= kinds]  # fmt: skip
    texts = cells.select(pl.col(variables).cast(pl.String))
    counts = cells[count].cast(pl.Float64, strict=False)
    if counts.null_count() or not (counts.is_finite() & (counts >= 0)).all():
        message, hint = "some cells have no count", "use tables without suppressed cells"
        raise TableError(message, code="synthesise", where=f"count: {count}", hint=hint)
    inner = texts.select((pl.all().is_not_null() & (pl.all() != _TOTAL)).fill_null(False))
    shape = inner.select(pl.concat_str(pl.all().cast(pl.Int8))).to_series()
    for pattern in sorted(shape.unique(), reverse=True):
        names = [name for name, mark in zip(variables, pattern, strict=True) if mark == "1"]
        if not names:
            continue
        own = texts.filter(shape == pattern).select(names)
        name = " × ".join(names)
        if own.is_duplicated().any():
            raise TableError("a cell occurs twice", code="synthesise", where=name)
        codes = [sorted(texts[one].filter(inner[one]).unique()) for one in names]
        array = np.zeros(tuple(map(len, codes)))
        at = tuple(np.searchsorted(np.array(codes[place]), own[one].to_numpy().astype(str))
                   for place, one in enumerate(names))  # fmt: skip
        array[at] = counts.filter(shape == pattern).to_numpy()
        yield Margin(name=name, variables=tuple(names), counts=array,
                     codes=tuple(map(tuple, codes)))  # fmt: skip


def _number(tables: Sequence[Margin], tolerance: float) -> int:
    """The number of records that tables tell of; an error where they contradict each other."""
    problems = [
        Problem("the table is empty or has negative counts", table.name)
        for table in tables
        if table.counts.sum() <= 0 or table.counts.min() < 0
    ]
    raise_all(TableError, problems, code="synthesise")
    totals = [float(table.counts.sum()) for table in tables]
    for (one, first), (two, second) in combinations(zip(tables, totals, strict=True), 2):
        common = [name for name in one.variables if name in two.variables]
        apart, _ = distances(_onto(one, common), _onto(two, common))
        if max(apart, abs(first - second) / max(first, second)) > tolerance:
            what = f"contradicts {two.name} in {', '.join(common) or 'the total'}"
            hint = "use tables of the same population, or raise the tolerance"
            problems.append(Problem(what, one.name, hint))
    raise_all(TableError, problems, code="synthesise")
    return max(round(float(np.mean(totals))), 1)


def _onto(table: Margin, names: Sequence[str]) -> FloatArray:
    """The sums of a table by some of its variables, in the order of these."""
    others = tuple(at for at, name in enumerate(table.variables) if name not in names)
    kept = [name for name in table.variables if name in names]
    sums: FloatArray = np.asarray(table.counts.sum(axis=others))
    return sums.transpose([kept.index(name) for name in names])


def records_of(
    tables: Sequence[Margin], rules: Sequence[str], tolerance: float, records: int | None,
    secret: Secret,
) -> tuple[pl.DataFrame, list[SynthesisMeasure]]:  # fmt: skip
    """Records of the model that fits all tables, and how far they are from each."""
    size = _number(tables, tolerance) if records is None else records
    codes = {name: own for table in tables
             for name, own in zip(table.variables, table.codes, strict=True)}  # fmt: skip
    names, shape = list(codes), tuple(len(own) for own in codes.values())
    weights = np.ones(shape)
    if rules:
        weights[impossible(_rows(codes, np.arange(weights.size)), rules).reshape(shape)] = 0
    wanted = [_onto(table, [name for name in names if name in table.variables])
              for table in tables]  # fmt: skip
    wanted = [one / one.sum() for one in wanted]
    away = [tuple(at for at, name in enumerate(names) if name not in table.variables)
            for table in tables]  # fmt: skip
    for _ in range(_ROUNDS):
        before = weights
        for target, axes in zip(wanted, away, strict=True):
            sums = weights.sum(axis=axes)
            ratio = np.divide(target, sums, out=np.zeros_like(sums), where=sums > 0)
            weights = weights * np.expand_dims(ratio, axes)
        if float(np.abs(weights - before).max()) < _STILL:
            break
    fitted = weights.ravel() / max(float(weights.sum()), _STILL)
    # At equal steps through all cells, from a place that is drawn.
    begin = draws(pl.DataFrame({"number": [0]}), secret, "synthesise; tables")[0] / DRAWS
    last = int(np.flatnonzero(fitted)[-1]) if weights.any() else 0
    steps = np.searchsorted(np.cumsum(fitted) * size, np.arange(size) + begin, side="right")
    cells = np.minimum(steps, last)
    drawn = np.bincount(cells, minlength=len(fitted)).reshape(shape)
    measures, problems = [], []
    for table, target, axes in zip(tables, wanted, away, strict=True):
        model, _ = distances(target, fitted.reshape(shape).sum(axis=axes))
        mean, hellinger = distances(target, drawn.sum(axis=axes))
        verdict: Verdict = "good" if mean <= tolerance / 2 else "unclear"
        numbers = {"mean": mean, "hellinger": hellinger, "model": model}
        measures.append(measure("fit", verdict, table.name, **numbers))
        if model > tolerance:
            message = "the other tables and the impossible combinations leave no records for it"
            hint = "check the conditions, or raise the tolerance"
            problems.append(Problem(message, table.name, hint))
    raise_all(TableError, problems, code="synthesise")
    return _rows(codes, cells), measures


def _rows(codes: Mapping[str, tuple[str, ...]], cells: IntArray) -> pl.DataFrame:
    """Combinations of codes, by their place in the model."""
    at = np.unravel_index(cells, tuple(len(own) for own in codes.values()))
    return pl.DataFrame({
        name: pl.Series(own, dtype=pl.String).gather(part)
        for (name, own), part in zip(codes.items(), at, strict=True)
    })  # fmt: skip
