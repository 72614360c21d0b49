"""Release folders: made when needed, locked while in use, left clean on failure.

In: a path. Out: nothing but folders and a lock file. Nothing here is confidential.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.errors import PublicationError
from discreet.files import check_writable

__all__ = ["locked", "made"]


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Make a folder; take it away again if the work fails and leaves it empty."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PublicationError(
            f"the folder cannot be made ({error.strerror})",
            code="output-folder",
            where=str(folder),
            hint="choose another place, or check the permissions",
        ) from None
    try:
        check_writable(folder)
        yield
    finally:
        for place in missing:
            if any(place.iterdir()):
                break
            place.rmdir()


@contextmanager
def locked(path: Path, out: Path) -> Iterator[None]:
    """Hold a lock that the system releases when the process ends, however it ends."""
    with path.open("ab") as file:
        if not _taken(file.fileno()) or not _current(file.fileno(), path):
            raise PublicationError(
                "another run is writing to this folder",
                code="output-locked",
                where=str(out),
                hint="wait until it has ended, or choose another folder",
            )
        try:
            yield
        finally:
            with suppress(PermissionError):  # where open files cannot be removed
                path.unlink(missing_ok=True)


def _current(descriptor: int, path: Path) -> bool:
    """Whether the lock is on the file that others find, not on one just removed."""
    return path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())


def _taken(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
