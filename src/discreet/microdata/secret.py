"""Secrets that record keys are made with.

In: a file, an environment variable, or bytes. Out: keys derived from the secret,
never the secret itself. Nothing here is ever shown, logged or pickled.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from discreet.confidential import Unpicklable, without_values
from discreet.errors import RecordKeyError
from discreet.files import read_private, write_private

#: Shorter secrets could be found by trial.
MINIMUM_BYTES = 16

#: Secrets of fewer parts, or fewer different bytes, could be found by trial as well.
_LEAST_PARTS = 10
_LEAST_DIFFERENT = 6
_MAKE = "create one with Secret.generate().write('secret.key')"
_SAID = {
    "repeats": "it is repetitive",
    "steps": "its characters are consecutive",
    "word": "it consists of common words",
}
_WORDS = (
    *(b"password", b"passwort", b"kennwort", b"secret", b"geheimnis", b"geheim", b"letmein"),
    *(b"welcome", b"willkommen", b"administrator", b"admin", b"default", b"changeme", b"hallo"),
    *(b"test", b"example", b"census", b"zensus", b"statistics", b"statistik", b"iloveyou"),
    *(b"qwertyuiop", b"qwertzuiop", b"qwerty", b"qwertz", b"asdfghjkl", b"asdfgh", b"yxcvbnm"),
    *(b"zxcvbnm", b"1q2w3e4r5t", b"1qaz2wsx", b"master", b"monkey", b"dragon", b"hello"),
)

_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


class Secret(Unpicklable):
    """At least 16 secret bytes that nobody guesses; shows nothing of them.

    A text of hexadecimal digits stands for the bytes it spells, any
    other text for its UTF-8 bytes. A file, an environment variable and a text of
    the same content therefore give the same secret.

    >>> Secret(b"a long and secret sentence")
    <Secret>
    >>> Secret(b"0123456789abcdef")
    Traceback (most recent call last):
        ...
    discreet.errors.RecordKeyError: [secret-weak] the secret: the secret is easy to guess: \
its characters are consecutive
      Hint: create one with Secret.generate().write('secret.key')
    """

    __slots__ = ("_value",)

    @without_values
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
    @without_values
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
            f"a {type(value).__name__} cannot be a secret",
            code="secret",
            hint="give a Secret, bytes, a text, or a pathlib.Path of a secret file",
        )

    @classmethod
    @without_values
    def from_file(cls, path: str | os.PathLike[str]) -> Secret:
        """Read a secret from a file that only its owner can read."""
        content = read_private(path)
        try:
            value = _from_text(content.decode("utf-8"))
        except UnicodeDecodeError:
            value = content
        return cls(_long_enough(value, str(Path(path))))

    @classmethod
    @without_values
    def from_env(cls, name: str) -> Secret:
        """Read a secret from the environment variable `name`."""
        text = os.environ.get(name)
        if text is None:
            message = "environment variable not found"
            hint = "set it to the text of the secret, or use a secret file"
            raise RecordKeyError(message, code="secret", where=name, hint=hint)
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

        >>> len(Secret.generate().derive("an example"))
        32
        """
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        key = HKDF(algorithm=SHA256(), length=32, salt=None, info=context.encode())
        return key.derive(self._value)

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
        message = f"a secret needs at least {MINIMUM_BYTES} bytes"
        raise RecordKeyError(message, code="secret-short", where=where, hint=_MAKE)
    if (weakness := _weakness(value)) is not None:
        message = f"the secret is easy to guess: {weakness}"
        raise RecordKeyError(message, code="secret-weak", where=where, hint=_MAKE)
    return value


def _weakness(value: bytes) -> str | None:
    """Why a secret could be found by trial; None if nothing speaks for it.

    A byte counts as one part, and so does a stretch that repeats an earlier one, goes on in
    even steps, or is a word everyone tries. 32 random bytes have too few parts, or too few
    different bytes, less than once in 2^60 times.
    """
    if len(set(value)) < _LEAST_DIFFERENT:
        return f"it has fewer than {_LEAST_DIFFERENT} different characters"
    saved = {"repeats": 0, "steps": 0, "word": 0}
    at = parts = 0
    lower = value.lower()
    while at < len(value):
        lengths = {
            "repeats": _repeated(lower, at),
            "steps": _steps(value, at),
            "word": max((len(word) for word in _WORDS if lower.startswith(word, at)), default=0),
        }
        kind = max(lengths, key=lambda name: lengths[name])
        length = max(lengths[kind], 1)
        saved[kind] += length - 1
        parts += 1
        at += length
    return None if parts >= _LEAST_PARTS else _SAID[max(saved, key=lambda name: saved[name])]


def _repeated(value: bytes, at: int) -> int:
    """How many bytes from here on stood before; 0 for fewer than three."""
    length = 0
    # A stretch may go on into itself, as in abcabcabc.
    while at + length < len(value) and value[at : at + length + 1] in value[: at + length]:
        length += 1
    return length if length > 2 else 0


def _steps(value: bytes, at: int) -> int:
    """How many bytes from here on go on in even steps; 0 for fewer than three."""
    step = (value[at + 1] - value[at]) % 256 if at + 1 < len(value) else 0
    length = 1
    while at + length < len(value) and (value[at + length] - value[at + length - 1]) % 256 == step:
        length += 1
    return length if length > 2 else 0
