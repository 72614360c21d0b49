"""`Cost`: what hiding a cell costs.

The rules are public; costs and bounds that follow the values are CONFIDENTIAL.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.disclosure import Relations
from discreet.errors import SuppressionError

#: Costs are cut off here, so that sums of millions of them are exact.
_DEAREST = 2**40
#: Transformed costs are spread over so many whole numbers, so that small ones do not tie.
_FINENESS = 10**9
_FARTHEST = 5


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of hiding a cell.

    Args:
        of: ``"value"`` – the size of its value; ``"count"`` – its records; ``"unity"`` –
            1; ``"distance"`` – how far it stands from the next sensitive cell; or the
            name of a value column of the tables.
        power: Costs are raised to this power, 0 stands for log(1 + cost): below 1, few
            large cells are preferred to many small ones less strongly.
        totals: Factor for each variable in which the cell is a total; above 1, inner
            cells are hidden rather than totals.
        distance: Costs at the distances 1, 2, … of neighbours; the last for all beyond
            and for totals.

    >>> Cost(of="count", totals=2).totals
    2
    """

    of: str = "value"
    power: float = 1.0
    totals: float = 1.0
    distance: tuple[int, ...] = (1, 2, 3, 4, 5)

    def __post_init__(self) -> None:
        wrong = None
        if not 0 <= self.power <= 4:
            wrong = ("power", "the power lies between 0 and 4")
        elif not 0 < self.totals <= 1000:
            wrong = ("totals", "the factor for totals lies above 0, up to 1000")
        elif not self.distance or min(self.distance) < 1 or len(self.distance) > _FARTHEST:
            wrong = ("distance", "there are 1 to 5 costs of distances, whole numbers from 1 on")
        elif not self.of:
            wrong = ("of", "a cost is value, count, unity, distance or a value column")
        if wrong:
            raise SuppressionError(wrong[1], code="cost", where=wrong[0])

    @classmethod
    def read(cls, cost: str | Cost) -> Cost:
        """A cost, or the one of that name."""
        return cost if isinstance(cost, Cost) else cls(of=cost)


def whole_costs(rule: Cost, size: FloatArray, totals: IntArray) -> tuple[IntArray, bool]:
    """Costs in whole numbers of at least 1, and whether they had to be made coarser to fit.

    They follow the size of each cell, and in how many variables it is a total.
    """
    cost = size
    plain = rule.power == 1 and rule.totals == 1
    if rule.power != 1:
        cost = np.log1p(size) if rule.power == 0 else np.power(size, rule.power)
    cost = cost * np.power(float(rule.totals), totals.astype(np.float64))
    most = float(cost.max(initial=0.0))
    if not plain and most > 0:
        cost = cost * (_FINENESS / most)
    coarser = plain and most > _DEAREST
    if coarser:
        cost = cost * (_DEAREST / most)
    return np.maximum(np.rint(cost), 1).astype(np.int64), coarser


def distances_to_sensitive(rule: Cost, relations: Relations, sensitive: BoolArray) -> FloatArray:
    """Distance of each cell to the next sensitive one in its relations.

    Parts of a total are neighbours in the order of their codes. A total, and a part
    of a relation without a sensitive cell, is as far as can be.
    """
    farthest = len(rule.distance)
    width = np.diff(relations.start)
    place = np.arange(relations.cell.size) - np.repeat(relations.start[:-1], width)
    part = relations.coef > 0
    marked = sensitive[relations.cell] & part
    steps = np.full(relations.cell.size, farthest, dtype=np.int64)
    for step in range(farthest - 1, -1, -1):
        near = np.zeros(relations.cell.size, dtype=np.bool_)
        for shift in (-step, step):
            at = place + shift
            there = (at >= 0) & (at < np.repeat(width, width))
            index = np.flatnonzero(there) + shift
            near[there] |= marked[index]
        steps[near & part] = max(step, 1)
    nearest = np.full(relations.cells, farthest, dtype=np.int64)
    np.minimum.at(nearest, relations.cell, steps)
    return np.array(rule.distance, dtype=np.float64)[nearest - 1]
