"""Loops as they stand and compiled give the same bits; small tables load no compiled code."""

import subprocess
import sys
from collections import Counter
from copy import deepcopy
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import kernels
from discreet.protection.suppression import build_problem, find_pattern

#: What a user does, in a process of its own.
SMALL = """
import sys
import numpy as np
import polars as pl
import discreet as dc
draw = np.random.default_rng(1)
frame = pl.DataFrame({"a": draw.integers(0, 8, 500), "b": draw.integers(0, 9, 500)})
table = dc.tabulate(frame, ["a", "b"])
safe = dc.suppress(table, table.count < 3)
assert (safe.to_polars()["status"] == "suppressed").sum() > 2
assert "numba" not in sys.modules
"""


def same(one: Any, other: Any) -> bool:
    """The same numbers of the same types, in tuples too."""
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)
    return bool(one == other)


def both_ways(monkeypatch, sizes, records, method):
    """Solve a table with each loop run both ways and compared; gives the names of the loops."""
    seen: Counter[str] = Counter()

    def both(self, *given):
        if kernels._spent.inside:
            return self.plain(*given)
        twice = deepcopy(given)
        kernels._spent.inside = True
        try:
            found = self.plain(*given)
        finally:
            kernels._spent.inside = False
        again = self.fast(*twice)
        seen[self.__name__] += 1
        assert same(found, again), self.__name__
        assert same(given, twice), self.__name__
        return found

    draw = np.random.default_rng(5)
    names = "abcd"[: len(sizes)]
    frame = pl.DataFrame(
        {name: draw.integers(0, size, records) for name, size in zip(names, sizes, strict=True)}
    )
    table = dc.tabulate(frame.with_columns(worth=pl.lit(10)), list(names), values=["worth"])
    few = (table.count > 0) & (table.count < 3)
    problem, _ = build_problem((table, few), value="worth")
    usual = find_pattern(problem, method).digest()
    monkeypatch.setattr(kernels._LazyKernel, "__call__", both)
    assert find_pattern(problem, method).digest() == usual
    return set(seen)


@pytest.mark.parametrize("method", ["fast", "modular"])
def test_both_ways_give_the_same_bits(method, monkeypatch):
    seen = both_ways(monkeypatch, (6, 5), 90, method)
    assert {"cells_near", "_tighten", "_taken_off"} <= seen


def test_a_small_table_is_protected_without_loading_compiled_code():
    subprocess.run([sys.executable, "-c", SMALL], check=True)


def test_much_to_do_goes_to_compiled_code(monkeypatch):
    monkeypatch.setattr(kernels, "_PATIENCE", 1e9)
    total = kernels._LazyKernel(_sum_of_squares)
    assert total(np.arange(4)) == 14
    assert "fast" not in vars(total)
    assert total(np.arange(kernels._LARGE + 1)) > 0
    assert "fast" in vars(total)


def _sum_of_squares(numbers: Any) -> Any:
    total = 0
    for number in numbers:
        total += number * number
    return total
