"""The solver: what it finds, and that it prints nothing, not even its banner."""

import highspy
import numpy as np
import pytest

from discreet.solver import column_values, is_optimal, loaded_solver, quiet_solver


@pytest.mark.parametrize("whole", [False, True])
def test_a_program_is_solved_without_a_word(capfd: pytest.CaptureFixture[str], whole: bool) -> None:
    matrix = (np.array([0, 2]), np.array([0, 1]), np.array([2.0, 1.0]))
    solver = loaded_solver(
        matrix, np.zeros(2), np.full(2, 9.0), cost=np.array([3.0, 2.0]),
        rows=(np.array([5.0]), np.array([np.inf])),
    )  # fmt: skip
    if whole:
        solver.setOptionValue("presolve", "on")
        kinds = np.full(2, int(highspy.HighsVarType.kInteger), dtype=np.uint8)
        solver.changeColsIntegrality(2, np.arange(2, dtype=np.int32), kinds)
    solver.run()
    solver.clearSolver()
    solver.run()
    assert is_optimal(solver)
    assert column_values(solver).tolist() == ([2.0, 1.0] if whole else [2.5, 0.0])
    quiet_solver().run()
    assert capfd.readouterr() == ("", "")


def test_either_switch_keeps_the_solver_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    """One of them alone is enough: what turns one on again prints nothing."""
    for switch in ("output_flag", "log_to_console"):
        solver = quiet_solver()
        solver.setOptionValue(switch, True)
        solver.addVar(0.0, 1.0)
        solver.run()
    assert capfd.readouterr() == ("", "")
