"""A solver that loses its way by rounding is asked once more, from the beginning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.disclosure import Attacker
from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.cut_program import CutProgram, aims_of, movable_cells
from discreet.protection.suppression.problem.system import unknowns_of
from tests.helpers.small_systems import square


class Lost:
    """A solver that finds no answer until it starts anew, so often."""

    def __init__(self, solver: Any, failures: int, status: Any) -> None:
        self._solver, self.failures, self._status = solver, failures, status
        self.cleared = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._solver, name)

    def run(self) -> None:
        self._solver.run()
        self.lost = self.failures > 0
        self.failures -= self.lost

    def getModelStatus(self) -> Any:
        return self._status.kUnknown if self.lost else self._solver.getModelStatus()

    def clearSolver(self) -> None:
        self.cleared += 1
        self._solver.clearSolver()


def relaxed(failures: int) -> CutProgram:
    import highspy

    movable = movable_cells(square())
    program = CutProgram(movable, aims_of(movable.unknowns))
    program._solver = Lost(program._solver, failures, highspy.HighsModelStatus)
    while not program.complete:
        program.round()
    return program


def test_a_fractional_pattern_is_looked_for_once_more() -> None:
    straight, lost = relaxed(0), relaxed(1)
    assert lost._solver.cleared == 1
    assert lost.bound == straight.bound > 0
    assert (lost.x == straight.x).all()


def test_a_solver_that_stays_lost_is_an_error() -> None:
    with pytest.raises(SuppressionError, match="no cheapest fractional pattern"):
        relaxed(2)


@pytest.mark.parametrize("failures", [1, 2])
def test_an_attack_is_made_once_more(failures: int) -> None:
    import highspy

    hidden = np.isin(np.arange(9), (4, 5, 7, 8))
    straight, lost = (Attacker(unknowns_of(square(), hidden)) for _ in range(2))
    lost._solver = Lost(lost._solver, failures, highspy.HighsModelStatus)
    wish = np.zeros(len(lost.unknowns))
    wish[0] = 1.0
    if failures == 2:
        with pytest.raises(SuppressionError, match="no answer to an attack"):
            lost.ask(wish)
        return
    assert (lost.ask(wish) == straight.ask(wish)).all()
    assert lost._solver.cleared == 1
