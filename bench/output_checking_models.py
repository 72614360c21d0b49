"""Safe models beside plain ones: `regress` and `logit` against statsmodels, and acro.

``python bench/output_checking_models.py --rows 1000000`` takes turns between both in one
process and prints medians and ratios, of processor time too. With ``--acro PYTHON``, an
interpreter of an environment that has acro (its pins and ours exclude each other), the same
regression runs there on its own commands.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import statsmodels.api as sm

from discreet.output_checking.safe.models import logit, regress

NUMBERS = [f"x{i}" for i in range(5)]
DUMMIES = [f"d{i}" for i in range(4)]

ACRO = """
import sys, time, json, statistics, os, tempfile
import numpy as np, pandas as pd
table = np.load(sys.argv[1])
os.chdir(tempfile.mkdtemp())
import logging; logging.disable(logging.CRITICAL)
from acro import ACRO
import statsmodels.api as sm
session = ACRO(suppress=False)
data = pd.DataFrame(table).add_prefix("v")
y, x = data.iloc[:, 0], data.iloc[:, 1:]
def timed(run):
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return [time.perf_counter() - wall, time.process_time() - cpu]
plain = lambda: sm.OLS(y, x).fit().summary()
checked = lambda: session.ols(y, x)
plain(), checked()
both = [timed(run) for _ in range(3) for run in (plain, checked)]
print(json.dumps(both))
"""


def records(rows: int) -> pl.DataFrame:
    """Five numbers, four variables with two values, an outcome and one of two values."""
    draw = np.random.default_rng(rows)
    columns = {name: draw.normal(size=rows) for name in NUMBERS}
    columns |= {name: draw.integers(0, 2, rows) for name in DUMMIES}
    columns["y"] = 10 + columns["x0"] + 0.3 * columns["d0"] + draw.normal(size=rows)
    columns["two"] = (columns["x0"] + draw.logistic(size=rows) > 0).astype(np.int64)
    return pl.DataFrame(columns)


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
    result = model.fit(disp=0) if isinstance(model, sm.Logit) else model.fit()  # type: ignore[attr-defined]
    result.summary()


def beside_acro(python: str, table: np.ndarray) -> None:
    """The overhead of acro over statsmodels, in its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npy"
        np.save(path, table)
        command = [python, "-c", ACRO, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    times = json.loads(done.stdout.splitlines()[-1])
    report("ols: statsmodels, acro", list(zip(times[::2], times[1::2], strict=True)))


def main() -> None:
    """Run all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--acro", help="interpreter of an environment with acro")
    options = parser.parse_args()
    frame = records(options.rows)
    table = frame.select("y", *NUMBERS, *DUMMIES).to_numpy()
    x, y = np.column_stack([np.ones(len(table)), table[:, 1:]]), table[:, 0]
    words = " ".join(NUMBERS + DUMMIES)
    factors = " ".join(NUMBERS + [f"i.{name}" for name in DUMMIES])
    robust = {"cov_type": "HC1"}
    rounds = options.rounds
    print(f"{options.rows:,} rows, 10 columns; statsmodels, then discreet with all checks")
    compare("regress", lambda: fitted(sm.OLS(y, x)), lambda: regress(frame, "y", words), rounds)
    compare(
        "regress with factor variables",
        lambda: fitted(sm.OLS(y, x)),
        lambda: regress(frame, "y", factors),
        rounds,
    )
    compare(
        "regress, robust",
        lambda: sm.OLS(y, x).fit(**robust).summary(),
        lambda: regress(frame, "y", factors, robust=True),
        rounds,
    )
    entity = frame.with_columns(person=pl.int_range(pl.len()) // 3)
    compare(
        "regress, three rows of each person",
        lambda: fitted(sm.OLS(y, x)),
        lambda: regress(entity, "y", factors, entity="person"),
        rounds,
    )
    two = frame["two"].to_numpy()
    compare("logit", lambda: fitted(sm.Logit(two, x)), lambda: logit(frame, "two", words), 3)
    if options.acro:
        beside_acro(options.acro, np.column_stack([y, x]))


if __name__ == "__main__":
    main()
