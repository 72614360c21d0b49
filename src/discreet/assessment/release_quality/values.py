"""How far sums, means and ratios are off, and what state figures are published in.

In: `Pairs` of any numbers (confidential), or a protected table (public). Out: numbers of
cells per table part and class of relative deviation, CONFIDENTIAL, or per state, public.
"""

from __future__ import annotations

import numpy as np

from discreet.assessment.release_quality.pairs import Pairs
from discreet.assessment.release_quality.part_grid import IntArray, PartGrid
from discreet.tables import CellStatus, ProtectedTable

__all__ = ["DEVIATION_CLASSES", "deviations", "states"]

#: Upper bounds of the classes of relative deviation; one more class lies above them.
DEVIATION_CLASSES = (0.01, 0.02, 0.05, 0.10, 0.15)

_NOT_SHOWN = (CellStatus.suppressed, CellStatus.not_applicable, CellStatus.official)


def deviations(pairs: Pairs) -> IntArray:
    """Rows (part, class of relative deviation, number of cells).

    The class after those of `DEVIATION_CLASSES` is that of larger deviations; a figure
    that was 0 has no relative deviation and is left out.

    >>> pairs = Pairs(original=np.array([100.0, 50.0]), value=np.array([101.0, 40.0]),
    ...               status=np.zeros(2, dtype=np.int8), part=np.array([0, 0]))
    >>> deviations(pairs).tolist()
    [[0, 0, 1], [0, 5, 1]]
    """
    assessed = (pairs.original != 0) & ~np.isin(pairs.status, _NOT_SHOWN)
    original, value = pairs.original[assessed], pairs.value[assessed]
    # A tiny allowance keeps 101 for 100 within 1 % whatever its last binary digit.
    relative = np.abs(value - original) / np.abs(original) * (1 - 1e-12)
    width = len(DEVIATION_CLASSES) + 1
    key = pairs.part[assessed] * width + np.searchsorted(DEVIATION_CLASSES, relative)
    cells = np.bincount(key)
    found = np.flatnonzero(cells)
    return np.stack([found // width, found % width, cells[found]], axis=1).astype(np.int64)


def states(table: ProtectedTable, grid: PartGrid) -> IntArray:
    """Rows (figure, part, status, number of stored cells). Public."""
    figures = len(table.figures) if table.several_figures else 1
    index = table.index[:-1] if table.several_figures else table.index
    key = grid.part(index, table.stored)
    if table.several_figures:
        key += table.index[-1].astype(np.int64) * len(grid)
    kinds = len(CellStatus)
    cells = np.bincount(key * kinds + table.status, minlength=figures * len(grid) * kinds)
    found = np.flatnonzero(cells)
    place, status = np.divmod(found, kinds)
    figure, part = np.divmod(place, len(grid))
    return np.stack([figure, part, status, cells[found]], axis=1).astype(np.int64)
