"""kill -9 of the server and of its workers under load: nothing is lost, and no figure changes."""

import contextlib
import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from discreet_service.service import Service
from discreet_service.settings import ServiceSettings
from tests.helpers.served_process import served_process

pytestmark = pytest.mark.exhaustive

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


@pytest.fixture
def folder(demonstration: Path, tmp_path: Path) -> Path:
    """A service to be killed, whose jobs are soon taken over."""
    found = Path(shutil.copytree(demonstration, tmp_path / "service"))
    settings = found / "SERVICE.toml"
    settings.write_text(settings.read_text("utf-8") + _LIMITS, "utf-8")
    return found


def _client(folder: Path, port: int) -> httpx.Client:
    printed = json.loads((folder / "DEMONSTRATION.json").read_text("utf-8"))
    head = {"Authorization": f"Bearer {printed['keys']['demo-client']}"}
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=head, timeout=120)


def _workers(folder: Path) -> list[int]:
    """Processes of this service that are no server."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (place / "cmdline").read_bytes().split(b"\0")
            if str(folder / "SERVICE.toml").encode() in words and b"worker" in words:
                found.append(int(place.name))
    return found


def _until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 300
    while not done():
        assert time.monotonic() < until
        time.sleep(0.1)


def _asked(client: httpx.Client, query: dict[str, object]) -> httpx.Response:
    whole = {"unit": "person", "format": "csv", "language": "en", **query}
    return client.post("/api/v1/datasets/census/query", json=whole)


@pytest.mark.parametrize(("lives", "seed"), [(2, 2)])
def test_nothing_is_lost_when_processes_are_killed(folder: Path, lives: int, seed: int) -> None:
    """Ask all the time, kill at random moments, and compare every answer with the first one."""
    drawn, jobs, first = random.Random(seed), dict[str, int](), dict[int, bytes]()
    for _ in range(lives):
        with served_process(folder) as (port, server), _client(folder, port) as client:
            for whole in (False, True):
                until, wanted = time.monotonic() + drawn.uniform(0.05, 0.5), len(jobs) + 1
                while len(jobs) < wanted or time.monotonic() < until:
                    at = drawn.randrange(len(_INSTANT))
                    answer = _asked(client, _INSTANT[at])
                    assert answer.status_code == 200, answer.text
                    assert answer.content == first.setdefault(at, answer.content)
                    if len(jobs) < wanted:
                        which = wanted % len(_LARGE)
                        told = _asked(client, _LARGE[which])
                        assert told.status_code == 202, told.text
                        jobs[told.json()["job"]] = which
                    time.sleep(0.005)  # known answers come sooner than limits of callers allow
                _until(lambda: len(_workers(folder)) > 0)
                os.kill(server if whole else _workers(folder)[0], signal.SIGKILL)
    assert len(jobs) == 2 * lives
    results: dict[int, set[bytes]] = {}
    with served_process(folder) as (port, _), _client(folder, port) as client:
        for job, which in jobs.items():
            _until(lambda job=job: client.get(f"/api/v1/jobs/{job}").json()["state"] == "done")
            results.setdefault(which, set()).add(client.get(f"/api/v1/jobs/{job}/result").content)
    assert all(len(each) == 1 for each in results.values())
    service = Service(ServiceSettings.read(folder / "SERVICE.toml"))
    verdict = service.trail.verify()
    released = [one for one in service.trail.export() if any(job in one for job in jobs)]
    service.close()
    assert verdict.whole, verdict.problems
    # Each result was let out once, however often it was begun.
    assert len(released) == len(jobs)
    log = (folder / "service.log").read_text("utf-8")
    assert "Traceback" not in log
    assert '"failure"' not in log


def test_workers_do_not_outlive_a_killed_server(folder: Path) -> None:
    """Each restart would leave one more behind."""
    with served_process(folder) as (_, server):
        _until(lambda: len(_workers(folder)) == 1)
        os.kill(server, signal.SIGKILL)
    with served_process(folder):
        _until(lambda: len(_workers(folder)) == 1)
