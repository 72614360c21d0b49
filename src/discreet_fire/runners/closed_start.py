"""What a closed process does before it becomes the researcher's program.

In: on the command line, as JSON, what may be read and written, how much may be used, and the
command. Out: one line of JSON on a pipe, which says what is enforced; then the program. It is
started as `python -I closed_start.py` and imports nothing but the standard library. Linux only:
elsewhere nothing is enforced, and it says so.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import stat
import sys
from pathlib import Path
from typing import Any, NoReturn

#: Exit code where something that was asked for cannot be enforced.
NOT_CLOSED = 97

_NEW = {"user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x08000000}
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVILEGES, _DEATH_SIGNAL = 38, 1
_READ_FILE, _READ_FOLDER = 0b101, 0b1000
#: All that files know but devices; a part of it in older kernels.
_ALL = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_NEWEST = (1 << 16) - 1
_DEVICES = (1 << 6) | (1 << 11)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def _library() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _apart() -> bool:
    """Into namespaces of its own: no network, and no process that outlives the first."""
    outside = os.getuid(), os.getgid()
    if _library().unshare(sum(_NEW.values())) != 0:
        return False
    try:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{outside[0]} {outside[0]} 1"),
            ("gid_map", f"{outside[1]} {outside[1]} 1"),
        ):
            Path("/proc/self", name).write_text(text)
    except OSError:
        return False
    return True


def _rule(library: Any, ruleset: int, path: str, wanted: int) -> bool:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return True  # what is not there cannot be read
    except OSError:
        return False
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            wanted &= _READ_FILE | 0b10 | (1 << 14) | (1 << 15)
        rule = _Beneath(allowed=wanted, folder=opened)
        return bool(library.syscall(_ADD, ruleset, 1, ctypes.byref(rule), 0) == 0)
    finally:
        os.close(opened)


def _confined(read: list[str], listed: list[str], write: list[str]) -> bool:
    """Only these files may be read and written, by this process and all that it starts."""
    library = _library()
    version = library.syscall(_CREATE, None, 0, 1)
    if version < 1:
        return False
    every = _ALL.get(version, _NEWEST)
    wanted = _Ruleset(files=every, net=3 if version >= 4 else 0, scoped=3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = library.syscall(_CREATE, ctypes.byref(wanted), size, 0)
    if ruleset < 0:
        return False
    reads = _READ_FILE | _READ_FOLDER
    done = [_rule(library, ruleset, path, reads & every) for path in read]
    done += [_rule(library, ruleset, path, _READ_FOLDER) for path in listed]
    done += [_rule(library, ruleset, path, every & ~_DEVICES) for path in write]
    done.append(library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0)
    done.append(library.syscall(_RESTRICT, ruleset, 0) == 0)
    os.close(ruleset)
    return all(done)


def _limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def _follow(child: int, status: int) -> NoReturn:
    """Wait for the program and end as it did; end it when told to. It cannot reach this process."""
    os.close(status)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
    _, ended = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(ended) & 0xFF)


def main(text: str) -> NoReturn:
    """Close the process, and become the program."""
    told = json.loads(text)
    linux = sys.platform == "linux"
    apart = linux and bool(told["apart"]) and _apart()
    if apart and (child := os.fork()):
        _follow(child, told["status"])
    if apart:
        os.setsid()
    if linux:
        _library().prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    _limit(resource.RLIMIT_AS, told["memory"])
    _limit(resource.RLIMIT_FSIZE, told["file"])
    _limit(resource.RLIMIT_CORE, 0)
    confined = linux and _confined(told["read"], told["listed"], told["write"])
    os.write(told["status"], json.dumps({"apart": apart, "confined": confined}).encode() + b"\n")
    os.close(told["status"])
    if told["closed"] and not (apart and confined):
        os._exit(NOT_CLOSED)
    words, environment = told["command"], told["environment"]
    os.execve(words[0], words, environment)  # noqa: S606 - there is no shell, and none is wanted


if __name__ == "__main__":
    main(sys.argv[1])
