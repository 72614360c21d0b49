"""Pooling of adjacent violators: the nearest order-preserving sequence.

In: values from zero outward. Out: the blocks whose members take their common
mean so that the sequence does not fall.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from operator import le

__all__ = ["Run", "pooled"]

#: Start, stop and level of a block of neighbours.
Run = tuple[int, int, Decimal]


def pooled(values: Sequence[Decimal]) -> list[Run]:
    """Blocks of the isotonic (non-decreasing) regression; only strict violations are pooled.

    >>> from decimal import Decimal
    >>> pooled([Decimal(3), Decimal(1), Decimal(1), Decimal(9)])
    [(0, 3, Decimal('1.666666666666666666666666667')), (3, 4, Decimal('9'))]
    """
    if all(map(le, values, values[1:])):
        return [(at, at + 1, value) for at, value in enumerate(values)]
    runs: list[Run] = []
    for at, value in enumerate(values):
        start, level = at, value
        while runs and runs[-1][2] > level:
            first, middle, other = runs.pop()
            level = (other * (middle - first) + level * (at + 1 - middle)) / (at + 1 - first)
            start = first
        runs.append((start, at + 1, level))
    return runs
