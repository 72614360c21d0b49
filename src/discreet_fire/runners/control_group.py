"""A control group of the kernel (cgroup v2) for each run: memory, processes, processor time.

In: a folder of control groups that is this account's own, limits. Out: a `ControlGroup`, in which
a program starts and which is gone afterwards, and whether its memory was over. Without such a
folder, limits hold for each process, and memory of all of them is measured now and then.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from discreet.errors import OutputCheckError

#: What a folder must be able to limit.
_NEEDED = frozenset(("memory", "pids"))
#: Processor time is dealt out in periods of so many microseconds.
_PERIOD = 100_000
#: Processes that start a program and watch over it.
_WATCHING = 3
#: Seconds until a group that is ended is empty.
_PATIENCE = 5.0


@dataclass(frozen=True, kw_only=True)
class ControlGroup:
    """The group of one run."""

    folder: Path  # its folder

    @property
    def entrance(self) -> str:
        """The file into which a process writes its number to be in it."""
        return str(self.folder / "cgroup.procs")

    @property
    def memory_was_over(self) -> bool:
        """Whether the kernel ended a process for want of memory."""
        with suppress(OSError):
            events = (self.folder / "memory.events").read_text()
            return re.search(r"^oom_kill [1-9]", events, re.MULTILINE) is not None
        return False


@contextmanager
def control_group(
    parent: Path | None, *, memory: int, processes: int, processors: float | None
) -> Iterator[ControlGroup | None]:
    """A new group with limits; None if the folder holds none."""
    if parent is None:
        yield None
        return
    group = ControlGroup(folder=parent / f"discreet-{token_hex(8)}")
    limits = {"memory.max": str(memory), "pids.max": str(processes + _WATCHING)}
    if processors is not None:
        limits["cpu.max"] = f"{int(processors * _PERIOD)} {_PERIOD}"
    try:
        offered = (parent / "cgroup.subtree_control").read_text().split()
        group.folder.mkdir()
        for name, text in limits.items():
            if name.partition(".")[0] in offered:
                _write(group.folder, name, text)
    except OSError as error:
        _remove(group.folder)
        message = f"the program was not run: its control group cannot be limited ({error.strerror})"
        raise OutputCheckError(message, code="not-closed", where=str(parent)) from None
    for name, text in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
        with suppress(OSError):  # old kernels, and those without swap
            _write(group.folder, name, text)
    try:
        yield group
    finally:
        _remove(group.folder)


def control_folder(stated: Path | None = None) -> Path | None:
    """Where groups are made: the folder of the settings, or this process's own or the one above.

    None if it is not this account's, or limits neither memory nor processes.
    """
    return next(
        (place for place in [stated, *_own()] if place is not None and _usable(place)), None
    )


def _own() -> Iterator[Path]:
    """The group of this process, and the one above: where a service manager hands it over."""
    with suppress(OSError):
        own = re.search(r"^0::/(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
        mounts = Path("/proc/self/mountinfo").read_text()
        top = re.search(r"^\S+ \S+ \S+ / (\S+) .* - cgroup2 ", mounts, re.MULTILINE)
        if own and top:
            place = Path(top[1], own[1])
            yield place
            if own[1]:
                yield place.parent


def _usable(place: Path) -> bool:
    try:
        if not os.access(place, os.W_OK) or not os.access(place / "cgroup.procs", os.W_OK):
            return False
        there = set((place / "cgroup.controllers").read_text().split())
        passed = set((place / "cgroup.subtree_control").read_text().split())
        if not there >= _NEEDED:
            return False
        if more := (_NEEDED | {"cpu"}) & there - passed:
            _write(place, "cgroup.subtree_control", " ".join(f"+{one}" for one in sorted(more)))
    except OSError:  # such as a group that has processes itself
        return False
    return True


def _write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)


def _remove(folder: Path) -> None:
    """End what is left in a group, and take it away."""
    with suppress(OSError):
        _write(folder, "cgroup.kill", "1")
    until = time.monotonic() + _PATIENCE
    while folder.exists() and time.monotonic() < until:
        with suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.01)
