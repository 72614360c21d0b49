"""Files that should be for their owner only, and are not.

In: the path of a perturbation table. Out: a warning in words, or nothing. Not an
error: published example tables may be read by everyone.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["warnings_about"]

_READABLE = stat.S_IRGRP | stat.S_IROTH


def warnings_about(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """A warning if others on this computer can read a perturbation table.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     before = warnings_about(file.name)
    ...     Path(file.name).chmod(0o644)
    ...     before, warnings_about(file.name)[0].partition(";")[0]
    ((), 'others on this computer can read the perturbation table')
    """
    place = Path(path)
    try:
        mode = place.stat().st_mode
    except OSError:
        return ()  # whoever reads the file says why it cannot be read
    if os.name != "posix" or not mode & _READABLE:
        return ()
    return (
        "others on this computer can read the perturbation table; "
        f"unless it is a published one: chmod 600 {place}",
    )
