"""Elimination modulo a prime, and what no certificate is given for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.disclosure import Relations, elimination
from discreet.disclosure.elimination import elimination_of, independent_relations
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.system import CellState, unknowns_of
from discreet.protection.suppression.proof.audit import audit_problem
from discreet.protection.suppression.proof.certificate import certified
from tests.helpers.small_systems import drawn_system
from tests.helpers.squares import square


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
    monkeypatch.setattr(elimination, "_NUMBERS", 1)
    monkeypatch.setattr(elimination, "_MORE", 20 - relations.cells)
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
        with pytest.raises(SuppressionError, match="suppresses published cells, or shows cells"):
            certified(case, pattern, "by hand")


def test_cells_are_safe_only_if_they_are_not_shown_and_cannot_be_computed() -> None:
    problem = square()
    assert audit_problem(problem, np.isin(np.arange(9), [4, 5, 7, 8])).safe
    for hidden in ([5, 7, 8], [4]):
        assert not audit_problem(problem, np.isin(np.arange(9), hidden)).safe
