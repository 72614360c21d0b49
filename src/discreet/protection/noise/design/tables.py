"""Designing perturbation tables, for counts and for magnitudes; ready-made ones. SECRET.

In: the methodologist's parameters, or a name. Out: a `Design` with its residuals, and
from it a `PerturbationTable`, or a `MagnitudePerturbationTable`, whose rows are those of
counts with noise counted in steps.

Ready-made tables are named for what they promise, and public: whoever publishes with one
should lay its intervals out in a secret order first, and an office's own table should be
a design of its own.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from discreet.arrays import FloatArray
from discreet.errors import DiscreetWarning, PerturbationError, Problem
from discreet.protection.noise.design.entropy import ONE, ZERO
from discreet.protection.noise.design.parameters import (
    Demand,
    Relax,
    at_least,
    check_noise,
    exact_arithmetic,
    is_whole,
    raise_design,
    row_demands,
    row_options,
)
from discreet.protection.noise.design.rows import ClashError, RowSolution, solve_row
from discreet.protection.noise.intervals import DECIMAL_SCALE, grid_bounds, pack
from discreet.protection.noise.magnitude_table import (
    Kind,
    MagnitudePart,
    MagnitudePerturbationTable,
    check_kind,
)
from discreet.protection.noise.table import PerturbationTable


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
        stay: Fixed probability of no change, likewise, or one for all counts that may be published;
            None leaves it free.
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
    if design.rows[-1].relaxed == "variance":
        warnings.warn(
            "large counts get less variance than requested, because of the largest noise "
            "(max_noise) and the stay probability (stay)",
            DiscreetWarning, stacklevel=2,
        )  # fmt: skip
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
    zeros_stay = DesignedRow(0, (0,), np.ones(1), 0.0, 0.0, 0.0, None, None, (DECIMAL_SCALE,))
    return Design((zeros_stay, *rows), name)


def solve_all(
    demands: Sequence[Demand], variance: Decimal, name: str = ""
) -> dict[int, RowSolution]:
    """Solve every row, or raise one error with all that cannot be solved."""
    known: dict[tuple[object, ...], RowSolution] = {}
    solutions: dict[int, RowSolution] = {}
    problems: list[Problem] = []
    least = ZERO
    start = (ZERO, ONE / (2 * variance) if variance > 1 else ONE - variance.ln())
    for demand in reversed(demands):  # the symmetric row is the easiest start
        if demand.shape not in known:
            try:
                known[demand.shape] = solve_row(demand, variance, start)
            except ClashError as clash:
                problems.append(Problem(clash.what, clash.where, clash.hint))
                least = max(least, clash.least)
                continue
        solution = solutions[demand.i] = known[demand.shape]
        start = solution.start or start
        least_share = ONE / DECIMAL_SCALE
        if len(solution.probability) > 1 and not any(
            value and share >= least_share for value, share in solution.probability.items()
        ):
            message = f"row {demand.i} has no noise left on the grid of 10^15 keys"
            problems.append(Problem(message, "variance", "raise the variance"))
    problems.reverse()
    if len(problems) > 1 and least:
        step = demands[0].step
        message = f"all rows together need a variance of at least {at_least(least / step**2)}"
        problems.append(Problem(message, "variance"))
    raise_design(problems, name)
    return solutions


def bounds_on_grid(noise: Sequence[int], probability: Mapping[int, Decimal]) -> tuple[int, ...]:
    """Cumulative probabilities of the noise values on the grid of 10^15 keys."""
    shares = [probability.get(value, ZERO) for value in noise]
    return tuple(grid_bounds(list(accumulate(shares)), noise, DECIMAL_SCALE))


def _designed(demand: Demand, solution: RowSolution, variance: Decimal) -> DesignedRow:
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


def _moments(noise: Sequence[int], probability: FloatArray) -> tuple[float, float]:
    shares = probability.tolist()
    mean = math.fsum(value * share for value, share in zip(noise, shares, strict=True))
    second = math.fsum(value * value * share for value, share in zip(noise, shares, strict=True))
    return mean, second


def _residual(
    demand: Demand,
    solution: RowSolution,
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
    options = {"monotone": monotone, "stay": stay, "relax": relax}
    parts = [_part(max_noise, variance, classes, step, kind, **options)]
    if small_cells is not None:
        pair: Any = small_cells
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and is_whole(pair[0])):
            message = "small cells need two numbers: largest noise and variance"
            raise_design([Problem(message, "small_cells")])
        rows = [*(at for at in classes if at < pair[0]), pair[0]]
        usual = {"monotone": True, "stay": None, "relax": "variance"}
        parts.append(_part(pair[0], pair[1], rows, step, "small", **usual))
    return MagnitudePerturbationTable(tuple(parts), name)


def _part(
    max_noise: Any,
    variance: Any,
    classes: Any,
    step: Any,
    kind: Any,
    **options: Any,
) -> MagnitudePart:
    """One part: solve its rows with noise counted in steps."""
    check_kind(kind)
    problems: list[Problem] = []
    if not is_whole(step) or not 1 <= step <= 100:
        problems.append(Problem("the step must be a whole number from 1 to 100", "step"))
        step = 1
    exact = check_noise(max_noise, variance, problems, int(step))
    rows = _classes(classes, problems)
    of_rows = row_options(rows, problems=problems, **options) if rows else {}
    raise_design(problems)
    reach = int(max_noise) * int(step)
    above = tuple(range(1, reach + 1))
    demands = [Demand(i, above[: i * int(step)], above, True, *of_rows[i], int(step)) for i in rows]
    with exact_arithmetic():
        solutions = solve_all(demands, exact * step * step, kind)
        packed = [[(DECIMAL_SCALE, 0)]]
        for demand in demands:
            noise = allowed_noise(demand)
            bounds = bounds_on_grid(noise, solutions[demand.i].probability)
            packed.append(list(zip(bounds, noise, strict=True)))
    return MagnitudePart(kind, (0, *rows), int(step), pack(packed))


def _classes(classes: Any, problems: list[Problem]) -> list[int]:
    listed = isinstance(classes, Iterable) and not isinstance(classes, str | bytes | Mapping)
    rows = list(classes) if listed else []
    whole = bool(rows) and all(is_whole(row) and row >= 1 for row in rows)
    if not whole or any(low >= high for low, high in pairwise(rows)):
        message = "size classes must be ascending whole numbers from 1"
        problems.append(Problem(message, "classes", "class 0 is implied"))
        return []
    return [int(row) for row in rows]


# A matrix used in teaching: row = count (7 and more), column = noise −4 … 4.
_PUBLISHED = (
    ("0", "0", "0", "0", "1", "1", "1", "1", "1"),
    ("0", "0", "0", "0.6875", "0.6875", "0.6875", "0.9375", "1", "1"),
    ("0", "0", "0.3533", "0.3533", "0.3533", "0.944", "0.997", "0.999", "1"),
    ("0", "0.162", "0.162", "0.162", "0.662", "0.856", "0.997", "0.999", "1"),
    ("0.087", "0.087", "0.087", "0.192", "0.692", "0.859", "0.997", "0.999", "1"),
    ("0", "0", "0.145", "0.327", "0.827", "0.859", "0.893", "0.949", "1"),
    ("0", "0.04", "0.15", "0.285", "0.785", "0.86", "0.92", "0.96", "1"),
    ("0.02", "0.06", "0.145", "0.25", "0.75", "0.855", "0.94", "0.98", "1"),
)


#: What each ready-made table is designed by; one is as it was published for teaching.
PRESETS: dict[str, dict[str, Any]] = {
    "within-2-half-unchanged": {"max_noise": 2, "variance": 0.75, "stay": 0.5},
    "within-5": {"max_noise": 5, "variance": 3},
    "never-1-within-5": {"max_noise": 5, "variance": 3, "forbidden": (1,)},
    "never-1-or-2-within-5": {"max_noise": 5, "variance": 3, "forbidden": (1, 2)},
    "never-1-or-2-within-4-half-unchanged": {
        "max_noise": 4, "variance": 2.25, "forbidden": (1, 2), "stay": 0.5
    },
    "published-never-1-or-2-within-4-half-unchanged": {},
}  # fmt: skip


def preset(name: str) -> PerturbationTable:
    """The ready-made table of this name.

    Args:
        name: One of `PRESETS`; spaces and commas may stand for the hyphens.

    >>> preset("never 1 or 2, within 4, half unchanged")
    <PerturbationTable never-1-or-2-within-4-half-unchanged: secret>
    """
    wanted = "-".join(str(name).replace(",", " ").replace("-", " ").replace("_", " ").split())
    if wanted not in PRESETS:
        raise PerturbationError(
            f"unknown ready-made table {name!r}",
            code="preset",
            hint="tables: " + "; ".join(PRESETS),
        )
    if how := PRESETS[wanted]:
        return design_perturbation(**how, name=wanted)
    return PerturbationTable.from_cumulative(_PUBLISHED, noise=range(-4, 5), name=wanted)
