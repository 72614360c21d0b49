"""The command line: commands that call the library; no logic of its own.

`main` is the program `discreet`, and of ``python -m discreet``.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    0 is success, 1 a failure, 2 wrong input, 130 an interruption.

    Args:
        arguments: The words after the program's name; those of the process if None.

    >>> main(["--version"])
    Traceback (most recent call last):
        ...
    SystemExit: 0
    """
    from discreet.cli.commands import app

    app(args=None if arguments is None else list(arguments), prog_name="discreet")
