"""Safe commands in place of those of acro, on the same data.

    python -m venv acro && acro/bin/pip install acro "pandas<=2.3.3"
    make bench ARGS="acro --acro acro/bin/python"

The pins of acro and of discreet exclude each other, so acro runs in its own environment
(`acro_side.py`), with what it is built on (pandas, statsmodels) beside it. `pie` has no
counterpart here; `surv_func` is compared in `output_checking_acro.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
from acro_data import DUMMIES, NUMBERS, Verdicts, records, unsafe_table

from discreet_fire import statistics as safe

#: The limits that acro comes with.
LIMITS = safe.SafeLimits(minimum=10, k=90, p=10)
BOTH = ["region", "size"]
WORDS = " ".join(NUMBERS + DUMMIES)
FACTORS = " ".join(NUMBERS + [f"i.{name}" for name in DUMMIES])


def means(frame: pl.DataFrame) -> object:
    """A table of means."""
    return safe.table(frame, BOTH, "income", statistics="mean", limits=LIMITS)


#: The safe command in place of each command of acro.
JOBS: dict[str, Callable[[pl.DataFrame], object]] = {
    "crosstab": lambda frame: safe.tabulate(frame, *BOTH, limits=LIMITS),
    "crosstab of means": means,
    "pivot_table": means,
    "hist": lambda frame: safe.histogram(frame, "income", limits=LIMITS),
    "ols": lambda frame: safe.regress(frame, "y", WORDS, limits=LIMITS),
    "olsr": lambda frame: safe.regress(frame, "y", FACTORS, limits=LIMITS),
    "logit": lambda frame: safe.logit(frame, "two", WORDS, limits=LIMITS),
    "logitr": lambda frame: safe.logit(frame, "two", FACTORS, limits=LIMITS),
    "probit": lambda frame: safe.probit(frame, "two", WORDS, limits=LIMITS),
    "probitr": lambda frame: safe.probit(frame, "two", FACTORS, limits=LIMITS),
}


def task(name: str) -> Callable[[Path, int], Callable[[], object]]:
    """One command."""

    def set_up(folder: Path, rows: int) -> Callable[[], object]:
        frame = pl.DataFrame(records(rows))
        return lambda: JOBS[name](frame)

    return set_up


def verdicts(name: str) -> Callable[[Path, int], Callable[[], Verdicts]]:
    """What is withheld of each cell of a small table, and by which rule."""

    def run() -> Verdicts:
        frame = pl.DataFrame(unsafe_table())
        if name == "counts":
            result = safe.tabulate(frame, "row", "column", limits=LIMITS)
        else:
            result = safe.table(frame, ["row", "column"], "x", statistics="mean", limits=LIMITS)
        rules = {one.place: one.rule for one in result.evidence["found"]}
        found = {}
        for row in [*"abcd", "Total"]:
            for column in [*"wxyz", "Total"]:
                places = [
                    f"row = {row}, column = {column}",
                    f"row = {row.lower()}, column = {column.lower()}",
                ]
                rule = next((rules[place] for place in places if place in rules), "ok")
                found[f"{row} {column}".replace("Total", "All")] = rule
        return Verdicts(found)

    return lambda folder, rows: run


TASKS = {f"discreet {name}": task(name) for name in JOBS}
TASKS |= {f"verdicts on {name}": verdicts(name) for name in ("counts", "means")}
