"""What a reader works out from adjusted figures who knows the rule. CONFIDENTIAL.

The reader knows which figures are sensitive, their protection levels and by how much more they
moved at most, which totals stayed, and that sums were kept. Of each sensitive figure he asks
whether the true one can lie above the published one, and below it. Where only one side is possible,
the figure is open: the true one lies in an interval narrower than its levels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure import DisclosureVerdict, Gap, Judged
from discreet.protection.suppression import SuppressionProblem
from discreet.solver import column_values, is_optimal, loaded_solver

#: More sensitive figures than this are not asked for one by one.
MOST_ASKED = 5_000
_NEAR = 1e-6


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class AdjustmentAudit(Judged):
    """On which sides readers find the true figures possible. CONFIDENTIAL."""

    sensitive: tuple[str, ...]  # names of the sensitive cells
    above: BoolArray  # of each: whether the true figure can lie above the published one
    below: BoolArray  # whether below
    guessed: bool  # whether readers can guess how far each figure moved
    unasked: int  # sensitive cells that were not asked for
    unexamined: tuple[Gap, ...]  # what no reader was asked for

    @property
    def judgement(self) -> DisclosureVerdict:
        """Open: figures whose side is known. Cells that were not asked for are a gap."""
        names = np.array(self.sensitive, dtype=np.object_)
        gaps = list(self.unexamined)
        if self.sensitive:  # who contributes knows part of a figure, and perhaps its side
            gaps.append(Gap("sides", number=len(self.sensitive)))
        if self.unasked:
            gaps.append(Gap("estimates", "sides of sensitive figures", self.unasked))
        return DisclosureVerdict.of(names[~(self.above & self.below)].tolist(), gaps)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ReaderKnowledge:
    """Intervals of a reader who knows the rule. CONFIDENTIAL."""

    problem: SuppressionProblem  # which figures are sensitive, and what adds up to what
    stays: BoolArray  # which figures are the true ones
    up: IntArray  # of each sensitive figure: how far it moved at least if it went up
    down: IntArray  # if it went down
    spread: float  # by which share of that it may have moved farther
    most: float  # by which share of itself any other figure may have moved
    unexamined: tuple[Gap, ...]  # which ties between the tables were not looked for

    def __repr__(self) -> str:
        return "<ReaderKnowledge: confidential>"

    def sides(self, published: IntArray) -> AdjustmentAudit:
        """Ask for each sensitive figure on which side of it the true one can lie."""
        problem, cells = self.problem, self.problem.primary
        # Back from a published figure to the true one: below it where it went up, above where down.
        size = np.abs(published).astype(np.float64)
        others = self.most < 1.0
        above = size * self.most / (1.0 - self.most) if others else np.full(len(size), np.inf)
        below = size * self.most / (1.0 + self.most) if others else size.copy()
        # Sensitive figures move farther where others ask for it: at most they double.
        above[cells] = np.inf
        below[cells] = np.maximum(size[cells] / 2.0, 2.0 * np.ceil(self.up * (1.0 + self.spread)))
        above[self.stays] = below[self.stays] = 0.0
        # What everybody knows of the true figures, such as that counts are not negative.
        below = np.minimum(below, np.where(problem.low >= 0, published, np.inf))
        solver = loaded_solver(
            problem.relations.matrix, -np.maximum(below, 0.0), np.maximum(above, 0.0)
        )
        possible = np.ones((2, len(cells)), dtype=np.bool_)
        for at, cell in enumerate(cells[:MOST_ASKED].tolist()):
            for side, (wish, least) in enumerate(((-1.0, self.down[at]), (1.0, self.up[at]))):
                solver.changeColCost(cell, wish)
                solver.run()
                reached = -wish * column_values(solver)[cell] if is_optimal(solver) else np.inf
                possible[side, at] = reached >= least - _NEAR
            solver.changeColCost(cell, 0.0)
        return AdjustmentAudit(
            sensitive=tuple(problem.name(at) for at in cells.tolist()),
            above=possible[0],
            below=possible[1],
            guessed=self.spread == 0,
            unasked=max(0, len(cells) - MOST_ASKED),
            unexamined=self.unexamined,
        )
