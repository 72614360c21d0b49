"""Sketches of universes: how many units, their power sums and marks; sealed for the database.
CONFIDENTIAL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.arrays import IntArray, UintArray
from discreet.disclosure import PRIMES, SketchSum, marks_of, sums_of
from discreet_service.policies.document import PolicyError

_NONCE = 12
#: So many units are worth loading the compiled loops.
_MANY = 5_000


@dataclass(frozen=True, kw_only=True, repr=False, slots=True)
class UniverseSketch:
    """Stored sketch of the units of a universe. CONFIDENTIAL."""

    count: int  # How many there are
    size: int  # Differences of fewer units are exact
    sums: IntArray  # Their power sums
    marks: np.ndarray[tuple[int], np.dtype[np.uint32]]  # Their marks
    # variable of its filters → all codes with records in common with its own; None where a unit
    # may be several records, which have several codes
    related: Mapping[str, frozenset[str]] | None = None

    @classmethod
    def of(cls, units: UintArray, size: int) -> UniverseSketch:
        """That of some units."""
        once = np.unique(units.astype(np.uint64))
        if len(once) < _MANY:
            return cls(count=len(once), size=size, sums=sums_of(once, size), marks=marks_of(once))
        total = SketchSum(size)
        total.add(once)
        return cls.of_sum(total, size)

    @classmethod
    def of_sum(
        cls, total: SketchSum, size: int, related: Mapping[str, frozenset[str]] | None = None
    ) -> UniverseSketch:
        """One that was added up part by part."""
        return cls(count=total.count, size=size, sums=total.sums, marks=total.marks,
                   related=related)  # fmt: skip

    def sealed(self, key: bytes, about: bytes) -> bytes:
        """Encrypted, for the database."""
        head = np.array([self.count, self.size], dtype="<i8").tobytes()
        content = head + self.sums.astype("<i8").tobytes() + self.marks.astype("<u4").tobytes()
        nonce = os.urandom(_NONCE)
        return nonce + AESGCM(key).encrypt(nonce, content, about)

    @classmethod
    def opened(cls, sealed: bytes, key: bytes, about: bytes) -> UniverseSketch:
        """One that was kept; raises an error if somebody changed or moved it."""
        try:
            content = AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], about)
        except (InvalidTag, ValueError):
            message = "the ledger of universes was changed"
            raise PolicyError(message, code="policy-ledger", where="released_universes") from None
        count, size = np.frombuffer(content[:16], dtype="<i8").tolist()
        end = 16 + 8 * len(PRIMES) * (2 * size - 1)
        sums = np.frombuffer(content[16:end], dtype="<i8").astype(np.int64)
        marks = np.frombuffer(content[end:], dtype="<u4").astype(np.uint32)
        return cls(count=count, size=size, sums=sums.reshape(len(PRIMES), -1), marks=marks)
