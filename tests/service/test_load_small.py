"""Load: some clients at once on the small demonstration get what one client alone gets.

The service is a process of its own, as `discreet serve` starts it: what it holds can be measured.
"""

import http.client
import json
import shutil
import threading
import time
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.helpers.asgi_browser import form_of
from tests.helpers.served_process import ProcessCaller, served_process
from tests.helpers.service_people import at_once
from tests.helpers.shared_demonstration import copied_demonstration

pytestmark = pytest.mark.exhaustive

_PATH = "/api/v1/datasets/census/data?unit=person&format=json-stat2&"
_CLIENTS, _SECONDS = 4, 3.0
#: Seconds between two questions of one client: fewer than its key may ask.
_PAUSE = 0.06
#: Bytes by which the service may grow while it gives answers that it has given before.
_GROWTH = 64 * 2**20
#: Cells as they are pasted into the studio's page of suppression.
_CELLS = {
    "cells": (
        "branch,n,turnover,first,second\nTotal,18,980,300,120\nA,9,500,120,80\n"
        "B,7,150,60,30\nC,2,330,300,30\n"
    ),
    "by": "branch", "value": "turnover", "largest": "first, second", "minimum_frequency": "3",
    "method": "optimal", "act": "run",
}  # fmt: skip
_QUESTIONS = (
    "by=sex",
    "by=age5",
    "by=sex,age5",
    "by=marital_status",
    "by=sex,marital_status",
    "by=region:state",
    "by=region:state,sex",
    "by=sex&totals=none",
    "by=sex&where.marital_status=married",
    "by=age5&where.sex=m",
    "by=marital_status&where.sex=w",
    "by=age5&where.sex=w",
)


def test_a_service_that_suppresses_cells_prints_nothing_of_the_solver(
    demonstration: tuple[Path, list[str]],
) -> None:
    folder, _ = demonstration
    password = json.loads((folder / "DEMONSTRATION.json").read_text())["passwords"]["paul"]
    with (
        served_process(folder) as (port, _),
        httpx.Client(
            base_url=f"http://127.0.0.1:{port}", follow_redirects=True, timeout=180
        ) as browser,
    ):
        own = {"Origin": str(browser.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
        browser.headers.update({"Accept": "text/html", **own})
        fields = form_of(browser.get("/login").text, "/login")
        fields |= {"name": "paul", "password": password}
        browser.post("/login", data=fields).raise_for_status()
        csrf = form_of(browser.get("/suppression").text, "/suppression")["csrf"]
        page = browser.post("/suppression", data={**_CELLS, "csrf": csrf})
        assert "Proven for the 3 interior cells" in page.text
    log = (folder / "service.log").read_text().lower()
    assert '"event": "stopped"' in log
    assert not any(word in log for word in ("highs", "simplex", "presolv", "mip "))


def _held(process: int) -> int:
    """Bytes that a process has for itself."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A demonstration, of which copies are served, and a key for each client."""
    from discreet_service.installation import new_key

    folder = copied_demonstration(tmp_path_factory, tmp_path_factory.mktemp("load") / "demo", 8_000)
    settings = folder / "SERVICE.toml"
    keys = [new_key(settings, f"load-{at}", ["requester"], 1)[0] for at in range(_CLIENTS)]
    return folder, keys


def _alone(folder: Path, key: str) -> dict[str, bytes]:
    """What one client is told who asks one question after the other."""
    with served_process(folder) as (port, _):
        caller, found = ProcessCaller(port, key), {}
        told = {question: caller.get(_PATH + question) for question in _QUESTIONS}
        caller.close()
    for question, (status, found[question]) in told.items():
        assert status == http.client.OK, (question, found[question])
    return found


def _asked(port: int, keys: list[str], seconds: float) -> list[tuple[str, int, bytes]]:
    """What clients are told who ask at once, each in an order of its own."""
    told, gate = list[tuple[str, int, bytes]](), threading.Barrier(len(keys))

    def ask(number: int, key: str) -> None:
        caller, at = ProcessCaller(port, key), number * 3
        gate.wait(120)
        until = time.monotonic() + seconds
        # At least each question once, however slow the machine is.
        while time.monotonic() < until or at < number * 3 + len(_QUESTIONS):
            question = _QUESTIONS[at % len(_QUESTIONS)]
            try:
                told.append((question, *caller.get(_PATH + question)))
            except (OSError, http.client.HTTPException) as error:
                told.append((question, 0, type(error).__name__.encode()))
                caller.close()
                caller = ProcessCaller(port, key)
            at += 1
            time.sleep(_PAUSE)
        caller.close()

    at_once(*(partial(ask, *each) for each in enumerate(keys)))
    return told


def test_clients_at_once_are_told_what_one_alone_is(
    demonstration: tuple[Path, list[str]], tmp_path: Path
) -> None:
    made, keys = demonstration
    for name in ("alone", "loaded"):
        shutil.copytree(made, tmp_path / name)
    expected = _alone(tmp_path / "alone", keys[0])
    with served_process(tmp_path / "loaded") as (port, process):
        # Nothing was asked before: all make the same tables at the same time.
        told = _asked(port, keys, _SECONDS / 2)
        before = _held(process)
        told += _asked(port, keys, _SECONDS / 2)
        growth = _held(process) - before
    assert {question for question, *_ in told} == set(_QUESTIONS)
    assert [each for each in told if each[1] != http.client.OK] == []
    assert {question for question, _, content in told if content != expected[question]} == set()
    assert len({*expected.values()}) == len(_QUESTIONS)
    assert growth < _GROWTH
