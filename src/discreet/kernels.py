"""`compiled`: loops over arrays that are compiled where there is enough work for it.

A function runs as it stands as long as little has been done: loading compiled code takes longer
than protecting a small table. Both ways give the same results, bit for bit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from discreet.compiled import compiled as compile_loop

Function = TypeVar("Function", bound=Callable[..., Any])

#: Arrays of one call with more entries than these, together, go to compiled code at once.
_LARGE = 20_000
#: Seconds of the processor that all together may take as they stand: loading them takes as long.
_PATIENCE = 0.4


class _Spent(threading.local):
    """Seconds that functions took so far as they stand, in a thread; and whether one is running."""

    seconds = 0.0
    inside = False


_spent = _Spent()


class _LazyKernel:
    """A function as it stands and compiled."""

    def __init__(self, function: Callable[..., Any], *, heavy: bool = False) -> None:
        self.plain = cast(FunctionType, function)
        self.heavy = heavy
        update_wrapper(self, function)

    @cached_property
    def fast(self) -> Callable[..., Any]:
        """The compiled function; those that it calls are compiled too."""
        plain = self.plain
        names = set(plain.__code__.co_names)
        called = {
            name: kernel.fast
            for name, kernel in plain.__globals__.items()
            if name in names and isinstance(kernel, _LazyKernel)
        }
        linked = FunctionType(plain.__code__, {**plain.__globals__, **called}, plain.__name__)
        linked.__qualname__, linked.__module__ = plain.__qualname__, plain.__module__
        loop: Callable[..., Any] = compile_loop(nogil=True)(linked)
        return loop

    def __call__(self, *given: Any) -> Any:
        if _spent.inside:  # by a function as it stands: so is this one
            return self.plain(*given)
        known = self.heavy or "fast" in self.__dict__
        if known or _spent.seconds > _PATIENCE or _entries(given) > _LARGE:
            return self.fast(*given)
        begin = time.thread_time()
        _spent.inside = True
        try:
            with np.errstate(all="ignore"):  # compiled code says nothing either
                return self.plain(*given)
        finally:
            _spent.inside = False
            _spent.seconds += time.thread_time() - begin


def _entries(arguments: tuple[Any, ...]) -> int:
    """How many numbers there are in arrays, also those in tuples."""
    return sum(
        _entries(item) if isinstance(item, tuple) else int(getattr(item, "size", 0))
        for item in arguments
    )


def compiled(function: Function) -> Function:
    """Compile a function of arrays and numbers when it is worth it.

    It calls only others of this kind and what numba knows; an array made of a list that may
    be empty names its type.

    >>> @compiled
    ... def total(numbers):
    ...     result = 0
    ...     for number in numbers:
    ...         result += number
    ...     return result
    >>> import numpy as np
    >>> int(total(np.arange(5)))
    10
    """
    return cast(Function, _LazyKernel(function))


def compiled_at_once(function: Function) -> Function:
    """Like `compiled`, for loops that may take long even on small arrays."""
    return cast(Function, _LazyKernel(function, heavy=True))
