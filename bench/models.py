"""Safe models beside plain ones: `regress`, `logit` and `probit` against statsmodels.

The promise is at most 1.3 times its time for `regress`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import statsmodels.api as sm

from discreet_fire.statistics.models import logit, probit, regress

NUMBERS = [f"x{i}" for i in range(5)]
DUMMIES = [f"d{i}" for i in range(4)]
WORDS = " ".join(NUMBERS + DUMMIES)
FACTORS = " ".join(NUMBERS + [f"i.{name}" for name in DUMMIES])

Run = Callable[[], object]
Plain = Callable[[pl.DataFrame], Run]


def records(rows: int) -> pl.DataFrame:
    """Five numbers, four variables with two values, an outcome and one of two values."""
    draw = np.random.default_rng(rows)
    columns = {name: draw.normal(size=rows) for name in NUMBERS}
    columns |= {name: draw.integers(0, 2, rows) for name in DUMMIES}
    columns["y"] = 10 + columns["x0"] + 0.3 * columns["d0"] + draw.normal(size=rows)
    columns["two"] = (columns["x0"] + draw.logistic(size=rows) > 0).astype(np.int64)
    columns["weight"] = draw.lognormal(0, 0.5, rows)
    return pl.DataFrame(columns).with_columns(person=pl.int_range(pl.len()) // 3)


def fitted(model: object) -> None:
    """What a table needs: errors, probabilities, fit."""
    model.fit(disp=0).summary()  # type: ignore[attr-defined]


def arrays(frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """A constant and all variables, and the outcome."""
    table = frame.select("y", *NUMBERS, *DUMMIES).to_numpy()
    return np.column_stack([np.ones(len(table)), table[:, 1:]]), table[:, 0]


def linear(**options: Any) -> Plain:
    """Statsmodels on all variables."""

    def made(frame: pl.DataFrame) -> Run:
        (x, y), words = arrays(frame), dict(options)
        if words.pop("clustered", False):
            groups = frame["person"].to_numpy()
            words |= {"cov_type": "cluster", "cov_kwds": {"groups": groups}}
        if words.pop("weighted", False):
            weight = frame["weight"].to_numpy()
            return lambda: sm.WLS(y, x, weights=weight).fit(**words).summary()
        return lambda: sm.OLS(y, x).fit(**words).summary()

    return made


def narrow(frame: pl.DataFrame) -> Run:
    """Statsmodels on a single variable, where checks weigh most."""
    x = np.column_stack([np.ones(frame.height), frame["x0"].to_numpy()])
    y = frame["y"].to_numpy()
    return lambda: sm.OLS(y, x).fit(cov_type="HC1").summary()


def binary(model: Any) -> Plain:
    """Statsmodels on an outcome of two values."""

    def made(frame: pl.DataFrame) -> Run:
        x, two = arrays(frame)[0], frame["two"].to_numpy()
        return lambda: fitted(model(two, x))

    return made


def checked(terms: str = FACTORS, command: Any = regress, y: str = "y", **options: Any) -> Plain:
    """The safe command."""
    return lambda frame: lambda: command(frame, y, terms, **options)


JOBS: dict[str, tuple[Plain, Plain]] = {
    "regress": (linear(), checked(WORDS)),
    "regress, factor variables": (linear(), checked()),
    "regress, robust": (linear(cov_type="HC1"), checked(robust=True)),
    "regress, clustered": (linear(clustered=True), checked(cluster="person")),
    "regress, robust, one variable": (narrow, checked("x0", robust=True)),
    "regress, three rows of each person": (linear(), checked(entity="person")),
    "regress, analytic weights": (
        linear(weighted=True),
        checked(weights="weight", weight_kind="aweight"),
    ),
    "regress, sampling weights": (
        linear(weighted=True, cov_type="HC1"),
        checked(weights="weight", weight_kind="pweight"),
    ),
    "logit": (binary(sm.Logit), checked(WORDS, logit, "two")),
    "probit": (binary(sm.Probit), checked(WORDS, probit, "two")),
}


def task(name: str, side: int) -> Callable[[Path, int], Run]:
    """One side of a job."""
    return lambda folder, rows: JOBS[name][side](records(rows))


TASKS = {
    f"{tool} {name}": task(name, side)
    for name in JOBS
    for side, tool in enumerate(("statsmodels", "discreet"))
}
