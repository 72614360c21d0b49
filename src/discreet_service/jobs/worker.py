"""Workers: processes that do jobs, one at a time. A worker holds the lease and lets a second
process work, so that it can renew, stop, and watch memory whatever the function does. That one
may be killed at any moment, ends with its worker, and never writes to the tables of jobs.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import multiprocessing
import os
import queue
import re
import secrets
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from discreet.confidential import forget
from discreet.errors import DiscreetError, Problem
from discreet.memory_limit import bytes_of, limited_memory
from discreet_service.jobs.context import FinishedFile, JobContext
from discreet_service.jobs.kinds import KINDS, JobKind, function_of, kind_of
from discreet_service.jobs.queue import JobQueue
from discreet_service.jobs.records import Job
from discreet_service.jobs.retention import keep_up
from discreet_service.operation import log_event, place_of_failure, service_log, start_log
from discreet_service.problems import PROBLEM_TYPES, ServiceError, problem_document, repairable

#: Seconds between two reports of a job, unless it ends.
_BETWEEN_REPORTS = 1.0
_DEATH_OF_PARENT = 1
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: What looks like a place on the disk.
_PLACE = re.compile(r"(?:^|[\s'\"(])(?:/|[A-Za-z]:\\)[^\s]")


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """A job that is to be done."""

    job: Job
    folder: Path
    memory: str  # What it may hold


@dataclass(frozen=True, kw_only=True)
class Report:
    """Message to a worker about a job."""

    progress: int = 0  # How much is done, in percent
    step: str = ""  # What is being done
    made: FinishedFile | None = None  # The result, when it is done
    problem: Mapping[str, Any] | None = None  # Why it failed, when it did

    @property
    def final(self) -> bool:
        """Whether the job ended."""
        return self.made is not None or self.problem is not None


def serve_jobs(
    pipe: Connection, build: Callable[[], Any], kinds: Mapping[str, JobKind], parent: int
) -> None:
    """Do jobs until the worker says no more, or dies."""
    # Let the system kill this process when its worker ends, however that ends.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_DEATH_OF_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that
        os._exit(1)
    # Whoever stops the worker by a key stops it, not this: the worker gives the job back.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    start_log()
    waiting: queue.SimpleQueue[Assignment | None] = queue.SimpleQueue()
    stopped: set[str] = set()
    threading.Thread(target=_listen, args=(pipe, waiting, stopped), daemon=True).start()
    service = build()
    while (assignment := waiting.get()) is not None:
        pipe.send(_done(service, assignment, kinds, pipe, stopped))


def _listen(
    pipe: Connection, waiting: queue.SimpleQueue[Assignment | None], stopped: set[str]
) -> None:
    """Take over what the worker says: jobs, or the folder of one that is to be stopped."""
    while True:
        try:
            said = pipe.recv()
        except (EOFError, OSError):
            os._exit(1)
        if isinstance(said, str):
            stopped.add(said)
        else:
            waiting.put(said)


def _done(
    service: Any,
    assignment: Assignment,
    kinds: Mapping[str, JobKind],
    pipe: Connection,
    stopped: set[str],
) -> Report:
    job, last = assignment.job, [0.0]

    def report(progress: int, step: str) -> None:
        now = time.monotonic()
        if now - last[0] >= _BETWEEN_REPORTS:
            last[0] = now
            pipe.send(Report(progress=progress, step=step))

    try:
        function = function_of(kind_of(job.kind, kinds))
        context = JobContext(
            service=service,
            job=job,
            folder=assignment.folder,
            report=report,
            cancelled=lambda: assignment.folder.name in stopped,
        )
        with limited_memory(assignment.memory):
            output = function(context)
        return Report(progress=100, made=output.written(assignment.folder))
    except Exception as error:
        problem = problem_of(error, job.id)
        forget(error)
        return Report(problem=problem)


def problem_of(error: Exception, number: str) -> dict[str, Any]:
    """Reason of a failed job for its owner, without contents and places.

    >>> problem_of(KeyError("a secret"), "1f")["title"]
    'Internal error'
    """
    if isinstance(error, MemoryError):
        error = ServiceError("the job exceeds the memory limit", code="overloaded")
    if isinstance(error, OSError) and error.errno in _FULL:
        error = ServiceError(PROBLEM_TYPES["disk-full"].en, code="disk-full")
    if isinstance(error, DiscreetError):
        error = repairable(error)
    if not isinstance(error, DiscreetError):
        fields = {"job": number, **place_of_failure(error)}
        service_log().error("failure", extra={"fields": fields})
        message = "internal error; staff can find it by the number of the job"
        error = ServiceError(message, code="internal")
    if any(_PLACE.search(text) for one in error.problems for text in (one.what, one.hint)):
        # Words of the library for whoever runs it on their own machine.
        error = ServiceError(PROBLEM_TYPES["invalid-input"].en, code="invalid-input")
    error.problems = tuple(
        Problem(problem.what, "" if _PLACE.search(problem.where) else problem.where, problem.hint)
        for problem in error.problems
    )
    return problem_document(error, number)


#: Seconds between two looks for jobs, and at the job at hand.
_LOOK, _WATCH, _CHECK = 0.3, 0.1, 1.0
#: Seconds that a job has to stop by itself.
_GRACE = 3.0
#: Times that a result is offered to a database that does not answer, and seconds in between.
_OFFERS, _BETWEEN_OFFERS = 30, 1.0
#: Jobs after which the second process is made anew.
_MOST_JOBS = 50
_BETWEEN_UPKEEPS = 3600.0
#: A process holds more than its data; beyond this share of the limit it is killed.
_HEADROOM = 1.25
_HELD = re.compile(r"^RssAnon:\s+([0-9]+) kB", re.MULTILINE)


def work(service: Any, kinds: Mapping[str, JobKind] = KINDS) -> None:
    """Do jobs until told to stop by SIGTERM or SIGINT; the job at hand is given back."""
    worker = JobWorker(service, kinds)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop())
    worker.run()


class JobWorker:
    """Does jobs of a service."""

    def __init__(self, service: Any, kinds: Mapping[str, JobKind] = KINDS) -> None:
        self._service, self._kinds = service, kinds
        self._queue: JobQueue = service.jobs
        self.name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._over = threading.Event()
        made: Callable[..., Any] = type(service)
        self._child = _Child(partial(made, service.settings), kinds)
        self._kept_up = -_BETWEEN_UPKEEPS

    def stop(self) -> None:
        """End soon; a job at hand is given back."""
        self._over.set()

    def run(self) -> None:
        """Do jobs until told to stop."""
        try:
            while not self._over.is_set():
                if not self._next():
                    self._over.wait(_LOOK)
        finally:
            self._child.kill()

    def _next(self) -> bool:
        try:
            job = self._queue.claim(self.name, tuple(self._kinds))
        except ServiceError as error:
            log_event("no claim", code=error.code)
            return False
        if job is not None:
            self._do(job)
            return True
        if time.monotonic() - self._kept_up >= _BETWEEN_UPKEEPS:
            self._kept_up = time.monotonic()
            keep_up(self._service)
        return False

    def _do(self, job: Job) -> None:
        begun = time.monotonic()
        folder: Path | None = None
        try:
            kind = kind_of(job.kind, self._kinds)
            folder = self._queue.work_folder(job)
            # The settings speak of the machine, the kind of the work.
            memory = min(kind.memory, self._service.settings.jobs.memory, key=bytes_of)
            self._child.begin(Assignment(job=job, folder=folder, memory=memory))
            end, report = self._watched(job, kind, bytes_of(memory) * _HEADROOM)
            self._say(job, end, report)
            seconds = round(time.monotonic() - begun, 3)
            log_event("job", kind=job.kind, end=end, attempt=job.attempt, seconds=seconds)
        except DiscreetError as error:
            # Such as a disk without room for the folder; where the database fails as well, others
            # take over when the lease has run out.
            self._child.kill()
            log_event("job broke", kind=job.kind, code=error.code)
            with contextlib.suppress(ServiceError):
                self._queue.fail(job, problem_of(error, job.id))
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def _watched(self, job: Job, kind: JobKind, most: float) -> tuple[str, Report]:
        """How the work on a job ended, and what it came to."""
        told = latest = Report()
        checked = renewed = time.monotonic()
        until = checked + kind.minutes * 60
        while True:
            try:
                report = self._child.report(_WATCH)
            except EOFError:
                return "died", Report()
            if report is not None and report.final:
                return "reported", report
            latest = report or latest
            if self._over.is_set():
                return "stopped", Report()
            if time.monotonic() > until:
                return "too_long", _exceeded(
                    job, f"the job took longer than {kind.minutes} minutes"
                )
            if self._child.held() > most:
                return "too_large", _exceeded(job, "the job exceeded the memory limit")
            now = time.monotonic()
            if now - checked < _CHECK:
                continue
            checked = now
            # Renew the lease in time, and hear whether the job is still wanted.
            try:
                if not self._queue.is_wanted(job):
                    if self._queue.renew(job) is None:
                        return "lost", Report()
                    self._child.stop_job(_GRACE)
                    return "cancelled", Report()
                if latest is not told or now - renewed > self._queue.lease_seconds / 4:
                    self._queue.renew(job, None if latest is told else latest.progress, latest.step)
                    renewed, told = now, latest
            except ServiceError as error:
                # It may answer again before the lease has run out.
                log_event("no look", code=error.code)

    def _say(self, job: Job, end: str, report: Report) -> None:
        made, problem = report.made, report.problem
        if end != "reported":
            # Whatever it still does is of no use.
            self._child.kill()
        if made is not None:
            self._offer(lambda: self._queue.finish(job, made))
            if not self._queue.is_done(job):
                # It was to be stopped in the last moment.
                self._offer(lambda: self._queue.confirm_cancel(job))
        elif problem is not None:
            self._offer(lambda: self._queue.fail(job, problem))
        elif end == "cancelled":
            self._offer(lambda: self._queue.confirm_cancel(job))
        elif end == "died":
            self._offer(lambda: self._queue.let_go(job))
        elif end == "stopped":
            # Where the database does not answer, others take over when the lease has run out;
            # a job has not failed because its worker was told to stop.
            with contextlib.suppress(ServiceError):
                self._offer(lambda: self._queue.give_back(job))

    def _offer(self, act: Callable[[], bool]) -> None:
        """Do something with the database as soon as it answers."""
        for left in range(_OFFERS, 0, -1):
            try:
                act()
            except ServiceError as error:
                if left == 1 or error.code == "disk-full" or self._over.is_set():
                    raise
                time.sleep(_BETWEEN_OFFERS)
            else:
                return


def _exceeded(job: Job, what: str) -> Report:
    error = ServiceError(what, "overloaded", hint="request less at once")
    return Report(problem=problem_document(error, job.id))


class _Child:
    """The second process, started when it is needed."""

    def __init__(self, build: Callable[[], Any], kinds: Mapping[str, JobKind]) -> None:
        self._build, self._kinds = build, kinds
        self._process: Any = None
        self._pipe: Any = None
        self._jobs, self._folder = 0, ""

    def begin(self, assignment: Assignment) -> None:
        if self._process is not None and (self._jobs >= _MOST_JOBS or not self._process.is_alive()):
            self.kill()
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, other = context.Pipe()
            told = (other, self._build, self._kinds, os.getpid())
            self._process = context.Process(target=serve_jobs, args=told)
            self._process.start()
            other.close()
            self._jobs = 0
        self._jobs, self._folder = self._jobs + 1, assignment.folder.name
        # A process that died meanwhile is found out by its silence.
        with contextlib.suppress(OSError):
            self._pipe.send(assignment)

    def report(self, seconds: float) -> Report | None:
        try:
            if not self._pipe.poll(seconds):
                return None
            report: Report = self._pipe.recv()
        except OSError:
            raise EOFError from None
        return report

    def held(self) -> int:
        try:
            text = Path(f"/proc/{self._process.pid}/status").read_text("ascii")
        except OSError:
            return 0
        match = _HELD.search(text)
        return 0 if match is None else int(match[1]) * 1024

    def stop_job(self, seconds: float) -> None:
        """Ask for the end of the job, and wait a while for it."""
        with contextlib.suppress(OSError):
            self._pipe.send(self._folder)
        limit = time.monotonic() + seconds
        with contextlib.suppress(EOFError):
            while time.monotonic() < limit:
                report = self.report(_WATCH)
                if report is not None and report.final:
                    return

    def kill(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.join()
        self._process.close()
        self._pipe.close()
        self._process = self._pipe = None
