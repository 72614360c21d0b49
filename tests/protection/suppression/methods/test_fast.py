"""The methods `fast` and `auto`: safe by an attacker written apart, deterministic, honest."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.branch_and_cut import protect_auto
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.methods.local_search import (
    prune,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import CellState
from discreet.protection.suppression.proof.certificate import certificate_from_proofs, certify
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import cover_tasks
from tests.helpers.small_systems import problem_of, sums_of_table, table_of

METHODS = [protect_fast, protect_auto]


def table(inner, sensitive, fixed=()):
    """A table with its totals in front; sensitive cells need 2 to each side."""
    value = table_of(np.asarray(inner))
    state, level = np.zeros_like(value), np.zeros_like(value)
    for at in sensitive:
        state[at], level[at] = CellState.primary, 2
    for at in fixed:
        state[at] = CellState.fixed
    columns = {"state": state, "lower": level, "upper": level, "cost": value + 1}
    flat = {name: column.ravel() for name, column in columns.items()}
    return problem_of(
        value.ravel(), sums_of_table(value.shape), high=3 * value.max() + 0 * flat["cost"], **flat
    )


@pytest.mark.parametrize("method", METHODS)
def test_an_impossible_cell_is_named_with_the_reason(method):
    problem = table([[5, 9], [7, 8]], [(1, 1)], fixed=[(1, 0), (1, 2)])
    with pytest.raises(SuppressionError, match=r"cell 4: .* must be published") as caught:
        method(problem)
    assert caught.value.code == "infeasible"


def test_bounds_that_are_too_tight_are_given_as_the_reason():
    problem = table([[5, 9], [7, 8]], [(1, 1)])
    problem.high[4] = 6
    with pytest.raises(SuppressionError, match="narrower than its safety interval"):
        protect_fast(problem)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_pattern(method):
    draw = np.random.default_rng(4)
    inner = draw.integers(3, 60, (6, 7))
    problem = table(inner, [(1, 1), (3, 4), (5, 5), (6, 2)])
    assert method(problem, seed=3).digest() == method(problem, seed=3).digest()


def test_a_time_limit_returns_a_safe_pattern_labelled_as_unfinished():
    draw = np.random.default_rng(4)
    problem = table(draw.integers(3, 60, (8, 8)), [(1, 1), (3, 4), (5, 5), (6, 2)])
    pattern = protect_auto(problem, WorkTime(0.0))
    assert pattern.safe
    assert not pattern.complete
    assert "time limit" in pattern.notes[0]


def test_progress_is_told():
    lines: list[str] = []
    protect_fast(table([[5, 9], [7, 8]], [(1, 1)]), WorkTime(progress=lines.append))
    assert lines[0] == "check"
    assert lines[-1] == "audit"


def never() -> bool:
    return False


def covered():
    draw = np.random.default_rng(7)
    problem = table(draw.integers(3, 90, (7, 9)), [(1, 1), (2, 3), (4, 4), (7, 9), (6, 2)])
    hiding = DraftPattern(problem)
    assert cover_tasks(hiding, hiding.open, never) == []
    return hiding


def test_covering_leaves_no_task_open_and_its_proofs_hold():
    hiding = covered()
    assert not len(hiding.open)
    assert not len(certificate_from_proofs(hiding).unprotected)
    assert not len(certify(hiding.problem, hiding.mask()).unprotected)


def test_pruning_never_costs_more_and_stays_proven():
    hiding = covered()
    extra = np.flatnonzero(~hiding.hidden)[:5]
    hiding.hidden[extra] = True
    before = hiding.spent
    prune(hiding, never)
    assert hiding.spent < before
    assert not len(certify(hiding.problem, hiding.mask()).unprotected)
    assert not len(certificate_from_proofs(hiding).unprotected)
