"""`Branching`: whole patterns that fulfil all cuts, cheapest first. CONFIDENTIAL.

In: a `Relaxation`. Out: proven bounds and patterns that protect all sensitive cells, until
both meet. Each round solves the 0/1 program over all cuts; a solution that leaves an
aim open gives new cuts, and is completed to a pattern that may be the best so far.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.suppression.certificate import certify
from discreet.suppression.cuts import Cut
from discreet.suppression.guided import Guide
from discreet.suppression.relaxation import Relaxation

__all__ = ["Branching"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

#: Costs are whole: a bound so near below a cost has met it.
_MET = 0.5
#: Reduced costs are compared with this tolerance.
_NEAR = 1e-3
#: Cuts at whole patterns are looked for around them.
_BLURS = (1e-2, 1e-3, 0.0)


class Branching:
    """The search for the cheapest pattern.

    Args:
        relaxation: Its cuts; more are added to it.
        nodes: At how many nodes a round gives up; without, at none.
    """

    def __init__(self, relaxation: Relaxation, nodes: int | None = None) -> None:
        import highspy

        self._highspy: Any = highspy
        self.relaxation = relaxation
        self.movable = relaxation.movable
        self.separator = relaxation.separator
        self.guide = Guide(self.separator)
        #: Hiding everything is safe: that is checked before there are movable cells.
        self.best: BoolArray = np.ones(len(self.movable), dtype=np.bool_)
        self.cost = self.movable.paid(self.best)
        self.bound = 0.0
        self.rounds = 0
        #: Steps of the solver so far.
        self.work = 0
        self._nodes = nodes

    @property
    def proven(self) -> bool:
        """Whether no pattern is cheaper than the best one found."""
        return self.movable.whole(max(self.bound, self.relaxation.objective)) >= self.cost

    @property
    def gap(self) -> float:
        """By how much the best pattern is dearer than what is proven."""
        return self.cost - max(self.bound, self.relaxation.objective)

    @property
    def proven_bound(self) -> int:
        """No pattern costs less, as far as the branching has shown."""
        problem = self.relaxation.problem
        return problem.cost_of(problem.hidden) + self.movable.whole(self.bound)

    def complete(self, start: BoolArray, until: float) -> None:
        """Complete cells to a pattern, and keep it if it is the best."""
        found = self.guide.pattern(self.relaxation.x, start, until)
        if found is not None:
            self.keep(found)

    def keep(self, chosen: BoolArray) -> bool:
        """Keep a pattern if it is cheaper than the best one and certified."""
        cheaper = self.movable.cost[chosen].sum() < self.movable.cost[self.best].sum()
        if not cheaper or len(self._unprotected(chosen)):
            return False
        self.best, self.cost = chosen, self.movable.paid(chosen)
        return True

    def _unprotected(self, chosen: BoolArray) -> npt.NDArray[np.int64]:
        problem = self.relaxation.problem
        return certify(problem, self.movable.hidden(problem, chosen)).unprotected

    def round(self, until: float) -> bool:
        """Solve the 0/1 program, then look for cuts that its solution violates.

        Returns:
            Whether it came to something; if not, it is proven, or its limits struck.
        """
        self.rounds += 1
        found = self._solved(until)
        if found is None:
            return False
        cuts = self._cuts_at(found, until)
        if not cuts and len(self._unprotected(found)):
            cuts = self._last_cuts(found)
        if cuts:
            self.relaxation.add(cuts)
            self.complete(found, until)
        else:
            self.keep(found)
        return True

    def _cuts_at(self, chosen: BoolArray, until: float) -> list[Cut]:
        x = chosen.astype(np.float64)
        for blur in _BLURS:
            cuts = self.separator.cuts(x, blur, until)
            if cuts:
                return cuts
        return []

    def _last_cuts(self, chosen: BoolArray) -> list[Cut]:
        """Cuts for a pattern that is not safe though small moves do not show it."""
        x = chosen.astype(np.float64)
        wide = [self.separator.cut_for(int(at), x) for at in self.separator.open_at(x)]
        cuts = [cut for cut in wide if cut is not None]
        if cuts:
            return cuts
        # Hiding less is no safer: at least one more cell must be hidden.
        cells = np.flatnonzero(~chosen).astype(np.int64)
        return [Cut(cells=cells, coef=np.ones(cells.size))]

    def _solved(self, until: float) -> BoolArray | None:
        """A cheapest pattern that fulfils all cuts and is cheaper than the best; or none."""
        solver = self._loaded(until)
        solver.run()
        status, known = solver.getModelStatus(), solver.getInfo()
        statuses = self._highspy.HighsModelStatus
        self.work += max(0, int(known.simplex_iteration_count))
        if status in (statuses.kInfeasible, statuses.kUnboundedOrInfeasible):
            self.bound = self.movable.below(self.cost) + 1.0
            return None
        if status not in (statuses.kOptimal, statuses.kTimeLimit, statuses.kSolutionLimit):
            raise SuppressionError(
                "the solver could not decide on a cheapest pattern",
                code="solver",
                hint="report this, or use the method auto",
            )
        self.bound = max(
            self.bound, min(float(known.mip_dual_bound), self.cost + self.movable.tiny)
        )
        if status == statuses.kTimeLimit or not math.isfinite(known.objective_function_value):
            return None
        return np.array(solver.getSolution().col_value) > 0.5

    def _loaded(self, until: float) -> Any:
        solver = self._highspy.Highs()
        for option, setting in (
            ("output_flag", False),
            ("threads", 1),
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", _MET),
            ("mip_feasibility_tolerance", 1e-9),
            ("time_limit", max(0.1, min(until - time.monotonic(), 1e9))),
        ):
            solver.setOptionValue(option, setting)
        if self._nodes is not None:
            solver.setOptionValue("mip_max_nodes", self._nodes)
        number = len(self.movable)
        low, high = self._ranges()
        solver.addVars(number, low, high)
        every = np.arange(number, dtype=np.int32)
        solver.changeColsCost(number, every, self.movable.cost)
        kinds = np.full(number, self._highspy.HighsVarType.kInteger)
        solver.changeColsIntegrality(number, every, kinds)
        for cut in self.relaxation.cuts:
            cells = cut.cells.astype(np.int32)
            solver.addRow(cut.least, self._highspy.kHighsInf, cells.size, cells, cut.coef)
        paid = np.flatnonzero(self.movable.cost).astype(np.int32)
        most, prices = self.movable.below(self.cost), self.movable.cost[paid]
        solver.addRow(-self._highspy.kHighsInf, most, paid.size, paid, prices)
        return solver

    def _ranges(self) -> tuple[FloatArray, FloatArray]:
        """Cells whose hiding or showing alone makes a pattern too dear are settled."""
        low, high = self.movable.forced.astype(np.float64), np.ones(len(self.movable))
        room = self.movable.below(self.cost) - self.relaxation.proved + _NEAR
        high[(self.relaxation.worth > room) & ~self.movable.forced] = 0.0
        low[self.relaxation.worth < -room] = 1.0
        return low, high
