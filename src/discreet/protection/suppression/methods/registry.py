"""The methods of cell suppression by name, and what their patterns must hold against besides.

In: a `SuppressionProblem` and the name of a method. Out: the `Pattern` that it finds, audited, that
also holds against readers who know that values are whole numbers, and that no combination of codes
is negative, published or not. Around each cell that is open to them more is hidden: cells beside
it, cheapest first. What was not examined is an error, unless it is accepted by its name.
CONFIDENTIAL.

Where published cells leave a sensitive one no room, the fewest are named that would have to be
hidden, and the share of its levels that it can keep: neither is done, somebody has to decide it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure import DisclosureVerdict, Gap, Insiders, Patches, refuse_cells
from discreet.errors import Problem, SuppressionError, raise_all
from discreet.protection.suppression.methods.branch_and_cut import (
    SEARCHED,
    guarded_pattern,
    protect_auto,
    protect_optimal,
)
from discreet.protection.suppression.methods.cut_program import lower_bound_of, quick_lower_bound
from discreet.protection.suppression.methods.fast import FROZEN, NARROW, protect_fast
from discreet.protection.suppression.methods.subtables import protect_hypercube, protect_modular
from discreet.protection.suppression.methods.worktime import WorkTime
from discreet.protection.suppression.problem.system import CellState, SuppressionProblem
from discreet.protection.suppression.proof.certificate import (
    Certificate,
    Pattern,
    certified,
    certify,
    held_in_joint_cubes,
    held_in_whole_numbers,
    opened_to_insiders,
    untested_gaps,
)
from discreet.protection.suppression.settings import Method

if TYPE_CHECKING:
    from discreet.disclosure import LinkedTable

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
    tables: Sequence[LinkedTable] = (),
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
        tables: Tables whose joint cubes, published or not, must open no cell either.

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
    pattern = _held_against_all(problem, pattern, insiders, tables, watch)
    unproven = pattern.certificate.unprotected  # is never handed on
    message, hint = "it is not proven to be protected", "allow more time, or use another method"
    refuse_cells(unproven, problem.name, message, "unprotected", hint)
    if pattern.bound is None:
        bound = quick_lower_bound(problem) if watch.limited else lower_bound_of(problem)
        pattern = replace(pattern, bound=min(bound, pattern.cost))
    return pattern


#: So often twice as many cells are hidden beside an open one; then all that may be.
_ROUNDS = 8
#: So many of the cells that were hidden for others are published again, if that can be.
_TAKEN_BACK = 200
#: By the code of the error that opened cells are: what is told of those that were, and what of
#: those that nothing protects.
_OPENED = {
    "whole-numbers": (
        "that only fractions protected",
        "apart from its true value only fractions are possible, and values are whole",
        "let more cells be hidden, widen the bounds said to be known, or merge categories",
    ),
    "infeasible": (
        "that a joint cube opened",
        "the joint cube of the tables opens it, whatever else is hidden",
        "leave out one of the tables, or merge categories",
    ),
}


def _beside(
    problem: SuppressionProblem, hidden: BoolArray, opened: IntArray, rounds: int
) -> IntArray:
    """The cheapest of the next cells that may be hidden, as relations tie them to opened ones."""
    many = 2**rounds if rounds < _ROUNDS else len(problem)
    free, links = (problem.state != CellState.fixed) & ~hidden, problem.relations
    chosen = [np.zeros(0, dtype=np.int64)]
    for cell in opened:
        near, reach = np.zeros(0, dtype=np.int64), np.array([cell])
        while len(reach) > len(near) and np.count_nonzero(free[reach]) < many:
            near, rows = reach, np.unique(links.row[np.isin(links.cell, reach)])
            reach = np.union1d(reach, links.cell[np.isin(links.row, rows)])
        near = reach[free[reach]]
        chosen.append(near[np.argsort(problem.cost[near], kind="stable")][:many])
    more = np.unique(np.concatenate(chosen))
    return more if more.size else np.flatnonzero(free)


def _held_against_all(
    problem: SuppressionProblem,
    pattern: Pattern,
    insiders: Insiders | None,
    tables: Sequence[LinkedTable],
    watch: WorkTime,
) -> Pattern:
    """The pattern with what insiders and other readers ask for besides, until none asks more.

    What is hidden for others can leave one contributor alone behind more cells.
    """

    def opened(
        hidden: BoolArray, certificate: Certificate
    ) -> tuple[Certificate, IntArray, tuple[Gap, ...], str]:
        """What readers open, and what was not examined; the code of an error about it."""
        certificate = held_in_whole_numbers(problem, hidden, certificate)
        cells, gaps = certificate.unprotected, untested_gaps(certificate)
        if len(cells) or not tables:
            return certificate, cells, gaps, "whole-numbers"
        certificate, of_cubes = held_in_joint_cubes(problem, hidden, certificate, tables)
        cells, gaps = certificate.unprotected, (*gaps, *of_cubes)
        if insiders is not None:
            alone, of_insiders = opened_to_insiders(problem, hidden, insiders, tables)
            cells, gaps = np.union1d(cells, alone), (*of_insiders, *gaps)
        return certificate, cells, gaps, "infeasible"

    kept, most = problem, dict.fromkeys(_OPENED, 0)
    while pattern.safe:
        if insiders is not None:
            pattern = guarded_pattern(kept, pattern, insiders, watch)
            if not pattern.safe:
                break
        hidden, rounds = pattern.hidden.copy(), 0
        certificate, cells, gaps, code = opened(hidden, pattern.certificate)
        while len(cells):
            most[code] = max(most[code], len(cells))
            beside = _beside(problem, hidden, cells, rounds)
            if not beside.size:
                refuse_cells(cells, problem.name, _OPENED[code][1], code, _OPENED[code][2])
            hidden[beside], rounds = True, rounds + 1
            certificate, cells, gaps, code = opened(hidden, certify(problem, hidden))
        more = np.flatnonzero(hidden & ~pattern.hidden)
        for cell in more[np.argsort(-problem.cost[more], kind="stable")][:_TAKEN_BACK]:
            hidden[cell] = False
            less, cells, left, _ = opened(hidden, certify(problem, hidden))
            hidden[cell] = worse = len(cells) > 0 or left != gaps
            certificate = certificate if worse else less
        known = {name: getattr(pattern, name) for name in ("bound", "complete", "seconds", "notes")}
        known |= {"certificate": certificate, "gaps": gaps}
        added = hidden & ~pattern.hidden
        pattern = certified(problem, hidden, pattern.method, **known)
        if insiders is None or not added.any():
            break
        kept = kept.with_hidden(kept.hidden | added)
    notes = (
        f"more is hidden around {number:,} sensitive cells {_OPENED[code][0]}"
        for code, number in most.items()
        if number
    )
    return replace(pattern, notes=(*pattern.notes, *notes))


def refuse_gaps(verdict: DisclosureVerdict, where: str) -> None:
    """Raise one error for all that was not examined; do nothing where nothing is left."""
    problems = [
        Problem(
            f"not examined: {gap.text()}",
            where,
            f'{gap.remedy()}; or accept the gap: accept = ["{gap.name}"]',
        )
        for gap in verdict.gaps
    ]
    raise_all(SuppressionError, problems, code="not-examined", many="{} gaps were not examined")


# -- published cells in the way ----------------------------------------------------------

#: Cells of which this is worked out, published cells that are named for each, and how many cells
#: around it they are looked for among.
_CELLS, _NAMED, _AROUND = 20, 8, (60, 400)
#: In larger problems errors stay as they are.
_LARGEST = 60_000


def with_conflicts(problem: SuppressionProblem, error: SuppressionError) -> SuppressionError:
    """The error, with what stands in the way if it says that there is no pattern."""
    frozen = problem.state == CellState.fixed
    if error.code != "infeasible" or not frozen.any() or len(problem) > _LARGEST:
        return error
    certificate = certify(problem, ~frozen)
    number = np.flatnonzero(~certificate.protected)
    problems = []
    for at in number[:_CELLS].tolist():
        cell = int(certificate.cells[at])
        low, high = -float(certificate.low[at]), float(certificate.high[at])
        reached = ((low, problem.lower), (high, problem.upper), (low + high, problem.sliding))
        shares = [far / int(level[cell]) for far, level in reached if level[cell]]
        share = int(np.floor(100 * max(min(shares, default=0.0), 0.0) + 1e-6))
        part = f"{share} %" if share else "no part"
        fewer = f"{part} of its protection levels can be kept as it is"
        problems.append(_conflict(problem, frozen, cell, fewer))
    if not problems:
        return error
    left = len(number) - len(problems)
    more = [Problem(f"and {left:,} more")] if left > 0 else []
    return SuppressionError(
        error.what,
        code=error.code,
        where=error.where,
        hint=error.hint,
        problems=[*problems, *more],
    )


def _conflict(problem: SuppressionProblem, frozen: BoolArray, cell: int, fewer: str) -> Problem:
    """What stands in the way of one cell."""
    name, message = problem.name(cell), FROZEN
    if cell in problem.without_room:
        return Problem(NARROW, name, fewer)
    hidden = ~frozen
    for size in _AROUND:
        hidden[_fewest(problem, frozen, cell, size)] = True
        if (hidden & frozen).any():
            break
    watched = np.arange(len(problem)) == cell
    named = [problem.name(int(item)) for item in np.flatnonzero(hidden & frozen)]
    if named and not len(certify(problem, hidden, watched).unprotected):
        more = [f"and {len(named[_NAMED:]):,} more"] if named[_NAMED:] else []
        message += f"; suppress at least: {'; '.join([*named[:_NAMED], *more])}"
        return Problem(message, name, f"decide that, or that {fewer}")
    return Problem(message, name, fewer)


def _fewest(problem: SuppressionProblem, frozen: BoolArray, cell: int, size: int) -> IntArray:
    """The fewest published cells that would have to be hidden, among the nearest to a cell."""
    patches = Patches(problem.relations, np.ones(len(problem), dtype=np.bool_))
    near = np.zeros(len(problem), dtype=np.bool_)
    near[patches.nearest(np.array([cell]), size, np.ones(len(problem)))] = True
    links, cells = problem.relations.among(near)
    columns = problem.columns_at(cells)
    columns["cost"] = frozen[cells].astype(np.int64)
    columns["state"] = np.where(frozen[cells], CellState.free, CellState.secondary).astype(np.int8)
    columns["state"][cells == cell] = CellState.primary
    try:
        pattern = protect_optimal(SuppressionProblem(relations=links, **columns))
    except SuppressionError:  # not among so few
        return cells[:0]
    return cells[pattern.hidden & frozen[cells]]
