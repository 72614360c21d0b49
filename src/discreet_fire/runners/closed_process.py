"""Runs a program of a researcher in a process that is closed off.

In: a command, what it may read, a folder with its files, limits. Out: `ProcessEnd`: how it ended,
and what it wrote (CONFIDENTIAL). It has no input, no environment but what is given, and ends with
all that it started when its time is over. What it is kept from: `confinement`. Where a part of that
is missing the program does not run. Where the account has a folder of control groups (cgroup v2) of
its own, memory, processes and processor time are limited there for all processes together; else
limits hold for each process, and memory of all of them is measured now and then.
"""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from threading import Event
from typing import IO, Annotated, Any

from pydantic import BeforeValidator, Field

from discreet.errors import OutputCheckError
from discreet.settings import Settings, refused
from discreet_fire.runners import confinement
from discreet_fire.runners.confinement import TEMPORARY

#: What a folder must be able to limit.
_NEEDED = frozenset(("memory", "pids"))
#: Processor time is dealt out in periods of so many microseconds.
_PERIOD = 100_000
#: Processes that start a program and watch over it.
_WATCHING = 3
#: Seconds until a group that is ended is empty.
_UNTIL_EMPTY = 5.0


def _memory_was_over(group: Path) -> bool:
    """Whether the kernel ended a process of a control group for want of memory."""
    with suppress(OSError):
        events = (group / "memory.events").read_text()
        return re.search(r"^oom_kill [1-9]", events, re.MULTILINE) is not None
    return False


@contextmanager
def control_group(
    parent: Path | None, *, memory: int, processes: int, processors: float | None
) -> Iterator[Path | None]:
    """The folder of a new group with limits; None if there is none to hold it."""
    if parent is None:
        yield None
        return
    group = parent / f"discreet-{token_hex(8)}"
    limits = {"memory.max": str(memory), "pids.max": str(processes + _WATCHING)}
    if processors is not None:
        limits["cpu.max"] = f"{int(processors * _PERIOD)} {_PERIOD}"
    try:
        offered = (parent / "cgroup.subtree_control").read_text().split()
        group.mkdir()
        for name, text in limits.items():
            if name.partition(".")[0] in offered:
                (group / name).write_text(text)
    except OSError as error:
        _remove(group)
        message = f"the program was not run: its control group cannot be limited ({error.strerror})"
        raise OutputCheckError(message, code="not-closed", where=str(parent)) from None
    for name, text in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
        with suppress(OSError):  # old kernels, and those without swap
            (group / name).write_text(text)
    try:
        yield group
    finally:
        _remove(group)


def control_folder(stated: Path | None = None) -> Path | None:
    """Folder for control groups: of the settings, of this process, or the one above.

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
            wanted = " ".join(f"+{one}" for one in sorted(more))
            (place / "cgroup.subtree_control").write_text(wanted)
    except OSError:  # such as a group that has processes itself
        return False
    return True


def _remove(folder: Path) -> None:
    """End what is left in a group, and take it away."""
    with suppress(OSError):
        (folder / "cgroup.kill").write_text("1")
    until = time.monotonic() + _UNTIL_EMPTY
    while folder.exists() and time.monotonic() < until:
        with suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.01)


_PIECE = 1 << 16
#: Seconds until a process that is ended by its own parent is ended otherwise.
_PATIENCE = 5.0


def _place(path: Any) -> Path:
    if not isinstance(path, str | Path) or not Path(path).is_absolute() or not Path(path).exists():
        raise refused("must be the whole path of something that is there")
    return Path(path)


#: The whole path of something that is there.
Place = Annotated[Path, BeforeValidator(_place)]


class ProcessLimits(Settings):
    """Limits of a program."""

    seconds: Annotated[float, Field(ge=0.01, le=10**7)] = 3600.0  # how long it may run
    #: Address space of each of its processes, and memory of all of them together
    memory_mb: Annotated[int, Field(ge=100, le=10**7)] = 16_000
    #: What it may write to its output, and into one file
    output_mb: Annotated[int, Field(ge=1, le=10**5)] = 100
    #: All files of its folder together, its own among them; they lie in memory
    files_mb: Annotated[int, Field(ge=1, le=10**7)] = 1000
    #: How many processes and threads it may have at once
    processes: Annotated[int, Field(ge=1, le=10**6)] = 256
    #: How many processors it may keep busy; needs a control group
    processors: Annotated[float, Field(ge=0.01, le=10**4)] | None = None
    #: A folder of control groups that is this account's own; that of this process if None
    control_groups: Place | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class ProcessEnd:
    """End of a process (confidential)."""

    code: int | None  # its exit code; None if its time or its output was over
    over: str  # what was over: "time", "output", "memory", or empty
    output: bytes  # what it wrote to its output
    errors: bytes  # the end of what it wrote to its error output, which may quote data


@dataclass(frozen=True, kw_only=True)
class ProcessPlan:
    """Process to run."""

    command: Sequence[str]  # the program with its words; the program by its whole path
    folder: Path  # a folder with its files; it runs in `confinement.PROGRAM`, on a copy of them
    read: Sequence[Path]  # what else it may read, at the places where it lies
    data: Sequence[Path]  # data files, which it reads by their names in its folder
    environment: Mapping[str, str]  # all of its environment
    limits: ProcessLimits  # what it may use
    back: Sequence[str] = ()  # how the names of files begin that it leaves in `folder`

    def words(self, status: int, channel: Mapping[str, int], group: Path | None) -> str:
        """Arguments of `confinement`."""
        mega, limits = 1 << 20, self.limits
        environment = {**self.environment, **{key: str(fd) for key, fd in channel.items()}}
        return json.dumps(
            {
                "command": list(self.command),
                "environment": {"TMPDIR": TEMPORARY, **environment},
                "folder": str(self.folder.resolve()),
                "read": [str(path.absolute()) for path in self.read],
                "data": [(str(path.resolve()), path.name) for path in self.data],
                "back": list(self.back),
                "memory": limits.memory_mb * mega,
                "file": limits.output_mb * mega,
                "files": limits.files_mb * mega,
                "processes": limits.processes,
                "pipes": list(channel.values()),
                "status": status,
                "group": None if group is None else str(group / "cgroup.procs"),
            }
        )


class NotClosedError(OutputCheckError):
    """A program that was not run, as this system lacks a part of the confinement."""

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"the program was not run, as this system cannot close it off: missing is {missing}",
            code="not-closed",
            hint="docs/how-to/run-programs.md says what a machine needs to run programs",
        )


#: Answers what a program asks: reads from the first file, writes to the second, until it ends.
Serve = Callable[[IO[bytes], IO[bytes]], None]


def run_closed(plan: ProcessPlan, serve: Serve | None = None) -> ProcessEnd:
    """Run a program to its end."""
    limits = plan.limits
    parent = control_folder(limits.control_groups)
    if parent is None and (limits.control_groups or limits.processors):
        raise NotClosedError("a control group with memory and processes (cgroup v2)")
    with control_group(
        parent,
        # Files of the program lie in memory, too.
        memory=limits.memory_mb + limits.files_mb << 20,
        processes=limits.processes,
        processors=limits.processors,
    ) as group:
        end = _run_in(plan, serve, group)
        if group is not None and _memory_was_over(group):
            return replace(end, code=None, over="memory")
        return end


def _run_in(plan: ProcessPlan, serve: Serve | None, group: Path | None) -> ProcessEnd:
    status, tell = os.pipe()
    asked, asks = os.pipe()
    answers, answered = os.pipe()
    starter = Path(confinement.__file__)
    words = plan.words(tell, {"DISCREET_ASKS": asks, "DISCREET_ANSWERS": answers}, group)
    try:
        process = subprocess.Popen(  # noqa: S603 - what runs is closed off
            [sys.executable, "-I", str(starter), words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(tell, asks, answers),
            cwd=plan.folder,
            env={},
            start_new_session=True,
        )
    except BaseException:
        for one in (status, asked, answered):
            os.close(one)
        raise
    finally:
        for one in (tell, asks, answers):
            os.close(one)
    with process, os.fdopen(status, "rb") as enforced, os.fdopen(answered, "wb", 0) as replies:
        document = json.loads(enforced.readline() or b"{}")
        run = _Running(process, plan.limits)
        with run.reader(asked) as requests:
            end = run.end(lambda: serve(requests, replies) if serve is not None else None)
        if document.get("closed") is not True:
            raise NotClosedError(document.get("missing", "what starts it"))
        over = json.loads(enforced.readline() or b"{}").get("over")
        return end if over is None else replace(end, code=None, over=over)


class _UntilEnd(io.RawIOBase):
    """A pipe that is at its end when the program is, whoever still holds it."""

    def __init__(self, number: int, ended: Event) -> None:
        self._number, self._ended = number, ended

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            last = self._ended.is_set()
            if select.select([self._number], [], [], 0.0 if last else 0.1)[0]:
                data = os.read(self._number, len(buffer))
                buffer[: len(data)] = data
                return len(data)
            if last:
                return 0

    def close(self) -> None:
        if not self.closed:
            os.close(self._number)
        super().close()


class _Running:
    """A process that runs."""

    def __init__(self, process: subprocess.Popen[bytes], limits: ProcessLimits) -> None:
        self._process, self._limits = process, limits
        self._ended = Event()
        self._over = ""

    def reader(self, number: int) -> IO[bytes]:
        """Reads a pipe until the process has ended."""
        return io.BufferedReader(_UntilEnd(number, self._ended))

    def end(self, serve: Callable[[], None]) -> ProcessEnd:
        """Read what it writes, answer what it asks, and end it when its time is over."""
        process = self._process
        assert process.stdout is not None
        assert process.stderr is not None
        with (
            self.reader(os.dup(process.stdout.fileno())) as written,
            self.reader(os.dup(process.stderr.fileno())) as complained,
            ThreadPoolExecutor(3) as threads,
        ):
            try:
                output = threads.submit(self._output, written)
                errors = threads.submit(self._errors, complained)
                served = threads.submit(self._served, serve)
                process.wait(self._limits.seconds)
            except subprocess.TimeoutExpired:
                self._over = self._over or "time"
            finally:
                self._kill()
                self._ended.set()
            served.result()
            result = output.result()
            return ProcessEnd(
                code=None if self._over else process.returncode,
                over=self._over,
                output=result,
                errors=errors.result(),
            )

    def _served(self, serve: Callable[[], None]) -> None:
        try:
            serve()
        except BaseException:
            self._kill()
            raise

    def _kill(self) -> None:
        """End the process and all of its group; in its namespace nothing outlives it."""
        try:
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGTERM)
                self._process.wait(_PATIENCE)
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        self._process.wait()

    def _output(self, stream: IO[bytes]) -> bytes:
        output = bytearray()
        while data := stream.read1(_PIECE):  # type: ignore[attr-defined]
            if len(output) + len(data) > self._limits.output_mb << 20:
                self._over = "output"
                self._kill()
                return b""
            output += data
        return bytes(output)

    def _errors(self, stream: IO[bytes]) -> bytes:
        errors = b""
        while data := stream.read1(_PIECE):  # type: ignore[attr-defined]
            errors = (errors + data)[-_PIECE:]
        return errors
