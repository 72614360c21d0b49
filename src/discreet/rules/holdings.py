"""`count_holdings`: a table whose contributors are holdings, not records. CONFIDENTIAL.

In: records, and the column that says which belong together. Out: a `Table` that counts
holdings and has their largest contributions. A holding has another sum in every cell, so
that lists of the largest cannot be merged from finer cells: the holdings are tabulated as
one more variable, on all levels, and then taken together cell by cell.

`Waivers`: tables of those who have *not* consented to be shown, whom rules go on protecting.
Whoever cannot be told – a missing value in a column of the filter – has not consented; a
holding has if all of its records have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.errors import MicrodataError, SuppressionError
from discreet.microdata import parse_filter
from discreet.rules.evidence import chosen_contributions
from discreet.rules.protocol import MOST, raise_parameters, whole
from discreet.tables import Contributions, Table
from discreet.tabulation import from_limbs, tabulate, to_limbs

if TYPE_CHECKING:
    import narwhals as nw

    from discreet.tables import Spanning


#: In place of the number of the only contributor of a cell: there are several, or none; there
#: is one, but nothing says who he is.
SEVERAL, UNNAMED = -1, -2
#: Keys of smaller grids are shared by many records.
_DISTINCT = 2**40


def lone_contributors(table: Table, value: str | None) -> IntArray:
    """For each cell a number that stands for its only contributor; `SEVERAL`, or `UNNAMED`.

    >>> import polars as pl
    >>> firms = pl.DataFrame({"region": ["N", "N", "S"]})
    >>> lone_contributors(tabulate(firms, by=["region"]), None)
    array([-1, -1, -2])
    """
    alone = table.contributors(value) == 1
    number: IntArray | None = table.only.get(value or "", table.only.get(""))
    contribution = table.contributions.get(value or "")
    if number is None and table.grid is not None and table.grid.size >= _DISTINCT:
        number = table.cell_key if contribution is None else contribution.key
    named = UNNAMED if number is None else np.where(number < 0, UNNAMED, number)
    return np.where(alone, named, SEVERAL).astype(np.int64)


def count_holdings(
    frame: Any,
    by: Sequence[Spanning],
    *,
    holding: str,
    values: Sequence[str] = (),
    contributions: int = 3,
    where: str | nw.Expr | None = None,
    having: str | None = None,
    name: str = "table",
) -> Table:
    """Count holdings (groups of records that belong together) and what they contribute.

    Args:
        frame: Records, as for `tabulate`.
        by: The spanning variables.
        holding: Column that says to which holding a record belongs. A record on its own is
            a holding of one; none may be without.
        values: Columns to sum; a holding's contribution is the sum of its records.
        contributions: How many of the largest contributions to keep, up to 16.
        where: Which records count.
        having: Count only holdings with a record, anywhere in the table, that passes this
            filter; but these whole.
        name: Name of the table.

    Returns:
        The table, confidential. The holding is not among its variables, and it has neither
        weights nor keys.

    >>> import polars as pl
    >>> firms = pl.DataFrame({"region": ["N", "N", "S"], "group": ["a", "a", "b"]})
    >>> count_holdings(firms, by=["region"], holding="group").to_polars()["count"].to_list()
    [2, 1, 1]
    """
    raise_parameters("count_holdings", whole("contributions", contributions, 1, MOST))
    listed = (values,) if isinstance(values, str) else tuple(values)
    counted = tabulate(
        frame,
        [*by, holding],
        values=listed,
        contributions=1 if listed else 0,
        where=where,
        name=name,
    )
    tree = counted.dimensions[-1].classifications[0]
    if tree.missing in tree.index:
        message = "some records belong to no holding"
        hint = "give single records a separate holding"
        raise MicrodataError(message, code="holding", where=holding, hint=hint)
    if having is None:
        return _without_holdings(counted, listed, contributions)
    both = having if where is None else f"({where}) and ({having})"
    chosen = tabulate(frame, [holding], where=both, name=name)
    return _without_holdings(_of_some(counted, chosen), listed, contributions)


def _of_some(counted: Table, chosen: Table) -> Table:
    """The cells of some holdings, and the heads of cells that have any of them."""
    own, theirs = counted.dimensions[-1], chosen.dimensions[0]
    kept = np.zeros(len(own), dtype=np.bool_)
    kept[[own.index[theirs.codes[at]] for at in chosen.index[0].tolist()]] = True
    kept[0] = False
    member = kept[counted.index[-1]]
    cell = np.cumsum(counted.index[-1] == 0) - 1
    some = np.bincount(cell[member], minlength=int(cell.max(initial=-1)) + 1) > 0
    keep = member | ((counted.index[-1] == 0) & some[cell])
    rows = np.flatnonzero(keep)
    sums = {name: column[keep] for name, column in counted.sums.items()}
    heads = counted.index[-1][keep] == 0
    within, cells = (np.cumsum(heads) - 1)[~heads], int(heads.sum())
    for column in sums.values():  # heads hold the sums of all
        column[heads] = np.bincount(within, weights=column[~heads], minlength=cells)
    return replace(
        counted,
        index=tuple(part[keep] for part in counted.index),
        count=counted.count[keep],
        sums=sums,
        contributions={
            name: chosen_contributions(own, rows) for name, own in counted.contributions.items()
        },
    )


def _without_holdings(counted: Table, values: Sequence[str], k: int) -> Table:
    """Take the holdings of each cell together; each cell is headed by its total."""
    heads = counted.index[-1] == 0
    cell = np.cumsum(heads) - 1
    member = np.flatnonzero(~heads)
    within = cell[member]
    cells = int(heads.sum())
    # A number for each holding, the same in all tables.
    digests = [sha256(f"holding {code}".encode()) for code in counted.dimensions[-1].codes]
    numbers = [int.from_bytes(digest.digest()[:8], "big") >> 1 for digest in digests]
    codes = np.array(numbers, dtype=np.int64)[counted.index[-1][member]]
    present = {column: counted.contributions[column].count[member] > 0 for column in values}
    return Table(
        dimensions=counted.dimensions[:-1],
        index=tuple(part[heads] for part in counted.index[:-1]),
        count=np.bincount(within, minlength=cells).astype(np.int64),
        sums={column: counted.sums[column][heads] for column in values},
        contributions={
            column: _contributions(counted, column, member, within, heads, k) for column in values
        },
        where=counted.where,
        name=counted.name,
        only={
            column: _only(within[there], codes[there], cells)
            for column, there in {"": np.ones(len(within), dtype=np.bool_), **present}.items()
        },
    )


def _only(within: IntArray, codes: IntArray, cells: int) -> IntArray:
    """The number of the holding of each cell that has one; `SEVERAL` for others."""
    only = np.full(cells, SEVERAL, dtype=np.int64)
    only[within] = codes
    only[np.bincount(within, minlength=cells) != 1] = SEVERAL
    return only


def _contributions(
    counted: Table, column: str, member: IntArray, within: IntArray, heads: BoolArray, k: int
) -> Contributions:
    """What the holdings of each cell contribute to a column."""
    present = counted.contributions[column].count[member] > 0
    within = within[present]
    value = counted.sums[column][member][present]
    cells = int(heads.sum())
    total = counted.sums[column][heads]
    low, high = np.full(cells, np.nan), np.full(cells, np.nan)
    np.fmin.at(low, within, value)
    np.fmax.at(high, within, value)
    sums = np.zeros((3, cells), dtype=np.int64)  # that no order can change, as those of records
    for own, limb in zip(sums, to_limbs(np.abs(value)), strict=True):
        np.add.at(own, within, limb.astype(np.int64))
    return Contributions(
        column=column,
        top=_largest(within, value, cells, k),
        count=np.bincount(within, minlength=cells).astype(np.int64),
        nonzero=np.bincount(within[value != 0], minlength=cells).astype(np.int64),
        total=total,
        plain=total,
        absolute=from_limbs(*sums),
        low=low,
        high=high,
    )


def _largest(within: IntArray, value: FloatArray, cells: int, k: int) -> FloatArray:
    """The k largest of each cell by absolute value, positive before negative."""
    order = np.lexsort((-value, -np.abs(value), within))
    sorted_cells = within[order]
    first = np.searchsorted(sorted_cells, sorted_cells, side="left")
    rank = np.arange(len(order)) - first
    kept = rank < k
    top = np.full((cells, k), np.nan)
    top[sorted_cells[kept], rank[kept]] = value[order][kept]
    return top


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Waivers(Confidential):
    """A copy of the waivers for these contributors only (confidential).

    Args:
        records: The table of their records, by the same variables and of the same values.
        holdings: The holdings with a record among them, whole; for rules per holding.
    """

    records: Table
    holdings: Table | None = None


def without_consent(consent: str) -> str:
    """The filter of those who have not consented, or of whom it cannot be told.

    >>> without_consent("consent == 'yes'")
    "not (consent == 'yes') or consent is null"
    """
    columns = sorted(parse_filter(consent).columns)
    if not columns:
        message = "the filter of waivers needs a column of the data"
        hint = "for example consent == 'yes'"
        raise SuppressionError(message, code="waivers", where="waivers", hint=hint)
    named = [name if name.isidentifier() else f"`{name}`" for name in columns]
    return " or ".join([f"not ({consent.strip()})", *(f"{name} is null" for name in named)])


def count_waivers(
    frame: Any,
    by: Sequence[Spanning],
    *,
    consent: str,
    values: Sequence[str] = (),
    contributions: int = 3,
    weight: str | None = None,
    holding: str | None = None,
    where: str | None = None,
    name: str = "table",
) -> Waivers:
    """Count those who have not consented to be shown.

    Args:
        frame: Records, as for `tabulate`.
        by: The spanning variables.
        consent: Filter of the records whose units have consented. A record with a missing
            value in one of its columns has not.
        values: Columns that rules look at.
        contributions: How many of the largest contributions to keep, as in the table.
        weight: Column of weights, as in the table.
        holding: Column of the holding, for rules per holding.
        where: Which records count.
        name: Name of the table.

    >>> import polars as pl
    >>> firms = pl.DataFrame({"region": ["N", "N", "S"], "consent": ["yes", None, "yes"]})
    >>> count_waivers(firms, ["region"], consent="consent == 'yes'").records.count.tolist()
    [1, 1]
    """
    others = without_consent(consent)
    listed = (values,) if isinstance(values, str) else tuple(values)
    records = tabulate(
        frame,
        list(by),
        values=listed,
        contributions=contributions if listed else 0,
        weight=weight,
        where=others if not where else f"({where}) and ({others})",
        name=name,
    )
    if holding is None:
        return Waivers(records=records)
    holdings = count_holdings(
        frame,
        by,
        holding=holding,
        values=listed,
        contributions=contributions,
        where=where,
        having=others,
        name=name,
    )
    return Waivers(records=records, holdings=holdings)
