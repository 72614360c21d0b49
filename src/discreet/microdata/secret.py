"""Secrets that record keys are made with.

In: a file, an environment variable, or bytes. Out: keys derived from the secret,
never the secret itself. Nothing here is ever shown, logged or pickled.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import NoReturn

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.errors import RecordKeyError
from discreet.files import read_private, write_private

#: Shorter secrets could be found by trial.
MINIMUM_BYTES = 16

_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


class Secret:
    """At least 16 secret bytes; shows nothing of them.

    A text of hexadecimal digits stands for the bytes it spells, any
    other text for its UTF-8 bytes. A file, an environment variable and a text of
    the same content therefore give the same secret.

    Args:
        value: The secret bytes.

    >>> Secret(b"0123456789abcdef")
    <Secret>
    """

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        self._value = _long_enough(bytes(value), "the secret")

    @classmethod
    def generate(cls) -> Secret:
        """A new secret of 32 random bytes.

        >>> Secret.generate()
        <Secret>
        """
        return cls(secrets.token_bytes(32))

    @classmethod
    def of(cls, value: Secret | bytes | str | Path) -> Secret:
        """Accept a secret, its bytes, its text, or (as a Path) its file.

        >>> Secret.of("a long and secret sentence")
        <Secret>
        """
        if isinstance(value, Secret):
            return value
        if isinstance(value, bytes):
            return cls(value)
        if isinstance(value, Path):
            return cls.from_file(value)
        if isinstance(value, str):
            return cls(_long_enough(_from_text(value), "the secret"))
        raise RecordKeyError(
            f"a secret cannot be made of {type(value).__name__}",
            code="secret",
            hint="give a Secret, bytes, a text, or a pathlib.Path of a secret file",
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Secret:
        """Read a secret from a file that only its owner can read.

        Args:
            path: A file with the secret as text (see `write`) or as raw bytes.
        """
        content = read_private(path)
        try:
            value = _from_text(content.decode("utf-8"))
        except UnicodeDecodeError:
            value = content
        return cls(_long_enough(value, str(Path(path))))

    @classmethod
    def from_env(cls, name: str) -> Secret:
        """Read a secret from the environment variable `name`."""
        text = os.environ.get(name)
        if text is None:
            raise RecordKeyError(
                "there is no environment variable of this name",
                code="secret",
                where=name,
                hint="set it to the secret's text, or name a secret file",
            )
        return cls(_long_enough(_from_text(text), name))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the secret as hexadecimal text, readable by its owner only.

        An existing file is never replaced: keys made with it could not be made again.
        """
        write_private(path, self._value.hex() + "\n")

    def reveal(self) -> bytes:
        """The secret bytes themselves, to be sealed in something encrypted. SECRET."""
        return self._value

    def derive(self, context: str) -> bytes:
        """32 bytes for one purpose (HKDF with SHA-256); other contexts tell nothing of them.

        Args:
            context: What the bytes are for.

        >>> len(Secret(bytes(16)).derive("an example"))
        32
        """
        key = HKDF(algorithm=SHA256(), length=32, salt=None, info=context.encode())
        return key.derive(self._value)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise RecordKeyError(
            "a secret cannot be pickled",
            code="secret",
            hint="hand over the name of its file or environment variable instead",
        )

    def __repr__(self) -> str:
        return "<Secret>"


def _from_text(text: str) -> bytes:
    stripped = text.strip()
    even = len(stripped) // 2 * 2
    if set(stripped) <= _HEXADECIMAL and (even == len(stripped) or even < 2 * MINIMUM_BYTES):
        return bytes.fromhex(stripped[:even])  # two digits are one byte, however they look
    return stripped.encode("utf-8")


def _long_enough(value: bytes, where: str) -> bytes:
    if len(value) < MINIMUM_BYTES:
        raise RecordKeyError(
            f"a secret has at least {MINIMUM_BYTES} bytes; this one is shorter",
            code="secret-short",
            where=where,
            hint="make a good one: Secret.generate().write('secret.key')",
        )
    return value
