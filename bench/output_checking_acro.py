"""Safe commands side by side with acro on its own commands, on the same data.

    python -m venv acro && acro/bin/pip install acro "pandas<=2.3.3"
    python bench/output_checking_acro.py --acro acro/bin/python [--rows 1000000]

The pins of acro and of discreet exclude each other, so acro runs in its own environment,
with what it is built on (pandas, statsmodels) beside it. Printed are medians of processor
time, as both cannot take turns in one process; then what both say about a table with small
and dominated cells, under the same limits. `surv_func` and `pie` have no counterpart here.
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
from typing import Any

import numpy as np
import polars as pl

from discreet_fire import statistics as safe

NUMBERS = [f"x{i}" for i in range(3)]
DUMMIES = ["d0", "d1"]
#: The limits that acro comes with.
LIMITS = safe.SafeLimits(minimum=10, k=90, p=10)


def records(rows: int) -> pl.DataFrame:
    """Incomes by region and size, and an outcome that depends on other variables."""
    draw = np.random.default_rng(rows)
    regions = np.array([f"region {at:02d}" for at in range(20)])
    columns: dict[str, Any] = {
        "region": regions[draw.integers(0, 20, rows)],
        "size": draw.integers(0, 20, rows),
        "income": draw.lognormal(8, 1, rows),
    }
    columns |= {name: draw.normal(size=rows) for name in NUMBERS}
    columns |= {name: draw.integers(0, 2, rows) for name in DUMMIES}
    columns["y"] = 10 + columns["x0"] + 0.3 * columns["d0"] + draw.normal(size=rows)
    columns["two"] = (columns["x0"] + draw.logistic(size=rows) > 0).astype(np.int64)
    return pl.DataFrame(columns)


def unsafe_table() -> pl.DataFrame:
    """Some thirty cases in each cell of 4 × 4, but for cells that break a rule."""
    draw = np.random.default_rng(7)
    amounts = {
        f"{row} {column}": draw.lognormal(3, 0.3, 30).tolist()
        for row in "abcd"
        for column in "wxyz"
    }
    amounts["a w"] = [20.0, 25.0, 22.0]  # too few cases
    amounts["b x"][0] = 50_000.0  # one has nearly all
    amounts["c y"][:2] = [20_000.0, 18_000.0]  # two have nearly all
    amounts["d z"] = [25.0] * 30  # all have the same
    amounts["a z"] = [25.0] * 29 + [60.0]  # all but one have the same
    rows = [(*cell.split(), x) for cell, numbers in amounts.items() for x in numbers]
    return pl.DataFrame(rows, schema=["row", "column", "x"], orient="row")


SPECIAL = {
    "a w": "three cases",
    "b x": "one dominates",
    "c y": "two dominate",
    "d z": "all alike",
    "a z": "all but one alike",
}


def jobs(frame: pl.DataFrame) -> dict[str, Callable[[], object]]:
    """The safe command in place of each command of acro."""
    both = ["region", "size"]
    words, factors = " ".join(NUMBERS + DUMMIES), " ".join(NUMBERS + [f"i.{x}" for x in DUMMIES])

    def means() -> object:
        return safe.table(frame, both, "income", statistics="mean", limits=LIMITS)

    return {
        "crosstab": lambda: safe.tabulate(frame, *both, limits=LIMITS),
        "crosstab of means": means,
        "pivot_table": means,
        "hist": lambda: safe.histogram(frame, "income", limits=LIMITS),
        "ols": lambda: safe.regress(frame, "y", words, limits=LIMITS),
        "olsr": lambda: safe.regress(frame, "y", factors, limits=LIMITS),
        "logit": lambda: safe.logit(frame, "two", words, limits=LIMITS),
        "logitr": lambda: safe.logit(frame, "two", factors, limits=LIMITS),
        "probit": lambda: safe.probit(frame, "two", words, limits=LIMITS),
        "probitr": lambda: safe.probit(frame, "two", factors, limits=LIMITS),
    }


def median(run: Callable[[], object], rounds: int) -> float:
    """Seconds of the processor of one run, after another to warm up."""
    run()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def verdicts(frame: pl.DataFrame) -> dict[str, dict[str, str]]:
    """What is withheld of each cell, and by which rule."""
    results = {
        "counts": safe.tabulate(frame, "row", "column", limits=LIMITS),
        "means": safe.table(frame, ["row", "column"], "x", statistics="mean", limits=LIMITS),
    }
    found: dict[str, dict[str, str]] = {}
    for name, result in results.items():
        rules = {one.place: one.rule for one in result.evidence["found"]}
        found[name] = {}
        for row in [*"abcd", "Total"]:
            for column in [*"wxyz", "Total"]:
                places = [
                    f"row = {row}, column = {column}",
                    f"row = {row.lower()}, column = {column.lower()}",
                ]
                rule = next((rules[place] for place in places if place in rules), "ok")
                cell = f"{row} {column}".replace("Total", "All")
                found[name][cell] = rule if rule == "ok" else f"withheld: {rule}"
    return found


def beside(python: str, frame: pl.DataFrame, table: pl.DataFrame, rounds: int) -> dict[str, Any]:
    """What acro gives in its own environment."""
    formula = "y ~ " + " + ".join(NUMBERS + [f"C({name})" for name in DUMMIES])
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, data in (("large", frame), ("small", table)):
            path = Path(folder) / f"{name}.npz"
            np.savez(path, **{column: _plain(data[column]) for column in data.columns})
            paths.append(str(path))
        side = str(Path(__file__).with_name("acro_side.py"))
        command = [python, side, *paths, str(rounds), formula, " ".join(NUMBERS + DUMMIES)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _plain(column: pl.Series) -> np.ndarray:
    return np.array(column.to_list()) if column.dtype == pl.String else column.to_numpy()


def print_verdicts(ours: dict[str, dict[str, str]], theirs: dict[str, dict[str, str]]) -> None:
    """Cells that are unsafe, or withheld by either."""
    for name, cells in theirs.items():
        print(f"\ntable of {name:<22}{'acro':<34}discreet")
        for cell, said in cells.items():
            mine = ours[name][cell]
            if cell in SPECIAL or said != "ok" or mine != "ok":
                print(f"  {cell:<8}{SPECIAL.get(cell, ''):<22}{said:<34}{mine}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--acro", required=True, help="interpreter of an environment with acro")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    frame, table = records(options.rows), unsafe_table()
    theirs = beside(options.acro, frame, table, options.rounds)
    print(f"{options.rows:,} rows; seconds of the processor, medians of {options.rounds}")
    print(f"{'command of acro':<20}{'plain':>9}{'acro':>9}{'ratio':>8}{'discreet':>10}")
    for name, run in jobs(frame).items():
        pairs = theirs["times"][name]
        plain, checked = (statistics.median(side) for side in zip(*pairs, strict=True))
        mine = median(run, options.rounds)
        print(
            f"{name:<20}{plain:>9.3f}{checked:>9.3f}{checked / plain:>8.2f}{mine:>10.3f}",
            flush=True,
        )
    print_verdicts(verdicts(table), theirs["verdicts"])


if __name__ == "__main__":
    main()
