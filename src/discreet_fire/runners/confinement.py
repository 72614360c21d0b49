"""The confinement of a researcher's program: what it is kept from, and how the kernel keeps it.

In: on the command line, as JSON, the command, what it may read, how much it may use. Out: on a
pipe one line of JSON that says the program starts, or which part of the confinement this system
lacks; then the program, or exit code `NOT_CLOSED`. Started as `python -I confinement.py`; needs
Linux 5.14 and nothing but the standard library. Every part holds, or the program does not start:

- user namespace: no privilege over anything outside; started by root, also a user id of its own;
- mount namespace: it sees the system's programs and what it is given, read-only, and writes in a
  folder in memory that is as large as stated and gone afterwards;
- namespaces of processes (with a `/proc` of its own), network, IPC, host name and cgroup;
- a system call filter: no sockets of any kind, no change of modes, owners, times and attributes,
  no way to other namespaces, processes, devices and the kernel;
- limits for each file and process, and for files, processes and memory of all of them together.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import re
import resource
import signal
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

#: Exit code where a part of the confinement is missing.
NOT_CLOSED = 97
#: Where the program runs, and where its temporary files go.
PROGRAM, TEMPORARY = "/own/program", "/own/tmp"
#: What programs of all languages load; nothing of a centre's data lies there.
_SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/R", "/etc/alternatives", "/etc/ld.so.cache",
    "/etc/localtime", "/etc/fonts", "/sys/devices/system/cpu",
)  # fmt: skip
_DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))
_LINKS = {
    "/tmp": TEMPORARY,  # noqa: S108 - its own
    "/dev/shm": TEMPORARY,  # noqa: S108
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
}
#: The user that the program sees itself as.
_USER = 65533
_NAMESPACES = {
    "user": 0x10000000, "mount": 0x00020000, "process": 0x20000000, "network": 0x40000000,
    "IPC": 0x08000000, "host name": 0x04000000, "cgroup": 0x02000000,
}  # fmt: skip
#: What `clone` may not ask for: namespaces.
_NEW = sum(_NAMESPACES.values())
_MOST_FILES = 100_000
#: Seconds between two looks at the memory of all its processes.
_LOOK = 0.2
_PIECE = 1 << 20
_WRITE = os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC

# --- the system calls that the program may not make ----------------------------------------------

#: By architecture: its number in a filter, and the place of its numbers in the table.
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
#: Numbers on x86_64 and aarch64; 0 where there is none.
_REFUSED = {
    # modes, owners, times, attributes
    "chmod": (90, 0), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, 0), "fchown": (93, 55), "lchown": (94, 0), "fchownat": (260, 54),
    "utime": (132, 0), "utimes": (235, 0), "futimesat": (261, 0), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "mknod": (133, 0), "mknodat": (259, 33),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    # sockets of every family, and shared memory that no limit of files counts
    "socket": (41, 198), "socketpair": (53, 199), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180),
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "kcmp": (312, 272), "pidfd_getfd": (438, 438),
    # namespaces and mounts
    "unshare": (272, 97), "setns": (308, 268), "chroot": (161, 51), "pivot_root": (155, 41),
    "mount": (165, 40), "umount2": (166, 39), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # the kernel
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "lookup_dcookie": (212, 18),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "syslog": (103, 116), "acct": (163, 89),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "sethostname": (170, 161), "setdomainname": (171, 162), "iopl": (172, 0), "ioperm": (173, 0),
    "vhangup": (153, 58), "personality": (135, 92),
}  # fmt: skip
_CLONE, _CLONE3 = (56, 220), 435
#: The last call that was judged for this table (`futex_requeue`); newer ones are not there.
_NEWEST = 456
_ALLOW, _NOT_PERMITTED, _NOT_THERE, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000


def system_call_filter(machine: str) -> bytes:
    """The filter of an architecture, as the kernel takes it (classic BPF); empty if not known."""
    if machine not in _ARCHITECTURES:
        return b""
    number, at = _ARCHITECTURES[machine]
    load, equal, at_least, masked, end = 0x20, 0x15, 0x35, 0x54, 0x06
    steps = [(load, 0, 0, 4), (equal, 1, 0, number), (end, 0, 0, _KILL), (load, 0, 0, 0)]
    steps += [(at_least, 0, 1, _NEWEST + 1), (end, 0, 0, _NOT_THERE)]
    for refused in sorted({numbers[at] for numbers in _REFUSED.values()} - {0}):
        steps += [(equal, 0, 1, refused), (end, 0, 0, _NOT_PERMITTED)]
    # Its flags lie in memory, where no filter looks: libraries fall back on the older call.
    steps += [(equal, 0, 1, _CLONE3), (end, 0, 0, _NOT_THERE)]
    steps += [(equal, 0, 4, _CLONE[at]), (load, 0, 0, 16), (masked, 0, 0, _NEW)]
    steps += [(equal, 1, 0, 0), (end, 0, 0, _NOT_PERMITTED), (end, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


# --- the kernel ----------------------------------------------------------------------------------


class MissingPartError(Exception):
    """A part of the confinement that this system lacks."""


@contextmanager
def _part(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MissingPartError(f"{name} ({error.strerror})") from None


class _Kernel:
    """System calls that the standard library does not have."""

    def __init__(self) -> None:
        self._library: Any = ctypes.CDLL(None, use_errno=True)

    def _checked(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result

    def call(self, number: int, *words: Any) -> int:
        """A call by its number, the same on all architectures or taken from the table."""
        return self._checked(self._library.syscall(number, *words))

    def unshare(self) -> None:
        """Into namespaces of its own."""
        self._checked(self._library.unshare(_NEW))

    def control(self, *words: int) -> None:
        """`prctl`."""
        self._checked(self._library.prctl(*(ctypes.c_ulong(one) for one in words)))

    def dropped(self, privilege: int) -> bool:
        """Whether there is a privilege of this number, which nothing gets any more."""
        return bool(self._library.prctl(24, ctypes.c_ulong(privilege), 0, 0, 0) == 0)

    def mount(self, kind: str, place: str, flags: int, options: str = "") -> None:
        """A new file system."""
        words = (kind.encode(), place.encode(), kind.encode() or None)
        self._checked(self._library.mount(*words, ctypes.c_ulong(flags), options.encode() or None))

    def unmount(self, place: str) -> None:
        """Take a file system away."""
        self._checked(self._library.umount2(place.encode(), 2))

    def read_only(self, folder: int, place: str, *, below: bool, devices: bool = False) -> None:
        """Nothing beneath may be written; nothing there has privileges."""
        attributes = struct.pack("=4Q", 0x1 | 0x2 | (0 if devices else 0x4), 0, 0, 0)
        flags = 0x1000 | (0x8000 if below else 0)
        self.call(_number("mount_setattr"), folder, place.encode(), flags, attributes, 32)

    def taken(self, path: str) -> int:
        """A file or folder with all that is mounted below, to be put somewhere, read-only."""
        flags = 1 | 0x8000 | os.O_CLOEXEC
        tree = self.call(_number("open_tree"), -100, path.encode(), flags)
        self.read_only(tree, "", below=True, devices=path in _DEVICES)
        return tree

    def put(self, tree: int, place: Path) -> None:
        """Put there what was taken."""
        if stat.S_ISDIR(os.fstat(tree).st_mode):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(place, _WRITE | os.O_EXCL, 0o600))
        self.call(_number("move_mount"), tree, b"", -100, bytes(place), 4)
        os.close(tree)

    def privileges(self, allowed: int) -> None:
        """No privileges but these."""
        header = struct.pack("=Ii", 0x20080522, 0)
        sets = struct.pack("=6I", allowed, allowed, allowed, 0, 0, 0)
        self._checked(self._library.capset(header, sets))

    def filter(self, program: bytes) -> None:
        """Only the calls of a filter, for this process and all that it starts."""
        steps = ctypes.create_string_buffer(program, len(program))
        words = struct.pack("@HP", len(program) // 8, ctypes.addressof(steps))
        self._checked(self._library.prctl(22, ctypes.c_ulong(2), words, 0, 0))


# --- namespaces and the files that are there -----------------------------------------------------


def _separate(kernel: _Kernel) -> bool:
    """Into namespaces of its own; whether the program gets a user id of its own there."""
    mapped = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    own = os.geteuid() == 0 and any(int(a) <= _USER < int(a) + int(n) for a, _, n in mapped)
    users, groups = f"{_USER} {os.geteuid()} 1", f"{_USER} {os.getegid()} 1"
    if own:
        users = "\n".join(f"{a} {a} {n}" for a, _, n in mapped)
        ranges = (line.split() for line in Path("/proc/self/gid_map").read_text().splitlines())
        groups = "\n".join(f"{a} {a} {n}" for a, _, n in ranges)
    with _part("namespaces of its own"):
        entered, enter = os.pipe()
        process = os.getpid()
        writer = os.fork() if own else -1  # only who is outside may name the ids of others
        if writer == 0:
            os.close(enter)
            try:
                os.read(entered, 1)
                _map(process, users, groups)
            except OSError:
                os._exit(1)
            os._exit(0)
        kernel.unshare()
    with _part("user namespace"):
        os.write(enter, b"x")
        os.close(enter)
        os.close(entered)
        if own and os.waitpid(writer, 0)[1] != 0:
            raise PermissionError(1, "its users cannot be set")
        if not own:
            Path("/proc/self/setgroups").write_text("deny")
            _map(process, users, groups)
    return own


def _map(process: int, users: str, groups: str) -> None:
    """Which ids of the namespace of a process are which outside."""
    Path(f"/proc/{process}/uid_map").write_text(users)
    Path(f"/proc/{process}/gid_map").write_text(groups)


def _files(kernel: _Kernel, plan: dict[str, Any]) -> int:
    """See nothing but what is given; gives the folder outside, for what is handed back."""
    root = plan["folder"]
    outside = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with _part("mount namespace"):
        kernel.mount("", "/", 0x4000 | 0x40000)
        links, trees = _given(kernel, plan["read"])
        data = [(name, kernel.taken(path)) for path, name in plan["data"]]
        kernel.mount("tmpfs", root, 0x2 | 0x4, f"size=4m,nr_inodes={_MOST_FILES},mode=0755")
        for path, tree in trees:
            kernel.put(tree, Path(root + path))
        for path, target in links.items():
            place = Path(root + path)
            place.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(place):
                place.symlink_to(target)
    with _part("a folder in memory"):
        _own_folder(kernel, root, outside, plan)
        for name, tree in data:
            kernel.put(tree, Path(root + PROGRAM, name))
    with _part("/proc of its own"):
        Path(root, "proc").mkdir()
        kernel.mount("proc", f"{root}/proc", 0x1 | 0x2 | 0x4 | 0x8, "subset=pid,hidepid=2")
    with _part("mount namespace"):
        kernel.read_only(-100, root, below=False)
        os.chdir(root)
        kernel.call(_number("pivot_root"), b".", b".")
        kernel.unmount(".")
        os.chdir(PROGRAM)
    return outside


def _given(kernel: _Kernel, paths: list[str]) -> tuple[dict[str, str], list[tuple[str, int]]]:
    """Links, and what is mounted; what lies below something else comes with it."""
    links, left, mounts = dict(_LINKS), [*_SYSTEM, *_DEVICES, *paths], dict[Path, int]()
    while left:
        path = Path(os.path.normpath(left.pop()))
        link = next((one for one in (*reversed(path.parents), path) if one.is_symlink()), None)
        if link is not None:
            links[str(link)] = str(link.readlink())
            left.append(str(link.resolve() / path.relative_to(link)))
        elif path not in mounts and path.exists():
            mounts[path] = kernel.taken(str(path))
    tops = [path for path in sorted(mounts) if mounts.keys().isdisjoint(path.parents)]
    links = {at: to for at, to in links.items() if mounts.keys().isdisjoint(Path(at).parents)}
    return links, [(str(path), mounts[path]) for path in tops]


def _own_folder(kernel: _Kernel, root: str, outside: int, plan: dict[str, Any]) -> None:
    """The program's folder: in memory, with a copy of its files, as large as stated."""
    Path(root, "own").mkdir()
    limits = f"size={plan['files']},nr_inodes={_MOST_FILES},mode=0755"
    kernel.mount("tmpfs", f"{root}/own", 0x2 | 0x4, limits)
    for name in (PROGRAM, TEMPORARY):
        Path(root + name).mkdir(0o700)
    for here, _, names, folder in os.fwalk(".", dir_fd=outside):
        Path(root + PROGRAM, here).mkdir(0o700, exist_ok=True)
        for name in names:
            source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            place = Path(root + PROGRAM, here, name)
            _copy(source, os.open(place, _WRITE | os.O_EXCL, 0o600))
    for here, _, names in os.walk(f"{root}/own"):
        for one in (here, *(f"{here}/{name}" for name in names)):
            os.chown(one, _USER, _USER)


def _copy(source: int, target: int) -> None:
    with open(source, "rb") as read, open(target, "wb") as copy:
        while data := read.read(_PIECE):
            copy.write(data)


def _number(name: str) -> int:
    """The number of a call on this machine."""
    return _REFUSED[name][_ARCHITECTURES[platform.machine()][1]]


# --- the program, and who watches over it --------------------------------------------------------


def _limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def _limits(plan: dict[str, Any]) -> None:
    """Limits of files, memory and processes; that of processes is tried."""
    with _part("limits"):
        _limit(resource.RLIMIT_AS, plan["memory"])
        _limit(resource.RLIMIT_FSIZE, plan["file"])
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_NPROC, plan["processes"])
    most = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, most[1]))
    try:
        if os.fork() == 0:
            os._exit(0)
    except BlockingIOError:
        resource.setrlimit(resource.RLIMIT_NPROC, most)
        return
    raise MissingPartError("a limit of processes (root is not bound by it)")


def _become(kernel: _Kernel, plan: dict[str, Any], *, own: bool) -> NoReturn:
    """Become the program, for good."""
    os.setsid()
    with _part("an end of privileges"):
        # With a user id of its own it is not the owner of the data, and reads it all the same.
        reads = 1 << 2 if own else 0
        for number in range(64):
            if not reads >> number & 1 and not kernel.dropped(number):
                break
        kernel.control(28, 0b101111)  # no privileges for being root, nor a way back
        if own:
            for pipe in (1, 2, *plan["pipes"]):  # so that it can open them by their names
                os.fchown(pipe, _USER, _USER)
            os.setgroups([])
            os.setresgid(_USER, _USER, _USER)
            os.setresuid(_USER, _USER, _USER)
        kernel.privileges(reads)
        if own:
            kernel.control(47, 2, 2, 0, 0)
        kernel.control(38, 1, 0, 0, 0)
    _limits(plan)
    with _part("a system call filter"):
        kernel.filter(system_call_filter(platform.machine()))
    os.write(plan["status"], b'{"closed": true}\n')
    os.close(plan["status"])
    words, environment = plan["command"], plan["environment"]
    os.execve(words[0], words, environment)  # noqa: S606 - there is no shell, and none is wanted


def _watch(program: int, plan: dict[str, Any], outside: int) -> NoReturn:
    """Wait for the program as the first process of its namespace; end it with too much memory."""
    while True:
        signal.sigtimedwait([signal.SIGCHLD], _LOOK)
        ended, how = os.waitpid(-1, os.WNOHANG)
        while ended not in (0, program):
            ended, how = os.waitpid(-1, os.WNOHANG)
        if ended == program:
            break
        if _too_much(plan["memory"]):
            os.write(plan["status"], b'{"over": "memory"}\n')
            os._exit(NOT_CLOSED)
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    _hand_back(plan["back"], outside)
    os._exit(os.waitstatus_to_exitcode(how) & 0xFF)


def _too_much(limit: int) -> bool:
    """Whether all processes but this one use more; what several share counts once."""
    others = [place for place in Path("/proc").glob("[0-9]*") if place.name != "1"]
    pages = (_figure(place / "statm", r"\d+ (\d+)") for place in others)
    if sum(pages) * resource.getpagesize() <= limit:  # quick, and counts too much rather
        return False
    shares = (_figure(place / "smaps_rollup", r"(?s).*?Pss: +(\d+) kB") for place in others)
    return sum(shares) << 10 > limit


def _figure(place: Path, form: str) -> int:
    with suppress(OSError):  # the process has ended
        if match := re.match(form, place.read_text()):
            return int(match[1])
    return 0


def _hand_back(beginnings: list[str], outside: int) -> None:
    """Copy what the program leaves under names that begin so; ordinary files only."""
    for path in sorted(Path(PROGRAM).iterdir()):
        if path.name.startswith(tuple(beginnings)) and path.is_file() and not path.is_symlink():
            source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            _copy(source, os.open(path.name, _WRITE | os.O_TRUNC, 0o600, dir_fd=outside))


def _follow(child: int, status: int) -> NoReturn:
    """Wait outside of its processes, and end as the program did; end all of them on SIGTERM."""
    os.close(status)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
    _, ended = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(ended) & 0xFF)


def _confine(plan: dict[str, Any]) -> NoReturn:
    if sys.platform != "linux" or platform.machine() not in _ARCHITECTURES:
        raise MissingPartError(f"Linux on x86_64 or aarch64 (this is {sys.platform})")
    kernel = _Kernel()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    own = _separate(kernel)
    if child := os.fork():
        _follow(child, plan["status"])
    kernel.control(1, signal.SIGKILL)
    outside = _files(kernel, plan)
    if program := os.fork():
        _watch(program, plan, outside)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    _become(kernel, plan, own=own)


def main(text: str) -> NoReturn:
    """Close the process, and become the program; or say what is missing."""
    plan = json.loads(text)
    try:
        with _part("a place in its control group"):
            if plan["group"] is not None:
                Path(plan["group"]).write_text(str(os.getpid()))
        _confine(plan)
    except MissingPartError as error:
        os.write(plan["status"], json.dumps({"missing": str(error)}).encode() + b"\n")
    os._exit(NOT_CLOSED)


if __name__ == "__main__":
    main(sys.argv[1])
