"""Which cells of a table with margins are withheld. CONFIDENTIAL until applied.

In: counts of records and of cases in every cell and margin. Out: a mask of withheld cells
by which nobody can find out from sums whether a withheld cell is a small one. Empty cells
are shown, so an attacker knows that every withheld one holds at least one record.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import SuppressionError
from discreet.output_checking.safe.cases import count_of
from discreet.output_checking.safe.groups import Groups
from discreet.output_checking.safe.limits import SafeLimits
from discreet.output_checking.safe.records import IntArray, Records

__all__ = [
    "Asked",
    "BoolArray",
    "Counts",
    "count_cells",
    "hide_cells",
    "lines_of",
    "margins_of",
    "solved",
    "with_margins",
]

BoolArray = npt.NDArray[np.bool_]

_UNBOUNDED = 2**53


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Counts:
    """Counts of a table (confidential). Along each axis the last place is the total.

    Args:
        n: Records in each cell.
        cases: Entities in each cell.
        codes: The cell without margins that each record is in, -1 for none.
        sizes: How many groups there are along each axis.
    """

    n: IntArray
    cases: IntArray
    codes: IntArray
    sizes: tuple[int, ...]

    def __repr__(self) -> str:
        return "<Counts: confidential>"


def count_cells(axes: Sequence[Groups], records: Records) -> Counts:
    """Count records and entities in every cell and margin."""
    sizes = tuple(len(axis) for axis in axes)
    codes = np.zeros(len(axes[0].codes), dtype=np.int64)
    for axis in axes:
        codes *= len(axis)
        codes += axis.codes
    for axis in axes:
        if not axis.complete:
            codes[axis.codes < 0] = -1
    full = tuple(size + 1 for size in sizes)
    n = with_margins(count_of(codes, math.prod(sizes), records.times).reshape(sizes))
    if records.entity is None:
        return Counts(n=n, cases=n, codes=codes, sizes=sizes)
    cases = np.zeros(full, dtype=np.int64)
    complete = bool(codes.size) and all(axis.complete for axis in axes)
    left = []
    for summed in itertools.product((False, True), repeat=len(axes)):
        place = tuple(-1 if total else slice(None, -1) for total in summed)
        known = _known_cases(axes, summed, records) if complete else None
        if known is None:
            left.append((place, _margin_of_cells(sizes, summed)))
        else:
            cases[place] = known
    found = records.union_cases(codes, [union for _, union in left])
    for (place, _), one in zip(left, found, strict=True):
        cases[place] = one.reshape(cases[place].shape)
    return Counts(n=n, cases=cases, codes=codes, sizes=sizes)


def _known_cases(
    axes: Sequence[Groups], summed: Sequence[bool], records: Records
) -> IntArray | int | None:
    """Cases in a margin of at most one variable, where every record is in a group of each."""
    kept = [axis for axis, total in zip(axes, summed, strict=True) if not total]
    if len(kept) > 1:
        return None
    return kept[0].cases if kept else records.everyone


def _margin_of_cells(sizes: Sequence[int], summed: Sequence[bool]) -> tuple[IntArray, int]:
    """For each cell the place in a margin that it adds to, and how many places there are."""
    kept = [1 if total else size for size, total in zip(sizes, summed, strict=True)]
    number = np.arange(math.prod(kept)).reshape(kept)
    return np.append(np.broadcast_to(number, sizes).ravel(), -1), math.prod(kept)


def lines_of(shape: Sequence[int]) -> list[list[tuple[int, int]]]:
    """What adds up to what: for each line the total with -1 and its parts with 1.

    >>> lines_of([3])
    [[(2, -1), (0, 1), (1, 1)]]
    """
    number = np.arange(math.prod(shape)).reshape(shape)
    return [
        [(line[-1], -1), *((cell, 1) for cell in line[:-1])]
        for axis in range(len(shape))
        for line in np.moveaxis(number, axis, -1).reshape(-1, shape[axis]).tolist()
    ]


def hide_cells(
    counts: Counts,
    limits: SafeLimits,
    *,
    sensitive: BoolArray | None = None,
    before: BoolArray | None = None,
) -> tuple[BoolArray, bool]:
    """The cells that are withheld: small ones, and others to protect them.

    Margins that tables of fewer variables show are known, so hiding them would not help;
    only where nothing else helps are they withheld too.

    Args:
        counts: The table.
        limits: The rules.
        sensitive: More cells that must be withheld.
        before: Cells that are withheld already, in tables of fewer variables.

    Returns:
        Which cells are withheld, and whether known margins had to be among them.
    """
    n, cases = counts.n, counts.cases
    primary = (cases > 0) & (cases < limits.minimum)
    if sensitive is not None:
        primary |= sensitive & (n > 0)
    fixed = np.zeros_like(primary) if before is None else before & (n > 0) & ~primary
    if not primary.any():
        return fixed, False
    known = margins_of(n.shape) & ~primary & ~fixed & (before is not None)
    return solved(_problem(n, primary, limits), n, primary, fixed, known)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Asked:
    """Values of a table in whole units, and how well its sensitive cells must be protected.

    CONFIDENTIAL.

    Args:
        value: Values, additive.
        low: What everyone knows: no smaller.
        lower: How much smaller a sensitive cell must possibly be.
        upper: How much larger.
    """

    value: IntArray
    low: IntArray
    lower: IntArray
    upper: IntArray


def solved(
    asked: Asked, n: IntArray, primary: BoolArray, before: BoolArray, known: BoolArray
) -> tuple[BoolArray, bool]:
    """A pattern that leaves known margins shown if there is one, else any."""
    for held in (known, np.zeros_like(known)):
        try:
            hidden = _pattern(asked, n, primary, before, held)
        except SuppressionError:
            if not held.any():
                raise
        else:
            return hidden, bool((hidden & known).any())
    raise AssertionError("unreachable")


def with_margins(inner: IntArray) -> IntArray:
    """A table with its sums at the end of each axis.

    >>> with_margins(np.array([[1, 2]])).tolist()
    [[1, 2, 3], [1, 2, 3]]
    """
    for axis in range(inner.ndim):
        inner = np.concatenate([inner, inner.sum(axis=axis, keepdims=True)], axis=axis)
    return inner


def margins_of(shape: Sequence[int]) -> BoolArray:
    """Which cells are margins."""
    margin = np.zeros(shape, dtype=np.bool_)
    for axis in range(len(shape)):
        np.moveaxis(margin, axis, 0)[-1] = True
    return margin


def _problem(n: IntArray, primary: BoolArray, limits: SafeLimits) -> Asked:
    """Counts: a withheld one may be anything from the smallest possible to a safe one."""
    # Everyone sees which cells are empty, and so how small a cell or margin can be.
    low = with_margins((n > 0)[(slice(None, -1),) * n.ndim].astype(np.int64))
    # A cell of many records may be sensitive too: all of one entity, for example.
    share = np.where(n < limits.minimum, 0, np.ceil(0.3 * n)).astype(np.int64)
    lower = np.minimum(n - low, np.maximum(limits.minimum, share))
    upper = np.maximum(limits.minimum - n, np.maximum(share, 1))
    return Asked(value=n, low=low, lower=lower * primary, upper=upper * primary)


def _pattern(
    asked: Asked, n: IntArray, primary: BoolArray, before: BoolArray, known: BoolArray
) -> BoolArray:
    from discreet.suppression.methods import find_pattern
    from discreet.suppression.problem import CellState, SuppressionProblem
    from discreet.suppression.relations import Relations

    state = np.full(n.size, int(CellState.free), dtype=np.int8)
    state[((n == 0) | known).ravel()] = CellState.fixed
    state[before.ravel()] = CellState.secondary
    state[primary.ravel()] = CellState.primary
    problem = SuppressionProblem(
        value=asked.value.ravel(),
        cost=(n + 1 + margins_of(n.shape) * int(n.max())).ravel(),
        state=state,
        low=asked.low.ravel(),
        high=np.full(n.size, _UNBOUNDED, dtype=np.int64),
        lower=asked.lower.ravel(),
        upper=asked.upper.ravel(),
        sliding=np.zeros(n.size, dtype=np.int64),
        relations=Relations.of(n.size, lines_of(n.shape)),
    )
    return find_pattern(problem, "fast").hidden.reshape(n.shape)
