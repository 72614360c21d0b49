"""Which published sums and parts give an original away: the attacker's reasoning, in arrays.

In: which originals an attacker holds possible for each published value. Out: for
each combination of published parts and sum, whether an original is determined.
SECRET. All results are whole numbers compared with one; rounding cannot matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.assessment.chances import Chances, FloatArray

__all__ = ["Attack", "Beliefs"]

Bools = npt.NDArray[np.bool_]
Singles = npt.NDArray[np.float32]


@dataclass(frozen=True, repr=False)
class Beliefs:
    """What is possible, count by count, as far as counts differ.

    Args:
        move: Probability of count → published value.
        possible: Whether the attacker holds count → published value possible.
        limit: All counts from here on are alike; parts go from 0 to here.
        terms: Number of parts of a sum.
        reach: Largest absolute noise.
    """

    move: FloatArray
    possible: Bools
    limit: int
    terms: int
    reach: int

    @classmethod
    def of(cls, chances: Chances, alike: int, terms: int, *, whole_table: bool) -> Beliefs:
        """The beliefs of one who knows the whole table, or only the maximum noise.

        Either knows that zeros stay zero, which is no secret, unless they do not.
        From `alike` + 2·reach on, every original that a published value may have
        belongs to equal rows, so that larger counts make no difference.
        """
        reach = int(max(np.abs(chances.noise[chances.units.any(axis=0)])))
        limit = max(alike + 2 * reach, 3)  # 1 and 2 never stand for larger counts
        counts = terms * (limit + 2 * reach) + 1
        values = terms * limit + reach + 1
        move = np.zeros((counts, values + 3 * reach * terms + 1), dtype=np.float64)
        row = np.minimum(np.arange(counts), alike)
        for at, noise in enumerate(chances.noise.tolist()):
            count = np.flatnonzero(chances.units[row, at])
            move[count, count + noise] = chances.share[row[count], at]
        if whole_table:
            possible = move > 0
        else:
            count, value = np.indices(move.shape)
            possible = np.abs(value - count) <= reach
            if chances.units[0, -chances.noise[0]] == chances.scale:
                possible[0, 1:] = False
        return cls(move[:, :values], possible[:, :values], limit, terms, reach)

    @property
    def size(self) -> int:
        """Number of combinations of published parts and sum."""
        values: int = self.possible.shape[1]
        return int((self.limit + self.reach + 1) ** self.terms) * values


class Attack:
    """The combinations of published parts and sum in which an original is determined.

    Arrays have one axis per part and a last one for the sum; along them run the
    published values 0, 1, ….

    Args:
        beliefs: What the attacker holds possible.
    """

    def __init__(self, beliefs: Beliefs) -> None:
        parts, values = beliefs.limit + 2 * beliefs.reach + 1, beliefs.limit + beliefs.reach + 1
        self.beliefs = beliefs
        self._part: Singles = beliefs.possible[:parts, :values].astype(np.float32)
        self._sum: Singles = beliefs.possible.astype(np.float32)
        self.part = self._first_part()
        self.sum = self._whole()
        self.any = self.sum | self.part
        for axis in range(1, beliefs.terms):
            self.any |= np.swapaxes(self.part, 0, axis)

    def chance(self, determined: Bools) -> FloatArray:
        """Probability of `determined` for each combination of original parts."""
        move, limit, terms = self.beliefs.move, self.beliefs.limit, self.beliefs.terms
        shape = determined.shape[:-1]
        part = move[: limit + 1, : shape[0]]
        chance = np.zeros((limit + 1,) * terms, dtype=np.float64)
        total = np.indices(chance.shape).sum(axis=0)
        place, value = np.nonzero(determined.reshape(-1, determined.shape[-1]))
        order = np.argsort(value, kind="stable")  # few are determined: go through those only
        place, value = place[order], value[order]
        for whole in range(terms * limit + 1):
            near = (whole - self.beliefs.reach, whole + self.beliefs.reach + 1)
            seen = slice(*np.searchsorted(value, near).tolist())
            weight = move[whole, value[seen]]
            spread = np.bincount(place[seen], weight, math.prod(shape))
            likely = np.asarray(spread.reshape(shape), dtype=np.float64)
            for _ in range(terms):  # each turn takes one axis from published to original
                likely = np.asarray(np.tensordot(likely, part, axes=(0, 1)), dtype=np.float64)
            here = total == whole
            chance[here] = likely[here]
        return chance

    def _others(self) -> Singles:
        """What the other parts may sum to: (their published values, flat) × sum."""
        part = self._part.T
        if self.beliefs.terms == 2:
            return part
        sums = _sums(part[:, None, :], part[None, :, :])
        return sums.reshape(-1, sums.shape[-1])

    def _first_part(self) -> Bools:
        """Whether exactly one original of the first part fits."""
        others, part = self._others(), self._part
        values, wholes = part.shape[1], self._sum.shape[1]
        number = np.zeros((values, len(others), wholes), dtype=np.int16)
        for count in range(len(part)):
            rows = self._sum[count : count + others.shape[1]]
            fits = others[:, : len(rows)] @ rows > 0
            number[part[count] > 0] += fits
        one: Bools = number == 1
        return one.reshape((values,) * self.beliefs.terms + (wholes,))

    def _whole(self) -> Bools:
        """Whether exactly one original of the sum fits."""
        others, values = self._others(), self._part.shape[1]
        fits = []
        for value in range(values):
            first = np.broadcast_to(self._part[:, value], (len(others), len(self._part)))
            sums = _sums(first, others)
            fits.append(np.rint(sums @ self._sum[: sums.shape[1]]) == 1)
        return np.stack(fits).reshape((values,) * self.beliefs.terms + (-1,))


def _sums(first: Singles, second: Singles) -> Singles:
    """Along the last axis: whether a number is a sum of one of each."""
    lengths = first.shape[-1], second.shape[-1]
    shape = np.broadcast_shapes(first.shape[:-1], second.shape[:-1])
    sums = np.zeros((*shape, sum(lengths) - 1), dtype=np.float32)
    for at in np.flatnonzero(first.any(axis=tuple(range(first.ndim - 1)))).tolist():
        sums[..., at : at + lengths[1]] += first[..., at, None] * second
    return (sums > 0).astype(np.float32)
