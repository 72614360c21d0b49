"""`Relaxation`: a lower bound on what protection costs, better with every round. CONFIDENTIAL.

In: a `SuppressionProblem`. Out: the cheapest fractional pattern that fulfils all cuts found
so far. Its cost is a bound – no pattern that protects all sensitive cells is cheaper –
and how much of each cell it hides guides the search for good patterns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.cuts import Cut, Movable, bridge_cuts, movable_of, relation_cuts
from discreet.suppression.problem import SuppressionProblem
from discreet.suppression.separation import Separator

__all__ = ["Relaxation"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Cells are taken as hidden by so much more, first by this, then by that.
_BLURS = (1e-2, 1e-4)
#: Cuts that were not tight for so many rounds are put aside.
_OLD = 12


class Relaxation:
    """The linear program over all cuts found so far.

    Args:
        problem: The problem; a `SuppressionError` names the cells that cannot be protected.
        possible: Whether some pattern is known to protect all of them: saves a proof.
    """

    def __init__(self, problem: SuppressionProblem, *, possible: bool = False) -> None:
        import highspy

        self._highspy: Any = highspy
        self.problem = problem
        self.movable: Movable = movable_of(problem, possible=possible)
        self.separator = Separator(self.movable)
        self.x: FloatArray = self.movable.forced.astype(np.float64)
        self.worth = np.zeros(len(self.movable))
        self.objective = self.proved = 0.0
        self.rounds = 0
        self.complete = not len(self.separator.aims)
        self._blur = 0
        self._begun = False
        self._rows: list[Cut] = []
        self._age: IntArray = np.zeros(0, dtype=np.int64)
        self._aside: list[Cut] = []
        self._solver = self._loaded()

    def _loaded(self) -> Any:
        number = len(self.movable)
        solver = self._highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.addVars(number, self.movable.forced.astype(np.float64), np.ones(number))
        every = np.arange(number, dtype=np.int32)
        solver.changeColsCost(number, every, self.movable.cost)
        return solver

    @property
    def bound(self) -> int:
        """No pattern that protects all sensitive cells costs less."""
        already = self.problem.cost_of(self.problem.hidden)
        return already + self.movable.whole(self.objective)

    @property
    def cuts(self) -> list[Cut]:
        """All cuts found so far."""
        return [*self._rows, *self._aside]

    @property
    def guide(self) -> FloatArray:
        """How much of each cell of the problem the fractional pattern hides, 0 to 1."""
        guide = self.problem.hidden.astype(np.float64)
        guide[self.movable.unknowns.cells] = self.x
        return guide

    def improve(self, seconds: float) -> bool:
        """Look for cuts for a while; whether the bound may still rise by going on.

        Args:
            seconds: When to stop. The bound holds whenever it stops.
        """
        until = time.monotonic() + seconds
        while not self.complete and time.monotonic() < until:
            self.round(until)
        return not self.complete

    def round(self, until: float = math.inf) -> None:
        """Find violated cuts and solve the program with them."""
        self.rounds += 1
        self._begin()
        found = [cut for cut in self._aside if cut.missing(self.x) > 1e-6]
        found += bridge_cuts(self.movable, self.x)
        found += self.separator.cuts(self.x, _BLURS[self._blur], until)
        if self.add(found):
            self.solve()
        elif time.monotonic() < until:
            self._blur += 1
            self.complete = self._blur == len(_BLURS)
            self._blur = min(self._blur, len(_BLURS) - 1)

    def near(self, rounds: int, over: Callable[[], bool]) -> None:
        """Take in what single relations ask for, without any attack: quick at any size.

        Args:
            rounds: How often relations are looked at.
            over: Whether to stop, asked before each round.
        """
        self._begin()
        for _ in range(rounds):
            if over() or not self.add(bridge_cuts(self.movable, self.x)):
                break
            self.solve()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self.add(relation_cuts(self.movable, self.separator.aims))
            self.solve()

    def add(self, cuts: Iterable[Cut]) -> int:
        """Take in cuts; how many were not there yet."""
        fresh = {cut.key: cut for cut in cuts}
        for cut in fresh.values():
            cells = cut.cells.astype(np.int32)
            self._solver.addRow(cut.least, self._highspy.kHighsInf, cells.size, cells, cut.coef)
        self._aside = [cut for cut in self._aside if cut.key not in fresh]
        self._rows += fresh.values()
        self._age = np.concatenate([self._age, np.zeros(len(fresh), dtype=np.int64)])
        return len(fresh)

    def solve(self) -> None:
        """Solve the program as it stands; anew, where going on from the last time fails."""
        self._solver.run()
        optimal = self._highspy.HighsModelStatus.kOptimal
        if self._solver.getModelStatus() != optimal:
            self._solver.clearSolver()
            self._solver.run()
        if self._solver.getModelStatus() != optimal:
            raise SuppressionError(
                "the solver found no cheapest fractional pattern",
                code="solver",
                hint="report this: hiding everything fulfils every cut",
            )
        answer = self._solver.getSolution()
        self.x = np.clip(np.array(answer.col_value, dtype=np.float64), 0.0, 1.0)
        weights = np.maximum(np.array(answer.row_dual, dtype=np.float64), 0.0)
        self._prove(weights)
        self._put_aside(weights)

    def _prove(self, weights: FloatArray) -> None:
        """The bound that multipliers of the cuts prove, whatever the solver says."""
        rest = self.movable.cost.copy()
        total = 0.0
        for at in np.flatnonzero(weights):
            cut = self._rows[at]
            rest[cut.cells] -= weights[at] * cut.coef
            total += float(weights[at]) * cut.least
        free = ~self.movable.forced
        self.worth = rest
        self.proved = total + float(np.minimum(rest, 0.0)[free].sum() + rest[~free].sum())
        self.objective = max(self.objective, self.proved)

    def _put_aside(self, weights: FloatArray) -> None:
        """Take cuts out of the program that have not been tight for long."""
        self._age = np.where(weights > 0, 0, self._age + 1)
        old = np.flatnonzero(self._age > _OLD).astype(np.int32)
        if old.size < max(100, len(self._rows) // 3):
            return
        self._solver.deleteRows(old.size, old)
        gone = set(old.tolist())
        self._aside += [self._rows[at] for at in old]
        self._rows = [cut for at, cut in enumerate(self._rows) if at not in gone]
        self._age = np.delete(self._age, old)

    def __repr__(self) -> str:
        return f"<Relaxation (confidential): {len(self._rows):,} cuts, {self.rounds:,} rounds>"
