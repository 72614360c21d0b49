"""Circuits of hidden cells: exact, complete, and as good as linear programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import CellState, Relations
from discreet.protection.suppression.problem.unknowns import unknowns_of
from discreet.protection.suppression.proof import circuits as circuits_module
from discreet.protection.suppression.proof.audit import audit_problem
from discreet.protection.suppression.proof.certificate import certified, certify
from discreet.protection.suppression.proof.circuits import (
    circuits_of,
    elimination_of,
    independent_relations,
)
from tests.helpers.small_systems import drawn_system, problem_of
from tests.helpers.squares import square


def test_shares_that_no_small_number_makes_whole_are_left_to_linear_programs() -> None:
    rows = [[(0, 1009), (1, -1013)]]
    found = circuits_of(Relations.of(2, rows), np.array([0, 1]))
    assert not found.whole
    assert not len(found)
    # The verdict is the same as with a linear program alone.
    problem = problem_of(np.array([1013, 1009]), rows, state=[1, 1], lower=[7, 7])
    certificate = certify(problem, np.array([True, True]))
    assert certificate.protected.all()
    assert certificate.solved > 0


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_shares_that_are_whole_only_as_remainders_are_no_circuit(order: list[int]) -> None:
    """2 · 2^30 leaves the remainder 1, as 2 · ½ is 1; but the relation does not hold then."""
    half = (circuits_module.PRIME + 1) // 2
    for coef in ((half, -1), (1, -half), (half, 1)):
        relations = Relations.of(2, [list(enumerate(coef))])
        found = circuits_of(relations, np.array(order))
        assert not found.whole
        assert not len(found)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_shares_are_taken_and_larger_ones_are_not(sign: int) -> None:
    largest, most = circuits_module._LARGEST, circuits_module._MULTIPLES
    for share, whole in ((largest, True), (largest + 1, False)):
        found = circuits_of(Relations.of(2, [[(0, sign * share), (1, -1)]]), np.array([1, 0]))
        assert found.whole == whole
        assert found.shares.tolist() == ([1, sign * share] if whole else [])
    for part, whole in ((most, True), (most + 1, False)):
        found = circuits_of(Relations.of(2, [[(0, sign * part), (1, -1)]]), np.array([0, 1]))
        assert found.whole == whole
        assert found.shares.tolist() == ([part, sign] if whole else [])


def test_each_column_begins_where_the_one_before_it_ends() -> None:
    """The first column has nothing taken off, so it begins and ends at 0."""
    sums = Relations.of(3, [[(0, -1), (1, 1), (2, 1)]])
    done = elimination_of(sums, np.array([2, 0, 1]))
    assert done.start.tolist() == [0, 0, 1, 2]


def test_elimination_that_fills_up_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, _ = drawn_system("cube", 3)
    relations = unknowns_of(problem, np.ones(len(problem), dtype=np.bool_)).relations
    order = np.arange(relations.cells)
    full = elimination_of(relations, order)
    assert full.whole
    monkeypatch.setattr(circuits_module, "_NUMBERS", 1)
    monkeypatch.setattr(circuits_module, "_MORE", 20 - relations.cells)
    part = elimination_of(relations, order)
    assert not part.whole
    assert 0 < len(part.rank) < len(full.rank)
    np.testing.assert_array_equal(part.rank, full.rank[: len(part.rank)])
    # Relations that were not looked at are kept.
    assert np.linalg.matrix_rank(independent_relations(relations).dense()) == int(
        (full.rank >= 0).sum()
    )


def test_no_certificate_for_a_pattern_that_shows_secrets_or_hides_what_is_published() -> None:
    problem, hidden = drawn_system("cube", 0)
    hidden |= problem.hidden
    at = int(np.flatnonzero(problem.state == CellState.primary)[0])
    shown = hidden.copy()
    shown[at] = False
    fixed = problem.state.copy()
    fixed[np.flatnonzero(problem.state == CellState.free)[0]] = CellState.fixed
    too_much = np.ones(len(problem), dtype=np.bool_)
    for case, pattern in ((problem, shown), (replace(problem, state=fixed), too_much)):
        with pytest.raises(SuppressionError, match="hides published cells or shows cells"):
            certified(case, pattern, "by hand")


def test_cells_are_safe_only_if_they_are_not_shown_and_cannot_be_computed() -> None:
    problem = square()
    assert audit_problem(problem, np.isin(np.arange(9), [4, 5, 7, 8])).safe
    for hidden in ([5, 7, 8], [4]):
        assert not audit_problem(problem, np.isin(np.arange(9), hidden)).safe
