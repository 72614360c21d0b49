"""Data files in which the values of some persons or firms are exchanged. CONFIDENTIAL.

In: data files, the variable that says whom a record is about. Out: copies of the files in which
values of one part of the persons or firms are exchanged within this part, each column by
itself. All columns keep their values; what a mean, a deviation or a maximum of all is stays
so, but what one person has does not. What says whom a record is about, and of which time it is,
stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet_fire.runners.builtin.data.data_files import dta_bytes, read_data
from discreet_fire.runners.builtin.data.dataset import DataSet, DataVariable, missing_values

#: A variable that tells records of one person apart, such as a year, has at most so many values.
_MOST_TIMES = 50


@dataclass(frozen=True, kw_only=True, repr=False)
class _ExchangedColumn:
    """A column (confidential): its values as ranks, 0 for missing ones."""

    values: pl.Series | DataVariable
    ranks: IntArray
    is_number: bool

    def taken(self, rows: IntArray) -> Any:
        """The values of some records."""
        values = self.values
        return values.gather(rows) if isinstance(values, pl.Series) else values.taken(rows)


class ExchangedData:
    """Copies of data files with exchanged values.

    The persons or firms fall into some parts; `part` says of each record of all files to which.
    Fewer records than `least` at either end of a column are its extremes.
    """

    def __init__(
        self, files: Sequence[Path], entity: str | None, *, parts: int, least: int, seed: int
    ) -> None:
        self._files, self._entity, self._least = files, entity, least
        self._seed = seed % 2**32
        order, numbers = np.random.default_rng(self._seed), dict[str, int]()
        units, parts_of = list[IntArray](), np.zeros(0, dtype=np.int64)
        for file in files:
            units.append(self._units(_columns(_content(file)), numbers))
            new = order.permutation(len(numbers) - len(parts_of)) % parts
            parts_of = np.concatenate([parts_of, new])
        self._ends = np.cumsum([len(one) for one in units])
        self._unit = np.concatenate([np.zeros(0, dtype=np.int64), *units])
        self.part = parts_of[self._unit]

    def _units(self, columns: dict[str, _ExchangedColumn], numbers: dict[str, int]) -> IntArray:
        """A number for whom each record of a file is about, the same in all files."""
        own = columns.get(self._entity or "")
        if own is None:
            names = [f" {len(numbers)} {at}" for at in range(_height(columns))]
        else:
            values = own.values
            if not isinstance(values, pl.Series):
                values = pl.Series(values.values.tolist())
            whole = values.cast(pl.Float64, strict=False)
            names = (values if whole.null_count() else whole).cast(pl.String).to_list()
        return np.array(
            [numbers.setdefault(str(one), len(numbers)) for one in names], dtype=np.int64
        )

    def written(self, folder: Path, change: int | str) -> list[Path]:
        """Write the files with the values of one part exchanged.

        Instead of a part, "same" changes nothing, "ends" pulls extremes in, and "half" changes
        half of the other values.
        """
        places = []
        for at, file in enumerate(self._files):
            content = _content(file)
            columns = _columns(content)
            fixed = self._fixed(columns)
            new = {
                name: column.taken(self._source(column, change, (at, place)))
                for place, (name, column) in enumerate(columns.items())
                if name not in fixed
            }
            places.append(folder / file.name)
            if isinstance(content, DataSet):
                changed = replace(content, variables={**content.variables, **new}, sorted_by=())
                places[-1].write_bytes(dta_bytes(changed))
                continue
            frame = content.with_columns(*(one.alias(name) for name, one in new.items()))
            if file.suffix.lower() == ".parquet":
                frame.write_parquet(places[-1])
            else:
                frame.write_csv(places[-1], separator=_separator(file))
        return places

    def _source(
        self, column: _ExchangedColumn, change: int | str, place: tuple[int, int]
    ) -> IntArray:
        """Whose value each record gets."""
        mixed, at = np.random.default_rng((self._seed, *place)), place[0]
        if isinstance(change, int):
            start = self._ends[at - 1] if at else 0
            inside = np.flatnonzero(self.part[start : self._ends[at]] == change)
            alone = len(np.unique(self._unit[start + inside])) < 2
            return _exchange(column.ranks, inside, mixed, alone=alone)
        source = np.arange(len(column.ranks), dtype=np.int64)
        known = np.flatnonzero(column.ranks)
        few = self._least - 1
        if change == "same" or not column.is_number or len(known) <= 2 * self._least:
            return source
        known = known[np.argsort(column.ranks[known], kind="stable")]
        if change == "ends":
            source[known[:few]] = known[few]
            source[known[len(known) - few :]] = known[len(known) - few - 1]
            return source
        inner = known[few : len(known) - few]
        changed = inner[mixed.random(len(inner)) < 0.5]
        source[changed] = mixed.choice(inner, len(changed))
        return source

    def _fixed(self, columns: dict[str, _ExchangedColumn]) -> set[str]:
        """Whom a record is about, and what tells the records of one person apart."""
        own = columns.get(self._entity or "")
        if own is None:
            return set()
        height = len(own.ranks)
        repeats = len(np.unique(own.ranks)) < height
        times = {
            name
            for name, one in columns.items()
            if repeats
            and len(np.unique(one.ranks)) <= _MOST_TIMES
            and len(np.unique(np.column_stack([own.ranks, one.ranks]), axis=0)) == height
        }
        return {str(self._entity)} | times


def _content(file: Path) -> pl.DataFrame | DataSet:
    """The columns of a file as they stand there: those of a text file are texts."""
    if file.suffix.lower() == ".dta":
        return read_data(file)
    if file.suffix.lower() == ".parquet":
        return pl.read_parquet(file)
    return pl.read_csv(file, infer_schema=False, separator=_separator(file))


def _separator(file: Path) -> str:
    with file.open("rb") as lines:
        head = lines.readline()
    return max(",;\t|", key=lambda sign: head.count(sign.encode()))


def _columns(content: pl.DataFrame | DataSet) -> dict[str, _ExchangedColumn]:
    if isinstance(content, DataSet):
        return {name: _of_stata(one) for name, one in content.variables.items()}
    return {one.name: _of_polars(one) for one in content.iter_columns()}


def _of_stata(variable: DataVariable) -> _ExchangedColumn:
    values = variable.values.astype(str) if variable.is_text else variable.values
    ranks = np.unique(values, return_inverse=True)[1].astype(np.int64) + 1
    ranks[missing_values(variable)] = 0
    return _ExchangedColumn(values=variable, ranks=ranks, is_number=not variable.is_text)


def _of_polars(column: pl.Series) -> _ExchangedColumn:
    numbers = column.cast(pl.Float64, strict=False)
    is_number = numbers.null_count() == column.null_count()
    ranked = (numbers if is_number else column).rank("dense")
    ranks = ranked.cast(pl.Int64).fill_null(0).to_numpy().copy()
    return _ExchangedColumn(values=column, ranks=ranks, is_number=is_number)


def _height(columns: dict[str, _ExchangedColumn]) -> int:
    return len(next(iter(columns.values())).ranks) if columns else 0


def _exchange(
    ranks: IntArray, inside: IntArray, mixed: np.random.Generator, *, alone: bool
) -> IntArray:
    """Whose value each record gets, so that none of those inside keeps its own.

    Where all are of one person `alone`, they get values of others.

    >>> ranks = np.array([1, 1, 2, 3, 3, 3, 2, 1])
    >>> mixed = np.random.default_rng(1)
    >>> source = _exchange(ranks, np.array([0, 1, 2, 3]), mixed, alone=False)
    >>> (ranks[source] != ranks).tolist()
    [True, True, True, True, False, False, False, False]
    """
    source = np.arange(len(ranks), dtype=np.int64)
    kinds, first, at = np.unique(ranks, return_index=True, return_inverse=True)
    if len(kinds) == 1 or not len(inside):
        return source
    most = int(np.bincount(at[inside]).max())
    if 2 * most <= len(inside) and not alone:
        ordered = inside[np.argsort(ranks[inside], kind="stable")]
        source[ordered] = np.roll(ordered, int(mixed.integers(most, len(inside) - most + 1)))
    else:  # most of them have one value: they get that of others, who may be of other parts
        source[inside] = first[(at[inside] + 1) % len(kinds)]
    return source
