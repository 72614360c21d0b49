"""`WorkTime`: time limit and progress of a method.

In: a limit in seconds and somebody to tell. Out: whether time is up. Nothing about cells
passes through here. Results depend on the clock only once the limit has struck.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class WorkTime:
    """How long a method has been at work, and whether it must stop.

    Args:
        limit: Seconds; None for no limit.
        progress: Is called with a line of text now and then.
    """

    def __init__(
        self, limit: float | None = None, progress: Callable[[str], None] | None = None
    ) -> None:
        self._begin = time.monotonic()
        self._limit = limit
        self._progress = progress
        self.struck = False

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._begin

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._limit is not None

    @property
    def left(self) -> float | None:
        """Seconds until the limit, 0 if it has struck; None without a limit."""
        return None if self._limit is None else max(0.0, self._limit - self.seconds)

    def over(self) -> bool:
        """Whether the limit has struck; remembered once asked."""
        if self._limit is not None and self.seconds >= self._limit:
            self.struck = True
        return self.struck

    def tell(self, line: str) -> None:
        """Tell about progress."""
        if self._progress is not None:
            self._progress(line)
