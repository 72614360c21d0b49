"""Safe models beside plain ones: `regress`, `logit` and `probit` against statsmodels.

``python bench/output_checking_models.py --rows 1000000`` takes turns between both in one
process and prints medians and ratios, of processor time too. The promise is at most 1.3
for `regress`. ``bench/output_checking_acro.py`` compares with acro.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import statsmodels.api as sm

from discreet_fire.statistics.models import logit, probit, regress

NUMBERS = [f"x{i}" for i in range(5)]
DUMMIES = [f"d{i}" for i in range(4)]


def records(rows: int) -> pl.DataFrame:
    """Five numbers, four variables with two values, an outcome and one of two values."""
    draw = np.random.default_rng(rows)
    columns = {name: draw.normal(size=rows) for name in NUMBERS}
    columns |= {name: draw.integers(0, 2, rows) for name in DUMMIES}
    columns["y"] = 10 + columns["x0"] + 0.3 * columns["d0"] + draw.normal(size=rows)
    columns["two"] = (columns["x0"] + draw.logistic(size=rows) > 0).astype(np.int64)
    columns["weight"] = draw.lognormal(0, 0.5, rows)
    return pl.DataFrame(columns).with_columns(person=pl.int_range(pl.len()) // 3)


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Seconds that pass, and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def report(title: str, pairs: list[tuple[tuple[float, float], tuple[float, float]]]) -> None:
    """Medians of both, and of the ratio second to first."""
    medians = [statistics.median(pair[side][0] for pair in pairs) for side in (0, 1)]
    wall, cpu = (statistics.median(b[kind] / a[kind] for a, b in pairs) for kind in (0, 1))
    print(
        f"{title:44} {medians[0]:7.3f} s {medians[1]:7.3f} s   ratio {wall:.2f}, "
        f"of processor time {cpu:.2f}",
        flush=True,
    )


def compare(
    title: str, plain: Callable[[], object], safe: Callable[[], object], rounds: int
) -> None:
    """Take turns."""
    plain()
    safe()
    report(title, [(timed(plain), timed(safe)) for _ in range(rounds)])


def fitted(model: object) -> None:
    """What a table needs: errors, probabilities, fit."""
    model.fit(disp=0).summary()  # type: ignore[attr-defined]


def linear(frame: pl.DataFrame, rounds: int) -> None:
    """`regress` of all kinds."""
    table = frame.select("y", *NUMBERS, *DUMMIES).to_numpy()
    x, y = np.column_stack([np.ones(len(table)), table[:, 1:]]), table[:, 0]
    person, weight = frame["person"].to_numpy(), frame["weight"].to_numpy()
    words = " ".join(NUMBERS + DUMMIES)
    factors = " ".join(NUMBERS + [f"i.{name}" for name in DUMMIES])
    clusters = {"cov_type": "cluster", "cov_kwds": {"groups": person}}

    def plain(**options: Any) -> Callable[[], object]:
        return lambda: sm.OLS(y, x).fit(**options).summary()

    def checked(terms: str = factors, **options: Any) -> Callable[[], object]:
        return lambda: regress(frame, "y", terms, **options)

    compare("regress", plain(), checked(words), rounds)
    compare("regress with factor variables", plain(), checked(), rounds)
    robust, clustered = plain(cov_type="HC1"), plain(**clusters)
    compare("regress, robust", robust, checked(robust=True), rounds)
    compare("regress, clustered", clustered, checked(cluster="person"), rounds)
    compare("regress, robust, one variable", narrow(frame), narrow_checked(frame), rounds)
    compare("regress, three rows of each person", plain(), checked(entity="person"), rounds)
    compare(
        "regress, analytic weights",
        lambda: sm.WLS(y, x, weights=weight).fit().summary(),
        checked(weights="weight", weight_kind="aweight"),
        rounds,
    )
    compare(
        "regress, sampling weights",
        lambda: sm.WLS(y, x, weights=weight).fit(cov_type="HC1").summary(),
        checked(weights="weight", weight_kind="pweight"),
        rounds,
    )


def narrow(frame: pl.DataFrame) -> Callable[[], object]:
    """Statsmodels on a single variable, where checks weigh most."""
    x = np.column_stack([np.ones(frame.height), frame["x0"].to_numpy()])
    y = frame["y"].to_numpy()
    return lambda: sm.OLS(y, x).fit(cov_type="HC1").summary()


def narrow_checked(frame: pl.DataFrame) -> Callable[[], object]:
    """The same, checked."""
    return lambda: regress(frame, "y", "x0", robust=True)


def main() -> None:
    """Run all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    frame = records(options.rows)
    print(f"{options.rows:,} rows, 10 columns; statsmodels, then discreet with all checks")
    linear(frame, options.rounds)
    words = " ".join(NUMBERS + DUMMIES)
    x = np.column_stack([np.ones(frame.height), frame.select(*NUMBERS, *DUMMIES).to_numpy()])
    two = frame["two"].to_numpy()
    compare("logit", lambda: fitted(sm.Logit(two, x)), lambda: logit(frame, "two", words), 3)
    compare("probit", lambda: fitted(sm.Probit(two, x)), lambda: probit(frame, "two", words), 3)


if __name__ == "__main__":
    main()
