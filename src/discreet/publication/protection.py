"""The line that nothing but a protected table crosses, and the place it goes to.

In: anything, and a path. Out: nothing, or an error. Public.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from discreet.errors import PublicationError
from discreet.files import check_writable
from discreet.tables import ProtectedTable

__all__ = ["check_place", "check_protected", "place_of"]


def check_protected(table: object) -> None:
    """Raise an error unless this is a protected table."""
    if isinstance(table, ProtectedTable):
        return
    raise PublicationError(
        f"a {type(table).__name__} cannot be published, only a ProtectedTable",
        code="not-protected",
        hint="a Table is confidential; protect it first, for example with discreet.perturb",
    )


def place_of(path: Any) -> Path:
    """Where a file is to be written."""
    if not isinstance(path, str | os.PathLike):
        raise PublicationError(
            f"the name of a file is needed, this is a {type(path).__name__}",
            code="output-file",
            where="path",
        )
    return Path(path)


def check_place(target: Path) -> None:
    """Raise an error unless a file can be written there."""
    check_writable(target.parent)
    if target.is_dir():
        raise PublicationError(
            "this is a folder; it is not overwritten with a file",
            code="output-file",
            where=str(target),
            hint="name a file",
        )
