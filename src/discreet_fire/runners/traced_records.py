"""Which records of the data files a statistic of a script is about. CONFIDENTIAL.

In: the columns that a program hands to a safe function, and where it says that they stand in the
file it read. Out: `TracedRecords`: the records, and the columns that the runner finds in the file
itself. Nothing that the program says is believed: a column is found only if the file has the same
values at these places, and its values are then taken from the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.runners.builtin.data import DataSet, read_data
from discreet_fire.runners.builtin.values import MISSING
from discreet_fire.statistics import number_text

#: A variable with more values is no category of which dummies are looked for.
_MOST_LEVELS = 50
#: Readers of text files differ in the last digit.
_CLOSE = 1e-12


@dataclass(frozen=True, kw_only=True, repr=False)
class TracedRecords:
    """Records of one data file (confidential)."""

    numbers: IntArray  # their numbers, each once, over all files
    units: pl.Series | None  # whom each is about; None if the data does not say
    columns: dict[str, pl.Series]  # those of the request that the file has, with its own values
    outside: int  # of how many units no record is among them


class DataRecords:
    """The records of all data files (confidential)."""

    def __init__(self, files: Sequence[Path], entity: str | None) -> None:
        self._files: list[_FileRecords] = []
        start = 0
        for file in files:
            self._files.append(_FileRecords(file, entity, start))
            start += self._files[-1].height

    @property
    def first(self) -> int:
        """How many records the first file has."""
        return self._files[0].height if self._files else 0

    def traced(self, frame: pl.DataFrame, places: IntArray | None) -> TracedRecords | None:
        """The records that a frame is about; None if no file has one of its columns there."""
        traces = [one.traced(frame, places) for one in self._files]
        known = [one for one in traces if one is not None]
        return max(known, key=lambda one: len(one.columns), default=None)


class _FileRecords:
    """The records of one file, with value labels as texts beside the numbers."""

    def __init__(self, file: Path, entity: str | None, start: int) -> None:
        self._columns = columns_of(file)
        self._start = start
        self.height = len(self._columns[0]) if self._columns else 0
        named = [one for one in self._columns if one.name == entity]
        self._unit = named[0] if named else None

    def traced(self, frame: pl.DataFrame, places: IntArray | None) -> TracedRecords | None:
        if places is None:
            traces = (self._found(frame, one) for one in self._guesses(frame.height))
            return next((one for one in traces if one is not None), None)
        return self._found(frame, places)

    def _guesses(self, height: int) -> Iterator[IntArray]:
        """All records, or those of one category: where nothing says which records it is about."""
        if height == self.height:
            yield np.arange(self.height, dtype=np.int64)
            return
        for column in self._columns:
            counts = column.drop_nulls().value_counts(name="records")
            if counts.height <= _MOST_LEVELS:
                for value in counts.filter(pl.col("records") == height)[column.name]:
                    yield np.flatnonzero((column == value).fill_null(value=False).to_numpy())

    def _found(self, frame: pl.DataFrame, places: IntArray) -> TracedRecords | None:
        inside = len(places) == frame.height and len(np.unique(places)) == len(places)
        if not inside or (len(places) and not 0 <= places.min() <= places.max() < self.height):
            return None
        own = [column.gather(places) for column in self._columns]
        same = {column.name: next(_same(column, own), None) for column in frame.iter_columns()}
        columns = {name: one.alias(name) for name, one in same.items() if one is not None}
        if not columns:
            return None
        unit = None if self._unit is None else self._unit.gather(places)
        return TracedRecords(
            numbers=places + self._start, units=unit, columns=columns, outside=self._outside(places)
        )

    def _outside(self, places: IntArray) -> int:
        """Units of which no record is at these places."""
        rest = np.ones(self.height, dtype=np.bool_)
        rest[places] = False
        if self._unit is None:
            return int(rest.sum())
        inside = self._unit.gather(places).unique()
        other = self._unit.filter(pl.Series(rest)).unique()
        return len(other.filter(~other.is_in(inside.implode())))


def columns_of(file: Path) -> list[pl.Series]:
    """The columns of a file as scripts read them, with value labels as texts beside the numbers."""
    ending = file.suffix.lower()
    if ending == ".dta":
        return list(_stata_columns(read_data(file)))
    if ending not in (".csv", ".parquet"):
        message, hint = "data of this kind cannot be read", "give a .dta, .csv or .parquet file"
        raise OutputCheckError(message, code="file-kind", where=file.name, hint=hint)
    try:
        if ending == ".parquet":
            return pl.read_parquet(file).get_columns()
        return pl.read_csv(file, infer_schema_length=None).get_columns()
    except (OSError, pl.exceptions.PolarsError) as error:  # their texts may quote the file
        message = f"the file cannot be read ({type(error).__name__})"
        raise OutputCheckError(message, code="file-content", where=file.name) from None


def _stata_columns(data: DataSet) -> Iterator[pl.Series]:
    for name, variable in data.variables.items():
        if variable.is_text:
            yield pl.Series(name, variable.values.tolist(), dtype=pl.String).replace("", None)
            continue
        numbers = np.where(variable.values < MISSING, variable.values, np.nan)
        column = pl.Series(name, numbers, nan_to_null=True)
        yield column
        labels = data.value_labels.get(variable.value_label, {})
        if labels:
            yield _labelled(column, labels)


def _labelled(column: pl.Series, labels: dict[float, str]) -> pl.Series:
    values = column.drop_nulls().unique().to_list()
    texts = [labels.get(float(one)) or number_text(one) for one in values]
    return column.replace_strict(values, texts, default=None, return_dtype=pl.String)


def _same(column: pl.Series, own: Sequence[pl.Series]) -> Iterator[pl.Series]:
    """Columns of the file that have the same values, those of the same name first."""
    ordered = sorted(own, key=lambda one: one.name != column.name)
    if column.dtype == pl.String:
        for one in ordered:
            text = _text(one) if _is_number(one) else one
            if column.equals(text):
                yield text
        return
    if not _is_number(column):
        return
    numbers = _numbers(column)
    for one in ordered:
        if _is_number(one) and _alike(numbers, _numbers(one)):
            yield one
    if np.isin(numbers[~np.isnan(numbers)], (0.0, 1.0)).all():
        yield from _dummies(column, ordered)


def _dummies(column: pl.Series, own: Sequence[pl.Series]) -> Iterator[pl.Series]:
    """The column itself, if it is 0 or 1 by the categories of one variable alone."""
    for one in own:
        levels = one.n_unique()
        if levels <= _MOST_LEVELS:
            pairs = pl.DataFrame({"of": one, "is": _numbers(column)})
            if pairs.n_unique() == levels:
                yield column
                return


def _is_number(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype == pl.Boolean


def _text(column: pl.Series) -> pl.Series:
    """Numbers as a program writes them."""
    values = column.drop_nulls().unique().to_list()
    return column.replace_strict(
        values, [number_text(one) for one in values], default=None, return_dtype=pl.String
    )


def _numbers(column: pl.Series) -> FloatArray:
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _alike(one: FloatArray, other: FloatArray) -> bool:
    first = slice(0, 100)  # most that differ do so at once
    return all(
        np.allclose(one[part], other[part], rtol=_CLOSE, atol=0.0, equal_nan=True)
        for part in (first, slice(None))
    )
