"""The side of acro in ``output_checking_acro.py``; runs in an environment that has it.

In: a file of columns, a small table with unsafe cells, rounds. Out: a line of JSON with the
seconds of each command, plain and checked, and what acro says of each cell of the table.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from acro import ACRO

logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

Job = tuple[Callable[[], object], Callable[[], object]]


def frame_of(path: str) -> pd.DataFrame:
    """Columns of a file of arrays."""
    with np.load(path) as columns:
        return pd.DataFrame({name: columns[name] for name in columns.files})


def jobs(data: pd.DataFrame, formula: str, names: list[str]) -> dict[str, Job]:
    """Each command of acro with what pandas or statsmodels have in its place."""
    session = ACRO(suppress=True)
    region, size, income, y, two = (data[x] for x in ("region", "size", "income", "y", "two"))
    x = sm.add_constant(data[names])
    binary = formula.replace("y ~", "two ~")
    by = {"index": ["region"], "columns": ["size"], "values": ["income"], "aggfunc": ["mean"]}
    means = {"values": income, "aggfunc": "mean"}
    return {
        "crosstab": (
            lambda: pd.crosstab(region, size, margins=True),
            lambda: session.crosstab(region, size, margins=True),
        ),
        "crosstab of means": (
            lambda: pd.crosstab(region, size, margins=True, **means),
            lambda: session.crosstab(region, size, margins=True, **means),
        ),
        "pivot_table": (
            lambda: pd.pivot_table(data, **by),
            lambda: session.pivot_table(data, **by),
        ),
        "hist": (lambda: data.hist("income"), lambda: session.hist(data, "income")),
        "ols": (lambda: sm.OLS(y, x).fit().summary(), lambda: session.ols(y, x)),
        "olsr": (
            lambda: smf.ols(formula, data).fit().summary(),
            lambda: session.olsr(formula, data),
        ),
        "logit": (lambda: sm.Logit(two, x).fit(disp=0).summary(), lambda: session.logit(two, x)),
        "logitr": (
            lambda: smf.logit(binary, data).fit(disp=0).summary(),
            lambda: session.logitr(binary, data),
        ),
        "probit": (lambda: sm.Probit(two, x).fit(disp=0).summary(), lambda: session.probit(two, x)),
        "probitr": (
            lambda: smf.probit(binary, data).fit(disp=0).summary(),
            lambda: session.probitr(binary, data),
        ),
    }


def seconds(run: Callable[[], object]) -> float:
    """Seconds of the processor: others may be at work on the machine."""
    start = time.process_time()
    run()
    return time.process_time() - start


def verdicts(data: pd.DataFrame) -> dict[str, dict[str, str]]:
    """What acro says of each cell, and which cells its tables leave out."""
    found: dict[str, dict[str, str]] = {}
    commands: dict[str, dict[str, Any]] = {
        "counts": {},
        "means": {"values": data["x"], "aggfunc": "mean"},
    }
    for name, options in commands.items():
        session = ACRO(suppress=True)
        shown = session.crosstab(data["row"], data["column"], margins=True, **options)
        said = session.results.get_index(0).outcome
        found[name] = {
            f"{row} {column}": "withheld" if missing(shown, row, column) else cell.strip("; ")
            for row in said.index
            for column, cell in said.loc[row].items()
        }
    return found


def missing(shown: pd.DataFrame, row: str, column: str) -> bool:
    """Whether a table has no number in a cell."""
    there = row in shown.index and column in shown.columns
    return not there or bool(pd.isna(shown.loc[row, column]))


def main() -> None:
    """Measure, and print one line."""
    large, small, rounds, formula, names = sys.argv[1:6]
    data, table = frame_of(large), frame_of(small)
    os.chdir(tempfile.mkdtemp())  # acro writes into the folder it runs in
    times: dict[str, list[tuple[float, float]]] = {}
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        for name, (plain, checked) in jobs(data, formula, names.split()).items():
            plain(), checked()
            times[name] = [(seconds(plain), seconds(checked)) for _ in range(int(rounds))]
        found = {"times": times, "verdicts": verdicts(table)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
