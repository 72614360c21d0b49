"""`LastUsed`: values by key, up to a size of all of them together. Safe for threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class LastUsed(Generic[_Key, _Value]):
    """Those used last stay, one at least.

    >>> squares = LastUsed[int, int](2)
    >>> for number in (1, 2):
    ...     squares.put(number, number**2)
    >>> squares.get(1)
    1
    >>> squares.put(3, 9)
    >>> squares.items()
    [(1, 1), (3, 9)]
    """

    def __init__(self, most: int, size: Callable[[_Value], int] = lambda _: 1) -> None:
        self._most, self._size, self._held = most, size, 0
        self._values: OrderedDict[_Key, _Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _Key) -> _Value | None:
        """A value; None if it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: _Key, value: _Value) -> None:
        """Keep a value, in place of the one that there was."""
        with self._lock:
            if key in self._values:
                self._held -= self._size(self._values.pop(key))
            self._values[key] = value
            self._held += self._size(value)
            while self._held > self._most and len(self._values) > 1:
                self._held -= self._size(self._values.popitem(last=False)[1])

    def items(self) -> list[tuple[_Key, _Value]]:
        """All that are there, those used last at the end."""
        with self._lock:
            return [*self._values.items()]
