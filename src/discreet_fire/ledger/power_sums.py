"""Power sums: short sketches of sets that tell whether two sets differ by few members.

In: members as keyed 64-bit digests. Out: for each set its sums of powers modulo two primes.
The sums of a difference of sets are the difference of their sums. With weights +1 and -1
and d differing members these are ``s_k = w_1 x_1^k + … + w_d x_d^k``, and the Hankel matrix
``(s_{i+j})`` is ``V' diag(w) V`` with a Vandermonde matrix V: its rank is at most d, whatever
the digests are. Sets that differ by fewer than `size` members are therefore always found.
"""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray, IntArray, UintArray

#: Two primes below 2^31, so that products fit into 64 bits; each has digests of its own.
PRIMES = (2**31 - 1, 2**31 - 19)
#: The largest minimum: work grows with its cube.
MOST = 50


def sums_of(digests: UintArray, size: int) -> IntArray:
    """The power sums of a set, from power 0 to ``2 size - 2``, for both primes.

    >>> sums_of(np.array([5, 7], dtype=np.uint64), 2)[0].tolist()
    [2, 14, 100]
    """
    if not len(digests):
        return np.zeros((len(PRIMES), 2 * size - 1), dtype=np.int64)
    sums: IntArray = sums_of_groups(digests, np.zeros(1, dtype=np.int64), size)[0]
    return sums


def sums_of_groups(digests: UintArray, starts: IntArray, size: int) -> IntArray:
    """The power sums of sets that follow each other."""
    sums = np.empty((len(starts), len(PRIMES), 2 * size - 1), dtype=np.int64)
    halves = (digests & np.uint64(0xFFFFFFFF), digests >> np.uint64(32))
    for row, (prime, half) in enumerate(zip(PRIMES, halves, strict=True)):
        members = half.astype(np.int64) % (prime - 1) + 1
        power = np.ones(len(members), dtype=np.int64)
        for exponent in range(2 * size - 1):
            # 63 bits hold 2^32 summands
            sums[:, row, exponent] = np.add.reduceat(power, starts) % prime
            power = power * members % prime
    return sums


def added(*terms: tuple[int, IntArray]) -> IntArray:
    """Sums of sets, each taken with a sign."""
    total: IntArray = np.zeros(1, dtype=np.int64)
    for sign, sums in terms:
        total = total + sign * sums
    result: IntArray = total % np.array(PRIMES, dtype=np.int64)[:, None]
    return result


def hankel_ranks(sums: IntArray, prime: int) -> IntArray:
    """How many members stand behind each row of sums: exact if fewer than the size.

    Returns:
        For each row the rank of its Hankel matrix: at most the number of differing members.

    >>> few = np.array([3, 5, 9], dtype=np.uint64)
    >>> many = np.arange(100, dtype=np.uint64)
    >>> rows = np.stack([sums_of(few[:2], 4)[0], sums_of(few, 4)[0], sums_of(many, 4)[0]])
    >>> hankel_ranks(rows, PRIMES[0]).tolist()
    [2, 3, 4]
    """
    size = (sums.shape[1] + 1) // 2
    places = np.arange(size)[:, None] + np.arange(size)[None, :]
    matrices = sums[:, places] % prime
    ranks = np.zeros(len(sums), dtype=np.int64)
    every = np.arange(len(sums))
    for column in range(size):
        # the pivot of each matrix: its first row, not used yet, that is not zero here
        usable = (matrices[:, :, column] != 0) & (np.arange(size)[None, :] >= ranks[:, None])
        row = usable.argmax(axis=1)
        has = usable[every, row]
        some = every[has]
        pivot_row, rank = row[has], ranks[has]
        pivot = matrices[some, pivot_row].copy()
        matrices[some, pivot_row] = matrices[some, rank]
        matrices[some, rank] = pivot
        head = pivot[:, column][:, None, None]
        factor = matrices[some, :, column][:, :, None]
        below = np.arange(size)[None, :, None] > rank[:, None, None]
        reduced = (matrices[some] * head % prime - factor * pivot[:, None, :] % prime) % prime
        matrices[some] = np.where(below, reduced, matrices[some])
        ranks[has] += 1
    return ranks


def few_members(sums: IntArray, prime: int) -> BoolArray:
    """Behind which rows of sums there may be fewer members than the size; the ranks tell.

    The length of the shortest recurrence that gives the sums, by the algorithm of Berlekamp
    and Massey without divisions: fewer members have a shorter one, and nearly no others.

    >>> few, many = np.array([3, 5, 9], dtype=np.uint64), np.arange(100, dtype=np.uint64)
    >>> rows = np.stack([sums_of(few, 4)[0], sums_of(many, 4)[0]])
    >>> few_members(rows, PRIMES[0]).tolist()
    [True, False]
    """
    size = (sums.shape[1] + 1) // 2
    members = np.zeros(len(sums), dtype=np.bool_)
    open_ones = np.arange(len(sums))
    length = np.zeros(len(sums), dtype=np.int64)
    recurrence = np.zeros((len(sums), size + 1), dtype=np.int64)
    recurrence[:, 0] = 1
    before, last = recurrence.copy(), np.ones(len(sums), dtype=np.int64)
    for step in range(sums.shape[1]):
        width = min(step, size) + 1
        seen = sums[open_ones, step - width + 1 : step + 1][:, ::-1]
        miss = (recurrence[:, :width] * seen % prime).sum(axis=1) % prime
        before[:, 1:] = before[:, :-1].copy()
        before[:, 0] = 0
        after = recurrence * last[:, None] % prime - miss[:, None] * before % prime
        longer = (miss != 0) & (2 * length <= step)
        before[longer], last[longer] = recurrence[longer], miss[longer]
        recurrence = np.where((miss != 0)[:, None], after % prime, recurrence)
        length[longer] = step + 1 - length[longer]
        kept = length < size
        if not kept.all():
            open_ones, length, recurrence = open_ones[kept], length[kept], recurrence[kept]
            before, last = before[kept], last[kept]
    members[open_ones] = True
    return members
