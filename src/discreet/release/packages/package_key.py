"""What opens a package of parameters: a key file, or a passphrase.

In: a file, an environment variable, or a text. Out: a `PackageKey`, and from it and the
salts of a package the keys for its cipher and its digest. SECRET: nothing here is ever
shown, logged or pickled.
"""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from discreet.errors import PackageError
from discreet.microdata.private_files import read_private
from discreet.release.packages.signing_keys import refuse_public_key

__all__ = ["MINIMUM_CHARACTERS", "PackageKey", "Stretching", "WorkingKeys"]

#: Shorter passphrases could be found by trial.
MINIMUM_CHARACTERS = 12

#: Bytes of a key; a key file holds twice as many hexadecimal digits.
KEY_BYTES = 32

_DIGITS = re.compile(r"[0-9a-fA-F]{64}")
_CIPHER = b"discreet parameters: cipher 1|"
_DIGEST = b"discreet parameters: digest 1"
_MAKE_ONE = "make one: discreet keys secret package.key"

KeyKind = Literal["key-file", "passphrase"]


class Stretching(NamedTuple):
    """What makes trying passphrases slow (scrypt), as a package records it.

    Args:
        salt: Random bytes.
        n: Cost.
        r: Size of blocks.
        p: Number of lanes.
    """

    salt: bytes
    n: int
    r: int
    p: int


class WorkingKeys(NamedTuple):
    """The keys for one package. SECRET."""

    cipher: bytes
    digest: bytes

    def __repr__(self) -> str:
        return "<WorkingKeys>"


class PackageKey:
    """What opens a package; shows nothing of itself.

    Args:
        kind: "key-file" or "passphrase".
        value: The 32 bytes of the key, or the bytes of the passphrase.

    >>> PackageKey.from_passphrase("correct horse battery staple")
    <PackageKey: passphrase>
    """

    __slots__ = ("_value", "kind")

    def __init__(self, kind: KeyKind, value: bytes) -> None:
        self.kind: KeyKind = kind
        self._value = value

    @classmethod
    def of(cls, value: PackageKey | bytes | str | os.PathLike[str]) -> PackageKey:
        """Accept a package key, its 32 bytes, or the path of its file.

        >>> PackageKey.of(bytes(32))
        <PackageKey: key file>
        """
        if isinstance(value, PackageKey):
            return value
        if not isinstance(value, bytes):
            return cls.from_file(value)
        if len(value) != KEY_BYTES:
            raise _wrong(f"a package key has {KEY_BYTES} bytes", "key", _MAKE_ONE)
        return cls("key-file", value)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> PackageKey:
        """Read a key of 64 hexadecimal digits from a file that only its owner can open."""
        refuse_public_key(path, "name the file of the key that opens the package")
        text = read_private(path, "key file").decode("ascii", errors="replace").strip()
        if not _DIGITS.fullmatch(text):
            what = "a key file holds 64 hexadecimal digits and nothing else; this one does not"
            hint = f"{_MAKE_ONE}; sentences are passphrases"
            raise _wrong(what, str(Path(path)), hint)
        return cls("key-file", bytes.fromhex(text))

    @classmethod
    def from_passphrase(cls, text: str, where: str = "passphrase") -> PackageKey:
        """A key that is made of a passphrase of at least 12 characters."""
        # The same letters, however a keyboard composes their accents.
        plain = unicodedata.normalize("NFC", text)
        if len(plain) < MINIMUM_CHARACTERS:
            what = f"a passphrase has at least {MINIMUM_CHARACTERS} characters"
            raise _wrong(what, where, "some random words make a good one")
        return cls("passphrase", plain.encode("utf-8", errors="surrogatepass"))

    @classmethod
    def from_passphrase_file(cls, path: str | os.PathLike[str]) -> PackageKey:
        """Read a passphrase, one line, from a file that only its owner can open."""
        where = str(Path(path))
        try:
            text = read_private(path, "passphrase file").decode("utf-8-sig")
        except UnicodeDecodeError:
            raise _wrong("the passphrase file is not a text", where, "save it as UTF-8") from None
        line = text.rstrip("\r\n")
        if "\n" in line or "\r" in line:
            raise _wrong("a passphrase is one line", where, "put nothing else in its file")
        return cls.from_passphrase(line, where)

    @classmethod
    def from_env(cls, name: str) -> PackageKey:
        """Take the passphrase from the environment variable `name`."""
        text = os.environ.get(name)
        if text is None:
            what = "there is no environment variable of this name"
            raise _wrong(what, name, "set it to the passphrase, or name a file")
        return cls.from_passphrase(text, name)

    @classmethod
    def named(
        cls,
        *,
        key_file: str | os.PathLike[str] | None = None,
        passphrase_env: str | None = None,
        passphrase_file: str | os.PathLike[str] | None = None,
    ) -> PackageKey | None:
        """The one that is named; None if none is.

        Args:
            key_file: A file with the key.
            passphrase_env: An environment variable with the passphrase.
            passphrase_file: A file with the passphrase.
        """
        given = (key_file, passphrase_env, passphrase_file)
        if sum(name is not None for name in given) > 1:
            what = "a package is opened with one key"
            raise _wrong(what, "key", "name a key file, or one place of a passphrase")
        if key_file is not None:
            return cls.from_file(key_file)
        if passphrase_file is not None:
            return cls.from_passphrase_file(passphrase_file)
        return None if passphrase_env is None else cls.from_env(passphrase_env)

    def working_keys(self, salt: bytes, stretching: Stretching | None) -> WorkingKeys:
        """The keys for one package.

        Args:
            salt: What makes the cipher's key another one in every package.
            stretching: How a passphrase is stretched; None for key files.
        """
        base = self._value
        if stretching is not None:
            settings = {"n": stretching.n, "r": stretching.r, "p": stretching.p}
            base = Scrypt(salt=stretching.salt, length=KEY_BYTES, **settings).derive(base)
        return WorkingKeys(_derived(base, _CIPHER + salt), _derived(base, _DIGEST))

    def __copy__(self) -> PackageKey:
        return self

    def __deepcopy__(self, memo: object) -> PackageKey:
        return self

    def __reduce__(self) -> NoReturn:
        raise _wrong("a package key cannot be pickled", "key", "hand over the name of its file")

    def __repr__(self) -> str:
        return f"<PackageKey: {self.kind.replace('-', ' ')}>"


def _derived(base: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=purpose).derive(base)


def _wrong(what: str, where: str, hint: str) -> PackageError:
    return PackageError(what, code="package-key", where=where, hint=hint)
