"""How often each count occurs: the distribution that assessments are made over.

In: a confidential table, a list of counts, or a mapping. Out: counts and their
weights, checked. CONFIDENTIAL.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.assessment.chances import FloatArray, IntArray
from discreet.errors import PerturbationError, Problem
from discreet.tables import Table

__all__ = ["distribution"]


def distribution(counts: Any) -> tuple[IntArray, FloatArray]:
    """Different counts, ascending, and the number of cells (or weight) of each.

    Args:
        counts: A `Table`, a list or array of counts, or a mapping count → weight.

    >>> distribution([3, 1, 3])
    (array([1, 3]), array([1., 2.]))
    >>> distribution({2: 0.5, 1: 0.5})
    (array([1, 2]), array([0.5, 0.5]))
    """
    if isinstance(counts, Table):
        values, cells = np.unique(counts.count, return_counts=True)
        weight = cells.astype(np.float64)
    elif isinstance(counts, Mapping):
        pairs = sorted(counts.items(), key=lambda pair: _sortable(pair[0]))
        values, weight = _whole([key for key, _ in pairs]), _weights([w for _, w in pairs])
        values, weight = values[weight > 0], weight[weight > 0]
    else:
        values, cells = np.unique(_whole(counts), return_counts=True)
        weight = cells.astype(np.float64)
    if not values.size:
        raise _wrong("there are no counts")
    if values[0] < 0:
        raise _wrong("a count is negative")
    return values.astype(np.int64), weight


def _sortable(key: Any) -> float:
    return float(key) if isinstance(key, int | np.integer) else math.inf


def _whole(values: Any) -> IntArray:
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    try:
        numbers = np.asarray(values)
    except ValueError:
        raise _wrong("these are not counts") from None
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise _wrong("counts are a list of whole numbers")
    return numbers.astype(np.int64)


def _weights(values: list[Any]) -> FloatArray:
    good = all(
        isinstance(value, int | float | np.number) and 0 <= value < math.inf for value in values
    )
    if not good:
        raise _wrong("the number of cells of a count is at least 0")
    return np.array(values, dtype=np.float64)


def _wrong(what: str) -> PerturbationError:
    hint = "give a Table, a list of counts, or a mapping from count to number of cells"
    problem = Problem(what, "counts", hint)
    return PerturbationError(what, code="counts", where="counts", hint=hint, problems=[problem])
