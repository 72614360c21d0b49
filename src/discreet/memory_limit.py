"""How much memory a run may take, and whether it keeps to it.

In: a number of bytes, as people write it ("4GB"). Out: what steps may hold that could hold as much
as there are records; an error at the next step of a run that took more. Public.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from discreet.errors import MicrodataError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
#: Less is not enough for the packages that count.
_LEAST = 500 * 10**6
_STATUS = Path("/proc/self/status")
_LOOKS = 0.05
#: Numbers of settings of memory: how many heaps a process has; the size from which arrays lie
#: outside; how much that is free is kept.
_MOST_HEAPS, _OUTSIDE, _KEPT = -8, -3, -1
#: What the packages that count take by themselves.
_BASE = 400 * 10**6
#: How little polars reads ahead where memory is limited.
_READ_AHEAD = {"POLARS_ROW_GROUP_PREFETCH_SIZE": "1", "POLARS_IDEAL_MORSEL_SIZE": "50000"}
#: Bytes of the limit for each record of a batch: what is read, handed over and counted.
_PER_RECORD = 4_000
#: The same for each cell that waits or is kept, with what joining takes.
_PER_CELL = 400


def bytes_of(size: str | int) -> int:
    """A size as people write it.

    >>> bytes_of("4GB"), bytes_of("800 mb")
    (4000000000, 800000000)
    """
    match = _SIZE.fullmatch(str(size).strip())
    number = 0 if match is None else int(float(match[1]) * _UNITS[match[2].lower()])
    if number < _LEAST:
        message = f"{size} is not an amount of memory" if match is None else f"{size} is too little"
        raise MicrodataError(
            message, code="memory", where="memory", hint="such as 4GB; at least 500MB"
        )
    return number


@cache
def share_heap() -> None:
    """Let all threads take memory from one heap: what one has freed, another uses again.

    The usual library of Linux gives each thread a heap of its own, so that a process grows with
    the records, although it holds some of them at a time only. Programs call this when they begin.
    """
    _set_memory({_MOST_HEAPS: 1})


@cache
def keep_heap() -> None:
    """Let arrays of some megabytes take the memory of those before them.

    The library would give it back and ask for it again with each of them, until it has once freed
    an array of the size set here: that takes several times as long as most steps of counting.
    """
    _set_memory({_OUTSIDE: 2**25, _KEPT: 2**26})


#: A process may grow by so much before it gives back what is free.
_GROWN = 2**27


def trim_heap(before: int) -> int:
    """Give back what is free if the process has grown since it held so much; what it holds now.

    What is kept for arrays of one size does for others only if they are smaller.
    """
    if (now := held()) < before + _GROWN:
        return before
    with suppress(OSError, AttributeError):  # other libraries give back by themselves
        ctypes.CDLL(None).malloc_trim(0)
    return min(now, held())


def _set_memory(settings: Mapping[int, int]) -> None:
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # other libraries have no such settings
            for setting, value in settings.items():
                ctypes.CDLL(None).mallopt(setting, value)


class MemoryWatch:
    """Looks now and then at how much memory the process holds."""

    def __init__(self, most: int) -> None:
        self.most, self.largest = most, 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self.largest = max(self.largest, held())
            if self._over.wait(_LOOKS):
                return

    def check(self, where: str) -> None:
        """Raise an error if it held more than it may."""
        self.largest = max(self.largest, held())
        if self.largest > self.most:
            message = (
                f"the run needs more memory than the limit of {self.most / 1000000000.0:.3g} GB"
            )
            hint = "raise the limit, use fewer variables per table, or build partial aggregates"
            raise MicrodataError(message, code="memory", where=where, hint=hint)


_watch: ContextVar[MemoryWatch | None] = ContextVar("memory_watch", default=None)


@contextmanager
def limited_memory(size: str | int | None) -> Iterator[None]:
    """Within it, steps hold what fits into so much memory; None for half of the machine's.

    >>> with limited_memory("2GB"):
    ...     memory_allowed()
    2000000000
    """
    if size is None:
        yield
        return
    watch = MemoryWatch(bytes_of(size))
    share_heap()
    token = _watch.set(watch)
    stated = {name: os.environ.get(name) for name in _READ_AHEAD}
    os.environ.update({name: few for name, few in _READ_AHEAD.items() if not stated[name]})
    watch.start()
    try:
        yield
    finally:
        watch.stop()
        _watch.reset(token)
        for name in (name for name, own in stated.items() if own is None):
            del os.environ[name]


def memory_allowed() -> int:
    """Bytes that a run may use: the stated limit, else half of the machine's memory."""
    watch = _watch.get()
    if watch is not None:
        return watch.most
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)


def memory_limit() -> int | None:
    """The stated limit in bytes; None without one."""
    watch = _watch.get()
    return None if watch is None else watch.most


def batch_size(most: int) -> int:
    """Number of records per batch: `most`, or fewer if memory is limited.

    >>> batch_size(100_000)
    100000
    """
    watch = _watch.get()
    return most if watch is None else max(2**16, min(most, watch.most // _PER_RECORD))


def cells_held(most: int, cubes: int) -> int:
    """Number of cells per cube that wait for addition: `most`, or fewer.

    >>> cells_held(100_000, 5)
    100000
    """
    watch = _watch.get()
    if watch is None:
        return most
    return max(2**14, min(most, watch.most // (_PER_CELL * max(cubes, 1))))


def cells_room() -> int | None:
    """Number of cells that all cubes of a pass may keep; None without a limit.

    >>> cells_room() is None
    True
    """
    watch = _watch.get()
    return None if watch is None else max(2**16, (watch.most - _BASE) // _PER_CELL)


def read_ahead(most: int) -> int:
    """Bytes of records that may wait: `most`, or half of the remaining memory.

    >>> read_ahead(2 * 10**9)
    2000000000
    """
    watch = _watch.get()
    return most if watch is None else min(most, max(0, watch.most - _BASE) // 2)


def check_memory(where: str) -> None:
    """Raise an error if the run held more than it may."""
    watch = _watch.get()
    if watch is not None:
        watch.check(where)


def held() -> int:
    """The memory that the process holds now, without files that are mapped into it."""
    try:
        text = _STATUS.read_text("ascii")
    except OSError:  # no Linux: the most it ever held
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    match = re.search(r"^RssAnon:\s+([0-9]+) kB", text, re.MULTILINE)
    return 0 if match is None else int(match[1]) * 1024
