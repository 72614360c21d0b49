"""The records of a session, and which of them are behind the cells of a table. CONFIDENTIAL.

In: any frame that narwhals reads, or a file. Out: columns for safe statistics, and the records by
which tables are held against each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl

from discreet.arrays import IntArray
from discreet.errors import DiscreetError, MicrodataError, OutputCheckError
from discreet.microdata import eager_columns, open_frame, read_microdata
from discreet_fire.linked_tables import OutputRecords
from discreet_fire.research_session.formulas import expression
from discreet_fire.statistics import in_memory, take

_RECORD = "\0record"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SessionData:
    """Records (confidential)."""

    frame: pl.DataFrame  # the columns that can be read
    unread: dict[str, DiscreetError]  # why others cannot
    entity: str | None  # column of whom a record is about; each is another case if None

    @classmethod
    def of(cls, data: Any, entity: str | None) -> SessionData:
        """From a frame, or from a file of records."""
        if isinstance(data, str | os.PathLike):
            data = read_microdata(Path(data))
        opened = open_frame(data)
        names = opened.collect_schema().names()
        whole = in_memory(opened)
        columns: list[pl.Series] = []
        unread: dict[str, DiscreetError] = {}
        for name in names:
            try:
                columns.append(eager_columns(whole.select(name), [name]).to_series())
            except MicrodataError as error:
                unread[name] = error
        session_data = cls(frame=pl.DataFrame(columns), unread=unread, entity=entity)
        if entity is not None:
            session_data.check([entity])
            take(session_data.frame, [], entity=entity).named_entities()
        return session_data

    @property
    def texts(self) -> frozenset[str]:
        """Variables that hold texts or categories."""
        kinds = (pl.String, pl.Categorical, pl.Enum)
        schema = self.frame.schema
        return frozenset(name for name, kind in schema.items() if isinstance(kind, kinds))

    def check(self, names: Sequence[str]) -> None:
        """Refuse variables that cannot be read or do not exist."""
        for name in names:
            if name in self.unread:
                raise self.unread[name]
            if name not in self.frame.columns:
                raise OutputCheckError("variable not found", code="columns", where=name)

    def with_made(self, made: Mapping[str, str]) -> SessionData:
        """The records with variables that are expressions of others."""
        columns: list[pl.Expr] = []
        for name, text in made.items():
            numbers, names = expression(text)
            self.check(names)
            if name in self.frame.columns or not self.texts.isdisjoint(names):
                message = "an expression is of numbers, and has a name of its own"
                raise OutputCheckError(message, code="formula", where=text)
            columns.append(numbers.alias(name))
        return replace(self, frame=self.frame.with_columns(columns))

    def with_column(self, column: Any) -> tuple[SessionData, str]:
        """The records with a column of a frame, such as ``df.age``, and its name here.

        A column that is none of the data gets a name of its own; it has a value for each record.
        """
        name, hint = (
            str(column.name),
            "give columns of all records, and choose with where='age > 3'",
        )
        whole = SessionData.of(column.to_frame(name), None).frame.to_series()
        if len(whole) != self.frame.height:
            message = "the column is not of the records of the session"
            raise OutputCheckError(message, code="columns", where=name, hint=hint)
        while name in self.frame.columns:
            if whole.equals(self.frame[name], check_names=False):
                return self, name
            name += "_"
        return replace(self, frame=self.frame.with_columns(whole.alias(name))), name

    def chosen(self, names: Sequence[str], where: str | None) -> pl.DataFrame:
        """The records of a statistic."""
        self.check(names)
        data = take(self.frame, names, where=where).data
        return data.select(list(dict.fromkeys(names))).fill_nan(None)

    def behind(
        self,
        title: str,
        names: Sequence[str],
        *,
        where: str | None,
        weights: str | None,
        digits: int,
    ) -> OutputRecords:
        """The records behind an output, to hold its numbers against those of others."""
        more = [name for name in (self.entity, weights) if name is not None]
        data = take(self.frame.with_row_index(_RECORD), [*names, *more, _RECORD], where=where).data
        data = data.fill_nan(None)
        weighing = None
        if weights is not None:
            data = data.filter(pl.col(weights) > 0)
            weighing = data[weights].cast(pl.Float64).to_numpy()
        owners = np.arange(data.height, dtype=np.int64)
        if self.entity is not None:
            whom = take(data, [], entity=self.entity).entities
            assert whom is not None
            owners = np.unique(whom, return_inverse=True)[1].astype(np.int64)
        return OutputRecords(
            title=title,
            labels=data.select(list(dict.fromkeys(names))),
            numbers=data[_RECORD].cast(pl.Int64).to_numpy(),
            owners=owners,
            weights=weighing,
            digits=digits,
        )

    def numbers(self, where: str | None) -> IntArray:
        """The places in the file of the records of a statistic."""
        data = take(self.frame.with_row_index(_RECORD), [_RECORD], where=where).data
        return np.asarray(data[_RECORD].cast(pl.Int64).to_numpy(), dtype=np.int64)

    def owners(self, where: str | None) -> list[Any] | None:
        """Whom each record of a statistic is about; None if no column says so."""
        if self.entity is None:
            return None
        return take(self.frame, [self.entity], where=where).data[self.entity].to_list()

    def __repr__(self) -> str:
        return "<SessionData (confidential)>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("records are confidential and do not leave the process")
