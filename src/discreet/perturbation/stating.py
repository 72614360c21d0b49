"""Perturbation tables stated in Python: cumulative or transition matrices, rows.

In: probabilities as floats, decimals, fractions or texts. Out: checked
`Intervals`. SECRET. Sums are exact; bounds are then rounded to 15 decimals,
the precision of the keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from discreet.errors import PerturbationError, Problem
from discreet.perturbation.checks import check_entries
from discreet.perturbation.intervals import DECIMAL_SCALE, Beyond, Closed, Entry, Intervals
from discreet.perturbation.readers import exact

__all__ = ["from_cumulative", "from_rows", "from_transition"]

_NEAR = Fraction(1, 10**9)


def from_cumulative(
    matrix: Any, noise: Iterable[int], *, name: str, zeros: bool, beyond: Beyond
) -> Intervals:
    """Intervals from cumulative probabilities: row = count, column = noise value."""
    rows, values = _matrix(matrix), _integers(noise, "noise")
    problems = _shape_problems(rows, values)
    entries = []
    for count, row in enumerate(rows):
        numbers = [_number(cell) for cell in row]
        problems += _number_problems(numbers, count)
        if None not in numbers and len(row) == len(values):
            bounds = [_rounded(number) for number in numbers if number is not None]
            entries += _entries(count, values, bounds)
    return check_entries(entries, name=name, zeros=zeros, beyond=beyond, problems=problems)


def from_transition(
    matrix: Any, targets: Iterable[int] | None, *, name: str, zeros: bool, beyond: Beyond
) -> Intervals:
    """Intervals from probabilities: row = original count, column = published count."""
    rows = _matrix(matrix)
    width = len(rows[0]) if rows else 0
    columns = list(range(width)) if targets is None else _integers(targets, "targets")
    problems = _shape_problems(rows, columns)
    stated = {}
    for count, row in enumerate(rows):
        if len(row) == len(columns):
            pairs = zip(columns, row, strict=True)
            stated[count] = {target - count: share for target, share in pairs}
    return from_rows(
        stated, name=name, zeros=zeros, beyond=beyond, closed="left", problems=problems
    )


def from_rows(
    rows: Mapping[int, Mapping[int, Any]],
    *,
    name: str,
    zeros: bool,
    beyond: Beyond,
    closed: Closed,
    problems: Sequence[Problem] = (),
) -> Intervals:
    """Intervals from {count: {noise: probability}}, laid out by ascending noise."""
    if not isinstance(rows, Mapping) or not all(isinstance(row, Mapping) for row in rows.values()):
        raise _not_of_form("rows are written {count: {noise: probability}}", "rows")
    found = list(problems)
    entries = []
    for count in _integers(rows, "rows"):
        values = sorted(_integers(rows[count], "noise"))
        shares = [_number(rows[count][value]) for value in values]
        wrong = _number_problems(shares, count)
        known = [share for share in shares if share is not None]
        if any(share < 0 for share in known):
            wrong.append(Problem("a probability is negative", f"row {count}"))
        if wrong or not known:
            found += wrong or [Problem("the row is empty", f"row {count}")]
            entries.append(Entry(f"row {count}", count, max(0, -count), Fraction(1)))
            continue
        bounds = [_rounded(bound) for bound in accumulate(known)]
        entries += _entries(count, values, bounds)
    if not zeros:  # a row that is wrong anyway is no statement about zeros
        zeros = any(problem.where == "row 0" for problem in found)
    return check_entries(
        entries, name=name, closed=closed, zeros=zeros, beyond=beyond, problems=found
    )


def _entries(count: int, values: Sequence[int], bounds: Sequence[Fraction]) -> list[Entry]:
    pairs = zip(values, bounds, strict=True)
    return [Entry(f"row {count}", count, value, bound) for value, bound in pairs]


def _matrix(matrix: Any) -> list[list[Any]]:
    if hasattr(matrix, "to_numpy"):
        matrix = matrix.to_numpy()
    try:
        rows: list[list[Any]] = [list(row) for row in matrix]
    except TypeError:
        raise _not_of_form("a matrix is a list of rows, an array or a frame", "matrix") from None
    return rows


def _shape_problems(rows: Sequence[Sequence[Any]], columns: Sequence[int]) -> list[Problem]:
    problems = []
    if len(set(columns)) != len(columns):
        problems.append(Problem("a column is named twice"))
    for count, row in enumerate(rows):
        if len(row) != len(columns):
            what = f"the row has {len(row)} columns, {len(columns)} are named"
            problems.append(Problem(what, f"row {count}"))
    return problems


def _number_problems(numbers: Sequence[Fraction | None], count: int) -> list[Problem]:
    missing = sum(number is None for number in numbers)
    return [Problem(f"{missing} probabilities are not numbers", f"row {count}")] if missing else []


def _integers(values: Iterable[Any], what: str) -> list[int]:
    try:
        numbers = list(values)
    except TypeError:
        raise _not_of_form("a list of whole numbers is needed", what) from None
    for value in numbers:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise PerturbationError(
                "these must be whole numbers",
                code="perturbation-table",
                where=what,
                hint="noise in fractions belongs to perturbation tables for magnitudes",
            )
    return [int(value) for value in numbers]


def _not_of_form(what: str, where: str) -> PerturbationError:
    return PerturbationError(what, code="perturbation-table", where=where)


def _number(value: Any) -> Fraction | None:
    """A probability as it is written: floats by their shortest decimal form."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    if isinstance(value, float | np.floating):
        return exact(repr(float(value)))
    if isinstance(value, str | Decimal):
        return exact(str(value))
    return None


def _rounded(bound: Fraction) -> Fraction:
    return Fraction(round(bound * DECIMAL_SCALE), DECIMAL_SCALE)
