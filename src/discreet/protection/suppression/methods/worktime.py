"""`WorkTime`: time limit and progress of a method.

In: a limit in seconds and somebody to tell. Out: whether time is up. Nothing about cells
passes through here. Results depend on the clock only once the limit has struck.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from discreet.compiled import compile_seconds
from discreet.errors import SuppressionError

#: The share of the time after which the search ends: proof and writing need the rest.
_SEARCHING = 0.8
#: Without a proven pattern after so much of the time, and some seconds, there is none. Seconds of
#: the processor: neither other programs on a busy machine nor the first compilation of loops are a
#: reason to refuse a table.
_LATE, _GRACE = 1.1, 5.0


class WorkTime:
    """Time that a method has used, and whether it must stop."""

    def __init__(
        self,
        limit: float | None = None,
        progress: Callable[[str], None] | None = None,
        begin: float | None = None,
    ) -> None:
        now = time.monotonic()
        self._begin = now if begin is None else begin
        self._processor = time.process_time() - (now - self._begin)
        self._compiled = compile_seconds()
        self._progress = progress
        self._limit = math.inf if limit is None else limit
        self.limited = limit is not None
        #: When the search must end, by the monotonic clock.
        self.until = self._begin + _SEARCHING * self._limit
        self.struck = False

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._begin

    def over(self) -> bool:
        """Whether the limit has struck; remembered once asked."""
        if self.limited and not self.struck and time.monotonic() >= self.until:
            self.struck = True
        return self.struck

    def refused(self) -> bool:
        """Never true: for work that must be done; an error if that takes far too long."""
        spent = min(self.seconds, time.process_time() - self._processor)
        if spent - (compile_seconds() - self._compiled) > max(
            _LATE * self._limit, self._limit + _GRACE
        ):
            message = "no pattern is proven to be safe within the time limit"
            raise SuppressionError(message, code="time-limit", hint="allow more time")
        return False

    def share(self, part: float) -> WorkTime:
        """A limit of its own for some of the time that is left for the search."""
        if not self.limited:
            return self
        left = max(0.0, self.until - time.monotonic())
        return WorkTime(part * left / _SEARCHING, self._progress)

    def tell(self, line: str) -> None:
        """Tell about progress."""
        if self._progress is not None:
            self._progress(line)

    def result(self) -> dict[str, Any]:
        """Facts about the work behind a pattern."""
        notes = ("stopped by the time limit",) if self.struck else ()
        return {"complete": not self.struck, "seconds": self.seconds, "notes": notes}


class TimeShares:
    """A time limit for several systems that are solved in turn."""

    def __init__(self, limit: float | None) -> None:
        self._limit, self._begin = limit, time.monotonic() - compile_seconds()

    def shared_by(self, number: int) -> dict[str, float | None]:
        """The limit and the beginning for the next of so many: an equal share of what is left."""
        begin = self._begin + compile_seconds()
        if self._limit is None or self._limit <= 0 or number == 1:
            return {"time_limit": self._limit, "begin": begin}
        now = time.monotonic()
        left = max(self._limit - (now - begin), 1e-3)
        return {"time_limit": left / number, "begin": now}
