"""Parts of one command that run side by side.

In: jobs that let go of the interpreter while they compute. Out: their results, in order. What
the jobs do must not depend on their order.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache, partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Part = TypeVar("Part")
Result = TypeVar("Result")

#: More threads than this wait for memory, not for processors.
_MOST = 8
#: A part of fewer records is done before another thread has woken up.
_WORTH = 2**17


def slices(size: int) -> list[slice]:
    """Cut so many records into parts, one for each thread that is worth its while.

    >>> slices(1000)
    [slice(0, 1000, None)]
    """
    many = max(1, min(os.cpu_count() or 1, _MOST, size // _WORTH))
    ends = [size * at // many for at in range(many + 1)]
    return [slice(*pair) for pair in pairwise(ends)]


def side_by_side(jobs: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run jobs at the same time, the last in this thread; jobs of jobs one after another.

    >>> side_by_side([lambda: 1, lambda: 2])
    [1, 2]
    """
    # A thread that waited for others of its kind could wait for ever.
    if len(jobs) < 2 or getattr(_kind, "helps", False):
        return [job() for job in jobs]
    waiting = [_pool().submit(job) for job in jobs[:-1]]
    try:
        last = jobs[-1]()
    finally:
        wait(waiting)
    return [*(one.result() for one in waiting), last]


def in_parts(job: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """Do a job for each part, side by side.

    >>> in_parts(len, ["a", "bc"])
    [1, 2]
    """
    return side_by_side([partial(job, part) for part in parts])


def filled(
    fill: Callable[[Part, Any], object],
    parts: Iterable[Part],
    shape: int | tuple[int, ...],
    kind: npt.DTypeLike = np.int64,
) -> npt.NDArray[Any]:
    """What a job makes of zeros for each part; every thread has room of its own.

    >>> filled(lambda part, room: room.fill(part), [7, 8], 1).tolist()
    [[7], [8]]
    """

    def inside(part: Part) -> npt.NDArray[Any]:
        room = np.zeros(shape, dtype=kind)
        fill(part, room)
        return room

    return np.array(in_parts(inside, parts))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(
        _MOST, thread_name_prefix="safe", initializer=lambda: setattr(_kind, "helps", True)
    )


_kind = threading.local()

# A forked process has no threads; it starts its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
