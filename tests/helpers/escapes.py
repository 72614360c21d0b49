"""A program that tries to leave its confinement, one way after the other.

In: a JSON file `facts.json` beside it with places and numbers of the world outside. Out: on its
output, as JSON, what became of each try: the error, or "done". Only the standard library.
"""

# It tries what the library has.
# ruff: noqa: PTH101, PTH102, PTH105, PTH108, PTH109, PTH116, PTH123, PTH208, SIM115

import ctypes
import json
import os
import platform
import resource
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

FACTS = json.loads(Path("facts.json").read_text())
DATA, OWN = "d.csv", "own.txt"
Path(OWN).write_text("own")
Path(DATA).read_text()  # what it may do
LIBRARY = ctypes.CDLL(None, use_errno=True)
_ARM = platform.machine() == "aarch64"


def call(x86: int, arm: int, *words: object) -> int:
    """A system call by its number."""
    result: int = LIBRARY.syscall(arm if _ARM else x86, *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def write_through(make: Callable[[str, str], object]) -> None:
    """Write to the data by another name."""
    make(DATA, "another")
    with open("another", "r+b") as opened:
        opened.write(b"changed")


def large(size: int, name: str) -> None:
    """A file of a size."""
    with open(name, "wb") as opened:
        opened.truncate(size)


def many_files() -> None:
    """Files that are small, and too large together."""
    os.mkdir("many")
    try:
        for at in range(FACTS["files"] // FACTS["file"] + 1):
            Path("many", str(at)).write_bytes(b"x" * (FACTS["file"] - 1))
    finally:
        for one in Path("many").iterdir():
            one.unlink()


def many(start: Callable[[], object]) -> None:
    """More processes or threads than it may have."""
    for _ in range(FACTS["processes"] + 1):
        start()


def forked() -> None:
    """One more process."""
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)


def threaded() -> None:
    """One more thread."""
    try:
        threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
    except RuntimeError as error:
        raise OSError(11, str(error)) from None


def cloned(flag: int) -> None:
    """A process in a new namespace."""
    if call(56, 220, flag | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)


def reach(family: int, address: object) -> None:
    """Something that listens."""
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(2)
        one.connect(address)


def ask_kernel() -> None:
    """A socket to the kernel's own services."""
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()


def more_memory() -> None:
    """A larger limit."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)


def put_on(place: str) -> None:
    """A file outside of its own folder."""
    Path(place).write_text("x")


def handle() -> None:
    """Open a file by its handle, past all folders."""
    held = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0) + bytes(128))
    call(303, 264, -100, DATA.encode(), held, ctypes.byref(ctypes.c_int()), 0)


def linked(name: str) -> Callable[[str, str], object]:
    """A function of `os` that makes a second name."""
    function: Callable[[str, str], object] = getattr(os, name)
    return function


OUTSIDE = FACTS["outside"]
TRIES: dict[str, Callable[[], object]] = {
    "chmod of the data": lambda: os.chmod(DATA, 0o666),
    "chmod of the data outside": lambda: os.chmod(f"{OUTSIDE}/d.csv", 0o666),
    "chmod of another folder": lambda: os.chmod(f"{OUTSIDE}/other", 0o755),
    "chmod of its own file": lambda: os.chmod(OWN, 0o4755),
    "chmod of an open file": lambda: os.fchmod(os.open(DATA, os.O_RDONLY), 0o666),
    "chmod of what came from outside": lambda: os.fchmod(0, 0o777),
    "chown": lambda: os.chown(OWN, -1, -1),
    "utime of the data": lambda: os.utime(DATA, (1, 1)),
    "utime of an open file": lambda: os.utime(os.open(DATA, os.O_RDONLY), (1, 1)),
    "utime of a readable file": lambda: os.utime(f"{OUTSIDE}/read/open.txt", (1, 1)),
    "setxattr": lambda: os.setxattr(DATA, "user.note", b"x"),
    "setxattr of its own file": lambda: os.setxattr(OWN, "user.note", b"x"),
    "removexattr": lambda: os.removexattr(DATA, "user.mark"),
    "write to the data": lambda: open(DATA, "r+b"),
    "truncate the data": lambda: os.truncate(DATA, 0),
    "write through a symbolic link": lambda: write_through(linked("symlink")),
    "write through a hard link": lambda: write_through(linked("link")),
    "rename over the data": lambda: os.replace(OWN, DATA),
    "unlink the data": lambda: os.unlink(DATA),
    "read beside the data": lambda: open(f"{OUTSIDE}/secret.txt"),
    "read above": lambda: open("../../secret.txt"),
    "list outside": lambda: os.listdir(OUTSIDE).index("secret.txt"),
    "read passwords": lambda: open("/etc/passwd"),
    "write to a readable folder": lambda: put_on(f"{OUTSIDE}/read/new.txt"),
    "write to the root": lambda: put_on("/new.txt"),
    "write to the system": lambda: put_on("/usr/new.txt"),
    "read a device": lambda: open("/dev/vda", "rb"),
    "make a device": lambda: os.mknod("node", 0o600 | 0o020000, os.makedev(1, 1)),
    "make a pipe": lambda: os.mkfifo("pipe"),
    "vsock": lambda: socket.socket(40, socket.SOCK_STREAM).close(),
    "unix socket by path": lambda: reach(socket.AF_UNIX, f"{OUTSIDE}/read/listens"),
    "unix socket by name": lambda: reach(socket.AF_UNIX, f"\0{FACTS['name']}"),
    "internet": lambda: reach(socket.AF_INET, ("127.0.0.1", FACTS["port"])),
    "netlink": ask_kernel,
    "socket of the kernel's ciphers": lambda: socket.socket(38, socket.SOCK_SEQPACKET).close(),
    "pair of sockets": socket.socketpair,
    "a file of 2 GB": lambda: large(2 << 30, "two"),
    "a file of 4 GB": lambda: large(4 << 30, "four"),
    "a file above the limit": lambda: Path("above").write_bytes(b"x" * (FACTS["file"] + 1)),
    "many files": many_files,
    "a file without a name": lambda: os.close(os.memfd_create("x")),
    "shared memory": lambda: call(29, 194, 0, 1 << 20, 0o1600),
    "a larger limit": more_memory,
    "ptrace": lambda: call(101, 117, 0, 0, 0, 0),
    "memory of another process": lambda: call(310, 270, 1, 0, 0, 0, 0, 0),
    "environment of another process": lambda: open("/proc/1/environ").read(),
    "root of another process": lambda: os.listdir("/proc/1/root"),
    "files of another process": lambda: os.listdir("/proc/1/fd"),
    "the first process": lambda: os.stat("/proc/1"),
    "a process outside": lambda: os.stat(f"/proc/{FACTS['process']}"),
    "a signal outside": lambda: os.kill(FACTS["process"], 0),
    "settings of the kernel": lambda: put_on("/proc/sys/kernel/hostname"),
    "mount": lambda: call(165, 40, b"tmpfs", b"/tmp", b"tmpfs", 0, 0),
    "open a mount": lambda: call(428, 428, -100, b"/", 1),
    "unmount": lambda: call(166, 39, f"{os.getcwd()}/{DATA}".encode(), 2),
    "writable mount": lambda: call(442, 442, -100, b"/", 0, struct.pack("=4Q", 0, 1, 0, 0), 32),
    "unshare": lambda: call(272, 97, 0x10000000),
    "setns": lambda: call(308, 268, os.open("/proc/self/ns/mnt", os.O_RDONLY), 0),
    "clone": lambda: cloned(0x10000000),
    "clone3": lambda: call(435, 435, struct.pack("=11Q", 0x10000000, *[0] * 10), 88),
    "chroot": lambda: os.chroot("."),
    "keyctl": lambda: call(250, 219, 0, -3, 0),
    "bpf": lambda: call(321, 280, 0, bytes(128), 128),
    "performance counters": lambda: call(298, 241, bytes(128), 0, -1, -1, 0),
    "io_uring": lambda: call(425, 425, 1, bytes(120)),
    "userfaultfd": lambda: call(323, 282, 1),
    "a file by its handle": handle,
    "personality": lambda: call(135, 92, 0x0400000),
    "what its input holds": lambda: sys.stdin.readline().index("x"),
    "another user": lambda: os.setuid(0),
    "a call of tomorrow": lambda: call(500, 500),
    "a call of another kind": lambda: call(0x40000000 | 41, 500, 1, 1, 0),
    "much memory": lambda: bytearray(10**11),
    "many threads": lambda: many(threaded),
    "many processes": lambda: many(forked),
}


def main() -> None:
    """Try all, and say what became of each."""
    told = {}
    for name, attempt in TRIES.items():
        try:
            attempt()
        except (OSError, ValueError, MemoryError) as error:
            told[name] = type(error).__name__
        else:
            told[name] = "done"
    json.dump(told, sys.stdout)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
