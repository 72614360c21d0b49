"""What unsuitable record keys give away: subtract the commonest noise of large counts.

The attacker knows the true counts of some cells (his own institution, an old census) and so the
commonest noise; he subtracts it everywhere. With proper keys he is right as often as that noise is
drawn. Numbers in docs/methods/attacks.md.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import RecordKeyError
from tests.helpers.rows import for_all_rows

COUNT = 60_000
RNG = np.random.default_rng(2022)
PTABLE = dc.design_perturbation(max_noise=5, variance=3)
AREAS = RNG.integers(0, 400, COUNT)
AGES = RNG.integers(0, 5, COUNT)
LARGE = 8

KEYS = {
    "proper": RNG.integers(0, 10**15, COUNT),
    "person id": np.arange(COUNT) + 1,
    "income": RNG.lognormal(10, 0.6, COUNT).astype(np.int64),
    "keys of the grid 2^32": RNG.integers(0, 2**32, COUNT),
    "keys of 12 digits": RNG.integers(0, 10**12, COUNT),
    "one constant": np.full(COUNT, 2_000_000_000_003),
}


def recovered(name: str) -> float:
    """The share of large counts that follow from the commonest noise."""
    people = pl.DataFrame({"area": AREAS, "age": AGES, "key": KEYS[name]})
    table = dc.tabulate(people, ["area", "age"], record_key="key", allow_unsuitable_keys=True)
    safe = dc.perturb(table, PTABLE)
    both = table.to_polars().join(safe.to_polars(), on=["area", "age"])
    large = both.filter(pl.col("count") >= LARGE)
    noise = Counter((large["value"] - large["count"]).to_list())
    return max(noise.values()) / large.height


@for_all_rows(
    ("name", "least", "most"),
    [
        ("proper", 0.15, 0.30),
        ("person id", 0.99, 1.0),
        ("income", 0.99, 1.0),
        ("keys of the grid 2^32", 0.98, 1.0),
        ("keys of 12 digits", 0.45, 1.0),
        ("one constant", 0.45, 1.0),
    ],
)
def test_what_follows_from_the_commonest_noise(name: str, least: float, most: float):
    share = recovered(name)
    assert least <= share <= most, share


@for_all_rows("name", [name for name in KEYS if name != "proper"])
def test_such_keys_are_refused(name: str):
    people = pl.DataFrame({"area": AREAS, "key": KEYS[name]})
    with pytest.raises(RecordKeyError, match="does not contain record keys"):
        dc.tabulate(people, ["area"], record_key="key")
