"""Workers: what becomes of jobs that fail, are stopped, die, or take too much."""

import json
import os
import resource
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import MicrodataError, PublicationError
from discreet_service.jobs.records import Job, JobState
from discreet_service.jobs.worker import JobWorker, problem_of
from discreet_service.service import Service
from tests.helpers.job_functions import KINDS, job_service, until, worker_process


@pytest.fixture
def service(tmp_path: Path, service_url: str) -> Iterator[Service]:
    found = job_service(tmp_path, service_url)
    yield found
    found.close()


@pytest.fixture
def sqlite_service(tmp_path: Path, laid_out_file: Path) -> Iterator[Service]:
    place = tmp_path / "service.db"
    place.write_bytes(laid_out_file.read_bytes())
    found = job_service(tmp_path, f"sqlite:///{place}")
    yield found
    found.close()


@pytest.fixture
def worker(sqlite_service: Service) -> Iterator[JobWorker]:
    found = JobWorker(sqlite_service, KINDS)
    thread = threading.Thread(target=found.run)
    thread.start()
    yield found
    found.stop()
    thread.join()


def hand_in(service: Service, kind: str, **request: Any) -> Job:
    return service.jobs.submit(kind=kind, owner="anna", request=request)


def ended(service: Service, job: Job) -> Job:
    until(lambda: service.jobs.job(job.id, None).state.final)
    return service.jobs.job(job.id, None)


def test_both_databases_have_their_jobs_done(service: Service) -> None:
    worker = JobWorker(service, KINDS)
    thread = threading.Thread(target=worker.run)
    thread.start()
    jobs = [hand_in(service, "add", a=1, b=at) for at in range(3)]
    try:
        assert [ended(service, job).state for job in jobs] == [JobState.done] * 3
        sums = [service.jobs.result(job.id, "anna")[1].read_text() for job in jobs]
        assert sums == ["1", "2", "3"]
    finally:
        worker.stop()
        thread.join()


def test_what_becomes_of_jobs(sqlite_service: Service, worker: JobWorker) -> None:
    """One worker and its process do all of these, one after the other."""
    service, jobs = sqlite_service, sqlite_service.jobs
    kinds = ("refused", "broken", "elsewhere")
    handed = {kind: hand_in(service, kind) for kind in kinds}
    handed["by_file"] = hand_in(service, "by_file", megabytes=2)
    found = {kind: ended(service, job) for kind, job in handed.items()}
    problems = {kind: json.loads(job.problem) for kind, job in found.items() if job.problem}
    assert {kind: each["type"].rpartition("/")[2] for kind, each in problems.items()} == {
        "refused": "unknown-code",
        "broken": "internal",
        "elsewhere": "internal",
    }
    assert problems["refused"]["problems"][0]["where"] == "by[0]"
    assert "Meier" not in json.dumps(problems)
    assert jobs.result(handed["by_file"].id, "anna")[1].stat().st_size == 2 * 2**20
    assert list((jobs.folder / "work").iterdir()) == []


@pytest.mark.exhaustive
def test_what_dies_or_takes_too_much(sqlite_service: Service, worker: JobWorker) -> None:
    dying, large = (
        ended(sqlite_service, hand_in(sqlite_service, kind)) for kind in ("dying", "large")
    )
    assert (dying.state, dying.attempt) == (JobState.failed, 2)
    assert (large.state, large.attempt) == (JobState.failed, 1)
    assert json.loads(large.problem or "")["type"].endswith("overloaded")


@pytest.mark.exhaustive
def test_jobs_are_stopped(
    sqlite_service: Service, worker: JobWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet_service.jobs.worker._GRACE", 0.5)
    jobs = sqlite_service.jobs
    for kind in ("sleepy", "deaf"):
        job = hand_in(sqlite_service, kind)
        until(lambda job=job: jobs.job(job.id, None).state is JobState.running)
        until(lambda kind=kind, job=job: kind == "sleepy" or jobs.job(job.id, None).progress == 1)
        jobs.cancel(job.id, "anna")
        assert ended(sqlite_service, job).state is JobState.cancelled
        assert [event.kind for event in jobs.events(job.id)][-1] == "cancelled"
    long = hand_in(sqlite_service, "add", a=1, b=1, steps=130)  # longer than the lease
    done = ended(sqlite_service, long)
    assert (done.state, done.attempt) == (JobState.done, 1)
    assert "progress" in [event.kind for event in jobs.events(long.id)]


def _grandchildren(process: subprocess.Popen[bytes]) -> list[int]:
    place = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(each) for each in place.read_text().split()]


def _alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


@pytest.mark.exhaustive
def test_a_worker_that_is_told_to_stop_gives_its_job_back(
    sqlite_service: Service, tmp_path: Path
) -> None:
    jobs, url = sqlite_service.jobs, sqlite_service.settings.database
    job = hand_in(sqlite_service, "deaf")
    with worker_process(tmp_path, url, lease=60) as process:
        until(lambda: jobs.job(job.id, None).progress == 1)
        children = _grandchildren(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(180) == 0
    found = jobs.job(job.id, None)
    assert (found.state, found.attempt, found.worker) == (JobState.queued, 0, "")
    # One of them keeps the books of Python and ends when it hears that the worker has.
    until(lambda: not any(map(_alive, children)))


@pytest.mark.exhaustive
def test_nothing_survives_its_worker(sqlite_service: Service, tmp_path: Path) -> None:
    jobs, url = sqlite_service.jobs, sqlite_service.settings.database
    job = hand_in(sqlite_service, "deaf")
    with worker_process(tmp_path, url, lease=1) as process:
        until(lambda: jobs.job(job.id, None).progress == 1)
        children = _grandchildren(process)
        assert any(map(_alive, children))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        until(lambda: not any(map(_alive, children)))
    until(lambda: jobs.claim("another") is not None)


@pytest.mark.exhaustive
def test_a_full_disk_leaves_no_half_result(sqlite_service: Service, tmp_path: Path) -> None:
    jobs, url = sqlite_service.jobs, sqlite_service.settings.database
    with worker_process(tmp_path, url) as process:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (2_000_000,) * 2)
        failed = ended(sqlite_service, hand_in(sqlite_service, "by_file", megabytes=9))
        done = ended(sqlite_service, hand_in(sqlite_service, "by_file", megabytes=1))
        until(lambda: not list((jobs.folder / "work").iterdir()))
    assert failed.state is JobState.failed
    assert json.loads(failed.problem or "")["type"].endswith("disk-full")
    assert str(tmp_path) not in (failed.problem or "")
    assert done.state is JobState.done
    (place,) = (jobs.folder / "results").iterdir()
    assert place == jobs.result(done.id, "anna")[1]


def test_problems_tell_nothing_of_the_inside(tmp_path: Path) -> None:
    place = str(tmp_path / "x")
    full = PublicationError("the disk is full", code="disk-full", where=place)
    assert problem_of(full, "1")["type"].endswith("disk-full")
    assert problem_of(OSError(28, "no space"), "1")["type"].endswith("disk-full")
    memory = MicrodataError(
        "the run needs more memory than the limit of", code="memory", where=place
    )
    assert problem_of(memory, "1")["type"].endswith("overloaded")
    assert problem_of(MemoryError(), "1")["status"] == 503
    for error in (
        full,
        memory,
        MicrodataError("column not found", code="c", where=place),
        MicrodataError("missing", code="c", hint=f"chmod 600 {place}"),
        MicrodataError(f"the file '{place}' is missing", code="c"),
        ValueError(place),
    ):
        assert str(tmp_path) not in json.dumps(problem_of(error, "1"))
    kept = problem_of(MicrodataError("column not found", code="c", where="rent", hint="a"), "1")
    assert kept["problems"][0]["where"] == "rent"
