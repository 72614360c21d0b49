"""The commands of acro and what they are built on; runs in an environment that has them."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from acro import ACRO
from acro_data import DUMMIES, NUMBERS, Verdicts, records, unsafe_table

logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

Job = tuple[Callable[[], object], Callable[[], object]]


NAMES = NUMBERS + DUMMIES
FORMULA = "y ~ " + " + ".join(NUMBERS + [f"C({name})" for name in DUMMIES])


def jobs(data: pd.DataFrame, formula: str = FORMULA) -> dict[str, Job]:
    """Each command of acro with what pandas or statsmodels have in its place."""
    session = ACRO(suppress=True)
    region, size, income, y, two = (data[x] for x in ("region", "size", "income", "y", "two"))
    x = sm.add_constant(data[NAMES])
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


def task(name: str, side: int) -> Callable[[Path, int], Callable[[], object]]:
    """One command, plain or checked; acro writes into the folder it runs in."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        run = jobs(pd.DataFrame(records(rows)))[name][side]
        os.chdir(folder)

        def quietly() -> object:
            with redirect_stdout(io.StringIO()):
                return run()

        return quietly

    return set_up


def verdicts(name: str) -> Callable[[Path, int], Callable[[], Verdicts]]:
    """What acro says of each cell of a small table, and which cells it leaves out."""

    def run() -> Verdicts:
        data = pd.DataFrame(unsafe_table())
        options: dict[str, Any] = {"values": data["x"], "aggfunc": "mean"}
        session = ACRO(suppress=True)
        with redirect_stdout(io.StringIO()):
            shown = session.crosstab(
                data["row"], data["column"], margins=True, **options if name == "means" else {}
            )
        said = session.results.get_index(0).outcome
        return Verdicts(
            {
                f"{row} {column}": "withheld" if missing(shown, row, column) else cell.strip("; ")
                for row in said.index
                for column, cell in said.loc[row].items()
            }
        )

    return lambda folder, rows: run


def missing(shown: pd.DataFrame, row: str, column: str) -> bool:
    """Whether a table has no number in a cell."""
    there = row in shown.index and column in shown.columns
    return not there or bool(pd.isna(shown.loc[row, column]))


COMMANDS = (
    *("crosstab", "crosstab of means", "pivot_table", "hist"),
    *("ols", "olsr", "logit", "logitr", "probit", "probitr"),
)
TASKS = {
    f"{tool} {name}": task(name, side)
    for name in COMMANDS
    for side, tool in enumerate(("plain", "acro"))
}
TASKS |= {f"verdicts on {name}": verdicts(name) for name in ("counts", "means")}
