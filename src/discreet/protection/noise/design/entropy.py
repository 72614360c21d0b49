"""The distribution of one row for given multipliers of mean and variance. SECRET.

In: the noise a row may have, its order constraints and stay probability. Out:
probabilities and their moments. With multipliers b and c of the mean and the second
moment, the entropy is largest at p ∝ exp(−g), g = b·v + c·v²; where the order demands
it, adjacent values that violate it are pooled and take their common mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate
from operator import le, mul

#: Start, stop and level of a block of neighbours.
Run = tuple[int, int, Decimal]


def pooled(values: Sequence[Decimal]) -> list[Run]:
    """Blocks of the isotonic (non-decreasing) regression; only strict violations are pooled.

    >>> from decimal import Decimal
    >>> pooled([Decimal(3), Decimal(1), Decimal(1), Decimal(9)])
    [(0, 3, Decimal('1.666666666666666666666666667')), (3, 4, Decimal('9'))]
    """
    if all(map(le, values, values[1:])):
        return [(at, at + 1, value) for at, value in enumerate(values)]
    runs: list[Run] = []
    for at, value in enumerate(values):
        start, level = at, value
        while runs and runs[-1][2] > level:
            first, middle, other = runs.pop()
            level = (other * (middle - first) + level * (at + 1 - middle)) / (at + 1 - first)
            start = first
        runs.append((start, at + 1, level))
    return runs


ZERO, ONE = Decimal(0), Decimal(1)


@dataclass(frozen=True, repr=False, eq=False)
class NoiseSide:
    """The noise on one side of zero."""

    sign: int  # −1 below zero, 1 above
    distances: tuple[int, ...]  # absolute values, ascending
    ordered: bool  # whether probabilities must not rise away from zero
    first: list[Decimal] = field(init=False)
    second: list[Decimal] = field(init=False)
    sums: list[int] = field(init=False)
    squares: list[int] = field(init=False)
    singles: list[Run] = field(init=False)

    def __post_init__(self) -> None:
        squares = [distance * distance for distance in self.distances]
        object.__setattr__(self, "first", [Decimal(self.sign * at) for at in self.distances])
        object.__setattr__(self, "second", [Decimal(square) for square in squares])
        object.__setattr__(self, "sums", list(accumulate(self.distances, initial=0)))
        singles = [(at, at + 1, ZERO) for at in range(len(squares))]
        object.__setattr__(self, "singles", singles)
        object.__setattr__(self, "squares", list(accumulate(squares, initial=0)))

    def runs(self, b: Decimal, c: Decimal) -> list[Run]:
        """Neighbours of equal probability, with their exponents b·v + c·v²."""
        if not self.ordered or (self.sign * b >= 0 and c >= 0):
            # Levels that rise from zero on need no comparing.
            return self.singles[:]
        return pooled([b * x + c * y for x, y in zip(self.first, self.second, strict=True)])

    def mean(self, start: int, stop: int) -> Decimal:
        """Mean noise of neighbours."""
        return Decimal(self.sign * (self.sums[stop] - self.sums[start])) / (stop - start)

    def mean_square(self, start: int, stop: int) -> Decimal:
        """Mean squared noise of neighbours."""
        return Decimal(self.squares[stop] - self.squares[start]) / (stop - start)

    def weights(self, tilt: Decimal, width: Decimal) -> list[Decimal]:
        """exp(−b·v − c·v²), by multiplication from one distance to the next."""
        factor, bend = width / tilt if self.sign > 0 else width * tilt, width * width
        weight, at, weights = ONE, 0, []
        for distance in self.distances:
            while at < distance:
                weight *= factor
                factor *= bend
                at += 1
            weights.append(weight)
        return weights


class PooledBlocks:
    """Neighbours that share one probability, as parallel lists: one entry per block."""

    __slots__ = ("centre", "first", "members", "ordered", "second", "sizes", "weights")

    def __init__(self) -> None:
        self.centre: list[tuple[NoiseSide, int, int]] = []  # what the first block took in
        self.sizes: list[int] = []
        self.first: list[Decimal] = []  # mean noise
        self.second: list[Decimal] = []  # mean squared noise
        self.weights: list[Decimal] = []  # of all members together, not normalised
        self.ordered: list[bool] = []
        self.members: list[tuple[NoiseSide, int, int]] = []  # start and stop on a side

    def add_centre(
        self, below: NoiseSide, left: list[Run], above: NoiseSide, right: list[Run]
    ) -> None:
        """Add the block of zero; it takes from `left` and `right` what must join it."""
        level, size, first, second = ZERO, 1, 0, 0
        sides = [item for item in ((below, left), (above, right)) if item[0].ordered]
        while True:
            nearest = [item for item in sides if item[1] and item[1][0][2] < level]
            if not nearest:
                break
            side, runs = min(nearest, key=lambda found: found[1][0][2])
            start, stop, other = runs.pop(0)
            number = stop - start
            level = (level * size + other * number) / (size + number)
            size += number
            first += side.sign * (side.sums[stop] - side.sums[start])
            second += side.squares[stop] - side.squares[start]
            self.centre.append((side, start, stop))
        self.sizes.append(size)
        self.first.append(Decimal(first) / size)
        self.second.append(Decimal(second) / size)
        self.weights.append(size * (-level).exp())
        self.ordered.append(True)
        self.members.append((below, 0, 0))

    def add_side(self, side: NoiseSide, runs: list[Run], weights: list[Decimal]) -> None:
        """Add the runs of one side."""
        spans = [(start, stop) for start, stop, _ in runs]
        self.members += [(side, start, stop) for start, stop in spans]
        self.ordered += [side.ordered] * len(spans)
        begin = spans[0][0] if spans else len(weights)
        if len(spans) == len(weights) - begin:  # nothing is pooled
            self.sizes += [1] * len(spans)
            self.first += side.first[begin:]
            self.second += side.second[begin:]
            self.weights += weights[begin:]
            return
        self.sizes += [stop - start for start, stop in spans]
        self.first += [
            side.first[start] if start + 1 == stop else side.mean(start, stop)
            for start, stop in spans
        ]
        self.second += [
            side.second[start] if start + 1 == stop else side.mean_square(start, stop)
            for start, stop in spans
        ]
        self.weights += [
            weights[start] if start + 1 == stop else (stop - start) * (-level).exp()
            for start, stop, level in runs
        ]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Moments:
    """Mean and second moment of a distribution, and how they react to b and c."""

    mean: Decimal
    second: Decimal
    var_first: Decimal
    cov: Decimal
    var_second: Decimal


@dataclass(frozen=True, eq=False, repr=False)
class NoiseRow:
    """Feasible noise of one row."""

    below: NoiseSide
    above: NoiseSide
    zero: bool
    stay: Decimal | None = None

    def moments(self, b: Decimal, c: Decimal) -> Moments:
        """Moments of the distribution at multipliers b and c."""
        blocks = self._blocks(b, c)
        rest, total, capped = self._normalise(blocks)
        weights = blocks.weights
        firsts = list(map(mul, weights, blocks.first))
        squares = list(map(mul, weights, blocks.second))
        e12 = sum(map(mul, firsts, blocks.second), ZERO) / total
        e11 = sum(map(mul, firsts, blocks.first), ZERO) / total
        e22 = sum(map(mul, squares, blocks.second), ZERO) / total
        mean, second = sum(firsts, ZERO) / total, sum(squares, ZERO) / total
        var_first, var_second = rest * (e11 - mean * mean), rest * (e22 - second * second)
        cov = rest * (e12 - mean * second)
        mean, second = rest * mean, rest * second
        if self.stay is not None:
            mean += self.stay * sum([blocks.sizes[at] * blocks.first[at] for at in capped], ZERO)
            second += self.stay * sum([blocks.sizes[at] * blocks.second[at] for at in capped], ZERO)
        return Moments(mean, second, var_first, cov, var_second)

    def distribution(self, b: Decimal, c: Decimal) -> dict[int, Decimal]:
        """Probability of each noise value, ascending, at multipliers b and c."""
        blocks = self._blocks(b, c)
        rest, total, capped = self._normalise(blocks)
        shares = [
            rest * weight / (total * size)
            for weight, size in zip(blocks.weights, blocks.sizes, strict=True)
        ]
        chances: dict[int, Decimal] = {}
        if self.stay is not None:
            chances[0] = self.stay
            for at in capped:
                shares[at] = self.stay
        elif self.zero:
            chances[0] = shares[0]
        spans = [(blocks.members[at], share) for at, share in enumerate(shares)]
        spans += [(span, shares[0]) for span in blocks.centre]
        for (side, start, stop), share in spans:
            chances |= {side.sign * at: share for at in side.distances[start:stop]}
        return dict(sorted(chances.items()))

    def _normalise(self, blocks: PooledBlocks) -> tuple[Decimal, Decimal, list[int]]:
        """Probability left for blocks below the cap, their weight, and the capped blocks.

        Next to a fixed stay probability, no probability may exceed it where order
        is demanded: the heaviest blocks are capped one after the other. The weight
        of a capped block becomes zero.
        """
        total = sum(blocks.weights, ZERO)
        if self.stay is None:
            return ONE, total, []
        rest, weights, sizes = ONE - self.stay, blocks.weights, blocks.sizes
        capped: list[int] = []
        heavy = [at for at, ordered in enumerate(blocks.ordered) if ordered]
        for at in sorted(heavy, key=lambda at: weights[at] / sizes[at], reverse=True):
            if rest * weights[at] <= self.stay * sizes[at] * total:
                break
            capped.append(at)
            rest -= self.stay * sizes[at]
            weights[at] = ZERO
            total = sum(weights, ZERO)
        return rest, total, capped

    def _blocks(self, b: Decimal, c: Decimal) -> PooledBlocks:
        left, right = self.below.runs(b, c), self.above.runs(b, c)
        blocks = PooledBlocks()
        if self.zero and self.stay is None:
            blocks.add_centre(self.below, left, self.above, right)
        tilt, width = b.exp(), (-c).exp()
        blocks.add_side(self.below, left, self.below.weights(tilt, width))
        blocks.add_side(self.above, right, self.above.weights(tilt, width))
        return blocks
