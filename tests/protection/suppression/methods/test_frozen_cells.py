"""Published cells that leave sensitive ones no room: the fewest are named, and what can be kept."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression import Suppression
from discreet.protection.suppression.methods.registry import find_pattern
from discreet.protection.suppression.problem.system import CellState, Earlier, SuppressionProblem
from discreet.protection.suppression.proof.certificate import certify
from tests.helpers.small_systems import problem_of, sums_of_table, table_of


def frozen_table(draw: np.random.Generator) -> SuppressionProblem:
    """Three by three inner cells with totals, most of them published before."""
    value = table_of(draw.integers(1, 60, (3, 3))).ravel()
    state = np.where(draw.random(16) < 0.75, CellState.fixed, CellState.free).astype(np.int8)
    state[5] = CellState.primary
    level = np.where(np.arange(16) == 5, np.maximum(value // 2, 1), 0)
    sums = sums_of_table((4, 4))
    return problem_of(value, sums, state=state, cost=value, lower=level, upper=level)


def fewest(problem: SuppressionProblem) -> int:
    """How many published cells have to be hidden: every set is tried."""
    frozen = np.flatnonzero(problem.state == CellState.fixed)
    for size in range(len(frozen) + 1):
        for chosen in combinations(frozen, size):
            hidden = problem.state != CellState.fixed
            hidden[list(chosen)] = True
            if certify(problem, hidden).protected.all():
                return size
    return -1


def test_the_fewest_published_cells_are_named() -> None:
    draw = np.random.default_rng(3)
    refused = 0
    while refused < 6:
        problem = frozen_table(draw)
        least = fewest(problem)
        if least <= 0:
            continue
        refused += 1
        with pytest.raises(SuppressionError) as caught:
            find_pattern(problem, "fast")
        assert caught.value.code == "infeasible"
        (told,) = caught.value.problems
        names = told.what.split("suppress at least: ")[1].split("; ")
        assert len(names) == least
        state = problem.state.copy()
        state[[int(name.removeprefix("cell ")) for name in names]] = CellState.free
        assert find_pattern(replace(problem, state=state), "fast").safe, "these are enough"


def test_the_share_of_levels_that_can_be_kept_is_told() -> None:
    draw = np.random.default_rng(8)
    kept = []
    for _ in range(25):
        problem = frozen_table(draw)
        try:
            find_pattern(problem, "fast")
        except SuppressionError as caught:
            hint = caught.problems[0].hint
            share = 0 if "no part" in hint else int(hint.split(" %")[0].split()[-1])
            lower = np.floor(problem.lower * share / 100).astype(np.int64)
            less = replace(problem, lower=lower, upper=lower)
            if lower.any():
                assert find_pattern(less, "fast").safe
                kept.append(share)
            more = np.ceil(problem.lower * (share + 1) / 100).astype(np.int64)
            with pytest.raises(SuppressionError):
                find_pattern(replace(problem, lower=more, upper=more), "fast")
    assert kept


def test_what_was_published_before_is_named() -> None:
    frame = pl.DataFrame({"region": ["Total", "A", "B", "C", "D"], "n": [160, 10, 2, 68, 80]})
    table = dc.Table.from_cells(frame, by=["region"], count="n")
    region = table.to_polars()["region"]

    class Found:
        value = None
        sensitive = region.is_in(["A"]).to_numpy()
        lower = upper = np.where(sensitive, 8.0, 0.0)
        sliding = np.zeros(5)

    before = Earlier(table=table, hidden=region.is_in(["A", "B"]).to_numpy())
    with pytest.raises(SuppressionError) as caught:
        Suppression.of((table, Found()), earlier=[before])
    assert caught.value.code == "infeasible"
    text = str(caught.value)
    assert "region=A: cells that must be published leave no safe pattern" in text
    assert "suppress at least: " in text
    assert "25 % of its protection levels can be kept" in text  # B may be 0: zeros may be hidden
