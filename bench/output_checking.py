"""Safe commands against the same statistics in polars, side by side in one run.

    python bench/output_checking.py [--rows 1000000] [--rounds 15]

The machine may be busy with other things, so both sides take turns; medians are printed,
and the median of the ratio of each round, by the clock and of processor time. The promise
is at most 1.5 for tabulate, tabstat and summarize. Where an entity column is named, polars
counts the distinct entities of each group too; what each of them contributes to a sum is
for the safe command alone to find out.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from discreet_fire import statistics as safe

Plain = Callable[[], object]
Job = tuple[str, Plain, Plain]
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


class Both:
    """The same statistics in polars and by safe commands."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def summarize(self, name: str, plain: Sequence[pl.Expr], **options: Any) -> Job:
        """All records together."""
        return (
            name,
            lambda: self.frame.select(plain),
            lambda: safe.summarize(self.frame, "income", **options),
        )

    def tabulate(self, name: str, by: str, plain: Sequence[pl.Expr], **options: Any) -> Job:
        """Frequencies by one or two variables."""
        names = by.split()

        def plainly() -> pl.DataFrame:
            cells = self.frame.group_by(names).agg(plain).sort(names)
            return cells.pivot(names[1], index=names[0]) if names[1:] else cells

        return name, plainly, lambda: safe.tabulate(self.frame, *names, **options)

    def tabstat(
        self, name: str, by: str, plain: Sequence[pl.Expr], words: str = "n mean sd", **options: Any
    ) -> Job:
        """Statistics by a variable and in total."""
        return (
            name,
            lambda: (self.frame.group_by(by).agg(plain).sort(by), self.frame.select(plain)),
            lambda: safe.tabstat(self.frame, "income", statistics=words, by=by, **options),
        )

    def jobs(self) -> list[Job]:
        """Name, plain statistics, safe command."""
        n, quartiles = [pl.len()], "p25 p50 p75"
        return [
            self.summarize("summarize", _MOMENTS),
            self.summarize("  with entities", [*_MOMENTS, _WHO], **_ENTITY),
            self.summarize("  with weights", _WEIGHTED, weights="weight"),
            self.summarize("summarize, detail", _DETAIL, detail=True),
            self.summarize("  with entities", [*_DETAIL, _WHO], detail=True, **_ENTITY),
            self.tabulate("tabulate, numbers", "size", n),
            self.tabulate("  with entities", "size", [*n, _WHO], **_ENTITY),
            self.tabulate("tabulate, texts", "region", n),
            self.tabulate("  with entities", "region", [*n, _WHO], **_ENTITY),
            self.tabulate("  with weights", "region", [_W.sum()], weights="weight"),
            self.tabulate("tabulate, two-way", "region size", n),
            self.tabulate("  with entities", "region size", [*n, _WHO], **_ENTITY),
            self.tabstat("tabstat by numbers", "size", _MOMENTS),
            self.tabstat("  with entities", "size", [*_MOMENTS, _WHO], **_ENTITY),
            self.tabstat("tabstat by texts", "region", _MOMENTS),
            self.tabstat("  with entities", "region", [*_MOMENTS, _WHO], **_ENTITY),
            self.tabstat("  entities as texts", "region", [*_MOMENTS, _TEXTS], entity="person"),
            self.tabstat("  with weights", "region", _WEIGHTED, weights="weight"),
            self.tabstat("tabstat, quartiles", "region", _QUARTILES, quartiles),
            self.tabstat("  with entities", "region", [*_QUARTILES, _WHO], quartiles, **_ENTITY),
        ]


def _seconds(job: Callable[[], object]) -> tuple[float, float]:
    """Seconds that pass, and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="commands that start so")
    options = parser.parse_args()
    frame = records(options.rows)
    print(f"{'command':<24}{'polars ms':>11}{'safe ms':>11}{'ratio':>8}{'of processor':>14}")
    kind = ""
    for name, plain, checked in Both(frame).jobs():
        kind = kind if name.startswith(" ") else name
        if not kind.startswith(options.only):
            continue
        plain(), checked()
        times = [(_seconds(plain), _seconds(checked)) for _ in range(options.rounds)]
        one, other = (
            1000 * statistics.median(wall for wall, _ in side) for side in zip(*times, strict=True)
        )
        ratio, cpu = (
            statistics.median(second[clock] / first[clock] for first, second in times)
            for clock in (0, 1)
        )
        print(f"{name:<24}{one:>11.1f}{other:>11.1f}{ratio:>8.2f}{cpu:>14.2f}", flush=True)


if __name__ == "__main__":
    main()
