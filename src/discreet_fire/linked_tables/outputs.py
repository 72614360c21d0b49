"""What an output shows over groups of records: its counts, and its sums or means.

In: the numbers of a safe command, how its row of the catalogue says they are laid out, and the
records behind them (CONFIDENTIAL). Out: a table for each number per cell; None stands for one that
cannot be followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet_fire.linked_tables.small_counts import (
    TOTAL,
    WEIGHTS,
    ShownTable,
    shown_counts,
    shown_sums,
)
from discreet_fire.statistics import number_text

#: How numbers over groups are laid out, as in the catalogue.
GroupsShown = Literal["nothing", "cells", "variables", "sample", "unfollowed"]
#: Columns of commands on single variables that hold the number of records; others are the axes.
_COUNTS = ("N", "n")
_NO_AXES = frozenset(("variable", "type", "missing"))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OutputRecords:
    """The records behind an output (confidential)."""

    title: str  # its line and command
    labels: pl.DataFrame  # their variables, those that span the output as they are shown
    numbers: IntArray  # their numbers in the data; -1 for those that the program made
    owners: IntArray  # whom each is about
    weights: FloatArray | None  # what each counts for; None if one
    digits: int  # how many significant digits are shown of sums and means

    def counts(
        self, shown: pl.DataFrame, axes: list[str], column: str, kept: BoolArray
    ) -> ShownTable | None:
        """The counts in a column, of some of the records; sums of weights, if it is these."""
        table = shown.select(*axes, pl.col(column).alias("n"))
        labels = self.labels.select(self.labels.columns[: len(axes)])
        labels = labels.filter(kept) if axes else labels
        whom = self.owners[kept]
        counts = shown_counts(self.title, table, labels, self.numbers[kept], whom)
        if counts is not None or self.weights is None:
            return counts
        weights = pl.Series(WEIGHTS, self.weights[kept])
        if weights.n_unique() == 1:  # everyone sees through that
            table = table.with_columns(pl.col("n") / weights[0])
            return shown_counts(self.title, table, labels, self.numbers[kept], whom)
        return shown_sums(
            self.title,
            table,
            labels,
            self.numbers[kept],
            weights,
            owners=whom,
            means=False,
            digits=self.digits,
        )

    def sums(
        self, shown: pl.DataFrame, axes: list[str], column: str, variable: str, *, means: bool
    ) -> ShownTable | None:
        """The sums or means of a variable in a column; of weighted ones nothing is known."""
        values = self.labels[variable]
        if self.weights is not None or not values.dtype.is_numeric():
            return None
        kept = _known(values)
        return shown_sums(
            self.title,
            shown.select(*axes, column),
            self.labels.filter(kept).select(self.labels.columns[: len(axes)]),
            self.numbers[kept],
            values.filter(kept),
            owners=self.owners[kept],
            means=means,
            digits=self.digits,
        )

    def __repr__(self) -> str:
        return f"<OutputRecords of {self.title}>"


def _known(values: pl.Series) -> BoolArray:
    known = values.is_not_null()
    if values.dtype.is_float():
        known &= values.is_not_nan().fill_null(value=False)
    return known.to_numpy()


def tables_of(
    how: GroupsShown,
    records: OutputRecords,
    shown: pl.DataFrame | None,
    stored: Mapping[str, float],
) -> tuple[ShownTable | None, ...]:
    """The tables of an output."""
    if how == "nothing":
        return ()
    if how == "sample":
        return tuple(_sample(records, stored))
    if how == "cells":
        return tuple(_cells(records, shown, stored))
    if how == "variables" and shown is not None:
        return tuple(_variables(records, shown))
    return (None,)


def _single(n: float | None) -> pl.DataFrame:
    return pl.DataFrame({"n": [n]}, schema={"n": pl.Float64})


def _sample(records: OutputRecords, stored: Mapping[str, float]) -> Iterator[ShownTable | None]:
    """The number of records that have all variables."""
    kept = np.ones(len(records.numbers), dtype=np.bool_)
    for column in records.labels.iter_columns():
        kept &= _known(column)
    if "N" in stored:
        yield records.counts(_single(stored["N"]), [], "n", kept)


def _cells(
    records: OutputRecords, shown: pl.DataFrame | None, stored: Mapping[str, float]
) -> Iterator[ShownTable | None]:
    """Numbers in the cells that variables span, in columns such as ``n`` and ``mean wage``."""
    shown = _single(stored.get("N")) if shown is None else shown
    axes = [one for one in shown.columns if shown.schema[one] == pl.String]
    if len(axes) > records.labels.width or (not axes and shown.height != 1):
        yield None
        return
    if "cumulated" in shown.columns:  # frequencies of one variable stand without their total
        last = {axes[0]: [TOTAL], "n": [stored.get("N")]}
        end = pl.DataFrame(last, schema={axes[0]: pl.String, "n": pl.Float64})
        shown = pl.concat([shown.select(axes[0], pl.col("n").cast(pl.Float64)), end])
    for column in shown.columns[len(axes) :]:
        word, _, variable = column.partition(" ")
        known = variable in records.labels.columns
        if word == "n":
            kept = np.ones(len(records.numbers), dtype=np.bool_)
            kept = _known(records.labels[variable]) if known else kept
            yield None if variable and not known else records.counts(shown, axes, column, kept)
        elif word in ("mean", "sum"):
            means = word == "mean"
            yield records.sums(shown, axes, column, variable, means=means) if known else None


def _together(labels: pl.DataFrame, name: str) -> pl.Series:
    """The categories of several variables together, as groups of them are called."""
    names = name.split(" ")
    known: dict[object, str | None] = {None: None}
    parts = []
    for one in names:
        values = labels[one].to_list()
        known |= {value: number_text(value) for value in set(values) - {None}}
        parts.append([known[value] for value in values])
    texts = [None if None in row else ", ".join(map(str, row)) for row in zip(*parts, strict=True)]
    return pl.Series(name, texts, dtype=pl.String)


def _variables(records: OutputRecords, shown: pl.DataFrame) -> Iterator[ShownTable | None]:
    """Numbers of single variables, one row for each and for each of its groups."""
    axes = [one for one in shown.columns if shown.schema[one] == pl.String and one not in _NO_AXES]
    labels = records.labels.with_columns(
        _together(records.labels, one)
        for one in axes
        if " " in one and set(one.split(" ")) <= set(records.labels.columns)
    )
    if "variable" not in shown.columns or not set(axes) <= set(labels.columns):
        yield None
        return
    ordered = labels.select(*axes, pl.exclude(axes))
    own = OutputRecords(**{**vars(records), "labels": ordered})
    for variable in dict.fromkeys(shown["variable"].to_list()):
        rows = shown.filter(pl.col("variable") == variable)
        if variable not in ordered.columns:
            yield None
            continue
        counted = [one for one in _COUNTS if one in rows.columns][:1]
        about = [one for one in ("mean", "sum") if one in rows.columns]
        for column in [*counted, *about]:
            table = rows.select(*axes, column).unique(maintain_order=True)
            if column in _COUNTS:
                yield own.counts(table, axes, column, _known(ordered[variable]))
            else:
                yield own.sums(table, axes, column, variable, means=column == "mean")
