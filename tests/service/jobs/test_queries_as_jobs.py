"""A large query from the request to the file: through the queue, a worker, its process."""

from __future__ import annotations

import io
import shutil
import threading
from pathlib import Path

import polars as pl
import pytest

from discreet.microdata import Secret
from discreet_service.jobs.records import JobState
from discreet_service.jobs.worker import JobWorker
from discreet_service.service import Service
from discreet_service.settings import LimitSettings, ServiceSettings
from tests.helpers.job_functions import until
from tests.helpers.service_callers import RoleCallers
from tests.helpers.service_data import write_policy


@pytest.mark.exhaustive
def test_a_job_gives_the_figures_of_an_instant_answer(
    census_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(census_data, tmp_path / "datasets")
    trusted = write_policy(tmp_path / "datasets" / "census-2022-1", tmp_path)
    Secret.generate().write(tmp_path / "service.secret")

    def service_with(instant: int) -> Service:
        return Service(
            ServiceSettings(
                folder=tmp_path,
                datasets=tmp_path / "datasets",
                secret_file=tmp_path / "service.secret",
                trusted_signers=(trusted,),
                limits=LimitSettings(cells_instant=instant, requests_per_second=1e6, burst=10**6),
            )
        )

    query = {"unit": "person", "by": ["age5", "sex", "marital_status"], "format": "parquet"}
    place, roles = "/api/v1/datasets/census/query", {"anna": ["requester"], "bob": ["requester"]}
    service = service_with(10)
    service.datasets.publish("census", "2022-1", "berta")
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
    instant = RoleCallers(service_with(100_000), ("queries",), roles)
    expected = instant.ask("anna", "POST", place, json=query)
    assert expected.status_code == 200, expected.text
    frames = [pl.read_parquet(io.BytesIO(each.content)) for each in (result, expected)]
    assert frames[0].equals(frames[1])
    assert result.content == expected.content
    service.close()
    instant.browser._app.state.service.close()
