"""Secrets that record keys are made with.

In: a file, an environment variable, or bytes. Out: keys derived from the secret,
never the secret itself. Nothing here is ever shown, logged or pickled.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import NoReturn

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.errors import RecordKeyError
from discreet.files import check_writable

__all__ = ["MINIMUM_BYTES", "Secret"]

#: Shorter secrets could be found by trial.
MINIMUM_BYTES = 16

_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITABLE_BY_ALL = stat.S_IWOTH


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
        place = Path(path)
        _check_folders(place)
        try:
            with place.open("rb") as file:
                _check_mode(os.fstat(file.fileno()), place)
                content = file.read()
        except OSError as error:
            raise _unusable(place, f"the secret file cannot be read ({error.strerror})") from None
        try:
            value = _from_text(content.decode("utf-8"))
        except UnicodeDecodeError:
            value = content
        return cls(_long_enough(value, str(place)))

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
        place = Path(path)
        check_writable(place.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL  # two runs at once: one of them fails
        try:
            with os.fdopen(os.open(place, flags, 0o600), "w", encoding="ascii") as file:
                file.write(self._value.hex() + "\n")
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            raise _unusable(
                place, "there is already a file here", "choose another name; secrets are kept"
            ) from None
        except OSError as error:
            raise _unusable(place, f"no file can be written ({error.strerror})") from None

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


def _check_mode(status: os.stat_result, place: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _unusable(place, "this is not a file")
    if os.name == "posix" and status.st_mode & _OTHERS:
        raise RecordKeyError(
            "others on this computer can open the secret file",
            code="secret-permissions",
            where=str(place),
            hint=f"chmod 600 {place}",
        )


def _check_folders(place: Path) -> None:
    """Refuse folders in which anyone could put another file, or link, in this one's place."""
    if os.name != "posix":
        return
    for folder in {place.absolute().parent, place.resolve().parent}:
        if not folder.is_dir():
            continue  # a missing file is reported when it is opened
        mode = folder.stat().st_mode
        if mode & _WRITABLE_BY_ALL and not mode & stat.S_ISVTX:
            raise RecordKeyError(
                "everyone on this computer can replace the secret file",
                code="secret-permissions",
                where=str(folder),
                hint=f"chmod o-w {folder}, or move the file to a folder of your own",
            )


def _unusable(
    place: Path, what: str, hint: str = "check the path and its permissions"
) -> RecordKeyError:
    return RecordKeyError(what, code="secret", where=str(place), hint=hint)
