"""Weighted least squares from cross products that no order of the rows can change. CONFIDENTIAL.

Every number is cut into slices of 20 bits (after Ozaki et al. 2012): slices are whole numbers, so
a matrix product over a block of rows is exact whatever the order in which a library adds, and
blocks are added as whole numbers. In: the design, an outcome, weights. Out:
`LeastSquaresSolution` with coefficients, sums of squares and the inverse of the cross products,
all the same whatever the order of the rows. Columns that follow from earlier ones are omitted,
as Stata does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import FloatArray, IntArray
from discreet_fire.statistics.models.design import ModelDesign, middle_of, sizes_of
from discreet_fire.statistics.parallel import filled, in_parts, slices

#: Gives the rows from one number up to another, one column per variable.
Blocks = Callable[[int, int], FloatArray]

#: Rows of one block; with slices of 20 bits their products stay below 2^53.
ROWS = 2**13
_BITS = 20
#: Slices of a number: 60 bits of the largest one.
SLICES = 3
_LOW = 2**26
#: Rows and columns of a piece of a block; no more than 2^18 multiplications.
_PIECE, _PANEL = 128, 40


@dataclass(frozen=True, repr=False)
class Scale:
    """How columns are cut: each by its own power of two, into as many slices as it needs."""

    powers: IntArray
    slices: IntArray

    def cut(self, block: FloatArray) -> FloatArray:
        """All first slices, then the second ones of columns that have one, and so on."""
        # Powers of two, as products: exact, and much faster than setting exponents.
        half = (_BITS - self.powers) // 2
        first, second = np.ldexp(1.0, half), np.ldexp(1.0, _BITS - self.powers - half)
        rest = block * (first * second) if np.all(np.abs(half) < 500) else block * first * second
        parts = []
        for number in range(SLICES):
            wanted = self.slices > number
            if not wanted.any():
                break
            known = wanted[self.slices >= number]
            now = rest if known.all() else rest[:, known]
            part = np.rint(now)
            parts.append(part)
            rest = (now - part) * 2.0**_BITS
        return np.concatenate(parts, axis=1)

    @property
    def places(self) -> tuple[IntArray, IntArray]:
        """Column and number of each slice, in the order of `cut`."""
        numbers, columns = np.nonzero(self.slices > np.arange(SLICES)[:, None])
        return columns, numbers


@dataclass(frozen=True, repr=False)
class Gram:
    """Exact cross products: entry (i, j) is `whole[i, j]` times 2^(power i + power j).

    CONFIDENTIAL.
    """

    whole: npt.NDArray[np.object_]
    powers: IntArray

    def number(self, i: int, j: int) -> float:
        """One entry, correctly rounded."""
        return scaled(int(self.whole[i, j]), int(self.powers[i] + self.powers[j]))

    def floats(self) -> FloatArray:
        """All entries, each correctly rounded."""
        size = len(self.powers)
        entries = [[self.number(i, j) for j in range(size)] for i in range(size)]
        return np.array(entries, dtype=np.float64).reshape(size, size)


def scaled(whole: int, power: int) -> float:
    """A whole number times a power of two, correctly rounded.

    >>> scaled(3, -1), scaled(2**70 + 1, -70)
    (1.5, 1.0)
    """
    surplus = max(0, abs(whole).bit_length() - 900)
    return math.ldexp(float(whole >> surplus), power + surplus)


def powers_of(largest: FloatArray, whole: npt.NDArray[np.bool_], slices: int = SLICES) -> Scale:
    """How to cut columns whose absolute values do not exceed `largest`.

    Small whole numbers need one slice only; two slices keep 40 bits.
    """
    _, powers = np.frexp(largest)
    small = whole & (largest <= 2.0**_BITS)
    powers = np.where(small, _BITS, powers).astype(np.int64)
    return Scale(powers, np.where(small, 1, slices).astype(np.int64))


def exact_gram(blocks: Blocks, rows: int, scale: Scale) -> Gram:
    """The cross products of all pairs of columns.

    >>> columns = np.array([[1.0, 0.1], [1.0, 0.2], [1.0, 1e9]])
    >>> scale = powers_of(np.abs(columns).max(axis=0), np.array([True, False]))
    >>> exact_gram(lambda a, b: columns[a:b], 3, scale).number(0, 0)
    3.0
    """
    columns, numbers = scale.places
    size = len(columns)

    def fill(part: slice, sums: IntArray) -> None:
        for start in range(part.start, part.stop, ROWS):
            cut = scale.cut(blocks(start, min(start + ROWS, part.stop)))
            product = _crossed(cut).astype(np.int64)
            sums[0] += product // _LOW
            sums[1] += product % _LOW

    high, low = filled(fill, slices(rows), (2, size, size)).sum(axis=0)
    sums = high.astype(object) * _LOW + low.astype(object)
    whole = np.zeros((len(scale.powers),) * 2, dtype=object)
    most = 2 * (SLICES - 1) * _BITS
    shifts = [2**shift for shift in range(0, most + 1, _BITS)]
    for number in range(SLICES):
        for other in range(SLICES):
            left, right = numbers == number, numbers == other
            if left.any() and right.any():
                part = sums[np.ix_(left, right)] * shifts[2 * (SLICES - 1) - number - other]
                whole[np.ix_(columns[left], columns[right])] += part
    return Gram(whole, scale.powers - _BITS * SLICES)


def _crossed(cut: FloatArray) -> FloatArray:
    """Cross products of a block, in pieces too small for a library to share among threads.

    Threads that wait for each other on a busy machine take far longer than the work.
    """
    rows, size = cut.shape
    stacked = np.zeros((-(-rows // _PIECE), _PIECE, size))
    stacked.reshape(-1, size)[:rows] = cut
    products = np.empty((size, size))
    for start in range(0, size, _PANEL):
        left = slice(start, start + _PANEL)
        for other in range(start, size, _PANEL):
            right = slice(other, other + _PANEL)
            part = np.matmul(stacked[:, :, left].transpose(0, 2, 1), stacked[:, :, right])
            products[left, right] = part.sum(axis=0)
            products[right, left] = products[left, right].T
    return products


#: A column of which less than this share is new is omitted.
_NEW = 1e-12
_REFINEMENTS = 3


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LeastSquaresSolution:
    """What least squares gives. CONFIDENTIAL.

    Places of the columns that are kept are among the estimated ones. Means are weighted, shifts
    included, and 0 without a constant, which is None then. The inverse is that of the cross
    products of the kept columns around their means, root a factor F with F F' = inverse; weight is
    the sum of weights, total and residual are sums of squares, total around the mean if there is
    one.
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

    def predicted(self, design: ModelDesign) -> FloatArray:
        """Fitted values, each computed in the same order of additions. CONFIDENTIAL."""
        predicted = np.full(design.size, self.mean)

        def add(part: slice) -> None:
            for place, slope, mean in zip(self.kept, self.slopes, self.means, strict=True):
                predicted[part] += slope * (design.estimated[place].values(part) - mean)

        in_parts(add, slices(design.size))
        return predicted

    def residuals(self, design: ModelDesign, outcome: FloatArray) -> FloatArray:
        """What the fitted values leave of the outcome. CONFIDENTIAL."""
        predicted = self.predicted(design)
        return np.subtract(outcome, predicted, out=predicted)


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """A matrix product that does not depend on the number of threads."""
    return np.asarray(np.einsum("ij,jk->ik", left, right), dtype=np.float64)


def solve(
    design: ModelDesign,
    outcome: FloatArray,
    weights: FloatArray | None,
    *,
    center: bool = True,
    slices: int = SLICES,
) -> LeastSquaresSolution:
    """Regress the outcome on the columns.

    With `center` a large outcome is taken relative to the middle of its range. Slices say how exact
    cross products are; two are enough for steps that are repeated.
    """
    shift = middle_of(outcome) if design.constant and center else 0.0
    roots = None if weights is None else np.sqrt(weights)
    own = 1 if design.constant else 0
    width = len(design.estimated)

    def block(start: int, stop: int) -> FloatArray:
        rows = slice(start, stop)
        block = np.empty((stop - start, own + width + 1), order="F")
        block[:, :own] = 1.0
        block[:, own : own + width] = design.block(rows)
        block[:, -1] = outcome[rows] - shift
        return block if roots is None else block * roots[rows, None]

    # Largest absolute value of each column, and whether it has whole numbers only.
    sizes = [*([(1.0, True)] * own), *design.sizes, sizes_of(outcome - shift)]
    largest, whole = map(np.array, zip(*sizes, strict=True))
    if roots is not None:
        largest, whole = largest * max(float(roots.max()), 5e-324), np.zeros_like(whole)
    gram = exact_gram(block, design.size, powers_of(largest, whole, slices))
    return _solved(gram, design, shift)


def _solved(gram: Gram, design: ModelDesign, shift: float) -> LeastSquaresSolution:
    own = 1 if design.constant else 0
    whole: Any = gram.whole
    weight = int(whole[0, 0]) if own else 1
    # Around the means, still exact: every entry times the sum of weights.
    central = whole * weight - np.outer(whole[0], whole[0]) if own else whole
    central, powers = central[own:, own:], gram.powers[own:]
    # Divided by the sum of weights.
    squares = Gram(central * 2**64 // weight, powers - 32).floats()
    size = len(powers) - 1
    norms = np.sqrt(np.diag(squares))
    norms[norms == 0.0] = 1.0
    kept, lower = _decomposed((squares / np.outer(norms, norms))[:size, :size])
    upper = _lower_inverse(lower).T / norms[kept, None]
    inverse = product(upper, upper.T)
    slopes, residual = _refined(central, powers, kept, inverse, weight)
    means, mean, constant = np.zeros(len(kept)), 0.0, None
    if own:
        shifts = [*design.shifts[kept], shift]
        middles = [
            Fraction(int(whole[0, 1 + i]), weight) * Fraction(2) ** int(powers[i] - gram.powers[0])
            + Fraction(float(off))
            for i, off in zip((*kept, size), shifts, strict=True)
        ]
        means, mean = np.array([float(part) for part in middles[:-1]]), float(middles[-1])
        rises = (Fraction(b) * m for b, m in zip(slopes.tolist(), middles[:-1], strict=True))
        constant = float(middles[-1] - sum(rises))
    return LeastSquaresSolution(
        kept=kept,
        slopes=slopes,
        constant=constant,
        means=means,
        mean=mean,
        inverse=inverse,
        root=upper,
        weight=gram.number(0, 0) if own else 0.0,
        total=float(squares[size, size]),
        residual=residual,
    )


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
    inverse = np.eye(len(lower))
    for j in range(len(lower)):
        if j:
            inverse[j] -= (lower[j, :j, None] * inverse[:j]).sum(axis=0)
        inverse[j] /= lower[j, j]
    return inverse


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
    central: Any, powers: IntArray, kept: IntArray, inverse: FloatArray, weight: int
) -> tuple[FloatArray, float]:
    """Coefficients and the residual sum of squares, corrected by exact remainders."""
    inner, right, square = central[np.ix_(kept, kept)], central[kept, -1], int(central[-1, -1])
    own, last = powers[kept], int(powers[-1])
    slopes = np.zeros(len(kept))
    for _ in range(_REFINEMENTS):
        whole, bits = _fixed_point(slopes, own - last)
        rest = right * 2**bits - inner.dot(whole)
        gaps = [
            scaled(int(part) * 2**64 // weight, int(power) + last - bits - 64)
            for part, power in zip(rest, own, strict=True)
        ]
        slopes = slopes + product(inverse, np.array(gaps).reshape(-1, 1))[:, 0]
    whole, bits = _fixed_point(slopes, own - last)
    left = square * 4**bits - 2 * 2**bits * int(np.dot(right, whole))
    left += int(np.dot(whole, inner.dot(whole)))
    return slopes, scaled(max(left, 0) * 2**64 // weight, 2 * last - 2 * bits - 64)


def _fixed_point(slopes: FloatArray, powers: IntArray) -> tuple[Any, int]:
    """Slopes times powers of two, as whole numbers with a common number of bits."""
    parts = [
        Fraction(b) * Fraction(2) ** int(p) for b, p in zip(slopes.tolist(), powers, strict=True)
    ]
    bits = max((part.denominator.bit_length() - 1 for part in parts), default=0)
    return np.array([int(part * 2**bits) for part in parts], dtype=object), bits
