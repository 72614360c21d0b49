"""Fingerprints of sets: sums of mixed numbers, which hardly ever agree by chance. CONFIDENTIAL.

In: numbers of records, cells or entries, and the set that each belongs to. Out: one number per set.
Equal fingerprints suggest equal sets, or prove them where the numbers are keyed and 64 bits wide;
they are never the reason why a reader would know it.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import IntArray, UintArray


def mixed(numbers: UintArray) -> UintArray:
    """A number for each number, spread over 64 bits (the finaliser of SplitMix64).

    >>> mixed(np.arange(2, dtype=np.uint64)).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def set_sums(place: IntArray, marks: UintArray, sets: int) -> UintArray:
    """Per set the sum of the marks of its members, modulo 2^64.

    >>> set_sums(np.array([1, 1, 0]), np.array([2**63, 2**63, 5], dtype=np.uint64), 3).tolist()
    [5, 0, 0]
    """
    sums = np.zeros(sets, dtype=np.uint64)
    np.add.at(sums, place, marks)
    return sums
