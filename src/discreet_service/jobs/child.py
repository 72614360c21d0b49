"""The process in which functions of jobs run; it may be killed at any moment, and ends with its
worker. It never writes to the tables of jobs: its worker releases what it made.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import queue
import re
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from discreet.confidential import forget
from discreet.errors import DiscreetError, Problem
from discreet.memory_limit import limited_memory
from discreet_service.jobs.context import FinishedFile, JobContext
from discreet_service.jobs.kinds import JobKind, function_of, kind_of
from discreet_service.jobs.records import Job
from discreet_service.operation import place_of_failure, service_log, start_log
from discreet_service.problems import PROBLEM_TYPES, ServiceError, problem_document

#: Seconds between two reports of a job, unless it ends.
_BETWEEN_REPORTS = 1.0
_DEATH_OF_PARENT = 1
#: Codes of the library that are not the caller's fault.
_OURS = {"disk-full": "disk-full", "memory": "overloaded"}
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
    if not isinstance(error, ServiceError) and getattr(error, "code", "") in _OURS:
        code = _OURS[error.code]  # type: ignore[attr-defined]
        error = ServiceError(PROBLEM_TYPES[code].en, code=code)
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
