"""Mixing a perturbation table with "unchanged", through the cell key.

In: intervals and a probability. Out: intervals. SECRET. What stays is decided by
the cell key like all noise, so the same cell stays in every table; a decision
drawn at random would change the same cell here and not there.
"""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

from discreet.errors import PerturbationError
from discreet.perturbation.gridding import grid_bounds
from discreet.perturbation.intervals import Intervals, pack

__all__ = ["mixed_with_staying"]

_DIGITS = 50


def mixed_with_staying(
    content: Intervals, probability: float | Fraction | Decimal, rows: Collection[int] | None
) -> Intervals:
    """In each row named, stay at `probability`, else do as the table says.

    Args:
        content: The table's intervals.
        probability: Of staying, from 0 to 1.
        rows: Original counts concerned; all rows if None.
    """
    share = _share(probability)
    unknown = sorted(row for row in rows or () if not 0 <= row <= content.n_max)
    if unknown:
        raise PerturbationError(
            f"the table has no row {unknown[0]}",
            code="stay",
            where="rows",
            hint=f"its rows are 0 to {content.n_max}",
        )
    if content.closed != "left":
        raise PerturbationError(
            "intervals closed on the right cannot be mixed",
            code="stay",
            hint='convert first: table.with_closed("left")',
        )
    mixed = []
    for row, upper, noise in content.rows():
        if rows is None or row in rows:
            upper, noise = _row(upper, noise, share, content.scale)
        mixed.append(list(zip(upper, noise, strict=True)))
    return pack(
        mixed,
        closed=content.closed,
        scale=content.scale,
        beyond=content.beyond,
        zeros=content.zeros,
    )


def _share(probability: float | Fraction | Decimal) -> Fraction:
    try:
        share = Fraction(str(probability)) if not isinstance(probability, bool) else None
    except ValueError:
        share = None
    if share is None or not 0 <= share <= 1:
        raise PerturbationError("a stay probability lies between 0 and 1", code="stay")
    return share


def _row(
    upper: list[int], noise: list[int], share: Fraction, scale: int
) -> tuple[list[int], list[int]]:
    """One row: its intervals shrink, the one of no change (or a new one) grows."""
    at = noise.index(0) if 0 in noise else sum(value < 0 for value in noise)
    widths = [bound - lower for lower, bound in pairwise([0, *upper])]
    shares = [width * (1 - share) for width in widths]
    if 0 in noise:
        shares[at] += share * scale
    else:
        shares.insert(at, share * scale)
        noise = [*noise[:at], 0, *noise[at:]]
    bounds, total = [], Fraction(0)
    with localcontext() as context:
        context.prec = _DIGITS
        for part in shares:
            total += part
            bounds.append(Decimal(total.numerator) / (total.denominator * scale))
    return grid_bounds(bounds, noise, scale), noise
