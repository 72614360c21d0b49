"""Safe commands against the same statistics in polars, side by side in one run.

    python bench/output_checking.py [--rows 1000000] [--rounds 9]

The machine may be busy with other things, so both sides take turns and only the ratio of
their fastest rounds counts. The promise is at most 1.5 for tabulate, tabstat and summarize.
With an entity column the safe command also works out what each entity contributes, which
the plain one does not; that line is for information.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import polars as pl

from discreet.output_checking import safe

Job = tuple[str, Callable[[], object], Callable[[], object]]
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
        }
    )


def jobs(frame: pl.DataFrame) -> list[Job]:
    """Name, plain statistics, safe command."""
    x = pl.col("income")
    moments = [
        x.count().alias("n"),
        x.mean().alias("mean"),
        x.std().alias("sd"),
        x.min().alias("min"),
        x.max().alias("max"),
    ]
    detail = [x.skew().alias("skewness"), x.kurtosis().alias("kurtosis")]
    detail += [x.quantile(share).alias(f"p{share}") for share in _SHARES]
    quartiles = [x.quantile(share).alias(f"p{share}") for share in (0.25, 0.5, 0.75)]
    asked = "n mean sd"

    def by(name: str, *more: pl.Expr) -> Callable[[], object]:
        return lambda: frame.group_by(name).agg(*more).sort(name)

    def with_total(name: str, *more: pl.Expr) -> Callable[[], object]:
        groups = by(name, *more)
        return lambda: (groups(), frame.select(more))

    return [
        ("summarize", lambda: frame.select(moments), lambda: safe.summarize(frame, "income")),
        (
            "summarize, detail",
            lambda: frame.select(*moments, *detail),
            lambda: safe.summarize(frame, "income", detail=True),
        ),
        ("tabulate, numbers", by("size", pl.len()), lambda: safe.tabulate(frame, "size")),
        ("tabulate, texts", by("region", pl.len()), lambda: safe.tabulate(frame, "region")),
        (
            "tabulate, two-way",
            lambda: frame.group_by("region", "size").agg(pl.len()).pivot("size", index="region"),
            lambda: safe.tabulate(frame, "region", "size"),
        ),
        (
            "tabstat by numbers",
            with_total("size", *moments),
            lambda: safe.tabstat(frame, "income", statistics=asked, by="size"),
        ),
        (
            "tabstat by texts",
            with_total("region", *moments),
            lambda: safe.tabstat(frame, "income", statistics=asked, by="region"),
        ),
        (
            "tabstat, quartiles",
            with_total("region", *quartiles),
            lambda: safe.tabstat(frame, "income", statistics="p25 p50 p75", by="region"),
        ),
        (
            "(tabstat by entities)",
            with_total("region", *moments, pl.col("pid").n_unique()),
            lambda: safe.tabstat(frame, "income", statistics=asked, by="region", entity="pid"),
        ),
    ]


def _seconds(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    frame = records(options.rows)
    print(f"{'command':<24}{'polars ms':>11}{'safe ms':>11}{'ratio':>8}")
    for name, plain, checked in jobs(frame):
        plain(), checked()
        times = [(_seconds(plain), _seconds(checked)) for _ in range(options.rounds)]
        one, other = (1000 * min(side) for side in zip(*times, strict=True))
        print(f"{name:<24}{one:>11.1f}{other:>11.1f}{other / one:>8.2f}")


if __name__ == "__main__":
    main()
