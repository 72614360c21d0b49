"""The methods `auto` and `optimal` within: never dearer than `fast`, and how much work it takes."""

import _thread
import math
import signal
import threading
import time

import pytest

from discreet.protection.suppression import find_pattern
from discreet.protection.suppression.methods import branch_and_cut
from discreet.protection.suppression.methods.branch_and_cut import (
    improved,
    protect_auto,
)
from discreet.protection.suppression.methods.cut_program import single_relation_bounds
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.proof.certificate import certificate_from_proofs, certify
from discreet.protection.suppression.proof.draft_pattern import DraftPattern, cover_tasks
from tests.protection.suppression.methods.test_never_absurd import firms

#: Three variables: attacks close no more than a part of the gap.
TABLE = ((6, 5, 3), 6.0, 2)
#: Three variables, and the lowest cost, proven by `optimal`.
SMALL, LOWEST = ((4, 3, 3), 9.0, 2), 118_711


def never() -> bool:
    return False


def program_of(table):
    program = single_relation_bounds(firms(*table), never)
    assert program is not None
    return program


def test_spent_work_ends_attacks_and_branching() -> None:
    cost = protect_fast(firms(*TABLE)).cost
    for steps in (1e5, 1e6):
        program = program_of(TABLE)
        effort = program.separator.effort
        before = effort.steps
        effort.end = before + steps
        program.round()
        while not program.late:
            program.branch(cost, 500)
        assert not program.complete
        assert effort.steps - before < 1.5 * steps
        assert program.bound <= cost


def test_a_branching_stops_when_its_work_is_spent() -> None:
    program, cost = program_of(TABLE), protect_fast(firms(*TABLE)).cost
    for _ in range(8):
        program.round()
    before = program.bound
    program.separator.effort.end = program.separator.effort.steps + 1.0
    assert program.branch(cost) is None
    assert before <= program.bound <= cost
    program.separator.effort.end = math.inf
    program.round()  # the same program in parts goes on
    chosen = program.branch(cost, 2_000)
    assert chosen is not None
    assert program.movable.paid(chosen) < cost
    assert before <= program.bound <= cost


def test_attacks_are_left_out_where_a_round_of_them_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = firms((4, 3, 3), 9.0, 2)
    quick = protect_fast(problem)

    def refuse(*_: object) -> None:
        raise AssertionError("a search over the whole table")

    monkeypatch.setattr(branch_and_cut, "_ITERATIONS", 1e9)
    monkeypatch.setattr(branch_and_cut, "_LEAST", 1e7)
    monkeypatch.setattr(branch_and_cut, "_TableSearch", refuse)
    pattern = protect_auto(problem)
    assert pattern.cost <= quick.cost
    assert pattern.bound == quick.bound
    assert not len(certify(problem, pattern.hidden).unprotected)


def test_branching_answers_an_interrupt() -> None:
    program, cost = program_of(((8, 7, 4), 6.0, 2)), protect_fast(firms((8, 7, 4), 6.0, 2)).cost
    ends = time.monotonic() + 600  # only what hangs gets there

    def again() -> None:
        while time.monotonic() < ends:
            program.branch(cost)

    # A program that a shell starts in the background does not hear the interrupt.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, _thread.interrupt_main).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            again()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("shape", [(4, 3, 2), (9, 7, 1)])
def test_it_is_never_dearer_than_fast(shape: tuple[int, ...]) -> None:
    problem = firms(shape, 5.0, 1)
    fast, auto = find_pattern(problem, "fast"), find_pattern(problem, "auto")
    assert fast.bound is not None
    assert auto.bound is not None
    assert fast.bound <= auto.bound <= auto.cost <= fast.cost


# -- blocks ----------------------------------------------------------------------------


def covered(table):
    draft = DraftPattern(firms(*table))
    assert cover_tasks(draft, draft.open, never) == []
    return draft


def searched(draft, effort=2e8, watch=None):
    return improved(draft, 0, watch or WorkTime(), 2, effort)


def assert_proven(draft):
    assert not len(draft.open)
    assert not len(certificate_from_proofs(draft).unprotected)
    assert not len(certify(draft.problem, draft.mask()).unprotected)


def test_a_block_of_all_cells_leads_to_the_cheapest_pattern():
    draft = covered(SMALL)
    assert draft.spent > LOWEST
    best = searched(draft)
    assert best.spent == LOWEST
    assert_proven(best)
