"""Writing files so that no reader ever sees half of one.

A file is written under a temporary name in its own folder, flushed to disk and
renamed. An interrupted run leaves the old file, or none.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import PublicationError

__all__ = ["TEMPORARY_SUFFIX", "atomic_path", "check_writable", "write_text"]

TEMPORARY_SUFFIX = ".discreet-tmp"


@contextmanager
def atomic_path(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[Path]:
    """Give a temporary path that becomes `path` when the block ends well.

    Args:
        path: Where the finished file goes.
        private: Make the file readable by its owner only (keys, parameters).
    """
    target = Path(path)
    check_writable(target.parent)
    handle, name = tempfile.mkstemp(
        prefix=f".{target.name}.", suffix=TEMPORARY_SUFFIX, dir=target.parent
    )
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if not private:
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(target)
    except Exception as error:
        if _means_full(error):
            raise _disk_full(target) from None
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str, *, private: bool = False) -> None:
    """Write a text file atomically, in UTF-8 with unix line ends."""
    with atomic_path(path, private=private) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Raise a clear error unless files can be created in `folder`."""
    place = Path(folder)
    if not place.is_dir():
        raise PublicationError(
            "the output folder does not exist" if not place.exists() else "this is not a folder",
            code="output-folder",
            where=str(place),
            hint="create it, or choose another place",
        )
    try:
        # Without a name where the system can: nothing is left behind if the process is killed.
        with tempfile.TemporaryFile(dir=place, suffix=TEMPORARY_SUFFIX):
            pass
    except OSError as error:
        if _means_full(error):
            raise _disk_full(place) from None
        raise PublicationError(
            f"no file can be written here ({error.strerror})",
            code="output-folder",
            where=str(place),
            hint="check the permissions and the free space",
        ) from None


def _means_full(error: Exception) -> bool:
    """Whether the disk is full; engines tell it in words, without a number."""
    if isinstance(error, PublicationError):
        return False
    number = getattr(error, "errno", None)
    return number in (errno.ENOSPC, errno.EDQUOT) or f"os error {errno.ENOSPC})" in str(error)


def _disk_full(place: Path) -> PublicationError:
    return PublicationError(
        "the disk is full; nothing was written here",
        code="disk-full",
        where=str(place),
        hint="make room, and run again",
    )
