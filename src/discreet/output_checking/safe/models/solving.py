"""Weighted least squares from exact cross products.

In: the design, an outcome, weights. Out: `Solution` with coefficients, sums of squares and the
inverse of the cross products, all the same whatever the order of the rows. Columns that follow
from earlier ones are omitted, as Stata does.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.output_checking.safe.models.design import Design, sizes_of
from discreet.output_checking.safe.models.exact import SLICES, Gram, exact_gram, powers_of, scaled
from discreet.output_checking.safe.threads import side_by_side, slices

__all__ = ["Solution", "product", "solve", "symmetric_inverse"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: A column of which less than this share is new is omitted.
_NEW = 1e-12
_REFINEMENTS = 3


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Solution:
    """What least squares gives. CONFIDENTIAL.

    Args:
        kept: Places of the columns that are not omitted, among the estimated ones.
        slopes: Their coefficients.
        constant: The constant; None without.
        means: Weighted means of the columns, shifts included; 0 without a constant.
        mean: Weighted mean of the outcome; 0 without a constant.
        inverse: Inverse of the cross products of the kept columns, around their means.
        root: Factor F with F F' = inverse.
        weight: Sum of weights.
        total: Sum of squares of the outcome, around its mean if there is a constant.
        residual: Sum of squares of the residuals.
    """

    kept: IntArray
    slopes: FloatArray
    constant: float | None
    means: FloatArray
    mean: float
    inverse: FloatArray
    root: FloatArray
    weight: float
    total: float
    residual: float

    @property
    def rank(self) -> int:
        """Number of coefficients, the constant among them."""
        return len(self.kept) + (self.constant is not None)

    def predicted(self, design: Design) -> FloatArray:
        """Fitted values, each computed in the same order of additions. CONFIDENTIAL."""
        found = np.full(design.size, self.mean)

        def add(part: slice) -> None:
            for place, slope, mean in zip(self.kept, self.slopes, self.means, strict=True):
                found[part] += slope * (design.estimated[place].values(part) - mean)

        side_by_side([partial(add, part) for part in slices(design.size)])
        return found

    def residuals(self, design: Design, outcome: FloatArray) -> FloatArray:
        """What the fitted values leave of the outcome. CONFIDENTIAL."""
        found = self.predicted(design)
        return np.subtract(outcome, found, out=found)


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """A matrix product that does not depend on the number of threads."""
    return np.asarray(np.einsum("ij,jk->ik", left, right), dtype=np.float64)


def solve(
    design: Design,
    outcome: FloatArray,
    weights: FloatArray | None,
    *,
    center: bool = True,
    slices: int = SLICES,
) -> Solution:
    """Regress the outcome on the columns.

    Args:
        design: The columns.
        outcome: The dependent variable.
        weights: Weights, or None.
        center: Whether a large outcome is taken relative to the middle of its range.
        slices: How exact cross products are; two are enough for steps that are repeated.
    """
    shift = _middle(outcome) if design.constant and center else 0.0
    roots = None if weights is None else np.sqrt(weights)
    own = 1 if design.constant else 0
    width = len(design.estimated)

    def block(start: int, stop: int) -> FloatArray:
        rows = slice(start, stop)
        found = np.empty((stop - start, own + width + 1), order="F")
        found[:, :own] = 1.0
        found[:, own : own + width] = design.block(rows)
        found[:, -1] = outcome[rows] - shift
        return found if roots is None else found * roots[rows, None]

    largest, whole = _profile(design, outcome - shift)
    if roots is not None:
        largest, whole = largest * max(float(roots.max()), 5e-324), np.zeros_like(whole)
    gram = exact_gram(block, design.size, powers_of(largest, whole, slices))
    return _solved(gram, design, shift)


def _middle(values: FloatArray) -> float:
    low, high = float(values.min()), float(values.max())
    middle = float(np.floor((low + high) / 2.0))
    return middle if low * high > 0.0 and abs(middle) > high - low else 0.0


def _profile(design: Design, outcome: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Largest absolute value of each column, and whether it has whole numbers only."""
    columns = [(1.0, True)] if design.constant else []
    columns += [*design.sizes, sizes_of(outcome)]
    largest, whole = zip(*columns, strict=True)
    return np.array(largest), np.array(whole)


def _solved(gram: Gram, design: Design, shift: float) -> Solution:
    own = 1 if design.constant else 0
    whole: Any = gram.whole
    weight = int(whole[0, 0]) if own else 1
    # Around the means, still exact: every entry times the sum of weights.
    central = whole * weight - np.outer(whole[0], whole[0]) if own else whole
    central, powers = central[own:, own:], gram.powers[own:]
    squares = _divided(central, powers, weight)
    size = len(powers) - 1
    norms = np.sqrt(np.diag(squares))
    norms[norms == 0.0] = 1.0
    ratios = squares / np.outer(norms, norms)
    kept, lower = _decomposed(ratios[:size, :size])
    upper = _lower_inverse(lower).T / norms[kept, None]
    inverse = product(upper, upper.T)
    inner, right = central[np.ix_(kept, kept)], central[kept, size]
    slopes, residual = _refined(
        inner, right, int(central[size, size]), powers, kept, inverse, weight
    )
    means = np.zeros(len(kept))
    mean, constant, total_weight = 0.0, None, 0.0
    if own:
        total_weight = gram.number(0, 0)
        exact = [
            Fraction(int(whole[0, 1 + i]), weight) * _two(int(powers[i] - gram.powers[0]))
            for i in (*kept, size)
        ]
        shifts = [*design.shifts[kept], shift]
        middles = [part + Fraction(float(off)) for part, off in zip(exact, shifts, strict=True)]
        means = np.array([float(part) for part in middles[:-1]])
        mean = float(middles[-1])
        constant = float(
            middles[-1]
            - sum(Fraction(b) * m for b, m in zip(slopes.tolist(), middles[:-1], strict=True))
        )
    return Solution(
        kept=kept,
        slopes=slopes,
        constant=constant,
        means=means,
        mean=mean,
        inverse=inverse,
        root=upper,
        weight=total_weight,
        total=float(squares[size, size]),
        residual=residual,
    )


def _two(power: int) -> Fraction:
    return Fraction(2) ** power


def _divided(whole: Any, powers: IntArray, weight: int) -> FloatArray:
    """Entries as floats: divided by the sum of weights, times the powers of their columns."""
    size = len(powers)
    found = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            ratio = scaled(int(whole[i, j]) * 2**64 // weight, int(powers[i] + powers[j]) - 64)
            found[i, j] = found[j, i] = ratio
    return found


def _decomposed(matrix: FloatArray) -> tuple[IntArray, FloatArray]:
    """Cholesky factor of the columns that are new, taken in order; and which these are."""
    work = matrix.copy()
    kept: list[int] = []
    factors = np.zeros_like(work)
    for j in range(len(work)):
        if work[j, j] < _NEW:
            continue
        factors[j:, len(kept)] = work[j:, j] / np.sqrt(work[j, j])
        column = factors[j:, len(kept)]
        work[j:, j:] -= np.outer(column, column)
        kept.append(j)
    places = np.array(kept, dtype=np.int64)
    return places, factors[places][:, : len(kept)]


def _lower_inverse(lower: FloatArray) -> FloatArray:
    """Inverse of a lower triangular matrix."""
    found = np.eye(len(lower))
    for j in range(len(lower)):
        if j:
            found[j] -= (lower[j, :j, None] * found[:j]).sum(axis=0)
        found[j] /= lower[j, j]
    return found


def symmetric_inverse(matrix: FloatArray) -> FloatArray | None:
    """Inverse of a positive definite matrix; None if it is not."""
    norms = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    if not np.all(norms > 0.0):
        return None
    kept, lower = _decomposed(matrix / np.outer(norms, norms))
    if len(kept) < len(matrix):
        return None
    upper = _lower_inverse(lower).T / norms[:, None]
    return product(upper, upper.T)


def _refined(
    inner: Any,
    right: Any,
    square: int,
    powers: IntArray,
    kept: IntArray,
    inverse: FloatArray,
    weight: int,
) -> tuple[FloatArray, float]:
    """Coefficients and the residual sum of squares, corrected by exact remainders."""
    own, last = powers[kept], int(powers[-1])
    slopes = np.zeros(len(kept))
    for _ in range(_REFINEMENTS):
        scaled_slopes, bits = _fixed_point(slopes, own - last)
        rest = right * 2**bits - inner.dot(scaled_slopes)
        gaps = [
            scaled(int(part) * 2**64 // weight, int(power) + last - bits - 64)
            for part, power in zip(rest, own, strict=True)
        ]
        slopes = slopes + product(inverse, np.array(gaps).reshape(-1, 1))[:, 0]
    scaled_slopes, bits = _fixed_point(slopes, own - last)
    left = square * 4**bits - 2 * 2**bits * int(np.dot(right, scaled_slopes))
    left += int(np.dot(scaled_slopes, inner.dot(scaled_slopes)))
    residual = scaled(max(left, 0) * 2**64 // weight, 2 * last - 2 * bits - 64)
    return slopes, residual


def _fixed_point(slopes: FloatArray, powers: IntArray) -> tuple[Any, int]:
    """Slopes times powers of two, as whole numbers with a common number of bits."""
    parts = [Fraction(b) * _two(int(p)) for b, p in zip(slopes.tolist(), powers, strict=True)]
    bits = max((part.denominator.bit_length() - 1 for part in parts), default=0)
    whole = np.array([int(part * 2**bits) for part in parts], dtype=object)
    return whole, bits
