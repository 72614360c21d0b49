"""Linear programs, as the solver wants them.

In: rows of a sparse matrix and bounds. Out: a HiGHS solver that holds them: quiet, on one
thread, without presolve, so that it can go on from its last solution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import FloatArray


def quiet_solver(**options: Any) -> Any:
    """A solver that holds nothing yet, prints nothing and uses one thread."""
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    # Both come first: the solver prints its banner with the first call that may print at all.
    quiet = {"output_flag": False, "log_to_console": False}
    for option, value in {**quiet, "threads": 1, **options}.items():
        solver.setOptionValue(option, value)
    return solver


def is_optimal(solver: Any) -> bool:
    """Whether the last run came to an answer; where nothing is asked, it always does."""
    import highspy

    status = highspy.HighsModelStatus
    return bool(solver.getModelStatus() in (status.kOptimal, status.kModelEmpty))


def column_values(solver: Any) -> FloatArray:
    """The answer: the value of each column."""
    return np.array(solver.getSolution().col_value, dtype=np.float64)


def loaded_solver(
    matrix: tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]],
    low: FloatArray,
    high: FloatArray,
    *,
    cost: FloatArray | None = None,
    rows: tuple[FloatArray, FloatArray] | None = None,
    **options: Any,
) -> Any:
    """A solver that holds a linear program.

    The matrix says where each row begins, and columns and coefficients of the entries; `low` and
    `high` bound the columns, `rows` the rows (0 if None). Without costs there is no wish yet.
    """
    import highspy

    start, column, coef = matrix
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(low), len(start) - 1
    model.col_cost_ = np.zeros(len(low)) if cost is None else cost
    model.col_lower_, model.col_upper_ = low, high
    nothing = np.zeros(len(start) - 1)
    model.row_lower_, model.row_upper_ = (nothing, nothing) if rows is None else rows
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = start.astype(np.int32)
    model.a_matrix_.index_ = column.astype(np.int32)
    model.a_matrix_.value_ = coef.astype(np.float64)
    solver = quiet_solver(presolve="off", **options)
    solver.passModel(model)
    return solver
