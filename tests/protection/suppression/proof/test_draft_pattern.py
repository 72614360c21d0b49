"""`DraftPattern`: what it says of a table before anything is proven."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from discreet.protection.suppression.problem.system import CellState, Relations, SuppressionProblem
from discreet.protection.suppression.proof.draft_pattern import DraftPattern


def table(variables: int) -> SuppressionProblem:
    """A table of variables with two codes and a total each."""
    shape = (3,) * variables
    number = np.arange(math.prod(shape)).reshape(shape)
    value = np.array([math.prod(2 if not at else 1 for at in place) for place in np.ndindex(shape)])
    rows = []
    for axis in range(variables):
        for place in product(range(3), repeat=variables - 1):
            line = [int(number[(*place[:axis], code, *place[axis:])]) for code in range(3)]
            rows.append([(line[0], -1), (line[1], 1), (line[2], 1)])
    none = np.zeros(number.size, dtype=np.int64)
    return SuppressionProblem(
        value=value,
        cost=value,
        state=np.full(number.size, CellState.free, dtype=np.int8),
        low=none,
        high=np.full(number.size, 100),
        lower=none,
        upper=none,
        sliding=none,
        relations=Relations.of(number.size, rows),
    )


@pytest.mark.parametrize(("variables", "many"), [(2, False), (4, False), (5, True)])
def test_cells_are_parts_of_many_totals_in_tables_of_many_variables(
    variables: int, many: bool
) -> None:
    """Only totals that a cell is part of count, not the parts that it is the total of."""
    assert DraftPattern(table(variables)).many_ways == many
