"""Signed heads: how far the trail went on a day, signed, and kept where the service cannot reach.

In: number and digest of the last entry, a signing key. Out: a small file. Who has one finds out
later whether the end of the trail was cut off, or all of it written anew. Public.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from discreet.files import write_text
from discreet.release.packages.keys import key_id, public_bytes
from discreet_service.problems import ServiceError

#: What is signed begins with this: the signature is good for nothing else.
_PURPOSE = "discreet audit head 1"
_LONGEST_FILE = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class SignedHead:
    """How far the trail went.

    >>> key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    >>> head = SignedHead.sign(key, seq=3, digest="ab", at=0)
    >>> head.is_signed_by([public_bytes(key)]), head.is_signed_by([bytes(32)])
    (True, False)
    """

    seq: int  # Number of the last entry; 0 for none
    digest: str
    at: int  # When this was signed, in milliseconds
    key_id: str  # Short name of the key that signs
    signature: str  # The signature, in hexadecimal digits

    @classmethod
    def sign(cls, key: Ed25519PrivateKey, *, seq: int, digest: str, at: int) -> Self:
        """Sign a head."""
        name = key_id(public_bytes(key))
        signature = key.sign(_signed(seq, digest, at, name)).hex()
        return cls(seq=seq, digest=digest, at=at, key_id=name, signature=signature)

    def is_signed_by(self, keys: Sequence[bytes]) -> bool:
        """Whether one of these public keys signed it."""
        for key in keys:
            if key_id(key) != self.key_id:
                continue
            try:
                told = _signed(self.seq, self.digest, self.at, self.key_id)
                Ed25519PublicKey.from_public_bytes(key).verify(bytes.fromhex(self.signature), told)
            except (InvalidSignature, ValueError):
                return False
            return True
        return False

    def write(self, folder: Path) -> Path:
        """Write it to a folder; its file has the number of the entry in its name."""
        place = folder / f"head-{self.seq:012d}-{self.at}.json"
        told = {name: getattr(self, name) for name in self.__slots__}
        write_text(place, json.dumps(told, indent=1) + "\n")
        return place

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read one; whether it is genuine, `is_signed_by` tells."""
        try:
            with Path(path).open("rb") as file:
                told = json.loads(file.read(_LONGEST_FILE))
            found = cls(**told)
        except (OSError, ValueError, TypeError, RecursionError):
            raise _no_head() from None
        fits = all(isinstance(each, int) for each in (found.seq, found.at))
        texts = (found.digest, found.key_id, found.signature)
        if not fits or not all(isinstance(each, str) for each in texts):
            raise _no_head()
        return found


def _signed(seq: int, digest: str, at: int, name: str) -> bytes:
    return json.dumps([_PURPOSE, seq, digest, at, name]).encode()


def _no_head() -> ServiceError:
    hint = "heads are the files head-….json of the service"
    return ServiceError(
        "this is no signed head of a trail", code="invalid-input", where="head", hint=hint
    )
