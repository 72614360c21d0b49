"""Whose values stand in the columns that a script made. CONFIDENTIAL.

In: data files, the variable that says whom a record is about; the records that a script hands over
for a statistic, and those that it hands over when it runs again on other data. Out: copies of the
files in which persons or firms exchange names and places, or the values of one part of them are
exchanged within this part, each column by itself; and why the statistic is withheld. All columns
keep their values; what a mean, a deviation or a maximum of all is stays so, but what one person has
does not. What says whom a record is about, and of which time it is, stays.

A program that picks somebody by name or place gives another figure when these change, however
little of the figure is theirs. A value that changes with a part rests on someone in it; values that
change all with one part, and with few others, are copies of what few have, however the script made
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet_fire.runners.asked_statistics import AskedStatistic
from discreet_fire.runners.builtin.data import DataSet, dta_bytes, read_data

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

    values: pl.Series
    ranks: IntArray
    is_number: bool

    def texts(self) -> list[str | None]:
        """The values as texts, numbers in one way whatever the file."""
        numbers = self.values.cast(pl.Float64, strict=False)
        same = numbers.null_count() == self.values.null_count()
        return (numbers if same else self.values).cast(pl.String).to_list()

    @property
    def can_name(self) -> bool:
        """Whether each record has a text or whole number of its own."""
        height = len(self.ranks)
        if height < 2 or not self.ranks.all() or len(np.unique(self.ranks)) < height:
            return False
        return not self.is_number or bool((self.numbers() % 1 == 0).all())

    def numbers(self) -> FloatArray:
        """The values, where they are numbers; missing ones as NaN."""
        return self.values.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()


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
        if change in RENAMED:
            sources = self._renamed(tables, change)
        else:
            sources = [
                {
                    name: self._source(column, change, (at, place))
                    for place, (name, column) in enumerate(columns.items())
                    if name not in self._fixed(columns)
                }
                for at, columns in enumerate(tables)
            ]
        for file, content, own in zip(self._files, contents, sources, strict=True):
            places.append(folder / file.name)
            if isinstance(content, DataSet):
                new = {name: content.variables[name].taken(at) for name, at in own.items()}
                changed = replace(content, variables={**content.variables, **new}, sorted_by=())
                places[-1].write_bytes(dta_bytes(changed))
                continue
            frame = content.with_columns(content[name].gather(at) for name, at in own.items())
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
    texts = set[str]()
    if isinstance(content, DataSet):
        texts = {name for name, one in content.variables.items() if one.is_text}
        content = content.frame([*content.variables])
    columns = {}
    for column in content.iter_columns():
        numbers = column.cast(pl.Float64, strict=False)
        is_number = column.name not in texts and numbers.null_count() == column.null_count()
        ranked = (numbers if is_number else column).rank("dense")
        ranks = ranked.cast(pl.Int64).fill_null(0).to_numpy().copy()
        columns[column.name] = _ExchangedColumn(values=column, ranks=ranks, is_number=is_number)
    return columns


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


FEW = (
    "its values come from too few persons or firms: leave out values copied from few, and groups "
    "of few"
)
ENDS = "its values come from the largest or smallest values of the data: use a percentile"
NAMES = (
    "its values change when persons or firms exchange their numbers and places: choose records by "
    "their values, not by number, place or chance"
)
LOST = (
    "the records behind it are unknown: with other data the program takes another path; put "
    "checks of the data into a separate program"
)
#: Differences below this share of the largest value come from the order of sums.
_CLOSE = 1e-9
#: The same on the scale of `_evened`.
_SAME = 1e-8
#: What moves a value by less than this share of what moves it most is no source of it.
_SLIGHT = 0.05
#: So many records may rest on few others: where their places in the data are known, and not.
_RESTING = {True: 0.0, False: 0.25}
#: So many of these may rest on one part.
_MOST = {True: 0.5, False: 0.9}
#: Extremes move a figure of many at most so many times as much as a change of half of the others.
_LEVER = 3.0
#: Values that rest on one part exceed those of the others by at most so many deviations.
_UNEVEN = 6.0
#: Less probable than this is a cell that loses so many of its records with one part.
_IMPROBABLE = 5e-4


def parts_for(least: int) -> int:
    """Into how many parts persons or firms fall, so that fewer than `least` are seen."""
    return max(8, 2 * least + 2)


def changed(
    first: AskedStatistic, other: AskedStatistic | None, size: float, names: frozenset[str]
) -> bool:
    """Whether another run hands over other records, whatever their order.

    Names may differ. Differences that are small beside a value, and beside the usual size of
    values, come from the order of sums.
    """
    if other is None or other.frame.height != first.frame.height:
        return True
    if other.frame.columns != first.frame.columns:
        return True
    columns = [name for name in first.frame.columns if name not in names]
    lines = np.zeros((2, first.frame.height))
    # Drawn anew: known weights would let a program hide one change behind another.
    weights = np.random.default_rng().random(len(columns)) + 0.5
    for name, weight in zip(columns, weights.tolist(), strict=True):
        pair = [one.frame[name] for one in (first, other)]
        for line, values in zip(lines, _numbers(pair), strict=True):
            line += weight * np.where(np.isnan(values), -weight, _evened(values, size))
    return bool((np.abs(np.diff(np.sort(lines), axis=0)) > _SAME * len(columns)).any())


def _evened(values: FloatArray, size: float) -> FloatArray:
    """Values on a scale on which a share of a value is the same everywhere."""
    return np.arcsinh(np.clip(values / (size or 1.0) * 1e3, -1e300, 1e300))


def rests_on_few(
    first: AskedStatistic,
    others: Sequence[AskedStatistic | None],
    part: IntArray,
    *,
    least: int,
    size: float,
) -> str | None:
    """Why a statistic is withheld; None if enough persons or firms stand behind its values.

    The other runs, None where there is nothing like it, are one for each part whose values are
    exchanged, one with the extremes pulled in, and two with half each of the other values changed.
    `part` says to which part each record of the data belongs.
    """
    runs = [one for one in others if one is not None and one.frame.columns == first.frame.columns]
    if len(runs) < len(others):
        return LOST
    traced = first.traced
    known = traced is not None and all(one.traced is not None for one in runs)
    if traced is None and first.counted and _lost_together(first, runs[:-3]):
        return FEW
    names = [name for name in first.frame.columns if traced is None or name not in traced.columns]
    own = part[traced.numbers] if traced is not None and known else None
    for name in names:
        for rows, moves, lost in _changes(first, runs, name, known=known, size=size):
            alike = first.frame[name].gather(rows).n_unique() == 1
            if alike and len(rows) == first.frame.height and not moves[:-3].any():
                return FEW  # one value for all: nothing says whose it is
            if _uneven(lost, least):
                return FEW
            if reason := _reason(moves, None if own is None else own[rows], least):
                return reason
    return None


def _reason(moves: FloatArray, own: IntArray | None, least: int) -> str | None:
    """Why values are withheld that other runs move by so much."""
    parts, ends, half = moves[:-3].copy(), moves[-3], moves[-2:].max(axis=0)
    if (ends > _LEVER * half).mean() > _RESTING[False]:
        return ENDS
    known = own is not None
    if own is not None:
        parts[own, np.arange(len(own))] = 0.0
    moved = (parts > 0) & (parts >= _SLIGHT * parts.max(axis=0))
    sources = moved.sum(axis=0)
    few = (sources > 0) & (sources < least)
    of_part = moved[:, few].sum(axis=1)
    rests = few.mean() > _RESTING[known]
    alike = (of_part > 0).sum() < least or of_part.max() > _MOST[known] * few.sum()
    alike |= known and _uneven(of_part, least)
    return FEW if rests and alike else None


def _uneven(of_part: IntArray, least: int) -> bool:
    """Whether many more values rest on fewer than `least` parts than on each of the others.

    >>> _uneven(np.array([30, 29, 31, 30, 30, 52, 28, 30]), 3)
    True
    >>> _uneven(np.array([30, 29, 31, 30, 30, 35, 28, 30]), 3)
    False
    """
    ordered = np.sort(of_part)[::-1]
    rests = ((ordered[at - 1], ordered[at:]) for at in range(1, least))
    return any(top - rest.mean() > least + _UNEVEN * rest.std() for top, rest in rests)


def _changes(
    first: AskedStatistic, runs: Sequence[AskedStatistic], name: str, *, known: bool, size: float
) -> Iterator[tuple[IntArray, FloatArray, IntArray]]:
    """The records of a column, and of each of its groups: by how much each run moves each value,
    and how many of the values each part takes away.
    """
    values = _numbers([first.frame[name], *(one.frame[name] for one in runs)])
    groups = first.groups if first.groups != name else None
    cells = [None] if groups is None else [None, *first.frame[groups].unique()]
    for cell in cells:
        rows = [np.flatnonzero(_inside(one.frame, groups, cell)) for one in (first, *runs)]
        if not known:  # missing values have no place among the sorted
            rows = [at[~np.isnan(one[at])] for at, one in zip(rows, values, strict=True)]
        if not len(rows[0]):
            continue
        base = values[0][rows[0]]
        if first.traced is not None and known:
            wanted = first.traced.numbers[rows[0]]
            other = [_placed(one, wanted, numbers)
                     for one, numbers in zip(runs, values[1:], strict=True)]  # fmt: skip
        else:
            other = [_ranked(one[at], len(base))
                     for one, at in zip(values[1:], rows[1:], strict=True)]  # fmt: skip
            rows[0] = rows[0][np.argsort(base, kind="stable")]
            base = np.sort(base)
        moves = np.array([_distance(base, one) for one in other])
        top = np.abs(base[np.isfinite(base)]).max(initial=0.0)
        moves[moves <= _CLOSE * top] = 0.0
        largest = moves[np.isfinite(moves)].max(initial=0.0) or 1.0
        inside = zip(values[1:-3], rows[1:-3], strict=True)
        lost = np.array([_lost(base, one[at], size) for one, at in inside])
        yield rows[0], np.minimum(moves, largest), lost


def _lost(base: FloatArray, other: FloatArray, size: float) -> int:
    """How many values are not among others, each as often as it is there."""
    both = [np.nan_to_num(_evened(one, size) / _SAME).round() for one in (base, other)]
    kinds, at = np.unique(np.concatenate(both), return_inverse=True)
    left = np.bincount(at[: len(base)], minlength=len(kinds))
    left -= np.bincount(at[len(base) :], minlength=len(kinds))
    return int(np.maximum(left, 0).sum())


def _inside(frame: pl.DataFrame, groups: str | None, cell: object) -> FloatArray:
    if groups is None or cell is None:
        return np.ones(frame.height, dtype=np.bool_)
    return (frame[groups] == cell).fill_null(value=False).to_numpy()


def _numbers(columns: Sequence[pl.Series]) -> list[FloatArray]:
    """Columns as numbers, missing values as NaN; texts have numbers of their own."""
    if not all(one.dtype.is_numeric() or one.dtype == pl.Boolean for one in columns):
        texts = [one.cast(pl.String) for one in columns]
        ranks = pl.concat([one.alias("") for one in texts]).rank("dense")
        ends = np.cumsum([0, *map(len, columns)])
        columns = [ranks[start:end] for start, end in pairwise(ends)]
    return [one.cast(pl.Float64).fill_null(float("nan")).to_numpy() for one in columns]


def _placed(run: AskedStatistic, wanted: IntArray, values: FloatArray) -> FloatArray:
    """The values of the same records in another run; infinite where they are not there."""
    assert run.traced is not None
    order = np.argsort(run.traced.numbers)
    numbers = run.traced.numbers[order]
    found = np.full(len(wanted), np.inf)
    if len(order):
        at = np.minimum(np.searchsorted(numbers, wanted), len(order) - 1)
        same = numbers[at] == wanted
        found[same] = values[order[at[same]]]
    return found


def _ranked(values: FloatArray, number: int) -> FloatArray:
    """As many values of the same distribution, in order."""
    if not len(values):
        return np.full(number, np.inf)
    at = ((np.arange(number) + 0.5) * len(values) / number).astype(np.int64)
    return np.sort(values)[at]


def _distance(one: FloatArray, other: FloatArray) -> FloatArray:
    far = np.full(len(one), np.inf)
    there = np.isfinite(one) & np.isfinite(other)
    far[there] = np.abs(one[there] - other[there])
    far[(np.isnan(one) & np.isnan(other)) | (one == other)] = 0.0
    return far


def _lost_together(first: AskedStatistic, parts: Sequence[AskedStatistic]) -> bool:
    """Whether a combination of values loses more records with one part than is probable."""
    names, share = first.frame.columns, 1 / len(parts)
    counts = first.frame.group_by(names).len("n")
    for part in parts:
        there = part.frame.group_by(names).len("left")
        both = counts.join(there, on=names, how="left", nulls_equal=True)
        number = both["n"].to_numpy().astype(np.float64)
        lost = 1 - both["left"].fill_null(0).to_numpy() / number
        with np.errstate(divide="ignore", invalid="ignore"):  # Chernoff's bound
            kept = np.where(lost < 1, (1 - lost) * np.log((1 - lost) / (1 - share)), 0.0)
            distance = np.where(lost > share, lost * np.log(lost / share) + kept, 0.0)
        if (np.exp(-number * distance) < _IMPROBABLE).any():
            return True
    return False
