"""kill -9 at any moment: no job is lost, none is released twice, the trail has no gap."""

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet_service.audit.trail import AuditKind
from discreet_service.jobs.records import JobState
from discreet_service.service import Service
from tests.helpers.databases import programs
from tests.helpers.job_functions import job_service, start_caller, start_worker, until


@pytest.fixture
def service(tmp_path: Path, service_url: str) -> Iterator[Service]:
    found = job_service(tmp_path, service_url, lease=1, retries=50)
    yield found
    found.close()


def _killed(process: subprocess.Popen[bytes]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def _kill_often(service: Service, kills: int, jobs: int, seed: int) -> None:
    """Hand in jobs and do them, while callers and workers are killed at random moments."""
    folder, url = service.settings.folder, service.settings.database
    drawn = random.Random(seed)
    start = {
        "caller": lambda: start_caller(folder, url, jobs),
        "w1": lambda: start_worker(folder, url, 1, 50),
        "w2": lambda: start_worker(folder, url, 1, 50),
    }
    running = {name: begin() for name, begin in start.items()}
    try:
        for kill in range(kills):
            until(lambda kill=kill: service.jobs.counts()["done"] > kill * 4)
            time.sleep(drawn.uniform(0, 0.3))
            name = drawn.choice(["caller", "w1", "w1", "w2", "w2"])
            _killed(running[name])
            running[name] = start[name]()
        _wait_for_all(service, running["caller"], jobs)
    finally:
        for process in running.values():
            process.kill()
            process.wait()


def _wait_for_all(service: Service, caller: subprocess.Popen[bytes], jobs: int) -> None:
    """Wait until all jobs are done, as long as jobs are still handed in, begun or done."""
    notes = service.settings.folder / "noted"
    done, seen, limit = 0, None, 0.0
    while done < jobs or caller.poll() is None:
        done = service.jobs.counts()["done"]
        now = (done, notes.stat().st_size if notes.exists() else 0)
        if now != seen:
            seen, limit = now, time.monotonic() + 120
        assert time.monotonic() < limit, f"nothing moves: {service.jobs.counts()}"
        time.sleep(0.1)
    assert caller.returncode == 0


def _check(service: Service, jobs: int) -> None:
    noted = (service.settings.folder / "noted").read_text().split()
    assert len(set(noted)) == len(noted) == jobs
    found, cursor = [], ""
    while True:
        page = service.jobs.jobs("anna", cursor=cursor, size=200)
        found += page.jobs
        cursor = page.cursor
        if not cursor:
            break
    assert {job.id for job in found} == set(noted)
    for at, number in enumerate(noted):
        job, place = service.jobs.result(number, "anna")
        assert (job.state, place.read_text()) == (JobState.done, str(at + 1))
        kinds = Counter(event.kind for event in service.jobs.events(number))
        assert (kinds["queued"], kinds["done"]) == (1, 1)
    verdict = service.trail.verify()
    assert verdict.whole
    released = [json.loads(line) for line in service.trail.export()]
    about = [one["about"] for one in released if one["kind"] == AuditKind.job_released]
    assert sorted(about) == sorted(noted)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "service_url",
    ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)],
    indirect=True,
)
def test_many_kills(service: Service) -> None:
    _kill_often(service, kills=3, jobs=16, seed=2)
    _check(service, 16)


@pytest.mark.postgresql
@pytest.mark.parametrize("service_url", ["postgresql"], indirect=True)
def test_the_server_is_started_anew_under_load(service: Service, service_server: str) -> None:
    folder, url = service.settings.folder, service.settings.database
    running = [
        start_caller(folder, url, 24),
        start_worker(folder, url, 1, 50),
        start_worker(folder, url, 1, 50),
    ]
    try:
        until(lambda: service.jobs.counts()["done"] > 2)
        for mode in ("fast", "immediate"):
            _restart(service_server, mode)
            before = service.jobs.counts()["done"]
            until(lambda before=before: service.jobs.counts()["done"] > min(before + 3, 23))
        _wait_for_all(service, running[0], 24)
    finally:
        for process in running:
            process.kill()
            process.wait()
    _check(service, 24)


def _restart(server: str, mode: str) -> None:
    found, folder = programs(), Path(server.partition("host=")[2])
    assert found is not None
    user = (folder / "data").stat().st_uid
    said = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    control = [found / "pg_ctl", "-D", folder / "data", "-w", "-m", mode, "-o", said]
    subprocess.run(
        [*control, "-l", folder / "log", "restart"],
        check=True,
        capture_output=True,
        cwd=folder,
        **({"user": user, "group": user, "extra_groups": []} if os.geteuid() == 0 else {}),
    )
