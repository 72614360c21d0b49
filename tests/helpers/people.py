"""Persons with places, ages, keys and rents, and a call that asks for all of it."""

import numpy as np
import polars as pl

from discreet.classifications import Classification

REGION = Classification(
    name="region",
    column="place",
    codes=("Total", "A", "A1", "A2", "B", "B1", "C"),
    parents=(-1, 0, 1, 1, 0, 4, 0),
)
INF = float("inf")
TENS = Classification(
    name="age", codes=("Total", "0-9", "10+"), parents=(-1, 0, 0), bounds=(0, 10, INF)
)
LEGAL = TENS.replace(name="legal", column="age", codes=("Total", "U18", "O18"), bounds=(0, 18, INF))


def people(count=5_000, seed=1):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "place": rng.choice(["A1", "A2", "B1", "C"], count),
            "sex": [("m", "w", None)[k] for k in rng.integers(0, 3, count)],
            "age": rng.integers(0, 100, count),
            "key": rng.integers(0, 10**15, count),
            "weight": rng.random(count) * 50,
            "rent": rng.lognormal(6, 1, count),
        }
    )


EVERYTHING = {
    "by": [REGION, "sex", [TENS, LEGAL]],
    "record_key": "key",
    "weight": "weight",
    "values": ["rent"],
    "where": "age < 90 or sex == 'm'",
}
