"""Sparse tables at size: what is proven, named and hidden when time is up."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.disclosure import Relations, leaves_of
from discreet.errors import SuppressionError
from discreet.protection.suppression.methods import worktime
from discreet.protection.suppression.methods.fast import (
    draft_at_time_limit,
    exchanged_draft,
    protect_fast,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import certificate_from_proofs, certify
from tests.helpers.small_systems import attack, problem_of, reader_of


def sparse(records: int, sizes=(40, 6, 2, 8), seed: int = 1, minimum: int = 3):
    """A table of skewed records, each worth ten; cells of few records are sensitive."""
    draw = np.random.default_rng(seed)
    columns = {}
    for at, size in enumerate(sizes):
        share = 1.0 / np.arange(1, size + 1) ** 0.6
        columns[f"v{at}"] = draw.choice(size, records, p=share / share.sum())
    worth = pl.DataFrame(columns).with_columns(worth=pl.lit(10))
    table = dc.tabulate(worth, by=list(columns), values=["worth"])
    few = (table.count > 0) & (table.count < minimum)
    problem, _ = build_problem((table, few), value="worth")
    return problem


@pytest.fixture(scope="module")
def large() -> SuppressionProblem:
    return sparse(900, sizes=(60, 6, 2, 8))


@pytest.fixture(scope="module")
def pattern(large):
    return protect_fast(large)


def test_leaves_stand_under_the_cells_that_they_add_up_to():
    problem = sparse(60, sizes=(5, 3, 2))
    leaves = leaves_of(problem.relations, problem.state != CellState.fixed)
    assert leaves is not None
    value = problem.value[leaves.cells]
    for cell in range(len(problem)):
        own = leaves.leaf[leaves.first[cell] : leaves.first[cell + 1]]
        assert value[own].sum() == problem.value[cell]
        assert all(
            cell in leaves.above[leaves.begin[at] : leaves.begin[at + 1]] for at in own.tolist()
        )


def test_totals_that_are_different_sums_of_leaves_are_no_leaf_system():
    sums = [[(0, -1), (1, 1), (2, 1)], [(0, -1), (3, 1), (4, 1)]]
    assert leaves_of(Relations.of(5, sums), np.ones(5, dtype=np.bool_)) is None


def test_totals_in_a_circle_are_no_leaf_system():
    sums = [[(0, -1), (1, 1)], [(1, -1), (0, 1)], [(2, -1), (0, 1), (1, 1)]]
    assert leaves_of(Relations.of(3, sums), np.ones(3, dtype=np.bool_)) is None


@pytest.mark.exhaustive
def test_a_sparse_table_is_protected_and_its_large_cells_are_published(large, pattern):
    assert len(large.primary) >= 500
    assert pattern.safe
    assert pattern.complete
    free = large.state == CellState.free
    shown = large.cost[free & ~pattern.hidden].sum()
    assert shown > 0.5 * large.cost[free].sum()
    reader = reader_of(large, pattern.hidden)
    for cell in large.primary[:: len(large.primary) // 6]:
        low, high = attack(reader, int(cell))
        assert high - low >= 1 - 1e-5


@pytest.mark.parametrize("limit", [1, 9])
def test_a_time_limit_gives_a_proven_pattern_of_a_large_table(large, limit, monkeypatch):
    clock = itertools.count()  # a millisecond passes whenever somebody looks at it
    monkeypatch.setattr(worktime.time, "monotonic", lambda: next(clock) / 1000)
    pattern = protect_fast(large, WorkTime(limit / 1000))
    assert pattern.safe
    assert not pattern.complete
    assert "time limit" in pattern.notes[0]


@pytest.mark.parametrize("leafy", [True, False])
def test_work_that_is_cut_short_hides_more_but_is_proven(leafy):
    if leafy:
        problem = sparse(300)
    else:
        rows = [[(0, -1), *((at, 1) for at in range(1, 7))]]
        rows.append([(0, -1), *((at, 1) for at in range(7, 12))])
        value = np.array([60, *[10] * 6, *[12] * 5])
        problem = problem_of(value, rows, state=np.isin(np.arange(12), [1, 8]), cost=value)
        assert leaves_of(problem.relations, problem.state != CellState.fixed) is None
    hiding = draft_at_time_limit(problem, WorkTime(), 0)
    assert not len(hiding.open)
    assert not len(certificate_from_proofs(hiding).unprotected)
    assert not len(certify(problem, hiding.mask()).unprotected)
    assert protect_fast(problem, WorkTime(1e-9)).safe


def test_values_are_left_to_single_flows(large):
    assert exchanged_draft(large, WorkTime()) is None


def test_a_cell_that_cannot_be_hidden_in_a_large_table_is_named(large):
    state = large.state.copy()
    cell = int(large.primary[0])
    links = large.relations
    rows = np.unique(links.row[links.cell == cell])
    around = np.unique(links.cell[np.isin(links.row, rows)])
    state[around[around != cell]] = CellState.fixed
    with pytest.raises(SuppressionError, match=f"{large.name(cell)}: ") as caught:
        protect_fast(replace(large, state=state))
    assert caught.value.code == "infeasible"
