"""Several processes answer at one address, with one database: as one service, also after a kill."""

import contextlib
import http.client
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from discreet_service.database import QUERY_LOG, RELEASED_TABLES
from discreet_service.installation import LOCAL, new_key, opened
from discreet_service.operation import ServiceMetrics
from tests.helpers.served_process import ProcessCaller, served_process
from tests.helpers.shared_demonstration import copied_demonstration

pytestmark = pytest.mark.exhaustive

_DATA = "/api/v1/datasets/census/data?unit=person&format=json-stat2&"
_QUESTIONS = tuple(f"by={by}&where.age5={age}" for by in ("sex", "marital_status")
                   for age in ("5-9", "30-34", "35-39", "40-44"))  # fmt: skip
_ROUTE = "/api/v1/datasets/{dataset}/data"


def _servers(first: int) -> dict[int, int]:
    """The processes that answer, each with the time in which it was begun."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            words = (place / "cmdline").read_bytes().split(b"\0")
            if int(fields[1]) == first and b"serve" in words:
                found[int(place.name)] = int(fields[19])
    return found


def _asked(port: int, key: str, path: str) -> tuple[int, bytes]:
    """The answer over a connection of its own; a call that is cut off is made again."""
    for _ in range(200):
        caller = ProcessCaller(port, key)
        try:
            return caller.get(path)
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
        finally:
            caller.close()
    raise AssertionError("the service does not answer")


def _until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 180
    while not done():
        assert time.monotonic() < until
        time.sleep(0.1)


def _listeners(port: int) -> int:
    """How many sockets wait for connections at a port of this machine."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    rows = [line.split() for line in lines]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


def test_two_processes_are_one_service(
    service_url: str,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    folder = copied_demonstration(tmp_path_factory, tmp_path / "demo")
    settings, place = folder / "SERVICE.toml", folder / "database.url"
    place.touch(0o600)
    place.write_text(service_url)
    settings.write_text(f'database_file = "{place.name}"\n{settings.read_text()}')
    with opened(settings) as service:
        service.datasets.publish("census", "2022-1", "paul")
    key, number = (told := new_key(settings, "load", ["requester"], 1))[0], str(told[1]["id"])
    contents: dict[str, set[bytes]] = {question: set() for question in _QUESTIONS}

    def ask_all(port: int, rounds: int) -> None:
        for question in _QUESTIONS * rounds:
            status, content = _asked(port, key, _DATA + question)
            assert status == http.client.OK, content
            contents[question].add(content)

    with served_process(folder, "--processes", "2") as (port, first):
        _until(lambda: _listeners(port) == 2)
        before = _servers(first)
        assert len(before) == 2
        ask_all(port, 4)
        # Both have answered, and what is told of them is the sum.
        (figures,) = (tmp_path / "tmp").glob("discreet-metrics-*")
        for process in before:
            assert _ROUTE.encode() in (figures / f"counter_{process}.db").read_bytes()
        monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(figures))
        lines = ServiceMetrics().page().decode().splitlines()
        counted = [line for line in lines if line.startswith("discreet_requests_total{")]
        assert sum(float(line.rpartition(" ")[2]) for line in counted) >= 4 * len(_QUESTIONS)
        # One is killed under way: the other one answers, and another one takes its place.
        killed = min(before)
        os.kill(killed, signal.SIGKILL)
        ask_all(port, 2)
        _until(lambda: len(_servers(first)) == 2 and _listeners(port) == 2)
        assert {*_servers(first)} - {*before}
        ask_all(port, 2)
        # A key that is taken back is so for both at once.
        with opened(settings) as service:
            service.api_keys.revoke(LOCAL, number)
        told = Counter(_asked(port, key, _DATA + _QUESTIONS[0])[0] for _ in range(20))
        assert told == {http.client.UNAUTHORIZED: 20}
    assert not _servers(first)
    assert all(len(found) == 1 for found in contents.values())
    with opened(settings) as service, service.database.reading() as connection:
        released = connection.execute(sa.select(RELEASED_TABLES.c.digest)).all()
        answered = connection.execute(sa.select(QUERY_LOG.c.verdict)).scalars().all()
    # Each table counts as published once, and each answer is written down.
    assert len(released) == len(_QUESTIONS)
    assert answered.count("answered") >= 8 * len(_QUESTIONS)
    with opened(settings) as service:
        assert service.trail.verify().whole
