"""Rounding at size: tables of counts with all margins, and small counts of 5,244 inner cells.

Counts are negative binomial with mean 8, a tenth of them zeros. Controlled rounding is to base 5:
two variables to the optimum, three by search slice by slice, 10^6 cells from inner cells.
"Mostly small" are Poisson with mean 1: the nearest multiple of nearly all of them is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.arrays import CellIndex
from discreet.protection.rounding import Rounding, audit_rounding, round_linked


@dataclass(frozen=True)
class Figures:
    """What a task has to tell."""

    numbers: dict[str, Any]

    def told(self) -> dict[str, Any]:
        """The same, for the list."""
        return self.numbers


@cache
def table(*shape: int, small: bool = False) -> dc.Table:
    """A table of so many codes per variable, with all margins."""
    draw = np.random.default_rng(1)
    whole: Any = draw.poisson(1, shape) if small else draw.negative_binomial(1, 1 / 9, shape)
    for axis in range(len(shape)):
        whole = np.concatenate([whole.sum(axis=axis, keepdims=True), whole], axis=axis)
    places = np.indices(whole.shape).reshape(len(shape), -1)
    columns: dict[str, Any] = {}
    for axis, size in enumerate(shape):
        codes = pl.Series(["Total", *map(str, range(1, size + 1))])
        columns[f"v{axis}"] = codes.gather(places[axis])
    frame = pl.DataFrame({**columns, "n": whole.ravel()}).filter(pl.col("n") > 0)
    return dc.Table.from_cells(frame, by=list(columns), count="n")


def rounds(
    method: Any, *shape: int, small: bool = False
) -> Callable[[Path, int], Callable[[], Any]]:
    """Round a table; tells the mean and the largest difference, of all and of one-way margins."""

    def prepared(folder: Path, size: int) -> Callable[[], Any]:
        del folder
        # Smoke runs ask for small tables.
        one = table(*(min(each, size) for each in shape), small=small)
        how = Rounding(base=5, method=method)

        def run() -> Figures:
            (safe,) = round_linked([one], how)
            value = np.zeros(len(one), dtype=np.int64)
            at = CellIndex.of(one.dimensions).find(safe.index, one.index, (safe.stored, len(one)))
            value[at >= 0] = safe.value[at[at >= 0]]
            missed = np.abs(value - one.count)
            margins = missed[sum(part > 0 for part in one.index) == 1]
            return Figures(
                {
                    "cells": len(one),
                    "mean": round(float(missed.mean()), 3),
                    "largest": int(missed.max()),
                    "margins mean": round(float(margins.mean()), 3),
                    "margins largest": int(margins.max()),
                }
            )

        return run

    return prepared


def audits(*shape: int) -> Callable[[Path, int], Callable[[], Any]]:
    """Audit a table of conventionally rounded counts."""

    def prepared(folder: Path, size: int) -> Callable[[], Any]:
        del folder
        one, how = (
            table(*(min(each, size) for each in shape)),
            Rounding(base=5, method="conventional"),
        )
        safe = round_linked([one], how)

        def run() -> Figures:
            found = audit_rounding(safe, [one], how)
            return Figures({"cells": len(one), "open": len(found.unprotected)})

        return run

    return prepared


TASKS: dict[str, Callable[[Path, int], Callable[[], Any]]] = {
    "controlled, 100 x 100": rounds("controlled", 100, 100),
    "controlled, 20 x 20 x 25": rounds("controlled", 20, 20, 25),
    "controlled, 100 x 100 x 100": rounds("controlled", 100, 100, 100),
    "controlled, 100 x 100 x 100, mostly small": rounds("controlled", 100, 100, 100, small=True),
    "small counts, 100 x 100 x 100, mostly small": rounds(
        "small-counts", 100, 100, 100, small=True
    ),
    "small counts, 19 x 12 x 23": rounds("small-counts", 19, 12, 23),
    "audit, 100 x 100": audits(100, 100),
}
