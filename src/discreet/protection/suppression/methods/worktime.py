"""`WorkTime`: time limit and progress of a method.

In: a limit in seconds and somebody to tell. Out: whether time is up. Nothing about cells
passes through here. Results depend on the clock only once the limit has struck.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any


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
        self._progress = progress
        self.limited = limit is not None
        #: When time will be up, by the monotonic clock.
        self.until = math.inf if limit is None else self._begin + limit
        self.struck = False

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._begin

    def over(self) -> bool:
        """Whether the limit has struck; remembered once asked."""
        if self.limited and time.monotonic() >= self.until:
            self.struck = True
        return self.struck

    def tell(self, line: str) -> None:
        """Tell about progress."""
        if self._progress is not None:
            self._progress(line)

    def result(self) -> dict[str, Any]:
        """What a pattern says of the work that led to it."""
        notes = ("stopped by the time limit",) if self.struck else ()
        return {"complete": not self.struck, "seconds": self.seconds, "notes": notes}
