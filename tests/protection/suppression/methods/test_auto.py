"""The method `auto`: never dearer than `fast`, and how much work it takes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.protection.suppression import find_pattern
from discreet.protection.suppression.methods import auto
from discreet.protection.suppression.methods.auto import protect_auto
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.methods.optimal import Branching
from discreet.protection.suppression.methods.relaxation import Relaxation
from discreet.protection.suppression.proof.certificate import certify
from tests.protection.suppression.methods.test_never_absurd import firms

#: Three variables: attacks close no more than a part of the gap.
TABLE = ((6, 5, 3), 6.0, 2)


def begun(steps: float) -> Branching:
    """Branching that may take so many steps after the first cuts."""
    relaxation = Relaxation(firms(*TABLE))
    relaxation.near(12, lambda: False)
    search = Branching(relaxation, 500)
    search.complete(relaxation.x > 0.9, math.inf)
    search.effort.end = search.effort.steps + steps
    return search


def test_spent_work_ends_attacks_branching_and_completing() -> None:
    for steps in (1e5, 1e6, 1e7):
        search = begun(steps)
        before, cost = search.effort.steps, search.cost
        search.relaxation.round()
        while not search.effort.spent and search.round(math.inf):
            pass
        assert not search.relaxation.complete
        assert search.effort.steps - before < 1.5 * steps
        search.effort.end = 0.0
        assert search.guide.pattern(search.relaxation.x, search.best, math.inf) is None
        assert search.cost <= cost
        pattern = search.pattern("auto")
        assert pattern.safe
        assert pattern.bound is not None
        assert pattern.bound <= pattern.cost


def test_a_branching_stops_when_its_work_is_spent() -> None:
    search = begun(math.inf)
    for _ in range(8):
        search.relaxation.round()
    search.effort.end = search.effort.steps + 1.0
    assert not search.round(math.inf)
    assert search.bound <= search.cost
    search.effort.end = math.inf
    assert search.round(math.inf) or search.proven


def test_attacks_are_left_out_where_a_round_of_them_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = firms((4, 3, 3), 9.0, 2)
    quick = protect_fast(problem)

    def refuse(*_: object) -> None:
        raise AssertionError("an attack on the whole table")

    monkeypatch.setattr(auto, "_ITERATIONS", 1e9)
    monkeypatch.setattr(auto, "_LEAST", 1e7)
    monkeypatch.setattr(Branching, "round", refuse)
    found = protect_auto(problem)
    assert found.cost <= quick.cost
    assert found.bound == quick.bound
    assert not len(certify(problem, found.hidden).unprotected)


@pytest.mark.parametrize("shape", [(4, 3, 2), (9, 7, 1)])
def test_it_is_never_dearer_than_fast(shape: tuple[int, ...]) -> None:
    problem = firms(shape, 5.0, 1)
    fast, found = find_pattern(problem, "fast"), find_pattern(problem, "auto")
    assert fast.bound is not None
    assert found.bound is not None
    assert fast.bound <= found.bound <= found.cost <= fast.cost


def test_a_move_is_a_way_for_every_aim_that_it_reaches() -> None:
    """Against all aims looked at one by one."""
    separator = Relaxation(firms(*TABLE)).separator
    movable, aims = separator.movable, separator.aims
    draw = np.random.default_rng(1)
    shared = 0
    for _ in range(20):
        x = np.where(movable.forced, 1.0, draw.random(len(movable)))
        cells = draw.choice(len(movable), 4, replace=False)
        moved = np.zeros(len(movable))
        moved[cells] = 2 * (draw.random(4) - 0.5) * np.minimum(-movable.low, movable.high)[cells]
        separator._ways = [{} for _ in aims.level]
        separator._share(moved, x)
        for at, ways in enumerate(separator._ways):
            level = aims.level[at]
            reach = aims.side[at] * moved[aims.cell[at]]
            move = moved[cells] * (level / reach) if reach else np.full(4, np.inf)
            room = np.where(move > 0, movable.high[cells], -movable.low[cells])
            need = np.abs(move) / np.minimum(room, level)
            assert ("shared" in ways) == bool((need <= x[cells] + 1e-7).all())
            shared += len(ways)
    assert shared
