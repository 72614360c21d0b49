"""The smallest suppression problem: four inner cells and their totals."""

from __future__ import annotations

import numpy as np

from discreet.disclosure import Relations
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem


def square(**changed: object) -> SuppressionProblem:
    """Four inner cells and their totals; the first inner cell is sensitive."""
    value = np.array([40, 20, 20, 20, 10, 10, 20, 10, 10])
    rows = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8)]
    size = value.size
    state = np.full(size, CellState.free, dtype=np.int8)
    state[4] = CellState.primary
    level = np.where(state == CellState.primary, 5, 0)
    columns: dict[str, object] = {
        "value": value,
        "cost": value.copy(),
        "state": state,
        "low": np.zeros(size, dtype=np.int64),
        "high": np.full(size, 100),
        "lower": level,
        "upper": level,
        "sliding": np.zeros(size, dtype=np.int64),
        "relations": Relations.of(size, [[(a, -1), (b, 1), (c, 1)] for a, b, c in rows]),
        "title": "square",
    }
    return SuppressionProblem(**(columns | changed))  # type: ignore[arg-type]
