"""Progress bars, for work of more than a second on a terminal.

In: steps done and to do. Out: a bar on stderr, or nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Report", "progress_bar"]

Report = Callable[[int, int, str], None]

_DELAY = 1.0


@contextmanager
def progress_bar(title: str) -> Iterator[Report]:
    """A function that takes steps done, steps to do and a name, and shows them.

    Nothing is shown in the first second, nor where stderr is not a terminal.

    Args:
        title: What is being done.
    """
    if not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import Progress, TimeElapsedColumn

    bar = Progress(
        *Progress.get_default_columns(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(title, total=None)
    timer = threading.Timer(_DELAY, bar.start)
    timer.daemon = True
    timer.start()

    def report(done: int, steps: int, name: str) -> None:
        bar.update(task, completed=done, total=steps, description=f"{title} {name}")

    try:
        yield report
    finally:
        timer.cancel()
        bar.stop()


def _nothing(done: int, steps: int, name: str) -> None:
    """Show nothing."""
