"""`compiled`: loops over arrays that numba compiles, kept for the next process where that can be.

In: a function of arrays and numbers. Out: the same function, compiled. Compiled code is kept in
the folder that NUMBA_CACHE_DIR names, else beside the package, else in the home of the user. Where
none of these can be written, each process compiles its loops itself.
"""

from __future__ import annotations

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

        try:
            return numba.njit(signature, cache=True, **options)(function)
        except (OSError, RuntimeError) as error:
            # numba has no class of its own for "there is no folder to keep this in".
            if isinstance(error, RuntimeError) and "cannot cache function" not in str(error):
                raise
        return numba.njit(signature, **options)(function)

    return made
