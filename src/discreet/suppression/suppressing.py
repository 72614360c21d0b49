"""`suppress`: tables in, the same tables with hidden cells out.

In: confidential tables and what primary rules found in them. Out: `ProtectedTable`s, ready
for publication, in which every sensitive cell is proven to be protected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack, overload

from discreet.errors import SuppressionError
from discreet.suppression.methods import Method
from discreet.suppression.outcome import Options, Suppression
from discreet.suppression.sharing import SharedSuppression, Sharing, is_shared
from discreet.tables import ProtectedTable, Table

__all__ = ["Options", "Suppression", "suppress"]


@overload
def suppress(
    tables: Table, primary: Any = None, *, method: Method = "auto", **options: Unpack[Options]
) -> ProtectedTable: ...
@overload
def suppress(
    tables: Sequence[Sharing], *, method: Method = "auto", **options: Unpack[Options]
) -> list[ProtectedTable]: ...
def suppress(
    tables: Table | Sequence[Sharing],
    primary: Any = None,
    *,
    method: Method = "auto",
    **options: Unpack[Options],
) -> ProtectedTable | list[ProtectedTable]:
    """Hide the sensitive cells of tables, and others so that nobody can work them out.

    Args:
        tables: A table, or several with what `primary` found in each: pairs. Tables that
            share cells are protected together.
        primary: What `discreet.primary` found in the table, or a mask of its sensitive cells;
            a list of what it found for several values, if these are to share one pattern:
            a cell hidden for one of them is hidden for all.
        method: "auto": near the lowest cost, with a bound; "fast"; "optimal": the lowest
            cost, proven; "modular"; "hypercube".
        options: ``value``, ``decimals``, ``cost``, ``knowledge``, ``zero_cells``,
            ``earlier``, ``same``, ``repair`` as for `build_problem` (the value column is
            that of `primary` unless given); ``singletons``: also protect sums that a single
            respondent could undo (for values they are unless told otherwise, for counts
            they are not); ``reasons``: whether files say which kind of "rule" hides a cell,
            only the "kind" – primary or secondary – or "none"; ``intervals``: publish
            between which values anyone can bound hidden cells; ``time_limit`` in seconds,
            ``progress``, ``seed``; ``titles``, ``universe`` as for `discreet.perturb`.

    Returns:
        The table that may be published, or one for each.

    >>> import polars as pl
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> safe = suppress(table, table.count < 3, method="fast")
    >>> safe.get("Total"), safe.get("m"), safe.get("w"), safe.get("d")
    (18, 9, None, None)
    """
    if isinstance(tables, Table):
        return _suppressed([(tables, primary)], method, options)[0]
    if primary is not None:
        raise SuppressionError(
            "several tables are given in pairs: a table, and its sensitive cells",
            code="tables",
            hint="suppress([(table, primary), …])",
        )
    return _suppressed(tables, method, options)


def _suppressed(
    tables: Sequence[Sharing], method: Method, options: Options
) -> list[ProtectedTable]:
    listed: Any = list(tables)
    if is_shared(listed):
        return list(SharedSuppression.of(listed, method=method, **options).tables)
    return list(Suppression.of(listed, method=method, **options).tables)
