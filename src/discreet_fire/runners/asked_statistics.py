"""Statistics that a running script asks for, worked out by the runner and not by the script.

In: requests of a program, each one line of JSON and the columns it is about (CONFIDENTIAL). Out:
for the program a token to print and the safe numbers; for the runner `AskedStatistic`s.

Of what a program says only two things are taken: which statistic it wants, and of which records. A
column is found only if the file has the same values at the places that the program says, and its
values are then taken from the file. All that does not stand there, and records that cannot be
found, are said in a check that an officer sees. A program that writes requests itself, without the
safe functions, has asked for safe statistics, and no more. Rules, entity and parameters stay in
this process.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from discreet.arrays import FloatArray, IntArray
from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire import statistics
from discreet_fire.catalogue import statistic_row
from discreet_fire.linked_tables import OutputRecords, ShownTable, kinds_left, tables_of
from discreet_fire.runners.builtin.data import read_data
from discreet_fire.runners.protocol import WITHHELD, StatisticShown
from discreet_fire.runners.python_program import ASKED, PLACES
from discreet_fire.statistics import (
    Check,
    CheckVerdict,
    SafeLimits,
    SafeResult,
    number_text,
)

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


class _FileRecords:
    """The records of one data file, with value labels as texts beside the numbers (confidential).

    Their numbers over all files begin at `start`.
    """

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
        data, columns = read_data(file), list[pl.Series]()
        for column in data.frame([*data.variables]).iter_columns():
            labels = data.value_labels.get(data.variables[column.name].value_label)
            columns += [column, *([_labelled(column, labels)] if labels else [])]
        return columns
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


def _labelled(column: pl.Series, labels: dict[float, str]) -> pl.Series:
    """Numbers as their labels, or as a program writes them."""
    values = column.drop_nulls().unique().to_list()
    texts = [labels.get(float(one)) or number_text(one) for one in values]
    return column.replace_strict(values, texts, default=None, return_dtype=pl.String)


def _same(column: pl.Series, own: Sequence[pl.Series]) -> Iterator[pl.Series]:
    """Columns of the file that have the same values, those of the same name first."""
    ordered = sorted(own, key=lambda one: one.name != column.name)
    if column.dtype == pl.String:
        for one in ordered:
            text = _labelled(one, {}) if _is_number(one) else one
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


def _numbers(column: pl.Series) -> FloatArray:
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _alike(one: FloatArray, other: FloatArray) -> bool:
    first = slice(0, 100)  # most that differ do so at once
    return all(
        np.allclose(one[part], other[part], rtol=_CLOSE, atol=0.0, equal_nan=True)
        for part in (first, slice(None))
    )


#: Options that are the centre's.
_OWN = ("limits", "entity")
_ENTITY = "who is it"
_LONGEST_LINE = 1 << 20
_LARGEST = 1 << 31


def token(number: int) -> str:
    """The line that stands for the output of a request where a program prints it.

    >>> token(3).isprintable()
    False
    """
    return f"\x02safe {number}\x03"


class BrokenRequestError(OutputCheckError):
    """A request that no safe function writes."""

    def __init__(self) -> None:
        super().__init__("a request for a statistic that cannot be read", code="request")


@dataclass(frozen=True, kw_only=True, repr=False)
class StatisticRequest:
    """Requested statistic of some columns of some records (confidential)."""

    line: int
    command: str
    arguments: Sequence[Any]
    options: Mapping[str, Any]
    frame: pl.DataFrame
    places: IntArray | None


@dataclass(frozen=True, kw_only=True, repr=False)
class AskedStatistic(StatisticRequest):
    """One statistic that was worked out (confidential)."""

    result: SafeResult
    traced: TracedRecords | None  # the records of the data that it is about, if known
    first: int  # how many records the first data file has
    is_withheld: bool = False  # whether nothing of it is shown

    @property
    def has_own_columns(self) -> bool:
        """Whether the program made columns of it, so that nobody knows whose values they hold."""
        return self.traced is None or len(self.traced.columns) < self.frame.width

    @property
    def groups(self) -> str | None:
        """The column by whose groups it is shown, if it is among them."""
        by = str(self.options.get("by"))
        return by if by in self.frame.columns else None

    @property
    def counted(self) -> bool:
        """Whether numbers of records are shown for each combination of values."""
        return self.command == "tabulate"

    def withheld(self, reason: str) -> AskedStatistic:
        """A copy without its figures, and without names, which may hold values."""
        check = Check(rule="few-sources", verdict=CheckVerdict.fail, reason=reason)
        checks = [replace(one, where="") for one in self.result.checks]
        result = SafeResult(command=self.command, shown=WITHHELD, checks=[*checks, check])
        return replace(self, result=result, is_withheld=True)

    def told(self, digits: int) -> StatisticShown:
        """Whom it is about, and what it shows over groups, for a ledger."""
        traced, result = self.traced, self.result
        row = statistic_row(self.command)
        universes = "model" if row is None else row.universes
        how = "unfollowed" if row is None else row.groups
        frame, numbers, units = self.frame, None, None
        tables: tuple[ShownTable | None, ...] = () if how == "nothing" else (None,)
        if traced is not None:
            frame, numbers, units = (
                frame.with_columns(traced.columns.values()),
                traced.numbers,
                traced.units,
            )
            if tables and not self.has_own_columns and "weights" not in self.options:
                owners = numbers
                if units is not None:
                    owners = units.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
                shown = pl.DataFrame() if result.frame is None else result.frame
                axes = [name for name in shown.columns if name in traced.columns]
                records = OutputRecords(
                    title=f"line {self.line}, {result.command.partition(',')[0]}",
                    labels=pl.DataFrame(list(traced.columns.values())).select(
                        *axes, pl.exclude(axes)
                    ),
                    numbers=numbers,
                    owners=owners,
                    weights=None,
                    digits=digits,
                )
                tables = tables_of(how, records, result.frame, result.stored)
        values = [*self.arguments, *self.options.values()]
        words = [word for one in values for word in (one if isinstance(one, list) else [one])]
        terms = [part for word in words for part in str(word).replace("#", " ").split()]
        groups = self.frame.columns if universes == "cells" else [str(self.options.get("by"))]
        return StatisticShown(
            line=self.line,
            command=self.command,
            universes=universes,
            units=None if units is None else units.to_list(),
            numbers=numbers,
            first=self.first,
            frame=frame,
            groups=tuple(one for one in groups if one in self.frame.columns),
            categories=frozenset(one.partition(".")[2] for one in terms if "." in one),
            missing=self.options.get("missing") is True,
            tables=tables,
            left=kinds_left(() if result.frame is None else result.frame.columns),
        )


class AskedStatistics:
    """Answers the requests of one program. CONFIDENTIAL."""

    def __init__(self, files: Sequence[Path], limits: SafeLimits, entity: str | None) -> None:
        self._limits, self._entity = limits, entity
        self._files: list[_FileRecords] = []
        for file in files:
            start = sum(one.height for one in self._files)
            self._files.append(_FileRecords(file, entity, start))
        self.answered: list[AskedStatistic] = []

    def serve(self, requests: IO[bytes], replies: IO[bytes]) -> None:
        """Answer until the program ends."""
        while (line := requests.readline(_LONGEST_LINE)) != b"":
            try:
                found: dict[str, Any] = self._answer(_read(line, requests))
            except BrokenRequestError:
                raise
            except DiscreetError as error:
                problem = {"code": error.code, "what": error.what, "where": error.where}
                found = {"error": {**problem, "hint": error.hint}}
            with suppress(BrokenPipeError):  # nobody waits for it any more
                replies.write(json.dumps(found).encode() + b"\n")

    def _answer(self, asked: StatisticRequest) -> dict[str, Any]:
        self.answered.append(self.work_out(asked))
        return self.answered[-1].result.to_dict() | {"token": token(len(self.answered))}

    def work_out(self, asked: StatisticRequest) -> AskedStatistic:
        """The statistic, by the centre's rules, with checks on whom it is about."""
        traces = filter(None, (one.traced(asked.frame, asked.places) for one in self._files))
        traced = max(traces, key=lambda one: len(one.columns), default=None)
        frame, options = asked.frame, dict(asked.options)
        if traced is not None:
            frame = frame.with_columns(traced.columns.values())
            if traced.units is not None:
                frame = frame.with_columns(traced.units.alias(_ENTITY))
                options["entity"] = _ENTITY
        statistic = getattr(statistics, asked.command)
        try:
            result = statistic(frame, *asked.arguments, limits=self._limits, **options)
        except (TypeError, ValueError):
            message = "the statistic cannot be computed with these arguments"
            raise OutputCheckError(message, code="request", where=asked.command) from None
        first = self._files[0].height if self._files else 0
        result = replace(result, checks=[*result.checks, *self._checks(asked, traced)])
        return AskedStatistic(**vars(asked), result=result, traced=traced, first=first)

    def _checks(self, asked: StatisticRequest, traced: TracedRecords | None) -> Iterator[Check]:
        """What of a request is not proven by the data."""
        if traced is None:
            yield _review("records", "its records were not found in the data")
            return
        if own := asked.frame.width - len(traced.columns):
            reason = f"{own} of its columns were created by the program and are not in the data"
            yield _review("own-columns", reason)
        if 0 < traced.outside < self._limits.minimum:
            yield _review("left-out", "it leaves out very few of those who are in the data")
        if self._entity is not None and traced.units is None:
            yield _review("entity", "the data do not name the unit of a record")


def _review(rule: str, reason: str) -> Check:
    return Check(rule=rule, verdict=CheckVerdict.review, reason=reason)


def _read(line: bytes, requests: IO[bytes]) -> StatisticRequest:
    """One request; an error if it is not whole."""
    try:
        document = json.loads(line)
        size, command = document["bytes"], document["command"]
        arguments, options, place = document["arguments"], document["options"], document["line"]
        if command not in ASKED or not isinstance(size, int) or not 0 <= size < _LARGEST:
            raise BrokenRequestError
        if not isinstance(arguments, list) or not isinstance(options, dict):
            raise BrokenRequestError
        payload = requests.read(size)
        if document["format"] == "arrow":
            frame = pl.read_ipc(io.BytesIO(payload))
        else:
            frame = pl.DataFrame([_series(name, one) for name, one in json.loads(payload).items()])
        places = None
        if PLACES in frame.columns:
            places = frame[PLACES].cast(pl.Int64).to_numpy()
            frame = frame.drop(PLACES)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BrokenRequestError from None
    except (pl.exceptions.PolarsError, OSError):
        raise BrokenRequestError from None
    if set(options) & set(_OWN):
        message = "rules and entity are those of the centre"
        raise OutputCheckError(message, code="request", where=command)
    return StatisticRequest(
        line=place if isinstance(place, int) and 0 < place < _LONGEST_LINE else 0,
        command=command,
        arguments=arguments,
        options=options,
        frame=frame,
        places=places,
    )


def _series(name: str, values: list[Any]) -> pl.Series:
    texts = any(isinstance(one, str) for one in values)
    return pl.Series(name, values, dtype=pl.String if texts else pl.Float64, strict=True)
