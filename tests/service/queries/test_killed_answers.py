"""A service that is killed while it answers: whatever went out is written down, and stays so."""

import http.client
import os
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from discreet_service.installation import new_key
from tests.helpers.served_process import ProcessCaller, served_process
from tests.helpers.shared_demonstration import copied_demonstration

pytestmark = pytest.mark.exhaustive

PATH = "/api/v1/datasets/census/data?unit=person&format=json-stat2&"
#: Some are asked again and again, others are new each time.
KEPT = ("by=sex", "by=marital_status", "by=sex,marital_status")
NEW = tuple(f"by={by}&where.age5={age}" for by in ("sex", "marital_status", "education")
            for age in ("0-4", "5-9", "30-34", "35-39", "40-44", "60-64"))  # fmt: skip
CLIENTS, ANSWERS = 4, 12


def _asked(port: int, key: str, number: int, told: dict[str, list[bytes]], enough: object) -> None:
    """Ask until the service is gone; what came to its end is told."""
    caller, at = ProcessCaller(port, key), number * 5
    try:
        while True:
            question = NEW[at % len(NEW)] if at % 2 == 0 else KEPT[at % len(KEPT)]
            status, content = caller.get(PATH + question)
            at += 1
            if status == http.client.OK:
                told.setdefault(question, []).append(content)
            if sum(map(len, told.values())) >= ANSWERS:
                enough.release()  # type: ignore[attr-defined]
    except (OSError, http.client.HTTPException):
        return
    finally:
        caller.close()


def _rows(folder: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "service.db")) as connection:
        return connection.execute(statement).fetchall()


def test_what_went_out_before_a_kill_is_written_down(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = copied_demonstration(tmp_path_factory, tmp_path / "demo")
    settings = folder / "SERVICE.toml"
    keys = [new_key(settings, f"load-{at}", ["requester"], 1)[0] for at in range(CLIENTS)]
    told: list[dict[str, list[bytes]]] = [{} for _ in keys]
    for _ in range(2):
        before = [sum(map(len, each.values())) for each in told]
        logged = len(_rows(folder, "SELECT 1 FROM query_log"))
        with served_process(folder) as (port, process):
            enough = threading.Semaphore(0)
            threads = [
                threading.Thread(target=_asked, args=(port, key, at, told[at], enough))
                for at, key in enumerate(keys)
            ]
            for each in threads:
                each.start()
            for _ in range(2 * CLIENTS):
                assert enough.acquire(timeout=180)
            os.kill(process, signal.SIGKILL)
            for each in threads:
                each.join(60)
        answered = _rows(folder, "SELECT caller_key, digest FROM query_log "
                                 "WHERE verdict = 'answered' ORDER BY id")[logged:]  # fmt: skip
        released = {digest for (digest,) in _rows(folder, "SELECT digest FROM released_tables")}
        assert {digest for _, digest in answered} <= released
        for at, key in enumerate(keys):
            got = sum(map(len, told[at].values())) - before[at]
            mine = sum(visible == key.split("_")[1] for visible, _ in answered)
            # At most the one that was on its way is written down without having arrived.
            assert got <= mine <= got + 1
    assert set(KEPT) < {question for each in told for question in each}
    contents = {question: {*found} for each in told for question, found in each.items()}
    for each in told:
        for question, found in each.items():
            contents[question] |= {*found}
    assert all(len(found) == 1 for found in contents.values())
    with served_process(folder) as (port, _):
        caller = ProcessCaller(port, keys[0])
        for question, found in contents.items():
            assert caller.get(PATH + question) == (http.client.OK, *found)
        caller.close()
    ((chain,),) = _rows(folder, "PRAGMA integrity_check")
    assert chain == "ok"
