"""Workers: processes that do jobs, one at a time. A worker holds the lease and lets a second
process work, so that it can renew, stop, and watch memory whatever the function does.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import secrets
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.memory_limit import bytes_of
from discreet_service.jobs.child import Assignment, Report, problem_of, serve_jobs
from discreet_service.jobs.kinds import KINDS, JobKind, kind_of
from discreet_service.jobs.queue import JobQueue
from discreet_service.jobs.records import Job
from discreet_service.jobs.retention import keep_up
from discreet_service.operation import log_event
from discreet_service.problems import ServiceError, problem_document

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

    def stop(_number: int, _frame: object) -> None:
        worker.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    worker.run()


class _WorkEnd(Enum):
    reported = auto()
    died = auto()
    lost = auto()
    cancelled = auto()
    too_large = auto()
    too_long = auto()
    stopped = auto()


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
            end, report = _Watch(self._queue, job, self._child, self._over).run(kind, memory)
            self._say(job, end, report)
            seconds = round(time.monotonic() - begun, 3)
            log_event("job", kind=job.kind, end=end.name, attempt=job.attempt, seconds=seconds)
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

    def _say(self, job: Job, end: _WorkEnd, report: Report) -> None:
        if end is not _WorkEnd.reported:
            # Whatever it still does is of no use.
            self._child.kill()
        if report.made is not None:
            made = report.made
            self._offer(lambda: self._queue.finish(job, made))
            if not self._queue.is_done(job):
                # It was to be stopped in the last moment.
                self._offer(lambda: self._queue.confirm_cancel(job))
        elif report.problem is not None:
            problem = report.problem
            self._offer(lambda: self._queue.fail(job, problem))
        elif end in (_WorkEnd.cancelled, _WorkEnd.died):
            act = self._queue.let_go if end is _WorkEnd.died else self._queue.confirm_cancel
            self._offer(lambda: act(job))
        elif end is _WorkEnd.stopped:
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


class _Watch:
    def __init__(self, queue: JobQueue, job: Job, child: _Child, over: threading.Event) -> None:
        self._queue, self._job, self._child, self._over = queue, job, child, over
        self._said, self._told = Report(), Report()
        self._renewed = self._checked = time.monotonic()

    def run(self, kind: JobKind, memory: str) -> tuple[_WorkEnd, Report]:
        until, most = time.monotonic() + kind.minutes * 60, bytes_of(memory) * _HEADROOM
        while True:
            try:
                report = self._child.report(_WATCH)
            except EOFError:
                return _WorkEnd.died, Report()
            if report is not None and report.final:
                return _WorkEnd.reported, report
            self._said = report or self._said
            if self._over.is_set():
                return _WorkEnd.stopped, Report()
            if time.monotonic() > until:
                message = f"the job took longer than {kind.minutes} minutes"
                return _WorkEnd.too_long, self._failed(message, "overloaded")
            if self._child.held() > most:
                message = "the job exceeded the memory limit"
                return _WorkEnd.too_large, self._failed(message, "overloaded")
            end = self._look()
            if end is not None:
                return end, Report()

    def _failed(self, what: str, code: str) -> Report:
        error = ServiceError(what, code=code, hint="request less at once")
        return Report(problem=problem_document(error, self._job.id))

    def _look(self) -> _WorkEnd | None:
        """Renew the lease in time, and hear whether the job is still wanted."""
        now = time.monotonic()
        if now - self._checked < _CHECK:
            return None
        self._checked = now
        try:
            if not self._queue.is_wanted(self._job):
                if self._queue.renew(self._job) is None:
                    return _WorkEnd.lost
                self._child.ask_to_stop()
                limit = time.monotonic() + _GRACE
                while time.monotonic() < limit:
                    with contextlib.suppress(EOFError):
                        report = self._child.report(_WATCH)
                        if report is None or not report.final:
                            continue
                    break
                return _WorkEnd.cancelled
            if self._said is not self._told or now - self._renewed > self._queue.lease_seconds / 4:
                progress = None if self._said is self._told else self._said.progress
                self._queue.renew(self._job, progress, self._said.step)
                self._renewed, self._told = now, self._said
        except ServiceError as error:
            # It may answer again before the lease has run out.
            log_event("no look", code=error.code)
        return None


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

    def ask_to_stop(self) -> None:
        with contextlib.suppress(OSError):
            self._pipe.send(self._folder)

    def kill(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.join()
        self._process.close()
        self._pipe.close()
        self._process = self._pipe = None
