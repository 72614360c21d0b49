"""`Coverage`: which codes of a partition are the records of codes of another. CONFIDENTIAL.

In: the partitions of records. Out: which of their codes another partition covers, which a filter
takes whole or not at all, and which filters are worked out from others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure.code_pairs import CHANCE
from discreet.disclosure.partitions import Partitions


class Coverage:
    """Overlap of partitions of records, code by code (confidential)."""

    def __init__(self, partitions: Partitions) -> None:
        self.partitions = partitions
        self._covered: dict[tuple[int, int], BoolArray] = {}
        self._taken: dict[tuple[int, str], BoolArray] = {}

    def same(self, a: int, b: int) -> bool:
        """Whether two partitions are one, under two names maybe; -1 is none."""
        return a == b >= 0 or {(a, b), (b, a)} <= self.partitions.up.keys()

    def pairs(self, a: int, b: int) -> tuple[IntArray, IntArray, IntArray | None] | None:
        """Which codes of two partitions have records in common, and how many if that is known."""
        for x, y in ((a, b), (b, a)):
            if (x, y) in self.partitions.up:
                table = self.partitions.up[x, y]
                first = np.flatnonzero(table >= 0)
                return (first, table[first], None) if x == a else (table[first], first, None)
        return self.partitions.together(a, b)

    def covered(self, a: int, b: int) -> BoolArray:
        """The codes of a partition whose records are those of some codes of another.

        Where neither determines the other, sets that chance could have made equal do not count.
        """
        if (a, b) not in self._covered:
            covered = np.full(self.partitions.partitions[a].size, a == b, dtype=np.bool_)
            pairs = None if a == b else self.pairs(a, b)
            up, constant = self.partitions.up, self.partitions.constant
            if pairs is not None and not (constant >> a | constant >> b) & 1:
                first, second = np.unique(np.stack(pairs[:2]), axis=1)
                within = np.bincount(second)[second] == 1
                covered[first] = True
                covered[first[~within]] = False
                if pairs[2] is not None and (a, b) not in up and (b, a) not in up:
                    number = np.bincount(pairs[0], pairs[2], minlength=len(covered))
                    for code in np.flatnonzero(covered).tolist():
                        whole, n = number.sum() + 1, number[code] + 1
                        ways = math.lgamma(whole) - math.lgamma(n) - math.lgamma(whole - n + 1)
                        covered[code] = -ways < math.log(CHANCE)
            self._covered[a, b] = covered
        return self._covered[a, b]

    def taken(self, a: int, where: str) -> BoolArray:
        """The codes of a partition whose records a filter takes all, or none."""
        if (a, where) not in self._taken:
            left, passed = self.partitions.left_by(a), self.partitions.patterns(where)
            taken = np.zeros(len(left), dtype=np.bool_)
            taken[self.partitions.partitions[a].codes] = True
            taken &= left[:, passed].any(axis=1) != left[:, ~passed].any(axis=1)
            self._taken[a, where] = taken
        return self._taken[a, where]

    def universes(self, filters: Iterable[str]) -> dict[str, int]:
        """Filter → number of those of which one is worked out from others, or is the same."""
        passed = {where: self.partitions.patterns(where).astype(float) for where in filters}
        number = {where: at for at, where in enumerate(passed)}
        basis: list[str] = []
        for where, own in passed.items():
            known = np.array([passed[one] for one in basis]).reshape(len(basis), len(own))
            weights = np.linalg.lstsq(known.T, own, rcond=None)[0] if basis else np.zeros(0)
            if np.abs(weights @ known - own).max() > 1e-7:
                basis.append(where)
                continue
            near = [number[o] for o, far in zip(basis, weights, strict=True) if abs(far) > 1e-7]
            near.append(number[where])
            number = {one: min(near) if at in near else at for one, at in number.items()}
        return number
