"""kill -9 of the server and of its workers under load: nothing is lost, and no figure changes."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from discreet_service.service import Service
from discreet_service.settings import ServiceSettings
from tests.helpers.service_server import free_port

_LIMITS = """
[limits]
requests_per_second = 1000000.0
burst = 1000000
cells_instant = 30

[jobs]
workers = 1
lease_seconds = 1
retries = 100
"""
#: Answered at once, and by jobs.
_WOMEN = {"variable": "sex", "codes": ["w"]}
_INSTANT = ({"by": ["sex"]}, {"by": ["marital_status"]}, {"by": [], "where": [_WOMEN]})
_LARGE = ({"by": ["age5", "sex"]}, {"by": ["sex", "marital_status", "region"]})


class _Served:
    """A service that runs as a program of its own, and is started again when it is killed."""

    def __init__(self, folder: Path) -> None:
        self.settings = folder / "SERVICE.toml"
        text = self.settings.read_text("utf-8") + _LIMITS
        self.settings.write_text(text, "utf-8")
        self.port = free_port()
        self.key = json.loads((folder / "DEMONSTRATION.json").read_text("utf-8"))["keys"][
            "demo-client"
        ]
        self.log = folder.with_suffix(".log")
        self.process = self.begin()

    def begin(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "discreet", "serve", str(self.settings)]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*command, "--port", str(self.port)], stdout=log, stderr=log, start_new_session=True
            )

    def client(self) -> httpx.Client:
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=120,
        )

    def wait(self) -> None:
        until = time.monotonic() + 180
        while time.monotonic() < until:
            with contextlib.suppress(httpx.HTTPError), self.client() as client:
                if client.get("/health/live").status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(self.log.read_text("utf-8")[-2000:])

    def workers(self) -> list[int]:
        """Processes of this service that are no server."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (place / "cmdline").read_bytes().split(b"\0")
                if str(self.settings).encode() in words and b"worker" in words:
                    found.append(int(place.name))
        return found

    def kill_server(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process = self.begin()

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
        for each in self.workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)


@pytest.fixture
def served(demonstration: Path, tmp_path: Path) -> Iterator[_Served]:
    shutil.copytree(demonstration, tmp_path / "service")
    found = _Served(tmp_path / "service")
    yield found
    found.end()


def _asked(client: httpx.Client, query: dict[str, object]) -> httpx.Response:
    whole = {"unit": "person", "format": "csv", "language": "en", **query}
    return client.post("/api/v1/datasets/census/query", json=whole)


def _attack(served: _Served, moments: int, seed: int) -> None:
    """Ask all the time, kill at random moments, and compare every answer with the first one."""
    drawn, jobs = random.Random(seed), dict[str, int]()
    served.wait()
    with served.client() as client:
        first = [_asked(client, query).content for query in _INSTANT]
    answered = refused = 0
    for moment in range(moments):
        until = time.monotonic() + drawn.uniform(0.05, 0.5)
        with served.client() as client:
            # On a busy machine until a job is taken in: a minute is far more than it takes.
            while (now := time.monotonic()) < until or (len(jobs) <= moment and now < until + 60):
                try:
                    at = drawn.randrange(len(_INSTANT))
                    answer = _asked(client, _INSTANT[at])
                    assert answer.status_code == 200, answer.text
                    assert answer.content == first[at]
                    answered += 1
                    if len(jobs) <= moment:
                        which = moment % len(_LARGE)
                        told = _asked(client, _LARGE[which])
                        assert told.status_code == 202, told.text
                        jobs[told.json()["job"]] = which
                    time.sleep(0.005)  # known answers come sooner than limits of callers allow
                except httpx.TransportError:
                    refused += 1
                    time.sleep(0.02)
        if moment % 4 == 0:
            served.kill_server()
            served.wait()
        else:
            for each in served.workers()[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
    assert answered >= moments
    assert len(jobs) >= moments * 0.9
    _check(served, jobs)


def _check(served: _Served, jobs: dict[str, int]) -> None:
    served.wait()
    results: dict[int, set[bytes]] = {}
    with served.client() as client:
        until = time.monotonic() + 300
        for job, which in jobs.items():
            while (state := client.get(f"/api/v1/jobs/{job}").json()["state"]) != "done":
                assert state in ("queued", "running"), state
                assert time.monotonic() < until
                time.sleep(0.1)
            results.setdefault(which, set()).add(client.get(f"/api/v1/jobs/{job}/result").content)
    assert all(len(each) == 1 for each in results.values())
    service = Service(ServiceSettings.read(served.settings))
    verdict = service.trail.verify()
    released = [one for one in service.trail.export() if any(job in one for job in jobs)]
    service.close()
    assert verdict.whole, verdict.problems
    # Each result was let out once, however often it was begun.
    assert len(released) == len(jobs)
    log = served.log.read_text("utf-8")
    assert "Traceback" not in log
    assert '"failure"' not in log


@pytest.mark.exhaustive
@pytest.mark.parametrize(("moments", "seed"), [(4, 2)])
def test_nothing_is_lost_when_processes_are_killed(
    served: _Served, moments: int, seed: int
) -> None:
    _attack(served, moments, seed)


@pytest.mark.exhaustive
def test_workers_do_not_outlive_a_killed_server(served: _Served) -> None:
    """Each restart would leave one more behind."""
    served.wait()
    until = time.monotonic() + 120
    while not served.workers() and time.monotonic() < until:
        time.sleep(0.1)
    served.kill_server()
    served.wait()
    until = time.monotonic() + 120
    while len(served.workers()) != 1 and time.monotonic() < until:
        time.sleep(0.2)
    assert len(served.workers()) == 1
