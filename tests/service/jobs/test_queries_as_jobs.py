"""A large query from the request to the file: through the queue, a worker, its process."""

from __future__ import annotations

import io
import threading
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from discreet_service.jobs.records import JobState
from discreet_service.jobs.worker import JobWorker
from discreet_service.service import Service
from tests.helpers.job_functions import until
from tests.helpers.service_callers import RoleCallers
from tests.helpers.service_data import census_service


@pytest.mark.exhaustive
def test_a_job_gives_the_figures_of_an_instant_answer(
    census_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {"unit": "person", "by": ["age5", "sex", "marital_status"], "format": "parquet"}
    place, roles = "/api/v1/datasets/census/query", {"anna": ["requester"], "bob": ["requester"]}
    service = census_service(census_data, tmp_path, cells_instant=10)
    callers = RoleCallers(service, ("queries", "jobs"), roles)
    answer = callers.ask("anna", "POST", place, json=query)
    assert answer.status_code == 202, answer.text
    job = service.jobs.job(answer.json()["job"], "anna")
    worker = JobWorker(service)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        until(lambda: service.jobs.job(job.id, "anna").state.final)
    finally:
        worker.stop()
        thread.join()
    done = service.jobs.job(job.id, "anna")
    assert done.state is JobState.done, done.problem
    result = callers.ask("anna", "GET", answer.json()["links"]["result"])
    assert callers.ask("bob", "GET", answer.json()["links"]["result"]).status_code == 404
    at_once = replace(service.settings.limits, cells_instant=100_000)
    settings = replace(service.settings, limits=at_once)
    instant = RoleCallers(Service(settings), ("queries",), roles)
    expected = instant.ask("anna", "POST", place, json=query)
    assert expected.status_code == 200, expected.text
    frames = [pl.read_parquet(io.BytesIO(each.content)) for each in (result, expected)]
    assert frames[0].equals(frames[1])
    assert result.content == expected.content
    service.close()
    instant.browser._app.state.service.close()
