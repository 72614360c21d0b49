"""`protect_optimal`: the cheapest pattern that protects all sensitive cells, proven.

In: a `SuppressionProblem` (CONFIDENTIAL). Out: a certified `Pattern` with a bound; cost and
bound are equal unless a time limit strikes first. Cuts from attacks on fractional
patterns raise the bound, branching closes what is left.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from discreet.suppression.branching import Branching
from discreet.suppression.fast import protect_fast
from discreet.suppression.pattern import Pattern, certified
from discreet.suppression.problem import CellState, SuppressionProblem
from discreet.suppression.relaxation import Relaxation

__all__ = ["protect_optimal"]

#: Patterns are looked for after so many rounds of cuts.
_PAUSE = 5
#: With more cells that may be hidden, the method `fast` finds the first pattern.
_SMALL = 5_000
#: Cells that the relaxation hides by more are hidden.
_SURE = 0.9


def protect_optimal(
    problem: SuppressionProblem,
    *,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
    seed: int = 0,
) -> Pattern:
    """Hide cells so that all sensitive ones are protected, at the lowest cost.

    Args:
        problem: The cells, costs, levels and relations.
        time_limit: Seconds after which the best pattern found so far is returned, with
            `complete=False` and the bound that is proven.
        progress: Called with a line of text now and then.
        seed: Draws for the first pattern of large problems; what follows is not random.
    """
    began = time.monotonic()
    until = math.inf if time_limit is None else began + time_limit
    tell = progress or (lambda line: None)
    search = _begun(problem, time_limit, tell, seed)
    relaxation = search.relaxation
    while not relaxation.complete and not search.proven and time.monotonic() < until:
        relaxation.round(until)
        if relaxation.rounds % _PAUSE == 0 or relaxation.complete:
            search.complete(relaxation.x > _SURE, until)
            tell(_line(search))
    while not search.proven and time.monotonic() < until:
        search.round(until)
        tell(_line(search))
    return _pattern(search, time.monotonic() - began)


def _begun(
    problem: SuppressionProblem, time_limit: float | None, tell: Callable[[str], None], seed: int
) -> Branching:
    """The search with a first pattern."""
    if int((problem.state != CellState.fixed).sum()) <= _SMALL:
        search = Branching(Relaxation(problem))
        search.complete(search.movable.forced, math.inf)
        return search
    first = protect_fast(problem, time_limit=time_limit, progress=tell, seed=seed)
    search = Branching(Relaxation(problem, possible=first.safe))
    search.keep(first.hidden[search.movable.unknowns.cells])
    return search


def _line(search: Branching) -> str:
    bound = max(search.relaxation.bound, search.proven_bound)
    problem = search.relaxation.problem
    best = problem.cost_of(problem.hidden) + search.cost
    cuts = len(search.relaxation.cuts)
    return f"best {best:,}, bound {bound:,}, {cuts:,} cuts, {search.rounds:,} branchings"


def _pattern(search: Branching, seconds: float) -> Pattern:
    problem = search.relaxation.problem
    hidden = search.relaxation.movable.hidden(problem, search.best)
    cost = problem.cost_of(hidden)
    bound = max(search.relaxation.bound, search.proven_bound)
    return certified(
        problem,
        hidden,
        "optimal",
        bound=cost if search.proven else min(bound, cost),
        complete=search.proven,
        seconds=seconds,
    )
