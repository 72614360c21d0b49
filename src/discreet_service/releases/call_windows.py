"""Call windows: so many calls of one caller in so many seconds, as PxWebApi 2 states it.

In: who calls, and when. Out: how long they must wait. Held in memory, for a bounded number of
callers.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable

_MOST = 65_536


class CallWindows:
    """Counts calls in a sliding window.

    Args:
        calls: Calls that a window holds.
        seconds: Its length.
        clock: What tells the time, in milliseconds.
        most: Callers that are remembered; the one unheard for longest is forgotten first.

    >>> windows = CallWindows(2, 10, lambda: 0)
    >>> windows.wait("anna"), windows.wait("anna"), windows.wait("anna"), windows.wait("otto")
    (0, 0, 10, 0)
    """

    def __init__(
        self, calls: int, seconds: int, clock: Callable[[], int], most: int = _MOST
    ) -> None:
        self._calls, self._length = calls, seconds * 1000
        self._clock, self._most = clock, most
        self._made: OrderedDict[str, deque[int]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, who: str) -> int:
        """Count a call; the seconds to wait if there are too many, and then it is not counted.

        Args:
            who: Who calls.
        """
        now = self._clock()
        with self._lock:
            made = self._made.pop(who, None) or deque(maxlen=self._calls)
            while made and now - made[0] >= self._length:
                made.popleft()
            self._made[who] = made
            while len(self._made) > self._most:
                self._made.popitem(last=False)
            if len(made) < self._calls:
                made.append(now)
                return 0
            return max(1, math.ceil((self._length - (now - made[0])) / 1000))
