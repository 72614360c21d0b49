"""Methods on records at size: drawn anew, exchanged, left out, averaged, assessed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.errors import DiscreetWarning

SECRET = "an example, no secret"
#: Areas on three levels, and what a household is like.
AREAS = {"state": 16, "district": 25, "municipality": 30}


class Told:
    """What a method changed, told when the clock has stopped."""

    def __init__(self, made: Any) -> None:
        self.changes = made.changes.height

    def told(self) -> dict[str, int]:
        """For the parent process."""
        return {"changes": self.changes}


def persons(number: int) -> pl.DataFrame:
    """Persons, one record each, with a code of eight and an income."""
    draw = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "id": np.arange(number),
            "code": draw.integers(0, 8, number),
            "income": draw.lognormal(7.5, 0.8, number),
        }
    )


def households(number: int) -> pl.DataFrame:
    """Households, one record each, whose size and age in decades make some of them rare."""
    draw = np.random.default_rng(1)
    at, above = np.zeros(number, dtype=np.int32), 1
    columns: dict[str, Any] = {"household": np.arange(number, dtype=np.int64)}
    for name, width in AREAS.items():
        at = at * width + draw.integers(0, width, number, dtype=np.int32)
        columns[name], above = at, above * width
    columns["size"] = np.minimum(draw.geometric(0.45, number), 12).astype(np.int8)
    columns["age"] = draw.integers(2, 10, number, dtype=np.int8)
    return pl.DataFrame(columns)


def pram(folder: Path, rows: int) -> Callable[[], Told]:
    """One variable drawn anew by an invariant matrix."""
    frame = persons(rows)
    matrix = {"code": dc.pretabular.Invariant(stay=0.8)}
    return lambda: Told(dc.pretabular.pram(frame, matrix, id="id", secret=SECRET))


def swap(folder: Path, rows: int) -> Callable[[], Told]:
    """Rare households exchange their areas with others of their size."""
    frame = households(rows)

    def run() -> Told:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            return Told(
                dc.pretabular.swap(
                    frame,
                    household="household",
                    areas=list(AREAS),
                    risk=["size", "age"],
                    similar=["size"],
                    k=2,
                    rate=0.05,
                    secret=SECRET,
                )
            )

    return run


def rank_swap(folder: Path, rows: int) -> Callable[[], Told]:
    """Incomes exchanged with others of near rank."""
    frame = persons(rows)
    asked = {"id": "id", "window": 0.02, "secret": SECRET}
    return lambda: Told(dc.pretabular.rank_swap(frame, "income", **asked))


def keyed(number: int) -> pl.DataFrame:
    """Persons with four codes that others know, and two amounts."""
    draw = np.random.default_rng(1)
    known = {name: draw.integers(0, width, number) for name, width in KEYS.items()}
    amounts = {name: draw.lognormal(7, 1, number) for name in ("pay", "rent")}
    return pl.DataFrame({"id": np.arange(number), **known, **amounts})


def left_out(folder: Path, rows: int) -> Callable[[], Told]:
    """Values of four keys left out until each combination occurs ten times."""
    frame = keyed(rows)
    return lambda: Told(dc.pretabular.local_suppression(frame, list(KEYS), id="id", k=10))


def grouped(method: Any) -> Any:
    """Two amounts replaced by means of groups of five."""

    def set_up(folder: Path, rows: int) -> Callable[[], Told]:
        frame, asked = keyed(rows), {"id": "id", "k": 5, "method": method}
        dc.pretabular.microaggregate(frame.head(100), ["pay", "rent"], **asked)
        return lambda: Told(dc.pretabular.microaggregate(frame, ["pay", "rent"], **asked))

    return set_up


class Assessed:
    """What the risk of records tells."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def told(self) -> dict[str, float]:
        """For the parent process."""
        return {"unique": self.found.rates["unique"]}


def assessed(folder: Path, rows: int) -> Callable[[], Assessed]:
    """Frequencies, risk and special uniques by four keys."""
    frame = keyed(rows)
    return lambda: Assessed(dc.assess_records(frame, keys=list(KEYS), harmless=["id"]))


#: How many codes the keys have.
KEYS = {"region": 20, "job": 30, "school": 12, "family": 9}

TASKS = {
    "pram": pram,
    "swap": swap,
    "rank swap": rank_swap,
    "local suppression": left_out,
    "microaggregation sorted": grouped("sorted"),
    "microaggregation mdav": grouped("mdav"),
    "risk of records": assessed,
}
