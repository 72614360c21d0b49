"""Two perturbation tables side by side."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from discreet import PerturbationTable
from discreet.assessment import compare
from discreet.errors import PerturbationError
from discreet.protection.noise.design.discretisation import discretised
from discreet.protection.noise.design.permutation import permuted


def read(reference: Path, case: str, kind: str = "ptable.csv") -> PerturbationTable:
    return PerturbationTable.read(reference / "ptable" / f"{case}_{kind}")


@pytest.mark.parametrize("case", ["c01", "c08", "c31"])
def test_the_two_formats_of_the_reference_hold_the_same_noise(reference: Path, case: str) -> None:
    """Bounds on other sides: not one key of the 10^15 grid differs but those at the bounds."""
    comparison = compare(read(reference, case), read(reference, case, "tauargus.txt"))
    bounds = int(np.diff(read(reference, case).content.starts).max())
    assert comparison.largest <= 2e-15
    assert min(comparison.rows["same_keys"].to_list()) >= 1 - bounds * 1e-15
    assert compare(read(reference, case), read(reference, case)).same_noise


def test_differences_by_hand() -> None:
    first = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: "0.25", 0: "0.5", 1: "0.25"}})
    second = PerturbationTable.from_rows(
        {0: {0: 1}, 1: {-1: "0.25", 0: "0.5", 1: "0.25"}, 2: {-1: "0.5", 1: "0.25", 2: "0.25"}}
    )
    comparison = compare(first, second)
    assert comparison.rows.to_dicts()[2] == {
        "i": 2, "largest": 0.5, "distance": 0.5, "mean": 0.25, "variance": 1.1875,
        "same_keys": 0.25,
    }  # fmt: skip
    assert comparison.rows["largest"].to_list() == [0, 0, 0.5]
    assert (comparison.largest, comparison.n_max) == (0.5, (1, 2))
    assert not comparison.same_distribution
    assert compare(second, first).rows["variance"].to_list() == [0, 0, -1.1875]


def test_counting_keys_one_by_one_gives_the_same(reference: Path) -> None:
    first, _ = discretised(read(reference, "c01"), 256, fill=False)
    second, _ = discretised(read(reference, "c08"), 256, fill=False)
    rows = compare(first, second).rows
    every = np.arange(256)
    for count in range(9):
        noise = [table.lookup(np.full(256, count), every, grid=256) for table in (first, second)]
        assert rows["same_keys"][count] == (noise[0] == noise[1]).mean()


def test_permuting_is_told_from_designing(reference: Path) -> None:
    table = read(reference, "c08")
    comparison = compare(table, permuted(table, 1, 0.1))
    assert (comparison.same_distribution, comparison.same_noise) == (True, False)
    assert comparison.text().startswith("The probabilities are equal; the intervals lie elsewhere")
    assert "liegen anders" in comparison.text("de")
    assert compare(table, table).text() == "The tables are the same: every key gets the same noise."


def test_a_decimal_table_is_compared_with_one_on_few_keys(reference: Path) -> None:
    table = read(reference, "c08")
    on_keys, error = discretised(table, 256, fill=False)
    comparison = compare(table, on_keys)
    assert comparison.largest == pytest.approx(error.largest, rel=1e-12)
    assert comparison.grids == (None, 256)
    assert comparison.text().endswith("Key grids: any and 256.")
    assert comparison.text("de").endswith("Schlüsselraster: beliebig und 256.")
    assert "up to " in comparison.text()


def test_tables_that_repeat_a_block_are_compared_row_by_row() -> None:
    noise, other = {-1: "0.5", 1: "0.5"}, {-1: "0.25", 0: "0.5", 1: "0.25"}
    block = PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: other}, beyond=(1, 2))
    long = PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: other, 3: noise, 4: other})
    assert compare(block, long).same_noise
    assert not compare(
        PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: other}), long
    ).same_noise


def test_comparisons_say_nothing_by_themselves(reference: Path) -> None:
    table = read(reference, "c01")
    comparison = compare(table, table)
    assert repr(comparison) == "<Comparison: secret>"
    assert json.loads(json.dumps(comparison.described()))["same_noise"] is True
    with pytest.raises(PerturbationError, match="en or de"):
        comparison.text("fr")
