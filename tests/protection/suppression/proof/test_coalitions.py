"""Two lone contributors who put together what they know, whether or not they share a relation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from discreet.disclosure import Insiders, Relations, opened_by_pairs
from discreet.protection.suppression.problem.system import CellState
from discreet.protection.suppression.proof import contributors
from discreet.protection.suppression.proof.contributors import audit_respondents
from tests.helpers.small_systems import (
    problem_of,
    reader_of,
    sums_of_table,
    table_of,
)


def drawn(seed: int) -> tuple[Relations, np.ndarray, np.ndarray]:
    """A table of two or three variables, hidden cells, and owners of one cell or of several."""
    draw = np.random.default_rng([39, seed])
    shape = [(5, 4), (4, 4), (3, 3, 3), (4, 3, 2)][seed % 4]
    rows = sums_of_table(shape)
    size = int(np.prod(shape))
    hidden = draw.random(size) < draw.choice([0.5, 0.7])
    owner = np.full(size, -1)
    cells = draw.permutation(np.flatnonzero(hidden))[: draw.integers(2, 9)]
    owner[cells] = draw.integers(0, 6, len(cells)) if seed % 3 else np.arange(len(cells))
    return Relations.of(size, rows), hidden, owner


def follows(moves: np.ndarray, known: list[int], cell: int) -> bool:
    """Whether a cell cannot move once some cells do not, by ranks."""
    without = np.linalg.matrix_rank(moves[known], tol=1e-9) if known else 0
    return bool(np.linalg.matrix_rank(moves[[*known, cell]], tol=1e-9) == without)


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 300), marks=pytest.mark.exhaustive)]
)
def test_pairs_open_what_ranks_say(seeds: range) -> None:
    opened = 0
    for seed in seeds:
        links, hidden, owner = drawn(seed)
        dense = links.dense()[:, hidden].astype(float)
        _, size, basis = np.linalg.svd(dense)
        moves = np.zeros((len(hidden), len(basis) - int((size > 1e-9).sum())))
        moves[hidden] = basis[int((size > 1e-9).sum()) :].T
        own = {who: np.flatnonzero(owner == who).tolist() for who in np.unique(owner[owner >= 0])}
        expected = set()
        for one, other in combinations(own, 2):
            for cell in np.flatnonzero(hidden).tolist():
                if cell in own[one] + own[other] or follows(moves, [], cell):
                    continue
                alone = follows(moves, own[one], cell) or follows(moves, own[other], cell)
                if not alone and follows(moves, own[one] + own[other], cell):
                    expected.add(cell)
        found, left = opened_by_pairs(
            links, hidden, [own for _, own in Insiders(owner=owner).behind(hidden)]
        )
        assert set(np.flatnonzero(found).tolist()) == expected, seed
        assert left == 0
        opened += len(expected)
    assert opened


def test_two_who_share_no_relation_open_a_third_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ring of six hidden cells and a chord: owners in cells of no common row or column.

    With all coalitions left out by the limit, the pair is found all the same.
    """
    value = table_of(np.arange(1, 10).reshape(3, 3) * 10)
    rows = sums_of_table(value.shape)
    number = np.arange(value.size).reshape(value.shape)
    hidden = np.zeros(value.size, dtype=bool)
    hidden[number[1:, 1:].ravel()] = True
    corner, middle = int(number[1, 1]), int(number[2, 2])
    hidden[[number[1, 3], number[3, 1]]] = False
    state = np.where(hidden, CellState.secondary, CellState.fixed)
    state[number[1, 2]] = CellState.primary
    problem = problem_of(value.ravel(), rows, state=state)
    assert not any({corner, middle} <= {cell for cell, _ in row} for row in rows)
    respondents = np.where(np.isin(np.arange(value.size), [corner, middle]), 1, 9)
    reader = reader_of(problem, hidden & (respondents > 1))
    target = {int(number[1, 2]): 1}
    assert reader.farthest(target, 1) - reader.farthest(target, -1) < 1e-6
    apart = [
        reader_of(problem, hidden & (np.arange(value.size) != cell)) for cell in (corner, middle)
    ]
    found = audit_respondents(problem, hidden, respondents, most=2)
    alone = [one.farthest(target, 1) - one.farthest(target, -1) for one in apart]
    assert set(found.opened.tolist()) >= {int(number[1, 2])} or min(alone) < 1e-6
    assert not found.safe
    monkeypatch.setattr(contributors, "_MOST_ATTACKED", 0)
    cut = audit_respondents(problem, hidden, respondents, most=2)
    assert not cut.safe
    assert [gap.name for gap in cut.gaps] == ["coalitions of up to 2 contributors"]
    assert cut.opened.tolist() == found.opened.tolist()
