"""Keys derived from keys: for a value column, a period, a kind of unit. SECRET.

In: keys on their grid, and what the new ones are for. Out: other keys on the same grid, as if
drawn anew, and the same again from the same keys. What shares a key shares its noise, and who
knows one true figure then computes the other; derived keys have nothing to do with each other.

The construction, version 1: a key is written as a 16-byte whole number, big end first, and
enciphered by AES-256; the 128 bits u that come out give the derived key floor(u · M / 2^128).
The cipher's key is the SHA-256 digest of "discreet derived keys, version 1; grid M; PURPOSE",
or, where the office gives a secret, 32 bytes derived from it for that text.
"""

from __future__ import annotations

import hashlib

import numpy as np

from discreet.arrays import IntArray
from discreet.errors import RecordKeyError
from discreet.keygrid import KeyGrid
from discreet.microdata.key_values import KeyFunction
from discreet.microdata.secret import Secret

_CONSTRUCTION = "discreet derived keys, version 1"


def derived_keys(
    keys: IntArray, grid: KeyGrid, purpose: str, *, secret: Secret | None = None
) -> IntArray:
    """The keys for one purpose.

    >>> derived_keys(np.array([7, 7, 8]), KeyGrid(256), "column rent").tolist()
    [194, 194, 159]
    """
    if not isinstance(purpose, str) or not purpose:
        raise RecordKeyError("derived keys need a purpose", code="purpose", where="purpose")
    text = f"{_CONSTRUCTION}; grid {grid.size}; {purpose}"
    cipher = hashlib.sha256(text.encode()).digest() if secret is None else secret.derive(text)
    return KeyFunction(cipher, grid).of_numbers(np.asarray(keys, dtype=np.int64))
