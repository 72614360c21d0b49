"""`compiled`: loops over arrays that numba compiles, kept for the next process where that can be.

In: a function of arrays and numbers. Out: the same function, compiled. Compiled code is kept in
the folder that NUMBA_CACHE_DIR names, else beside the package, else in the home of the user. Where
none of these can be written, each process compiles its loops itself.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any


def compiled(signature: Any = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function; a read-only installation costs time, and nothing else.

    >>> @compiled(nogil=True)
    ... def double(number):
    ...     return 2 * number
    >>> double(21)
    42
    """

    def made(function: Callable[..., Any]) -> Any:
        import numba

        _compile_clock()
        try:
            return numba.njit(signature, cache=True, **options)(function)
        except (OSError, RuntimeError) as error:
            # numba has no class of its own for "there is no folder to keep this in".
            if isinstance(error, RuntimeError) and "cannot cache function" not in str(error):
                raise
        return numba.njit(signature, **options)(function)

    return made


def compile_seconds() -> float:
    """Seconds that this process spent so far on compiling: no part of a caller's own time."""
    return float(_compile_clock().seconds) if "numba" in sys.modules else 0.0


#: Seconds of the processor that loading the compiler takes.
_LOADING = 0.5
_missed = 0.0


def loading_pays(seconds: float) -> bool:
    """Whether to run compiled loops that save so many seconds.

    Yes where the compiler is loaded, or once all calls together have missed what loading takes.
    """
    global _missed
    if "numba" not in sys.modules:
        _missed += seconds
    return "numba" in sys.modules or _missed >= _LOADING


@functools.cache
def _compile_clock() -> Any:
    from numba.core import event

    class CompileClock(event.Listener):
        depth, begin, seconds = 0, 0.0, 0.0

        def on_start(self, event: Any) -> None:
            self.begin = self.begin if self.depth else time.monotonic()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            self.seconds += 0.0 if self.depth else time.monotonic() - self.begin

    clock = CompileClock()
    event.register("numba:compile", clock)  # type: ignore[no-untyped-call]
    return clock
