"""`ShownTable`: a table of counts as a program shows it, and the records behind its cells.

In: what a safe command showed, the labels of its records, their numbers (CONFIDENTIAL). Out: for
each axis the category of each record, for each cell and margin whether it is withheld. A table
whose cells do not agree with its records cannot be followed; that is said, never passed over.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from discreet.arrays import BoolArray, CellIndex, IntArray
from discreet_fire.statistics.layout import number_text
from discreet_fire.statistics.records import OTHER
from discreet_fire.statistics.table_suppression import with_margins

#: Columns of frames of tables that are no axes.
_NUMBERS = ("percent", "cumulated", "row_percent", "column_percent", "cell_percent")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TableAxis:
    """One variable of a table (confidential): its categories, and that of each record, from 0."""

    name: str
    labels: tuple[str, ...]
    codes: IntArray


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ShownTable:
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
        return f"<ShownTable {self.name}>"


def shown_table(
    name: str,
    shown: pl.DataFrame | None,
    whole: float | None,
    labels: pl.DataFrame,
    records: IntArray,
    owners: IntArray | None = None,
) -> ShownTable | None:
    """The table that a command showed; None if it cannot be followed.

    Args:
        name: Line and command.
        shown: What is shown: axes, then a column ``n``, null where withheld; totals are last.
            None for a single count.
        whole: The number of all records, if that stands elsewhere; None if it is withheld.
        labels: For each record its category on each axis, in the order of the axes.
        records: The number of each record.
        owners: Whom each is about.

    >>> shown = pl.DataFrame({"sex": ["f", "m", "Total"], "n": [3.0, None, None]})
    >>> labels = pl.DataFrame({"sex": ["f", "m", "f", "f"]})
    >>> table = shown_table("line 1, tabulate sex", shown, None, labels, np.arange(4))
    >>> table, [table.place(at) for at in np.flatnonzero(table.hidden)]
    (<ShownTable line 1, tabulate sex>, ['sex = m', 'all'])
    """
    if len(np.unique(records)) < len(records) or (records < 0).any():
        return None
    texts = _texts(shown, labels.width)
    if texts is None:
        return None
    axes, kept = [], np.ones(len(records), dtype=np.bool_)
    for column, known in zip(labels.iter_columns(), texts, strict=True):
        codes = _codes(column, known)
        if codes is None:
            return None
        kept &= codes >= 0
        axes.append((column.name, known, codes))
    table = ShownTable(
        name=name,
        axes=tuple(
            TableAxis(name=title, labels=known, codes=codes[kept]) for title, known, codes in axes
        ),
        records=records[kept],
        owners=None if owners is None else owners[kept],
        hidden=_hidden(shown, whole, tuple(map(len, texts))),
    )
    return table if _agrees(table, shown, whole) else None


def _texts(shown: pl.DataFrame | None, width: int) -> list[tuple[str, ...]] | None:
    """The categories of each axis, without the total."""
    if shown is None:
        return [] if not width else None
    if shown.width <= width or not shown.height:
        return None
    found = []
    for column in shown.columns[:width]:
        if column in _NUMBERS or shown.schema[column] != pl.String:
            return None
        texts = list(dict.fromkeys(shown[column].to_list()))
        found.append(tuple(texts if width == 1 and _lone(shown) else texts[:-1]))
    rows = int(np.prod([len(one) + 1 for one in found])) - int(width == 1 and _lone(shown))
    return found if rows == shown.height else None


def _lone(shown: pl.DataFrame) -> bool:
    """Whether frequencies stand without their total, as `tabulate` shows one variable."""
    return "cumulated" in shown.columns


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


def _numbers(
    shown: pl.DataFrame | None, whole: float | None, sizes: tuple[int, ...]
) -> list[float | None]:
    """What is shown, cell by cell, with the totals."""
    if shown is None:
        return [whole]
    column = next((one for one in shown.columns if one == "n" or one.startswith("n ")), None)
    if column is None:
        return []
    found = shown[column].to_list()
    return [*found, whole] if len(sizes) == 1 and len(found) == sizes[0] else found


def _hidden(shown: pl.DataFrame | None, whole: float | None, sizes: tuple[int, ...]) -> BoolArray:
    numbers = _numbers(shown, whole, sizes)
    shape = tuple(size + 1 for size in sizes)
    if not numbers:  # no counts are shown
        return np.ones(shape, dtype=np.bool_)
    return np.array([one is None for one in numbers], dtype=np.bool_).reshape(shape)


def _agrees(table: ShownTable, shown: pl.DataFrame | None, whole: float | None) -> bool:
    """Whether what is shown is what the records give."""
    numbers = _numbers(shown, whole, table.sizes)
    if not numbers:
        return False
    pairs = zip(numbers, table.counts.ravel().tolist(), strict=True)
    return all(one is None or one == n for one, n in pairs)
