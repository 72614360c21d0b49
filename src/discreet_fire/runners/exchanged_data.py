"""Data files in which the values of some persons or firms are exchanged. CONFIDENTIAL.

In: data files, the variable that says whom a record is about. Out: copies of the files in which
values of one part of the persons or firms are exchanged within this part, each column by
itself. All columns keep their values; what a mean, a deviation or a maximum of all is stays
so, but what one person has does not. What says whom a record is about, and of which time it is,
stays. In some further copies all persons or firms exchange their names and places, and nothing
else: a program that treats them alike gives the same figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet_fire.runners.builtin.data import DataSet, DataVariable, dta_bytes, read_data

#: A variable that tells records of one person apart, such as a year, has at most so many values.
_MOST_TIMES = 50
#: Codes of a classification are at most so many, and each of them has at least as many records.
_MOST_CODES = 50
#: The changes that exchange names and places. A yes or no about one person that is true of a share
#: q of all stays the same in all of them with probability q^8.
RENAMED = tuple(f"names {number}" for number in range(1, 9))


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

    def texts(self) -> list[str | None]:
        """The values as texts, numbers in one way whatever the file."""
        values = self.values
        if not isinstance(values, pl.Series):
            values = pl.Series(values.values.tolist())
        numbers = values.cast(pl.Float64, strict=False)
        same = numbers.null_count() == values.null_count()
        return (numbers if same else values).cast(pl.String).to_list()

    @property
    def can_name(self) -> bool:
        """Whether each record has a text or whole number of its own."""
        height = len(self.ranks)
        if height < 2 or not self.ranks.all() or len(np.unique(self.ranks)) < height:
            return False
        return not self.is_number or bool((self.numbers() % 1 == 0).all())

    def numbers(self) -> FloatArray:
        """The values, where they are numbers; missing ones as NaN."""
        values = self.values
        if isinstance(values, pl.Series):
            numbers = values.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        else:
            numbers = np.array(values.values, dtype=np.float64)
        return np.where(self.ranks > 0, numbers, np.nan)


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
        contents = [_columns(_content(file)) for file in files]
        self.names = frozenset(self._names(contents))
        self.size = _usual_size(contents, self.names)
        for columns in contents:
            units.append(self._units(columns, numbers))
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
            names = [str(one) for one in own.texts()]
        return np.array(
            [numbers.setdefault(str(one), len(numbers)) for one in names], dtype=np.int64
        )

    def written(self, folder: Path, change: int | str) -> list[Path]:
        """Write the files with the values of one part exchanged.

        Instead of a part, "same" changes nothing, one of `RENAMED` exchanges names and
        places, "ends" pulls extremes in, and "half" and "other half" change half of the other
        values.
        """
        places = []
        contents = [_content(file) for file in self._files]
        tables = [_columns(content) for content in contents]
        renamed = self._renamed(tables, change) if change in RENAMED else []
        for at, (file, content, columns) in enumerate(
            zip(self._files, contents, tables, strict=True)
        ):
            if renamed:
                sources = renamed[at]
            else:
                fixed = self._fixed(columns)
                sources = {
                    name: self._source(column, change, (at, place))
                    for place, (name, column) in enumerate(columns.items())
                    if name not in fixed
                }
            new = {name: columns[name].taken(source) for name, source in sources.items()}
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
        changed = inner[(mixed.random(len(inner)) < 0.5) == (change == "half")]
        source[changed] = mixed.choice(inner, len(changed))
        return source

    def _names(self, contents: Sequence[dict[str, _ExchangedColumn]]) -> Iterator[str]:
        """The columns that name persons or firms: the entity, and what else is a record's own.

        Without an entity, whatever is each record's own is taken for its name.
        """
        yield from filter(None, [self._entity])
        for columns in contents:
            for name, column in columns.items():
                others = [one[name] for one in contents if one is not columns and name in one]
                text = not column.is_number and self._entity in columns
                if not column.can_name or not (others or text or self._entity is None):
                    continue
                codes = len(column.ranks)
                many = all(len(one.ranks) >= _MOST_CODES * codes for one in others)
                if self._entity in columns or not others or codes > _MOST_CODES or not many:
                    yield name

    def _renamed(
        self, contents: Sequence[dict[str, _ExchangedColumn]], change: int | str
    ) -> list[dict[str, IntArray]]:
        """Of each file, where each record gets its values: with other names, in another order."""
        mixed = np.random.default_rng((self._seed, RENAMED.index(str(change))))
        sources = [dict[str, IntArray]() for _ in contents]
        for name in sorted(self.names):
            labels = {at: one[name].texts() for at, one in enumerate(contents) if name in one}
            inside: dict[str | None, list[int]] = {}
            for at, texts in labels.items():
                for text in dict.fromkeys(texts):
                    inside.setdefault(text, []).append(at)
            classes: dict[tuple[int, ...], list[str]] = {}
            for text, files in inside.items():
                if text is not None:
                    classes.setdefault(tuple(files), []).append(text)
            new: dict[str | None, str | None] = {None: None}
            for names in classes.values():  # each name becomes another that the same files have
                mix = [names[at] for at in mixed.permutation(len(names))]
                new |= dict(zip(mix, [*mix[1:], mix[0]], strict=True))
            for at, texts in labels.items():
                first = {text: row for row, text in reversed(list(enumerate(texts)))}
                sources[at][name] = np.array([first[new[text]] for text in texts], dtype=np.int64)
        for at, columns in enumerate(contents):
            order: IntArray = mixed.permutation(_height(columns))
            for name in sorted(sources[at], key=lambda name: (name != self._entity, name))[:1]:
                order = _order(columns[name].texts(), sources[at][name])
            sources[at] = {
                name: sources[at][name][order] if name in sources[at] else order for name in columns
            }
        return sources

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
    ranks[variable.missing] = 0
    return _ExchangedColumn(values=variable, ranks=ranks, is_number=not variable.is_text)


def _of_polars(column: pl.Series) -> _ExchangedColumn:
    numbers = column.cast(pl.Float64, strict=False)
    is_number = numbers.null_count() == column.null_count()
    ranked = (numbers if is_number else column).rank("dense")
    ranks = ranked.cast(pl.Int64).fill_null(0).to_numpy().copy()
    return _ExchangedColumn(values=column, ranks=ranks, is_number=is_number)


def _height(columns: dict[str, _ExchangedColumn]) -> int:
    return len(next(iter(columns.values())).ranks) if columns else 0


def _usual_size(contents: Sequence[dict[str, _ExchangedColumn]], names: frozenset[str]) -> float:
    """How large the largest values of columns usually are."""
    largest = [
        float(np.nanmax(np.abs(column.numbers())))
        for columns in contents
        for name, column in columns.items()
        if name not in names and column.is_number and column.ranks.any()
    ]
    return float(np.median(largest)) if largest else 1.0


def _order(texts: Sequence[str | None], new: IntArray) -> IntArray:
    """Records in the order in which their new names stood; `new` says where these first stand.

    >>> _order(["a", "a", "b"], np.array([2, 2, 0])).tolist()
    [2, 0, 1]
    """
    rows: dict[str | None, list[int]] = {}
    for row, text in enumerate(texts):
        rows.setdefault(text, []).append(row)
    places = np.zeros(len(texts), dtype=np.int64)
    for own in rows.values():
        theirs = rows[texts[new[own[0]]]]
        places[own] = [theirs[min(at, len(theirs) - 1)] for at in range(len(own))]
    return np.argsort(places, kind="stable")


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
