"""What two contributors compute together, whether or not their cells share a relation.

A cell is computed if its entries in all moves of hidden cells follow from those of known cells; a
few random moves, modulo a prime, tell. CONFIDENTIAL.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.disclosure.elimination import PRIME, Elimination, elimination_of
from discreet.disclosure.relations import Relations

#: Random moves beyond the cells of two contributors: a cell seems to follow by chance with
#: probability 1 / PRIME ** 2 at most.
_MORE_MOVES = 3

#: Contributors with more cells of their own are not examined in pairs.
_MOST_OWN = 12

#: So many entries are compared at most.
_WORK = 2 * 10**9

_SEED = 20


def opened_by_pairs(
    relations: Relations, hidden: BoolArray, known: Sequence[IntArray]
) -> tuple[BoolArray, int]:
    """The cells that two contributors open together; how many pairs were not examined.

    `known` are the cells of each contributor who stands alone behind hidden ones.

    >>> rows = [[(0, -1), (1, 1), (2, 1), (3, 1)], [(0, -1), (3, 1), (4, 1), (5, 1)]]
    >>> sums, hidden = Relations.of(6, rows), np.array([False, True, True, True, True, True])
    >>> opened_by_pairs(sums, hidden, [np.array([1]), np.array([2])])[0]
    array([False, False, False,  True, False, False])
    """
    opened = np.zeros(len(hidden), dtype=np.bool_)
    among, cells = relations.among(hidden)
    place = np.full(len(hidden), -1, dtype=np.int64)
    place[cells] = np.arange(len(cells))
    owned = [place[own][place[own] >= 0] for own in known]
    few = [own for own in owned if len(own) <= _MOST_OWN]
    pairs = len(owned) * (len(owned) - 1) // 2
    if pairs == 0:
        return opened, 0
    width = np.diff(among.by_cell[0])
    done = elimination_of(among, np.argsort(-width, kind="stable").astype(np.int64))
    size = 2 * max((len(own) for own in few), default=1) + _MORE_MOVES
    if not done.whole or len(few) * len(cells) * size > _WORK:
        return opened, pairs
    moves = _random_moves(done, len(cells), size)
    free = moves.any(axis=1)
    alone = _numbered(_lines(moves))
    single = np.array([own[0] for own in few if len(own) == 1], dtype=np.int64)
    several = [at for at, own in enumerate(few) if len(own) > 1]
    left = pairs - len(few) * (len(few) - 1) // 2
    for at, own in enumerate(few):
        rest = _without(moves, own)
        alive: BoolArray = np.logical_and(free, rest.any(axis=1))
        # The other one computes what is now proportional to his own cell, and was not before.
        group = _numbered(_lines(rest))
        others = single[alive[single] & ~np.isin(single, own)]
        both = _numbered(np.stack([group, alone], axis=1))
        times, same = (np.bincount(x[others], minlength=len(rest)) for x in (group, both))
        found: BoolArray = alive & (times[group] > same[both])
        found[own] = False
        opened[cells[found]] = True
        for other in several:
            if other != at:
                found = alive & ~_without(rest, few[other]).any(axis=1)
                found &= _without(moves, few[other]).any(axis=1)
                opened[cells[found]] = True
    return opened, left


def _random_moves(done: Elimination, cells: int, size: int) -> IntArray:
    """Random ways in which cells can move together so that all relations hold, modulo the prime."""
    draw = np.random.default_rng(_SEED)
    moves = np.zeros((cells, size), dtype=np.int64)
    sums = np.zeros((int((done.rank >= 0).sum()), size), dtype=np.int64)
    for number in range(len(done.cells) - 1, -1, -1):
        rank = int(done.rank[number])
        own = draw.integers(1, PRIME, size) if rank < 0 else (-sums[rank]) % PRIME
        moves[done.cells[number]] = own
        inside = slice(done.start[number], done.start[number + 1])
        base, share = done.base[inside], done.share[inside]
        sums[base] = (sums[base] + share[:, None] * own[None, :]) % PRIME
    return moves


def _without(moves: IntArray, known: IntArray) -> IntArray:
    """What is left of all entries once some cells are known: these do not move."""
    rest = moves.copy()
    for cell in known.tolist():
        filled = np.flatnonzero(rest[cell])
        if filled.size:
            at = int(filled[0])
            line = rest[cell] * pow(int(rest[cell, at]), PRIME - 2, PRIME) % PRIME
            rest = (rest - rest[:, at][:, None] * line[None, :] % PRIME) % PRIME
    return rest


def _numbered(lines: IntArray) -> IntArray:
    """The same number for equal lines."""
    numbers: IntArray = np.unique(lines, axis=0, return_inverse=True)[1].ravel()
    return numbers


def _lines(moves: IntArray) -> IntArray:
    """Entries in multiples of the first that is not zero: the same for proportional ones."""
    lead = moves[np.arange(len(moves)), (moves != 0).argmax(axis=1)]
    inverse, power, left = np.ones_like(lead), lead % PRIME, PRIME - 2
    while left:
        if left & 1:
            inverse = inverse * power % PRIME
        power, left = power * power % PRIME, left >> 1
    lines: IntArray = moves * inverse[:, None] % PRIME
    return lines
