"""Blocks of patterns solved exactly: cheaper, proven, the same each time, within time."""

from __future__ import annotations

import time

import numpy as np

from discreet.protection.suppression import find_pattern
from discreet.protection.suppression.methods.block_search import (
    BlockProgram,
    block_around,
    searched_blocks,
)
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.proof.certificate import certificate_from_proofs, certify
from discreet.protection.suppression.proof.draft_pattern import DraftPattern
from discreet.protection.suppression.proof.local_lp import cover_tasks
from tests.protection.suppression.methods.test_never_absurd import firms

#: Three variables, and the lowest cost, proven by `optimal`.
SMALL, LOWEST = ((4, 3, 3), 9.0, 2), 118_711


def never() -> bool:
    return False


def covered(table):
    draft = DraftPattern(firms(*table))
    assert cover_tasks(draft, draft.open, never) == []
    return draft


def searched(draft, effort=2e8, watch=None):
    return searched_blocks(draft, watch or WorkTime(), effort, np.random.default_rng(2))


def assert_proven(draft):
    assert not len(draft.open)
    assert not len(certificate_from_proofs(draft).unprotected)
    assert not len(certify(draft.problem, draft.mask()).unprotected)


def test_a_block_of_all_cells_leads_to_the_cheapest_pattern():
    draft = covered(SMALL)
    assert draft.spent > LOWEST
    found = searched(draft)
    assert found.spent == LOWEST
    assert_proven(found)


def test_it_is_the_same_each_time_and_never_dearer_however_little_is_done():
    first, second = (searched(covered(((5, 4, 2), 6.0, 2)), 1.2e7) for _ in range(2))
    assert np.array_equal(first.hidden, second.hidden)
    assert first.effort == second.effort
    assert first.spent <= covered(((5, 4, 2), 6.0, 2)).spent
    assert_proven(first)


def test_what_is_chosen_in_a_block_is_cheaper_and_leaves_all_else_alone():
    draft = covered(SMALL)
    secondary = np.flatnonzero(draft.hidden & ~draft.must)
    block = block_around(draft, int(secondary[0]), 12)
    assert block is not None
    inside = block.cells[block.free]
    assert inside.size <= 12
    assert not draft.must[inside].any()
    chosen, done = BlockProgram(block, np.inf).solve()
    assert done
    if chosen is not None:
        hidden = draft.hidden.copy()
        hidden[inside] = chosen
        assert draft.cost[inside[chosen]].sum() < block.cost
        assert not len(certify(draft.problem, draft.mask(hidden)).unprotected)


def test_the_clock_ends_it_early():
    draft = covered(((5, 4, 2), 6.0, 2))
    begin = time.monotonic()
    found = searched(draft, np.inf, WorkTime(0.1))
    assert time.monotonic() - begin < 10
    assert found.spent <= draft.spent
    assert_proven(found)


def test_fast_solves_blocks_where_its_gap_is_wide():
    problem = firms(*SMALL)
    lines: list[str] = []
    pattern = find_pattern(problem, "fast", progress=lines.append)
    assert "solve blocks" in lines
    assert pattern.cost <= 1.3 * LOWEST
