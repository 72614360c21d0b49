"""Record keys as numbers: made from identifiers. SECRET.

In: a secret and the texts of identifiers. Out: whole numbers on the key grid, exactly. The
construction is stated in docs/methods/record-keys.md.

An identifier's text is split into 16-byte blocks, of which the first begins with
the text's length. Chained through AES-256 (CBC-MAC; the length in front makes no
message the beginning of another, so that the result is a pseudo-random function)
they give 128 bits u, and u gives the key floor(u · M / 2^128).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import polars as pl

from discreet.arrays import ByteArray, IntArray, UintArray, starts
from discreet.errors import RecordKeyError
from discreet.keygrid import KeyGrid
from discreet.microdata.secret import Secret

if TYPE_CHECKING:
    import polars as pl

_CONSTRUCTION = "discreet record keys, version 1"
_BLOCK = 16
_LENGTH_BYTES = 4
_ROWS_AT_ONCE = 1 << 15  # their blocks stay in the processor's cache
_FEW_PIECES = 8  # more than so many are shared by threads

_WHOLE = np.dtype(f"V{_BLOCK}")  # blocks are taken as one value each, so fast
# _KEEP[n] keeps the first n bytes of a block.
_KEEP = np.where(np.arange(_BLOCK) < np.arange(_BLOCK + 1)[:, None], 255, 0).astype(np.uint8)


class KeyFunction:
    """Record keys of identifier texts: a fixed random function of secret and grid.

    >>> import polars as pl
    >>> function = KeyFunction.of(Secret.of("a long and secret sentence"), KeyGrid(256))
    >>> bool((function(pl.Series(["1", "2"])) < 256).all())
    True
    """

    __slots__ = ("_cipher_key", "grid")

    def __init__(self, cipher_key: bytes, grid: KeyGrid) -> None:
        self._cipher_key = cipher_key
        self.grid = grid

    @classmethod
    def of(cls, secret: Secret, grid: KeyGrid, parts: int = 1, holds: str = "") -> KeyFunction:
        """The function for identifiers of so many `parts` (columns), and for a period or all."""
        return cls(cipher_key(secret, grid, parts, holds), grid)

    def __call__(self, texts: pl.Series) -> IntArray:
        """The keys of a polars Series of texts, in its order."""
        if texts.null_count():
            message = f"{texts.null_count():,} of {len(texts):,} records have no identifier"
            hint = "the records changed between checking and keying; read them again"
            raise RecordKeyError(message, code="identifiers", hint=hint)
        keys = np.empty(len(texts), dtype=np.int64)
        begins, lengths, letters = _letters(texts)
        for first in range(0, len(texts), _ROWS_AT_ONCE):
            rows = slice(first, first + _ROWS_AT_ONCE)
            keys[rows] = self._keys(begins[rows], lengths[rows], letters)
        return keys

    def of_numbers(self, numbers: IntArray) -> IntArray:
        """The keys of whole numbers from 0 on, each a block of the cipher, in their order."""
        keys = np.empty(len(numbers), dtype=np.int64)

        def fill(first: int) -> None:
            rows = slice(first, first + _ROWS_AT_ONCE)
            blocks = np.zeros((len(keys[rows]), 2), dtype=">u8")
            blocks[:, 1] = numbers[rows]
            keys[rows] = to_grid(self._encrypt(blocks.view(np.uint8)), self.grid)

        firsts = range(0, len(numbers), _ROWS_AT_ONCE)
        if len(firsts) <= _FEW_PIECES:
            for first in firsts:
                fill(first)
        else:
            with ThreadPoolExecutor(os.cpu_count()) as threads:
                list(threads.map(fill, firsts))
        return keys

    def _keys(self, starts: IntArray, lengths: IntArray, letters: ByteArray) -> IntArray:
        """One pass of the cipher per block; rows whose text has ended step aside."""
        blocks = _pieces(starts, lengths, letters)
        blocks.view(">u4")[:, 0] = lengths - _LENGTH_BYTES
        state = self._encrypt(blocks).view(_WHOLE)[:, 0]
        read = _BLOCK
        active = np.flatnonzero(lengths > read)
        while active.size:
            blocks = _pieces(starts[active] + read, lengths[active] - read, letters)
            blocks ^= state[active].view(np.uint8).reshape(-1, _BLOCK)
            state[active] = self._encrypt(blocks).view(_WHOLE)[:, 0]
            read += _BLOCK
            active = active[lengths[active] > read]
        return to_grid(state.view(np.uint8).reshape(-1, _BLOCK), self.grid)

    def _encrypt(self, blocks: ByteArray) -> ByteArray:
        # One block at a time, chained by the caller: a block cipher mode is not in use here.
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        encryptor = Cipher(algorithms.AES(self._cipher_key), modes.ECB()).encryptor()  # noqa: S305
        coded = np.empty(blocks.size + _BLOCK, dtype=np.uint8)
        written = encryptor.update_into(np.ascontiguousarray(blocks).reshape(-1).data, coded.data)
        return coded[:written].reshape(-1, _BLOCK)

    def __reduce__(self) -> NoReturn:
        raise RecordKeyError("a key function cannot be pickled", code="secret")

    def __repr__(self) -> str:
        return f"<KeyFunction on the grid {self.grid}>"


def cipher_key(secret: Secret, grid: KeyGrid, parts: int, holds: str = "") -> bytes:
    """The AES key for one grid, one number of identifier columns, and what keys hold for."""
    text = f"{_CONSTRUCTION}; grid {grid.size}; id columns {parts}"
    return secret.derive(f"{text}; {holds}" if holds else text)


def _letters(texts: pl.Series) -> tuple[IntArray, IntArray, ByteArray]:
    """Where each text begins, its length, both with bytes for the length in front; all bytes."""
    lengths = texts.str.len_bytes().fill_null(0).to_numpy().astype(np.int64)
    spare = [pl.Series(["\0" * size]) for size in (_LENGTH_BYTES, _BLOCK)]
    whole = pl.concat([spare[0], texts, spare[1]]).str.join("").cast(pl.Binary).item()
    return starts(lengths)[:-1], lengths + _LENGTH_BYTES, np.frombuffer(whole, dtype=np.uint8)


def _pieces(starts: IntArray, lengths: IntArray, letters: ByteArray) -> ByteArray:
    """The next block of each text, zeros after its end."""
    windows = np.ndarray(len(letters) - _BLOCK + 1, dtype=_WHOLE, buffer=letters, strides=(1,))
    pieces = windows[starts].view(np.uint64).reshape(-1, 2)
    pieces &= _KEEP.view(np.uint64).take(np.minimum(lengths, _BLOCK), axis=0)
    return pieces.view(np.uint8)


def to_grid(blocks: ByteArray, grid: KeyGrid) -> IntArray:
    """floor(u · M / 2^128) of the 128-bit numbers in `blocks`, in whole numbers.

    >>> to_grid(np.full((1, 16), 255, dtype=np.uint8), KeyGrid(4096)).tolist()
    [4095]
    """
    halves = np.ascontiguousarray(blocks).view(">u8")
    size = np.uint64(grid.size)
    high, low = _product(halves[:, 0].astype(np.uint64), size)
    # The other half adds less than the size of the grid: it rarely carries.
    near = np.flatnonzero(low >= np.uint64(2**64 - grid.size))
    carried, _ = _product(halves[near, 1].astype(np.uint64), size)
    high[near] += low[near] + carried < low[near]
    return high.astype(np.int64)


def _product(numbers: UintArray, size: np.uint64) -> tuple[UintArray, UintArray]:
    """Upper and lower 64 bits of the 128-bit products, from 32-bit halves."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    upper, lower = numbers >> half, numbers & mask
    size_upper, size_lower = size >> half, size & mask
    bottom = lower * size_lower
    cross = upper * size_lower
    middle = (bottom >> half) + (cross & mask) + lower * size_upper
    high = upper * size_upper + (cross >> half) + (middle >> half)
    return high, (middle << half) | (bottom & mask)
