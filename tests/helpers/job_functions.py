"""Functions of jobs for tests, and services whose workers do them."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet_service.jobs.context import JobContext, JobOutput
from discreet_service.jobs.kinds import JobKind
from discreet_service.jobs.worker import work  # noqa: F401 - for the processes
from discreet_service.permissions import Permission
from discreet_service.problems import ServiceError
from discreet_service.service import Service
from discreet_service.settings import JobSettings, ServiceSettings
from tests.helpers.places import ROOT


def _kind(function: str, memory: str = "1GB") -> JobKind:
    return JobKind(
        permission=Permission.query_run,
        function=f"tests.helpers.job_functions:{function}",
        memory=memory,
        minutes=1,
    )


def add(context: JobContext) -> JobOutput:
    """The sum of two numbers, after some steps."""
    asked = context.job.asked()
    for step in range(asked.get("steps", 0)):
        context.report(step, "adding")
        time.sleep(0.02)
    note = Path(context.service.settings.folder) / "begun"
    with note.open("a") as file:
        file.write(f"{context.job.id}\n")
    total = str(asked["a"] + asked["b"]).encode()
    return JobOutput(file_name="sum.txt", media_type="text/plain", content=total)


def by_file(context: JobContext) -> JobOutput:
    """A result that is a file, as large as asked for."""
    place = context.folder / "made"
    with place.open("wb") as file:
        for _ in range(context.job.asked()["megabytes"]):
            file.write(b"x" * 2**20)
    return JobOutput(file_name="made.bin", media_type="application/octet-stream", path=place)


def elsewhere(context: JobContext) -> JobOutput:
    """A file that does not belong to the job."""
    place = Path("/etc/passwd")
    return JobOutput(file_name="made.bin", media_type="application/octet-stream", path=place)


def sleepy(context: JobContext) -> JobOutput:
    """Looks whether it is to stop."""
    while not context.cancelled():
        time.sleep(0.02)
    raise ServiceError("stopped in good order", code="conflict")


def deaf(context: JobContext) -> JobOutput:
    """Never looks, and reports only that it began."""
    context.report(1, "begun well")
    time.sleep(600)
    raise AssertionError


def dying(context: JobContext) -> JobOutput:
    """Dies as if the system had killed it."""
    os.kill(os.getpid(), 9)
    raise AssertionError


def large(context: JobContext) -> JobOutput:
    """Takes more memory than is allowed."""
    held = [bytearray(os.urandom(1)) * 50_000_000 for _ in range(60)]
    time.sleep(60)
    raise AssertionError(len(held))


def refused(context: JobContext) -> JobOutput:
    """What a caller can cause."""
    raise ServiceError("unknown code", code="unknown-code", where="by[0]")


def broken(context: JobContext) -> JobOutput:
    """What nobody foresaw, with something confidential in its words."""
    raise KeyError("count 1 of Anna Meier")


KINDS = {
    name: _kind(name)
    for name in ("add", "by_file", "elsewhere", "sleepy", "deaf", "dying", "refused", "broken")
} | {"large": _kind("large", "600MB")}


def job_service(folder: Path, url: str, lease: int = 2, retries: int = 1) -> Service:
    """A service with nothing but a database and jobs."""
    secret = folder / "service.secret"
    if not secret.exists():
        secret.write_text("s" * 40)
        secret.chmod(0o600)
    settings = ServiceSettings(
        folder=folder,
        database=url,
        secret_file=secret,
        jobs=JobSettings(lease_seconds=lease, retries=retries, memory="1GB"),
    )
    return Service(settings)


def _process(act: str, *arguments: object) -> subprocess.Popen[bytes]:
    code = (
        "import sys, pathlib\n"
        "from tests.helpers.job_functions import *\n"
        f"if __name__ == '__main__':\n    {act}\n"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    return subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.DEVNULL)


_SERVICE = "job_service(pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))"


def start_worker(folder: Path, url: str, lease: int, retries: int) -> subprocess.Popen[bytes]:
    """A worker in a process of its own."""
    return _process(f"work({_SERVICE}, KINDS)", folder, url, lease, retries)


def start_caller(folder: Path, url: str, jobs: int) -> subprocess.Popen[bytes]:
    """A process that hands in jobs, and notes each whose number it was told."""
    return _process(f"call({_SERVICE}, int(sys.argv[5]))", folder, url, 1, 50, jobs)


def call(service: Service, jobs: int) -> None:
    """Hand in jobs, from the first one on that was not noted."""
    notes = Path(service.settings.folder) / "noted"
    while (at := len(notes.read_bytes().splitlines()) if notes.exists() else 0) < jobs:
        try:
            job = service.jobs.submit(
                kind="add",
                owner="anna",
                request={"a": at, "b": 1, "steps": at % 3},
                idempotency_key=f"k{at}",
            )
        except ServiceError as error:
            if error.code != "rate-limited" and error.retry_after is None:
                raise
            time.sleep(0.2)
            continue
        with notes.open("ab", buffering=0) as file:
            file.write(f"{job.id}\n".encode())


@contextmanager
def worker_process(folder: Path, url: str, lease: int = 2) -> Iterator[subprocess.Popen[bytes]]:
    """A worker in a process of its own, ended with the block."""
    process = start_worker(folder, url, lease, 2)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(true: Any, seconds: float = 180.0) -> None:
    """Wait until something is true; the limit only ends what hangs, on machines of any load."""
    limit = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < limit, "it does not become true"
        time.sleep(0.05)
