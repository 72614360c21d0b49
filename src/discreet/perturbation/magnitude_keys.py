"""Keys for the second and later contributions to a cell, derived from its cell key.

In: cell keys, integers of the grid. Out: one key per contribution. SECRET. Only
integers are moved, so that every machine and every third party derives the same keys.

On grids of 10^p keys the decimal digits of the cell key, from the first after the point
to the last that is not zero, are rotated to the left by one more digit for every
contribution. On any other grid of M keys, the key is multiplied once more for each of
them, modulo M, by the whole number next above M·(√5 − 1)/2 that shares no factor with M.
"""

from __future__ import annotations

from math import gcd, isqrt

import numpy as np
import numpy.typing as npt

from discreet.keygrid import KeyGrid

__all__ = ["noise_keys"]

IntArray = npt.NDArray[np.int64]

_BITS = 13  # a key below 2^50 times 2^13 stays within 63 bits


def noise_keys(
    key: IntArray, grid: KeyGrid, number: int, *, same_key: bool = False
) -> list[IntArray]:
    """The keys of `number` contributions to each cell.

    Args:
        key: Cell keys.
        grid: Their grid.
        number: How many are needed.
        same_key: The first contribution uses the cell key itself.

    >>> key = np.array([123_450_000_000_000, 120_000_000_000])
    >>> [keys.tolist() for keys in noise_keys(key, KeyGrid(), 2, same_key=True)]
    [[123450000000000, 120000000000], [234510000000000, 1200000000000]]
    """
    key = np.asarray(key, dtype=np.int64)
    first = 0 if same_key else 1
    digits = _decimal_digits(grid.size)
    if digits:
        return [_rotated(key, digits, first + at) for at in range(number)]
    factor, keys = _factor(grid.size), key
    found = []
    for step in range(first + number):
        if step >= first:
            found.append(keys)
        keys = _product(keys, factor, grid.size)
    return found


def _decimal_digits(size: int) -> int:
    """How many digits keys have on a grid of 10^p keys; 0 on others."""
    digits = len(str(size)) - 1
    return digits if size == 10**digits else 0


def _rotated(key: IntArray, digits: int, by: int) -> IntArray:
    """Each key with its written digits rotated to the left."""
    if by == 0:
        return key
    written = key.copy()
    width = np.full(key.shape, digits, dtype=np.int64)
    for _ in range(digits - 1):
        ends_in_zero = written % 10 == 0
        written[ends_in_zero] //= 10
        width[ends_in_zero] -= 1
    power = np.array([10**place for place in range(digits + 1)], dtype=np.int64)
    shift = by % width
    high, low = np.divmod(written, power[width - shift])
    return np.asarray((low * power[shift] + high) * power[digits - width], dtype=np.int64)


def _factor(size: int) -> int:
    factor = (isqrt(5 * size * size) - size) // 2 + 1
    while gcd(factor, size) > 1:
        factor += 1
    return factor % size


def _product(key: IntArray, factor: int, size: int) -> IntArray:
    """Keys times factor modulo size, without leaving 64 bits."""
    pieces = []
    while factor:
        factor, piece = divmod(factor, 1 << _BITS)
        pieces.append(piece)
    product = np.zeros(key.shape, dtype=np.int64)
    for piece in reversed(pieces):
        shifted = product * np.int64(1 << _BITS) % np.int64(size)
        product = (shifted + key * np.int64(piece) % np.int64(size)) % np.int64(size)
    return product
