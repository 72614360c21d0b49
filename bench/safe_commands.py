"""Safe commands against the same statistics in polars.

The aim is at most twice its time for tabulate, tabstat and summarize where an entity is named; the
others take at most 0.2 seconds of processor time for a million records. Where an entity column is
named, polars counts the distinct entities of each group too; what each of them contributes to a
sum is for the safe command alone to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet_fire import statistics as safe

Run = Callable[[], object]
#: The statistics of a frame in polars, and by a safe command.
Both = Callable[[pl.DataFrame], tuple[Run, Run]]
_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def records(rows: int) -> pl.DataFrame:
    """Incomes of persons in regions and classes."""
    rng = np.random.default_rng(rows)
    regions = pl.Series([f"region {at:02d}" for at in range(20)])
    return pl.DataFrame(
        {
            "region": regions[rng.integers(0, 20, rows)],
            "size": rng.integers(0, 20, rows),
            "income": rng.lognormal(8, 1, rows),
            "change": rng.normal(0, 1, rows),
            "pid": rng.integers(0, max(rows // 3, 1), rows),
            "weight": rng.lognormal(0, 0.5, rows),
        }
    ).with_columns(person=pl.format("P{}", "pid"))


_X, _W = pl.col("income"), pl.col("weight")
_WHO, _TEXTS = pl.col("pid").n_unique(), pl.col("person").n_unique()
_MEAN = (_X * _W).sum() / _W.sum()
_MOMENTS = [
    _X.count().alias("n"),
    _X.mean().alias("mean"),
    _X.std().alias("sd"),
    _X.min().alias("min"),
    _X.max().alias("max"),
]
_WEIGHTED = [_X.count().alias("n"), _MEAN.alias("mean"), ((_X - _MEAN) ** 2 * _W).sum()]
_PERCENTILES = [_X.quantile(share).alias(f"p{share}") for share in _SHARES]
_DETAIL = [*_MOMENTS, _X.skew().alias("skewness"), _X.kurtosis().alias("kurtosis"), *_PERCENTILES]
_QUARTILES = [_X.quantile(share).alias(f"p{share}") for share in (0.25, 0.5, 0.75)]
_ENTITY = {"entity": "pid"}


def _summarize(plain: Sequence[pl.Expr], **options: Any) -> Both:
    """All records together."""
    return lambda frame: (
        lambda: frame.select(plain),
        lambda: safe.summarize(frame, "income", **options),
    )


def _tabulate(by: str, plain: Sequence[pl.Expr], **options: Any) -> Both:
    """Frequencies by one or two variables."""
    names = by.split()

    def both(frame: pl.DataFrame) -> tuple[Run, Run]:
        def plainly() -> pl.DataFrame:
            cells = frame.group_by(names).agg(plain).sort(names)
            return cells.pivot(names[1], index=names[0]) if names[1:] else cells

        return plainly, lambda: safe.tabulate(frame, *names, **options)

    return both


def _tabstat(by: str, plain: Sequence[pl.Expr], words: str = "n mean sd", **options: Any) -> Both:
    """Statistics by a variable and in total."""
    return lambda frame: (
        lambda: (frame.group_by(by).agg(plain).sort(by), frame.select(plain)),
        lambda: safe.tabstat(frame, "income", statistics=words, by=by, **options),
    )


_N, _WORDS = [pl.len()], "p25 p50 p75"
JOBS: dict[str, Both] = {
    "summarize": _summarize(_MOMENTS),
    "summarize, entities": _summarize([*_MOMENTS, _WHO], **_ENTITY),
    "summarize, weights": _summarize(_WEIGHTED, weights="weight"),
    "summarize detail": _summarize(_DETAIL, detail=True),
    "summarize detail, entities": _summarize([*_DETAIL, _WHO], detail=True, **_ENTITY),
    "tabulate numbers": _tabulate("size", _N),
    "tabulate numbers, entities": _tabulate("size", [*_N, _WHO], **_ENTITY),
    "tabulate texts": _tabulate("region", _N),
    "tabulate texts, entities": _tabulate("region", [*_N, _WHO], **_ENTITY),
    "tabulate texts, weights": _tabulate("region", [_W.sum()], weights="weight"),
    "tabulate two-way": _tabulate("region size", _N),
    "tabulate two-way, entities": _tabulate("region size", [*_N, _WHO], **_ENTITY),
    "tabstat numbers": _tabstat("size", _MOMENTS),
    "tabstat numbers, entities": _tabstat("size", [*_MOMENTS, _WHO], **_ENTITY),
    "tabstat texts": _tabstat("region", _MOMENTS),
    "tabstat texts, entities": _tabstat("region", [*_MOMENTS, _WHO], **_ENTITY),
    "tabstat texts, text entities": _tabstat("region", [*_MOMENTS, _TEXTS], entity="person"),
    "tabstat texts, weights": _tabstat("region", _WEIGHTED, weights="weight"),
    "tabstat quartiles": _tabstat("region", _QUARTILES, _WORDS),
    "tabstat quartiles, entities": _tabstat("region", [*_QUARTILES, _WHO], _WORDS, **_ENTITY),
}


def task(name: str, side: int) -> Callable[[Path, int], Run]:
    """One side of a job."""
    return lambda folder, rows: JOBS[name](records(rows))[side]


TASKS = {
    f"{tool} {name}": task(name, side)
    for name in JOBS
    for side, tool in enumerate(("polars", "discreet"))
}
