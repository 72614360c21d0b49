"""The methods of cell suppression by name.

In: a `SuppressionProblem` and the name of a method. Out: the `Pattern` that it finds,
audited. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from discreet.disclosure import Insiders, refuse_cells
from discreet.errors import SuppressionError
from discreet.protection.suppression.methods.branch_and_cut import protect_auto, protect_optimal
from discreet.protection.suppression.methods.cut_program import lower_bound_of, quick_lower_bound
from discreet.protection.suppression.methods.fast import protect_fast
from discreet.protection.suppression.methods.guards import (
    protected_in_whole_numbers,
    with_conflicts,
)
from discreet.protection.suppression.methods.insider_guard import SEARCHED, guarded_pattern
from discreet.protection.suppression.methods.subtables import protect_hypercube, protect_modular
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import Pattern
from discreet.protection.suppression.settings import Method

METHODS: dict[str, Callable[..., Pattern]] = {
    "auto": protect_auto,
    "fast": protect_fast,
    "optimal": protect_optimal,
    "modular": protect_modular,
    "hypercube": protect_hypercube,
}

#: Takes a line of text now and then.
Progress = Callable[[str], None]


def find_pattern(
    problem: SuppressionProblem,
    method: Method = "auto",
    *,
    time_limit: float | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    begin: float | None = None,
    insiders: Insiders | None = None,
) -> Pattern:
    """Find which cells to hide.

    Args:
        problem: The cells, costs, levels and relations.
        method: "auto": near the lowest cost, with a bound; "fast": quickly, at any size;
            "optimal": the lowest cost, proven; "modular" and "hypercube": the methods of
            these names, repaired where an audit finds cells open.
        time_limit: Seconds for everything, proof and some time for writing too: then the best
            pattern so far is returned, proven. If there is none, that is an error.
        progress: Is told what is being done.
        seed: For methods that draw; the same seed gives the same pattern.
        begin: When the time that is limited began, by the monotonic clock; now if None.
        insiders: Who stands alone behind which cells: none of them may open a cell of
            others; None to leave them out of account.

    Returns:
        A pattern that protects every sensitive cell, with a bound on what others cost.

    >>> find_pattern(None, "magic")
    Traceback (most recent call last):
        ...
    discreet.errors.SuppressionError: [method] unknown method 'magic'
      Hint: methods: auto, fast, optimal, modular, hypercube
    """
    if method not in METHODS:
        hint = f"methods: {', '.join(METHODS)}"
        raise SuppressionError(f"unknown method {method!r}", code="method", hint=hint)
    if time_limit is not None and not time_limit > 0:
        raise SuppressionError("a time limit is more than 0 seconds", code="time-limit")
    watch = WorkTime(time_limit, progress, begin)
    problem.check()
    try:
        guarded = (insiders,) if method in SEARCHED else ()
        pattern = METHODS[method](problem, watch, seed, *guarded)
    except SuppressionError as error:
        raise with_conflicts(problem, error) from None
    pattern = _held_against_all(problem, pattern, insiders, watch)
    unproven = pattern.certificate.unprotected  # is never handed on
    message, hint = "it is not proven to be protected", "allow more time, or use another method"
    refuse_cells(unproven, problem.name, message, "unprotected", hint)
    if pattern.bound is None:
        bound = quick_lower_bound(problem) if watch.limited else lower_bound_of(problem)
        pattern = replace(pattern, bound=min(bound, pattern.cost))
    return pattern


def _held_against_all(
    problem: SuppressionProblem, pattern: Pattern, insiders: Insiders | None, watch: WorkTime
) -> Pattern:
    """The pattern with what insiders and whole numbers ask for besides, until neither asks more.

    What is hidden for whole numbers can leave one contributor alone behind more cells.
    """
    kept = problem
    while True:
        if insiders is not None and pattern.safe:
            pattern = guarded_pattern(kept, pattern, insiders, watch)
        guarded = pattern.hidden
        pattern = protected_in_whole_numbers(problem, pattern)
        more = pattern.hidden & ~guarded
        if insiders is None or not more.any():
            return pattern
        state = kept.state.copy()
        state[more] = CellState.secondary
        kept = replace(kept, state=state)
