"""Designing perturbation tables for counts.

In: the methodologist's parameters. Out: a `Design` with its residuals, and from it
a `PerturbationTable`. SECRET, both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from discreet.errors import Problem
from discreet.perturbation.design.entropy import ONE, ZERO
from discreet.perturbation.design.numbers import at_least, exact_arithmetic
from discreet.perturbation.design.parameters import (
    Demand,
    Relax,
    check_noise,
    raise_design,
    row_demands,
)
from discreet.perturbation.design.rows import ClashError, Solution, solved
from discreet.perturbation.gridding import grid_bounds
from discreet.perturbation.intervals import DECIMAL_SCALE, pack
from discreet.perturbation.table import PerturbationTable

__all__ = [
    "Design",
    "DesignedRow",
    "allowed_noise",
    "bounds_on_grid",
    "design_perturbation",
    "design_rows",
    "solve_all",
]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class DesignedRow:
    """One row of a design. SECRET.

    Args:
        i: The original count.
        noise: Noise values allowed, ascending.
        probability: Of each.
        mean: Mean of the noise.
        variance: Its variance.
        residual: By how much the constraint met worst is missed.
        relaxed: What gave way: "variance" where it lies below the one asked for,
            "stay" where the stay probability was lowered, "unimodality" where
            probabilities may rise away from zero; None if nothing did.
        stay: The fixed stay probability, None if it is free.
        bounds: Cumulative probabilities on the grid of 10^15 keys.
    """

    i: int
    noise: tuple[int, ...]
    probability: FloatArray
    mean: float
    variance: float
    residual: float
    relaxed: str | None
    stay: float | None
    bounds: tuple[int, ...]

    @property
    def entropy(self) -> float:
        """The entropy of the noise, in natural units."""
        used = [share for share in self.probability.tolist() if share > 0]
        return -math.fsum(share * math.log(share) for share in used)

    def __repr__(self) -> str:
        return f"<DesignedRow {self.i}: secret>"


@dataclass(frozen=True, repr=False, eq=False)
class Design:
    """A designed table before it is taken to the key grid. SECRET.

    Args:
        rows: Rows 0 … n_max.
        name: Name of the table.
    """

    rows: tuple[DesignedRow, ...]
    name: str = ""

    @property
    def residual(self) -> float:
        """By how much the constraint met worst is missed, over all rows."""
        return max(row.residual for row in self.rows)

    def table(self) -> PerturbationTable:
        """The perturbation table: probabilities rounded to the grid of 10^15 keys.

        No probability changes by more than one grid step; the mean stays zero.
        """
        rows = [list(zip(row.bounds, row.noise, strict=True)) for row in self.rows]
        return PerturbationTable(pack(rows), self.name or "perturbation table")

    def __repr__(self) -> str:
        return f"<Design of {len(self.rows)} rows: secret>"


def design_perturbation(
    max_noise: int,
    variance: float,
    forbidden: Iterable[int] = (),
    *,
    monotone: bool | Mapping[int, bool] | Sequence[bool] = True,
    stay: float | Mapping[int, float] | Sequence[float | None] | None = None,
    relax: Relax | Mapping[int, Relax] | Sequence[Relax] = "variance",
    name: str = "",
) -> PerturbationTable:
    """Design a perturbation table for counts.

    Each original count gets the noise distribution of largest entropy among those
    with zero mean, at most the variance given, no noise beyond `max_noise`, no
    published figure below zero or among the forbidden ones, and probabilities that
    do not rise away from zero. Rows go up to the count from which on the
    distribution is the same symmetric one.

    Args:
        max_noise: Largest absolute noise.
        variance: Largest variance of the noise. Small counts may have less.
        forbidden: Figures that are never published, such as (1, 2).
        monotone: Whether probabilities must not rise away from zero: for all rows,
            by row, or as a sequence for rows 1, 2, ….
        stay: Fixed probability of no change, likewise; None leaves it free.
        relax: What gives way where constraints clash, likewise: "variance" (it may be
            lower), "stay" (lowered in steps of 0.05 until the variance is reached), or
            "unimodality" (the variance is exactly the one given; probabilities may
            rise above zero).
        name: Name of the table.

    Raises:
        PerturbationError: Where no such table exists; names the rows, the
            constraints that clash and the nearest feasible value.

    >>> ptable = design_perturbation(5, 3, forbidden=(1, 2))
    >>> ptable
    <PerturbationTable: secret>
    >>> ptable.n_max
    8
    """
    design = design_rows(
        max_noise, variance, forbidden, monotone=monotone, stay=stay, relax=relax, name=name
    )
    return design.table()


def design_rows(
    max_noise: int,
    variance: float,
    forbidden: Iterable[int] = (),
    *,
    monotone: bool | Mapping[int, bool] | Sequence[bool] = True,
    stay: float | Mapping[int, float] | Sequence[float | None] | None = None,
    relax: Relax | Mapping[int, Relax] | Sequence[Relax] = "variance",
    name: str = "",
) -> Design:
    """Design a table as `design_perturbation` does, and show the rows.

    >>> design = design_rows(1, 0.5)
    >>> [round(share, 12) for share in design.rows[1].probability.tolist()]
    [0.25, 0.5, 0.25]
    >>> design.residual < 1e-12
    True
    """
    problems: list[Problem] = []
    exact = check_noise(max_noise, variance, problems)
    demands = row_demands(max_noise, forbidden, monotone, stay, relax, problems)
    raise_design(problems)
    with exact_arithmetic():
        solutions = solve_all(demands, exact)
        rows = [_designed(demand, solutions[demand.i], exact) for demand in demands]
    return Design((_unchanged(), *rows), name)


def solve_all(demands: Sequence[Demand], variance: Decimal, name: str = "") -> dict[int, Solution]:
    """Solve every row, or raise one error with all that cannot be solved.

    Args:
        demands: The rows.
        variance: The variance, in units of the noise.
        name: What the rows belong to, for errors.
    """
    known: dict[tuple[object, ...], Solution] = {}
    found: dict[int, Solution] = {}
    problems: list[Problem] = []
    least = ZERO
    start = (ZERO, ONE / (2 * variance) if variance > 1 else ONE - variance.ln())
    for demand in reversed(demands):  # the symmetric row is the easiest start
        if demand.shape not in known:
            try:
                known[demand.shape] = solved(demand, variance, start)
            except ClashError as clash:
                problems.append(Problem(clash.what, clash.where, clash.hint))
                least = max(least, clash.least)
                continue
        solution = found[demand.i] = known[demand.shape]
        start = solution.start or start
        if len(solution.probability) > 1 and not _noise_on_grid(solution):
            what = f"row {demand.i} has no noise left on the grid of 10^15 keys"
            problems.append(Problem(what, "variance", "raise the variance"))
    problems.reverse()
    if len(problems) > 1 and least:
        step = demands[0].step
        what = f"all rows together need a variance of at least {at_least(least / step**2)}"
        problems.append(Problem(what, "variance"))
    raise_design(problems, name)
    return found


def _noise_on_grid(solution: Solution) -> bool:
    step = ONE / DECIMAL_SCALE
    return any(value and share >= step for value, share in solution.probability.items())


def bounds_on_grid(noise: Sequence[int], probability: Mapping[int, Decimal]) -> tuple[int, ...]:
    """Cumulative probabilities of the noise values on the grid of 10^15 keys."""
    shares = [probability.get(value, ZERO) for value in noise]
    return tuple(grid_bounds(list(accumulate(shares)), noise, DECIMAL_SCALE))


def _designed(demand: Demand, solution: Solution, variance: Decimal) -> DesignedRow:
    noise = allowed_noise(demand)
    shares = [solution.probability.get(value, ZERO) for value in noise]
    probability = np.array([float(share) for share in shares], dtype=np.float64)
    probability.setflags(write=False)
    mean, second = _moments(noise, probability)
    return DesignedRow(
        i=demand.i,
        noise=noise,
        probability=probability,
        mean=mean,
        variance=second - mean * mean,
        residual=_residual(demand, solution, noise, probability, float(variance)),
        relaxed=solution.relaxed,
        stay=None if solution.stay is None else float(solution.stay),
        bounds=bounds_on_grid(noise, solution.probability),
    )


def allowed_noise(demand: Demand) -> tuple[int, ...]:
    """The noise values of a row, ascending."""
    below = tuple(-distance for distance in reversed(demand.below))
    return (*below, *((0,) if demand.zero else ()), *demand.above)


def _unchanged() -> DesignedRow:
    """Row 0: zeros stay zero."""
    return DesignedRow(0, (0,), np.ones(1), 0.0, 0.0, 0.0, None, None, (DECIMAL_SCALE,))


def _moments(noise: Sequence[int], probability: FloatArray) -> tuple[float, float]:
    shares = probability.tolist()
    mean = math.fsum(value * share for value, share in zip(noise, shares, strict=True))
    second = math.fsum(value * value * share for value, share in zip(noise, shares, strict=True))
    return mean, second


def _residual(
    demand: Demand,
    solution: Solution,
    noise: Sequence[int],
    probability: FloatArray,
    variance: float,
) -> float:
    """The largest violation of any constraint by the probabilities as floating-point numbers."""
    shares = dict(zip(noise, probability.tolist(), strict=True))
    mean, second = _moments(noise, probability)
    missed = [abs(math.fsum(shares.values()) - 1), abs(mean), second - variance]
    if solution.relaxed != "variance":  # then it is met exactly
        missed.append(variance - second if demand.stay != ONE else 0.0)
    if solution.stay is not None:
        missed.append(abs(shares[0] - float(solution.stay)))
    if demand.monotone and solution.relaxed != "unimodality":
        for distances, sign in ((demand.below, -1), (demand.above, 1)):
            near = (0, *distances) if demand.zero else distances
            missed += [shares[sign * far] - shares[sign * at] for at, far in pairwise(near)]
    return float(max(*missed, -min(shares.values())))
