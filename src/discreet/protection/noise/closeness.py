"""How near noisy figures let somebody come to a single contribution, and which cells fail. SECRET.

In: the noise, and cells that rest on a single or dominating contribution (CONFIDENTIAL). Out: the
chance of the best guess, and the cells that are hidden because it is too good.

Who knows how noise is drawn divides a figure by the factor c that is likeliest, not by 1. The
guess is within a share p of the contribution where the factor lies between c(1 − p) and c(1 + p).
The best c has the largest chance that any guess can have. What the second largest contributor does
not know of the others hardly raises it: in an interval of one length, the sum of independent
variables is never more likely than one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import erf
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, quotient
from discreet.protection.noise.intervals import largest_of_two
from discreet.protection.noise.magnitude_cells import drawn_noise
from discreet.rules import CellLookup
from discreet.tables import GateReport

if TYPE_CHECKING:
    from discreet.protection.noise.magnitude_cells import PerturbedSums
    from discreet.tables import Contributions, Table

_STEPS = 256
#: So many cells are looked at together.
_AT_ONCE = 2**13


#: Rounding lets no guess miss that just lies within a share.
_ALLOWED = 1 + 1e-9


def best_guess(factors: FloatArray, within: float) -> tuple[float, float]:
    """Success of the best guess within a share of the value, and the factor of the guess.

    >>> often, factor = best_guess(np.array([0.9, 0.95, 1.05, 1.1]), 0.05)
    >>> often, round(factor, 3)
    (0.5, 0.925)
    """
    ordered = np.sort(factors[factors > 0])
    if not len(ordered):
        return 0.0, 1.0
    most = ordered * ((1 + within) / (1 - within) * _ALLOWED)
    inside = np.searchsorted(ordered, most, side="right") - np.arange(len(ordered))
    first = int(np.argmax(inside))
    ends = ordered[[first, first + inside[first] - 1]]
    return float(inside[first] / len(factors)), float(ends.mean())


def guessed_often(factors: FloatArray, within: float) -> FloatArray:
    """Success of the best guess of each of several cells, whose factors are columns.

    >>> guessed_often(np.array([[0.9, 0.9], [0.95, 1.0], [1.05, 1.2], [1.1, 1.4]]), 0.05)
    array([0.5 , 0.25])
    """
    ordered = np.ascontiguousarray(factors.T)
    ordered.sort(axis=1)
    most = np.where(ordered > 0, ordered * ((1 + within) / (1 - within) * _ALLOWED), -np.inf)
    inside, steps = np.zeros(len(ordered), dtype=np.int64), len(factors)
    for more in (1 << bit for bit in reversed(range(steps.bit_length()))):
        for wanted in np.unique(np.minimum(inside + more, steps)).tolist():
            here = np.flatnonzero(inside + more == wanted)
            last, first = ordered[here, wanted - 1 :], most[here, : steps - wanted + 1]
            inside[here[(last <= first).any(axis=1)]] = wanted
    return inside / steps


@dataclass(frozen=True, repr=False, eq=False)
class GatedCells:
    """The cells of a value column that their gate looks at. CONFIDENTIAL."""

    table: Table
    sums: PerturbedSums

    def hidden(self) -> tuple[BoolArray, GateReport]:
        """The table's cells to hide, and what there is to report."""
        sums, how = self.sums, self.sums.how
        within, noisy = how.p_percent / 100, sums.noisy[sums.own]
        # The noise of counts does not help against readers who know the counts from elsewhere.
        number, counted = None, 0
        if sums.counts is not None and how.ptable is not None:
            number = sums.counts.number[sums.own]
            counted = largest_of_two(how.ptable.content)
        first, second = self._largest
        marked = how.gated
        if marked is None:
            marked = self._made.absolute - first - second < within * first
        marked = np.asarray(marked) & (first > 0)
        chances, every = np.zeros(len(marked)), np.flatnonzero(marked)
        steps = ((np.arange(_STEPS) + 0.5) / _STEPS).tolist()
        for at in (every[start : start + _AT_ONCE] for start in range(0, len(every), _AT_ONCE)):
            draw = drawn_noise(sums.cells.at(at), sums.noise, sums.grid, 0)
            factor = np.sign(self._made.total[at]) / first[at]
            factors = np.array([1 + draw(step) * factor for step in steps])
            chances[at] = guessed_often(factors, within)
        failed = marked & (chances > how.chance)
        hidden = failed.copy()
        if number is not None:
            # Else what is hidden would tell which counts are one or two.
            hidden |= bool(failed.any()) & (number > 0) & (number <= counted)
            hidden &= number > 0
        self._opened(hidden, failed, self._made.count if number is None else number)
        shown = marked & ~hidden & (noisy != 0)
        if number is not None:
            shown &= number > 0
        off = np.abs(np.abs(noisy) - second - first)
        near = shown & (off < within * first)
        return hidden, GateReport(
            cells=len(every),
            failed=int(failed.sum()),
            beside=int((hidden & ~failed).sum()),
            shown=int(shown.sum()),
            near=float(near.sum() / max(shown.sum(), 1)),
            chance=float(chances[shown].max(initial=0.0)),
            p_percent=how.p_percent,
        )

    @property
    def _made(self) -> Contributions:
        return self.table.contributions[self.sums.column]

    @cached_property
    def _largest(self) -> tuple[FloatArray, FloatArray]:
        """The two largest records' contributions; one not known is as large as it can be."""
        top, weight = np.abs(np.nan_to_num(self._made.top[:, :2])), self._made.top_weight
        if weight is not None:
            top = -np.sort(-top * np.nan_to_num(weight[:, :2]), axis=1)
        if self._made.k > 1:
            return top[:, 0], top[:, 1]
        rest = np.maximum(self._made.absolute - top[:, 0], 0.0)
        return top[:, 0], np.where(self._made.count > 1, np.minimum(top[:, 0], rest), 0.0)

    def _opened(self, hidden: BoolArray, failed: BoolArray, size: IntArray) -> None:
        """Hide more cells until no total less its shown parts opens a hidden cell."""
        lookup, seen = CellLookup(self.table), size > 0
        families = []
        for axis, dimension in enumerate(self.table.dimensions):
            above = lookup.parents(axis)
            tree = dimension.breakdown[self.table.index[axis]].astype(np.int64)
            below = np.flatnonzero((above >= 0) & seen)
            trees = len(dimension.classifications)
            codes, family = np.unique(above[below] * trees + tree[below], return_inverse=True)
            families.append((below, family, codes // trees))
        more = True
        while more:
            more = False
            for own in families:
                chosen = self._to_hide(own, hidden, failed, size)
                more |= bool(len(chosen))
                hidden[chosen] = True

    def _to_hide(
        self,
        families: tuple[IntArray, IntArray, IntArray],
        hidden: BoolArray,
        failed: BoolArray,
        size: IntArray,
    ) -> IntArray:
        """Per total that opens what is hidden below it, the smallest part that is shown."""
        below, family, above = families
        concerned = np.bincount(family, failed[below], len(above)) > 0
        own = np.flatnonzero(concerned[family])
        below, family, above = below[own], (np.cumsum(concerned) - 1)[family[own]], above[concerned]
        number, away, spread = len(above), hidden[below], self.sums.deviation[self.sums.own]
        noise = spread[above] ** 2
        noise += np.bincount(family, np.where(away, 0.0, spread[below] ** 2), number)
        largest = self._largest
        sizes = np.concatenate([item[below] * away for item in largest])
        twice = np.concatenate([family, family])
        order = np.lexsort((-sizes, twice))
        begin = np.searchsorted(twice[order], np.arange(number))
        first, second = sizes[order][begin], sizes[order][begin + 1]
        rest = np.bincount(family, self._made.absolute[below] * away, number) - first - second
        within = self.sums.how.p_percent / 100 * first
        open_ = ~hidden[above] & (np.bincount(family, ~away, number) > 0) & (rest < within)
        # The sum of several noises is nearly normal, and the best guess is its middle.
        strays = quotient(within, np.sqrt(2 * noise))
        likely = np.array([erf(stray) for stray in strays.tolist()]) > self.sums.how.chance
        open_ &= likely | (noise == 0)
        shown = np.flatnonzero(~away & open_[family])
        by_size = shown[np.lexsort((below[shown], size[below[shown]], family[shown]))]
        _, places = np.unique(family[by_size], return_index=True)
        return below[by_size[places]]
