"""Random draws that depend on a seed and a block number only.

In: a seed, a block number, tables of outcomes. Out: drawn values. Everything is
taken from the raw bits of a counter-based generator, so that a block comes out the
same whatever was drawn before it, in whichever thread. Synthetic data: nothing
here is confidential.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from discreet.arrays import AnyArray, IntArray

DrawArray = npt.NDArray[np.uint16]

#: Ages run from 0 to 105.
AGES = 106


class Stream:
    """The random bits of one block.

    >>> Stream(2026, 0).draw(3).tolist() == Stream(2026, 0).draw(3).tolist()
    True
    """

    def __init__(self, seed: int, block: int) -> None:
        self._bits = np.random.Philox(key=np.array([seed, block], dtype=np.uint64))

    def words(self, number: int) -> npt.NDArray[np.uint64]:
        """Uniform 64-bit words."""
        return np.asarray(self._bits.random_raw(number), dtype=np.uint64)

    def draw(self, number: int) -> DrawArray:
        """Uniform 16-bit numbers, four from each word."""
        words = self.words((number + 3) // 4).astype("<u8", copy=False)
        return words.view("<u2")[:number]

    def unit(self, number: int) -> npt.NDArray[np.float64]:
        """Uniform numbers in [0, 1)."""
        return (self.words(number) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def order(self, number: int) -> IntArray:
        """The numbers 0 … number−1 in random order."""
        return np.argsort(self.words(number), kind="stable")


def apportion(shares: npt.ArrayLike, seats: int) -> IntArray:
    """Whole numbers in proportion to `shares` that add up to `seats` (largest remainder).

    >>> apportion([2, 1, 1], 10).tolist()
    [5, 3, 2]
    """
    weights = np.asarray(shares, dtype=np.float64)
    # Rounded, so that the last digit of a processor's arithmetic decides nothing.
    exact = np.round(weights / weights.sum() * seats, 6)
    allotted = np.floor(exact).astype(np.int64)
    left = seats - int(allotted.sum())
    allotted[np.argsort(allotted - exact, kind="stable")[:left]] += 1
    return np.asarray(allotted, dtype=np.int64)


def threshold(probability: float) -> int:
    """The 16-bit number below which draws fall with `probability`.

    >>> threshold(0.5)
    32768
    """
    return round(probability * 65536)


def curve(points: Sequence[tuple[float, float]], size: int = AGES) -> npt.NDArray[np.float64]:
    """Weights of the ages 0 … size−1 on straight lines between `points`, zero outside.

    >>> curve([(0, 0), (2, 4)], size=4).tolist()
    [0.0, 2.0, 4.0, 0.0]
    """
    at, height = zip(*points, strict=True)
    weights = np.interp(np.arange(size), at, height, left=0.0, right=0.0)
    return np.asarray(weights, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Rows of equally likely outcomes, as many as the share of each asks for."""

    table: AnyArray  # the rows, one after another, each of 2^bits outcomes
    bits: int  # binary logarithm of the length of a row, at most 16

    @classmethod
    def of(
        cls,
        shares: Sequence[npt.ArrayLike],
        values: npt.ArrayLike | None = None,
        bits: int = 16,
    ) -> Outcomes:
        """One row of outcomes per row of shares.

        >>> Outcomes.of([[3, 1]], bits=2).table.tolist()
        [0, 0, 0, 1]
        """
        rows = [apportion(row, 2**bits) for row in shares]
        drawn = np.arange(len(rows[0])) if values is None else np.asarray(values)
        small = drawn.astype(np.min_scalar_type(int(drawn.max())))
        return cls(np.concatenate([np.repeat(small, row) for row in rows]), bits)

    def pick(self, draws: DrawArray, rows: AnyArray | None = None) -> AnyArray:
        """The outcome of each draw, from the row given for it (or the only row)."""
        at = draws if self.bits == 16 else draws >> np.uint16(16 - self.bits)
        if rows is None:
            return np.asarray(self.table[at])
        return np.asarray(self.table[(rows.astype(np.int64) << self.bits) + at])


def skewed(medians: Sequence[float], spreads: Sequence[float], least: int, most: int) -> Outcomes:
    """Rows of log-normal whole numbers between `least` and `most`.

    >>> rents = skewed([500], [0.5], least=100, most=9_000)
    >>> int(rents.table[2048])
    500
    """
    bits = 12
    normal = NormalDist()
    points = np.array([normal.inv_cdf((k + 0.5) / 2**bits) for k in range(2**bits)])
    rows = [
        np.clip(np.rint(median * np.exp(spread * points)), least, most)
        for median, spread in zip(medians, spreads, strict=True)
    ]
    return Outcomes(np.concatenate(rows).astype(np.int64), bits)
