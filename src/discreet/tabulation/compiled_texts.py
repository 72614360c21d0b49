"""The compiled loop that numbers short texts. Loaded for large data only."""

from __future__ import annotations

from typing import Any

import numba
from numba import types

from discreet.compiled import compiled

_INT = numba.int64
_WORDS = types.Array(numba.uint64, 1, "C", readonly=True)


@compiled(
    types.UniTuple(_INT, 2)(  # type: ignore[no-untyped-call]
        *(_WORDS, _INT, numba.int32[::1], numba.uint64[::1], numba.int64[::1], _INT),
        numba.uint32[::1],
    ),
    nogil=True,
)
def number_texts(
    words: Any, start: Any, slots: Any, known: Any, firsts: Any, size: Any, codes: Any
) -> Any:
    """Number texts, two words each, from one on: until the end, no room, or one is too long.

    `slots` is a hash table of the numbers, -1 where it is empty; `known` holds the words of each
    number, `firsts` where it occurs first, `size` says how many there are.
    """
    whole = numba.uint64  # loops over numbers that cannot be negative are faster
    mask = whole(slots.size - 1)
    for at in range(whole(start), whole(codes.size)):
        one, other = words[whole(2) * at], words[whole(2) * at + whole(1)]
        mixed = one + (one >> whole(32)) + other * whole(0x9E3779B97F4A7C15)
        slot = ((mixed * whole(0xD6E8FEB86659FD93)) >> whole(40)) & mask
        while True:
            code = slots[slot]
            place = whole(2) * whole(code)
            if code < 0 or not (known[place] ^ one) | (known[place + whole(1)] ^ other):
                break
            slot = (slot + whole(1)) & mask
        if code < 0:
            if size == firsts.size or one & whole(0xFFFFFFFF) > whole(12):
                return numba.int64(at), size
            code = numba.int32(size)
            slots[slot] = code
            known[2 * size], known[2 * size + 1] = one, other
            firsts[size] = at
            size += 1
        codes[at] = code
    return codes.size, size
