"""Keys that sign packages of parameters, and keys that tell whose signature it is.

In: PEM files of Ed25519 keys, as other tools write them too. Out: a signing key (SECRET)
or a public key, and the short name of a public key.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from discreet.errors import PackageError
from discreet.files import check_writable, write_text
from discreet.microdata.private_files import read_private, write_private

__all__ = [
    "KeyPair",
    "key_id",
    "public_bytes",
    "read_signing_key",
    "read_verify_key",
    "refuse_public_key",
    "write_key_pair",
]

#: The first line of a PEM file stands in so many bytes.
_HEADER = 64
_MAKE_PAIR = "make a pair: discreet params keys office"


class KeyPair(NamedTuple):
    """The files of a new pair of keys.

    Args:
        signing: The key that signs; keep it.
        public: The key that verifies; hand it on.
        key_id: Its short name.
    """

    signing: Path
    public: Path
    key_id: str


def key_id(public: bytes) -> str:
    """The short name of a public key, to compare by telephone.

    >>> key_id(bytes(32))
    '6668-7aad-f862-bd77-6c8f-c18b-8e9f-8e20'
    """
    digits = hashlib.sha256(public).hexdigest()[:32]
    return "-".join(digits[at : at + 4] for at in range(0, 32, 4))


def public_bytes(key: Ed25519PrivateKey | Ed25519PublicKey) -> bytes:
    """The 32 bytes of a public key."""
    public = key.public_key() if isinstance(key, Ed25519PrivateKey) else key
    return public.public_bytes(Encoding.Raw, PublicFormat.Raw)


def write_key_pair(path: str | os.PathLike[str]) -> KeyPair:
    """Make a pair of keys: NAME.key for the owner only, NAME.pub for everyone.

    Existing files are never replaced.

    Args:
        path: Where to, with or without the suffix .key.
    """
    stem = Path(path)
    if stem.suffix in (".key", ".pub"):
        stem = stem.with_suffix("")
    private, public = (stem.with_name(stem.name + suffix) for suffix in (".key", ".pub"))
    check_writable(stem.parent)
    if public.exists():
        raise _unusable("there is already a file here", public, "choose another name")
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_private(private, secret.decode("ascii"))
    open_half = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    write_text(public, open_half.decode("ascii"))
    return KeyPair(private, public, key_id(public_bytes(key)))


def read_signing_key(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """Read a key that signs, from a file that only its owner can open."""
    refuse_public_key(path, f"this public key verifies; {Path(path).stem}.key signs")
    content = read_private(path, "signing key")
    try:
        key = load_pem_private_key(content, None)
    except TypeError:
        what = "the signing key is locked with a passphrase"
        raise _unusable(what, path, "write it without one; its file is for its owner") from None
    except (ValueError, UnsupportedAlgorithm):
        raise _unusable("the file holds no signing key", path, _MAKE_PAIR) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _unusable("the signing key is of another kind than Ed25519", path, _MAKE_PAIR)
    return key


def refuse_public_key(path: str | os.PathLike[str], hint: str) -> None:
    """Raise if a public key stands where a secret one is needed.

    Otherwise the first complaint would be that others can read it, as they should.

    Args:
        path: The file; what else is wrong with it is not looked at.
        hint: Which file to name.
    """
    try:
        with Path(path).open("rb") as file:
            start = file.read(_HEADER)
    except OSError:
        return
    if b"BEGIN PUBLIC KEY" in start:
        raise _unusable("the file holds a public key, and a secret one is needed", path, hint)


def read_verify_key(path: str | os.PathLike[str]) -> bytes:
    """Read a public key."""
    hint = "name the file NAME.pub of whoever signs"
    try:
        key = load_pem_public_key(Path(path).read_bytes())
    except OSError as error:
        raise _unusable(f"the public key cannot be read ({error.strerror})", path, hint) from None
    except (ValueError, UnsupportedAlgorithm):
        raise _unusable("the file holds no public key", path, hint) from None
    if not isinstance(key, Ed25519PublicKey):
        raise _unusable("the public key is of another kind than Ed25519", path, hint)
    return public_bytes(key)


def _unusable(what: str, path: str | os.PathLike[str], hint: str) -> PackageError:
    return PackageError(what, code="package-signing-key", where=str(Path(path)), hint=hint)
