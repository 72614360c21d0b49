"""The command line: commands that call the library; no logic of its own.

`main` is the program `discreet`, and of ``python -m discreet``.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.faces import lazy_face

if TYPE_CHECKING:
    from .program import FAILURE as FAILURE
    from .program import WRONG_INPUT as WRONG_INPUT
    from .program import Json as Json
    from .program import command as command
    from .program import group as group
    from .program import names as names
    from .program import pairs as pairs
    from .program import progress_bar as progress_bar
    from .program import show as show
    from .records import Read as Read
    from .records import ShowValues as ShowValues
    from .records import opened as opened

lazy_face(__name__)

#: Modules make so many objects that stay: to look for rubbish among them, also when all ends,
#: takes a fourth of a small command.
_BETWEEN = 400_000


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    0 is success, 1 a failure, 2 wrong input, 130 an interruption.

    >>> main(["--version"])
    Traceback (most recent call last):
        ...
    SystemExit: 0
    """
    gc.set_threshold(_BETWEEN, *gc.get_threshold()[1:])
    atexit.register(_keep_all)
    from discreet.cli.commands import app
    from discreet.memory_limit import share_heap

    share_heap()
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # looks through all that is installed
    app(args=None if arguments is None else list(arguments), prog_name="discreet")


def _keep_all() -> None:
    """Search for no rubbish at the end; DuckDB reports what is left, so it may clear up."""
    if "duckdb" not in sys.modules:
        gc.freeze()
