"""Flows: the cheapest way to move a sensitive cell as far as it must. CONFIDENTIAL.

In: a patch of cells, how far each can move, what moving it costs. Out: deviations that
fit all relations and move the wanted cells; once the moved cells are hidden, they prove
that these are protected. One small linear program each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.suppression.patches import Patch

__all__ = ["Room", "farthest_flow", "least_flow"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: No cell moves more than so many times the wanted distance.
_MOST = 100.0
#: The solver's tolerance, relative to the wanted distance.
_FINE = 1e-9
#: Smaller moves are no moves: in units, and relative to the wanted distance.
_UNIT_MOVED, _MOVED = 1e-2, 1e-8
#: Hidden cells are moved for so little, as a share of the median price: all cells then
#: begin where they are, and the solver has only one of them to move.
_NEARLY_FREE = 1e-4
#: With fewer cells, hidden ones are free: there is no time to save.
_FEW = 300


@dataclass(frozen=True, kw_only=True)
class Room:
    """How far the cells of a patch can move and what that costs.

    Args:
        down: How far each can move down at most; at least 0.
        up: How far up.
        price: What moving it costs per unit, in either direction; 0 for hidden ones.
    """

    down: FloatArray
    up: FloatArray
    price: FloatArray


def least_flow(patch: Patch, room: Room, at: int, distance: float) -> FloatArray | None:
    """The cheapest deviations of a patch that move one cell by a distance.

    Args:
        patch: The cells and relations.
        room: What they may do and at what price.
        at: Position of the cell in the patch.
        distance: How far it is to be moved; down if negative.

    Returns:
        A deviation for each cell, or None if the cells of the patch cannot do it.
    """
    size = abs(distance)
    low, high = -np.minimum(room.down / size, _MOST), np.minimum(room.up / size, _MOST)
    low[at] = high[at] = 1.0 if distance > 0 else -1.0
    moved = _solved(patch, low, high, _nearly_free(room.price))
    if moved is None:
        return None
    moved[np.abs(moved) < max(_MOVED, _UNIT_MOVED / size)] = 0.0
    return moved * size


def _nearly_free(price: FloatArray) -> FloatArray:
    if price.size < _FEW:
        return price
    paid = price[price > 0]
    least = _NEARLY_FREE * (float(np.median(paid)) if paid.size else 1.0)
    nearly: FloatArray = np.maximum(price, least)
    return nearly


def farthest_flow(
    patch: Patch, room: Room, wish: FloatArray, reward: float = 1.0
) -> FloatArray | None:
    """Deviations that bring many cells as near to where they should go as possible.

    Args:
        patch: The cells and relations.
        room: What they may do and at what price.
        wish: How far each cell should go, negative for down; 0 where it does not matter.
        reward: What it is worth to bring one cell there.
    """
    size = float(np.median(np.abs(wish[wish != 0])))
    low, high = -np.minimum(room.down / size, _MOST), np.minimum(room.up / size, _MOST)
    beyond = wish / size * (1 + _MOVED)
    low = np.where(wish < 0, np.maximum(low, beyond), low)
    high = np.where(wish > 0, np.minimum(high, beyond), high)
    gain = np.divide(size, wish, out=np.zeros(len(wish)), where=wish != 0)
    moved = _solved(patch, low, high, room.price, -reward * gain)
    if moved is None:
        return None
    moved[np.abs(moved) < max(_MOVED, _UNIT_MOVED / size)] = 0.0
    return moved * size


def _solved(
    patch: Patch, low: FloatArray, high: FloatArray, price: FloatArray, slope: Any = 0.0
) -> FloatArray | None:
    """Minimise price × |deviation| + slope × deviation; priced cells are two variables."""
    import highspy

    library: Any = highspy
    solver = library.Highs()
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("presolve", "off"),
        ("primal_feasibility_tolerance", _FINE),
    ):
        solver.setOptionValue(option, value)
    solver.passModel(_model(library, patch, low, high, price, slope))
    solver.run()
    if solver.getModelStatus() != library.HighsModelStatus.kOptimal:
        return None
    found = np.array(solver.getSolution().col_value, dtype=np.float64)
    cells = len(low)
    moved: FloatArray = found[:cells].copy()
    moved[price > 0] -= found[cells:]
    return moved


def _model(
    library: Any, patch: Patch, low: FloatArray, high: FloatArray, price: FloatArray, slope: Any
) -> Any:
    cells, rows = len(low), len(patch.start) - 1
    priced = np.flatnonzero(price > 0)
    twin = np.full(cells, -1, dtype=np.int64)
    twin[priced] = cells + np.arange(priced.size)
    row = np.repeat(np.arange(rows), np.diff(patch.start))
    twice = twin[patch.at] >= 0
    rows_of = np.concatenate([row, row[twice]])
    order = np.argsort(rows_of, kind="stable")
    start = np.zeros(rows + 1, dtype=np.int32)
    np.cumsum(np.bincount(rows_of, minlength=rows), out=start[1:])
    columns = np.concatenate([patch.at, twin[patch.at[twice]]])
    coefs = np.concatenate([patch.coef, -patch.coef[twice]])
    model = library.HighsLp()
    model.num_col_, model.num_row_ = cells + priced.size, rows
    slopes = np.broadcast_to(slope, cells)
    model.col_cost_ = np.concatenate([price + slopes, (price - slopes)[priced]])
    least = np.where(price > 0, np.maximum(low, 0.0), low)
    model.col_lower_ = np.concatenate([least, np.maximum(-high[priced], 0.0)])
    model.col_upper_ = np.concatenate([np.maximum(high, least), np.maximum(-low[priced], 0.0)])
    model.row_lower_ = model.row_upper_ = np.zeros(rows)
    model.a_matrix_.format_ = library.MatrixFormat.kRowwise
    model.a_matrix_.start_ = start
    model.a_matrix_.index_ = columns[order].astype(np.int32)
    model.a_matrix_.value_ = coefs[order].astype(np.float64)
    return model
