"""`Unknowns`: the hidden cells as a system of their own, with bounds from outside. CONFIDENTIAL.

Deviations of hidden cells from their true values, in blocks that share no relation, and how far
each can move at most, relation by relation. A bound too narrow shows that a cell is not protected;
a bound wide enough proves nothing yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import Confidential
from discreet.disclosure.relations import Relations, component_labels
from discreet.kernels import compiled

#: Levels count as reached when so little is missing, in units.
TOLERANCE = 1e-6
#: Levels of millions also when this share is missing, but never a quarter of a unit.
_SHARE, _QUARTER = 1e-9, 0.25


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Unknowns(Confidential):
    """Hidden cells as deviations from their true values, all 0 in truth (confidential)."""

    cells: IntArray  # their numbers in the problem
    relations: Relations  # the relations among them; right-hand sides are 0
    low: FloatArray  # how far below its true value the attacker can think each cell, at most 0
    high: FloatArray  # how far above, at least 0
    lower: FloatArray  # lower protection level of each cell; 0 where none is asked for
    upper: FloatArray  # upper protection level
    sliding: FloatArray  # sliding protection level
    sensitive: BoolArray  # which cells must be protected

    def __len__(self) -> int:
        return len(self.cells)

    def protected(self, low: Any, high: Any, at: Any = slice(None)) -> BoolArray:
        """Which cells are safe if each, or those `at` some places, can be from `low` to `high`."""
        levels = (self.upper, self.lower, self.sliding)
        upper, lower, sliding = (_enough(item[at]) for item in levels)
        safe: BoolArray = (high >= upper) & (-low >= lower) & (high - low >= sliding)
        return safe

    def part(self, chosen: BoolArray) -> Unknowns:
        """Some of the cells; the others must have nothing to do with them."""
        relations, old = self.relations.among(chosen)
        names = ("cells", "low", "high", "lower", "upper", "sliding", "sensitive")
        columns: dict[str, Any] = {name: getattr(self, name)[old] for name in names}
        return Unknowns(relations=relations, **columns)


def _enough(level: Any) -> Any:
    """From where on a level counts as reached: whole levels never by one unit less."""
    return level - np.clip(_SHARE * level, TOLERANCE, _QUARTER)


def blocks_of(unknowns: Unknowns, wanted: BoolArray | None = None) -> Iterator[Unknowns]:
    """The blocks of cells that hang together and hold a wanted cell, smallest first.

    Wanted are the sensitive cells unless given.
    """
    label = component_labels(unknowns.relations)
    names, sizes = np.unique(label, return_counts=True)
    holding = np.isin(names, label[unknowns.sensitive if wanted is None else wanted])
    order = np.argsort(sizes[holding], kind="stable")
    for block in names[holding][order]:
        yield unknowns.part(label == block)


_ROUNDS = 100


def outer_bounds(unknowns: Unknowns) -> tuple[FloatArray, FloatArray]:
    """Bounds of each cell, tightened until no relation tightens them further."""
    low, high = unknowns.low.copy(), unknowns.high.copy()
    links = unknowns.relations
    _tighten(links.start, links.cell, links.coef.astype(np.float64), low, high, _ROUNDS)
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def mobile_cells(unknowns: Unknowns) -> BoolArray:
    """Which cells can move as far as their relations, one by one, say."""
    low, high = outer_bounds(unknowns)
    return high - low > TOLERANCE


@compiled
def _tighten(start: Any, cell: Any, coef: Any, low: Any, high: Any, rounds: int) -> None:
    for _ in range(rounds):
        changed = False
        for row in range(start.size - 1):
            least = 0.0
            most = 0.0
            for k in range(start[row], start[row + 1]):
                a, b = coef[k] * low[cell[k]], coef[k] * high[cell[k]]
                least += min(a, b)
                most += max(a, b)
            for k in range(start[row], start[row + 1]):
                at = cell[k]
                a, b = coef[k] * low[at], coef[k] * high[at]
                below = -(most - max(a, b)) / coef[k]
                above = -(least - min(a, b)) / coef[k]
                if coef[k] < 0:
                    below, above = above, below
                if below > low[at]:
                    low[at] = below
                    changed = True
                if above < high[at]:
                    high[at] = above
                    changed = True
        if not changed:
            return
