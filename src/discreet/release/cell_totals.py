"""Totals that cells made elsewhere lack: they are computed, and protected like the others.

In: a frame with one row per cell, CONFIDENTIAL, and the trees of its variables. Out: the same
with the totals of every level that has no row at all. Any reader can know a total, from another
table or by adding up: hidden cells that a total opens are not protected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.classifications import TOTAL, Classification
from discreet.errors import SuppressionError
from discreet.tables import Spanning, code_texts

if TYPE_CHECKING:
    import polars as pl


def with_missing_totals(
    cells: pl.DataFrame,
    by: Sequence[Spanning],
    *,
    sums: Sequence[str],
    largest: Sequence[str] = (),
    filled: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """The cells, and below them the totals of levels that have no row.

    >>> import polars as pl
    >>> with_missing_totals(pl.DataFrame({"sex": ["m", "w"], "n": [3, 4]}), ["sex"], sums=["n"])[
    ...     "n"].to_list()
    [3, 4, 7]
    """
    import polars as pl

    above = {str(getattr(item, "name", item)): _parents(cells, item) for item in by}
    names = list(above)
    cells = cells.with_columns(code_texts(cells[name], name).alias(name) for name in names)
    for item in by:
        if isinstance(item, str):
            _refuse_other_total(cells, item, [entry for entry in names if entry != item], sums)
    level = [
        pl.col(name).replace_strict(_levels(own), default=None, return_dtype=pl.Int64)
        for name, own in above.items()
    ]
    given = cells.select(level).unique()
    every, start = cells.sort(names), cells.height
    pooled = pl.concat_list(largest).list.explode().drop_nulls() if largest else None
    for name, own in above.items():
        depth = {code: _depth(own, code) for code in own}
        for deep in range(max(depth.values(), default=0), 0, -1):
            parents = {code: own[code] for code, at in depth.items() if at == deep}
            added = (
                every.with_columns(
                    pl.col(name).replace_strict(parents, default=None, return_dtype=pl.String)
                )
                .filter(pl.col(name).is_not_null())
                .group_by(names, maintain_order=True)
                .agg(
                    *(pl.col(column).sum() for column in sums),
                    *(
                        []
                        if pooled is None
                        else [
                            pooled.sort_by(pooled.abs(), descending=True)
                            .get(at, null_on_oob=True)
                            .alias(column)
                            for at, column in enumerate(largest)
                        ]
                    ),
                )
                .join(every, on=names, how="anti")
                .with_columns(pl.lit(value).alias(key) for key, value in (filled or {}).items())
            )
            fresh = added.select(level)
            new = fresh.join(given.with_columns(there=True), on=names, how="left")["there"]
            every = pl.concat([every, added.filter(new.is_null())], how="diagonal_relaxed")
    return pl.concat([cells, every[start:]], how="diagonal_relaxed")


def _refuse_other_total(
    cells: pl.DataFrame, name: str, others: Sequence[str], sums: Sequence[str]
) -> None:
    """Ask for the code of the total where one code is everywhere the sum of the others."""
    import polars as pl

    codes = cells[name].unique().drop_nulls().to_list()
    if TOTAL in codes or len(codes) < 3:
        return
    whole = [pl.col(item).sum().over(others) if others else pl.col(item).sum() for item in sums]
    half = [
        (2 * pl.col(each) - total).abs() <= 1e-9 * total.abs()
        for each, total in zip(sums, whole, strict=True)
    ]
    marked = cells.with_columns(pl.all_horizontal(half).alias("half"))
    alike = marked.group_by(name).agg(pl.col("half").all()).filter("half")[name].sort()
    if len(alike) and cells[sums[0]].sum():
        message = f"code {alike[0]!r} is always the sum of the other codes"
        hint = (
            f"declare it as the total: --total {name}={alike[0]}, or totals of the request; "
            f"otherwise add rows of the code {TOTAL!r}"
        )
        raise SuppressionError(message, code="total-code", where=name, hint=hint)


def _parents(cells: pl.DataFrame, item: Any) -> dict[str, str | None]:
    """The code above each code of a variable."""
    if isinstance(item, Classification):
        codes = item.codes
        pairs = zip(codes, item.parents, strict=True)
        return {code: None if above < 0 else codes[above] for code, above in pairs}
    found = code_texts(cells[item], item).unique().to_list()
    return {code: TOTAL for code in found if code != TOTAL} | {TOTAL: None}


def _depth(parents: Mapping[str, str | None], code: str) -> int:
    above = parents[code]
    return 0 if above is None else 1 + _depth(parents, above)


def _levels(parents: Mapping[str, str | None]) -> dict[str, int]:
    """The level of each code; finest codes share one, whatever their depth."""
    inner = set(parents.values())
    return {code: _depth(parents, code) if code in inner else -1 for code in parents}
