"""Designing one row: the distribution of largest entropy that meets its demand.

In: a `Demand` and a variance. Out: a `Solution`, or a `ClashError` that says which
constraints clash and what the nearest feasible value is. SECRET.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from discreet.perturbation.design.bounds import StayTooSmallError, smallest_variance
from discreet.perturbation.design.entropy import ONE, ZERO, Row, Side
from discreet.perturbation.design.numbers import TINY, at_least, at_most
from discreet.perturbation.design.parameters import Demand, Relax
from discreet.perturbation.design.solving import (
    Multipliers,
    UnreachableError,
    largest_entropy,
    with_variance,
)

__all__ = ["ClashError", "Solution", "solved"]

#: Steps in which a stay probability is lowered.
STAY_STEP = Decimal("0.05")


class ClashError(Exception):
    """A row whose constraints clash.

    Args:
        what: Which constraints.
        where: The parameter concerned.
        hint: The nearest feasible value.
        least: The least variance feasible, if that is the matter.
    """

    def __init__(self, what: str, where: str, hint: str, least: Decimal = ZERO) -> None:
        super().__init__(what)
        self.what, self.where, self.hint, self.least = what, where, hint, least


@dataclass(frozen=True, repr=False, eq=False)
class Solution:
    """The distribution of a row.

    Args:
        probability: Of each noise value that occurs.
        variance: Its variance.
        start: Multipliers, a good start for a neighbouring row.
        stay: The fixed stay probability it has.
        relaxed: What gave way: the variance lies below the one asked for, the stay
            probability is lowered, or the order is given up above zero.
    """

    probability: dict[int, Decimal]
    variance: Decimal
    start: Multipliers | None
    stay: Decimal | None
    relaxed: Relax | None


def solved(demand: Demand, variance: Decimal, start: Multipliers) -> Solution:
    """Design one row.

    Args:
        demand: What it is to be.
        variance: The largest variance, or the one to reach, in units of the noise.
        start: Multipliers of a row like it.
    """
    if not (demand.below and demand.above) or demand.stay == ONE:
        return _without_noise(demand)
    found = _at_most(demand, demand.stay, variance, start)
    if found.relaxed is None or demand.relax == "variance":
        return found
    if demand.relax == "stay":
        return _with_lower_stay(demand, variance, found) if demand.stay else found
    return _exactly(demand, variance, start)


def _without_noise(demand: Demand) -> Solution:
    """Rows that cannot have noise on both sides, or are told to stay."""
    i = demand.i
    missing = "below" if not demand.below else "above"
    hint = "forbid fewer values, or allow larger noise"
    if not demand.zero:
        what = f"row {i} has no noise {missing} zero that is allowed, so its mean cannot be zero"
        raise ClashError(what, "forbidden", hint)
    if demand.stay is not None and demand.stay != ONE:
        what = f"row {i} can only stay: no noise {missing} zero is allowed"
        raise ClashError(what, "stay", f"{hint}; or state no stay probability for it")
    return Solution({0: ONE}, ZERO, None, demand.stay, None if demand.stay else "variance")


def _row(demand: Demand, stay: Decimal | None, *, above: bool, below: bool) -> Row:
    """The row with its order demanded above or below zero."""
    return Row(Side(-1, demand.below, below), Side(1, demand.above, above), demand.zero, stay)


def _at_most(
    demand: Demand, stay: Decimal | None, variance: Decimal, start: Multipliers
) -> Solution:
    """The row with a variance up to the one given."""
    row = _row(demand, stay, above=demand.monotone, below=demand.monotone)
    try:
        corner = smallest_variance(row)
    except StayTooSmallError as error:
        what = f"row {demand.i} needs a stay probability of at least {at_least(error.least)}"
        hint = "no other probability may be larger than that of staying; or monotone=False"
        raise ClashError(what, "stay", hint) from None
    if variance < corner.variance * (1 - TINY):
        raise _variance_too_small(demand, stay, corner.variance)
    if corner.only or variance <= corner.variance * (1 + TINY):
        below = corner.variance < variance * (1 - TINY)
        return Solution(
            corner.probability, corner.variance, None, stay, "variance" if below else None
        )
    b, c = largest_entropy(row, variance, start)
    shares = row.distribution(b, c)
    reached = _second(shares)
    below = reached < variance * (1 - TINY)
    return Solution(shares, reached, (b, c), stay, "variance" if below else None)


def _with_lower_stay(demand: Demand, variance: Decimal, found: Solution) -> Solution:
    """Lower the stay probability step by step until the variance is reached."""
    assert demand.stay is not None
    stay, best = demand.stay - STAY_STEP, found.variance
    while stay > 0:
        try:
            lower = _at_most(demand, stay, variance, found.start or (ZERO, ONE / variance))
        except ClashError:
            break
        if lower.relaxed is None:
            return Solution(lower.probability, lower.variance, lower.start, stay, "stay")
        best = max(best, lower.variance)
        stay -= STAY_STEP
    what = f"row {demand.i} does not reach the variance at any stay probability"
    hint = (
        f"it reaches {at_most(best / demand.step**2)}; "
        f'relax={{{demand.i}: "variance"}} lets the variance be lower'
    )
    raise ClashError(what, "stay", hint)


def _exactly(demand: Demand, variance: Decimal, start: Multipliers) -> Solution:
    """Reach the variance; above zero, and if need be below, the order is given up."""
    relaxed: Relax | None = "unimodality" if demand.monotone else None
    largest = ZERO
    for below in (True, False) if demand.monotone else (False,):
        row = _row(demand, demand.stay, above=False, below=below)
        corner = smallest_variance(row)
        if corner.only:
            largest = corner.variance
            continue
        try:
            b, c = with_variance(row, variance, start)
        except UnreachableError as error:
            largest = error.largest
            continue
        shares = row.distribution(b, c)
        return Solution(shares, _second(shares), (b, c), demand.stay, relaxed)
    what = f"row {demand.i} cannot have a variance of more than {at_most(largest / demand.step**2)}"
    hint = f'lower the variance, or let it give way there: relax={{{demand.i}: "variance"}}'
    raise ClashError(what, "variance", hint)


def _variance_too_small(demand: Demand, stay: Decimal | None, least: Decimal) -> ClashError:
    what = f"row {demand.i} needs a variance of at least {at_least(least / demand.step**2)}"
    if stay is not None:
        hint = "zero mean and the stay probability allow no smaller one; or raise stay"
    else:
        low, high = demand.below[0], demand.above[0]
        hint = (
            f"its nearest values allowed are {demand.i - low} and {demand.i + high}, "
            "and zero mean needs both"
        )
    return ClashError(what, "variance", hint, least)


def _second(shares: dict[int, Decimal]) -> Decimal:
    return sum((value * value * share for value, share in shares.items()), ZERO)
