"""Files of secrets: readable by their owner only, and never replaced.

In: a path. Out: the bytes in the file, or a new file. SECRET: no content of such a
file is ever quoted.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from discreet.errors import RecordKeyError
from discreet.files import check_writable

__all__ = ["read_private", "write_private"]

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITABLE_BY_ALL = stat.S_IWOTH


def read_private(path: str | os.PathLike[str], name: str = "secret file") -> bytes:
    """The content of a file that only its owner can open or replace.

    Args:
        path: The file.
        name: What it is called in messages.
    """
    place = Path(path)
    _check_folders(place, name)
    try:
        with place.open("rb") as file:
            _check_mode(os.fstat(file.fileno()), place, name)
            return file.read()
    except OSError as error:
        raise _unusable(place, f"the {name} cannot be read ({error.strerror})") from None


def write_private(path: str | os.PathLike[str], text: str) -> None:
    """Write a file for its owner only.

    An existing file is never replaced: what was made with it could not be made again.
    """
    place = Path(path)
    check_writable(place.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL  # two runs at once: one of them fails
    try:
        with os.fdopen(os.open(place, flags, 0o600), "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise _unusable(
            place, "there is already a file here", "choose another name; secrets are kept"
        ) from None
    except OSError as error:
        raise _unusable(place, f"no file can be written ({error.strerror})") from None


def _check_mode(status: os.stat_result, place: Path, name: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _unusable(place, "this is not a file")
    if os.name == "posix" and status.st_mode & _OTHERS:
        raise RecordKeyError(
            f"others on this computer can open the {name}",
            code="secret-permissions",
            where=str(place),
            hint=f"chmod 600 {place}",
        )


def _check_folders(place: Path, name: str) -> None:
    """Refuse folders in which anyone could put another file, or link, in this one's place."""
    if os.name != "posix":
        return
    for folder in {place.absolute().parent, place.resolve().parent}:
        if not folder.is_dir():
            continue  # a missing file is reported when it is opened
        mode = folder.stat().st_mode
        if mode & _WRITABLE_BY_ALL and not mode & stat.S_ISVTX:
            raise RecordKeyError(
                f"everyone on this computer can replace the {name}",
                code="secret-permissions",
                where=str(folder),
                hint=f"chmod o-w {folder}, or move the file to a folder of your own",
            )


def _unusable(
    place: Path, what: str, hint: str = "check the path and its permissions"
) -> RecordKeyError:
    return RecordKeyError(what, code="secret", where=str(place), hint=hint)
