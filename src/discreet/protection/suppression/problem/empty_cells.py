"""Empty cells of count tables as cells: those that a table does not store. CONFIDENTIAL.

In: tables of counts with what was found in them. Out: the same with a cell of count 0 for
every combination of codes that occurs in no record, so that zeros can be hidden and audited
like other cells. Readers see the whole grid; that most of it is not stored is ours alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from discreet.arrays import BoolArray, CellIndex, PositionArray
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.demands import Earlier
from discreet.protection.suppression.problem.system import Confidential
from discreet.rules import SEVERAL
from discreet.tables import CellStatus, ProtectedTable, Table, within

#: Kind of the remark that zeros may be hidden among the others.
ZEROS_HIDDEN = "hidden-zeros"

#: With more cells than these, grids are not made in full.
_MOST = 250_000
#: What is found in a cell without records.
_EMPTY: dict[str, float] = {
    "sensitive": False,
    "fixed": False,
    "secondary": False,
    "opens": False,
    "reason": 0,
    "lower": 0.0,
    "upper": 0.0,
    "sliding": 0.0,
    "cost": np.nan,
    "low": np.nan,
    "high": np.nan,
    "at_most": np.inf,
    "at_least": -np.inf,
    "contributor": SEVERAL,
}


class FindingsWithEmptyCells(Confidential):
    """What was found in a table, and nothing for the empty cells at its end (confidential)."""

    sensitive: BoolArray
    lower: Any
    upper: Any
    sliding: Any

    def __init__(self, found: Any, added: int) -> None:
        for name, empty in _EMPTY.items():
            column = getattr(found, name, None)
            if column is not None:
                own = np.asarray(column)
                setattr(self, name, np.concatenate([own, np.full(added, empty, own.dtype)]))
        for name in ("value", "weighted"):
            if hasattr(found, name):
                setattr(self, name, getattr(found, name))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class _Grown(Confidential):
    """A table with its empty cells at the end, and how many these are (confidential)."""

    table: Table
    added: int


def _grown(table: Table) -> _Grown:
    index = _empty_places(table)
    added = len(index[0]) if index else 0
    nothing = np.zeros(added, dtype=np.int64)
    whole = replace(
        table,
        index=tuple(np.concatenate(pair) for pair in zip(table.index, index, strict=True)),
        count=np.concatenate([table.count, nothing]),
        cell_key=None,
        grid=None,
        weight=None if table.weight is None else np.concatenate([table.weight, 0.0 * nothing]),
        sums={name: np.concatenate([own, 0.0 * nothing]) for name, own in table.sums.items()},
        contributions={},
        only={},
    )
    return _Grown(table=whole, added=added)


def _empty_places(table: Table) -> list[PositionArray]:
    """Where the cells stand that the table has and does not store."""
    if not table.index:
        return []
    grid = CellIndex.of(table.dimensions)
    if grid.size > _MOST:
        message = f"the table has {grid.size:,} cells with the empty ones, too many to hide among"
        hint = f'take zero_cells="fixed", or tables of up to {_MOST:,} cells'
        raise SuppressionError(message, code="empty-cells", where=table.name, hint=hint)
    index = grid.every()
    missing = np.ones(grid.size, dtype=np.bool_)
    missing[grid.numbers(table.index, len(table))] = False
    missing &= within(table.dimensions, index, grid.size, table.parts)
    return [part[missing].astype(np.int32) for part in index]


def with_empty_cells(table: Table, found: Any) -> tuple[Table, Any]:
    """A table of counts and what was found in it, with all empty cells at the end.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"a": ["T", "x", "T"], "b": ["T", "u", "u"], "n": [9, 3, 3]})
    >>> from discreet import Classification
    >>> by = [Classification(name=n, codes=("T", *c), parents=(-1, 0, 0)) for n, c in
    ...       (("a", "xy"), ("b", "uv"))]
    >>> table = Table.from_cells(cells, by=by, count="n")
    >>> whole, mask = with_empty_cells(table, table.count < 4)
    >>> len(table), len(whole), mask.tolist()[:4]
    (3, 7, [False, True, True, False])
    """
    grown = _grown(table)
    if found is None or not grown.added:
        return grown.table, found
    if isinstance(found, np.ndarray):
        return grown.table, np.concatenate([found, np.zeros(grown.added, dtype=found.dtype)])
    return grown.table, FindingsWithEmptyCells(found, grown.added)


def earlier_with_empty_cells(earlier: Earlier) -> Earlier:
    """A table published before, with its empty cells; those not listed were hidden or are not."""
    table, primary = with_empty_cells(earlier.table, earlier.primary)
    hidden = earlier.hidden
    if not isinstance(hidden, ProtectedTable):
        hidden = np.concatenate([hidden, np.zeros(len(table) - len(hidden), dtype=np.bool_)])
    return replace(earlier, table=table, hidden=hidden, primary=primary)


def zeros_of(published: Sequence[ProtectedTable]) -> Literal["fixed", "partners"]:
    """Whether published tables say that zeros may be hidden ("partners") or not ("fixed")."""
    hidden = any(note.kind == ZEROS_HIDDEN for table in published for note in table.notes)
    return "partners" if hidden else "fixed"


def hides_empty_cells(table: Table, published: ProtectedTable | BoolArray) -> bool:
    """Whether some cell without records is hidden in what was published of a table."""
    if not isinstance(published, ProtectedTable):
        mask = np.asarray(published)
        return mask.shape == table.count.shape and bool((mask & (table.count == 0)).any())
    blank = published.status == CellStatus.suppressed
    listed = {dimension.name: at for at, dimension in enumerate(published.spanning)}
    if not blank.any() or set(listed) != {dimension.name for dimension in table.dimensions}:
        return False  # where tables do not fit, `hidden_in` says so
    index = []
    for dimension in table.dimensions:
        at = listed[dimension.name]
        codes = published.spanning[at].codes
        place = np.array([dimension.index.get(code, -1) for code in codes], dtype=np.int32)
        index.append(place[published.index[at][blank]])
    known = np.all([part >= 0 for part in index], axis=0) if index else blank[blank]
    places = [part[known] for part in index]
    at_cells = CellIndex.of(table.dimensions).find(
        table.index, places, (len(table), int(known.sum()))
    )
    occupied = table.count[at_cells[at_cells >= 0]] != 0
    return bool((at_cells < 0).any() or not occupied.all())


def with_partners(
    sources: Sequence[tuple[Table, Any]], chosen: dict[str, Any]
) -> list[tuple[Table, Any]]:
    """Tables of counts with their empty cells, where these may be hidden or were before.

    Of the options `chosen`, those published earlier get theirs too.
    """
    earlier: Sequence[Earlier] = chosen.get("earlier", ())
    hidden_before = any(hides_empty_cells(item.table, item.hidden) for item in earlier)
    if chosen.get("zero_cells") != "partners" and not hidden_before:
        return list(sources)
    chosen["earlier"] = [earlier_with_empty_cells(item) for item in earlier]
    return [with_empty_cells(table, primary) for table, primary in sources]
