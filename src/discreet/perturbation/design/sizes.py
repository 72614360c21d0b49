"""Designing perturbation tables for magnitudes.

In: the methodologist's parameters. Out: a `MagnitudePerturbationTable`. SECRET.
The rows are those of counts with noise counted in steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from discreet.errors import Problem
from discreet.perturbation.design.counts import allowed_noise, bounds_on_grid, solve_all
from discreet.perturbation.design.numbers import exact_arithmetic, is_whole
from discreet.perturbation.design.parameters import (
    Demand,
    Relax,
    check_noise,
    raise_design,
    row_options,
)
from discreet.perturbation.intervals import DECIMAL_SCALE, pack
from discreet.perturbation.magnitude_files import Kind, Part, check_kind
from discreet.perturbation.magnitudes import MagnitudePerturbationTable

__all__ = ["design_magnitude_perturbation"]


def design_magnitude_perturbation(
    max_noise: int,
    variance: float,
    *,
    classes: Sequence[int] = (1, 5, 10),
    step: int = 2,
    kind: Kind = "all",
    small_cells: tuple[int, float] | None = None,
    monotone: bool | Mapping[int, bool] | Sequence[bool] = True,
    stay: float | Mapping[int, float] | Sequence[float | None] | None = None,
    relax: Relax | Mapping[int, Relax] | Sequence[Relax] = "variance",
    name: str = "perturbation table",
) -> MagnitudePerturbationTable:
    """Design a perturbation table for magnitudes.

    Rows are made for size classes, how large a value is in units of what protects
    it; noise lies on multiples of 1/step and never changes the sign. Otherwise as
    `design_perturbation`.

    Args:
        max_noise: Largest absolute noise.
        variance: Largest variance of the noise.
        classes: The size classes with a row, ascending; class 0 never changes.
        step: Steps of noise per unit.
        kind: What the table is for: "all" cells, those with an "even" or "odd" number
            of contributions, or "small" cells. `MagnitudePerturbationTable.joined`
            puts several together.
        small_cells: Largest noise and variance of a part for small cells beside it,
            with the same step and the classes below its largest noise, and that one.
        monotone: As for `design_perturbation`; sequences hold a value per class.
        stay: Likewise.
        relax: Likewise.
        name: Name of the table.

    >>> table = design_magnitude_perturbation(10, 3, small_cells=(5, 1))
    >>> table.kinds, table.classes("small")
    (('all', 'small'), (0, 1, 5))
    """
    parts = [_part(max_noise, variance, classes, step, kind, monotone, stay, relax)]
    if small_cells is not None:
        largest, least = _small(small_cells)
        rows = [*(at for at in classes if at < largest), largest]
        parts.append(_part(largest, least, rows, step, "small", True, None, "variance"))
    return MagnitudePerturbationTable(tuple(parts), name)


def _small(values: Any) -> tuple[Any, Any]:
    if isinstance(values, tuple | list) and len(values) == 2 and is_whole(values[0]):
        return values[0], values[1]
    raise_design([Problem("small cells need two numbers: largest noise, variance", "small_cells")])
    raise AssertionError("unreachable")


def _part(
    max_noise: Any,
    variance: Any,
    classes: Any,
    step: Any,
    kind: Any,
    monotone: Any,
    stay: Any,
    relax: Any,
) -> Part:
    """One part: solve its rows with noise counted in steps."""
    check_kind(kind)
    problems: list[Problem] = []
    if not is_whole(step) or not 1 <= step <= 100:
        problems.append(Problem("the step is a whole number from 1 to 100", "step"))
        step = 1
    exact = check_noise(max_noise, variance, problems, int(step))
    rows = _classes(classes, problems)
    options = row_options(rows, monotone, stay, relax, problems) if rows else {}
    raise_design(problems)
    demands = [_demand(i, int(max_noise), int(step), options[i]) for i in rows]
    with exact_arithmetic():
        solutions = solve_all(demands, exact * step * step, kind)
        packed = [[(DECIMAL_SCALE, 0)]]
        for demand in demands:
            noise = allowed_noise(demand)
            bounds = bounds_on_grid(noise, solutions[demand.i].probability)
            packed.append(list(zip(bounds, noise, strict=True)))
    return Part(kind, (0, *rows), int(step), pack(packed))


def _demand(
    i: int, max_noise: int, step: int, options: tuple[bool, Decimal | None, Relax]
) -> Demand:
    reach = max_noise * step
    below = tuple(range(1, min(i * step, reach) + 1))
    monotone, stay, relax = options
    return Demand(i, below, tuple(range(1, reach + 1)), True, monotone, stay, relax, step)


def _classes(classes: Any, problems: list[Problem]) -> list[int]:
    listed = isinstance(classes, Iterable) and not isinstance(classes, str | bytes | Mapping)
    rows = list(classes) if listed else []
    whole = bool(rows) and all(is_whole(row) and row >= 1 for row in rows)
    if not whole or any(low >= high for low, high in pairwise(rows)):
        what = "size classes are ascending whole numbers from 1 on"
        problems.append(Problem(what, "classes", "class 0 is always there"))
        return []
    return [int(row) for row in rows]
