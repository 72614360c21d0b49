"""The methods `fast` and `auto`: safe by an attacker written apart, deterministic, honest."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.branch_and_cut import protect_auto
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import CellState
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
