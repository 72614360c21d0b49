"""Taking probabilities to the key grid, with the mean of the noise kept.

In: cumulative probabilities, far more precise than the grid. Out: bounds on the
grid, as whole numbers. SECRET.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from itertools import pairwise

__all__ = ["grid_bounds"]

_HALF = Decimal("0.5")
_DIGITS = 50


def grid_bounds(bounds: Sequence[Decimal], noise: Sequence[int], scale: int) -> list[int]:
    """Round cumulative probabilities to multiples of 1/scale.

    Each is rounded to the nearest; then as few as needed go to the other side, so
    that the mean changes by no more than half a grid step (times the unit of the
    noise), and so is exactly zero on the grid where it was zero before. No
    probability changes by more than one grid step.

    Args:
        bounds: Cumulative probabilities; the last is one.
        noise: The noise of each interval, in whole units.
        scale: Number of grid steps.

    >>> from decimal import Decimal
    >>> third = Decimal(1) / 3
    >>> grid_bounds([third, 2 * third, Decimal(1)], [-1, 0, 1], 1000)
    [333, 667, 1000]
    """
    with localcontext() as context:
        context.prec = _DIGITS
        exact = [bound * scale for bound in bounds[:-1]]
        rounded = [int(bound.to_integral_value(ROUND_HALF_EVEN)) for bound in exact]
        errors = [whole - bound for whole, bound in zip(rounded, exact, strict=True)]
        gaps = [upper - lower for lower, upper in pairwise(noise)]
        # The mean moves by minus the sum of the errors, each times its gap.
        moved = sum((e * gap for e, gap in zip(errors, gaps, strict=True)), Decimal(0))
        while abs(moved) > _HALF:
            best = _cheapest(rounded, errors, gaps, moved, scale)
            if best is None:
                break
            at, step = best
            rounded[at] += step
            errors[at] += step
            moved += step * gaps[at]
    return [*rounded, scale]


def _cheapest(
    rounded: list[int], errors: list[Decimal], gaps: list[int], moved: Decimal, scale: int
) -> tuple[int, int] | None:
    """The bound to move by one step so that `moved` shrinks, with the smallest error after."""
    best: tuple[Decimal, int, int] | None = None
    for at, gap in enumerate(gaps):
        if not gap:
            continue
        step = -1 if (moved > 0) == (gap > 0) else 1
        new, place = errors[at] + step, rounded[at] + step
        before = (rounded[at - 1], errors[at - 1]) if at else (0, Decimal(0))
        after = (rounded[at + 1], errors[at + 1]) if at + 1 < len(gaps) else (scale, Decimal(0))
        fits = before[0] <= place <= after[0] and abs(moved + step * gap) < abs(moved)
        within = abs(new) < 1 and abs(new - before[1]) <= 1 and abs(after[1] - new) <= 1
        if fits and within and (best is None or abs(new) < best[0]):
            best = (abs(new), at, step)
    return best[1:] if best else None
