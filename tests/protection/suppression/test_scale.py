"""Suppression from above: waves keep what is published, prove nothing that is not so."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression.methods import worktime
from discreet.protection.suppression.methods.fast import (
    draft_at_time_limit,
    protect_fast,
    stepwise_draft,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.problem.unknowns import unknowns_of
from discreet.protection.suppression.proof import certificate, projection_bounds
from discreet.protection.suppression.proof.certificate import (
    Pattern,
    certificate_from_proofs,
    certify,
)
from discreet.protection.suppression.proof.leaves import leaves_of
from discreet.protection.suppression.proof.projection_bounds import (
    ProjectionEffort,
    bounds_by_projection,
    leaf_sums,
    projected,
)
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
    return sparse(1_500, sizes=(90, 6, 2, 12))


@pytest.fixture(scope="module")
def solved() -> tuple[SuppressionProblem, Pattern]:
    """A problem of middle size, with a pattern."""
    problem = sparse(500, sizes=(30, 6, 2, 12))
    return problem, protect_fast(problem)


@pytest.fixture(scope="module")
def pattern(large):
    return protect_fast(large)


def test_moves_of_leaves_fit_all_relations():
    problem = sparse(300)
    leaves = leaves_of(problem)
    assert leaves is not None
    moved = leaves.moves(np.random.default_rng(1).normal(size=len(leaves)))
    links = problem.relations
    miss = np.bincount(links.row, links.coef * moved[links.cell], len(links))
    assert np.abs(miss).max() < 1e-9
    assert np.abs(moved).max() > 1


def test_totals_that_are_different_sums_of_leaves_are_no_leaf_system():
    sums = [[(0, -1), (1, 1), (2, 1)], [(0, -1), (3, 1), (4, 1)]]
    assert leaves_of(problem_of(np.array([7, 3, 4, 2, 5]), sums)) is None


def test_totals_in_a_circle_are_no_leaf_system():
    sums = [[(0, -1), (1, 1)], [(1, -1), (0, 1)], [(2, -1), (0, 1), (1, 1)]]
    assert leaves_of(problem_of(np.array([1, 1, 2]), sums)) is None


def test_sums_say_exactly_what_published_cells_say():
    problem = sparse(60, sizes=(5, 3, 2))
    leaves = leaves_of(problem)
    assert leaves is not None
    known = np.random.default_rng(2).random(len(problem)) < 0.4
    sums = leaf_sums(leaves, known, ProjectionEffort())
    short = np.zeros((len(sums), len(leaves)))
    for row in range(len(sums)):
        short[row, sums.at[sums.start[row] : sums.start[row + 1]]] += 1
    cells = np.flatnonzero(known)
    full = np.array([leaves.moves(unit)[cells] for unit in np.eye(len(leaves))]).T
    rank = np.linalg.matrix_rank
    assert rank(short) == rank(full) == rank(np.vstack([short, full]))
    assert short.sum() < full.sum()


def test_projection_is_the_nearest_deviation_on_any_number_of_threads(monkeypatch):
    problem = sparse(200)
    leaves = leaves_of(problem)
    assert leaves is not None
    known = (problem.state == CellState.free) & (problem.value > 12)
    sums = leaf_sums(leaves, known, ProjectionEffort())
    given = np.random.default_rng(3).normal(size=(len(leaves), 8))
    free = np.ones(given.shape, dtype=np.bool_)
    found, miss, _ = projected(sums, given, free, 2_000, 1e-11)
    matrix = np.zeros((len(sums), len(leaves)))
    for row in range(len(sums)):
        matrix[row, sums.at[sums.start[row] : sums.start[row + 1]]] += 1
    nearest = given - np.linalg.pinv(matrix) @ (matrix @ given)
    assert miss.max() < 1e-9
    np.testing.assert_allclose(found, nearest, atol=1e-8)
    monkeypatch.setattr(projection_bounds, "_THREADS", 1)
    again, _, _ = projected(sums, given, free, 2_000, 1e-11)
    assert np.array_equal(found, again)


@pytest.mark.exhaustive
def test_a_sparse_table_is_protected_and_its_large_cells_are_published(large, pattern):
    assert len(large.primary) >= 1_000
    assert pattern.safe
    assert pattern.complete
    free = large.state == CellState.free
    shown = large.cost[free & ~pattern.hidden].sum()
    assert shown > 0.5 * large.cost[free].sum()
    reader = reader_of(large, pattern.hidden)
    for cell in large.primary[:: len(large.primary) // 6]:
        low, high = attack(reader, int(cell))
        assert high - low >= 1 - 1e-5


@pytest.mark.exhaustive
def test_the_pattern_is_the_same_on_any_number_of_threads(large, pattern, monkeypatch):
    monkeypatch.setattr(projection_bounds, "_THREADS", 1)
    assert pattern.digest() == protect_fast(large).digest()


def test_waves_and_linear_programs_agree(solved, monkeypatch):
    large, pattern = solved
    shown = np.flatnonzero(pattern.hidden & (large.state == CellState.free))[::7]
    spoilt = pattern.hidden.copy()
    spoilt[shown] = False
    unknowns = unknowns_of(large, spoilt)
    sweep = bounds_by_projection(large, spoilt, unknowns)
    assert sweep is not None
    by_waves = unknowns.sensitive & unknowns.protected(*sweep[:2])
    monkeypatch.setattr(certificate, "_SWEPT", len(large))
    exact = certify(large, spoilt)
    open_cells = set(exact.unprotected.tolist())
    proven = unknowns.cells[by_waves].tolist()
    assert open_cells
    assert not open_cells & set(proven)
    assert len(proven) > 0.8 * (len(large.primary) - len(open_cells))


def test_a_certificate_with_waves_leaves_no_doubt_about_a_safe_pattern(solved, monkeypatch):
    large, pattern = solved
    monkeypatch.setattr(certificate, "_SWEPT", 0)
    assert not len(certify(large, pattern.hidden).unprotected)


@pytest.mark.parametrize("limit", [1, 5, 9])
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
        assert leaves_of(problem) is None
    hiding = draft_at_time_limit(problem, WorkTime(), 0)
    assert not len(hiding.open)
    assert not len(certificate_from_proofs(hiding).unprotected)
    assert not len(certify(problem, hiding.mask()).unprotected)
    assert protect_fast(problem, WorkTime(1e-9)).safe


def test_few_sensitive_cells_are_left_to_single_flows():
    assert stepwise_draft(sparse(300), WorkTime(), 0) is None


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
