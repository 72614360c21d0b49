"""Statistics in one compiled pass are those made step by step, number for number."""

from __future__ import annotations

import random

import numba
import numpy as np
import polars as pl
import pytest

from discreet import (
    Classification,
    PartRules,
    PerturbationTable,
    ProtectedTable,
    Table,
    check_parts,
    perturb,
    suppress_parts,
    tabulate,
)
from discreet.assessment.release_quality import compiled_tallies as swift
from discreet.assessment.release_quality import log as quality
from discreet.assessment.release_quality.pairs import PartGrid
from discreet.errors import DisclosureWarning

assert numba  # loaded, as it is in a programme over many records

REGION = Classification.from_parents(
    "region",
    {"N": None, "N1": "N", "N2": "N", "S": None, "S1": "S", "S11": "S1", "S12": "S1", "E": None},
)
AGES = [
    Classification.from_intervals("fives", bounds=[0, 5, 10, 15, 20], column="age"),
    Classification.from_intervals("legal", bounds=[0, 6, 18], column="age"),
]
NOISE = {0: {0: 0.5, 1: 0.5}, 1: {-1: 0.5, 0: 0.25, 2: 0.25}, 2: {-2: 0.25, 0: 0.25, 1: 0.5}}


def counted(seed: int) -> Table:
    """Some persons by some of the variables."""
    draw, size = np.random.default_rng(seed), 20 + 7 * seed
    persons = pl.DataFrame(
        {
            "region": draw.choice(["N1", "N2", "S11", "S12", "E"], size),
            "age": draw.integers(0, 30, size),
            "sex": draw.choice(["m", "w"], size),
            "work": draw.choice(list("abcdef"), size),
            "key": draw.integers(0, 10**15, size),
        }
    )
    every: list[str | Classification | list[Classification]] = [REGION, AGES, "sex", "work"]
    chosen = random.Random(seed).sample(every, 1 + seed % 4)
    return tabulate(persons, chosen, record_key="key")


def protected(table: Table, seed: int) -> ProtectedTable:
    """With zeros that change, suppressed cells, official ones, and suppressed parts."""
    safe = perturb(
        table,
        PerturbationTable.from_rows(NOISE, zeros=True),
        zeros="table" if seed % 2 else "keep",
        suppress_below=3 if seed % 3 == 0 else None,
        official=np.arange(len(table)) % 7 == 0 if seed % 5 == 0 else None,
    )
    if seed % 4 == 0:
        return safe
    rules = PartRules(max_share_small=(seed % 10) / 10, max_share_empty=(seed % 7) / 7)
    return suppress_parts(safe, check_parts(table, rules))


def assessed(table: Table, safe: ProtectedTable) -> swift.Tallies | None:
    """What one pass finds."""
    grid = PartGrid.of(safe.spanning)
    hidden, unknown = grid.suppressed(safe), grid.unknown(safe)
    return swift.one_pass(table, safe, grid, hidden=hidden, unknown=unknown)


@pytest.mark.parametrize("seed", range(60))
def test_one_pass_finds_the_same_as_many(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = counted(seed)
    safe = protected(table, seed)
    slow = quality.table_quality(table, safe, {}, [], {}).to_dict()
    monkeypatch.setattr(swift, "_WORTH", 1)
    assert assessed(table, safe) is not None
    assert quality.table_quality(table, safe, {}, [], {}).to_dict() == slow


def test_small_tables_do_without_the_compiler() -> None:
    table = counted(3)
    assert assessed(table, protected(table, 4)) is None


def test_large_noise_is_left_to_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swift, "_WORTH", 1)
    table = counted(8)
    wide = PerturbationTable.from_rows({0: {0: 1}, 1: {0: 0.5, 200: 0.5}})
    safe = perturb(table, wide)
    assert assessed(table, safe) is None
    noise = quality.table_quality(table, safe, {}, [], {}).counts.noise
    assert set(noise[:, 2].tolist()) == {0, 200}


def test_weighted_tables_are_left_to_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swift, "_WORTH", 1)
    cells = pl.DataFrame({"sex": ["Total", "m"], "n": [5, 5], "key": [0.1, 0.2], "w": [9.5, 9.5]})
    table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key", weight="w")
    with pytest.warns(DisclosureWarning):
        safe = perturb(table, PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}}), decimals=1)
    assert assessed(table, safe) is None
