"""`ShownCounts`: a table of counts as a program shows it, and the records behind its cells.

In: what a safe command showed, the labels of its records, their numbers (CONFIDENTIAL). Out: for
each axis the category of each record, for each cell and margin whether it is withheld. A table
whose cells do not agree with its records cannot be followed; that is said, never passed over.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, CellIndex, IntArray
from discreet_fire.statistics.layout import number_text
from discreet_fire.statistics.records import OTHER
from discreet_fire.statistics.table_suppression import with_margins


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TableAxis:
    """One variable of a table (confidential): its categories, and that of each record, from 0."""

    name: str
    labels: tuple[str, ...]
    codes: IntArray


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ShownCounts:
    """Counts of a program (confidential); the last place along each axis is the total.

    Args:
        name: Line and command.
        axes: What spans it; a single count has none.
        records: The numbers of its records, each once.
        owners: Whom each record is about; None if each is another case.
        hidden: Which cells and margins are withheld.
    """

    name: str
    axes: tuple[TableAxis, ...]
    records: IntArray
    owners: IntArray | None
    hidden: BoolArray

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Categories along each axis."""
        return tuple(len(axis.labels) for axis in self.axes)

    @cached_property
    def cells(self) -> IntArray:
        """The inner cell of each record."""
        if not self.axes:
            return np.zeros(len(self.records), dtype=np.int64)
        return CellIndex(self.sizes).numbers([axis.codes for axis in self.axes])

    @cached_property
    def counts(self) -> IntArray:
        """Records in each cell and margin."""
        inner = np.bincount(self.cells, minlength=int(np.prod(self.sizes, dtype=np.int64)))
        return with_margins(inner.astype(np.int64).reshape(self.sizes))

    @cached_property
    def cases(self) -> IntArray:
        """Persons or firms in each cell and margin."""
        if self.owners is None:
            return self.counts
        found = np.zeros(self.counts.shape, dtype=np.int64)
        for total in itertools.product((False, True), repeat=len(self.axes)):
            place = tuple(-1 if one else slice(None, -1) for one in total)
            kept = [axis for axis, one in zip(self.axes, total, strict=True) if not one]
            sizes = tuple(len(axis.labels) for axis in kept)
            codes = np.zeros(len(self.records), dtype=np.int64)
            if kept:
                codes = CellIndex(sizes).numbers([axis.codes for axis in kept])
            pairs = np.unique(np.stack([codes, self.owners]), axis=1)
            size = int(np.prod(sizes, dtype=np.int64))
            found[place] = np.bincount(pairs[0], minlength=size).reshape(sizes)
        return found

    def place(self, at: int) -> str:
        """The name of a cell or margin, from its number."""
        where = np.unravel_index(at, self.hidden.shape) if self.axes else ()
        parts = [
            f"{axis.name} = {axis.labels[one]}"
            for axis, one in zip(self.axes, where, strict=True)
            if one < len(axis.labels)
        ]
        return ", ".join(parts) or "all"

    def __repr__(self) -> str:
        return f"<ShownCounts {self.name}>"


def shown_counts(
    name: str,
    shown: pl.DataFrame,
    labels: pl.DataFrame,
    records: IntArray,
    owners: IntArray | None = None,
) -> ShownCounts | None:
    """The table that a command showed; None if it cannot be followed.

    Args:
        name: Line and command.
        shown: What is shown: the axes, then a column ``n``, null where withheld. Along each axis
            the total is last; a single count has one row and no axis.
        labels: For each record its category on each axis, in the order of the axes.
        records: The number of each record.
        owners: Whom each is about.

    >>> shown = pl.DataFrame({"sex": ["f", "m", "Total"], "n": [3.0, None, None]})
    >>> labels = pl.DataFrame({"sex": ["f", "m", "f", "f"]})
    >>> table = shown_counts("line 1, tabulate sex", shown, labels, np.arange(4))
    >>> table, [table.place(at) for at in np.flatnonzero(table.hidden)]
    (<ShownCounts line 1, tabulate sex>, ['sex = m', 'all'])
    """
    texts = _texts(shown, labels.width)
    if texts is None or (records < 0).any() or len(np.unique(records)) < len(records):
        return None
    axes, kept = [], np.ones(len(records), dtype=np.bool_)
    for column, known in zip(labels.iter_columns(), texts, strict=True):
        codes = _codes(column, known)
        if codes is None:
            return None
        kept &= codes >= 0
        axes.append((column.name, known, codes))
    numbers = shown["n"]
    table = ShownCounts(
        name=name,
        axes=tuple(
            TableAxis(name=title, labels=known, codes=codes[kept]) for title, known, codes in axes
        ),
        records=records[kept],
        owners=None if owners is None else owners[kept],
        hidden=numbers.is_null().to_numpy().reshape([len(one) + 1 for one in texts]),
    )
    pairs = zip(numbers.to_list(), table.counts.ravel().tolist(), strict=True)
    return table if all(one is None or one == n for one, n in pairs) else None


def _texts(shown: pl.DataFrame, width: int) -> list[tuple[str, ...]] | None:
    """The categories of each axis, without the total; None if this is not such a table."""
    if shown.width != width + 1 or not shown.height:
        return None
    found = []
    for column in shown.columns[:-1]:
        if shown.schema[column] != pl.String:
            return None
        found.append(tuple(dict.fromkeys(shown[column].to_list()))[:-1])
    return found if math.prod(len(one) + 1 for one in found) == shown.height else None


def _codes(column: pl.Series, labels: Sequence[str]) -> IntArray | None:
    """The category of each record, -1 where it is in none; None if one has an unknown value."""
    index = {label: at for at, label in enumerate(labels)}
    if len(index) < len(labels):
        return None
    other = index.get(OTHER)
    values = column.fill_nan(None) if column.dtype.is_float() else column
    values = values.cast(pl.UInt8) if values.dtype == pl.Boolean else values
    known = {}
    for value in values.unique().to_list():
        at = index.get("." if value is None else number_text(value), other)
        if at is None and value is not None:
            return None
        known[value] = -1 if at is None or (value is None and "." not in index) else at
    return np.array([known[value] for value in values.to_list()], dtype=np.int64)
